"""A run of the benchmark as tables to read, in 110 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from callbreak_env.arena.definition import MIX, definition
from callbreak_env.arena.report import Report
from callbreak_env.arena.results import DECISIONS
from callbreak_env.arena.statistics import deals_needed, deals_to_find
from callbreak_env.text import aligned

NONE = "-"
MOST_TABLES = 15
"""That are shown of the mix."""


def tell_report(report: Report) -> str:
    """Everything: a table for each preset and field, the mix, and notes."""
    blocks = []
    for preset, fields in report.figures.items():
        for field, figures in fields.items():
            blocks.append(_mix(report, preset, figures) if field == MIX else _field(report, preset, field))
    blocks += [_agents(report), list(_faults(report)), list(_notes(report))]
    return "\n\n".join("\n".join(block) for block in blocks if block)


FIELD_HEAD = ("agent", "points", "adjusted", "var", "margin", "gain", "made %", "bid", "first %")


def _known(figures: dict[str, Any]) -> bool:
    """Whether there is no adjusted figure to show: the covariates are these very points, or were too few."""
    return figures["reduction"] is None or figures["reduction"] > 0.9


def field_cells(figures: dict[str, Any]) -> list[str]:
    """An agent's cells under ``FIELD_HEAD``, but for its name."""
    return [
        plus_minus(figures["points"]),
        NONE if _known(figures) else plus_minus(figures["adjusted"]),
        NONE if _known(figures) else f"{-figures['reduction']:+.0%}",
        plus_minus(figures["margin"], sign=True),
        plus_minus(figures["gain"], sign=True),
        plus_minus(figures["made"], 100, 1),
        value(figures["bid"]),
        plus_minus(figures["first"], 100, 1),
    ]


def _field(report: Report, preset: str, field: str) -> list[str]:
    figures = report.figures[preset][field]
    reference = definition().reference(field)
    rows = [
        [name + (" *" if name == reference else "") + _mark(figures[name]), *field_cells(figures[name])]
        for name in by_points(figures)
    ]
    return [
        f"{preset}, {field}: against three {reference}, {report.deals['1v3']:,} deals in 4 seats",
        "",
        *aligned(FIELD_HEAD, rows),
    ]


def _mix(report: Report, preset: str, told: dict[str, Any]) -> list[str]:
    figures = told["agents"]
    tables = len(told["payoffs"])
    rows = [
        [
            name + _mark(figures[name]),
            rating(figures[name]["rating"]),
            plus_minus(figures[name]["points"]),
            plus_minus(figures[name]["adjusted"]),
            plus_minus(figures[name]["made"], 100, 1),
            value(figures[name]["bid"]),
            plus_minus(figures[name]["first"], 100, 1),
            plus_minus(figures[name]["rank"]),
        ]
        for name in by_points(figures)
    ]
    head = ("agent", "rating", "points", "adjusted", "made %", "bid", "first %", "mean rank")
    lines = [
        f"{preset}, mix: all tables of four of {len(figures)} agents ({tables}) in 24 seatings, "
        f"{report.deals[MIX]:,} deals",
        "",
        *aligned(head, rows),
    ]
    if tables > 1:
        lines += ["", *_payoffs(told["payoffs"], by_points(figures))]
    if told["finite"] is False:
        lines += ["", "Ratings: some agents never outranked others; only a prior bounds their distance."]
    lines += ["", *(_cycle(cycle) for cycle in told["cycles"])] if told["cycles"] else []
    return lines


def _mark(figures: dict[str, Any]) -> str:
    """What shows in its row that moves of an agent were replaced."""
    return " !!!" if any(figures["faults"].values()) else ""


def _payoffs(payoffs: Sequence[Any], names: Sequence[str]) -> list[str]:
    """Points of each agent at each table; of many tables the first."""
    rows = [
        [
            str(number),
            *(value(points[name]) if name in points else "" for name in names),
        ]
        for number, (_, points) in enumerate(payoffs[:MOST_TABLES], 1)
    ]
    lines = aligned(["points at table", *names], rows)
    if len(payoffs) > MOST_TABLES:
        lines.append(f"... and {len(payoffs) - MOST_TABLES} tables more (--json has all)")
    return lines


def _cycle(names: Sequence[str]) -> str:
    return "Cycle: " + " beats ".join([*names, names[0]]) + " (each interval above 0)"


