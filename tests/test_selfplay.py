"""Self-play in batches: each row is the scalar game, whatever the tables, threads and buffers around it."""

from __future__ import annotations

import copy
import gc
import hashlib
import itertools
import json
import os
import pickle
import random
import subprocess
import sys
import threading
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from callbreak_env import IllegalAction, Match, Rules, callbreak_v0
from callbreak_env.engine import threads as engine_threads
from callbreak_env.engine._jit import kernel
from callbreak_env.engine.policies import uniform_choice
from callbreak_env.engine.scoring import REWARDS, rewards_of
from callbreak_env.engine.state import DEAL_END, MATCH_END, TABLE
from callbreak_env.engine.threads import run_rows, usable_cores
from callbreak_env.envs.selfplay import SelfPlayEnv, Turn
from callbreak_env.errors import NotResetError
from callbreak_env.observation import FIELDS, STATE_FIELDS, STATE_WIDTH, WIDTH, encode, encode_state, split
from callbreak_env.rules import PRESETS
from conftest import JIT
from positions import VARIETY
from test_properties import RULES, SEEDS

APART = 2**32
"""Table i plays the matches i, i + APART, i + 2 * APART, ..."""
SEATS = range(4)
TIES = ((0, 2), (0, 1, 3), (0, 1, 2, 3), (1, 3), (1, 2, 3), (2, 3))
BEYOND = {
    "low": Rules(deals=3, min_bid=1, max_bid=2),  # with overtricks: halves of points
    "long": Rules(deals=25, bonus_bid=10, bonus_points=200),
    "patient": Rules(
        deals=30, min_total_bid=60, max_redeals=25, bonus_bid=30, bonus_points=127, misdeal=True
    ),
}
"""Numbers that int8 has to round, and that go beyond what is shown."""
SCALES = {field.name: np.float32(field.scale) for field in STATE_FIELDS}
TENTHS = ("totals", "total")
"""The fields in tenths, which int8 rounds to points."""


# --- the same, told by the scalar game ---


def contents(tables: np.ndarray) -> list[bytes]:
    """All that tables hold. (By field: the padding between fields means nothing.)"""
    return [tables[name].tobytes() for name in TABLE.names or ()]


def told(turn: Turn) -> list[tuple[Any, ...]]:
    """A turn by value, bit by bit, with dtypes and shapes."""
    return [(name, a.dtype, a.shape, a.tobytes()) for name, a in zip(Turn._fields, turn, strict=True)]


def choose(match: Match, rng: random.Random, tied: Sequence[int] = ()) -> int:
    """A random legal action; with ``tied``, bids that leave those seats tied at the top of a single deal.

    These bid 9 and the others 13, and nobody comes near: -9 each, -13 each.
    """
    if tied and match.phase == "bidding":
        return 51 + (9 if match.seat in tied else 13)
    return rng.choice(match.legal_actions())


def paid(kind: str, match: Match, dealt_in: Sequence[int]) -> list[np.float32]:
    """The rewards of the step that ended a deal among ``dealt_in``, in exact fractions till the end."""
    rewards = [Fraction(0)] * 4
    points = [Fraction(tenths, 10) for tenths in match.points]
    mean = sum((points[seat] for seat in dealt_in), Fraction(0)) / len(dealt_in)
    for seat in dealt_in:
        if kind != "win":
            rewards[seat] = points[seat] - (mean if kind == "zero_sum" else 0)
        elif seat in match.winners:
            rewards[seat] = Fraction(1, len(match.winners))
    return [np.float32(float(reward)) for reward in rewards]


