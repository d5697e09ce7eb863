"""A small stand-in for the benchmark's definition: other references, few deals; and a run of it."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from callbreak_env.arena import definition
from callbreak_env.arena.benchmark import run
from callbreak_env.arena.report import Report
from callbreak_env.policy import AGENT_VERSIONS
from conftest import JIT

PRESETS = ("standard", "bhoos") if JIT else ("standard",)
DEALS = 60 if JIT else 12
AGENTS = ("low_bid", "rule_based")


@contextmanager
def small_definition(folder: Path, **changes: Any) -> Iterator[None]:
    """Within it, the benchmark is a small one without searches; what else differs is given."""
    told = json.loads((Path(definition.__file__).parent / "bench_v1.json").read_text("utf-8"))
    told |= {
        "rules": {preset: told["rules"][preset] for preset in PRESETS},
        "fields": {"F0": "rule_based", "F1": "lowest"},
        "mix": {"always": ["rule_based", "lowest"], "filled_up_by": ["low_bid", "uniform"]},
        "versions": {name: AGENT_VERSIONS[name] for name in ("rule_based", "lowest")},
        "sizes": {
            "quick": {"1v3": 6, "mix": 1},
            "standard": {"1v3": DEALS, "mix": DEALS // 6},
            "headline": {"1v3": 600, "mix": 100},
        },
        "agents": {"quick": list(AGENTS), "larger": list(AGENTS)},
        "expectations": {preset: told["expectations"][preset] for preset in PRESETS},
    }
    told |= changes
    text = json.dumps(told)
    file = folder / f"small-{zlib.crc32(text.encode())}.json"
    file.write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(definition, "FILE", str(file))
        yield


@cache
def small_report() -> Report:
    """A run of two agents under it; the same for all tests, not to be changed."""
    return run(AGENTS, deals=DEALS, threads=1)
