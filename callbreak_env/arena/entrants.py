"""Entrants: what a user gives to a tournament, made ready to be seated; compiled agents are told apart."""

from __future__ import annotations

import copy
import functools
import pickle
from collections.abc import Callable, Iterable
from typing import Any

from callbreak_env.arena.foreign import PolicyAgent, as_agent, load, text_digest
from callbreak_env.arena.process import ProcessAgent
from callbreak_env.checks import check_list
from callbreak_env.engine.agents import AGENT
from callbreak_env.engine.state import Array
from callbreak_env.errors import CallBreakError
from callbreak_env.policy import AGENT_VERSIONS, Agent, BatchAgent, TableAgent, make_agent

Wrap = Callable[[Any, str | None], Any]
"""Makes an agent of something and a label."""
FOREIGN: dict[str, tuple[Callable[[str], Any], Wrap]] = {
    "python": (load, as_agent),
    "policy": (load, PolicyAgent),
    "process": (str, ProcessAgent),
}
"""By what a text begins with: what the rest after the colon stands for, and what makes an agent of that."""


class Entrant:
    """One entrant. Copies of it at one table, and in worker processes, have an agent each.

    Args:
        given: an agent by name, as ``make_agent`` takes it; ``"python:WHERE:ATTRIBUTE"``, an agent, a class
            of agents or a function of the view in a module or a file; ``"policy:WHERE:ATTRIBUTE"``, a policy
            on (observation, action_mask) there; ``"process:COMMAND LINE"``, a program; each also with a label
            of its own in front: ``"mine=python:bot.py:Bot"``. Or an agent, a class of agents, or a function.
        label: its name in the tournament. Else it is the text, or the agent's own name.

    Attributes:
        label: its name in the tournament.
        source: what it was made from, in words, for the record.
        version: of an agent of the package that was given by name; else None.
        digest: of the text of the file that was given by name, and the agent's own ``digest``; or None.
        record: [1] AGENT of an agent that is played by compiled code; None for one that is asked. (A compiled
            agent with a time budget is asked: what a clock decides is kept apart from what repeats.)
        batch: the agent that is asked for many tables in one call (``act_tables``, with the other hands taken
            out, or ``act_batch``), or None.

    Raises:
        ValueError: none of these, or it cannot be loaded or made.
    """

    label: Any  # a foreign class may call itself anything: checked below
    version: int | None
    digest: str | None

    def __init__(self, given: Any, label: str | None = None) -> None:
        self._given = given
        if isinstance(given, str):
            named, text = _split(given)
            self.label = label or named or text
            self._agent, self._anew = _named(text, self.label)
            kind, _, rest = text.partition(":")
            self.source, self.version = text, AGENT_VERSIONS.get(kind)
            self.digest = text_digest(rest) if kind in ("python", "policy") else None
        else:
            self._agent, self._anew = _made(given, as_agent, label)
            self.label = label or self._agent.name
            self.source, self.version, self.digest = _describe(given, self._agent), None, None
        own = getattr(self._agent, "digest", None)
        if isinstance(own, str):
            self.digest = own if self.digest is None else f"{self.digest} {own}"
        if not isinstance(self.label, str) or not self.label.strip() or not self.label.isprintable():
            raise CallBreakError(f"an entrant's label must be text, not {self.label!r:.60}")
        self.record: Array | None = None
        if _is_compiled(self._agent):
            self.record = self._agent.record_array
        self.batch: BatchAgent | TableAgent | None = None
        asked = self.record is None and not _is_timed(self._agent)
        if asked and isinstance(self._agent, (BatchAgent, TableAgent)):
            self.batch = self._agent

    def new_agent(self) -> Agent:
        """An agent for one seat: another object of the class given, or else a copy of the agent given.

        Raises:
            ValueError: it cannot be copied.
        """
        if self._anew is not None:
            made: Agent = self._anew()
            return made
        try:
            copied: Agent = copy.deepcopy(self._agent)
        except Exception as error:
            raise CallBreakError(
                f"entrant {self.label!r} needs an agent for each seat, and cannot be copied: {error}; give "
                "its class, or a __deepcopy__"
            ) from error
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        # Classes and functions of a script or a notebook cross to another process by value.
        given = self._given if isinstance(self._given, str) else _packed(self._given, self.label)
        return _unpacked, (given, self.label, self.digest)

    def __repr__(self) -> str:
        return f"<Entrant {self.label}: {self.source}>"


def as_entrants(given: Iterable[Any]) -> list[Entrant]:
    """Entrants from what a user gives, each as ``Entrant`` takes it, or an ``Entrant``.

    Raises:
        ValueError: one cannot be made, or two have one label.
    """
    entrants = [
        each if isinstance(each, Entrant) else Entrant(each)
        for each in check_list(given, "entrants must be a list of agents")
    ]
    labels = [entrant.label for entrant in entrants]
    for label in labels:
        if labels.count(label) > 1:
            raise CallBreakError(
                f"two entrants are called {label!r}: label one of them, such as 'other={label}' or "
                f"Entrant(agent, 'other')"
            )
    return entrants


def _split(text: str) -> tuple[str, str]:
    """A label, "" where none is given, and the rest of a text; an "=" after a colon belongs to the rest."""
    label, equals, rest = text.partition("=")
    return (label.strip(), rest.strip()) if equals and ":" not in label else ("", text.strip())


def _named(text: str, label: str) -> tuple[Any, Callable[[], Any] | None]:
    """As ``_made``, of what a text names."""
    kind, _, rest = text.partition(":")
    if kind not in FOREIGN:
        return make_agent(text), None
    find, wrap = FOREIGN[kind]
    try:
        return _made(find(rest), wrap, label)
    except ValueError as error:
        raise CallBreakError(f"entrant {label!r}: {error}") from error


def _made(thing: Any, wrap: Wrap, label: str | None) -> tuple[Any, Callable[[], Any] | None]:
    """An agent, and what makes another one of a class; None where an agent is copied."""
    make = functools.partial(wrap, thing, label)
    return make(), make if isinstance(thing, type) else None


def _is_compiled(agent: Any) -> bool:
    record = getattr(agent, "record_array", None)
    return getattr(record, "dtype", None) == AGENT and not _is_timed(agent)


def _is_timed(agent: Any) -> bool:
    return getattr(agent, "budget_ms", None) is not None


def _describe(given: Any, agent: Any) -> str:
    """An object in words: a compiled agent by its settings, what is no text by where it is defined."""
    if _is_compiled(agent):
        return f"{agent.name} {agent.record_array[0]}"
    named = given if hasattr(given, "__qualname__") else type(given)
    return f"{named.__module__}.{named.__qualname__}"


def _packed(given: Any, label: str) -> bytes:
    try:
        import cloudpickle
    except ImportError:
        raise CallBreakError(
            f"entrant {label!r} is sent to another process by cloudpickle: pip install cloudpickle, or play "
            "with workers=1, or name it by text (python:file.py:attribute)"
        ) from None
    try:
        packed: bytes = cloudpickle.dumps(given)
    except Exception as error:
        raise CallBreakError(
            f"entrant {label!r} cannot be sent to another process: {error}; play with workers=1, or "
            "name it by text (python:file.py:attribute)"
        ) from error
    return packed


def _unpacked(given: str | bytes, label: str, digest: str | None) -> Entrant:
    entrant = Entrant(given if isinstance(given, str) else pickle.loads(given), label)
    if entrant.digest != digest:
        raise CallBreakError(f"entrant {label!r}: its file is another than when the run began")
    return entrant
