"""How fast it is: engine steps, legal masks, observations, the AEC loop, imports and first compiles.

    python benchmarks/throughput.py [--seconds 1.0] [--repeats 5] [--json FILE]

One thread. Each figure is the median of the repeats, with the fastest beside it; compilation is apart. On a
shared machine read figures of one run as ratios to each other.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np

from callbreak_env import callbreak_v0
from callbreak_env.actions import NUM_ACTIONS
from callbreak_env.engine.batch import play_uniform, start_matches, uniform_start
from callbreak_env.engine.legality import write_masks
from callbreak_env.engine.state import NONE, TABLE, rules_record
from callbreak_env.match import Match
from callbreak_env.observation import WIDTH, encode_flat
from callbreak_env.rules import PRESETS

SEED = 1
BATCHES = (1, 64, 1024, 16384)

IMPORT = "import time; t = time.perf_counter(); import {modules}; print(time.perf_counter() - t)"
DEPENDENCIES = "numpy, numba, gymnasium, pettingzoo"
FIRST_TURN = """
import time
from callbreak_env import callbreak_v0
t = time.perf_counter()
env = callbreak_v0.raw_env()
env.reset(seed=1)
for _ in range(2):
    env.step(int(env.last()[0]["action_mask"].argmax()))
print(time.perf_counter() - t)
"""


def rate(work: Callable[[], int], seconds: float, repeats: int) -> dict[str, float]:
    """Units a second of ``work``, which returns the units it did; it is called once before timing."""
    work()
    rates = []
    for _ in range(repeats):
        done = 0
        start = time.perf_counter()
        while (elapsed := time.perf_counter() - start) < seconds / repeats:
            done += work()
        rates.append(done / elapsed)
    return {"median": statistics.median(rates), "best": max(rates)}


def engine(batch: int, preset: str = "standard") -> Callable[[], int]:
    """Steps of ``batch`` tables by the uniform agent, all of it compiled; no observation, no mask."""
    rules = rules_record(PRESETS[preset])
    tables = np.zeros(batch, TABLE)
    numbers = np.arange(batch, dtype=np.uint64)
    start_matches(tables, rules, SEED, numbers, np.full(batch, NONE), np.zeros((batch, NUM_ACTIONS), np.int8))
    randoms = np.array([uniform_start(SEED, number) for number in range(batch)], np.uint64)
    steps = max(1, 100_000 // batch)

    def work() -> int:
        play_uniform(tables, rules, randoms, steps)
        return steps * batch

    return work


def masks() -> Callable[[], int]:
    """Legal masks of 1,024 tables in one call."""
    rules = rules_record(PRESETS["standard"])
    tables, out = np.zeros(1024, TABLE), np.zeros((1024, NUM_ACTIONS), np.int8)
    start_matches(tables, rules, SEED, np.arange(1024, dtype=np.uint64), np.full(1024, NONE), out)
    play_uniform(tables, rules, np.arange(1, 1025, dtype=np.uint64), 30)

    def work() -> int:
        write_masks(tables, rules, out)
        return len(tables)

    return work


def observation() -> Callable[[], int]:
    """The flat observation of one seat, one call from Python each."""
    match = Match(seed=SEED)
    out = np.empty(WIDTH, np.float32)
    tables, rules = match.record_array, match.rules_array

    def work() -> int:
        for _ in range(1000):
            encode_flat(tables, rules, 0, out)
        return 1000

    return work


def match_apply() -> Callable[[], int]:
    """Checked moves of ``Match``, the first legal action each."""

    def work() -> int:
        match = Match(seed=SEED)
        turns = 0
        while not match.is_over:
            match.apply(int(match.legal_mask().argmax()))
            turns += 1
        return turns

    return work


def aec(make: Callable[[], object]) -> Callable[[], int]:
    """Turns of ``last()`` and ``step()``, the first legal action each, with resets."""
    env = make()

    def work() -> int:
        env.reset()
        turns = 0
        while env.agents:
            observation, _, terminated, _, _ = env.last()
            env.step(None if terminated else int(observation["action_mask"].argmax()))
            turns += 1
        return turns

    env.reset(seed=SEED)
    return work


def python_seconds(code: str, **environment: str) -> float:
    """What a fresh Python process prints as its own seconds."""
    process = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(process.stdout)


def startup(repeats: int) -> dict[str, float]:
    """Seconds: importing, the first AEC turns with an empty cache, and with a filled one."""
    with tempfile.TemporaryDirectory() as cache:
        first = python_seconds(FIRST_TURN, NUMBA_CACHE_DIR=cache)
        cached = min(python_seconds(FIRST_TURN, NUMBA_CACHE_DIR=cache) for _ in range(repeats))
    own = IMPORT.format(modules=f"{DEPENDENCIES}; t = time.perf_counter(); import callbreak_env")
    return {
        "import of the dependencies, s": min(
            python_seconds(IMPORT.format(modules=DEPENDENCIES)) for _ in range(repeats)
        ),
        "import of callbreak_env over them, s": statistics.median(
            python_seconds(own) for _ in range(repeats)
        ),
        "first AEC turns, empty cache, s": first,
        "first AEC turns, filled cache, s": cached,
    }


def machine() -> str:
    """One line: processor, cores, versions."""
    cpuinfo = Path("/proc/cpuinfo")
    model = platform.processor() or platform.machine()
    if cpuinfo.exists():
        names = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = names[0].partition(": ")[2] if names else model
    versions = ", ".join(f"{name} {version(name)}" for name in ("numba", "numpy", "pettingzoo"))
    return f"{model}, {os.cpu_count()} cores; Python {platform.python_version()}, {versions}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="for each figure (1.0)")
    parser.add_argument("--repeats", type=int, default=5, help="for each figure (5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    args = parser.parse_args()

    works = {f"engine steps, batch {batch}": engine(batch) for batch in BATCHES}
    works |= {f"engine steps, batch 1024, {preset}": engine(1024, preset) for preset in ("bhoos", "no_trump")}
    works |= {
        "legal masks, batch 1024": masks(),
        "observations float32, one call each": observation(),
        "Match.apply": match_apply(),
        "AEC raw_env, last + step": aec(callbreak_v0.raw_env),
        "AEC env (wrapped), last + step": aec(callbreak_v0.env),
    }
    print(f"{machine()}\none thread, seed {SEED}, median of {args.repeats} repeats\n")
    figures: dict[str, object] = {}
    for name, work in works.items():
        figures[name] = result = rate(work, args.seconds, args.repeats)
        print(f"{name:<40} {result['median']:>14,.0f} /s   best {result['best']:>14,.0f}", flush=True)
    for name, seconds in startup(args.repeats).items():
        figures[name] = seconds
        print(f"{name:<40} {seconds:>14.3f}", flush=True)
    if args.json:
        args.json.write_text(
            json.dumps({"machine": machine(), "seed": SEED, "figures": figures}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
