"""Positions for the tests of the faces: rules of many kinds, random play, matches with an extra deal."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from callbreak_env import Match, Rules

VARIETY: dict[str, Rules] = {
    "standard": Rules(deals=2),
    "partnership": Rules(deals=2, partnership=True),
    "no_trump": Rules(deals=2, trump="first_led"),
    "bhoos": Rules(
        deals=2,
        min_bid=1,
        max_bid=8,
        free_spade_lead=True,
        beat_when_trumped=False,
        undertrump=False,
        tie="shared",
    ),
    "redeals": Rules(deals=2, min_total_bid=30, max_redeals=2),
    "misdeal": Rules(deals=1, misdeal=True),
    "bonus": Rules(deals=2, bonus_bid=3, bonus_points=30, min_bid=1, max_bid=4),
    "ties": Rules(deals=1, min_bid=2, max_bid=2),
    "loose": Rules(deals=1, must_beat=False, min_bid=3, max_bid=3),
    "everything": Rules(
        deals=2,
        min_bid=1,
        max_bid=5,
        min_total_bid=12,
        max_redeals=2,
        misdeal=True,
        bonus_bid=7,
        bonus_points=20,
        partnership=True,
        trump="first_led",
        beat_when_trumped=False,
        undertrump=False,
    ),
}
"""Short matches under rules of every kind; every option of ``Rules`` is away from its default in one."""


def random_decks(rng: random.Random, count: int) -> list[list[int]]:
    return [rng.sample(range(52), 52) for _ in range(count)]


def random_action(match: Match, rng: random.Random) -> int:
    return rng.choice(match.legal_actions())


def random_play(match: Match, rng: random.Random) -> Iterator[Match]:
    """The match before every action, and once more when it is over."""
    while not match.is_over:
        yield match
        match.apply(random_action(match, rng))
    yield match


def extra_deal_opening(
    tied: Sequence[int], rules: Rules | None = None, seed: int = 0
) -> tuple[Match, list[int]]:
    """A match at the start of an extra deal (R15) among ``tied``, and the actions that led there.

    In every deal before, these bid 9 and the others 13, and nobody comes near: -9 each, -13 each. (Partners
    have one bid: there all four must be tied.)
    """
    rules = rules or Rules(deals=1)
    for number in range(seed, seed + 1000):
        match, rng, actions = Match(rules, seed=number), random.Random(number), []
        while not match.is_over and not match.is_extra_deal:
            bid = 51 + (9 if match.seat in tied else 13)
            action = bid if match.phase == "bidding" else random_action(match, rng)
            match.apply(action)
            actions.append(action)
        if match.is_extra_deal and match.active == tuple(tied):
            return match, actions
    raise AssertionError("no such match in a thousand")
