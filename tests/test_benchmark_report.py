"""What people see of the benchmark: tables, plots, the leaderboard, and the commands."""

from __future__ import annotations

import builtins
import copy
import gzip
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benches import DEALS, PRESETS, small_definition, small_report
from callbreak_env.arena import plots
from callbreak_env.arena.definition import MIX, definition
from callbreak_env.arena.leaderboard import leaderboard
from callbreak_env.arena.plots import check_plot, write_plot
from callbreak_env.arena.report import Report
from callbreak_env.arena.report_file import read_report, write_report
from callbreak_env.arena.summary import summarise
from callbreak_env.arena.tables import by_points, plus_minus, rate, tell_report
from callbreak_env.cli import main
from callbreak_env.errors import CallBreakError, RecordError


@pytest.fixture(autouse=True)
def small(tmp_path: Path) -> Iterator[None]:
    with small_definition(tmp_path):
        yield


def figure(mean: float, half: float) -> dict[str, float]:
    return {"mean": mean, "low": mean - half, "high": mean + half, "deviation": 1.0}


def changed(**figures: Any) -> Report:
    """The small report with other figures of low_bid in F0 of the standard game."""
    report = copy.deepcopy(small_report())
    report.figures["standard"]["F0"]["low_bid"].update(figures)
    return report


# Tables


def lines_of(text: str, first: str) -> list[list[str]]:
    """The lines of the table that follows a line, up to a blank one, as words."""
    lines = text.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(first)) + 2
    end = lines.index("", start)
    return [re.split(r"  +", line.strip()) for line in lines[start:end]]


def test_a_table_shows_the_figures() -> None:
    report = changed(
        points=figure(2.054, 0.021),
        adjusted=figure(2.049, 0.016),
        reduction=0.42,
        margin=figure(0.101, 0.03),
        gain=figure(-0.2, 0.0251),
        made=figure(0.8312, 0.0049),
        bid=figure(2.714, 0.01),
        first=figure(0.2551, 0.013),
    )
    rows = lines_of(tell_report(report), "standard, F0: against three rule_based")
    assert rows[0] == ["agent", "points", "adjusted", "var", "margin", "gain", "made %", "bid", "first %"]
    assert [
        "low_bid", "2.05 ± 0.02", "2.05 ± 0.02", "-42%", "+0.10 ± 0.03", "-0.20 ± 0.03", "83.1 ± 0.5", "2.71",
        "25.5 ± 1.3",
    ] in rows  # fmt: skip
    reference = next(row for row in rows if row[0] == "rule_based *")
    assert reference[4:6] == ["-", "-"]


def test_the_best_comes_first() -> None:
    for mean, order in ((5.0, ["low_bid", "rule_based *"]), (-5.0, ["rule_based *", "low_bid"])):
        text = tell_report(changed(points=figure(mean, 0.1)))
        assert [row[0] for row in lines_of(text, "standard, F0")[1:]] == order
    told = {"b": {"points": figure(1, 0)}, "a": {"points": figure(1, 0)}, "c": {"points": figure(2, 0)}}
    assert by_points(told) == ["c", "a", "b"]


def test_every_part_has_its_table_and_fits_the_width() -> None:
    text = tell_report(small_report())
    for preset in PRESETS:
        for title in (
            "F0: against three rule_based",
            "F1: against three lowest",
            "mix: all tables of four of 4",
        ):
            assert text.count(f"{preset}, {title}") == 1
    assert max(map(len, text.splitlines())) <= 110
    mix = lines_of(text, "standard, mix")
    assert [row[0] for row in mix[1:]] == by_points(small_report().figures["standard"][MIX]["agents"])
    speed = lines_of(text, "Speed on one core")
    assert {row[0]: row[1] for row in speed[1:]} == dict.fromkeys(small_report().agents, "1")
    assert f"deals 0 to {DEALS - 1} of seed 20260101" in text
    assert "FAULTS" not in text


