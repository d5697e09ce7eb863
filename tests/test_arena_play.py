"""Deals in the arena are those of a ``Match``, whatever plays them, and however they are shared out."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from arenas import BatchDrawer, Drawer, Last, by_hand, lowest_of, same
from callbreak_env import PRESETS, Rules, make_agent
from callbreak_env.arena import play as play_module
from callbreak_env.arena import player as player_module
from callbreak_env.arena.entrants import Entrant
from callbreak_env.arena.formats import challenger, four_at_a_table, round_robin
from callbreak_env.arena.play import play
from callbreak_env.arena.results import FAULTS, Results, merge
from callbreak_env.engine import threads as engine_threads
from callbreak_env.engine.state import rules_record
from callbreak_env.table import View
from conftest import JIT

ILLEGAL, ERROR, TIMEOUT = range(len(FAULTS))
KINDS: dict[str, Callable[[], Any]] = {
    "drawer": Drawer,
    "last": Last,
    "batch_drawer": BatchDrawer,
    "lowest_of": lambda: lowest_of,
}
MIXED = ["drawer", "uniform", "batch_drawer", "rule_based"]


def entrants(names: list[str]) -> list[Any]:
    return [KINDS[name]() if name in KINDS else name for name in names]


def assert_as_by_hand(results: Results, rules: Rules | str) -> None:
    """Every deal and seating is what four agents make at a ``Match``."""
    names = results.schedule.names
    for d, deal in enumerate(results.deals.tolist()):
        for s, seating in enumerate(results.schedule.seatings.tolist()):
            agents = [_agent(names[i]) for i in seating]
            told = [getattr(results, name)[d, s].tolist() for name in ("points", "bids", "tricks")]
            assert told == by_hand(rules, results.seed, deal, agents), (deal, seating)


def _agent(name: str) -> Any:
    """For play by hand: without the wrapper of functions."""

    class Lowest:
        def reset(self, *_: Any) -> None:
            pass

        def act(self, view: View) -> int:
            return lowest_of(view)

    return Lowest() if name == "lowest_of" else KINDS[name]() if name in KINDS else name


@pytest.mark.parametrize("preset", PRESETS)
def test_compiled_entrants_play_as_by_hand(preset: str, amount: Callable[..., int]) -> None:
    """Among the presets are H2's redeals and H3's misdeals."""
    schedule = four_at_a_table(["uniform", "low_bid", "rule_based", "uniform"])
    results = play(schedule, rules=preset, seed=11, deals=amount(12, nightly=200, no_jit=2))
    assert_as_by_hand(results, preset)
    assert not results.faults.any()
    assert not results.decisions.any()
    assert results.rules == PRESETS[preset]
    assert rules_record(results.rules)["deals"][0] == results.rules.deals  # shared: it is not written


def test_redeals_and_misdeals_happen_here(amount: Callable[..., int]) -> None:
    """Else the test above would not be one of them."""
    deals = amount(12, no_jit=2)
    for preset in ("min_total", "misdeal"):
        rules = dataclasses.replace(PRESETS[preset], min_total_bid=PRESETS[preset].min_total_bid * 3 // 2)
        schedule = four_at_a_table(["low_bid", "rule_based", "uniform", "uniform"])
        assert_as_by_hand(play(schedule, rules=rules, seed=11, deals=deals), rules)


@pytest.mark.parametrize("preset", ["bhoos", "min_total", "partnership", "no_trump"])
def test_asked_entrants_play_as_by_hand(preset: str, amount: Callable[..., int]) -> None:
    schedule = four_at_a_table(MIXED, "rotations")
    deals = amount(4, nightly=50, no_jit=1)
    results = play(schedule, entrants(MIXED), preset, seed=5, deals=deals)
    assert_as_by_hand(results, preset)
    asked = [name in KINDS for name in MIXED]
    assert (results.decisions >= 14 * 4 * deals * np.array(asked)).all()
    assert (results.seconds > 0).tolist() == (results.decisions > 0).tolist() == asked
    assert not results.faults.any()


def test_copies_of_an_asked_entrant_play_as_by_hand(amount: Callable[..., int]) -> None:
    """Three copies at a table: each keeps its own seat and its own generator."""
    for name in KINDS:
        schedule = challenger("rule_based", name)
        results = play(schedule, entrants(["rule_based", name]), seed=2, deals=amount(3, no_jit=1))
        assert_as_by_hand(results, "standard")


def test_all_kinds_at_one_table(amount: Callable[..., int]) -> None:
    names = list(KINDS)
    results = play(
        four_at_a_table(names, "all"), entrants(names), seed=3, deals=[7, *range(amount(2, no_jit=0))]
    )
    assert_as_by_hand(results, "standard")


def test_deals_are_of_the_seed_and_number() -> None:
    schedule = challenger("low_bid", "rule_based")
    first, second = (play(schedule, seed=seed, deals=[0, 1, 2, 3]) for seed in (1, 2))
    assert not np.array_equal(first.points, second.points)
    assert same(play(schedule, seed=1, deals=4), first)
    assert same(play(schedule, seed=1, deals=range(4)), first)
    assert same(play(schedule, seed=1, deals=np.array([3, 0, 2, 1])), first)
    assert len({row.tobytes() for row in first.points}) == 4
    one = play(schedule, seed=1, deals=[2**62])
    assert_as_by_hand(one, "standard")


def mixed(deals: Any, file: Any = None, **options: Any) -> Results:
    """A tournament of all kinds of entrants."""
    names = [*MIXED, "last"]
    schedule = round_robin(names, "rotations", tables=3, seed=1)
    return play(schedule, entrants(names), "min_total", seed=4, deals=deals, file=file, **options)


def test_results_do_not_depend_on_threads(
    monkeypatch: pytest.MonkeyPatch, amount: Callable[..., int]
) -> None:
    deals = amount(9, no_jit=2)
    one = mixed(deals)
    monkeypatch.setattr(player_module, "POLICY_ROWS", 2)
    parts = set()
    run = engine_threads.run_parts
    monkeypatch.setattr(
        player_module,
        "run_parts",
        lambda kernel, rows, size, *args: parts.add(size) or run(kernel, rows, size, *args),
    )
    assert same(mixed(deals, threads=3), one)
    assert same(mixed(deals, threads=None), one)
    assert parts == {2}


def test_results_do_not_depend_on_chunks(monkeypatch: pytest.MonkeyPatch, amount: Callable[..., int]) -> None:
    deals = amount(9, no_jit=2)
    one = mixed(deals)
    assert same(merge([mixed([deal]) for deal in reversed(range(deals))]), one)
    assert same(
        mixed(deals + 2).select(range(deals)), dataclasses.replace(one, decisions=mixed(deals + 2).decisions)
    )
    sizes: list[int] = []
    before = player_module.Player.play

    def noted(self: Any, numbers: Any) -> Results:
        sizes.append(len(numbers))
        return before(self, numbers)

    monkeypatch.setattr(player_module.Player, "play", noted)
    monkeypatch.setattr(play_module, "CHUNK_ROWS", 1)
    assert same(mixed(deals), one)
    assert sizes == [1] * deals
    monkeypatch.undo()
    monkeypatch.setattr(player_module.Player, "play", noted)
    monkeypatch.setattr(play_module, "CHUNK_S", 1000.0)
    sizes.clear()
    assert same(mixed(deals), one)
    assert sizes == ([1, 4, 4] if JIT else [1, 1])


def test_results_do_not_depend_on_workers(amount: Callable[..., int]) -> None:
    deals = amount(12, no_jit=3)
    assert same(mixed(deals, workers=2), mixed(deals))


def test_results_do_not_depend_on_the_order_of_entrants(amount: Callable[..., int]) -> None:
    deals = amount(5, no_jit=1)
    results = play(four_at_a_table(MIXED, "all"), entrants(MIXED), seed=6, deals=deals)
    turned = MIXED[::-1]
    assert same(play(results.schedule, entrants(turned), seed=6, deals=deals), results)
    other = play(four_at_a_table(turned, "all"), entrants(turned), seed=6, deals=deals)
    assert other.schedule.names != results.schedule.names
    seats = [
        {tuple(each.schedule.names[i] for i in row): s for s, row in enumerate(each.schedule.seatings)}
        for each in (results, other)
    ]
    for seating, s in seats[0].items():
        assert np.array_equal(other.points[:, seats[1][seating]], results.points[:, s])
    assert np.array_equal(other.decisions[::-1], results.decisions)


@pytest.mark.parametrize("kind", ["rule_based", "uniform", "drawer", "batch_drawer"])
def test_four_copies_under_four_names_play_alike_in_all_seatings(
    kind: str, amount: Callable[..., int]
) -> None:
    labels = ["a", "b", "c", "d"]
    players = [Entrant(KINDS[kind]() if kind in KINDS else kind, label) for label in labels]
    results = play(four_at_a_table(labels), players, seed=8, deals=amount(20, no_jit=2))
    assert (results.points == results.points[:, :1]).all()
    assert (results.bids == results.bids[:, :1]).all()
    assert len(np.unique(results.points)) > 4


def test_an_agent_without_draws_is_asked_in_batches() -> None:
    """Of one seating, the agent's three copies in all deals of the chunk; of one that draws, never."""
    agent = Last()
    play(challenger("rule_based", "last", field_table=False), ["rule_based", agent], seed=2, deals=[0])
    assert max(agent.sizes) > 2
    assert sum(agent.sizes) == 14 * 3 * 4


