"""Scoring: the points of a deal and who stands at the top, in integer tenths."""

from __future__ import annotations

import numpy as np

from callbreak_env.engine._jit import kernel
from callbreak_env.engine.state import Array, Record


@kernel()
def r12_r13_points(bid: int, won: int, rules: Record) -> int:
    """R12 made: the bid and a tenth an overtrick. R13 failed: minus the bid. H4: the bonus. In tenths."""
    if won < bid:
        return -10 * bid
    if 0 < rules["bonus_bid"] <= bid:
        return 10 * int(rules["bonus_points"])
    return 10 * bid + won - bid


@kernel()
def score_deal(bids: Array, tricks_won: Array, rules: Record, points: Array) -> None:
    """Write the points of a deal, in tenths, by seat; a bid of 0 is a seat that is not in it: 0 points.

    H5: partners' bids and tricks are added, and each partner receives the side's points.
    """
    for seat in range(4):
        bid, won = int(bids[seat]), int(tricks_won[seat])
        if rules["partnership"]:
            bid += int(bids[seat ^ 2])
            won += int(tricks_won[seat ^ 2])
        points[seat] = r12_r13_points(bid, won, rules) if bid > 0 else 0


@kernel()
def top_seats(values: Array, among: int) -> int:
    """The set of the seats with the highest value, among a set of seats (R14, R15)."""
    best = 0
    highest = np.int64(0)
    for seat in range(4):
        if among >> seat & 1:
            value = np.int64(values[seat])
            if best == 0 or value > highest:
                best = 1 << seat
                highest = value
            elif value == highest:
                best |= 1 << seat
    return best
