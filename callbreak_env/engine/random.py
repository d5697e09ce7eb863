"""Random numbers for policies and samplers; the game's own (the decks) are in ``dealing.py``.

SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators; OOPSLA 2014): the state
goes up by ``GOLDEN`` a number, and the number is ``mix(state)``, so numbers are independent of each other to
the processor as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

from callbreak_env.engine._jit import inlined

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MUL0, _MUL1 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_MUL2, _MUL3 = np.uint64(0xD1342543DE82EF95), np.uint64(0xAF251AF3B0F025B5)

F = TypeVar("F", bound=Callable[..., Any])


def _wrapping(function: F) -> F:
    """uint64 arithmetic that wraps without a warning; compiled, it does so by itself."""
    return np.errstate(over="ignore")(function) if numba.config.DISABLE_JIT else function


@inlined()
@_wrapping
def next_state(state: np.uint64) -> np.uint64:
    """The state after this one."""
    return state + GOLDEN


@inlined()
@_wrapping
def mix(state: np.uint64) -> np.uint64:
    """The number that belongs to a state: a bijection of 64 bits."""
    state = (state ^ (state >> np.uint64(30))) * _MUL0
    state = (state ^ (state >> np.uint64(27))) * _MUL1
    return state ^ (state >> np.uint64(31))


@inlined()
@_wrapping
def keyed(seed: np.uint64, match: np.uint64, count: np.uint64) -> np.uint64:
    """64 random bits that are a function of three numbers.

    The factors are spectrally good multipliers (Steele, Vigna: Computationally easy, spectrally good
    multipliers for congruential pseudorandom number generators; Software: Practice and Experience 52, 2022).
    """
    return mix(seed * _MUL2 + match * _MUL3 + count * GOLDEN)
