"""How fast MaskablePPO collects rollouts: on our SB3 ``VecEnv``, and on ``DummyVecEnv`` of ``CallBreakEnv``.

    python benchmarks/rollouts.py [--rounds 5] [--json FILE]

Each at several numbers of environments; the best of each counts. A rollout is what ``learn`` collects between
two updates (sb3-contrib's ``collect_rollouts``: masks, policy, environment, buffer), with the default network
and 2,048 steps or more, on one thread of torch. Rounds are interleaved. "No environment" shows the first
observations again and again: it bounds what any environment can reach. Needs stable-baselines3, sb3-contrib.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv
from throughput import SEED, machine, measure

from callbreak_env.envs.single import CallBreakEnv
from callbreak_env.integrations.sb3 import CallBreakVecEnv


class Frozen(CallBreakVecEnv):
    """The first observations again and again: what is left is the network and SB3 itself."""

    def reset(self) -> np.ndarray:
        """A first and last match."""
        self._kept = super().reset()
        self._masks = super().env_method("action_masks")
        self._zeros = np.zeros(self.num_envs, np.float32)
        return self._kept

    def env_method(self, method_name: str, *args: Any, **kwargs: Any) -> list[Any]:
        """The first masks."""
        return self._masks

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Nothing happens."""
        return self._kept, self._zeros, self._zeros > 0, [{} for _ in range(self.num_envs)]


MAKERS: dict[str, Callable[[int], VecEnv]] = {
    "CallBreakVecEnv": partial(CallBreakVecEnv, threads=1),
    "DummyVecEnv of CallBreakEnv": lambda count: DummyVecEnv([CallBreakEnv] * count),
    "no environment": partial(Frozen, threads=1),
}
COUNTS = {
    "CallBreakVecEnv": (64, 256, 1024, 4096),
    "DummyVecEnv of CallBreakEnv": (8, 32, 128, 512),
    "no environment": (1024, 4096),
}


def collector(make: Callable[[int], VecEnv], count: int) -> Callable[[], int]:
    """Collects one rollout, and returns its steps."""
    env = make(count)
    model = MaskablePPO("MlpPolicy", env, n_steps=max(4, 2048 // count), gamma=1.0, seed=SEED, device="cpu")
    _, callback = model._setup_learn(10**9, None)

    def work() -> int:
        model.collect_rollouts(model.env, callback, model.rollout_buffer, model.n_steps, use_masking=True)
        return count * model.n_steps

    return work


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="interleaved (5)")
    parser.add_argument("--seconds", type=float, default=2.0, help="for each in each round (2)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    args = parser.parse_args()
    torch.set_num_threads(1)

    cases = [(name, count) for name in MAKERS for count in COUNTS[name]]
    works = {f"{name}, {count}": collector(MAKERS[name], count) for name, count in cases}
    rates = measure(works, args.seconds * args.rounds, args.rounds)

    names = ("torch", "stable-baselines3", "sb3-contrib")
    where = ", ".join([machine(), *(f"{name} {version(name)}" for name in names)])
    found = {
        "machine": where,
        "rounds": args.rounds,
        "rates": [
            {"environment": name, "number": count, "rounds": rates[f"{name}, {count}"]["rounds"]}
            for name, count in cases
        ],
    }
    found["told"] = told(found)
    print(found["told"])
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n")


def told(found: dict[str, Any]) -> str:
    """The figures as a table in Markdown, and the ratio of the best ones."""
    lines = [
        f"{found['machine']}; one thread, seed {SEED}, median of {found['rounds']} interleaved rounds",
        "",
    ]
    lines += ["| environment | number | steps a second |", "|---|---:|---:|"]
    best: dict[str, list[float]] = {}
    for rate in found["rates"]:
        name, rounds = rate["environment"], rate["rounds"]
        lines.append(f"| {name} | {rate['number']} | {statistics.median(rounds):,.0f} |")
        best[name] = max(best.get(name, [0.0]), rounds, key=statistics.median)
    ours, dummy, nothing = (best[name] for name in MAKERS)
    ratio = statistics.median(a / b for a, b in zip(ours, dummy, strict=True))
    limit = statistics.median(a / b for a, b in zip(nothing, dummy, strict=True))
    costs = [f"{1e6 / statistics.median(rates):.1f}" for rates in (nothing, ours, dummy)]
    lines += [
        "",
        f"The best of each: ours is **{ratio:.1f}** times as fast as `DummyVecEnv`.",
        f"The network and SB3 alone take {costs[0]} us a step, of our {costs[1]} and its {costs[2]}:",
        f"an environment that costs nothing would be {limit:.1f} times as fast.",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
