"""The Gymnasium environments: one learner checked against the PettingZoo table, thousands against one."""

from __future__ import annotations

import copy
import inspect
import itertools
import json
import pickle
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.wrappers import RecordEpisodeStatistics, TimeLimit
from gymnasium.wrappers.vector import RecordEpisodeStatistics as RecordVectorStatistics

from callbreak_env import IllegalAction, Match, Rules, callbreak_v0
from callbreak_env.engine import threads
from callbreak_env.engine.policies import UNIFORM, policy_action
from callbreak_env.engine.state import TABLE
from callbreak_env.envs.single import CallBreakEnv
from callbreak_env.envs.vector import CallBreakVectorEnv
from callbreak_env.errors import CallBreakError, NotResetError
from callbreak_env.observation import HISTORY_WIDTH, WIDTH, encode
from callbreak_env.policy import UniformAgent
from callbreak_env.table import View

MATCH_ID, DEAL_ID = "callbreak/CallBreak-v0", "callbreak/CallBreakDeal-v0"
NEXT_STEP, SAME_STEP, DISABLED = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED
TIES = Rules(deals=1, min_bid=4, max_bid=4)
"""Every bid is 4, so that only tricks decide: extra deals of two and of three seats are frequent."""

MIXES: dict[str, dict[str, Any]] = {
    "plain": {"deals": 1},
    "ties": {"rules": TIES, "seat": 2},
    "drawn_bhoos_int8": {"rules": "bhoos", "seat": None, "deals": 2, "dtype": "int8"},
    "history_win": {"rules": TIES, "encoding": "history", "seat": 3, "reward": "win"},
    "partners_zero_sum": {"rules": "partnership", "deals": 1, "seat": 1, "reward": "zero_sum"},
    "no_trump_drawn": {"rules": "no_trump", "deals": 1, "seat": None, "reward": "zero_sum"},
    "redeals": {"rules": Rules(deals=1, min_total_bid=30, misdeal=True), "seat": None, "dtype": "int8"},
    "wins_int8": {"rules": TIES, "reward": "win", "dtype": "int8", "seat": None},
}

FORKS = pytest.mark.filterwarnings(
    # Python 3.12 and later warn of any fork of a process with threads; test_workers.py is about that.
    r"ignore:This process \(pid=\d+\) is multi-threaded:DeprecationWarning"
)
Amount = Callable[..., int]
Choose = Callable[[Match], int]


def same(got: Any, expected: Any, where: str = "") -> None:
    """Equal in type, keys, dtype, shape and content, through dictionaries and arrays of objects."""
    assert type(got) is type(expected), where
    if isinstance(got, dict):
        assert sorted(got) == sorted(expected), where
        for key, value in expected.items():
            same(got[key], value, f"{where}/{key}")
    elif isinstance(got, (tuple, list)):
        assert len(got) == len(expected), where
        for i, (one, other) in enumerate(zip(got, expected, strict=True)):
            same(one, other, f"{where}[{i}]")
    elif isinstance(got, np.ndarray):
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape), where
        if got.dtype == object:
            same(got.tolist(), expected.tolist(), where)
        else:
            assert np.array_equal(got, expected), where
    else:
        assert got == expected, where


def one_of(mask: npt.NDArray[Any], moves: random.Random) -> int:
    return moves.choice(np.flatnonzero(mask).tolist())


def some(masks: npt.NDArray[Any], moves: random.Random, wild: float = 0.0) -> npt.NDArray[np.int64]:
    """A legal action a row, now and then (``wild``) any of the 65."""
    return np.array([moves.randrange(65) if moves.random() < wild else one_of(m, moves) for m in masks])


def played(env: Any, steps: int, moves: random.Random) -> list[Any]:
    """What so many random legal steps give; a finished single environment is reset without a seed."""
    seen = []
    for _ in range(steps):
        masks = env.action_masks()
        if masks.ndim == 1:
            seen.append(env.step(one_of(masks, moves)))
            if seen[-1][2]:
                seen.append(env.reset())
        else:
            seen.append(env.step(some(masks, moves)))
    return seen


def uniform(match: Match) -> int:
    """What the compiled uniform opponent does, asked outside all environments."""
    return int(policy_action(UNIFORM, match.record_array[0], match.rules_array[0]))


def lowest(match: Match) -> int:
    return match.legal_actions()[0]


def highest(match: Match) -> int:
    return match.legal_actions()[-1]


class Plain:
    """The learner's environment made of the PettingZoo one, slowly: what is right."""

    def __init__(self, learner: int, opponents: list[Choose], **arguments: Any) -> None:
        self.env = callbreak_v0.raw_env(**arguments)
        self.learner, self.opponents = learner, opponents

    @property
    def match(self) -> Match:
        return self.env.match

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[Any, ...]:
        self.env.reset(seed=seed, options=options)
        return self._until_learner()

    def step(self, action: int) -> tuple[Any, ...]:
        self.env.step(action)
        return self._until_learner()

    def _until_learner(self) -> tuple[Any, ...]:
        """Observation, reward, terminated, truncated, legal actions of the learner at its next turn."""
        env, agent = self.env, f"player_{self.learner}"
        while env.agent_selection != agent:
            k = (env.possible_agents.index(env.agent_selection) - self.learner) % 4 - 1
            done = env.terminations[env.agent_selection]
            env.step(None if done else self.opponents[k](env.match))
        seen, reward, terminated, truncated, info = env.last()
        legal = [0] if terminated else np.flatnonzero(info["action_mask"]).tolist()
        return seen["observation"], reward, terminated, truncated, legal


class Named:
    """Base of the agents below: no memory."""

    name = "named"

    def reset(self, seat: int, rules: Rules, rng: np.random.Generator) -> None:
        pass


class Lowest(Named):
    name = "lowest"

    def act(self, view: View) -> int:
        return view.legal_actions()[0]


class Highest(Named):
    name = "highest"

    def act(self, view: View) -> int:
        return view.legal_actions()[-1]


class LowestBatch:
    name = "lowest in a batch"

    def act_batch(self, observations: Any, action_masks: Any, rng: np.random.Generator) -> Any:
        return action_masks.argmax(axis=1)


class HighestBatch:
    name = "highest in a batch"

    def act_batch(self, observations: Any, action_masks: Any, rng: np.random.Generator) -> Any:
        return 64 - action_masks[:, ::-1].argmax(axis=1)


class DrawingBatch:
    name = "drawing"

    def act_batch(self, observations: Any, action_masks: Any, rng: np.random.Generator) -> Any:
        return np.array([rng.choice(np.flatnonzero(mask)) for mask in action_masks])


class Says(Named):
    """Plays well until it is told to say something else."""

    name = "careless Joe"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def act(self, view: View) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class SaysBatch:
    name = "careless Jane"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def act_batch(self, observations: Any, action_masks: Any, rng: np.random.Generator) -> Any:
        return self.answer(len(observations)) if callable(self.answer) else self.answer


# One learner, against the PettingZoo table


