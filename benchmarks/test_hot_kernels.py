"""Guards of the hot kernels, by pytest-benchmark.

    pytest -n 0 benchmarks --benchmark-save=before        (then change something)
    pytest -n 0 benchmarks --benchmark-compare --benchmark-compare-fail=median:15%

On a shared machine compare runs that follow each other. In CI they run once each, untimed, to stay alive.
"""

from __future__ import annotations

import numpy as np
import pytest

from callbreak_env import Match, SelfPlayEnv, make_agent
from callbreak_env.engine.agents import act_rows
from callbreak_env.engine.loops import play_policy
from callbreak_env.engine.policies import POLICIES
from callbreak_env.engine.worlds import WORLDS, open_worlds, sample_worlds
from callbreak_env.envs.rows import count_illegal, sample_rows
from callbreak_env.envs.vector import CallBreakVectorEnv
from callbreak_env.playouts import playouts

ROWS = 1024


@pytest.mark.parametrize("policy", ["uniform", "rule_based"])
def test_engine_steps(benchmark, policy: str) -> None:
    env = SelfPlayEnv(ROWS, encoding=None, threads=1)
    env.reset(seed=1)
    benchmark(play_policy, env.tables, env.rules_array, POLICIES[policy], 10)


def test_search_decisions(benchmark) -> None:
    env = SelfPlayEnv(16, encoding=None, threads=1)
    env.reset(seed=1)
    record, actions = make_agent("pimc").record_array, np.zeros(16, np.int64)
    benchmark(act_rows, 0, 16, record, env.tables, env.rules_array, actions)


@pytest.mark.parametrize("form", ["none", "int8", "float32", "history"])
def test_self_play_steps(benchmark, form: str) -> None:
    encoding = {"none": None, "history": "history"}.get(form, "flat")
    env = SelfPlayEnv(
        ROWS, encoding=encoding, dtype="int8" if form == "int8" else "float32", threads=1, copy=False
    )
    env.reset(seed=1)

    def steps() -> None:
        for _ in range(10):
            env.step(env.sample_actions())

    benchmark(steps)


def test_check_and_sample(benchmark) -> None:
    env = SelfPlayEnv(ROWS, encoding=None, threads=1)
    env.reset(seed=1)
    actions = np.zeros(ROWS, np.int64)

    def both() -> int:
        sample_rows(0, ROWS, env.tables, env._words, actions)
        return count_illegal(0, ROWS, env._words, actions)

    assert benchmark(both) == 0


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_learner_steps(benchmark, dtype: str) -> None:
    env = CallBreakVectorEnv(ROWS, dtype=dtype, threads=1, copy=False)
    env.reset(seed=1)
    benchmark(lambda: env.step(env.sample_actions()))


def test_playouts(benchmark) -> None:
    match = Match(seed=1)
    benchmark(lambda: playouts(match, 100, seed=1))


@pytest.mark.parametrize("played", [0, 24, 44])
def test_worlds(benchmark, played: int) -> None:
    match, rng = Match("single_deal", seed=1), np.random.default_rng(1)
    while match.phase == "bidding" or len(match.plays) < played:
        match.apply(int(rng.choice(match.legal_actions())))
    worlds, hands = np.zeros(1, WORLDS), np.zeros((1000, 4), np.uint64)
    view = match.view(match.seat)

    def build_and_draw() -> int:
        count = open_worlds(view.record_array, view.viewer, worlds)
        sample_worlds(worlds, np.uint64(1), hands)
        return int(count)

    assert benchmark(build_and_draw) > 0
