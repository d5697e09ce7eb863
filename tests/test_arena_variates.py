"""Control variates: unbiased, honest about their width, and worth what they say."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from callbreak_env import Match, make_agent
from callbreak_env.arena.figures import entrant_figures
from callbreak_env.arena.formats import challenger
from callbreak_env.arena.play import play
from callbreak_env.arena.statistics import Interval, intervals
from callbreak_env.arena.variates import (
    EXPECTATION_SEED,
    Adjusted,
    Expectation,
    adjust,
    adjusted_points,
    covariate_expectation,
    deal_covariates,
)
from callbreak_env.rules import Rules
from conftest import JIT
from synthetic import draw_results

REPETITIONS = 400
MEAN = np.array([70.0, 11.0])
COVARIANCE = np.array([[900.0, -10.0], [-10.0, 1.5]])
TRUTH = 2.0
SLOPES = np.array([0.01, -0.3])

Floats = npt.NDArray[np.float64]


def expectation_of(rng: np.random.Generator, deals: int = 100_000) -> Expectation:
    """What a sample of so many deals might give."""
    return Expectation(rng.multivariate_normal(MEAN, COVARIANCE / deals), COVARIANCE, deals, 1)


def draw(rng: np.random.Generator, deals: int, tie: float) -> tuple[Floats, Floats]:
    """Values of mean TRUTH, and their covariates, which explain ``tie`` of SLOPES of them; luck is 0.4."""
    covariates = rng.multivariate_normal(MEAN, COVARIANCE, deals)
    # A curved part too: the fit is a line, the truth need not be.
    curved = 0.05 * ((covariates[:, 1] - MEAN[1]) ** 2 - COVARIANCE[1, 1])
    values = TRUTH + tie * ((covariates - MEAN) @ SLOPES + curved) + 0.4 * rng.normal(size=deals)
    return values, covariates


def repeated(deals: int, tie: float, sample: int, seed: int) -> list[Adjusted]:
    rng = np.random.default_rng(seed)
    return [
        adjust(*draw(rng, deals, tie), expectation_of(rng, sample), resamples=400) for _ in range(REPETITIONS)
    ]


@pytest.mark.parametrize(("deals", "sample"), [(100, 100_000), (101, 300), (400, 2000)])
def test_adjusted_means_are_unbiased_and_their_intervals_cover(deals: int, sample: int) -> None:
    """Over 400 repetitions: the truth within three standard errors, covered in 95 % (three sigmas: 3.3 %).

    Expectations of few deals too, whose error the intervals must hold.
    """
    found = repeated(deals, 1, sample, deals)
    means = np.array([each.adjusted.mean for each in found])
    error = means.std(ddof=1)
    assert means.mean() == pytest.approx(TRUTH, abs=3 * error / math.sqrt(REPETITIONS))
    covered = np.mean([each.adjusted.low <= TRUTH <= each.adjusted.high for each in found])
    assert covered == pytest.approx(0.95, abs=3 * math.sqrt(0.95 * 0.05 / REPETITIONS))
    claimed = np.mean([each.adjusted.deviation for each in found]) / math.sqrt(deals)
    assert claimed == pytest.approx(error, rel=0.15)
    # What was taken away of the variance is what it says.
    plain = np.var([each.plain.mean for each in found])
    assert 1 - error**2 / plain == pytest.approx(np.mean([each.reduction for each in found]), abs=0.12)


def test_the_reduction_is_that_of_the_correlation() -> None:
    rng = np.random.default_rng(0)
    values, covariates = draw(rng, 40_000, 1)
    found = adjust(values, covariates, Expectation(MEAN, COVARIANCE, 10**9, 1), resamples=50)
    explained = np.corrcoef(values, (covariates - MEAN) @ SLOPES)[0, 1] ** 2
    assert explained > 0.4
    assert found.reduction == pytest.approx(explained, abs=0.01)
    assert found.beta == pytest.approx(np.array([SLOPES, SLOPES]), abs=0.02)
    assert (
        found.plain
        == intervals(np.rint(values[:, None] * 2**16).astype(int), np.array([2**16]), resamples=50)[0]
    )


def test_covariates_that_explain_nothing_do_little_harm() -> None:
    found = repeated(200, 0, 100_000, 7)
    plain = np.var([each.plain.mean for each in found])
    adjusted = np.var([each.adjusted.mean for each in found])
    assert adjusted < 1.1 * plain  # 2 numbers fitted on 100 deals: 2 % is to be expected
    assert -0.05 < np.mean([each.reduction for each in found]) < 0.01


def test_each_half_is_adjusted_by_the_other() -> None:
    """A deal's own value has no part in its beta."""
    rng = np.random.default_rng(1)
    values, covariates = draw(rng, 101, 1)
    expectation = expectation_of(rng)
    before = adjust(values, covariates, expectation)
    values[::2] += 100 * rng.normal(size=51)
    after = adjust(values, covariates, expectation)
    assert np.array_equal(before.beta[0], after.beta[0])
    assert not np.allclose(before.beta[1], after.beta[1])
    excess = covariates - expectation.mean
    expected = values - (np.tile(after.beta, (51, 1))[:101] * excess).sum(axis=1)
    assert after.adjusted.mean == pytest.approx(expected.mean(), abs=1e-4)


