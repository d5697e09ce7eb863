"""What the Gymnasium environments refuse, and in which words."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from callbreak_env.agents.compiled import CompiledAgent
from callbreak_env.envs.single import CallBreakEnv
from callbreak_env.envs.vector import CallBreakVectorEnv
from callbreak_env.errors import NotResetError
from learners import same

BAD_ARGUMENTS: list[tuple[dict[str, Any], str]] = [
    ({"rules": "x"}, "no preset 'x'"),
    ({"rules": 3}, "rules"),
    ({"deals": 0}, "deals"),
    ({"deals": 1.5}, "deals"),
    ({"deals": "1"}, "deals"),
    ({"opponents": "nobody"}, "nobody"),
    ({"opponents": 5}, "opponents"),
    ({"opponents": None}, "opponents"),
    ({"opponents": []}, "opponents"),
    ({"opponents": ["uniform"] * 2}, "opponents"),
    ({"opponents": ["uniform"] * 4}, "opponents"),
    ({"opponents": ["uniform", "uniform", 3]}, "opponent"),
    ({"opponents": ["uniform", "uniform", object()]}, "opponent"),
    ({"opponents": {"a": "uniform"}}, "opponents"),
    ({"seat": 4}, "seat"),
    ({"seat": -1}, "seat"),
    ({"seat": True}, "seat"),
    ({"seat": "0"}, "seat"),
    ({"reward": "score"}, "reward"),
    ({"reward": None}, "reward"),
    ({"illegal": "ignore"}, "illegal"),
    ({"illegal": None}, "illegal"),
    ({"encoding": "image"}, "encoding"),
    ({"encoding": 3}, "encoding"),
    ({"dtype": "int16"}, "dtype"),
    ({"dtype": None}, "dtype"),
    ({"dtype": "int8", "encoding": "history"}, "dtype"),
    ({"render_mode": "rgb_array"}, "render_mode"),
]
BAD_VECTOR_ARGUMENTS: list[tuple[dict[str, Any], str]] = [
    ({"num_envs": 0}, "num_envs"),
    ({"num_envs": -1}, "num_envs"),
    ({"num_envs": 2.0}, "num_envs"),
    ({"num_envs": True}, "num_envs"),
    ({"num_envs": None}, "num_envs"),
    ({"threads": 0}, "threads"),
    ({"threads": 1.5}, "threads"),
    ({"autoreset_mode": "sometimes"}, "autoreset_mode=.*: choose one of"),
    ({"autoreset_mode": None}, "autoreset_mode=.*: choose one of"),
]


@pytest.mark.parametrize(("arguments", "words"), BAD_ARGUMENTS)
def test_bad_arguments_are_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        CallBreakEnv(**arguments)
    with pytest.raises(ValueError, match=words):
        CallBreakVectorEnv(3, **arguments)


@pytest.mark.parametrize(("arguments", "words"), BAD_VECTOR_ARGUMENTS)
def test_bad_vector_arguments_are_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        CallBreakVectorEnv(**arguments)


def test_class_in_place_of_an_agent_is_refused() -> None:
    with pytest.raises(ValueError, match="opponent"):
        CallBreakEnv(opponents=CompiledAgent).reset(seed=1)  # type: ignore[arg-type]


def test_single_and_vector_take_the_same_arguments() -> None:
    single = inspect.signature(CallBreakEnv).parameters
    vector = inspect.signature(CallBreakVectorEnv).parameters
    for name, parameter in single.items():
        assert vector[name] == parameter
    assert list(vector) == ["num_envs", *single, "autoreset_mode", "threads", "copy"]


@pytest.mark.parametrize("illegal", ["penalty", "raise"])
def test_actions_that_do_not_fit_are_refused_and_step_nothing(illegal: str) -> None:
    envs = CallBreakVectorEnv(3, illegal=illegal)
    envs.reset(seed=1)
    before = pickle.dumps(envs)
    good = envs.action_masks().argmax(axis=1)
    for wrong in (
        None,
        52,
        [],
        "52",
        [52, 52],
        [52] * 4,
        [[52]] * 3,
        [52.0] * 3,
        [True] * 3,
        [2**70] * 3,
        [None] * 3,
        good[:, None],
        good.astype(object),
        good.astype(np.float32),
        good.astype(np.complex64),
    ):
        with pytest.raises(ValueError, match="actions must be"):
            envs.step(wrong)
    assert pickle.dumps(envs) == before
    twin = pickle.loads(before)
    for right in (good.tolist(), good.astype(np.uint8), good.astype(np.int32), good[::-1][::-1]):
        same(pickle.loads(before).step(right), twin.step(good))
        twin = pickle.loads(before)


def test_several_illegal_rows_are_one_error_that_names_the_first() -> None:
    envs = CallBreakVectorEnv(10, illegal="raise")
    envs.reset(seed=1)
    good = envs.action_masks().argmax(axis=1)
    before = envs._core.tables.tobytes()
    for rows, words in (
        ([4], "1 of 10 actions is"),
        ([2, 5], "2 of 10 actions are"),
        ([9, 1, 3, 0, 8], "5 of 10"),
    ):
        actions = good.copy()
        actions[rows] = [7, -1, 65, 2**40, 51][: len(rows)]
        with pytest.raises(ValueError, match=words) as caught:
            envs.step(actions)
        lines = str(caught.value).splitlines()
        assert "nothing was stepped" in lines[0]
        named = sorted(rows)[:3]
        assert [line.split(":")[0] for line in lines[1 : 1 + len(named)]] == [f"row {row}" for row in named]
        assert ("... and 2 more" in lines) == (len(rows) == 5)
        assert envs._core.tables.tobytes() == before
    twin = CallBreakVectorEnv(10)
    twin.reset(seed=1)
    same(envs.step(good), twin.step(good))


BAD_SEEDS = [-1, 2**63, 1.5, "1", True, b"1"]


@pytest.mark.parametrize("seed", [*BAD_SEEDS, [1, 2, 3]])
def test_bad_seeds_are_refused_and_nothing_changes(seed: Any) -> None:
    env = CallBreakEnv()
    env.reset(seed=1)
    before = pickle.dumps(env)
    with pytest.raises(ValueError, match="seed"):
        env.reset(seed=seed)
    assert pickle.dumps(env) == before


@pytest.mark.parametrize(
    "seed",
    [*BAD_SEEDS, 2**63 - 2, [1, 2], [1] * 4, [1, 2, -1], [1, None, 2**63], [1, 2, "3"], [1, 2, 3.0], []],
)
def test_bad_vector_seeds_are_refused_and_nothing_changes(seed: Any) -> None:
    envs = CallBreakVectorEnv(3)
    envs.reset(seed=1)
    before = pickle.dumps(envs)
    with pytest.raises(ValueError, match="seed"):
        envs.reset(seed=seed)
    assert pickle.dumps(envs) == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dealer": 4}, "dealer"),
        ({"dealer": "0"}, "dealer"),
        ({"decks": [[1, 2]]}, "decks"),
        ({"decks": 3}, "decks"),
        ({"dealer": 1, "decks": [[*range(51), 50]]}, "decks"),
        (["dealer"], "options"),
        (3, "options"),
    ],
)
def test_bad_options_are_refused_and_nothing_changes(options: Any, words: str) -> None:
    env = CallBreakEnv()
    env.reset(seed=1)
    before = pickle.dumps(env)
    for seed in (None, 4):
        with pytest.raises(ValueError, match=words):
            env.reset(seed=seed, options=options)
        assert pickle.dumps(env) == before


def test_unknown_option_warns_once() -> None:
    env = CallBreakEnv()
    with pytest.warns(UserWarning, match="reset option 'colour' is unknown"):
        env.reset(seed=1, options={"colour": 1})
    env.reset(seed=1, options={"colour": 1})


@pytest.mark.parametrize(
    "options",
    [
        {"dealer": 1},
        {"reset_mask": np.array([True, False])},
        {"reset_mask": np.zeros(3, np.bool_)},
        {"reset_mask": np.ones(3, np.int8)},
        {"reset_mask": [1, 0, 1]},
        {"reset_mask": True},
        {"reset_mask": np.ones((3, 1), np.bool_)},
        {"reset_mask": np.ones(3, np.bool_), "dealer": 1},
    ],
)
def test_bad_vector_options_are_refused_and_nothing_changes(options: Any) -> None:
    envs = CallBreakVectorEnv(3)
    envs.reset(seed=1)
    before = pickle.dumps(envs)
    for seed in (None, 4):
        with pytest.raises(ValueError, match="reset_mask"):
            envs.reset(seed=seed, options=dict(options))
        assert pickle.dumps(envs) == before


@pytest.mark.parametrize("options", [3, ["reset_mask"]])
def test_vector_options_that_are_no_mapping_are_refused(options: Any) -> None:
    with pytest.raises(ValueError, match="options"):
        CallBreakVectorEnv(3).reset(seed=1, options=options)


def test_options_of_the_caller_stay_as_they_are() -> None:
    envs = CallBreakVectorEnv(2)
    envs.reset(seed=1)
    options = {"reset_mask": np.array([True, False])}
    envs.reset(options=options)
    assert list(options) == ["reset_mask"]


def test_stepping_before_reset_is_refused() -> None:
    with pytest.raises(NotResetError, match="reset"):
        CallBreakEnv().step(52)
    for mode in AutoresetMode:
        envs = CallBreakVectorEnv(2, autoreset_mode=mode)
        with pytest.raises(NotResetError, match="reset"):
            envs.step([52, 52])
        envs.reset(seed=1, options={"reset_mask": np.array([False, True])})
        with pytest.raises(NotResetError, match="reset"):
            envs.step([52, 52])
        envs.reset(options={"reset_mask": np.array([True, False])})
        envs.step(envs.action_masks().argmax(axis=1))


@pytest.mark.parametrize("name", ["action_masks", "view", "render"])
@pytest.mark.parametrize("rows", [None, 2])
def test_looking_before_reset_is_refused(name: str, rows: int | None) -> None:
    env: Any = (
        CallBreakEnv(render_mode="ansi") if rows is None else CallBreakVectorEnv(rows, render_mode="ansi")
    )
    arguments = [0] if rows and name == "view" else []
    with pytest.raises(NotResetError, match="reset"):
        getattr(env, name)(*arguments)


def test_rows_of_view_are_checked() -> None:
    envs = CallBreakVectorEnv(2)
    envs.reset(seed=1)
    assert envs.view(1).viewer == 0
    for row in (-1, 2, 1.0, "0", None, True):
        with pytest.raises(ValueError, match="row"):
            envs.view(row)


# Rendering
