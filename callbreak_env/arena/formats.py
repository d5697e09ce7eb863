"""Formats: which entrants sit at which tables, in which seatings. Each gives a ``Schedule``."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from callbreak_env.arena.results import Schedule
from callbreak_env.cards import NUM_SEATS
from callbreak_env.checks import check_choice, check_count, check_list, check_seed

SEATINGS = ("rotations", "all")
"""The four cyclic shifts of a table, or every order of its seats; of equal seatings one."""

Table = tuple[int, ...]
"""Four entrants, by their numbers."""


def four_at_a_table(names: Sequence[str], seatings: str = "rotations") -> Schedule:
    """Four entrants at one table; a name may be there more than once.

    Copies of an entrant are told apart by their seat alone, so only distinct seatings are played: of four
    different names 4 rotations and 24 in all, of one name four times 1.

    Args:
        names: four, as they sit in the first seating, from seat 0.
        seatings: ``"rotations"`` or ``"all"``.

    Raises:
        ValueError: not four names, or no such kind of seatings.
    """
    listed = _check_names(names, "names")
    if len(listed) != NUM_SEATS:
        raise ValueError(f"a table has {NUM_SEATS} entrants, not {len(listed)}: {listed}")
    different = list(dict.fromkeys(listed))
    return _schedule(different, [tuple(different.index(name) for name in listed)], seatings)


def challenger(challenger: str, reference: str, field_table: bool = True) -> Schedule:
    """An entrant against three copies of a reference, in each seat once.

    Args:
        challenger: its name, entrant 0.
        reference: the other's name, entrant 1.
        field_table: with a second table of four copies of the reference, in its one seating: what the
            challenger's seat makes in the reference's hands.

    Raises:
        ValueError: no names, or twice the same.
    """
    names = _check_names([challenger, reference], "challenger and reference")
    if challenger == reference:
        raise ValueError(f"challenger and reference are both {reference!r}: name one of them otherwise")
    return _schedule(names, [(0, 1, 1, 1), (1, 1, 1, 1)] if field_table else [(0, 1, 1, 1)], "rotations")


def round_robin(
    names: Sequence[str], seatings: str = "all", tables: int | None = None, seed: int = 0
) -> Schedule:
    """Every table of four different entrants of a field, or a balanced sample of these tables.

    Fewer than four entrants sit at every table of four that all of them take part in: of two that is one
    against three, two against two, three against one; of three, each of them twice in turn.

    The sample: so many different tables are drawn, each equally likely. Then, as long as some entrant sits
    at two tables more than another, at one table the other takes its place; which one is drawn. At the end
    the numbers of tables of any two entrants differ by at most one.

    Args:
        names: of the field, each once.
        seatings: ``"rotations"`` or ``"all"``, of each table.
        tables: how many; None is all.
        seed: of the sample, 0 to 2**63 - 1: the same seed, the same tables.

    Raises:
        ValueError: a name twice, no names, or there are not so many tables.
    """
    listed = _check_names(names, "names")
    twice = sorted({name for name in listed if listed.count(name) > 1})
    if twice or not listed:
        raise ValueError(f"names must be of one entrant or more, each once: {twice or 'there are none'}")
    seed = check_seed(seed)
    count = len(listed)
    missing = NUM_SEATS - count
    found: Iterable[Table]
    if missing > 0:
        more = itertools.combinations_with_replacement(range(count), missing)
        found = [tuple(sorted((*range(count), *extra))) for extra in more]
    elif tables is None:
        found = itertools.combinations(range(count), NUM_SEATS)
    else:
        found = _sample(count, _check_tables(tables, math.comb(count, NUM_SEATS)), seed)
    if missing > 0 and tables is not None:
        raise ValueError(f"tables={tables}: a sample is for four entrants or more, here are {count}")
    return _schedule(listed, found, seatings)


def _check_names(names: Any, what: str) -> list[str]:
    listed = check_list(names, f"{what} must be a list of names")
    for name in listed:
        if not isinstance(name, str) or not name:
            raise ValueError(f"{what} must be names of entrants, not {name!r:.60}")
    return listed


def _check_tables(tables: Any, most: int) -> int:
    count = check_count(tables, "tables")
    if count > most:
        raise ValueError(f"tables={count}: of so many entrants there are only {most} tables")
    return count


def _schedule(names: Sequence[str], tables: Iterable[Table], seatings: str) -> Schedule:
    every = check_choice(seatings, "seatings", SEATINGS) == "all"
    rows: list[Table] = []
    numbers: list[int] = []
    for number, table in enumerate(tables):
        orders = itertools.permutations(table) if every else _rotations(table)
        distinct = list(dict.fromkeys(orders))
        rows += distinct
        numbers += [number] * len(distinct)
    return Schedule(tuple(names), np.array(rows, np.int64), np.array(numbers, np.int64))


def _rotations(table: Table) -> Iterable[Table]:
    """Seatings in which everybody moves one seat up at a time."""
    return (table[NUM_SEATS - shift :] + table[: NUM_SEATS - shift] for shift in range(NUM_SEATS))


def _sample(count: int, tables: int, seed: int) -> list[Table]:
    """A balanced sample of the tables of four of ``count`` entrants, in ascending order."""
    rng = np.random.default_rng(seed)
    chosen: set[Table] = set()
    while len(chosen) < tables:
        chosen.add(tuple(sorted(rng.choice(count, NUM_SEATS, replace=False).tolist())))
    while True:
        played = np.bincount(np.array(sorted(chosen)).ravel(), minlength=count)
        often, seldom = int(played.argmax()), int(played.argmin())
        if played[often] - played[seldom] <= 1:
            return sorted(chosen)
        # More tables hold only `often` than only `seldom`, so that some exchange gives a new one.
        exchanges = [
            (table, new)
            for table in sorted(chosen)
            if often in table and seldom not in table
            if (new := tuple(sorted((set(table) - {often}) | {seldom}))) not in chosen
        ]
        old, new = exchanges[int(rng.integers(len(exchanges)))]
        chosen.remove(old)
        chosen.add(new)