class Tables:
    """Matches that stand beside a self-play environment, and say what each step must give."""

    def __init__(self, env: SelfPlayEnv, seed: int) -> None:
        self.env, self.seed = env, seed
        self.matches = [Match(env.rules, seed=seed, number=i) for i in range(env.num_envs)]
        self.extra_deals: Counter[int] = Counter()
        self.ended = 0

    def choose(self, rng: random.Random, tied: Sequence[Sequence[int]] = ((),)) -> list[int]:
        return [
            0 if match.is_over else choose(match, rng, tied[i % len(tied)])
            for i, match in enumerate(self.matches)
        ]

    def check_seen(self, turn: Turn) -> None:
        for i, match in enumerate(self.matches):
            where = f"table {i}, {match!r}"
            assert contents(self.env.tables[i : i + 1]) == contents(match.record_array), where
            assert turn.seat[i] == (-1 if match.seat is None else match.seat), where
            assert turn.action_mask[i].tobytes() == match.legal_mask().tobytes(), where
            if self.env.encoding is not None and self.env.single_observation_space.dtype != np.int8:
                expected = encode(match, match.seat or 0, self.env.encoding)
                assert turn.observation[i].dtype == expected.dtype
                assert turn.observation[i].tobytes() == expected.tobytes(), where

    def check_reset(self, turn: Turn) -> None:
        self.check_seen(turn)
        assert not any(array.any() for array in turn[3:])

    def check_step(self, actions: Sequence[int], turn: Turn) -> None:
        for i, action in enumerate(actions):
            match, kind = self.matches[i], self.env.reward
            happened, dealt_in = 0, match.active
            if not match.is_over:
                happened = match.apply(action)
            rewards, done = [np.float32(0)] * 4, [False] * 4
            if happened & DEAL_END:
                rewards = paid(kind, match, dealt_in)
                out = dealt_in if match.is_over else set(SEATS) - set(match.active)
                done = [seat in out for seat in SEATS]
                if match.is_extra_deal and not match.is_over:
                    self.extra_deals[len(match.active)] += 1
            where = f"table {i}, {match!r}"
            assert turn.rewards[i].tolist() == [float(reward) for reward in rewards], where
            assert turn.terminated[i].tolist() == done, where
            assert turn.deal_over[i] == bool(happened & DEAL_END), where
            assert turn.match_over[i] == bool(happened & MATCH_END), where
            if happened & MATCH_END:
                self.ended += 1
                if self.env.autoreset:
                    self.matches[i] = Match(match.rules, seed=self.seed, number=match.number + APART)
        self.check_seen(turn)


def follow(
    env: SelfPlayEnv, seed: int, steps: int, rng: random.Random, tied: Sequence[Sequence[int]] = ((),)
) -> Tables:
    """Play, every step told again."""
    tables = Tables(env, seed)
    tables.check_reset(env.reset(seed=seed))
    for _ in range(steps):
        actions = tables.choose(rng, tied)
        tables.check_step(actions, env.step(actions))
    return tables


@pytest.mark.parametrize("encoding", ["flat", "history"])
@pytest.mark.parametrize("name", sorted(PRESETS | VARIETY))
def test_every_step_is_that_of_the_match(name: str, encoding: str, amount: Callable[..., int]) -> None:
    env = SelfPlayEnv(amount(4, nightly=40, no_jit=2), (VARIETY | PRESETS)[name], encoding=encoding)
    follow(env, 5, amount(130, nightly=1500, no_jit=60), random.Random(name))


