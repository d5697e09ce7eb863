"""What a search thinks of every action, to teach others: right, of legal actions alone, and honest."""

from __future__ import annotations

import numpy as np
import pytest

from agents import compiled, other_worlds, positions, share_bidding, without_hands
from callbreak_env import PRESETS, Match, Rules
from callbreak_env.engine.pimc import BIDS_AROUND, TRUST_PLAY
from callbreak_env.table import View
from callbreak_env.worlds import Worlds
from conftest import JIT
from learners import Amount
from test_pimc import agent, choices_at, endings, groups_of, sums_by_hand, teacher

WORLDS = 4 if JIT else 1
SEARCH = f"pimc:bid={WORLDS},play={WORLDS},draws=2,enumerate=0"


@pytest.mark.parametrize("preset", ["standard", "bhoos", "no_trump"])
def test_legal_actions_alone_have_values(preset: str, amount: Amount) -> None:
    """All legal cards, and the bids near the rule-based one; nothing where there is nothing to choose."""
    rules = PRESETS[preset]
    tables = positions(rules, amount(60, no_jit=4), seed=14)
    assert 0 < share_bidding(tables) < 1
    values = compiled(SEARCH).action_values(tables, rules)
    assert values.shape == (len(tables), 65)
    assert values.dtype == np.float32
    alone = 0
    for k, seat in enumerate(tables["seat"].tolist()):
        told = np.flatnonzero(~np.isnan(values[k])).tolist()
        view = View(tables[k : k + 1], rules, seat)
        match = match_at(tables[k : k + 1], rules)
        if len(choices_at(match)) == 1:
            alone += 1
            assert told == []
        elif view.phase == "bidding":
            near = range(teacher(match) - BIDS_AROUND, teacher(match) + BIDS_AROUND + 1)
            assert told == [action for action in view.legal_actions() if action in near]
        else:
            assert told == view.legal_actions()
            for group in groups_at(view):
                assert len(set(values[k, group].tolist())) == 1
    assert alone or not JIT
    assert np.nanmax(np.abs(values)) < 30  # points, no tenths
    assert len(np.unique(values[~np.isnan(values)])) > 4


def match_at(tables: np.ndarray, rules: Rules) -> Match:
    """A match with a table of the engine's in it."""
    match = Match(rules, seed=0)
    match.record_array[0] = tables[0]
    return match


def groups_at(view: View) -> list[list[int]]:
    """Legal cards of one value: from one to the next in its suit, all are held or were played before."""
    trick = {card for card in view.record_array["trick"][0].tolist() if card >= 0}
    seat, record = view.viewer, view.record_array[0]
    gone = set()
    for cards in (record["hands"][seat], *record["played"]):
        gone |= {card for card in range(52) if int(cards) >> card & 1}
    groups: list[list[int]] = []
    for card in view.legal_actions():
        last = groups[-1][-1] if groups else -1
        if groups and last // 13 == card // 13 and set(range(last + 1, card)) <= gone - trick:
            groups[-1].append(card)
        else:
            groups.append([card])
    return groups


@pytest.mark.parametrize("policy", ["rule_based", "lowest"])
@pytest.mark.parametrize("draws", [1, 20])
def test_values_are_mean_points_over_all_worlds(draws: int, policy: str, amount: Amount) -> None:
    """In endings, by plain Python: each choice played out in each world; without any head start."""
    searcher, seen = agent(draws, policy), 0
    for match in endings(amount(12, no_jit=1), 15, most=amount(60, no_jit=6)):
        groups = groups_of(match)
        if len(groups) == 1:
            continue
        assert match.seat is not None
        count = Worlds(match.view(match.seat)).count
        sums = sums_by_hand(match, draws, policy)
        values = searcher.action_values(match.record_array, match.rules)[0]
        for group in groups:
            expected = sums[group[0]]
            if policy == "rule_based" and teacher(match) in group:
                expected -= TRUST_PLAY
            assert values[group].tolist() == pytest.approx([expected / count / 10] * len(group), abs=1e-5)
        seen += 1
        chosen = int(searcher.act_tables(match.record_array, match.rules)[0])
        head_start = TRUST_PLAY / count / 10 if policy == "rule_based" else 0
        assert values[chosen] >= np.nanmax(values) - head_start - 1e-5
    assert seen or not JIT


@pytest.mark.parametrize("policy", ["lowest", "uniform"])
def test_without_a_head_start_the_search_does_what_is_worth_most(policy: str, amount: Amount) -> None:
    """In worlds that are drawn, by the same worlds and playouts; of equals the lowest."""
    rules = PRESETS["standard"]
    searcher = agent(1, policy, through=0, bid=WORLDS, play=WORLDS)
    tables = positions(rules, amount(80, no_jit=4), seed=16)
    values, actions = searcher.action_values(tables, rules), searcher.act_tables(tables, rules)
    free = ~np.isnan(values).all(axis=1)
    assert free.any()
    assert np.nanargmax(values[free], axis=1).tolist() == actions[free].tolist()


def test_values_are_honest_and_the_same_in_any_batch(amount: Amount) -> None:
    rules, searcher = PRESETS["bhoos"], compiled(SEARCH)
    tables = positions(rules, amount(40, no_jit=3), seed=17)
    before, values = tables.tobytes(), searcher.action_values(tables, rules)
    assert searcher.action_values(tables, rules, threads=2).tobytes() == values.tobytes()
    assert searcher.action_values(tables, rules, None).tobytes() == values.tobytes()
    assert searcher.action_values(tables[::-1].copy(), rules)[::-1].tobytes() == values.tobytes()
    for changed in (other_worlds(tables, rules, 7), without_hands(tables)):
        assert (changed["hands"] != tables["hands"]).any()
        assert searcher.action_values(changed, rules).tobytes() == values.tobytes()
    assert tables.tobytes() == before
    assert searcher.action_values(tables[:0], rules).shape == (0, 65)


def test_where_no_worlds_are_wanted_there_are_no_values(amount: Amount) -> None:
    rules = PRESETS["standard"]
    tables = positions(rules, amount(40, no_jit=4), seed=18)
    bidding = tables["phase"] == 0
    bids = compiled(f"pimc:bid={WORLDS},play=0").action_values(tables, rules)
    assert np.isnan(bids[~bidding]).all()
    assert not np.isnan(bids[bidding]).all(axis=1).any()
    cards = compiled(f"pimc:bid=0,play={WORLDS}").action_values(tables, rules)
    assert np.isnan(cards[bidding]).all()
    assert not np.isnan(cards[~bidding]).all()


@pytest.mark.parametrize("name", ["rule_based", "uniform", "ismcts"])
def test_only_such_a_search_has_values(name: str) -> None:
    rules = PRESETS["standard"]
    with pytest.raises(ValueError, match=f"agent '{name}' values no actions: pimc_lite, pimc, pimc_strong"):
        compiled(name).action_values(positions(rules, 1, seed=1), rules)
