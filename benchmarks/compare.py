"""Other frameworks beside ours: decisions a second by random legal play, and the ratios.

    pip install -c constraints.txt -r benchmarks/requirements-compare.txt .
    python benchmarks/compare.py [--seconds 0.5] [--rounds 3] [--json FILE]

Everything runs on one core, each measurement in a process of its own. In each round every peer is measured
and ours right after it; a ratio is that of two neighbours, and the table has its median over the rounds, with
the lowest and the highest. A figure with variants (batch sizes, games) counts by the variant with the best
median, a peer's like ours. A peer that is not installed is left out.

These are different games. A decision is one action that one player chooses; dealing is none, but its time
counts. Ours is Call Break: 804 observation numbers, 65 actions, 56 decisions a deal, 5 deals a match.

- OpenSpiel spades: 4 bids and 52 cards as in ours, 578 float32. "Python" deals, asks for the legal actions,
  has the observation written into an array (much faster than `observation_tensor`, which makes a list), and
  applies one. "Tuned" is the fastest loop that we could write: a private name, cheap random indices, 56
  decisions counted beforehand.
  "C++" never leaves compiled code: the one simulation of an `MCTSBot` evaluates its root by random games to
  their ends, with `RandomRolloutEvaluator`. All start from one deal, so dealing costs it next to nothing.
- Pgx bridge_bidding: the auction alone, 480 booleans, 38 actions, about 10 decisions by random play. Jitted
  and vmapped, sampling and automatic reset inside, 32 steps a call. It deals from a table of solved deals
  that is a download; here from the 100 that the package has for its own tests: one look-up a deal as well.
- RLCard bridge: auction and play, in Python, 573 numbers.
- PettingZoo classic: the usual `agent_iter` loop with masks, `env()` (wrapped) and `raw_env()`, against the
  same loop over our AEC environment; the fastest of four small games, 18 to 84 numbers.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

SEED = 1
BATCHES = (256, 1024, 4096)
GAMES = ("connect_four_v3", "leduc_holdem_v4", "texas_holdem_v4", "tictactoe_v3")
# Set before anything that starts threads is imported, which is why the imports are inside the functions.
ONE_THREAD = {
    "JAX_PLATFORMS": "cpu",
    "NUMBA_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}

Works = dict[str, Callable[[], int]]  # a variant: work to time, which returns the decisions it made
Rates = dict[str, dict[str, float]]  # a figure: a variant: decisions a second


def selfplay(dtype: str) -> Works:
    """Ours: observations and masks of every decision, uniform legal actions."""
    from callbreak_env.envs.selfplay import SelfPlayEnv

    def work_of(batch: int) -> Callable[[], int]:
        env = SelfPlayEnv(batch, rules="standard", dtype=dtype, threads=1, copy=False)
        env.reset(seed=SEED)

        def work() -> int:
            for _ in range(16):
                env.step(env.sample_actions())
            return 16 * batch

        return work

    return {f"batch {batch}": work_of(batch) for batch in BATCHES}


def engine() -> Works:
    """Ours: the uniform agent inside compiled code; no observation, no mask."""
    from throughput import engine as engine_work

    return {f"batch {batch}": engine_work(batch) for batch in BATCHES}


def spades(observed: bool) -> Works:
    """OpenSpiel's spades from Python, with the mover's observation or without."""
    import pyspiel

    game, generator = pyspiel.load_game("spades"), random.Random(SEED)
    # What `open_spiel.python.observation` wraps, without its layer of Python.
    observation = pyspiel._Observation(game, game.make_observer({}))

    def work() -> int:
        write, number, shuffle = observation.set_from, generator.random, generator.shuffle
        deck = list(range(52))
        for _ in range(20):
            state = game.new_initial_state()
            legal, apply, player = state.legal_actions, state.apply_action, state.current_player
            shuffle(deck)
            for card in deck:
                apply(card)
            if observed:
                for _ in range(56):  # always as many
                    actions = legal()
                    write(state, player())
                    apply(actions[int(number() * len(actions))])
            else:
                for _ in range(56):
                    actions = legal()
                    apply(actions[int(number() * len(actions))])
        return 20 * 56

    return {"one table": work}


def spades_plain() -> Works:
    """The same as a user would write it: public names, ``random.choice``, and asking whether it is over."""
    import numpy as np
    import pyspiel

    game, generator = pyspiel.load_game("spades"), random.Random(SEED)
    out = np.zeros(game.observation_tensor_size(), np.float32)

    def work() -> int:
        decisions = 0
        for _ in range(20):
            state = game.new_initial_state()
            while not state.is_terminal():
                actions = state.legal_actions()
                if not state.is_chance_node():
                    state.write_observation_tensor(out)  # of the player to act
                    decisions += 1
                state.apply_action(generator.choice(actions))
        return decisions

    return {"one table": work}


def spades_rollouts() -> Works:
    """OpenSpiel's spades inside C++: rollouts of one evaluation, from after the deal."""
    import pyspiel

    games = 1000
    game, generator = pyspiel.load_game("spades"), random.Random(SEED)
    evaluator = pyspiel.RandomRolloutEvaluator(games, SEED)
    # uct_c, max_simulations, max_memory_mb, solve, seed, verbose: the one simulation evaluates its root.
    bot = pyspiel.MCTSBot(game, evaluator, 1.0, 1, 100, False, SEED, False)

    def work() -> int:
        state = game.new_initial_state()
        for card in generator.sample(range(52), 52):
            state.apply_action(card)
        bot.mcts_search(state)
        return 56 * games

    return {f"{games} rollouts": work}


