"""What a seat sees, as arrays. ``FIELDS`` is the layout: vector, named parts and printed table come from it.

Seats are egocentric: own seat first, then counter-clockwise. Every field of the flat encoding is a
number divided by its scale, in [-1, 1]. Nothing that the seat could not know goes in: the kernels read the
own hand and what all have seen.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from callbreak_env.actions import NUM_ACTIONS
from callbreak_env.cards import CARDS_PER_HAND, NUM_CARDS, NUM_SEATS
from callbreak_env.engine._jit import kernel
from callbreak_env.engine.state import NEXT_SEAT, SUIT_OF, Array, Record
from callbreak_env.match import Match, check_seat
from callbreak_env.table import View

LAYOUT_VERSION = 1
"""Goes up when a field is added, moved or changed; trained weights belong to one layout."""

MAX_DEALS_SHOWN = 20
MAX_POINTS_SHOWN = 50
_RULE_SCALES = (13, 13, 52, MAX_DEALS_SHOWN, 1, 26, 127, 1, 1, 1, 1, 1, 1, 1)


@dataclass(frozen=True)
class Field:
    """One named piece of the observation.

    Attributes:
        name: of the piece.
        shape: its shape; the vector holds it flat, in C order.
        scale: what stands for 1.0, one for all slots or one a slot.
        meaning: in words.
    """

    name: str
    shape: tuple[int, ...]
    scale: int | tuple[int, ...]
    meaning: str

    @property
    def size(self) -> int:
        """Slots in the vector."""
        return math.prod(self.shape)


FIELDS = (
    Field("hand", (52,), 1, "own cards"),
    Field("trick", (4, 52), 1, "card in the current trick, by seat"),
    Field("played", (4, 52), 1, "cards played in this deal, by seat, the current trick included"),
    Field("may_hold", (3, 52), 1, "cards that each other seat may still hold, by what play has proved"),
    Field("bids", (4, 14), 1, "bid by seat, one-hot; slot 0: not (yet) bid"),
    Field("tricks_won", (4, 14), 1, "tricks won in this deal by seat, one-hot 0-13"),
    Field("to_act", (4,), 1, "seat to act, one-hot; zeros when the match is over"),
    Field("leader", (4,), 1, "seat that leads or led the trick, or will lead the first, one-hot"),
    Field("dealer", (4,), 1, "seat that dealt, one-hot"),
    Field("active", (4,), 1, "seats in this deal: all but in an extra deal"),
    Field("in_trick", (4,), 1, "cards in the current trick, one-hot 0-3: the position of the next"),
    Field("trick_number", (14,), 1, "finished tricks of this deal, one-hot 0-13"),
    Field("phase", (3,), 1, "bidding, playing, over, one-hot"),
    Field("trump", (5,), 1, "clubs, diamonds, hearts, spades, not yet known, one-hot"),
    Field("led_suit", (5,), 1, "clubs, diamonds, hearts, spades, none led, one-hot"),
    Field("extra_deal", (1,), 1, "whether this is the extra deal"),
    Field("deal", (1,), MAX_DEALS_SHOWN, "number of the deal from 0, at most 20"),
    Field("deals_left", (1,), MAX_DEALS_SHOWN, "deals after this one, at most 20, no extra deal"),
    Field("redeals", (1,), MAX_DEALS_SHOWN, "times in a row that this deal was thrown in, at most 20"),
    Field(
        "totals",
        (3,),
        MAX_POINTS_SHOWN,
        "points that each other seat's total is above own, at most ±50",
    ),
    Field(
        "rules",
        (14,),
        _RULE_SCALES,
        "min_bid, max_bid, min_total_bid (at most 52), max_redeals (at most 20), misdeal, bonus_bid "
        "(0 off, at most 26), bonus_points (at most 127), partnership, first-led trump, "
        "free_spade_lead, shared tie, must_beat, beat_when_trumped, undertrump",
    ),
)
STATE_FIELDS = (
    *FIELDS,
    Field("other_hands", (3, 52), 1, "cards of seats 1, 2, 3"),
    Field("total", (1,), MAX_POINTS_SHOWN, "points of seat 0's total, at most ±50"),
)
"""The whole table for a central critic: seat 0's observation, then what it cannot see."""

WIDTH = sum(field.size for field in FIELDS)
STATE_WIDTH = sum(field.size for field in STATE_FIELDS)
MAX_EVENTS = NUM_SEATS + NUM_CARDS
HISTORY_WIDTH = CARDS_PER_HAND + 2 * MAX_EVENTS
HISTORY_PAD = -1


@kernel()
def _put_cards(out: Array, at: int, cards: np.uint64) -> int:
    for card in range(52):
        out[at + card] = cards >> np.uint64(card) & np.uint64(1)
    return at + 52


