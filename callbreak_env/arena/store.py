"""The file of a tournament: JSON Lines, written as it is played, from which a killed run continues.

The first line tells what is played, the others follow as they come::

    {"format": "callbreak-arena", "version": 1, "package": "0.1.0",
     "rules": {...}, "seed": 7,
     "names": [...], "sources": [...],            entrants: labels, and what they were made from
     "seatings": [[0, 1, 1, 1], ...], "tables": [0, ...],
     "time_limit": null}                          seconds a decision of a foreign agent
    {"asked": [[0, 500]]}                         a run begins: deals from 0 to before 500
    {"deals": [0, 1, ...],                        so many deals are done
     "points": [...], "bids": [...], "tricks": [...],    [D, S, 4], tenths in the first
     "faults": [[0, 2, 3, 1, 5], ...],            deal's index, seating, seat, kind, count; no zeros
     "decisions": [...], "seconds": [...]}        by entrant

A line counts once its end is there. What a killed run left without its end is cut off and played again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from callbreak_env.arena.results import FAULTS, Results, Schedule, merge
from callbreak_env.cards import NUM_SEATS
from callbreak_env.checks import check_seed
from callbreak_env.errors import CallBreakError, RecordError
from callbreak_env.records import at, need, parse_json
from callbreak_env.rules import Rules

FORMAT = "callbreak-arena"
VERSION = 1

Header = dict[str, Any]
Deals = npt.NDArray[np.int64]


def new_header(
    schedule: Schedule,
    sources: Sequence[str],
    rules: Rules,
    seed: int,
    time_limit: float | None,
) -> Header:
    """The first line of a file; results of two files belong together if they have the same."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "package": version("callbreak-env"),
        "rules": rules.to_dict(),
        "seed": seed,
        "names": list(schedule.names),
        "sources": list(sources),
        "seatings": schedule.seatings.tolist(),
        "tables": schedule.tables.tolist(),
        "time_limit": time_limit,
    }


class ResultFile:
    """A file to which results are added as they come.

    Args:
        path: of the file. One that is there must be of the same tournament; it is continued.
        header: what is played.
        asked: [D] the deals to be there in the end.

    Attributes:
        done: what was in the file; None if that was no deal.

    Raises:
        ValueError: the file is not of this tournament (says what is different), or it is none, or damaged.
        OSError: it cannot be read or written.
    """

    def __init__(self, path: str | Path, header: Header, asked: Deals) -> None:
        path = Path(path)
        self.done: Results | None = None
        self._file: BinaryIO = path.open("a+b")
        try:
            _lock(self._file, path)
            self._begin(path, header, asked)
        except BaseException:
            self._file.close()
            raise

    def _begin(self, path: Path, header: Header, asked: Deals) -> None:
        line, new = _line(header), True
        whole = _whole(path, line)
        if whole:
            found, parts, before = _read(path, path.read_bytes()[:whole])
            _check_same(path, found, header)
            self.done = merge(parts) if parts else None
            new = not np.isin(asked, before).all()
        self._file.truncate(whole)
        if not whole:
            self._write(line)
        if new:
            self._write(_line({"asked": _ranges(asked)}))

    def add(self, results: Results) -> None:
        """Write deals that are done; they are in the file when this returns."""
        faults = np.argwhere(results.faults)
        counts = results.faults[tuple(faults.T)]
        self._write(
            _line(
                {
                    "deals": results.deals.tolist(),
                    "points": results.points.tolist(),
                    "bids": results.bids.tolist(),
                    "tricks": results.tricks.tolist(),
                    "faults": np.column_stack([faults, counts]).tolist(),
                    "decisions": results.decisions.tolist(),
                    "seconds": results.seconds.tolist(),
                }
            )
        )

    def _write(self, line: bytes) -> None:
        self._file.write(line)
        self._file.flush()

    def __enter__(self) -> ResultFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._file.close()


def read_results(path: str | Path, partial: bool = False) -> Results:
    """The results of a file.

    Args:
        path: of the file.
        partial: whether the run may be unfinished.

    Raises:
        ValueError: the file is none of results, or damaged, or a deal is in it twice, or (unless ``partial``)
            deals are missing that were asked for.
        OSError: it cannot be read.
    """
    data = Path(path).read_bytes()
    _, parts, asked = _read(path, data[: data.rfind(b"\n") + 1])
    if not parts:
        raise RecordError(f"{path}: no deal is done")
    results = merge(parts)
    missing = len(np.setdiff1d(asked, results.deals))
    if missing and not partial:
        raise RecordError(
            f"{path}: the run was not finished, {missing} of {len(asked)} deals are missing: play it again "
            "with this file, which continues it, or read it with partial=True"
        )
    return results