@pytest.mark.parametrize("reward", REWARDS)
def test_extra_deals_and_the_next_matches_are_those_of_the_match(
    reward: str, amount: Callable[..., int]
) -> None:
    """Of two, three and four seats; the first three matches of every table."""
    env = SelfPlayEnv(len(TIES), "single_deal", reward=reward)
    tables = follow(env, 9, amount(300, nightly=3000, no_jit=230), random.Random(2), TIES)
    assert set(tables.extra_deals) == {2, 3, 4}
    assert {match.number % APART for match in tables.matches} == set(range(len(TIES)))
    assert min(match.number // APART for match in tables.matches) >= 2


@given(
    rules=RULES,
    seed=SEEDS,
    tables=st.integers(1, 4),
    encoding=st.sampled_from(["flat", "history", None]),
    reward=st.sampled_from(REWARDS),
    autoreset=st.booleans(),
    steps=st.integers(1, 250 if JIT else 60),
)
def test_any_rules_and_any_actions_give_the_tables_of_the_match(
    rules: Rules,
    seed: int,
    tables: int,
    encoding: str | None,
    reward: str,
    autoreset: bool,
    steps: int,
) -> None:
    env = SelfPlayEnv(tables, rules, encoding=encoding, reward=reward, autoreset=autoreset)
    follow(env, seed, steps, random.Random(seed))


@pytest.mark.parametrize("reward", REWARDS)
def test_the_pettingzoo_environment_says_the_same(reward: str) -> None:
    """Match i of its stream is the first match of table i: observations, masks, rewards, ends."""
    tied = (*TIES[:3], ())
    env = SelfPlayEnv(len(tied), Rules(deals=1), reward=reward)
    turns, actions = [env.reset(seed=0)], []
    tables, rng = Tables(env, 0), random.Random(3)
    while not all(any(turn.match_over[i] for turn in turns) for i in range(len(tied))):
        actions.append(tables.choose(rng, tied))
        turns.append(env.step(actions[-1]))
        for i, match in enumerate(tables.matches):
            match.apply(actions[-1][i])
            if match.is_over:
                tables.matches[i] = Match(match.rules, seed=0, number=match.number + APART)

    aec = callbreak_v0.raw_env(Rules(deals=1), reward=reward)
    extra_deals = set()
    for i in range(len(tied)):
        aec.reset(seed=0 if i == 0 else None)
        for before, after, acted in zip(turns, turns[1:], actions, strict=False):
            observed = aec.observe(aec.agent_selection)
            assert aec.agent_selection == f"player_{before.seat[i]}"
            assert observed["observation"].tobytes() == before.observation[i].tobytes()
            assert observed["action_mask"].tobytes() == before.action_mask[i].tobytes()
            playing = set(aec.agents)
            aec.step(acted[i])
            rewards = [aec.rewards.get(f"player_{seat}", 0.0) for seat in SEATS]
            done = [f"player_{seat}" in playing and aec.terminations[f"player_{seat}"] for seat in SEATS]
            assert after.rewards[i].tolist() == [float(np.float32(reward)) for reward in rewards]
            assert after.terminated[i].tolist() == done
            assert after.match_over[i] == (len(playing) == sum(done))
            if after.match_over[i]:
                break
            while aec.terminations[aec.agent_selection]:
                aec.step(None)
            if aec.match.is_extra_deal:
                extra_deals.add(len(aec.match.active))
        assert aec.match.is_over
    assert extra_deals == {2, 3, 4}


@pytest.mark.parametrize("rules", ["single_deal", Rules(deals=2, min_bid=2, max_bid=3)])
def test_without_autoreset_a_table_that_is_over_stays(rules: Any, amount: Callable[..., int]) -> None:
    """Seat -1, an empty mask, seat 0's eyes, any action; the others play on until all are over."""
    env = SelfPlayEnv(amount(6, no_jit=4), rules, autoreset=False)
    tables, rng = Tables(env, 4), random.Random(8)
    tables.check_reset(env.reset(seed=4))
    waited = 0
    while tables.ended < env.num_envs or waited < 30:
        over = [match.is_over for match in tables.matches]
        waited += any(over)
        actions = tables.choose(rng, TIES if rules == "single_deal" else ((),))
        wild = [rng.choice([-(2**63), -1, 0, 51, 64, 65, 2**63 - 1]) for _ in over]
        actions = [any_ if done else one for any_, done, one in zip(wild, over, actions, strict=True)]
        assert not env.sample_actions()[over].any()
        tables.check_step(actions, env.step(np.array(actions)))
    assert (env.tables["seat"] == -1).all()
    assert env.view(0).viewer == 0
    assert [int(set_) for set_ in env.tables["winners"]] == [
        sum(1 << seat for seat in match.winners) for match in tables.matches
    ]
    again = env.reset()
    tables.matches = [Match(rules, seed=4, number=i + APART) for i in range(env.num_envs)]
    tables.check_reset(again)


# --- int8 ---


def assert_exact(exact: np.ndarray, real: np.ndarray, fields: tuple[Any, ...]) -> None:
    """int8 rows hold every field as it is: float32 rows times the scale, points rounded."""
    assert (exact.dtype, real.dtype) == (np.int8, np.float32)
    numbers, shown = split(exact.astype(np.float32), fields), split(real, fields)
    for name, number in numbers.items():
        if name not in TENTHS:
            assert (number / SCALES[name]).tobytes() == shown[name].tobytes(), name


@pytest.mark.parametrize("name", ["standard", "ties", "everything", "redeals", *BEYOND])
def test_int8_is_float32_times_the_scale(name: str, amount: Callable[..., int]) -> None:
    """All but totals, which are points to the nearest, halves to even; both within their spaces."""
    rules, size = (VARIETY | BEYOND)[name], amount(6, nightly=60, no_jit=2)
    real, exact = SelfPlayEnv(size, rules), SelfPlayEnv(size, rules, dtype="int8")
    shown, numbers = real.reset(seed=1), exact.reset(seed=1)
    seen, rows = Counter[str](), np.arange(size)
    for _ in range(amount(1300 if name == "long" else 180, nightly=5000, no_jit=100)):
        assert told(numbers)[1:] == told(shown)[1:]
        assert exact.single_observation_space.contains(numbers.observation[0])
        assert (abs(numbers.observation) <= exact.single_observation_space.high).all()
        assert real.single_observation_space.contains(shown.observation[0])
        assert (abs(shown.observation) <= 1).all()
        states = exact.states()
        assert_exact(numbers.observation, shown.observation, FIELDS)
        assert_exact(states, real.states(), STATE_FIELDS)
        totals, seats = exact.tables["totals"], shown.seat
        own = totals[rows, seats]
        above = np.stack([totals[rows, (seats + i) & 3] - own for i in (1, 2, 3)], axis=1)
        points = np.clip(np.rint(above / 10), -50, 50)
        assert np.array_equal(split(numbers.observation)["totals"], points)
        assert np.array_equal(split(states, STATE_FIELDS)["totals"], points)
        assert np.array_equal(split(states, STATE_FIELDS)["total"][:, 0], np.clip(np.rint(own / 10), -50, 50))
        seen["low"] += int((above % 10 == 5).sum())
        seen["long"] += int(((abs(above) > 500).any(axis=1) & (exact.tables["deal"] > 20)).sum())
        seen["patient"] += int((exact.tables["redeals"] > 20).sum())
        actions = real.sample_actions()
        shown, numbers = real.step(actions), exact.step(actions)
    if name == "patient" or (name in BEYOND and JIT):
        assert seen[name]


@pytest.mark.parametrize(
    ("encoding", "dtype", "width", "kind", "low", "high"),
    [
        ("flat", "float32", 804, np.float32, -1, 1),
        ("flat", "int8", 804, np.int8, -127, 127),
        ("history", "float32", 125, np.int16, -1, 64),
        (None, "float32", 0, np.int16, None, None),
    ],
)
def test_spaces_and_arrays(
    encoding: str | None, dtype: str, width: int, kind: Any, low: Any, high: Any, amount: Callable[..., int]
) -> None:
    env = SelfPlayEnv(3, "no_trump", encoding=encoding, dtype=dtype)
    space = env.single_observation_space
    assert isinstance(space, spaces.Box)
    assert (space.shape, space.dtype) == ((width,), kind)
    if width:
        assert (space.low.min(), space.high.max()) == (low, high)
    assert pickle.loads(pickle.dumps(space)) == space
    turn = env.reset(seed=3)
    for _ in range(amount(300, no_jit=20)):
        assert [(a.shape, a.dtype) for a in turn] == [
            ((3, width), kind),
            ((3, 65), np.int8),
            ((3,), np.int8),
            ((3, 4), np.float32),
            ((3, 4), np.bool_),
            ((3,), np.bool_),
            ((3,), np.bool_),
        ]
        assert all(array.flags.c_contiguous and array.flags.writeable for array in turn)
        assert all(space.contains(row) for row in turn.observation)
        turn = env.step(env.sample_actions())
    buffer = env.allocate(5)
    assert [(a.shape, a.dtype) for a in buffer] == [((5, *a.shape), a.dtype) for a in turn]
    assert not any(array.any() for array in buffer)
    assert [a.shape for a in env.allocate()] == [a.shape for a in turn]


def test_int8_bounds_are_the_scales_of_the_fields() -> None:
    space = SelfPlayEnv(1, dtype="int8").single_observation_space
    assert isinstance(space, spaces.Box)
    for name, high in split(space.high).items():
        assert np.array_equal(high, np.broadcast_to(SCALES[name], high.shape)), name
    assert np.array_equal(space.low, -space.high)


# --- the number of threads and tables, buffers ---


def trace(env: SelfPlayEnv, seed: int, steps: int, out: Turn | None = None) -> Iterator[list[Any]]:
    """What every call gives under random play, bit by bit."""
    yield told(env.reset(seed=seed, out=None if out is None else out.at(0)))
    for t in range(steps):
        actions = env.sample_actions()
        turn = env.step(actions, out=None if out is None else out.at(t % len(out.seat)))
        yield [*told(turn), actions.tobytes(), env.states().tobytes(), *contents(env.tables)]


@pytest.fixture
def few_rows_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_threads, "ROWS_A_THREAD", 4)


