"""Plackett-Luce ratings: against another library, and against the strengths that results were drawn from."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from itertools import permutations

import choix
import numpy as np
import numpy.typing as npt
import pytest

from callbreak_env.arena.formats import challenger, four_at_a_table, round_robin
from callbreak_env.arena.ratings import PRIOR, _choices, _pattern, display, fit, rate
from callbreak_env.arena.results import Results, Schedule
from synthetic import draw_results, results_of

NAMES = ["a", "b", "c", "d", "e", "f"]
STRENGTHS = np.array([0.8, 0.3, 0.1, 0.0, -0.4, -0.8])


def ranked(schedule: Schedule, matches: int, strengths: npt.NDArray[np.float64], seed: int) -> Results:
    """Matches drawn from the model: the totals are exponential clocks' order (Gumbel), made whole numbers."""
    rng = np.random.default_rng(seed)
    totals = strengths[schedule.seatings] + rng.gumbel(size=(matches, len(schedule.seatings), 4))
    points = np.zeros((5 * matches, len(schedule.seatings), 4), np.int32)
    points[::5] = np.round(1e6 * totals)
    return results_of(schedule, points)


def orders(results: Results) -> list[tuple[int, ...]]:
    """Every match's entrants, best first; for results without ties."""
    points = results.points.reshape(-1, 5, *results.points.shape[1:]).sum(axis=1)
    seated = np.broadcast_to(results.schedule.seatings, points.shape)
    best_first = np.take_along_axis(seated, np.argsort(-points, axis=-1), axis=-1)
    return [tuple(order) for order in best_first.reshape(-1, 4).tolist()]


def strengths_of(results: Results, resamples: int = 2) -> npt.NDArray[np.float64]:
    by_name = {rating.name: rating.strength.mean for rating in rate(results, resamples=resamples).entrants}
    return np.array([by_name[name] for name in results.schedule.names])


def test_strengths_are_those_of_choix() -> None:
    results = ranked(round_robin(NAMES, "rotations"), 2, STRENGTHS, 0)
    expected = choix.opt_rankings(6, orders(results), alpha=0.5 / PRIOR**2, tol=1e-7)
    assert strengths_of(results) == pytest.approx(expected - expected.mean(), abs=1e-6)
    pure = choix.ilsr_rankings(6, orders(results))  # without a prior
    assert strengths_of(results) == pytest.approx(pure, abs=5e-4)


