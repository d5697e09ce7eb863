"""Playouts for search: what comes of a position when compiled policies play its deal to the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from callbreak_env.cards import NUM_SEATS
from callbreak_env.checks import check_choice, check_count, check_list, check_seed
from callbreak_env.engine.playouts import legal_rows, play_out_rows, sound_rows
from callbreak_env.engine.policies import POLICIES
from callbreak_env.engine.state import NONE, TABLE, rules_record
from callbreak_env.engine.threads import check_threads, run_rows
from callbreak_env.match import Match
from callbreak_env.refusals import check_actions, illegal_at
from callbreak_env.rules import Rules, as_rules


def playouts(
    position: Match | npt.NDArray[np.void],
    repeats: int = 1,
    policies: str | Sequence[str] = "uniform",
    *,
    seed: int,
    actions: Any = None,
    rules: Rules | str | None = None,
    threads: int | None = 1,
) -> npt.NDArray[np.int32]:
    """Play positions to the end of their deals, again and again; they stay as they are.

    Args:
        position: a ``Match``, or [K] TABLE records, such as ``Worlds.tables`` gives. (A ``View`` lacks the
            hidden hands: sample them first.)
        repeats: playouts of each position, R.
        policies: names of compiled policies, one for all seats or one a seat.
        seed: 0 to 2**63 - 1; the same seed, the same playouts, for any number of threads.
        actions: the first action id, one for all or [K]; None leaves it to the policy.
        rules: of records, which must be told; a match has its own.
        threads: at most so many share the playouts; None: one for each core.

    Returns:
        [K, R, 4] int32 (K = 1 for a match): the points of the deal by seat, in tenths; 0 for a seat that is
        not in it.

    Raises:
        ValueError: an argument is not what it must be, or a position has no deal to play out.
    """
    if isinstance(position, Match):
        if rules is not None:
            raise ValueError("a match has its own rules: leave rules out")
        tables, the_rules = position.record_array, position.rules
    else:
        if rules is None:
            raise ValueError("records do not say by which rules they are played: give rules")
        tables, the_rules = position, as_rules(rules)
        if getattr(tables, "dtype", None) != TABLE or tables.ndim != 1:
            shape = f" of shape {tables.shape}" if hasattr(tables, "shape") else ""
            name = type(position).__name__
            raise ValueError(f"position must be a Match or [K] TABLE records, not {name}{shape}")
    one = isinstance(policies, str)
    names = [policies] * NUM_SEATS if one else check_list(policies, "policies must be names")
    if len(names) != NUM_SEATS:
        raise ValueError(f"policies must be one name, or one for each of {NUM_SEATS} seats, not {len(names)}")
    record = rules_record(the_rules)
    codes = np.array([POLICIES[check_choice(name, "policy", list(POLICIES))] for name in names])
    points = np.empty((len(tables), check_count(repeats, "repeats"), NUM_SEATS), np.int32)
    seed = check_seed(seed)
    threads = check_threads(threads)
    fit = np.empty(len(tables), np.bool_)
    if run_rows(sound_rows, len(tables), threads, tables, fit):
        raise ValueError(
            f"position {fit.argmin()} cannot be played out: no deal is on, or a hand is not whole (a view's "
            "are not), or the record is none of a table"
        )
    first = np.full(len(tables), NONE)
    if actions is not None:
        given = np.asarray(actions)
        first[:] = check_actions(given if given.ndim else np.full(len(tables), given), len(tables))
        if run_rows(legal_rows, len(tables), threads, tables, record, first, fit):
            row = int(fit.argmin())
            raise illegal_at(tables, the_rules, row, int(first[row]))
    work = (tables, record, first, codes, seed, points)
    run_rows(play_out_rows, points.shape[0] * points.shape[1], threads, *work)
    return points
