"""Programs that play badly, each in its own way, and whether they are still there."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path
from typing import Any

from callbreak_env.arena.process import ProcessAgent

BOT = """
import json, os, sys, time

kind, log = sys.argv[1:3]
with open(log, "a") as file:
    file.write(f"{os.getpid()}\\n")
starts = len(open(log).readlines())
if kind == "dies at the start":
    sys.exit(4)

def say(answer):
    print(json.dumps(answer), flush=True)

def raw(text):
    sys.stdout.write(text)
    sys.stdout.flush()

acts = 0
for line in sys.stdin:
    question = json.loads(line)
    answer = {"id": question["id"]}
    if question["type"] == "hello":
        if kind == "never says hello":
            time.sleep(60)
        say(answer | {"protocol": 7 if kind == "another protocol" else 1, "name": "bot"})
    elif question["type"] == "reset":
        if kind == "hangs at reset" and starts == 1:
            time.sleep(60)
        if kind == "dies at reset":
            sys.exit(5)
        say(answer)
        if kind == "one deal" and acts:
            sys.exit(0)
    else:
        acts += 1
        good = answer | {"action": question["legal_actions"][-1]}
        if kind == "one deal":
            say(good)
            sys.exit(0)
        if starts > 1 and kind[:6] != "always":
            say(good)
        elif kind in ("hangs", "always hangs"):
            time.sleep(60)
        elif kind == "is late":
            time.sleep(1)
            say(good | {"action": 53})
            say({"id": question["id"] + 1, "action": 53})
        elif kind in ("dies", "always dies"):
            sys.exit(3)
        elif kind == "always dies at the second":
            if acts == 2:
                sys.exit(3)
            say(good)
        elif kind == "closes its output":
            os.close(1)
            time.sleep(60)
        elif kind == "writes half":
            raw('{"id": ')
            time.sleep(60)
        elif kind == "chats":
            print("thinking...", flush=True)
            say(good)
        elif kind == "writes bytes":
            os.write(1, b"\\xff\\xfe\\n")
        elif kind == "writes a list":
            say([1, 2])
        elif kind == "nests":
            raw("[" * 60000 + "\\n")
        elif kind == "has no id":
            say({"action": 53})
        elif kind == "answers before":
            say(good | {"id": question["id"] - 1})
        elif kind == "answers the next":
            say(good | {"id": question["id"] + 1})
        elif kind == "answers true":
            say(good | {"id": True})
        elif kind == "names nothing":
            say(answer)
        elif kind == "names two":
            say(good | {"bid": 3})
        elif kind == "floods":
            while True:
                raw("{}\\n" * 1000)
        elif kind == "floods without an end":
            while True:
                raw("x" * 10000)
        elif kind == "answers twice":
            say(good)
            say(good)
        elif kind == "stays":
            say(good)
        elif kind[:4] == "say ":
            say(answer | json.loads(kind[4:]))
        else:
            say(good)
if kind == "stays":
    time.sleep(60)
"""


class Bots:
    """Makes agents of a kind, and knows the process ids of their programs."""

    def __init__(self, folder: Path) -> None:
        self.file, self.log = folder / "bot.py", folder / "log"
        self.file.write_text(BOT, encoding="utf-8")
        self.agents: list[ProcessAgent] = []

    def command(self, kind: str) -> list[str]:
        return [sys.executable, "-I", "-S", str(self.file), kind, str(self.log)]

    def make(self, kind: str, **options: Any) -> ProcessAgent:
        self.agents.append(ProcessAgent(self.command(kind), **options))
        return self.agents[-1]

    def pids(self) -> list[int]:
        return list(map(int, self.log.read_text().split())) if self.log.exists() else []


def runs(pid: int) -> bool:
    """Whether there is such a process, be it a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def ends(pid: int) -> bool:
    """Whether a process ends, at the latest soon; as a zombie if that is for others than us to clear."""
    for _ in range(200):
        stat = Path(f"/proc/{pid}/stat")
        with contextlib.suppress(OSError):
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
            if state == "Z" and int(parent) != os.getpid():
                return True
        if not runs(pid):
            return True
        time.sleep(0.05)
    return False
