"""Kernels of the environments with one learner a table: each row is the learner's seat.

They take the first row and the end of their rows, as those in ``rows.py`` do.
"""

from __future__ import annotations

import numpy as np

from callbreak_env.engine._jit import inlined, kernel
from callbreak_env.engine.dealing import draw_learner
from callbreak_env.engine.legality import legal_word, word_allows, write_word
from callbreak_env.engine.play import start_match, step
from callbreak_env.engine.policies import ASK, policy_action
from callbreak_env.engine.scoring import put_rewards
from callbreak_env.engine.state import DEAL_END, MATCH_END, NONE, Array, Record
from callbreak_env.envs.rows import put_row
from callbreak_env.envs.shared import ILLEGAL_REWARD

DUMMY = np.uint64(1)
"""The legal word of a learner that is done: action 0, for samplers that cannot bear an empty mask."""


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


@inlined()
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


@inlined()
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
    words: Array,
    paid: Array,
) -> None:
    """Compiled opponents act until the learner is to act or done, or another opponent is to be asked."""
    table, learner = tables[i], int(learners[i])
    asks[i] = NONE
    while not done[i] and int(table["seat"]) != learner:
        opponent = ((int(table["seat"]) - learner) & 3) - 1
        if policies[opponent] == ASK:
            asks[i] = opponent
            break
        action = policy_action(policies[opponent], table, rules)
        _act(i, tables, rules, decks, kind, action, learners, rewards, done, paid)
    # Here, so that no interrupt can come between the tables and what is legal at them.
    words[i] = DUMMY if done[i] else legal_word(table, rules)


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
    words: Array,
) -> int:
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
        words: [N] uint64, written: the ``legal_word`` of the seat to act; DUMMY where done.
    """
    paid = np.empty(4, np.float64)
    for k in range(first, end):
        i = rows[k]
        _start(i, tables, rules[0], decks, seeds[k], numbers[k], dealer, seat, learners, done)
        _settle(i, tables, rules[0], decks, kind, policies, learners, rewards, done, asks, words, paid)
    return 0


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
    words: Array,
) -> int:
    """Opponents that were asked act ([K] int64, legal) at the tables of some rows ([K]); play goes on."""
    paid = np.empty(4, np.float64)
    for k in range(first, end):
        i = rows[k]
        _act(i, tables, rules[0], decks, kind, actions[k], learners, rewards, done, paid)
        _settle(i, tables, rules[0], decks, kind, policies, learners, rewards, done, asks, words, paid)
    return 0


@kernel(nogil=True)
def step_learners(
    first: int,
    end: int,
    actions: Array,
    restart: bool,
    seat: int,
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
    words: Array,
) -> int:
    """The learners act ([N] int64), and play goes on to their next turns.

    An action that the row's ``legal_word`` does not allow ends the match for its learner, with
    ``ILLEGAL_REWARD``. A row that is done ignores its action: with ``restart`` its next match starts (the
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
            rewards[i] = ILLEGAL_REWARD
            count += 1
        _settle(i, tables, rules[0], decks, kind, policies, learners, rewards, done, asks, words, paid)
    return count


@kernel(nogil=True)
def show_learners(
    first: int,
    end: int,
    rows: Array,
    learners: Array,
    done: Array,
    tables: Array,
    rules: Array,
    rules_shown: Array,
    words: Array,
    observations: Array,
    masks: Array,
) -> int:
    """What the seat to act, or the learner if it is done, sees and may do at some rows ([K]).

    That is the learner or, where one is to be asked, the opponent. ``words`` ([N]) are as the other kernels
    left them; ``observations`` and ``masks`` have K rows.
    """
    for k in range(first, end):
        i = rows[k]
        viewer = int(learners[i]) if done[i] else int(tables[i]["seat"])
        write_word(words[i], masks[k])
        put_row(tables[i], rules[0], rules_shown, viewer, observations[k])
    return 0
