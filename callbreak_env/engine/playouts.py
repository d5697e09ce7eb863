"""Playouts: a deal played to its end by compiled policies, from any position, again and again."""

from __future__ import annotations

import numpy as np

from callbreak_env.engine._jit import kernel, popcount
from callbreak_env.engine.legality import is_legal
from callbreak_env.engine.play import step
from callbreak_env.engine.policies import policy_action
from callbreak_env.engine.state import (
    ALL_CARDS,
    ALL_SEATS,
    BIDDING,
    DEAL_END,
    NO_DECKS,
    PLAYING,
    Array,
    Record,
)


@kernel()
def is_sound(table: Record) -> bool:
    """Whether a record is of a table where a deal is on, and kernels may play on from it.

    A seat's view is not such (the other hands are not in it), nor is a record of zeros.
    """
    phase, active, seat = int(table["phase"]), int(table["active"]), int(table["seat"])
    if phase not in (BIDDING, PLAYING) or not 0 <= active <= ALL_SEATS or not 0 <= seat < 4:
        return False
    held = np.uint64(0)
    played = 0
    count = 0
    for other in range(4):
        if active >> other & 1:
            count += 1
            hand, gone = table["hands"][other], table["played"][other]
            played += popcount(gone)
            if popcount(hand) + popcount(gone) != 13 or (hand | gone) & (held | ~ALL_CARDS) != np.uint64(0):
                return False
            held |= hand | gone
            if not -1 <= int(table["trick"][other]) < 52 or not 0 <= int(table["bids"][other]) <= 13:
                return False
            if not 0 <= int(table["tricks_won"][other]) <= 13:
                return False
    leader, trick_no, in_trick = int(table["leader"]), int(table["trick_no"]), int(table["in_trick"])
    if count < 2 or count != int(table["num_active"]) or not active >> seat & 1:
        return False
    if not (0 <= leader < 4 and 0 <= int(table["dealer"]) < 4 and active >> leader & 1):
        return False
    if not (0 <= trick_no < 13 and 0 <= in_trick < count and played == int(table["num_played"])):
        return False
    if played != trick_no * count + in_trick or (phase == BIDDING and played > 0):
        return False
    best_led, best_trump, trump = int(table["best_led"]), int(table["best_trump"]), int(table["trump"])
    if not (-1 <= best_led < 52 and -1 <= best_trump < 52 and -1 <= trump < 4):
        return False
    if in_trick > 0:
        return best_led >= 0 and trump >= 0 and 0 <= int(table["trick_seat"]) < 4
    return best_led < 0 and best_trump < 0


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
def sound_rows(first: int, end: int, tables: Array, sound: Array) -> int:
    """Which tables ([K] TABLE) are sound, into ``sound`` ([K] bool); returns how many are not."""
    bad = 0
    for k in range(first, end):
        sound[k] = is_sound(tables[k])
        bad += not sound[k]
    return bad


@kernel(nogil=True)
def legal_rows(first: int, end: int, tables: Array, rules: Array, actions: Array, legal: Array) -> int:
    """Which actions ([K] int64) are legal at their tables, into ``legal`` ([K] bool); how many are not."""
    bad = 0
    for k in range(first, end):
        legal[k] = is_legal(tables[k], rules[0], actions[k])
        bad += not legal[k]
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
        tables: [K] TABLE, sound.
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
