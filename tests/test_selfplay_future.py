"""Self-play: samples, states, views, seeds, copies, processes, memory, and what a deal pays."""

from __future__ import annotations

import copy
import gc
import hashlib
import json
import os
import pickle
import random
import subprocess
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from callbreak_env import Match, Rules
from callbreak_env.engine.policies import uniform_choice
from callbreak_env.engine.scoring import REWARDS, rewards_of
from callbreak_env.engine.state import DEAL_END, TABLE
from callbreak_env.envs.selfplay import SelfPlayEnv
from callbreak_env.errors import NotResetError
from callbreak_env.observation import STATE_WIDTH, WIDTH, encode, encode_state
from selfplays import APART, SEATS, TIES, Tables, contents, follow, told
from test_properties import RULES, SEEDS


def test_samples_are_legal_and_a_function_of_the_position(amount: Callable[..., int]) -> None:
    env, again = SelfPlayEnv(20, "standard"), SelfPlayEnv(20, "standard")
    turn = env.reset(seed=3)
    again.reset(seed=3)
    rows = np.arange(20)
    for _ in range(amount(600, nightly=20_000, no_jit=80)):
        actions = env.sample_actions()
        assert (actions.dtype, actions.shape) == (np.int64, (20,))
        assert turn.action_mask[rows, actions].all()
        assert np.array_equal(env.sample_actions(), actions)
        assert np.array_equal(again.sample_actions(), actions)
        turn = env.step(actions)
        again.step(actions)
    other = SelfPlayEnv(20, "standard")
    other.reset(seed=4)
    again.reset(seed=3)
    assert not np.array_equal(other.sample_actions(), again.sample_actions())


def assert_uniform(counts: np.ndarray, what: str) -> None:
    """Chi-square far inside what chance allows (six standard deviations)."""
    mean, freedom = counts.mean(), len(counts) - 1
    chi_square = float(((counts - mean) ** 2 / mean).sum())
    assert chi_square < freedom + 6 * (2 * freedom) ** 0.5 + 6, f"{what}: {counts}"


def test_samples_are_uniform(amount: Callable[..., int]) -> None:
    """Among however many actions are legal, each place is as frequent; at each decision, too."""
    size = amount(3000, nightly=30_000, no_jit=60)
    env = SelfPlayEnv(size, encoding=None)
    turn = env.reset(seed=11)
    places = {number: np.zeros(number, np.int64) for number in range(2, 14)}
    rows = np.arange(size)
    for decision in range(56):
        actions = env.sample_actions()
        below = np.cumsum(turn.action_mask, axis=1)[rows, actions] - 1  # legal actions below the chosen one
        legal = turn.action_mask.sum(axis=1)
        for number, counts in places.items():
            found = np.bincount(below[legal == number], minlength=number)
            places[number] = counts + found
            if found.mean() >= 30:
                assert_uniform(found, f"decision {decision}, {number} legal")
        turn = env.step(actions)
    enough = {number: counts for number, counts in places.items() if counts.mean() >= 20}
    assert len(enough) >= amount(11, no_jit=5)
    for number, counts in enough.items():
        assert_uniform(counts, f"{number} legal")