@pytest.mark.parametrize("reward", ["points", "zero_sum", "win"])
@pytest.mark.parametrize("encoding", ["flat", "history"])
def test_learner_sees_and_earns_what_its_seat_does_in_pettingzoo(
    reward: str, encoding: str, amount: Amount
) -> None:
    matches = 0
    for case, (rules, seat) in enumerate(
        [(Rules(deals=2), 0), ("partnership", 1), (TIES, 2), ("bhoos", 3), ("no_trump", None)]
    ):
        env = CallBreakEnv(rules, seat=seat, reward=reward, encoding=encoding, illegal="raise")
        for number in range(amount(3, nightly=40, no_jit=1)):
            moves = random.Random(number)
            seed = case if number == 0 else None  # the second and third match of the same stream
            observation, info = env.reset(seed=seed)
            assert seat in (None, env.seat)
            if number == 0:
                plain = Plain(env.seat, [uniform] * 3, rules=rules, reward=reward, encoding=encoding)
            plain.learner = env.seat
            expected = plain.reset(seed=seed)
            total, terminated = 0.0, False
            while True:
                same(observation, expected[0])
                same(observation, encode(plain.match, env.seat, encoding))
                same(np.flatnonzero(info["action_mask"]).tolist(), expected[4])
                same(env.action_masks(), info["action_mask"])
                assert "illegal" not in info
                if terminated:
                    break
                action = one_of(info["action_mask"], moves)
                observation, earned, terminated, truncated, info = env.step(action)
                expected = plain.step(action)
                same((terminated, truncated), expected[2:4])
                assert type(earned) is float
                assert earned == pytest.approx(expected[1], abs=1e-12)
                total += earned
            matches += 1
            assert plain.match.is_over or env.seat not in plain.match.active
            if reward == "win" and plain.match.is_over:
                winners = plain.match.winners
                assert total == pytest.approx((env.seat in winners) / len(winners))
            if reward == "points" and not plain.match.is_extra_deal:
                assert total == pytest.approx(plain.match.totals[env.seat] / 10)
    assert matches == 5 * amount(3, nightly=40, no_jit=1)


EXTRA_DEALS = {(2, False): (20, 29), (2, True): (24, 38), (3, False): (37, 252), (3, True): (55, 129)}
"""(seats in the extra deal, whether seat 0 is one of them): seeds where that happens."""


@pytest.mark.parametrize(("size", "inside"), EXTRA_DEALS)
@pytest.mark.parametrize("reward", ["points", "zero_sum", "win"])
def test_R15_learner_out_of_the_extra_deal_is_done_at_once_and_one_in_it_plays_on(
    size: int, inside: bool, reward: str
) -> None:
    for seed in EXTRA_DEALS[size, inside]:
        env, moves = CallBreakEnv(TIES, reward=reward), random.Random(seed)
        plain = Plain(0, [uniform] * 3, rules=TIES, reward=reward)
        (_, info), _ = env.reset(seed=seed), plain.reset(seed=seed)
        earned, turns, terminated = [], 0, False
        while not terminated:
            in_extra = env.view().is_extra_deal
            assert not in_extra or inside
            turns += in_extra
            action = one_of(info["action_mask"], moves)
            observation, reward_now, terminated, truncated, info = env.step(action)
            expected = plain.step(action)
            same(observation, expected[0])
            assert reward_now == pytest.approx(expected[1])
            assert (terminated, truncated) == (expected[2], False)
            earned += [reward_now] if reward_now else []
        view = env.view()
        assert view.is_extra_deal
        assert (len(view.active), 0 in view.active) == (size, inside)
        if inside:
            assert (turns, view.is_over, view.trick_no) == (14, True, 13)  # a bid and 13 cards
            assert len(earned) == (2 if reward == "points" else len(earned))
        else:
            assert (turns, view.phase, view.plays, view.bids) == (0, "bidding", [], [None] * 4)
            assert sum(earned) == pytest.approx(
                {"points": view.totals[0] / 10, "win": 0.0}.get(reward, sum(earned))
            )
            assert np.flatnonzero(info["action_mask"]).tolist() == [0]


def test_drawn_seat_is_uniform_and_belongs_to_the_match(amount: Amount) -> None:
    env, other = CallBreakEnv(seat=None), CallBreakEnv(seat=None, deals=1, encoding="history")
    count = amount(4000, no_jit=1200)
    seats, dealers = [], []
    for seed in range(count):
        env.reset(seed=seed)
        seats.append(env.seat)
        dealers.append(env.view().dealer)
    for seed in random.Random(0).sample(range(count), 50):
        other.reset(seed=seed)
        assert other.seat == seats[seed]
    other.reset(seed=0)
    stream = [other.seat]
    for _ in range(60):
        other.reset()
        stream.append(other.seat)
    assert set(stream) == set(range(4))
    in_turn = Counter(b - a & 3 for a, b in itertools.pairwise(seats))
    from_dealer = Counter(b - a & 3 for a, b in zip(dealers, seats, strict=True))
    for counts in (Counter(seats), in_turn, from_dealer):
        # Chi-square with three degrees of freedom: 16.3 has a chance of 1 in 1000.
        assert sum((counts[s] - count / 4) ** 2 / (count / 4) for s in range(4)) < 16.3


def test_dealer_and_decks_are_the_match_s_and_only_for_that_match() -> None:
    deck = random.Random(1).sample(range(52), 52)
    env, plain = CallBreakEnv(seat=1), Plain(1, [uniform] * 3)
    for options in ({"dealer": 2, "decks": [deck, deck]}, {"dealer": 0}, {}, None):
        seed = 3 if options else None
        moves = random.Random(5)
        observation, info = env.reset(seed=seed, options=options)
        expected = plain.reset(seed=seed, options=options)
        for _ in range(20):  # into the second deal
            same(observation, expected[0])
            action = one_of(info["action_mask"], moves)
            observation, *_, info = env.step(action)
            expected = plain.step(action)
    given = {"dealer": 1}
    env.reset(seed=1, options=given)
    assert given == {"dealer": 1}


def test_penalty_ends_the_match_with_thirteen_and_says_so() -> None:
    for reward in ("points", "win"):
        env = CallBreakEnv(deals=1, reward=reward)
        for wrong in (0, 64 + 1, -1, 10**6, -(2**62), 2**63 - 1, np.int64(3), np.array([5])):
            observation, _ = env.reset(seed=4)
            seen, got, terminated, truncated, info = env.step(wrong)
            same(seen, observation)
            assert (got, type(got), terminated, truncated) == (-13.0, float, True, False)
            assert info["illegal"] is True
            assert np.flatnonzero(info["action_mask"]).tolist() == [0]
            with pytest.raises(NotResetError, match="reset"):
                env.step(52)
        _, info = env.reset(seed=4)
        assert "illegal" not in info
        _, _, terminated, _, info = env.step(one_of(info["action_mask"], random.Random(1)))
        assert not terminated
        assert "illegal" not in info


def test_raise_names_the_clause_and_changes_nothing() -> None:
    env, moves = CallBreakEnv(illegal="raise", seat=2), random.Random(3)
    twin = CallBreakEnv(seat=2)
    env.reset(seed=9)
    twin.reset(seed=9)
    for _ in range(30):
        legal = np.flatnonzero(env.action_masks()).tolist()
        for wrong in set(range(-2, 68)) - set(legal):
            before = env._core.tables.tobytes()
            with pytest.raises(IllegalAction) as caught:
                env.step(wrong)
            assert env._core.tables.tobytes() == before
            assert (caught.value.seat, caught.value.action, list(caught.value.legal)) == (2, wrong, legal)
            assert bool(caught.value.clause) == (0 <= wrong <= 64)
        action = moves.choice(legal)
        same(env.step(action), twin.step(action))