def _lock(file: BinaryIO, path: Path) -> None:
    """Keep other runs off a file while it is open, where the system can."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise CallBreakError(f"{path}: another run is writing to this file; give each its own") from None
    except OSError:  # a file system without locks
        return


def _line(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _whole(path: Path, first: bytes) -> int:
    """The length of the lines of a file that have their ends; 0 where a first line was only begun."""
    data = path.read_bytes()
    end = data.rfind(b"\n") + 1
    if not end and not first.startswith(data):
        raise RecordError(f"{path} is no file of results, so nothing is written to it")
    return end


def _ranges(deals: Deals) -> list[list[int]]:
    """Ascending numbers as ranges, each from its first to before its end."""
    breaks = np.flatnonzero(np.diff(deals) != 1) + 1
    return [[int(part[0]), int(part[-1]) + 1] for part in np.split(deals, breaks) if len(part)]


def _read(path: str | Path, data: bytes) -> tuple[Header, list[Results], Deals]:
    """The header, the deals that are done, and the numbers of those asked for, of whole lines."""
    lines = data.splitlines()
    with at(f"{path}, line 1"):
        header = parse_json(lines[0]) if lines else None
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise RecordError("this is no file of results")
        if header.get("version") != VERSION:
            raise RecordError(f"version {header.get('version')} of results is unknown: this is {VERSION}")
        rules, seed = Rules.from_dict(need(header, "rules", dict)), check_seed(need(header, "seed", int))
        seatings = _array(need(header, "seatings", list), np.int64)
        tables = _array(need(header, "tables", list), np.int64)
        schedule = Schedule(tuple(need(header, "names", list)), seatings, tables)
    parts: list[Results] = []
    asked = [np.zeros(0, np.int64)]
    where: dict[int, int] = {}
    for number, line in enumerate(lines[1:], 2):
        with at(f"{path}, line {number}"):
            value = parse_json(line)
            if isinstance(value, dict) and "asked" in value:
                ranges = _array(need(value, "asked", list), np.int64).reshape(-1, 2)
                asked += [np.arange(first, end) for first, end in ranges]
                continue
            part = _part(value, schedule, rules, seed)
            for deal in part.deals.tolist():
                if deal in where:
                    raise RecordError(f"deal {deal} is in line {where[deal]} already")
                where[deal] = number
            parts.append(part)
    return header, parts, np.unique(np.concatenate(asked))


def _part(value: Any, schedule: Schedule, rules: Rules, seed: int) -> Results:
    deals = _array(need(value, "deals", list), np.int64)
    arrays = {
        name: _array(need(value, name, list), kind)
        for name, kind in (("points", np.int32), ("bids", np.int8), ("tricks", np.int8))
    }
    faults = np.zeros((len(deals), len(schedule.seatings), NUM_SEATS, len(FAULTS)), np.int8)
    marked = _array(need(value, "faults", list), np.int64).reshape(-1, faults.ndim + 1)
    try:
        faults[tuple(marked[:, :-1].T)] = marked[:, -1]
    except IndexError as error:
        raise RecordError(f"a fault is none of these deals: {error}") from None
    decisions = _array(need(value, "decisions", list), np.int64)
    seconds = np.array(need(value, "seconds", list), np.float64)
    return Results(
        schedule, rules, seed, deals, faults=faults, decisions=decisions, seconds=seconds, **arrays
    )


def _array(values: list[Any], kind: Any) -> npt.NDArray[Any]:
    """Whole numbers as an array, unchanged."""
    try:
        given = np.array(values) if values else np.zeros(0, kind)
        found = given.astype(kind)
    except (TypeError, ValueError, OverflowError) as error:
        raise RecordError(f"not an array of whole numbers: {error}") from None
    if given.dtype.kind != "i" or (found != given).any():
        raise RecordError(f"not an array of whole numbers in {np.dtype(kind)}")
    return found


def _check_same(path: Path, found: Header, header: Header) -> None:
    """ValueError, naming the first difference, unless two headers are of the same tournament."""
    different = next(_differences(found, header), None)
    if different is not None:
        key, before, now = different
        raise RecordError(
            f"{path} holds other results: its {key} is {_short(before)}, and here it is {_short(now)}; "
            "give another file"
        )


def _differences(found: Header, header: Header) -> Iterator[tuple[str, Any, Any]]:
    """What is different, by name: before, and now. Of rules, which."""
    for key, now in json.loads(_line(header)).items():
        before = found.get(key)
        if key == "rules" and isinstance(before, dict):
            for name, option in now.items():
                if before.get(name) != option:
                    yield f"rule {name}", before.get(name), option
        elif before != now:
            yield key, before, now


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}..."
