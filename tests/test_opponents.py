"""Opponents of the Gymnasium environments: by name, by views, in batches; what they see and how they fail."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from gymnasium.vector import AutoresetMode

from agents import compiled
from callbreak_env import Match, Rules
from callbreak_env.envs.single import CallBreakEnv
from callbreak_env.envs.vector import CallBreakVectorEnv
from callbreak_env.errors import CallBreakError
from callbreak_env.observation import encode
from callbreak_env.table import View
from learners import (
    BAD_BATCHES,
    NEXT_STEP,
    RUBBISH,
    SAME_STEP,
    TIES,
    Amount,
    Choose,
    Drawing,
    DrawingBatch,
    Highest,
    HighestBatch,
    Lowest,
    LowestBatch,
    Plain,
    Says,
    SaysBatch,
    bid_once,
    compare,
    follow,
    highest,
    lowest,
    one_of,
    played,
    same,
    uniform,
    vector_pair,
)


def test_three_opponents_sit_to_the_learner_s_right_in_turn(amount: Amount) -> None:
    kinds: list[list[Any]] = [
        [Lowest(), Highest(), "uniform"],
        [LowestBatch(), "uniform", HighestBatch()],
        ["uniform", HighestBatch(), Lowest()],
        [Lowest(), Lowest(), Highest()],
    ]
    right: dict[Any, Choose] = {
        "uniform": uniform,
        Lowest: lowest,
        LowestBatch: lowest,
        Highest: highest,
        HighestBatch: highest,
    }
    for seat, opponents in enumerate(kinds):
        choose = [right[one if isinstance(one, str) else type(one)] for one in opponents]
        env = CallBreakEnv(TIES, opponents, seat=seat)
        plain = Plain(seat, choose, rules=TIES)
        for seed in range(amount(8, no_jit=3)):
            follow(env, plain, seed)


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
@pytest.mark.parametrize("opponents", ["one", "three", "mixed"])
def test_batched_opponents_make_the_vector_equal_to_the_singles(
    opponents: str, mode: AutoresetMode, amount: Amount
) -> None:
    kinds = {
        "one": LowestBatch(),
        "three": [LowestBatch(), HighestBatch(), LowestBatch()],
        "mixed": ["uniform", HighestBatch(), "uniform"],
    }
    options = {"opponents": kinds[opponents], "rules": TIES, "seat": None}
    ours, theirs = vector_pair(mode, 5, options)
    same(ours.reset(seed=9), theirs.reset(seed=9))
    assert compare(ours, theirs, amount(90, no_jit=40), random.Random(4))["end"] > 4
    same(ours.reset(), theirs.reset())
    compare(ours, theirs, 10, random.Random(4))


def test_batched_opponent_sees_its_own_seat_and_nothing_else() -> None:
    asked: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]] = []

    class Spy(LowestBatch):
        def act_batch(self, observations: Any, action_masks: Any, rng: np.random.Generator) -> Any:
            asked.extend(zip(observations.copy(), action_masks.copy(), strict=True))
            assert (observations.dtype, action_masks.dtype) == (np.float32, np.int8)
            return super().act_batch(observations, action_masks, rng)

    expected: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]] = []

    def recorded(match: Match) -> int:
        assert match.seat is not None
        expected.append((encode(match, match.seat), match.legal_mask()))
        return lowest(match)

    # dtype and encoding are the learner's; the agents always see the flat float32 row.
    for options in ({}, {"encoding": "history"}, {"dtype": "int8"}):
        env = CallBreakEnv(opponents=[Spy(), "uniform", "uniform"], seat=1, deals=2, **options)
        plain = Plain(1, [recorded, uniform, uniform], rules=Rules(deals=2))
        asked.clear()
        expected.clear()
        _, info = env.reset(seed=3)
        plain.reset(seed=3)
        moves, terminated = random.Random(2), False
        while not terminated:
            action = one_of(info["action_mask"], moves)
            *_, terminated, _, info = env.step(action)
            plain.step(action)
        same([list(pair) for pair in asked], [list(pair) for pair in expected])
        assert len(asked) == 28


class Diary(Lowest):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.resets: list[tuple[int, Rules, float]] = []
        self.acts = 0

    def reset(self, seat: int, rules: Rules, rng: np.random.Generator) -> None:
        self.resets.append((seat, rules, rng.random()))

    def act(self, view: View) -> int:
        seat = self.resets[-1][0]
        assert (view.viewer, view.seat) == (seat, seat)
        assert view.rules == self.resets[-1][1]
        table = view.record_array[0]
        assert [int(table["hands"][s]) for s in range(4) if s != seat] == [0] * 3
        assert [int(table[secret]) for secret in ("seed", "match", "deck")] == [0] * 3
        self.acts += 1
        return super().act(view)


def test_agent_is_told_of_each_match_once_with_its_seat_and_sees_only_its_view() -> None:
    diaries = [Diary() for _ in range(3)]
    env: Any = CallBreakEnv(opponents=diaries, seat=None, deals=2)
    env.reset(seed=6)
    seats = [env.seat]
    assert [len(diary.resets) for diary in diaries] == [1, 1, 1]
    moves = random.Random(1)
    while len(seats) < 4:
        if env.step(one_of(env.action_masks(), moves))[2]:
            env.reset()
            seats.append(env.seat)
    for k, diary in enumerate(diaries):
        assert [seat for seat, _, _ in diary.resets] == [(seat + 1 + k) % 4 for seat in seats]
        assert {rules for _, rules, _ in diary.resets} == {Rules(deals=2)}
        assert diary.acts >= 3 * 2 * 14
    drawn = [number for diary in diaries for _, _, number in diary.resets]
    assert len(set(drawn)) == len(drawn)
    again = [Diary() for _ in range(3)]
    other = CallBreakEnv(opponents=again, seat=None, deals=2)
    other.reset(seed=6)
    for _ in range(3):
        other.reset()
    assert [diary.resets for diary in again] == [diary.resets for diary in diaries]


def test_one_agent_for_all_three_is_copied_and_three_are_not() -> None:
    diary = Diary()
    env = CallBreakEnv(opponents=diary)
    env.reset(seed=1)
    assert [seat for seat, _, _ in diary.resets] == [1]
    assert sorted(one.resets[0][0] for one in env._core.opponents) == [1, 2, 3]


def test_agents_that_draw_are_reproducible_from_the_seed() -> None:
    seen = []
    for seed in (3, 3, 4):
        env = CallBreakEnv(opponents=Drawing(), deals=1, seat=1)
        first = env.reset(seed=seed)
        seen.append([first, *played(env, 40, random.Random(1))])
    same(seen[0], seen[1])
    assert not np.array_equal(seen[0][0][0], seen[2][0][0])


@pytest.mark.parametrize(
    "make", [CallBreakEnv, lambda **o: CallBreakVectorEnv(3, **o)], ids=["single", "vector"]
)
def test_batched_agents_that_draw_are_reproducible_from_the_seed(make: Any) -> None:
    seen = []
    for seed in (3, 3, 4):
        env = make(opponents=["uniform", DrawingBatch(), "uniform"], deals=1)
        np.random.default_rng(seed)
        results = [env.reset(seed=seed)]
        results += played(env, 30, random.Random(1))
        results.append(env.reset())
        results += played(env, 30, random.Random(1))
        results.append(env.reset(seed=3))
        seen.append(results)
    same(seen[0], seen[1])
    # Reseeding in mid-stream starts the opponents' numbers anew as well.
    same(seen[2][-1], seen[0][0])
    assert not np.array_equal(seen[0][0][0], seen[2][0][0])


class Counting(LowestBatch):
    """Draws a number for every question, into a list that its copies share."""

    def __init__(self, numbers: list[float]) -> None:
        self.numbers = numbers

    def __deepcopy__(self, memo: Any) -> Counting:
        return self

    def act_batch(self, observations: Any, action_masks: Any, rng: np.random.Generator) -> Any:
        self.numbers.append(rng.random())
        return super().act_batch(observations, action_masks, rng)


def test_batched_agent_that_draws_goes_on_after_a_reset_without_a_seed() -> None:
    single: list[float] = []
    vector: list[float] = []
    envs: list[tuple[Any, list[float]]] = [
        (CallBreakEnv(opponents=Counting(single)), single),
        (CallBreakVectorEnv(1, opponents=Counting(vector)), vector),
    ]
    for env, numbers in envs:
        env.reset(seed=8)
        for _ in range(20):
            env.step(env.action_masks().argmax(axis=-1))
        env.reset()
        env.step(env.action_masks().argmax(axis=-1))
        assert len(numbers) > 60
        assert len(set(numbers)) == len(numbers)
    assert single == vector


def test_agent_for_one_table_is_refused_by_the_vector_environment() -> None:
    for opponents in (Lowest(), ["uniform", "uniform", Lowest()]):
        with pytest.raises(ValueError, match="opponent 'lowest' plays at one table at a time: a vector"):
            CallBreakVectorEnv(1, opponents=opponents)
    CallBreakVectorEnv(2, opponents=LowestBatch()).reset(seed=1)


@pytest.mark.parametrize("answer", [0, 51, 200, -1, None, 52.5, "52", True, [52]])
def test_agent_that_answers_wrongly_is_named(answer: Any) -> None:
    with pytest.raises(ValueError, match="careless Joe"):
        bid_once([Says(answer), "uniform", "uniform"], None)


@pytest.mark.parametrize("kind", BAD_BATCHES)
@pytest.mark.parametrize("rows", [None, 3])
def test_batched_agent_that_answers_illegally_is_named(kind: str, rows: int | None) -> None:
    opponents = ["uniform", SaysBatch(BAD_BATCHES[kind]), "uniform"]
    with pytest.raises(CallBreakError, match=r"opponent 'careless Jane': (?s:.*)seat \d cannot"):
        bid_once(opponents, rows)


@pytest.mark.parametrize("kind", RUBBISH)
@pytest.mark.parametrize("rows", [None, 3])
def test_batched_agent_that_answers_rubbish_is_named(kind: str, rows: int | None) -> None:
    opponents = ["uniform", SaysBatch(RUBBISH[kind]), "uniform"]
    with pytest.raises(ValueError, match="careless Jane"):
        bid_once(opponents, rows)


def test_agent_that_answers_beyond_64_bits_is_named() -> None:
    with pytest.raises(ValueError, match="careless Joe"):
        bid_once(Says(2**63), None)


class Fails(Lowest):
    """Fails once, at the fourth question."""

    def __init__(self) -> None:
        self.asked = 0

    def act(self, view: View) -> int:
        self.asked += 1
        if self.asked == 4:
            raise ConnectionError
        return super().act(view)


class FailsAtTables:
    """Fails once, at the fourth question."""

    name = "fails"
    asked = 0

    def act_tables(self, tables: Any, rules: Rules, threads: int | None = 1) -> Any:
        self.asked += 1
        if self.asked == 4:
            raise ConnectionError
        return compiled("lowest").act_tables(tables, rules)


@pytest.mark.parametrize("fails", [Fails, FailsAtTables])
@pytest.mark.parametrize("place", range(3))
def test_an_opponent_that_fails_undoes_the_step(place: int, fails: Any) -> None:
    """The learner may act again, as if nothing had been tried."""
    opponents: list[Any] = ["uniform"] * 3
    opponents[place] = fails()
    env = CallBreakEnv(opponents=opponents, deals=1)
    _, info = env.reset(seed=1)
    failed = 0
    terminated = False
    while not terminated:
        action = int(info["action_mask"].argmax())
        before, masks = env.view().record_array.tobytes(), env.action_masks()
        try:
            _, _, terminated, _, info = env.step(action)
        except ConnectionError:
            failed += 1
            assert env.view().record_array.tobytes() == before
            assert (env.action_masks() == masks).all()
    assert failed == 1