@kernel()
def _put_one_hot(out: Array, at: int, index: int, size: int) -> int:
    for i in range(size):
        out[at + i] = i == index
    return at + size


@kernel()
def _put_number(out: Array, at: int, value: Any, scale: int) -> int:
    """``value / scale``, kept within [-1, 1]."""
    out[at] = np.float32(max(-scale, min(scale, value)) / scale)
    return at + 1


@kernel()
def _relative(seat: int, viewer: int) -> int:
    """A seat counted from the viewer's; NONE stays below 0."""
    return (seat - viewer) & 3 if seat >= 0 else -1


@kernel()
def _put_seats(table: Record, viewer: int, out: Array, at: int) -> int:
    """The fields that are one row a seat, hand to tricks_won."""
    at = _put_cards(out, at, table["hands"][viewer])
    for i in range(4):
        card = int(table["trick"][(viewer + i) & 3])
        at = _put_cards(out, at, np.uint64(1) << np.uint64(card) if card >= 0 else np.uint64(0))
    for i in range(4):
        at = _put_cards(out, at, table["played"][(viewer + i) & 3])
    for i in range(1, 4):
        unseen = table["may_hold"][(viewer + i) & 3] & ~table["hands"][viewer]
        at = _put_cards(out, at, unseen)
    for i in range(4):
        at = _put_one_hot(out, at, int(table["bids"][(viewer + i) & 3]), 14)
    for i in range(4):
        at = _put_one_hot(out, at, int(table["tricks_won"][(viewer + i) & 3]), 14)
    return at


@kernel()
def _put_moment(table: Record, viewer: int, out: Array, at: int) -> int:
    """The fields that tell where in the deal we are, to_act to led_suit."""
    at = _put_one_hot(out, at, _relative(int(table["seat"]), viewer), 4)
    at = _put_one_hot(out, at, _relative(int(table["leader"]), viewer), 4)
    at = _put_one_hot(out, at, _relative(int(table["dealer"]), viewer), 4)
    for i in range(4):
        out[at + i] = int(table["active"]) >> ((viewer + i) & 3) & 1
    at = _put_one_hot(out, at + 4, int(table["in_trick"]), 4)
    at = _put_one_hot(out, at, int(table["trick_no"]), 14)
    at = _put_one_hot(out, at, int(table["phase"]), 3)
    trump, best_led = int(table["trump"]), int(table["best_led"])
    at = _put_one_hot(out, at, trump if trump >= 0 else 4, 5)
    return _put_one_hot(out, at, SUIT_OF[best_led] if best_led >= 0 else 4, 5)


@kernel()
def _put_rules(rules: Record, out: Array, at: int) -> int:
    """The field ``rules``."""
    values = (
        np.int64(rules["min_bid"]),
        np.int64(rules["max_bid"]),
        np.int64(rules["min_total_bid"]),
        np.int64(rules["max_redeals"]),
        np.int64(rules["misdeal"]),
        np.int64(rules["bonus_bid"]),
        np.int64(rules["bonus_points"]),
        np.int64(rules["partnership"]),
        np.int64(rules["first_led"]),
        np.int64(rules["free_spade_lead"]),
        np.int64(rules["shared"]),
        np.int64(rules["must_beat"]),
        np.int64(rules["beat_when_trumped"]),
        np.int64(rules["undertrump"]),
    )
    for i in range(len(values)):
        at = _put_number(out, at, values[i], _RULE_SCALES[i])
    return at


@kernel()
def put_observation(table: Record, rules: Record, viewer: int, out: Array) -> int:
    """Write the flat encoding of one seat into ``out`` (float32, WIDTH or longer); returns WIDTH."""
    at = _put_moment(table, viewer, out, _put_seats(table, viewer, out, 0))
    deal, deals = int(table["deal"]), int(rules["deals"])
    at = _put_number(out, at, 1 if deal >= deals else 0, 1)
    at = _put_number(out, at, deal, MAX_DEALS_SHOWN)
    at = _put_number(out, at, max(0, deals - 1 - deal), MAX_DEALS_SHOWN)
    at = _put_number(out, at, int(table["redeals"]), MAX_DEALS_SHOWN)
    for i in range(1, 4):
        above = int(table["totals"][(viewer + i) & 3]) - int(table["totals"][viewer])
        at = _put_number(out, at, above, 10 * MAX_POINTS_SHOWN)
    return _put_rules(rules, out, at)


@kernel()
def encode_flat(tables: Array, rules: Array, viewer: int, out: Array) -> None:
    """The flat encoding of one seat at one table ([1] TABLE) into ``out`` ([WIDTH] float32)."""
    put_observation(tables[0], rules[0], viewer, out)


@kernel()
def encode_state(tables: Array, rules: Array, out: Array) -> None:
    """The whole table ([1] TABLE) into ``out`` ([STATE_WIDTH] float32)."""
    table = tables[0]
    at = put_observation(table, rules[0], 0, out)
    for seat in range(1, 4):
        at = _put_cards(out, at, table["hands"][seat])
    _put_number(out, at, int(table["totals"][0]), 10 * MAX_POINTS_SHOWN)


@kernel()
def encode_history(tables: Array, rules: Array, viewer: int, out: Array) -> None:
    """The history encoding of one seat at one table ([1] TABLE) into ``out`` ([HISTORY_WIDTH] int16)."""
    table = tables[0]
    for i in range(len(out)):
        out[i] = -1
    at = 0
    for card in range(52):
        if table["hands"][viewer] >> np.uint64(card) & np.uint64(1):
            out[at] = card
            at += 1
    at = 13
    active = int(table["active"])
    seat = int(table["dealer"])
    for _ in range(int(table["num_active"])):
        seat = NEXT_SEAT[active, seat]
        bid = int(table["bids"][seat])
        if bid > 0:
            out[at] = (seat - viewer) & 3
            out[at + 1] = 51 + bid
            at += 2
    for i in range(int(table["num_played"])):
        entry = int(table["log"][i])
        out[at] = ((entry >> 6) - viewer) & 3
        out[at + 1] = entry & 63
        at += 2


def new_space(encoding: str) -> spaces.Box:
    """A fresh space of an encoding, ``"flat"`` or ``"history"``.

    Raises:
        ValueError: there is no such encoding.
    """
    if encoding == "flat":
        return spaces.Box(-1.0, 1.0, (WIDTH,), np.float32)
    if encoding == "history":
        return spaces.Box(HISTORY_PAD, NUM_ACTIONS - 1, (HISTORY_WIDTH,), np.int16)
    raise _no_encoding(encoding)


def encode(
    table: Match | View, seat: int | None = None, encoding: str = "flat"
) -> npt.NDArray[np.float32] | npt.NDArray[np.int16]:
    """What a seat sees at a ``Match`` or in a ``View``.

    Args:
        table: a match, or a seat's view.
        seat: whose eyes; a view's own seat when left out.
        encoding: ``"flat"``: [WIDTH] float32 in [-1, 1], the fields of ``FIELDS`` one after the other.
            ``"history"``: [HISTORY_WIDTH] int16 for recurrent and attention models: 13 slots of own cards
            held, ascending, then up to 56 pairs (seat counted from own, action id), the bids and cards of
            this deal in order; -1 where there is nothing.

    Raises:
        ValueError: no such encoding or seat, or a view of another seat.
    """
    if isinstance(table, View):
        if seat not in (None, table.viewer):
            raise ValueError(f"this is the view of seat {table.viewer}, not of seat {seat}")
        seat = table.viewer
    seat = check_seat(seat, "seat")
    if encoding == "flat":
        flat = np.empty(WIDTH, np.float32)
        encode_flat(table.record_array, table.rules_array, seat, flat)
        return flat
    if encoding == "history":
        history = np.empty(HISTORY_WIDTH, np.int16)
        encode_history(table.record_array, table.rules_array, seat, history)
        return history
    raise _no_encoding(encoding)


def _no_encoding(encoding: str) -> ValueError:
    return ValueError(f"there is no encoding {encoding!r:.40}: choose 'flat' or 'history'")


def split(
    vector: npt.NDArray[np.float32], fields: tuple[Field, ...] = FIELDS
) -> dict[str, npt.NDArray[np.float32]]:
    """The named parts of a flat observation (or of a state, with ``STATE_FIELDS``), as views into it.

    Args:
        vector: [..., width]; leading dimensions stay.
        fields: the layout.

    Raises:
        ValueError: another width.
    """
    width = sum(field.size for field in fields)
    if vector.shape[-1:] != (width,):
        raise ValueError(f"the vector must be {width} wide, not of shape {vector.shape}")
    return {
        field.name: vector[..., start : start + field.size].reshape(*vector.shape[:-1], *field.shape)
        for field, start in _with_starts(fields)
    }


def _with_starts(fields: tuple[Field, ...]) -> Iterator[tuple[Field, int]]:
    start = 0
    for field in fields:
        yield field, start
        start += field.size


def layout_digest() -> str:
    """A digest of the layout, to be kept beside trained weights."""
    return hashlib.sha256(repr([LAYOUT_VERSION, FIELDS]).encode()).hexdigest()[:16]


def field_table() -> list[tuple[str, str, str, str, str]]:
    """The layout as rows of text: name, slots from-to, shape, scale, meaning."""
    return [
        (
            field.name,
            f"{start}-{start + field.size - 1}" if field.size > 1 else str(start),
            " x ".join(map(str, field.shape)),
            str(field.scale) if isinstance(field.scale, int) else "by slot",
            field.meaning,
        )
        for field, start in _with_starts(FIELDS)
    ]
