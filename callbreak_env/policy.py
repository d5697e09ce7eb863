"""Agents: the protocol, the registry of names, and the uniform agent.

The registry loads an entry's module only when it is asked for, so that environments need no agent.
"""

from __future__ import annotations

import importlib
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from callbreak_env.rules import Rules
from callbreak_env.table import View


@runtime_checkable
class Agent(Protocol):
    """A policy for one seat: an object with a ``name``, ``reset`` and ``act``."""

    name: str

    def reset(self, seat: int, rules: Rules, rng: np.random.Generator) -> None:
        """A match begins: the agent plays ``seat`` under ``rules`` and draws only from ``rng``."""

    def act(self, view: View) -> int:
        """The action id for the seat to act, from what it knows."""


@runtime_checkable
class BatchAgent(Protocol):
    """A policy for many tables in one call, without memory: an object with a ``name`` and ``act_batch``.

    It is never ``reset``, also where it has such a method: what it knows is in the observations.
    """

    name: str

    def act_batch(
        self,
        observations: npt.NDArray[np.float32],
        action_masks: npt.NDArray[np.int8],
        rng: np.random.Generator,
    ) -> npt.NDArray[np.integer[Any]]:
        """The action ids for K seats to act.

        Args:
            observations: [K, 804] float32, each as its seat sees it.
            action_masks: [K, 65] int8.
            rng: what to draw from, if anything.

        Returns:
            [K] whole numbers.
        """


class UniformAgent:
    """Takes each legal action with equal chance: the floor of any comparison.

    Mind that it bids uniformly too, far more than it makes.
    """

    name = "uniform"

    def __init__(self) -> None:
        self._rng = np.random.default_rng()

    def reset(self, seat: int, rules: Rules, rng: np.random.Generator) -> None:
        """Take the match's random numbers."""
        self._rng = rng

    def act(self, view: View) -> int:
        """One of the legal actions."""
        return int(self._rng.choice(view.legal_actions()))


_REGISTRY: dict[str, str] = {"uniform": "callbreak_env.policy:UniformAgent"}
"""Name to ``module:class``."""


def agent_names() -> list[str]:
    """The names that :func:`make_agent` knows."""
    return list(_REGISTRY)


def make_agent(spec: str) -> Agent:
    """An agent by name, with options after a colon: ``"uniform"``, ``"name:option=value,option=value"``.

    Values that read as a whole number, a decimal number, true or false become such.

    Raises:
        ValueError: no such agent, or options that it does not take.
    """
    if not isinstance(spec, str):
        raise ValueError(f"an agent is named by text, not by {type(spec).__name__}")
    name, _, rest = spec.partition(":")
    if name not in _REGISTRY:
        raise ValueError(f"there is no agent {name!r}: choose one of {', '.join(_REGISTRY)}")
    options: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, equals, text = part.partition("=")
        if not equals or not key.strip():
            raise ValueError(f"agent {spec!r}: {part!r} must be option=value")
        options[key.strip()] = _value(text.strip())
    module, _, attribute = _REGISTRY[name].partition(":")
    factory = getattr(importlib.import_module(module), attribute)
    try:
        agent: Agent = factory(**options)
    except TypeError as error:
        raise ValueError(f"agent {spec!r}: {error}") from None
    return agent


def _value(text: str) -> int | float | bool | str:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
