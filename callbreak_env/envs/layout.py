"""The forms in which batch environments write observations: float32, int8, history, or none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from callbreak_env.actions import NUM_ACTIONS
from callbreak_env.checks import check_choice
from callbreak_env.engine.state import Array
from callbreak_env.observation import DTYPES, HISTORY_WIDTH, RULES_AT, SCALES, WIDTH, new_space, put_rules

ENCODINGS = ("flat", "history")


@dataclass(frozen=True)
class Layout:
    """One of the forms.

    Attributes:
        width: slots of a row.
        dtype: of a slot.
        space: of one row.
        rules_shown: the field ``rules`` of every row, [14]; empty for the other encodings.
    """

    width: int
    dtype: np.dtype[np.generic]
    space: spaces.Box
    rules_shown: Array

    def empty(self, rows: int) -> tuple[Array, npt.NDArray[np.int8]]:
        """Unwritten observations and masks of so many rows: [rows, width] and [rows, 65]."""
        return np.empty((rows, self.width), self.dtype), np.empty((rows, NUM_ACTIONS), np.int8)


def new_layout(rules: Array, encoding: str | None, dtype: str) -> Layout:
    """The form that an environment's arguments ask for; ``rules``: [1] RULES.

    Raises:
        ValueError: no such encoding or dtype.
    """
    if encoding == "flat":
        row = np.zeros(WIDTH, check_choice(dtype, "dtype", DTYPES))
        put_rules(rules[0], row, RULES_AT)
        space = new_space("flat") if dtype == "float32" else _exact_space()
        return Layout(WIDTH, row.dtype, space, row[RULES_AT:])
    if check_choice(dtype, "dtype", DTYPES) != "float32":
        raise ValueError(f"dtype={dtype!r:.40} is for encoding='flat' only; leave it out")
    nothing = np.zeros(0, np.int16)
    if encoding is None:
        return Layout(0, nothing.dtype, spaces.Box(0, 0, (0,), np.int16), nothing)
    return Layout(HISTORY_WIDTH, nothing.dtype, new_space(encoding), nothing)


def _exact_space() -> spaces.Box:
    """The space of an int8 row: every field as it is, up to its scale."""
    high = SCALES.astype(np.int8)
    return spaces.Box(-high, high, dtype=np.int8)
