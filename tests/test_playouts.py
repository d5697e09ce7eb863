"""Playouts: the points are those of deals played to their ends, and the positions stay as they are."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from callbreak_env import PRESETS, IllegalAction, Match, Rules, SelfPlayEnv, deal_points
from callbreak_env.engine import threads
from callbreak_env.engine.policies import UNIFORM, policy_action
from callbreak_env.engine.state import TABLE, rules_record
from callbreak_env.playouts import playouts
from callbreak_env.worlds import Worlds
from positions import extra_deal_opening


def moments(name: str, seed: int) -> list[Match]:
    """Some moments of a match by random play."""
    match, rng = Match(PRESETS[name], seed=seed), random.Random(seed)
    found = []
    while not match.is_over:
        if rng.random() < 0.03:
            found.append(match.clone())
        match.apply(rng.choice(match.legal_actions()))
    return found


def played_by_hand(match: Match, seed: int, number: int) -> list[int]:
    """The points of one playout: a copy under another key, step by step through ``Match``."""
    copy = match.clone()
    copy.record_array["seed"] = seed
    copy.record_array["match"] = number
    record, deal = rules_record(match.rules)[0], match.deal
    bids, won = copy.bids, copy.tricks_won
    while not copy.is_over and copy.deal == deal and sum(copy.tricks_won) < 13:
        happened = copy.apply(int(policy_action(UNIFORM, copy.record_array[0], record)))
        if not happened & 6:
            bids, won = copy.bids, copy.tricks_won
    won[copy.last_winner] += 1
    assert sum(won) == 13
    points = deal_points(bids, won, match.rules)
    assert points == copy.points
    return points


@pytest.mark.parametrize("name", PRESETS)
def test_a_playout_is_a_deal_played_step_by_step(name: str, amount: Callable[..., int]) -> None:
    for match in moments(name, 3)[: amount(8, no_jit=2)]:
        before = match.record_array.tobytes()
        found = playouts(match, 3, seed=77)
        assert found.shape == (1, 3, 4)
        assert found.dtype == np.int32
        assert found[0].tolist() == [played_by_hand(match, 77, number) for number in range(3)]
        assert match.record_array.tobytes() == before


@pytest.mark.parametrize("tied", [(0, 2), (0, 1, 3), (0, 1, 2, 3)])
def test_an_extra_deal_is_played_out_by_its_seats(tied: tuple[int, ...]) -> None:
    match, _ = extra_deal_opening(tied)
    found = playouts(match, 20, seed=1)[0]
    assert found[0].tolist() == played_by_hand(match, 1, 0)
    for seat in range(4):
        assert (found[:, seat] != 0).all() == (seat in tied)


def test_a_redeal_is_another_deck_in_every_playout() -> None:
    """H2: thrown in while bidding, the deal goes on with cards that nobody can foresee."""
    match = Match(Rules(deals=1, min_total_bid=40, max_redeals=3), seed=1)
    assert playouts(match, 2, seed=5)[0].tolist() == [played_by_hand(match, 5, n) for n in range(2)]


def test_neither_threads_nor_the_split_change_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "ROWS_A_THREAD", 2)
    tables = np.concatenate([m.record_array for seed in (8, 9) for m in moments("bhoos", seed)])
    whole = playouts(tables, 4, rules="bhoos", seed=9, threads=1)
    assert len(tables) > 6
    assert playouts(tables, 4, rules="bhoos", seed=9, threads=3).tolist() == whole.tolist()
    assert playouts(tables[:1], 4, rules="bhoos", seed=9).tolist() == whole[:1].tolist()
    assert playouts(tables, 4, rules="bhoos", seed=10).tolist() != whole.tolist()


def test_sampled_worlds_are_played_out(amount: Callable[..., int]) -> None:
    """A deal whose bids are made at once can only gain, whatever the hidden cards are."""
    match, rng = Match("single_deal", seed=2), random.Random(2)
    while match.phase == "bidding" or len(match.plays) < 30:
        match.apply(rng.choice(match.legal_actions()))
    count = amount(500, no_jit=20)
    worlds = Worlds(match.view(match.seat))
    found = playouts(worlds.tables(worlds.sample(count, 0)), rules="single_deal", seed=0)
    assert found.shape == (count, 1, 4)
    for seat, (bid, won) in enumerate(zip(match.bids, match.tricks_won, strict=True)):
        at_most = 10 * bid + 13 - sum(match.tricks_won) + max(0, won - bid)
        assert found[..., seat].max() <= at_most
        if won >= bid:
            assert found[..., seat].min() >= 10 * bid + won - bid


def test_the_last_card_leaves_one_outcome() -> None:
    match, rng = Match("single_deal", seed=4), random.Random(4)
    while len(match.plays) < 48 or match.phase == "bidding":
        match.apply(rng.choice(match.legal_actions()))
    found = playouts(match, 50, seed=3)[0]
    while not match.is_over and not match.is_extra_deal:
        match.apply(match.legal_actions()[0])
    assert {tuple(row) for row in found.tolist()} == {tuple(match.points)}


def test_a_first_action_is_taken_in_every_playout() -> None:
    for match in moments("standard", 12):
        for action in match.legal_actions():
            after = match.clone()
            after.apply(action)
            found = playouts(match, 2, seed=6, actions=action)
            if after.deal == match.deal and not after.is_over:
                after.record_array["seed"], after.record_array["match"] = 6, 0
                assert found[0, 0].tolist() == played_by_hand(after, 6, 0)
            tables = np.repeat(match.record_array, 2)
            both = playouts(tables, 1, seed=6, rules="standard", actions=[action, action])
            assert both[:, 0].tolist() == found[0].tolist()


def test_an_illegal_first_action_is_told() -> None:
    match = Match(seed=1)
    tables = np.repeat(match.record_array, 3)
    with pytest.raises(IllegalAction, match="R5 every seat bids before a card is played"):
        playouts(tables, seed=0, rules="standard", actions=[53, 7, 54])
    with pytest.raises(IllegalAction, match="cannot take action -1"):
        playouts(tables, seed=0, rules="standard", actions=-1)
    with pytest.raises(ValueError, match=r"actions must be one a row, of shape \(3,\)"):
        playouts(tables, seed=0, rules="standard", actions=[53, 54])
    with pytest.raises(ValueError, match="actions must be whole numbers, not float64"):
        playouts(tables, seed=0, rules="standard", actions=53.0)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("phase", 2),
        ("phase", -1),
        ("active", 0),
        ("active", 1),
        ("active", 16),
        ("active", 7),
        ("num_active", 3),
        ("seat", 4),
        ("seat", -1),
        ("leader", 9),
        ("dealer", -2),
        ("trick_no", 13),
        ("trick_no", 100),
        ("in_trick", 4),
        ("num_played", 51),
        ("trump", 90),
        ("trump", -1),
        ("best_led", 52),
        ("best_led", -1),
        ("best_trump", 77),
        ("trick_seat", 4),
        ("hands", 1 << 60),
        ("hands", 0),
        ("played", (1 << 52) - 1),
        ("bids", 14),
        ("tricks_won", 14),
        ("trick", 60),
    ],
)
def test_a_record_that_is_none_of_a_table_is_refused(field: str, value: int) -> None:
    """Each of these made kernels read beyond their tables, or never end."""
    match, rng = Match("single_deal", seed=2), random.Random(2)
    while match.phase == "bidding" or len(match.plays) < 22:
        match.apply(rng.choice(match.legal_actions()))
    tables = np.repeat(match.record_array, 3)
    playouts(tables, seed=0, rules="single_deal")
    tables[field][1] = value
    with pytest.raises(ValueError, match="position 1 cannot be played out"):
        playouts(tables, seed=0, rules="single_deal")


def test_empty_records_are_refused() -> None:
    with pytest.raises(ValueError, match="position 0 cannot be played out"):
        playouts(np.zeros(2, TABLE), seed=0, rules="standard")
    with pytest.raises(ValueError, match="position 0 cannot be played out"):
        playouts(SelfPlayEnv(2).tables, seed=0, rules="standard")


def test_bad_arguments_are_named() -> None:
    match = Match(seed=1)
    with pytest.raises(ValueError, match=r"policy='nobody'"):
        playouts(match, policies="nobody", seed=0)
    with pytest.raises(ValueError, match=r"one for each of 4 seats, not 2"):
        playouts(match, policies=["uniform"] * 2, seed=0)
    for policies in (5, None):
        with pytest.raises(ValueError, match="policies must be names, not"):
            playouts(match, policies=policies, seed=0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"repeats must be at least 1"):
        playouts(match, 0, seed=0)
    with pytest.raises(ValueError, match=r"seed must be from 0"):
        playouts(match, seed=-1)
    with pytest.raises(ValueError, match=r"leave rules out"):
        playouts(match, seed=0, rules="standard")
    with pytest.raises(ValueError, match=r"records do not say by which rules .* give rules"):
        playouts(match.record_array, seed=0)
    with pytest.raises(ValueError, match=r"must be a Match or \[K\] TABLE records, not list"):
        playouts([1, 2], seed=0, rules="standard")
    with pytest.raises(ValueError, match=r"must be a Match or \[K\] TABLE records, not View"):
        playouts(match.view(0), seed=0, rules="standard")
    with pytest.raises(ValueError, match=r"position 1 cannot be played out"):
        playouts(np.concatenate([match.record_array, match.view(0).record_array]), seed=0, rules="standard")
    while not match.is_over:
        match.apply(match.legal_actions()[0])
    with pytest.raises(ValueError, match=r"position 0 cannot be played out"):
        playouts(match, seed=0)