def test_searches_are_played_in_compiled_code_unless_by_the_clock(amount: Callable[..., int]) -> None:
    agent: Any = make_agent("rule_based")
    agent.budget_ms = 5.0
    clocked = Entrant(agent, "clocked")
    assert clocked.record is None
    results = play(four_at_a_table(["clocked", *["uniform"] * 3]), [clocked, "uniform"], seed=2, deals=2)
    assert results.decisions.tolist() == [14 * 4 * 2, 0]


# --- faults ---


class Faulty:
    """Plays the lowest, except at some tricks; ``fault`` says how."""

    def __init__(self, fault: str = "", tricks: tuple[int, ...] = (3, 9)) -> None:
        self.name, self.fault, self.tricks = "faulty", fault, tricks

    def reset(self, seat: int, rules: Rules, rng: np.random.Generator) -> None:
        if self.fault == "reset" and seat == 2:
            raise KeyError("not seat 2")

    def act(self, view: View) -> Any:
        if view.phase == "playing" and view.trick_no in self.tricks:
            if self.fault == "error":
                raise ZeroDivisionError("what a pity")
            if self.fault == "timeout":
                time.sleep(0.5)
            if self.fault == "illegal":
                return 64
        return lowest_of(view)


@pytest.mark.parametrize("fault", ["illegal", "error", "timeout", "reset"])
def test_faults_are_counted_and_replaced(fault: str, amount: Callable[..., int]) -> None:
    deals = 1 if fault == "timeout" else amount(5, no_jit=1)
    schedule = challenger("faulty", "uniform", field_table=fault != "timeout")
    limit = 0.1 if fault == "timeout" else None
    words = {"reset": "reset: .*not seat 2", "error": "what a pity", "illegal": "64", "timeout": "0.1 s"}[
        fault
    ]
    kind = {"reset": ERROR, "error": ERROR, "illegal": ILLEGAL, "timeout": TIMEOUT}[fault]
    with pytest.warns(RuntimeWarning) as told:
        results = play(schedule, [Faulty(fault), "uniform"], seed=9, deals=deals, time_limit=limit)
    assert len(told) == 1
    assert told[0].filename == __file__
    message = str(told[0].message)
    assert message.startswith(f"entrant 'faulty', fault {FAULTS[kind]!r}, replaced by the policy 'lowest'")
    assert words.rpartition(".*")[2] in message
    expected = np.zeros((len(schedule.seatings), 4, 3), int)
    for seat in range(4):
        expected[seat, seat, kind] = 14 * (seat == 2) if fault == "reset" else 2
    assert (results.faults == expected).all()
    right = play(schedule, [Entrant(lowest_of, "faulty"), "uniform"], seed=9, deals=deals)
    assert np.array_equal(results.points, right.points)
    assert results.decisions.tolist() == [14 * 4 * deals, 0]


