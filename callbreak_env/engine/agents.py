"""Compiled agents: a policy, or a search with its settings, as one record; and the kernel that asks them."""

from __future__ import annotations

import numpy as np

from callbreak_env.engine._jit import kernel, merged
from callbreak_env.engine.ismcts import ismcts_action
from callbreak_env.engine.pimc import pimc_action, pimc_values
from callbreak_env.engine.policies import policy_action
from callbreak_env.engine.state import Array, Record

POLICY, PIMC, ISMCTS = range(3)

# fmt: off
AGENT = np.dtype(
    [
        # name           type        range and meaning
        ("kind",        np.int64),    # POLICY, PIMC, ISMCTS
        ("policy",      np.int64),    # itself, or the one that the playouts are played by
        ("bid_worlds",  np.int64),    # PIMC: worlds for a bid; 0: the policy bids
        ("play_worlds", np.int64),    # PIMC: worlds for a card; 0: the policy plays
        ("last",        np.int64),    # PIMC: for a card of the last so many tricks; before, the policy plays
        ("draws",       np.int64),    # PIMC: worlds drawn for each that is used, chosen by weight; 1: uniform
        ("enumerate",   np.int64),    # PIMC: at most so many worlds are gone through instead of drawn
        ("iterations",  np.int64),    # ISMCTS: passes a decision
        ("explore",     np.float64),  # ISMCTS: the weight of what was seldom tried
    ],
    align=True,
)
# fmt: on


@merged()
def agent_action(agent: Record, table: Record, rules: Record) -> int:
    """What a compiled agent (AGENT) does for the seat to act; of the other hands it reads nothing."""
    if agent["kind"] == PIMC:
        return pimc_action(agent, table, rules)
    if agent["kind"] == ISMCTS:
        return ismcts_action(table, rules, agent["iterations"], agent["explore"], agent["policy"])
    return policy_action(agent["policy"], table, rules)


@kernel(nogil=True)
def act_rows(first: int, end: int, agents: Array, tables: Array, rules: Array, actions: Array) -> int:
    """What a compiled agent ([1] AGENT) does at tables ([K] TABLE), into ``actions`` ([K] int64)."""
    for k in range(first, end):
        actions[k] = agent_action(agents[0], tables[k], rules[0])
    return 0


@kernel(nogil=True)
def value_rows(first: int, end: int, agents: Array, tables: Array, rules: Array, values: Array) -> int:
    """``pimc_values`` of a search ([1] AGENT) at tables ([K] TABLE), into ``values`` ([K, 65] float32)."""
    for k in range(first, end):
        pimc_values(agents[0], tables[k], rules[0], values[k])
    return 0
