"""Worlds drawn by belief: each unseen card is with a holder by a chance of its own, and hand sizes are kept.

The weight of a world is the product of its cards' chances. How much all ways to deal out the cards from one
on weigh together is a sum over the two holders that may take it, or the third, so a table over (card, room
of A, room of B) is filled from the last card back, and a world is drawn from the first card on, exactly and
without a try that fails. The third holder's room is what is left.
"""

from __future__ import annotations

import numpy as np

from callbreak_env.engine._jit import kernel, lowest_bit, popcount
from callbreak_env.engine.random import mix, next_state
from callbreak_env.engine.state import Array, Record

MOST = 39
"""Unseen cards: three hands."""
FLOOR = 1e-3
"""The least chance of a holder that may have a card, of the likeliest's: beliefs are never certain."""
LEAST = 1e-300
"""That can be divided by."""

BELIEFS = np.dtype(
    [
        # name       type          range and meaning
        ("count",    np.int64),                # unseen cards
        ("rooms",    np.int64, (3,)),          # cards of the holders A, B, C
        ("chances",  np.float64, (MOST, 3)),   # of cards, as in `bits` of WORLDS, to be with each
        ("ways",     np.float64, (MOST + 1, 14, 14)),  # weight of all ways to deal the cards from one on
    ],
    align=True,
)  # fmt: skip
"""What ``build_beliefs`` writes; drawing only reads it."""

_0, _1 = np.uint64(0), np.uint64(1)


@kernel()
def build_beliefs(table: Record, worlds: Record, by_card: Array, beliefs: Record) -> float:
    """Write what is needed to draw worlds by belief.

    Args:
        table: TABLE of four hands; of the other hands nothing is read.
        worlds: WORLDS, built for the viewer: who may hold what.
        by_card: [52, 3] float64, how likely each unseen card is with the holders A, B and C, up to a factor;
            other cards are not read.
        beliefs: written.

    Returns:
        The weight of all worlds together; 0: there is none, do not draw.
    """
    count = 0
    chances, ways = beliefs["chances"], beliefs["ways"]
    for who in range(1, 8):
        first = int(worlds["first"][who])
        for i in range(first, first + int(worlds["size"][who])):
            card = lowest_bit(worlds["bits"][i])
            likeliest = total = 0.0
            for holder in range(3):
                if who >> holder & 1:
                    likeliest = max(likeliest, by_card[card, holder])
            for holder in range(3):
                chance = (
                    max(by_card[card, holder] / max(likeliest, LEAST), FLOOR) if who >> holder & 1 else 0.0
                )
                chances[count, holder] = chance
                total += chance
            for holder in range(3):
                chances[count, holder] /= total
            count += 1
    beliefs["count"] = count
    for holder in range(3):
        beliefs["rooms"][holder] = 13 - popcount(table["played"][int(worlds["seats"][holder])])
    a_most, b_most = int(beliefs["rooms"][0]), int(beliefs["rooms"][1])
    ways[count] = 0.0
    ways[count, 0, 0] = 1.0
    for i in range(count - 1, -1, -1):
        to_a, to_b, to_c = chances[i, 0], chances[i, 1], chances[i, 2]
        for a in range(a_most + 1):
            for b in range(b_most + 1):
                total = to_c * ways[i + 1, a, b]
                if a > 0:
                    total += to_a * ways[i + 1, a - 1, b]
                if b > 0:
                    total += to_b * ways[i + 1, a, b - 1]
                ways[i, a, b] = total
    return float(ways[0, a_most, b_most])


@kernel()
def draw_believed(worlds: Record, beliefs: Record, state: np.uint64, hands: Array) -> np.uint64:
    """Write a world into ``hands`` ([4] uint64, by seat), drawn by its weight.

    Args:
        worlds: WORLDS, built.
        beliefs: BELIEFS, built for it, of a weight above 0.
        state: of the random numbers (SplitMix64), any 64 bits.
        hands: written.

    Returns:
        The state after it.
    """
    chances, ways, seats = beliefs["chances"], beliefs["ways"], worlds["seats"]
    hands[:] = _0
    hands[worlds["viewer"]] = worlds["own"]
    a, b = int(beliefs["rooms"][0]), int(beliefs["rooms"][1])
    for i in range(beliefs["count"]):
        state = next_state(state)
        # 52 bits: times the weight, that stays below the sum of the three, whatever is rounded.
        left = (mix(state) >> np.uint64(12)) * 2.0**-52 * ways[i, a, b]
        to_a = chances[i, 0] * ways[i + 1, a - 1, b] if a > 0 else 0.0
        to_b = chances[i, 1] * ways[i + 1, a, b - 1] if b > 0 else 0.0
        holder = 2
        if left < to_a:
            holder = 0
            a -= 1
        elif left < to_a + to_b:
            holder = 1
            b -= 1
        hands[seats[holder]] |= worlds["bits"][i]
    return state


@kernel()
def belief_in(worlds: Record, beliefs: Record, hands: Array) -> float:
    """The weight of a world ([4] uint64): the product of the chances of its cards."""
    weight = 1.0
    for i in range(beliefs["count"]):
        for holder in range(3):
            if hands[worlds["seats"][holder]] & worlds["bits"][i] != _0:
                weight *= beliefs["chances"][i, holder]
    return weight
