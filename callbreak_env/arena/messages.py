"""The messages to and from a program that plays: JSON objects, one a line, as docs/agents.md tells.

Cards are text (``"QS"``), suits letters, seats 0-3, points tenths. Each question has an ``id``, which its
answer repeats.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from callbreak_env.actions import bid_action, bid_of, is_bid
from callbreak_env.arena.guard import AgentFault, AgentIllegal
from callbreak_env.cards import NUM_SEATS, SUIT_LETTERS, card_text, parse_card
from callbreak_env.checks import check_int
from callbreak_env.rules import Rules
from callbreak_env.table import View

PROTOCOL = 1
"""The version of the messages."""

MAX_LINE = 1 << 16
"""The longest answer, in bytes."""

MAX_SEED = 2**53
"""Seeds are below: numbers that every language reads from JSON exactly."""

Message = dict[str, Any]

_ANSWERS: dict[str, Callable[[Any], int]] = {
    "action": lambda value: check_int(value, "an action"),
    "card": parse_card,
    "bid": lambda value: bid_action(check_int(value, "a bid")),
}
"""How an answer may name an action, and how that is read."""


def line_of(number: int, message: Message) -> bytes:
    """A question as a line."""
    return json.dumps({"id": number, **message}, separators=(",", ":")).encode() + b"\n"


def hello() -> Message:
    """The first question."""
    return {"type": "hello", "protocol": PROTOCOL}


def reset(seat: int, rules: Rules, seed: int) -> Message:
    """A deal begins."""
    return {"type": "reset", "seat": seat, "rules": rules.to_dict(), "seed": seed}


def act(view: View) -> Message:
    """What shall the seat do: all that its view knows, and nothing else."""
    actions = view.legal_actions()
    return {
        "type": "act",
        "seat": view.viewer,
        "phase": view.phase,
        "legal": [bid_of(action) if is_bid(action) else card_text(action) for action in actions],
        "legal_actions": actions,
        "hand": _texts(view.hand),
        "trick": _plays(view.trick),
        "bids": view.bids,
        "tricks_won": view.tricks_won,
        "plays": _plays(view.plays),
        "dealer": view.dealer,
        "leader": view.leader,
        "trump": None if view.trump is None else SUIT_LETTERS[view.trump],
        "active": list(view.active),
        "may_hold": [_texts(view.may_hold(seat)) for seat in range(NUM_SEATS)],
        "deal": view.deal,
        "redeals": view.redeals,
        "trick_no": view.trick_no,
        "last_winner": view.last_winner,
        "totals": view.totals,
        "points": view.points,
    }


def answer_of(line: bytes, number: int) -> Message:
    """The answer to question ``number`` in a line.

    Raises:
        AgentFault: it is none.
    """
    if len(line) > MAX_LINE:
        raise AgentFault(f"a line of its output is longer than {MAX_LINE} bytes: {_shown(line)}")
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        raise AgentFault(f"a line of its output is not JSON: {_shown(line)}") from None
    if not isinstance(answer, dict) or "id" not in answer:
        raise AgentFault(f"a line of its output is no object with an id: {_shown(line)}")
    given = answer["id"]
    if type(given) is not int or given != number:
        raise AgentFault(f"it answered question {given!r:.40} instead of {number}: {_shown(line)}")
    return answer


def program_of(answer: Message) -> str | None:
    """What a program calls itself in its answer to ``hello``.

    Raises:
        AgentFault: it speaks another protocol.
    """
    if answer.get("protocol") != PROTOCOL:
        told = answer.get("protocol")
        raise AgentFault(f"it speaks protocol {told!r:.40}, not {PROTOCOL} (in its answer to hello)")
    name = answer.get("name")
    return None if name is None else str(name)[:100]


def action_of(answer: Message) -> int:
    """The action id that an answer to ``act`` names; whether it is legal is not looked at.

    Raises:
        AgentIllegal: there is no such action.
        AgentFault: it names none, or more than one.
    """
    named = [way for way in _ANSWERS if way in answer]
    if len(named) != 1:
        raise AgentFault(f"it must answer with one of {', '.join(_ANSWERS)}: {str(answer)[:200]}")
    try:
        return _ANSWERS[named[0]](answer[named[0]])
    except ValueError as error:
        raise AgentIllegal(f"it answered {str(answer)[:200]}: {error}") from None


def _texts(cards: list[int]) -> list[str]:
    return [card_text(card) for card in cards]


def _plays(plays: list[tuple[int, int]]) -> list[list[int | str]]:
    return [[seat, card_text(card)] for seat, card in plays]


def _shown(line: bytes) -> str:
    return f"{line[:200].decode(errors='replace')!r}"
