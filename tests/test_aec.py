"""The PettingZoo environment: its contract, line by line."""

from __future__ import annotations

import copy
import hashlib
import os
import pickle
import random
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pettingzoo
import pytest
from gymnasium import spaces
from pettingzoo.test import api_test, performance_benchmark, render_test, seed_test

from callbreak_env import IllegalAction, Match, Rules, callbreak_v0
from callbreak_env.cards import cards_of
from callbreak_env.errors import NotResetError
from callbreak_env.observation import STATE_WIDTH, WIDTH, split
from positions import extra_deal_opening

AGENTS = [f"player_{seat}" for seat in range(4)]
FORMS = {"raw": callbreak_v0.raw_env, "wrapped": callbreak_v0.env}
UNKNOWN_OPTION = pytest.mark.filterwarnings("ignore:reset option 'options' is unknown:UserWarning")


def choice(env: Any, moves: random.Random) -> int | None:
    """A random legal action for the agent to act, None for one that is done."""
    observation, _, terminated, truncated, _ = env.last()
    if terminated or truncated:
        return None
    return moves.choice(np.flatnonzero(observation["action_mask"]).tolist())


def play(env: Any, seed: int = 1, steps: int | None = None) -> list[Any]:
    """Random legal play for so many steps or to the end; everything that ``last`` gave on the way."""
    moves, seen = random.Random(seed), []
    while env.agents and (steps is None or len(seen) < steps):
        observation, reward, terminated, truncated, info = env.last()
        data = observation["observation"].tobytes() + observation["action_mask"].tobytes()
        mask = info["action_mask"].tobytes()
        seen.append(
            (env.agent_selection, hashlib.sha256(data).hexdigest(), reward, terminated, truncated, mask)
        )
        env.step(choice(env, moves))
    return seen


def started(form: str = "raw", *, seed: int = 3, steps: int = 0, **arguments: Any) -> Any:
    env = FORMS[form](**arguments)
    env.reset(seed=seed)
    play(env, steps=steps)
    return env


def at_extra_deal(tied: tuple[int, ...], reward: str = "points") -> Any:
    """An environment that has just come to the extra deal of some seats."""
    match, actions = extra_deal_opening(tied)
    env = callbreak_v0.raw_env(rules=match.rules, reward=reward)
    env.reset(seed=match.seed)
    for action in actions:
        env.step(action)
    return env


# PettingZoo's own tests


@UNKNOWN_OPTION
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("encoding", ["flat", "history"])
@pytest.mark.parametrize("reward", ["points", "zero_sum", "win"])
def test_api(form: str, encoding: str, reward: str, capsys: pytest.CaptureFixture[str]) -> None:
    api_test(FORMS[form](encoding=encoding, reward=reward, rules="single_deal"), num_cycles=300)
    assert "Passed API test" in capsys.readouterr().out


@UNKNOWN_OPTION
@pytest.mark.parametrize("form", FORMS)
def test_seed(form: str) -> None:
    seed_test(FORMS[form], num_cycles=400)


@UNKNOWN_OPTION
def test_render(capsys: pytest.CaptureFixture[str]) -> None:
    render_test(lambda render_mode=None: callbreak_v0.env(rules="single_deal", render_mode=render_mode))
    assert "♠" in capsys.readouterr().out


def test_performance_benchmark_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from pettingzoo.test import performance_benchmark as module

    ticks = iter(range(1000))
    clock = sys.modules[module.__module__].time
    monkeypatch.setattr(clock, "time", lambda: next(ticks))
    performance_benchmark(callbreak_v0.raw_env())
    assert "turns per second" in capsys.readouterr().out


# Spaces, observations, masks


def test_spaces_are_declared_and_stay_the_same_objects() -> None:
    for encoding, box in (
        ("flat", spaces.Box(-1.0, 1.0, (WIDTH,), np.float32)),
        ("history", spaces.Box(-1, 64, (125,), np.int16)),
    ):
        env = callbreak_v0.raw_env(encoding=encoding)
        for agent in AGENTS:
            space = env.observation_space(agent)
            assert list(space) == ["observation", "action_mask"]
            assert space["observation"] == box
            assert space["action_mask"] == spaces.Box(0, 1, (65,), np.int8)
            assert env.action_space(agent) == spaces.Discrete(65)
            assert env.observation_space(agent) is space is env.observation_spaces[agent]
            assert env.action_space(agent) is env.action_space(agent) is env.action_spaces[agent]
        assert env.state_space == spaces.Box(-1.0, 1.0, (STATE_WIDTH,), np.float32)


