"""Records of matches as JSON Lines: one match a line, written, read and verified by replay.

A line is one JSON object, made by ``Match.record()``::

    {"format": "callbreak-match", "version": 1,
     "seed": 7, "match": 0,                 key of the shuffles; after the last deck here they go on
     "rules": {"deals": 5, ...},            every option of ``Rules``
     "deals": [                             every deck dealt, in order
       {"deal": 0, "dealer": 2,             number from 0 (the extra deal is number `deals`), seat
        "hands": [["2C", ...], ...],        by seat; null for a seat not in an extra deal
        "outcome": "played",                or "thrown_in" (H2), "misdeal" (H3), "unfinished"
        "bids": [2, 4, 3, 3],               by seat; null where there was none
        "tricks": [{"leader": 3,            seat
                    "cards": ["JC", ...],   in play order from the leader
                    "winner": 1}, ...],     null for a trick cut short
        "points": [20, -40, 31, 30],        tenths; null unless played
        "totals": [20, -40, 31, 30]}, ...], tenths, after the deal
     "winners": [2],                        seats; empty for a match cut short
     "info": ...}                           optional, anything; not verified

Reading replays every move through the engine, and compares every figure.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TextIO, TypeVar

from callbreak_env.actions import bid_action
from callbreak_env.cards import NUM_SEATS, parse_card
from callbreak_env.checks import check_int, check_seat, check_seed
from callbreak_env.errors import RecordError
from callbreak_env.match import Match, deck_from_hands
from callbreak_env.rules import Rules
from callbreak_env.transcript import FORMAT, MISDEAL, VERSION

MAX_BYTES = 64 * 2**20
"""The longest line (or, for formats of one object a file, file) that is read."""

T = TypeVar("T")


@contextlib.contextmanager
def at(place: str) -> Iterator[None]:
    """Errors inside say where in the file they are: ``ValueError`` becomes ``RecordError``, place first."""
    try:
        yield
    except ValueError as error:
        raise RecordError(f"{place}: {error}") from None


def parse_json(data: bytes) -> Any:
    """One JSON value from UTF-8 bytes, without NaN and infinities.

    Raises:
        RecordError: it is none, with the column.
    """

    def refuse(constant: str) -> None:
        raise RecordError(f"{constant} is not a JSON number")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise RecordError(f"an object has a key twice, among {[key for key, _ in pairs]!r:.80}")
        return found

    try:
        return json.loads(data.decode(), parse_constant=refuse, object_pairs_hook=once)
    except UnicodeDecodeError as error:
        raise RecordError(f"byte {error.start + 1} is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise RecordError(f"not JSON, or cut short: {error.msg} at column {error.pos + 1}") from None
    except RecordError:
        raise
    except ValueError:  # Python reads no number of more than some thousand digits
        raise RecordError("holds an absurdly long number") from None
    except RecursionError:
        raise RecordError("nested too deeply") from None


def need(value: Any, key: str, kind: type[T]) -> T:
    """``value[key]`` of a JSON object, of the given type; RecordError otherwise."""
    if not isinstance(value, dict):
        raise RecordError(f"must be an object with {key!r}, not {_json_kind(value)}")
    if key not in value:
        raise RecordError(f"has no {key!r}")
    found = value[key]
    if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
        raise RecordError(f"{key!r} must be {_json_kind(kind())}, not {_json_kind(found)}")
    return found


def need_format(value: Any, name: str, version: int) -> None:
    """RecordError unless a JSON object is of a format, and of the version that can be read."""
    if need(value, "format", str) != name:
        raise RecordError(f"'format' must be {name!r}, not {value['format']!r:.40}")
    if need(value, "version", int) != version:
        raise RecordError(f"'version' {value['version']!r:.20} cannot be read, only {version}")


def need_seats(value: Any, key: str) -> list[Any]:
    """``value[key]``, a list of four: one a seat."""
    found = need(value, key, list)
    if len(found) != NUM_SEATS:
        raise RecordError(f"{key!r} must be {NUM_SEATS} long, one a seat, not {len(found)}")
    return found


def _json_kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def read_lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The lines of a file that are not blank, with their numbers from 1, each of bounded length."""
    for number in itertools.count(1):
        line = file.readline(MAX_BYTES + 1)
        if not line:
            return
        if len(line) > MAX_BYTES:
            raise RecordError(f"line {number}: longer than {MAX_BYTES:,} bytes, no record of a match")
        if line.strip():
            yield number, line


