"""Agents whose decisions are compiled: the policies, and the searches that play out by them."""

from __future__ import annotations

import copy
import functools
import time
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from callbreak_env.actions import NUM_ACTIONS
from callbreak_env.cards import CARDS_PER_HAND
from callbreak_env.checks import check_choice, check_count, check_number
from callbreak_env.engine.agents import AGENT, ISMCTS, PIMC, POLICY, act_rows, value_rows
from callbreak_env.engine.beliefs import BELIEFS
from callbreak_env.engine.pimc import (
    MAX_CHOICES,
    best_choice,
    goes_through,
    open_pimc,
    pimc_sums,
    worlds_used,
)
from callbreak_env.engine.policies import POLICIES
from callbreak_env.engine.state import Array, rules_record
from callbreak_env.engine.threads import check_threads, run_parts, run_rows
from callbreak_env.engine.worlds import WORLDS
from callbreak_env.errors import CallBreakError
from callbreak_env.match import Match
from callbreak_env.rules import Rules
from callbreak_env.table import View


class KeyedAgent:
    """What agents of compiled code have in common: one table is asked as many are.

    Its random numbers at a table of an environment or an arena are a function of the table's key (seed,
    match, deck) and of the decision; by itself (``reset``, ``act``) of one number drawn from ``rng``.

    Attributes:
        name: as :func:`callbreak_env.make_agent` takes it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._key = np.uint64(0)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Another agent of the same settings and weights, which nobody writes."""
        return copy.copy(self)

    def reset(self, seat: int, rules: Rules, rng: np.random.Generator) -> None:
        """Take the match's random number."""
        self._key = rng.integers(2**64, dtype=np.uint64)

    def act(self, view: View) -> int:
        """The action id for the seat to act, from what it knows."""
        if view.seat is None or view.seat != view.viewer:
            raise CallBreakError(f"seat {view.viewer} is not to act: no agent can be asked by its view")
        tables = view.record_array.copy()
        tables["seed"] = self._key
        tables["match"] = view.deal
        tables["deck"] = view.redeals
        return int(self.act_tables(tables, view.rules)[0])

    def act_tables(self, tables: Array, rules: Rules, threads: int | None = 1) -> npt.NDArray[np.int64]:
        """The action ids for the seats to act at K tables: [K] TABLE -> [K] int64. None may be over."""
        raise NotImplementedError


class CompiledAgent(KeyedAgent):
    """An agent that is a record of settings. It knows what the seat to act knows.

    Attributes:
        record_array: [1] AGENT, for compiled code; not to be written.
        budget_ms: milliseconds for a decision; None: as long as it takes.
    """

    budget_ms: float | None = None

    def __init__(self, name: str, **settings: Any) -> None:
        super().__init__(name)
        self.record_array = np.zeros(1, AGENT)
        for field, value in settings.items():
            self.record_array[field] = value

    def act_tables(self, tables: Array, rules: Rules, threads: int | None = 1) -> npt.NDArray[np.int64]:
        """The action ids for the seats to act at K tables: [K] TABLE -> [K] int64. None may be over."""
        actions = np.empty(len(tables), np.int64)
        work = (self.record_array, tables, rules_record(rules), actions)
        if self.record_array["kind"][0] == POLICY:
            run_rows(act_rows, len(tables), check_threads(threads), *work)
        else:  # a single decision is worth a thread
            run_parts(act_rows, len(tables), 1, check_threads(threads), *work)
        return actions

    def action_values(self, tables: Array, rules: Rules, threads: int | None = 1) -> npt.NDArray[np.float32]:
        """What PIMC thinks that each action brings the seat to act: [K] TABLE -> [K, 65] float32, points.

        The means over its worlds, without the head start that it gives to the rule-based choice itself. NaN:
        illegal, a bid that it does not try, or nothing to choose. ``examples/ppo_selfplay.py`` learns from
        them.

        Raises:
            CallBreakError: not a PIMC agent.
        """
        if self.record_array["kind"][0] != PIMC:
            raise CallBreakError(f"agent {self.name!r} values no actions: pimc_lite, pimc, pimc_strong do")
        values = np.empty((len(tables), NUM_ACTIONS), np.float32)
        work = (self.record_array, tables, rules_record(rules), values)
        run_parts(value_rows, len(tables), 1, check_threads(threads), *work)
        return values


class TimedAgent(CompiledAgent):
    """A search with a budget of time for each decision: what it does depends on how fast the machine is."""

    def __init__(self, name: str, budget_ms: float, **settings: Any) -> None:
        super().__init__(name, **settings)
        self.budget_ms = budget_ms
        _load_kernels()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        _load_kernels()

    def act_tables(self, tables: Array, rules: Rules, threads: int | None = 1) -> npt.NDArray[np.int64]:
        """As ``CompiledAgent.act_tables``, one table after the other, each within the budget."""
        record, seconds = rules_record(rules)[0], (self.budget_ms or 0.0) / 1000
        return np.array(
            [act_in_time(self.record_array[0], table, record, seconds) for table in tables], np.int64
        )


