"""What was played in the arena: every deal's points, bids and tricks, by seating and seat."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from callbreak_env.cards import CARDS_PER_HAND, NUM_SEATS
from callbreak_env.rules import Rules

FAULTS = ("illegal", "error", "timeout")
"""What a foreign agent can do wrong, by the last axis of ``Results.faults``."""
DECISIONS = CARDS_PER_HAND + 1
"""Of a seat in a deal: a bid, and the cards."""


@dataclass(frozen=True)
class Schedule:
    """Who sits where: every deal is played once in each seating.

    Attributes:
        names: [E] the entrants, each name once.
        seatings: [S, 4] int64, the entrant (index into ``names``) by seat.
        tables: [S] int64, which table a seating belongs to: seatings of one table have the same four
            entrants (as a multiset) in other seats. Numbered from 0 without gaps.
    """

    names: tuple[str, ...]
    seatings: npt.NDArray[np.int64]
    tables: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        count = len(self.names)
        if len(set(self.names)) < count:
            raise ValueError(f"each entrant is named once in a schedule: {self.names}")
        if self.seatings.shape[1:] != (NUM_SEATS,) or not len(self.seatings):
            raise ValueError(f"seatings must have the shape (S, {NUM_SEATS}), not {self.seatings.shape}")
        if self.seatings.min() < 0 or self.seatings.max() >= count:
            raise ValueError(f"seatings must be of the entrants 0 to {count - 1}")
        if self.tables.shape != self.seatings.shape[:1]:
            raise ValueError(f"tables must be one a seating, not of the shape {self.tables.shape}")


@dataclass(frozen=True)
class Results:
    """D deals, each played in S seatings. The unit of all statistics is the deal: seatings share its cards.

    Attributes:
        schedule: who sat where.
        rules: of the deals.
        seed: deal number d is the first deal of ``Match(rules, seed=seed, number=d)``.
        deals: [D] int64, the numbers of the deals, ascending.
        points: [D, S, 4] int32, tenths, by seat.
        bids: [D, S, 4] int8, by seat.
        tricks: [D, S, 4] int8, tricks won, by seat.
        faults: [D, S, 4, 3] int8, decisions of foreign agents that were replaced, by seat and FAULTS.
        decisions: [E] int64, decisions that were asked of foreign agents; 0 for compiled ones.
        seconds: [E] float64, what these took.
    """

    schedule: Schedule
    rules: Rules
    seed: int
    deals: npt.NDArray[np.int64]
    points: npt.NDArray[np.int32]
    bids: npt.NDArray[np.int8]
    tricks: npt.NDArray[np.int8]
    faults: npt.NDArray[np.int8]
    decisions: npt.NDArray[np.int64]
    seconds: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        shape: Any = (len(self.deals), len(self.schedule.seatings), 4)
        for name in ("points", "bids", "tricks"):
            if getattr(self, name).shape != shape:
                raise ValueError(f"{name} must have the shape {shape}, not {getattr(self, name).shape}")
        if self.faults.shape != (*shape, len(FAULTS)):
            raise ValueError(f"faults must have the shape {(*shape, len(FAULTS))}, not {self.faults.shape}")
        for name in ("decisions", "seconds"):
            if getattr(self, name).shape != (len(self.schedule.names),):
                raise ValueError(
                    f"{name} must be one an entrant, not of the shape {getattr(self, name).shape}"
                )

    def select(self, deals: Iterable[int]) -> Results:
        """Some of the deals, in ascending order.

        ``decisions`` and ``seconds`` are not kept by deal: they stay those of all deals.

        Raises:
            ValueError: a deal is not among these.
        """
        wanted = np.unique(np.fromiter(deals, np.int64))
        found = np.isin(wanted, self.deals)
        if not found.all():
            raise ValueError(f"deal {wanted[~found][0]} is not among the {len(self.deals)} that were played")
        at = np.searchsorted(self.deals, wanted)
        return dataclasses.replace(self, deals=wanted, **{name: getattr(self, name)[at] for name in _BY_DEAL})


_BY_DEAL = ("points", "bids", "tricks", "faults")


def merge(parts: Sequence[Results]) -> Results:
    """The results of different deals, played by one schedule under the same rules and seed, as one.

    Raises:
        ValueError: none, or a deal is in two of them.
    """
    if not parts:
        raise ValueError("there are no results to merge")
    deals = np.concatenate([part.deals for part in parts])
    order = np.argsort(deals, kind="stable")
    deals = deals[order]
    twice = deals[1:][deals[1:] == deals[:-1]]
    if len(twice):
        raise ValueError(f"deal {twice[0]} was played twice")
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])[order] for name in _BY_DEAL
    }
    return dataclasses.replace(
        parts[0],
        deals=deals,
        decisions=np.sum([part.decisions for part in parts], axis=0),
        seconds=np.sum([part.seconds for part in parts], axis=0),
        **arrays,
    )