@pytest.mark.parametrize("encoding", ["flat", "history"])
def test_masks_and_observations_of_all_seats_at_every_step(encoding: str) -> None:
    env, moves = started(rules=Rules(deals=2), encoding=encoding), random.Random(5)
    while env.agents:
        hands = []
        for agent in AGENTS:
            observation = env.observe(agent)
            assert list(observation) == ["observation", "action_mask"]
            assert env.observation_space(agent).contains(observation)
            if agent in env.infos:
                assert observation["action_mask"] is env.infos[agent]["action_mask"]
            turn = agent == env.agent_selection and not env.terminations[agent]
            assert bool(observation["action_mask"].any()) == turn
            if encoding == "flat":
                hands.append(split(observation["observation"])["hand"])
        if hands:
            held = np.sum(hands, axis=0)
            played = sum(map(int, env.match.record_array["played"][0]))
            assert sorted(np.flatnonzero(held)) == sorted(set(range(52)) - set(cards_of(played)))
            assert held.max(initial=0) <= 1
        env.step(choice(env, moves))


def test_what_was_given_out_is_never_overwritten() -> None:
    env, moves, held = started(rules="single_deal"), random.Random(2), []
    while env.agents:
        observation, _, _, _, info = env.last()
        held.append(
            [(array, array.copy()) for array in (*observation.values(), info["action_mask"], env.state())]
        )
        env.step(choice(env, moves))
    assert all((array == copied).all() for row in held for array, copied in row)


def test_state_shows_all_hands_in_its_space() -> None:
    env = started(steps=30)
    state = env.state()
    assert env.state_space.contains(state)
    others = state[WIDTH : WIDTH + 156].reshape(3, 52)
    assert [np.flatnonzero(hand).tolist() for hand in others] == env.match.hands[1:]


# Rewards and ends


@pytest.mark.parametrize("reward", ["points", "zero_sum", "win"])
@pytest.mark.parametrize("preset", ["standard", "partnership", "bhoos"])
def test_rewards_come_at_the_step_that_ends_a_deal(reward: str, preset: str) -> None:
    env, moves = started(rules=preset, reward=reward, seed=9), random.Random(9)
    returns = dict.fromkeys(AGENTS, 0.0)
    deals = 0
    while env.agents:
        agent = env.agent_selection
        returns[agent] += env.last()[1]
        live = not env.terminations[agent]
        deal = env.match.deal
        env.step(choice(env, moves))
        if not live:
            continue
        ended = env.match.deal != deal or env.match.is_over
        deals += ended
        points = [point / 10 for point in env.match.points]
        expected = [0.0] * 4
        if ended and reward == "points":
            expected = points
        elif ended and reward == "zero_sum":
            expected = [point - sum(points) / 4 for point in points]
        elif env.match.is_over:
            expected = [(seat in env.match.winners) / len(env.match.winners) for seat in range(4)]
        assert list(env.rewards.values()) == pytest.approx(expected, abs=1e-12)
        if ended and reward == "points":
            assert list(env.rewards.values()) == expected
    assert deals == 5
    if reward == "points":
        assert list(returns.values()) == pytest.approx([total / 10 for total in env.match.totals])
    else:
        assert sum(returns.values()) == pytest.approx(0.0 if reward == "zero_sum" else 1.0)


@pytest.mark.parametrize("tied", [(0, 1), (1, 3), (0, 2, 3), (0, 1, 2, 3)])
def test_seats_not_in_the_extra_deal_are_done_before_it(tied: tuple[int, ...]) -> None:
    env = at_extra_deal(tied)
    out = [seat for seat in range(4) if seat not in tied]
    points = [point / 10 for point in env.match.points]
    assert {agent: env.terminations[agent] for agent in AGENTS} == {AGENTS[s]: s in out for s in range(4)}
    for seat in out:
        assert env.agent_selection == AGENTS[seat]
        observation, reward, terminated, truncated, _ = env.last()
        assert (reward, terminated, truncated) == (points[seat], True, False)
        assert not observation["action_mask"].any()
        env.step(None)
        assert AGENTS[seat] not in env.agents
    assert env.agents == [AGENTS[seat] for seat in tied]
    assert env.agent_selection == AGENTS[env.match.seat]
    assert env.match.seat == next(s % 4 for s in range(env.match.dealer + 1, 9) if s % 4 in tied)
    returns = {agent: env._cumulative_rewards[agent] for agent in env.agents}
    assert returns == {AGENTS[seat]: points[seat] for seat in tied}
    moves = random.Random(4)
    extra = dict.fromkeys(env.agents, 0.0)
    first = set(env.agents)
    while env.agents:
        agent = env.agent_selection
        extra[agent] += 0.0 if agent in first else env.last()[1]
        first.discard(agent)
        env.step(choice(env, moves))
    final = [point / 10 for point in env.match.points]
    assert extra == {AGENTS[seat]: final[seat] for seat in tied}


