"""Programs that play: each way in which they can fail, and that none is left running."""

from __future__ import annotations

import copy
import gc
import json
import os
import pickle
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arenas import AMPLE, SHORT
from bots import Bots, ends, runs
from callbreak_env import Match
from callbreak_env.arena import process
from callbreak_env.arena.guard import ERROR, ILLEGAL, TIMEOUT, AgentFault, Answer, ask, ask_reset
from callbreak_env.arena.process import ProcessAgent
from callbreak_env.table import View

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "external_agent.py"


@pytest.fixture
def bots(tmp_path: Path) -> Iterator[Bots]:
    made = Bots(tmp_path)
    yield made
    for agent in made.agents:
        agent.close()
    assert all(map(ends, made.pids())), "a program is left"


def reset(agent: ProcessAgent, limit: float = AMPLE, deal: int = 0) -> Answer:
    rng = np.random.default_rng([1, deal, 0])
    return ask_reset(agent, 0, Match("standard", seed=5).rules, rng, limit)


# What goes wrong


FAILURES = {
    "hangs": (TIMEOUT, "no answer within 0.3 s"),
    "is late": (TIMEOUT, "no answer within 0.3 s"),
    "writes half": (TIMEOUT, "no answer within 0.3 s"),
    "dies": (ERROR, "it ended with exit status 3 before it answered"),
    "closes its output": (ERROR, "it closed its output before it answered"),
    "chats": (ERROR, "a line of its output is not JSON: 'thinking...'"),
    "writes bytes": (ERROR, "not JSON: '\ufffd"),
    "writes a list": (ERROR, "no object with an id: '[1, 2]'"),
    "nests": (ERROR, "not JSON: '[[[["),
    "has no id": (ERROR, "no object with an id: '{\"action\": 53}'"),
    "answers before": (ERROR, "it answered question 2 instead of 3"),
    "answers the next": (ERROR, "it answered question 4 instead of 3"),
    "answers true": (ERROR, "it answered question True instead of 3"),
    "names nothing": (ERROR, "it must answer with one of action, card, bid"),
    "names two": (ERROR, "it must answer with one of action, card, bid"),
    "floods": (ERROR, "no object with an id: '{}'"),
    "floods without an end": (ERROR, "longer than 65536 bytes: 'xxxx"),
}


@pytest.mark.parametrize("kind", FAILURES)
def test_a_failure_is_told_and_the_program_started_again(kind: str, bots: Bots, view: View) -> None:
    fault, words = FAILURES[kind]
    agent = bots.make(kind)
    assert reset(agent).fault is None
    answer = ask(agent, view, SHORT if fault == TIMEOUT else AMPLE)
    assert (answer.action, answer.fault) == (None, fault)
    assert words in answer.message
    assert answer.seconds < AMPLE / 2
    assert not runs(bots.pids()[0]), "the program that failed"
    assert ask(agent, view, AMPLE).action == 64, "the next one knows of the deal"
    assert len(bots.pids()) == 2


ILLEGALS = [
    {"action": 52},
    {"action": 1000},
    {"action": -1},
    {"action": 53.0},
    {"action": "53"},
    {"action": None},
    {"action": True},
    {"card": "QS"},
    {"card": "11S"},
    {"card": 7},
    {"bid": 1},
    {"bid": 14},
    {"bid": 10**400},
    {"bid": "3"},
    {"bid": None},
]


def test_an_illegal_action_ends_no_program(bots: Bots, view: View) -> None:
    for answer in ILLEGALS:
        with closing(bots.make("say " + json.dumps(answer))) as agent:
            bots.log.unlink(missing_ok=True)
            assert reset(agent).fault is None
            for _ in range(process.MAX_FAILURES + 1):
                given = ask(agent, view, AMPLE)
                assert (given.action, given.fault) == (None, ILLEGAL), given
            assert given.message
            assert len(bots.pids()) == 1


@pytest.mark.parametrize(("answer", "action"), [({"bid": 5}, 56), ({"action": 60, "note": "x"}, 60)])
def test_ways_to_answer(answer: dict[str, Any], action: int, bots: Bots, view: View) -> None:
    agent = bots.make("say " + json.dumps(answer))
    reset(agent)
    assert ask(agent, view, AMPLE).action == action


