"""The command ``callbreak``: what it prints, what it writes, how it fails."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from callbreak_env.cli import main
from callbreak_env.records import read_records
from callbreak_env.rules import PRESETS
from callbreak_env.simulation import Simulation, uniform_match
from test_bhoos import history


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    try:
        status = main(argv)
    except SystemExit as exit_:
        status = int(exit_.code or 0)
    out, err = capsys.readouterr()
    return status, out, err


def without_times(text: str) -> str:
    return re.sub(r" in [\d.]+ s \([\d,]+ a second\)", "", text)


def test_simulate_is_reproducible_and_zero_is_a_seed(capsys: pytest.CaptureFixture[str]) -> None:
    status, once, _ = run(capsys, "simulate", "--matches", "5", "--seed", "0")
    again = run(capsys, "simulate", "--matches", "5", "--seed", "0")[1]
    other = run(capsys, "simulate", "--matches", "5", "--seed", "1")[1]
    assert status == 0
    assert without_times(once) == without_times(again) != without_times(other)
    assert "seed 0, 5 matches" in once


def test_simulate_draws_and_prints_a_seed(capsys: pytest.CaptureFixture[str]) -> None:
    seeds = {re.search(r"seed (\d+),", run(capsys, "simulate", "--matches", "1")[1])[1] for _ in range(2)}
    assert len(seeds) == 2


@pytest.mark.parametrize("preset", ["bhoos", "partnership", "min_total"])
def test_the_table_is_that_of_the_matches_themselves(preset: str, capsys: pytest.CaptureFixture[str]) -> None:
    rules, count = PRESETS[preset], 6
    matches = [uniform_match(rules, 3, number) for number in range(count)]
    simulation = Simulation(rules, 3)
    simulation.play(2)
    simulation.play(count - 2)
    assert simulation.totals.tolist() == [match.totals for match in matches]
    entries = [entry for match in matches for entry in match.record()["deals"]]
    played = [entry for entry in entries if entry["outcome"] == "played"]
    assert simulation.counts.tolist() == [
        sum(len(match.actions) for match in matches),
        len(entries),
        len(played),
        sum(entry["outcome"] == "thrown_in" for entry in entries),
        sum(match.is_extra_deal for match in matches),
    ]
    _, out, _ = run(capsys, "simulate", "--matches", str(count), "--seed", "3", "--rules", preset)
    for seat, row in enumerate(out.splitlines()[-4:]):
        bids = [entry["bids"][seat] for entry in played if entry["bids"][seat] is not None]
        made = [e["points"][seat] >= 0 for e in played if e["bids"][seat] is not None]
        mean = sum(match.totals[seat] for match in matches) / count / 10
        shares = sum((seat in match.winners) / len(match.winners) for match in matches) / count
        assert row.split()[:2] == [str(seat), f"{mean:.2f}"]
        assert row.split()[-3:] == [
            f"{shares:.1%}",
            f"{sum(bids) / len(bids):.2f}",
            f"{sum(made) / len(made):.1%}",
        ]


def test_record_replay_and_verify(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.jsonl"
    status, out, _ = run(
        capsys, "simulate", "--matches", "3", "--seed", "4", "--rules", "no_trump", "--record", str(path)
    )
    assert status == 0
    assert "3 matches written to" in out
    assert [match.number for match in read_records(path)] == [0, 1, 2]
    status, out, _ = run(capsys, "replay", str(path), "--verify")
    assert status == 0
    assert "3 matches, every move legal, every figure right" in out
    status, out, _ = run(capsys, "replay", str(path), "--match", "2")
    assert status == 0
    assert out.startswith("Match 2: seed 4, match 1")
    assert "Match 3" not in out
    assert out.count("trick 13") == 5
    whole = run(capsys, "replay", str(path))[1]
    assert whole.count("trick 13") == 15
    status, _, err = run(capsys, "replay", str(path), "--match", "4")
    assert status == 2
    assert "has 3 matches: there is no match 4" in err


def test_replay_of_a_wrong_file_names_the_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = uniform_match(PRESETS["single_deal"], 1, 0).record()
    record["deals"][0]["points"][0] += 1
    path = tmp_path / "wrong.jsonl"
    path.write_text(json.dumps(record), encoding="utf-8")
    status, _, err = run(capsys, "replay", str(path), "--verify")
    assert status == 1
    assert re.fullmatch(r"callbreak: .*wrong\.jsonl: line 1: deals\[0\]\.points\[0\] is -?\d+, by .*\n", err)


def test_replay_reads_match_histories_of_the_tournament(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "history.json"
    path.write_text(json.dumps(history(), indent=2), encoding="utf-8")
    status, out, _ = run(capsys, "replay", str(path))
    assert status == 0
    assert out.count("legal") == 260 + 1
    assert "5 deals, 260 cards, 0 illegal; points differ from the recorded ones in 0 deals" in out
    value = history()
    value["rounds"][4]["scores"][0] += 1
    path.write_text(json.dumps(value), encoding="utf-8")
    status, out, _ = run(capsys, "replay", str(path), "--verify")
    assert status == 1
    assert "differ from the recorded ones in 1 deals" in out


def test_describe_tells_actions_and_fields(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "describe")
    assert status == 0
    assert "39-51  play 2♠ ... A♠" in out
    assert "52-64  bid 1 ... bid 13" in out
    assert re.search(r"^may_hold +468-623 +3 x 52", out, re.MULTILINE)


@pytest.mark.parametrize("preset", PRESETS)
def test_rules_tells_a_preset(preset: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "rules", preset)
    assert status == 0
    assert out.startswith(f"{preset}:\n")
    assert "(R14, H1)" in out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ((), "required: COMMAND"),
        (("simulate", "--matches", "0"), "must be 1 or more, not 0"),
        (("simulate", "--matches", "x"), "must be a whole number, not 'x'"),
        (("simulate", "--seed", "-1"), "must be from 0 to 2**63 - 1, not -1"),
        (("simulate", "--seed", str(2**63)), "must be from 0 to 2**63 - 1"),
        (("simulate", "--rules", "whist"), "invalid choice: 'whist'"),
        (("simulate", "--record", "/nowhere/at/all.jsonl"), "/nowhere/at/all.jsonl.part: No such file"),
        (("rules", "whist"), "invalid choice: 'whist'"),
        (("replay", "missing.jsonl"), "missing.jsonl: No such file"),
        (("replay", "."), ".: Is a directory"),
    ],
)
def test_bad_use_is_one_error(
    argv: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = run(capsys, *argv)
    assert status == 2
    assert message in err
    assert "Traceback" not in err


def test_an_empty_file_is_not_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(b"\n")
    status, out, err = run(capsys, "replay", "--verify", str(empty))
    assert (status, out) == (1, "")
    assert err == f"callbreak: {empty} holds no match\n"
    empty.write_text('{"players": ["a", "b", "c", "d"], "rounds": []}', encoding="utf-8")
    status, _, err = run(capsys, "replay", "--verify", str(empty))
    assert (status, err) == (1, f"callbreak: {empty} holds no deal\n")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_read_once_and_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = uniform_match(PRESETS["single_deal"], 1, 0).record()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for spoiled, expected in ((0, 0), (1, 1)):
        record["deals"][0]["points"][0] += spoiled
        writer = threading.Thread(target=pipe.write_text, args=(json.dumps(record) + "\n",))
        writer.start()
        status, out, err = run(capsys, "replay", "--verify", str(pipe))
        writer.join()
        assert status == expected
        assert ("1 matches, every move legal" in out) == (not spoiled)
        assert ("deals[0].points[0]" in err) == bool(spoiled)


def test_a_recording_replaces_its_file_only_when_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text("as it was", encoding="utf-8")

    def stop(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("callbreak_env.cli.write_records", stop)
    status, _, err = run(capsys, "simulate", "--matches", "2", "--record", str(path))
    assert (status, err) == (130, "callbreak: stopped\n")
    assert path.read_text(encoding="utf-8") == "as it was"
    monkeypatch.undo()
    assert run(capsys, "simulate", "--matches", "2", "--record", str(path))[0] == 0
    assert len(list(read_records(path))) == 2


def test_a_terminal_without_suits_still_gets_its_table() -> None:
    command = [sys.executable, "-m", "callbreak_env", "describe"]
    plain = os.environ | {"PYTHONIOENCODING": "ascii"}
    result = subprocess.run(command, env=plain, capture_output=True, text=True, check=True)
    assert "39-51  play 2? ... A?" in result.stdout
