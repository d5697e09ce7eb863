"""Self-play: int8, threads, the number of tables, buffers, and whose the arrays are."""

from __future__ import annotations

import itertools
import pickle
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from callbreak_env.engine import threads as engine_threads
from callbreak_env.engine._jit import kernel
from callbreak_env.engine.threads import run_rows, usable_cores
from callbreak_env.envs.selfplay import SelfPlayEnv, Turn
from callbreak_env.errors import NotResetError
from callbreak_env.observation import FIELDS, STATE_FIELDS, split
from conftest import JIT
from positions import VARIETY
from selfplays import APART, BEYOND, SCALES, TENTHS, Tables, contents, told


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


def test_one_thread_unless_told() -> None:
    assert SelfPlayEnv(1).threads == 1
    assert SelfPlayEnv(1, threads=None).threads == usable_cores() >= 1
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
    + [("observation", "order"), ("action_mask", "order"), ("rewards", "order"), ("terminations", "order")],
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
