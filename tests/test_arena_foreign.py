"""Foreign agents in Python: how functions, policies and classes are taken, and what is refused."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arenas import AMPLE, Mine
from callbreak_env import Match
from callbreak_env.arena.foreign import FunctionAgent, PolicyAgent, as_agent, load
from callbreak_env.arena.guard import ask
from callbreak_env.observation import encode
from callbreak_env.policy import make_agent
from callbreak_env.table import View


def reset(agent: Any, seed: int = 1) -> Any:
    agent.reset(0, Match("standard", seed=5).rules, np.random.default_rng(seed))
    return agent


# Functions and policies


def lowest(view: View) -> int:
    return view.legal_actions()[0]


def drawn(view: View, rng: np.random.Generator) -> int:
    return int(rng.choice(view.legal_actions()))


class Drawing:
    def __call__(self, view: View, rng: np.random.Generator) -> int:
        return drawn(view, rng)


@pytest.mark.parametrize(
    "function",
    [
        drawn,
        Drawing(),
        lambda view, generator: int(generator.choice(view.legal_actions())),
        lambda view, *, rng: drawn(view, rng),
        lambda view, warmth=1, rng=None: drawn(view, rng),
    ],
)
def test_functions_that_draw_get_the_generator(function: Callable[..., Any], view: View) -> None:
    agent = reset(FunctionAgent(function, "mine"))
    expected = drawn(view, np.random.default_rng(1))
    assert (agent.name, agent.act(view)) == ("mine", expected)


def test_a_default_is_not_filled_with_the_generator(view: View) -> None:
    def function(view: View, warmth: float = 0.5) -> int:
        return 53 if warmth == 0.5 else 54

    agent = reset(FunctionAgent(function))
    assert (agent.name, agent.act(view)) == ("function", 53)
    assert FunctionAgent(max).act([3, 9]) == 9  # type: ignore[arg-type]  # a builtin tells no signature


@pytest.mark.parametrize(
    "bad", [lambda: 1, lambda a, b, c: 1, lambda rng: 1, lambda view, *, key: 1, 7, None]
)
def test_functions_of_something_else_are_refused(bad: Any) -> None:
    with pytest.raises(ValueError, match=r"must take \(view\) or \(view, rng\)|cannot be called"):
        FunctionAgent(bad)


def test_copies_have_their_own_state(view: View) -> None:
    agent = reset(FunctionAgent(drawn))
    copies = [copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))]
    ours = [agent.act(view) for _ in range(20)]
    for other in copies:
        assert [other.act(view) for _ in range(20)] == ours


def test_a_policy_sees_the_observation_and_the_mask(view: View) -> None:
    seen: list[Any] = []

    def policy(observation: Any, action_mask: Any) -> Any:
        seen.append((observation, action_mask))
        return np.flatnonzero(action_mask)[-1:]

    agent = reset(PolicyAgent(policy))
    assert agent.name == "policy"
    assert (agent.act(view), type(agent.act(view))) == (64, int)
    observation, mask = seen[0]
    assert (observation.shape, observation.dtype, mask.dtype) == ((804,), np.float32, np.int8)
    assert np.array_equal(observation, encode(view))
    assert np.flatnonzero(mask).tolist() == view.legal_actions()
    draw = lambda observation, mask, rng: rng.choice(np.flatnonzero(mask))  # noqa: E731
    assert reset(PolicyAgent(draw)).act(view) == drawn(view, np.random.default_rng(1))
    with pytest.raises(ValueError, match=r"must take \(observation, action_mask\)"):
        PolicyAgent(lowest)


class Predictor:
    """As SB3's models are."""

    def predict(
        self, observation: Any, state: Any = None, deterministic: bool = False, action_masks: Any = None
    ) -> tuple[Any, Any]:
        action = np.flatnonzero(action_masks)[-1 if deterministic else 0]
        return np.array(action), state


def test_a_predictor_is_asked_without_chance(view: View) -> None:
    for policy in (Predictor(), Predictor):
        agent = reset(PolicyAgent(policy))
        assert (agent.name, agent.act(view)) == ("Predictor", 64)

    class Plain:
        def predict(self, observation: Any) -> Any:
            return 1, None

    with pytest.raises(ValueError, match=r"Plain.predict.* must take \(observation, action_masks="):
        PolicyAgent(Plain())


def test_maskable_ppo_plays(view: View) -> None:
    sb3_contrib = pytest.importorskip("sb3_contrib")
    from callbreak_env.integrations.sb3 import CallBreakVecEnv

    model = sb3_contrib.MaskablePPO("MlpPolicy", CallBreakVecEnv(2), n_steps=2, batch_size=2, seed=1)
    agent = reset(PolicyAgent(model, "ppo"))
    first = ask(agent, view, AMPLE)
    assert first.fault is None, first.message
    assert ask(agent, view, AMPLE).action == first.action


# What is an agent


class Batched:
    name = "batched"

    def act_batch(self, observations: Any, action_masks: Any, rng: Any) -> Any:
        return action_masks.argmax(axis=1)


