"""The guard: each fault of an agent, and agents that hang."""

from __future__ import annotations

import contextlib
import re
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from arenas import AMPLE, LONG, SHORT, Mine
from callbreak_env import Match
from callbreak_env.arena import guard
from callbreak_env.arena.foreign import FunctionAgent
from callbreak_env.arena.guard import (
    ERROR,
    ILLEGAL,
    TIMEOUT,
    AgentIllegal,
    AgentTimeout,
    ask,
    ask_reset,
    guarded,
)
from callbreak_env.arena.results import FAULTS
from callbreak_env.table import View


def lowest(view: View) -> int:
    return view.legal_actions()[0]


@pytest.mark.parametrize("given", [53, np.int64(53), np.uint8(53), np.array(53)])
def test_a_sound_answer(given: Any, view: View) -> None:
    answer = ask(FunctionAgent(lambda view: given), view, AMPLE)
    assert (answer.action, type(answer.action), answer.fault, answer.message) == (53, int, None, "")
    assert 0 <= answer.seconds < AMPLE


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (52, r"action 52 is not legal: legal are 53 \(bid 2\)"),
        (0, "not legal"),
        (65, "not legal"),
        (-1, "not legal"),
        (10**30, "not legal"),
        (53.0, "must be a whole number, not 53.0"),
        (True, "whole number"),
        (None, "whole number, not None"),
        ("53", "whole number"),
        ([53], "whole number"),
    ],
)
def test_illegal(given: Any, words: str, view: View) -> None:
    answer = ask(FunctionAgent(lambda view: given), view, AMPLE)
    assert (answer.action, answer.fault) == (None, ILLEGAL)
    assert re.search(words, answer.message), answer.message


def test_the_names_of_faults() -> None:
    assert (FAULTS[ILLEGAL], FAULTS[ERROR], FAULTS[TIMEOUT]) == ("illegal", "error", "timeout")


def test_an_agent_cannot_change_what_is_legal(view: View) -> None:
    def cheat(view: View) -> int:
        view.record_array["phase"] = 1
        view.record_array["hands"][0, view.viewer] = 2**52 - 1
        return 51

    match = Match("standard", seed=5)
    assert ask(FunctionAgent(cheat), match.view(match.seat or 0), None).fault == ILLEGAL


def fail(view: View) -> int:
    raise KeyError("my own trouble")


def leave(view: View) -> int:
    sys.exit("goodbye")


def recurse(view: View) -> int:
    return recurse(view)


@pytest.mark.parametrize(
    ("function", "words"),
    [(fail, "KeyError: 'my own trouble'"), (leave, "SystemExit: goodbye"), (recurse, "RecursionError")],
)
def test_exceptions_are_told_with_the_users_lines(
    function: Callable[[View], int], words: str, view: View
) -> None:
    answer = ask(FunctionAgent(function), view, AMPLE)
    assert (answer.action, answer.fault) == (None, ERROR)
    assert words in answer.message
    assert f"in {function.__name__}" in answer.message
    assert "callbreak_env" not in answer.message, "our own lines"
    assert len(answer.message.splitlines()) < 50


def test_an_interrupt_by_the_user_goes_through(view: View) -> None:
    def interrupted(view: View) -> int:
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        ask(FunctionAgent(interrupted), view, AMPLE)
    assert signal.getsignal(signal.SIGINT) is before


def test_agents_may_tell_their_faults(view: View) -> None:
    for kind, fault in ((AgentIllegal, ILLEGAL), (AgentTimeout, TIMEOUT), (guard.AgentFault, ERROR)):

        def tell(view: View, kind: type[Exception] = kind) -> int:
            raise kind("in short")

        assert ask(FunctionAgent(tell), view, AMPLE)[1::2] == (fault, "in short")


def sleeps(view: View) -> int:
    time.sleep(LONG)
    return 53


def spins(view: View) -> int:
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        pass
    return 53


def catches(view: View) -> int:
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        with contextlib.suppress(Exception):
            time.sleep(LONG)
    return 53


def swallows(view: View) -> int:
    for _ in range(2):
        with contextlib.suppress(BaseException):
            time.sleep(LONG)
    return 53


def converts(view: View) -> int:
    try:
        time.sleep(LONG)
    except BaseException as error:
        raise ValueError("something else") from error
    return 53


ON_TIME = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="agents are interrupted on Unix only")


@ON_TIME
@pytest.mark.parametrize("function", [sleeps, spins, catches, swallows, converts])
def test_a_hanging_agent_is_interrupted(function: Callable[[View], int], view: View) -> None:
    before = signal.getsignal(signal.SIGALRM)
    answer = ask(FunctionAgent(function), view, SHORT)
    assert (answer.action, answer.fault, answer.message) == (None, TIMEOUT, "no answer within 0.3 s")
    assert SHORT <= answer.seconds < LONG / 2
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is before


@ON_TIME
def test_a_hanging_reset_is_interrupted() -> None:
    class Slow(Mine):
        def reset(self, seat: int, rules: Any, rng: Any) -> None:
            time.sleep(LONG)

    rules, rng = Match("standard", seed=5).rules, np.random.default_rng(1)
    answer = ask_reset(Slow(), 2, rules, rng, SHORT)
    assert (answer.action, answer.fault) == (None, TIMEOUT)
    assert ask_reset(Mine(), 2, rules, rng, AMPLE)[:2] == (None, None)


@ON_TIME
def test_the_timer_of_others_comes_back(view: View) -> None:
    rung: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: rung.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, LONG, 7.0)
        assert ask(FunctionAgent(lowest), view, AMPLE).fault is None
        left, interval = signal.getitimer(signal.ITIMER_REAL)
        assert 0 < left <= LONG
        assert interval == 7.0
        signal.setitimer(signal.ITIMER_REAL, 0.05)  # is due while an agent is asked: then after it
        assert ask(FunctionAgent(sleeps), view, SHORT).fault == TIMEOUT
        time.sleep(0.05)
        assert rung == [signal.SIGALRM]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@ON_TIME
def test_an_agent_may_ask_others(view: View) -> None:
    """Each limit holds for its own agent."""

    def outer(view: View) -> int:
        assert ask(FunctionAgent(sleeps), view, SHORT).fault == TIMEOUT
        return lowest(view)

    def slow(view: View) -> int:
        ask(FunctionAgent(lowest), view, AMPLE)
        return sleeps(view)

    assert ask(FunctionAgent(outer), view, AMPLE).action == 53
    assert ask(FunctionAgent(slow), view, SHORT).fault == TIMEOUT


def test_in_another_thread_time_is_measured(view: View) -> None:
    def late(view: View) -> int:
        time.sleep(0.2)
        return 53

    answers: list[guard.Answer] = []
    thread = threading.Thread(target=lambda: answers.append(ask(FunctionAgent(late), view, 0.05)))
    thread.start()
    thread.join()
    assert answers[0].fault == TIMEOUT
    assert answers[0].seconds >= 0.2


def test_without_a_limit(view: View) -> None:
    answer = ask(FunctionAgent(lowest), view, None)
    assert (answer.action, answer.fault) == (53, None)
    for bad in (0, -1.0, float("nan"), float("inf"), True, "1"):
        with pytest.raises(ValueError, match="time_limit must be a number above 0"):
            guarded(lambda: 1, bad)  # type: ignore[arg-type]