def test_faults_are_loud() -> None:
    text = tell_report(changed(faults={"illegal": 0.0125, "error": 0.0, "timeout": 0.25}))
    assert "!!! FAULTS of low_bid (standard, F0): 1.25% illegal, 25.00% timeout of its decisions" in text


def test_cycles_and_many_tables_are_told() -> None:
    report = copy.deepcopy(small_report())
    mix = report.figures["standard"][MIX]
    mix["cycles"] = [["lowest", "low_bid", "uniform"]]
    mix["payoffs"] = mix["payoffs"] * 20
    text = tell_report(report)
    assert "Cycle: lowest beats low_bid beats uniform beats lowest" in text
    assert "... and 5 tables more" in text
    assert "Cycle" not in tell_report(small_report())


def test_numbers_as_text() -> None:
    assert plus_minus(None) == "-"
    assert plus_minus({"mean": 1.0, "low": 0.9, "high": 1.3}) == "1.00 ± 0.20"
    assert [rate(speed) for speed in (None, 853.4, 41_249.0, 8_800_000.0)] == ["-", "853", "41,200", "8.80 M"]


def test_how_many_deals_more_would_take_is_told() -> None:
    report = changed(points=figure(2.0, 0.1) | {"deviation": 0.7}, gain=figure(0.0, 0.1) | {"deviation": 0.8})
    text = tell_report(replace(report, compared=("low_bid",)))
    # (1.959964 * 0.7 / 0.05)**2 = 752.9, / 0.02: 4705.9; 7.848879 * (0.8 / 0.05)**2 = 2009.3
    assert "low_bid (standard, F0): ±0.05 points a deal take 753 deals, ±0.02 4,706." in text
    assert "Its gain, were it 0.05, is told from 0 by 2,010 deals with a chance of 80 %." in text
    level = changed(points=figure(2.0, 0.0) | {"deviation": 0.0}, gain=None)
    assert "points a deal take" not in tell_report(level)
    assert "chance of 80 %" not in tell_report(level)
    mix = {"standard": {MIX: report.figures["standard"][MIX]}}
    assert "low_bid (standard, mix): ±0.05" in tell_report(replace(report, figures=mix))


# Plots


def test_a_plot_is_written_twice_and_always_the_same(tmp_path: Path) -> None:
    report = changed(points=figure(-6.66, 0.2))
    written = write_plot(tmp_path / "plot.png", report)
    assert written == [tmp_path / "plot.png", tmp_path / "plot.svg"]
    assert written[0].read_bytes().startswith(b"\x89PNG")
    text = written[1].read_text("utf-8")
    ET.fromstring(text)
    for shown in (*PRESETS, "rule_based", "low_bid", "F0: against three rule_based", "-6.66"):
        assert f"<!-- {shown} -->" in text  # drawn as paths, each with its text in a comment
    again = write_plot(tmp_path / "again.svg", report)
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in written]


def test_points_and_intervals_are_where_they_belong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    drawn: list[Any] = []
    original = plots._figure_class()

    class Figure(original):  # type: ignore[misc, valid-type]
        def savefig(self, *args: Any, **options: Any) -> None:
            drawn.append(self)

    monkeypatch.setattr(plots, "_figure_class", lambda: Figure)
    write_plot(tmp_path / "plot.svg", small_report())
    panels = drawn[0].axes
    assert [panel.get_title() for panel in panels] == list(PRESETS)
    rows = [label.get_text() for label in panels[0].get_yticklabels()]
    figures = small_report().figures["standard"]["F0"]
    assert rows == list(reversed(by_points(figures | small_report().figures["standard"]["F1"] | figures)))
    assert set(rows) == {"low_bid", "rule_based", "lowest"}
    bars = panels[0].containers[0]
    x, y = bars.lines[0].get_data()
    segments = bars.lines[2][0].get_segments()
    for place, low_high in zip(zip(x, y, strict=True), segments, strict=True):
        points = figures[rows[round(place[1])]]["points"]
        assert place[0] == pytest.approx(points["mean"])
        assert [end[0] for end in low_high] == pytest.approx([points["low"], points["high"]])


