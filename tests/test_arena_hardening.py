"""What must not happen to those who run other people's agents and files, or two runs at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benches import small_definition, small_report
from callbreak_env.arena import verification
from callbreak_env.arena.benchmark import measure_speed
from callbreak_env.arena.entrants import Entrant
from callbreak_env.arena.foreign import PolicyAgent
from callbreak_env.arena.formats import challenger, four_at_a_table
from callbreak_env.arena.play import play
from callbreak_env.arena.report_file import check_path, read_report, write_report
from callbreak_env.arena.store import ResultFile, new_header
from callbreak_env.errors import RecordError
from callbreak_env.rules import Rules

SCHEDULE = challenger("low_bid", "lowest", field_table=False)


def with_source(label: str, source: str, tmp_path: Path) -> Path:
    """The file of a small run in which an agent was made from something else."""
    report = small_report()
    path = tmp_path / "r.json"
    write_report(path, replace(report, agents=report.agents | {label: {"source": source, "version": None}}))
    return path


def test_no_file_passes_another_agent_off_as_one_of_the_package(tmp_path: Path) -> None:
    with small_definition(tmp_path):
        path = with_source("rule_based", "low_bid", tmp_path)
        with pytest.raises(RecordError, match=r"agents\.rule_based.*its 'source' is 'low_bid'"):
            read_report(path)


@pytest.mark.parametrize("kind", ["process:touch {}", "python:{}:Bot", "policy:{}:net"])
def test_verifying_runs_nothing_that_a_file_names(kind: str, tmp_path: Path) -> None:
    target = tmp_path / "pwned"
    with pytest.raises(ValueError, match=r"'mine' was made from .*: to have that run here, name it too"):
        verification._again("mine", {"source": kind.format(target), "version": None})
    assert not target.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="no locks there")
def test_two_runs_do_not_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    header = new_header(SCHEDULE, ["low_bid", "lowest"], Rules(), 3, None)
    asked = np.arange(2)
    with ResultFile(path, header, asked):
        before = path.read_bytes()
        with pytest.raises(ValueError, match="another run is writing to this file"):
            ResultFile(path, header, asked)
        assert path.read_bytes() == before
    with ResultFile(path, header, asked) as again:
        assert again.done is None


def test_an_edited_file_does_not_continue_an_old_run(tmp_path: Path) -> None:
    bot, kept = tmp_path / "bot.py", tmp_path / "r.jsonl"
    bot.write_text("def low(view):\n    return view.legal_actions()[0]\n", encoding="utf-8")
    schedule = challenger("low", "lowest", field_table=False)

    def run(deals: int) -> Any:
        return play(schedule, [f"low=python:{bot}:low", "lowest"], seed=1, deals=deals, file=kept)

    run(1)
    assert len(run(2).deals) == 2
    bot.write_text("def low(view):\n    return view.legal_actions()[-1]\n", encoding="utf-8")
    with pytest.raises(ValueError, match="version"):
        run(3)


class Closes:
    name = "closes"

    def reset(self, seat: int, rules: Any, rng: Any) -> None:
        pass

    def act(self, view: Any) -> int:
        return int(view.legal_actions()[0])

    def close(self) -> None:
        raise RuntimeError("not now")


def test_a_failing_close_loses_no_run() -> None:
    schedule = challenger("closes", "lowest", field_table=False)
    with pytest.warns(RuntimeWarning, match=r"close\(\) of closes failed: RuntimeError: not now"):
        results = play(schedule, [Closes, "lowest"], seed=1, deals=1)
    assert len(results.deals) == 1


class Uncopied:
    """As a network that has just been trained: it refuses copies."""

    def predict(self, observation: Any, action_masks: Any) -> tuple[int, None]:
        return int(action_masks.argmax()), None

    def __deepcopy__(self, memo: Any) -> Any:
        raise RuntimeError("only graph leaves can be copied")


def test_seats_share_a_policy() -> None:
    schedule = four_at_a_table(["net", "net", "low", "low"])
    entrants = [Entrant(PolicyAgent(Uncopied()), "net"), Entrant(lambda view: view.legal_actions()[0], "low")]
    results = play(schedule, entrants, seed=1, deals=1)
    assert not results.faults.any()


def test_an_agent_that_can_never_play_is_refused_at_once() -> None:
    def broken(view: Any) -> int:
        raise KeyError("net.zip")

    with (
        pytest.raises(ValueError, match=r"broken failed in every decision of a trial \(error: \d+\)"),
        pytest.warns(RuntimeWarning, match=r"net\.zip"),
    ):
        measure_speed(Entrant(broken, "broken"))


def test_a_folder_is_no_place_to_write(tmp_path: Path) -> None:
    (tmp_path / "d.json").mkdir()
    with pytest.raises(ValueError, match=r"d\.json is a folder"):
        check_path(tmp_path / "d.json")


def test_labels_are_one_line() -> None:
    with pytest.raises(ValueError, match="label must be text"):
        Entrant("low_bid", "a\nb\x1b[31m")


PARENT = """
import time
from callbreak_env.arena.formats import challenger
from callbreak_env.arena.play import play

def slow(view):
    time.sleep(0.05)
    return view.legal_actions()[0]

if __name__ == "__main__":
    import multiprocessing, threading
    def tell():
        while len(multiprocessing.active_children()) < 2:
            time.sleep(0.05)
        print(*(child.pid for child in multiprocessing.active_children()), flush=True)
    threading.Thread(target=tell, daemon=True).start()
    play(challenger("slow", "lowest"), [slow, "lowest"], seed=1, deals=500, workers=2)
"""


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="signals of Unix")
def test_workers_end_with_a_killed_parent(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT, encoding="utf-8")
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        children = [int(word) for word in process.stdout.readline().split()]
        assert len(children) == 2
        time.sleep(3)  # they have begun by then, or are still starting: both must end
        process.send_signal(signal.SIGKILL)
    end = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in children):
        assert time.monotonic() < end, f"still there: {children}"
        time.sleep(0.2)
