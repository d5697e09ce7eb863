"""The leaderboard: Markdown from result files of the benchmark."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from callbreak_env.arena.definition import MIX, definition
from callbreak_env.arena.report_file import read_report
from callbreak_env.arena.summary import check_figures
from callbreak_env.arena.tables import FIELD_HEAD, NONE, field_cells, rate
from callbreak_env.errors import RecordError
from callbreak_env.records import at

HEAD = (
    "agent", "version", "deals", *FIELD_HEAD[1:], "faults %", "decisions/s", "file, SHA-256",
)  # fmt: skip
INTRO = """# Leaderboard of {title}

Written by `callbreak leaderboard FILES... --output benchmarks/LEADERBOARD.md` from the files that are named
in the last column; not to be edited by hand. A table for each preset of rules and each field: {fields}.
The agent sits once in each seat of every deal. Points a deal; ± is half the width of the 95 % interval, by a
bootstrap over deals.

- adjusted: points less what the dealt cards alone explain (unbiased); var: what that does to the variance
- margin: above the mean of the other three
- gain: above what the seats make when all four are the field's
- first: share of matches of five deals won, ties shared; 25 % is par
- faults: share of the agent's decisions that had to be replaced
- decisions/s: one process, one thread, on the machine that the file names
- (field): the reference itself

Intervals that overlap decide nothing.
"""
RULES = """## How an entry gets in

1. `callbreak bench AGENT --size {size} --json FILE.json.gz`, or a larger size: {deals:,} deals or more, all
   presets, all fields. Results of a smaller size are refused.
2. The file is attached as it was written, and `callbreak bench --verify FILE` finds every number equal, on
   another machine.
3. Others can run the agent: its text for `callbreak bench`, with the code, weights and settings it needs, and
   the versions that it was run with. A changed agent is a new entry, with another version or name.
4. It decides by its own seat's view alone: exchanging the hidden hands changes no decision. It keeps nothing
   from one deal to another, shares nothing between seats, and draws only from the generator it is given.
5. Nothing in it was fitted, selected or tuned on deals of seed {seed}. It is said which seeds it was.
6. The time a move takes is stated, with the processor, and the time limit if there was one. Moves that had to
   be replaced (illegal, failed, late) are counted and shown.
"""


@dataclass(frozen=True)
class Entry:
    """One agent's figures in one field, and the file that they are from."""

    preset: str
    field: str
    agent: str
    version: int | None
    digest: str | None
    deals: int
    figures: dict[str, Any]
    speed: float | None
    source: str
    made_from: str


def leaderboard(paths: Iterable[Path]) -> str:
    """The leaderboard of some result files.

    Raises:
        RecordError: a file is none, is of too small a size, or two of them contradict each other.
        OSError: one cannot be read.
    """
    best: dict[tuple[str, str, str, str, int | None, str | None], Entry] = {}
    for path in paths:
        with at(str(path)):
            for entry in _entries(path):
                key = (entry.preset, entry.field, entry.agent, entry.made_from, entry.version, entry.digest)
                other = best.get(key)
                if other and other.deals == entry.deals and other.figures != entry.figures:
                    raise RecordError(
                        f"{entry.agent} (version {entry.version}) has other figures than in {other.source} "
                        f"({entry.preset}, {entry.field}): one of them was played by something else"
                    )
                if other is None or entry.deals > other.deals:
                    best[key] = entry
    return _text(list(best.values()))


def _entries(path: Path) -> list[Entry]:
    report = read_report(path)
    the, least = definition(), definition().sizes["standard"]["1v3"]
    if report.deals["1v3"] < least:
        raise RecordError(f"has {report.deals['1v3']:,} deals: the leaderboard takes {least:,} or more")
    played = {(part.rules, part.field) for part in report.parts}
    for preset in the.rules:
        for field in the.fields:
            if (preset, field) not in played:
                raise RecordError(
                    f"lacks rules {preset!r} in field {field}: the leaderboard takes all of them"
                )
    check_figures(report)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return [
        Entry(
            preset=part.rules,
            field=part.field,
            agent=name,
            version=report.agents[name]["version"],
            digest=report.agents[name].get("digest"),
            deals=report.deals["1v3"],
            figures=report.figures[part.rules][part.field][name],
            speed=report.speed.get(name),
            made_from=report.agents[name]["source"],
            source=f"{path.name}, `{digest[:16]}`",
        )
        for part in report.parts
        if part.field != MIX
        for name in part.results.schedule.names
    ]


def _text(entries: list[Entry]) -> str:
    the = definition()
    fields = ", ".join(f"{field} three `{name}`" for field, name in the.fields.items())
    blocks = [INTRO.format(title=the.title, fields=fields)]
    for preset in the.rules:
        for field, reference in the.fields.items():
            chosen = [entry for entry in entries if (entry.preset, entry.field) == (preset, field)]
            chosen.sort(key=lambda entry: (-entry.figures["points"]["mean"], entry.agent))
            lines = [_row(HEAD), _row(["---", *["---:"] * (len(HEAD) - 2), "---"])]
            lines += [_row(_cells(entry, reference)) for entry in chosen]
            blocks.append(f"## {preset}, {field}: against three `{reference}`\n\n" + "\n".join(lines) + "\n")
    blocks.append(RULES.format(size="standard", deals=the.sizes["standard"]["1v3"], seed=the.seed))
    return "\n".join(blocks)


def _cells(entry: Entry, reference: str) -> list[str]:
    replaced = sum(entry.figures["faults"].values())
    return [
        f"`{entry.agent}`" + (" (field)" if entry.agent == reference else ""),
        NONE if entry.version is None else str(entry.version),
        f"{entry.deals:,}",
        *field_cells(entry.figures),
        f"{replaced:.2%}"[:-1] if entry.figures["faults"] else "0",
        rate(entry.speed),
        entry.source,
    ]


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
