"""Entrants: whatever a user gives is played as what it is, under its label, in any process."""

from __future__ import annotations

import pickle
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arenas import BOT, BatchDrawer, Drawer, lowest_of
from callbreak_env import Match, Rules, make_agent
from callbreak_env.agents.neural import NeuralAgent, released_weights, save_weights
from callbreak_env.arena.entrants import Entrant, as_entrants
from callbreak_env.arena.foreign import load
from callbreak_env.errors import CallBreakError
from callbreak_env.policy import AGENT_VERSIONS
from networks import network


@pytest.fixture(autouse=True)
def _bots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bot.py").write_text(BOT)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("given", "label", "source"),
    [
        ("low_bid", "low_bid", "low_bid"),
        ("floor=low_bid", "floor", "low_bid"),
        (" floor = low_bid ", "floor", "low_bid"),
        ("pimc_lite:play=3", "pimc_lite:play=3", "pimc_lite:play=3"),
        ("python:bot.py:Bot", "python:bot.py:Bot", "python:bot.py:Bot"),
        ("mine=python:bot.py:bot", "mine", "python:bot.py:bot"),
        ("mine=policy:bot.py:policy", "mine", "policy:bot.py:policy"),
        ("mine=process:bot --level=3", "mine", "process:bot --level=3"),
        ("process:bot --level=3", "process:bot --level=3", "process:bot --level=3"),
        ("mine=process:bot (version 3)", "mine", "process:bot (version 3)"),
        (Drawer(), "drawer", "arenas.Drawer"),
        (Drawer, "drawer", "arenas.Drawer"),
        (BatchDrawer(), "batch_drawer", "arenas.BatchDrawer"),
        (lowest_of, "lowest_of", "arenas.lowest_of"),
    ],
)
def test_labels_and_sources(given: Any, label: str, source: str) -> None:
    for entrant in (Entrant(given), pickle.loads(pickle.dumps(Entrant(given)))):
        assert (entrant.label, entrant.source) == (label, source)
        package = str(given).strip().startswith(("low_bid", "floor", "pimc"))
        assert entrant.version == (AGENT_VERSIONS["low_bid"] if package else None)
    assert Entrant(given, "other").label == "other"


def test_compiled_agents_are_told_apart() -> None:
    for given in ("rule_based", make_agent("rule_based")):
        entrant = Entrant(given)
        assert entrant.record is not None
        assert entrant.record[0] == make_agent("rule_based").record_array[0]  # type: ignore[attr-defined]
        assert entrant.batch is None
    for given in (Drawer(), Drawer, lowest_of, "python:bot.py:Bot"):
        assert (Entrant(given).record, Entrant(given).batch) == (None, None)
    batch = BatchDrawer()
    assert Entrant(batch).batch is batch
    assert Entrant(batch).record is None
    # Objects are told apart in the record by their settings, not by their name alone.
    one, other = make_agent("rule_based"), make_agent("lowest")
    other.name = one.name
    assert Entrant(one).source != Entrant(other).source
    assert Entrant(one).source.startswith("rule_based")


@pytest.mark.parametrize(
    "given", [Drawer(), Drawer, "python:bot.py:Bot", "python:bot.py:bot", "policy:bot.py:policy"]
)
def test_each_seat_has_an_agent_of_its_own(given: Any) -> None:
    entrant = Entrant(given)
    agents = [entrant.new_agent() for _ in range(3)]
    assert len({id(agent) for agent in agents}) == 3
    match = Match(seed=0)
    assert match.seat is not None
    for agent in agents:
        agent.reset(match.seat, match.rules, np.random.default_rng(0))
        assert agent.act(match.view(match.seat)) in match.legal_actions()


@pytest.mark.parametrize("spec", ["python:bot.py:Bot", "policy:bot.py:Policy", "python:bot.py:bot"])
def test_a_class_is_made_anew_for_each_seat(spec: str, tmp_path: Path) -> None:
    """By name too, not copied: what is made once in the file counts what it is made of."""
    count = "made = []\n" + BOT
    for name in ("Bot", "Policy"):
        count = count.replace(
            f"class {name}:\n", f"class {name}:\n    def __init__(self):\n        made.append(self)\n\n"
        )
    (tmp_path / "bot.py").write_text(count)
    entrant = Entrant(spec)
    made = load("bot.py:made")
    before = len(made)
    agents = [entrant.new_agent() for _ in range(3)]
    assert len(made) - before == (0 if spec.endswith("bot") else 3)
    assert len({id(agent) for agent in agents}) == 3
    assert all(agent.name == entrant.label or agent.name == "bot" for agent in agents)


