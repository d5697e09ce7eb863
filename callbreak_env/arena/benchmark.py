"""Runs the standard benchmark."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import numpy as np

from callbreak_env.arena.definition import MIX, Definition, definition
from callbreak_env.arena.entrants import Entrant, as_entrants
from callbreak_env.arena.formats import four_at_a_table
from callbreak_env.arena.play import play
from callbreak_env.arena.report import Part, Report, machine, software
from callbreak_env.arena.results import DECISIONS, FAULTS, Results, Schedule
from callbreak_env.arena.statistics import Z
from callbreak_env.arena.summary import summarise
from callbreak_env.cards import NUM_SEATS
from callbreak_env.checks import check_choice, check_count, check_list
from callbreak_env.engine.threads import check_threads, usable_cores
from callbreak_env.errors import CallBreakError
from callbreak_env.policy import AGENT_VERSIONS, TableAgent

DEVIATION = 0.75
"""Of the own points a deal, over four seats, of agents much like the field: for planning only."""
TRIAL_S = 0.2
"""How long an agent is timed."""
TRIAL_SEED = 0
"""Of the deals that agents are timed on; not the benchmark's."""

Say = Callable[[str], None]


def run(
    agents: Iterable[Any] | None = None,
    *,
    size: str = "standard",
    deals: int | None = None,
    rules: Sequence[str] | None = None,
    fields: Sequence[str] | None = None,
    mix: bool = True,
    threads: int | None = None,
    workers: int | None = 1,
    time_limit: float | None = None,
    progress: bool = False,
    folder: str | Path | None = None,
    say: Say | None = None,
) -> Report:
    """Run ``CallBreak-Bench v1``.

    Args:
        agents: what is compared, as ``arena.entrants.Entrant`` takes it; None: agents of the package.
        size: ``"quick"``, ``"standard"`` or ``"headline"``.
        deals: instead of a size: so many deals for 1v3, 2 or more, and for the mix in proportion.
        rules: presets of the definition; None: all.
        fields: of the definition; None: all.
        mix: whether to play the mix too.
        threads: share the compiled work of a process; None: one for each core.
        workers: processes that share the deals, for agents that are not compiled; None: one for each core.
        time_limit: seconds a decision of an agent that is not compiled.
        progress: show a bar a part on stderr.
        folder: where deals are kept as they are done; a run that was stopped continues from it.
        say: is told what is about to happen, a line at a time.

    Raises:
        ValueError: an argument is not what it must be; or this package's rules, deals or reference agents
            are not those of the definition.
    """
    the, say = definition(), say or (lambda line: None)
    amounts = the.deals(size, deals)
    compared = labelled(the.default_agents(size, deals) if agents is None else agents)
    if not compared:
        raise CallBreakError("name at least one agent")
    presets = _chosen(rules, list(the.rules), "rules")
    chosen = _chosen(fields, list(the.fields), "fields")
    parts = [(preset, field) for preset in presets for field in [*chosen, *([MIX] if mix else [])]]
    if not parts:
        raise CallBreakError("there is nothing to play: no field, and no mix")
    labels = [entrant.label for entrant in compared]
    entrants = {entrant.label: entrant for entrant in compared}
    for _, field in parts:
        for name in the.schedule(field, labels).names:
            if name not in entrants:
                entrants[name] = Entrant(name)
    the.check()
    speed = {label: measure_speed(entrant, time_limit) for label, entrant in entrants.items()}
    threads = check_threads(threads)
    workers = usable_cores() if workers is None else check_count(workers, "workers")
    threaded = [label for label, each in entrants.items() if isinstance(each.batch, TableAgent)]
    asks = any(each.record is None and label not in threaded for label, each in entrants.items())
    processes = min(usable_cores(), workers if asks else max(threads, workers))
    say(_prospect(the, labels, parts, amounts, speed, processes))
    played = []
    for preset, field in parts:
        say(f"{preset}, {field} ...")
        file = None if folder is None else _file(folder, preset, field)
        schedule = the.schedule(field, labels)
        results = play(
            schedule,
            [entrants[name] for name in schedule.names],
            the.rules[preset],
            seed=the.seed,
            deals=_amount(amounts, field),
            threads=threads,
            workers=workers,
            time_limit=time_limit,
            progress=progress,
            file=file,
        )
        played.append(Part(preset, field, results))
    asked = _speed_when_asked(part.results for part in played)
    for label in threaded:  # theirs is of several threads; that of the trial is of one
        asked.pop(label, None)
    return Report(
        benchmark=the.title,
        size=size if deals is None else "custom",
        deals=amounts,
        seed=the.seed,
        agents={
            label: {"source": public(entrant.source), "version": entrant.version, "digest": entrant.digest}
            for label, entrant in entrants.items()
        },
        compared=tuple(labels),
        time_limit=time_limit,
        software=software(),
        machine=machine(),
        speed={**speed, **asked},
        parts=tuple(played),
        figures=summarise(played),
    )


