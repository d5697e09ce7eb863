"""The search with a network: the sum it says it is, honest, legal, the same in any batch."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents import (
    Tables,
    asked_by_view,
    compiled,
    keyed_by_view,
    legal_at,
    other_worlds,
    played,
    positions,
    share_bidding,
    without_hands,
)
from callbreak_env import PRESETS, Match, Rules, make_agent
from callbreak_env.agents.inputs import encode_inputs
from callbreak_env.agents.network import BELIEF_OUTPUTS, OUTPUTS, new_memory
from callbreak_env.agents.neural import RELEASED_BELIEFS, NeuralAgent, released_weights, save_weights
from callbreak_env.agents.neural_search import (
    NeuralSearchAgent,
    believe,
    neural_agent,
    neural_search_agent,
    write_log_priors,
)
from callbreak_env.arena.formats import challenger
from callbreak_env.arena.play import play
from callbreak_env.engine.legality import legal_word
from callbreak_env.engine.pimc import BIDS_AROUND
from callbreak_env.envs.single import CallBreakEnv
from callbreak_env.envs.vector import CallBreakVectorEnv
from callbreak_env.playouts import playouts
from callbreak_env.policy import AGENT_VERSIONS, agent_names
from callbreak_env.table import View
from conftest import JIT
from learners import Amount
from networks import network, ranked
from test_action_values import groups_at
from test_beliefs import chances_of, weight_of
from test_worlds import brute_force

WEIGHTS = network(20, 2)
BELIEFS = network(24, 2, outputs=BELIEF_OUTPUTS)  # wider than the other
NET = NeuralAgent(WEIGHTS, "net")
WORLDS = 4 if JIT else 1
DRAWS = 2 if JIT else 1
SMALL = f"neural_search:bid={WORLDS},play={WORLDS},draws={DRAWS}"


def searcher(believes: bool = False, **options: Any) -> NeuralSearchAgent:
    """The search with small networks, of few worlds."""
    agent = neural_search_agent("search", **{"bid": WORLDS, "play": WORLDS, "draws": DRAWS, **options})
    agent.weights = WEIGHTS
    agent.beliefs = BELIEFS if believes else None
    return agent


def choices_at(view: View) -> list[list[int]]:
    """What the search tells apart: bids near the rule-based one; cards with their equals."""
    if view.phase == "bidding":
        usual = make_agent("rule_based").act(view)
        return [[bid] for bid in view.legal_actions() if abs(bid - usual) <= BIDS_AROUND]
    return groups_at(view)


def log_priors(told: Any, groups: list[list[int]]) -> list[float]:
    """Of each choice the logarithm of its share, by the network's logits: of all legal actions."""
    chances = np.exp(told[:65].astype(np.float64) - told[:65].max())
    return [float(np.log(max(chances[group].sum() / chances.sum(), 1e-6))) for group in groups]


def checked(
    agent: NeuralSearchAgent, tables: Tables, rules: Rules, bid_prior: float, play_prior: float, worlds: bool
) -> list[list[str]]:
    """At each table, which parts of the sum alone would lead to what the search does; the sum does."""
    values = np.zeros((len(tables), 65))
    if worlds:
        bid, cards, draws = (int(agent.settings[f][0]) for f in ("bid_worlds", "play_worlds", "draws"))
        values = compiled(f"pimc:bid={bid},play={cards},draws={draws}").action_values(tables, rules)
    told, actions = NET.outputs(tables, rules), agent.act_tables(tables, rules)
    given = agent.action_values(tables, rules)
    found = []
    for k, seat in enumerate(tables["seat"].tolist()):
        view = View(tables[k : k + 1], rules, seat)
        groups = choices_at(view)
        chosen = [group[0] for group in groups].index(actions[k])
        if len(groups) == 1:
            assert np.isnan(given[k]).all()
            continue
        means = np.array([values[k, group[0]] for group in groups])
        priors = np.array(log_priors(told[k], groups))
        sums = means + (bid_prior if view.phase == "bidding" else play_prior) * priors
        assert sums[chosen] >= sums.max() - 1e-5 * max(1, np.abs(sums).max())
        if worlds:
            expected = np.full(65, np.nan)
            for group, value in zip(groups, sums, strict=True):
                expected[group] = value
            assert given[k] == pytest.approx(expected, rel=1e-4, abs=1e-4, nan_ok=True)
        parts = {"worlds": means, "network": priors}
        found.append([name for name, part in parts.items() if part[chosen] >= part.max() - 1e-6])
    return found


