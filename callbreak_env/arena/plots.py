"""The forest plot of a run of the benchmark: points a deal with intervals. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from callbreak_env.arena.definition import MIX, definition
from callbreak_env.arena.report import Report
from callbreak_env.arena.report_file import check_target
from callbreak_env.errors import CallBreakError

SUFFIXES = (".png", ".svg")
SPAN = 1.2
"""Agents that are worse than the best by more points than this are shown at the edge, as numbers."""
_COLOURS = ("tab:blue", "tab:orange", "tab:green")
_MARKERS = ("o", "s", "^")


def check_plot(path: Path) -> None:
    """Refuse, before any work, what :func:`write_plot` could not write.

    Raises:
        ValueError: another suffix than those of ``SUFFIXES``, no such folder, or matplotlib is missing.
    """
    if path.suffix not in SUFFIXES:
        raise CallBreakError(f"--plot {path}: its name must end in {' or '.join(SUFFIXES)}; both are written")
    check_target(path)
    _figure_class()


def write_plot(path: Path, report: Report) -> list[Path]:
    """Draw a panel for each preset, an agent a row, a colour and marker a field; returns what was written."""
    figure = _figure_class()(
        figsize=(1.5 + 5.5 * len(report.figures), 1.9 + 0.42 * len(_rows(report))), layout="constrained"
    )
    panels = figure.subplots(1, len(report.figures), sharey=True, squeeze=False)[0]
    for panel, (preset, fields) in zip(panels, report.figures.items(), strict=True):
        _draw(panel, preset, _fields(fields), _rows(report))
    panels[0].set_yticks(range(len(_rows(report))), _rows(report))
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    figure.supxlabel(
        f"points a deal, with 95 % intervals ({report.benchmark}, {_amount(report)}); ◂ far below",
        fontsize=9,
    )
    written = [path.with_suffix(suffix) for suffix in SUFFIXES]
    for target in written:
        # No date, and the same names inside, so that the same report gives the same file.
        figure.savefig(target, dpi=150, metadata={"Date": None} if target.suffix == ".svg" else None)
    return written


def _figure_class() -> Any:
    try:
        from matplotlib import rcParams
        from matplotlib.figure import Figure
    except ImportError:
        raise CallBreakError(
            "--plot needs matplotlib: install the extra 'arena' (callbreak-env[arena])"
        ) from None
    rcParams["svg.hashsalt"] = "callbreak"
    return Figure


def _fields(figures: dict[str, Any]) -> dict[str, Any]:
    """What is drawn of a preset: agents by field; the mix only where no field was played."""
    fields = {field: told for field, told in figures.items() if field != MIX}
    return fields or {MIX: figures[MIX]["agents"]}


def _amount(report: Report) -> str:
    if any(MIX not in _fields(figures) for figures in report.figures.values()):
        return f"{report.deals['1v3']:,} deals in 4 seats"
    return f"{report.deals[MIX]:,} deals in 24 seatings"


def _rows(report: Report) -> list[str]:
    """The agents from the bottom to the top: by points, each in the first field that it is in."""
    points: dict[str, float] = {}
    for figures in report.figures.values():
        for told in _fields(figures).values():
            for name, each in told.items():
                points.setdefault(name, float(each["points"]["mean"]))
    return sorted(points, key=lambda name: (points[name], name))


def _draw(panel: Any, preset: str, fields: dict[str, Any], rows: Sequence[str]) -> None:
    shown = {
        (field, name): told[name]["points"] for field, told in fields.items() for name in rows if name in told
    }
    best = max(points["high"] for points in shown.values())
    left = min(points["low"] for points in shown.values() if points["mean"] > best - SPAN)
    room = 0.06 * (best - left)
    edge = left - 3 * room
    offsets = {field: 0.15 * (len(fields) - 1 - 2 * number) for number, field in enumerate(fields)}
    for number, field in enumerate(fields):
        company = f"against three {definition().fields[field]}" if field != MIX else "all tables of four"
        style = {"color": _COLOURS[number], "marker": _MARKERS[number]}
        inside = [
            (points["mean"], rows.index(name) + offsets[field], points)
            for (its, name), points in shown.items()
            if its == field and points["low"] >= left
        ]
        panel.errorbar(
            [x for x, _, _ in inside],
            [y for _, y, _ in inside],
            xerr=[
                [points["mean"] - points["low"] for *_, points in inside],
                [points["high"] - points["mean"] for *_, points in inside],
            ],
            label=f"{field}: {company}",
            linestyle="none",
            markersize=4.5,
            capsize=2.5,
            elinewidth=1.2,
            **style,
        )
        for (its, name), points in shown.items():
            if its == field and points["low"] < left:
                y = rows.index(name) + offsets[field]
                panel.plot([edge], [y], linestyle="none", marker="<", markersize=5, color=style["color"])
                panel.annotate(
                    f"{points['mean']:.2f}",
                    (edge, y),
                    xytext=(6, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=7,
                    color=style["color"],
                )
    if any(points["low"] < left for points in shown.values()):
        panel.axvspan(edge - room, left - room / 2, color="0.95", zorder=0)
    else:
        edge = left
    panel.set_xlim(edge - room, best + room)
    panel.set_xticks([tick for tick in panel.get_xticks() if left - room / 2 < tick <= best + room])
    panel.set_ylim(-0.6, len(rows) - 0.4)
    panel.set_title(preset, fontsize=10)
    panel.grid(axis="x", alpha=0.3)
    for number in range(len(rows) - 1):
        panel.axhline(number + 0.5, color="0.93", linewidth=0.8, zorder=0)
