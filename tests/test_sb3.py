"""Stable-Baselines3: our ``VecEnv`` against SB3's own, and MaskablePPO on it."""

from __future__ import annotations

import copy
import functools
import pickle
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("sb3_contrib")

import torch
from gymnasium.wrappers import TimeLimit
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import (
    DummyVecEnv,
    SubprocVecEnv,
    VecEnv,
    VecMonitor,
    VecNormalize,
    is_vecenv_wrapped,
    unwrap_vec_wrapper,
)

from callbreak_env import IllegalAction, Rules
from callbreak_env.envs.single import CallBreakEnv
from callbreak_env.envs.vector import CallBreakVectorEnv
from callbreak_env.errors import NotResetError
from callbreak_env.integrations.sb3 import CallBreakVecEnv
from callbreak_env.observation import WIDTH
from learners import same

TIES = Rules(deals=1, min_bid=4, max_bid=4)
MIXES: dict[str, dict[str, Any]] = {
    "plain": {"deals": 1},
    "ties": {"rules": TIES, "seat": 2, "reward": "win"},
    "drawn_int8": {"rules": "bhoos", "seat": None, "deals": 1, "dtype": "int8"},
    "history": {"rules": "partnership", "deals": 1, "encoding": "history", "reward": "zero_sum"},
}
TINY = {
    "policy": "MlpPolicy",
    "policy_kwargs": {"net_arch": [8]},
    "n_steps": 32,
    "batch_size": 64,
    "n_epochs": 1,
    "gamma": 1.0,
    "seed": 1,
    "device": "cpu",
}

FORKS = pytest.mark.filterwarnings(
    # Python 3.12 and later warn of any fork of a process with threads; test_workers.py is about that.
    r"ignore:This process \(pid=\d+\) is multi-threaded:DeprecationWarning"
)
Amount = Callable[..., int]
pytestmark = pytest.mark.usefixtures("one_torch_thread")


def dummy(rows: int, options: dict[str, Any]) -> DummyVecEnv:
    return DummyVecEnv([functools.partial(CallBreakEnv, **options)] * rows)


def some(env: VecEnv, moves: random.Random, wild: float = 0.0) -> Any:
    """A legal action a row, now and then any of the 65."""
    return np.array(
        [
            moves.randrange(65) if moves.random() < wild else moves.choice(np.flatnonzero(mask).tolist())
            for mask in get_action_masks(env)
        ]
    )


def compare(
    ours: VecEnv, theirs: VecEnv, steps: int, moves: random.Random, wild: float = 0.01
) -> Counter[str]:
    """Both step by step from where they stand; what happened."""
    happened: Counter[str] = Counter()
    for step in range(steps):
        actions = some(ours, moves, wild)
        result, expected = ours.step(actions), theirs.step(actions)
        same(result, expected, f"step {step}")
        same(ours.reset_infos, theirs.reset_infos, f"reset infos {step}")
        same(ours.env_method("action_masks"), theirs.env_method("action_masks"), f"masks {step}")
        happened["end"] += int(result[2].sum())
        happened["illegal"] += sum("illegal" in info for info in result[3])
        happened["reward"] += int((result[1] != 0).sum())
        assert all(
            "terminal_observation" in info for info, done in zip(result[3], result[2], strict=True) if done
        )
        assert not any(info["TimeLimit.truncated"] for info in result[3])
    return happened


# Against SB3's own


@pytest.mark.parametrize("options", MIXES.values(), ids=MIXES)
def test_single_environment_passes_sb3_s_checker(options: dict[str, Any]) -> None:
    check_env(CallBreakEnv(**options, render_mode="ansi"))


@pytest.mark.parametrize("mix", MIXES)
def test_vec_env_is_equal_to_dummy_vec_env(mix: str, amount: Amount) -> None:
    ours, theirs = CallBreakVecEnv(4, **MIXES[mix]), dummy(4, MIXES[mix])
    assert (ours.observation_space, ours.action_space) == (theirs.observation_space, theirs.action_space)
    assert (ours.num_envs, ours.render_mode) == (theirs.num_envs, theirs.render_mode)
    moves, happened = random.Random(mix), Counter[str]()
    for seed in (0, None, 3, None, 2**63 - 4):
        if seed is not None:
            assert ours.seed(seed) == theirs.seed(seed) == [seed + row for row in range(4)]
        same(ours.reset(), theirs.reset(), f"seed {seed}")  # a seed is used once, then the stream goes on
        same(ours.reset_infos, theirs.reset_infos)
        happened += compare(ours, theirs, amount(80, nightly=1000, no_jit=50), moves)
    assert happened["end"] > 20
    assert happened["illegal"] > 2
    assert happened["reward"] > happened["illegal"]


