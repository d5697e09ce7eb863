"""One table as one NumPy record; a batch is an array of it. Also the rules in the same form.

Sets of cards are uint64 with bit ``c`` for card ``c``; seats in a set are bits 0-3. Kernels read fields
as ``table["field"]``, which means the same compiled and with ``NUMBA_DISABLE_JIT=1``. Small integer
fields are read through ``int(...)``: uncompiled, an int8 would overflow in arithmetic.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from callbreak_env.cards import CARDS_PER_SUIT, NUM_CARDS, NUM_SEATS, NUM_SUITS
from callbreak_env.rules import Rules

Array = npt.NDArray[Any]
Record = Any
"""One record of ``TABLE`` or ``RULES``, as a kernel sees it."""
CardSet = Any
"""A set of cards, uint64. (What kernels read from a record has no static type.)"""

BIDDING, PLAYING, OVER = range(3)
NONE = -1
ALL_SEATS = 15
NO_LOG = 255

# fmt: off
TABLE = np.dtype(
    [
        # name           type        range and meaning
        ("hands",       np.uint64, (4,)),   # cards held, by seat
        ("may_hold",    np.uint64, (4,)),   # cards a seat may still hold, by what all have seen
        ("played",      np.uint64, (4,)),   # cards played in this deal, by seat, the current trick too
        ("totals",      np.int64, (4,)),    # tenths; the extra deal never counts
        ("seed",        np.uint64),         # key of the shuffles, with match and deck
        ("match",       np.uint64),         # number of the match under that seed
        ("points",      np.int32, (4,)),    # tenths of the last finished deal
        ("deck",        np.uint32),         # decks used in this match, thrown-in ones too
        ("deal",        np.int32),          # 0 ... deals - 1; the extra deal is number `deals`
        ("redeals",     np.int32),          # H2 redeals in a row of this deal
        ("log",         np.uint8, (52,)),   # card | seat << 6 in play order, then NO_LOG
        ("trick",       np.int8, (4,)),     # card in the current trick, by seat, or NONE
        ("bids",        np.int8, (4,)),     # 1-13; 0 = not (yet) bid
        ("tricks_won",  np.int8, (4,)),     # 0-13
        ("phase",       np.int8),           # BIDDING, PLAYING, OVER
        ("dealer",      np.int8),           # seat
        ("leader",      np.int8),           # seat that leads (led) the trick; while bidding, will lead
        ("seat",        np.int8),           # seat to act, NONE when over
        ("trump",       np.int8),           # suit, NONE while unknown (H6)
        ("best_led",    np.int8),           # highest card of the led suit in the trick, or NONE
        ("best_trump",  np.int8),           # highest trump in a trick with a plain suit led, or NONE
        ("trick_seat",  np.int8),           # seat that is winning the trick, or NONE
        ("last_winner", np.int8),           # seat that won the last finished trick, NONE before one
        ("in_trick",    np.int8),           # cards in the trick, 0-3
        ("trick_no",    np.int8),           # finished tricks of this deal, 0-13
        ("num_played",  np.int8),           # cards played in this deal, 0-52: the length of log
        ("active",      np.int8),           # set of the seats in this deal
        ("num_active",  np.int8),           # how many they are, 2-4
        ("winners",     np.int8),           # set of the winners of the match, 0 before its end
    ],
    align=True,
)

RULES = np.dtype(
    [
        ("deals",             np.int32),
        ("min_bid",           np.int32),
        ("max_bid",           np.int32),
        ("min_total_bid",     np.int32),
        ("max_redeals",       np.int32),
        ("misdeal",           np.int8),
        ("bonus_bid",         np.int32),    # 0 = off
        ("bonus_points",      np.int32),    # whole points
        ("partnership",       np.int8),
        ("first_led",         np.int8),
        ("free_spade_lead",   np.int8),
        ("shared",            np.int8),
        ("must_beat",         np.int8),
        ("beat_when_trumped", np.int8),
        ("undertrump",        np.int8),
    ],
    align=True,
)
# fmt: on

ALL_CARDS = np.uint64((1 << NUM_CARDS) - 1)
SUIT_SETS = np.array([0x1FFF << (CARDS_PER_SUIT * s) for s in range(NUM_SUITS)], np.uint64)
"""[4] uint64: the cards of each suit."""
SUIT_OF = np.repeat(np.arange(NUM_SUITS), CARDS_PER_SUIT)
"""[52] int64: the suit of each card."""
ABOVE = np.array(
    [(0x1FFF << (c - c % 13)) & ~((2 << c) - 1) & ((1 << NUM_CARDS) - 1) for c in range(NUM_CARDS)],
    np.uint64,
)
"""[52] uint64: the higher cards of the same suit."""
NEXT_SEAT = np.array(
    [
        [
            next(((s + i) % 4 for i in range(1, 5) if active >> (s + i) % 4 & 1), NONE)
            for s in range(NUM_SEATS)
        ]
        for active in range(ALL_SEATS + 1)
    ]
)
"""[16, 4] int64: the next active seat to the right, by the set of active seats and the seat."""

# What a step brought about (bits of the value that `step` returns).
TRICK_END, DEAL_END, MATCH_END, REDEAL = 1, 2, 4, 8

# Why an action is illegal (the value that `violation` returns; 0 = legal).
(
    LEGAL,
    MATCH_IS_OVER,
    NO_SUCH_ACTION,
    CARD_WHILE_BIDDING,
    BID_RANGE,
    BID_WHILE_PLAYING,
    NOT_HELD,
    FIRST_LEAD,
    MUST_FOLLOW,
    MUST_BEAT,
    MUST_TRUMP,
    MUST_OVERTRUMP,
) = range(12)

NO_DECKS: Array = np.zeros((0, NUM_CARDS), np.uint8)
"""For every kernel that takes ``decks``: shuffle all of them."""


def rules_record(rules: Rules) -> Array:
    """The rules as the engine reads them: an array of one ``RULES`` record, shared: do not write.

    Raises:
        ValueError: it is no ``Rules``.
    """
    if not isinstance(rules, Rules):
        raise ValueError(f"rules must be a Rules, as Rules.preset gives it, not {rules!r:.60}")
    return _record(rules)


@functools.lru_cache(maxsize=256)
def _record(rules: Rules) -> Array:
    record = np.zeros(1, RULES)
    for name, value in rules.to_dict().items():
        if name in (RULES.names or ()):
            record[name] = 0 if value is None else value
    record["first_led"] = rules.trump == "first_led"
    record["shared"] = rules.tie == "shared"
    return record