@pytest.mark.parametrize("illegal", ["penalty", "raise"])
def test_action_that_is_no_whole_number_is_refused_in_any_mode(illegal: str) -> None:
    env = CallBreakEnv(illegal=illegal)
    env.reset(seed=1)
    before = pickle.dumps(env)
    for wrong in (None, True, 52.0, "52", [52], np.array([52, 53]), np.array(52.0), np.bool_(True)):
        with pytest.raises(ValueError, match="action must be a whole number"):
            env.step(wrong)
    assert pickle.dumps(env) == before


def test_action_beyond_64_bits_is_illegal_like_any_other() -> None:
    for wrong in (-(2**63), 2**63, 2**64, -(2**70)):
        env = CallBreakEnv()
        env.reset(seed=1)
        assert env.step(wrong)[1] == -13.0
        env = CallBreakEnv(illegal="raise")
        env.reset(seed=1)
        with pytest.raises(IllegalAction):
            env.step(wrong)


def test_single_stream_of_matches_and_seeds() -> None:
    env, fresh = CallBreakEnv(), CallBreakEnv()
    assert not np.array_equal(env.reset()[0], fresh.reset()[0])  # drawn, not 0
    first = env.reset(seed=0)
    same(fresh.reset(seed=0), first)
    second = env.reset()
    assert not np.array_equal(first[0], second[0])
    same(fresh.reset(), second)
    same(env.reset(seed=np.int64(0)), first)
    assert env.np_random_seed == 0
    for seed in (2**63 - 1, 2**32, 1):
        same(env.reset(seed=seed), fresh.reset(seed=seed))
        plain = Plain(0, [uniform] * 3)
        same(env.reset(seed=seed)[0], plain.reset(seed=seed)[0])


# Registration, checkers, wrappers


def test_ids_are_registered_on_import_and_arguments_pass_through() -> None:
    env = gymnasium.make(MATCH_ID, rules="bhoos", seat=2, reward="win", illegal="raise", dtype="int8")
    inner = env.unwrapped
    assert isinstance(inner, CallBreakEnv)
    _, info = env.reset(seed=1)
    assert (inner.seat, inner.rules, env.observation_space.dtype) == (2, Rules.preset("bhoos"), np.int8)
    with pytest.raises(IllegalAction):
        env.step(int(np.flatnonzero(info["action_mask"] == 0)[0]))
    assert inner.rules.deals == 5
    assert gymnasium.make(DEAL_ID).unwrapped.rules.deals == 1
    assert gymnasium.make(DEAL_ID, rules="bhoos").unwrapped.rules == replace(Rules.preset("bhoos"), deals=1)
    assert gymnasium.make(DEAL_ID, deals=2).unwrapped.rules.deals == 2
    assert gymnasium.make(MATCH_ID, render_mode="ansi").render_mode == "ansi"
    with pytest.raises(ValueError, match="opponents"):
        gymnasium.make(MATCH_ID, opponents=3)
    assert gymnasium.make(MATCH_ID).get_wrapper_attr("action_masks") is not None


FRESH = """
import sys, gymnasium
assert "callbreak_env" not in sys.modules
env = gymnasium.make("callbreak_env:{id}", seat=3)
observation, info = env.reset(seed=5)
assert env.unwrapped.seat == 3 and info["action_mask"].sum() > 0
envs = gymnasium.make_vec("callbreak_env:{id}", 3, vectorization_mode="vector_entry_point")
assert envs.reset(seed=5)[0].shape == (3, 804)
print(type(env.unwrapped).__name__, type(envs.unwrapped).__name__, env.unwrapped.rules.deals)
"""


@pytest.mark.parametrize(("name", "deals"), [(MATCH_ID, 5), (DEAL_ID, 1)])
def test_module_prefix_imports_the_package_in_a_fresh_process(name: str, deals: int) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", FRESH.replace("{id}", name)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout.split()) == (
        0,
        ["CallBreakEnv", "CallBreakVectorEnv", str(deals)],
    ), done.stderr


