"""What the network is given: what a seat sees, worked out as far as a player would work it out at a glance.

A row is small whole numbers (int8), nearly all of them 0 or 1. Beside what is seen it tells which cards are
legal, which would take the trick, how many unseen cards beat which, and what the rule-based agent would do,
so that the network need only learn when to do otherwise.

What is told of own cards, and what the network says of them, has its place by suit and by how many higher
ones of it are held: the ace of a fresh suit and the nine that is the highest left are the same to it, as they
are to a player. Cards of others have their ranks.

Clubs, diamonds and hearts are alike in every rule. So they are named by the seat's own cards, the longest
first: a seat acts the same under all six namings, and a learner meets a sixth of the hands.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from callbreak_env.actions import BID_OFFSET, NUM_ACTIONS
from callbreak_env.cards import CARDS_PER_SUIT, NUM_CARDS
from callbreak_env.engine._jit import highest_bit, kernel, lowest_bit, popcount, store_bits
from callbreak_env.engine.legality import BIDS_FLAG, legal_word, write_word
from callbreak_env.engine.play import r11_beats
from callbreak_env.engine.rule_based import PARAMETERS, chance_to_win, rule_based_action, unseen_cards
from callbreak_env.engine.state import ABOVE, SUIT_OF, SUIT_SETS, Array, CardSet, Record, rules_record
from callbreak_env.engine.threads import check_threads, run_rows
from callbreak_env.observation import NUM_RULES, RULES_AT, put_rules
from callbreak_env.observation import SCALES as OBSERVATION_SCALES
from callbreak_env.rules import Rules

CHANCES = (0.2, 0.4, 0.6, 0.8, 0.9, 1.0)
"""That a card stays the best of the trick, by the rule-based agent's estimate: which of these are reached."""
OWN_PLANES = (
    "legal",
    "would_win",  # legal cards that would be the best of the trick so far (all, where one leads)
    *(f"wins_{chance}" for chance in CHANCES),  # those of them that stay it with at least this chance
    "beaten_by_1",  # that a seat may hold a higher card to, or, being void, trumps; seats from own
    "beaten_by_2",
    "beaten_by_3",
    "above_0",  # by how many unseen cards of the suit are higher
    "above_1",
    "above_2",
    "above_3",
    "above_4",  # or more
    "below_0",  # the same of lower ones
    "below_1",
    "equal",  # to the next higher own card: none unseen in between
    "rule_based",  # that it would play
)
"""Sets of own cards: a card's place is 13 times that of its suit, and the number of higher own ones of it."""
PLANES = (
    "hand",
    "left",  # own cards by how many higher ones of the suit are left, own and unseen
    "trick",  # in the trick
    "played_1",  # by seat, counted from own
    "played_2",
    "played_3",
    "led_1",
    "led_2",
    "led_3",
    "off_1",  # played to a trick of another suit
    "off_2",
    "off_3",
    "lower_1",  # unseen, and could have been played for one that was not led, as high or low in the trick:
    "lower_2",  # rather not held by a seat that plays the lowest such card
    "lower_3",
    "higher_1",  # the same of higher ones
    "higher_2",
    "higher_3",
    "may_hold_1",
    "may_hold_2",
    "may_hold_3",
)
"""Sets of cards: a card's place is 13 times that of its suit, and its rank ("left": and that number)."""
ONE_HOTS = (
    ("bids", 4 * 14),  # by seat; 0: not (yet) bid
    ("won", 14),  # own tricks
    ("needs", 4 * 14),  # tricks that a seat lacks to its bid
    ("unseen", 4 * 14),  # by suit
    ("held", 4 * 14),  # own cards, by suit
    ("void", 3 * 4),  # the others, by suit: none of it can be held
    ("rule_based_bid", 14),
    ("trick_number", 14),
    ("in_trick", 4),
    ("winner", 4),  # seat that is winning the trick
    ("dealer", 4),
    ("active", 4),
    ("trump", 5),  # clubs, diamonds, hearts, spades, not yet known
    ("led_suit", 5),  # the same, none led
)
BITS = 52 * (len(OWN_PLANES) + len(PLANES)) + sum(size for _, size in ONE_HOTS)
"""Slots that are 0 or 1; after them the numbers of the rules."""
INPUTS = BITS + NUM_RULES
"""Slots that the network reads."""
HIDDEN = 3 * 52
"""Slots after them, for a critic that may see the other hands."""
INPUTS_VERSION = 2
"""Goes up when an input is added, moved or changed; trained weights belong to one version."""
SCALES = np.ones(INPUTS, np.float32)
"""[INPUTS] what stands for 1.0; the numbers of the rules alone have another scale than 1."""
SCALES[BITS:] = OBSERVATION_SCALES[RULES_AT : RULES_AT + NUM_RULES]