# What it does


def test_neural_sees_worlds_in_the_last_tricks_alone(amount: Amount) -> None:
    rules = PRESETS["standard"]
    tables = positions(rules, amount(2000, no_jit=12), seed=41)
    agent = neural_agent("n", play=WORLDS, last=5, play_prior=0.3)
    agent.weights, agent.beliefs = WEIGHTS, BELIEFS
    done = agent.act_tables(tables, rules)
    late = (tables["phase"] == 1) & (tables["trick_no"] >= 8)
    for chosen, other in (
        (late, searcher(True, bid=0, draws=1, play_prior=0.3)),
        (~late, searcher(bid=0, play=0, draws=1)),
    ):
        assert done[chosen].tolist() == other.act_tables(tables[chosen], rules).tolist()
    for other in (searcher(bid=0, play=0, draws=1), searcher(bid=0, draws=1, play_prior=0.3)):
        assert (done[late] != other.act_tables(tables[late], rules)).any() or not JIT


@pytest.mark.parametrize("preset", ["standard", "bhoos", "no_trump"])
def test_the_sum_of_both_decides(preset: str, amount: Amount) -> None:
    """Mean points over the worlds and the weighed log-probability; either alone would do other things."""
    rules = PRESETS[preset]
    tables = positions(rules, amount(100, nightly=1000, no_jit=12), seed=31)
    assert 0.2 < share_bidding(tables) < 0.8 or not JIT
    priors = {"bid_prior": 0.7, "play_prior": 1.5}
    reasons = checked(searcher(**priors), tables, rules, **priors, worlds=True)
    if JIT:
        assert ["worlds"] in reasons
        assert ["network"] in reasons
        assert ["worlds", "network"] in reasons


def test_without_priors_it_is_the_search_without_a_head_start(amount: Amount) -> None:
    """Where all worlds are gone through as well: late in a deal."""
    rules = PRESETS["standard"]
    tables = positions(rules, amount(120, no_jit=12), seed=32)
    agent = searcher(bid_prior=0, play_prior=0)
    reasons = checked(agent, tables, rules, 0, 0, worlds=True)
    assert all("worlds" in each for each in reasons)
    values = compiled(f"pimc:bid={WORLDS},play={WORLDS},draws={DRAWS}").action_values(tables, rules)
    free = ~np.isnan(values).all(axis=1)
    told = values[free]
    chosen = np.take_along_axis(told, agent.act_tables(tables, rules)[free, np.newaxis], 1)[:, 0]
    assert chosen.tolist() == np.nanmax(told, axis=1).tolist()
    assert free.sum() >= amount(60, no_jit=1)


@pytest.mark.parametrize("huge", [1e9, 1e15])
def test_with_a_huge_prior_it_is_the_choice_of_the_network(huge: float, amount: Amount) -> None:
    rules = PRESETS["standard"]
    tables = positions(rules, amount(100, no_jit=8), seed=33)
    agent = searcher(bid_prior=huge, play_prior=huge)
    reasons = checked(agent, tables, rules, huge, huge, worlds=False)
    assert reasons or not JIT
    assert all("network" in each for each in reasons)


@pytest.mark.parametrize("priors", [{}, {"bid_prior": 0, "play_prior": 0}])
def test_without_worlds_it_is_the_neural_agent(priors: dict[str, float], amount: Amount) -> None:
    """But where all legal cards are equal: then it plays the lowest."""
    rules = PRESETS["standard"]
    tables = positions(rules, amount(200, no_jit=8), seed=34)
    agent = searcher(bid=0, play=0, **priors)
    done = agent.act_tables(tables, rules)
    assert np.isnan(agent.action_values(tables, rules)).all()
    alone = NET.act_tables(tables, rules)
    for k, seat in enumerate(tables["seat"].tolist()):
        groups = choices_at(View(tables[k : k + 1], rules, seat))
        assert done[k] == (alone[k] if len(groups) > 1 else groups[0][0])


@pytest.mark.parametrize(("bid", "cards"), [(0, WORLDS), (WORLDS, 0)])
def test_worlds_may_be_for_bids_or_for_cards_alone(bid: int, cards: int, amount: Amount) -> None:
    rules = PRESETS["standard"]
    tables = positions(rules, amount(60, no_jit=3), seed=35)
    bidding = tables["phase"] == 0
    here = bidding if bid else ~bidding
    done = searcher(bid=bid, play=cards).act_tables(tables, rules)
    if JIT:
        assert done[here].tolist() == searcher().act_tables(tables, rules)[here].tolist()
    assert done[~here].tolist() == searcher(bid=0, play=0).act_tables(tables, rules)[~here].tolist()