@pytest.mark.parametrize("options", [{}, {"encoding": "history"}, {"dtype": "int8"}, {"seat": None}])
@pytest.mark.parametrize("name", [MATCH_ID, DEAL_ID])
def test_gymnasium_s_checker_has_nothing_to_say(
    name: str, options: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    check_env(gymnasium.make(name, render_mode="ansi", **options).unwrapped)
    assert capsys.readouterr().err == ""


def test_spaces_hold_what_is_shown(amount: Amount) -> None:
    for mix, options in MIXES.items():
        env = CallBreakEnv(**options)
        low, high = env.observation_space.low, env.observation_space.high
        history, exact = "encoding" in options, "dtype" in options
        assert env.observation_space.shape == ((HISTORY_WIDTH,) if history else (WIDTH,)), mix
        assert env.observation_space.dtype == (np.int16 if history else np.int8 if exact else np.float32), mix
        env.reset(seed=1)
        for result in played(env, amount(40, no_jit=20), random.Random(2)):
            assert env.observation_space.contains(result[0]), mix
            assert ((result[0] >= low) & (result[0] <= high)).all(), mix


def test_sampling_with_the_mask_is_always_legal(amount: Amount) -> None:
    env = CallBreakEnv(seat=None, deals=1, illegal="raise")
    _, info = env.reset(seed=2)
    env.action_space.seed(3)
    for _ in range(amount(3000, no_jit=400)):
        mask = info["action_mask"]
        assert (mask.dtype, mask.shape) == (np.int8, (65,))
        assert set(np.unique(mask)) == {0, 1}
        _, _, terminated, _, info = env.step(env.action_space.sample(mask))
        if terminated:
            _, info = env.reset()
    envs = CallBreakVectorEnv(3, deals=1, illegal="raise", autoreset_mode=SAME_STEP)
    _, info = envs.reset(seed=2)
    envs.action_space.seed(3)
    for _ in range(amount(100, no_jit=40)):
        assert (info["action_mask"].dtype, info["action_mask"].shape) == (np.int8, (3, 65))
        *_, info = envs.step(envs.action_space.sample(tuple(info["action_mask"])))


def test_sampled_rows_are_legal_uniform_and_a_function_of_the_position(amount: Amount) -> None:
    rows = amount(3000, no_jit=600)
    envs, twin = (CallBreakVectorEnv(rows, TIES, illegal="raise", encoding="history") for _ in range(2))
    envs.reset(seed=1)
    twin.reset(seed=1)
    done, places, sizes = np.zeros(rows, np.bool_), Counter[int](), 0
    for _ in range(18):
        masks, actions = envs.action_masks(), envs.sample_actions()
        same(actions, envs.sample_actions())  # asking spends nothing
        same(actions, twin.sample_actions())
        assert (actions.dtype, actions.shape) == (np.int64, (rows,))
        assert masks[np.arange(rows), actions].all()
        assert (actions[done] == 0).all()
        three = np.flatnonzero((masks.sum(axis=1) == 3) & ~done)
        sizes += len(three)
        for row in three:
            places[np.flatnonzero(masks[row]).tolist().index(actions[row])] += 1
        done = envs.step(actions)[2]
        twin.step(actions)
    # Chi-square with two degrees of freedom: 13.8 has a chance of 1 in 1000.
    assert sizes > rows
    assert sum((places[i] - sizes / 3) ** 2 / (sizes / 3) for i in range(3)) < 13.8


def vec_modes() -> dict[str, dict[str, Any]]:
    return {
        "sync": {"vectorization_mode": "sync"},
        "async": {"vectorization_mode": "async"},
        "spawned": {"vectorization_mode": "async", "vector_kwargs": {"context": "spawn"}},
        "own": {"vectorization_mode": "vector_entry_point"},
    }


@FORKS
def test_make_vec_gives_the_same_in_every_mode() -> None:
    seen: dict[str, list[Any]] = {}
    kinds = {
        "sync": SyncVectorEnv,
        "async": AsyncVectorEnv,
        "spawned": AsyncVectorEnv,
        "own": CallBreakVectorEnv,
    }
    for mode, arguments in vec_modes().items():
        envs = gymnasium.make_vec(DEAL_ID, 2, **arguments, rules=TIES, seat=None)
        assert type(envs.unwrapped) is kinds[mode]
        assert envs.num_envs == 2
        seen[mode] = [
            envs.observation_space,
            envs.action_space,
            envs.single_observation_space,
            envs.single_action_space,
            envs.metadata["autoreset_mode"],
        ]
        try:
            moves = random.Random(8)
            seen[mode].append(envs.reset(seed=11))
            for _ in range(40):
                masks = seen[mode][-1][-1]["action_mask"]
                seen[mode].append(envs.step(some(masks, moves, wild=0.02)))
        finally:
            envs.close()
    assert any(result[2].any() for result in seen["sync"][6:])
    for mode in ("async", "spawned", "own"):
        same(seen[mode][:5], seen["sync"][:5], mode)
        same(seen[mode][5:], seen["sync"][5:], mode)


def test_own_vector_env_can_be_configured_through_make_vec() -> None:
    envs = gymnasium.make_vec(
        MATCH_ID, 3, vectorization_mode="vector_entry_point", autoreset_mode="SameStep", threads=1, deals=1
    )
    assert envs.metadata["autoreset_mode"] is SAME_STEP
    assert envs.spec is not None
    assert envs.spec.id == MATCH_ID
    assert "num_envs=3" in repr(envs)
    default = gymnasium.make_vec(MATCH_ID, 2)
    assert isinstance(default.unwrapped, (CallBreakVectorEnv, SyncVectorEnv))


def test_spec_survives_json_and_pickle() -> None:
    env = gymnasium.make(MATCH_ID, rules="bhoos", seat=None, deals=2, opponents=["uniform"] * 3)
    assert env.spec is not None
    again = EnvSpec.from_json(env.spec.to_json())
    json.loads(env.spec.to_json())
    for spec in (again, pickle.loads(pickle.dumps(env.spec)), copy.deepcopy(env.spec)):
        assert spec == env.spec
        same(gymnasium.make(spec).reset(seed=3), env.reset(seed=3))
    assert gymnasium.spec(DEAL_ID).kwargs == {"deals": 1}


def test_time_limit_truncates_and_nothing_else_does() -> None:
    env = TimeLimit(CallBreakEnv(), max_episode_steps=3)
    _, info = env.reset(seed=1)
    flags = []
    for _ in range(3):
        _, _, terminated, truncated, info = env.step(one_of(info["action_mask"], random.Random(1)))
        flags.append((terminated, truncated))
    assert flags == [(False, False), (False, False), (False, True)]
    env = gymnasium.make(MATCH_ID, max_episode_steps=2)
    env.reset(seed=1)
    env.step(int(env.get_wrapper_attr("action_masks")().argmax()))
    assert env.step(int(env.get_wrapper_attr("action_masks")().argmax()))[3] is True


def test_episode_statistics_single_and_vector() -> None:
    env, moves = RecordEpisodeStatistics(CallBreakEnv(deals=2)), random.Random(1)
    _, info = env.reset(seed=1)
    total, length, terminated = 0.0, 0, False
    while not terminated:
        _, reward, terminated, _, info = env.step(one_of(info["action_mask"], moves))
        total, length = total + reward, length + 1
    assert info["episode"]["r"] == pytest.approx(total)
    assert (info["episode"]["l"], length) == (28, 28)
    found: list[list[Any]] = []
    for inner in vector_pair(NEXT_STEP, 3, MIXES["ties"]):
        envs = RecordVectorStatistics(inner)
        _, info = envs.reset(seed=7)
        moves = random.Random(1)
        found.append([])
        for _ in range(50):
            *_, info = envs.step(some(info["action_mask"], moves))
            if "episode" in info:
                for key in ("t", "_t"):
                    info["episode"].pop(key, None)
                found[-1].append((info["episode"], info["_episode"]))
    assert len(found[0]) > 1
    same(*found)


# Many tables, against Gymnasium's SyncVectorEnv of one


def vector_pair(
    mode: AutoresetMode, rows: int, options: dict[str, Any], **more: Any
) -> tuple[CallBreakVectorEnv, SyncVectorEnv]:
    return (
        CallBreakVectorEnv(rows, **options, autoreset_mode=mode, **more),
        SyncVectorEnv([lambda: CallBreakEnv(**options)] * rows, autoreset_mode=mode),
    )


def compare(
    ours: VectorEnv[Any, Any, Any], theirs: VectorEnv[Any, Any, Any], steps: int, moves: random.Random
) -> Counter[str]:
    """Both step by step, from where they stand; what happened on the way."""
    happened: Counter[str] = Counter()
    masks = ours.action_masks()  # type: ignore[attr-defined]
    done = np.zeros(ours.num_envs, np.bool_)
    for step in range(steps):
        actions = some(masks, moves, wild=0.01)
        if ours.metadata["autoreset_mode"] is NEXT_STEP and done.any():
            actions[done] = moves.choice([0, 7, 64, -3, 2**40])  # ignored, whatever it is
        result, expected = ours.step(actions), theirs.step(actions)
        same(result, expected, f"step {step}")
        masks, done = result[4]["action_mask"], result[2]
        happened["end"] += int(done.sum())
        happened["reward"] += int((result[1] != 0).sum())
        told = result[4].get("final_info", {}) | result[4]
        happened["illegal"] += int(told["illegal"].sum()) if "illegal" in told else 0
        happened["both"] += bool("illegal" in told and (done & ~told["illegal"]).any())
    return happened


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
@pytest.mark.parametrize("mix", MIXES)
def test_vector_is_equal_to_gymnasium_s_own(mix: str, mode: AutoresetMode, amount: Amount) -> None:
    ours, theirs = vector_pair(mode, 5, MIXES[mix])
    for name in ("observation_space", "action_space", "single_observation_space", "single_action_space"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert ours.metadata == theirs.metadata
    moves, happened = random.Random(mix), Counter[str]()
    for seed in (3, None, [5, 0, 2**63 - 1, 5, 9], None, [1, None, 2, None, 3]):
        same(ours.reset(seed=seed), theirs.reset(seed=seed), f"seed {seed}")
        happened += compare(ours, theirs, amount(70, nightly=1000, no_jit=50), moves)
    assert happened["end"] > 5
    assert happened["illegal"] > 1
    assert happened["reward"] > happened["illegal"]


def test_vector_of_one_table_is_equal_too() -> None:
    for mode in (NEXT_STEP, SAME_STEP):
        ours, theirs = vector_pair(mode, 1, MIXES["ties"])
        same(ours.reset(seed=37), theirs.reset(seed=37))
        assert compare(ours, theirs, 60, random.Random(3))["end"] > 2


@pytest.mark.parametrize("mix", ["ties", "drawn_bhoos_int8", "history_win"])
def test_disabled_mode_resets_the_rows_of_the_mask_and_no_other(mix: str, amount: Amount) -> None:
    ours, theirs = vector_pair(DISABLED, 4, MIXES[mix])
    moves, resets = random.Random(5), 0
    _, infos = ours.reset(seed=2)
    theirs.reset(seed=2)
    for step in range(amount(120, no_jit=50)):
        actions = some(infos["action_mask"], moves, wild=0.02)
        result, expected = ours.step(actions), theirs.step(actions)
        same(result, expected, f"step {step}")
        infos = result[4]
        rows = np.flatnonzero(result[2]).tolist()
        if step % 20 == 7:
            rows.append(moves.randrange(4))  # in mid-match
        moves.shuffle(rows)
        while rows:
            mask = np.isin(np.arange(4), [rows.pop() for _ in range(moves.randint(1, len(rows)))])
            seed = moves.choice([None, 77, [1, 2, None, 4]])
            before, tables = infos["action_mask"], ours._core.tables.copy()
            got, infos = ours.reset(seed=seed, options={"reset_mask": mask})
            right, told = theirs.reset(seed=seed, options={"reset_mask": mask.copy()})
            same(got, right, f"reset at {step}")
            same(infos["_action_mask"], told["_action_mask"])
            same(infos["action_mask"][mask], told["action_mask"][mask])
            # Gymnasium leaves zeros in the other rows; here they show what they showed.
            same(infos["action_mask"][~mask], before[~mask])
            same(ours.action_masks(), infos["action_mask"])
            for field in TABLE.names or ():
                assert (ours._core.tables[field][~mask] == tables[field][~mask]).all(), field
            resets += 1
    assert resets > amount(10, no_jit=4)


def test_disabled_mode_refuses_to_step_a_row_that_is_done() -> None:
    envs = CallBreakVectorEnv(3, autoreset_mode=DISABLED)
    envs.reset(seed=1)
    actions = envs.action_masks().argmax(axis=1)
    actions[1] = 0
    assert envs.step(actions)[2].tolist() == [False, True, False]
    before = envs._core.tables.tobytes()
    with pytest.raises(NotResetError, match="row 1 is done: reset it"):
        envs.step(envs.action_masks().argmax(axis=1))
    assert envs._core.tables.tobytes() == before
    envs.reset(options={"reset_mask": np.array([False, True, False])})
    envs.step(envs.action_masks().argmax(axis=1))


def test_modes_are_declared_and_default_to_next_step() -> None:
    assert CallBreakVectorEnv(2).metadata["autoreset_mode"] is NEXT_STEP
    for mode in AutoresetMode:
        for given in (mode, mode.value):
            assert CallBreakVectorEnv(2, autoreset_mode=given).metadata["autoreset_mode"] is mode


@pytest.mark.parametrize("illegal", ["penalty", "raise"])
def test_finished_row_shows_a_dummy_and_ignores_its_action(illegal: str) -> None:
    endings = 0
    for wrong in (1, -1, 65, -(2**63), 2**63 - 1):
        envs, twin = (CallBreakVectorEnv(3, illegal=illegal, deals=1, rules=TIES) for _ in range(2))
        envs.reset(seed=20)  # row 0 ends early: it is not in the extra deal
        twin.reset(seed=20)
        moves = random.Random(20)
        done = np.zeros(3, np.bool_)
        for _ in range(50):
            masks = envs.action_masks()
            assert (masks[done].sum(axis=1) == 1).all()
            assert (masks[done][:, 0] == 1).all()
            actions = some(masks, moves)
            assert (actions[done] == 0).all()
            result = twin.step(actions)
            same(envs.step(np.where(done, wrong, actions)), result)
            assert not result[2][done].any()
            assert (result[1][done] == 0).all()
            done = result[2]
            endings += int(done.sum())
    assert endings > 20


@pytest.mark.parametrize("seed", [None, [None] * 4])
def test_unseeded_rows_are_all_different_and_go_on_from_there(seed: Any) -> None:
    ours, theirs = vector_pair(NEXT_STEP, 4, MIXES["plain"])
    first, infos = ours.reset(seed=seed)
    expected, told = theirs.reset(seed=seed)
    assert (first.shape, first.dtype) == (expected.shape, expected.dtype)
    same(infos["_action_mask"], told["_action_mask"])
    assert len({row.tobytes() for row in first}) == 4
    assert not np.array_equal(first, CallBreakVectorEnv(4, deals=1).reset(seed=seed)[0])
    keys = ours._core.tables["seed"].copy()
    ours.reset()
    assert (ours._core.tables["seed"] == keys).all()
    assert (ours._core.tables["match"] == 1).all()


def test_seed_is_gymnasium_s_seed_plus_i_and_0_is_one() -> None:
    envs = CallBreakVectorEnv(4, deals=1)
    for first in (0, 41):
        observations, infos = envs.reset(seed=first)
        for row in range(4):
            single, info = CallBreakEnv(deals=1).reset(seed=first + row)
            same(observations[row], single)
            same(infos["action_mask"][row], info["action_mask"])
        same(envs.reset(seed=[first + row for row in range(4)])[0], observations)
    same(envs.reset(seed=0)[0], CallBreakVectorEnv(4, deals=1).reset(seed=0)[0])


@pytest.mark.parametrize("mix", ["ties", "drawn_bhoos_int8", "history_win"])
@pytest.mark.parametrize("mode", AutoresetMode)
def test_number_of_threads_does_not_matter(
    mix: str, mode: AutoresetMode, monkeypatch: pytest.MonkeyPatch, amount: Amount
) -> None:
    split, asked = threads._bounds, []
    monkeypatch.setattr(threads, "_bounds", lambda rows, parts: asked.append(parts) or split(rows, parts))
    monkeypatch.setattr(threads, "ROWS_A_THREAD", 2)
    seen = []
    for number in (1, 3, 50):
        envs = CallBreakVectorEnv(
            11,
            **MIXES[mix],
            threads=number,
            autoreset_mode=mode,
            opponents=["uniform", HighestBatch(), "uniform"],
        )
        asked.clear()
        moves = random.Random(1)
        seen.append([envs.reset(seed=30)])
        for _ in range(amount(50, no_jit=20)):
            seen[-1].append(envs.step(some(envs.action_masks(), moves, wild=0.01)))
            done = seen[-1][-1][2]
            if mode is DISABLED and done.any():
                seen[-1].append(envs.reset(options={"reset_mask": done}))
        assert bool(asked) == (number > 1)
    same(seen[1], seen[0])
    same(seen[2], seen[0])


def test_illegal_rows_of_every_thread_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "ROWS_A_THREAD", 2)
    envs = CallBreakVectorEnv(9, illegal="raise", threads=4)
    envs.reset(seed=1)
    for row in range(9):
        actions = envs.action_masks().argmax(axis=1)
        actions[row] = 3
        with pytest.raises(ValueError, match=f"1 of 9 actions is illegal, nothing was stepped\nrow {row}: "):
            envs.step(actions)


# Aliasing


def arrays_in(value: Any, path: str = "") -> list[tuple[str, npt.NDArray[Any]]]:
    """Every array in a result, the ones in arrays of objects too."""
    if isinstance(value, dict):
        return [found for key, one in value.items() for found in arrays_in(one, f"{path}/{key}")]
    if isinstance(value, np.ndarray) and value.dtype != object:
        return [(path, value)]
    if isinstance(value, (tuple, list, np.ndarray)):
        return [found for i, one in enumerate(value) for found in arrays_in(one, f"{path}/{i}")]
    return []


@pytest.mark.parametrize("mode", ["single", *AutoresetMode])
def test_what_was_returned_is_never_overwritten(mode: Any) -> None:
    env: Any = (
        CallBreakEnv(deals=1)
        if mode == "single"
        else CallBreakVectorEnv(4, deals=1, autoreset_mode=mode, rules=TIES)
    )
    moves, kept = random.Random(6), []
    results = [env.reset(seed=2)]
    for _ in range(70):
        masks = env.action_masks()
        kept.append((masks, masks.copy()))
        if mode == "single":
            results.append(env.step(one_of(masks, moves)))
            if results[-1][2]:
                results.append(env.reset())
        else:
            results.append(env.step(some(masks, moves, wild=0.02)))
            done = results[-1][2]
            if mode is DISABLED and done.any():
                results.append(env.reset(options={"reset_mask": done}))
        kept += [(array, array.copy()) for _, array in arrays_in(results[-1])]
    assert mode is not SAME_STEP or any("final_obs" in r[-1] for r in results)
    for array, before in kept:
        assert np.array_equal(array, before)
    owners = [array if array.base is None else array.base for array, _ in kept]
    assert not any(isinstance(owner, np.ndarray) and owner.dtype == TABLE for owner in owners)


@pytest.mark.parametrize("mode", ["single", NEXT_STEP, SAME_STEP])
def test_writing_into_what_was_returned_changes_no_future(mode: Any) -> None:
    def make() -> Any:
        return (
            CallBreakEnv(deals=1)
            if mode == "single"
            else CallBreakVectorEnv(4, autoreset_mode=mode, rules=TIES, seat=None)
        )

    env, twin, moves = make(), make(), random.Random(1)
    result, expected = env.reset(seed=5), twin.reset(seed=5)
    for _ in range(60):
        same(result, expected)
        masks = twin.action_masks()
        for _, array in arrays_in(result):
            array[...] = 1
        actions = one_of(masks, moves) if mode == "single" else some(masks, moves)
        over = mode == "single" and len(expected) == 5 and expected[2]
        result, expected = (env.reset(), twin.reset()) if over else (env.step(actions), twin.step(actions))


@pytest.mark.parametrize("make", [CallBreakEnv, lambda: CallBreakVectorEnv(3)], ids=["single", "vector"])
def test_writing_into_the_mask_of_info_leaves_action_masks_alone(make: Any) -> None:
    env = make()
    _, info = env.reset(seed=1)
    before = env.action_masks()
    info["action_mask"][...] = 0
    same(env.action_masks(), before)


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
def test_no_copy_mode_hands_out_the_same_arrays_with_the_same_content(mode: AutoresetMode) -> None:
    envs = CallBreakVectorEnv(4, deals=1, autoreset_mode=mode, copy=False)
    twin = CallBreakVectorEnv(4, deals=1, autoreset_mode=mode)
    first, expected = envs.reset(seed=5), twin.reset(seed=5)
    result, moves, finals = first, random.Random(1), []
    for _ in range(60):
        same(result, expected)
        assert result[0] is first[0]
        assert result[-1]["action_mask"] is first[1]["action_mask"]
        masks = envs.action_masks()
        assert not np.shares_memory(masks, first[1]["action_mask"])
        actions = some(masks, moves)
        result, expected = envs.step(actions), twin.step(actions)
        finals += [(last, last.copy()) for last in result[-1].get("final_obs", []) if last is not None]
    assert bool(finals) == (mode is SAME_STEP)
    for last, before in finals:
        assert np.array_equal(last, before)


# Opponents


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
            moves, expected = random.Random(seed), plain.reset(seed=seed)
            observation, info = env.reset(seed=seed)
            terminated = False
            while not terminated:
                same(observation, expected[0])
                action = one_of(info["action_mask"], moves)
                observation, reward, terminated, _, info = env.step(action)
                expected = plain.step(action)
                assert (reward, terminated) == (pytest.approx(expected[1]), expected[2])
            same(observation, expected[0])


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


@pytest.mark.parametrize("kind", ["single", NEXT_STEP, SAME_STEP])
def test_agent_is_told_of_each_match_once_with_its_seat_and_sees_only_its_view(kind: Any) -> None:
    diaries = [Diary() for _ in range(3)]
    options: dict[str, Any] = {"opponents": diaries, "seat": None, "deals": 2}
    env: Any = (
        CallBreakEnv(**options) if kind == "single" else CallBreakVectorEnv(1, **options, autoreset_mode=kind)
    )
    env.reset(seed=6)
    seats = [env._core.learners[0]]
    assert [len(diary.resets) for diary in diaries] == [1, 1, 1]
    moves, ends = random.Random(1), 0
    while ends < 3:
        masks = env.action_masks()
        done = env.step(one_of(masks, moves) if masks.ndim == 1 else some(masks, moves))[2]
        if np.all(done):
            ends += 1
            if kind == "single":
                env.reset()
            elif kind is NEXT_STEP:
                assert len(diaries[0].resets) == ends  # the next match starts with the next step
                env.step(np.zeros(1, np.int64))
            seats.append(env._core.learners[0])
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
        env = CallBreakEnv(opponents=UniformAgent(), deals=1, seat=1)
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
            CallBreakVectorEnv(2, opponents=opponents)
    CallBreakVectorEnv(1, opponents=Lowest()).reset(seed=1)
    CallBreakVectorEnv(2, opponents=LowestBatch()).reset(seed=1)


@pytest.mark.parametrize("answer", [0, 51, 200, -1, None, 52.5, "52", True, [52]])
def test_agent_that_answers_wrongly_is_named(answer: Any) -> None:
    with pytest.raises(ValueError, match="careless Joe"):
        bid_once([Says(answer), "uniform", "uniform"], None)


BAD_BATCHES = {
    "illegal": lambda k: np.zeros(k, np.int64),
    "no such": lambda k: np.full(k, 99),
    "negative": lambda k: np.full(k, -1),
}
RUBBISH = {
    "floats": lambda k: np.full(k, 52.5),
    "bools": lambda k: np.ones(k, np.bool_),
    "too many": lambda k: np.full(k + 1, 52),
    "a column": lambda k: np.full((k, 1), 52),
    "nothing": None,
    "text": "52",
}


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


def bid_once(opponents: Any, rows: int | None) -> None:
    env: Any = (
        CallBreakEnv(opponents=opponents) if rows is None else CallBreakVectorEnv(rows, opponents=opponents)
    )
    env.reset(seed=2)
    env.step(env.action_masks().argmax(axis=-1))


class Fails(Lowest):
    """Fails once, at the fourth question."""

    def __init__(self) -> None:
        self.asked = 0

    def act(self, view: View) -> int:
        self.asked += 1
        if self.asked == 4:
            raise ConnectionError
        return super().act(view)


@pytest.mark.parametrize("place", range(3))
def test_an_opponent_that_fails_undoes_the_step(place: int) -> None:
    """The learner may act again, as if nothing had been tried."""
    opponents: list[Any] = ["uniform"] * 3
    opponents[place] = Fails()
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


# Bad input


BAD_ARGUMENTS: list[tuple[dict[str, Any], str]] = [
    ({"rules": "x"}, "no preset 'x'"),
    ({"rules": 3}, "rules"),
    ({"deals": 0}, "deals"),
    ({"deals": 1.5}, "deals"),
    ({"deals": "1"}, "deals"),
    ({"opponents": "nobody"}, "nobody"),
    ({"opponents": 5}, "opponents"),
    ({"opponents": None}, "opponents"),
    ({"opponents": []}, "opponents"),
    ({"opponents": ["uniform"] * 2}, "opponents"),
    ({"opponents": ["uniform"] * 4}, "opponents"),
    ({"opponents": ["uniform", "uniform", 3]}, "opponent"),
    ({"opponents": ["uniform", "uniform", object()]}, "opponent"),
    ({"opponents": {"a": "uniform"}}, "opponents"),
    ({"seat": 4}, "seat"),
    ({"seat": -1}, "seat"),
    ({"seat": True}, "seat"),
    ({"seat": "0"}, "seat"),
    ({"reward": "score"}, "reward"),
    ({"reward": None}, "reward"),
    ({"illegal": "ignore"}, "illegal"),
    ({"illegal": None}, "illegal"),
    ({"encoding": "image"}, "encoding"),
    ({"encoding": 3}, "encoding"),
    ({"dtype": "int16"}, "dtype"),
    ({"dtype": None}, "dtype"),
    ({"dtype": "int8", "encoding": "history"}, "dtype"),
    ({"render_mode": "rgb_array"}, "render_mode"),
]
BAD_VECTOR_ARGUMENTS: list[tuple[dict[str, Any], str]] = [
    ({"num_envs": 0}, "num_envs"),
    ({"num_envs": -1}, "num_envs"),
    ({"num_envs": 2.0}, "num_envs"),
    ({"num_envs": True}, "num_envs"),
    ({"num_envs": None}, "num_envs"),
    ({"threads": 0}, "threads"),
    ({"threads": 1.5}, "threads"),
    ({"autoreset_mode": "sometimes"}, "AutoresetMode"),
    ({"autoreset_mode": None}, "AutoresetMode"),
]


@pytest.mark.parametrize(("arguments", "words"), BAD_ARGUMENTS)
def test_bad_arguments_are_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        CallBreakEnv(**arguments)
    with pytest.raises(ValueError, match=words):
        CallBreakVectorEnv(3, **arguments)


@pytest.mark.parametrize(("arguments", "words"), BAD_VECTOR_ARGUMENTS)
def test_bad_vector_arguments_are_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        CallBreakVectorEnv(**arguments)


def test_class_in_place_of_an_agent_is_refused() -> None:
    with pytest.raises(ValueError, match="opponent"):
        CallBreakEnv(opponents=UniformAgent).reset(seed=1)  # type: ignore[arg-type]


def test_single_and_vector_take_the_same_arguments() -> None:
    single = inspect.signature(CallBreakEnv).parameters
    vector = inspect.signature(CallBreakVectorEnv).parameters
    for name, parameter in single.items():
        assert vector[name] == parameter
    assert list(vector) == ["num_envs", *single, "autoreset_mode", "threads", "copy"]


@pytest.mark.parametrize("illegal", ["penalty", "raise"])
def test_actions_that_do_not_fit_are_refused_and_step_nothing(illegal: str) -> None:
    envs = CallBreakVectorEnv(3, illegal=illegal)
    envs.reset(seed=1)
    before = pickle.dumps(envs)
    good = envs.action_masks().argmax(axis=1)
    for wrong in (
        None,
        52,
        [],
        "52",
        [52, 52],
        [52] * 4,
        [[52]] * 3,
        [52.0] * 3,
        [True] * 3,
        [2**70] * 3,
        [None] * 3,
        good[:, None],
        good.astype(object),
        good.astype(np.float32),
        good.astype(np.complex64),
    ):
        with pytest.raises(ValueError, match="actions must be"):
            envs.step(wrong)
    assert pickle.dumps(envs) == before
    twin = pickle.loads(before)
    for right in (good.tolist(), good.astype(np.uint8), good.astype(np.int32), good[::-1][::-1]):
        same(pickle.loads(before).step(right), twin.step(good))
        twin = pickle.loads(before)


def test_several_illegal_rows_are_one_error_that_names_the_first() -> None:
    envs = CallBreakVectorEnv(10, illegal="raise")
    envs.reset(seed=1)
    good = envs.action_masks().argmax(axis=1)
    before = envs._core.tables.tobytes()
    for rows, words in (
        ([4], "1 of 10 actions is"),
        ([2, 5], "2 of 10 actions are"),
        ([9, 1, 3, 0, 8], "5 of 10"),
    ):
        actions = good.copy()
        actions[rows] = [7, -1, 65, 2**40, 51][: len(rows)]
        with pytest.raises(ValueError, match=words) as caught:
            envs.step(actions)
        lines = str(caught.value).splitlines()
        assert "nothing was stepped" in lines[0]
        named = sorted(rows)[:3]
        assert [line.split(":")[0] for line in lines[1 : 1 + len(named)]] == [f"row {row}" for row in named]
        assert ("... and 2 more" in lines) == (len(rows) == 5)
        assert envs._core.tables.tobytes() == before
    twin = CallBreakVectorEnv(10)
    twin.reset(seed=1)
    same(envs.step(good), twin.step(good))


BAD_SEEDS = [-1, 2**63, 1.5, "1", True, b"1"]


@pytest.mark.parametrize("seed", [*BAD_SEEDS, [1, 2, 3]])
def test_bad_seeds_are_refused_and_nothing_changes(seed: Any) -> None:
    env = CallBreakEnv()
    env.reset(seed=1)
    before = pickle.dumps(env)
    with pytest.raises(ValueError, match="seed"):
        env.reset(seed=seed)
    assert pickle.dumps(env) == before


@pytest.mark.parametrize(
    "seed",
    [*BAD_SEEDS, 2**63 - 2, [1, 2], [1] * 4, [1, 2, -1], [1, None, 2**63], [1, 2, "3"], [1, 2, 3.0], []],
)
def test_bad_vector_seeds_are_refused_and_nothing_changes(seed: Any) -> None:
    envs = CallBreakVectorEnv(3)
    envs.reset(seed=1)
    before = pickle.dumps(envs)
    with pytest.raises(ValueError, match="seed"):
        envs.reset(seed=seed)
    assert pickle.dumps(envs) == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dealer": 4}, "dealer"),
        ({"dealer": "0"}, "dealer"),
        ({"decks": [[1, 2]]}, "decks"),
        ({"decks": 3}, "decks"),
        ({"dealer": 1, "decks": [[*range(51), 50]]}, "decks"),
        (["dealer"], "options"),
        (3, "options"),
    ],
)
def test_bad_options_are_refused_and_nothing_changes(options: Any, words: str) -> None:
    env = CallBreakEnv()
    env.reset(seed=1)
    before = pickle.dumps(env)
    for seed in (None, 4):
        with pytest.raises(ValueError, match=words):
            env.reset(seed=seed, options=options)
        assert pickle.dumps(env) == before


