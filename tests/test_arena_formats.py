"""Who sits where: seatings are distinct and complete, samples of tables are balanced."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from callbreak_env.arena.formats import challenger, four_at_a_table, round_robin
from callbreak_env.arena.results import Schedule


def named(schedule: Schedule) -> list[tuple[str, ...]]:
    """The seatings by names."""
    return [tuple(schedule.names[i] for i in row) for row in schedule.seatings.tolist()]


@pytest.mark.parametrize(
    ("names", "rotations", "orders"),
    [("aaaa", 1, 1), ("abbb", 4, 4), ("abab", 2, 6), ("aabb", 4, 6), ("abac", 4, 12), ("abcd", 4, 24)],
)
def test_seatings_are_distinct_and_complete(names: str, rotations: int, orders: int) -> None:
    turned = named(four_at_a_table(list(names)))
    assert len(turned) == len(set(turned)) == rotations
    assert set(turned) == {tuple(names[-k:] + names[:-k]) for k in range(4)}
    every = named(four_at_a_table(list(names), "all"))
    assert len(every) == len(set(every)) == orders
    assert set(every) == set(itertools.permutations(names))
    assert turned[0] == every[0] == tuple(names)


def test_everybody_sits_everywhere_equally_often() -> None:
    for seatings, times in (("rotations", 1), ("all", 6)):
        schedule = four_at_a_table(["w", "x", "y", "z"], seatings)
        assert schedule.tables.tolist() == [0] * 4 * times
        for seat in range(4):
            assert np.bincount(schedule.seatings[:, seat]).tolist() == [times] * 4


def test_challenger_sits_in_every_seat_and_the_reference_alone_once() -> None:
    schedule = challenger("new", "old")
    assert schedule.names == ("new", "old")
    assert schedule.seatings.tolist() == [
        [0, 1, 1, 1],
        [1, 0, 1, 1],
        [1, 1, 0, 1],
        [1, 1, 1, 0],
        [1, 1, 1, 1],
    ]
    assert schedule.tables.tolist() == [0, 0, 0, 0, 1]
    alone = challenger("new", "old", field_table=False)
    assert alone.seatings.tolist() == schedule.seatings[:4].tolist()
    assert alone.tables.tolist() == [0] * 4


def test_round_robin_is_every_table_of_four() -> None:
    schedule = round_robin(list("abcdef"))
    assert len(schedule.seatings) == 15 * 24
    for number, table in enumerate(itertools.combinations("abcdef", 4)):
        found = [each for each, at in zip(named(schedule), schedule.tables, strict=True) if at == number]
        assert sorted(found) == sorted(itertools.permutations(table))
    assert len(round_robin(list("abcdef"), "rotations").seatings) == 15 * 4


@pytest.mark.parametrize(
    ("names", "tables"),
    [
        ("a", ["aaaa"]),
        ("ab", ["aaab", "aabb", "abbb"]),
        ("abc", ["aabc", "abbc", "abcc"]),
        ("abcd", ["abcd"]),
    ],
)
def test_a_small_field_sits_at_tables_with_all_of_it(names: str, tables: list[str]) -> None:
    schedule = round_robin(list(names))
    seatings = [sorted(set(itertools.permutations(table))) for table in tables]
    assert sorted(named(schedule)) == sorted(itertools.chain(*seatings))
    assert np.bincount(schedule.tables).tolist() == [len(each) for each in seatings]


def sampled(schedule: Schedule) -> list[tuple[int, ...]]:
    """Its tables, as entrants."""
    return [
        tuple(sorted(row))
        for row in schedule.seatings[np.unique(schedule.tables, return_index=True)[1]].tolist()
    ]


def test_a_sample_is_balanced(amount: Callable[..., int]) -> None:
    for count in range(4, amount(9, nightly=13)):
        for tables in range(1, math.comb(count, 4) + 1):
            schedule = round_robin([str(i) for i in range(count)], "rotations", tables, seed=tables)
            found = sampled(schedule)
            assert len(found) == len(set(found)) == tables
            assert all(len(set(table)) == 4 for table in found)
            often = Counter(itertools.chain(*found))
            assert max(often.values()) - min(often[i] for i in range(count)) <= 1
    assert len(set(sampled(round_robin(list("abcdefgh"), tables=70)))) == 70


def test_a_sample_is_that_of_its_seed() -> None:
    names = list("abcdefgh")
    draws = [tuple(sampled(round_robin(names, tables=6, seed=seed))) for seed in range(20)]
    assert draws == [tuple(sampled(round_robin(names, tables=6, seed=seed))) for seed in range(20)]
    assert len(set(draws)) == 20
    every = Counter(itertools.chain(*draws))
    assert len(every) > 50  # of 70 tables, in 120 draws


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "three": (lambda: four_at_a_table(["a", "b", "c"]), "a table has 4 entrants, not 3"),
    "text": (lambda: four_at_a_table("abcd"), "names must be a list of names, not str"),
    "no name": (lambda: four_at_a_table(["a", "b", "c", ""]), "names of entrants, not ''"),
    "number": (lambda: four_at_a_table(["a", "b", "c", 4]), "names of entrants, not 4"),
    "seatings": (
        lambda: four_at_a_table(["a"] * 4, "some"),
        "seatings='some': choose one of 'rotations', 'all'",
    ),
    "itself": (lambda: challenger("a", "a"), "challenger and reference are both 'a'"),
    "twice": (lambda: round_robin(["a", "b", "a"]), r"each once: \['a'\]"),
    "none": (lambda: round_robin([]), "there are none"),
    "too many": (
        lambda: round_robin(list("abcde"), tables=6),
        "tables=6: of so many entrants there are only 5",
    ),
    "zero": (lambda: round_robin(list("abcde"), tables=0), "tables must be at least 1"),
    "small field": (
        lambda: round_robin(list("abc"), tables=2),
        "a sample is for four entrants or more, here are 3",
    ),
    "seed": (lambda: round_robin(list("abcde"), tables=2, seed=-1), "seed must be"),
}


@pytest.mark.parametrize("case", WRONG)
def test_bad_input_is_told(case: str) -> None:
    call, words = WRONG[case]
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize(
    ("names", "seatings", "tables", "words"),
    [
        (("a", "a"), [[0, 0, 1, 1]], [0], "named once"),
        (("a", "b"), [[0, 0, 1, 2]], [0], "entrants 0 to 1"),
        (("a", "b"), [[0, 0, -1, 1]], [0], "entrants 0 to 1"),
        (("a", "b"), [[0, 0, 1]], [0], r"shape \(S, 4\)"),
        (("a", "b"), np.zeros((0, 4)), [], r"shape \(S, 4\)"),
        (("a", "b"), [[0, 0, 1, 1]], [0, 0], "one a seating"),
    ],
)
def test_a_schedule_of_ones_own_is_checked(names: Any, seatings: Any, tables: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Schedule(names, np.array(seatings, np.int64), np.array(tables, np.int64))
