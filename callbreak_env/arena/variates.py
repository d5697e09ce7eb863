"""Control variates: what the cards alone explain of the points is taken out of them, without bias.

A covariate is a number that every deal has whoever plays it. Over all seats and rotations the strength of the
hands cancels (each agent holds each hand once); what stays is what kind of deal it is, which four
``rule_based`` players at it tell. The adjusted mean is that of value - beta * (covariate - expectation).
It has the expectation of the plain mean for any beta that does not depend on the deal, so each half of the
deals is adjusted by the beta of the other half (cross-fitting). The method is that of regression estimators
(Owen: Monte Carlo theory, methods and examples, 2013, section 8.9).

What it takes away of the variance is the column ``var`` of ``callbreak bench``. What an agent's own luck adds
stays.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from callbreak_env.arena.figures import points_by_deal
from callbreak_env.arena.formats import four_at_a_table
from callbreak_env.arena.play import play
from callbreak_env.arena.results import Results
from callbreak_env.arena.statistics import BOOTSTRAP_SEED, RESAMPLES, Floats, Interval, intervals
from callbreak_env.cards import NUM_SEATS
from callbreak_env.checks import check_count
from callbreak_env.rules import Rules

COVARIATES = ("points", "bids", "made", "squares")
"""By the last axis of ``deal_covariates``, of four ``rule_based`` at the deal: the sums of their points
(tenths), their bids, the bids made, and their tricks squared. (Each seat's own, under partnership too.)"""
EXPECTATION_SEED = 2**62
"""Of the deals that the expectation is taken from: no deals that anybody compares agents on."""
EXPECTATION_DEALS = 400_000
"""How many: some seconds, and a standard error that 10,000 deals hardly feel."""
ENOUGH = 10
"""With fewer deals than this for each number that a half fits, nothing is adjusted (beta is 0)."""
_STEPS = 2**16  # adjusted values are kept in these parts of a point, so that their sums are exact


@dataclass(frozen=True)
class Expectation:
    """The covariates' mean over an independent sample of deals; it holds for one version of ``rule_based``.

    Attributes:
        mean: [C].
        covariance: [C, C] of one deal's covariates.
        deals: how many.
        seed: of these deals.
    """

    mean: Floats
    covariance: Floats
    deals: int
    seed: int


@dataclass(frozen=True)
class Adjusted:
    """A mean with and without its control variates.

    Attributes:
        plain: the mean as it was played.
        adjusted: the same mean, less what the covariates explain. Its interval holds the error of their
            expectation too.
        reduction: the share of the variance that this took away: (1 - reduction) of the deals would have
            done. Below 0 where it did harm.
        beta: [2, C] what the even and the odd deals (by position) were adjusted by, each fitted on the other.
    """

    plain: Interval
    adjusted: Interval
    reduction: float
    beta: Floats


def deal_covariates(rules: Rules, seed: int, deals: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The covariates of deals: number d is the first deal of ``Match(rules, seed=seed, number=d)``.

    Args:
        rules: of the deals.
        seed: of the deals.
        deals: [D] int64, ascending.

    Returns:
        [D, C] int64.
    """
    played = play(four_at_a_table(["rule_based"] * NUM_SEATS), rules=rules, seed=seed, deals=deals)
    points, bids, tricks = (
        values[:, 0].astype(np.int64) for values in (played.points, played.bids, played.tricks)
    )
    by_seat = np.stack([points, bids, tricks >= bids, tricks * tricks], axis=1)
    sums: npt.NDArray[np.int64] = by_seat.sum(axis=2)
    return sums


def covariate_expectation(
    rules: Rules, *, deals: int = EXPECTATION_DEALS, seed: int = EXPECTATION_SEED
) -> Expectation:
    """The covariates' expectation, from the deals 0, 1, 2, ... of a seed that nothing else is played with."""
    found = deal_covariates(rules, seed, np.arange(check_count(deals, "deals")))
    return Expectation(found.mean(axis=0), np.cov(found, rowvar=False), deals, seed)


def adjust(
    values: Floats,
    covariates: npt.NDArray[np.int64] | Floats,
    expectation: Expectation,
    *,
    resamples: int = RESAMPLES,
    seed: int = BOOTSTRAP_SEED,
) -> Adjusted:
    """The mean of values by deal, adjusted by the deals' covariates.

    Args:
        values: [D], in points.
        covariates: [D, C].
        expectation: of the covariates.
        resamples: as of ``statistics.intervals``; the betas stay as they are in all of them.
        seed: of the resamples.

    Raises:
        ValueError: shapes that do not fit.
    """
    shape = (len(values), len(expectation.mean))
    if covariates.shape != shape:
        raise ValueError(f"covariates must have the shape {shape}, not {covariates.shape}")
    excess = covariates - expectation.mean
    beta = np.array([_slopes(values[half::2], excess[half::2]) for half in (1, 0)])
    adjusted = values.copy()
    for half in (0, 1):
        for c in range(shape[1]):  # term by term: the order of a matrix product's sums is the machine's
            adjusted[half::2] -= beta[half, c] * excess[half::2, c]
    columns = np.rint(_STEPS * np.stack([values, adjusted], axis=1)).astype(np.int64)
    plain, inner = intervals(columns, np.full(2, _STEPS), resamples=resamples, seed=seed)
    parts = np.array([(len(values) + 1) // 2, len(values) // 2]) / len(values)
    slope = parts @ beta
    error = math.sqrt(max(0.0, float(slope @ expectation.covariance @ slope)) / expectation.deals)
    outer = _widened(inner, error)
    kept = (outer.deviation / plain.deviation) ** 2 if plain.deviation else 1.0
    return Adjusted(plain, outer, 1 - kept, beta)


def adjusted_points(
    results: Results, tables: Mapping[str, Sequence[int] | None], expectation: Expectation
) -> dict[str, Adjusted]:
    """The points a deal of entrants, plain and adjusted, by name: of each over its tables (None: all).

    Raises:
        ValueError: the expectation is that of the very deals.
    """
    if expectation.seed == results.seed:
        raise ValueError(f"the expectation must come from other deals than those of seed {results.seed}")
    covariates = deal_covariates(results.rules, results.seed, results.deals)
    return {
        name: adjust(points_by_deal(results, name, its), covariates, expectation)
        for name, its in tables.items()
    }


def _slopes(values: Floats, excess: Floats) -> Floats:
    """[C] least squares with an intercept; 0 where there are too few deals."""
    deals, count = excess.shape
    if deals < ENOUGH * (count + 1):
        return np.zeros(count)
    around = excess - excess.mean(axis=0)
    slopes = np.linalg.lstsq(around, values - values.mean(), rcond=None)[0]
    # Any beta is unbiased. Rounded, the last bits of the fit, which are the machine's, reach no figure.
    return np.asarray(np.round(slopes, 6), np.float64)


def _widened(interval: Interval, error: float) -> Interval:
    """With an independent error (a standard error) of the mean added."""
    mean, more = interval.mean, 1.96 * error  # rounded, as the figures of v1 are
    return dataclasses.replace(
        interval,
        low=mean - math.hypot(mean - interval.low, more),
        high=mean + math.hypot(interval.high - mean, more),
        deviation=math.hypot(interval.deviation, error * math.sqrt(interval.units)),
    )
