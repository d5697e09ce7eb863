"""Learners, opponents and comparisons for the tests of the Gymnasium environments."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from callbreak_env import Match, Rules, callbreak_v0
from callbreak_env.engine.policies import POLICIES, policy_action
from callbreak_env.envs.single import CallBreakEnv
from callbreak_env.envs.vector import CallBreakVectorEnv
from callbreak_env.policy import TableAgent
from callbreak_env.table import View

MATCH_ID, DEAL_ID = "callbreak/CallBreak-v0", "callbreak/CallBreakDeal-v0"
NEXT_STEP, SAME_STEP, DISABLED = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED
TIES = Rules(deals=1, min_bid=4, max_bid=4)
"""Every bid is 4, so that only tricks decide: extra deals of two and of three seats are frequent."""

MIXES: dict[str, dict[str, Any]] = {
    "plain": {"deals": 1},
    "ties": {"rules": TIES, "seat": 2},
    "drawn_bhoos_int8": {"rules": "bhoos", "seat": None, "deals": 2, "dtype": "int8"},
    "history_win": {"rules": TIES, "encoding": "history", "seat": 3, "reward": "win"},
    "partners_zero_sum": {"rules": "partnership", "deals": 1, "seat": 1, "reward": "zero_sum"},
    "no_trump_drawn": {"rules": "no_trump", "deals": 1, "seat": None, "reward": "zero_sum"},
    "redeals": {"rules": Rules(deals=1, min_total_bid=30, misdeal=True), "seat": None, "dtype": "int8"},
    "wins_int8": {"rules": TIES, "reward": "win", "dtype": "int8", "seat": None},
}

FORKS = pytest.mark.filterwarnings(
    # Python 3.12 and later warn of any fork of a process with threads; test_workers.py is about that.
    r"ignore:This process \(pid=\d+\) is multi-threaded:DeprecationWarning"
)
Amount = Callable[..., int]
Choose = Callable[[Match], int]


def same(got: Any, expected: Any, where: str = "") -> None:
    """Equal in type, keys, dtype, shape and content, through dictionaries and arrays of objects."""
    assert type(got) is type(expected), where
    if isinstance(got, dict):
        assert sorted(got) == sorted(expected), where
        for key, value in expected.items():
            same(got[key], value, f"{where}/{key}")
    elif isinstance(got, (tuple, list)):
        assert len(got) == len(expected), where
        for i, (one, other) in enumerate(zip(got, expected, strict=True)):
            same(one, other, f"{where}[{i}]")
    elif isinstance(got, np.ndarray):
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape), where
        if got.dtype == object:
            same(got.tolist(), expected.tolist(), where)
        else:
            assert np.array_equal(got, expected), where
    else:
        assert got == expected, where


def one_of(mask: npt.NDArray[Any], moves: random.Random) -> int:
    return moves.choice(np.flatnonzero(mask).tolist())


def some(masks: npt.NDArray[Any], moves: random.Random, wild: float = 0.0) -> npt.NDArray[np.int64]:
    """A legal action a row, now and then (``wild``) any of the 65."""
    return np.array([moves.randrange(65) if moves.random() < wild else one_of(m, moves) for m in masks])


def played(env: Any, steps: int, moves: random.Random) -> list[Any]:
    """What so many random legal steps give; a finished single environment is reset without a seed."""
    seen = []
    for _ in range(steps):
        masks = env.action_masks()
        if masks.ndim == 1:
            seen.append(env.step(one_of(masks, moves)))
            if seen[-1][2]:
                seen.append(env.reset())
        else:
            seen.append(env.step(some(masks, moves)))
    return seen


def by_policy(name: str) -> Choose:
    """What a compiled policy does, asked outside all environments."""
    return lambda match: int(policy_action(POLICIES[name], match.record_array[0], match.rules_array[0]))


uniform = by_policy("uniform")


def by_tables(agent: TableAgent) -> Choose:
    """What an agent of compiled code does, asked outside all environments."""
    return lambda match: int(agent.act_tables(match.record_array, match.rules)[0])


def lowest(match: Match) -> int:
    return match.legal_actions()[0]


def highest(match: Match) -> int:
    return match.legal_actions()[-1]


class Plain:
    """The learner's environment made of the PettingZoo one, slowly: what is right."""

    def __init__(self, learner: int, opponents: list[Choose], **arguments: Any) -> None:
        self.env = callbreak_v0.raw_env(**arguments)
        self.learner, self.opponents = learner, opponents

    @property
    def match(self) -> Match:
        return self.env.match

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[Any, ...]:
        self.env.reset(seed=seed, options=options)
        return self._until_learner()

    def step(self, action: int) -> tuple[Any, ...]:
        self.env.step(action)
        return self._until_learner()

    def _until_learner(self) -> tuple[Any, ...]:
        """Observation, reward, terminated, truncated, legal actions of the learner at its next turn."""
        env, agent = self.env, f"player_{self.learner}"
        while env.agent_selection != agent:
            k = (env.possible_agents.index(env.agent_selection) - self.learner) % 4 - 1
            done = env.terminations[env.agent_selection]
            env.step(None if done else self.opponents[k](env.match))
        seen, reward, terminated, truncated, info = env.last()
        legal = [0] if terminated else np.flatnonzero(info["action_mask"]).tolist()
        return seen["observation"], reward, terminated, truncated, legal