def _agents(report: Report) -> list[str]:
    """Versions and speed."""
    rows = []
    for name, agent in report.agents.items():
        speed, version = report.speed.get(name), agent["version"]
        cost = NONE if speed is None else f"{1000 * DECISIONS / speed:.3g}"
        source = "" if agent["source"] == name else agent["source"]
        rows.append([name, NONE if version is None else str(version), rate(speed), cost, source])
    head = ["agent", "version", "decisions/s", "ms a deal", "made from"]
    return [
        f"Speed on one core of {report.machine.get('processor', 'this machine')}",
        "",
        *aligned(head, rows),
    ]


def _faults(report: Report) -> Iterator[str]:
    """Loud: what was replaced."""
    for preset, fields in report.figures.items():
        for field, told in fields.items():
            for name, figures in (told["agents"] if field == MIX else told).items():
                counted = [f"{share:.2%} {kind}" for kind, share in figures["faults"].items() if share]
                if counted:
                    yield (
                        f"!!! FAULTS of {name} ({preset}, {field}): {', '.join(counted)} of its decisions; "
                        "lowest moves were played instead"
                    )


def _notes(report: Report) -> Iterator[str]:
    the = definition()
    yield (
        f"{report.benchmark}, size {report.size}: deals 0 to {report.deals['1v3'] - 1:,} of seed "
        f"{report.seed} (mix: to {report.deals[MIX] - 1:,})."
    )
    for field, name in the.fields.items():
        if any(field in fields for fields in report.figures.values()):
            yield (
                f"{field}: three copies of {name} (version {the.versions[str(name)]}); the agent sits "
                "once in each seat of every deal."
            )
    yield "Points a deal; ± is half the width of the 95 % interval, by a bootstrap over deals."
    yield (
        "margin: above the mean of the other three; gain: above what the seats make when all four are the "
        "field's;\nfirst: share of matches of five deals won, ties shared, 25 % is par."
    )
    yield (
        "adjusted: points less what the dealt cards alone explain (control variates, unbiased); "
        "var: what that does\nto the variance."
    )
    if any(MIX in fields for fields in report.figures.values()):
        yield "rating: Plackett-Luce by ranks in matches, 1500 is the pool's mean, 400 is 10 to 1."
    yield "*: the field's reference."
    yield from _plan(report)
    yield ", ".join(f"{name} {version}" for name, version in report.software.items())


def _plan(report: Report) -> Iterator[str]:
    """How many deals narrower intervals take, by what was measured of the first agent compared."""
    preset, fields = next(iter(report.figures.items()))
    field, told = next(iter(fields.items()))
    name = report.compared[0]
    figures = (told["agents"] if field == MIX else told)[name]
    spread, gain = figures["points"]["deviation"], figures.get("gain")
    if spread > 0:
        wide, narrow = deals_needed(0.05, spread), deals_needed(0.02, spread)
        yield f"{name} ({preset}, {field}): ±0.05 points a deal take {wide:,} deals, ±0.02 {narrow:,}."
    if gain and gain["deviation"] > 0:
        deals = deals_to_find(0.05, gain["deviation"])
        yield f"Its gain, were it 0.05, is told from 0 by {deals:,} deals with a chance of 80 %."


def by_points(figures: dict[str, Any]) -> list[str]:
    """The agents, best points first."""
    return sorted(figures, key=lambda name: (-figures[name]["points"]["mean"], name))


def plus_minus(
    interval: dict[str, float] | None, times: float = 1, decimals: int = 2, sign: bool = False
) -> str:
    """A figure with half the width of its interval: ``2.05 ± 0.02``."""
    if interval is None:
        return NONE
    half = (interval["high"] - interval["low"]) / 2 * times
    return f"{interval['mean'] * times:{'+' if sign else ''}.{decimals}f} ± {half:.{decimals}f}"


def value(interval: dict[str, float] | None) -> str:
    """A figure without its interval."""
    return NONE if interval is None else f"{interval['mean']:.2f}"


def rate(speed: float | None) -> str:
    """Decisions a second: ``853``, ``41,200``, ``8.80 M``."""
    if speed is None:
        return NONE
    return f"{speed / 1e6:.2f} M" if speed >= 1e6 else f"{float(f'{speed:.3g}'):,.0f}"


def rating(interval: dict[str, float] | None) -> str:
    """A rating with its interval, which need not be symmetric: ``1523 (1510..1536)``."""
    if interval is None:
        return NONE
    return f"{interval['mean']:.0f} ({interval['low']:.0f}..{interval['high']:.0f})"
