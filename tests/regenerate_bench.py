"""Writes the pinned quick result of CallBreak-Bench's built-in agents, ``data/bench_quick.json``.

    python tests/regenerate_bench.py

It takes a minute or two. To be run when an agent's version changes, and for nothing else: a change in it
without one is a change of results that others have compared with.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from callbreak_env.arena.benchmark import run
from callbreak_env.arena.report import Part, Report

FILE = Path(__file__).parent / "data" / "bench_quick.json"
FIRST = 4
"""Deals whose digest is kept beside that of all: what an ordinary test plays again."""


def digest(part: Part, deals: int) -> str:
    """SHA-256 over points, bids and tricks of a part's first deals, as little-endian int32."""
    sha = hashlib.sha256()
    for name in ("points", "bids", "tricks"):
        sha.update(getattr(part.results, name)[:deals].astype("<i4").tobytes())
    return sha.hexdigest()


def pinned(report: Report) -> dict[str, Any]:
    """What of a report is kept."""
    return {
        "benchmark": report.benchmark,
        "agents": report.agents,
        "compared": list(report.compared),
        "first_deals": FIRST,
        "digests": {
            f"{part.rules} {part.field}": {
                "first": digest(part, FIRST),
                "all": digest(part, len(part.results.deals)),
            }
            for part in report.parts
        },
        "figures": report.figures,
    }


def main() -> None:
    """Play and write it."""
    told = pinned(run(size="quick", say=print))
    FILE.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {FILE.name}")


if __name__ == "__main__":
    main()