_0, _1 = np.uint64(0), np.uint64(1)
_LEGAL, _WOULD_WIN, _BEATEN_BY_1, _ABOVE_0, _BELOW_0, _EQUAL, _RULE_BASED = map(
    OWN_PLANES.index, ("legal", "would_win", "beaten_by_1", "above_0", "below_0", "equal", "rule_based")
)
_SHARED = 10
"""Of the numbers of the rules: how the ties of a match end, which is nothing to a deal, and never told."""
_SUIT, _SPADES = np.uint64(0x1FFF), np.uint64(0x1FFF << 39)


def inputs_digest() -> str:
    """A digest of what the rows are made of, to be kept beside trained weights."""
    told = [INPUTS_VERSION, OWN_PLANES, PLANES, ONE_HOTS, SCALES.tolist(), CHANCES, PARAMETERS.tolist()]
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
def own_place(card: int, hand: CardSet, order: Array) -> int:
    """The place of a card of a hand: after the higher ones of its suit."""
    return int(CARDS_PER_SUIT * place_of(SUIT_OF[card], order) + popcount(ABOVE[card] & hand))


@kernel()
def _may_beat(held: CardSet, card: int, trump: int) -> bool:
    """Whether a seat that may hold some cards may beat one that is led: by its suit, or by trumps if void."""
    if held & ABOVE[card] != _0:
        return True
    suit = SUIT_OF[card]
    void = held & SUIT_SETS[suit] == _0
    return bool(trump >= 0 and suit != trump and void and held & SUIT_SETS[trump] != _0)


@kernel()
def _put_plays(table: Record, viewer: int, unseen: CardSet, order: Array, row: Array, at: int) -> int:
    """Write what plays tell: the planes from "led_1" to "higher_3". Returns the slot after them."""
    led, off, lower, higher = np.zeros((4, 4), np.uint64)
    trick, led_suit = _0, 0
    for i in range(int(table["num_played"])):
        seat, card = int(table["log"][i]) >> 6, int(table["log"][i]) & 63
        bit, who = _1 << np.uint64(card), (seat - viewer) & 3
        if i % int(table["num_active"]) == 0:
            trick, led_suit = bit, SUIT_OF[card]
            led[who] |= bit
            continue
        suit = SUIT_SETS[SUIT_OF[card]]
        below, above = suit & ~ABOVE[card] & ~bit, ABOVE[card]
        before = trick & suit
        if before & above != _0:
            above &= ~ABOVE[highest_bit(before)]
        elif before != _0:
            below &= ABOVE[highest_bit(before)]
        lower[who] |= below & unseen
        higher[who] |= above & unseen
        if SUIT_OF[card] != led_suit:
            off[who] |= bit
        trick |= bit
    for sets in (led, off, lower, higher):
        for who in range(1, 4):
            store_bits(row, at, placed(sets[who], order))
            at += 52
    return at


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
    trump = int(table["trump"])
    own = np.zeros(len(OWN_PLANES), np.uint64)
    left = _0
    cards = hand
    while cards != _0:
        card = lowest_bit(cards)
        cards &= cards - _1
        bit = _1 << np.uint64(own_place(card, hand, order))
        above = popcount(ABOVE[card] & unseen)
        below = popcount(SUIT_SETS[SUIT_OF[card]] & unseen) - above
        left |= _1 << np.uint64(own_place(card, hand | unseen, order))
        own[_ABOVE_0 + min(above, 4)] |= bit
        if below < 2:
            own[_BELOW_0 + below] |= bit
        higher = ABOVE[card] & hand
        if higher != _0 and popcount(ABOVE[lowest_bit(higher)] & unseen) == above:
            own[_EQUAL] |= bit
        for i in range(1, 4):
            if _may_beat(table["may_hold"][(viewer + i) & 3] & unseen, card, trump):
                own[_BEATEN_BY_1 + i - 1] |= bit
        if bidding:
            continue
        if card == usual:
            own[_RULE_BASED] |= bit
        if word >> np.uint64(card) & _1 != _0:
            own[_LEGAL] |= bit
            if int(table["in_trick"]) == 0 or r11_beats(table, card):
                own[_WOULD_WIN] |= bit
                if trump >= 0:
                    chance = chance_to_win(table, rules, card, unseen)
                    for i in range(len(CHANCES)):
                        if chance >= CHANCES[i]:
                            own[_WOULD_WIN + 1 + i] |= bit
    at = 0
    for i in range(len(OWN_PLANES)):
        store_bits(row, at, own[i])
        at += 52
    store_bits(row, at, placed(hand, order))
    store_bits(row, at + 52, left)
    at += 104
    trick = _0
    for i in range(1, 4):
        card = int(table["trick"][(viewer + i) & 3])
        if card >= 0:
            trick |= _1 << np.uint64(card)
    store_bits(row, at, placed(trick, order))
    at += 52
    for i in range(1, 4):
        store_bits(row, at, placed(table["played"][(viewer + i) & 3], order))
        at += 52
    at = _put_plays(table, viewer, unseen, order, row, at)
    for i in range(1, 4):
        store_bits(row, at, placed(table["may_hold"][(viewer + i) & 3] & ~hand, order))
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
    for i in range(1, 4):
        for suit in range(4):
            may_hold = table["may_hold"][(viewer + i) & 3] & unseen & SUIT_SETS[suit]
            row[at + 4 * (i - 1) + place_of(suit, order)] = may_hold == _0
    at += 12
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
    row[at + _SHARED] = 0


