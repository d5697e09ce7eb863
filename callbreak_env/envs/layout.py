"""The forms in which batch environments write observations: float32, int8, history, or none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from gymnasium import spaces

from callbreak_env.checks import check_choice
from callbreak_env.engine.state import Array
from callbreak_env.observation import FIELDS, HISTORY_WIDTH, RULES_AT, WIDTH, new_space, put_rules

ENCODINGS = ("flat", "history")
DTYPES = ("float32", "int8")


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


def new_layout(rules: Array, encoding: str | None, dtype: str) -> Layout:
    """The form that an environment's arguments ask for; ``rules``: [1] RULES.

    Raises:
        ValueError: no such encoding or dtype.
    """
    if encoding == "flat":
        row = np.zeros(WIDTH, check_choice(dtype, "dtype", DTYPES))
        put_rules(rules[0], row)
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
    high = np.concatenate([np.broadcast_to(field.scale, field.size) for field in FIELDS]).astype(np.int8)
    return spaces.Box(-high, high, dtype=np.int8)
