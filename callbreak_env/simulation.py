"""Whole matches by the uniform agent, in compiled code: figures of many, or the actions of one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from callbreak_env.cards import NUM_SEATS
from callbreak_env.engine.loops import (
    DEALS,
    DECKS,
    EXTRA_DEALS,
    NUM_COUNTS,
    REDEALS,
    record_policy,
    simulate_policy,
)
from callbreak_env.engine.policies import UNIFORM
from callbreak_env.engine.state import TABLE, rules_record
from callbreak_env.match import Match
from callbreak_env.rules import Rules


@dataclass
class Simulation:
    """Matches by four uniform agents, numbers 0, 1, 2, ... under one seed; the same seed, the same matches.

    Attributes:
        rules: of the matches.
        seed: of the shuffles and of the agents.
        totals: [M, 4] int64, tenths.
        winners: [M] int8, sets of seats (bits).
        by_seat: [3, 4] int64: deals bid, tricks promised, deals failed, by seat.
        counts: [5] int64: actions, decks, deals scored, H2 redeals, extra deals.
    """

    rules: Rules
    seed: int
    totals: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, NUM_SEATS), np.int64))
    winners: npt.NDArray[np.int8] = field(default_factory=lambda: np.zeros(0, np.int8))
    by_seat: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros((3, NUM_SEATS), np.int64))
    counts: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(NUM_COUNTS, np.int64))

    @property
    def matches(self) -> int:
        """How many have been played."""
        return len(self.winners)

    def play(self, matches: int) -> None:
        """Play so many more."""
        totals = np.zeros((matches, NUM_SEATS), np.int64)
        winners = np.zeros(matches, np.int8)
        simulate_policy(
            np.zeros(1, TABLE),
            rules_record(self.rules),
            UNIFORM,
            self.seed,
            self.matches,
            totals,
            winners,
            self.by_seat,
            self.counts,
        )
        self.totals = np.concatenate([self.totals, totals])
        self.winners = np.concatenate([self.winners, winners])

    def summary(self) -> list[dict[str, Any]]:
        """One row a seat, means and shares.

        The mean total is in points, with the half-width of its 95 % interval; a victory that is shared
        counts in parts; ``made`` is the share of bids made.
        """
        won = self.winners[:, None] >> np.arange(NUM_SEATS) & 1
        shares = won / won.sum(axis=1, keepdims=True)
        spread = self.totals.std(axis=0, ddof=1) if self.matches > 1 else np.full(NUM_SEATS, np.inf)
        half_width = 1.96 * spread / 10 / np.sqrt(self.matches)
        bid, promised, failed = self.by_seat
        return [
            {
                "seat": seat,
                "mean_total": self.totals[:, seat].mean() / 10,
                "half_width": half_width[seat],
                "victories": shares[:, seat].mean(),
                "mean_bid": promised[seat] / bid[seat],
                "made": 1 - failed[seat] / bid[seat],
            }
            for seat in range(NUM_SEATS)
        ]

    def story(self) -> str:
        """What happened, in one sentence."""
        shared = int((self.winners & (self.winners - 1) != 0).sum())
        parts = [
            f"{self.matches:,} matches, {self.counts[DEALS]:,} deals",
            f"{self.counts[EXTRA_DEALS]:,} extra deals",
            f"{self.counts[REDEALS]:,} thrown in (H2)",
            f"{self.counts[DECKS] - self.counts[DEALS] - self.counts[REDEALS]:,} misdeals (H3)",
        ]
        if not self.rules.partnership:
            parts.append(f"{shared:,} victories shared")
        return ", ".join(parts) + "."


def uniform_match(rules: Rules, seed: int, number: int) -> Match:
    """One match of a ``Simulation`` as a ``Match`` that is over."""
    match = Match(rules, seed=seed, number=number)
    tables = match.record_array.copy()
    chunk = np.empty(4096, np.uint8)
    while not match.is_over:
        count = record_policy(tables, rules_record(rules), UNIFORM, chunk)
        for action in chunk[:count].tolist():
            match.apply(action)
    return match
