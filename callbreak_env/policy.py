"""Agents: the protocols and the registry of names.

The registry loads an entry's module only when it is asked for, so that environments need no agent.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from callbreak_env.engine.state import Array
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


@runtime_checkable
class TableAgent(Protocol):
    """Compiled code for many tables in one call: an object with a ``name`` and ``act_tables``.

    It is given whole tables, and trusted to read of them only what the seat to act knows. What it draws is a
    function of the table's key (seed, match, deck) and of the decision, so it is never ``reset``.
    """

    name: str

    def act_tables(self, tables: Array, rules: Rules, threads: int | None = 1) -> npt.NDArray[np.int64]:
        """The action ids for the seats to act.

        Args:
            tables: [K] TABLE, none over; a copy, not to be written.
            rules: of the tables.
            threads: at most so many share the work; None: one for each core.

        Returns:
            [K] int64.
        """


_COMPILED = "callbreak_env.agents.compiled"
_REGISTRY: dict[str, str] = {
    "uniform": f"{_COMPILED}:policy_agent",
    "low_bid": f"{_COMPILED}:policy_agent",
    "lowest": f"{_COMPILED}:policy_agent",
    "rule_based": f"{_COMPILED}:policy_agent",
    "pimc_lite": f"{_COMPILED}:pimc_agent",
    "pimc": f"{_COMPILED}:pimc_agent",
    "pimc_strong": f"{_COMPILED}:pimc_agent",
    "ismcts": f"{_COMPILED}:ismcts_agent",
    "neural": "callbreak_env.agents.neural_search:neural_agent",
    "neural_search": "callbreak_env.agents.neural_search:neural_search_agent",
}
"""Name to ``module:factory``; the factory is called with the name and then the options, by their names."""
AGENT_VERSIONS = dict.fromkeys(_REGISTRY, 1)
"""The version of each agent: a new number when it decides otherwise than before, at any table."""


def agent_names() -> list[str]:
    """The names that :func:`make_agent` knows."""
    return list(_REGISTRY)


def make_agent(spec: str) -> Agent:
    """An agent by name, with options after a colon: ``"rule_based"``, ``"pimc:bid=100,play=50"``.

    Values that read as a whole number, a decimal number, true or false become such, but for options that
    are texts. The agent's ``name`` is the whole text.

    Raises:
        ValueError: no such agent, or options that it does not take.
    """
    if not isinstance(spec, str):
        raise ValueError(f"an agent is named by text, not by {type(spec).__name__}")
    name, _, rest = spec.partition(":")
    if name not in _REGISTRY:
        raise ValueError(f"there is no agent {name!r}: choose one of {', '.join(_REGISTRY)}")
    module, _, attribute = _REGISTRY[name].partition(":")
    factory = getattr(importlib.import_module(module), attribute)
    known = dict(list(inspect.signature(factory).parameters.items())[1:])
    options: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, equals, text = (piece.strip() for piece in part.partition("="))
        if not equals or not key:
            raise ValueError(f"agent {spec!r}: {part!r} must be option=value")
        if key not in known:
            told = f"its options are {', '.join(known)}" if known else "it has none"
            raise ValueError(f"agent {spec!r} has no option {key!r}: {told}")
        if key in options:
            raise ValueError(f"agent {spec!r}: {key!r} is given twice")
        options[key] = text if "str" in str(known[key].annotation) else _value(text)
    try:
        agent: Agent = factory(name, **options)
    except ValueError as error:
        raise ValueError(f"agent {spec!r}: {error}") from error
    agent.name = spec
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
