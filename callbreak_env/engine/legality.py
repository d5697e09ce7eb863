"""Legality: which actions a seat may take, and what a play proves. One kernel a clause."""

from __future__ import annotations

import numpy as np

from callbreak_env.actions import BID_OFFSET, MAX_BID, NUM_ACTIONS
from callbreak_env.cards import NUM_CARDS
from callbreak_env.engine._jit import inlined, kernel, store_bits
from callbreak_env.engine.state import (
    ABOVE,
    BID_RANGE,
    BID_WHILE_PLAYING,
    BIDDING,
    CARD_WHILE_BIDDING,
    FIRST_LEAD,
    LEGAL,
    MATCH_IS_OVER,
    MUST_BEAT,
    MUST_FOLLOW,
    MUST_OVERTRUMP,
    MUST_TRUMP,
    NO_SUCH_ACTION,
    NOT_HELD,
    OVER,
    SUIT_OF,
    SUIT_SETS,
    Array,
    CardSet,
    Record,
)

_EMPTY = np.uint64(0)
BIDS_FLAG = np.uint64(1 << 63)
"""The bit of a ``legal_word`` that says that it holds bids."""
_SPADES = 3


@inlined()
def r5_bids(rules: Record) -> CardSet:
    """R5, H9: the legal bids, bit b for a bid of b."""
    upto = (np.uint64(2) << np.uint64(rules["max_bid"])) - np.uint64(1)
    return upto & ~((np.uint64(1) << np.uint64(rules["min_bid"])) - np.uint64(1))


@inlined()
def r7_first_lead(table: Record, rules: Record, hand: CardSet) -> CardSet:
    """R7: no spade leads the first trick, unless the leader holds only spades (off by H6, H7)."""
    if table["trick_no"] == 0 and not rules["first_led"] and not rules["free_spade_lead"]:
        plain = hand & ~SUIT_SETS[_SPADES]
        if plain != _EMPTY:
            return plain
    return hand


@inlined()
def must_beat_led(table: Record, rules: Record) -> bool:
    """R8, H10: whether a follower must beat the led suit's best card in this trick, if able.

    ``best_trump`` stands only where a plain suit was led, so a trump lead always counts as untrumped.
    """
    if not rules["must_beat"]:
        return False
    return bool(rules["beat_when_trumped"]) or int(table["best_trump"]) < 0


@inlined()
def r8_follow(table: Record, rules: Record, following: CardSet) -> CardSet:
    """R8: from the cards of the led suit, those that beat its best card if any do; otherwise all."""
    if must_beat_led(table, rules):
        beating = following & ABOVE[int(table["best_led"])]
        if beating != _EMPTY:
            return beating
    return following


@inlined()
def r9_trump(table: Record, rules: Record, hand: CardSet, trumps: CardSet) -> CardSet:
    """R9: void in the led suit: a trump, higher than the trick's trumps if possible; H10 frees the rest."""
    best = int(table["best_trump"])
    if best < 0:
        return trumps
    higher = trumps & ABOVE[best]
    if higher != _EMPTY:
        return higher
    return trumps if rules["undertrump"] else hand


@inlined()
def legal_cards(table: Record, rules: Record) -> CardSet:
    """The cards that the seat to act may play (R6-R10)."""
    hand = table["hands"][int(table["seat"])]
    if table["in_trick"] == 0:
        return r7_first_lead(table, rules, hand)
    following = hand & SUIT_SETS[SUIT_OF[int(table["best_led"])]]
    if following != _EMPTY:
        return r8_follow(table, rules, following)
    trumps = hand & SUIT_SETS[int(table["trump"])]
    if trumps != _EMPTY:
        return r9_trump(table, rules, hand, trumps)
    return hand  # R10


@inlined()
def legal_set(table: Record, rules: Record) -> CardSet:
    """What the seat to act may do: while bidding bit b for a bid of b, while playing bit c for card c."""
    phase = int(table["phase"])
    if phase == OVER:
        return _EMPTY
    if phase == BIDDING:
        return r5_bids(rules)
    return legal_cards(table, rules)


@inlined()
def legal_word(table: Record, rules: Record) -> CardSet:
    """``legal_set`` with bit 63 while bidding: all that tells which action ids are legal, in one word."""
    word = legal_set(table, rules)
    return word | BIDS_FLAG if int(table["phase"]) == BIDDING else word