def test_unseeded_tables_are_all_different() -> None:
    first, second = CallBreakVecEnv(3).reset(), CallBreakVecEnv(3).reset()
    assert len({row.tobytes() for row in (*first, *second)}) == 6


def test_what_was_returned_is_never_overwritten() -> None:
    env, moves, kept = CallBreakVecEnv(4, rules=TIES), random.Random(1), []
    env.seed(2)
    observations = env.reset()
    kept.append((observations, observations.copy()))
    ends = 0
    for _ in range(60):
        observations, rewards, dones, infos = env.step(some(env, moves))
        arrays = [observations, rewards, dones, *get_action_masks(env)]
        for info in [*infos, *env.reset_infos]:
            arrays += [value for value in info.values() if isinstance(value, np.ndarray)]
            ends += "terminal_observation" in info
        kept += [(array, array.copy()) for array in arrays]
    assert ends > 4
    for array, before in kept:
        assert np.array_equal(array, before)


@pytest.mark.parametrize("make", [CallBreakVecEnv, lambda n, **o: dummy(n, o)], ids=["ours", "dummy"])
def test_vec_monitor_and_vec_normalize_wrap_it(make: Any, amount: Amount) -> None:
    env = VecMonitor(make(3, deals=1))
    env.seed(5)
    env.reset()
    moves, totals, episodes = random.Random(3), np.zeros(3), 0
    for _ in range(amount(60, no_jit=40)):
        _, rewards, dones, infos = env.step(some(env, moves))
        totals += rewards
        for row in np.flatnonzero(dones):
            assert infos[row]["episode"]["r"] == pytest.approx(totals[row], abs=1e-5)
            assert infos[row]["episode"]["l"] == 14
            totals[row] = 0
            episodes += 1
    assert episodes >= 6
    normal = VecNormalize(env, gamma=1.0)
    observations = normal.reset()
    assert observations.shape == (3, 804)
    for _ in range(20):
        observations, *_ = normal.step(some(normal, moves))
        assert np.isfinite(observations).all()
    assert normal.get_original_obs().dtype == np.float32
    assert unwrap_vec_wrapper(normal, VecMonitor) is env
    assert is_vecenv_wrapped(normal, VecNormalize)


def test_both_vec_normalize_are_equal() -> None:
    envs = [VecNormalize(make) for make in (CallBreakVecEnv(3, rules=TIES), dummy(3, {"rules": TIES}))]
    moves = random.Random(1)
    for env in envs:
        env.seed(4)
    same(envs[0].reset(), envs[1].reset())
    for _ in range(40):
        actions = some(envs[0], moves)
        same(envs[0].step(actions), envs[1].step(actions))


# The rest of the VecEnv interface


def test_methods_and_attributes_by_index() -> None:
    ours, theirs = CallBreakVecEnv(5, deals=2, seat=1), dummy(5, {"deals": 2, "seat": 1})
    for env in (ours, theirs):
        env.seed(1)
        env.reset()
    for indices in (None, 3, [4, 0], (1,), range(2, 5), [2, 2], np.array([1, 3]), []):
        same(
            ours.env_method("action_masks", indices=indices),
            theirs.env_method("action_masks", indices=indices),
        )
        views = ours.env_method("view", indices=indices)
        assert [view.hand for view in views] == [v.hand for v in theirs.env_method("view", indices=indices)]
        assert ours.get_attr("rules", indices) == theirs.get_attr("rules", indices)
        assert ours.env_is_wrapped(Monitor, indices) == theirs.env_is_wrapped(Monitor, indices)
    assert ours.env_is_wrapped(TimeLimit) == [False] * 5
    assert ours.get_attr("render_mode") == [None] * 5
    assert ours.unwrapped is ours
    for name, there in (("action_masks", True), ("rules", True), ("render_mode", True), ("colour", False)):
        assert ours.has_attr(name) is theirs.has_attr(name) is there
    with pytest.raises(AttributeError, match="colour"):
        ours.get_attr("colour")
    with pytest.raises(AttributeError, match="action_masks, view, render"):
        ours.env_method("paint")
    with pytest.raises(ValueError, match="takes no arguments"):
        ours.env_method("action_masks", 3)
    for indices in (None, 0):
        with pytest.raises(AttributeError, match="'reward' cannot be set"):
            ours.set_attr("reward", "win", indices)
    ours.close()


