"""Every example runs as its own docstring says, with small numbers; trainers have tests of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
ARGUMENTS = {"self_play": ["16", "70"], "gymnasium_vector": ["8", "30"], "search": ["20"]}
INPUT = {"external_agent": '{"id": 1, "type": "hello", "protocol": 1}\n'}
"""By hand; tests/test_arena_messages.py lets it play."""
TRAINERS = {
    "beliefs": "test_beliefs_example",
    "dmc": "test_dmc_example",
    "ppo_selfplay": "test_ppo_example",
    "sb3_maskable_ppo": "test_sb3_examples",
    "sb3_without_masks": "test_sb3_examples",
}
"""They train, and need more than the package: where their own smoke runs are tested."""
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))


@pytest.mark.parametrize("name", NAMES)
def test_it_says_how_it_is_run(name: str) -> None:
    assert f"python examples/{name}.py" in (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(TRAINERS))
def test_trainers_have_their_own_tests(name: str) -> None:
    text = Path(__file__).with_name(f"{TRAINERS[name]}.py").read_text(encoding="utf-8")
    assert f"import {name}" in text
    assert '"--smoke"' in text


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(TRAINERS)))
def test_it_runs_and_says_something(name: str) -> None:
    path = EXAMPLES / f"{name}.py"
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
