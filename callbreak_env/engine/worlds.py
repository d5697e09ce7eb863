"""Worlds: the ways the unseen cards may lie by what one seat knows, counted, numbered and drawn exactly.

The cards that a seat has not seen are with at most three holders: the other seats of the deal and, in an
extra deal of two or three seats, the undealt cards (R15). Who may hold a card (``may_hold``) puts it into
one of seven classes: of A, B or C alone, AB, AC, BC, ABC. When x cards of AB and y of AC go to A and z of BC
to B, the hand sizes leave a, b, c cards of ABC to the three. So a row (x, y, z) stands for
C(AB, x) C(AC, y) C(BC, z) C(ABC, a) C(ABC - a, b) worlds, and a uniform world is a row drawn by that weight,
then a uniform subset of each class: no world is tried and thrown away or mended.

All fits into 64 bits: 39 cards lie in at most 39! / 13!^3 = 8.45e16 ways, and no partial product of a row is
above its weight. Nor are there many rows: x, y and z end at the sizes of the pairs, 39 cards together, so
there are at most 14^3; over all sizes of classes and of hands up to 13, which the tests go through, at most
``MAX_ROWS``. (The undealt cards are more than 13 only beside a single hand: then there is one row.)
"""

from __future__ import annotations

from math import comb

import numpy as np

from callbreak_env.engine._jit import kernel, popcount
from callbreak_env.engine.random import mix, next_state
from callbreak_env.engine.state import ALL_CARDS, Array, CardSet, Record

MAX_ROWS = 570

# The classes, as sets of the holders A 1, B 2, C 4.
ONLY_A, ONLY_B, AB, ONLY_C, AC, BC, ABC = range(1, 8)

# fmt: off
WORLDS = np.dtype(
    [
        # name           type        range and meaning
        ("count",       np.int64),             # worlds; 0: there is none, do not draw
        ("rows",        np.int64),             # rows in use
        ("last",        np.uint64),            # the highest random number that may choose a row
        ("own",         np.uint64),            # the viewer's hand
        ("viewer",      np.int64),             # seat
        ("seats",       np.int64, (3,)),       # seats of A, B, C, in the deal or not
        ("in_deal",     np.uint64, (3,)),      # all bits for a seat in the deal, 0 for one that is not
        ("size",        np.uint64, (8,)),      # cards of a class
        ("cards",       np.uint64, (8,)),      # the class as a set
        ("first",       np.uint64, (8,)),      # where the class begins in `bits`
        ("bits",        np.uint64, (52,)),     # the unseen cards as sets of one, class by class, ascending
        ("upto",        np.uint64, (MAX_ROWS,)),  # worlds of the rows up to this one
        ("splits",      np.uint64, (MAX_ROWS,)),  # x | y << 8 | z << 16 | a << 24 | b << 32
    ],
    align=True,
)
"""What ``build_worlds`` writes; drawing only reads it, so threads may share it."""
# fmt: on

CHOOSE = np.array([[comb(n, k) for k in range(40)] for n in range(40)], np.int64)
"""[40, 40] int64: CHOOSE[n, k] subsets of k out of n."""

_0, _1, _8, _BYTE = np.uint64(0), np.uint64(1), np.uint64(8), np.uint64(255)
_16, _24, _32 = np.uint64(16), np.uint64(24), np.uint64(32)
_ALL = np.uint64(2**64 - 1)
# Of a random number 58 bits are used: times a range of at most 39 they still fit into 64.
_SPARE, _WIDTH, _LOW, _END = np.uint64(6), np.uint64(58), np.uint64(2**58 - 1), np.uint64(2**58)


@kernel()
def build_worlds(table: Record, viewer: int, worlds: Record) -> int:
    """Write what a seat knows of a table (TABLE) into ``worlds`` (WORLDS). Hidden hands are not read.

    Returns:
        The number of worlds. 0 for a seat that is not in the deal (it would have a fourth holder to think of)
        and for a table that contradicts itself.
    """
    own = table["hands"][viewer]
    unseen = ALL_CARDS & ~own
    for seat in range(4):
        unseen &= ~table["played"][seat]
    worlds["own"] = own
    worlds["viewer"] = viewer
    # The seat of a holder only says where its cards are written. So the undealt cards, if any, take the first
    # seat that is not in the deal, and a second one such holds nothing.
    undealt = 52 - 13 * int(table["num_active"])
    none = int(np.int64(0))  # not the literal 0, for each of which Numba would compile `_build_rows` anew
    rooms = (none, none, none)
    masks = (_0, _0, _0)
    for i in range(3):
        seat = (viewer + 1 + i) & 3
        if int(table["active"]) >> seat & 1:
            worlds["in_deal"][i] = _ALL
            room = 13 - popcount(table["played"][seat])
            mask = unseen & table["may_hold"][seat]
        else:
            worlds["in_deal"][i] = _0
            room = undealt
            mask = unseen
            undealt = 0
        worlds["seats"][i] = seat
        rooms = (rooms[1], rooms[2], room)
        masks = (masks[1], masks[2], mask)
    place = 0
    for who in range(8):
        cards = unseen
        cards &= masks[0] if who & ONLY_A else ~masks[0]
        cards &= masks[1] if who & ONLY_B else ~masks[1]
        cards &= masks[2] if who & ONLY_C else ~masks[2]
        worlds["cards"][who] = cards
        worlds["size"][who] = popcount(cards)
        worlds["first"][who] = place
        while cards != _0:
            rest = cards & (cards - _1)
            worlds["bits"][place] = cards ^ rest
            place += 1
            cards = rest
    worlds["rows"] = 0
    worlds["count"] = 0
    if int(table["active"]) >> viewer & 1 and worlds["size"][0] == _0:
        _build_rows(worlds, rooms[0], rooms[1], rooms[2])
    return int(worlds["count"])