def write_records(file: str | Path | TextIO, records: Iterable[Match | dict[str, Any]]) -> int:
    """Write matches, or their records, one a line; returns how many.

    Args:
        file: a path, which is overwritten, or an open text file.
        records: matches, or what ``Match.record()`` gave.
    """
    if isinstance(records, (Match, dict)):
        raise ValueError("records must be a list of matches or records, not one of them alone")
    if isinstance(file, (str, Path)):
        with Path(file).open("w", encoding="utf-8") as opened:
            return write_records(opened, records)
    count = 0
    for record in records:
        plain = record.record() if isinstance(record, Match) else record
        file.write(json.dumps(plain, separators=(",", ":"), allow_nan=False) + "\n")
        count += 1
    return count


def read_records(source: str | Path | BinaryIO) -> Iterator[Match]:
    """The matches of a file, each replayed and verified; one that was cut short can be played on.

    Decks that were given to a match and not dealt yet are not in its record: shuffles follow.

    Args:
        source: a path, or a file open for reading bytes.

    Raises:
        RecordError: the file is no such file, or a match breaks the rules, or its figures are wrong; the
            message names the line, deal, trick and card.
        OSError: the file cannot be read.
    """
    if isinstance(source, (str, Path)):
        with Path(source).open("rb") as file:
            yield from read_records(file)
        return
    with at(str(source.name)):
        for number, line in read_lines(source):
            with at(f"line {number}"):
                match = replay(parse_json(line))
            yield match


def replay(record: Any) -> Match:
    """The match of one record, every move made again through the engine and every figure compared.

    Raises:
        RecordError: with the place.
    """
    need_format(record, FORMAT, VERSION)
    with at("rules"):
        rules = Rules.from_dict(need(record, "rules", dict))
    entries = need(record, "deals", list)
    if not entries:
        raise RecordError("'deals' is empty: a match starts with a deal")
    decks = []
    for index, entry in enumerate(entries):
        with at(_deal_place(index)):
            decks.append(_deck(entry))
    with at("seed"):
        seed = check_seed(need(record, "seed", int))
    with at("match"):
        number = check_seed(need(record, "match", int), "match")
    match = Match(rules, seed=seed, number=number, dealer=entries[0]["dealer"], decks=decks)
    for index, entry in enumerate(entries):
        with at(_deal_place(index)):
            if need(entry, "outcome", str) != MISDEAL:
                _replay_deal(match, entry)
    info = {"info": record["info"]} if "info" in record else {}
    _compare(record, match.record() | info, "")
    return match


def _deal_place(index: int) -> str:
    return f"deals[{index}]"


def _deck(entry: Any) -> list[int]:
    """The deck that deals an entry's hands."""
    hands: list[list[int] | None] = []
    for seat, hand in enumerate(need_seats(entry, "hands")):
        if hand is None:
            hands.append(None)
            continue
        if not isinstance(hand, list):
            raise RecordError(f"the hand of seat {seat} must be a list, not {_json_kind(hand)}")
        with at(f"hand of seat {seat}"):
            hands.append([parse_card(card) for card in hand])
    return deck_from_hands(hands, check_seat(need(entry, "dealer", int), "dealer"))


def _replay_deal(match: Match, entry: Any) -> None:
    if match.is_over:
        raise RecordError("the match is over before this deal")
    bids = need_seats(entry, "bids")
    while match.phase == "bidding" and (bid := bids[match.seat or 0]) is not None:
        with at(f"bid of seat {match.seat}"):
            number = check_int(bid, "a bid")
            happened = match.apply(bid_action(number))
        if happened:
            break  # thrown in: the next entry's deal has begun
    else:
        for trick_index, trick in enumerate(need(entry, "tricks", list)):
            with at(f"trick {trick_index + 1}"):
                leader = check_seat(need(trick, "leader", int), "leader")
                if leader != match.seat:
                    raise RecordError(f"seat {leader} leads, but it is for seat {match.seat}")
                for card_index, card in enumerate(need(trick, "cards", list)):
                    with at(f"card {card_index + 1}"):
                        match.apply(parse_card(card))


def _compare(found: Any, right: Any, place: str) -> None:
    """RecordError at the first place where a record differs from what the replay gives."""
    if type(found) is not type(right):
        raise RecordError(f"{place} is {found!r:.60}, by the rules {right!r:.60}")
    if isinstance(right, dict):
        if found.keys() != right.keys():
            strange = sorted(found.keys() ^ right.keys())
            raise RecordError(f"{place or 'the record'} must have {list(right)}; see {strange!r:.80}")
        for key in right:
            _compare(found[key], right[key], f"{place}.{key}".lstrip("."))
    elif isinstance(right, list):
        if len(found) != len(right):
            raise RecordError(f"{place} is {len(found)} long, by the rules {len(right)}")
        for index, (one, other) in enumerate(zip(found, right, strict=True)):
            _compare(one, other, f"{place}[{index}]")
    elif found != right:
        raise RecordError(f"{place} is {found!r:.60}, by the rules {right!r:.60}")
