"""Agents by name, small enough for tests, and positions to ask them at."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from callbreak_env import Rules, make_agent
from callbreak_env.engine.loops import play_policy
from callbreak_env.engine.play import start_match
from callbreak_env.engine.policies import LOW_BID, UNIFORM
from callbreak_env.engine.state import BIDDING, NO_DECKS, NONE, OVER, TABLE, rules_record
from callbreak_env.envs.vector import CallBreakVectorEnv
from callbreak_env.policy import TableAgent, agent_names
from callbreak_env.table import View
from callbreak_env.worlds import Worlds
from conftest import JIT
from positions import extra_deal_opening

Tables = npt.NDArray[np.void]

SEARCHES = [name for name in agent_names() if name.startswith(("pimc", "ismcts"))]


def spec(name: str) -> str:
    """A registered agent; a search with so few worlds or passes that it costs nothing."""
    if name.startswith("pimc"):
        return f"{name}:bid=3,play=3" if JIT else f"{name}:bid=1,play=1"
    if name == "neural":
        return f"{name}:play=3" if JIT else f"{name}:play=1"
    if name == "neural_search":
        return f"{name}:bid=3,play=3,draws=2" if JIT else f"{name}:bid=1,play=1,draws=1"
    if name.startswith("ismcts"):
        return f"{name}:iterations=16" if JIT else f"{name}:iterations=3"
    return name


def compiled(text: str) -> TableAgent:
    """A registered agent of compiled code, as all that come with the package are."""
    agent = make_agent(text)
    assert isinstance(agent, TableAgent)
    return agent


def position(rules: Rules, rng: random.Random) -> Tables:
    """A table [1] somewhere in a match, at a bid half the time, by uniform play after low or wild bids."""
    tables = np.zeros(1, TABLE)
    record = rules_record(rules)
    seed, number = rng.randrange(2**63), rng.randrange(1000)
    start_match(tables[0], record[0], NO_DECKS, np.uint64(seed), np.uint64(number), NONE)
    steps = rng.randrange(4) if rng.random() < 0.5 else 4 + rng.randrange(52)
    later = 56 * rng.randrange(rules.deals) if JIT else 0
    play_policy(tables, record, rng.choice([UNIFORM, LOW_BID]), later + steps)
    return tables


def positions(rules: Rules, count: int, seed: int) -> Tables:
    """[count] tables in the middle of their matches, none over; an extra deal's among them, if any can be."""
    rng = random.Random(seed)
    found = [position(rules, rng) for _ in range(count)]
    if rules.tie == "extra_deal" and not rules.partnership and rules.max_bid == 13:
        for tied in ((0, 2), (1, 2, 3)):
            opening, _ = extra_deal_opening(tied, replace(rules, deals=1))
            tables = opening.record_array.copy()
            tables["deal"] = rules.deals
            tables["seed"] = rng.randrange(2**63)
            play_policy(tables, rules_record(rules), LOW_BID, rng.randrange(len(tied) * 14))
            found.append(tables)
    tables = np.concatenate(found)
    assert not (tables["phase"] == OVER).any()
    return tables


def seats(tables: Tables) -> list[int]:
    return [int(seat) for seat in tables["seat"]]


def other_worlds(tables: Tables, rules: Rules, seed: int) -> Tables:
    """The same tables with the hidden hands exchanged for others that the seat to act could face."""
    changed = tables.copy()
    for k, seat in enumerate(seats(tables)):
        worlds = Worlds(View(tables[k : k + 1], rules, seat))
        changed["hands"][k] = worlds.sample(1, seed + k)[0]
    return changed


def without_hands(tables: Tables) -> Tables:
    """The same tables with nothing in the hidden hands."""
    changed = tables.copy()
    for k, seat in enumerate(seats(tables)):
        for other in range(4):
            if other != seat:
                changed["hands"][k, other] = 0
    return changed


def asked_by_view(agent: Any, tables: Tables, rules: Rules, key: int) -> npt.NDArray[np.int64]:
    """What the agent does at each table when it is reset there and shown a view."""
    actions = []
    for k, seat in enumerate(seats(tables)):
        agent.reset(seat, rules, np.random.default_rng(key))
        actions.append(agent.act(View(tables[k : k + 1], rules, seat)))
    return np.array(actions)


def keyed_by_view(tables: Tables, key: int) -> Tables:
    """The tables with the key that ``act(view)`` gives them after a reset with ``default_rng(key)``."""
    changed = tables.copy()
    changed["seed"] = np.random.default_rng(key).integers(2**64, dtype=np.uint64)
    changed["match"] = tables["deal"]
    changed["deck"] = tables["redeals"]
    return changed


def legal_at(tables: Tables, rules: Rules, actions: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """[K] bool, whether each action is legal at its table."""
    return np.array(
        [
            int(actions[k]) in View(tables[k : k + 1], rules, seat).legal_actions()
            for k, seat in enumerate(seats(tables))
        ]
    )


def share_bidding(tables: Tables) -> float:
    return float((tables["phase"] == BIDDING).mean())


def played(env: CallBreakVectorEnv, steps: int) -> list[Any]:
    """Observations of learners that do the lowest legal action."""
    _, info = env.reset(seed=4)
    seen = []
    for _ in range(steps):
        observation, reward, _, _, info = env.step(info["action_mask"].argmax(1))
        seen += [observation.tolist(), reward.tolist()]
    return seen
