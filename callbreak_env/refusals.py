"""What batch environments refuse: arrays that do not fit, and illegal actions, told by row."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from callbreak_env.actions import NUM_ACTIONS
from callbreak_env.checks import check_int
from callbreak_env.engine.legality import word_allows
from callbreak_env.engine.play import advance
from callbreak_env.engine.state import NO_DECKS, Array, rules_record
from callbreak_env.errors import CallBreakError, IllegalAction, illegal_action
from callbreak_env.rules import Rules
from callbreak_env.table import legal_mask_of

ROWS_NAMED = 3


def check_actions(actions: Any, rows: int) -> npt.NDArray[np.int64]:
    """``actions`` as [rows] int64; ValueError for another shape or kind."""
    array = np.asarray(actions)
    if array.dtype.kind not in "iu":
        raise ValueError(f"actions must be whole numbers, not {array.dtype}")
    if array.shape != (rows,):
        raise ValueError(f"actions must be one a row, of shape ({rows},), not {array.shape}")
    # As in_int64: any number above 64 will do. Another memory layout would be compiled anew.
    array = (np.minimum(array, NUM_ACTIONS) if array.dtype.kind == "u" else array).astype(
        np.int64, copy=False
    )
    return array if array.flags.c_contiguous and array.flags.writeable else array.copy()


def check_out(array: Any, shape: tuple[int, ...], dtype: Any, what: str) -> None:
    """ValueError unless ``array`` can be written as a contiguous array of that shape and dtype."""
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{what} must be an array, not {type(array).__name__}")
    if (array.shape, array.dtype) != (shape, np.dtype(dtype)):
        raise ValueError(f"{what} must be {shape} {np.dtype(dtype)}, not {array.shape} {array.dtype}")
    if not (array.flags.c_contiguous and array.flags.writeable):
        raise ValueError(f"{what} must be contiguous (C order) and writeable")


def check_row(row: Any, rows: int) -> int:
    """``row`` as a row number, or ValueError."""
    number = check_int(row, "row")
    if not 0 <= number < rows:
        raise ValueError(f"row must be from 0 to {rows - 1}, not {number}")
    return number


def refuse_rows(
    tables: Array, rules: Rules, words: Array, given: Any, rows: npt.NDArray[np.int64] | None = None
) -> CallBreakError:
    """The error that names the first rows whose action, as given, their ``legal_word`` does not allow.

    Args:
        tables: [N] TABLE.
        rules: of them.
        words: [N] uint64, or [K] of some rows.
        given: [N] or [K], the actions.
        rows: [K], the rows that these are for; None: all.
    """
    rows = np.arange(len(words)) if rows is None else rows
    actions = np.asarray(given)
    wrong = {
        int(row): int(action)
        for row, word, action in zip(rows, words, actions, strict=True)
        if word != 0 and not word_allows(np.uint64(word), in_int64(action))
    }
    named = list(wrong.items())[:ROWS_NAMED]
    told = [f"row {row}: {illegal_at(tables, rules, row, action)}" for row, action in named]
    more = "" if len(wrong) <= ROWS_NAMED else f"\n... and {len(wrong) - ROWS_NAMED} more"
    count = f"{len(wrong)} of {len(words)} actions {'is' if len(wrong) == 1 else 'are'} illegal"
    return CallBreakError(f"{count}, nothing was stepped\n" + "\n".join(told) + more)


def in_int64(action: Any) -> int:
    """An action id as kernels take it: what is none at all becomes -1 or 65."""
    return max(-1, min(NUM_ACTIONS, int(action)))


def illegal_at(tables: Array, rules: Rules, row: int, action: int) -> IllegalAction:
    """The error for an illegal action of the seat to act at one table."""
    one = tables[row : row + 1].copy()
    code = -advance(one, rules_record(rules), NO_DECKS, in_int64(action), np.empty(NUM_ACTIONS, np.int8))
    legal = tuple(np.flatnonzero(legal_mask_of(one, rules_record(rules))).tolist())
    return illegal_action(code, action, one[0], rules, legal)
