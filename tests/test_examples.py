"""Every example runs as its own docstring says, with small numbers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
ARGUMENTS = {"self_play": ["16", "70"], "gymnasium_vector": ["8", "30"], "search": ["20"]}
INPUT = {"external_agent": '{"id": 1, "type": "hello", "protocol": 1}\n'}
"""By hand; tests/test_arena_messages.py lets it play."""


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.py")))
def test_it_runs_and_says_something(name: str) -> None:
    path = EXAMPLES / f"{name}.py"
    assert f"python examples/{name}.py" in path.read_text(encoding="utf-8")
    run = subprocess.run(
        [sys.executable, str(path), *ARGUMENTS.get(name, [])],
        input=INPUT.get(name, ""),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert len(run.stdout) > 40
