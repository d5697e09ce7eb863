"""Kernels of the batch forms: thousands of tables in one call, each row by itself.

Every kernel takes the first row and the end of its rows, so that threads can share the work
(``engine.threads.run_rows``), and returns only whole numbers.
"""

from __future__ import annotations

import numpy as np

from callbreak_env.engine._jit import kernel
from callbreak_env.engine.dealing import draw_learner
from callbreak_env.engine.legality import legal_word, word_allows, write_word
from callbreak_env.engine.play import start_match, step
from callbreak_env.engine.policies import ASK, decision_random, policy_action, uniform_choice
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
from callbreak_env.observation import RULES_AT, put_history, put_observation, put_state

MATCHES_APART = np.uint64(1 << 32)
"""Self-play: table i plays the matches i, i + 2**32, i + 2 * 2**32, ... under the seed."""
DUMMY = np.uint64(1)
"""The legal word of a learner that is done: action 0, for samplers that cannot bear an empty mask."""


@kernel(forceinline=True)
def put_row(table: Record, rules: Record, rules_shown: Array, viewer: int, out: Array) -> None:
    """One seat's observation into a row: flat (float32, int8), history (int16), or nothing (0 slots).

    ``rules_shown``: the field ``rules`` as it stands in a row, empty for the history encoding.
    """
    if len(rules_shown) > 0:
        put_observation(table, rules, viewer, out)
        for i in range(len(rules_shown)):
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
def sample_rows(first: int, end: int, tables: Array, words: Array, actions: Array) -> None:
    """A legal action for each row, each equally likely, into ``actions`` ([N] int64); 0 where is none."""
    for i in range(first, end):
        actions[i] = 0
        if words[i] != np.uint64(0):
            actions[i] = uniform_choice(words[i], decision_random(tables[i]))


@kernel(nogil=True)
def state_rows(first: int, end: int, tables: Array, rules: Array, viewers: Array, states: Array) -> None:
    """The whole table as each row's viewer places it ([N] int8; seat 0 for NONE), into ``states``."""
    for i in range(first, end):
        put_state(tables[i], rules[0], max(0, int(viewers[i])), states[i])


# --- self-play: a row is the seat to act ---


@kernel(forceinline=True)
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
) -> None:
    """A new match at each row's table, number ``numbers`` ([N] uint64) under the seed."""
    for i in range(first, end):
        start_match(tables[i], rules[0], NO_DECKS, np.uint64(seed), numbers[i], NONE)
        _show_seat(tables[i], rules[0], rules_shown, i, words, observations, masks, seats)


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
) -> None:
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


# --- one learner a table: a row is the learner's seat ---


@kernel()
def _start(
    i: int,
    tables: Array,
    rules: Record,
    decks: Array,
    seed: np.uint64,
    number: np.uint64,
    dealer: int,
    seat: int,
    learners: Array,
    done: Array,
) -> None:
    """A new match; the learner takes ``seat``, or one that is drawn (NONE)."""
    start_match(tables[i], rules, decks, seed, number, dealer)
    learners[i] = draw_learner(seed, number) if seat < 0 else seat
    done[i] = False


@kernel()
def _act(
    i: int,
    tables: Array,
    rules: Record,
    decks: Array,
    kind: int,
    action: int,
    learners: Array,
    rewards: Array,
    done: Array,
    paid: Array,
) -> None:
    """One legal action of whoever is to act; what it pays the learner is added to its reward."""
    table, learner = tables[i], int(learners[i])
    happened = step(table, rules, decks, action)
    if happened & DEAL_END:
        put_rewards(table, happened, kind, paid)
        rewards[i] += paid[learner]
        # A learner that is not in the extra deal (R15) has no more turn.
        done[i] = happened & MATCH_END != 0 or int(table["active"]) >> learner & 1 == 0


@kernel()
def _settle(
    i: int,
    tables: Array,
    rules: Record,
    decks: Array,
    kind: int,
    policies: Array,
    learners: Array,
    rewards: Array,
    done: Array,
    asks: Array,
    paid: Array,
) -> None:
    """Compiled opponents act until the learner is to act or done, or another opponent is to be asked."""
    table, learner = tables[i], int(learners[i])
    asks[i] = NONE
    while not done[i] and int(table["seat"]) != learner:
        opponent = ((int(table["seat"]) - learner) & 3) - 1
        if policies[opponent] == ASK:
            asks[i] = opponent
            return
        action = policy_action(policies[opponent], table, rules)
        _act(i, tables, rules, decks, kind, action, learners, rewards, done, paid)