def test_masks_handed_out_are_the_caller_s_own() -> None:
    env = CallBreakVecEnv(2)
    env.seed(1)
    env.reset()
    before = get_action_masks(env)
    for mask in env.env_method("action_masks"):
        mask[...] = 0
    same(get_action_masks(env), before)
    assert (before.dtype, before.shape) == (np.int8, (2, 65))


def test_bad_input_is_refused() -> None:
    for arguments, words in (
        ({"num_envs": 0}, "num_envs"),
        ({"num_envs": 2, "reward": "score"}, "reward"),
        ({"num_envs": 2, "seat": 9}, "seat"),
    ):
        with pytest.raises(ValueError, match=words):
            CallBreakVecEnv(**arguments)
    for options in ({"autoreset_mode": "NextStep"}, {"copy": False}):
        with pytest.raises(ValueError, match=f"{next(iter(options))}: a VecEnv of SB3"):
            CallBreakVecEnv(2, **options)
    env = CallBreakVecEnv(3, illegal="raise")
    with pytest.raises(NotResetError, match="reset"):
        env.step(np.array([52, 52, 52]))
    env.set_options({"dealer": 1})
    with pytest.raises(ValueError, match="options"):
        env.reset()
    env.set_options()
    env.seed(-5)
    with pytest.raises(ValueError, match="seed"):
        env.reset()
    env.seed(1)
    env.reset()
    good = get_action_masks(env).argmax(axis=1)
    twin = copy.deepcopy(env)
    for wrong, words in (
        (good[:2], "shape"),
        (good.astype(float), "whole numbers"),
        (np.where([True, False, True], 0, good), "row 0: (?s:.*)row 2: "),
    ):
        with pytest.raises(ValueError, match=words):
            env.step(wrong)
    same(env.step(good), twin.step(good))


@pytest.mark.parametrize("how", ["pickle", "deepcopy"])
def test_copy_in_mid_play_has_an_equal_future(how: str) -> None:
    env, moves = CallBreakVecEnv(3, rules=TIES, seat=None), random.Random(1)
    env.seed(7)
    env.reset()
    for _ in range(9):
        env.step(some(env, moves))
    twin = copy.deepcopy(env) if how == "deepcopy" else pickle.loads(pickle.dumps(env))
    compare(twin, env, 40, moves)
    same(twin.reset(), env.reset())


def test_rendered_text_is_each_learner_s_view() -> None:
    env = CallBreakVecEnv(2, render_mode="ansi", seat=2)
    env.seed(3)
    env.reset()
    views = env.env_method("view")
    assert [view.viewer for view in views] == [2, 2]
    assert env.env_method("render") == [str(view) for view in views]
    assert env.env_method("render", indices=1) == [str(views[1])]
    assert env.render_mode == "ansi"


def test_human_render_prints_every_table(capsys: pytest.CaptureFixture[str]) -> None:
    env = CallBreakVecEnv(2, render_mode="human")
    env.seed(3)
    env.reset()
    capsys.readouterr()
    env.render()
    assert capsys.readouterr().out.count("Deal 1 of 5") == 2


class Drawing:
    """A batched opponent that draws its actions."""

    name = "drawing"

    def act_batch(self, observations: Any, action_masks: Any, rng: np.random.Generator) -> Any:
        return np.array([rng.choice(np.flatnonzero(mask)) for mask in action_masks])


def test_batched_opponent_that_draws_is_reproducible() -> None:
    options = {"opponents": Drawing(), "deals": 1}
    ours, theirs = CallBreakVecEnv(1, **options), dummy(1, options)
    for env in (ours, theirs):
        env.seed(3)
    same(ours.reset(), theirs.reset())
    assert compare(ours, theirs, 60, random.Random(1), wild=0)["end"] > 2


def test_batched_opponent_that_draws_goes_on_after_a_reset_without_a_seed() -> None:
    options = {"opponents": Drawing(), "deals": 1}
    ours, theirs = CallBreakVecEnv(1, **options), dummy(1, options)
    for env in (ours, theirs):
        env.seed(3)
        env.reset()
    for _ in range(3):
        same(ours.reset(), theirs.reset())
        compare(ours, theirs, 20, random.Random(1), wild=0)


