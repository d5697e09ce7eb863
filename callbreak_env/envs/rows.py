"""Kernels of the batch forms: thousands of tables in one call, each row by itself.

Every kernel takes the first row and the end of its rows, so that threads can share the work
(``engine.threads.run_rows``), and returns only whole numbers.
"""

from __future__ import annotations

import numpy as np

from callbreak_env.engine._jit import inlined, kernel
from callbreak_env.engine.legality import legal_word, word_allows, write_word
from callbreak_env.engine.play import start_match, step
from callbreak_env.engine.policies import decision_random, uniform_choice
from callbreak_env.engine.scoring import put_rewards
from callbreak_env.engine.state import (
    DEAL_END,
    MATCH_END,
    NO_DECKS,
    NONE,
    OVER,
    Array,
    Record,
)
from callbreak_env.observation import NUM_RULES, RULES_AT, put_history, put_observation, put_state

MATCHES_APART = np.uint64(1 << 32)
"""Self-play: table i plays the matches i, i + 2**32, i + 2 * 2**32, ... under the seed."""


@inlined()
def put_row(table: Record, rules: Record, rules_shown: Array, viewer: int, out: Array) -> None:
    """One seat's observation into a row: flat (float32, int8), history (int16), or nothing (0 slots).

    ``rules_shown``: the field ``rules`` as it stands in a row, empty for the history encoding.
    """
    if len(rules_shown) > 0:
        put_observation(table, rules, viewer, out)
        for i in range(NUM_RULES):
            out[RULES_AT + i] = rules_shown[i]
    elif len(out) > 0:
        put_history(table, viewer, out)


# --- all rows alike ---


@kernel(nogil=True)
def count_illegal(first: int, end: int, words: Array, actions: Array) -> int:
    """How many rows have an action ([N] int64) that their ``legal_word`` ([N] uint64) does not allow.

    A row whose word is 0 (nobody is to act) may have any.
    """
    count = 0
    for i in range(first, end):
        if words[i] != np.uint64(0) and not word_allows(words[i], actions[i]):
            count += 1
    return count


@kernel(nogil=True)
def mask_rows(first: int, end: int, words: Array, masks: Array) -> int:
    """Each row's ``legal_word`` ([N] uint64) into its mask ([N, 65] int8)."""
    for i in range(first, end):
        write_word(words[i], masks[i])
    return 0


@kernel(nogil=True)
def sample_rows(first: int, end: int, tables: Array, words: Array, actions: Array) -> int:
    """A legal action for each row, each equally likely, into ``actions`` ([N] int64); 0 where is none."""
    for i in range(first, end):
        actions[i] = 0
        if words[i] != np.uint64(0):
            actions[i] = uniform_choice(words[i], decision_random(tables[i]))
    return 0


@kernel(nogil=True)
def state_rows(first: int, end: int, tables: Array, rules: Array, viewers: Array, states: Array) -> int:
    """The whole table as each row's viewer places it ([N] int8; seat 0 for NONE), into ``states``."""
    for i in range(first, end):
        put_state(tables[i], rules[0], max(0, int(viewers[i])), states[i])
    return 0


@kernel(nogil=True)
def observe_rows(
    first: int, end: int, tables: Array, rules: Array, rules_shown: Array, viewers: Array, observations: Array
) -> int:
    """What one seat sees at each table ([N] int64, the seats), into ``observations``."""
    for i in range(first, end):
        put_row(tables[i], rules[0], rules_shown, viewers[i], observations[i])
    return 0


# --- self-play: a row is the seat to act ---


@inlined()
def _show_seat(
    table: Record,
    rules: Record,
    rules_shown: Array,
    i: int,
    words: Array,
    observations: Array,
    masks: Array,
    seats: Array,
) -> None:
    seat = int(table["seat"])
    seats[i] = seat
    words[i] = legal_word(table, rules)
    write_word(words[i], masks[i])
    put_row(table, rules, rules_shown, max(0, seat), observations[i])


@kernel(nogil=True)
def start_rows(
    first: int,
    end: int,
    tables: Array,
    rules: Array,
    rules_shown: Array,
    seed: int,
    numbers: Array,
    words: Array,
    observations: Array,
    masks: Array,
    seats: Array,
) -> int:
    """A new match at each row's table, number ``numbers`` ([N] uint64) under the seed."""
    for i in range(first, end):
        start_match(tables[i], rules[0], NO_DECKS, np.uint64(seed), numbers[i], NONE)
        _show_seat(tables[i], rules[0], rules_shown, i, words, observations, masks, seats)
    return 0


@kernel()
def _put_terminated(table: Record, happened: int, terminated: Array) -> None:
    """At the end of a deal: who was in the match's last one is done, or who is not in the next (R15)."""
    over = 1 if happened & MATCH_END else 0
    for seat in range(4):
        terminated[seat] = int(table["active"]) >> seat & 1 == over


@kernel(nogil=True)
def step_rows(
    first: int,
    end: int,
    tables: Array,
    rules: Array,
    rules_shown: Array,
    kind: int,
    autoreset: bool,
    actions: Array,
    words: Array,
    observations: Array,
    masks: Array,
    seats: Array,
    rewards: Array,
    terminated: Array,
    deal_over: Array,
    match_over: Array,
) -> int:
    """One legal action at each row's table, then the next seat to act; arrays as in ``selfplay.Turn``.

    A table that is over is left alone (it is never over with ``autoreset``).
    """
    for i in range(first, end):
        table = tables[i]
        happened = 0
        if table["phase"] != OVER:
            happened = step(table, rules[0], NO_DECKS, actions[i])
        deal_over[i] = happened & DEAL_END != 0
        match_over[i] = happened & MATCH_END != 0
        if happened & DEAL_END:
            put_rewards(table, happened, kind, rewards[i])
            _put_terminated(table, happened, terminated[i])
        else:
            for seat in range(4):
                rewards[i, seat] = 0
                terminated[i, seat] = False
        if autoreset and happened & MATCH_END:
            number = table["match"] + MATCHES_APART
            start_match(table, rules[0], NO_DECKS, table["seed"], number, NONE)
        _show_seat(table, rules[0], rules_shown, i, words, observations, masks, seats)
    return 0
