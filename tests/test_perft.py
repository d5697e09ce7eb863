"""All lines of small endings, counted: the engine's number is the oracle's, and the one written here."""

from __future__ import annotations

import copy
import random

import pytest

from callbreak_env import Match, Rules
from callbreak_env.cards import card_text
from callbreak_env.rules import PRESETS
from reference import ReferenceMatch

LAST_TRICKS = 3
COUNTS = {
    ("standard", 0): 120,
    ("standard", 1): 50,
    ("standard", 2): 948,
    ("no_trump", 0): 420,
    ("no_trump", 4): 648,
    ("bhoos", 1): 144,
    ("bhoos", 5): 544,
    ("loose", 0): 192,
    ("loose", 4): 624,
}
"""Lines of the last three tricks, by rules and seed of the moves before."""


def rules_of(name: str) -> Rules:
    if name == "loose":
        return Rules(deals=1, must_beat=False, undertrump=False, tie="shared")
    options = PRESETS[name].to_dict() | {"deals": 1, "tie": "shared"}
    return Rules.from_dict(options)


def endings(name: str, seed: int) -> tuple[Match, ReferenceMatch]:
    """Both at the start of the last three tricks, after the same random moves."""
    rules, moves = rules_of(name), random.Random(seed)
    order = moves.sample(range(52), 52)
    match = Match(rules, dealer=3, decks=[order])
    reference = ReferenceMatch(rules.to_dict(), 3, lambda: [card_text(card) for card in order])
    while match.trick_no < 13 - LAST_TRICKS:
        action = moves.choice(match.legal_actions())
        match.apply(action)
        reference.apply(("bid", action - 51) if action > 51 else ("play", card_text(action)))
    return match, reference


def lines(match: Match) -> int:
    if match.is_over:
        return 1
    total = 0
    for action in match.legal_actions():
        after = match.clone()
        after.apply(action)
        total += lines(after)
    return total


@pytest.mark.parametrize(("name", "seed"), COUNTS)
def test_lines_of_the_last_three_tricks(name: str, seed: int) -> None:
    assert lines(endings(name, seed)[0]) == COUNTS[name, seed]


@pytest.mark.parametrize(("name", "seed"), COUNTS)
def test_the_oracle_counts_the_same_lines(name: str, seed: int) -> None:
    def count(match: ReferenceMatch) -> int:
        if match.phase == "over":
            return 1
        total = 0
        for move in match.legal():
            after = copy.deepcopy(match)
            after.apply(move)
            total += count(after)
        return total

    assert count(endings(name, seed)[1]) == COUNTS[name, seed]