class Named:
    """Base of the agents below: no memory."""

    name = "named"

    def reset(self, seat: int, rules: Rules, rng: np.random.Generator) -> None:
        pass


class Lowest(Named):
    name = "lowest"

    def act(self, view: View) -> int:
        return view.legal_actions()[0]


class Highest(Named):
    name = "highest"

    def act(self, view: View) -> int:
        return view.legal_actions()[-1]


class Drawing(Named):
    """Draws from the numbers that its match gave it."""

    name = "drawing by itself"

    def reset(self, seat: int, rules: Rules, rng: np.random.Generator) -> None:
        self.rng = rng

    def act(self, view: View) -> int:
        return int(self.rng.choice(view.legal_actions()))


class LowestBatch:
    name = "lowest in a batch"

    def act_batch(self, observations: Any, action_masks: Any, rng: np.random.Generator) -> Any:
        return action_masks.argmax(axis=1)


class HighestBatch:
    name = "highest in a batch"

    def act_batch(self, observations: Any, action_masks: Any, rng: np.random.Generator) -> Any:
        return 64 - action_masks[:, ::-1].argmax(axis=1)


class DrawingBatch:
    name = "drawing"

    def act_batch(self, observations: Any, action_masks: Any, rng: np.random.Generator) -> Any:
        return np.array([rng.choice(np.flatnonzero(mask)) for mask in action_masks])


class Says(Named):
    """Plays well until it is told to say something else."""

    name = "careless Joe"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def act(self, view: View) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class SaysBatch:
    name = "careless Jane"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def act_batch(self, observations: Any, action_masks: Any, rng: np.random.Generator) -> Any:
        return self.answer(len(observations)) if callable(self.answer) else self.answer


BAD_BATCHES = {
    "illegal": lambda k: np.zeros(k, np.int64),
    "no such": lambda k: np.full(k, 99),
    "negative": lambda k: np.full(k, -1),
}
RUBBISH = {
    "floats": lambda k: np.full(k, 52.5),
    "bools": lambda k: np.ones(k, np.bool_),
    "too many": lambda k: np.full(k + 1, 52),
    "a column": lambda k: np.full((k, 1), 52),
    "nothing": None,
    "text": "52",
}


def bid_once(opponents: Any, rows: int | None) -> None:
    env: Any = (
        CallBreakEnv(opponents=opponents) if rows is None else CallBreakVectorEnv(rows, opponents=opponents)
    )
    env.reset(seed=2)
    env.step(env.action_masks().argmax(axis=-1))


# One learner, against the PettingZoo table


def follow(env: CallBreakEnv, plain: Plain, seed: int) -> None:
    """A match in both, by the same random moves of the learner."""
    moves, expected = random.Random(seed), plain.reset(seed=seed)
    observation, info = env.reset(seed=seed)
    terminated = False
    while not terminated:
        same(observation, expected[0])
        action = one_of(info["action_mask"], moves)
        observation, reward, terminated, _, info = env.step(action)
        expected = plain.step(action)
        assert (reward, terminated) == (pytest.approx(expected[1]), expected[2])
    same(observation, expected[0])


def vector_pair(
    mode: AutoresetMode, rows: int, options: dict[str, Any], **more: Any
) -> tuple[CallBreakVectorEnv, SyncVectorEnv]:
    return (
        CallBreakVectorEnv(rows, **options, autoreset_mode=mode, **more),
        SyncVectorEnv([lambda: CallBreakEnv(**options)] * rows, autoreset_mode=mode),
    )


def compare(
    ours: VectorEnv[Any, Any, Any], theirs: VectorEnv[Any, Any, Any], steps: int, moves: random.Random
) -> Counter[str]:
    """Both step by step, from where they stand; what happened on the way."""
    happened: Counter[str] = Counter()
    masks = ours.action_masks()  # type: ignore[attr-defined]
    done = np.zeros(ours.num_envs, np.bool_)
    for step in range(steps):
        actions = some(masks, moves, wild=0.01)
        if ours.metadata["autoreset_mode"] is NEXT_STEP and done.any():
            actions[done] = moves.choice([0, 7, 64, -3, 2**40])  # ignored, whatever it is
        result, expected = ours.step(actions), theirs.step(actions)
        same(result, expected, f"step {step}")
        masks, done = result[4]["action_mask"], result[2]
        happened["end"] += int(done.sum())
        happened["reward"] += int((result[1] != 0).sum())
        told = result[4].get("final_info", {}) | result[4]
        happened["illegal"] += int(told["illegal"].sum()) if "illegal" in told else 0
        happened["both"] += bool("illegal" in told and (done & ~told["illegal"]).any())
    return happened
