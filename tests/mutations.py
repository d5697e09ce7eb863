"""Breaks each clause of the rules on purpose and tells which test named after it notices.

    python tests/mutations.py

A script, not a test: some minutes. Each break is one replacement in one file of the engine, in a copy of the
project; the tests of the clauses run there uncompiled. A break that no test named after its clause notices
is reported, and the exit status is 1.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ("tests/test_clauses.py", "tests/test_clause_edges.py")

# (clause, file of the engine or cards.py, what stands there, what is put in its place)
BREAKS = (
    ("R1", "cards", 'RANK_LETTERS = "23456789TJQKA"', 'RANK_LETTERS = "23456789TJKQA"'),
    ("R2", "dealing", 'NONE if rules["first_led"] else 3', 'NONE if rules["first_led"] else 2'),
    ("R3", "play", '(int(table["dealer"]) + 1) & 3', '(int(table["dealer"]) + 3) & 3'),
    ("R3", "dealing", "return np.int64(word >> np.uint64(30))", "return np.int64(word >> np.uint64(31))"),
    (
        "R4",
        "dealing",
        'seat = NEXT_SEAT[active, seat]\n        table["hands"]',
        'seat = NEXT_SEAT[active, seat] if i % 13 == 0 else seat\n        table["hands"]',
    ),
    ("R4", "legality", "return NOT_HELD", "return FIRST_LEAD"),
    (
        "R5",
        "legality",
        'np.uint64(rules["min_bid"])) - np.uint64(1))',
        'np.uint64(rules["min_bid"] - 1)) - np.uint64(1))',
    ),
    ("R5", "play", 'if after != int(table["leader"]):', 'if after != int(table["dealer"]):'),
    ("R6", "play", 'table["seat"] = winner', 'table["seat"] = seat'),
    (
        "R7",
        "legality",
        "        if plain != _EMPTY:\n            return plain\n    return hand",
        "        return plain\n    return hand",
    ),
    ("R7", "legality", 'if table["trick_no"] == 0 and not', 'if table["trick_no"] >= 0 and not'),
    ("R7", "legality", 'table["may_hold"][seat] &= spades', 'table["may_hold"][seat] &= ~_EMPTY'),
    ("R8", "legality", "        return r8_follow(table, rules, following)", "        return following"),
    ("R8", "legality", "        return r8_follow(table, rules, following)", "        return hand"),
    ("R8", "legality", 'return bool(rules["beat_when_trumped"]) or int', "return int"),
    ("R8", "legality", "gone = ABOVE[best_led]\n", "gone = _EMPTY\n"),
    ("R8", "legality", "if card < best_led and must_beat_led", "if must_beat_led"),
    ("R9", "legality", "    if best < 0:\n        return trumps", "    if best < 0:\n        return hand"),
    (
        "R9",
        "legality",
        "    if higher != _EMPTY:\n        return higher",
        "    if higher != _EMPTY:\n        return trumps",
    ),
    ("R9", "legality", 'return trumps if rules["undertrump"] else hand', "return hand"),
    ("R11", "play", 'and card > int(table["best_trump"])', "and card >= 0"),
    ("R9", "legality", "gone |= SUIT_SETS[trump]", "gone |= _EMPTY"),
    (
        "R9",
        "legality",
        "            if card < best_trump:\n                gone |= ABOVE[best_trump]",
        "            gone |= _EMPTY",
    ),
    ("R10", "legality", "return hand  # R10", "return hand & SUIT_SETS[0]  # R10"),
    ("R10", "play", 'return SUIT_OF[card] == int(table["trump"]) and', "return"),
    (
        "R11",
        "play",
        'return card > int(table["best_led"]) and int(table["best_trump"]) < 0',
        'return card > int(table["best_led"])',
    ),
    ("R11", "play", 'return card > int(table["best_led"]) and', 'return card < int(table["best_led"]) and'),
    ("R8", "play", 'max(card, int(table["best_led"]))', "card"),
    ("R9", "play", 'max(card, int(table["best_trump"]))', "card"),
    ("R12", "scoring", "return 10 * bid + won - bid", "return 10 * bid"),
    ("R12", "scoring", "if won < bid:", "if won <= bid:"),
    ("R13", "scoring", "return -10 * bid", "return -10 * (bid - won)"),
    ("R14", "play", "if deal + 1 < deals:", "if deal < deals:"),
    ("R14", "scoring", "value > highest", "value < highest"),
    ("R14", "play", 'table["totals"][seat] += int', 'table["totals"][seat] = int'),
    ("R15", "dealing", "ALL_CARDS if dealt_in else np.uint64(0)", "ALL_CARDS"),
    (
        "R7",
        "legality",
        "if SUIT_OF[card] == _SPADES and r7_first_lead",
        "if SUIT_OF[card] == _SPADES or r7_first_lead",
    ),
    ("R15", "play", "next_deal(table, rules, decks, top)", "next_deal(table, rules, decks, ALL_SEATS)"),
    (
        "R15",
        "play",
        'top_seats(table["points"], int(table["active"]))',
        'top_seats(table["points"], ALL_SEATS)',
    ),
    ("R15", "play", 'return end_match(table, top_seats(table["points"], int(table["active"])))', "pass"),
    (
        "H1",
        "play",
        'deal, deals = int(table["deal"]), int(rules["deals"])',
        'deal, deals = int(table["deal"]), 5',
    ),
    ("H2", "play", 'total < rules["min_total_bid"]', 'total <= rules["min_total_bid"]'),
    ("H2", "play", 'table["num_active"] < 4 or ', ""),
    (
        "H2",
        "play",
        ' or table["redeals"] >= rules["max_redeals"]',
        ' or table["redeals"] > rules["max_redeals"]',
    ),
    (
        "H3",
        "dealing",
        'while rules["misdeal"] and h3_misdeal(table):',
        'if rules["misdeal"] and h3_misdeal(table):',
    ),
    (
        "H3",
        "dealing",
        'if int(table["active"]) >> seat & 1:\n            hand',
        'if int(table["active"]) >> seat & 1 and seat:\n            hand',
    ),
    ("H3", "dealing", "hand & SUIT_SETS[3] == np.uint64(0)", "hand & SUIT_SETS[2] == np.uint64(0)"),
    ("H4", "scoring", 'if 0 < rules["bonus_bid"] <= bid:', 'if 0 < rules["bonus_bid"] < bid:'),
    (
        "H4",
        "scoring",
        'return 10 * int(rules["bonus_points"])',
        'return 10 * int(rules["bonus_points"]) + won - bid',
    ),
    ("H5", "scoring", "won += int(tricks_won[seat ^ 2])", "won += 0"),
    ("H5", "play", 'top == ALL_SEATS if rules["partnership"] else', ""),
    ("H6", "play", 'table["trump"] = SUIT_OF[card]  # H6', 'table["trump"] = 3'),
    ("H6", "legality", ' and not rules["first_led"] and', " and"),
    ("H7", "legality", ' and not rules["free_spade_lead"]:', ":"),
    ("H8", "play", 'if tied and not rules["shared"]:', "if tied:"),
    ("H9", "legality", 'np.uint64(rules["max_bid"])', "np.uint64(13)"),
    ("H10", "legality", '    if not rules["must_beat"]:\n        return False\n', ""),
    (
        "H10",
        "legality",
        'return bool(rules["beat_when_trumped"]) or int(table["best_trump"]) < 0',
        "return True",
    ),
    ("H10", "legality", 'return trumps if rules["undertrump"] else hand', "return trumps"),
    ("H10", "legality", 'elif best_trump < 0 or rules["undertrump"]:', "elif True:"),
    (
        "H10",
        "legality",
        "            gone |= ABOVE[best_trump]\n    table",
        "            gone |= _EMPTY\n    table",
    ),
)
# Left out, since nothing can notice it: "13 cards of one suit" in H3. Such a hand of a plain suit holds no
# spade, and one of all spades leaves none to the others. Also what only makes a match endless.


def killers(clause: str, file: str, old: str, new: str) -> tuple[list[str], list[str]]:
    """The names of the failing tests, those named after the clause and the others."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "project"
        for name in ("callbreak_env", "tests", "pyproject.toml"):
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, copy / name)
        package = copy / "callbreak_env"
        path = (package if file == "cards" else package / "engine") / f"{file}.py"
        text = path.read_text(encoding="utf-8")
        if text.count(old) != 1:
            raise SystemExit(f"{clause}: {old!r} stands {text.count(old)} times in {file}.py")
        path.write_text(text.replace(old, new), encoding="utf-8")
        try:
            run = subprocess.run(
                [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", *TESTS],
                cwd=copy,
                env=os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(copy)},
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
            )
        except subprocess.TimeoutExpired:
            return [], ["the tests did not end"]
    failed = re.findall(r"^(?:FAILED|ERROR) \S*::(\w+)", run.stdout, re.MULTILINE)
    if not failed and run.returncode:
        raise SystemExit(f"{clause}: the tests did not run:\n{run.stdout}{run.stderr}")
    own = [name for name in failed if f"_{clause}_" in name]
    return list(dict.fromkeys(own)), [name for name in failed if name not in own]


def main() -> int:
    """Try all breaks; print a table."""
    survived = 0
    for clause, file, old, new in BREAKS:
        own, others = killers(clause, file, old, new)
        survived += not own
        verdict = own[0] if own else "SURVIVED" + (f" (others: {others[0]})" if others else "")
        line = f"{file}.py: {' '.join(old.split())} -> {' '.join(new.split()) or '(nothing)'}"
        print(f"{clause:<4} {verdict:<75} {line}", flush=True)
    print(f"{len(BREAKS)} breaks, {survived} survived")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