def test_a_second_answer_is_not_taken_for_the_next(bots: Bots, view: View) -> None:
    agent = bots.make("answers twice")
    reset(agent)
    assert ask(agent, view, AMPLE).action == 64
    assert ask(agent, view, AMPLE)[1::2] == (
        ERROR,
        'it answered question 3 instead of 4: \'{"id": 3, "action": 64}\'',
    )
    assert ask(agent, view, AMPLE).action == 64


@pytest.mark.parametrize(("kind", "fault"), [("always dies", ERROR), ("always hangs", TIMEOUT)])
def test_after_failures_in_a_row_the_rest_of_the_deal_is_not_asked(
    kind: str, fault: int, bots: Bots, view: View
) -> None:
    agent = bots.make(kind)
    for deal in range(2):
        assert reset(agent, deal=deal).fault is None
        for _ in range(process.MAX_FAILURES):
            assert ask(agent, view, SHORT if fault == TIMEOUT else AMPLE).fault == fault
        started = len(bots.pids())
        answer = ask(agent, view, AMPLE)
        assert (answer.fault, answer.message) == (
            ERROR,
            "it is not asked in the rest of this deal, after its failures before",
        )
        assert len(bots.pids()) == started == process.MAX_FAILURES * (deal + 1)


def test_failures_that_are_not_in_a_row_are_each_told(bots: Bots, view: View) -> None:
    agent = bots.make("always dies at the second")
    reset(agent)
    faults = [ask(agent, view, AMPLE).fault for _ in range(2 * process.MAX_FAILURES + 2)]
    assert faults == [None, ERROR] * (process.MAX_FAILURES + 1)


STARTS = {
    "dies at the start": "it ended with exit status 4 before it answered",
    "another protocol": "it speaks protocol 7, not 1",
    "never says hello": "no answer within 0.3 s",
}


@pytest.mark.parametrize("kind", STARTS)
def test_a_program_that_does_not_start_is_started_once_a_deal(kind: str, bots: Bots, view: View) -> None:
    agent = bots.make(kind, start_limit=SHORT if kind == "never says hello" else AMPLE)
    for deal in range(2):
        assert STARTS[kind] in reset(agent, deal=deal).message
        assert ask(agent, view, AMPLE).fault == ERROR
    if kind != "never says hello":
        assert len(bots.pids()) == 2
    with pytest.raises(AgentFault, match=STARTS[kind]):
        agent.start()


def test_no_such_program() -> None:
    agent = ProcessAgent("./no-such-program --fast")
    assert agent.name == "./no-such-program --fast"
    with pytest.raises(AgentFault, match=r"it cannot be started: .*no-such-program"):
        agent.start()
    assert reset(agent).fault == ERROR


def test_the_start_has_its_own_limit(tmp_path: Path, view: View) -> None:
    slow = tmp_path / "slow.py"
    slow.write_text(f"import time\ntime.sleep(0.6)\n{EXAMPLE.read_text(encoding='utf-8')}", encoding="utf-8")
    with closing(ProcessAgent([sys.executable, "-I", "-S", str(slow)])) as agent:
        assert reset(agent, limit=0.5).fault is None


def test_failures_at_reset(bots: Bots, view: View) -> None:
    agent = bots.make("hangs at reset")
    assert reset(agent, limit=SHORT).fault == TIMEOUT
    assert ask(agent, view, AMPLE).action == 64, "it is told again"
    agent = bots.make("dies at reset")
    assert "it ended with exit status 5" in reset(agent).message


def test_a_program_may_end_after_a_deal(bots: Bots, view: View) -> None:
    """Whether that is noticed while it ends or later makes no difference."""
    agent = bots.make("one deal")
    for deal in range(4):
        if deal % 2:
            time.sleep(0.2)
        assert reset(agent, deal=deal).fault is None
        assert ask(agent, view, AMPLE).action == 64
    assert len(bots.pids()) == 4


def test_before_reset(bots: Bots, view: View) -> None:
    assert ask(bots.make("fine"), view, AMPLE).message == "a deal begins with reset"


def test_its_own_limit_holds_where_no_other_is_set(bots: Bots, view: View) -> None:
    agent = bots.make("always hangs", time_limit=SHORT)
    reset(agent)
    assert ask(agent, view, None).fault == TIMEOUT
    assert bots.make("fine", time_limit=None).act is not None
    for options in ({"time_limit": 0}, {"start_limit": -1}, {"start_limit": None}):
        with pytest.raises(ValueError, match="must be a number above 0"):
            bots.make("fine", **options)
    for command in ("", "  ", [], [3], 7, 'an "open quote'):
        with pytest.raises(ValueError, match="command"):
            ProcessAgent(command)  # type: ignore[arg-type]


