"""What the tests of the arena share: agents of every kind, and deals played by hand through ``Match``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from callbreak_env import Match, Rules, make_agent
from callbreak_env.arena.results import Results
from callbreak_env.observation import encode
from callbreak_env.table import View

AMPLE, SHORT, LONG = 60.0, 0.3, 30.0
"""Seconds: a limit that no sound agent reaches, one that is to be passed, and how long a bad agent takes."""
BOT = """
import time

class Bot:
    name = "bot"

    def reset(self, seat, rules, rng):
        self.rng = rng

    def act(self, view):
        return int(self.rng.choice(view.legal_actions()))

class Slow(Bot):
    def act(self, view):
        time.sleep(0.001)
        return super().act(view)

def bot(view):
    return view.legal_actions()[0]

def policy(observation, action_mask):
    return int(action_mask.argmax())

class Policy:
    def predict(self, observation, action_masks):
        return action_masks.argmax(), None

class Broken:
    def __init__(self):
        raise ZeroDivisionError("what a pity")
"""
"""The text of a file with agents of a user."""


class Drawer:
    """Any legal action, drawn; fails if it is asked before its reset, or for another seat."""

    name = "drawer"

    def __init__(self) -> None:
        self.seat = -1

    def reset(self, seat: int, rules: Rules, rng: np.random.Generator) -> None:
        self.seat, self.rules, self.rng = seat, rules, rng

    def act(self, view: View) -> int:
        assert view.viewer == self.seat == view.seat
        assert view.rules == self.rules
        assert view.rules_array["deals"][0] == self.rules.deals
        assert view.deal == 0
        assert view.totals == [0] * 4
        return int(self.rng.choice(view.legal_actions()))


class Last:
    """The last legal action of each row, without drawing; keeps how many rows it was asked for at a time."""

    name = "last"

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def act_batch(self, observations: Any, masks: Any, rng: np.random.Generator) -> Any:
        self.sizes.append(len(masks))
        return 64 - masks[:, ::-1].argmax(axis=1)


class BatchDrawer:
    """Any legal action of each row, drawn."""

    name = "batch_drawer"

    def act_batch(self, observations: Any, masks: Any, rng: np.random.Generator) -> Any:
        assert observations.dtype == np.float32
        return np.array([rng.choice(np.flatnonzero(mask)) for mask in masks])


class Mine:
    name = "mine"

    def reset(self, seat: int, rules: Any, rng: Any) -> None:
        pass

    def act(self, view: View) -> int:
        return 53


def lowest_of(view: View) -> int:
    """What is played in place of a fault, in plain Python."""
    legal = view.legal_actions()
    return min(legal, key=lambda action: (action % 13, action // 13)) if legal[0] < 52 else legal[0]


def by_hand(rules: Rules | str, seed: int, deal: int, agents: Sequence[Any]) -> list[list[int]]:
    """Points, bids and tricks of one deal, each by seat, played through ``Match`` by four agents.

    An agent is the name of a compiled one, or a fresh object.
    """
    match = Match(rules, seed=seed, number=deal)
    rngs = [np.random.default_rng([seed, deal, seat]) for seat in range(4)]
    agents = [make_agent(agent) if isinstance(agent, str) else agent for agent in agents]
    for seat, agent in enumerate(agents):
        if hasattr(agent, "act") and not hasattr(agent, "act_tables"):
            agent.reset(seat, match.rules, rngs[seat])
    while match.deal == 0 and not match.is_over:
        seat, agent = match.seat, agents[match.seat or 0]
        if hasattr(agent, "act_tables"):
            action = agent.act_tables(match.record_array, match.rules)[0]
        elif hasattr(agent, "act_batch"):
            seen, mask = encode(match, seat), match.legal_mask()
            action = agent.act_batch(seen[np.newaxis], mask[np.newaxis], rngs[seat])[0]
        else:
            action = agent.act(match.view(seat))
        match.apply(int(action))
    played = next(each for each in match.record()["deals"] if each["outcome"] == "played")
    winners = [trick["winner"] for trick in played["tricks"]]
    return [played["points"], played["bids"], [winners.count(seat) for seat in range(4)]]


def same(one: Results, other: Results) -> bool:
    """Whether two results are alike in all but the time that agents took."""
    names = ("deals", "points", "bids", "tricks", "faults", "decisions")
    return (
        (one.rules, one.seed, one.schedule.names) == (other.rules, other.seed, other.schedule.names)
        and np.array_equal(one.schedule.seatings, other.schedule.seatings)
        and np.array_equal(one.schedule.tables, other.schedule.tables)
        and all(getattr(one, name).dtype == getattr(other, name).dtype for name in names)
        and all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)
    )