class FaultyBatch:
    """The lowest bid and the first legal card, except that bids of 2 by rows are said wrongly."""

    name = "faulty"

    def __init__(self, fault: str) -> None:
        self.fault = fault

    def act_batch(self, observations: Any, masks: Any, rng: Any) -> Any:
        actions = masks.argmax(axis=1)
        card = masks[:, 18] == 1
        if self.fault == "illegal":
            return np.where(card, 99, actions)
        if card.any() and self.fault == "error":
            raise ZeroDivisionError("what a pity")
        if card.any() and self.fault == "shape":
            return actions[:0]
        masks[:] = 1  # its own copy
        return actions


@pytest.mark.parametrize("fault", ["illegal", "error", "shape", ""])
def test_faults_of_a_batch_are_those_of_its_rows(fault: str, amount: Callable[..., int]) -> None:
    """Whoever may play the seven of diamonds is at fault; the other rows of the call are not."""
    deals = amount(6, no_jit=1)
    schedule = challenger("rule_based", "faulty")
    if not fault:
        assert not play(schedule, ["rule_based", FaultyBatch("")], seed=9, deals=deals).faults.any()
        return
    with pytest.warns(RuntimeWarning, match="'faulty', fault") as told:
        results = play(schedule, ["rule_based", FaultyBatch(fault)], seed=9, deals=deals)
    assert len(told) == 1
    kind = ERROR if fault == "error" else ILLEGAL
    count = results.faults[..., kind].sum()
    assert results.faults.sum() == count >= deals
    assert 5 * count < results.decisions[1] == deals * 14 * (3 * 4 + 4)
    with pytest.warns(RuntimeWarning):
        assert same(
            merge(
                [play(schedule, ["rule_based", FaultyBatch(fault)], seed=9, deals=[d]) for d in range(deals)]
            ),
            results,
        )


