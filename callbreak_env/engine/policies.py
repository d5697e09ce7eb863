"""Compiled policies: a number each, and one kernel that asks them. Opponents and playouts act through it."""

from __future__ import annotations

import numpy as np

from callbreak_env.actions import BID_OFFSET
from callbreak_env.engine._jit import inlined, kernel, lowest_bit, nth_bit, popcount
from callbreak_env.engine.legality import BIDS_FLAG, legal_word
from callbreak_env.engine.random import keyed
from callbreak_env.engine.rule_based import PARAMETERS, rule_based_action
from callbreak_env.engine.state import BIDDING, NONE, SUIT_OF, SUIT_SETS, CardSet, Record

UNIFORM, LOW_BID, LOWEST, RULE_BASED = range(4)
POLICIES = {"uniform": UNIFORM, "low_bid": LOW_BID, "lowest": LOWEST, "rule_based": RULE_BASED}
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
def lowest_action(word: CardSet) -> int:
    """The lowest of the actions of a ``legal_word``, not empty: the minimum bid, or the lowest card id."""
    index = lowest_bit(word & ~BIDS_FLAG)
    return int(BID_OFFSET + index if word >= BIDS_FLAG else index)


@inlined()
def lowest_card_action(word: CardSet) -> int:
    """The minimum bid, or the legal card of the lowest rank; of equal ranks the one of the lowest suit."""
    if word >= BIDS_FLAG:
        return lowest_action(word)
    best = NONE
    for suit in range(4):
        cards = word & SUIT_SETS[suit]
        if cards != np.uint64(0):
            card = lowest_bit(cards)
            if best < 0 or card - 13 * suit < best - 13 * SUIT_OF[best]:
                best = card
    return int(best)


@kernel()
def informed_action(policy: int, table: Record, rules: Record) -> int:
    """``policy_action`` of all policies but the uniform one."""
    word = legal_word(table, rules)
    if policy == RULE_BASED:
        return rule_based_action(table, rules, word, PARAMETERS)
    if policy == LOWEST or word >= BIDS_FLAG:
        return lowest_card_action(word)
    return uniform_choice(word, decision_random(table))


@inlined()
def policy_action(policy: int, table: Record, rules: Record) -> int:
    """What a compiled policy does for the seat to act. Not for a match that is over."""
    if policy == UNIFORM:  # in place, as it is the one that the speed of the engine is measured with
        return uniform_choice(legal_word(table, rules), decision_random(table))
    return informed_action(policy, table, rules)
