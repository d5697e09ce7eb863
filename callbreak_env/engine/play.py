"""The step: one action changes one table. Unchecked kernels; ``advance`` is the checked one."""

from __future__ import annotations

import numpy as np

from callbreak_env.actions import BID_OFFSET
from callbreak_env.engine._jit import inlined, kernel
from callbreak_env.engine.dealing import cut_for_dealer, start_deal
from callbreak_env.engine.legality import (
    is_legal,
    prove_follow,
    prove_lead,
    violation,
    write_mask,
)
from callbreak_env.engine.scoring import score_deal, top_seats
from callbreak_env.engine.state import (
    ALL_SEATS,
    BIDDING,
    DEAL_END,
    MATCH_END,
    NEXT_SEAT,
    NONE,
    OVER,
    PLAYING,
    REDEAL,
    SUIT_OF,
    TRICK_END,
    Array,
    Record,
)


@kernel()
def start_match(
    table: Record, rules: Record, decks: Array, seed: np.uint64, match: np.uint64, dealer: int
) -> None:
    """A new match at a table. ``dealer`` NONE cuts for it (R3)."""
    table["seed"] = seed
    table["match"] = match
    table["deck"] = 0
    table["deal"] = 0
    table["redeals"] = 0
    table["winners"] = 0
    table["last_winner"] = NONE
    for seat in range(4):
        table["totals"][seat] = 0
        table["points"][seat] = 0
    table["dealer"] = cut_for_dealer(seed, match) if dealer < 0 else dealer
    table["active"] = ALL_SEATS
    table["num_active"] = 4
    start_deal(table, rules, decks)


@kernel()
def h2_thrown_in(table: Record, rules: Record) -> bool:
    """H2: whether the bids just made add up to too little and the deal is dealt again."""
    if table["num_active"] < 4 or table["redeals"] >= rules["max_redeals"]:
        return False
    total = 0
    for seat in range(4):
        total += int(table["bids"][seat])
    return bool(total < rules["min_total_bid"])


@inlined()
def bid(table: Record, rules: Record, decks: Array, action: int) -> int:
    """R5: one bid; the last one opens the play, or has the deal dealt again (H2)."""
    seat = int(table["seat"])
    table["bids"][seat] = action - BID_OFFSET
    after = NEXT_SEAT[int(table["active"]), seat]
    table["seat"] = after
    if after != int(table["leader"]):
        return 0
    if h2_thrown_in(table, rules):
        table["redeals"] += 1
        start_deal(table, rules, decks)
        return REDEAL
    table["phase"] = PLAYING
    return 0


@kernel()
def next_deal(table: Record, rules: Record, decks: Array, active: int) -> None:
    """R3, R15: the deal passes one seat right, to a deal of the active seats."""
    table["deal"] += 1
    table["redeals"] = 0
    table["dealer"] = (int(table["dealer"]) + 1) & 3
    table["active"] = active
    count = 0
    for seat in range(4):
        count += active >> seat & 1
    table["num_active"] = count
    start_deal(table, rules, decks)


@kernel()
def end_match(table: Record, winners: int) -> int:
    """The match is over."""
    table["winners"] = winners
    table["phase"] = OVER
    table["seat"] = NONE
    return TRICK_END | DEAL_END | MATCH_END


@kernel()
def end_deal(table: Record, rules: Record, decks: Array) -> int:
    """R12-R15, H1, H8: score the deal; then the next one, the extra one, or the end of the match."""
    score_deal(table["bids"], table["tricks_won"], rules, table["points"])
    deal, deals = int(table["deal"]), int(rules["deals"])
    if deal >= deals:  # the extra deal
        return end_match(table, top_seats(table["points"], int(table["active"])))
    for seat in range(4):
        table["totals"][seat] += int(table["points"][seat])
    if deal + 1 < deals:
        next_deal(table, rules, decks, ALL_SEATS)
        return TRICK_END | DEAL_END
    top = top_seats(table["totals"], ALL_SEATS)
    # Partners have equal totals always: for sides, a tie is all four at the top.
    tied = top == ALL_SEATS if rules["partnership"] else top & (top - 1) != 0
    if tied and not rules["shared"]:
        next_deal(table, rules, decks, top)
        return TRICK_END | DEAL_END
    return end_match(table, top)


