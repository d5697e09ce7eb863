"""The figures of a run of the benchmark, from its deals alone, JSON-ready.

By preset and field, then::

    {"rule_based": {"points": I, "adjusted": I or null, "reduction": 0.13 or null,
                    "margin": I, "gain": I,   null for the reference itself
                    "made": I, "bid": I, "tricks": I, "overtricks": I or null, "first": I or null,
                    "faults": {}},            share of the decisions that were replaced, by kind
     ...}

and for the mix::

    {"agents": {"rule_based": {as above but for margin and gain, "rank": I or null, "rating": I}, ...},
     "finite": true,                          whether the ranks alone bound the ratings
     "differences": [["pimc", "rule_based", I], ...],
     "payoffs": [[["pimc", ...], {"pimc": I, ...}], ...],  by table
     "cycles": [["a", "b", "c"], ...]}        a beats b beats c beats a

``I`` is ``{"mean", "low", "high", "deviation"}``: a figure, its 95 % interval and one unit's deviation; in
points, ratings on their Elo-like scale.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from callbreak_env.arena.definition import MIX, definition
from callbreak_env.arena.figures import (
    Figures,
    challenge,
    cycles,
    entrant_figures,
    paired_differences,
    payoffs,
)
from callbreak_env.arena.ratings import display, rate
from callbreak_env.arena.report import Part, Report
from callbreak_env.arena.statistics import Interval
from callbreak_env.arena.variates import Adjusted, adjusted_points
from callbreak_env.errors import RecordError

RATING_MATCHES = 2
"""Fewer matches than this (of five deals each) cannot be rated."""


def summarise(parts: Sequence[Part]) -> dict[str, Any]:
    """The figures of all parts, by preset and field."""
    found: dict[str, Any] = {}
    for part in parts:
        of = _of_mix if part.field == MIX else _of_field
        found.setdefault(part.rules, {})[part.field] = of(part)
    return found


def _of_field(part: Part) -> dict[str, Any]:
    results = part.results
    reference = definition().reference(part.field)
    found = {}
    adjusted = _adjusted(part, {name: [table] for table, name in enumerate(results.schedule.names)})
    for table, name in enumerate(results.schedule.names):
        told: dict[str, Any] = {"margin": None, "gain": None}
        if name == reference:
            figures = entrant_figures(results, [table])[name]
        else:
            against = challenge(results, name, reference)
            figures = against.figures
            told = {"margin": _plain(against.margin), "gain": _plain(against.gain)}
        found[name] = _shared(figures, adjusted.get(name)) | told
    return found


def _of_mix(part: Part) -> dict[str, Any]:
    results = part.results
    figures, adjusted = entrant_figures(results), _adjusted(part, dict.fromkeys(results.schedule.names))
    agents = {name: _shared(each, adjusted.get(name)) for name, each in figures.items()}
    for name, each in figures.items():
        agents[name] |= {"rank": _plain(each.rank), "rating": None}
    finite = None
    if len(results.deals) // results.rules.deals >= RATING_MATCHES:
        ratings = rate(results)
        finite = ratings.finite
        for entrant in ratings.entrants:
            agents[entrant.name]["rating"] = _rating(entrant.strength)
    differences = paired_differences(results)
    return {
        "agents": agents,
        "finite": finite,
        "differences": [[*pair, _plain(each)] for pair, each in differences.items()],
        "payoffs": [
            [list(payoff.names), {name: _plain(each) for name, each in payoff.points.items()}]
            for payoff in payoffs(results)
        ],
        "cycles": [list(cycle) for cycle in cycles(differences)],
    }


def _shared(figures: Figures, adjusted: Adjusted | None) -> dict[str, Any]:
    """The figures that every format has."""
    return {
        "points": _plain(figures.points),
        "adjusted": _plain(adjusted.adjusted) if adjusted else None,
        "reduction": adjusted.reduction if adjusted else None,
        "made": _plain(figures.made),
        "bid": _plain(figures.bid),
        "tricks": _plain(figures.tricks),
        "overtricks": _plain(figures.overtricks),
        "first": _plain(figures.win_share),
        "faults": figures.faults,
    }


def _adjusted(part: Part, tables: Mapping[str, Sequence[int] | None]) -> dict[str, Adjusted]:
    """By agent, over its tables; none where the definition has no expectation."""
    expectation = definition().expectations.get(part.rules)
    return {} if expectation is None else adjusted_points(part.results, tables, expectation)


def _plain(interval: Interval | None) -> dict[str, float] | None:
    if interval is None:
        return None
    return {name: getattr(interval, name) for name in ("mean", "low", "high", "deviation")}


def _rating(strength: Interval) -> dict[str, float]:
    ends = {name: display(getattr(strength, name)) for name in ("mean", "low", "high")}
    return {**ends, "deviation": strength.deviation * (display(1.0) - display(0.0))}


def check_figures(report: Report) -> None:
    """RecordError at the first figure that does not follow from the report's deals, to nine digits."""
    _compare(report.figures, summarise(report.parts), "figures")


def _compare(told: Any, right: Any, place: str) -> None:
    if isinstance(right, dict):
        if not isinstance(told, dict) or told.keys() != right.keys():
            raise RecordError(f"{place} must have {list(right)}")
        for key in right:
            _compare(told[key], right[key], f"{place}.{key}")
    elif isinstance(right, list):
        if not isinstance(told, list) or len(told) != len(right):
            raise RecordError(f"{place} must be a list of {len(right)}")
        for index, (one, other) in enumerate(zip(told, right, strict=True)):
            _compare(one, other, f"{place}[{index}]")
    elif isinstance(right, float):
        if not isinstance(told, (int, float)) or not math.isclose(told, right, rel_tol=1e-9, abs_tol=1e-9):
            raise RecordError(f"{place} is {told!r:.40}, by the deals {right!r}")
    elif told != right or type(told) is not type(right):
        raise RecordError(f"{place} is {told!r:.40}, by the deals {right!r:.40}")
