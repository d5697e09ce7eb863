"""How fast it is: engine, masks, observations, every environment, playouts, sampler, imports, first compiles.

    python benchmarks/throughput.py [--seconds 1.0] [--repeats 5] [--only WORD ...] [--json FILE]

Every figure is the median of the repeats, with the fastest beside it. The repeats are interleaved: all
figures once, then all again, so that a busy moment of a shared machine hits them alike; read figures of one
run as ratios to each other. Compilation is apart. "Share of the write limit" puts the bytes that an
environment writes a second beside what a loop that only writes reaches in arrays of the same size.
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
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numba
import numpy as np
from gymnasium.vector import SyncVectorEnv

from callbreak_env import Match, callbreak_v0, make_agent
from callbreak_env.engine.agents import act_rows
from callbreak_env.engine.loops import play_policy
from callbreak_env.engine.policies import UNIFORM
from callbreak_env.engine.threads import run_rows, usable_cores
from callbreak_env.envs.selfplay import SelfPlayEnv
from callbreak_env.envs.single import CallBreakEnv
from callbreak_env.envs.vector import CallBreakVectorEnv
from callbreak_env.observation import WIDTH, encode_flat
from callbreak_env.playouts import playouts
from callbreak_env.rules import PRESETS
from callbreak_env.worlds import Worlds

SEED = 1
BATCHES = (1, 16, 256, 1024, 8192, 65536)
FORMS = {"no observation": (None, "float32"), "int8": ("flat", "int8"), "float32": ("flat", "float32")}

Work = Callable[[], int]  # does something, and returns how many units of it
Works = dict[str, Work]

IMPORT = "import time; t = time.perf_counter(); import {modules}; print(time.perf_counter() - t)"
DEPENDENCIES = "numpy, numba, gymnasium, pettingzoo"
FIRST_USE = """
import time
import numpy as np
{imports}
t = time.perf_counter()
{code}
print(time.perf_counter() - t)
"""
FIRST_USES = {
    "first AEC turns": (
        "from callbreak_env import callbreak_v0",
        "env = callbreak_v0.raw_env(); env.reset(seed=1)\n"
        "for _ in range(2): env.step(int(env.last()[0]['action_mask'].argmax()))",
    ),
    "first self-play step": (
        "from callbreak_env.envs.selfplay import SelfPlayEnv",
        "env = SelfPlayEnv(8); env.reset(seed=1); env.step(env.sample_actions())",
    ),
    "first Gymnasium vector step": (
        "from callbreak_env.envs.vector import CallBreakVectorEnv",
        "env = CallBreakVectorEnv(8); env.reset(seed=1); env.step(env.action_masks().argmax(axis=1))",
    ),
}


SEARCHES = ("pimc_lite", "pimc", "pimc_strong", "ismcts")


def engine(batch: int, preset: str = "standard", steps: int = 0) -> Work:
    """Steps of ``batch`` tables by the uniform policy, all of it compiled; no observation, no mask.

    ``steps`` of each table a call; 0: as many as make a call long.
    """
    env = SelfPlayEnv(batch, preset, encoding=None, threads=1)
    env.reset(seed=SEED)
    tables, rules = env.tables, env.rules_array
    steps = steps or max(1, 100_000 // batch)
    calls = calls_of(batch, 56) if steps == 1 else 1

    def work() -> int:
        for _ in range(calls):
            play_policy(tables, rules, UNIFORM, steps)
        return calls * steps * batch

    return work


def decisions(name: str, batch: int, steps: int) -> Work:
    """Decisions of an agent in all seats of ``batch`` tables, with the engine's steps between them."""
    record = make_agent(name).record_array
    env = SelfPlayEnv(batch, encoding=None, threads=1)
    env.reset(seed=SEED)
    actions = np.zeros(batch, np.int64)

    def work() -> int:
        for _ in range(steps):
            act_rows(0, batch, record, env.tables, env.rules_array, actions)
            env.step(actions)
        return steps * batch

    return work