def pgx_bridge() -> Works:
    """Pgx's bridge_bidding, all of it jitted."""
    import jax
    import numpy as np
    from jax import numpy as jnp
    from pgx import bridge_bidding
    from pgx.experimental.wrappers import auto_reset

    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "deals.npy"  # [2, deals, 4] int32: hands, tricks
        np.save(table, np.stack(bridge_bidding._load_sample_hash()))
        env = bridge_bidding.BridgeBidding(str(table))
    init, step = jax.vmap(env.init), jax.vmap(auto_reset(env.step, env.init))

    def turn(carry, _):
        states, key = carry
        key, choosing, stepping = jax.random.split(key, 3)
        legal = jnp.cumsum(states.legal_action_mask, axis=1)  # cheaper than `jax.random.categorical`
        chosen = jax.random.uniform(choosing, (len(legal), 1)) * legal[:, -1:]
        actions = jnp.argmax(legal > chosen, axis=1)
        return (step(states, actions, jax.random.split(stepping, len(legal))), key), None

    @jax.jit
    def turns(carry):
        return jax.lax.scan(turn, carry, length=32)[0]

    def work_of(batch: int) -> Callable[[], int]:
        key = jax.random.PRNGKey(SEED)
        carry = (jax.jit(init)(jax.random.split(key, batch)), key)

        def work() -> int:
            nonlocal carry
            carry = jax.block_until_ready(turns(carry))
            return 32 * batch

        return work

    return {f"batch {batch}": work_of(batch) for batch in BATCHES[:2]}


def rlcard_bridge() -> Works:
    """RLCard's bridge, ``step`` with a legal action."""
    import rlcard

    env, number = rlcard.make("bridge", config={"seed": SEED}), random.Random(SEED).random

    def work() -> int:
        decisions = 0
        state, _ = env.reset()
        while not env.is_over():
            actions = list(state["legal_actions"])
            state, _ = env.step(actions[int(number() * len(actions))])
            decisions += 1
        return decisions

    return {"one table": work}


def agent_iter(make: Callable[[], object]) -> Callable[[], int]:
    """The usual loop over any AEC environment with an action mask."""
    env, number = make(), random.Random(SEED).random
    env.reset(seed=SEED)

    def work() -> int:
        decisions = 0
        env.reset()
        for _ in env.agent_iter():
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                env.step(None)
                continue
            actions = observation["action_mask"].nonzero()[0]
            env.step(int(actions[int(number() * len(actions))]))
            decisions += 1
        return decisions

    return work


def aec(maker: str) -> Works:
    """Ours: ``env`` or ``raw_env``."""
    from callbreak_env import callbreak_v0

    return {"one table": agent_iter(getattr(callbreak_v0, maker))}


def classic(maker: str) -> Works:
    """PettingZoo's classic games: ``env`` or ``raw_env``."""
    modules = {game: importlib.import_module(f"pettingzoo.classic.{game}") for game in GAMES}
    return {game: agent_iter(getattr(module, maker)) for game, module in modules.items()}