def test_log_priors_are_of_all_legal_actions_and_not_below_a_millionth() -> None:
    match = Match("single_deal", seed=1)
    word = np.uint64(legal_word(match.record_array[0], match.rules_array[0]))
    logits = np.full(OUTPUTS, -np.inf, np.float32)
    logits[65:] = 99  # of tricks
    logits[53:65] = 0
    logits[54], logits[60] = -40, np.log(5)
    choices, priors = np.array([53, 54, 55]), np.full(3, np.nan)
    write_log_priors(word, choices, logits, priors)
    assert np.exp(priors) == pytest.approx([1 / 15, 1e-6, 1 / 15])
    logits[:65] = -np.inf
    logits[[3, 4, 6, 20, 51]] = [1e4, 1e4, 1e4 - 50, 1e4 + np.log(2), 0]  # clubs, one diamond, one spade
    choices, priors = np.array([3, 6, 20, 51]), np.full(4, np.nan)
    write_log_priors(np.uint64(sum(1 << card for card in (3, 4, 6, 20, 51))), choices, logits, priors)
    assert np.exp(priors) == pytest.approx([0.5, 1e-6, 0.5, 1e-6], rel=1e-3)


@pytest.mark.parametrize("believes", [False, True])
@pytest.mark.parametrize("preset", PRESETS)
def test_it_is_legal_under_all_rules_and_knows_no_hidden_hands(
    preset: str, believes: bool, amount: Amount
) -> None:
    """Extra deals are among the positions."""
    rules, agent = PRESETS[preset], searcher(believes, play_prior=0.5)
    tables = positions(rules, amount(40, nightly=1000, no_jit=3), seed=36)
    actions = agent.act_tables(tables, rules)
    assert legal_at(tables, rules, actions).all()
    assert (tables["num_active"] < 4).any() == (rules.tie == "extra_deal" and not rules.partnership)
    for changed in (other_worlds(tables, rules, 7), without_hands(tables)):
        assert (changed["hands"] != tables["hands"]).any()
        assert agent.act_tables(changed, rules).tolist() == actions.tolist()


@pytest.mark.parametrize("believes", [False, True])
def test_it_is_a_function_of_the_table_and_its_key(believes: bool, amount: Amount) -> None:
    """Not of the batch, its order, the threads, or what it was asked before; tables stay as they are."""
    rules, agent = PRESETS["standard"], searcher(believes, bid_prior=0.05, play_prior=0.05)
    tables = positions(rules, amount(60, no_jit=3), seed=37)
    before, actions = tables.tobytes(), agent.act_tables(tables, rules)
    assert actions.dtype == np.int64
    for threads in (1, 2, None):
        assert agent.act_tables(tables, rules, threads).tolist() == actions.tolist()
    assert agent.act_tables(tables[::-1].copy(), rules)[::-1].tolist() == actions.tolist()
    alone = [int(agent.act_tables(tables[k : k + 1], rules)[0]) for k in range(len(tables))]
    assert alone == actions.tolist()
    assert tables.tobytes() == before
    assert agent.act_tables(tables[:0], rules).shape == (0,)
    by_view = asked_by_view(agent, tables, rules, key=3)
    assert agent.act_tables(keyed_by_view(tables, 3), rules).tolist() == by_view.tolist()
    assert asked_by_view(agent, tables, rules, key=3).tolist() == by_view.tolist()
    if JIT:
        assert asked_by_view(agent, tables, rules, key=4).tolist() != by_view.tolist()
        for field in ("seed", "match", "deck"):
            rekeyed = tables.copy()
            rekeyed[field] += 1
            assert agent.act_tables(rekeyed, rules).tolist() != actions.tolist()


