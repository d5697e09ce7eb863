"""What holds for every match: conservation, bounds, symmetry, dealing. Hypothesis chooses the matches."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from callbreak_env import Match, Rules
from callbreak_env.cards import cards_of
from callbreak_env.engine.dealing import cut_for_dealer, philox, shuffle
from callbreak_env.engine.policies import UNIFORM, policy_action
from callbreak_env.engine.state import DEAL_END, MATCH_END, REDEAL, TABLE, rules_record

SEEDS = st.integers(0, 2**63 - 1)
RULES = st.builds(
    lambda bids, **options: Rules(min_bid=min(bids), max_bid=max(bids), **options),
    bids=st.tuples(st.integers(1, 13), st.integers(1, 13)),
    deals=st.integers(1, 3),
    min_total_bid=st.sampled_from([0, 10, 30, 60]),
    max_redeals=st.integers(0, 3),
    misdeal=st.booleans(),
    bonus_bid=st.sampled_from([None, 1, 5, 8, 20]),
    bonus_points=st.integers(0, 30),
    partnership=st.booleans(),
    trump=st.sampled_from(["spades", "first_led"]),
    free_spade_lead=st.booleans(),
    tie=st.sampled_from(["extra_deal", "shared"]),
    must_beat=st.booleans(),
    beat_when_trumped=st.booleans(),
    undertrump=st.booleans(),
)


@given(RULES, SEEDS)
def test_every_match_ends_and_keeps_its_cards_tricks_and_points(rules: Rules, seed: int) -> None:
    match, moves = Match(rules, seed=seed), random.Random(seed)
    deals, redeals = 0, 0
    while not match.is_over:
        seats = len(match.active)
        held = [card for hand in match.hands for card in hand]
        played = [card for _, card in match.plays]
        assert len(held) + len(played) == len(set(held + played)) == 13 * seats
        assert sum(match.tricks_won) == match.trick_no == len(played) // seats
        assert 1 <= len(match.legal_actions()) <= 13
        before = (match.deal, match.dealer, match.totals, match.active)
        happened = match.apply(moves.choice(match.legal_actions()))
        if happened & REDEAL:
            redeals += 1
            assert (match.deal, match.dealer, match.totals, match.active) == before
            assert match.bids == [None] * 4
            assert 1 <= match.redeals <= rules.max_redeals
        if happened & DEAL_END:
            deals += 1
            redeals = 0
            side = 2 if rules.partnership else 1
            most = max(10 * rules.bonus_points if rules.bonus_bid else 0, 130 + 12)
            assert all(-130 * side <= point <= most for point in match.points)
            if not match.is_extra_deal or not happened & MATCH_END:
                gained = [now - was for now, was in zip(match.totals, before[2], strict=True)]
                assert gained == match.points
        assert bool(happened & MATCH_END) == match.is_over
        assert redeals <= rules.max_redeals
    assert deals == rules.deals + match.is_extra_deal
    assert match.winners
    if not match.is_extra_deal:
        assert match.winners == tuple(s for s in range(4) if match.totals[s] == max(match.totals))


def decks_of(seed: int, count: int = 40) -> list[list[int]]:
    source = random.Random(seed)
    return [source.sample(range(52), 52) for _ in range(count)]


@given(RULES, SEEDS, st.integers(1, 3))
def test_turning_the_table_changes_only_the_seats(rules: Rules, seed: int, turn: int) -> None:
    decks = decks_of(seed)
    one = Match(rules, seed=seed, dealer=0, decks=decks)
    other = Match(rules, seed=seed, dealer=turn, decks=decks)
    moves = random.Random(seed)

    def turned(values: list[Any]) -> list[Any]:
        return [values[(seat - turn) % 4] for seat in range(4)]

    # Partners sit opposite, so that any turn keeps the sides.
    while not one.is_over:
        assert other.seat == ((one.seat or 0) + turn) % 4
        assert other.hands == turned(one.hands)
        assert other.legal_actions() == one.legal_actions()
        action = moves.choice(one.legal_actions())
        assert one.apply(action) == other.apply(action)
        assert other.totals == turned(one.totals)
        assert other.points == turned(one.points)
    assert other.is_over
    assert set(other.winners) == {(seat + turn) % 4 for seat in one.winners}


@given(RULES, SEEDS, st.permutations([0, 1, 2]))
def test_permuting_the_plain_suits_changes_only_their_names(
    rules: Rules, seed: int, order: list[int]
) -> None:
    suits = [*order, 3]

    def renamed(action: int) -> int:
        return 13 * suits[action // 13] + action % 13 if action < 52 else action

    decks = decks_of(seed)
    one = Match(rules, seed=seed, dealer=1, decks=decks)
    other = Match(rules, seed=seed, dealer=1, decks=[[renamed(card) for card in deck] for deck in decks])
    moves = random.Random(seed)
    # Redeals can use up the decks; the shuffles after them are not permuted.
    while not one.is_over and one.record_array["deck"][0] < len(decks):
        assert other.seat == one.seat
        assert other.legal_actions() == sorted(map(renamed, one.legal_actions()))
        for seat in range(4):
            held = cards_of(one.record_array["may_hold"][0, seat])
            assert cards_of(other.record_array["may_hold"][0, seat]) == sorted(map(renamed, held))
        action = moves.choice(one.legal_actions())
        assert one.apply(action) == other.apply(renamed(action))
        assert (other.totals, other.points, other.winners) == (one.totals, one.points, one.winners)


# Dealing


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        # The known answers that come with Random123.
        ((0, 0, 0, 0), (0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_philox_gives_the_known_answers(counter: tuple[int, ...], key: tuple[int, ...], words: str) -> None:
    given_ = [np.uint64(word) for word in (*counter, *key)]
    assert " ".join(f"{int(word):08x}" for word in philox(*given_)) == words


def shuffled(seed: int, match: int, deck: int) -> list[int]:
    cards = np.zeros(52, np.uint8)
    shuffle(np.uint64(seed), np.uint64(match), np.uint64(deck), cards)
    return [int(card) for card in cards]


def test_a_deck_depends_on_seed_match_and_deck_alone() -> None:
    keys = [(seed, match, deck) for seed in (0, 1, 2**40) for match in (0, 1, 2**40) for deck in (0, 1, 2)]
    decks = {key: shuffled(*key) for key in keys}
    assert all(sorted(deck) == list(range(52)) for deck in decks.values())
    assert len({tuple(deck) for deck in decks.values()}) == len(keys)
    assert {key: shuffled(*key) for key in reversed(keys)} == decks


def test_shuffles_put_every_card_everywhere_alike(amount: Callable[..., int]) -> None:
    count = amount(20_000, nightly=400_000, no_jit=1000)
    seen = np.zeros((52, 52))
    places = np.arange(52)
    for match in range(count):
        seen[places, shuffled(20260, match, 0)] += 1
    expected = count / 52
    # Card by place: 51 * 51 degrees of freedom; normal approximation, 5 sigma. Each deck fills each row and
    # column once, for which the statistic has mean 52 * 51.
    freedom = 51 * 51
    square = ((seen - expected) ** 2 / expected).sum() * 51 / 52
    print("seed 20260, chi-square", square)
    assert abs(square - freedom) < 5 * np.sqrt(2 * freedom)


def test_neighbours_in_a_shuffle_are_independent(amount: Callable[..., int]) -> None:
    count = amount(20_000, nightly=400_000, no_jit=1000)
    rising = sum(deck[0] < deck[1] for deck in (shuffled(5, match, 1) for match in range(count)))
    assert abs(rising - count / 2) < 5 * np.sqrt(count) / 2


def test_the_cut_is_uniform_over_the_seats(amount: Callable[..., int]) -> None:
    count = amount(20_000, nightly=400_000, no_jit=2000)
    seats = [int(cut_for_dealer(np.uint64(7), np.uint64(match))) for match in range(count)]
    for seat in range(4):
        assert abs(seats.count(seat) - count / 4) < 5 * np.sqrt(count * 3 / 16)


def test_the_uniform_agent_takes_each_legal_action_alike(amount: Callable[..., int]) -> None:
    count = amount(24_000, no_jit=2400)
    rules = Rules(deals=1)
    for steps in (0, 6, 30):
        match, moves = Match(rules, seed=2), random.Random(2)
        for _ in range(steps):
            match.apply(moves.choice(match.legal_actions()))
        table, record = match.record_array.copy()[0], rules_record(rules)[0]
        taken = []
        for number in range(count):
            table["match"] = number
            taken.append(int(policy_action(UNIFORM, table, record)))
        legal = match.legal_actions()
        assert set(taken) == set(legal)
        share = count / len(legal)
        assert all(abs(taken.count(action) - share) < 5 * np.sqrt(share) for action in legal)


def test_a_table_is_four_cache_lines() -> None:
    assert TABLE.itemsize == 256
