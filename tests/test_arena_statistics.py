"""Intervals and sample sizes: against a slow calculation, and by whether they hold what they promise."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from callbreak_env.arena import statistics
from callbreak_env.arena.figures import challenge, paired_differences
from callbreak_env.arena.formats import challenger
from callbreak_env.arena.play import play
from callbreak_env.arena.results import Schedule
from callbreak_env.arena.statistics import (
    Interval,
    deals_needed,
    deals_to_find,
    interval_ends,
    intervals,
    resample_counts,
    resampled_sums,
)
from conftest import JIT
from synthetic import draw_results

REPETITIONS = 400


def three_sigma(share: float, repetitions: int = REPETITIONS) -> float:
    """Three standard deviations of a share of so many independent repetitions."""
    return 3 * math.sqrt(share * (1 - share) / repetitions)


def covers(interval: Interval, truth: float) -> bool:
    return interval.low <= truth <= interval.high


def seat_points(rng: np.random.Generator, shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Points of a seat in tenths, skewed as real ones: bids of 1 to 5, made five times in six."""
    bids = rng.choice([1, 2, 3, 4, 5], size=shape, p=[0.1, 0.4, 0.3, 0.15, 0.05])
    made = rng.random(shape) < 5 / 6
    points: npt.NDArray[np.int64] = np.where(made, 10 * bids + rng.integers(0, 4, shape), -10 * bids)
    return points


def test_an_interval_is_what_a_slow_calculation_gives() -> None:
    rng = np.random.default_rng(0)
    units, resamples = 60, 400
    tops = rng.integers(-40, 60, (units, 2))
    bottoms = np.stack([np.full(units, 10), rng.integers(0, 4, units)], axis=1)
    counts = np.concatenate(list(resample_counts(units, resamples, 9)))
    assert counts.shape == (resamples, units)
    assert (counts.sum(axis=1) == units).all()
    # The t quantile of 59 degrees is 2.0010; sqrt(60 / 59) of it is the normal quantile of 0.0218.
    rank = int(0.0218 * resamples)
    for v, interval in enumerate(intervals(tops, bottoms, resamples=resamples, seed=9)):
        top, bottom = tops[:, v], bottoms[:, v]
        mean = top.sum() / bottom.sum()
        again = sorted(float(count @ top) / float(count @ bottom) for count in counts)
        values = (top - mean * bottom) / bottom.mean()
        expected = Interval(mean, again[rank], again[-1 - rank], values.std(ddof=1), units)
        assert dataclasses.astuple(interval) == pytest.approx(dataclasses.astuple(expected), rel=1e-12)
    assert interval.half_width == (interval.high - interval.low) / 2
    assert -interval == Interval(
        -interval.mean, -interval.high, -interval.low, interval.deviation, interval.units
    )


def test_the_level_makes_up_for_few_units() -> None:
    even = np.arange(100_000.0)
    for units, t in ((11, 2.228139), (30, 2.045230), (100, 1.984217), (10_001, 1.960201)):
        tail = math.erfc(t * math.sqrt(units / (units - 1)) / math.sqrt(2)) / 2
        low, high = interval_ends(even, units)
        assert low == pytest.approx(100_000 * tail, abs=max(2, 100 * abs(11 / units) ** 3))
        assert low + high == 99_999


def test_the_same_digits_in_any_order_and_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    tops, bottoms = seat_points(rng, (150, 5)) * 2**30, rng.integers(1, 9, (150, 5))
    found = intervals(tops, bottoms, resamples=300)
    assert intervals(tops[:, ::-1].copy(), bottoms[:, ::-1], resamples=300) == found[::-1]
    assert intervals(tops[:, 2:3], bottoms[:, 2:3], resamples=300) == found[2:3]
    assert intervals(-tops, bottoms, resamples=300) == [-interval for interval in found]
    assert intervals(tops, bottoms, resamples=300, seed=2) != found
    monkeypatch.setattr(statistics, "_KEPT", 40 * 150)
    monkeypatch.setattr(statistics, "_USED", 7 * 150)
    assert intervals(tops, bottoms, resamples=300) == found


def test_the_resamples_stay_those_of_all_results_so_far() -> None:
    (counts,) = resample_counts(10, 2, statistics.BOOTSTRAP_SEED)
    assert counts.astype(int).tolist() == [[1, 1, 0, 1, 2, 2, 0, 0, 1, 2], [0, 1, 2, 2, 2, 1, 0, 2, 0, 0]]
    values = np.arange(1000)[:, None] ** 2 % 97
    (interval,) = intervals(values, np.array([10]))
    assert interval == Interval(4.784, 4.5949, 4.9747, 3.0373194282638942, 1000)


def test_a_resample_without_a_bottom_counts_as_the_figure_itself() -> None:
    tops, bottoms = np.array([[7], [0], [0]]), np.array([[2], [0], [0]])
    assert 0 in resampled_sums(bottoms, resamples=100)
    (interval,) = intervals(tops, bottoms, resamples=100)
    assert (interval.mean, interval.low, interval.high) == (3.5, 3.5, 3.5)


def test_too_few_units_are_refused() -> None:
    values = np.arange(99)[:, None]
    with pytest.raises(ValueError, match="at least 2 deals"):
        intervals(values[:1], np.array([1]))
    with pytest.raises(ValueError, match="figure 1 is a ratio to a sum of 0"):
        intervals(np.ones((3, 2), np.int64), np.array([1, 0]))
    for resamples, seed in ((0, 1), (1.5, 1), (10, -1)):
        with pytest.raises(ValueError, match=r"^(resamples|seed) must"):
            resampled_sums(values, resamples=resamples, seed=seed)  # type: ignore[arg-type]


