"""Dealing: the only randomness of the game, a pure function of (seed, match, deck counter).

Numbers come from Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3;
SC 2011), a counter-based generator: the key is the seed, the counter is (match, deck, block), so any deck
can be made without those before it, in any thread, and no two share a number.
"""

from __future__ import annotations

import numpy as np

from callbreak_env.engine._jit import kernel
from callbreak_env.engine.state import (
    ALL_CARDS,
    NEXT_SEAT,
    NO_LOG,
    NONE,
    SUIT_SETS,
    Array,
    Record,
)

# Streams share key and counter but for the top half of the last counter word.
DECK_STREAM, CUT_STREAM, LEARNER_STREAM = 0, 1, 2

_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)
_MUL0, _MUL1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_BUMP0, _BUMP1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)


@kernel()
def philox(
    c0: np.uint64, c1: np.uint64, c2: np.uint64, c3: np.uint64, k0: np.uint64, k1: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Philox4x32-10: four 32-bit words from a counter of four and a key of two, each in a uint64."""
    for _ in range(10):
        p0 = _MUL0 * c0
        p1 = _MUL1 * c2
        c0, c1, c2, c3 = (p1 >> _32) ^ c1 ^ k0, p1 & _LOW, (p0 >> _32) ^ c3 ^ k1, p0 & _LOW
        k0 = (k0 + _BUMP0) & _LOW
        k1 = (k1 + _BUMP1) & _LOW
    return c0, c1, c2, c3


@kernel()
def _words(
    seed: np.uint64, match: np.uint64, deck: np.uint64, stream: int, block: int
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Block ``block`` of a stream of one deck."""
    last = np.uint64((stream << 16) | block)
    return philox(match & _LOW, match >> _32, deck, last, seed & _LOW, seed >> _32)


@kernel()
def shuffle(seed: np.uint64, match: np.uint64, deck: np.uint64, cards: Array) -> None:
    """Write the shuffled deck into ``cards`` ([52] uint8); every order equally likely.

    Fisher-Yates; each draw below n is 32 bits times n, with the few rejections that make it exact
    (Lemire: Fast random integer generation in an interval; TOMACS 29, 2019).
    """
    for i in range(52):
        cards[i] = i
    block = 0
    w0, w1, w2, w3 = _words(seed, match, deck, DECK_STREAM, block)
    left = 4
    i = 0
    while i < 51:
        if left == 0:
            block += 1
            w0, w1, w2, w3 = _words(seed, match, deck, DECK_STREAM, block)
            left = 4
        word = w0
        w0, w1, w2 = w1, w2, w3
        left -= 1
        n = np.uint64(52 - i)
        product = word * n
        low = product & _LOW
        if low < n and low < np.uint64(0x100000000) % n:
            continue
        j = i + np.int64(product >> _32)
        cards[i], cards[j] = cards[j], cards[i]
        i += 1


@kernel()
def _draw_seat(seed: np.uint64, match: np.uint64, stream: int) -> np.int64:
    """A uniform draw over the seats."""
    word, _, _, _ = _words(seed, match, np.uint64(0), stream, 0)
    return np.int64(word >> np.uint64(30))


@kernel()
def cut_for_dealer(seed: np.uint64, match: np.uint64) -> np.int64:
    """R3: the first dealer."""
    return _draw_seat(seed, match, CUT_STREAM)


@kernel()
def draw_learner(seed: np.uint64, match: np.uint64) -> np.int64:
    """The learner's seat in a match where it is drawn."""
    return _draw_seat(seed, match, LEARNER_STREAM)


@kernel()
def r4_deal(table: Record, decks: Array) -> None:
    """R4: the next deck, one card at a time from the dealer's right, 13 to each active seat.

    Uses ``decks[deck]`` ([n, 52] uint8) while there are such, then seeded shuffles.
    """
    deck = int(table["deck"])
    # The log is empty between deals: it holds the shuffled deck for a moment, so that nothing is allocated.
    cards = table["log"]
    if deck < len(decks):
        for i in range(52):
            cards[i] = decks[deck, i]
    else:
        shuffle(table["seed"], table["match"], np.uint64(table["deck"]), cards)
    table["deck"] = deck + 1
    active = int(table["active"])
    for seat in range(4):
        table["hands"][seat] = np.uint64(0)
    seat = int(table["dealer"])
    for i in range(13 * int(table["num_active"])):
        seat = NEXT_SEAT[active, seat]
        table["hands"][seat] |= np.uint64(1) << np.uint64(cards[i])
    for i in range(52):
        cards[i] = NO_LOG


@kernel()
def h3_misdeal(table: Record) -> bool:
    """H3: whether a seat dealt in holds one suit only, or no spade."""
    for seat in range(4):
        if int(table["active"]) >> seat & 1:
            hand = table["hands"][seat]
            if hand & SUIT_SETS[3] == np.uint64(0):
                return True
            for suit in range(4):
                if hand == SUIT_SETS[suit]:
                    return True
    return False


@kernel()
def open_bidding(table: Record, rules: Record) -> None:
    """The state of a deal that has been dealt, before the first bid; the hands stay as they are."""
    for seat in range(4):
        dealt_in = int(table["active"]) >> seat & 1
        table["may_hold"][seat] = ALL_CARDS if dealt_in else np.uint64(0)
        table["played"][seat] = np.uint64(0)
        table["trick"][seat] = NONE
        table["bids"][seat] = 0
        table["tricks_won"][seat] = 0
    first = NEXT_SEAT[int(table["active"]), int(table["dealer"])]
    table["phase"] = 0
    table["leader"] = first
    table["seat"] = first
    table["trump"] = NONE if rules["first_led"] else 3
    table["best_led"] = NONE
    table["best_trump"] = NONE
    table["trick_seat"] = NONE
    table["in_trick"] = 0
    table["trick_no"] = 0
    table["num_played"] = 0


@kernel()
def start_deal(table: Record, rules: Record, decks: Array) -> None:
    """Deal to the active seats, again after each misdeal (H3), and open the bidding."""
    r4_deal(table, decks)
    while rules["misdeal"] and h3_misdeal(table):
        r4_deal(table, decks)
    open_bidding(table, rules)


@kernel()
def deal_deck(tables: Array, decks: Array, deck: int) -> None:
    """Deal deck number ``deck`` of a match to one table ([1] TABLE) as it stands: to look at its hands."""
    tables[0]["deck"] = deck
    r4_deal(tables[0], decks)
