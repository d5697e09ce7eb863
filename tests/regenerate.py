"""Writes what tests compare line by line: the golden matches and the observation table of the docs.

    python tests/regenerate.py

Review the diff before committing it: a changed line is a changed rule, deal or observation.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import numpy as np

from callbreak_env import Match
from callbreak_env.observation import STATE_WIDTH, encode, encode_state, field_table
from callbreak_env.rules import PRESETS, describe_rules
from callbreak_env.story import tell_match

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
OBSERVATION = ROOT / "docs" / "observation.md"
SEED = 1
NUMBERS = {
    "standard": 16,  # with an extra deal
    "single_deal": 3,  # with an extra deal
    "seven_deals": 0,
    "nine_deals": 0,
    "partnership": 62,  # the sides tie
    "no_trump": 71,  # with an extra deal
    "bonus": 4,  # a bonus bid is made
    "free_spade_lead": 0,
    "min_total": 672,  # bids are thrown in
    "misdeal": 7,  # with a misdeal
    "bhoos": 141,  # the victory is shared
}
"""Which match under the seed, by preset: one where the preset's own clause matters."""
ACTIONS = json.loads((ROOT / "tests" / "data" / "golden_actions.json").read_text(encoding="utf-8"))
"""What was done in it, by preset: drawn once, so that no policy's change can change these matches."""
BEGIN, END = "<!-- fields: python tests/regenerate.py -->", "<!-- /fields -->"


def golden_lines(preset: str) -> list[str]:
    """A preset's match: its rules, the match told, and a checksum of all that seats see at every step."""
    rules, number = PRESETS[preset], NUMBERS[preset]
    match = Match(rules, seed=SEED, number=number)
    for action in ACTIONS[preset]:
        match.apply(action)
    assert match.is_over
    lines = [f"preset {preset}, seed {SEED}, match {number}", *describe_rules(rules), "", *tell_match(match)]
    again, sums = Match(rules, seed=SEED, number=number), [0, 0, 0, 0]
    for action in match.actions:
        _add_sums(again, sums)
        again.apply(action)
    _add_sums(again, sums)
    names = ("masks", "flat", "history", "state")
    return [
        *lines,
        "",
        *(f"crc32 of all {name}: {value:08x}" for name, value in zip(names, sums, strict=True)),
    ]


def _add_sums(match: Match, sums: list[int]) -> None:
    state = np.empty(STATE_WIDTH, np.float32)
    encode_state(match.record_array, match.rules_array, state)
    flat = b"".join(encode(match, seat).tobytes() for seat in range(4))
    history = b"".join(encode(match, seat, "history").tobytes() for seat in range(4))
    for index, data in enumerate((match.legal_mask().tobytes(), flat, history, state.tobytes())):
        sums[index] = zlib.crc32(data, sums[index])


def readme_table() -> str:
    """The observation table of docs/observation.md."""
    head = ("field", "slots", "shape", "scale", "meaning")
    rows = [head, tuple("---" for _ in head), *field_table()]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def text_with_table(text: str) -> str:
    """The text of docs/observation.md with the table between its marks made anew."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{readme_table()}\n{END}{after}"


def main() -> None:
    """Write all of it."""
    GOLDEN.mkdir(exist_ok=True)
    for preset in PRESETS:
        path = GOLDEN / f"{preset}.txt"
        path.write_text("\n".join(golden_lines(preset)) + "\n", encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
    OBSERVATION.write_text(text_with_table(OBSERVATION.read_text(encoding="utf-8")), encoding="utf-8")
    print("wrote the observation table of docs/observation.md")


if __name__ == "__main__":
    main()
