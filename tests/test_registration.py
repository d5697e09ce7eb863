"""The Gymnasium environments by their ids, under Gymnasium's checkers and wrappers."""

from __future__ import annotations

import copy
import json
import pickle
import random
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from gymnasium.wrappers import RecordEpisodeStatistics, TimeLimit
from gymnasium.wrappers.vector import RecordEpisodeStatistics as RecordVectorStatistics

from callbreak_env import IllegalAction, Rules
from callbreak_env.envs.single import CallBreakEnv
from callbreak_env.envs.vector import CallBreakVectorEnv
from callbreak_env.observation import HISTORY_WIDTH, WIDTH
from learners import (
    DEAL_ID,
    FORKS,
    MATCH_ID,
    MIXES,
    NEXT_STEP,
    SAME_STEP,
    TIES,
    Amount,
    one_of,
    played,
    same,
    some,
    vector_pair,
)


def test_ids_are_registered_on_import_and_arguments_pass_through() -> None:
    env = gymnasium.make(MATCH_ID, rules="bhoos", seat=2, reward="win", illegal="raise", dtype="int8")
    inner = env.unwrapped
    assert isinstance(inner, CallBreakEnv)
    _, info = env.reset(seed=1)
    assert (inner.seat, inner.rules, env.observation_space.dtype) == (2, Rules.preset("bhoos"), np.int8)
    with pytest.raises(IllegalAction):
        env.step(int(np.flatnonzero(info["action_mask"] == 0)[0]))
    assert inner.rules.deals == 5
    assert gymnasium.make(DEAL_ID).unwrapped.rules.deals == 1
    assert gymnasium.make(DEAL_ID, rules="bhoos").unwrapped.rules == replace(Rules.preset("bhoos"), deals=1)
    assert gymnasium.make(DEAL_ID, deals=2).unwrapped.rules.deals == 2
    assert gymnasium.make(MATCH_ID, render_mode="ansi").render_mode == "ansi"
    with pytest.raises(ValueError, match="opponents"):
        gymnasium.make(MATCH_ID, opponents=3)
    assert gymnasium.make(MATCH_ID).get_wrapper_attr("action_masks") is not None


FRESH = """
import sys, gymnasium
assert "callbreak_env" not in sys.modules
env = gymnasium.make("callbreak_env:{id}", seat=3)
observation, info = env.reset(seed=5)
assert env.unwrapped.seat == 3 and info["action_mask"].sum() > 0
envs = gymnasium.make_vec("callbreak_env:{id}", 3, vectorization_mode="vector_entry_point")
assert envs.reset(seed=5)[0].shape == (3, 804)
print(type(env.unwrapped).__name__, type(envs.unwrapped).__name__, env.unwrapped.rules.deals)
"""


@pytest.mark.parametrize(("name", "deals"), [(MATCH_ID, 5), (DEAL_ID, 1)])
def test_module_prefix_imports_the_package_in_a_fresh_process(name: str, deals: int) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", FRESH.replace("{id}", name)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout.split()) == (
        0,
        ["CallBreakEnv", "CallBreakVectorEnv", str(deals)],
    ), done.stderr


