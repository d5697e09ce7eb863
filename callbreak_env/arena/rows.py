"""Kernels of the arena: a row is one deal in one seating, at a table of its own.

They take the first row and the end of their rows (``engine.threads``). Rows of the same deal have the same
cards and share nothing else.
"""

from __future__ import annotations

import numpy as np

from callbreak_env.engine._jit import kernel
from callbreak_env.engine.agents import agent_action
from callbreak_env.engine.legality import legal_word, write_word
from callbreak_env.engine.play import start_match, step
from callbreak_env.engine.state import NO_DECKS, NONE, OVER, Array
from callbreak_env.envs.rows import put_row


@kernel(nogil=True)
def start_rows(first: int, end: int, tables: Array, rules: Array, seed: int, deals: Array) -> int:
    """The first deal of match number ``deals[k]`` ([K] int64) under the seed, at each table ([K] TABLE)."""
    for k in range(first, end):
        start_match(tables[k], rules[0], NO_DECKS, np.uint64(seed), np.uint64(deals[k]), NONE)
    return 0


@kernel(nogil=True)
def advance_rows(
    first: int,
    end: int,
    rows: Array,
    actions: Array,
    tables: Array,
    rules: Array,
    last: Array,
    agents: Array,
    asked: Array,
    entrants: Array,
) -> int:
    """Play on at some tables, each until an entrant is to act that must be asked, or its deal is over.

    Args:
        first: of the rows to do.
        end: of the rows to do.
        rows: [K] int64, their numbers.
        actions: [K] int64, legal: what was answered; NONE where nothing was asked.
        tables: [N] TABLE, of all rows.
        rules: [1] RULES, as agents are told them.
        last: [1] RULES, those after ``engine.playouts.last_deal``: the match ends with the deal.
        agents: [E] AGENT, by entrant; any where it must be asked.
        asked: [E] bool, which entrants must be asked.
        entrants: [N, 4] int64, by seat.

    Returns:
        At how many of them somebody is to be asked.
    """
    waiting = 0
    for k in range(first, end):
        row = rows[k]
        table = tables[row]
        if actions[k] >= 0:
            step(table, last[0], NO_DECKS, actions[k])
        while table["phase"] != OVER:
            entrant = entrants[row, int(table["seat"])]
            if asked[entrant]:
                waiting += 1
                break
            step(table, last[0], NO_DECKS, agent_action(agents[entrant], table, rules[0]))
    return waiting


@kernel(nogil=True)
def show_rows(
    first: int,
    end: int,
    rows: Array,
    tables: Array,
    rules: Array,
    rules_shown: Array,
    words: Array,
    observations: Array,
    masks: Array,
) -> int:
    """What the seats to act see and may do at some tables ([K] rows of [N] TABLE).

    Written: ``words`` [K] uint64, their ``legal_word``; ``observations`` [K, width] and ``masks`` [K, 65].
    """
    for k in range(first, end):
        table = tables[rows[k]]
        words[k] = legal_word(table, rules[0])
        write_word(words[k], masks[k])
        put_row(table, rules[0], rules_shown, int(table["seat"]), observations[k])
    return 0
