"""Bugs that users of comparable projects met, by the number of their report: the right value here.

Rows that ask for what the contract asks anyway (hidden masks, use before reset, use after the end, attribute
forwarding, per-seat views, hash seeds) are tested with it, in ``test_aec.py`` and ``test_observation.py``.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pettingzoo.test import seed_test
from pettingzoo.utils import BaseWrapper
from pettingzoo.utils.env import AECEnv
from pettingzoo.utils.wrappers import MultiEpisodeEnv

from callbreak_env import Match, callbreak_v0
from callbreak_env.cards import NUM_CARDS
from callbreak_env.rules import Rules


def loop(env: AECEnv, moves: random.Random) -> dict[str, float]:
    """The loop of PettingZoo's documentation; returns what each agent was given by ``last``."""
    returns = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, _ = env.last()
        returns[agent] += reward
        done = terminated or truncated
        env.step(None if done else moves.choice(np.flatnonzero(observation["action_mask"]).tolist()))
    return returns


def test_pettingzoo_1271_copies_share_the_next_deal_but_not_the_stream() -> None:
    env = callbreak_v0.raw_env()
    env.reset(seed=6)
    for agent in env.possible_agents:
        env.action_space(agent).seed(1)
    for _ in range(40):
        env.step(env.match.legal_actions()[0])
    clone = env.clone()
    clone.reset()
    clone.reset()
    clone.action_space("player_0").sample()
    env.reset()
    assert env.match.number == 1
    assert clone.match.number == 2
    again = clone.clone()
    assert again.action_space("player_0").sample() == clone.action_space("player_0").sample()


def test_pettingzoo_1459_zero_is_a_seed_also_over_many_episodes() -> None:
    def deals(seed: int | None) -> list[list[list[int]]]:
        env = MultiEpisodeEnv(callbreak_v0.env(rules="single_deal"), num_episodes=2)
        env.reset(seed=seed)
        moves, hands = random.Random(1), [env.unwrapped.match.hands]
        for agent in env.agent_iter():
            observation, _, terminated, truncated, _ = env.last()
            if env.unwrapped.match.plays == [] and env.unwrapped.match.hands not in hands:
                hands.append(env.unwrapped.match.hands)
            done = terminated or truncated
            env.step(None if done else moves.choice(np.flatnonzero(observation["action_mask"]).tolist()))
            assert agent
        return hands

    assert deals(0) == deals(0)
    assert deals(0) != deals(1)
    assert deals(0)[0] == Match("single_deal", seed=0).hands
    assert deals(None) != deals(None)


def test_pettingzoo_1085_no_agent_is_dead_without_a_flag(amount: Callable[..., int]) -> None:
    games = amount(300, nightly=10_000, no_jit=5)
    rules = Rules(deals=1, min_bid=2, max_bid=3)  # ties, and so extra deals, are common
    env, moves, extra = callbreak_v0.env(rules=rules), random.Random(10), 0
    for game in range(games):
        env.reset(seed=game)
        live = set(env.agents)
        while env.agents:
            agent = env.agent_selection
            observation, _, terminated, truncated, _ = env.last()
            assert not truncated
            assert terminated or agent in live
            if terminated:
                live.discard(agent)
                env.step(None)
            else:
                env.step(moves.choice(np.flatnonzero(observation["action_mask"]).tolist()))
        extra += env.unwrapped.match.is_extra_deal
    assert games < 100 or extra > games / 50


def test_pettingzoo_1244_the_documented_loop_runs_to_the_end() -> None:
    for make in (callbreak_v0.env, callbreak_v0.raw_env):
        env = make()
        env.reset(seed=2)
        loop(env, random.Random(2))
        assert env.agents == []
        assert env.unwrapped.match.is_over