def test_where_no_field_was_played_the_mix_is_drawn(tmp_path: Path) -> None:
    report = small_report()
    figures = {preset: {MIX: fields[MIX]} for preset, fields in report.figures.items()}
    text = write_plot(tmp_path / "mix.svg", replace(report, figures=figures))[1].read_text("utf-8")
    shown = "mix: all tables of four", "uniform", f"{report.deals[MIX]} deals in 24 seatings"
    assert [each in text for each in shown] == [True] * 3


def test_what_cannot_be_drawn_is_told_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CallBreakError, match=r"must end in \.png or \.svg"):
        check_plot(tmp_path / "plot.jpg")
    with pytest.raises(CallBreakError, match="there is no folder"):
        check_plot(tmp_path / "none" / "plot.png")
    real = builtins.__import__

    def without(name: str, *args: Any, **options: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(CallBreakError, match=r"install the extra 'arena' \(callbreak-env\[arena\]\)"):
        check_plot(tmp_path / "plot.png")


# The leaderboard


def entry_rows(text: str, title: str) -> dict[str, list[str]]:
    """The entries of a Markdown table by agent."""
    lines = text[text.index(f"## {title}") :].splitlines()[4:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[: lines.index("")]]
    return {row[0]: row for row in rows}


def write(path: Path, report: Report) -> Path:
    write_report(path, report)
    return path


def renamed(report: Report, old: str, new: str) -> Report:
    """The report, but for the mix, with an agent of another name, and another source."""
    parts = []
    for part in report.parts:
        if part.field == MIX:
            continue
        schedule = part.results.schedule
        names = tuple(new if name == old else name for name in schedule.names)
        parts.append(replace(part, results=replace(part.results, schedule=replace(schedule, names=names))))
    agents = {new if name == old else name: dict(told) for name, told in report.agents.items()}
    agents[new] = {"source": "python:bot.py:Bot", "version": None}
    compared = tuple(new if name == old else name for name in report.compared)
    return replace(report, parts=tuple(parts), agents=agents, compared=compared, figures=summarise(parts))


def test_the_leaderboard_of_two_files(tmp_path: Path) -> None:
    report = small_report()
    files = [
        write(tmp_path / "one.json.gz", report),
        write(tmp_path / "two.json", renamed(report, "low_bid", "mine")),
    ]
    text = leaderboard(files)
    for preset in PRESETS:
        for title in (f"{preset}, F0: against three `rule_based`", f"{preset}, F1: against three `lowest`"):
            assert text.count(f"## {title}\n") == 1
    rows = entry_rows(text, "standard, F0")
    assert set(rows) == {"`low_bid`", "`rule_based` (field)", "`mine`"}
    figures = report.figures["standard"]["F0"]["low_bid"]
    version, deals, points = rows["`low_bid`"][1:4]
    assert (version, deals, points) == ("1", f"{DEALS}", plus_minus(figures["points"]))
    assert rows["`mine`"][1:4] == ["-", deals, points]
    assert rows["`mine`"][11] == "0"
    assert rows["`low_bid`"][13].startswith("one.json.gz, `")
    assert rows["`mine`"][13].startswith("two.json, `")
    assert "tuned on deals of seed 20260101" in text
    assert leaderboard(files) == text
    assert leaderboard([*files, files[0]]) == text


def test_agents_of_two_weights_are_two(tmp_path: Path) -> None:
    """One path, trained further: neither result takes the place of the other, nor contradicts it."""
    report = small_report()
    other = copy.deepcopy(report)
    other.agents["low_bid"]["digest"] = "0123456789ab"
    files = [write(tmp_path / "one.json", report), write(tmp_path / "two.json", other)]
    assert leaderboard(files).count("| `low_bid` |") == 2 * leaderboard(files[:1]).count("| `low_bid` |")


def test_what_the_leaderboard_does_not_take(tmp_path: Path) -> None:
    report = small_report()
    file = write(tmp_path / "r.json", report)
    more = definition().sizes | {"standard": {"1v3": DEALS + 1, "mix": 2}}
    with (
        small_definition(tmp_path, sizes=more),
        pytest.raises(RecordError, match=f"takes {DEALS + 1} or more"),
    ):
        leaderboard([file])
    lacking = replace(report, parts=report.parts[1:])
    with pytest.raises(RecordError, match=r"one\.json: lacks rules 'standard' in field F0"):
        leaderboard([write(tmp_path / "one.json", lacking)])
    with pytest.raises(RecordError, match=r"points\.mean is 9\.0, by the deals"):
        leaderboard([write(tmp_path / "two.json", changed(points=figure(9.0, 0.1)))])
    part = report.parts[0]
    same = {name: getattr(part.results, name)[[0] * DEALS] for name in ("points", "bids", "tricks")}
    parts = (replace(part, results=replace(part.results, **same)), *report.parts[1:])
    other = write(tmp_path / "three.json", replace(report, parts=parts, figures=summarise(parts)))
    with pytest.raises(RecordError, match=r"three\.json: .* has other figures than in r\.json"):
        leaderboard([file, other])


# The commands


def cli(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str, str]:
    try:
        status = main([str(each) for each in argv])
    except SystemExit as exit_:
        status = int(exit_.code or 0)
    out, err = capsys.readouterr()
    return status, out, err


def test_bench_from_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, plot = tmp_path / "r.json.gz", tmp_path / "r.svg"
    status, out, err = cli(
        capsys, "bench", "low_bid", "lowest", "rule_based", "--deals", 4, "--rules", "standard",
        "--field", "F0", "--json", file, "--plot", plot, "--resume", tmp_path / "kept",
    )  # fmt: skip
    assert status == 0, err
    assert "about ±0.735 points a deal" in err
    report = read_report(file)
    assert (report.size, report.deals, report.compared) == (
        "custom",
        {"1v3": 4, "mix": 2},
        ("low_bid", "lowest", "rule_based"),
    )
    assert out.startswith(tell_report(report))
    assert out.endswith(f"written: {file}, {plot.with_suffix('.png')}, {plot}\n")
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == [
        "standard-F0.jsonl",
        "standard-mix.jsonl",
    ]
    status, shown, _ = cli(capsys, "bench", "--show", file)
    assert (status, shown) == (0, tell_report(report) + "\n")
    wrong = tmp_path / "wrong.json"
    for change in (lambda told: told.pop("made"), lambda told: told["points"].update(mean=9.0)):
        figures = copy.deepcopy(report.figures)
        change(figures["standard"]["F0"]["lowest"])
        write(wrong, replace(report, figures=figures))
        status, shown, err = cli(capsys, "bench", "--show", wrong)
        assert (status, shown, err.count("\n")) == (1, "", 1)
        assert err.startswith(f"callbreak: {wrong}: figures.standard.F0.lowest")
    status, out, _ = cli(capsys, "bench", "--verify", file, "--seed", 7)
    assert status == 0
    assert "seed 7" in out
    assert out.endswith("r.json.gz: 2 deals played again in all their seatings, every number equal\n")
    bad = tmp_path / "bad.json"
    text = gzip.decompress(file.read_bytes()).decode()
    bad.write_text(text.replace('"version":1', '"version":3', 1), encoding="utf-8")
    status, _, err = cli(capsys, "bench", "--verify", bad)
    assert (status, err) == (1, f"callbreak: {bad}: 'version' 3 cannot be read, only 1\n")


def test_leaderboard_from_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, board = write(tmp_path / "r.json", small_report()), tmp_path / "LEADERBOARD.md"
    status, out, _ = cli(capsys, "leaderboard", file)
    assert (status, out) == (0, leaderboard([file]))
    status, out, _ = cli(capsys, "leaderboard", file, "--output", board)
    assert (status, out) == (0, f"written: {board}\n")
    assert board.read_text("utf-8") == leaderboard([file])


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("nobody", "--deals", "2"), "there is no agent 'nobody'"),
        (("python:none.py:Bot", "--deals", "2"), "none.py"),
        (("low_bid", "--size", "huge"), "size='huge': choose one of"),
        (("low_bid", "--deals", "1"), "deals must be at least 2"),
        (("low_bid", "--deals", "x"), "invalid int value: 'x'"),
        (("low_bid", "--quick", "--deals", "2"), "not allowed with argument"),
        (("low_bid", "--rules", "whist"), "rules='whist': choose one of"),
        (("low_bid", "--field", "F2"), "fields='F2': choose one of 'F0', 'F1'"),
        (("low_bid", "--json", "r.txt"), "must end in .json or .json.gz"),
        (("low_bid", "--json", "nowhere/r.json"), "there is no folder nowhere"),
        (("low_bid", "--plot", "plot.pdf"), "must end in .png or .svg"),
        (("--verify", "missing.json"), "missing.json: No such file"),
        (("--show", "missing.json"), "missing.json: No such file"),
        (("low_bid", "--deals", "2", "--time-limit", "0"), "time_limit must be"),
        (("--verify", "r.json", "--json", "other.json"), "--verify takes no --json"),
        (("--verify", "r.json", "--plot", "r.svg"), "--verify takes no --plot"),
        (("--verify", "r.json", "--rules", "standard"), "--verify takes no --rules"),
        (("--verify", "r.json", "--field"), "--verify takes no --field"),
        (("--verify", "r.json", "--no-mix"), "--verify takes no --no-mix"),
        (("--verify", "r.json", "--time-limit", "1"), "--verify takes no --time-limit"),
        (("--show", "r.json", "low_bid"), "--show takes no agents"),
        (("--show", "r.json", "--quick"), "--show takes no --size"),
        (("--show", "r.json", "--seed", "1"), "--show takes no --seed"),
        (("low_bid", "--deals", "2", "--seed", "1"), "--seed goes with --verify"),
    ],
)
def test_bad_use_is_one_line(argv: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = cli(capsys, "bench", *argv)
    assert (status, out) == (2, "")
    assert message in err.splitlines()[-1]
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("argv", "missing"),
    [
        (("bench", "low_bid", "--deals", "2"), ("cloudpickle", "scipy", "tqdm")),
        (("bench", "low_bid", "--deals", "2", "--plot", "p.svg"), ("scipy", "matplotlib")),
        (("leaderboard", "r.json"), ("scipy",)),
    ],
)
def test_what_is_not_installed_is_told_first(
    argv: tuple[str, ...],
    missing: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in missing:
        monkeypatch.setitem(sys.modules, name, None)
    status, out, err = cli(capsys, *argv)
    words = f'callbreak: this needs {", ".join(missing)}: pip install "callbreak-env[arena]"\n'
    assert (status, out, err) == (2, "", words)


def test_without_the_extra_the_command_can_be_imported() -> None:
    """Nothing of the extra is imported before it is asked for."""
    code = (
        "import sys\n"
        "for name in ('cloudpickle', 'scipy', 'tqdm', 'matplotlib'): sys.modules[name] = None\n"
        "import callbreak_env.arena.benchmark, callbreak_env.arena.verification, callbreak_env.arena.plots"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_without_a_name_it_compares_the_agents_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = cli(capsys, "bench", "--deals", 2, "--rules", "standard", "--field", "F1", "--no-mix")
    assert status == 0
    names = {row[0] for row in lines_of(out, "standard, F1")[1:]}
    assert names == {*definition().default_agents("quick"), "lowest *"}