def test_orders_of_seats_that_tie_share_a_match() -> None:
    """Every match is given to choix 24 times, in each order that fits equally often."""
    results = ranked(four_at_a_table(NAMES[:4], "rotations"), 2, STRENGTHS, 1)
    rounded = dataclasses.replace(results, points=(results.points // 400_000).astype(np.int32))
    totals = rounded.points.reshape(-1, 5, *results.points.shape[1:]).sum(axis=1).reshape(-1, 4)
    seated = np.tile(results.schedule.seatings, (2, 1))
    data = []
    for total, seating in zip(totals.tolist(), seated.tolist(), strict=True):
        fitting = [
            tuple(seating[k] for k in order)
            for order in permutations(range(4))
            if all(total[order[k]] >= total[order[k + 1]] for k in range(3))
        ]
        data += fitting * (24 // len(fitting))
    assert len(set(map(len, map(set, totals.tolist())))) > 1  # there are ties, and matches without
    expected = choix.opt_rankings(4, data, alpha=12 / PRIOR**2, tol=1e-7)
    assert strengths_of(rounded) == pytest.approx(expected - expected.mean(), abs=1e-6)


def test_choices_of_a_pattern_are_those_of_its_orders() -> None:
    table = _choices()
    assert Counter(table[:, :4].sum(axis=1).tolist()) == {0: 729 - 75, 72: 75}  # 75 weak orders of four
    # Seats, then all of them, then the threes 012 013 023 123, then the pairs 01 02 03 12 13 23.
    for totals, expected in (
        ((30, 10, 20, 0), [24, 24, 24, 0, 24, 0, 0, 0, 24, 0, 0, 0, 0, 24, 0]),
        ((5, 9, 9, 1), [24, 24, 24, 0, 24, 0, 12, 12, 0, 0, 0, 24, 0, 0, 0]),
        ((7, 7, 7, 7), [18, 18, 18, 18, 24, 6, 6, 6, 6, 4, 4, 4, 4, 4, 4]),
    ):
        assert table[_pattern(np.array(totals))].tolist() == expected


def test_copies_of_an_entrant_count_each() -> None:
    """One a against three b: a comes first with chance w / (w + 3); closed form from first places alone."""
    schedule = Schedule(("a", "b"), np.array([[0, 1, 1, 1]]), np.zeros(1, np.int64))
    results = ranked(schedule, 3000, np.array([0.7, 0.0]), 2)
    found = strengths_of(results)
    assert found[0] - found[1] == pytest.approx(0.7, abs=0.12)
    # choix knows no copies; by hand: the likelihood of a's place k among three equal others
    places = Counter(order.index(0) for order in orders(results))

    def likelihood(x: float) -> float:
        w = math.exp(x)
        total = 0.0
        for place, count in places.items():
            terms = [-math.log(w + 3 - k) for k in range(place + 1)]
            total += count * (sum(terms) + x)
        return total

    grid = np.linspace(-1, 2, 30_001)
    assert found[0] - found[1] == pytest.approx(grid[np.argmax([likelihood(x) for x in grid])], abs=2e-4)


def test_intervals_cover_the_strengths() -> None:
    """A difference from the mean is covered in 95 % of 40 x 4 cases, give or take three binomial sigmas."""
    schedule = four_at_a_table(NAMES[:4])
    truth = STRENGTHS[:4] - STRENGTHS[:4].mean()
    covered = []
    for repetition in range(40):
        found = rate(ranked(schedule, 60, truth, 100 + repetition), resamples=100)
        assert found.matches == 60
        for rating in found.entrants:
            interval = rating.strength
            covered.append(interval.low <= truth[NAMES.index(rating.name)] <= interval.high)
    assert np.mean(covered) == pytest.approx(0.95, abs=3 * math.sqrt(0.95 * 0.05 / 160))


def test_matches_are_resampled_with_all_their_seatings() -> None:
    """Where the seatings of a match repeat each other, they tell no more than one."""
    one = ranked(Schedule(tuple("abcd"), np.arange(4)[None], np.zeros(1, np.int64)), 80, STRENGTHS[:4], 3)
    schedule = Schedule(tuple("abcd"), np.tile(np.arange(4), (6, 1)), np.zeros(6, np.int64))
    six = results_of(schedule, np.repeat(one.points, 6, axis=1))
    for single, copied in zip(rate(one).entrants, rate(six).entrants, strict=True):
        assert copied.strength.deviation == pytest.approx(single.strength.deviation, rel=0.02)
        assert copied.strength.mean == pytest.approx(single.strength.mean, abs=0.01)


def test_entrants_come_best_first_on_both_scales() -> None:
    results = ranked(round_robin(NAMES, "rotations"), 300, STRENGTHS, 4)
    found = rate(results, resamples=20)
    assert [rating.name for rating in found.entrants] == NAMES
    assert found.finite
    assert sum(rating.strength.mean for rating in found.entrants) == pytest.approx(0, abs=1e-9)
    assert [display(0), display(math.log(10))] == [1500, 1900]
    few = rate(results, [0], resamples=20)
    assert {rating.name for rating in few.entrants} == set("abcd")


def test_who_is_always_outranked_stays_finite_and_is_told() -> None:
    results = ranked(challenger("x", "y"), 200, np.array([50.0, 0.0]), 5)
    found = rate(results, resamples=10)
    assert not found.finite
    assert 3 < found.entrants[0].strength.mean < 12
    assert found.entrants[0].name == "x"
    level = rate(results_of(results.schedule, np.zeros((10, 5, 4))), resamples=10)
    assert level.finite
    assert [rating.strength.mean for rating in level.entrants] == pytest.approx([0, 0], abs=1e-9)


def test_what_cannot_be_rated_is_refused() -> None:
    seatings = np.array([[0, 1, 0, 1], [2, 3, 2, 3]])
    apart = Schedule(("a", "b", "c", "d"), seatings, np.array([0, 1]))
    results = draw_results(apart, 20, np.random.default_rng(0))
    with pytest.raises(ValueError, match="no chain of common tables links c, d with a"):
        rate(results)
    assert [rating.name for rating in rate(results, [1], resamples=5).entrants] in (["c", "d"], ["d", "c"])
    with pytest.raises(ValueError, match="at least 2 matches of 5 deals, not 9 deals"):
        rate(results.select(range(9)), [0])
    alone = draw_results(four_at_a_table(["a"] * 4), 20, np.random.default_rng(0))
    with pytest.raises(ValueError, match="at least 2 entrants, not 1"):
        rate(alone)


def test_the_fit_is_where_the_likelihood_is_flat() -> None:
    rng = np.random.default_rng(6)
    copies = np.array([[1, 1, 1, 1, 0], [0, 1, 1, 2, 0], [1, 0, 0, 1, 1], [0, 0, 2, 0, 1]], float)
    sets = np.array([40, 30, 50, 20.0])
    wins = np.zeros(5)
    for count, row in zip(sets, copies, strict=True):
        wins += rng.multinomial(int(count), row / row.sum())
    found = fit(wins, sets, copies, prior=2.0)
    weights = copies * np.exp(found)
    slope = wins - sets @ (weights / weights.sum(axis=1, keepdims=True)) - found / 4
    assert slope == pytest.approx(np.zeros(5), abs=1e-5)
    assert fit(wins, sets, copies, start=found + 3, prior=2.0) == pytest.approx(found, abs=1e-7)