class Mask(BaseWrapper):
    """Leaves the mask in the info only, or in the observation only."""

    def __init__(self, env: AECEnv, place: str) -> None:
        super().__init__(env)
        self.place = place

    def observation_space(self, agent: str) -> Any:
        space = super().observation_space(agent)
        return space["observation"] if self.place == "info" else space

    def observe(self, agent: str) -> Any:
        observation = super().observe(agent)
        return observation["observation"] if self.place == "info" else observation

    def last(self, observe: bool = True) -> Any:
        observation, *rest, info = self.env.last(observe)
        if self.place == "info":
            return (observation and observation["observation"], *rest, info)
        return (observation, *rest, {})


@pytest.mark.filterwarnings("ignore:reset option 'options' is unknown:UserWarning")
@pytest.mark.parametrize("place", ["info", "observation", "both"])
def test_pettingzoo_1117_the_mask_is_found_in_either_place(place: str) -> None:
    def make() -> AECEnv:
        env = callbreak_v0.raw_env(rules="single_deal")
        return env if place == "both" else Mask(env, place)

    seed_test(make, num_cycles=100)


def test_pettingzoo_1038_masks_are_int8_and_samples_legal(amount: Callable[..., int]) -> None:
    env = callbreak_v0.raw_env()
    samples, total = 0, amount(10_000, no_jit=1000)
    for seat, agent in enumerate(env.possible_agents):
        env.action_space(agent).seed(seat)
    while samples < total:
        env.reset(seed=samples)
        while env.agents:
            observation, _, terminated, _, info = env.last()
            mask = observation["action_mask"]
            assert mask is info["action_mask"]
            assert (mask.dtype, mask.shape) == (np.int8, (65,))
            assert mask.view(bool).tolist() == (mask == 1).tolist()
            if terminated:
                env.step(None)
                continue
            action = env.action_space(env.agent_selection).sample(mask)
            samples += 1
            env.step(action)  # raises where it is illegal


@pytest.mark.parametrize("reward", ["points", "zero_sum", "win"])
def test_tianshou_900_the_rewards_of_all_steps_add_up_to_the_returns(reward: str) -> None:
    for seed in range(12):
        env = callbreak_v0.raw_env(rules=Rules(deals=2, min_bid=2, max_bid=2), reward=reward)
        env.reset(seed=seed)
        moves, summed = random.Random(seed), dict.fromkeys(env.possible_agents, 0.0)
        given = dict.fromkeys(env.possible_agents, 0.0)
        while env.agents:
            agent = env.agent_selection
            observation, last, terminated, _, _ = env.last()
            given[agent] += last
            env.step(
                None if terminated else moves.choice(np.flatnonzero(observation["action_mask"]).tolist())
            )
            if not terminated:
                for each, amount in env.rewards.items():
                    summed[each] += amount
        assert summed == pytest.approx(given, abs=1e-9)


def test_ray_9029_a_seat_that_did_not_just_act_keeps_its_reward() -> None:
    for seed in range(20):
        env = callbreak_v0.raw_env(rules=Rules(deals=2, min_bid=2, max_bid=3))
        env.reset(seed=seed)
        moves, extra = random.Random(seed), [0] * 4
        returns = loop(env, moves)
        match = env.match
        if match.is_extra_deal:
            extra = match.points
        final = [(total + more) / 10 for total, more in zip(match.totals, extra, strict=True)]
        assert list(returns.values()) == pytest.approx(final, abs=1e-9)


def test_rlcard_324_the_uniform_agents_bids_do_not_collapse(amount: Callable[..., int]) -> None:
    matches, bids = amount(400, no_jit=20), Counter[int]()
    env = callbreak_v0.raw_env(rules="single_deal")
    for seat, agent in enumerate(env.possible_agents):
        env.action_space(agent).seed(seat)
    for seed in range(matches):
        env.reset(seed=seed)
        while env.match.phase == "bidding":
            mask = env.last()[0]["action_mask"]
            action = int(env.action_space(env.agent_selection).sample(mask))
            bids[action - NUM_CARDS + 1] += 1
            env.step(action)
    assert set(bids) <= set(range(2, 14))
    if matches >= 400:
        assert all(bids[bid] == pytest.approx(matches * 4 / 12, rel=0.4) for bid in range(2, 14))