@kernel(nogil=True)
def start_learners(
    first: int,
    end: int,
    rows: Array,
    seeds: Array,
    numbers: Array,
    dealer: int,
    seat: int,
    tables: Array,
    rules: Array,
    decks: Array,
    kind: int,
    policies: Array,
    learners: Array,
    rewards: Array,
    done: Array,
    asks: Array,
) -> None:
    """A new match at the tables of some rows, up to the learner's turn or a question to an opponent.

    Args:
        first: of the rows to do.
        end: of the rows to do.
        rows: [K] int64, their numbers.
        seeds: [K] uint64, key of the shuffles, a row.
        numbers: [K] uint64, number of the match under that seed.
        dealer: the first dealer's seat, or NONE: it is cut for.
        seat: the learner's seat, or NONE: it is drawn, a match.
        tables: [N] TABLE, of all rows, as all that follow.
        rules: [1] RULES.
        decks: [n, 52] uint8, used up first in every match.
        kind: of the rewards.
        policies: [3] int64, of the opponents to the learner's right, in turn; ASK for one outside.
        learners: [N] int8, the learner's seat.
        rewards: [N] float64, added to.
        done: [N] bool, whether the match is over for the learner.
        asks: [N] int8, written: which opponent is to be asked (0-2), or NONE.
    """
    paid = np.empty(4, np.float64)
    for k in range(first, end):
        i = rows[k]
        _start(i, tables, rules[0], decks, seeds[k], numbers[k], dealer, seat, learners, done)
        _settle(i, tables, rules[0], decks, kind, policies, learners, rewards, done, asks, paid)


@kernel(nogil=True)
def resume_learners(
    first: int,
    end: int,
    rows: Array,
    actions: Array,
    tables: Array,
    rules: Array,
    decks: Array,
    kind: int,
    policies: Array,
    learners: Array,
    rewards: Array,
    done: Array,
    asks: Array,
) -> None:
    """Opponents that were asked act ([K] int64, legal) at the tables of some rows ([K]); play goes on."""
    paid = np.empty(4, np.float64)
    for k in range(first, end):
        i = rows[k]
        _act(i, tables, rules[0], decks, kind, actions[k], learners, rewards, done, paid)
        _settle(i, tables, rules[0], decks, kind, policies, learners, rewards, done, asks, paid)


@kernel(nogil=True)
def step_learners(
    first: int,
    end: int,
    actions: Array,
    words: Array,
    restart: bool,
    seat: int,
    penalty: float,
    illegal: Array,
    tables: Array,
    rules: Array,
    decks: Array,
    kind: int,
    policies: Array,
    learners: Array,
    rewards: Array,
    done: Array,
    asks: Array,
) -> int:
    """The learners act ([N] int64), and play goes on to their next turns.

    An action that the row's ``legal_word`` does not allow ends the match for its learner, with ``penalty``
    as its reward. A row that is done ignores its action: with ``restart`` its next match starts (the
    NEXT_STEP autoreset of Gymnasium), else it stays.

    Returns:
        How many rows were illegal ([N] bool, written).
    """
    paid = np.empty(4, np.float64)
    count = 0
    for i in range(first, end):
        rewards[i] = 0.0
        illegal[i] = False
        if done[i]:
            if restart:
                seed, number = tables[i]["seed"], tables[i]["match"] + np.uint64(1)
                _start(i, tables, rules[0], decks, seed, number, NONE, seat, learners, done)
        elif word_allows(words[i], actions[i]):
            _act(i, tables, rules[0], decks, kind, actions[i], learners, rewards, done, paid)
        else:
            illegal[i] = True
            done[i] = True
            rewards[i] = penalty
            count += 1
        _settle(i, tables, rules[0], decks, kind, policies, learners, rewards, done, asks, paid)
    return count


@kernel(nogil=True)
def show_learners(
    first: int,
    end: int,
    rows: Array,
    viewers: Array,
    done: Array,
    tables: Array,
    rules: Array,
    rules_shown: Array,
    words: Array,
    observations: Array,
    masks: Array,
) -> None:
    """What viewers ([N] int8) see and may do at the tables of some rows ([K]), into arrays of K rows."""
    for k in range(first, end):
        i = rows[k]
        words[k] = DUMMY if done[i] else legal_word(tables[i], rules[0])
        write_word(words[k], masks[k])
        put_row(tables[i], rules[0], rules_shown, int(viewers[i]), observations[k])
