"""Plain PPO and DQN of Stable-Baselines3, which take no masks: how far a penalty brings them (docs/sb3.md).

python examples/sb3_without_masks.py --algorithm ppo
python examples/sb3_without_masks.py --algorithm dqn
python examples/sb3_without_masks.py --smoke            a tiny run, in seconds

An illegal action ends the episode with -13 (``illegal="penalty"``). In the arena it is counted as a fault,
and the policy ``lowest`` plays in its place. ``sb3_maskable_ppo.py`` is how to do it.
"""

from __future__ import annotations

import argparse
import csv
import resource
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.callbacks import BaseCallback

from callbreak_env import Rules
from callbreak_env.arena.figures import Challenge, challenge
from callbreak_env.arena.formats import challenger
from callbreak_env.arena.play import play
from callbreak_env.checks import check_count, check_seed
from callbreak_env.integrations.sb3 import CallBreakVecEnv

RULES = Rules(deals=1, tie="shared")
SEEDS = 1_000_000_000
"""Deals are keyed by a seed. Training takes seeds from here on, evaluation takes small ones."""


class Unmasked:
    """The model as the arena asks for it (``policy.BatchAgent``); the masks stay unused."""

    name = "sb3"

    def __init__(self, model: Any) -> None:
        self.model = model

    def act_batch(self, observations: np.ndarray, action_masks: np.ndarray, rng: np.random.Generator) -> Any:
        """[K] what it thinks best, legal or not."""
        return self.model.predict(observations, deterministic=True)[0]


class Count(BaseCallback):
    """Counts how episodes end; a row of the history now and then."""

    def __init__(self, every: int, file: Path) -> None:
        super().__init__()
        self.every, self.file = every, file
        self.history: list[dict[str, Any]] = []
        self.start = time.perf_counter()
        self._clear()

    def _clear(self) -> None:
        self.episodes = self.illegal = self.steps = 0
        self.reward = 0.0

    def _on_step(self) -> bool:
        dones, infos = self.locals["dones"], self.locals["infos"]
        self.steps += len(dones)
        self.episodes += int(dones.sum())
        self.illegal += sum("illegal" in infos[row] for row in np.flatnonzero(dones))
        self.reward += float(self.locals["rewards"].sum())
        if self.num_timesteps // self.every > len(self.history):
            self._note()
        return True

    def _note(self) -> None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        row = {
            "steps": self.num_timesteps,
            "seconds": round(time.perf_counter() - self.start, 1),
            "cpu_seconds": round(used.ru_utime + used.ru_stime, 1),
            "illegal_share": round(self.illegal / max(1, self.episodes), 4),
            "decisions_an_episode": round(self.steps / max(1, self.episodes), 3),
            "reward_an_episode": round(self.reward / max(1, self.episodes), 3),
        }
        self.history.append(row)
        self._clear()
        print(" ".join(f"{name}={value}" for name, value in row.items()), flush=True)
        with self.file.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(row), lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.history)


def make_model(algorithm: str, seed: int, units: int, gamma: float) -> Any:
    """PPO or DQN at many tables against three ``low_bid``."""
    env = CallBreakVecEnv(
        256 if algorithm == "ppo" else 32, rules=RULES, opponents="low_bid", seat=None, illegal="penalty"
    )
    common = {"gamma": gamma, "seed": seed, "device": "cpu"}
    if algorithm == "ppo":
        net = {"net_arch": [units, units], "activation_fn": torch.nn.ReLU}
        model: Any = PPO(
            "MlpPolicy", env, n_steps=56, batch_size=2048, n_epochs=2, ent_coef=0.01, vf_coef=0.1,
            policy_kwargs=net, **common,
        )  # fmt: skip
    else:
        model = DQN(
            "MlpPolicy", env, learning_rate=3e-4, buffer_size=100_000, learning_starts=5_000, batch_size=256,
            train_freq=4, gradient_steps=2, target_update_interval=2_000, exploration_fraction=0.3,
            exploration_final_eps=0.02, policy_kwargs={"net_arch": [units, units]}, **common,
        )  # fmt: skip
    env.seed(SEEDS * (1 + seed))  # SB3 gave it small seeds, which are those of the evaluation
    return model


def evaluate(model: Any, deals: int, seed: int) -> tuple[Challenge, float]:
    """Figures against three ``low_bid``, and the share of decisions that were illegal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # faults: they are what is counted
        results = play(
            challenger("sb3", "low_bid"), [Unmasked(model), "low_bid"], "standard", seed=seed, deals=deals
        )
    found = challenge(results, "sb3", "low_bid")
    return found, found.figures.faults["illegal"]


def main(argv: list[str] | None = None) -> tuple[list[dict[str, Any]], float]:
    """Read the command line, train, evaluate. Returns the history, and the share of illegal decisions."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--algorithm", choices=("ppo", "dqn"), default="ppo")
    parser.add_argument("--steps", type=int, help="1,000,000 of PPO, 300,000 of DQN")
    parser.add_argument("--units", type=int, default=256)
    parser.add_argument("--gamma", type=float, default=0.9, help="1: -13 is as bad after ten legal actions")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1, help="of torch")
    parser.add_argument("--deals", type=int, default=2000, help="of the evaluation")
    parser.add_argument("--eval-seed", type=int, default=77, help="of its deals")
    parser.add_argument("--out", default="runs/sb3_without_masks", help="folder for model and history")
    parser.add_argument("--smoke", action="store_true", help="tiny amounts")
    args = parser.parse_args(argv)
    try:
        check_count(args.deals, "--deals", 2)
        check_seed(args.eval_seed, "--eval-seed")
    except ValueError as error:
        parser.error(str(error))
    if args.smoke:
        args.units, args.deals, args.steps = 32, 50, args.steps or 30_000
    steps = args.steps or (1_000_000 if args.algorithm == "ppo" else 300_000)
    torch.set_num_threads(args.threads)
    folder = Path(args.out)
    folder.mkdir(parents=True, exist_ok=True)
    print(f"seed {args.seed}; deals of training under the seeds from {SEEDS * (1 + args.seed):,} on")
    model = make_model(args.algorithm, args.seed, args.units, args.gamma)
    count = Count(max(1, steps // 20), folder / f"{args.algorithm}.csv")
    model.learn(steps, callback=count)
    model.save(folder / args.algorithm)
    found, illegal = evaluate(model, args.deals, args.eval_seed)
    gain, bid = found.gain, found.figures.bid.mean
    print(
        f"{args.algorithm}, {model.num_timesteps:,} steps: {illegal:.1%} of its decisions in the arena were "
        f"illegal; with `lowest` in their place gain {gain.mean:+.3f} ({gain.low:+.3f}..{gain.high:+.3f}) "
        f"against three low_bid, mean bid {bid:.2f}; {args.deals:,} deals in 4 seats, seed {args.eval_seed}, "
        "95 % intervals"
    )
    return count.history, illegal


if __name__ == "__main__":
    main()
