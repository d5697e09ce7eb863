"""What the network is given: what a seat sees, worked out as far as a player would work it out at a glance.

A row is small whole numbers (int8), nearly all of them 0 or 1. Beside what is seen it tells which cards are
legal, which would take the trick, which nobody unseen can beat, how many of a suit are out, and what the
rule-based agent would do, so that the network need only learn when to do otherwise.

Clubs, diamonds and hearts are alike in every rule. So they are named by the seat's own cards, the longest
first: a seat acts the same under all six namings, and a learner meets a sixth of the hands.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from callbreak_env.actions import BID_OFFSET, NUM_ACTIONS
from callbreak_env.cards import CARDS_PER_SUIT
from callbreak_env.engine._jit import kernel, lowest_bit, popcount, store_bits
from callbreak_env.engine.legality import BIDS_FLAG, legal_word, write_word
from callbreak_env.engine.play import r11_beats
from callbreak_env.engine.rule_based import PARAMETERS, chance_to_win, rule_based_action, unseen_cards
from callbreak_env.engine.state import ABOVE, SUIT_OF, SUIT_SETS, Array, CardSet, Record, rules_record
from callbreak_env.engine.threads import check_threads, run_rows
from callbreak_env.observation import NUM_RULES, RULES_AT, put_rules
from callbreak_env.observation import SCALES as OBSERVATION_SCALES
from callbreak_env.rules import Rules

_0, _1 = np.uint64(0), np.uint64(1)
_SUIT, _SPADES = np.uint64(0x1FFF), np.uint64(0x1FFF << 39)

PLANES = (
    "hand",
    "legal",
    "would_win",  # legal cards that would be the best of the trick so far (all, where one leads)
    "half",  # those of them that stay it with a chance of a half, by the rule-based agent's estimate
    "likely",  # of four fifths
    "sure",  # for certain
    "beaten_by_1",  # own cards that a seat may hold a higher card to, or, being void, trumps; seats from own
    "beaten_by_2",
    "beaten_by_3",
    "master",  # own cards that no unseen card of their suit beats
    "second",  # own cards that one unseen card of their suit beats
    "trick_1",  # in the trick, by seat counted from own
    "trick_2",
    "trick_3",
    "played_0",
    "played_1",
    "played_2",
    "played_3",
    "may_hold_1",
    "may_hold_2",
    "may_hold_3",
    "rule_based",  # the card that it would play
)
ONE_HOTS = (
    ("bids", 4 * 14),  # by seat; 0: not (yet) bid
    ("won", 14),  # own tricks
    ("needs", 4 * 14),  # tricks that a seat lacks to its bid
    ("unseen", 4 * 14),  # by suit
    ("held", 4 * 14),  # own cards, by suit
    ("rule_based_bid", 14),
    ("trick_number", 14),
    ("in_trick", 4),
    ("winner", 4),  # seat that is winning the trick
    ("dealer", 4),
    ("active", 4),
    ("trump", 5),  # clubs, diamonds, hearts, spades, not yet known
    ("led_suit", 5),  # the same, none led
)
BITS = 52 * len(PLANES) + sum(size for _, size in ONE_HOTS)
"""Slots that are 0 or 1; after them the numbers of the rules."""
INPUTS = BITS + NUM_RULES
"""Slots that the network reads."""
HIDDEN = 3 * 52
"""Slots after them, for a critic that may see the other hands."""
INPUTS_VERSION = 1
"""Goes up when an input is added, moved or changed; trained weights belong to one version."""
SCALES = np.ones(INPUTS, np.float32)
"""[INPUTS] what stands for 1.0; the numbers of the rules alone have another scale than 1."""
SCALES[BITS:] = OBSERVATION_SCALES[RULES_AT : RULES_AT + NUM_RULES]


def inputs_digest() -> str:
    """A digest of what the rows are made of, to be kept beside trained weights."""
    told = [INPUTS_VERSION, PLANES, ONE_HOTS, SCALES.tolist()]
    return hashlib.sha256(repr(told).encode()).hexdigest()[:16]


@kernel()
def put_suit_order(table: Record, viewer: int, order: Array) -> None:
    """Write which plain suit stands in each place into ``order`` ([3] integer).

    First the longer of those dealt to the viewer, then that of higher cards dealt. Of suits dealt alike
    (rare: both void, say) what is known besides decides, so that those which are left are alike altogether.
    """
    for suit in range(3):
        place = 0
        for other in range(3):
            if other != suit and _comes_before(table, viewer, other, suit):
                place += 1
        order[place] = suit


@kernel()
def _comes_before(table: Record, viewer: int, a: int, b: int) -> bool:
    own = table["hands"][viewer] | table["played"][viewer]
    one, other = _suit(own, a), _suit(own, b)
    if popcount(one) != popcount(other):
        return bool(popcount(one) > popcount(other))
    if one != other:
        return bool(one > other)
    if int(table["trump"]) == a or int(table["trump"]) == b:
        return int(table["trump"]) == a
    for i in range(4):
        seat = (viewer + i) & 3
        one, other = _suit(table["played"][seat], a), _suit(table["played"][seat], b)
        if one != other:
            return bool(one > other)
        one, other = _suit(table["may_hold"][seat], a), _suit(table["may_hold"][seat], b)
        if one != other:
            return bool(one > other)
    for i in range(int(table["num_played"])):  # who played what is the same: when, differs
        suit = SUIT_OF[int(table["log"][i]) & 63]
        if suit in (a, b):
            return bool(suit == a)
    return a < b


@kernel()
def _suit(cards: CardSet, suit: int) -> CardSet:
    return cards >> np.uint64(13 * suit) & _SUIT


@kernel()
def placed(cards: CardSet, order: Array) -> CardSet:
    """A set of cards under the names of the suits' places."""
    found = cards & _SPADES
    for place in range(3):
        found |= _suit(cards, order[place]) << np.uint64(13 * place)
    return found


