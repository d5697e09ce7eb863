"""Plackett-Luce ratings: strengths by maximum likelihood from the ranks in matches, whatever their order.

The model: the seat that comes first is drawn with a chance in proportion to the weight of its entrant, exp
of the strength; the second so among the rest, and so on (Plackett: The analysis of permutations, Applied
Statistics 24, 1975). Of seats that tie, every order gets the same part of the ranking. All rankings of one
set of seats need only be counted, so that a resample of matches is fitted as fast as the matches themselves.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, product

import numpy as np
import numpy.typing as npt

from callbreak_env.arena.figures import chosen_seatings, match_totals
from callbreak_env.arena.results import Results
from callbreak_env.arena.statistics import (
    BOOTSTRAP_SEED,
    Floats,
    Interval,
    Whole,
    interval_ends,
    resampled_sums,
)
from callbreak_env.cards import NUM_SEATS

PRIOR = 10.0
"""The deviation of the normal prior of a strength. It keeps finite what ranks alone do not (an entrant always
outranked, or never); otherwise a strength of 1 moves by about 0.02 / rankings."""
REFITS = 300
"""Resamples of the ratings, unless said otherwise."""

_SUBSETS = [seats for size in (4, 3, 2) for seats in combinations(range(NUM_SEATS), size)]
_PAIRS = list(combinations(range(NUM_SEATS), 2))
_ORDERS = 24  # counts are in parts of a ranking: of four seats that tie, each order gets one


@dataclass(frozen=True)
class Rating:
    """One entrant's strength; ``display`` gives it, or an end of its interval, on an Elo-like scale.

    Attributes:
        name: of the entrant.
        strength: natural logarithm of the Plackett-Luce weight; the mean of all entrants is 0. Its units are
            the matches that were resampled.
    """

    name: str
    strength: Interval


@dataclass(frozen=True)
class Ratings:
    """Of all entrants that sit at the tables.

    Attributes:
        entrants: best first.
        matches: blocks of ``rules.deals`` (five) deals, in all their seatings: the units.
        finite: whether the ranks alone make all strengths finite. If not, some entrants were never outranked
            by any of the others, and only the prior bounds the distance between them.
    """

    entrants: list[Rating]
    matches: int
    finite: bool


def display(strength: float) -> float:
    """A strength on an Elo-like scale: 1500 + 400 / ln(10) * strength, so that 400 are odds of 10 to 1."""
    return 1500 + 400 / math.log(10) * strength


def rate(
    results: Results,
    tables: Sequence[int] | None = None,
    *,
    resamples: int = REFITS,
    seed: int = BOOTSTRAP_SEED,
) -> Ratings:
    """Rate the entrants that sit at the tables (numbers; None: all) by their ranks in matches.

    A match is ``rules.deals`` (five) consecutive deals of the result in one seating. For the intervals
    matches are resampled with all their seatings, and the strengths are fitted again.

    Raises:
        ValueError: fewer than two matches or entrants, or entrants that no chain of common tables links.
    """
    chosen = chosen_seatings(results, tables)
    sitting, seatings = np.unique(results.schedule.seatings[chosen], return_inverse=True)
    seatings = seatings.reshape(-1, NUM_SEATS)
    names = [results.schedule.names[entrant] for entrant in sitting]
    totals = match_totals(results)[:, chosen]
    if len(totals) < 2:
        raise ValueError(
            f"ratings need at least 2 matches of {results.rules.deals} deals, not {len(results.deals)} deals"
        )
    if len(names) < 2:
        raise ValueError(f"ratings need at least 2 entrants, not {len(names)}")
    met, outranked = _relations(seatings, totals, len(names))
    linked = _reach(met)
    if not linked.all():
        apart = [name for name, here in zip(names, linked[0], strict=True) if not here]
        raise ValueError(
            f"no chain of common tables links {', '.join(apart)} with {names[0]}: rate them apart, by tables"
        )
    counts, copies = _count(seatings, totals, len(names))
    wins, sets = np.split(counts.sum(axis=0) / _ORDERS, [len(names)])
    strengths = fit(wins, sets, copies)
    sums = resampled_sums(counts, resamples=resamples, seed=seed) / _ORDERS
    again = np.array([fit(row[: len(names)], row[len(names) :], copies, strengths) for row in sums])
    spread = again.std(axis=0, ddof=1) * math.sqrt(len(totals))
    entrants = []
    for k, name in enumerate(names):
        low, high = interval_ends(again[:, k], len(totals))
        entrants.append(Rating(name, Interval(float(strengths[k]), low, high, float(spread[k]), len(totals))))
    entrants.sort(key=lambda rating: (-rating.strength.mean, rating.name))
    return Ratings(entrants, len(totals), bool(_reach(outranked).all()))


def fit(
    wins: Floats, sets: Floats, copies: Floats, start: Floats | None = None, *, prior: float = PRIOR
) -> Floats:
    """The strengths of most likelihood, times the prior's, from counts of choices.

    Args:
        wins: [E] how often each entrant was chosen, from whatever set.
        sets: [C] how often each set was chosen from.
        copies: [C, E] how many seats of a set are an entrant's.
        start: [E] where to begin; None: all equal.
        prior: deviation of the normal prior.

    Returns:
        [E] strengths, of mean 0.
    """
    from scipy.optimize import minimize

    scale = 1 / sets.sum()
    weight = 1 / prior**2

    def chances(strengths: Floats) -> tuple[Floats, Floats]:
        """[C, E] the chance of each entrant in each set, and [C] the log of the sets' weights."""
        top = strengths.max()
        weights = copies * np.exp(strengths - top)
        totals = weights.sum(axis=1)
        return weights / totals[:, None], np.log(totals) + top

    def loss(strengths: Floats) -> tuple[float, Floats]:
        chance, log_weight = chances(strengths)
        value = sets @ log_weight - wins @ strengths + weight / 2 * strengths @ strengths
        return scale * value, scale * (sets @ chance - wins + weight * strengths)

    def curvature(strengths: Floats) -> Floats:
        chance, _ = chances(strengths)
        spread = np.diag(sets @ chance) - (chance * sets[:, None]).T @ chance
        bent: Floats = scale * (spread + weight * np.eye(len(strengths)))
        return bent

    found = minimize(
        loss,
        np.zeros(len(wins)) if start is None else start,
        jac=True,
        hess=curvature,
        method="trust-exact",
        options={"gtol": 1e-9},
    )
    strengths: Floats = found.x - found.x.mean()
    return strengths