def act_in_time(settings: Any, table: Any, rules: Any, seconds: float) -> int:
    """What PIMC does at a table: worlds are tried until the time is spent or all are, in parts that double.

    Args:
        settings: AGENT.
        table: TABLE, not over.
        rules: RULES.
        seconds: for the decision.
    """
    end = time.perf_counter() + seconds
    choices, sums = np.empty(MAX_CHOICES, np.int64), np.empty(MAX_CHOICES)
    worlds = np.empty(1, WORLDS)
    count = open_pimc(table, rules, settings, worlds[0], choices, sums)
    choices, sums = choices[:count], sums[:count]
    if count == 1:
        return int(choices[0])
    wanted = worlds_used(table, settings, worlds[0])
    # All worlds are few, and weighed against each other: they are one part.
    done, part, took, now = 0, wanted if goes_through(settings, worlds[0]) else 1, 0.0, time.perf_counter()
    while done < wanted and now + took * part < end:
        part = min(part, wanted - done)
        pimc_sums(table, rules, settings, done, done + part, worlds, np.empty(0, BELIEFS), choices, sums)
        done += part
        before, now = now, time.perf_counter()
        took, part = (now - before) / part, 2 * part
    return int(best_choice(choices, sums))


@functools.cache
def _load_kernels() -> None:
    """Compile or load what a timed decision needs, so that no decision's time goes to that."""
    match = Match(seed=0)
    settings = pimc_agent("pimc_lite", bid=1, play=1).record_array[0]
    act_in_time(settings, match.record_array[0], match.rules_array[0], 60.0)


def policy_agent(name: str, /) -> CompiledAgent:
    """A compiled policy: ``uniform``, ``low_bid``, ``lowest`` or ``rule_based``."""
    return CompiledAgent(name, kind=POLICY, policy=POLICIES[name])


MOST, MOST_DRAWS = 1_000_000, 1000
"""The largest amounts that an option takes: of worlds, passes, and draws for a world."""
_PIMC: dict[str, dict[str, int]] = {
    "pimc_lite": {"bid": 20, "play": 20, "draws": 1},
    "pimc": {"bid": 50, "play": 20, "draws": 20},
    "pimc_strong": {"bid": 200, "play": 100, "draws": 20},
}
"""The named settings."""


def pimc_settings(bid: int, play: int, draws: int, last: int = CARDS_PER_HAND) -> dict[str, int]:
    """The fields of AGENT for such amounts, cards of the last tricks; playouts are by ``rule_based``.

    Raises:
        ValueError: an amount is not what it must be.
    """
    return {
        "kind": PIMC,
        "policy": POLICIES["rule_based"],
        "bid_worlds": check_count(bid, "bid", 0, MOST),
        "play_worlds": check_count(play, "play", 0, MOST),
        "last": check_count(last, "last", 0, CARDS_PER_HAND),
        "draws": check_count(draws, "draws", 1, MOST_DRAWS),
        "enumerate": 2 * play,
    }


def pimc_agent(
    name: str,
    /,
    bid: int | None = None,
    play: int | None = None,
    draws: int | None = None,
    enumerate: int | None = None,  # noqa: A002 - the option's name
    policy: str = "rule_based",
    ms: float | None = None,
) -> CompiledAgent:
    """Perfect-information Monte Carlo (``callbreak_env.engine.pimc``) under one of its names.

    Args:
        name: ``pimc_lite``, ``pimc`` or ``pimc_strong``: gives what is left out.
        bid: worlds for a bid; 0: the policy bids.
        play: worlds for a card; 0: the policy plays.
        draws: of so many worlds each one that is used is chosen, by how well it explains what the others
            bid and played; 1: that tells nothing.
        enumerate: at most so many worlds are all gone through instead of drawn; else: twice ``play``.
        policy: the compiled policy of the playouts.
        ms: a budget in milliseconds a decision: worlds are tried until it is spent, at most ``bid`` or
            ``play``. Then the time decides, and no seed makes that reproducible.

    Raises:
        ValueError: an option is not what it must be.
    """
    given = {"bid": bid, "play": play, "draws": draws}
    settings = _PIMC[name] | {key: value for key, value in given.items() if value is not None}
    record = pimc_settings(**settings) | {"policy": POLICIES[check_choice(policy, "policy", list(POLICIES))]}
    if ms is not None:
        ms = check_number(ms, "ms", positive=True)
        if not (record["bid_worlds"] and record["play_worlds"]):
            raise CallBreakError("with ms, bid and play must be at least 1")
    if enumerate is not None:
        record["enumerate"] = check_count(enumerate, "enumerate", 0, MOST)
    return CompiledAgent(name, **record) if ms is None else TimedAgent(name, ms, **record)


def ismcts_agent(
    name: str, /, iterations: int = 500, explore: float = 0.5, policy: str = "rule_based"
) -> CompiledAgent:
    """Information-set tree search (``callbreak_env.engine.ismcts``).

    Args:
        name: ``ismcts``.
        iterations: passes a decision, each in a world of its own.
        explore: weight of what has seldom been tried, 0 or more.
        policy: the compiled policy of the playouts.

    Raises:
        ValueError: an option is not what it must be.
    """
    return CompiledAgent(
        name,
        kind=ISMCTS,
        policy=POLICIES[check_choice(policy, "policy", list(POLICIES))],
        iterations=check_count(iterations, "iterations", most=MOST),
        explore=check_number(explore, "explore"),
    )
