"""The standard benchmark: its frozen definition, a run's figures, its file, and the verification of that."""

from __future__ import annotations

import copy
import gzip
import json
import os
import platform
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regenerate_bench
from arenas import BOT
from benches import DEALS, PRESETS, small_definition, small_report
from callbreak_env.agents.neural import save_weights
from callbreak_env.arena import benchmark as benchmark_module
from callbreak_env.arena import definition as definition_module
from callbreak_env.arena.benchmark import public, run
from callbreak_env.arena.definition import MIX, decks_digest, definition
from callbreak_env.arena.entrants import Entrant
from callbreak_env.arena.foreign import text_digest
from callbreak_env.arena.report import Report
from callbreak_env.arena.report_file import from_json, read_report, to_json, write_report
from callbreak_env.arena.summary import summarise
from callbreak_env.arena.verification import verify
from callbreak_env.errors import CallBreakError, RecordError
from callbreak_env.match import deal_points
from callbreak_env.policy import AGENT_VERSIONS
from callbreak_env.rules import PRESETS as ALL_PRESETS
from conftest import JIT
from networks import network


@pytest.fixture
def small(tmp_path: Path) -> Iterator[None]:
    with small_definition(tmp_path):
        yield


# The definition


def test_the_deals_of_v1_are_pinned() -> None:
    the = definition()
    assert (the.title, the.seed, the.decks) == ("CallBreak-Bench v1", 20260101, 1000)
    assert the.sha256 == "2f803631a16ca438bc296172f598ef61af2b28a11224310154bf7baf1a12852f"
    assert list(the.rules) == ["standard", "bhoos"]
    for rules in the.rules.values():
        assert decks_digest(rules, the.seed, the.decks) == the.sha256
    assert decks_digest(the.rules["standard"], the.seed + 1, the.decks) != the.sha256
    assert {size: each["1v3"] for size, each in the.sizes.items()} == {
        "quick": 500,
        "standard": 10_000,
        "headline": 50_000,
    }
    assert the.fields == {"F0": "rule_based", "F1": "pimc", "F2": "neural"}


def test_the_package_is_that_of_the_definition() -> None:
    the = definition()
    the.check()
    references = {*the.fields.values(), *the.mix[0], *the.mix[1]}
    assert the.versions.keys() == references
    assert the.expectations.keys() == the.rules.keys()
    assert all(each.seed != the.seed for each in the.expectations.values())


def test_another_package_is_refused(monkeypatch: pytest.MonkeyPatch, small: None) -> None:
    version = AGENT_VERSIONS["lowest"]
    with monkeypatch.context() as patch:
        patch.setitem(AGENT_VERSIONS, "lowest", version + 1)
        with pytest.raises(CallBreakError, match=f"needs version {version} of lowest, .* has {version + 1}"):
            run(["low_bid"], deals=2)
    with monkeypatch.context() as patch:
        patch.setitem(ALL_PRESETS, "standard", ALL_PRESETS["bonus"])
        with pytest.raises(CallBreakError, match="other rules 'standard'"):
            definition().check()
    with monkeypatch.context() as patch:
        patch.setattr(definition_module, "decks_digest", lambda *_: "0" * 64)
        with pytest.raises(CallBreakError, match="deals other cards"):
            definition().check()


def test_who_sits_where() -> None:
    the = definition()
    alone = the.schedule("F0", ["rule_based"])
    assert (alone.names, alone.seatings.tolist(), alone.tables.tolist()) == (("rule_based",), [[0] * 4], [0])
    assert alone.seatings.dtype == alone.tables.dtype == np.int64
    field = the.schedule("F1", ["low_bid", "pimc", "x"])
    assert field.names == ("pimc", "low_bid", "x")
    assert field.tables.tolist() == [0, 1, 1, 1, 1, 2, 2, 2, 2]
    assert field.seatings[0].tolist() == [0, 0, 0, 0]
    for agent in (1, 2):
        rows = field.seatings[field.tables == agent]
        assert rows.tolist() == [[agent if seat == own else 0 for seat in range(4)] for own in range(4)]
    for agents, pool in (
        (["x"], {"x", "rule_based", "pimc", "low_bid"}),
        (["pimc"], {"rule_based", "pimc", "low_bid", "pimc_lite"}),
        (["x", "y", "z"], {"x", "y", "z", "rule_based", "pimc"}),
    ):
        mix = the.schedule(MIX, agents)
        assert set(mix.names) == pool
        rows = {tuple(row) for row in mix.seatings.tolist()}
        assert len(rows) == len(mix.seatings) == {4: 24, 5: 120}[len(pool)]
        assert all(len(set(row)) == 4 for row in rows)


