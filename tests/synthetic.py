"""Results of the arena that nobody played: of chosen strengths, with the dependence that real deals have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from callbreak_env.arena.results import FAULTS, Results, Schedule
from callbreak_env.rules import as_rules


def results_of(
    schedule: Schedule,
    points: Any,
    bids: Any = None,
    tricks: Any = None,
    rules: str = "standard",
    **other: Any,
) -> Results:
    """Results with these points ([D, S, 4], tenths); what is not told is 0, or bids of 2."""
    points = np.asarray(points, np.int32)
    entrants = len(schedule.names)
    told = {
        "bids": np.full(points.shape, 2, np.int8) if bids is None else np.asarray(bids, np.int8),
        "tricks": np.zeros(points.shape, np.int8) if tricks is None else np.asarray(tricks, np.int8),
        "faults": np.zeros((*points.shape, len(FAULTS)), np.int8),
        "decisions": np.zeros(entrants, np.int64),
        "seconds": np.zeros(entrants),
    }
    deals = np.arange(len(points))
    return Results(schedule, as_rules(rules), 5, deals, points, **(told | other))


def draw_results(
    schedule: Schedule,
    deals: int,
    rng: np.random.Generator,
    edges: Sequence[float] | None = None,
    noise: float = 1.0,
    rules: str = "standard",
) -> Results:
    """Deals of correlated seats and seatings: hands, shared by the seatings of a deal, and luck.

    A seat's strength is that of its hand, minus a third of the other hands', plus ``noise`` times a standard
    normal of its own and its entrant's edge (points a deal). That is the mean of its points: they are in
    tenths, rounded at random.
    """
    shape = (deals, len(schedule.seatings), 4)
    hands = rng.normal(size=(deals, 1, 4))
    strength = hands - (hands.sum(axis=2, keepdims=True) - hands) / 3 + noise * rng.normal(size=shape)
    if edges is not None:
        strength = strength + np.asarray(edges)[schedule.seatings]
    points = np.floor(10 * (2 + strength) + rng.random(shape))
    bids = rng.integers(1, 5, shape)
    return results_of(schedule, points, bids, rng.integers(0, 6, shape), rules)
