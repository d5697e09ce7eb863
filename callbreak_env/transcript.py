"""The record of a match as plain data: every deck dealt, every bid, every card, all points.

``build`` replays the actions through the engine; nothing needs to be kept while a match is played.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from callbreak_env.actions import NUM_ACTIONS, bid_of, is_bid
from callbreak_env.cards import NUM_SEATS, card_text, cards_of
from callbreak_env.engine.dealing import deal_deck
from callbreak_env.engine.play import advance, new_match
from callbreak_env.engine.state import (
    DEAL_END,
    MATCH_END,
    REDEAL,
    TABLE,
    TRICK_END,
    Array,
    rules_record,
)
from callbreak_env.rules import Rules
from callbreak_env.text import seats_of

FORMAT = "callbreak-match"
VERSION = 1
PLAYED, THROWN_IN, MISDEAL, UNFINISHED = "played", "thrown_in", "misdeal", "unfinished"


def _hands(table: Any) -> list[list[str] | None]:
    active = seats_of(table["active"])
    return [
        [card_text(card) for card in cards_of(table["hands"][seat])] if seat in active else None
        for seat in range(NUM_SEATS)
    ]


def _open_deals(tables: Array, decks: Array, first: int) -> list[dict[str, Any]]:
    """One entry for each deck dealt since deck number ``first``: the last is in play, others misdeals."""
    entries = []
    last = int(tables["deck"][0]) - 1
    for deck in range(first, last + 1):
        dealt = tables.copy()
        deal_deck(dealt, decks, deck)
        entries.append(
            {
                "deal": int(tables["deal"][0]),
                "dealer": int(tables["dealer"][0]),
                "hands": _hands(dealt[0]),
                "outcome": UNFINISHED if deck == last else MISDEAL,
                "bids": [None] * NUM_SEATS,
                "tricks": [],
                "points": None,
                "totals": None,
            }
        )
    return entries


def build(
    rules: Rules, seed: int, number: int, dealer: int, decks: Array, actions: Sequence[int]
) -> dict[str, Any]:
    """The record, JSON-ready; its form is described in ``records.py``.

    Args:
        rules: of the match.
        seed: key of its shuffles.
        number: of the match under that seed.
        dealer: the first dealer.
        decks: [n, 52] uint8, the decks used before shuffles.
        actions: action ids from the start of the match, all legal.
    """
    tables, record = np.zeros(1, TABLE), rules_record(rules)
    mask = np.empty(NUM_ACTIONS, np.int8)
    new_match(tables, record, decks, seed, number, dealer, mask)
    table = tables[0]
    deals = _open_deals(tables, decks, 0)
    for action in actions:
        seat, deck, current = int(table["seat"]), int(table["deck"]), deals[-1]
        happened = advance(tables, record, decks, action, mask)
        if is_bid(action):
            current["bids"][seat] = bid_of(action)
        else:
            if not current["tricks"] or current["tricks"][-1]["winner"] is not None:
                current["tricks"].append({"leader": seat, "cards": [], "winner": None})
            trick = current["tricks"][-1]
            trick["cards"].append(card_text(action))
            if happened & TRICK_END:
                trick["winner"] = int(table["last_winner"])
        if happened & DEAL_END:
            current["outcome"] = PLAYED
            current["points"] = [int(points) for points in table["points"]]
            current["totals"] = [int(total) for total in table["totals"]]
        if happened & REDEAL:
            current["outcome"] = THROWN_IN
        if happened & (DEAL_END | REDEAL) and not happened & MATCH_END:
            deals += _open_deals(tables, decks, deck)
    return {
        "format": FORMAT,
        "version": VERSION,
        "seed": seed,
        "match": number,
        "rules": rules.to_dict(),
        "deals": deals,
        "winners": seats_of(table["winners"]),
    }