OURS: dict[str, Callable[[], Works]] = {
    "int8 + mask": lambda: selfplay("int8"),
    "float32 + mask": lambda: selfplay("float32"),
    "engine alone": engine,
    "AEC raw_env": lambda: aec("raw_env"),
    "AEC env": lambda: aec("env"),
}
CLASSIC = ("rlcard", "pygame-ce")  # PettingZoo itself we need as well
PEERS: dict[str, tuple[Callable[[], Works], tuple[str, ...]]] = {  # and the distributions that each needs
    "OpenSpiel spades, Python with observation": (spades_plain, ("open_spiel",)),
    "OpenSpiel spades, Python tuned, with observation": (lambda: spades(True), ("open_spiel",)),
    "OpenSpiel spades, Python tuned, without": (lambda: spades(False), ("open_spiel",)),
    "OpenSpiel spades, C++ rollouts": (spades_rollouts, ("open_spiel",)),
    "Pgx bridge_bidding": (pgx_bridge, ("pgx", "jax")),
    "RLCard bridge": (rlcard_bridge, ("rlcard",)),
    "PettingZoo classic raw_env": (lambda: classic("raw_env"), CLASSIC),
    "PettingZoo classic env": (lambda: classic("env"), CLASSIC),
}
RATIOS: tuple[tuple[str, str, float | None], ...] = (  # and the goal, where there is one
    ("int8 + mask", "OpenSpiel spades, Python with observation", 25),
    ("float32 + mask", "OpenSpiel spades, Python with observation", 12),
    ("int8 + mask", "OpenSpiel spades, Python tuned, with observation", None),
    ("float32 + mask", "OpenSpiel spades, Python tuned, with observation", None),
    ("engine alone", "OpenSpiel spades, Python tuned, without", None),
    ("engine alone", "OpenSpiel spades, C++ rollouts", 3),
    ("int8 + mask", "Pgx bridge_bidding", 50),
    ("int8 + mask", "RLCard bridge", None),
    ("int8 + mask", "PettingZoo classic raw_env", None),
    ("AEC raw_env", "PettingZoo classic raw_env", None),
    ("AEC env", "PettingZoo classic env", None),
)


def rate(work: Callable[[], int], seconds: float) -> float:
    """Decisions a second of ``work``, which is called once before timing."""
    work()
    done, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < seconds:
        done += work()
    return done / elapsed


def measure(names: list[str], seconds: float) -> Rates:
    """The figures of ``names`` from a fresh process of this script."""
    command = [sys.executable, __file__, "--seconds", str(seconds), "--only", *names]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    if process.returncode:
        raise SystemExit(f"{', '.join(names)}:\n{process.stderr}")
    return json.loads(process.stdout.splitlines()[-1])


def best(name: str, rounds: list[Rates]) -> tuple[str, list[float]]:
    """The variant with the best median, and its rounds."""
    variants = {variant: [figures[name][variant] for figures in rounds] for variant in rounds[0][name]}
    return max(variants.items(), key=lambda item: statistics.median(item[1]))


def compare(peers: list[str], rounds: int, seconds: float) -> dict[str, list[Rates]]:
    """The rounds of each peer, with ours beside it."""
    figures: dict[str, list[Rates]] = {peer: [] for peer in peers}
    for number in range(rounds):
        for peer in peers:
            print(f"round {number + 1}: {peer}", file=sys.stderr, flush=True)
            ours = [one for one, other, _ in RATIOS if other == peer]
            figures[peer].append(measure([peer], seconds) | measure(ours, seconds))
    return figures


def table(figures: dict[str, list[Rates]]) -> str:
    """The ratios, in Markdown."""
    lines = ["| ours | /s | peer | /s | ratio (lowest to highest) | goal |", "|---|---:|---|---:|---:|---:|"]
    for ours, peer, goal in RATIOS:
        if peer in figures:
            (a, mine), (b, theirs) = best(ours, figures[peer]), best(peer, figures[peer])
            ratios = [one / other for one, other in zip(mine, theirs, strict=True)]
            ratio = f"**{statistics.median(ratios):.1f}** ({min(ratios):.1f} to {max(ratios):.1f})"
            left = f"{ours} ({a}) | {statistics.median(mine):,.0f}"
            right = f"{peer} ({b}) | {statistics.median(theirs):,.0f}"
            lines.append(f"| {left} | {right} | {ratio} | {f'≥ {goal}' if goal else ''} |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=0.5, help="for each variant in each round (0.5)")
    parser.add_argument("--rounds", type=int, default=3, help="of every peer with ours beside it (3)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every round to FILE")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these figures, as JSON")
    args = parser.parse_args()

    os.environ.update(ONE_THREAD)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # the children inherit it
    if args.only:
        works = {name: OURS[name]() if name in OURS else PEERS[name][0]() for name in args.only}
        print(json.dumps({n: {v: rate(w, args.seconds) for v, w in ws.items()} for n, ws in works.items()}))
        return

    versions: dict[str, str] = {}
    peers = []
    for peer, (_, distributions) in PEERS.items():
        try:
            versions |= {name: version(name) for name in distributions}
            peers.append(peer)
        except PackageNotFoundError as missing:
            print(f"{peer}: left out, {missing.name} is not installed")
    figures = compare(peers, args.rounds, args.seconds)

    from throughput import machine

    where = ", ".join([machine(), *(f"{name} {number}" for name, number in versions.items())])
    print(f"{where}\none core, decisions a second, medians of {args.rounds} rounds\n\n{table(figures)}")
    if args.json:
        args.json.write_text(json.dumps({"machine": where, "rounds": figures}, indent=1) + "\n")


if __name__ == "__main__":
    main()
