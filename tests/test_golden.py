"""One recorded match a preset, and the README's table: line by line what they were when last reviewed."""

from __future__ import annotations

import pytest

import regenerate
from callbreak_env.rules import PRESETS


@pytest.mark.parametrize("preset", PRESETS)
def test_golden_match(preset: str) -> None:
    recorded = (regenerate.GOLDEN / f"{preset}.txt").read_text(encoding="utf-8").splitlines()
    assert regenerate.golden_lines(preset) == recorded


def test_every_golden_file_belongs_to_a_preset() -> None:
    assert {path.stem for path in regenerate.GOLDEN.iterdir()} == set(PRESETS)


def test_readme_table_is_the_layout() -> None:
    text = regenerate.OBSERVATION.read_text(encoding="utf-8")
    assert text.count(regenerate.BEGIN) == text.count(regenerate.END) == 1
    assert regenerate.text_with_table(text) == text
