"""Scoring: the points of a deal and who stands at the top, in integer tenths."""

from __future__ import annotations

import numpy as np

from callbreak_env.engine._jit import kernel
from callbreak_env.engine.state import ALL_SEATS, DEAL_END, MATCH_END, Array, Record

REWARDS = ("points", "zero_sum", "win")
"""The kinds of rewards, by the number that ``put_rewards`` takes."""
POINTS, ZERO_SUM, WIN = range(3)


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


@kernel()
def put_rewards(table: Record, happened: int, kind: int, rewards: Array) -> None:
    """Write what a step paid the four seats (``rewards``: [4], floats), by what it brought about.

    POINTS: the points of the deal that ended. ZERO_SUM: those minus their mean over the seats in that deal.
    WIN: at the end of the match the winners share 1.
    """
    for seat in range(4):
        rewards[seat] = 0
    if not happened & DEAL_END:
        return
    over = happened & MATCH_END != 0
    # Only the last deal can be an extra deal, and then its seats are still the active ones.
    paid = (int(table["winners"]) if kind == WIN else int(table["active"])) if over else ALL_SEATS
    if kind == WIN and not over:
        return
    total = 0
    count = 0
    for seat in range(4):
        if paid >> seat & 1:
            count += 1
            total += int(table["points"][seat])
    for seat in range(4):
        if paid >> seat & 1:
            if kind == WIN:
                rewards[seat] = 1 / count
            elif kind == ZERO_SUM:
                rewards[seat] = (int(table["points"][seat]) * count - total) / (10 * count)
            else:
                rewards[seat] = int(table["points"][seat]) / 10


@kernel()
def rewards_of(tables: Array, happened: int, kind: int, rewards: Array) -> None:
    """``put_rewards`` for one table ([1] TABLE)."""
    put_rewards(tables[0], happened, kind, rewards)
