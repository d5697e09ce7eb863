"""The frozen definition of the standard benchmark, as ``bench_v1.json`` beside this file tells it."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

import numpy as np

from callbreak_env.arena.formats import round_robin
from callbreak_env.arena.results import Schedule
from callbreak_env.arena.variates import Expectation
from callbreak_env.cards import NUM_SEATS
from callbreak_env.checks import check_choice, check_count
from callbreak_env.errors import CallBreakError
from callbreak_env.match import Match
from callbreak_env.policy import AGENT_VERSIONS
from callbreak_env.records import parse_json
from callbreak_env.rules import PRESETS, Rules

FILE = "bench_v1.json"
LEAST = 2
"""Deals, for there to be intervals."""
MIX = "mix"
"""The format, and in the place of a field, where all of a pool meet."""


@dataclass(frozen=True)
class Definition:
    """What a version of the benchmark plays. Nothing in it may change without a new version.

    Attributes:
        name: of the benchmark.
        version: of the benchmark.
        seed: of the deals: deal number d is the first deal of ``Match(rules, seed=seed, number=d)``, and the
            deals of a size are the numbers 0, 1, 2, ... No agent may be tuned on them.
        rules: by preset name, every option.
        decks: how many of the first deals ``sha256`` is the digest of.
        sha256: see :func:`decks_digest`.
        sizes: deals of the formats "1v3" and "mix", by the name of the size.
        fields: the reference agent that fills the three other seats, by field.
        mix: the reference agents; those that are always in the pool of the mix, and then those that fill it
            up where there are fewer than four.
        agents: what is compared where no agent is named, by "quick" (also for a number of deals of one's own)
            and "larger" sizes.
        versions: of the reference agents.
        figures: what is reported, by name.
        expectations: for the control variates, by preset; empty: points are not adjusted.
    """

    name: str
    version: int
    seed: int
    rules: dict[str, Rules]
    decks: int
    sha256: str
    sizes: dict[str, dict[str, int]]
    fields: dict[str, str]
    mix: tuple[tuple[str, ...], tuple[str, ...]]
    agents: dict[str, tuple[str, ...]]
    versions: dict[str, int]
    figures: dict[str, str]
    expectations: dict[str, Expectation]

    @property
    def title(self) -> str:
        """Name and version."""
        return f"{self.name} v{self.version}"

    def reference(self, field: str) -> str:
        """The agent of which a field is three copies.

        Raises:
            ValueError: there is no such field.
        """
        return self.fields[check_choice(field, "field", list(self.fields))]

    def deals(self, size: str, deals: int | None = None) -> dict[str, int]:
        """The number of deals by format, of a size or, with ``deals``, of so many deals for 1v3."""
        of_size = self.sizes[check_choice(size, "size", list(self.sizes))]
        if deals is None:
            return dict(of_size)
        quick, count = self.sizes["quick"], check_count(deals, "deals", LEAST)
        return {"1v3": count, MIX: max(LEAST, count * quick[MIX] // quick["1v3"])}

    def default_agents(self, size: str, deals: int | None = None) -> tuple[str, ...]:
        """What is compared where no agent is named."""
        return self.agents["quick" if size == "quick" or deals is not None else "larger"]

    def pool(self, agents: Sequence[str]) -> tuple[str, ...]:
        """The pool of the mix: the agents, the references, and what is needed to make four."""
        always, more = self.mix
        pool = dict.fromkeys([*agents, *always])
        for name in more:
            if len(pool) < NUM_SEATS:
                pool[name] = None
        return tuple(pool)

    def schedule(self, field: str, agents: Sequence[str]) -> Schedule:
        """Who plays in a field, or in the mix.

        A field has table 0 of four copies of its reference, in one seating, and for each other agent a table
        of it and three copies of the reference, in its four seatings: the agent in seat 0, 1, 2, 3.
        """
        if field == MIX:
            return round_robin(self.pool(agents), seatings="all")
        names = tuple(dict.fromkeys([self.reference(field), *agents]))
        one_seat = np.eye(NUM_SEATS, dtype=np.int64)
        rows = [np.zeros((1, NUM_SEATS), np.int64), *(number * one_seat for number in range(1, len(names)))]
        tables = np.repeat(np.arange(len(names)), [len(row) for row in rows])
        return Schedule(names, np.concatenate(rows), tables)

    def check(self) -> None:
        """Refuse where this package's rules or reference agents are not those of the definition."""
        for preset, rules in self.rules.items():
            if PRESETS.get(preset) != rules:
                raise CallBreakError(f"{self.title} has other rules {preset!r} than this package")
            if decks_digest(rules, self.seed, self.decks) != self.sha256:
                raise CallBreakError(f"this package deals other cards than those of {self.title}")
        for name, version in self.versions.items():
            if AGENT_VERSIONS.get(name) != version:
                raise CallBreakError(
                    f"{self.title} needs version {version} of {name}, this package has "
                    f"{AGENT_VERSIONS.get(name, 'none')}: its results could not be compared with others"
                )


def definition() -> Definition:
    """``CallBreak-Bench v1``."""
    return _read(FILE)


@functools.cache
def _read(file: str) -> Definition:
    told = parse_json(resources.files(__package__).joinpath(file).read_bytes())
    return Definition(
        name=told["name"],
        version=told["version"],
        seed=told["seed"],
        rules={preset: Rules.from_dict(options) for preset, options in told["rules"].items()},
        decks=told["decks"]["count"],
        sha256=told["decks"]["sha256"],
        sizes=told["sizes"],
        fields=told["fields"],
        mix=(tuple(told["mix"]["always"]), tuple(told["mix"]["filled_up_by"])),
        agents={size: tuple(names) for size, names in told["agents"].items()},
        versions=told["versions"],
        figures=told["figures"],
        expectations={
            preset: Expectation(
                mean=np.array(each["mean"]),
                covariance=np.array(each["covariance"]),
                deals=each["deals"],
                seed=each["seed"],
            )
            for preset, each in told["expectations"].items()
        },
    )


@functools.cache
def decks_digest(rules: Rules, seed: int, count: int) -> str:
    """SHA-256 over the first deals of a seed: for each the dealer's seat, then 13 cards a seat, ascending.

    Each is one byte, a card its id.
    """
    digest = hashlib.sha256()
    for number in range(count):
        match = Match(rules, seed=seed, number=number)
        digest.update(bytes([match.dealer, *(card for hand in match.hands for card in hand)]))
    return digest.hexdigest()
