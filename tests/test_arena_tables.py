"""In the arena an agent for many tables is asked for them in one call, and is shown no hidden hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from agents import Tables
from arenas import same
from callbreak_env import Rules, make_agent
from callbreak_env.agents.neural import NeuralAgent
from callbreak_env.arena import play as play_module
from callbreak_env.arena.entrants import Entrant
from callbreak_env.arena.formats import challenger, four_at_a_table
from callbreak_env.arena.play import play
from callbreak_env.arena.results import FAULTS, merge
from callbreak_env.engine.state import OVER, TABLE
from callbreak_env.table import View
from learners import Amount
from networks import network

ILLEGAL, ERROR, _ = range(len(FAULTS))
AGENT = NeuralAgent(network(20, 2), "net")


class ByViews:
    """The same agent, with nothing but what every agent has."""

    def __init__(self, agent: Any) -> None:
        self.name, self._agent = agent.name, agent

    def reset(self, seat: int, rules: Rules, rng: np.random.Generator) -> None:
        self._agent.reset(seat, rules, rng)

    def act(self, view: View) -> int:
        return int(self._agent.act(view))


class Spy:
    """Does what the rule-based agent does, but for a fault; keeps the tables that it was shown."""

    name = "spy"

    def __init__(self, fault: str = "") -> None:
        self.fault, self.shown, self.threads = fault, list[Tables](), set[Any]()
        self._usual: Any = make_agent("rule_based")

    def reset(self, seat: int, rules: Rules, rng: np.random.Generator) -> None:
        raise AssertionError("it is not asked by views")

    def act(self, view: View) -> int:
        raise AssertionError("it is not asked by views")

    def act_tables(self, tables: Tables, rules: Rules, threads: int | None = 1) -> Any:
        self.shown.append(tables.copy())
        self.threads.add(threads)
        actions = self._usual.act_tables(tables, rules)
        tables["points"] = 99  # its own copy
        tables["hands"] = 0
        tricks = tables["trick_no"] == 3
        if self.fault == "illegal":
            return np.where(tricks, 64, actions)
        if self.fault == "shape":
            return actions[:, np.newaxis]
        if self.fault == "error":
            raise ZeroDivisionError("what a pity")
        return actions


@pytest.mark.parametrize("preset", ["standard", "bhoos", "partnership"])
def test_an_agent_asked_for_tables_plays_as_one_asked_by_views(preset: str, amount: Amount) -> None:
    deals = amount(4, no_jit=1)
    schedule = challenger("net", "rule_based", field_table=False)
    by_tables = play(schedule, [AGENT, "rule_based"], preset, seed=3, deals=deals)
    by_views = play(schedule, [ByViews(AGENT), "rule_based"], preset, seed=3, deals=deals)
    assert Entrant(AGENT).batch is AGENT
    assert Entrant(ByViews(AGENT)).batch is None
    assert same(by_tables, by_views)
    assert not by_tables.faults.any()
    assert by_tables.decisions[0] >= 14 * 4 * deals


def test_results_do_not_depend_on_threads_or_chunks(monkeypatch: pytest.MonkeyPatch, amount: Amount) -> None:
    deals = amount(6, no_jit=2)
    schedule = four_at_a_table(["net", "rule_based", "low_bid", "uniform"], "rotations")
    entrants = [AGENT, "rule_based", "low_bid", "uniform"]
    one = play(schedule, entrants, seed=4, deals=deals)
    assert same(play(schedule, entrants, seed=4, deals=deals, threads=2), one)
    assert same(merge([play(schedule, entrants, seed=4, deals=[d]) for d in reversed(range(deals))]), one)
    monkeypatch.setattr(play_module, "CHUNK_ROWS", 1)
    assert same(play(schedule, entrants, seed=4, deals=deals), one)


def test_workers_play_alike(amount: Amount) -> None:
    """By name each worker loads the weights; an object is sent to it."""
    deals = amount(6, no_jit=2)
    for name, entrant in (("neural", "neural"), ("net", AGENT)):
        schedule = challenger(name, "lowest", field_table=False)
        here, elsewhere = (
            play(schedule, [entrant, "lowest"], seed=4, deals=deals, workers=workers) for workers in (1, 2)
        )
        assert same(here, elsewhere)


def test_hidden_hands_are_not_shown(amount: Amount) -> None:
    """Own cards are, all of them; and what the agent writes there reaches no table."""
    deals, spy = amount(3, no_jit=1), Spy()
    schedule = challenger("spy", "rule_based")
    results = play(schedule, [spy, "rule_based"], "min_total", seed=5, deals=deals, threads=2)
    assert max(map(len, spy.shown)) > 3
    assert spy.threads == {2}
    tables = np.concatenate(spy.shown)
    assert tables.dtype == TABLE
    assert len(tables) == results.decisions[0] >= 14 * 4 * deals
    own = np.arange(4) == tables["seat"][:, np.newaxis]
    assert set(np.unique(tables["seat"])) == {0, 1, 2, 3}
    assert (tables["phase"] != OVER).all()
    assert (tables["hands"][~own] == 0).all()
    held = np.bitwise_count(tables["hands"][own])
    assert (held + np.bitwise_count(tables["played"][own]) == 13).all()
    usual = play(schedule, [Entrant("rule_based", "spy"), "rule_based"], "min_total", seed=5, deals=deals)
    assert np.array_equal(results.points, usual.points)
    assert np.array_equal(results.bids, usual.bids)


@pytest.mark.parametrize("fault", ["illegal", "shape", "error"])
def test_faults_are_counted_and_replaced(fault: str, amount: Amount) -> None:
    deals = amount(3, no_jit=1)
    schedule = challenger("spy", "lowest", field_table=False)
    with pytest.warns(RuntimeWarning, match="'spy', fault") as told:
        results = play(schedule, [Spy(fault), "lowest"], seed=6, deals=deals)
    kind = ERROR if fault == "error" else ILLEGAL
    assert {FAULTS[kind] in str(each.message) for each in told} == {True}
    expected = np.zeros((len(schedule.seatings), 4, len(FAULTS)), int)
    expected[range(4), range(4), kind] = 1 if fault == "illegal" else 14
    assert (results.faults == expected).all()


def test_a_search_by_the_clock_is_asked_table_by_table() -> None:
    """Its time is for one decision."""
    clocked = Entrant("pimc_lite:bid=1,play=1,ms=50")
    assert clocked.batch is None
    assert clocked.record is None
    compiled = Entrant("pimc_lite:bid=1,play=1")
    assert compiled.batch is None
    assert compiled.record is not None