def test_the_choice_follows_the_random_bits() -> None:
    """The lowest bits choose the first legal action, the highest the last, in equal shares between."""
    bids, cards = np.uint64(1 << 63 | 0b11100), np.uint64(1 << 51 | 1 << 20 | 1)
    for word, actions in ((bids, (53, 54, 55)), (cards, (0, 20, 51))):
        bits = [i * 2**64 // 3000 for i in range(3000)] + [0, 2**64 - 1]
        chosen = [uniform_choice(word, np.uint64(random_bits)) for random_bits in bits]
        assert chosen[-2:] == [actions[0], actions[-1]]
        assert chosen[:3000] == sorted(chosen[:3000])
        assert [chosen[:3000].count(action) for action in actions] == pytest.approx([1000] * 3, abs=1)


@pytest.mark.parametrize("encoding", ["flat", "history", None])
def test_states_are_the_whole_tables(encoding: str | None) -> None:
    """As ``encode_state`` where seat 0 is to act; else what the seat sees, the other hands, its total."""
    env = SelfPlayEnv(6, "single_deal", encoding=encoding, autoreset=False)
    tables, rng = Tables(env, 2), random.Random(5)
    tables.check_reset(env.reset(seed=2))
    by_seat: Counter[int | None] = Counter()
    for _ in range(2 * 56 + 1):
        states = env.states()
        assert (states.shape, states.dtype) == ((6, STATE_WIDTH), np.float32)
        for row, match in enumerate(tables.matches):
            by_seat[match.seat] += 1
            viewer = match.seat or 0
            if viewer == 0:
                whole = np.empty(STATE_WIDTH, np.float32)
                encode_state(match.record_array, match.rules_array, whole)
                assert states[row].tobytes() == whole.tobytes()
            hands = np.zeros((3, 52), np.float32)
            for i in range(3):
                hands[i, match.hands[(viewer + 1 + i) % 4]] = 1
            total = np.clip(np.float32(match.totals[viewer] / 500), -1, 1)
            expected = [encode(match, viewer), hands.ravel(), [total]]
            assert np.array_equal(states[row], np.concatenate(expected))
        actions = tables.choose(rng, TIES)
        tables.check_step(actions, env.step(actions))
    assert set(by_seat) == {0, 1, 2, 3, None}


def test_any_seat_can_be_observed() -> None:
    """``observe`` gives what ``encode`` does for a seat's view; the seat to act sees its own row."""
    for options in ({}, {"dtype": "int8"}, {"encoding": "history"}):
        env = SelfPlayEnv(5, "bhoos", **options)  # type: ignore[arg-type]
        turn = env.reset(seed=3)
        for _ in range(90):
            turn = env.step(env.sample_actions())
        assert env.observe(turn.seat).tobytes() == turn.observation.tobytes()
        for seat in SEATS:
            rows = [
                encode(
                    env.view(row, seat), encoding=env.encoding or "", dtype=options.get("dtype", "float32")
                )
                for row in range(5)
            ]
            assert env.observe(seat).tobytes() == np.stack(rows).tobytes()


@pytest.mark.parametrize("seats", [4, -1, [0, 1], 1.0, "0", None, [0, 0, 4]], ids=repr)
def test_seats_that_are_none_are_not_observed(seats: Any) -> None:
    env = SelfPlayEnv(3)
    env.reset(seed=1)
    with pytest.raises(ValueError, match="seats must be a seat 0 to 3"):
        env.observe(seats)


def test_views_are_those_of_the_match(amount: Callable[..., int]) -> None:
    env = SelfPlayEnv(3, "no_trump")
    tables, rng = Tables(env, 2), random.Random(5)
    env.reset(seed=2)
    kept = env.view(1)
    picture = str(kept)
    for _ in range(amount(60, no_jit=25)):
        for row, match in enumerate(tables.matches):
            own = env.view(row)
            assert own.viewer == match.seat
            assert own.legal_actions() == match.legal_actions()
            for seat in SEATS:
                view = env.view(row, seat)
                assert (view.viewer, view.rules) == (seat, match.rules)
                assert contents(view.record_array) == contents(match.view(seat).record_array)
                assert str(view) == str(match.view(seat))
        actions = tables.choose(rng)
        tables.check_step(actions, env.step(actions))
    assert str(kept) == picture
    for row in (3, -1, 2**70):
        with pytest.raises(ValueError, match="row must be from 0 to 2"):
            env.view(row)
    for seat in (4, -1, 1.0, "0"):
        with pytest.raises(ValueError, match="seat must be"):
            env.view(0, seat)


@pytest.mark.parametrize("row", [np.uint8(255), np.int8(127)], ids=repr)
def test_a_row_may_be_any_whole_number(row: Any) -> None:
    env = SelfPlayEnv(300, encoding=None)
    env.reset(seed=2)
    match = Match(seed=2, number=int(row))
    assert contents(env.view(row, 1).record_array) == contents(match.view(1).record_array)


@pytest.mark.parametrize("row", [1.0, "0", None, [1]], ids=repr)
def test_a_row_that_is_no_whole_number_is_refused(row: Any) -> None:
    env = SelfPlayEnv(2)
    env.reset(seed=2)
    with pytest.raises(ValueError, match="row must be"):
        env.view(row)


# --- seeds, copies, processes ---


def test_zero_is_a_seed_and_no_seed_goes_on() -> None:
    env, other = SelfPlayEnv(3), SelfPlayEnv(3)
    first = told(env.reset(seed=0))
    assert first == told(other.reset(seed=0)) == told(env.reset(seed=0))
    assert first != told(other.reset(seed=1))
    for k in (1, 2, 3):
        for _ in range(5):  # a reset in mid-match goes on to the next one too
            env.step(env.sample_actions())
        tables = Tables(env, 0)
        tables.matches = [Match(seed=0, number=row + k * APART) for row in range(3)]
        tables.check_reset(env.reset())
    assert told(env.reset(seed=0)) == first


def test_without_a_seed_each_table_goes_on_with_its_own_next_match() -> None:
    """Here some tables are in an extra deal still, and others in their second match."""
    env = SelfPlayEnv(4, "single_deal")
    tables, rng = Tables(env, 7), random.Random(7)
    env.reset(seed=7)
    for _ in range(60):
        env.step(actions := tables.choose(rng, (TIES[0], ())))
        for i, action in enumerate(actions):
            tables.matches[i].apply(action)
            if tables.matches[i].is_over:
                tables.matches[i] = Match(env.rules, seed=7, number=i + APART)
    numbers = [match.number for match in tables.matches]
    assert {number // APART for number in numbers} == {0, 1}
    tables.matches = [Match(env.rules, seed=7, number=number + APART) for number in numbers]
    tables.check_reset(env.reset())


def test_without_any_seed_one_is_drawn() -> None:
    one, other = SelfPlayEnv(3), SelfPlayEnv(3)
    assert told(one.reset()) != told(other.reset())
    seeds = set(one.tables["seed"].tolist())
    assert len(seeds) == 1
    again = SelfPlayEnv(3)
    again.reset(seed=seeds.pop())
    assert contents(again.tables) == contents(one.tables)
    one.reset()
    again.reset()
    assert contents(again.tables) == contents(one.tables)


@pytest.mark.parametrize("seed", [0, 1, 2**32, 2**63 - 1, np.int64(2**63 - 1), np.uint8(7)])
def test_all_seeds_are_those_of_the_match(seed: Any) -> None:
    follow(SelfPlayEnv(2), seed, 5, random.Random(0))


SCRIPT = """
import hashlib, json, os, sys
from callbreak_env.engine import threads
from callbreak_env.envs.selfplay import SelfPlayEnv

threads.ROWS_A_THREAD = 2
def digest(steps):
    env = SelfPlayEnv(6, "single_deal", threads=2)
    turn, seen = env.reset(seed=12), hashlib.sha256()
    for _ in range(steps):
        for array in turn:
            seen.update(array.tobytes())
        actions = env.sample_actions()
        seen.update(actions.tobytes())
        turn = env.step(actions)
    return seen.hexdigest()

steps = int(sys.argv[1])
here = digest(steps)
if hasattr(os, "fork"):  # a child has none of its parent's threads
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, digest(steps).encode())
        os._exit(0)
    os.close(write)
    forked = os.read(read, 100).decode()
    os.waitpid(child, 0)
else:
    forked = here
print(json.dumps([here, forked]))
"""


def test_a_fresh_process_and_its_fork_give_the_same(amount: Callable[..., int], tmp_path: Path) -> None:
    """Whatever PYTHONHASHSEED is; with threads running before the fork."""
    steps = amount(120, no_jit=60)
    found = set()
    for hash_seed in ("0", "4"):
        result = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", SCRIPT, str(steps)],
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            cwd=tmp_path,
        )
        assert result.returncode == 0, result.stderr
        found.update(json.loads(result.stdout))
    env, seen = SelfPlayEnv(6, "single_deal"), hashlib.sha256()
    turn = env.reset(seed=12)
    for _ in range(steps):
        for array in turn:
            seen.update(array.tobytes())
        actions = env.sample_actions()
        seen.update(actions.tobytes())
        turn = env.step(actions)
    assert found == {seen.hexdigest()}


@pytest.mark.parametrize("way", ["pickle", "deepcopy"])
@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("played", [0, 40])
def test_a_copy_in_mid_play_has_an_equal_future(
    way: str, copies: bool, played: int, amount: Callable[..., int]
) -> None:
    env = SelfPlayEnv(4, "single_deal", reward="zero_sum", dtype="int8", copy=copies)
    turn = env.reset(seed=1)
    for _ in range(played):
        turn = env.step(env.sample_actions())
    before = told(turn)
    twin = pickle.loads(pickle.dumps(env)) if way == "pickle" else copy.deepcopy(env)
    assert (twin.num_envs, twin.rules, twin.reward, twin.encoding) == (4, env.rules, "zero_sum", "flat")
    future = []
    for _ in range(amount(90, no_jit=30)):
        actions = twin.sample_actions()
        future.append([*told(twin.step(actions)), actions.tobytes(), *contents(twin.tables)])
    future.append(told(twin.reset()))
    assert told(turn) == before  # the twin writes nothing of ours
    for expected in future[:-1]:
        actions = env.sample_actions()
        assert [*told(env.step(actions)), actions.tobytes(), *contents(env.tables)] == expected
    assert told(env.reset()) == future[-1]


def test_a_copy_before_the_first_reset() -> None:
    env = SelfPlayEnv(2)
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        with pytest.raises(NotResetError):
            twin.sample_actions()
        assert told(twin.reset(seed=3)) == told(env.reset(seed=3))


# --- memory ---


def resident() -> int:
    """Bytes of memory that the process holds; 0 where that cannot be told."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if statm.exists() else 0


def test_a_table_is_small() -> None:
    env = SelfPlayEnv(10)
    assert env.tables.dtype == TABLE
    assert env.tables.itemsize <= 256
    assert env.tables.nbytes <= 2560


@pytest.mark.parametrize("kind", ["copy", "no copy", "out"])
def test_memory_does_not_grow(kind: str, amount: Callable[..., int]) -> None:
    """Over a million steps of a row (ten in the nightly run); nothing of a turn's size without copies."""
    size = amount(1000, no_jit=20)
    steps = amount(1000, nightly=10_000, no_jit=60)
    env = SelfPlayEnv(size, "single_deal", copy=kind != "no copy", threads=2)
    out = env.allocate() if kind == "out" else None
    observation = 4 * WIDTH * size

    def play(count: int) -> None:
        for _ in range(count):
            env.step(env.sample_actions(), out=out)

    env.reset(seed=1, out=out)
    play(5)
    env.states()
    gc.collect()
    held = resident()
    tracemalloc.start()
    try:
        play(2)
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        play(steps)
        gc.collect()
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 5_000
    if kind == "copy":
        assert peak - before > observation
    else:
        assert peak - before < 0.05 * observation + 10_000
    assert resident() - held < 3 * observation + 8_000_000


# --- what a deal pays ---


@given(rules=RULES, seed=SEEDS)
def test_rewards_add_up(rules: Rules, seed: int) -> None:
    """zero_sum to 0 over the seats in the deal, win to 1 a match; nothing for the others or between."""
    match, rng = Match(rules, seed=seed), random.Random(seed)
    wins = np.zeros(4)
    while not match.is_over:
        dealt_in = list(match.active)
        happened = match.apply(rng.choice(match.legal_actions()))
        rewards = {kind: np.full(4, np.nan) for kind in REWARDS}
        for number, kind in enumerate(REWARDS):
            rewards_of(match.record_array, happened, number, rewards[kind])
            others = [seat for seat in SEATS if seat not in dealt_in]
            assert not rewards[kind][others].any()
        wins += rewards["win"]
        if not happened & DEAL_END:
            assert not any(each.any() for each in rewards.values())
            continue
        assert rewards["points"].tolist() == [tenths / 10 for tenths in match.points]
        assert abs(rewards["zero_sum"].sum()) < 1e-9
        apart = rewards["points"] - rewards["zero_sum"]
        assert np.ptp(apart[dealt_in]) < 1e-9
    assert wins.sum() == pytest.approx(1)
    assert np.flatnonzero(wins).tolist() == list(match.winners)
    assert set(wins.tolist()) <= {0, 1 / len(match.winners)}


@pytest.mark.parametrize("autoreset", [True, False])
def test_returns_of_a_batch_add_up(autoreset: bool, amount: Callable[..., int]) -> None:
    """Over a match: win to 1, zero_sum to 0, points to all points; one end a seat."""
    size = amount(60, nightly=2000, no_jit=6)
    rules = Rules(deals=1, min_bid=2, max_bid=3)
    envs = {
        kind: SelfPlayEnv(size, rules, reward=kind, encoding=None, autoreset=autoreset) for kind in REWARDS
    }
    for env in envs.values():
        env.reset(seed=8)
    sums = {kind: np.zeros((size, 4)) for kind in REWARDS}
    ends, going, extra = np.zeros((size, 4)), np.ones(size, np.bool_), np.zeros(size, np.bool_)
    while going.any():
        actions = envs["win"].sample_actions()
        for kind, env in envs.items():
            turn = env.step(actions)
            sums[kind][going] += turn.rewards[going]
        ends[going] += turn.terminations[going]
        extra |= going & turn.deal_over & ~turn.match_over
        going &= ~turn.match_over
    assert extra.any()
    assert not extra.all()
    assert (ends == 1).all()
    assert np.allclose(sums["win"].sum(axis=1), 1)
    assert np.allclose(sums["zero_sum"].sum(axis=1), 0, atol=1e-5)
    if not autoreset:
        tables = envs["points"].tables
        tenths = tables["totals"] + np.where(extra[:, None], tables["points"], 0)
        assert np.allclose(sums["points"], tenths / 10, atol=1e-5)
        for row in range(size):
            winners = [seat for seat in SEATS if tables["winners"][row] >> seat & 1]
            assert np.flatnonzero(sums["win"][row]).tolist() == winners