def test_the_number_of_deals() -> None:
    the = definition()
    assert the.deals("quick") == the.sizes["quick"]
    assert the.deals("standard", 500) == the.sizes["quick"]
    assert the.deals("quick", 4) == {"1v3": 4, MIX: 2}
    assert the.default_agents("quick") == the.default_agents("headline", 4) != the.default_agents("headline")


def test_every_figure_that_is_written_is_defined(small: None) -> None:
    figures = small_report().figures["standard"]
    written = {*figures["F0"]["low_bid"], *figures[MIX]["agents"]["low_bid"], *figures[MIX]}
    assert written - {"agents", "faults", "finite"} == definition().figures.keys()


# A run


def test_the_figures_are_those_of_the_deals(small: None) -> None:
    report = small_report()
    assert [(part.rules, part.field) for part in report.parts] == [
        (preset, field) for preset in PRESETS for field in ("F0", "F1", MIX)
    ]
    for part in report.parts[:2]:
        results, reference = part.results, definition().reference(part.field)
        assert len(results.deals) == DEALS
        all_reference = results.points[:, 0].mean(axis=1)
        figures = report.figures[part.rules][part.field]
        for table, name in enumerate(results.schedule.names):
            own: Any = np.s_[:, 0, :]
            if table > 0:
                own = np.s_[:, [4 * table - 3 + seat for seat in range(4)], range(4)]
            points, made = results.points[own].mean(axis=1) / 10, (results.tricks >= results.bids)[own]
            assert figures[name]["points"]["mean"] == pytest.approx(points.mean())
            assert figures[name]["points"]["deviation"] == pytest.approx(points.std(ddof=1))
            assert figures[name]["made"]["mean"] == pytest.approx(made.mean())
            assert figures[name]["bid"]["mean"] == pytest.approx(results.bids[own].mean())
            assert figures[name]["faults"] == {}
            if name == reference:
                assert table == 0
                assert figures[name]["gain"] is figures[name]["margin"] is None
                continue
            rows = results.points[:, 4 * table - 3 : 4 * table + 1]
            others = (rows.sum(axis=(1, 2)) / 10 - 4 * points) / 12
            assert figures[name]["margin"]["mean"] == pytest.approx((points - others).mean())
            assert figures[name]["gain"]["mean"] == pytest.approx((points - all_reference / 10).mean())
    mix = report.figures["standard"][MIX]
    assert set(mix["agents"]) == {"low_bid", "rule_based", "lowest", "uniform"}
    points = {name: each["points"]["mean"] for name, each in mix["agents"].items()}
    assert sum(points.values()) == pytest.approx(4 * report.part("standard", MIX).results.points.mean() / 10)
    assert mix["payoffs"][0][1].keys() == points.keys()
    assert mix["payoffs"][0][1]["uniform"]["mean"] == pytest.approx(points["uniform"])


def test_the_company_in_a_run_changes_nothing(small: None) -> None:
    alone = run(["low_bid"], deals=DEALS, rules=["standard"], fields=["F0"], mix=False, threads=2)
    assert alone.figures["standard"]["F0"] == small_report().figures["standard"]["F0"]


def test_one_agent_is_compared_in_all_that_there_is(small: None) -> None:
    """The references fill the tables; none of them is compared, nor what fills the pool up."""
    report = run(["uniform"], deals=2, rules=["standard"])
    assert report.compared == ("uniform",)
    fields = report.figures["standard"]
    assert fields.keys() == {*definition().fields, MIX}
    for part in report.parts:
        pool = (
            definition().pool(["uniform"])
            if part.field == MIX
            else {definition().fields[part.field], "uniform"}
        )
        assert set(part.results.schedule.names) == set(pool)


