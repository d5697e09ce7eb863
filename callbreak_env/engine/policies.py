"""Compiled policies: a number each, and one kernel that asks them. Opponents and playouts act through it."""

from __future__ import annotations

import numpy as np

from callbreak_env.actions import BID_OFFSET
from callbreak_env.engine._jit import inlined, nth_bit, popcount
from callbreak_env.engine.legality import BIDS_FLAG, legal_word
from callbreak_env.engine.random import keyed
from callbreak_env.engine.state import BIDDING, CardSet, Record

UNIFORM = 0
POLICIES = {"uniform": UNIFORM}
"""The compiled policies by name."""
ASK = -1
"""In place of a policy: the actions of this seat come from outside."""


@inlined()
def decision_random(table: Record) -> np.uint64:
    """64 random bits for the decision at hand, a function of (seed, match, deck, decision): no state."""
    decision = int(table["seat"]) if int(table["phase"]) == BIDDING else 4 + int(table["num_played"])
    return keyed(table["seed"], table["match"], np.uint64((int(table["deck"]) << 6) | decision))


@inlined()
def uniform_choice(word: CardSet, random: np.uint64) -> int:
    """One of the actions of a ``legal_word``, not empty, each equally likely, from 64 random bits.

    The bias of taking 32 of the bits times the number of actions is below one in 2**28.
    """
    legal = word & ~BIDS_FLAG
    index = nth_bit(legal, ((random >> np.uint64(32)) * np.uint64(popcount(legal))) >> np.uint64(32))
    return int(BID_OFFSET + index if word >= BIDS_FLAG else index)


@inlined()
def policy_action(policy: int, table: Record, rules: Record) -> int:
    """What a compiled policy does for the seat to act. Not for a match that is over."""
    return uniform_choice(legal_word(table, rules), decision_random(table))
