"""Playouts: a deal played to its end by compiled policies, from any position, again and again."""

from __future__ import annotations

import numpy as np

from callbreak_env.engine._jit import kernel, popcount
from callbreak_env.engine.legality import is_legal
from callbreak_env.engine.play import step
from callbreak_env.engine.policies import policy_action
from callbreak_env.engine.state import DEAL_END, NO_DECKS, NONE, OVER, Array, Record


@kernel()
def can_play_out(table: Record, rules: Record, action: int) -> bool:
    """Whether a deal is on, every seat in it holds what it has not played, and the action (or NONE) is legal.

    A seat's view is no such position: the other hands are not in it.
    """
    if table["phase"] == OVER or (action != NONE and not is_legal(table, rules, action)):
        return False
    held = np.uint64(0)
    for seat in range(4):
        if int(table["active"]) >> seat & 1:
            hand = table["hands"][seat]
            if popcount(hand) + popcount(table["played"][seat]) != 13 or hand & held != np.uint64(0):
                return False
            held |= hand
    return True


@kernel()
def last_deal(table: Record, rules: Array) -> None:
    """Change rules ([1] RULES, a copy) so that the match ends with this deal: no next one is dealt."""
    rules[0]["deals"] = int(table["deal"]) + 1
    rules[0]["shared"] = 1


@kernel()
def play_out(
    table: Record, rules: Record, action: int, policies: Array, seed: np.uint64, number: np.uint64
) -> None:
    """Play a table to the end of its deal; its ``points`` are the result.

    Args:
        table: is changed.
        rules: after ``last_deal``.
        action: legal, the first; NONE leaves it to the policy.
        policies: [4] int64, by seat.
        seed: with ``number``, all that chance decides: the policies' draws, and the deck of a redeal (H2).
        number: of the playout.
    """
    table["seed"] = seed
    table["match"] = number
    happened = step(table, rules, NO_DECKS, action) if action >= 0 else 0
    while not happened & DEAL_END:
        chosen = policy_action(policies[int(table["seat"])], table, rules)
        happened = step(table, rules, NO_DECKS, chosen)


@kernel(nogil=True)
def playable_rows(first: int, end: int, tables: Array, rules: Array, actions: Array, playable: Array) -> int:
    """Which tables ([K] TABLE) ``can_play_out`` with their actions ([K] int64), into ``playable`` ([K] bool).

    Returns:
        How many cannot.
    """
    bad = 0
    for k in range(first, end):
        playable[k] = can_play_out(tables[k], rules[0], actions[k])
        bad += not playable[k]
    return bad


@kernel(nogil=True)
def play_out_rows(
    first: int,
    end: int,
    tables: Array,
    rules: Array,
    actions: Array,
    policies: Array,
    seed: int,
    points: Array,
) -> int:
    """R playouts of each of K tables, a row each; the tables stay as they are.

    Args:
        first: of the rows to do.
        end: of the rows to do.
        tables: [K] TABLE, playable.
        rules: [1] RULES.
        actions: [K] int64, the first of each; NONE leaves it to the policy.
        policies: [4] int64, by seat.
        seed: playout r of table k is row and number ``k * R + r`` under it.
        points: [K, R, 4] int32, written: tenths.
    """
    table = np.empty_like(tables[:1])
    last = np.empty_like(rules[:1])
    repeats = points.shape[1]
    for row in range(first, end):
        k, r = row // repeats, row % repeats
        table[0] = tables[k]
        last[0] = rules[0]
        last_deal(table[0], last)
        play_out(table[0], last[0], actions[k], policies, np.uint64(seed), np.uint64(row))
        for seat in range(4):
            points[k, r, seat] = table[0]["points"][seat]
    return 0