def test_as_agent() -> None:
    mine, batched = Mine(), Batched()
    assert as_agent(mine) is mine
    assert as_agent(batched) is batched
    assert isinstance(as_agent(Mine), Mine)
    compiled = make_agent("uniform")
    assert as_agent(compiled) is compiled
    agent = as_agent(lowest, "low")
    assert isinstance(agent, FunctionAgent)
    assert agent.name == "low"


class NoReset:
    name = "x"

    def act(self, view: View) -> int:
        return 53


class Nameless:
    def act_batch(self, observations: Any, action_masks: Any, rng: Any) -> Any:
        return None


class Demanding(Mine):
    def __init__(self, size: int) -> None:
        pass


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        (NoReset(), "has no reset"),
        (NoReset, "has no reset"),
        (Nameless(), "has no name"),
        (3, "has no name, reset, act"),
        ("uniform", "'uniform' .str. has no name, reset, act"),
        (Demanding, "class Demanding cannot be made without arguments: TypeError: .*size"),
    ],
)
def test_what_is_lacking_is_told(thing: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        as_agent(thing)


# Names of modules and files


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def _clean_imports(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "path", sys.path.copy())
    before = sys.modules.copy()
    yield
    for name in sys.modules.keys() - before.keys():
        if name.startswith(("h_", "bot_")):
            del sys.modules[name]


def test_modules_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load("callbreak_env.policy:make_agent") is make_agent
    write(tmp_path, bot="class Outer:\n    class Bot:\n        pass\n")
    found = load(f"{tmp_path}/bot.py:Outer.Bot")
    assert found.__name__ == "Bot"
    assert load(f"{tmp_path}/bot.py:Outer.Bot") is found  # imported once
    monkeypatch.chdir(tmp_path)
    assert load("bot.py:Outer.Bot") is found
    write(tmp_path, bot="class Outer:\n    Bot = 7\n")
    assert load("bot.py:Outer.Bot") == 7  # but edited since


def test_dataclasses_and_pickles_of_a_file(tmp_path: Path) -> None:
    text = "from __future__ import annotations\nfrom dataclasses import dataclass\n"
    text += "@dataclass\nclass Bot:\n    x: int = 3\n"
    write(tmp_path, bot=text)
    made = load(f"{tmp_path}/bot.py:Bot")()
    assert pickle.loads(pickle.dumps(made)) == made


def test_each_folder_has_its_own_neighbours(tmp_path: Path) -> None:
    """Also where a module of that name is loaded already, from elsewhere."""
    old = write(tmp_path / "old", h_net="WIDTH = 1", bot="from h_net import WIDTH")
    new = write(tmp_path / "new", h_net="WIDTH = 2", bot="import h_net\nWIDTH = h_net.WIDTH")
    for folder, part in ((old, "one"), (new, "two")):
        write(folder / "h_pack", __init__="", **{part: f"PART = '{part}'"})
        write(folder, packed=f"from h_pack.{part} import PART")
    lazy = "def width():\n    import h_late\n    return h_late.WIDTH"
    write(tmp_path / "new", h_late="WIDTH = 3", lazy=lazy)
    assert load(f"{old}/bot.py:WIDTH") == 1
    first = sys.modules["h_net"]
    assert load(f"{new}/bot.py:WIDTH") == 2
    assert sys.modules["h_net"] is first
    assert [load(f"{each}/packed.py:PART") for each in (old, new)] == ["one", "two"]
    assert "h_pack.one" in sys.modules
    assert "h_pack.two" not in sys.modules, "a part of another package"
    assert load(f"{new}/lazy.py:width")() == 3
    assert sys.path[0] != str(new), "only while a file is imported"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("bot.py", r"'bot.py' must be module:attribute or file.py:attribute"),
        ("bot.py:", r"must be module:attribute"),
        ("none.py:Bot", r"cannot read none.py \(.*none.py\): No such file"),
        ("bot.py:Bat", r"bot.py has no 'Bat': it has Bot, other"),
        ("bot.py:Bot.x", r"bot.py has no 'Bot.x'"),
        (
            "h_nowhere:Bot",
            r"there is no module 'h_nowhere'; a file is named by its path, such as h_nowhere.py",
        ),
        ("callbreak_env.h_nowhere:Bot", r"there is no module"),
        ("fails.py:Bot", r"fails.py cannot be imported: RuntimeError: no weights \(line 3 of .*fails.py\)"),
        ("lacks.py:Bot", r"lacks.py cannot be imported: ModuleNotFoundError: No module named 'h_lost'"),
        ("wrong.py:Bot", r"wrong.py cannot be imported: SyntaxError: .*line 1\)"),
        ("exits.py:Bot", r"exits.py cannot be imported: SystemExit: 2"),
    ],
)
def test_what_cannot_be_loaded(
    text: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(
        tmp_path,
        bot="class Bot:\n    pass\nother = _hidden = 1\n",
        fails="def f():\n    x = 1\n    raise RuntimeError('no weights')\nf()\n",
        lacks="import h_lost",
        wrong="def (:",
        exits="raise SystemExit(2)",
    )
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=words):
        load(text)
    assert not [name for name in sys.modules if name.startswith("fails_")], "a half-made module is kept"