@pytest.mark.parametrize("tied", [(0, 1), (0, 2, 3)])
def test_zero_sum_is_over_the_seats_in_the_deal(tied: tuple[int, ...]) -> None:
    env, moves = at_extra_deal(tied, reward="zero_sum"), random.Random(1)
    while not env.match.is_over:
        env.step(choice(env, moves))
    points = {AGENTS[seat]: env.match.points[seat] / 10 for seat in tied}
    mean = sum(points.values()) / len(tied)
    assert env.rewards == pytest.approx({agent: point - mean for agent, point in points.items()})


@pytest.mark.parametrize("form", FORMS)
def test_the_end_terminates_all_together_and_truncates_nobody(form: str) -> None:
    env, moves = started(form, rules="single_deal"), random.Random(3)
    while not env.unwrapped.match.is_over:
        assert not any(env.truncations.values())
        assert all(type(flag) is bool for flag in env.terminations.values())
        env.step(choice(env, moves))
    assert env.agents == AGENTS
    assert list(env.terminations.values()) == [True] * 4
    assert all(type(flag) is bool for flag in (*env.terminations.values(), *env.truncations.values()))
    assert list(env.truncations.values()) == [False] * 4
    for left in (3, 2, 1, 0):
        env.step(None)
        assert len(env.agents) == left
    assert env.possible_agents == AGENTS


def test_a_dead_step_takes_only_none() -> None:
    env, moves = started(rules="single_deal"), random.Random(3)
    while not env.match.is_over:
        env.step(choice(env, moves))
    with pytest.raises(ValueError, match="the only valid action is None"):
        env.step(3)


# Reset


def test_reset_options_fix_dealer_and_decks() -> None:
    env = callbreak_v0.raw_env()
    order = list(range(51, -1, -1))
    env.reset(seed=1, options={"dealer": 2, "decks": [order]})
    assert env.match.dealer == 2
    assert env.agent_selection == "player_3"
    assert env.match.hands[3] == sorted(order[0::4])


@pytest.mark.parametrize(
    ("seed", "options", "message"),
    [
        (-1, None, "seed must be from 0"),
        (2**63, None, "seed must be from 0"),
        (1.5, None, "seed must be a whole number"),
        (None, {"dealer": 4}, "dealer must be a seat"),
        (None, {"decks": [[0] * 52]}, r"decks\[0\] must hold each card"),
        (3, {"decks": 7}, "decks must be decks of 52"),
        (3, ["dealer"], "options must be by name, not list"),
    ],
)
def test_a_bad_reset_changes_nothing(seed: Any, options: Any, message: str) -> None:
    env, other = started(steps=20), started(steps=20)
    before = pickle.dumps(env)
    with pytest.raises(ValueError, match=message):
        env.reset(seed=seed, options=options)
    assert pickle.dumps(env) == before
    assert play(env) == play(other)
    env.reset()
    other.reset()
    assert env.match.hands == other.match.hands


def test_unknown_options_warn_once() -> None:
    env = callbreak_v0.raw_env()
    with pytest.warns(
        UserWarning, match="reset option 'hands' is unknown and ignored: options are dealer, decks"
    ):
        env.reset(seed=1, options={"hands": 3, "dealer": 1})
    assert env.match.dealer == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env.reset(seed=1, options={"hands": 3})


@pytest.mark.parametrize("form", FORMS)
def test_without_a_seed_the_stream_goes_on(form: str) -> None:
    streams = []
    for _ in range(2):
        env = FORMS[form]()
        env.reset(seed=0)
        stream = [env.unwrapped.match.hands]
        for _ in range(3):
            env.reset()
            stream.append(env.unwrapped.match.hands)
        streams.append(stream)
    assert streams[0] == streams[1]
    assert len({str(hands) for hands in streams[0]}) == 4
    assert streams[0] == [Match(seed=0, number=number).hands for number in range(4)]
    fresh = [FORMS[form]() for _ in range(2)]
    for env in fresh:
        env.reset()
    assert fresh[0].unwrapped.match.hands != fresh[1].unwrapped.match.hands


