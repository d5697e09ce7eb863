"""The read-only Python face of one table record, and a seat's view: that record without its secrets."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from callbreak_env.actions import NUM_ACTIONS
from callbreak_env.cards import NUM_SEATS, cards_of
from callbreak_env.checks import check_seat
from callbreak_env.engine.legality import write_masks
from callbreak_env.engine.state import NO_LOG, NONE, OVER, Array, rules_record
from callbreak_env.rules import Rules
from callbreak_env.text import seats_of, table_picture, trick_in_order

_PHASES = ("bidding", "playing", "over")


def _or_none(value: Any) -> int | None:
    return None if value == NONE else int(value)


def legal_mask_of(tables: Array, rules: Array) -> npt.NDArray[np.int8]:
    """[65] int8, 1 = legal for the seat to act at a table ([1] TABLE); all zeros when over."""
    masks = np.empty((1, NUM_ACTIONS), np.int8)
    write_masks(tables, rules, masks)
    mask: npt.NDArray[np.int8] = masks[0]
    return mask


class TableFace:
    """What all can see of a table. Seats are 0-3, cards and actions ids, points and totals tenths."""

    __slots__ = ("_record", "_rules", "_tables")

    _tables: Array
    _rules: Rules
    _record: Array

    @property
    def rules(self) -> Rules:
        """The rules of the match."""
        return self._rules

    @property
    def record_array(self) -> Array:
        """The engine's record, an array of one ``TABLE``: for compiled code; not to be written."""
        return self._tables

    @property
    def rules_array(self) -> Array:
        """The rules as the engine reads them, an array of one ``RULES``; not to be written."""
        return self._record

    @property
    def phase(self) -> str:
        """``"bidding"``, ``"playing"`` or ``"over"``."""
        return _PHASES[int(self._tables["phase"][0])]

    @property
    def is_over(self) -> bool:
        """Whether the match is over."""
        return bool(self._tables["phase"][0] == OVER)

    @property
    def seat(self) -> int | None:
        """The seat to act; None when the match is over."""
        return _or_none(self._tables["seat"][0])

    @property
    def dealer(self) -> int:
        """The seat that dealt."""
        return int(self._tables["dealer"][0])

    @property
    def leader(self) -> int:
        """The seat that leads or led the current trick; while bidding, the one that will lead."""
        return int(self._tables["leader"][0])

    @property
    def last_winner(self) -> int | None:
        """The seat that won the last finished trick, of the deal before if need be; None before one."""
        return _or_none(self._tables["last_winner"][0])

    @property
    def deal(self) -> int:
        """The number of the deal, from 0; the extra deal has number ``rules.deals``."""
        return int(self._tables["deal"][0])

    @property
    def is_extra_deal(self) -> bool:
        """Whether this is the extra deal of R15."""
        return self.deal >= self._rules.deals

    @property
    def redeals(self) -> int:
        """H2: how often in a row this deal's bids have been thrown in."""
        return int(self._tables["redeals"][0])

    @property
    def trick_no(self) -> int:
        """Finished tricks of this deal, 0-13."""
        return int(self._tables["trick_no"][0])

    @property
    def trump(self) -> int | None:
        """The trump suit 0-3; None while unknown (H6)."""
        return _or_none(self._tables["trump"][0])

    @property
    def active(self) -> tuple[int, ...]:
        """The seats in this deal: all but in an extra deal."""
        return tuple(seats_of(self._tables["active"][0]))

    @property
    def bids(self) -> list[int | None]:
        """The bids by seat, None where there is none (yet)."""
        return [int(bid) or None for bid in self._tables["bids"][0]]

    @property
    def tricks_won(self) -> list[int]:
        """Tricks won in this deal, by seat."""
        return [int(won) for won in self._tables["tricks_won"][0]]

    @property
    def trick(self) -> list[tuple[int, int]]:
        """The current trick as (seat, card) in play order; a finished trick is gone at once."""
        return trick_in_order(self._tables[0])

    @property
    def plays(self) -> list[tuple[int, int]]:
        """All cards played in this deal as (seat, card) in play order, the current trick included."""
        log = self._tables["log"][0][: int(self._tables["num_played"][0])]
        return [(int(entry) >> 6, int(entry) & 63) for entry in log]

    @property
    def totals(self) -> list[int]:
        """Totals of the match by seat, in tenths; the extra deal never counts."""
        return [int(total) for total in self._tables["totals"][0]]

    @property
    def points(self) -> list[int]:
        """Points of the last finished deal by seat, in tenths; zeros before the first."""
        return [int(points) for points in self._tables["points"][0]]

    @property
    def winners(self) -> tuple[int, ...]:
        """The seats that win the match, both partners; empty before its end."""
        return tuple(seats_of(self._tables["winners"][0]))


class View(TableFace):
    """What one seat knows at one moment, and nothing else: what agents act on.

    It is a copy: the hidden hands, the key of the shuffles and the log beyond the last card are not in it,
    so no code that is given a view can look at them.
    """

    __slots__ = ("_viewer",)

    def __init__(self, tables: Array, rules: Rules, viewer: int) -> None:
        """The view of ``viewer`` on a table ([1] TABLE), which is copied."""
        viewer = check_seat(viewer, "seat")
        self._rules = rules
        self._record = rules_record(rules)
        self._viewer = viewer
        self._tables = tables.copy()
        table = self._tables[0]
        for seat in range(NUM_SEATS):
            if seat != viewer:
                table["hands"][seat] = 0
        for secret in ("seed", "match", "deck"):
            table[secret] = 0
        table["log"][int(table["num_played"]) :] = NO_LOG

    @property
    def viewer(self) -> int:
        """Whose view it is."""
        return self._viewer

    @property
    def hand(self) -> list[int]:
        """The viewer's cards, ascending."""
        return cards_of(self._tables["hands"][0, self._viewer])

    def may_hold(self, seat: int) -> list[int]:
        """The cards that a seat may still hold by what the viewer has seen (own seat: the hand)."""
        if seat == self._viewer:
            return self.hand
        unseen = int(self._tables["may_hold"][0, seat])
        return cards_of(unseen & ~int(self._tables["hands"][0, self._viewer]))

    def legal_mask(self) -> npt.NDArray[np.int8]:
        """[65] int8, 1 = legal; all zeros when the viewer is not to act."""
        if self.seat != self._viewer:
            return np.zeros(NUM_ACTIONS, np.int8)
        return legal_mask_of(self._tables, self._record)

    def legal_actions(self) -> list[int]:
        """The legal action ids, ascending; empty when the viewer is not to act."""
        return [int(action) for action in np.flatnonzero(self.legal_mask())]

    def __str__(self) -> str:
        """The table as the viewer sees it, as a picture."""
        return table_picture(self._tables[0], self._rules, self._viewer, self.legal_actions())
