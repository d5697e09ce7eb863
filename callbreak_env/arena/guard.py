"""The guard: a user's agent is asked under a time limit, and what it does wrong becomes a fault.

What is played instead of an action that did not come is the arena's business.
"""

from __future__ import annotations

import math
import signal
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from callbreak_env.actions import action_text
from callbreak_env.arena.results import FAULTS
from callbreak_env.checks import check_int, check_number
from callbreak_env.errors import CallBreakError
from callbreak_env.policy import Agent
from callbreak_env.rules import Rules
from callbreak_env.table import View

ILLEGAL, ERROR, TIMEOUT = range(len(FAULTS))

AGAIN_S = 0.2
"""An agent that swallows its interruption is interrupted again after so many seconds."""
FRAMES_SHOWN = 12
"""Of a traceback: the innermost."""


class AgentFault(CallBreakError):  # noqa: N818 - a fault, which is not always an error
    """An agent tells that it has failed; the text is shown without a traceback.

    Attributes:
        fault: index into ``FAULTS``.
    """

    fault = ERROR


class AgentIllegal(AgentFault):
    """What it answered is not an action."""

    fault = ILLEGAL


class AgentTimeout(AgentFault):
    """It did not answer in time."""

    fault = TIMEOUT


class Answer(NamedTuple):
    """What came of asking.

    Attributes:
        action: of ``ask`` a legal action id; None with a fault, and for a reset.
        fault: index into ``FAULTS``; None where all is well.
        seconds: wall time.
        message: what went wrong, for people: with the traceback for an exception; "" where all is well.
    """

    action: Any
    fault: int | None
    seconds: float
    message: str = ""


def ask(agent: Agent, view: View, time_limit: float | None) -> Answer:
    """One decision of an agent, guarded.

    Faults: ``"illegal"``: no whole number, or not a legal action. ``"error"``: an exception, or SystemExit;
    KeyboardInterrupt goes through. ``"timeout"``: later than the limit, whatever it answered. An agent that
    does not come back is interrupted in the main thread of a Unix process (by SIGALRM, with an exception
    that is no ``Exception``) as soon as it runs Python code; elsewhere its time is measured only.

    Args:
        agent: has been reset. One that has ``act_within(view, time_limit)`` (as ``ProcessAgent``) keeps the
            limit itself, raising AgentTimeout.
        view: of the seat to act.
        time_limit: seconds; None for no limit.
    """
    legal = view.legal_actions()  # before asking: the agent may write into its view
    within = getattr(agent, "act_within", None)
    if within is None:
        given, fault, seconds, message = guarded(lambda: agent.act(view), time_limit)
    else:
        given, fault, seconds, message = guarded(lambda: within(view, time_limit), None)
    if fault is not None:
        return Answer(None, fault, seconds, message)
    try:
        action = check_int(given, "an action")
    except ValueError as error:
        return Answer(None, ILLEGAL, seconds, str(error))
    if action not in legal:
        options = ", ".join(f"{each} ({action_text(each)})" for each in legal)
        return Answer(None, ILLEGAL, seconds, f"action {action} is not legal: legal are {options}")
    return Answer(action, None, seconds)


def ask_reset(
    agent: Agent, seat: int, rules: Rules, rng: np.random.Generator, time_limit: float | None
) -> Answer:
    """Tell an agent that a deal begins, guarded as in ``ask``; the answer holds no action."""
    within = getattr(agent, "reset_within", None)
    if within is None:
        answer = guarded(lambda: agent.reset(seat, rules, rng), time_limit)
    else:
        answer = guarded(lambda: within(seat, rules, rng, time_limit), None)
    return answer._replace(action=None)


def guarded(call: Callable[[], Any], time_limit: float | None) -> Answer:
    """Call a user's code: its exceptions and its lateness become faults, as ``ask`` tells.

    The answer's action is what the call gave, whatever that is.

    Raises:
        ValueError: ``time_limit`` is not above 0.
    """
    limit = math.inf if time_limit is None else check_number(time_limit, "time_limit", positive=True)
    late = f"no answer within {limit:g} s"
    value: Any = None
    fault: int | None = None
    message = ""
    alarm = _Alarm()
    start = time.perf_counter()
    try:
        try:
            alarm.set(limit)
            value = call()
        finally:
            alarm.stop()
    except _Late as error:
        if error.alarm is not alarm:
            raise
        alarm.stop()  # it may have rung within the first
        fault, message = TIMEOUT, late
    except AgentFault as error:
        fault, message = error.fault, str(error)
    except (Exception, SystemExit) as error:
        fault, message = ERROR, _told(error)
    seconds = time.perf_counter() - start
    if seconds > limit:  # also where the agent swallowed its interruption, or made another exception of it
        fault, message = TIMEOUT, late
    return Answer(value if fault is None else None, fault, seconds, message)


class _Late(BaseException):
    """Interrupts an agent; no ``Exception``, which agents catch."""

    def __init__(self, alarm: _Alarm) -> None:
        super().__init__("the time limit of the decision is over")
        self.alarm = alarm


class _Alarm:
    """SIGALRM for the time of one call, where there is such; the handler and timer before it come back."""

    def __init__(self) -> None:
        self._open = False
        self._before: Any = None
        self._timer = (0.0, 0.0)
        self._since = 0.0

    def set(self, limit: float) -> None:
        if limit == math.inf or threading.current_thread() is not threading.main_thread():
            return
        if not hasattr(signal, "setitimer") or signal.getsignal(signal.SIGALRM) is None:
            return  # no Unix; or the handler is not Python's and could not come back
        self._since = time.monotonic()
        self._open = True
        self._before = signal.signal(signal.SIGALRM, self._ring)
        self._timer = signal.setitimer(signal.ITIMER_REAL, limit)

    def _ring(self, number: int, frame: FrameType | None) -> None:
        if self._open:
            signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
            raise _Late(self)

    def stop(self) -> None:
        self._open = False  # from here on it does not ring
        if self._before is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)
            self._before = None
            delay, interval = self._timer
            if delay:
                left = delay - (time.monotonic() - self._since)
                signal.setitimer(signal.ITIMER_REAL, max(left, 1e-3), interval)


def _told(error: BaseException) -> str:
    """An exception with its traceback from where the user's code begins."""
    told = traceback.TracebackException.from_exception(error, limit=-FRAMES_SHOWN)
    ours = Path(__file__).parent
    while told.stack and Path(told.stack[0].filename).parent == ours:
        del told.stack[0]
    return "".join(told.format()).rstrip()
