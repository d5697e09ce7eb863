"""Agents that are programs of their own: JSON lines on their stdin and stdout, as docs/agents.md tells."""

from __future__ import annotations

import contextlib
import os
import queue
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from multiprocessing.util import Finalize
from typing import IO, Any

import numpy as np

from callbreak_env.arena import messages
from callbreak_env.arena.guard import AgentFault, AgentIllegal, AgentTimeout
from callbreak_env.checks import check_list, check_number
from callbreak_env.errors import CallBreakError
from callbreak_env.rules import Rules
from callbreak_env.table import View

MAX_FAILURES = 3
"""After so many in a row within a deal, a program is not asked for the rest of that deal."""
GRACE_S = 0.5
"""A program has so many seconds to end by itself when its stdin is closed."""

_MAX_WAITING = 16
"""Lines read and not asked for; a program that writes more has to wait."""
_POSIX = os.name == "posix"


class ProcessAgent:
    """An agent that is an external program. It is started when it is first needed.

    After a fault other than an illegal action it is ended, and started again for the next decision, with
    ``reset`` sent anew: what it says later belongs to nothing. After ``MAX_FAILURES`` in a row within a deal,
    or one failed start, the rest of that deal is not asked, which is a fault each time. A copy, also a
    pickled one, is not started. The program is ended with the agent, and with this process.

    Args:
        command: the program with its arguments: a list, or text that is split as a shell does (POSIX). The
            program's stderr is ours.
        name: the command if left out.
        time_limit: seconds for each answer where the caller sets no other limit; None for no limit.
        start_limit: seconds from the start of the program to its first answer, which no other limit includes.

    Attributes:
        name: of the agent.
        program: what the program calls itself; None before its first start.

    Raises:
        ValueError: no command, or a limit that is not above 0.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        name: str | None = None,
        time_limit: float | None = 10.0,
        start_limit: float = 60.0,
    ) -> None:
        self._arguments = (command, name, time_limit, start_limit)
        self._command = _split(command)
        self.name = name or (self._command if isinstance(self._command, str) else shlex.join(self._command))
        self.program: str | None = None
        self._time_limit = (
            None if time_limit is None else check_number(time_limit, "time_limit", positive=True)
        )
        self._start_limit = check_number(start_limit, "start_limit", positive=True)
        self._running: _Program | None = None
        self._finalizer: Finalize | None = None
        self._number = 0
        self._opening: messages.Message | None = None
        self._knows_deal = False
        self._failures = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._arguments

    def start(self) -> None:
        """Start the program now, unless it is running: to see before a tournament that it can be.

        Raises:
            AgentFault: it does not start, or does not answer ``hello`` rightly.
        """
        if self._running is not None and self._running.is_ours():
            return
        self._knows_deal = False
        self._running = _Program(self._command)
        # Also at the end of a worker process, where atexit is not heard.
        self._finalizer = Finalize(self, self._running.end, (GRACE_S,), exitpriority=10)
        with self._ending():
            self.program = messages.program_of(self._exchange(messages.hello(), self._start_limit))

    def reset(self, seat: int, rules: Rules, rng: np.random.Generator) -> None:
        """A deal begins; one number is drawn from ``rng`` for the program. Raises AgentFault."""
        self.reset_within(seat, rules, rng, None)

    def act(self, view: View) -> int:
        """The action id for the seat to act. Raises AgentFault (AgentIllegal, AgentTimeout)."""
        return self.act_within(view, None)

    def reset_within(
        self, seat: int, rules: Rules, rng: np.random.Generator, time_limit: float | None
    ) -> None:
        """As ``reset``, within ``time_limit`` seconds (None: its own limit)."""
        self._opening = messages.reset(seat, rules, int(rng.integers(messages.MAX_SEED)))
        self._knows_deal = False
        self._failures = 0
        self._prepare(time_limit)

    def act_within(self, view: View, time_limit: float | None) -> int:
        """As ``act``, within ``time_limit`` seconds (None: its own limit)."""
        self._prepare(time_limit)
        with self._ending():
            action = messages.action_of(self._exchange(messages.act(view), time_limit))
        self._failures = 0
        return action

    def close(self) -> None:
        """End the program. It is started again when it is needed again."""
        self._end(GRACE_S)

    def _prepare(self, time_limit: float | None) -> None:
        """See that the program runs and knows of the deal."""
        if self._opening is None:
            raise AgentFault("a deal begins with reset")
        if self._failures >= MAX_FAILURES:
            raise AgentFault("it is not asked in the rest of this deal, after its failures before")
        if self._running is not None and self._running.is_ours() and not self._knows_deal:
            # It may have ended by itself after the deal before: that is no fault.
            try:
                self._tell(time_limit)
            except _Ended:
                self._failures = 0
        try:
            self.start()
        except AgentFault:
            self._failures = MAX_FAILURES
            raise
        if not self._knows_deal:
            self._tell(time_limit)

    def _tell(self, time_limit: float | None) -> None:
        assert self._opening is not None
        with self._ending():
            self._exchange(self._opening, time_limit)
        self._knows_deal = True

    def _exchange(self, message: messages.Message, time_limit: float | None) -> messages.Message:
        assert self._running is not None
        limit = self._time_limit
        if time_limit is not None:
            limit = check_number(time_limit, "time_limit", positive=True)
        self._number += 1
        line = self._running.ask(messages.line_of(self._number, message), limit)
        return messages.answer_of(line, self._number)

    @contextlib.contextmanager
    def _ending(self) -> Iterator[None]:
        """End the program if the block fails, also by an interruption, but for an illegal action."""
        try:
            yield
        except AgentIllegal:
            self._failures = 0
            raise
        except BaseException:
            self._failures += 1
            self._end(0)
            raise

    def _end(self, grace: float) -> None:
        program, self._running = self._running, None
        if program is not None and self._finalizer is not None:
            self._finalizer.cancel()
            program.end(grace)


class _Ended(AgentFault):
    """The program ended before it answered."""


class _Program:
    """A running program. Its output is read by a thread, which works on every system."""

    def __init__(self, command: str | list[str]) -> None:
        self._owner = os.getpid()
        try:
            self._popen = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=_POSIX,  # its children are ended with it
            )
        except (OSError, ValueError) as error:
            raise AgentFault(f"it cannot be started: {error}") from None
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        self._stdin = self._popen.stdin
        self._lines: queue.Queue[bytes | None] = queue.Queue(_MAX_WAITING)
        self._closing = threading.Event()
        self._reader = threading.Thread(
            target=_read, args=(self._popen.stdout, self._lines, self._closing), daemon=True
        )
        self._reader.start()

    def is_ours(self) -> bool:
        """Whether it was started by this process, and not before a fork."""
        return self._owner == os.getpid()

    def ask(self, question: bytes, limit: float | None) -> bytes:
        """Write a line and wait for one."""
        deadline = None if limit is None else time.monotonic() + limit
        try:
            self._stdin.write(question)
            self._stdin.flush()
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            line = self._lines.get(timeout=left)
        except queue.Empty:
            raise AgentTimeout(f"no answer within {limit:g} s") from None
        except OSError:  # it does not read any more
            line = None
        if line is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._popen.wait(GRACE_S)
            status = self._popen.returncode
            how = "it closed its output" if status is None else f"it ended with exit status {status}"
            raise _Ended(f"{how} before it answered")
        return line

    def end(self, grace: float) -> None:
        """End it and its children, after ``grace`` seconds in which it may do so itself."""
        with contextlib.suppress(OSError):
            self._stdin.close()
        if not self.is_ours():
            return
        self._closing.set()
        self._reader.join(grace)
        with contextlib.suppress(OSError):  # there is nothing left
            if _POSIX:
                os.killpg(self._popen.pid, signal.SIGKILL)
            else:
                self._popen.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(GRACE_S)
        self._reader.join(GRACE_S)


def _read(pipe: IO[bytes], lines: queue.Queue[bytes | None], closing: threading.Event) -> None:
    """Put the lines of ``pipe`` into ``lines``, and None at its end. A line that is too long is the last."""
    rest = b""
    with pipe:
        while len(rest) <= messages.MAX_LINE and (chunk := os.read(pipe.fileno(), messages.MAX_LINE)):
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                if not _put(line, lines, closing):
                    return
    if len(rest) > messages.MAX_LINE:
        _put(rest, lines, closing)
    _put(None, lines, closing)


def _put(line: bytes | None, lines: queue.Queue[bytes | None], closing: threading.Event) -> bool:
    """Wait for room; False when the program is being ended."""
    while not closing.is_set():
        with contextlib.suppress(queue.Full):
            lines.put(line, timeout=0.1)
            return True
    return False


def _split(command: Any) -> str | list[str]:
    """A command as Popen takes it."""
    if not isinstance(command, str):
        words = check_list(command, "a command must be text or a list of words")
        if not words or not all(isinstance(word, (str, os.PathLike)) for word in words):
            raise CallBreakError(f"a command must be text or a list of words, not {words!r:.60}")
        return [os.fspath(word) for word in words]
    if not command.strip():
        raise CallBreakError("a command must not be empty")
    try:
        return shlex.split(command) if _POSIX else command
    except ValueError as error:
        raise CallBreakError(f"the command {command!r:.100} cannot be split into words: {error}") from None
