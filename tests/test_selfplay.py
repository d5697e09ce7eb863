"""Self-play in batches: each row is the scalar game."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from callbreak_env import Match, Rules, callbreak_v0
from callbreak_env.engine.scoring import REWARDS
from callbreak_env.envs.selfplay import SelfPlayEnv
from callbreak_env.rules import PRESETS
from conftest import JIT
from positions import VARIETY
from selfplays import APART, SEATS, TIES, Tables, follow
from test_properties import RULES, SEEDS


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
            assert after.terminations[i].tolist() == done
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
