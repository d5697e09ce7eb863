"""Text for people: a card table in one line for errors, or as a picture; and columns that are aligned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from callbreak_env.actions import action_symbol
from callbreak_env.cards import (
    NUM_SEATS,
    RANK_LETTERS,
    SUIT_SYMBOLS,
    card_symbol,
    cards_of,
    hand_text,
)
from callbreak_env.engine.state import BIDDING, NONE, OVER, Record
from callbreak_env.rules import Rules

_BLOCK = 30
_SUITS_BY_COLOUR = (3, 2, 0, 1)


def tenths_text(tenths: int) -> str:
    """Tenths as points with one decimal: 41 is ``"4.1"``, -5 is ``"-0.5"``."""
    sign = "-" if tenths < 0 else ""
    return f"{sign}{abs(tenths) // 10}.{abs(tenths) % 10}"


def seats_of(seats: int) -> list[int]:
    """The seats of a set of seats."""
    return [seat for seat in range(NUM_SEATS) if int(seats) >> seat & 1]


def trick_in_order(table: Record) -> list[tuple[int, int]]:
    """The current trick as (seat, card) in play order."""
    order = [(int(table["leader"]) + i) % NUM_SEATS for i in range(NUM_SEATS)]
    return [(seat, int(table["trick"][seat])) for seat in order if table["trick"][seat] != NONE]


def _deal_name(table: Record, rules: Rules) -> str:
    if table["deal"] >= rules.deals:
        return "extra deal"
    return f"deal {int(table['deal']) + 1} of {rules.deals}"


def _trump_text(table: Record) -> str:
    return "not yet known" if table["trump"] == NONE else SUIT_SYMBOLS[int(table["trump"])]


def _bid_text(table: Record, seat: int) -> str:
    return str(int(table["bids"][seat]) or "-")


def table_line(table: Record, rules: Rules) -> str:
    """The whole position in one line, all hands open: made to be pasted into a bug report."""
    trick = " ".join(f"{seat}:{card_symbol(card)}" for seat, card in trick_in_order(table))
    hands = "; ".join(
        f"{seat}: {hand_text(cards_of(table['hands'][seat])) or '-'}" for seat in range(NUM_SEATS)
    )
    return " | ".join(
        (
            f"seed {int(table['seed'])} match {int(table['match'])} deck {int(table['deck'])}",
            f"{_deal_name(table, rules)}, dealer {int(table['dealer'])}, trump {_trump_text(table)}",
            "bids " + " ".join(_bid_text(table, seat) for seat in range(NUM_SEATS)),
            "won " + " ".join(str(int(won)) for won in table["tricks_won"]),
            "totals " + " ".join(tenths_text(int(total)) for total in table["totals"]),
            f"trick {trick or '-'}",
            f"hands {hands}",
        )
    )


def _hand_lines(table: Record, seat: int, shown: bool) -> list[str]:
    cards = cards_of(table["hands"][seat])
    if not shown:
        held = 13 * (int(table["active"]) >> seat & 1) - int(table["played"][seat]).bit_count()
        return [f"{held} card{'s' * (held != 1)}"]
    lines = []
    for suit in _SUITS_BY_COLOUR:
        ranks = [RANK_LETTERS[card % 13] for card in reversed(cards) if card // 13 == suit]
        lines.append(f"{SUIT_SYMBOLS[suit]} {' '.join(ranks)}".rstrip())
    return lines


def _block(table: Record, seat: int, shown: bool) -> list[str]:
    """Name, figures and hand of one seat, six lines."""
    roles = " (dealer)" if seat == table["dealer"] else ""
    mark = "▶ " if seat == table["seat"] else ""
    if int(table["active"]) >> seat & 1:
        figures = f"bid {_bid_text(table, seat)}, won {int(table['tricks_won'][seat])}, "
    else:
        figures = "not in this deal, "
    figures += f"total {tenths_text(int(table['totals'][seat]))}"
    lines = [f"{mark}seat {seat}{roles}", figures, *_hand_lines(table, seat, shown)]
    return [line.ljust(_BLOCK) for line in lines + [""] * (6 - len(lines))]


def _turn_text(table: Record, legal: list[int] | None) -> str:
    if table["phase"] == OVER:
        winners = " and ".join(f"seat {seat}" for seat in seats_of(table["winners"]))
        verb = "wins" if int(table["winners"]).bit_count() == 1 else "win"
        return f"The match is over: {winners} {verb}."
    verb = "bid" if table["phase"] == BIDDING else "play"
    text = f"Seat {int(table['seat'])} to {verb}"
    if legal:
        text += ": " + ", ".join(action_symbol(action) for action in legal)
    return text + "."


def table_picture(
    table: Record, rules: Rules, viewer: int | None = None, legal: list[int] | None = None
) -> str:
    """The four hands around a table, play going counter-clockwise (to the right).

    Args:
        table: the record.
        rules: of the match.
        viewer: the seat at the bottom, whose hand alone is shown; None shows all, seat 0 at the bottom.
        legal: the legal actions, for the last line.
    """
    base = viewer or 0
    south, east, north, west = ((base + i) % NUM_SEATS for i in range(NUM_SEATS))
    blocks = {seat: _block(table, seat, viewer is None or seat == viewer) for seat in range(NUM_SEATS)}
    cards = {seat: card_symbol(card) for seat, card in trick_in_order(table)}
    centre = [
        "┌───────────┐",
        f"│    {cards.get(north, '  ')}     │",
        f"│ {cards.get(west, '  ')}  ↺  {cards.get(east, '  ')} │",
        f"│    {cards.get(south, '  ')}     │",
        "└───────────┘",
        " " * 13,
    ]
    head = f"{_deal_name(table, rules).capitalize()}, "
    if table["phase"] == BIDDING:
        head += "bidding"
    else:
        head += f"trick {min(int(table['trick_no']) + 1, 13)} of 13"
    indent = " " * (_BLOCK + 1)
    lines = [f"{head}, trump {_trump_text(table)}", ""]
    lines += [indent + line for line in blocks[north]]
    lines += [
        f"{left} {middle}   {right}"
        for left, middle, right in zip(blocks[west], centre, blocks[east], strict=True)
    ]
    lines += [indent + line for line in blocks[south]]
    lines += ["", _turn_text(table, legal)]
    return "\n".join(line.rstrip() for line in lines)


def aligned(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> list[str]:
    """The lines of a table of texts; the first ``left`` columns are text, the others right-aligned."""
    everything = [list(head), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*everything, strict=True)]
    lines = []
    for line in everything:
        cells = [
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines
