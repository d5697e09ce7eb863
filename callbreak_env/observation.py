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

from callbreak_env.actions import BID_OFFSET, NUM_ACTIONS
from callbreak_env.cards import CARDS_PER_HAND, NUM_CARDS, NUM_SEATS
from callbreak_env.checks import check_choice, check_seat
from callbreak_env.engine._jit import inlined, kernel, lowest_bit, store_bits
from callbreak_env.engine.state import NEXT_SEAT, SUIT_OF, Array, Record
from callbreak_env.match import Match
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
DTYPES = ("float32", "int8")
"""Of the flat encoding."""
SCALES = np.concatenate([np.broadcast_to(field.scale, field.size) for field in FIELDS]).astype(np.float32)
"""[804] float32: what stands for 1.0 in each slot. int8 rows over it are float32 ones, save ``totals``."""


_START = {field.name: sum(f.size for f in STATE_FIELDS[:i]) for i, field in enumerate(STATE_FIELDS)}
_TRICK, _PLAYED, _MAY_HOLD = _START["trick"], _START["played"], _START["may_hold"]
_BIDS, _TRICKS_WON, _MOMENT = _START["bids"], _START["tricks_won"], _START["to_act"]
_DEAL, _DEALS_LEFT, _REDEALS = _START["deal"], _START["deals_left"], _START["redeals"]
_TOTALS, _HANDS, _TOTAL = _START["totals"], _START["other_hands"], _START["total"]
RULES_AT = _START["rules"]
NUM_RULES = len(_RULE_SCALES)
_LEADER, _DEALER, _ACTIVE, _IN_TRICK, _TRICK_NUMBER, _PHASE, _TRUMP, _LED_SUIT, _EXTRA_DEAL = (
    _START[name] - _MOMENT
    for name in (
        "leader",
        "dealer",
        "active",
        "in_trick",
        "trick_number",
        "phase",
        "trump",
        "led_suit",
        "extra_deal",
    )
)
"""Places in the word of the fields from ``to_act`` to ``extra_deal``."""
assert _MOMENT + 64 <= WIDTH, "that word is written as 64 slots, which must be within a row"
_NOBODY = np.uint64(0)


@kernel()
def _one(index: int) -> np.uint64:
    """The set of one index."""
    return np.uint64(1) << np.uint64(index)


@inlined()
def _put_seats(table: Record, viewer: int, out: Array) -> None:
    """The fields that have a row a seat, hand to tricks_won.

    Each row is written as 64 slots; what goes beyond it is overwritten by the next.
    """
    hand = table["hands"][viewer]
    store_bits(out, 0, hand)
    bids = won = _NOBODY
    for i in range(4):
        seat = (viewer + i) & 3
        card = int(table["trick"][seat])
        store_bits(out, _TRICK + 52 * i, _one(card) if card >= 0 else _NOBODY)
        bids |= _one(14 * i + int(table["bids"][seat]))
        won |= _one(14 * i + int(table["tricks_won"][seat]))
    for i in range(4):
        store_bits(out, _PLAYED + 52 * i, table["played"][(viewer + i) & 3])
    for i in range(3):
        store_bits(out, _MAY_HOLD + 52 * i, table["may_hold"][(viewer + 1 + i) & 3] & ~hand)
    store_bits(out, _BIDS, bids)
    store_bits(out, _TRICKS_WON, won)


@inlined()
def _moment(table: Record, rules: Record, viewer: int) -> np.uint64:
    """The fields that tell where in the deal we are, to_act to extra_deal, as the bits of one word."""
    seat, trump, best_led = int(table["seat"]), int(table["trump"]), int(table["best_led"])
    active = np.uint64(table["active"])
    bits = _one((seat - viewer) & 3) if seat >= 0 else _NOBODY
    bits |= _one(_LEADER + ((int(table["leader"]) - viewer) & 3))
    bits |= _one(_DEALER + ((int(table["dealer"]) - viewer) & 3))
    from_own = (active | active << np.uint64(4)) >> np.uint64(viewer)
    bits |= (from_own & np.uint64(15)) << np.uint64(_ACTIVE)
    bits |= _one(_IN_TRICK + int(table["in_trick"]))
    bits |= _one(_TRICK_NUMBER + int(table["trick_no"]))
    bits |= _one(_PHASE + int(table["phase"]))
    bits |= _one(_TRUMP + (trump if trump >= 0 else 4))
    bits |= _one(_LED_SUIT + (SUIT_OF[best_led] if best_led >= 0 else 4))
    if table["deal"] >= rules["deals"]:
        bits |= _one(_EXTRA_DEAL)
    return bits


@inlined()
def _put_number(out: Array, at: int, value: Any, limit: int, unit: int) -> None:
    """``value``, kept within ``limit``, over ``unit``; in an int8 row rounded (halves to even)."""
    kept = max(-limit, min(limit, value))
    if out.itemsize > 1:
        out[at] = np.float32(kept) / np.float32(unit)
    elif unit == 1:
        out[at] = kept
    else:
        out[at] = np.rint(np.float32(kept) / np.float32(unit))


@kernel()
def put_rules(rules: Record, out: Array, at: int) -> None:
    """Write the field ``rules``, the same for all rows of a batch, into a row from ``at`` on."""
    exact = out.itemsize == 1
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
        _put_number(out, at + i, values[i], _RULE_SCALES[i], 1 if exact else _RULE_SCALES[i])


