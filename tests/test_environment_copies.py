"""Rendering, pickles and deep copies of the Gymnasium environments."""

from __future__ import annotations

import copy
import pickle
import random
from typing import Any

import pytest

from callbreak_env.envs.single import CallBreakEnv
from callbreak_env.envs.vector import CallBreakVectorEnv
from callbreak_env.policy import make_agent
from learners import SAME_STEP, TIES, Drawing, DrawingBatch, Plain, played, same, uniform


def test_rendering_shows_the_learner_s_view(capsys: pytest.CaptureFixture[str]) -> None:
    env, plain = CallBreakEnv(render_mode="ansi", seat=3), Plain(3, [uniform] * 3)
    envs = CallBreakVectorEnv(2, render_mode="ansi", seat=3)
    loud = CallBreakEnv(render_mode="human", seat=3)
    _, info = env.reset(seed=4)
    plain.reset(seed=4)
    envs.reset(seed=4)
    loud.reset(seed=4)
    for _ in range(20):
        picture = env.render()
        assert picture == str(plain.match.view(3)) == str(env.view())
        frames = envs.render()
        assert type(frames) is tuple
        assert (len(frames), frames[0]) == (2, picture)
        assert capsys.readouterr().out.strip() == picture.strip()
        assert loud.render() is None
        assert capsys.readouterr().out.strip() == picture.strip()
        action = int(info["action_mask"].argmax())
        *_, info = env.step(action)
        loud.step(action)
        plain.step(action)
        actions = envs.action_masks().argmax(axis=1)
        assert actions[0] == action
        envs.step(actions)


def test_rendering_spends_no_randomness_and_warns_without_a_mode(capsys: pytest.CaptureFixture[str]) -> None:
    env, twin = CallBreakEnv(), CallBreakEnv(render_mode="ansi", opponents=make_agent("uniform"))
    env.reset(seed=1)
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None
    quiet = CallBreakEnv(opponents=make_agent("uniform"))
    quiet.reset(seed=1)
    twin.reset(seed=1)
    for _ in range(20):
        twin.render()
        action = int(quiet.action_masks().argmax())
        same(twin.step(action), quiet.step(action))
    envs = CallBreakVectorEnv(2, render_mode="human")
    envs.reset(seed=1)
    capsys.readouterr()
    assert envs.render() == (None, None)
    assert capsys.readouterr().out.count("Deal 1 of 5") == 2
    for kind in (CallBreakEnv, lambda **o: CallBreakVectorEnv(2, **o)):
        assert kind(render_mode="ansi").metadata["render_modes"] == ["human", "ansi"]


# Copies


SINGLE_KINDS: dict[str, dict[str, Any]] = {
    "plain": {"deals": 1},
    "drawn": {"rules": TIES, "seat": None, "dtype": "int8"},
    "agents": {"opponents": [Drawing(), DrawingBatch(), make_agent("uniform")], "deals": 1},
}
VECTOR_KINDS: dict[str, dict[str, Any]] = {
    "next_step": {"rules": TIES, "seat": None},
    "same_step": {"rules": TIES, "autoreset_mode": SAME_STEP, "dtype": "int8"},
    "batched": {"opponents": DrawingBatch(), "deals": 1, "encoding": "history"},
    "no_copy": {"deals": 1, "copy": False},
}
COPIES = {"pickle": lambda env: pickle.loads(pickle.dumps(env)), "deepcopy": copy.deepcopy}


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("kind", [*SINGLE_KINDS, *VECTOR_KINDS])
def test_copy_in_mid_play_has_an_equal_future_of_its_own(kind: str, how: str) -> None:
    env: Any = (
        CallBreakEnv(**copy.deepcopy(SINGLE_KINDS[kind]))
        if kind in SINGLE_KINDS
        else CallBreakVectorEnv(4, **copy.deepcopy(VECTOR_KINDS[kind]))
    )
    COPIES[how](env)  # before the first reset, too
    env.reset(seed=12)
    played(env, 9, random.Random(1))
    branch, other = COPIES[how](env), COPIES[how](env)
    same(branch.action_masks(), env.action_masks())
    played(other, 5, random.Random(7))  # another line does not disturb these two
    moves, again = random.Random(2), random.Random(2)
    for _ in range(50):
        same(played(branch, 1, moves), played(env, 1, again))
    same(branch.reset(), env.reset())
    same(branch.reset(seed=3), env.reset(seed=3))
    if kind != "next_step":
        return
    fresh = COPIES[how](CallBreakVectorEnv(4))
    same(fresh.reset(seed=1), CallBreakVectorEnv(4).reset(seed=1))


@pytest.mark.parametrize("rows", [None, 3])
def test_unseeded_copy_draws_the_same_next_match(rows: int | None) -> None:
    env: Any = CallBreakEnv() if rows is None else CallBreakVectorEnv(rows)
    env.reset()
    twin = copy.deepcopy(env)
    same(env.reset(), twin.reset())
    assert env.np_random.random() == twin.np_random.random()