def test_worlds_are_those_it_believes_in(amount: Amount) -> None:
    """Beliefs that are near certain of the true hands make it choose as the true hands do.

    The network cannot know them: its biases are written anew for each table.
    """
    rules = PRESETS["standard"]
    tables = positions(rules, amount(900, no_jit=60), seed=39)
    tables = tables[tables["phase"] == 1]
    agent = searcher(True, play=1, bid_prior=0, play_prior=0)
    blind = agent.act_tables(tables, rules)
    lost = {"told": 0.0, "not told": 0.0}
    for k in range(len(tables)):
        table, seat = tables[k : k + 1], int(tables["seat"][k])
        places = ranked(encode_inputs(table, rules).places)[0]
        bias = np.full((3, 52), -20, np.float32)
        for i in (1, 2, 3):
            hand = int(tables["hands"][k][(seat + i) & 3])
            bias[i - 1, [place for place in range(52) if hand >> int(places[place]) & 1]] = 20
        agent.beliefs = BELIEFS._replace(last=np.zeros_like(BELIEFS.last), last_bias=bias.ravel())
        values = playout_values(table, rules)
        lost["told"] += np.nanmax(values) - values[agent.act_tables(table, rules)[0]]
        lost["not told"] += np.nanmax(values) - values[blind[k]]
    assert lost["told"] <= lost["not told"] / 5
    assert lost["not told"] > len(tables) / 30 or not JIT, "tenths"


def test_late_in_a_deal_all_worlds_count_as_much_as_they_are_believed_in(amount: Amount) -> None:
    """By plain Python, from what the network of beliefs says of each card."""
    rules = PRESETS["standard"]
    agent = searcher(True, play=2000, draws=1, bid_prior=0, play_prior=0)
    tables = positions(rules, amount(600, no_jit=40), seed=40)
    tables = tables[(tables["trick_no"] >= 10) & (tables["num_active"] == 4)][: amount(16, no_jit=1)]
    memory, by_card = new_memory(BELIEFS), np.empty((52, 3))
    told = 0
    for k, values in enumerate(agent.action_values(tables, rules)):
        view = View(tables[k : k + 1], rules, int(tables["seat"][k]))
        if np.isnan(values).all():
            continue
        inputs = encode_inputs(tables[k : k + 1], rules)
        memory.row[:], memory.order[:] = inputs.rows[0], inputs.places[0, :39:13] // 13
        believe(BELIEFS, memory, memory.units, np.empty(BELIEF_OUTPUTS, np.float32), by_card)
        chances = chances_of(view, by_card)
        sums, total = np.zeros(65), 0.0
        for world in brute_force(view):
            table = tables[k : k + 1].copy()
            table["hands"][0] = world
            weight = weight_of(world, view.viewer, chances)
            sums += weight * playout_values(table, rules)
            total += weight
        assert values == pytest.approx(sums / total / 10, rel=1e-4, abs=1e-4, nan_ok=True)
        told += 1
    assert told >= amount(6, no_jit=0)


def playout_values(table: Tables, rules: Rules) -> Any:
    """[65] tenths that each legal action brings the seat to act, if the rule-based agent plays on."""
    seat, found = int(table["seat"][0]), np.full(65, np.nan)
    for action in View(table, rules, seat).legal_actions():
        found[action] = playouts(table, 1, "rule_based", seed=0, actions=action, rules=rules)[0, 0, seat]
    return found


def test_asked_out_of_turn_it_says_so() -> None:
    match = Match("single_deal", seed=1, dealer=3)
    with pytest.raises(ValueError, match="seat 1 is not to act"):
        searcher().act(match.view(1))