@pytest.fixture
def python_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a forked process, and under a threading layer that is not safe."""
    monkeypatch.setattr(engine_threads, "_may_use_numba_threads", lambda: False)


@pytest.mark.usefixtures("few_rows_a_thread")
@pytest.mark.parametrize("threads", [2, 3, 50, None])
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_threads_change_nothing(threads: int | None, dtype: str, amount: Callable[..., int]) -> None:
    size, steps = amount(29, no_jit=13), amount(150, nightly=3000, no_jit=15)
    one = SelfPlayEnv(size, "single_deal", dtype=dtype, threads=1)
    many = SelfPlayEnv(size, "single_deal", dtype=dtype, threads=threads)
    for count, (alone, shared) in enumerate(zip(trace(one, 3, steps), trace(many, 3, steps), strict=True)):
        assert alone == shared, f"call {count}"


@pytest.mark.skipif(not JIT, reason="thousands of rows take too long uncompiled")
def test_threads_change_nothing_at_the_real_size(amount: Callable[..., int]) -> None:
    size, steps = 3 * engine_threads.ROWS_A_THREAD + 7, amount(60, nightly=1000)
    one, three = (SelfPlayEnv(size, "single_deal", dtype="int8", threads=n) for n in (1, 3))
    turn, other = one.reset(seed=2), three.reset(seed=2)
    for _ in range(steps):
        actions = one.sample_actions()
        assert np.array_equal(three.sample_actions(), actions)
        assert told(turn) == told(other)
        turn, other = one.step(actions), three.step(actions)
    assert contents(one.tables) == contents(three.tables)


@pytest.mark.parametrize(
    ("rows", "threads", "parts"),
    [(1, 9, 1), (7, 9, 1), (8, 9, 2), (11, 9, 2), (12, 2, 2), (12, 1, 1), (403, 3, 3), (403, 500, 100)],
)
@pytest.mark.usefixtures("few_rows_a_thread", "python_threads")
def test_rows_are_shared_without_gaps(rows: int, threads: int, parts: int) -> None:
    """Four rows a thread here: as many parts as are worth it, each row in one of them."""
    names, shares = set(), []

    def kernel(first: int, end: int, word: str) -> int:
        names.add(threading.current_thread().name)
        shares.append((first, end, word))
        return end - first

    assert run_rows(kernel, rows, threads, "x") == rows
    assert len(shares) == parts
    assert [row for first, end, _ in sorted(shares) for row in range(first, end)] == list(range(rows))
    assert all(end - first >= min(rows, 4) and word == "x" for first, end, word in shares)
    assert threading.current_thread().name in names
    assert all(name.startswith("callbreak_env") for name in names - {threading.current_thread().name})


@kernel(nogil=True)
def count_visits(first: int, end: int, visits: np.ndarray) -> int:
    for i in range(first, end):
        visits[i] += 1
    return end - first


@pytest.mark.usefixtures("few_rows_a_thread")
@pytest.mark.parametrize("threads", [1, 2, 3, 500])
def test_rows_are_shared_without_gaps_by_compiled_threads(threads: int) -> None:
    for rows in (1, 7, 8, 11, 403):
        visits = np.zeros(rows, np.int64)
        assert run_rows(count_visits, rows, threads, visits) == rows
        assert (visits == 1).all()


@pytest.mark.usefixtures("few_rows_a_thread", "python_threads")
def test_an_error_in_a_share_is_raised() -> None:
    def kernel(first: int, end: int) -> int:
        if end == 12:
            raise KeyError(first)
        return 0

    with pytest.raises(KeyError, match="8"):
        run_rows(kernel, 12, 3)


def test_all_usable_cores_unless_told() -> None:
    assert SelfPlayEnv(1).threads == usable_cores() >= 1
    assert SelfPlayEnv(1, threads=3).threads == 3


@pytest.mark.usefixtures("few_rows_a_thread")
def test_two_environments_in_two_threads_do_not_disturb_each_other(amount: Callable[..., int]) -> None:
    size, steps = amount(29, no_jit=9), amount(200, nightly=5000, no_jit=10)

    def all_of(seed: int) -> list[list[Any]]:
        return list(trace(SelfPlayEnv(size, "single_deal", threads=2), seed, steps))

    found: dict[int, list[list[Any]]] = {}
    workers = [threading.Thread(target=lambda s=seed: found.update({s: all_of(s)})) for seed in (1, 2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == {seed: all_of(seed) for seed in (1, 2)}


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_a_row_does_not_depend_on_the_others(dtype: str, amount: Callable[..., int]) -> None:
    """Nor on their number, nor on what they do."""
    few, many = (SelfPlayEnv(n, VARIETY["ties"], dtype=dtype) for n in (2, 9))
    turn, other = few.reset(seed=7), many.reset(seed=7)
    for _ in range(amount(250, nightly=5000, no_jit=60)):
        for array, larger in zip(turn, other, strict=True):
            assert array.tobytes() == larger[:2].tobytes()
        assert few.states().tobytes() == many.states()[:2].tobytes()
        actions = few.sample_actions()
        assert np.array_equal(many.sample_actions()[:2], actions)
        lowest = other.action_mask.argmax(axis=1)
        lowest[:2] = actions
        turn, other = few.step(actions), many.step(lowest)


@pytest.mark.parametrize("encoding", ["flat", "history", None])
def test_copies_and_buffers_change_nothing(encoding: str | None, amount: Callable[..., int]) -> None:
    """Buffers full of something else are written all over."""
    steps = amount(150, nightly=3000, no_jit=60)
    plain = SelfPlayEnv(4, "single_deal", encoding=encoding)
    same = SelfPlayEnv(4, "single_deal", encoding=encoding, copy=False)
    into = SelfPlayEnv(4, "single_deal", encoding=encoding)
    buffer = into.allocate(3)
    for array in buffer:
        array[...] = 77
    traces = (trace(plain, 3, steps), trace(same, 3, steps), trace(into, 3, steps, buffer))
    for count, (one, two, three) in enumerate(zip(*traces, strict=True)):
        assert one == two == three, f"call {count}"


# --- aliasing ---


def test_what_was_returned_is_never_overwritten(amount: Callable[..., int]) -> None:
    env = SelfPlayEnv(3, "single_deal")
    kept = [env.reset(seed=1)]
    before = [told(kept[0])]
    for t in range(amount(130, no_jit=60)):
        kept.append(env.reset() if t == 100 else env.step(env.sample_actions()))
        before.append(told(kept[-1]))
        states, samples = env.states(), env.sample_actions()
        assert not np.shares_memory(states, env.states())
        assert not np.shares_memory(samples, env.sample_actions())
    assert [told(turn) for turn in kept] == before
    for one, other in itertools.pairwise(kept):
        for array in one:
            assert not np.may_share_memory(array, env.tables)
            assert not any(np.may_share_memory(array, another) for another in other)


@pytest.mark.parametrize("make", ["copy", "no copy", "out"])
def test_what_was_returned_may_be_written_on(make: str) -> None:
    """The game reads none of it: a mask that allows everything allows nothing more."""
    env = SelfPlayEnv(3, "single_deal", copy=make != "no copy")
    out = env.allocate() if make == "out" else None
    turn, tables = env.reset(seed=1, out=out), Tables(env, 1)
    rng = random.Random(1)
    for _ in range(60):
        actions = tables.choose(rng)
        for array in turn:
            array[...] = 1
        with pytest.raises(ValueError, match="3 of 3"):
            env.step([65, 65, 65])
        given_out = np.array(actions)
        turn = env.step(given_out, out=out)
        assert given_out.tolist() == actions
        tables.check_step(actions, turn)


def test_without_copies_the_arrays_are_always_the_same() -> None:
    env = SelfPlayEnv(3, copy=False)
    first = env.reset(seed=1)
    for turn in (env.step(env.sample_actions()), env.step(env.sample_actions()), env.reset(), env.reset(5)):
        assert all(one is other for one, other in zip(first, turn, strict=True))
    kept = told(first)
    turn = env.step(env.sample_actions(), out=env.allocate())
    assert told(first) == kept != told(turn)


@pytest.mark.parametrize("copies", [True, False])
def test_out_is_written_in_place_and_returned(copies: bool) -> None:
    env = SelfPlayEnv(3, "single_deal", copy=copies)
    buffer, rows = env.allocate(70), []
    for t in range(70):
        place = buffer.at(t)
        turn = env.reset(seed=1, out=place) if t == 0 else env.step(env.sample_actions(), out=place)
        assert all(one is other for one, other in zip(turn, place, strict=True))
        assert all(np.shares_memory(one, whole) for one, whole in zip(turn, buffer, strict=True))
        rows.append(told(turn))
    assert [told(buffer.at(t)) for t in range(70)] == rows
    assert buffer.match_over.any()


def spoilt(array: np.ndarray, fault: str) -> Any:
    """An array that has one fault, and would do otherwise."""
    match fault:
        case "shape":
            return np.zeros((len(array) + 1, *array.shape[1:]), array.dtype)
        case "axis":
            return np.zeros((1, *array.shape), array.dtype)
        case "dtype":
            return np.zeros(array.shape, np.float64)
        case "byte order":
            return np.zeros(array.shape, array.dtype.newbyteorder(">"))
        case "strides":
            return np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)[..., ::2]
        case "order":
            return np.asfortranarray(array)
        case "read-only":
            array.flags.writeable = False
            return array
        case _:
            return None if fault == "none" else array.tolist()


FAULTS = ("shape", "axis", "dtype", "strides", "read-only", "none", "list")


@pytest.mark.parametrize(
    ("name", "fault"),
    [(name, fault) for name in Turn._fields for fault in FAULTS]
    + [("observation", "byte order"), ("rewards", "byte order")]
    + [("observation", "order"), ("action_mask", "order"), ("rewards", "order"), ("terminated", "order")],
)
def test_an_array_of_out_that_does_not_fit_is_refused(name: str, fault: str) -> None:
    env = SelfPlayEnv(3)
    bad = env.allocate()._replace(**{name: spoilt(getattr(env.allocate(), name), fault)})
    with pytest.raises(ValueError, match=rf"out\.{name} must be"):
        env.reset(seed=1, out=bad)
    with pytest.raises(NotResetError):
        env.sample_actions()
    env.reset(seed=1)
    before = contents(env.tables)
    for call in (lambda: env.step(env.sample_actions(), out=bad), lambda: env.reset(seed=2, out=bad)):
        with pytest.raises(ValueError, match=rf"out\.{name} must be"):
            call()
        assert contents(env.tables) == before
    assert all(array is None or not np.any(array) for array in bad)
    env.reset()
    assert env.tables["match"].tolist() == [APART, APART + 1, APART + 2]
    assert set(env.tables["seed"].tolist()) == {1}


@pytest.mark.parametrize("count", [0, 6, 8])
def test_out_must_have_all_the_arrays(count: int) -> None:
    env = SelfPlayEnv(3)
    env.reset(seed=1)
    before, out = contents(env.tables), env.allocate()
    with pytest.raises(ValueError, match="out"):
        env.step(env.sample_actions(), out=(*out, out.seat)[:count])  # type: ignore[arg-type]
    assert contents(env.tables) == before


@pytest.mark.parametrize("out", [(), 3, True], ids=repr)
def test_what_is_no_turn_is_refused_by_the_name_out(out: Any) -> None:
    env = SelfPlayEnv(3)
    env.reset(seed=1)
    with pytest.raises(ValueError, match="out"):
        env.step(env.sample_actions(), out=out)


# --- bad input ---


def refused_rows(env: SelfPlayEnv, actions: Any) -> str:
    """The message for illegal actions; nothing has changed, neither the tables nor a buffer."""
    out = env.allocate()
    for array in out:
        array[...] = 1
    before = contents(env.tables), env.sample_actions().tobytes(), told(out)
    with pytest.raises(ValueError, match="nothing was stepped") as caught:
        env.step(actions, out=out)
    assert (contents(env.tables), env.sample_actions().tobytes(), told(out)) == before
    return str(caught.value)


@pytest.mark.parametrize(
    "actions",
    [
        [1.0, 2.0, 3.0],
        np.full(3, 53, np.float32),
        [True, False, True],
        np.ones(3, np.bool_),
        np.array([53, 53, 53], object),
        [53, None, 53],
        ["53", "53", "53"],
        [b"5", b"5", b"5"],
        [53j, 53, 53],
        [2**64, 53, 53],
        [2**63, -1, 53],
        np.array([53, 53, 53], "m8[s]"),
        None,
        "53",
        {53: 1},
    ],
    ids=repr,
)
def test_actions_that_are_no_whole_numbers_are_refused(actions: Any) -> None:
    env = SelfPlayEnv(3)
    env.reset(seed=1)
    before = contents(env.tables)
    with pytest.raises(ValueError, match="actions must be whole numbers, not"):
        env.step(actions)
    assert contents(env.tables) == before


@pytest.mark.parametrize("shape", [(), (2,), (4,), (0,), (3, 1), (1, 3)])
def test_actions_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    env = SelfPlayEnv(3)
    env.reset(seed=1)
    before = contents(env.tables)
    with pytest.raises(ValueError, match=r"actions must be one a row, of shape \(3,\), not \("):
        env.step(np.full(shape, 53))
    with pytest.raises(ValueError, match=r"inhomogeneous|actions"):
        env.step([[53], [53, 53], 53])
    assert contents(env.tables) == before


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i8", ">i4"])
def test_actions_of_any_kind_of_whole_number(dtype: str) -> None:
    env, other = SelfPlayEnv(3, encoding=None), SelfPlayEnv(3, encoding=None)
    env.reset(seed=1)
    other.reset(seed=1)
    for _ in range(60):
        actions = env.sample_actions()
        assert told(env.step(actions.astype(dtype))) == told(other.step(actions.tolist()))
    assert contents(env.tables) == contents(other.tables)


def test_actions_of_any_layout() -> None:
    """Every other slot of a buffer, read-only, a tuple."""
    env, other = SelfPlayEnv(3, encoding=None), SelfPlayEnv(3, encoding=None)
    env.reset(seed=1)
    other.reset(seed=1)
    for t in range(30):
        actions = env.sample_actions()
        other.step(actions)
        fixed = actions.copy()
        fixed.flags.writeable = False
        env.step((np.repeat(actions, 2)[::2], fixed, tuple(actions.tolist()))[t % 3])
        assert contents(env.tables) == contents(other.tables)


LEAST = [-(2**63), -(2**63) + 50]
HUGE = [-(2**62), 2**62, 2**63 - 1, -(2**63) + 60]


@pytest.mark.parametrize(
    ("phase", "action"),
    [
        *itertools.product(["bidding", "playing"], [-1, -52, 65, 115, 116, 127, 2**31, 2**32 + 53, *HUGE]),
        *itertools.product(["bidding", "playing"], LEAST),
    ],
)
def test_no_such_action(phase: str, action: int) -> None:
    env = SelfPlayEnv(3)
    env.reset(seed=1)
    for _ in range(0 if phase == "bidding" else 6):
        env.step(env.sample_actions())
    actions = env.sample_actions()
    actions[1] = action
    message = refused_rows(env, actions)
    assert message.startswith("1 of 3 actions is illegal, nothing was stepped\nrow 1: seat ")
    assert f"cannot take action {action}: action ids are 0 to 64; legal " in message


@pytest.mark.parametrize(
    "action",
    [2**64 - 1, 2**64 - 52, 2**63 + 53, 2**63 - 1, 2**63],
)
def test_no_such_unsigned_action(action: int) -> None:
    """None that a wrap to 64 signed bits would make legal."""
    env = SelfPlayEnv(3)
    env.reset(seed=1)
    actions = env.sample_actions().astype(np.uint64)
    actions[2] = action
    assert "1 of 3 actions is illegal, nothing was stepped\nrow 2: seat" in refused_rows(env, actions)


@pytest.mark.parametrize("wrong", [[4], [0, 9], [1, 2, 3], [0, 3, 5, 9], list(range(10))])
def test_illegal_rows_are_named(wrong: list[int], amount: Callable[..., int]) -> None:
    """The first three, each as the scalar game refuses it, and how many more."""
    env = SelfPlayEnv(10, "single_deal")
    tables, rng = Tables(env, 6), random.Random(6)
    env.reset(seed=6)
    for _ in range(amount(57, no_jit=20)):
        good = tables.choose(rng)
        actions, told_of = good.copy(), []
        for row in wrong:
            match = tables.matches[row]
            actions[row] = rng.choice([a for a in range(65) if not match.legal_mask()[a]])
            with pytest.raises(IllegalAction) as caught:
                match.apply(actions[row])
            told_of.append(f"row {row}: {caught.value}")
        verb = "is" if len(wrong) == 1 else "are"
        lines = [f"{len(wrong)} of 10 actions {verb} illegal, nothing was stepped", *told_of[:3]]
        if len(wrong) > 3:
            lines.append(f"... and {len(wrong) - 3} more")
        assert refused_rows(env, np.array(actions)) == "\n".join(lines)
        tables.check_step(good, env.step(good))


@pytest.mark.usefixtures("few_rows_a_thread")
def test_an_illegal_row_in_any_share_stops_all() -> None:
    env = SelfPlayEnv(16, threads=4)
    env.reset(seed=1)
    good = env.sample_actions()
    for row in range(16):
        actions = good.copy()
        actions[row] = 0
        assert f"row {row}: seat" in refused_rows(env, actions)
    env.step(good)


def test_before_the_first_reset() -> None:
    env = SelfPlayEnv(2)
    for call in (
        lambda: env.step([53, 53]),
        lambda: env.step("nonsense"),
        env.sample_actions,
        env.states,
        lambda: env.view(0),
    ):
        with pytest.raises(NotResetError, match=r"reset\(\)"):
            call()
    assert env.num_envs == len(env.tables) == 2
    assert env.single_observation_space.shape == (WIDTH,)
    assert env.allocate(3).seat.shape == (3, 2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"num_envs": 0}, "num_envs must be at least 1"),
        ({"num_envs": -3}, "num_envs must be at least 1"),
        ({"num_envs": 1.0}, "num_envs must be a whole number"),
        ({"num_envs": True}, "num_envs must be a whole number"),
        ({"num_envs": "3"}, "num_envs must be a whole number"),
        ({"num_envs": None}, "num_envs must be a whole number"),
        ({"rules": "nonsense"}, "no preset 'nonsense'"),
        ({"rules": 3}, "rules must be"),
        ({"reward": "Points"}, "reward='Points': choose one of 'points', 'zero_sum', 'win'"),
        ({"reward": None}, "reward=None"),
        ({"encoding": "Flat"}, "no encoding 'Flat'"),
        ({"encoding": 0}, "no encoding 0"),
        ({"encoding": ["flat"]}, "no encoding"),
        ({"dtype": "int16"}, "dtype='int16': choose one of 'float32', 'int8'"),
        ({"dtype": None}, "dtype=None"),
        ({"dtype": np.int8}, "dtype="),
        ({"dtype": "int8", "encoding": "history"}, "dtype='int8' is for encoding='flat' only"),
        ({"dtype": "int8", "encoding": None}, "dtype='int8' is for encoding='flat' only"),
        ({"threads": 0}, "threads must be at least 1"),
        ({"threads": -1}, "threads must be at least 1"),
        ({"threads": 2.0}, "threads must be a whole number"),
        ({"threads": True}, "threads must be a whole number"),
    ],
    ids=repr,
)
def test_bad_arguments_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        SelfPlayEnv(**{"num_envs": 2} | options)


@pytest.mark.parametrize("steps", [0, -1, 1.0, True, "2"])
def test_a_buffer_has_at_least_one_step(steps: Any) -> None:
    with pytest.raises(ValueError, match="steps must be"):
        SelfPlayEnv(2).allocate(steps)


@pytest.mark.parametrize("seed", [-1, 2**63, 1.0, True, "1", [1], np.uint64(2**63), np.float64(3), (0,)])
def test_bad_seeds_are_refused(seed: Any) -> None:
    fresh, env = SelfPlayEnv(2), SelfPlayEnv(2)
    with pytest.raises(ValueError, match="seed must be"):
        fresh.reset(seed=seed)
    with pytest.raises(NotResetError):
        fresh.sample_actions()
    env.reset(seed=1)
    before = contents(env.tables)
    with pytest.raises(ValueError, match="seed must be"):
        env.reset(seed=seed)
    assert contents(env.tables) == before


# --- samples, states, views ---


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
        ends[going] += turn.terminated[going]
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