@kernel()
def _build_rows(worlds: Record, room_a: int, room_b: int, room_c: int) -> None:
    """The rows, for the classes in ``worlds`` and the hand sizes of the three holders."""
    size = worlds["size"]
    ab, ac, bc, abc = int(size[AB]), int(size[AC]), int(size[BC]), int(size[ABC])
    room_a -= int(size[ONLY_A])
    room_b -= int(size[ONLY_B])
    room_c -= int(size[ONLY_C])
    if room_a + room_b + room_c != ab + ac + bc + abc:
        return
    rows, total = 0, 0
    for x in range(max(0, ab - room_b), min(ab, room_a) + 1):
        for y in range(max(0, ac - room_c), min(ac, room_a - x) + 1):
            a = room_a - x - y
            left_b = room_b - (ab - x)  # for B and C from BC and ABC
            left_c = room_c - (ac - y)
            ways = CHOOSE[ab, x] * CHOOSE[ac, y]
            for z in range(max(0, bc - left_c), min(bc, left_b) + 1):  # so that c is not below 0 either
                b = left_b - z
                total += ways * CHOOSE[bc, z] * CHOOSE[abc, a] * CHOOSE[abc - a, b]
                worlds["upto"][rows] = total
                worlds["splits"][rows] = x | y << 8 | z << 16 | a << 24 | b << 32
                rows += 1
    worlds["rows"] = rows
    worlds["count"] = total
    if total > 0:
        worlds["last"] = _ALL - (_ALL % np.uint64(total) + _1) % np.uint64(total)


@kernel()
def find_row(worlds: Record, index: np.uint64) -> int:
    """The row of the world with this number."""
    upto = worlds["upto"]
    row, left = 0, worlds["rows"]
    while left > 1:
        half = left >> 1
        row += half if upto[row + half - 1] <= index else 0
        left -= half
    return int(row)


@kernel()
def deposit(ranks: CardSet, cards: CardSet) -> CardSet:
    """Those of the cards whose ranks, counted from the lowest card as 0, are in the set ``ranks``."""
    found = _0
    while ranks != _0:
        rest = cards & (cards - _1)
        found |= (cards ^ rest) * (ranks & _1)
        cards = rest
        ranks >>= _1
    return found


@kernel()
def draw_subset(
    worlds: Record, who: int, size: np.uint64, take: np.uint64, state: np.uint64
) -> tuple[CardSet, CardSet, np.uint64]:
    """A uniform subset of ``take`` of the first ``size`` cards of a class.

    Floyd's algorithm (Bentley, Floyd: A sample of brilliance; CACM 30, 1987): for each i from size - take
    on, a draw j of 0 ... i adds j, or i if j was there. Up to eight draws come from one random number,
    exactly, by rejecting the few numbers that would favour some outcomes (Brackett-Rozinsky, Lemire: Batched
    ranged random integer generation; Software: Practice and Experience 55, 2025): their ranges multiply to
    less than 2^42. There is no branch on what was drawn, which would often be predicted wrongly.

    Returns:
        The cards, their ranks in the class, the state of the random numbers after it.
    """
    first, bits = worlds["first"][who], worlds["bits"]
    cards, ranks = _0, _0
    i = size - take
    while i < size:
        cards_before, ranks_before, start = cards, ranks, i
        stop = min(i + _8, size)
        state = next_state(state)
        word = mix(state) >> _SPARE
        ways = _1
        while i < stop:
            bound = i + _1
            ways *= bound
            word *= bound
            j = word >> _WIDTH
            word &= _LOW
            again = (ranks >> j) & _1
            ranks |= (_1 << j) | (again << i)
            cards |= bits[first + j] | bits[first + i] * again
            i = bound
        if word < ways and word < _END % ways:
            cards, ranks, i = cards_before, ranks_before, start
    return cards, ranks, state


@kernel()
def _draw_class(worlds: Record, who: int, take: np.uint64, state: np.uint64) -> tuple[CardSet, np.uint64]:
    """A uniform subset of a class; the smaller side of the split is the one that is drawn."""
    size = worlds["size"][who]
    few = min(take, size - take)
    chosen = _0
    if few != _0:
        chosen, _, state = draw_subset(worlds, who, size, few, state)
    if few != take:
        chosen ^= worlds["cards"][who]
    return chosen, state