def labelled(agents: Iterable[Any]) -> list[Entrant]:
    """Entrants; a label that is a path loses its folders, and no label may pose as another agent."""
    given = check_list(agents, "agents must be a list of agents")
    entrants = as_entrants(Entrant(each, public(each)) if _is_path(each) else each for each in given)
    for entrant in entrants:
        if entrant.label in AGENT_VERSIONS and entrant.source != entrant.label:
            raise CallBreakError(
                f"{entrant.source} cannot be called {entrant.label!r}, as an agent of the package is: "
                "label it otherwise"
            )
    return entrants


def _is_path(given: Any) -> bool:
    return isinstance(given, str) and "=" not in given.partition(":")[0] and public(given) != given


def public(source: str) -> str:
    """A source without the folders of absolute paths: they tell whose machine it is."""
    kind, _, rest = source.partition(":")
    if kind in ("python", "policy"):
        where, _, attribute = rest.rpartition(":")
        path = PureWindowsPath(where)  # knows both kinds of slashes
        if path.drive or PurePosixPath(where).is_absolute() or where.startswith("~"):
            return f"{kind}:{path.name}:{attribute}"
        return source
    return _FOLDERS.sub("", _QUOTED_FOLDERS.sub("", source))


_START = r"(?:~|[A-Za-z]:(?=[\\/]))?[\\/]"
_FOLDERS = re.compile(rf"(?<![\w.~\\/-]){_START}(?:(?:\\ |[^\s:\\/])+[\\/])*")
_QUOTED_FOLDERS = re.compile(rf"(?<=['\"]){_START}(?:[^'\":\\/]+[\\/])*")
"""In a command line, of absolute paths; in quotes there may be spaces too, elsewhere behind a backslash."""


def _chosen(given: Sequence[str] | None, known: list[str], what: str) -> list[str]:
    if given is None:
        return known
    names = [check_choice(name, what, known) for name in check_list(given, f"{what} must be a list of names")]
    if not names and what == "rules":
        raise CallBreakError(f"rules must be one or more of {', '.join(known)}")
    return list(dict.fromkeys(names))


def _amount(amounts: dict[str, int], field: str) -> int:
    return amounts[MIX if field == MIX else "1v3"]


def _file(folder: str | Path, preset: str, field: str) -> Path:
    Path(folder).mkdir(parents=True, exist_ok=True)
    return Path(folder) / f"{preset}-{field}.jsonl"


# What it will take


def measure_speed(entrant: Entrant, time_limit: float | None = None) -> float:
    """Decisions a second of an agent at a table of its copies, in one thread, on deals of another seed."""
    schedule = four_at_a_table([entrant.label] * NUM_SEATS)
    deals = 1
    while True:
        start = time.perf_counter()
        results = play(schedule, [entrant], seed=TRIAL_SEED, deals=deals, time_limit=time_limit)
        seconds = time.perf_counter() - start
        if deals > 1 and seconds > TRIAL_S / 4:  # the first deal may compile
            faults = int(results.faults.sum())
            if faults and faults >= int(results.decisions.sum()):
                counts = results.faults.sum(axis=(0, 1, 2))
                raise CallBreakError(
                    f"{entrant.label} failed in every decision of a trial ("
                    + ", ".join(
                        f"{kind}: {count}" for kind, count in zip(FAULTS, counts, strict=True) if count
                    )
                    + "): nothing else was played"
                )
            asked = _speed_when_asked([results])
            return asked.get(entrant.label, deals * NUM_SEATS * DECISIONS / seconds)
        deals = max(2, int(deals * min(50.0, TRIAL_S / seconds)))


def _speed_when_asked(results: Iterable[Results]) -> dict[str, float]:
    """Decisions a second of the agents that are not compiled, over all that they were asked."""
    sums: dict[str, list[float]] = {}
    for each in results:
        for name, decisions, seconds in zip(each.schedule.names, each.decisions, each.seconds, strict=True):
            if decisions:
                count = sums.setdefault(name, [0.0, 0.0])
                count[0] += int(decisions)
                count[1] += float(seconds)
    return {name: decisions / max(seconds, 1e-9) for name, (decisions, seconds) in sums.items()}


def _prospect(
    the: Definition,
    labels: Sequence[str],
    parts: Sequence[tuple[str, str]],
    amounts: dict[str, int],
    speed: dict[str, float],
    processes: int,
) -> str:
    seconds = sum(
        _amount(amounts, field) * _seconds_a_deal(the.schedule(field, labels), speed) for _, field in parts
    )
    width = Z * DEVIATION / math.sqrt(amounts["1v3"])
    return (
        f"{the.title}: {amounts['1v3']:,} deals in 4 seats (mix: {amounts[MIX]:,}): intervals of about "
        f"±{width:.3f} points a deal;\nabout {_duration(seconds / processes)} of play on {processes} "
        f"core{'s' * (processes > 1)}, by the speed just measured"
    )


def _seconds_a_deal(schedule: Schedule, speed: dict[str, float]) -> float:
    seats = np.bincount(schedule.seatings.ravel(), minlength=len(schedule.names))
    rates = np.array([speed[name] for name in schedule.names])
    return float((DECISIONS * seats / rates).sum())


def _duration(seconds: float) -> str:
    for unit, length in (("hours", 3600), ("minutes", 60)):
        if seconds >= 1.5 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{max(1, round(seconds))} s"
