"""docs/agents.md: every block runs, the exchange is real, the tables are complete."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from callbreak_env import Match
from callbreak_env.arena import messages
from callbreak_env.arena.entrants import FOREIGN, Entrant
from callbreak_env.arena.player import REPLACEMENT
from callbreak_env.arena.process import MAX_FAILURES
from callbreak_env.arena.results import FAULTS
from callbreak_env.cards import NUM_SEATS
from test_readme import Block, blocks

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")


def of(language: str) -> list[Block]:
    return [block for block in blocks(TEXT) if block.language == language]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the examples are and the first block is written to the file that it names."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    text = of("python")[0].text
    (tmp_path / text.splitlines()[0].removeprefix("# ")).write_text(text, encoding="utf-8")
    return tmp_path


def test_every_block_runs(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == ["bot.py", "examples"]
    todo = of("python")[1:]
    assert len(todo) == 3
    for block in todo:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", block.text],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, f"block of line {block.line}\n{done.stdout}{done.stderr}"
        assert done.stdout


def test_every_name_is_taken(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    named = re.findall(r"(?:\w+=)?(?:python|policy|process):[^`\"]*\w", TEXT)
    named = [spec for spec in named if not re.search("WHERE|COMMAND", spec)]
    assert len(named) > 4
    for spec in named:
        assert Entrant(spec).label == spec.partition("=")[0]
    assert {f"`{name}:" for name in FOREIGN} == set(re.findall(r"^\| (`\w+:)", TEXT, re.MULTILINE))


def test_the_exchange_is_real() -> None:
    lines = of("text")[0].text.splitlines()
    asked = [line[2:] for line in lines if line.startswith("> ")]
    answered = [line[2:] for line in lines if line.startswith("< ")]
    assert len(asked) + len(answered) == len(lines) == 6
    match = Match("bhoos", seed=2)
    while len(match.plays) < 42:
        legal = match.legal_actions()
        match.apply(legal[0] if match.phase == "bidding" else legal[-1])
    view = match.view(match.seat or 0)
    seed = int(np.random.default_rng([2, 0, view.viewer]).integers(messages.MAX_SEED))
    told = [messages.hello(), messages.reset(view.viewer, match.rules, seed), messages.act(view)]
    assert asked == [messages.line_of(1 + i, each).decode().rstrip() for i, each in enumerate(told)]
    example = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "external_agent.py")],
        input="\n".join(asked) + "\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert example.stdout.splitlines() == answered


def test_the_tables_are_complete() -> None:
    for line in of("text")[0].text.splitlines():
        if line.startswith("> "):
            question = json.loads(line[2:])
            for field in question:
                row = re.search(rf"^\| [^|]*`{field}`[^|]*\| ([^|]*)\|", TEXT, re.MULTILINE)
                assert row, field
                assert f"`{question['type']}`" in row[1] or row[1].strip() == "all", field
    assert [f"| `{fault}` |" in TEXT for fault in FAULTS] == [True] * len(FAULTS)
    assert f"the policy `{REPLACEMENT}` plays" in TEXT
    words = ("no", "one", "two", "three", "four")
    assert f"After {words[MAX_FAILURES]} such in a row" in TEXT
    assert f"own seat, 0-{NUM_SEATS - 1};" in TEXT