def test_unknown_option_warns_once() -> None:
    env = CallBreakEnv()
    with pytest.warns(UserWarning, match="reset option 'colour' is unknown"):
        env.reset(seed=1, options={"colour": 1})
    env.reset(seed=1, options={"colour": 1})


@pytest.mark.parametrize(
    "options",
    [
        {"dealer": 1},
        {"reset_mask": np.array([True, False])},
        {"reset_mask": np.zeros(3, np.bool_)},
        {"reset_mask": np.ones(3, np.int8)},
        {"reset_mask": [1, 0, 1]},
        {"reset_mask": True},
        {"reset_mask": np.ones((3, 1), np.bool_)},
        {"reset_mask": np.ones(3, np.bool_), "dealer": 1},
    ],
)
def test_bad_vector_options_are_refused_and_nothing_changes(options: Any) -> None:
    envs = CallBreakVectorEnv(3)
    envs.reset(seed=1)
    before = pickle.dumps(envs)
    for seed in (None, 4):
        with pytest.raises(ValueError, match="reset_mask"):
            envs.reset(seed=seed, options=dict(options))
        assert pickle.dumps(envs) == before


@pytest.mark.parametrize("options", [3, ["reset_mask"]])
def test_vector_options_that_are_no_mapping_are_refused(options: Any) -> None:
    with pytest.raises(ValueError, match="options"):
        CallBreakVectorEnv(3).reset(seed=1, options=options)


