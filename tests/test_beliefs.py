"""Worlds drawn by belief: the weights are those of brute force, and worlds come as often as they weigh."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from callbreak_env import PRESETS, Match
from callbreak_env.cards import cards_of, set_of
from callbreak_env.engine._jit import kernel
from callbreak_env.engine.beliefs import BELIEFS, FLOOR, belief_in, build_beliefs, draw_believed
from callbreak_env.engine.random import mix
from callbreak_env.engine.state import Array
from callbreak_env.engine.worlds import WORLDS, build_worlds
from callbreak_env.table import View
from learners import Amount
from positions import random_action
from test_worlds import World, as_set, brute_force

Chances = npt.NDArray[np.float64]


@kernel()
def built(tables: Array, viewer: int, by_card: Array, worlds: Array, beliefs: Array) -> float:
    build_worlds(tables[0], viewer, worlds[0])
    return float(build_beliefs(tables[0], worlds[0], by_card, beliefs[0]))


@kernel()
def weighed(worlds: Array, beliefs: Array, hands: Array, weights: Array) -> None:
    for i in range(len(hands)):
        weights[i] = belief_in(worlds[0], beliefs[0], hands[i])


@kernel()
def drawn(worlds: Array, beliefs: Array, state: np.uint64, hands: Array) -> None:
    for i in range(len(hands)):
        state = draw_believed(worlds[0], beliefs[0], state, hands[i])


def position(rng: random.Random, left: int) -> View:
    """Somewhere in random play, ``left`` cards in the leader's hand; seen by the seat to act."""
    match = Match(rng.choice([name for name, rules in PRESETS.items() if not rules.partnership]), seed=left)
    while match.phase == "bidding":
        match.apply(random_action(match, rng))
    for _ in range(4 * (13 - left) + rng.randrange(4)):
        match.apply(random_action(match, rng))
    assert match.seat is not None
    return match.view(match.seat)


def believed(view: View, by_card: Chances) -> tuple[Any, Any, float]:
    """WORLDS and BELIEFS for a view, and the weight of all worlds."""
    worlds, beliefs = np.zeros(1, WORLDS), np.zeros(1, BELIEFS)
    total = built(view.record_array.copy(), view.viewer, by_card, worlds, beliefs)
    return worlds, beliefs, total


def chances_of(view: View, by_card: Chances) -> dict[tuple[int, int], float]:
    """By card and seat, how likely it is there: of the seats that may have it, none below the floor."""
    seats = [(view.viewer + i) % 4 for i in (1, 2, 3)]
    found = {}
    for card in range(52):
        told = {seat: by_card[card, i] for i, seat in enumerate(seats) if card in view.may_hold(seat)}
        kept = {seat: max(chance / max(told.values()), FLOOR) for seat, chance in told.items()}
        found |= {(card, seat): chance / sum(kept.values()) for seat, chance in kept.items()}
    return found


def weight_of(world: World, viewer: int, chances: dict[tuple[int, int], float]) -> float:
    return float(
        np.prod(
            [chances[card, seat] for seat in range(4) if seat != viewer for card in cards_of(world[seat])]
        )
    )


@pytest.mark.parametrize("left", [1, 2, 3, 4])
def test_worlds_come_as_often_as_they_weigh(left: int, amount: Amount) -> None:
    """Weights against brute force; draws by a chi-square of a chance of a millionth to be above the bound."""
    rng, noise = random.Random(left), np.random.default_rng(left)
    for number in range(amount(12, no_jit=2)):
        view = position(rng, left)
        by_card = noise.random((52, 3)) ** 3
        worlds, beliefs, total = believed(view, by_card)
        chances = chances_of(view, by_card)
        exact = {world: weight_of(world, view.viewer, chances) for world in brute_force(view)}
        assert total == pytest.approx(sum(exact.values()))
        hands = np.array(sorted(exact), np.uint64)
        weights = np.empty(len(hands))
        weighed(worlds, beliefs, hands, weights)
        assert weights == pytest.approx([exact[world] for world in sorted(exact)])
        many = np.empty((amount(4000, no_jit=150), 4), np.uint64)
        drawn(worlds, beliefs, np.uint64(mix(np.uint64(100 * left + number))), many)
        assert as_set(many) <= set(exact)
        # Worlds that are seldom expected count as one.
        expected = np.array(list(exact.values())) / total * len(many)
        seen = np.array([(many == np.array(world, np.uint64)).all(1).sum() for world in exact])
        often = expected >= 5
        expected = np.append(expected[often], expected[~often].sum())
        seen = np.append(seen[often], seen[~often].sum())
        if expected[-1] < 1:
            expected, seen = expected[:-1], seen[:-1]
        freedom = max(1, len(seen) - 1)
        square = ((seen - expected) ** 2 / np.maximum(expected, 1e-9)).sum()
        assert square < freedom + 10 * np.sqrt(2 * freedom) + 10


def test_whole_hands_keep_their_sizes_and_who_may_hold_what(amount: Amount) -> None:
    """And the nearer the beliefs are to the truth, the nearer are the worlds."""
    rng = random.Random(9)
    for left in range(13, 4, -1):
        view = position(rng, left)
        true = np.full((52, 3), 0.05)
        hidden = view.record_array  # a view's record holds no other hand: draw the truth first
        assert sum(int(hand) != 0 for hand in hidden["hands"][0]) == 1
        many = np.empty((amount(50, no_jit=5), 4), np.uint64)
        worlds, beliefs, _ = believed(view, np.ones((52, 3)))
        drawn(worlds, beliefs, np.uint64(left), many)
        truth = many[0].copy()
        for i in (1, 2, 3):
            true[cards_of(int(truth[(view.viewer + i) % 4])), i - 1] = 0.9
        near = np.empty_like(many)
        drawn(*believed(view, true)[:2], np.uint64(left), near)
        for hands in (*many, *near):
            for seat in range(4):
                held = set(cards_of(int(hands[seat])))
                played = sum(seat == each for each, _ in view.plays)
                assert len(held) == 13 - played
                assert held <= set(view.hand if seat == view.viewer else view.may_hold(seat))
            assert sum(map(int, hands)) == 2**52 - 1 - set_of(card for _, card in view.plays)

        def alike(found: Any, truth: Any = truth) -> float:
            return float(
                np.mean(
                    [bin(int(a & b)).count("1") for row in found for a, b in zip(row, truth, strict=True)]
                )
            )

        assert alike(near) > alike(many[1:])


def test_no_hidden_hand_is_read() -> None:
    match = Match("standard", seed=3)
    rng = random.Random(1)
    while match.phase == "bidding":
        match.apply(random_action(match, rng))
    for _ in range(17):
        match.apply(random_action(match, rng))
    assert match.seat is not None
    by_card = np.random.default_rng(1).random((52, 3))
    found = []
    for record in (match.record_array.copy(), match.view(match.seat).record_array.copy()):
        worlds, beliefs = np.zeros(1, WORLDS), np.zeros(1, BELIEFS)
        found.append((built(record, match.seat, by_card, worlds, beliefs), beliefs.tobytes()))
    assert found[0] == found[1]
