"""Agents: the protocol and the registry."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from callbreak_env import Match, make_agent
from callbreak_env.policy import Agent, agent_names
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
    assert agent.name == "uniform"
    assert make_agent("pimc:play=3").name == "pimc:play=3"
    assert agent_names()[:4] == ["uniform", "low_bid", "lowest", "rule_based"]
    assert not isinstance(object(), Agent)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("pope", "there is no agent 'pope': choose one of uniform"),
        ("", "there is no agent ''"),
        ("uniform:deals", "'deals' must be option=value"),
        ("uniform:=3", "'=3' must be option=value"),
        ("uniform:deals=64", "agent 'uniform:deals=64' has no option 'deals': it has none"),
        ("ismcts:bid=3", "has no option 'bid': its options are iterations, explore, policy"),
        ("pimc:bid=3,bid=4", "'bid' is given twice"),
        ("pimc:bid=99999999999999999999", "agent 'pimc:bid=9+': bid must be at most 1000000, not 9+"),
        ("ismcts:iterations=1000000000000", "iterations must be at most 1000000, not 1000000000000"),
        (5, "an agent is named by text, not by int"),
    ],
)
def test_what_is_no_agent_is_refused(spec: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_agent(spec)


def test_option_values_are_read_by_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    import callbreak_env.policy as policy

    seen: dict[str, Any] = {}

    def spy(agent_name: str, /, deals: int, share: float, fast: bool, name: str) -> Any:
        seen.update(deals=deals, share=share, fast=fast, name=name, agent_name=agent_name)
        return SimpleNamespace()

    monkeypatch.setattr(policy, "spy", spy, raising=False)
    monkeypatch.setitem(policy._REGISTRY, "spy", "callbreak_env.policy:spy")
    assert make_agent("spy:deals=64, share=0.5,fast=True,name=007").name.startswith("spy:deals")
    assert seen == {"deals": 64, "share": 0.5, "fast": True, "name": "007", "agent_name": "spy"}