@pytest.mark.parametrize("options", [{}, {"encoding": "history"}, {"dtype": "int8"}, {"seat": None}])
@pytest.mark.parametrize("name", [MATCH_ID, DEAL_ID])
def test_gymnasium_s_checker_has_nothing_to_say(
    name: str, options: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    check_env(gymnasium.make(name, render_mode="ansi", **options).unwrapped)
    assert capsys.readouterr().err == ""


def test_spaces_hold_what_is_shown(amount: Amount) -> None:
    for mix, options in MIXES.items():
        env = CallBreakEnv(**options)
        low, high = env.observation_space.low, env.observation_space.high
        history, exact = "encoding" in options, "dtype" in options
        assert env.observation_space.shape == ((HISTORY_WIDTH,) if history else (WIDTH,)), mix
        assert env.observation_space.dtype == (np.int16 if history else np.int8 if exact else np.float32), mix
        env.reset(seed=1)
        for result in played(env, amount(40, no_jit=20), random.Random(2)):
            assert env.observation_space.contains(result[0]), mix
            assert ((result[0] >= low) & (result[0] <= high)).all(), mix


def test_sampling_with_the_mask_is_always_legal(amount: Amount) -> None:
    env = CallBreakEnv(seat=None, deals=1, illegal="raise")
    _, info = env.reset(seed=2)
    env.action_space.seed(3)
    for _ in range(amount(3000, no_jit=400)):
        mask = info["action_mask"]
        assert (mask.dtype, mask.shape) == (np.int8, (65,))
        assert set(np.unique(mask)) == {0, 1}
        _, _, terminated, _, info = env.step(env.action_space.sample(mask))
        if terminated:
            _, info = env.reset()
    envs = CallBreakVectorEnv(3, deals=1, illegal="raise", autoreset_mode=SAME_STEP)
    _, info = envs.reset(seed=2)
    envs.action_space.seed(3)
    for _ in range(amount(100, no_jit=40)):
        assert (info["action_mask"].dtype, info["action_mask"].shape) == (np.int8, (3, 65))
        *_, info = envs.step(envs.action_space.sample(tuple(info["action_mask"])))


def test_sampled_rows_are_legal_uniform_and_a_function_of_the_position(amount: Amount) -> None:
    rows = amount(3000, no_jit=600)
    envs, twin = (CallBreakVectorEnv(rows, TIES, illegal="raise", encoding="history") for _ in range(2))
    envs.reset(seed=1)
    twin.reset(seed=1)
    done, places, sizes = np.zeros(rows, np.bool_), Counter[int](), 0
    for _ in range(18):
        masks, actions = envs.action_masks(), envs.sample_actions()
        same(actions, envs.sample_actions())  # asking spends nothing
        same(actions, twin.sample_actions())
        assert (actions.dtype, actions.shape) == (np.int64, (rows,))
        assert masks[np.arange(rows), actions].all()
        assert (actions[done] == 0).all()
        three = np.flatnonzero((masks.sum(axis=1) == 3) & ~done)
        sizes += len(three)
        for row in three:
            places[np.flatnonzero(masks[row]).tolist().index(actions[row])] += 1
        done = envs.step(actions)[2]
        twin.step(actions)
    # Chi-square with two degrees of freedom: 13.8 has a chance of 1 in 1000.
    assert sizes > rows
    assert sum((places[i] - sizes / 3) ** 2 / (sizes / 3) for i in range(3)) < 13.8


def vec_modes() -> dict[str, dict[str, Any]]:
    return {
        "sync": {"vectorization_mode": "sync"},
        "async": {"vectorization_mode": "async"},
        "spawned": {"vectorization_mode": "async", "vector_kwargs": {"context": "spawn"}},
        "own": {"vectorization_mode": "vector_entry_point"},
    }


@FORKS
def test_make_vec_gives_the_same_in_every_mode() -> None:
    seen: dict[str, list[Any]] = {}
    kinds = {
        "sync": SyncVectorEnv,
        "async": AsyncVectorEnv,
        "spawned": AsyncVectorEnv,
        "own": CallBreakVectorEnv,
    }
    for mode, arguments in vec_modes().items():
        envs = gymnasium.make_vec(DEAL_ID, 2, **arguments, rules=TIES, seat=None)
        assert type(envs.unwrapped) is kinds[mode]
        assert envs.num_envs == 2
        seen[mode] = [
            envs.observation_space,
            envs.action_space,
            envs.single_observation_space,
            envs.single_action_space,
            envs.metadata["autoreset_mode"],
        ]
        try:
            moves = random.Random(8)
            seen[mode].append(envs.reset(seed=11))
            for _ in range(40):
                masks = seen[mode][-1][-1]["action_mask"]
                seen[mode].append(envs.step(some(masks, moves, wild=0.02)))
        finally:
            envs.close()
    assert any(result[2].any() for result in seen["sync"][6:])
    for mode in ("async", "spawned", "own"):
        same(seen[mode][:5], seen["sync"][:5], mode)
        same(seen[mode][5:], seen["sync"][5:], mode)


def test_own_vector_env_can_be_configured_through_make_vec() -> None:
    envs = gymnasium.make_vec(
        MATCH_ID, 3, vectorization_mode="vector_entry_point", autoreset_mode="SameStep", threads=1, deals=1
    )
    assert envs.metadata["autoreset_mode"] is SAME_STEP
    assert envs.spec is not None
    assert envs.spec.id == MATCH_ID
    assert "num_envs=3" in repr(envs)
    default = gymnasium.make_vec(MATCH_ID, 2)
    assert isinstance(default.unwrapped, (CallBreakVectorEnv, SyncVectorEnv))


def test_spec_survives_json_and_pickle() -> None:
    env = gymnasium.make(MATCH_ID, rules="bhoos", seat=None, deals=2, opponents=["uniform"] * 3)
    assert env.spec is not None
    again = EnvSpec.from_json(env.spec.to_json())
    json.loads(env.spec.to_json())
    for spec in (again, pickle.loads(pickle.dumps(env.spec)), copy.deepcopy(env.spec)):
        assert spec == env.spec
        same(gymnasium.make(spec).reset(seed=3), env.reset(seed=3))
    assert gymnasium.spec(DEAL_ID).kwargs == {"deals": 1}


def test_time_limit_truncates_and_nothing_else_does() -> None:
    env = TimeLimit(CallBreakEnv(), max_episode_steps=3)
    _, info = env.reset(seed=1)
    flags = []
    for _ in range(3):
        _, _, terminated, truncated, info = env.step(one_of(info["action_mask"], random.Random(1)))
        flags.append((terminated, truncated))
    assert flags == [(False, False), (False, False), (False, True)]
    env = gymnasium.make(MATCH_ID, max_episode_steps=2)
    env.reset(seed=1)
    env.step(int(env.get_wrapper_attr("action_masks")().argmax()))
    assert env.step(int(env.get_wrapper_attr("action_masks")().argmax()))[3] is True


def test_episode_statistics_single_and_vector() -> None:
    env, moves = RecordEpisodeStatistics(CallBreakEnv(deals=2)), random.Random(1)
    _, info = env.reset(seed=1)
    total, length, terminated = 0.0, 0, False
    while not terminated:
        _, reward, terminated, _, info = env.step(one_of(info["action_mask"], moves))
        total, length = total + reward, length + 1
    assert info["episode"]["r"] == pytest.approx(total)
    assert (info["episode"]["l"], length) == (28, 28)
    found: list[list[Any]] = []
    for inner in vector_pair(NEXT_STEP, 3, MIXES["ties"]):
        envs = RecordVectorStatistics(inner)
        _, info = envs.reset(seed=7)
        moves = random.Random(1)
        found.append([])
        for _ in range(50):
            *_, info = envs.step(some(info["action_mask"], moves))
            if "episode" in info:
                for key in ("t", "_t"):
                    info["episode"].pop(key, None)
                found[-1].append((info["episode"], info["_episode"]))
    assert len(found[0]) > 1
    same(*found)


# Many tables, against Gymnasium's SyncVectorEnv of one