# Learning


@pytest.mark.parametrize("mix", ["plain", "drawn_int8", "history"])
def test_maskable_ppo_trains_without_an_illegal_action(mix: str, tmp_path: Path, amount: Amount) -> None:
    env = VecMonitor(CallBreakVecEnv(8, **MIXES[mix], illegal="raise"))
    assert is_masking_supported(env)
    model = MaskablePPO(env=env, **TINY)
    before = [weights.clone() for weights in model.policy.parameters()]
    model.learn(amount(768, nightly=20000, no_jit=512))
    after = list(model.policy.parameters())
    assert any((one != other).any() for one, other in zip(before, after, strict=True))
    assert all(torch.isfinite(weights).all() for weights in after)
    assert len(model.ep_info_buffer) >= 8

    means, lengths = evaluate_policy(model, env, n_eval_episodes=8, return_episode_rewards=True)
    assert len(means) == len(lengths) == 8
    assert np.isfinite(means).all()
    assert min(lengths) >= 14
    single = Monitor(CallBreakEnv(**MIXES[mix], illegal="raise"))
    evaluate_policy(model, single, n_eval_episodes=2)

    model.save(tmp_path / "model")
    loaded = MaskablePPO.load(tmp_path / "model", env=env, device="cpu")
    env.seed(1)
    observations, masks = env.reset(), get_action_masks(env)
    actions, _ = model.predict(observations, action_masks=masks, deterministic=True)
    same(loaded.predict(observations, action_masks=masks, deterministic=True)[0], actions)
    assert masks[np.arange(8), actions].all()
    loaded.learn(256)


def test_wrong_masks_do_not_go_unnoticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the tests above rely on: an illegal action of the model would have raised."""
    monkeypatch.setattr(
        CallBreakVectorEnv, "action_masks", lambda self: np.ones((self.num_envs, 65), np.int8)
    )
    model = MaskablePPO(env=CallBreakVecEnv(8, deals=1, illegal="raise"), **TINY)
    with pytest.raises(ValueError, match="nothing was stepped"):
        model.learn(256)


def test_masking_is_supported_by_all_forms() -> None:
    for env in (
        CallBreakEnv(),
        CallBreakVecEnv(2),
        dummy(2, {}),
        VecMonitor(CallBreakVecEnv(2)),
        VecNormalize(CallBreakVecEnv(2)),
        Monitor(CallBreakEnv()),
    ):
        assert is_masking_supported(env)


@FORKS
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_subprocesses_are_equal_to_one_process(method: str, amount: Amount) -> None:
    options = {"deals": 1, "rules": TIES, "seat": None}
    env = SubprocVecEnv([functools.partial(CallBreakEnv, **options)] * 2, start_method=method)
    try:
        ours = CallBreakVecEnv(2, **options)
        for one in (env, ours):
            one.seed(6)
        same(ours.reset(), env.reset())
        same(list(ours.reset_infos), list(env.reset_infos))
        moves = random.Random(2)
        for _ in range(40):
            actions = some(env, moves, wild=0.02)
            got, right = ours.step(actions), env.step(actions)
            same(got[0], right[0])
            same(got[1], right[1].astype(np.float32))  # SB3 leaves the workers' floats as they are
            same(got[2], right[2])
            same(list(got[3]), list(right[3]))
        if method == "spawn":
            model = MaskablePPO(env=env, **TINY)
            model.learn(amount(256, nightly=1000, no_jit=128))
            assert is_masking_supported(env)
    finally:
        env.close()


@FORKS
def test_model_in_subprocesses_takes_no_illegal_action() -> None:
    env = SubprocVecEnv([functools.partial(CallBreakEnv, deals=1, illegal="raise")] * 2, start_method="fork")
    try:
        model = MaskablePPO(env=env, **TINY)
        model.learn(128)
    finally:
        env.close()
    alone = CallBreakEnv(illegal="raise")
    alone.reset(seed=1)
    with pytest.raises(IllegalAction):  # what the workers would have raised
        alone.step(0)


@pytest.mark.filterwarnings("ignore:.*rgb_array.*:UserWarning")  # Gymnasium's, of what SB3 asks for first
def test_make_vec_env_makes_it_by_its_id() -> None:
    env = make_vec_env("callbreak/CallBreakDeal-v0", 2, seed=3)
    assert env.reset().shape == (2, WIDTH)
    assert env.env_method("action_masks")[0].sum() == 12
