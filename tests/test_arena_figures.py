"""The figures of results, against sums written out in Python."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from callbreak_env.arena.figures import (
    challenge,
    combine,
    cycles,
    entrant_figures,
    match_totals,
    paired_differences,
    payoffs,
    points_by_deal,
)
from callbreak_env.arena.formats import challenger, four_at_a_table, round_robin
from callbreak_env.arena.ratings import rate
from callbreak_env.arena.results import Results, Schedule
from callbreak_env.arena.statistics import Interval, intervals
from synthetic import draw_results, results_of

NAMES = ("a", "b", "c", "d", "e")


def mixed_schedule() -> Schedule:
    """Three tables: four different entrants, two copies of one, and two pairs; "e" sits at one only."""
    seatings = [[0, 1, 2, 3], [3, 0, 1, 2], [4, 1, 4, 0], [0, 4, 1, 4], [1, 2, 2, 1]]
    return Schedule(NAMES, np.array(seatings), np.array([0, 0, 1, 1, 2]))


def mixed_results(rules: str = "standard", deals: int = 23) -> Results:
    rng = np.random.default_rng(4)
    results = draw_results(mixed_schedule(), deals, rng, rules=rules)
    points = results.points // 20 * 20  # so that matches tie
    faults = rng.integers(0, 3, results.faults.shape).astype(np.int8)
    decisions, seconds = np.array([0, 5000, 4000, 0, 3000]), np.array([0, 2.5, 0, 0, 0.5])
    return dataclasses.replace(results, points=points, faults=faults, decisions=decisions, seconds=seconds)


def seats_of(results: Results, name: str, tables: list[int]) -> list[tuple[int, int]]:
    """Every (seating, seat) of an entrant."""
    schedule = results.schedule
    return [
        (s, seat)
        for s, seating in enumerate(schedule.seatings)
        for seat in range(4)
        if schedule.tables[s] in tables and schedule.names[seating[seat]] == name
    ]


def mean(values: list[Any]) -> float:
    return float(Fraction(sum(values)) / len(values))


@pytest.mark.parametrize("rules", ["standard", "partnership", "nine_deals"])
@pytest.mark.parametrize("tables", [None, [0], [1, 2]])
def test_figures_are_those_of_a_slow_calculation(rules: str, tables: list[int] | None) -> None:
    results = mixed_results(rules)
    found = entrant_figures(results, tables, resamples=50)
    among = [0, 1, 2] if tables is None else tables
    assert list(found) == [name for name in NAMES if seats_of(results, name, among)]
    length = 9 if rules == "nine_deals" else 5
    for name, figures in found.items():
        rows = seats_of(results, name, among)
        cells = [(d, s, seat) for d in range(23) for s, seat in rows]
        assert (figures.name, figures.seats) == (name, len(rows))
        assert figures.points.mean == mean([Fraction(int(results.points[cell]), 10) for cell in cells])
        assert figures.bid.mean == mean([int(results.bids[cell]) for cell in cells])
        assert figures.tricks.mean == mean([int(results.tricks[cell]) for cell in cells])
        over = []
        for d, s, seat in cells:
            side = [seat, seat ^ 2] if rules == "partnership" else [seat]
            over.append(int(sum(int(results.tricks[d, s, k]) - int(results.bids[d, s, k]) for k in side)))
        assert figures.made.mean == mean([one >= 0 for one in over])
        assert figures.overtricks is not None
        assert figures.overtricks.mean == mean([one for one in over if one >= 0])
        shares, ranks = [], []
        for first in range(0, 23 // length * length, length):
            for s, seat in rows:
                totals = results.points[first : first + length, s].sum(axis=0).tolist()
                level = totals.count(totals[seat])
                above = sum(total > totals[seat] for total in totals)
                shares.append(Fraction(int(above == 0), level))
                ranks.append(above + Fraction(level + 1, 2))
        assert figures.win_share is not None
        assert figures.rank is not None
        assert (figures.win_share.mean, figures.rank.mean) == (mean(shares), mean(ranks))
        assert (figures.win_share.units, figures.points.units) == (23 // length, 23)
        values = points_by_deal(results, name, tables)
        assert values.mean() == pytest.approx(figures.points.mean)
        assert values.std(ddof=1) == pytest.approx(figures.points.deviation)


def test_the_seats_of_a_match_share_one_win_and_ten_ranks() -> None:
    results = mixed_results("partnership")
    assert len(match_totals(results)) == 4
    found = entrant_figures(results, [0])
    assert sum(each.win_share.mean for each in found.values() if each.win_share) == pytest.approx(1)
    assert sum(each.rank.mean for each in found.values() if each.rank) == pytest.approx(10)


def test_what_foreign_agents_did_wrong_is_told() -> None:
    results = mixed_results()
    found = entrant_figures(results, [0])  # also of the other tables: decisions are counted for all
    assert found["a"].faults == {}
    assert found["a"].decisions_per_second is None
    mine = results.faults[:, results.schedule.seatings == 1].reshape(-1, 3).astype(int)
    expected = {kind: int(mine[:, k].sum()) / 5000 for k, kind in enumerate(("illegal", "error", "timeout"))}
    assert found["b"].faults == expected
    assert found["b"].decisions_per_second == 2000
    assert found["c"].decisions_per_second is None


def test_differences_are_by_seating_and_by_the_mean_of_copies() -> None:
    results = mixed_results()
    found = paired_differences(results, resamples=50)
    never = {("c", "e"), ("d", "e"), ("e", "c"), ("e", "d")}
    assert set(found) == set(permutations(NAMES, 2)) - never
    for (name, other), interval in found.items():
        parts = []
        for s in range(5):
            own = [k for s_, k in seats_of(results, name, [0, 1, 2]) if s_ == s]
            theirs = [k for s_, k in seats_of(results, other, [0, 1, 2]) if s_ == s]
            if own and theirs:
                points = results.points[:, s] / 10
                parts.append(points[:, own].mean(axis=1) - points[:, theirs].mean(axis=1))
        values = np.mean(parts, axis=0)
        assert interval.mean == pytest.approx(values.mean(), abs=1e-12)
        assert interval.deviation == pytest.approx(values.std(ddof=1))
        assert interval == -found[other, name]
    assert set(paired_differences(results, [1])) == {(x, y) for x in "abe" for y in "abe" if x != y}
    alone = draw_results(four_at_a_table(["a"] * 4), 5, np.random.default_rng(0))
    assert paired_differences(alone) == {}


def test_a_challenger_is_set_beside_its_field() -> None:
    rng = np.random.default_rng(6)
    one = np.eye(4, dtype=np.int64)
    schedule = Schedule(("ref", "x", "y"), np.concatenate([0 * one[:1], one, 2 * one]), np.arange(3, 12) // 4)
    results = draw_results(schedule, 50, rng, (0, 0.5, -0.5))
    points = results.points / 10
    for table, name in ((1, "x"), (2, "y")):
        found = challenge(results, name, "ref", resamples=100)
        assert found.table == table
        assert found.figures == entrant_figures(results, [table], resamples=100)[name]
        own = np.mean([points[:, 4 * table - 3 + k, k] for k in range(4)], axis=0)
        field = np.mean(
            [np.delete(points[:, 4 * table - 3 + k], k, axis=1).mean(axis=1) for k in range(4)], axis=0
        )
        assert found.gain is not None
        for interval, values in ((found.margin, own - field), (found.gain, own - points[:, 0].mean(axis=1))):
            assert interval.mean == pytest.approx(values.mean(), abs=1e-12)
            assert interval.deviation == pytest.approx(values.std(ddof=1))
    seatings = np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]])  # two seats of x beside four of the field
    few = draw_results(Schedule(("ref", "x"), seatings, np.array([0, 0, 1])), 20, rng)
    own = (few.points[:, 0, 0] + few.points[:, 1, 2]) / 20
    gain = challenge(few, "x", "ref").gain
    assert gain is not None
    assert gain.mean == pytest.approx((own - few.points[:, 2].mean(axis=1) / 10).mean(), abs=1e-12)
    no_field = draw_results(challenger("x", "ref", field_table=False), 20, rng)
    assert challenge(no_field, "x", "ref").gain is None
    for wrong in (("ref", "x"), ("ref", "ref"), ("x", "y")):
        with pytest.raises(ValueError, match="there is no table of one"):
            challenge(results, *wrong)
    with pytest.raises(ValueError, match="no entrant 'z': they are ref, x, y"):
        challenge(results, "z", "ref")


def test_the_payoff_table_is_by_table() -> None:
    results = mixed_results()
    found = payoffs(results, resamples=50)
    assert [(each.table, each.names) for each in found] == [
        (0, ("a", "b", "c", "d")),
        (1, ("a", "b", "e", "e")),
        (2, ("b", "b", "c", "c")),
    ]
    for each in found:
        assert set(each.points) == set(each.names)
        for name, interval in each.points.items():
            assert interval == entrant_figures(results, [each.table], resamples=50)[name].points
    assert payoffs(results, [1], resamples=50) == found[1:2]


def interval_from(low: float) -> Interval:
    return Interval(low + 1, low, low + 2, 1, 100)


def test_cycles_are_shown_where_every_lower_end_is_above_0() -> None:
    def differences(*pairs: str, low: float = 0.1) -> dict[tuple[str, str], Interval]:
        found = {}
        for better, worse in pairs:
            found[better, worse] = interval_from(low)
            found[worse, better] = -found[better, worse]
        return found

    assert cycles(differences("bc", "ca", "ab")) == [("a", "b", "c")]
    assert cycles(differences("cb", "ac", "ba")) == [("a", "c", "b")]
    assert cycles(differences("ab", "bc", "ac")) == []
    assert cycles(differences("ab", "bc") | differences("ca", low=0)) == []
    four = differences("ab", "bc", "ca", "da", "bd", "cd")
    assert cycles(four) == [("a", "b", "c"), ("a", "b", "d")]


def test_names_and_the_order_of_seatings_change_nothing() -> None:
    rng = np.random.default_rng(8)
    schedule = round_robin(list(NAMES), "rotations")
    results = draw_results(schedule, 60, rng, (0, 0.1, 0.2, 0.3, 0.4))
    order = rng.permutation(len(schedule.seatings))
    renumber = np.array([3, 0, 4, 1, 2])  # entrant e is now number renumber[e], under the name of that place
    names = tuple("vwxyz")
    again = Schedule(names, renumber[schedule.seatings][order], schedule.tables[order])
    arrays = {name: getattr(results, name)[:, order] for name in ("points", "bids", "tricks", "faults")}
    other = dataclasses.replace(results, schedule=again, **arrays)
    called = {name: names[renumber[k]] for k, name in enumerate(NAMES)}
    figures = entrant_figures(other)
    for name, each in entrant_figures(results).items():
        assert dataclasses.replace(each, name=called[name]) == figures[called[name]]
    differences = paired_differences(other)
    for (one, two), interval in paired_differences(results).items():
        assert interval == differences[called[one], called[two]]
    ratings = {rating.name: rating.strength for rating in rate(other, resamples=40).entrants}
    for rating in rate(results, resamples=40).entrants:
        expected = dataclasses.astuple(rating.strength)
        assert dataclasses.astuple(ratings[called[rating.name]]) == pytest.approx(expected, abs=1e-6)


def test_what_nobody_made_or_finished_has_no_figure() -> None:
    schedule = four_at_a_table(["a", "b", "b", "b"])
    results = results_of(schedule, np.zeros((9, 4, 4)), bids=np.full((9, 4, 4), 3))
    found = entrant_figures(results)["a"]
    assert (found.overtricks, found.win_share, found.rank) == (None, None, None)
    assert found.made == Interval(0, 0, 0, 0, 9)
    with pytest.raises(ValueError, match="at least 2 deals"):
        entrant_figures(results.select([3]))


def test_tables_and_entrants_that_are_not_there_are_refused() -> None:
    results = mixed_results()
    with pytest.raises(ValueError, match="no table 3: they are numbered 0 to 2"):
        entrant_figures(results, [0, 3])
    with pytest.raises(ValueError, match=r"'e' sits at none of the tables \[0\]"):
        points_by_deal(results, "e", [0])


def test_sums_over_seats_are_exact_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(9)
    values, weights = rng.integers(-128, 128, (30, 2, 4)).astype(np.int8), rng.integers(-9, 9, (3, 2, 4))
    expected = np.einsum("dsk,vsk->dv", values.astype(int), weights)
    assert np.array_equal(combine(values, weights), expected)
    monkeypatch.setattr("callbreak_env.arena.figures._VALUES", 32)
    assert np.array_equal(combine(values, weights), expected)
    (interval,) = intervals(combine(values, weights[:1]), np.array([1]))
    assert interval.mean == expected[:, 0].sum() / 30