def test_options_of_the_caller_stay_as_they_are() -> None:
    envs = CallBreakVectorEnv(2)
    envs.reset(seed=1)
    options = {"reset_mask": np.array([True, False])}
    envs.reset(options=options)
    assert list(options) == ["reset_mask"]


def test_stepping_before_reset_is_refused() -> None:
    with pytest.raises(NotResetError, match="reset"):
        CallBreakEnv().step(52)
    for mode in AutoresetMode:
        envs = CallBreakVectorEnv(2, autoreset_mode=mode)
        with pytest.raises(NotResetError, match="reset"):
            envs.step([52, 52])
        envs.reset(seed=1, options={"reset_mask": np.array([False, True])})
        with pytest.raises(NotResetError, match="reset"):
            envs.step([52, 52])
        envs.reset(options={"reset_mask": np.array([True, False])})
        envs.step(envs.action_masks().argmax(axis=1))


@pytest.mark.parametrize("name", ["action_masks", "view", "render"])
@pytest.mark.parametrize("rows", [None, 2])
def test_looking_before_reset_is_refused(name: str, rows: int | None) -> None:
    env: Any = (
        CallBreakEnv(render_mode="ansi") if rows is None else CallBreakVectorEnv(rows, render_mode="ansi")
    )
    arguments = [0] if rows and name == "view" else []
    with pytest.raises(NotResetError, match="reset"):
        getattr(env, name)(*arguments)


