"""What self-play refuses, and in which words."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from callbreak_env import IllegalAction
from callbreak_env.envs.selfplay import SelfPlayEnv
from callbreak_env.errors import NotResetError
from callbreak_env.observation import WIDTH
from selfplays import Tables, contents, told


def refused_rows(env: SelfPlayEnv, actions: Any) -> str:
    """The message for illegal actions; nothing has changed, neither the tables nor a buffer."""
    out = env.allocate()
    for array in out:
        array[...] = 1
    before = contents(env.tables), env.sample_actions().tobytes(), told(out)
    with pytest.raises(ValueError, match="nothing was stepped") as caught:
        env.step(actions, out=out)
    assert (contents(env.tables), env.sample_actions().tobytes(), told(out)) == before
    return str(caught.value)


@pytest.mark.parametrize(
    "actions",
    [
        [1.0, 2.0, 3.0],
        np.full(3, 53, np.float32),
        [True, False, True],
        np.ones(3, np.bool_),
        np.array([53, 53, 53], object),
        [53, None, 53],
        ["53", "53", "53"],
        [b"5", b"5", b"5"],
        [53j, 53, 53],
        [2**64, 53, 53],
        [2**63, -1, 53],
        np.array([53, 53, 53], "m8[s]"),
        None,
        "53",
        {53: 1},
    ],
    ids=repr,
)
def test_actions_that_are_no_whole_numbers_are_refused(actions: Any) -> None:
    env = SelfPlayEnv(3)
    env.reset(seed=1)
    before = contents(env.tables)
    with pytest.raises(ValueError, match="actions must be whole numbers, not"):
        env.step(actions)
    assert contents(env.tables) == before


@pytest.mark.parametrize("shape", [(), (2,), (4,), (0,), (3, 1), (1, 3)])
def test_actions_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    env = SelfPlayEnv(3)
    env.reset(seed=1)
    before = contents(env.tables)
    with pytest.raises(ValueError, match=r"actions must be one a row, of shape \(3,\), not \("):
        env.step(np.full(shape, 53))
    with pytest.raises(ValueError, match=r"inhomogeneous|actions"):
        env.step([[53], [53, 53], 53])
    assert contents(env.tables) == before


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i8", ">i4"])
def test_actions_of_any_kind_of_whole_number(dtype: str) -> None:
    env, other = SelfPlayEnv(3, encoding=None), SelfPlayEnv(3, encoding=None)
    env.reset(seed=1)
    other.reset(seed=1)
    for _ in range(60):
        actions = env.sample_actions()
        assert told(env.step(actions.astype(dtype))) == told(other.step(actions.tolist()))
    assert contents(env.tables) == contents(other.tables)


def test_actions_of_any_layout() -> None:
    """Every other slot of a buffer, read-only, a tuple."""
    env, other = SelfPlayEnv(3, encoding=None), SelfPlayEnv(3, encoding=None)
    env.reset(seed=1)
    other.reset(seed=1)
    for t in range(30):
        actions = env.sample_actions()
        other.step(actions)
        fixed = actions.copy()
        fixed.flags.writeable = False
        env.step((np.repeat(actions, 2)[::2], fixed, tuple(actions.tolist()))[t % 3])
        assert contents(env.tables) == contents(other.tables)


LEAST = [-(2**63), -(2**63) + 50]
HUGE = [-(2**62), 2**62, 2**63 - 1, -(2**63) + 60]


@pytest.mark.parametrize(
    ("phase", "action"),
    [
        *itertools.product(["bidding", "playing"], [-1, -52, 65, 115, 116, 127, 2**31, 2**32 + 53, *HUGE]),
        *itertools.product(["bidding", "playing"], LEAST),
    ],
)
def test_no_such_action(phase: str, action: int) -> None:
    env = SelfPlayEnv(3)
    env.reset(seed=1)
    for _ in range(0 if phase == "bidding" else 6):
        env.step(env.sample_actions())
    actions = env.sample_actions()
    actions[1] = action
    message = refused_rows(env, actions)
    assert message.startswith("1 of 3 actions is illegal, nothing was stepped\nrow 1: seat ")
    assert f"cannot take action {action}: action ids are 0 to 64; legal " in message


@pytest.mark.parametrize(
    "action",
    [2**64 - 1, 2**64 - 52, 2**63 + 53, 2**63 - 1, 2**63],
)
def test_no_such_unsigned_action(action: int) -> None:
    """None that a wrap to 64 signed bits would make legal."""
    env = SelfPlayEnv(3)
    env.reset(seed=1)
    actions = env.sample_actions().astype(np.uint64)
    actions[2] = action
    assert "1 of 3 actions is illegal, nothing was stepped\nrow 2: seat" in refused_rows(env, actions)


@pytest.mark.parametrize("wrong", [[4], [0, 9], [1, 2, 3], [0, 3, 5, 9], list(range(10))])
def test_illegal_rows_are_named(wrong: list[int], amount: Callable[..., int]) -> None:
    """The first three, each as the scalar game refuses it, and how many more."""
    env = SelfPlayEnv(10, "single_deal")
    tables, rng = Tables(env, 6), random.Random(6)
    env.reset(seed=6)
    for _ in range(amount(57, no_jit=20)):
        good = tables.choose(rng)
        actions, told_of = good.copy(), []
        for row in wrong:
            match = tables.matches[row]
            actions[row] = rng.choice([a for a in range(65) if not match.legal_mask()[a]])
            with pytest.raises(IllegalAction) as caught:
                match.apply(actions[row])
            told_of.append(f"row {row}: {caught.value}")
        verb = "is" if len(wrong) == 1 else "are"
        lines = [f"{len(wrong)} of 10 actions {verb} illegal, nothing was stepped", *told_of[:3]]
        if len(wrong) > 3:
            lines.append(f"... and {len(wrong) - 3} more")
        assert refused_rows(env, np.array(actions)) == "\n".join(lines)
        tables.check_step(good, env.step(good))


@pytest.mark.usefixtures("few_rows_a_thread")
def test_an_illegal_row_in_any_share_stops_all() -> None:
    env = SelfPlayEnv(16, threads=4)
    env.reset(seed=1)
    good = env.sample_actions()
    for row in range(16):
        actions = good.copy()
        actions[row] = 0
        assert f"row {row}: seat" in refused_rows(env, actions)
    env.step(good)


def test_before_the_first_reset() -> None:
    env = SelfPlayEnv(2)
    for call in (
        lambda: env.step([53, 53]),
        lambda: env.step("nonsense"),
        env.sample_actions,
        env.states,
        lambda: env.view(0),
    ):
        with pytest.raises(NotResetError, match=r"reset\(\)"):
            call()
    assert env.num_envs == len(env.tables) == 2
    assert env.single_observation_space.shape == (WIDTH,)
    assert env.allocate(3).seat.shape == (3, 2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"num_envs": 0}, "num_envs must be at least 1"),
        ({"num_envs": -3}, "num_envs must be at least 1"),
        ({"num_envs": 1.0}, "num_envs must be a whole number"),
        ({"num_envs": True}, "num_envs must be a whole number"),
        ({"num_envs": "3"}, "num_envs must be a whole number"),
        ({"num_envs": None}, "num_envs must be a whole number"),
        ({"rules": "nonsense"}, "no preset 'nonsense'"),
        ({"rules": 3}, "rules must be"),
        ({"reward": "Points"}, "reward='Points': choose one of 'points', 'zero_sum', 'win'"),
        ({"reward": None}, "reward=None"),
        ({"encoding": "Flat"}, "no encoding 'Flat'"),
        ({"encoding": 0}, "no encoding 0"),
        ({"encoding": ["flat"]}, "no encoding"),
        ({"dtype": "int16"}, "dtype='int16': choose one of 'float32', 'int8'"),
        ({"dtype": None}, "dtype=None"),
        ({"dtype": np.int8}, "dtype="),
        ({"dtype": "int8", "encoding": "history"}, "dtype='int8' is for encoding='flat' only"),
        ({"dtype": "int8", "encoding": None}, "dtype='int8' is for encoding='flat' only"),
        ({"threads": 0}, "threads must be at least 1"),
        ({"threads": -1}, "threads must be at least 1"),
        ({"threads": 2.0}, "threads must be a whole number"),
        ({"threads": True}, "threads must be a whole number"),
    ],
    ids=repr,
)
def test_bad_arguments_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        SelfPlayEnv(**{"num_envs": 2} | options)


@pytest.mark.parametrize("steps", [0, -1, 1.0, True, "2"])
def test_a_buffer_has_at_least_one_step(steps: Any) -> None:
    with pytest.raises(ValueError, match="steps must be"):
        SelfPlayEnv(2).allocate(steps)


@pytest.mark.parametrize("seed", [-1, 2**63, 1.0, True, "1", [1], np.uint64(2**63), np.float64(3), (0,)])
def test_bad_seeds_are_refused(seed: Any) -> None:
    fresh, env = SelfPlayEnv(2), SelfPlayEnv(2)
    with pytest.raises(ValueError, match="seed must be"):
        fresh.reset(seed=seed)
    with pytest.raises(NotResetError):
        fresh.sample_actions()
    env.reset(seed=1)
    before = contents(env.tables)
    with pytest.raises(ValueError, match="seed must be"):
        env.reset(seed=seed)
    assert contents(env.tables) == before


# --- samples, states, views ---