@kernel()
def put_hidden(table: Record, viewer: int, order: Array, row: Array) -> None:
    """Write the other hands, which the seat does not see, into a row after its inputs."""
    for i in range(1, 4):
        cards = placed(table["hands"][(viewer + i) & 3], order)
        for card in range(52):
            row[INPUTS + 52 * (i - 1) + card] = cards >> np.uint64(card) & _1


@kernel(nogil=True)
def input_rows(
    first: int, end: int, tables: Array, rules: Array, rows: Array, legal: Array, places: Array
) -> int:
    """What the network is given for the seats to act at tables ([K] TABLE).

    Written: ``rows`` [K, INPUTS] int8, or [K, INPUTS + HIDDEN] with the other hands; ``legal`` [K, 65] int8,
    by place; ``places`` [K, 65] int8, which action stands in each.
    """
    order = np.empty(3, np.int8)
    for k in range(first, end):
        table = tables[k]
        seat, word = int(table["seat"]), legal_word(table, rules[0])
        put_inputs(table, rules[0], seat, word, order, rows[k])
        if rows.shape[1] > INPUTS:
            put_hidden(table, seat, order, rows[k])
        put_places(table["hands"][seat], order, places[k])
        write_word(word if word >= BIDS_FLAG else _0, legal[k])
        if word < BIDS_FLAG:  # the row has told it by place
            legal[k, :NUM_CARDS] = rows[k, 52 * _LEGAL : 52 * _LEGAL + 52]
    return 0


@kernel()
def put_places(hand: CardSet, order: Array, places: Array) -> None:
    """Write which action stands in each place into ``places`` ([65] integer); cards not held come last."""
    for place in range(4):
        suit = int(order[place]) if place < 3 else place
        held, others = 13 * place, 13 * place + popcount(_suit(hand, suit))
        for card in range(13 * suit + 12, 13 * suit - 1, -1):
            if hand >> np.uint64(card) & _1 != _0:
                places[held] = card
                held += 1
            else:
                places[others] = card
                others += 1
    for action in range(NUM_CARDS, NUM_ACTIONS):
        places[action] = action


class Inputs(NamedTuple):
    """What the network is given for K seats to act.

    Attributes:
        rows: [K, INPUTS] int8, or [K, INPUTS + HIDDEN].
        legal: [K, 65] int8, 1 = legal, by place.
        places: [K, 65] int8, which action stands in each place: ``values[k, places[k]]`` are values by place.
    """

    rows: npt.NDArray[np.int8]
    legal: npt.NDArray[np.int8]
    places: npt.NDArray[np.int8]


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
        np.empty((count, NUM_ACTIONS), np.int8),
    )
    run_rows(input_rows, count, check_threads(threads), tables, rules_record(rules), *found)
    return found