# Copies


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("steps", [0, 2, 40, 57, 100])
def test_copies_in_mid_match_have_equal_futures(form: str, steps: int) -> None:
    env = started(form, rules=Rules(deals=3), steps=steps)
    copies = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    if form == "raw":
        copies.append(env.clone())
    futures = []
    for each in (*copies, env):
        future = play(each)
        each.reset()
        futures.append((future, each.unwrapped.match.hands, play(each)))
    assert all(future == futures[0] for future in futures)


def test_a_copy_is_independent() -> None:
    env = started(steps=40)
    before = env.match.record()
    for seat, agent in enumerate(AGENTS):
        env.action_space(agent).seed(seat)
    clone = env.clone()
    assert [clone.action_space(a).sample() for a in AGENTS] == [env.action_space(a).sample() for a in AGENTS]
    play(clone)
    clone.reset()
    assert env.match.record() == before
    env.reset()
    assert env.match.hands == clone.match.hands


TRAJECTORY = """
import random, sys
sys.path.insert(0, {tests!r})
from test_aec import started, play
import hashlib
print(hashlib.sha256(repr(play(started(seed=11))).encode()).hexdigest())
"""


def test_equal_trajectories_in_other_processes_and_under_other_hash_seeds() -> None:
    here = hashlib.sha256(repr(play(started(seed=11))).encode()).hexdigest()
    code = TRAJECTORY.format(tests=str(Path(__file__).parent))
    for hash_seed in ("0", "1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed}
        run = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        assert run.stdout.strip() == here
    assert here != hashlib.sha256(repr(play(started(seed=12))).encode()).hexdigest()


def test_global_random_states_are_neither_read_nor_touched() -> None:
    trajectories = []
    for seed in (1, 2):
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - the process-wide generator is what is watched
        states = (random.getstate(), pickle.dumps(np.random.get_state()))  # noqa: NPY002
        env = started(seed=4)
        env.render_mode = "ansi"
        trajectories.append(play(env, seed=5))
        env.render()
        env.state()
        unseeded = callbreak_v0.raw_env()
        unseeded.reset()
        play(unseeded, steps=10)
        assert (random.getstate(), pickle.dumps(np.random.get_state())) == states  # noqa: NPY002
    assert trajectories[0] == trajectories[1]


# Wrong use


NAMES = (
    "match",
    "agents",
    "agent_selection",
    "rewards",
    "terminations",
    "truncations",
    "infos",
    "num_agents",
)
CALLS = {
    "observe": lambda env: env.observe("player_0"),
    "last": lambda env: env.last(),
    "step": lambda env: env.step(0),
    "state": lambda env: env.state(),
    "agent_iter": lambda env: next(iter(env.agent_iter())),
}


@pytest.mark.parametrize("name", NAMES)
def test_attributes_before_the_first_reset_name_it(name: str) -> None:
    with pytest.raises(NotResetError, match=r"call reset\(\) first"):
        getattr(callbreak_v0.raw_env(), name)
    assert not hasattr(callbreak_v0.raw_env(), name)
    with pytest.raises(AttributeError, match="reset"):
        getattr(callbreak_v0.env(), name)


@pytest.mark.parametrize("name", CALLS)
def test_calls_before_the_first_reset_name_it(name: str) -> None:
    with pytest.raises(NotResetError, match=r"call reset\(\) first"):
        CALLS[name](callbreak_v0.raw_env())
    with pytest.raises(Exception, match="reset"):
        CALLS[name](callbreak_v0.env())


def test_render_before_the_first_reset_names_it() -> None:
    with pytest.raises(NotResetError, match=r"call reset\(\) first"):
        callbreak_v0.raw_env(render_mode="ansi").render()


def test_after_the_end_observing_works_and_acting_names_reset() -> None:
    env = started(rules="single_deal")
    play(env)
    assert env.agents == []
    for agent in AGENTS:
        observation = env.observe(agent)
        assert env.observation_space(agent).contains(observation)
        assert not observation["action_mask"].any()
    assert env.state().shape == (STATE_WIDTH,)
    assert list(env.agent_iter()) == []
    for call in (env.last, lambda: env.step(None), lambda: env.step(3)):
        with pytest.raises(NotResetError, match=r"nobody is left to act: call reset\(\)"):
            call()
    env.reset()
    assert env.agents == AGENTS


def test_an_unknown_agent_is_named() -> None:
    with pytest.raises(ValueError, match="there is no agent 'player_4': agents are player_0"):
        started().observe("player_4")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"reward": "score"}, "reward='score': choose one of 'points', 'zero_sum', 'win'"),
        ({"encoding": "planes"}, "there is no encoding 'planes': choose 'flat' or 'history'"),
        ({"render_mode": "rgb_array"}, "render_mode='rgb_array': choose None, 'human' or 'ansi'"),
        ({"rules": "whist"}, "there is no preset 'whist'"),
    ],
)
def test_bad_arguments_are_one_clear_error(arguments: dict[str, str], message: str) -> None:
    for make in FORMS.values():
        with pytest.raises(ValueError, match=message):
            make(**arguments)