@pytest.mark.parametrize("units", [20, 100, 400])
def test_intervals_cover_the_mean_and_the_ratio(units: int) -> None:
    """In 95 % of 400 samples, give or take three binomial sigmas (3.3 %); at 20 units 2 % less."""
    rng = np.random.default_rng(units)
    everything = seat_points(np.random.default_rng(0), (1_000_000,))
    points = seat_points(rng, (units, REPETITIONS))
    made = points > 0
    found = intervals(
        np.concatenate([points, points % 10], axis=1),
        np.concatenate([np.full_like(points, 10), made], axis=1),
        resamples=1000,
    )
    truths = [everything.mean() / 10, (everything % 10).sum() / (everything > 0).sum()]
    for k, truth in enumerate(truths):
        share = np.mean([covers(each, truth) for each in found[k * REPETITIONS : (k + 1) * REPETITIONS]])
        assert share == pytest.approx(0.95, abs=three_sigma(0.95) + 0.02 * (units < 100))


def test_an_agent_against_its_own_copies() -> None:
    """The interval covers 0 in 95 % of 400 repetitions, give or take three binomial sigmas (3.3 %)."""
    rng = np.random.default_rng(2)
    schedule = challenger("it", "copy")
    margins, gains = [], []
    for _ in range(REPETITIONS):
        found = challenge(draw_results(schedule, 120, rng), "it", "copy", resamples=500)
        assert found.gain is not None
        margins.append(covers(found.margin, 0))
        gains.append(covers(found.gain, 0))
    assert np.mean(margins) == pytest.approx(0.95, abs=three_sigma(0.95))
    assert np.mean(gains) == pytest.approx(0.95, abs=three_sigma(0.95))


def test_a_planted_edge_is_found() -> None:
    """An edge of 0.1 in 80 % of 400 repetitions of as many deals as the helper names; 3 sigmas are 6 %."""
    rng = np.random.default_rng(3)
    schedule = challenger("it", "copy", field_table=False)
    edges = (0.075, -0.025)  # 0.1 apart

    def margin(deals: int) -> Interval:
        return challenge(draw_results(schedule, deals, rng, edges, 0.6), "it", "copy", resamples=500).margin

    deals = deals_to_find(0.1, margin(2000).deviation)
    assert 80 < deals < 400
    found = [margin(deals) for _ in range(REPETITIONS)]
    assert np.mean([each.low > 0 for each in found]) == pytest.approx(0.8, abs=three_sigma(0.8))
    width = np.mean([each.half_width for each in found])
    assert deals_needed(float(width), found[0].deviation) == pytest.approx(deals, rel=0.15)


def test_played_copies_differ_by_chance_alone(amount: Callable[..., int]) -> None:
    """The same agent under four names, in one seating: differences cover 0 in 95 % (three sigmas)."""
    parts, deals = amount(REPETITIONS, no_jit=10), amount(100, no_jit=10)
    schedule = Schedule(("a", "b", "c", "d"), np.array([[0, 1, 2, 3]]), np.zeros(1, np.int64))
    entrants = [f"{name}=low_bid" for name in schedule.names]
    results = play(schedule, entrants, seed=11, deals=parts * deals)
    covered = []
    for part in range(parts):
        some = results.select(range(part * deals, (part + 1) * deals))
        found = paired_differences(some, resamples=300)
        covered += [covers(found["a", "b"], 0), covers(found["c", "d"], 0)]
    assert np.mean(covered) == pytest.approx(0.95, abs=three_sigma(0.95, len(covered)) + 0.1 * (not JIT))


def test_played_copies_make_the_same_in_every_rotation(amount: Callable[..., int]) -> None:
    """A compiled agent's randomness is the table's: against itself every rotation is the same game."""
    schedule = challenger("it", "copy")
    results = play(schedule, ["it=uniform", "copy=uniform"], seed=12, deals=amount(200, no_jit=5))
    found = challenge(results, "it", "copy")
    assert found.figures.points.deviation > 0
    assert found.gain is not None
    for interval in (found.margin, found.gain):
        assert dataclasses.astuple(interval)[:4] == (0, 0, 0, 0)


def test_sample_sizes_are_those_of_the_normal_formula() -> None:
    # By hand: (1.959964 * 0.7 / 0.05)**2 = 752.9; (1.959964 + 0.841621)**2 = 7.848879, * 0.64 / 0.01 = 502.3
    assert deals_needed(0.05, 0.7) == 753
    assert deals_to_find(0.1, 0.8) == 503
    assert deals_to_find(0.1, 0.8, power=0.5) == deals_needed(0.1, 0.8) == 246
    assert (deals_needed(0.02, 0.8), deals_to_find(0.02, 0.8)) == (6147, 12559)
    for size, deviation in ((0, 1), (-0.1, 1), (0.1, 0), (0.1, math.inf), (math.nan, 1)):
        with pytest.raises(ValueError, match="must be a positive number of points"):
            deals_needed(size, deviation)
    for power in (0.4, 1, math.nan):
        with pytest.raises(ValueError, match="power must be"):
            deals_to_find(0.1, 1, power)
