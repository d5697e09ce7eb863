"""A match told trick by trick, in lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from callbreak_env.bhoos import BhoosMatch
from callbreak_env.cards import card_symbol, hand_text, parse_card
from callbreak_env.match import Match
from callbreak_env.text import tenths_text
from callbreak_env.transcript import MISDEAL, PLAYED, THROWN_IN


def _row(values: Any) -> str:
    return "  ".join("-" if value is None else str(value) for value in values)


def _points(tenths: Any) -> str:
    return "  ".join(tenths_text(value) for value in tenths)


def tell_match(match: Match) -> Iterator[str]:
    """A match, deck by deck; rows of four figures are seats 0 to 3."""
    record = match.record()
    for entry in record["deals"]:
        yield from _tell_deal(entry, match.rules.deals)
    if match.is_over:
        verb = "wins" if len(match.winners) == 1 else "win"
        yield f"Seat {' and seat '.join(map(str, match.winners))} {verb} the match."
    else:
        yield "The match is cut short here."


def _tell_deal(entry: dict[str, Any], deals: int) -> Iterator[str]:
    number = entry["deal"] + 1
    name = f"Deal {number} of {deals}" if number <= deals else "Extra deal"
    yield f"{name}, seat {entry['dealer']} deals"
    for seat, hand in enumerate(entry["hands"]):
        if hand is not None:
            yield f"  seat {seat}: {hand_text(map(parse_card, hand))}"
    if entry["outcome"] == MISDEAL:
        yield "  a misdeal (H3): dealt again"
        yield ""
        return
    yield f"  bids      {_row(entry['bids'])}"
    if entry["outcome"] == THROWN_IN:
        yield "  the bids add up to too little (H2): dealt again"
    for index, trick in enumerate(entry["tricks"]):
        cards = "  ".join(card_symbol(parse_card(card)) for card in trick["cards"])
        taken = "" if trick["winner"] is None else f"  -> seat {trick['winner']}"
        yield f"  trick {index + 1:2d}  seat {trick['leader']} leads  {cards}{taken}"
    if entry["outcome"] == PLAYED:
        won = [sum(trick["winner"] == seat for trick in entry["tricks"]) for seat in range(4)]
        yield f"  won       {_row(won)}"
        yield f"  points    {_points(entry['points'])}"
        yield f"  totals    {_points(entry['totals'])}"
    yield ""


def tell_bhoos(match: BhoosMatch) -> Iterator[str]:
    """A match history of the bot tournament, each card with the points so far; marks what is not legal."""
    yield f"Players: {', '.join(match.players)} (seats 0 to 3)"
    for number, deal in enumerate(match.deals):
        yield f"Deal {number + 1}, seat {deal.dealer} deals"
        for seat, hand in enumerate(deal.hands):
            yield f"  seat {seat}: {hand_text(hand)}"
        yield f"  bids      {_row(deal.bids)}"
        for move in deal.moves:
            verdict = f"ILLEGAL: {move.broken}" if move.broken else "legal"
            card = card_symbol(move.card)
            yield f"  trick {move.trick:2d}  seat {move.seat}  {card}  {verdict}  {_points(move.points)}"
        for note in deal.server_errors:
            yield f"  the server noted: {note}"
        if not deal.complete:
            yield "  cut short here"
        yield f"  points    {_points(deal.points)}"
        if deal.points != deal.recorded_points:
            yield f"  recorded  {_points(deal.recorded_points)}, which differs"
        yield ""
