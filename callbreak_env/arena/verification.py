"""Verifies files of runs of the benchmark: a tenth of the deals is played again, every number compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from callbreak_env.arena.benchmark import labelled
from callbreak_env.arena.definition import definition
from callbreak_env.arena.entrants import FOREIGN, Entrant
from callbreak_env.arena.play import play
from callbreak_env.arena.report import Report
from callbreak_env.arena.report_file import read_report
from callbreak_env.arena.results import Results
from callbreak_env.arena.summary import check_figures
from callbreak_env.checks import check_seed
from callbreak_env.errors import CallBreakError, RecordError
from callbreak_env.records import at


def read_checked(path: Path) -> Report:
    """The report of a file, whose figures are those of its deals, by this package's definition.

    Raises:
        RecordError: it is no such file, or a figure is another.
        ValueError: this package has not what the definition is about.
        OSError: the file cannot be read.
    """
    report = read_report(path)
    definition().check()
    with at(str(path)):
        check_figures(report)
    return report


def verify(
    path: str | Path,
    agents: Iterable[Any] | None = None,
    *,
    seed: int,
    share: float = 0.1,
    threads: int | None = None,
    workers: int | None = 1,
    progress: bool = False,
    say: Callable[[str], None] | None = None,
) -> int:
    """Play a random tenth of a file's deals again, and compare every number; and all figures with the deals.

    Args:
        path: of the file.
        agents: those that cannot be made from the file's own words, or that lie elsewhere now, by label.
        seed: of the choice of deals.
        share: of the deals of every part that are played.
        threads: as in ``benchmark.run``.
        workers: as in ``benchmark.run``.
        progress: as in ``benchmark.run``.
        say: is told, when the file was read, what is about to happen.

    Returns:
        How many deals, each in all its seatings, were played again.

    Raises:
        RecordError: a number differs, and which; or it is no such file.
        ValueError: an agent cannot be made, or the package has another version of it.
        OSError: the file cannot be read.
    """
    path = Path(path)
    rng = np.random.default_rng(check_seed(seed))
    report = read_checked(path)
    given = {entrant.label: entrant for entrant in labelled(agents or [])}
    if strange := [label for label in given if label not in report.agents]:
        raise CallBreakError(f"{path} has no agent {strange[0]!r}: it has {', '.join(report.agents)}")
    entrants = {
        label: given[label] if label in given else _again(label, before)
        for label, before in report.agents.items()
    }
    for label, before in report.agents.items():
        if before.get("digest") not in (None, entrants[label].digest):
            raise CallBreakError(f"agent {label!r} was played by another file or other weights than here")
    if say is not None:
        say(f"{path}: a random tenth of the deals of every part is played again, seed {seed}")
    count = 0
    for part in report.parts:
        deals = part.results.deals
        wanted = np.sort(rng.choice(deals, max(1, round(share * len(deals))), replace=False))
        results = play(
            part.results.schedule,
            [entrants[name] for name in part.results.schedule.names],
            part.results.rules,
            seed=report.seed,
            deals=wanted.tolist(),
            threads=threads,
            workers=workers,
            time_limit=report.time_limit,
            progress=progress,
        )
        with at(f"{path}: {part.rules} {part.field}"):
            _compare(part.results.select(wanted.tolist()), results)
        count += len(wanted)
    return count


def _again(label: str, before: dict[str, Any]) -> Entrant:
    """An agent of a file made again, unless that would run what the file says."""
    if before["source"].partition(":")[0] in FOREIGN:
        raise CallBreakError(
            f"agent {label!r} was made from {before['source']!r}: to have that run here, name it too: "
            f"callbreak bench '{label}={before['source']}' --verify FILE"
        )
    try:
        entrant = Entrant(before["source"], label)
    except ValueError as error:
        raise CallBreakError(
            f"agent {label!r} cannot be made from {before['source']!r}: {error}; give it too"
        ) from error
    if entrant.version != before["version"]:
        raise CallBreakError(
            f"agent {label!r} was played by version {before['version']}, this package has version "
            f"{entrant.version}"
        )
    return entrant


def _compare(found: Results, again: Results) -> None:
    """RecordError at the first number that differs."""
    for name in ("bids", "tricks", "points", "faults"):
        one, other = getattr(found, name), getattr(again, name)
        places = np.argwhere(one != other)
        if len(places):
            deal, seating, seat = places[0, :3].tolist()
            who = found.schedule.names[found.schedule.seatings[seating, seat]]
            raise RecordError(
                f"{name} of deal {found.deals[deal]}, seating {seating}, seat {seat} ({who}) are "
                f"{one[deal, seating, seat].tolist()}, played again {other[deal, seating, seat].tolist()}"
            )
