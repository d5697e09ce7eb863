"""The figures of played deals: of each entrant, each pair, each table, and of a challenger.

Every function takes ``tables``, the numbers of the tables to look at (None: all); all seats of all their
seatings are averaged within a deal first. Points are whole points. ``resamples`` and ``seed`` are those of
``statistics.intervals``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from callbreak_env.arena.results import FAULTS, Results
from callbreak_env.arena.statistics import BOOTSTRAP_SEED, RESAMPLES, Floats, Interval, Whole, intervals

_TWELVE = 12  # parts of a whole that halves, thirds and quarters are whole numbers of
_VALUES = 2**22  # values that are held at once: 32 MiB


@dataclass(frozen=True)
class Figures:
    """One entrant's figures.

    Attributes:
        name: of the entrant.
        seats: it took in each deal, over all seatings.
        points: a deal.
        made: the share of bids made (under partnership, of the side's).
        bid: mean bid.
        tricks: mean tricks won.
        overtricks: a bid that was made (under partnership, the side's); None when none was.
        win_share: of matches: the top seats of a match share 1, so that 0.25 is par. None with fewer than
            two whole matches.
        rank: mean rank in these matches, 1 to 4; ties share the mean of their ranks.
        faults: share of the decisions asked of it that had to be replaced, by kind (``FAULTS``), over the
            whole result; empty for a compiled agent.
        decisions_per_second: over the whole result; None for a compiled agent.
    """

    name: str
    seats: int
    points: Interval
    made: Interval
    bid: Interval
    tricks: Interval
    overtricks: Interval | None
    win_share: Interval | None
    rank: Interval | None
    faults: dict[str, float]
    decisions_per_second: float | None


@dataclass(frozen=True)
class Challenge:
    """A challenger beside three copies of a reference.

    Attributes:
        table: the number of their table.
        figures: the challenger's at it; ``figures.win_share`` is its share of first places.
        margin: own points minus the mean of the three reference seats, of the same seating.
        gain: own points minus the mean of the four seats of the all-reference table at the same deal; None
            without such a table.
    """

    table: int
    figures: Figures
    margin: Interval
    gain: Interval | None


@dataclass(frozen=True)
class Payoff:
    """What each entrant made at one table.

    Attributes:
        table: its number.
        names: [4] the entrants at it, a name for each copy, in the schedule's order.
        points: a deal, by name: the mean over its seats.
    """

    table: int
    names: tuple[str, ...]
    points: dict[str, Interval]


def entrant_figures(
    results: Results,
    tables: Sequence[int] | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = BOOTSTRAP_SEED,
) -> dict[str, Figures]:
    """The figures of each entrant that sits at the tables, by name in the schedule's order.

    A match is ``rules.deals`` (five) consecutive deals of the result in one seating; deals that are left
    over make none. Matches are the units of their figures: all seatings of a match are resampled together.
    A tie at the top is shared by all rules.
    """
    mine = _seats(results, chosen_seatings(results, tables))
    sitting = np.flatnonzero(mine.any(axis=(1, 2)))
    mine, count = mine[sitting], len(sitting)
    seats = mine.sum(axis=(1, 2))
    made, over = _made(results)
    values = (results.points, made, results.bids, results.tricks, over)
    tops = np.concatenate([combine(value, mine) for value in values], axis=1)
    bottoms = np.tile(np.concatenate([10 * seats, *[seats] * 4]), (len(tops), 1))
    made_sums = tops[:, count : 2 * count]
    never = made_sums.sum(axis=0) == 0
    bottoms[:, 4 * count :] = np.where(never, 1, made_sums)  # overtricks are counted by bid that was made
    found = intervals(tops, bottoms, resamples=resamples, seed=seed)
    totals = match_totals(results)
    of_matches: list[Interval] = []
    if len(totals) >= 2:
        tops = np.concatenate([combine(value, mine) for value in _places(totals)], axis=1)
        of_matches = intervals(
            tops, np.concatenate([_TWELVE * seats, 2 * seats]), resamples=resamples, seed=seed
        )
    figures = {}
    for k, entrant in enumerate(sitting.tolist()):
        name = results.schedule.names[entrant]
        points, made_share, bid, tricks, overtricks = found[k::count]
        win_share, rank = of_matches[k::count] or (None, None)
        faults, speed = _asked(results, entrant)
        figures[name] = Figures(
            name=name,
            seats=int(seats[k]),
            points=points,
            made=made_share,
            bid=bid,
            tricks=tricks,
            overtricks=None if never[k] else overtricks,
            win_share=win_share,
            rank=rank,
            faults=faults,
            decisions_per_second=speed,
        )
    return figures


def paired_differences(
    results: Results,
    tables: Sequence[int] | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = BOOTSTRAP_SEED,
) -> dict[tuple[str, str], Interval]:
    """Points a deal of one entrant minus those of another, over the seatings where both sit.

    Of copies at one table the mean is taken. Both orders of each pair are there; pairs that never meet are
    not.
    """
    mine = _seats(results, chosen_seatings(results, tables))
    names = results.schedule.names
    pairs, weights = [], []
    for one, other in combinations(range(len(names)), 2):
        weight = _difference(mine[one], mine[other])
        if weight.any():
            pairs.append((names[one], names[other]))
            weights.append(weight)
    if not pairs:
        return {}
    found: dict[tuple[str, str], Interval] = {}
    differences = _point_intervals(results, weights, resamples, seed)
    for (name, opponent), interval in zip(pairs, differences, strict=True):
        found[name, opponent] = interval
        found[opponent, name] = -interval
    return found


def cycles(differences: dict[tuple[str, str], Interval]) -> list[tuple[str, str, str]]:
    """Every A, B, C where A beats B, B beats C and C beats A: all three lower ends above 0.

    Each once, from its alphabetically first name on. That all three hold by chance alone is rare, but not
    impossible among many triples.
    """
    better = {pair for pair, interval in differences.items() if interval.low > 0}
    names = sorted({name for pair in better for name in pair})
    return [
        (a, b, c)
        for a, b, c in permutations(names, 3)
        if a < min(b, c) and {(a, b), (b, c), (c, a)} <= better
    ]


def challenge(
    results: Results,
    challenger: str,
    reference: str,
    *,
    resamples: int = RESAMPLES,
    seed: int = BOOTSTRAP_SEED,
) -> Challenge:
    """The figures of a challenger's table: itself against three copies of a reference.

    Raises:
        ValueError: there is no such entrant, or no such table.
    """
    one, other = entrant_index(results, challenger), entrant_index(results, reference)
    table = _find_table(results, [one, other, other, other])
    if table is None or one == other:
        raise ValueError(f"there is no table of one {challenger!r} and three {reference!r}")
    mine = _seats(results, chosen_seatings(results, [table]))
    weights = [_difference(mine[one], mine[other])]
    field = _find_table(results, [other] * 4)
    if field is not None:
        at_field = _seats(results, chosen_seatings(results, [field]))[other]
        weights.append(mine[one] * at_field.sum() - at_field * mine[one].sum())
    margin, *gain = _point_intervals(results, weights, resamples, seed)
    figures = entrant_figures(results, [table], resamples=resamples, seed=seed)[challenger]
    return Challenge(table, figures, margin, gain[0] if gain else None)


def payoffs(
    results: Results,
    tables: Sequence[int] | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = BOOTSTRAP_SEED,
) -> list[Payoff]:
    """The payoff table: the mean points of each entrant at each table."""
    schedule = results.schedule
    rows, weights = [], []
    for table in np.unique(schedule.tables[chosen_seatings(results, tables)]).tolist():
        chosen = chosen_seatings(results, [table])
        entrants = np.sort(schedule.seatings[chosen][0])
        mine = _seats(results, chosen)
        for entrant in np.unique(entrants).tolist():
            rows.append((table, tuple(schedule.names[e] for e in entrants), schedule.names[entrant]))
            weights.append(mine[entrant])
    found: dict[int, Payoff] = {}
    for (table, names, name), interval in zip(
        rows, _point_intervals(results, weights, resamples, seed), strict=True
    ):
        found.setdefault(table, Payoff(table, names, {})).points[name] = interval
    return list(found.values())


def points_by_deal(results: Results, name: str, tables: Sequence[int] | None = None) -> Floats:
    """[D] an entrant's mean points at each deal: what a control variate is applied to.

    Raises:
        ValueError: there is no such entrant, or it sits at none of the tables.
    """
    mine = _seats(results, chosen_seatings(results, tables))[entrant_index(results, name)]
    if not mine.any():
        raise ValueError(f"{name!r} sits at none of the tables {tables}")
    points: Floats = combine(results.points, mine[None])[:, 0] / (10 * mine.sum())
    return points


def entrant_index(results: Results, name: str) -> int:
    """The number of an entrant by name, or ValueError."""
    names = results.schedule.names
    if name not in names:
        raise ValueError(f"there is no entrant {name!r}: they are {', '.join(names)}")
    return names.index(name)


def chosen_seatings(results: Results, tables: Sequence[int] | None) -> npt.NDArray[np.bool_]:
    """[S] which seatings belong to the tables (None: all); ValueError for a table that is not there."""
    of_seating = results.schedule.tables
    if tables is None:
        return np.ones(len(of_seating), np.bool_)
    for table in tables:
        if table not in of_seating:
            raise ValueError(f"there is no table {table}: they are numbered 0 to {of_seating.max()}")
    return np.isin(of_seating, tables)


def match_totals(results: Results) -> Whole:
    """[M, S, 4] tenths: the totals of the matches, ``rules.deals`` consecutive deals of a result each."""
    deals = results.rules.deals
    matches = len(results.deals) // deals
    points = results.points[: matches * deals].reshape(matches, deals, *results.points.shape[1:])
    totals: Whole = points.sum(axis=1, dtype=np.int64)
    return totals


def combine(values: npt.NDArray[Any], weights: Whole) -> Whole:
    """Weighted sums over the seats of a unit: [U, S, 4] whole numbers, [V, S, 4] weights -> [U, V], exact."""
    across = weights.reshape(len(weights), -1).T.astype(np.float64)
    flat = values.reshape(len(values), -1)
    sums = np.empty((len(flat), len(weights)), np.int64)
    rows = max(1, _VALUES // flat.shape[1])
    for first in range(0, len(flat), rows):
        sums[first : first + rows] = flat[first : first + rows].astype(np.float64) @ across
    return sums


def _seats(results: Results, chosen: npt.NDArray[np.bool_]) -> Whole:
    """[E, S, 4] 1 where an entrant sits in a chosen seating."""
    entrants = np.arange(len(results.schedule.names))[:, None, None]
    mine: Whole = ((results.schedule.seatings == entrants) & chosen[:, None]).astype(np.int64)
    return mine


def _difference(mine: Whole, theirs: Whole) -> Whole:
    """[S, 4] weights of one entrant's mean minus another's, where both sit, from their ``_seats``."""
    own, other = mine.sum(axis=1, keepdims=True), theirs.sum(axis=1, keepdims=True)
    both = np.where(own * other > 0, _TWELVE, 0)
    weights: Whole = both // np.maximum(own, 1) * mine - both // np.maximum(other, 1) * theirs
    return weights


def _point_intervals(results: Results, weights: list[Whole], resamples: int, seed: int) -> list[Interval]:
    """Of points weighted by seat ([S, 4] each): the weights above 0 are the parts of one whole."""
    stacked = np.array(weights)
    wholes = 10 * np.maximum(stacked, 0).sum(axis=(1, 2))
    return intervals(combine(results.points, stacked), wholes, resamples=resamples, seed=seed)


def _find_table(results: Results, entrants: list[int]) -> int | None:
    """The first table of these four entrants."""
    alike = (np.sort(results.schedule.seatings, axis=1) == sorted(entrants)).all(axis=1)
    return int(results.schedule.tables[alike].min()) if alike.any() else None


def _made(results: Results) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int8]]:
    """[D, S, 4] whether bids were made, and the overtricks of those that were; of the side's (H5)."""
    over = results.tricks - results.bids
    if results.rules.partnership:
        over = over + over[:, :, [2, 3, 0, 1]]
    return over >= 0, np.maximum(over, 0)


def _places(totals: Whole) -> tuple[Whole, Whole]:
    """Of match totals [M, S, 4]: shares of the first place in twelfths, and ranks in halves."""
    above = (totals[..., None, :] > totals[..., :, None]).sum(axis=-1)
    level = (totals[..., None, :] == totals[..., :, None]).sum(axis=-1)
    return np.where(above == 0, _TWELVE // level, 0), 2 * above + level + 1


def _asked(results: Results, entrant: int) -> tuple[dict[str, float], float | None]:
    """Shares of an entrant's decisions that were replaced, by kind, and its decisions a second."""
    decisions, seconds = int(results.decisions[entrant]), float(results.seconds[entrant])
    if decisions == 0:
        return {}, None
    replaced = results.faults[:, results.schedule.seatings == entrant].sum(axis=(0, 1), dtype=np.int64)
    shares = dict(zip(FAULTS, (replaced / decisions).tolist(), strict=True))
    return shares, decisions / seconds if seconds > 0 else None