def test_a_run_goes_on_where_it_stopped(small: None, tmp_path: Path) -> None:
    chosen: dict[str, Any] = {
        "rules": ["standard"],
        "fields": ["F1"],
        "mix": False,
        "folder": tmp_path / "kept",
    }
    run(["low_bid"], deals=2, **chosen)
    kept = tmp_path / "kept" / "standard-F1.jsonl"
    before = kept.read_bytes()
    report = run(["low_bid"], deals=4, **chosen)
    assert kept.read_bytes().startswith(before)
    whole = run(["low_bid"], deals=4, **{**chosen, "folder": None})
    assert to_json(report)["parts"] == to_json(whole)["parts"]
    with pytest.raises(CallBreakError, match="holds other results: its names"):
        run(["uniform"], deals=4, **chosen)


def test_what_will_happen_is_told(small: None) -> None:
    lines: list[str] = []
    run(["low_bid"], deals=4, rules=["standard"], fields=["F1"], mix=False, say=lines.append)
    assert "4 deals in 4 seats" in lines[0]
    assert "intervals of about ±0.735 points a deal" in lines[0]  # 1.96 * 0.75 / 2
    assert lines[1:] == ["standard, F1 ..."]


def test_a_speed_is_that_of_one_thread(small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are shared among threads, so what the whole run took says nothing of an agent asked for many."""
    monkeypatch.setattr(benchmark_module, "measure_speed", lambda *_: 123.0)
    monkeypatch.setattr(benchmark_module, "usable_cores", lambda: 2)
    save_weights(network(8, 1), tmp_path / "net")
    (tmp_path / "bot.py").write_text("def bot(view):\n    return view.legal_actions()[0]\n")
    net, bot = f"net=neural:play=0,weights={tmp_path / 'net'}", f"bot=python:{tmp_path / 'bot.py'}:bot"
    for agents, cores in (([net], 2), ([net, bot], 1)):
        lines: list[str] = []
        chosen: dict[str, Any] = {"rules": ["standard"], "fields": ["F0"], "mix": False}
        report = run(agents, deals=2, threads=2, say=lines.append, **chosen)
        assert f"of play on {cores} core" in lines[0]
        assert report.speed["net"] == 123.0
    assert report.speed["bot"] != 123.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"agents": ["nobody"]}, "there is no agent 'nobody'"),
        ({"agents": []}, "at least one agent"),
        ({"agents": "low_bid"}, "must be a list of agents"),
        ({"agents": ["lowest=low_bid"]}, "cannot be called 'lowest'"),
        ({"agents": ["low_bid", "low_bid"]}, "two entrants are called 'low_bid'"),
        ({"size": "huge"}, "size='huge': choose one of 'quick', 'standard', 'headline'"),
        ({"deals": 1}, "at least 2"),
        ({"deals": 0}, "deals must be at least 2"),
        ({"rules": ["whist"]}, "rules='whist': choose one of 'standard'"),
        ({"rules": []}, "rules must be one or more of"),
        ({"fields": ["F2"]}, "fields='F2': choose one of 'F0', 'F1'"),
        ({"fields": [], "mix": False}, "nothing to play"),
        ({"threads": 0}, "threads must be at least 1"),
        ({"workers": 0}, "workers must be at least 1"),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any], message: str, small: None) -> None:
    with pytest.raises(ValueError, match=message):
        run(**{"agents": ["low_bid"], "deals": 2} | options)


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("python:/home/me/bots/bot.py:Bot", "python:bot.py:Bot"),
        ("python:~/bots/bot.py:Bot", "python:bot.py:Bot"),
        ("python:C:\\Users\\me\\bot.py:Bot", "python:bot.py:Bot"),
        ("process:/usr/bin/python3 /opt/bot.py --deep", "process:python3 bot.py --deep"),
        ("policy:agents/bot.py:act", "policy:agents/bot.py:act"),
        ("pimc:bid=3,play=4", "pimc:bid=3,play=4"),
        ("python:/home/my name/my bot.py:Bot", "python:my bot.py:Bot"),
        ("policy:C:\\Users\\my name\\bot.py:Bot.act", "policy:bot.py:Bot.act"),
        ("policy:~me/my bots/bot.py:act", "policy:bot.py:act"),
        ("python:my bots/bot.py:Bot", "python:my bots/bot.py:Bot"),
        ("python:package.module:Bot", "python:package.module:Bot"),
        ("process:'/home/my name/bot' --model=\"/home/my name/net.pt\"", "process:'bot' --model=\"net.pt\""),
        ("process:/home/my\\ name/bot /home/me/x", "process:bot x"),
    ],
)
def test_folders_stay_at_home(source: str, shown: str) -> None:
    assert public(source) == shown


# The file


def test_a_file_gives_the_report_again(small: None, tmp_path: Path) -> None:
    report = small_report()
    plain, packed = tmp_path / "r.json", tmp_path / "r.json.gz"
    for path in (plain, packed):
        write_report(path, report)
        again = read_report(path)
        assert to_json(again) == to_json(report)
        for one, other in zip(report.parts, again.parts, strict=True):
            for name in ("points", "bids", "tricks", "faults", "deals"):
                found, right = getattr(other.results, name), getattr(one.results, name)
                assert found.dtype == right.dtype
                assert np.array_equal(found, right)
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    assert not list(tmp_path.glob("*.part"))


def test_a_file_tells_the_software_and_not_whose_machine_it_is(small: None) -> None:
    told = to_json(small_report())
    text = json.dumps(told)
    assert told["software"]["python"] == platform.python_version()
    assert told["machine"]["cores"] >= 1
    assert platform.node() not in text or len(platform.node()) < 4
    assert str(Path.home()) + os.sep not in text
    assert str(Path.cwd()) not in text


def a_deal(told: Any, part: int = 0, deal: int = 0) -> list[Any]:
    return told["parts"][part]["points"][deal]


def replaced(text: str, place: int, by: str) -> str:
    return text[:place] + by + text[place + 1 :]


def put(*path: Any, value: Any) -> Callable[[Any], None]:
    def change(told: Any) -> None:
        for key in path[:-1]:
            told = told[key]
        told[path[-1]] = value

    return change


def without(*path: Any) -> Callable[[Any], None]:
    def change(told: Any) -> None:
        for key in path[:-1]:
            told = told[key]
        del told[path[-1]]

    return change


WRONG: list[tuple[Callable[[Any], Any], str]] = [
    (put("format", value="x"), "'format' must be 'callbreak-bench-result'"),
    (put("version", value=2), "'version' 2 cannot be read"),
    (put("benchmark", value="CallBreak-Bench v9"), "this package has CallBreak-Bench v1"),
    (put("seed", value=1), "'seed' is 1"),
    (put("deals", value={"1v3": DEALS + 1, "mix": 2}), r"parts\[0\]: 'points' must be \d+ x 20 numbers"),
    (put("deals", value={"1v3": DEALS}), "deals: has no 'mix'"),
    (put("deals", "1v3", value=1), "deals: 1v3 must be at least 2"),
    (put("compared", value=["pimc"]), "'compared' names 'pimc'"),
    (put("agents", "low_bid", value={"version": 1}), r"agents.low_bid: has no 'source'"),
    (put("compared", value=[["a"]]), r"'compared' names \['a'\]"),
    (put("compared", value=[]), "'compared' is empty"),
    (without("agents", "low_bid", "version"), r"agents.low_bid: has no 'version'"),
    (put("agents", "low_bid", "version", value="1"), r"agents.low_bid: 'version' must be a number"),
    (put("agents", "low_bid", "digest", value=3), r"agents.low_bid: 'digest' must be"),
    (put("agents", "low_bid", value=3), r"agents.low_bid: must be an object"),
    (without("agents", "lowest"), r"parts\[1\]: 'lowest' is not among the 'agents'"),
    (put("time_limit", value="1"), "time_limit: seconds must be a number above 0"),
    (put("speed", value={"x": "y"}), "speed: x must be a number above 0, not 'y'"),
    (put("speed", "low_bid", value=0), "speed: low_bid must be a number above 0"),
    (lambda told: told["parts"].append(told["parts"][0]), "'standard' and field F0 are there twice"),
    (put("parts", value=[]), "nothing was played"),
    (put("parts", 0, "rules", value="bonus"), r"no part of rules 'bonus'"),
    (put("parts", 0, "field", value="F2"), "F2"),
    (put("parts", 0, "names", value=["low_bid", "rule_based"]), "'names' and 'seatings' are not those of F0"),
    (put("parts", 0, "seatings", 0, value=[1, 0, 0, 0]), "'names' and 'seatings' are not those of F0"),
    (lambda told: a_deal(told).pop(), r"'points' must be \d+ x 20 numbers"),
    (lambda told: a_deal(told).__setitem__(3, 1.5), "points"),
    (lambda told: a_deal(told).__setitem__(3, "20"), "points"),
    (lambda told: a_deal(told).__setitem__(3, 10**30), "points"),
    (lambda told: a_deal(told).__setitem__(3, 10**6), "no number from -10000 to 10000"),
    (
        lambda told: a_deal(told, 1, 1).__setitem__(7, a_deal(told, 1, 1)[7] + 1),
        r"points of deal 1 in seating 1",
    ),
    (put("parts", 0, "bids", 0, value="2" * 19), r"'bids' must be \d+ texts of 20 digits"),
    (put("parts", 0, "bids", 0, value="2" * 19 + "x"), "'bids' holds what is no digit 0 to d"),
    (put("parts", 0, "bids", 0, value="2" * 19 + "♠"), "'bids' holds what is no digit 0 to d"),
    (put("parts", 0, "tricks", 0, value="3" * 20), "the tricks of a deal must be 13"),
    (put("parts", 0, "faults", value=[[0, 0, 4, "illegal", 1]]), "'faults' has"),
    (put("parts", 0, "faults", value=[[0, 0, 0, "rude", 1]]), "'faults' has"),
    (put("parts", 0, "decisions", value=[0]), "'decisions' must be 2 numbers"),
    (put("parts", 0, "seconds", value=[0.0, -1.0]), "'seconds' holds"),
    (put("figures", value=None), "'figures' must be an object, not null"),
    (lambda told: told.pop("machine"), "has no 'machine'"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_a_wrong_file_is_refused(number: int, small: None) -> None:
    change, message = WRONG[number]
    told = copy.deepcopy(to_json(small_report()))
    change(told)
    with pytest.raises(RecordError, match=message):
        from_json(told)


def test_what_is_no_file_of_results_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(b"{}" * 1000)
    for number, (content, message) in enumerate(
        [
            (b"", "not JSON"),
            (b"[]", "must be an object with 'format'"),
            (b"\xff", "not UTF-8"),
            (whole[: len(whole) // 2], "cut short"),
            (whole[:10] + b"\x00" * 20, "cannot be decompressed"),
        ]
    ):
        path = tmp_path / f"{number}.json.gz"
        path.write_bytes(content)
        with pytest.raises(RecordError, match=rf"{number}\.json\.gz: .*{message}"):
            read_report(path)
    with pytest.raises(OSError, match="No such file"):
        read_report(tmp_path / "none.json")


# Verification


def verified(report: Report, tmp_path: Path, **options: Any) -> int:
    path = tmp_path / "file.json"
    write_report(path, report)
    return verify(path, **{"seed": 1, "threads": 1} | options)


def planted(report: Report, change: Callable[[Any], None]) -> Report:
    told = copy.deepcopy(to_json(report))
    change(told)
    return from_json(told)


def one_more_trick(told: Any) -> None:
    """In the last deal of seating 3, a trick more for its challenger, in seat 2, and the points follow."""
    part, at = told["parts"][0], slice(12, 16)
    bids, tricks = ([int(digit, 16) for digit in part[name][-1][at]] for name in ("bids", "tricks"))
    tricks[next(seat for seat in (0, 1, 3) if tricks[seat] > 0)] -= 1
    tricks[2] += 1
    part["points"][-1][at] = deal_points(bids, tricks)
    before = part["tricks"][-1]
    part["tricks"][-1] = before[:12] + "".join(f"{count:x}" for count in tricks) + before[16:]


def test_a_true_file_is_verified(small: None, tmp_path: Path) -> None:
    each = max(1, round(0.1 * DEALS)) * 2 + max(1, round(0.1 * max(2, DEALS // 6)))
    assert verified(small_report(), tmp_path) == each * len(PRESETS)


def test_one_planted_number_is_found(small: None, tmp_path: Path) -> None:
    report = planted(small_report(), one_more_trick)
    with pytest.raises(RecordError, match=r"figures\.standard\.F0\.\w+\.\w+"):
        verified(report, tmp_path)
    report = replace(report, figures=summarise(report.parts))  # whoever plants it, does it all
    with pytest.raises(
        RecordError,
        match=rf"standard F0: tricks of deal {DEALS - 1}, seating 3, seat \d \(\w+\) are \d+, played",
    ):
        verified(report, tmp_path, share=1.0)


def test_a_changed_figure_is_found(small: None, tmp_path: Path) -> None:
    def change(told: Any) -> None:
        told["figures"]["standard"]["F1"]["low_bid"]["points"]["low"] -= 1e-6

    with pytest.raises(RecordError, match=r"figures\.standard\.F1\.low_bid\.points\.low is .*, by the deals"):
        verified(planted(small_report(), change), tmp_path)


def test_another_version_of_an_agent_is_not_verified(
    small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = small_report()
    monkeypatch.setitem(AGENT_VERSIONS, "low_bid", AGENT_VERSIONS["low_bid"] + 1)
    with pytest.raises(CallBreakError, match="'low_bid' was played by version 1, this package has version 2"):
        verified(report, tmp_path)


def test_a_foreign_agent_is_verified_where_it_can_be_made(
    small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bot.py").write_text(BOT, encoding="utf-8")
    spec = f"python:{tmp_path / 'bot.py'}:Bot"
    report = run([spec], deals=2, rules=["standard"], fields=["F1"], mix=False)
    digest = text_digest(f"{tmp_path / 'bot.py'}:Bot")
    told = {"source": "python:bot.py:Bot", "version": None, "digest": digest}
    assert report.agents["python:bot.py:Bot"] == told
    assert str(tmp_path) not in json.dumps(to_json(report))
    assert report.figures["standard"]["F1"]["python:bot.py:Bot"]["faults"] == {
        "illegal": 0,
        "error": 0,
        "timeout": 0,
    }
    with pytest.raises(CallBreakError, match=r"from 'python:bot\.py:Bot': to have that run .* name it"):
        verified(report, tmp_path)
    assert verified(report, tmp_path, agents=[spec]) == 1
    (tmp_path / "bot.py").write_text(f"{BOT}\n", encoding="utf-8")
    with pytest.raises(CallBreakError, match="was played by another file or other weights than here"):
        verified(report, tmp_path, agents=[spec])


# The pinned result of the agents of the package

needs_jit = pytest.mark.skipif(not JIT, reason="plays searches: too slow uncompiled")


@pytest.fixture(scope="module")
def kept() -> Any:
    """What ``python tests/regenerate_bench.py`` wrote."""
    return json.loads(regenerate_bench.FILE.read_text("utf-8"))


@needs_jit
def test_the_pinned_result_is_that_of_these_agents(kept: Any) -> None:
    the = definition()
    assert kept["benchmark"] == the.title
    assert tuple(kept["compared"]) == the.default_agents("quick")
    assert kept["agents"] == {
        name: {"source": name, "version": AGENT_VERSIONS[name], "digest": Entrant(name).digest}
        for name in kept["agents"]
    }


@needs_jit
def test_the_policies_have_the_pinned_figures_to_the_last_digit(kept: Any) -> None:
    names = ["low_bid", "rule_based"]
    report = run(names, size="quick", fields=["F0"], mix=False)
    for preset, fields in report.figures.items():
        for name in names:
            assert fields["F0"][name] == kept["figures"][preset]["F0"][name]


@needs_jit
def test_the_searches_play_the_pinned_deals_again(kept: Any) -> None:
    report = run(kept["compared"], deals=kept["first_deals"], mix=False)
    for part in report.parts:
        place = f"{part.rules} {part.field}"
        found = regenerate_bench.digest(part, kept["first_deals"])
        assert found == kept["digests"][place]["first"], place


@needs_jit
@pytest.mark.nightly
def test_the_quick_result_is_pinned_to_the_last_digit(kept: Any) -> None:
    assert json.loads(json.dumps(regenerate_bench.pinned(run(size="quick", workers=2, threads=1)))) == kept
