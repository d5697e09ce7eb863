"""Checks of arguments: each gives the value back as what it must be, or one ValueError that names it."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from callbreak_env.cards import NUM_SEATS

MAX_SEED = 2**63 - 1


def check_int(value: Any, what: str) -> int:
    """``value`` as an int; ValueError for anything but a whole number (a bool is none)."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise ValueError(
            f"{what} must be a whole number, not {value!r:.60} ({type(value).__name__})"
        ) from None


def check_list(value: Any, what: str) -> list[Any]:
    """``value`` as a list; ValueError, beginning with ``what``, for anything that is no collection."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return list(value)
    except TypeError:
        raise ValueError(f"{what}, not {type(value).__name__}") from None


def check_seat(value: Any, what: str) -> int:
    """``value`` as a seat 0-3, or ValueError."""
    seat = check_int(value, what)
    if not 0 <= seat < NUM_SEATS:
        raise ValueError(f"{what} must be a seat, 0 to {NUM_SEATS - 1}, not {seat}")
    return seat


def check_seed(value: Any, what: str = "seed") -> int:
    """``value`` as a seed 0 to 2**63 - 1, or ValueError."""
    seed = check_int(value, what)
    if not 0 <= seed <= MAX_SEED:
        raise ValueError(f"{what} must be from 0 to 2**63 - 1, not {seed}")
    return seed


def check_count(value: Any, what: str, least: int = 1, most: int | None = None) -> int:
    """``value`` as a whole number from ``least`` to ``most``, or ValueError."""
    count = check_int(value, what)
    if count < least:
        raise ValueError(f"{what} must be at least {least}, not {count}")
    if most is not None and count > most:
        raise ValueError(f"{what} must be at most {most}, not {count}")
    return count


def check_number(value: Any, what: str, positive: bool = False) -> float:
    """``value`` as a float of at least 0, or above 0 if ``positive``; ValueError for anything else."""
    number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan
    if not 0 <= number < math.inf or (positive and not number):
        raise ValueError(
            f"{what} must be a number {'above' if positive else 'of at least'} 0, not {value!r:.60}"
        )
    return float(number)


def check_choice(value: Any, what: str, choices: Sequence[str]) -> str:
    """``value`` as one of some words, or ValueError."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{what}={value!r:.60}: choose one of {', '.join(map(repr, choices))}")
    return value
