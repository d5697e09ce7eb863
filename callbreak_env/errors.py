"""What goes wrong, told so that it can be pasted into a bug report. All are ``ValueError``s."""

from __future__ import annotations

from callbreak_env.actions import NUM_ACTIONS, action_symbol, is_bid
from callbreak_env.cards import SUIT_NAMES, card_symbol
from callbreak_env.engine import state
from callbreak_env.engine.state import SUIT_OF, Record
from callbreak_env.rules import Rules
from callbreak_env.text import table_line


class CallBreakError(ValueError):
    """Base of this package's own errors."""


class IllegalAction(CallBreakError):  # noqa: N818 - the name is a public contract
    """An action that the rules forbid; the table has not changed.

    Attributes:
        seat: the seat to act, None when the match is over.
        action: the action id.
        clause: the clause of the rules that it breaks, such as ``"R8"``.
        legal: the legal action ids.
        table: the position in one line.
    """

    def __init__(
        self,
        message: str,
        seat: int | None = None,
        action: int | None = None,
        clause: str = "",
        legal: tuple[int, ...] = (),
        table: str = "",
    ) -> None:
        # All arguments go to the base, so that pickle can make the error again (in worker processes).
        super().__init__(message, seat, action, clause, legal, table)
        self.seat = seat
        self.action = action
        self.clause = clause
        self.legal = legal
        self.table = table

    def __str__(self) -> str:
        return str(self.args[0])


class RecordError(CallBreakError):
    """A record or a match file that is not one, or that the rules contradict; says where."""


class NotResetError(CallBreakError, AttributeError):
    """An environment was used before its first ``reset``, or after its last agent was done."""


def _reason(code: int, table: Record, rules: Rules) -> tuple[str, str]:
    """The clause and the reason, in words, for a violation code of the engine."""
    best_led, best_trump = int(table["best_led"]), int(table["best_trump"])
    led = SUIT_NAMES[SUIT_OF[best_led]]
    trump = SUIT_NAMES[int(table["trump"])]
    match code:
        case state.MATCH_IS_OVER:
            return "R14", "the match is over"
        case state.CARD_WHILE_BIDDING:
            return "R5", "every seat bids before a card is played"
        case state.BID_RANGE:
            return "R5", f"bids are {rules.min_bid} to {rules.max_bid}"
        case state.BID_WHILE_PLAYING:
            return "R5", "each seat bids once, before the play"
        case state.NOT_HELD:
            return "R4", "does not hold that card"
        case state.FIRST_LEAD:
            return "R7", "a spade may not lead the first trick from a hand that holds another suit"
        case state.MUST_FOLLOW:
            return "R8", f"holds {led}, the led suit"
        case state.MUST_BEAT:
            return "R8", f"holds a card that beats {card_symbol(best_led)}"
        case state.MUST_TRUMP:
            return "R9", f"holds {trump}, which are trumps, void in {led}"
        case state.MUST_OVERTRUMP:
            return "R9", f"holds a trump that beats {card_symbol(best_trump)}"
        case _:
            return "", f"action ids are 0 to {NUM_ACTIONS - 1}"


def illegal_action(
    code: int, action: int, table: Record, rules: Rules, legal: tuple[int, ...]
) -> IllegalAction:
    """The error for a violation code of the engine."""
    seat = None if table["seat"] == state.NONE else int(table["seat"])
    clause, reason = _reason(code, table, rules)
    if not 0 <= action < NUM_ACTIONS:
        what = f"take action {action}"
    else:
        what = action_symbol(action) if is_bid(action) else f"play {action_symbol(action)}"
    who = "nobody can" if seat is None else f"seat {seat} cannot"
    line = table_line(table, rules)
    options = " ".join(action_symbol(each) for each in legal) or "nothing"
    message = f"{who} {what}: {f'{clause} ' if clause else ''}{reason}; legal {options} | {line}"
    return IllegalAction(message, seat, action, clause, legal, line)
