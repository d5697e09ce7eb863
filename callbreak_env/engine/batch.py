"""Many tables in one call, and the uniform agent inside compiled code."""

from __future__ import annotations

import numpy as np

from callbreak_env.engine._jit import kernel, lowest_bit, popcount
from callbreak_env.engine.dealing import policy_seed
from callbreak_env.engine.legality import is_legal, legal_set, write_mask
from callbreak_env.engine.play import start_match, step
from callbreak_env.engine.state import (
    BIDDING,
    DEAL_END,
    NO_DECKS,
    NONE,
    OVER,
    PLAYING,
    REDEAL,
    Array,
    Record,
)


@kernel()
def start_matches(
    tables: Array, rules: Array, seed: int, matches: Array, dealers: Array, masks: Array
) -> None:
    """A new match at each of N tables.

    Args:
        tables: [N] TABLE.
        rules: [1] RULES.
        seed: of all of them.
        matches: [N] uint64, their numbers under the seed.
        dealers: [N] int64, seats or NONE.
        masks: [N, 65] int8, written.
    """
    for i in range(len(tables)):
        start_match(tables[i], rules[0], NO_DECKS, np.uint64(seed), matches[i], dealers[i])
        write_mask(tables[i], rules[0], masks[i])


@kernel()
def advance_all(tables: Array, rules: Array, actions: Array, happened: Array, masks: Array) -> int:
    """One checked step at each of N tables; a table that is over is left alone.

    Args:
        tables: [N] TABLE.
        rules: [1] RULES.
        actions: [N] int64.
        happened: [N] int64, written: what each step brought about.
        masks: [N, 65] int8, written: the next legal masks.

    Returns:
        The first row whose action is illegal (then no table has changed), or -1.
    """
    for i in range(len(tables)):
        if tables[i]["phase"] != OVER and not is_legal(tables[i], rules[0], actions[i]):
            return i
    for i in range(len(tables)):
        if tables[i]["phase"] == OVER:
            happened[i] = 0
        else:
            happened[i] = step(tables[i], rules[0], NO_DECKS, actions[i])
        write_mask(tables[i], rules[0], masks[i])
    return -1


@kernel()
def next_random(state: np.uint64) -> np.uint64:
    """xorshift64 (Marsaglia: Xorshift RNGs; JSS 8, 2003): the next nonzero state, itself the number."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    return state


@kernel()
def uniform_action(table: Record, rules: Record, random: np.uint64) -> int:
    """The uniform agent: a legal action, each equally likely, from 64 random bits. Not for a match over."""
    legal = legal_set(table, rules)
    skip = ((random >> np.uint64(32)) * np.uint64(popcount(legal))) >> np.uint64(32)
    for _ in range(np.int64(skip)):
        legal &= legal - np.uint64(1)
    index = lowest_bit(legal)
    return int(51 + index if int(table["phase"]) == BIDDING else index)


@kernel(nogil=True)
def play_uniform(tables: Array, rules: Array, randoms: Array, steps: int) -> int:
    """N tables play by the uniform agent, ``steps`` actions each, a new match after each that ends.

    Args:
        tables: [N] TABLE, started.
        rules: [1] RULES.
        randoms: [N] uint64, nonzero states of the agent's random numbers; advanced.
        steps: actions a table.

    Returns:
        Matches that ended.
    """
    ended = 0
    for i in range(len(tables)):
        random = randoms[i]
        table = tables[i]
        for _ in range(steps):
            random = next_random(random)
            step(table, rules[0], NO_DECKS, uniform_action(table, rules[0], random))
            if table["phase"] == OVER:
                ended += 1
                start_match(table, rules[0], NO_DECKS, table["seed"], table["match"] + np.uint64(1), NONE)
        randoms[i] = random
    return ended


@kernel(nogil=True)
def record_uniform(tables: Array, rules: Array, randoms: Array, actions: Array) -> int:
    """One table plays by the uniform agent until the match is over or ``actions`` is full.

    Args:
        tables: [1] TABLE, started.
        rules: [1] RULES.
        randoms: [1] uint64, as for ``play_uniform``.
        actions: uint8, written: the actions taken.

    Returns:
        How many were taken.
    """
    table = tables[0]
    random = randoms[0]
    count = 0
    while count < len(actions) and table["phase"] != OVER:
        random = next_random(random)
        action = uniform_action(table, rules[0], random)
        step(table, rules[0], NO_DECKS, action)
        actions[count] = action
        count += 1
    randoms[0] = random
    return count


@kernel()
def uniform_start(seed: int, match: int) -> np.uint64:
    """The first state of the uniform agent's random numbers in one match: keyed, so it plays out the same."""
    return policy_seed(np.uint64(seed), np.uint64(match))


# Slots of the counts that `simulate_uniform` keeps.
ACTIONS, DECKS, DEALS, REDEALS, EXTRA_DEALS, NUM_COUNTS = 0, 1, 2, 3, 4, 5


@kernel(nogil=True)
def simulate_uniform(
    tables: Array,
    rules: Array,
    seed: int,
    first: int,
    totals: Array,
    winners: Array,
    by_seat: Array,
    counts: Array,
) -> None:
    """Play M whole matches by the uniform agent, numbers ``first`` on under a seed.

    Args:
        tables: [1] TABLE, overwritten.
        rules: [1] RULES.
        seed: of the shuffles and of the agent.
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
        random = policy_seed(np.uint64(seed), number)
        while table["phase"] != OVER:
            random = next_random(random)
            bidding = table["phase"] == BIDDING
            action = uniform_action(table, rules[0], random)
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