def test_rows_of_view_are_checked() -> None:
    envs = CallBreakVectorEnv(2)
    envs.reset(seed=1)
    assert envs.view(1).viewer == 0
    for row in (-1, 2, 1.0, "0", None, True):
        with pytest.raises(ValueError, match="row"):
            envs.view(row)


# Rendering


def test_rendering_shows_the_learner_s_view(capsys: pytest.CaptureFixture[str]) -> None:
    env, plain = CallBreakEnv(render_mode="ansi", seat=3), Plain(3, [uniform] * 3)
    envs = CallBreakVectorEnv(2, render_mode="ansi", seat=3)
    loud = CallBreakEnv(render_mode="human", seat=3)
    _, info = env.reset(seed=4)
    plain.reset(seed=4)
    envs.reset(seed=4)
    loud.reset(seed=4)
    for _ in range(20):
        picture = env.render()
        assert picture == str(plain.match.view(3)) == str(env.view())
        frames = envs.render()
        assert type(frames) is tuple
        assert (len(frames), frames[0]) == (2, picture)
        assert capsys.readouterr().out.strip() == picture.strip()
        assert loud.render() is None
        assert capsys.readouterr().out.strip() == picture.strip()
        action = int(info["action_mask"].argmax())
        *_, info = env.step(action)
        loud.step(action)
        plain.step(action)
        actions = envs.action_masks().argmax(axis=1)
        assert actions[0] == action
        envs.step(actions)


