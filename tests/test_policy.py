"""Agents: the protocol, the registry, and the uniform agent in every seat."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from callbreak_env import Match, make_agent
from callbreak_env.policy import Agent, UniformAgent, agent_names
from callbreak_env.rules import PRESETS


def played(preset: str, seed: int) -> list[int]:
    match = Match(preset, seed=seed)
    agents = [make_agent("uniform") for _ in range(4)]
    for seat, agent in enumerate(agents):
        agent.reset(seat, match.rules, np.random.default_rng([seed, seat]))
    while not match.is_over:
        assert match.seat is not None
        match.apply(agents[match.seat].act(match.view(match.seat)))
    return match.actions


@pytest.mark.parametrize("preset", PRESETS)
def test_uniform_agents_play_whole_matches_reproducibly(preset: str) -> None:
    assert played(preset, 1) == played(preset, 1) != played(preset, 2)


def test_an_agent_is_what_the_protocol_says() -> None:
    agent = make_agent("uniform")
    assert isinstance(agent, Agent)
    assert isinstance(agent, UniformAgent)
    assert agent.name == "uniform"
    assert agent_names() == ["uniform"]
    assert not isinstance(object(), Agent)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("pope", "there is no agent 'pope': choose one of uniform"),
        ("", "there is no agent ''"),
        ("uniform:deals", "'deals' must be option=value"),
        ("uniform:=3", "'=3' must be option=value"),
        (
            "uniform:deals=64",
            "agent 'uniform:deals=64': .*unexpected keyword argument 'deals'|takes no arguments",
        ),
        (5, "an agent is named by text, not by int"),
    ],
)
def test_what_is_no_agent_is_refused(spec: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_agent(spec)


def test_option_values_are_read_by_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    import callbreak_env.policy as policy

    seen: dict[str, Any] = {}

    class Spy(UniformAgent):
        def __init__(self, **options: Any) -> None:
            super().__init__()
            seen.update(options)

    monkeypatch.setattr(policy, "Spy", Spy, raising=False)
    monkeypatch.setitem(policy._REGISTRY, "spy", "callbreak_env.policy:Spy")
    make_agent("spy:deals=64, share=0.5,fast=True,name=pimc")
    assert seen == {"deals": 64, "share": 0.5, "fast": True, "name": "pimc"}
