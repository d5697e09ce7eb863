"""Every registered agent: legal, reproducible, honest, the same in any batch; and the two plain floors."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from agents import (
    asked_by_view,
    compiled,
    keyed_by_view,
    legal_at,
    other_worlds,
    positions,
    share_bidding,
    spec,
    without_hands,
)
from arenas import lowest_of
from callbreak_env import PRESETS, Match, Rules, make_agent
from callbreak_env.errors import CallBreakError
from callbreak_env.policy import Agent, TableAgent, agent_names
from learners import Amount

EVERY_AGENT = pytest.mark.parametrize("name", agent_names())


def whole_match(name: str, preset: str, seed: int, asked: float = 1.0) -> list[int]:
    """Four agents of a name play a match by their views; ``asked``: how often, others act at random."""
    match, rng = Match(preset, seed=seed), random.Random(seed)
    agents = [make_agent(spec(name)) for _ in range(4)]
    for seat, agent in enumerate(agents):
        agent.reset(seat, match.rules, np.random.default_rng([seed, seat]))
    while not match.is_over:
        assert match.seat is not None
        view = match.view(match.seat)
        ask = rng.random() < asked
        match.apply(agents[match.seat].act(view) if ask else rng.choice(view.legal_actions()))
    return match.actions


@EVERY_AGENT
def test_agents_play_whole_matches_legally_and_reproducibly(name: str, amount: Amount) -> None:
    """An illegal action would raise."""
    asked = amount(1000, no_jit=15) / 1000
    for preset in list(PRESETS)[:: amount(1, no_jit=5)]:
        played = whole_match(name, preset, 1, asked)
        if preset in ("single_deal", "bhoos"):
            assert whole_match(name, preset, 1, asked) == played
            assert whole_match(name, preset, 2, asked) != played


@EVERY_AGENT
def test_agents_are_what_the_protocols_say(name: str) -> None:
    agent = make_agent(spec(name))
    assert agent.name == spec(name)
    assert isinstance(agent, Agent)
    assert isinstance(agent, TableAgent)


@EVERY_AGENT
@pytest.mark.parametrize("preset", PRESETS)
def test_hidden_hands_change_no_decision(name: str, preset: str, amount: Amount) -> None:
    """Neither other hands that agree with what the seat knows, nor none at all, asked either way."""
    rules, agent = PRESETS[preset], compiled(spec(name))
    tables = positions(rules, amount(60, nightly=1000, no_jit=3), seed=5)
    actions = agent.act_tables(tables, rules)
    assert legal_at(tables, rules, actions).all()
    shown = asked_by_view(agent, tables, rules, key=3)
    for changed in (other_worlds(tables, rules, 7), other_worlds(tables, rules, 8), without_hands(tables)):
        assert (changed["hands"] != tables["hands"]).any()
        assert agent.act_tables(changed, rules).tolist() == actions.tolist()
    assert asked_by_view(agent, other_worlds(tables, rules, 7), rules, key=3).tolist() == shown.tolist()
    # By views it does what it does at a table with that key.
    assert agent.act_tables(keyed_by_view(tables, 3), rules).tolist() == shown.tolist()


def test_positions_are_of_many_kinds() -> None:
    """Else the tests on them would show little."""
    tables = positions(PRESETS["standard"], 60, seed=5)
    assert 0.3 < share_bidding(tables) < 0.6
    assert set(tables["num_active"].tolist()) == {2, 3, 4}
    assert len(set(tables["num_played"].tolist())) > 20
    assert len(set(tables["seat"].tolist())) == 4


@EVERY_AGENT
def test_a_batch_changes_no_decision(name: str, amount: Amount, few_rows_a_thread: None) -> None:
    """Nor does its order, nor the number of threads; and tables stay as they are."""
    rules, agent = PRESETS["standard"], compiled(spec(name))
    tables = positions(rules, amount(40, no_jit=8), seed=6)
    before = tables.tobytes()
    actions = agent.act_tables(tables, rules)
    assert agent.act_tables(tables, rules, threads=2).tolist() == actions.tolist()
    assert agent.act_tables(tables, rules, None).tolist() == actions.tolist()
    assert agent.act_tables(tables[::-1].copy(), rules).tolist() == actions[::-1].tolist()
    alone = [int(agent.act_tables(tables[k : k + 1], rules)[0]) for k in range(len(tables))]
    assert alone == actions.tolist()
    assert tables.tobytes() == before
    assert agent.act_tables(tables[:0], rules).shape == (0,)
    assert actions.dtype == np.int64


@EVERY_AGENT
def test_agent_asked_out_of_turn_is_told_so(name: str) -> None:
    agent = make_agent(spec(name))
    match = Match("single_deal", seed=1, dealer=3)
    agent.reset(1, match.rules, np.random.default_rng(1))
    with pytest.raises(CallBreakError, match="seat 1 is not to act"):
        agent.act(match.view(1))
    rng = random.Random(1)
    over = Match(Rules(deals=1, tie="shared"), seed=1)
    while not over.is_over:
        over.apply(rng.choice(over.legal_actions()))
    with pytest.raises(CallBreakError, match="seat 1 is not to act"):
        agent.act(over.view(1))


BAD_OPTIONS = [
    "uniform:deals=3",
    "low_bid:x=1",
    "lowest:bid=2",
    "rule_based:shade=0.5",
    "pimc:iterations=3",
    "pimc:play=-1",
    "pimc:play=1.5",
    "pimc:play=many",
    "pimc:policy=pope",
    "pimc_lite:worlds=3",
    "pimc_strong:bid=true",
    "ismcts:worlds=3",
    "ismcts:iterations=0",
    "ismcts:iterations=2.5",
    "ismcts:iterations=true",
    "ismcts:explore=-0.5",
    "ismcts:explore=nan",
    "ismcts:explore=inf",
    "ismcts:explore=much",
    "ismcts:policy=pimc",
]


@pytest.mark.parametrize("text", BAD_OPTIONS)
def test_options_that_an_agent_does_not_take_are_refused_by_name(text: str) -> None:
    option = text.partition(":")[2].partition("=")[0]
    with pytest.raises(ValueError, match=rf"^agent '{text}'(?:: | has no option )(?s:.*){option}"):
        make_agent(text)


# The floors


def test_low_bid_bids_the_minimum_and_plays_uniformly(amount: Amount) -> None:
    """Each of n legal cards as often as any other, at one position under many keys."""
    agent = compiled("low_bid")
    for preset, lowest_bid in (("standard", 2), ("bhoos", 1)):
        tables = positions(PRESETS[preset], 40, seed=2)
        bidding = tables[tables["phase"] == 0]
        assert len(bidding) > 5
        assert agent.act_tables(bidding, PRESETS[preset]).tolist() == [51 + lowest_bid] * len(bidding)
    match = Match("bhoos", seed=4)
    for bid in (52, 53, 54, 55):
        match.apply(bid)
    tables = np.repeat(match.record_array, amount(26000, no_jit=1300))
    tables["match"] = np.arange(len(tables))
    drawn = Counter(agent.act_tables(tables, match.rules).tolist())
    assert sorted(drawn) == match.legal_actions()
    assert len(drawn) == 13
    expected = len(tables) / 13
    chi = sum((count - expected) ** 2 / expected for count in drawn.values())
    assert chi < 39.1  # twelve degrees of freedom: 1 in 10,000


def test_low_bid_draws_as_uniform_does() -> None:
    cards = positions(PRESETS["standard"], 40, seed=3)
    cards = cards[cards["phase"] == 1]
    one, other = compiled("low_bid"), compiled("uniform")
    rules = PRESETS["standard"]
    assert one.act_tables(cards, rules).tolist() == other.act_tables(cards, rules).tolist()


@pytest.mark.parametrize("preset", PRESETS)
def test_lowest_takes_the_lowest_rank_then_the_lowest_suit(preset: str, amount: Amount) -> None:
    match, rng = Match(preset, seed=3), random.Random(3)
    agent = make_agent("lowest")
    agent.reset(0, match.rules, np.random.default_rng(0))
    ties = 0
    for _ in range(amount(200, no_jit=70)):
        if match.is_over:
            break
        assert match.seat is not None
        legal = match.legal_actions()
        view = match.view(match.seat)
        chosen = agent.act(view)
        assert chosen == lowest_of(view)
        ties += sum(action % 13 == chosen % 13 for action in legal) > 1
        match.apply(rng.choice(legal))
    assert ties