@inlined()
def r11_beats(table: Record, card: int) -> bool:
    """R11: whether a card would be the best so far of a trick that has been led to."""
    if SUIT_OF[card] == SUIT_OF[int(table["best_led"])]:
        return card > int(table["best_led"]) and int(table["best_trump"]) < 0
    return SUIT_OF[card] == int(table["trump"]) and card > int(table["best_trump"])


@inlined()
def r11_add(table: Record, seat: int, card: int) -> None:
    """R11: a card joins the trick: the highest trump wins it, or the highest card of the led suit."""
    if table["in_trick"] == 0:
        if int(table["trump"]) < 0:
            table["trump"] = SUIT_OF[card]  # H6
        table["best_led"] = card
        table["trick_seat"] = seat
        return
    if r11_beats(table, card):
        table["trick_seat"] = seat
    if SUIT_OF[card] == SUIT_OF[int(table["best_led"])]:
        table["best_led"] = max(card, int(table["best_led"]))
    elif SUIT_OF[card] == int(table["trump"]):
        table["best_trump"] = max(card, int(table["best_trump"]))


@inlined()
def play_card(table: Record, rules: Record, decks: Array, card: int) -> int:
    """R6: one card; the last of a trick gives it to its winner, who leads the next."""
    seat = int(table["seat"])
    if table["in_trick"] == 0:
        prove_lead(table, rules, seat, card)
    else:
        prove_follow(table, rules, seat, card)
    r11_add(table, seat, card)
    held = np.uint64(1) << np.uint64(card)
    table["hands"][seat] &= ~held
    table["played"][seat] |= held
    for other in range(4):
        table["may_hold"][other] &= ~held
    table["trick"][seat] = card
    table["log"][int(table["num_played"])] = card | seat << 6
    table["num_played"] += 1
    table["in_trick"] += 1
    if table["in_trick"] < table["num_active"]:
        table["seat"] = NEXT_SEAT[int(table["active"]), seat]
        return 0
    winner = int(table["trick_seat"])
    table["tricks_won"][winner] += 1
    table["trick_no"] += 1
    table["in_trick"] = 0
    table["best_led"] = NONE
    table["best_trump"] = NONE
    table["trick_seat"] = NONE
    for other in range(4):
        table["trick"][other] = NONE
    table["last_winner"] = winner
    table["leader"] = winner
    table["seat"] = winner
    if table["trick_no"] < 13:
        return TRICK_END
    return end_deal(table, rules, decks)


@inlined()
def step(table: Record, rules: Record, decks: Array, action: int) -> int:
    """Take one legal action; returns what it brought about (TRICK_END, DEAL_END, MATCH_END, REDEAL)."""
    if int(table["phase"]) == BIDDING:
        return bid(table, rules, decks, action)
    return play_card(table, rules, decks, action)


@kernel()
def new_match(
    tables: Array, rules: Array, decks: Array, seed: int, match: int, dealer: int, mask: Array
) -> None:
    """``start_match`` for one table ([1] TABLE), with the first legal mask ([65] int8)."""
    start_match(tables[0], rules[0], decks, np.uint64(seed), np.uint64(match), dealer)
    write_mask(tables[0], rules[0], mask)


@kernel()
def advance(tables: Array, rules: Array, decks: Array, action: int, mask: Array) -> int:
    """The checked step of one table ([1] TABLE), with the next legal mask ([65] int8).

    Returns what the step brought about, or minus the code of the violation; then nothing has changed.
    """
    table, the_rules = tables[0], rules[0]
    if not is_legal(table, the_rules, action):
        return -violation(table, the_rules, action)
    happened = step(table, the_rules, decks, action)
    write_mask(table, the_rules, mask)
    return happened


@kernel()
def advance_by(tables: Array, rules: Array, decks: Array, actions: Array, mask: Array) -> int:
    """``advance`` for one action after another ([n] uint8), up to the first illegal one.

    Returns how many were taken.
    """
    table, the_rules = tables[0], rules[0]
    taken = 0
    while taken < len(actions) and is_legal(table, the_rules, int(actions[taken])):
        step(table, the_rules, decks, int(actions[taken]))
        taken += 1
    write_mask(table, the_rules, mask)
    return taken


@kernel()
def points_of(bids: Array, tricks_won: Array, rules: Array, points: Array) -> None:
    """``score_deal`` with the rules as an array of one."""
    score_deal(bids, tricks_won, rules[0], points)
