"""The file of a run of the benchmark: JSON, compressed where the name ends in ``.gz``.

The file is one object::

    {"format": "callbreak-bench-result", "version": 1,
     "benchmark": "CallBreak-Bench v1",
     "size": "quick",                         or "standard", "headline", "custom"
     "deals": {"1v3": 500, "mix": 20},        numbers 0 to n - 1
     "seed": 20260101,                        of the deals
     "agents": {"rule_based":                 all that played, by label
        {"source": "rule_based",              what it was made from, as ``callbreak bench`` takes it
         "version": 1,                        null: not of the package
         "digest": null}, ...},               of its file and its weights, if it has such
     "compared": ["rule_based", ...],         those that the run was about
     "time_limit": null,                      seconds a move, of agents that are not compiled
     "software": {"callbreak_env": "0.1.0", "python": ..., "numpy": ..., "numba": ...},
     "machine": {"processor": ..., "cores": 2, "system": "Linux"},
     "speed": {"rule_based": 9000000.0, ...}, decisions a second, one process, one thread
     "parts": [
       {"rules": "standard", "field": "F0",   preset; a field, or "mix"
        "names": ["rule_based", ...],         entrants
        "seatings": [[0, 0, 0, 0], ...],      an entrant's index a seat
        "points": [[20, -40, ...], ...],      tenths, a list a deal: seat by seat, seating by seating
        "bids": ["23b4...", ...],             a text a deal: hexadecimal digits in the same order
        "tricks": ["2334...", ...],           the same
        "faults": [[0, 3, 2, "illegal", 1]],  deal, seating, seat, kind, moves that were replaced
        "decisions": [0, ...],                by entrant, of agents that are not compiled
        "seconds": [0.0, ...]}, ...],         what these took
     "figures": {"standard": {"F0": ...}}}    see ``callbreak_env.arena.summary``

Reading checks the shape of all of it, who sat where, and that every deal's points follow from its bids and
tricks. ``callbreak_env.arena.verification`` checks the rest.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from callbreak_env.arena.definition import LEAST, MIX, definition
from callbreak_env.arena.report import Part, Report
from callbreak_env.arena.results import FAULTS, Results
from callbreak_env.cards import CARDS_PER_HAND, NUM_SEATS
from callbreak_env.checks import check_count, check_number
from callbreak_env.engine.play import points_of
from callbreak_env.engine.state import rules_record
from callbreak_env.errors import CallBreakError, RecordError
from callbreak_env.policy import AGENT_VERSIONS
from callbreak_env.records import at, need, need_format, parse_json

FORMAT, VERSION = "callbreak-bench-result", 1
MAX_BYTES = 2**30
"""The longest file that is read, after decompression."""


# Writing


def check_target(path: Path) -> None:
    """ValueError where no file could be written: a folder of that name, or none to write to."""
    if path.is_dir():
        raise CallBreakError(f"{path} is a folder: name a file")
    if not path.parent.is_dir():
        raise CallBreakError(f"{path}: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise CallBreakError(f"{path}: the folder {path.parent} cannot be written to")


def check_path(path: Path) -> None:
    """Refuse, before any work, where :func:`write_report` could not write.

    Raises:
        ValueError: another suffix than .json or .json.gz, or no such folder.
    """
    if not path.name.endswith((".json", ".json.gz")):
        raise CallBreakError(f"{path}: the name of a result file must end in .json or .json.gz")
    check_target(path)


def write_report(path: Path, report: Report) -> None:
    """Write a report; the same report gives the same bytes. The file is replaced only when it is whole."""
    text = json.dumps(to_json(report), separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    data = text.encode()
    if path.suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    beside = path.with_name(path.name + ".part")
    beside.write_bytes(data)
    beside.replace(path)


def to_json(report: Report) -> dict[str, Any]:
    """A report as the object of its file."""
    plain = {name: getattr(report, name) for name in Report.__dataclass_fields__}
    parts = [_part_to_json(part) for part in report.parts]
    return {"format": FORMAT, "version": VERSION, **plain, "compared": list(report.compared), "parts": parts}


def _part_to_json(part: Part) -> dict[str, Any]:
    results = part.results
    deals = len(results.deals)
    faults = np.argwhere(results.faults)
    return {
        "rules": part.rules,
        "field": part.field,
        "names": list(results.schedule.names),
        "seatings": results.schedule.seatings.tolist(),
        "points": results.points.reshape(deals, -1).tolist(),
        "bids": _digits(results.bids),
        "tricks": _digits(results.tricks),
        "faults": [
            [*place, FAULTS[kind], int(results.faults[(*place, kind)])] for *place, kind in faults.tolist()
        ],
        "decisions": results.decisions.tolist(),
        "seconds": [round(seconds, 3) for seconds in results.seconds.tolist()],
    }


_DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)


def _digits(numbers: npt.NDArray[np.int8]) -> list[str]:
    """[D, ...] numbers 0 to 15 -> D texts of hexadecimal digits."""
    return [row.tobytes().decode() for row in _DIGITS[numbers.reshape(len(numbers), -1)]]


# Reading


def read_report(path: Path) -> Report:
    """Read and check a file.

    Raises:
        RecordError: it is no such file, or figures in it contradict each other; it says where.
        OSError: it cannot be read.
    """
    with at(str(path)):
        return from_json(parse_json(_content(path)))


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        try:
            data = gzip.GzipFile(fileobj=file).read(MAX_BYTES + 1) if packed else file.read(MAX_BYTES + 1)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise RecordError(f"cannot be decompressed, or is cut short: {error}") from None
    if len(data) > MAX_BYTES:
        raise RecordError(f"longer than {MAX_BYTES:,} bytes, no result of the benchmark")
    return data


def from_json(told: Any) -> Report:
    """A report from the object of its file, checked.

    Raises:
        RecordError: with the place.
    """
    need_format(told, FORMAT, VERSION)
    the = definition()
    if need(told, "benchmark", str) != the.title:
        raise RecordError(f"'benchmark' is {told['benchmark']!r:.40}: this package has {the.title}")
    if need(told, "seed", int) != the.seed:
        raise RecordError(f"'seed' is {told['seed']}: the deals of {the.title} are those of {the.seed}")
    deals = need(told, "deals", dict)
    with at("deals"):
        deals = {name: check_count(need(deals, name, int), name, LEAST) for name in ("1v3", MIX)}
    agents = _agents(need(told, "agents", dict))
    compared = need(told, "compared", list)
    if not compared:
        raise RecordError("'compared' is empty: the run was about nothing")
    for name in compared:
        if not isinstance(name, str) or name not in agents:
            raise RecordError(f"'compared' names {name!r:.60}, which is not among the 'agents'")
    parts: list[Part] = []
    for index, entry in enumerate(need(told, "parts", list)):
        with at(f"parts[{index}]"):
            parts.append(part := _part_from_json(entry, deals, compared))
            if strange := [name for name in part.results.schedule.names if name not in agents]:
                raise RecordError(f"{strange[0]!r:.60} is not among the 'agents'")
            if any((part.rules, part.field) == (other.rules, other.field) for other in parts[:-1]):
                raise RecordError(f"rules {part.rules!r} and field {part.field} are there twice")
    if not parts:
        raise RecordError("'parts' is empty: nothing was played")
    with at("time_limit"):
        limit = told.get("time_limit")
        limit = None if limit is None else check_number(limit, "seconds", positive=True)
    with at("speed"):
        speed = {
            name: check_number(each, name, positive=True) for name, each in need(told, "speed", dict).items()
        }
    return Report(
        benchmark=the.title,
        size=need(told, "size", str),
        deals=deals,
        seed=the.seed,
        agents=agents,
        compared=tuple(compared),
        time_limit=limit,
        software=need(told, "software", dict),
        machine=need(told, "machine", dict),
        speed=speed,
        parts=tuple(parts),
        figures=need(told, "figures", dict),
    )


def _agents(told: dict[str, Any]) -> dict[str, dict[str, Any]]:
    for name, each in told.items():
        with at(f"agents.{name:.60}"):
            if need(each, "source", str) != name and name in AGENT_VERSIONS:
                raise RecordError(f"an agent of the package, but its 'source' is {each['source']!r:.60}")
            if each.get("version", 0) is not None:
                need(each, "version", int)
            if each.get("digest") is not None:
                need(each, "digest", str)
    return told


def _part_from_json(told: Any, deals: dict[str, int], compared: list[str]) -> Part:
    the = definition()
    preset, field = need(told, "rules", str), need(told, "field", str)
    if preset not in the.rules or field not in (*the.fields, MIX):
        raise RecordError(f"{the.title} has no part of rules {preset!r:.40} and field {field!r:.40}")
    names = need(told, "names", list)
    schedule = the.schedule(field, compared)
    seatings = schedule.seatings
    if names != list(schedule.names) or need(told, "seatings", list) != seatings.tolist():
        raise RecordError(f"'names' and 'seatings' are not those of {field} with {', '.join(compared):.200}")
    count = deals[MIX if field == MIX else "1v3"]
    shape = (len(seatings), NUM_SEATS)
    points = _numbers(told, "points", count, (len(seatings) * NUM_SEATS,), (-10_000, 10_000), np.int32)
    results = Results(
        schedule=schedule,
        rules=the.rules[preset],
        seed=the.seed,
        deals=np.arange(count),
        points=points.reshape(count, *shape),
        bids=_from_digits(told, "bids", count, shape),
        tricks=_from_digits(told, "tricks", count, shape),
        faults=_faults(told, (count, *shape)),
        decisions=_numbers(told, "decisions", len(names), (), (0, 2**62), np.int64),
        seconds=_numbers(told, "seconds", len(names), (), (0, 2**62), np.float64),
    )
    _check_points(results)
    return Part(preset, field, results)


def _numbers(
    told: Any, key: str, length: int, shape: tuple[int, ...], bounds: tuple[int, int], dtype: Any
) -> npt.NDArray[Any]:
    """A list of numbers, or of lists of them, as an array of the given shape and range."""
    found = need(told, key, list)
    try:
        numbers = np.array(found)
        fits = numbers.size == 0 or np.can_cast(
            numbers.dtype, np.float64 if dtype is np.float64 else np.int64
        )
        array = numbers.astype(dtype).reshape(numbers.shape if numbers.size else (length, *shape))
    except (ValueError, TypeError, OverflowError):
        fits = False
    if not fits or array.shape != (length, *shape):
        sizes = " x ".join(map(str, (length, *shape)))
        raise RecordError(f"{key!r} must be {sizes} numbers")
    if numbers.dtype == bool or (
        numbers.size and not bounds[0] <= numbers.min() <= numbers.max() <= bounds[1]
    ):
        raise RecordError(f"{key!r} holds what is no number from {bounds[0]} to {bounds[1]}")
    return array


def _from_digits(told: Any, key: str, count: int, shape: tuple[int, int]) -> npt.NDArray[np.int8]:
    """D texts of hexadecimal digits -> [D, S, 4]."""
    found = need(told, key, list)
    width = shape[0] * shape[1]
    if len(found) != count or not all(isinstance(row, str) and len(row) == width for row in found):
        raise RecordError(f"{key!r} must be {count} texts of {width} digits")
    data = np.frombuffer("".join(found).encode("latin-1", "replace"), np.uint8)
    place = np.searchsorted(_DIGITS, data)
    numbers = np.minimum(place, NUM_SEATS * 4 - 1)
    if (_DIGITS[numbers] != data).any() or (numbers > CARDS_PER_HAND).any():
        raise RecordError(f"{key!r} holds what is no digit 0 to d")
    return numbers.astype(np.int8).reshape(count, *shape)


def _faults(told: Any, shape: tuple[int, ...]) -> npt.NDArray[np.int8]:
    faults = np.zeros((*shape, len(FAULTS)), np.int8)
    for entry in need(told, "faults", list):
        try:
            *place, kind, count = entry
            if not all(type(each) is int and each >= 0 for each in (*place, count)) or len(place) != 3:
                raise IndexError
            faults[(*place, FAULTS.index(kind))] = count
        except (TypeError, ValueError, IndexError, OverflowError):
            raise RecordError(
                f"'faults' has {entry!r:.60}: it must be deal, seating, seat, one of {FAULTS}, count"
            ) from None
    return faults


def _check_points(results: Results) -> None:
    """RecordError where a deal's points do not follow from its bids and tricks."""
    both = np.concatenate([results.bids, results.tricks], axis=2).reshape(-1, 2 * NUM_SEATS)
    told = results.points.reshape(-1, NUM_SEATS)
    if (results.tricks.sum(axis=2) != CARDS_PER_HAND).any():
        raise RecordError(f"the tricks of a deal must be {CARDS_PER_HAND}")
    keys = both.astype(np.int64) @ (16 ** np.arange(2 * NUM_SEATS))
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    right = np.zeros((len(first), NUM_SEATS), np.int64)
    rules = rules_record(results.rules)
    for row, points in zip(both[first].astype(np.int64), right, strict=True):
        points_of(row[:NUM_SEATS], row[NUM_SEATS:], rules, points)
    wrong = np.argwhere((right[which] != told).any(axis=1))
    if len(wrong):
        row = int(wrong[0, 0])
        deal, seating = divmod(row, len(results.schedule.seatings))
        raise RecordError(
            f"points of deal {deal} in seating {seating} are {told[row].tolist()}, by its bids "
            f"{both[row, :NUM_SEATS].tolist()} and tricks {both[row, NUM_SEATS:].tolist()} "
            f"{right[which[row]].tolist()}"
        )