def _relations(seatings: Whole, totals: Whole, entrants: int) -> tuple[npt.NDArray[np.bool_], ...]:
    """[E, E] twice: who sat with whom, and who did at least as well as whom at a table."""
    met = np.eye(entrants, dtype=np.bool_)
    outranked = met.copy()
    for seating, total in zip(seatings, totals.transpose(1, 2, 0), strict=True):
        for one, other in permutations(range(NUM_SEATS), 2):
            met[seating[one], seating[other]] = True
            outranked[seating[one], seating[other]] |= (total[one] >= total[other]).any()
    return met, outranked


def _reach(steps: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """[E, E] what can be reached from what by any number of steps."""
    reach = steps
    for _ in range(len(steps).bit_length()):
        reach = reach @ reach
    return reach


def _count(seatings: Whole, totals: Whole, entrants: int) -> tuple[Whole, Floats]:
    """The choices in matches.

    Returns:
        [M, E + C] how often, in 24ths, each entrant was chosen and each set was chosen from;
        [C, E] float64, how many seats of a set are an entrant's.
    """
    sets: dict[tuple[int, ...], int] = {}
    columns = []
    for seating in seatings.tolist():
        members = [tuple(sorted(seating[seat] for seat in seats)) for seats in _SUBSETS]
        columns.append(seating + [entrants + sets.setdefault(member, len(sets)) for member in members])
    counts = np.zeros((len(totals), entrants + len(sets)), np.int64)
    for s, column in enumerate(columns):
        patterns = _pattern(totals[:, s])
        for part, where in zip(_choices().T, column, strict=True):
            counts[:, where] += part[patterns]
    copies = np.array([[member.count(entrant) for entrant in range(entrants)] for member in sets], np.float64)
    return counts, copies


def _pattern(totals: Whole) -> Whole:
    """[..., 4] totals -> [...] a number for who is above, level with and below whom."""
    pattern = np.zeros(totals.shape[:-1], np.int64)
    for one, other in _PAIRS:
        pattern = 3 * pattern + 1 + np.sign(totals[..., one] - totals[..., other])
    return pattern


@functools.cache
def _choices() -> Whole:
    """[729, 4 + 11] by pattern: how often each seat is chosen and each subset is chosen from, in 24ths."""
    table = np.zeros((3 ** len(_PAIRS), NUM_SEATS + len(_SUBSETS)), np.int64)
    for totals in product(range(NUM_SEATS), repeat=NUM_SEATS):
        row = table[_pattern(np.array(totals))]
        row[:] = 0  # several totals have the same pattern
        orders = [
            order
            for order in permutations(range(NUM_SEATS))
            if all(totals[order[k]] >= totals[order[k + 1]] for k in range(NUM_SEATS - 1))
        ]
        for order in orders:
            for k in range(NUM_SEATS - 1):
                row[order[k]] += _ORDERS // len(orders)
                row[NUM_SEATS + _SUBSETS.index(tuple(sorted(order[k:])))] += _ORDERS // len(orders)
    return table