def test_rendering_spends_no_randomness_and_warns_without_a_mode(capsys: pytest.CaptureFixture[str]) -> None:
    env, twin = CallBreakEnv(), CallBreakEnv(render_mode="ansi", opponents=UniformAgent())
    env.reset(seed=1)
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None
    quiet = CallBreakEnv(opponents=UniformAgent())
    quiet.reset(seed=1)
    twin.reset(seed=1)
    for _ in range(20):
        twin.render()
        action = int(quiet.action_masks().argmax())
        same(twin.step(action), quiet.step(action))
    envs = CallBreakVectorEnv(2, render_mode="human")
    envs.reset(seed=1)
    capsys.readouterr()
    assert envs.render() == (None, None)
    assert capsys.readouterr().out.count("Deal 1 of 5") == 2
    for kind in (CallBreakEnv, lambda **o: CallBreakVectorEnv(2, **o)):
        assert kind(render_mode="ansi").metadata["render_modes"] == ["human", "ansi"]


# Copies


SINGLE_KINDS: dict[str, dict[str, Any]] = {
    "plain": {"deals": 1},
    "drawn": {"rules": TIES, "seat": None, "dtype": "int8"},
    "agents": {"opponents": [UniformAgent(), DrawingBatch(), "uniform"], "deals": 1},
}
VECTOR_KINDS: dict[str, dict[str, Any]] = {
    "next_step": {"rules": TIES, "seat": None},
    "same_step": {"rules": TIES, "autoreset_mode": SAME_STEP, "dtype": "int8"},
    "batched": {"opponents": DrawingBatch(), "deals": 1, "encoding": "history"},
    "no_copy": {"deals": 1, "copy": False},
}
COPIES = {"pickle": lambda env: pickle.loads(pickle.dumps(env)), "deepcopy": copy.deepcopy}


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("kind", [*SINGLE_KINDS, *VECTOR_KINDS])
def test_copy_in_mid_play_has_an_equal_future_of_its_own(kind: str, how: str) -> None:
    env: Any = (
        CallBreakEnv(**copy.deepcopy(SINGLE_KINDS[kind]))
        if kind in SINGLE_KINDS
        else CallBreakVectorEnv(4, **copy.deepcopy(VECTOR_KINDS[kind]))
    )
    COPIES[how](env)  # before the first reset, too
    env.reset(seed=12)
    played(env, 9, random.Random(1))
    branch, other = COPIES[how](env), COPIES[how](env)
    same(branch.action_masks(), env.action_masks())
    played(other, 5, random.Random(7))  # another line does not disturb these two
    moves, again = random.Random(2), random.Random(2)
    for _ in range(50):
        same(played(branch, 1, moves), played(env, 1, again))
    same(branch.reset(), env.reset())
    same(branch.reset(seed=3), env.reset(seed=3))
    if kind != "next_step":
        return
    fresh = COPIES[how](CallBreakVectorEnv(4))
    same(fresh.reset(seed=1), CallBreakVectorEnv(4).reset(seed=1))


@pytest.mark.parametrize("rows", [None, 3])
def test_unseeded_copy_draws_the_same_next_match(rows: int | None) -> None:
    env: Any = CallBreakEnv() if rows is None else CallBreakVectorEnv(rows)
    env.reset()
    twin = copy.deepcopy(env)
    same(env.reset(), twin.reset())
    assert env.np_random.random() == twin.np_random.random()