def calls_of(batch: int, steps: int) -> int:
    """Calls for some 20,000 rows, in whole deals of so many steps: all tables end theirs in the same step."""
    return steps * max(1, 20_000 // (steps * batch))


def selfplay(batch: int, form: str, threads: int = 1, copy: bool = False) -> Work:
    """Steps of the self-play form, every seat by uniform legal actions: observation and mask of each."""
    encoding, dtype = FORMS[form]
    env = SelfPlayEnv(batch, encoding=encoding, dtype=dtype, threads=threads, copy=copy)
    env.reset(seed=SEED)
    calls = calls_of(batch, 56)

    def work() -> int:
        for _ in range(calls):
            env.step(env.sample_actions())
        return calls * batch

    return work


def vector(batch: int, dtype: str, threads: int = 1) -> Work:
    """Learner steps of the Gymnasium vector environment (three opponents act between two of them)."""
    env = CallBreakVectorEnv(batch, dtype=dtype, threads=threads, copy=False)
    env.reset(seed=SEED)
    calls = calls_of(batch, 14)

    def work() -> int:
        for _ in range(calls):
            env.step(env.sample_actions())
        return calls * batch

    return work


def sync_vector(batch: int) -> Work:
    """Learner steps of Gymnasium's ``SyncVectorEnv`` of the single environment."""
    env = SyncVectorEnv([CallBreakEnv] * batch)
    _, infos = env.reset(seed=SEED)

    def work() -> int:
        nonlocal infos
        infos = env.step(infos["action_mask"].argmax(axis=1))[4]
        return batch

    return work


def sb3(batch: int, dummy: bool) -> Work:
    """Learner steps of SB3's form, or of DummyVecEnv, with masks as MaskablePPO asks for them."""
    from stable_baselines3.common.vec_env import DummyVecEnv

    from callbreak_env.integrations.sb3 import CallBreakVecEnv

    env = DummyVecEnv([CallBreakEnv] * batch) if dummy else CallBreakVecEnv(batch, threads=1)
    env.seed(SEED)
    env.reset()

    def work() -> int:
        masks = np.stack(env.env_method("action_masks"))
        env.step(masks.argmax(axis=1))
        return batch

    return work


def single() -> Work:
    """Learner steps of the Gymnasium environment, with resets."""
    env = CallBreakEnv()
    env.reset(seed=SEED)

    def work() -> int:
        for _ in range(200):
            if env.step(int(env.action_masks().argmax()))[2]:
                env.reset()
        return 200

    return work


def observation() -> Work:
    """The flat observation of one seat, one call from Python each."""
    match = Match(seed=SEED)
    out = np.empty(WIDTH, np.float32)
    tables, rules = match.record_array, match.rules_array

    def work() -> int:
        for _ in range(1000):
            encode_flat(tables, rules, 0, out)
        return 1000

    return work


def match_apply() -> Work:
    """Checked moves of ``Match``, the first legal action each."""

    def work() -> int:
        match = Match(seed=SEED)
        turns = 0
        while not match.is_over:
            match.apply(int(match.legal_mask().argmax()))
            turns += 1
        return turns

    return work


def aec(make: Callable[[], object]) -> Work:
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


def whole_deals(policy: str) -> Work:
    """Playouts of whole deals by a policy, from before the first bid."""
    match = Match(seed=SEED)

    def work() -> int:
        playouts(match, 2000, policy, seed=SEED)
        return 2000

    return work


def sampler(played: int) -> Work:
    """Worlds drawn from what one seat knows after some cards of a deal by uniform play."""
    match, rng = Match("single_deal", seed=SEED), np.random.default_rng(SEED)
    while len(match.plays) < played or match.phase == "bidding":
        match.apply(int(rng.choice(match.legal_actions())))
    worlds = Worlds(match.view(match.seat))

    def work() -> int:
        worlds.sample(10_000, SEED)
        return 10_000

    return work


@numba.njit(nogil=True)
def fill(first: int, end: int, rows: np.ndarray, value: int) -> int:
    """Write and nothing else."""
    for i in range(first, end):
        rows[i, :] = value
    return 0


def write_limit(form: str, batch: int, threads: int = 1) -> Work:
    """Bytes a second of a loop that only writes, into arrays of the size of a turn's."""
    rows = np.zeros((batch, row_bytes(form)), np.int8)
    calls = max(1, 20_000 // batch)

    def work() -> int:
        for _ in range(calls):
            run_rows(fill, batch, threads, rows, 1)
        return rows.size * calls

    return work


def row_bytes(form: str) -> int:
    """What a row of a turn takes: observation, mask, seat, rewards, flags."""
    encoding, dtype = FORMS[form]
    return (WIDTH * np.dtype(dtype).itemsize if encoding else 0) + 65 + 1 + 16 + 4 + 2


def measure(works: Works, seconds: float, repeats: int) -> dict[str, dict[str, float]]:
    """Units a second of each work, interleaved: ``repeats`` rounds of ``seconds / repeats`` each."""
    rates: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()  # compiles
    for _ in range(repeats):
        for name, work in works.items():
            done = 0
            start = time.perf_counter()
            while (elapsed := time.perf_counter() - start) < seconds / repeats:
                done += work()
            rates[name].append(done / elapsed)
    return {
        name: {"median": statistics.median(found), "best": max(found), "rounds": found}
        for name, found in rates.items()
    }


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
    """Seconds: importing; and each first use with an empty cache, and with a filled one."""
    own = IMPORT.format(modules=f"{DEPENDENCIES}; t = time.perf_counter(); import callbreak_env")
    found = {
        "import of the dependencies": min(
            python_seconds(IMPORT.format(modules=DEPENDENCIES)) for _ in range(repeats)
        ),
        "import of callbreak_env over them": statistics.median(python_seconds(own) for _ in range(repeats)),
    }
    for name, (imports, code) in FIRST_USES.items():
        script = FIRST_USE.format(imports=imports, code=code)
        with tempfile.TemporaryDirectory() as cache:
            found[f"{name}, empty cache"] = python_seconds(script, NUMBA_CACHE_DIR=cache)
            found[f"{name}, filled cache"] = min(
                python_seconds(script, NUMBA_CACHE_DIR=cache) for _ in range(repeats)
            )
    return found


def machine() -> str:
    """One line: processor, cores, versions."""
    cpuinfo = Path("/proc/cpuinfo")
    model = platform.processor() or platform.machine()
    if cpuinfo.exists():
        names = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = names[0].partition(": ")[2] if names else model
    versions = ", ".join(f"{name} {version(name)}" for name in ("numba", "numpy", "gymnasium", "pettingzoo"))
    return f"{model}, {usable_cores()} cores; Python {platform.python_version()}, {versions}"


def figures() -> dict[str, Callable[[], Work]]:
    """All figures by name; those of SB3 where it is installed."""
    cores = usable_cores()
    found: dict[str, Callable[[], Work]] = {
        f"engine alone, batch {batch}": partial(engine, batch) for batch in BATCHES
    }
    found |= {f"engine alone, batch 1024, {preset}": partial(engine, 1024, preset) for preset in PRESETS}
    found |= {
        f"engine alone, a step of each table a call, batch {batch}": partial(engine, batch, steps=1)
        for batch in BATCHES[2:]
    }
    for form in FORMS:
        for batch in BATCHES:
            found[f"self-play {form}, batch {batch}"] = partial(selfplay, batch, form)
            if cores > 1 and batch >= 8192:
                found[f"self-play {form}, batch {batch}, {cores} threads"] = partial(
                    selfplay, batch, form, cores
                )
            if form != "no observation":
                found[f"write limit {form}, batch {batch}"] = partial(write_limit, form, batch)
                if cores > 1 and batch >= 8192:
                    found[f"write limit {form}, batch {batch}, {cores} threads"] = partial(
                        write_limit, form, batch, cores
                    )
    found["self-play float32, batch 1024, fresh arrays"] = partial(selfplay, 1024, "float32", 1, True)
    for batch in BATCHES[2:]:
        found[f"Gymnasium vector float32, batch {batch}"] = partial(vector, batch, "float32")
    found["Gymnasium vector int8, batch 1024"] = partial(vector, 1024, "int8")
    if cores > 1:
        found[f"Gymnasium vector float32, batch 8192, {cores} threads"] = partial(
            vector, 8192, "float32", cores
        )
    found["Gymnasium vector float32, batch 64"] = partial(vector, 64, "float32")
    found["Gymnasium SyncVectorEnv of the single one, batch 64"] = partial(sync_vector, 64)
    found["Gymnasium single"] = single
    try:
        version("stable-baselines3")
        found |= {f"SB3 VecEnv, batch {batch}": partial(sb3, batch, False) for batch in (8, 64, 512)}
        found |= {
            f"SB3 DummyVecEnv of the single one, batch {batch}": partial(sb3, batch, True) for batch in (1, 8)
        }
    except PackageNotFoundError:
        print("SB3 is not installed: its figures are left out")
    return found | {
        "observations float32, one call each": observation,
        "Match.apply": match_apply,
        "AEC raw_env, last + step": partial(aec, callbreak_v0.raw_env),
        "AEC env (wrapped), last + step": partial(aec, callbreak_v0.env),
        "playouts of whole deals": partial(whole_deals, "uniform"),
        "playouts of whole deals by rule_based": partial(whole_deals, "rule_based"),
        "decisions of rule_based, batch 1024": partial(decisions, "rule_based", 1024, 56),
        **{f"decisions of {name}": partial(decisions, name, 4, 56) for name in SEARCHES},
        **{f"worlds sampled, {played} cards played": partial(sampler, played) for played in (0, 16, 32, 44)},
    }


def told(found: dict[str, dict[str, Any]], cores: int) -> str:
    """The figures as a table in Markdown, and what they say of each other; ``cores`` of the machine."""
    lines = ["| figure | a second (median) | best |", "|---|---:|---:|"]
    lines += [
        f"| {name} | {figure['median']:,.0f} | {figure['best']:,.0f} |" for name, figure in found.items()
    ]

    def ratio(one: str, other: str) -> float | None:
        """The median of the ratios of neighbours."""
        if one not in found or other not in found:
            return None
        pairs = zip(found[one]["rounds"], found[other]["rounds"], strict=True)
        return statistics.median(a / b for a, b in pairs)

    lines += ["", "| ratio | |", "|---|---:|"]
    for form in FORMS:
        for batch in BATCHES:
            name, limit = f"self-play {form}, batch {batch}", f"write limit {form}, batch {batch}"
            if (gain := ratio(f"{limit}, {cores} threads", limit)) is not None:
                lines.append(f"| {limit}: {cores} threads over one | {gain:.2f} |")
            if (gain := ratio(f"{name}, {cores} threads", name)) is not None:
                lines.append(f"| {name}: {cores} threads over one | {gain:.2f} |")
            if (share := ratio(name, limit)) is not None:
                lines.append(f"| {name}: share of the write limit | {share * row_bytes(form):.2f} |")
    for pattern in (
        "engine alone, a step of each table a call, batch {}",
        "self-play no observation, batch {}",
    ):
        for batch in BATCHES[3:]:
            if (cost := ratio(pattern.format(256), pattern.format(batch))) is not None:
                lines.append(f"| cost of a step, batch {batch:,} over 256: {pattern[:-10]} | {cost:.2f} |")
    vector, sync = "Gymnasium vector float32, batch 64", "Gymnasium SyncVectorEnv of the single one, batch 64"
    if (gain := ratio(vector, sync)) is not None:
        lines.append(f"| {vector} over {sync} | {gain:.1f} |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="for each figure (1.0)")
    parser.add_argument("--repeats", type=int, default=5, help="for each figure (5)")
    parser.add_argument(
        "--only", nargs="+", default=[""], metavar="WORD", help="figures with such a word only"
    )
    parser.add_argument("--no-startup", action="store_true", help="leave imports and first compiles out")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    args = parser.parse_args()

    makers = {n: make for n, make in figures().items() if any(word in n for word in args.only)}
    print(f"{machine()}\nseed {SEED}, median of {args.repeats} interleaved repeats, one thread if not said\n")
    found = measure({name: make() for name, make in makers.items()}, args.seconds, args.repeats)
    print(told(found, usable_cores()))
    start = {} if args.no_startup else startup(3)
    if start:
        print("\n| seconds | |\n|---|---:|")
        for name, value in start.items():
            print(f"| {name} | {value:.3f} |")
    if args.json:
        args.json.write_text(
            json.dumps(
                {"machine": machine(), "cores": usable_cores(), "rates": found, "seconds": start}, indent=1
            )
            + "\n"
        )


if __name__ == "__main__":
    main()
