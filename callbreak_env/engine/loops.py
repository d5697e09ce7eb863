"""Many steps in one call, by a compiled policy: nothing comes back to Python between them."""

from __future__ import annotations

import numpy as np

from callbreak_env.engine._jit import kernel
from callbreak_env.engine.play import start_match, step
from callbreak_env.engine.policies import policy_action
from callbreak_env.engine.state import (
    BIDDING,
    DEAL_END,
    NO_DECKS,
    NONE,
    OVER,
    PLAYING,
    REDEAL,
    Array,
)


@kernel(nogil=True)
def play_policy(tables: Array, rules: Array, policy: int, steps: int) -> int:
    """N tables play by a compiled policy, ``steps`` actions each, a new match after each that ends.

    Args:
        tables: [N] TABLE, started.
        rules: [1] RULES.
        policy: for all seats.
        steps: actions a table.

    Returns:
        Matches that ended.
    """
    ended = 0
    for i in range(len(tables)):
        table = tables[i]
        for _ in range(steps):
            step(table, rules[0], NO_DECKS, policy_action(policy, table, rules[0]))
            if table["phase"] == OVER:
                ended += 1
                start_match(table, rules[0], NO_DECKS, table["seed"], table["match"] + np.uint64(1), NONE)
    return ended


@kernel(nogil=True)
def record_policy(tables: Array, rules: Array, policy: int, actions: Array) -> int:
    """One table plays by a compiled policy until the match is over or ``actions`` is full.

    Args:
        tables: [1] TABLE, started.
        rules: [1] RULES.
        policy: for all seats.
        actions: uint8, written: the actions taken.

    Returns:
        How many were taken.
    """
    table = tables[0]
    count = 0
    while count < len(actions) and table["phase"] != OVER:
        action = policy_action(policy, table, rules[0])
        step(table, rules[0], NO_DECKS, action)
        actions[count] = action
        count += 1
    return count


# Slots of the counts that `simulate_policy` keeps.
ACTIONS, DECKS, DEALS, REDEALS, EXTRA_DEALS, NUM_COUNTS = 0, 1, 2, 3, 4, 5


@kernel(nogil=True)
def simulate_policy(
    tables: Array,
    rules: Array,
    policy: int,
    seed: int,
    first: int,
    totals: Array,
    winners: Array,
    by_seat: Array,
    counts: Array,
) -> None:
    """Play M whole matches by a compiled policy, numbers ``first`` on under a seed.

    Args:
        tables: [1] TABLE, overwritten.
        rules: [1] RULES.
        policy: for all seats.
        seed: of the shuffles and of the policy.
        first: number of the first match.
        totals: [M, 4] int64, written: tenths.
        winners: [M] int8, written: sets of seats.
        by_seat: [3, 4] int64, added to: deals bid, tricks promised, deals failed, by seat.
        counts: [NUM_COUNTS] int64, added to: actions, decks, deals scored, H2 redeals, extra deals.
    """
    table = tables[0]
    for i in range(len(winners)):
        number = np.uint64(first + i)
        start_match(table, rules[0], NO_DECKS, np.uint64(seed), number, NONE)
        while table["phase"] != OVER:
            bidding = table["phase"] == BIDDING
            action = policy_action(policy, table, rules[0])
            happened = step(table, rules[0], NO_DECKS, action)
            counts[ACTIONS] += 1
            if bidding and table["phase"] == PLAYING:
                for seat in range(4):
                    by_seat[0, seat] += int(table["active"]) >> seat & 1
                    by_seat[1, seat] += int(table["bids"][seat])
            if happened & REDEAL:
                counts[REDEALS] += 1
            if happened & DEAL_END:
                counts[DEALS] += 1
                for seat in range(4):
                    by_seat[2, seat] += int(table["points"][seat]) < 0
        counts[DECKS] += int(table["deck"])
        counts[EXTRA_DEALS] += int(table["deal"]) >= int(rules[0]["deals"])
        for seat in range(4):
            totals[i, seat] = table["totals"][seat]
        winners[i] = table["winners"]
