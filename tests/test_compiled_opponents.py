"""Compiled opponents of the Gymnasium environments: policies by name, and agents for whole tables."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from agents import compiled
from callbreak_env import Rules, make_agent
from callbreak_env.engine.policies import POLICIES
from callbreak_env.engine.state import TABLE
from callbreak_env.envs.single import CallBreakEnv
from callbreak_env.envs.vector import CallBreakVectorEnv
from callbreak_env.errors import CallBreakError
from conftest import JIT
from learners import (
    BAD_BATCHES,
    NEXT_STEP,
    RUBBISH,
    SAME_STEP,
    TIES,
    Amount,
    HighestBatch,
    Plain,
    SaysBatch,
    bid_once,
    by_policy,
    by_tables,
    compare,
    follow,
    highest,
    one_of,
    same,
    uniform,
    vector_pair,
)

SEARCH = "ismcts:iterations=8" if JIT else "ismcts:iterations=2"
TABLE_AGENTS = ("a search by name", "a policy as an object", "mixed")


def table_agents(kind: str) -> Any:
    if kind == "mixed":
        return ["uniform", make_agent(SEARCH), HighestBatch()]
    return SEARCH if kind == "a search by name" else make_agent("low_bid")


@pytest.mark.parametrize("name", POLICIES)
def test_compiled_policies_play_by_name_what_they_play_outside(name: str, amount: Amount) -> None:
    env = CallBreakEnv(TIES, [name, "uniform", name], seat=2)
    plain = Plain(2, [by_policy(name), uniform, by_policy(name)], rules=TIES)
    for seed in range(amount(6, no_jit=1)):
        follow(env, plain, seed)


@pytest.mark.parametrize("name", ["low_bid", "lowest", "rule_based"])
def test_named_policies_make_the_vector_equal_to_the_singles(name: str, amount: Amount) -> None:
    options = {"opponents": [name, "uniform", name], "rules": TIES, "seat": None}
    ours, theirs = vector_pair(NEXT_STEP, 5, options)
    same(ours.reset(seed=9), theirs.reset(seed=9))
    assert compare(ours, theirs, amount(90, no_jit=20), random.Random(4))["end"] > amount(4, no_jit=-1)


@pytest.mark.parametrize("kind", TABLE_AGENTS)
def test_table_agents_play_what_they_play_outside(kind: str, amount: Amount) -> None:
    opponents = table_agents(kind)
    if isinstance(opponents, list):
        choose = [uniform, by_tables(opponents[1]), highest]
    else:
        agent = make_agent(opponents) if isinstance(opponents, str) else opponents
        choose = [by_tables(agent)] * 3
    env = CallBreakEnv(TIES, opponents, seat=3)
    plain = Plain(3, choose, rules=TIES)
    for seed in range(amount(4, no_jit=1)):
        follow(env, plain, seed)


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
@pytest.mark.parametrize("kind", TABLE_AGENTS)
def test_table_agents_make_the_vector_equal_to_the_singles(
    kind: str, mode: AutoresetMode, amount: Amount
) -> None:
    options = {"opponents": table_agents(kind), "rules": TIES, "seat": None}
    ours, theirs = vector_pair(mode, amount(5, no_jit=2), options)
    same(ours.reset(seed=9), theirs.reset(seed=9))
    assert compare(ours, theirs, amount(60, no_jit=6), random.Random(4))["end"] > amount(3, no_jit=-1)
    same(ours.reset(), theirs.reset())
    compare(ours, theirs, 3, random.Random(4))


class SpyTables:
    """Bids and plays the lowest, keeps what it was asked, and spoils the tables it was given."""

    name = "spy"

    def __init__(self) -> None:
        self.asked: list[tuple[Any, Rules, Any]] = []

    def __deepcopy__(self, memo: Any) -> SpyTables:
        return self

    def reset(self, *_: Any) -> None:
        raise AssertionError

    def act(self, *_: Any) -> int:
        raise AssertionError

    def act_tables(self, tables: Any, rules: Rules, threads: int | None = 1) -> Any:
        self.asked.append((tables.copy(), rules, threads))
        actions = compiled("lowest").act_tables(tables, rules)
        tables["hands"] = 0
        return actions


def test_table_agent_is_asked_once_for_all_tables_where_its_seat_is_to_act() -> None:
    spy = SpyTables()
    env = CallBreakVectorEnv(20, opponents=["uniform", spy, "uniform"], seat=1, deals=2, threads=2)
    twin = CallBreakVectorEnv(20, opponents=["uniform", "lowest", "uniform"], seat=1, deals=2)
    same(env.reset(seed=3), twin.reset(seed=3))
    moves = random.Random(2)
    for step in range(15):
        if step == 5:
            spy.asked.clear()  # cards are played everywhere from here on
        actions = np.array([one_of(mask, moves) for mask in env.action_masks()])
        same(env.step(actions), twin.step(actions))
    # Between two turns of the learner its seat acts once or twice.
    assert 10 <= len(spy.asked) <= 20
    assert sum(len(tables) for tables, _, _ in spy.asked) >= 20 * 9
    for tables, rules, threads in spy.asked:
        assert tables.dtype == TABLE
        assert set(tables["seat"].tolist()) == {3}
        assert (rules, threads) == (Rules(deals=2), 2)


class SaysTables(SaysBatch):
    name = "careless Jim"
    act_batch = None  # type: ignore[assignment]

    def act_tables(self, tables: Any, rules: Rules, threads: int | None = 1) -> Any:
        return self.answer(len(tables)) if callable(self.answer) else self.answer


@pytest.mark.parametrize("kind", [*BAD_BATCHES, *RUBBISH])
@pytest.mark.parametrize("rows", [None, 3])
def test_table_agent_that_answers_wrongly_is_named(kind: str, rows: int | None) -> None:
    opponents = ["uniform", SaysTables((BAD_BATCHES | RUBBISH)[kind]), "uniform"]
    illegal = r"(?s:.*)seat \d cannot" if kind in BAD_BATCHES else ""
    with pytest.raises(CallBreakError, match=rf"opponent 'careless Jim': {illegal}"):
        bid_once(opponents, rows)


def test_what_lacks_something_is_told_what() -> None:
    class Nameless:
        act_tables = None

    with pytest.raises(ValueError, match=r"TableAgents .*: Nameless has no name"):
        CallBreakVectorEnv(1, opponents=Nameless())  # type: ignore[arg-type]