@kernel()
def _write_hands(
    worlds: Record, ab: CardSet, ac: CardSet, bc: CardSet, abc_a: CardSet, abc_b: CardSet, hands: Array
) -> None:
    """The hands by what A takes of AB, of AC and of ABC, and B of BC and of ABC."""
    cards, seats, in_deal = worlds["cards"], worlds["seats"], worlds["in_deal"]
    hands[worlds["viewer"]] = worlds["own"]
    hands[seats[0]] = in_deal[0] & (cards[ONLY_A] | ab | ac | abc_a)
    hands[seats[1]] = in_deal[1] & (cards[ONLY_B] | (cards[AB] ^ ab) | bc | abc_b)
    hands[seats[2]] = in_deal[2] & (
        cards[ONLY_C] | (cards[AC] ^ ac) | (cards[BC] ^ bc) | (cards[ABC] ^ abc_a ^ abc_b)
    )


@kernel()
def draw_world(worlds: Record, state: np.uint64, hands: Array) -> np.uint64:
    """Write a uniform world into ``hands`` ([4] uint64, by seat; 0 for a seat that is not in the deal).

    Not for a ``worlds`` of no world.

    Args:
        worlds: a WORLDS record that ``build_worlds`` filled.
        state: of the random numbers (SplitMix64), any 64 bits.
        hands: written.

    Returns:
        The state after it.
    """
    row = 0
    if worlds["rows"] > 1:
        state = next_state(state)
        number = mix(state)
        while number > worlds["last"]:
            state = next_state(state)
            number = mix(state)
        row = find_row(worlds, number % np.uint64(worlds["count"]))
    split = worlds["splits"][row]
    ab, state = _draw_class(worlds, AB, split & _BYTE, state)
    ac, state = _draw_class(worlds, AC, split >> _8 & _BYTE, state)
    bc, state = _draw_class(worlds, BC, split >> _16 & _BYTE, state)
    a, b = split >> _24 & _BYTE, split >> _32 & _BYTE
    abc_a, state = _draw_class(worlds, ABC, a, state)
    others, size = worlds["cards"][ABC] ^ abc_a, worlds["size"][ABC] - a
    few = min(b, size - b)
    abc_b = _0
    if few != _0:
        _, ranks, state = draw_subset(worlds, ABC, size, few, state)
        abc_b = deposit(ranks, others)
    if few != b:
        abc_b ^= others
    _write_hands(worlds, ab, ac, bc, abc_a, abc_b, hands)
    return state


@kernel()
def unrank_subset(cards: CardSet, size: int, take: int, index: int) -> CardSet:
    """Subset number ``index`` of CHOOSE[size, take], in colexicographic order."""
    ranks = _0
    for rank in range(size - 1, -1, -1):
        without = CHOOSE[rank, take]
        if index >= without:
            index -= without
            take -= 1
            ranks |= _1 << np.uint64(rank)
    return deposit(ranks, cards)


@kernel()
def unrank_world(worlds: Record, index: int, hands: Array) -> None:
    """Write world number ``index``, 0 to count - 1, into ``hands`` ([4] uint64): each has one number."""
    row = find_row(worlds, np.uint64(index))
    split = int(worlds["splits"][row])
    if row > 0:
        index -= int(worlds["upto"][row - 1])
    cards, size = worlds["cards"], worlds["size"]
    ab, ac, bc, abc = int(size[AB]), int(size[AC]), int(size[BC]), int(size[ABC])
    x, y, z, a, b = split & 255, split >> 8 & 255, split >> 16 & 255, split >> 24 & 255, split >> 32 & 255
    index, number = divmod(index, CHOOSE[ab, x])
    of_ab = unrank_subset(cards[AB], ab, x, number)
    index, number = divmod(index, CHOOSE[ac, y])
    of_ac = unrank_subset(cards[AC], ac, y, number)
    index, number = divmod(index, CHOOSE[bc, z])
    of_bc = unrank_subset(cards[BC], bc, z, number)
    index, number = divmod(index, CHOOSE[abc, a])
    abc_a = unrank_subset(cards[ABC], abc, a, number)
    abc_b = unrank_subset(cards[ABC] ^ abc_a, abc - a, b, index)
    _write_hands(worlds, of_ab, of_ac, of_bc, abc_a, abc_b, hands)


@kernel()
def open_worlds(tables: Array, viewer: int, worlds: Array) -> int:
    """``build_worlds`` for one table ([1] TABLE) into one record ([1] WORLDS)."""
    return build_worlds(tables[0], viewer, worlds[0])


@kernel(nogil=True)
def sample_worlds(worlds: Array, state: np.uint64, hands: Array) -> np.uint64:
    """``draw_world`` N times, into ``hands`` ([N, 4] uint64); returns the state after it."""
    for i in range(len(hands)):
        state = draw_world(worlds[0], state, hands[i])
    return state


@kernel(nogil=True)
def unrank_worlds(worlds: Array, first: int, hands: Array) -> None:
    """``unrank_world`` for the N worlds from number ``first`` on, into ``hands`` ([N, 4] uint64)."""
    for i in range(len(hands)):
        unrank_world(worlds[0], first + i, hands[i])