@inlined()
def put_observation(table: Record, rules: Record, viewer: int, out: Array) -> None:
    """Write the flat encoding of one seat, all but the field ``rules``, into ``out``.

    ``out`` is a row of WIDTH or more slots: float32, or int8, where numbers stand as they are (``totals``
    rounded to whole points) and not over their scale.
    """
    exact = out.itemsize == 1
    _put_seats(table, viewer, out)
    store_bits(out, _MOMENT, _moment(table, rules, viewer))
    deal, deals = int(table["deal"]), int(rules["deals"])
    unit = 1 if exact else MAX_DEALS_SHOWN
    _put_number(out, _DEAL, deal, MAX_DEALS_SHOWN, unit)
    _put_number(out, _DEALS_LEFT, max(0, deals - 1 - deal), MAX_DEALS_SHOWN, unit)
    _put_number(out, _REDEALS, int(table["redeals"]), MAX_DEALS_SHOWN, unit)
    unit = 10 if exact else 10 * MAX_POINTS_SHOWN
    for i in range(3):
        above = int(table["totals"][(viewer + 1 + i) & 3]) - int(table["totals"][viewer])
        _put_number(out, _TOTALS + i, above, 10 * MAX_POINTS_SHOWN, unit)


@kernel()
def put_history(table: Record, viewer: int, out: Array) -> None:
    """Write the history encoding of one seat into ``out`` ([HISTORY_WIDTH] int16)."""
    for i in range(len(out)):
        out[i] = HISTORY_PAD
    hand = table["hands"][viewer]
    at = 0
    while hand != _NOBODY:
        out[at] = lowest_bit(hand)
        hand &= hand - np.uint64(1)
        at += 1
    at = CARDS_PER_HAND
    active = int(table["active"])
    seat = int(table["dealer"])
    for _ in range(int(table["num_active"])):
        seat = NEXT_SEAT[active, seat]
        bid = int(table["bids"][seat])
        if bid > 0:
            out[at] = (seat - viewer) & 3
            out[at + 1] = BID_OFFSET + bid
            at += 2
    for i in range(int(table["num_played"])):
        entry = int(table["log"][i])
        out[at] = ((entry >> 6) - viewer) & 3
        out[at + 1] = entry & 63
        at += 2


@kernel()
def encode_flat(tables: Array, rules: Array, viewer: int, out: Array) -> None:
    """The flat encoding of one seat at one table ([1] TABLE) into ``out`` ([WIDTH] float32)."""
    put_observation(tables[0], rules[0], viewer, out)
    put_rules(rules[0], out, RULES_AT)


@kernel()
def put_state(table: Record, rules: Record, viewer: int, out: Array) -> None:
    """Write the whole table as a seat places it into ``out`` (STATE_WIDTH slots, float32 or int8)."""
    put_observation(table, rules, viewer, out)
    put_rules(rules, out, RULES_AT)
    for i in range(3):
        hand = table["hands"][(viewer + 1 + i) & 3]
        for card in range(52):  # no store_bits: 64 slots would not be within the row
            out[_HANDS + 52 * i + card] = hand >> np.uint64(card) & np.uint64(1)
    unit = 10 if out.itemsize == 1 else 10 * MAX_POINTS_SHOWN
    _put_number(out, _TOTAL, int(table["totals"][viewer]), 10 * MAX_POINTS_SHOWN, unit)


@kernel()
def encode_state(tables: Array, rules: Array, out: Array) -> None:
    """The whole table ([1] TABLE) as seat 0 places it into ``out`` ([STATE_WIDTH] float32)."""
    put_state(tables[0], rules[0], 0, out)


@kernel()
def encode_history(tables: Array, viewer: int, out: Array) -> None:
    """The history encoding of one seat at one table ([1] TABLE) into ``out`` ([HISTORY_WIDTH] int16)."""
    put_history(tables[0], viewer, out)


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
    table: Match | View, seat: int | None = None, encoding: str = "flat", dtype: str = "float32"
) -> npt.NDArray[Any]:
    """What a seat sees at a ``Match`` or in a ``View``.

    Args:
        table: a match, or a seat's view.
        seat: whose eyes; a view's own seat when left out.
        encoding: ``"flat"``: [WIDTH] float32 in [-1, 1], the fields of ``FIELDS`` one after the other.
            ``"history"``: [HISTORY_WIDTH] int16 for recurrent and attention models: 13 slots of own cards
            held, ascending, then up to 56 pairs (seat counted from own, action id), the bids and cards of
            this deal in order; -1 where there is nothing.
        dtype: of the flat encoding; ``"int8"``: the fields times ``SCALES``, ``totals`` rounded.

    Raises:
        ValueError: no such encoding, dtype or seat, or a view of another seat.
    """
    if isinstance(table, View):
        if seat not in (None, table.viewer):
            raise ValueError(f"this is the view of seat {table.viewer}, not of seat {seat}")
        seat = table.viewer
    seat = check_seat(seat, "seat")
    if encoding == "flat":
        flat = np.empty(WIDTH, check_choice(dtype, "dtype", DTYPES))
        encode_flat(table.record_array, table.rules_array, seat, flat)
        return flat
    if encoding == "history":
        history = np.empty(HISTORY_WIDTH, np.int16)
        encode_history(table.record_array, seat, history)
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
        hint = "; fields=STATE_FIELDS is for states" if vector.shape[-1:] == (STATE_WIDTH,) else ""
        raise ValueError(f"the vector must be {width} wide, not of shape {vector.shape}{hint}")
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
