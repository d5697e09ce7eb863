"""The file of a tournament: a run that was killed continues, and nothing is counted twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arenas import BOT, same
from callbreak_env.agents.neural import save_weights
from callbreak_env.arena import play as play_module
from callbreak_env.arena.formats import challenger, four_at_a_table
from callbreak_env.arena.play import play
from callbreak_env.arena.player import Player
from callbreak_env.arena.results import Results
from callbreak_env.arena.store import read_results
from conftest import JIT
from networks import network

SCHEDULE = challenger("uniform", "low_bid")


@pytest.fixture(autouse=True)
def _one_deal_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(play_module, "CHUNK_ROWS", 1)


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the deals that are played from here on, in order."""
    numbers: list[int] = []
    before = Player.play

    def noted(self: Player, deals: Any) -> Results:
        numbers.extend(deals.tolist())
        return before(self, deals)

    monkeypatch.setattr(Player, "play", noted)
    return numbers


def run(deals: Any, file: Path | None = None, **options: Any) -> Results:
    return play(SCHEDULE, **{"seed": 3, "deals": deals, "file": file, **options})


def lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_bytes().splitlines()]


def test_a_file_holds_what_was_played(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    results = run(3, file)
    assert same(results, run(3))
    assert same(read_results(file), results)
    assert read_results(file).seconds.dtype == results.seconds.dtype
    header, asked, *parts = lines(file)
    assert header["names"] == ["uniform", "low_bid"]
    assert header["sources"] == ["uniform (version 1)", "low_bid (version 1)"]
    assert asked == {"asked": [[0, 3]]}
    assert [part["deals"] for part in parts] == [[0], [1], [2]]


def test_faults_and_decisions_are_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    (tmp_path / "bot.py").write_text(
        "def bot(view):\n    return -1 if view.trick_no == 5 else view.legal_actions()[0]\n"
    )
    spec = f"bot=python:{tmp_path}/bot.py:bot"
    with pytest.warns(RuntimeWarning, match="fault 'illegal'"):
        results = play(
            four_at_a_table(["bot", *["uniform"] * 3]), [spec, "uniform"], seed=1, deals=2, file=file
        )
    assert results.faults.sum() == results.faults[..., 0].sum() == 2 * 4
    assert same(read_results(file), results)
    assert np.array_equal(read_results(file).seconds, results.seconds)


@pytest.mark.parametrize("more", [5, 2, [1, 7], range(3, 6)])
def test_what_is_in_the_file_is_not_played_again(more: Any, tmp_path: Path, played: list[int]) -> None:
    """More deals, fewer, others: only those that lack are played, and only those asked for are given."""
    file = tmp_path / "r.jsonl"
    run(3, file)
    assert played == [0, 1, 2]
    played.clear()
    wanted = list(range(more)) if isinstance(more, int) else list(more)
    results = run(more, file)
    assert played == [deal for deal in wanted if deal > 2]
    assert results.deals.tolist() == wanted
    assert same(results, run(wanted))
    assert read_results(file).deals.tolist() == sorted({0, 1, 2, *wanted})
    assert same(read_results(file), run(sorted({0, 1, 2, *wanted})))


SCRIPT = """
import sys
from callbreak_env.arena import play as play_module
from callbreak_env.arena.formats import challenger

play_module.CHUNK_ROWS = 1
if __name__ == "__main__":
    bot, file, workers = sys.argv[1:]
    schedule = challenger("bot", "low_bid", field_table=False)
    play_module.play(
        schedule, [bot, "low_bid"], seed=3, deals=100_000, workers=int(workers), file=file
    )
"""


def killed(tmp_path: Path, file: Path, number: int, workers: int, deals: int) -> tuple[int, str]:
    """Start a run, and send it a signal when so many deals are done: its exit status and stderr."""
    (tmp_path / "bot.py").write_text(BOT)
    (tmp_path / "run.py").write_text(SCRIPT)
    command = [sys.executable, "run.py", "bot=python:bot.py:Slow", str(file), str(workers)]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        end = time.monotonic() + 300
        while time.monotonic() < end and process.poll() is None:
            if file.exists() and file.read_bytes().count(b"\n") >= deals + 2:
                break
            time.sleep(0.01)
        if number == signal.SIGKILL:
            process.kill()
        else:
            os.killpg(process.pid, number)  # as the keyboard does
        _, told = process.communicate(timeout=60)
    return process.returncode, told


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="signals of Unix")
def test_a_killed_run_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, played: list[int]) -> None:
    file = tmp_path / "r.jsonl"
    status, _ = killed(tmp_path, file, signal.SIGKILL, 1, 3)
    assert status == -signal.SIGKILL
    before = read_results(file, partial=True)
    done = before.deals.tolist()
    assert 3 <= len(done) < 100_000
    with pytest.raises(ValueError, match=f"{100_000 - len(done)} of 100000 deals are missing"):
        read_results(file)
    monkeypatch.chdir(tmp_path)
    schedule = challenger("bot", "low_bid", field_table=False)
    options: dict[str, Any] = {"entrants": ["bot=python:bot.py:Slow", "low_bid"], "seed": 3}
    count = len(done) + 2
    continued = play(schedule, deals=count, file=file, **options)
    assert played == sorted(set(range(count)) - set(done))
    assert same(continued, play(schedule, deals=count, **options))
    told = [deal for line in lines(file) for deal in line.get("deals", [])]
    assert sorted(told) == list(range(count))


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="signals of Unix")
@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupt_leaves_the_file_whole(workers: int, tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    status, told = killed(tmp_path, file, signal.SIGINT, workers, 3)
    assert status in (-signal.SIGINT, 130)
    assert told.rstrip().endswith("KeyboardInterrupt")
    assert told.count("Process Spawn") == 0
    assert file.read_bytes().endswith(b"\n")
    assert len(read_results(file, partial=True).deals) >= 3


def test_a_torn_line_is_played_again(tmp_path: Path, played: list[int]) -> None:
    """Cut at every place near the ends of lines, and at some within them."""
    file = tmp_path / "r.jsonl"
    results = run(3, file)
    whole = file.read_bytes()
    ends = [i + 1 for i in range(len(whole)) if whole[i : i + 1] == b"\n"]
    for cut in sorted({at for end in ends for at in (end - 40, end - 1, end, end + 1)} | {0, 1, 100}):
        torn = tmp_path / "torn.jsonl"
        torn.write_bytes(whole[:cut])
        played.clear()
        assert same(run(3, torn), results)
        assert played == list(range(max(0, sum(end <= cut for end in ends) - 2), 3))
        told = [deal for line in lines(torn) for deal in line.get("deals", [])]
        assert told == [0, 1, 2]
        assert same(read_results(torn), results)


def test_nothing_is_left_of_a_torn_line(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    run(1, file)
    whole = file.read_bytes()
    file.write_bytes(whole + b'{"deals":[1],"points":[' + b"[" * 10_000)
    run(2, file)
    after = file.read_bytes()
    assert after.startswith(whole)
    assert after.endswith(b"}\n")


def test_reading_leaves_a_torn_line_out(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    results = run(3, file)
    file.write_bytes(file.read_bytes()[:-5])
    with pytest.raises(ValueError, match="1 of 3 deals are missing"):
        read_results(file)
    assert same(read_results(file, partial=True), results.select([0, 1]))


OTHERS: dict[str, tuple[dict[str, Any], str]] = {
    "seed": ({"seed": 4}, "its seed is 3, and here it is 4"),
    "rules": ({"rules": "bhoos"}, "its rule min_bid is 2, and here it is 1"),
    "limit": ({"time_limit": 2.0}, r"its time_limit is null, and here it is 2\.0"),
    "entrants": (
        {"entrants": ["uniform=lowest", "low_bid"]},
        r'its sources is \["uniform \(version.*, and here it is \["lowest',
    ),
    "names": (
        {"schedule": challenger("rule_based", "low_bid")},
        r'its names is \["uniform", .*, and here it is \["rule_based"',
    ),
    "seatings": (
        {"schedule": challenger("uniform", "low_bid", field_table=False)},
        r"its seatings is .*, and here it is",
    ),
}


@pytest.mark.parametrize("case", OTHERS)
def test_a_file_of_another_tournament_is_refused(case: str, tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    run(1, file)
    before = file.read_bytes()
    options, words = OTHERS[case]
    with pytest.raises(ValueError, match=f"r.jsonl holds other results: {words}.*give another file"):
        play(**{"schedule": SCHEDULE, "seed": 3, "deals": 2, "file": file, **options})
    assert file.read_bytes() == before


def test_a_file_of_other_weights_is_refused(tmp_path: Path) -> None:
    """A network that was trained further lies at the same path."""
    file, spec = tmp_path / "r.jsonl", f"net=neural:play=0,weights={tmp_path / 'net'}"
    schedule = challenger("net", "low_bid", field_table=False)

    def play_net(deals: int) -> Results:
        return play(schedule, [spec, "low_bid"], seed=3, deals=deals, file=file)

    save_weights(network(8, 1, seed=1), tmp_path / "net")
    play_net(1)
    play_net(2)
    save_weights(network(8, 1, seed=2), tmp_path / "net")
    with pytest.raises(ValueError, match=r"r.jsonl holds other results: its sources"):
        play_net(2)


def test_a_file_of_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "r.jsonl"
    run(1, file)
    monkeypatch.setattr("callbreak_env.arena.store.version", lambda project: "99.0")
    with pytest.raises(ValueError, match=r'its package is "0\..*", and here it is "99\.0"'):
        run(1, file)


Damage = Callable[[list[bytes]], list[bytes]]


def put(row: int, old: bytes, new: bytes) -> Damage:
    """Replaces something in a row that holds it."""

    def damage(rows: list[bytes]) -> list[bytes]:
        assert old in rows[row]
        return [*rows[:row], rows[row].replace(old, new), *rows[row + 1 :]]

    return damage


DAMAGED: dict[str, tuple[Damage, str]] = {
    "twice": (lambda rows: [*rows, rows[2]], "line 5: deal 0 is in line 3 already"),
    "twice in one": (put(3, b'"deals":[1]', b'"deals":[0]'), "line 4: deal 0 is in line 3 already"),
    "no JSON": (put(2, b"}", b""), "line 3: not JSON, or cut short"),
    "no deals": (lambda rows: [*rows, b"{}"], "line 5: has no 'deals'"),
    "shape": (put(3, b'"deals":[1]', b'"deals":[1,2]'), "line 4: points must have the shape"),
    "words": (put(3, b'"deals":[1]', b'"deals":["x"]'), "line 4: not an array of whole numbers"),
    "half a deal": (put(3, b'"deals":[1]', b'"deals":[0.5]'), "line 4: not an array of whole numbers"),
    "too large": (
        put(3, b'"tricks":[[[', b'"tricks":[[[30'),
        "line 4: not an array of whole numbers in int8",
    ),
    "counts": (put(3, b'"decisions":[0,', b'"decisions":['), "line 4: decisions must be one an entrant"),
    "fault": (put(3, b'"faults":[]', b'"faults":[[9,0,0,0,1]]'), "line 4: a fault is none of these deals"),
    "asked": (put(1, b"[[0,2]]", b"[[1]]"), "line 2: "),
    "format": (put(0, b"callbreak-arena", b"other"), "line 1: this is no file of results"),
    "a list": (lambda rows: [b"[1]", *rows[1:]], "line 1: this is no file of results"),
    "version": (put(0, b'"version":1', b'"version":2'), "version 2 of results"),
    "rules": (put(0, b'"min_bid":2', b'"min_bid":99'), "line 1: min_bid=99"),
    "seatings": (put(0, b"[[0,", b"[[7,"), "line 1: seatings must be of the entrants 0 to 1"),
    "nothing": (lambda rows: [], "line 1: this is no file of results"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_file_is_refused_with_the_place(case: str, tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    run(2, file)
    damage, words = DAMAGED[case]
    file.write_bytes(b"".join(row + b"\n" for row in damage(file.read_bytes().splitlines())))
    before = file.read_bytes()
    with pytest.raises(ValueError, match=f"r.jsonl.*{words}"):
        read_results(file)
    if before:
        with pytest.raises(ValueError, match=f"r.jsonl.*{words}"):
            run(2, file)
        assert file.read_bytes() == before


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    for text in (b"my notes", b"my notes\n"):
        file = tmp_path / "notes.txt"
        file.write_bytes(text)
        with pytest.raises(ValueError, match=r"notes\.txt.*(no file of results|not JSON)"):
            run(2, file)
        assert file.read_bytes() == text


def test_a_file_without_a_deal(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    run(1, file)
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:2]))
    with pytest.raises(ValueError, match="no deal is done"):
        read_results(file)
    assert same(run(1, file), run(1))


def test_chunks_of_many_deals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(play_module, "CHUNK_ROWS", 1 << 16)
    monkeypatch.setattr(play_module, "CHUNK_S", 1000.0)
    count = 12 if JIT else 3
    file = tmp_path / "r.jsonl"
    results = run(count, file)
    sizes = [len(line["deals"]) for line in lines(file)[2:]]
    assert sizes == ([1, 4, 7] if JIT else [1, 2])
    assert same(read_results(file), results)