def test_objects_cross_by_cloudpickle_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(ValueError, match=r"'drawer' is sent to another process by cloudpickle: pip install"):
        pickle.dumps(Entrant(Drawer))
    assert pickle.loads(pickle.dumps(Entrant("low_bid"))).label == "low_bid"


def test_the_agent_given_stays_as_it_is() -> None:
    given = Drawer()
    Entrant(given).new_agent().reset(3, Rules(), np.random.default_rng(0))
    assert given.seat == -1


def test_what_a_function_defined_anywhere_does_crosses_to_a_worker() -> None:
    secret = 7

    def local(view: Any) -> int:
        return secret

    entrant = pickle.loads(pickle.dumps(Entrant(local)))
    assert entrant.new_agent().act(None) == 7


class Uncopied(Drawer):
    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


def test_what_cannot_be_copied_or_sent_is_told() -> None:
    entrant = Entrant(Uncopied())
    with pytest.raises(
        ValueError, match=r"'drawer' needs an agent for each seat, and cannot be copied.*give its class"
    ):
        entrant.new_agent()
    with pytest.raises(ValueError, match=r"'drawer' cannot be sent to another process.*workers=1"):
        pickle.dumps(entrant)
    assert isinstance(Entrant(Uncopied).new_agent(), Uncopied)


def test_labels_are_unique() -> None:
    entrants = as_entrants(["low_bid", "again=low_bid", Entrant(Drawer, "low")])
    assert [entrant.label for entrant in entrants] == ["low_bid", "again", "low"]
    with pytest.raises(ValueError, match="two entrants are called 'low_bid': label one"):
        as_entrants(["low_bid", "uniform", "low_bid"])
    with pytest.raises(ValueError, match="entrants must be a list of agents, not str"):
        as_entrants("low_bid")


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "no agent": (lambda: Entrant("nobody"), "there is no agent 'nobody'"),
    "no label": (lambda: Entrant(" =low_bid", " "), "label must be text, not ' '"),
    "number": (lambda: Entrant(Drawer(), 3), "label must be text, not 3"),  # type: ignore[arg-type]
    "no file": (lambda: Entrant("mine=python:none.py:Bot"), "entrant 'mine': .*none.py"),
    "no attribute": (lambda: Entrant("mine=python:bot.py:None"), "entrant 'mine': bot.py has no 'None'"),
    "no form": (lambda: Entrant("python:bot"), "entrant 'python:bot': 'bot' must be"),
    "no command": (lambda: Entrant("mine=process:"), "entrant 'mine': "),
    "broken": (lambda: Entrant("mine=python:bot.py:Broken"), "entrant 'mine': "),
    "nothing": (lambda: Entrant(None), "has no name, reset, act"),
}


@pytest.mark.parametrize("case", WRONG)
def test_bad_entrants_are_told(case: str) -> None:
    call, words = WRONG[case]
    with pytest.raises(ValueError, match=words):
        call()


def test_a_worker_refuses_a_file_that_changed(tmp_path: Path) -> None:
    """It makes the agent anew from the text: from other weights that would be another agent."""
    save_weights(network(8, 1, seed=1), tmp_path / "net")
    packed = pickle.dumps(Entrant(f"net=neural:play=0,weights={tmp_path / 'net'}"))
    pickle.loads(packed)
    save_weights(network(8, 1, seed=2), tmp_path / "net")
    with pytest.raises(CallBreakError, match="entrant 'net': its file is another than when the run began"):
        pickle.loads(packed)


def test_searches_of_other_settings_have_another_digest(tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text(
        "class Bot:\n    name, digest = 'bot', 'mine'\n"
        "    def reset(self, seat, rules, rng): ...\n    def act(self, view): ...\n"
    )
    found = [
        Entrant(each, "net").digest
        for each in (
            make_agent("neural"),
            make_agent("neural:play=0"),
            make_agent("neural:play_prior=1"),
            make_agent("neural_search"),
            NeuralAgent(released_weights()),
            f"python:{tmp_path / 'bot.py'}:Bot",
        )
    ]
    assert len(set(found)) == len(found)
    assert found[0] == Entrant("neural").digest
    assert found[-1] is not None
    assert found[-1].endswith(" mine")
    assert Entrant("rule_based").digest is None