def test_an_illegal_action_in_the_raw_environment_changes_nothing() -> None:
    env, other = started(steps=30), started(steps=30)
    before = pickle.dumps(env)
    mask = env.observe(env.agent_selection)["action_mask"]
    for action in np.flatnonzero(mask == 0).tolist():
        with pytest.raises(IllegalAction):
            env.step(action)
    for action in (-1, 65, None, "3", 2.0):
        with pytest.raises(ValueError, match=r"action"):
            env.step(action)
    assert pickle.dumps(env) == before
    assert play(env) == play(other)


def test_an_illegal_action_in_the_wrapped_environment_ends_the_match(
    caplog: pytest.LogCaptureFixture,
) -> None:
    env = started("wrapped", steps=30)
    agent = env.agent_selection
    mask = env.observe(agent)["action_mask"]
    env.step(int(np.flatnonzero(mask == 0)[0]))
    assert env.rewards == {each: -13.0 if each == agent else 0 for each in AGENTS}
    assert all(env.terminations.values())
    rewards = {}
    for each in env.agent_iter():
        rewards[each] = env.last()[1]
        env.step(None)
    assert rewards[agent] == -13.0
    assert env.agents == []
    env.reset()
    assert env.agents == AGENTS


# The rest


def test_attributes_are_forwarded_by_the_wrappers() -> None:
    env = callbreak_v0.env(render_mode="ansi", rules="bhoos")
    raw = env.unwrapped
    for name in (
        "possible_agents",
        "observation_spaces",
        "action_spaces",
        "render_mode",
        "metadata",
        "rules",
    ):
        assert getattr(env, name) is getattr(raw, name)
    env.reset(seed=1)
    assert env.match is raw.match
    assert (env.match.totals, env.match.bids, env.match.trick) == ([0] * 4, [None] * 4, [])
    assert env.num_agents == env.max_num_agents == 4
    assert str(env) == "callbreak_v0"


def test_rendering(capsys: pytest.CaptureFixture[str]) -> None:
    env = started(render_mode="ansi")
    assert env.render() == str(env.match)
    assert capsys.readouterr().out == ""
    human = started(render_mode="human")
    first = capsys.readouterr().out
    assert first == f"{human.match}\n\n"
    play(human, steps=3)
    assert capsys.readouterr().out.count("Deal 1 of 5") == 3
    assert human.render() is None
    silent = started()
    with pytest.warns(UserWarning, match="pass 'ansi' or 'human'"):
        assert silent.render() is None


def test_numpy_actions_are_taken() -> None:
    env = started()
    for _ in range(20):
        agent = env.agent_selection
        env.step(env.action_space(agent).sample(env.observe(agent)["action_mask"]))
    assert len(env.match.actions) == 20


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="this PettingZoo has no registry")
def test_the_id_is_registered() -> None:
    env = pettingzoo.make("aec", "callbreak/callbreak-v0", rules="bhoos", reward="win")
    env.reset(seed=1)
    assert env.unwrapped.rules == callbreak_v0.raw_env(rules="bhoos").rules
    assert env.unwrapped.reward == "win"


def test_writing_into_a_mask_changes_no_rule() -> None:
    env = started()
    env.infos[env.agent_selection]["action_mask"][:] = 1
    assert env.match.legal_actions() == list(range(53, 65))
    with pytest.raises(IllegalAction):
        env.step(0)