def test_faults_beyond_the_count_stay_at_its_end() -> None:
    rules = Rules(min_total_bid=52, max_redeals=130)
    agent = Entrant(lambda view: -1 if view.phase == "bidding" else view.legal_actions()[0], "liar")
    schedule = challenger("liar", "lowest", field_table=False)
    with pytest.warns(RuntimeWarning, match="action -1 is not legal"):
        results = play(schedule, [agent, "lowest"], rules, seed=1, deals=1)
    assert results.faults[0, 0].tolist() == [[127, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert results.decisions.tolist() == [4 * (131 + 13), 0]


def test_faults_of_workers_are_told() -> None:
    with pytest.warns(RuntimeWarning, match="what a pity") as told:
        results = play(
            challenger("faulty", "lowest"), [Faulty("error"), "lowest"], seed=9, deals=3, workers=2
        )
    assert len(told) == 1
    assert results.faults.sum() == 3 * 4 * 2


def test_what_cannot_be_sent_to_workers_is_told() -> None:
    agent = Drawer()
    agent.lock = threading.Lock()  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="'drawer' cannot be sent to another process"):
        play(challenger("drawer", "lowest"), [agent, "lowest"], seed=9, deals=3, workers=2)


# --- arguments ---

SCHEDULE = challenger("low_bid", "lowest")
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "missing": ({"entrants": ["low_bid"]}, r"missing \['lowest'\]"),
    "extra": ({"entrants": ["low_bid", "lowest", "uniform"]}, r"extra \['uniform'\]"),
    "twice": ({"entrants": ["low_bid", "low_bid"]}, "two entrants are called 'low_bid'"),
    "rules": ({"rules": "mine"}, "there is no preset 'mine'"),
    "seed": ({"seed": -1}, "seed must be"),
    "no deals": ({"deals": 0}, "deals must be at least 1"),
    "no numbers": ({"deals": []}, "one or more, each once"),
    "twice the deal": ({"deals": [1, 1]}, "one or more, each once"),
    "negative": ({"deals": [-1]}, "a deal must be"),
    "text": ({"deals": "10"}, "deals must be a count, or numbers, not str"),
    "threads": ({"threads": 0}, "threads must be at least 1"),
    "workers": ({"workers": 0}, "workers must be at least 1"),
    "limit": ({"time_limit": 0}, "time_limit must be a number above 0"),
}


@pytest.mark.parametrize("case", WRONG)
def test_bad_arguments_are_told(case: str) -> None:
    options, words = WRONG[case]
    with pytest.raises(ValueError, match=words):
        play(SCHEDULE, **{"seed": 1, "deals": 1, **options})


def test_progress_is_shown_on_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    play(SCHEDULE, seed=1, deals=3, progress=True)
    out, err = capfd.readouterr()
    assert not out
    assert "3/3" in err


# --- results ---


def test_select_and_merge() -> None:
    results = play(SCHEDULE, seed=1, deals=[2, 5, 9])
    some = results.select([9, 2, 9])
    assert some.deals.tolist() == [2, 9]
    assert np.array_equal(some.points, results.points[[0, 2]])
    assert same(merge([results.select([9]), results.select([5, 2])]), results)
    with pytest.raises(ValueError, match="deal 3 is not among the 3"):
        results.select([2, 3])
    with pytest.raises(ValueError, match="deal 5 was played twice"):
        merge([results, results.select([5])])
    with pytest.raises(ValueError, match="no results"):
        merge([])


# --- threads ---


@pytest.mark.parametrize(
    ("rows", "size", "workers"), [(0, 3, 2), (1, 3, 2), (10, 3, 1), (10, 3, 2), (10, 1, 50)]
)
def test_parts_are_shared_without_gaps(rows: int, size: int, workers: int) -> None:
    shares = []

    def kernel(first: int, end: int, word: str) -> int:
        shares.append((first, end, word))
        return end - first

    assert engine_threads.run_parts(kernel, rows, size, workers, "x") == rows
    assert sorted(shares) == [(first, min(rows, first + size), "x") for first in range(0, rows, size)]


def test_after_an_error_no_further_part_begins() -> None:
    begun = []

    def kernel(first: int, end: int) -> int:
        begun.append(first)
        if first == 2:
            raise KeyError(first)
        return 0

    with pytest.raises(KeyError, match="2"):
        engine_threads.run_parts(kernel, 1000, 1, 1)
    assert begun == [0, 1, 2]