def test_with_few_deals_nothing_is_adjusted() -> None:
    rng = np.random.default_rng(2)
    values, covariates = draw(rng, 59, 1)
    found = adjust(values, covariates, expectation_of(rng))
    assert found.beta[0].tolist() == [0, 0]  # fitted on 29 deals, where 30 are enough for 3 numbers
    assert (found.beta[1] != 0).all()
    few = adjust(values[:40], covariates[:40], expectation_of(rng))
    assert few.adjusted == few.plain
    assert few.reduction == 0


def test_the_error_of_the_expectation_is_in_the_interval() -> None:
    """Values that are all explained: what is left is the covariates' expectation, and its error."""
    rng = np.random.default_rng(3)
    covariates = rng.multivariate_normal(MEAN, COVARIANCE, 400)
    values = covariates @ np.array([0.125, 0.0])
    expectation = Expectation(MEAN + 1, COVARIANCE, 900, 1)
    found = adjust(values, covariates, expectation)
    assert found.adjusted.mean == pytest.approx(71 / 8, abs=1e-4)
    error = 30 / 8 / math.sqrt(900)
    assert found.adjusted.high - found.adjusted.mean == pytest.approx(1.96 * error, rel=1e-3)
    assert found.adjusted.mean - found.adjusted.low == pytest.approx(1.96 * error, rel=1e-3)
    assert found.adjusted.deviation == pytest.approx(error * 20, rel=1e-3)
    level = adjust(np.full(400, 2.0), covariates, expectation)
    assert level.reduction == 0
    assert level.adjusted == Interval(2, 2, 2, 0, 400)


@pytest.mark.parametrize("rules", ["standard", "bhoos", "misdeal", "min_total", "partnership"])
def test_covariates_are_those_of_four_rule_based_players(rules: str) -> None:
    numbers = np.array([0, 3, 4, 2**40])
    found = deal_covariates(Rules.preset(rules), 21, numbers)
    one_deal = dataclasses.replace(Rules.preset(rules), deals=1, tie="shared")
    agent = make_agent("rule_based")
    for row, number in zip(found.tolist(), numbers.tolist(), strict=True):
        match = Match(one_deal, seed=21, number=number)
        while not match.is_over:
            match.apply(agent.act(match.view(match.seat)))  # type: ignore[arg-type]
        bids = [bid or 0 for bid in match.bids]
        made = [won >= bid for won, bid in zip(match.tricks_won, bids, strict=True)]
        assert row == [sum(match.points), sum(bids), sum(made), sum(won * won for won in match.tricks_won)]
    assert np.array_equal(deal_covariates(Rules.preset(rules), 21, numbers[2:]), found[2:])


def test_the_expectation_is_of_other_deals() -> None:
    rules = Rules()
    found = covariate_expectation(rules, deals=30)
    rows = deal_covariates(rules, EXPECTATION_SEED, np.arange(30)).astype(float)
    assert found.mean == pytest.approx(rows.mean(axis=0))
    assert found.covariance == pytest.approx(np.cov(rows.T))
    assert (found.deals, found.seed) == (30, EXPECTATION_SEED)
    results = dataclasses.replace(
        draw_results(challenger("x", "y"), 20, np.random.default_rng(0)), seed=EXPECTATION_SEED
    )
    with pytest.raises(ValueError, match="must come from other deals than those of seed"):
        adjusted_points(results, {"x": None}, found)
    with pytest.raises(ValueError, match=r"covariates must have the shape \(20, 4\), not \(20, 3\)"):
        adjust(np.zeros(20), np.zeros((20, 3)), found)


def test_played_points_are_adjusted(amount: Callable[..., int]) -> None:
    """``lowest`` against three ``rule_based``: other deals agree, and the interval is narrower."""
    deals = amount(4000, no_jit=4)
    schedule = challenger("lowest", "rule_based")
    results = play(schedule, seed=31, deals=deals)
    expectation = covariate_expectation(results.rules, deals=amount(100_000, no_jit=10))
    found = adjusted_points(results, {"lowest": [0], "rule_based": [1]}, expectation)
    assert list(found) == ["lowest", "rule_based"]
    assert found["lowest"].plain.mean == pytest.approx(
        entrant_figures(results, [0])["lowest"].points.mean, abs=1e-4
    )
    if not JIT:
        return
    lowest = found["lowest"]
    assert lowest.reduction > 0.1
    assert lowest.adjusted.half_width < 0.95 * lowest.plain.half_width
    other = entrant_figures(play(schedule, seed=32, deals=40_000), [0])["lowest"].points
    errors = [each.deviation / math.sqrt(each.units) for each in (other, lowest.adjusted)]
    assert lowest.adjusted.mean == pytest.approx(other.mean, abs=3 * math.hypot(*errors))
    # The reference's own table is one of its covariates: all is explained but the expectation's error.
    assert found["rule_based"].reduction > 0.9