@inlined()
def word_allows(word: CardSet, action: int) -> bool:
    """Whether a ``legal_word`` has an action id; any integer is answered."""
    index = int(action) - BID_OFFSET if word >= BIDS_FLAG else int(action)
    return 0 <= index < NUM_CARDS and word >> np.uint64(index) & np.uint64(1) != _EMPTY


@inlined()
def write_word(word: CardSet, mask: Array) -> None:
    """Write a ``legal_word`` into ``mask`` ([65] int8, one contiguous row)."""
    if word >= BIDS_FLAG:
        store_bits(mask, 0, word << np.uint64(BID_OFFSET))
        mask[NUM_ACTIONS - 1] = word >> np.uint64(MAX_BID) & np.uint64(1)
    else:
        store_bits(mask, 0, word)
        mask[NUM_ACTIONS - 1] = 0


@inlined()
def is_legal(table: Record, rules: Record, action: int) -> bool:
    """Whether the seat to act may take an action id; any integer is answered."""
    return bool(word_allows(legal_word(table, rules), action))


@inlined()
def write_mask(table: Record, rules: Record, mask: Array) -> None:
    """Write the legal mask of the seat to act into ``mask`` ([65] int8); all zeros when over."""
    write_word(legal_word(table, rules), mask)


@kernel()
def violation(table: Record, rules: Record, action: int) -> int:
    """Why an action is illegal: a code of ``state.py``, ``LEGAL`` (0) if it is not."""
    phase = int(table["phase"])
    if phase == OVER:
        return MATCH_IS_OVER
    if action < 0 or action >= NUM_ACTIONS:
        return NO_SUCH_ACTION
    if is_legal(table, rules, action):
        return LEGAL
    if phase == BIDDING:
        return BID_RANGE if action > BID_OFFSET else CARD_WHILE_BIDDING
    if action > BID_OFFSET:
        return BID_WHILE_PLAYING
    hand = table["hands"][int(table["seat"])]
    if hand >> np.uint64(action) & np.uint64(1) == _EMPTY:
        return NOT_HELD
    if table["in_trick"] == 0:
        return FIRST_LEAD
    led = SUIT_OF[int(table["best_led"])]
    if SUIT_OF[action] == led:
        return MUST_BEAT
    if hand & SUIT_SETS[led] != _EMPTY:
        return MUST_FOLLOW
    only_winners = int(table["best_trump"]) >= 0 and not rules["undertrump"]  # H10: others are not forced
    return MUST_OVERTRUMP if only_winners or SUIT_OF[action] == int(table["trump"]) else MUST_TRUMP


@inlined()
def prove_lead(table: Record, rules: Record, seat: int, card: int) -> None:
    """What a lead proves: a spade led to the first trick under R7, that the leader holds only spades."""
    spades = SUIT_SETS[_SPADES]
    if SUIT_OF[card] == _SPADES and r7_first_lead(table, rules, ~_EMPTY) != ~_EMPTY:
        table["may_hold"][seat] &= spades


@inlined()
def prove_follow(table: Record, rules: Record, seat: int, card: int) -> None:
    """What a play to a trick proves of the seat's other cards, before the card is added to the trick."""
    trump = int(table["trump"])
    best_led, best_trump = int(table["best_led"]), int(table["best_trump"])
    led = SUIT_OF[best_led]
    gone = _EMPTY
    if SUIT_OF[card] == led:
        if card < best_led and must_beat_led(table, rules):
            gone = ABOVE[best_led]
    else:
        gone = SUIT_SETS[led]
        if SUIT_OF[card] == trump:
            if card < best_trump:
                gone |= ABOVE[best_trump]
        elif best_trump < 0 or rules["undertrump"]:
            gone |= SUIT_SETS[trump]
        else:
            gone |= ABOVE[best_trump]
    table["may_hold"][seat] &= ~gone


@kernel()
def write_masks(tables: Array, rules: Array, masks: Array) -> None:
    """``write_mask`` for N tables ([N] TABLE) into ``masks`` ([N, 65] int8)."""
    for i in range(len(tables)):
        write_mask(tables[i], rules[0], masks[i])