@kernel()
def place_of(suit: int, order: Array) -> int:
    """The place where a suit stands; spades, and 4 for none, stay."""
    for place in range(3):
        if order[place] == suit:
            return place
    return suit


@kernel()
def _may_beat(held: CardSet, card: int, trump: int) -> bool:
    """Whether a seat that may hold some cards may beat one that is led: by its suit, or by trumps if void."""
    if held & ABOVE[card] != _0:
        return True
    suit = SUIT_OF[card]
    void = held & SUIT_SETS[suit] == _0
    return bool(trump >= 0 and suit != trump and void and held & SUIT_SETS[trump] != _0)


@kernel()
def put_inputs(table: Record, rules: Record, viewer: int, word: CardSet, order: Array, row: Array) -> None:
    """Write what the network is given for a seat that is to act.

    Args:
        table: of the other hands nothing is read.
        rules: of the table.
        viewer: the seat to act.
        word: its ``legal_word``.
        order: [3] integer, written: the plain suits in their places.
        row: [INPUTS or more] int8, written up to INPUTS.
    """
    put_suit_order(table, viewer, order)
    hand = table["hands"][viewer]
    unseen = unseen_cards(table, hand)
    usual = rule_based_action(table, rules, word, PARAMETERS)
    bidding = word >= BIDS_FLAG
    legal = _0 if bidding else word
    trump = int(table["trump"])
    winning = half = likely = sure = master = second = _0
    beaten = np.zeros(4, np.uint64)
    left = hand
    while left != _0:
        card = lowest_bit(left)
        bit = _1 << np.uint64(card)
        left &= ~bit
        above = popcount(ABOVE[card] & unseen)
        if above == 0:
            master |= bit
        elif above == 1:
            second |= bit
        for i in range(1, 4):
            if _may_beat(table["may_hold"][(viewer + i) & 3] & unseen, card, trump):
                beaten[i] |= bit
        if legal & bit != _0 and (int(table["in_trick"]) == 0 or r11_beats(table, card)):
            winning |= bit
            if trump >= 0:
                chance = chance_to_win(table, rules, card, unseen)
                half |= bit if chance >= 0.5 else _0
                likely |= bit if chance >= 0.8 else _0
                sure |= bit if chance == 1.0 else _0
    at = 0
    for cards in (hand, legal, winning, half, likely, sure, beaten[1], beaten[2], beaten[3], master, second):
        store_bits(row, at, placed(cards, order))
        at += 52
    for i in range(1, 4):
        card = int(table["trick"][(viewer + i) & 3])
        store_bits(row, at, placed(_1 << np.uint64(card), order) if card >= 0 else _0)
        at += 52
    for i in range(4):
        store_bits(row, at, placed(table["played"][(viewer + i) & 3], order))
        at += 52
    for i in range(1, 4):
        store_bits(row, at, placed(table["may_hold"][(viewer + i) & 3] & ~hand, order))
        at += 52
    store_bits(row, at, _0 if bidding else placed(_1 << np.uint64(usual), order))
    at += 52
    row[at:INPUTS] = 0
    for i in range(4):
        row[at + 14 * i + int(table["bids"][(viewer + i) & 3])] = 1
    at += 56
    row[at + int(table["tricks_won"][viewer])] = 1
    at += 14
    for i in range(4):
        seat = (viewer + i) & 3
        row[at + 14 * i + max(0, int(table["bids"][seat]) - int(table["tricks_won"][seat]))] = 1
    at += 56
    for suit in range(4):
        row[at + 14 * place_of(suit, order) + popcount(_suit(unseen, suit))] = 1
    at += 56
    for suit in range(4):
        row[at + 14 * place_of(suit, order) + popcount(_suit(hand, suit))] = 1
    at += 56
    if bidding:
        row[at + usual - BID_OFFSET] = 1
    at += 14
    row[at + int(table["trick_no"])] = 1
    at += 14
    row[at + int(table["in_trick"])] = 1
    at += 4
    if int(table["in_trick"]) > 0:
        row[at + ((int(table["trick_seat"]) - viewer) & 3)] = 1
    at += 4
    row[at + ((int(table["dealer"]) - viewer) & 3)] = 1
    at += 4
    for i in range(4):
        row[at + i] = int(table["active"]) >> ((viewer + i) & 3) & 1
    at += 4
    led = int(table["best_led"])
    row[at + (place_of(trump, order) if trump >= 0 else 4)] = 1
    at += 5
    row[at + (place_of(SUIT_OF[led], order) if led >= 0 else 4)] = 1
    at += 5
    put_rules(rules, row, at)