# Nothing is left


def test_a_program_ends_with_its_agent(bots: Bots) -> None:
    for kind in ("fine", "stays"):
        agent = ProcessAgent(bots.command(kind))
        agent.start()
        assert agent.program == "bot"
        pid = bots.pids()[-1]
        assert runs(pid)
        del agent
        gc.collect()
        assert not runs(pid)


def test_close(bots: Bots) -> None:
    for kind in ("fine", "stays"):
        agent = bots.make(kind)
        agent.close()
        assert reset(agent).fault is None
        agent.start()
        (pid,) = bots.pids()[-1:]
        assert agent._running is not None
        kept = weakref.ref(agent._running)
        agent.close()
        agent.close()
        gc.collect()
        assert kept() is None, "it is kept in mind for ever"
        assert not runs(pid)
    assert len(bots.pids()) == 2
    assert reset(agent).fault is None, "it is started again"
    assert len(bots.pids()) == 3


@pytest.mark.skipif(os.name != "posix", reason="elsewhere a program ends its children itself")
def test_children_end_too(bots: Bots, tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    words = " ".join(f"'{word}'" for word in bots.command("stays"))
    script.write_text(f"{words}\necho done\n", encoding="utf-8")
    agent = ProcessAgent(["sh", str(script)])
    agent.start()
    agent.close()
    assert ends(bots.pids()[0])


def test_copies_are_not_started(bots: Bots, view: View) -> None:
    agent = bots.make("fine", name="a", time_limit=AMPLE)
    reset(agent)
    others = [copy.copy(agent), copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))]
    bots.agents += others
    assert len(bots.pids()) == 1
    for other in others:
        assert (other.name, other.program) == ("a", None)
        assert ask(other, view, AMPLE).message == "a deal begins with reset"
        reset(other)
    assert len(set(bots.pids())) == 4


WORKERS = """
import multiprocessing, sys
from callbreak_env.arena.process import ProcessAgent

def work(command):
    global agent
    agent = ProcessAgent(command)
    agent.start()

if __name__ == "__main__":
    for method in ("spawn", "fork"):
        child = multiprocessing.get_context(method).Process(target=work, args=(sys.argv[1:],))
        child.start()
        child.join()
    work(sys.argv[1:])
    if multiprocessing.get_start_method() == "fork" and sys.version_info < (3, 12):
        child = multiprocessing.get_context("fork").Process(target=agent.start)  # the parent's goes on
        child.start()
        child.join()
        agent._exchange({"type": "reset"}, 60)
    print("done")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
def test_programs_end_with_their_process_and_with_workers(bots: Bots, tmp_path: Path) -> None:
    script = tmp_path / "workers.py"
    script.write_text(WORKERS, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script), *bots.command("stays")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert len(bots.pids()) == (4 if sys.version_info < (3, 12) else 3)
    assert all(map(ends, bots.pids()))


WAITING = """
import sys
import numpy as np
from callbreak_env import Rules
from callbreak_env.arena.process import ProcessAgent
agent = ProcessAgent(sys.argv[1:], time_limit=None)
agent.reset(0, Rules(), np.random.default_rng(1))
print("waits", flush=True)
agent._exchange({"type": "act", "legal_actions": [53]}, None)
"""


@pytest.mark.skipif(os.name != "posix", reason="interrupts by signal")
def test_an_interrupt_ends_the_program(bots: Bots) -> None:
    waiting = subprocess.Popen(
        [sys.executable, "-c", WAITING, *bots.command("always hangs")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert waiting.stdout is not None
    assert waiting.stdout.readline() == "waits\n"
    time.sleep(0.2)
    waiting.send_signal(signal.SIGINT)
    _, told = waiting.communicate(timeout=60)
    assert "KeyboardInterrupt" in told
    assert all(map(ends, bots.pids()))


def test_stderr_passes_through(capfd: pytest.CaptureFixture[str]) -> None:
    agent = ProcessAgent([sys.executable, "-I", "-S", "-c", "import sys; sys.exit('my own trouble')"])
    with pytest.raises(AgentFault, match="exit status 1"):
        agent.start()
    assert capfd.readouterr().err == "my own trouble\n"