def test_copies_act_alike(amount: Amount) -> None:
    """Those of an agent in the middle of a match too."""
    rules, agent = PRESETS["standard"], searcher(True)
    tables = positions(rules, amount(12, no_jit=2), seed=38)
    agent.reset(0, rules, np.random.default_rng(5))
    views = [View(tables[k : k + 1], rules, int(seat)) for k, seat in enumerate(tables["seat"])]
    done, shown = agent.act_tables(tables, rules).tolist(), [agent.act(view) for view in views]
    for other in (copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        assert other is not agent
        assert type(other) is NeuralSearchAgent
        assert other.name == "search"
        assert other.act_tables(tables, rules).tolist() == done
        assert [other.act(view) for view in views] == shown
        other.reset(0, rules, np.random.default_rng(6))
    assert [agent.act(view) for view in views] == shown


# By name


def test_it_is_registered_with_its_options(tmp_path: Path) -> None:
    assert "neural_search" in agent_names()
    assert AGENT_VERSIONS["neural_search"] == 1
    agent = make_agent("neural_search")
    assert isinstance(agent, NeuralSearchAgent)
    assert agent.name == "neural_search"
    assert agent.weights is released_weights()
    assert (agent.bid_prior, agent.play_prior) == (0.2, 0.02)
    assert agent.beliefs is released_weights(RELEASED_BELIEFS, BELIEF_OUTPUTS)
    assert agent.settings.tobytes() == compiled("pimc:bid=0,play=800,draws=1").record_array.tobytes()
    save_weights(WEIGHTS, tmp_path / "net")
    save_weights(BELIEFS, tmp_path / "beliefs")
    text = f"neural_search:bid=7,play=0,draws=3,bid_prior=1,play_prior=2.5,weights={tmp_path / 'net'}"
    agent = make_agent(text)
    assert isinstance(agent, NeuralSearchAgent)
    assert agent.name == text
    assert agent.settings.tobytes() == compiled("pimc:bid=7,play=0,draws=3").record_array.tobytes()
    assert (agent.bid_prior, agent.play_prior) == (1, 2.5)
    assert agent.weights.last.tobytes() == WEIGHTS.last.tobytes()
    assert agent.beliefs is None
    agent = make_agent(f"neural_search:weights={tmp_path / 'net'},beliefs={tmp_path / 'beliefs'}")
    assert isinstance(agent, NeuralSearchAgent)
    assert agent.beliefs is not None
    assert agent.beliefs.last.tobytes() == BELIEFS.last.tobytes()
    with pytest.raises(ValueError, match=r"net\.npz: .*last must be of shape \(20, 156\)"):
        make_agent(f"neural_search:beliefs={tmp_path / 'net'}")


BAD = {
    "bid=-1": "bid must be",
    "play=1.5": "play must be",
    "bid=1000001": "bid must be",
    "play=true": "play must be",
    "draws=-1": "draws must be",
    "draws=1001": "draws must be",
    "draws=false": "draws must be",
    "draws=1,beliefs=x": "beliefs say which worlds there are where draws=0, not draws=1",
    "bid_prior=-0.1": "bid_prior must be",
    "bid_prior=nan": "bid_prior must be",
    "play_prior=inf": "play_prior must be",
    "play_prior=much": "play_prior must be",
    "weights=/no/such/file": "weights .*file.npz: .*No such file",
    "prior=1": "its options are bid, play, draws, bid_prior, play_prior, weights, beliefs",
    "beliefs=/no/such/file": "weights .*file.npz: .*No such file",
}


@pytest.mark.parametrize("option", BAD)
def test_bad_options_are_refused_by_agent_and_option(option: str) -> None:
    with pytest.raises(ValueError, match=rf"^agent 'neural_search:{option}'.*{BAD[option]}"):
        make_agent(f"neural_search:{option}")


@pytest.mark.parametrize("preset", ["standard", "no_trump"])
def test_it_plays_in_the_arena(preset: str, amount: Amount) -> None:
    """Without faults, and the same whatever number of threads and processes there is."""
    deals = amount(3, no_jit=1)
    schedule = challenger("search", "lowest", field_table=False)
    ways: list[dict[str, Any]] = [{}, {"threads": 2}, {"workers": 2}]
    results = []
    for way in ways[: amount(3, no_jit=1)]:
        agent = searcher()
        agent.name = "search"
        results.append(play(schedule, [agent, "lowest"], preset, seed=4, deals=deals, **way))
    assert not results[0].faults.any()
    assert results[0].decisions[0] >= 14 * 4 * deals
    for other in results[1:]:
        assert np.array_equal(other.points, results[0].points)
        assert np.array_equal(other.bids, results[0].bids)
    by_name = play(challenger(SMALL, "lowest", field_table=False), [SMALL, "lowest"], preset, seed=4, deals=1)
    assert not by_name.faults.any()


def test_it_plays_in_environments(amount: Amount) -> None:
    """At many tables in one call, and at one; by name, and as an object."""
    steps, tables = amount(16, no_jit=1), amount(6, no_jit=1)
    by_name = played(CallBreakVectorEnv(tables, opponents=SMALL), steps)
    assert played(CallBreakVectorEnv(tables, opponents=make_agent(SMALL), threads=2), steps) == by_name
    env = CallBreakEnv(opponents=SMALL)
    _, info = env.reset(seed=4)
    for step in range(steps):
        seen, reward, ended, _, info = env.step(int(info["action_mask"].argmax()))
        assert seen.tolist() == by_name[2 * step][0]
        assert reward == by_name[2 * step + 1][0]
        assert not ended
