"""A run of the benchmark: who played, on what machine, every deal, and the figures."""

from __future__ import annotations

import importlib.metadata
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from callbreak_env.arena.results import Results
from callbreak_env.engine.threads import usable_cores


@dataclass(frozen=True)
class Part:
    """The deals of one preset and one field, or of its mix.

    Attributes:
        rules: the preset's name.
        field: a field of the definition, or ``MIX``.
        results: every deal.
    """

    rules: str
    field: str
    results: Results


@dataclass(frozen=True)
class Report:
    """A run of the benchmark; the attributes are those of its file (``callbreak_env.arena.report_file``)."""

    benchmark: str
    size: str
    deals: dict[str, int]
    seed: int
    agents: dict[str, dict[str, Any]]
    compared: tuple[str, ...]
    time_limit: float | None
    software: dict[str, str]
    machine: dict[str, Any]
    speed: dict[str, float]
    parts: tuple[Part, ...]
    figures: dict[str, Any]

    def part(self, rules: str, field: str) -> Part:
        """The part of a preset and field."""
        return next(part for part in self.parts if (part.rules, part.field) == (rules, field))


def software() -> dict[str, str]:
    """The versions of what the numbers come from."""
    names = {"callbreak_env": "callbreak-env", "numpy": "numpy", "numba": "numba"}
    found = {name: importlib.metadata.version(project) for name, project in names.items()}
    return {**found, "python": platform.python_version()}


def machine() -> dict[str, Any]:
    """The processor and the number of cores; nothing that tells whose machine it is."""
    return {"processor": _processor(), "cores": usable_cores(), "system": platform.system()}


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
