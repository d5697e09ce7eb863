"""The Gymnasium environment: one learner checked against the PettingZoo table."""

from __future__ import annotations

import itertools
import pickle
import random
from collections import Counter

import numpy as np
import pytest

from callbreak_env import IllegalAction, Rules
from callbreak_env.envs.single import CallBreakEnv
from callbreak_env.errors import NotResetError
from callbreak_env.observation import encode
from learners import TIES, Amount, Plain, one_of, same, uniform


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
