"""README.md is short, shows code early, and every block of it runs."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple

from conftest import JIT

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"

SECONDS_A_STEP = 900


class Block(NamedTuple):
    line: int
    language: str
    text: str


def blocks(text: str) -> list[Block]:
    """The fenced blocks with the line (from 1) of their opening fence."""
    found = []
    opened: tuple[int, str] | None = None
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        fence = re.match(r"```\s*(\w*)", line)
        if fence is None:
            lines.append(line)
        elif opened is None:
            opened, lines = (number, fence[1]), []
        else:
            found.append(Block(*opened, "\n".join(lines)))
            opened = None
    assert opened is None, f"the fence of line {opened} is never closed"
    return found


def commands(block: Block) -> list[str]:
    """The ``callbreak ...`` commands of a shell block; installs and other programs are left out."""
    joined = re.sub(r"\\\n\s*", "", block.text)
    parts = [part.strip() for line in joined.splitlines() for part in line.split("&&")]
    plain = [part.removeprefix("$ ") for part in parts]
    return [part for part in plain if part.startswith("callbreak ")]


def steps(text: str) -> list[tuple[int, list[str]]]:
    """All that is to be run, in order: the line of its block, and the arguments of the process."""
    found = []
    script = str(Path(sysconfig.get_path("scripts")) / "callbreak")
    for block in blocks(text):
        if block.language == "python":
            found.append((block.line, [sys.executable, "-c", block.text]))
        elif block.language in ("bash", "console", "sh", "shell"):
            for command in commands(block):
                words = shlex.split(command, comments=True)
                found.append((block.line, [script, *words[1:]]))
    return found


def test_short_and_code_first() -> None:
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 150
    assert blocks(text)[0].line < 30


def test_every_block_runs(tmp_path: Path) -> None:
    """In one folder and in order, so that a later block may read what an earlier one wrote."""
    todo = steps(README.read_text(encoding="utf-8"))
    assert any(arguments[1] == "-c" for _, arguments in todo), "no python block"
    assert any(arguments[1] != "-c" for _, arguments in todo), "no callbreak command"
    for line, arguments in todo:
        if not JIT and arguments[1] == "bench":  # searches: hours uncompiled
            continue
        done = subprocess.run(
            arguments,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS_A_STEP,
            check=False,
        )
        assert done.returncode == 0, (
            f"README.md, block of line {line}: {shlex.join(arguments)}\n{done.stdout}{done.stderr}"
        )


def test_one_line_installs_and_tests() -> None:
    """.ci/run takes its install-and-test command from this line."""
    lines = README.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if "&& pytest" in line] == [
        "python -m venv .venv && . .venv/bin/activate && "
        "pip install torch==2.13.0 && "
        'pip install -c constraints.txt -e ".[test]" && pytest'
    ]


def test_what_is_run_from_a_readme() -> None:
    text = (
        "# T\n```bash\npip install x && callbreak simulate --matches 2\npytest\n```\n"
        "```python\nprint(1)\n```\n"
        "```console\n$ callbreak replay 'a b' \\\n    --verify  # all of it\nmatch 1\n```\n"
        "```text\ncallbreak nothing\n```\n"
    )
    assert [(line, arguments[1:]) for line, arguments in steps(text)] == [
        (2, ["simulate", "--matches", "2"]),
        (6, ["-c", "print(1)"]),
        (9, ["replay", "a b", "--verify"]),
    ]