@kernel()
def put_hidden(table: Record, viewer: int, order: Array, row: Array) -> None:
    """Write the other hands, which the seat does not see, into a row after its inputs."""
    for i in range(1, 4):
        cards = placed(table["hands"][(viewer + i) & 3], order)
        for card in range(52):
            row[INPUTS + 52 * (i - 1) + card] = cards >> np.uint64(card) & _1


@kernel(nogil=True)
def input_rows(
    first: int, end: int, tables: Array, rules: Array, rows: Array, legal: Array, orders: Array
) -> int:
    """What the network is given for the seats to act at tables ([K] TABLE).

    Written: ``rows`` [K, INPUTS] int8, or [K, INPUTS + HIDDEN] with the other hands; ``legal`` [K, 65] int8,
    under the names of the places; ``orders`` [K, 3] int8.
    """
    for k in range(first, end):
        table = tables[k]
        seat, word = int(table["seat"]), legal_word(table, rules[0])
        put_inputs(table, rules[0], seat, word, orders[k], rows[k])
        if rows.shape[1] > INPUTS:
            put_hidden(table, seat, orders[k], rows[k])
        write_word(word if word >= BIDS_FLAG else placed(word, orders[k]), legal[k])
    return 0


class Inputs(NamedTuple):
    """What the network is given for K seats to act.

    Attributes:
        rows: [K, INPUTS] int8, or [K, INPUTS + HIDDEN].
        legal: [K, 65] int8, 1 = legal, under the names of the suits' places.
        orders: [K, 3] int8, which plain suit stands in each place.
    """

    rows: npt.NDArray[np.int8]
    legal: npt.NDArray[np.int8]
    orders: npt.NDArray[np.int8]


def encode_inputs(tables: Array, rules: Rules, *, hidden: bool = False, threads: int | None = 1) -> Inputs:
    """What the network is given for the seats to act at tables.

    Args:
        tables: [K] TABLE, none over.
        rules: of the tables.
        hidden: whether the other hands follow, for a critic.
        threads: at most so many share the work.
    """
    count = len(tables)
    found = Inputs(
        np.empty((count, INPUTS + HIDDEN * hidden), np.int8),
        np.empty((count, NUM_ACTIONS), np.int8),
        np.empty((count, 3), np.int8),
    )
    run_rows(input_rows, count, check_threads(threads), tables, rules_record(rules), *found)
    return found


def action_places(orders: npt.NDArray[np.int8]) -> npt.NDArray[np.int64]:
    """[K, 65] which action stands in each place: ``values[k, places[k]]`` are the values by place.

    And ``places[k, action]`` is the action that one under the names of the places stands for.
    """
    places = np.broadcast_to(np.arange(NUM_ACTIONS), (len(orders), NUM_ACTIONS)).copy()
    plain = CARDS_PER_SUIT * orders[:, :, None].astype(np.int64) + np.arange(CARDS_PER_SUIT)
    places[:, : 3 * CARDS_PER_SUIT] = plain.reshape(len(orders), -1)
    return places
