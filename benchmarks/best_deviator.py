"""The gain of the best found deviator: what one seat can win from three copies of an agent by knowing them.

    python benchmarks/best_deviator.py --out benchmarks/results/deviators.jsonl
    python benchmarks/best_deviator.py --out benchmarks/results/deviators.jsonl --start victim
    python benchmarks/best_deviator.py --weights runs/neural/weights --decisions 2000000
    python benchmarks/best_deviator.py --victim rule_based
    python benchmarks/best_deviator.py --smoke                          half a minute

A learner sits at every table with three copies of the victim, which stay as they are, and PPO makes it do as
well as it can there, in standard and in bhoos. It starts from nothing, or from the victim's own network: run
both, report the better. At the end the arena plays its best actions on deals that nobody has seen. Its gain
over the table of four victims bounds from below what a deviation brings: it is the best that was found, not
the best there is. While the learner trains, a victim that adds worlds to its network is that network alone,
which is several times as fast; what is measured is the gain over the victim itself.

Two JSON lines a run, one for each of the rules, are printed, and appended to ``--out``. The same command
continues a run that was stopped.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from callbreak_env import make_agent
from callbreak_env.agents.network import Weights
from callbreak_env.agents.neural import NeuralAgent
from callbreak_env.agents.neural_search import NeuralSearchAgent
from callbreak_env.checks import check_count, check_seed

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))

import ppo_selfplay as ppo


@dataclass
class Config(ppo.Config):
    """The settings of ``ppo_selfplay.py``; decisions are the learner's own that had a choice."""

    rules: dict[str, float] = field(default_factory=lambda: {"standard": 0.5, "bhoos": 0.5})
    decisions: int = 20_000_000
    critic_only: int = 16
    victim: str = ""  # told by the command line
    start: str = "nothing"
    past_every: int = 10**12
    against_past: float = 0.0
    anchor_bid: float = 0.0
    threads: int = 1
    evaluate_every: int = 2_000_000
    evaluate_deals: int = 1_000


SMOKE: dict[str, Any] = {
    "units": 32,
    "critic_units": 32,
    "tables": 256,
    "minibatch": 512,
    "decisions": 40_000,
    "critic_only": 0,
    "lr": 2e-3,
    "critic_lr": 2e-3,
    "evaluate_deals": 100,
}


def has_network(agent: Any) -> bool:
    """Whether it has a policy network, alone or with worlds."""
    return isinstance(agent, NeuralAgent | NeuralSearchAgent)


class Best(nn.Module):
    """A network that is sure of its best action, as the agents are: a sample of it is that one."""

    def __init__(self, policy: nn.Module) -> None:
        super().__init__()
        self.policy = policy

    def forward(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """[K, INPUTS] int8 -> logits far apart."""
        logits, tricks = self.policy(rows)
        return 1e6 * logits.float(), tricks


class Collector(ppo.Collector):
    """Plays deals with one learner at each table, the other seats the victim's."""

    def __init__(self, config: Config, victim: Any) -> None:
        super().__init__(config)
        # Asked in bfloat16 it may choose otherwise between equals, nearly.
        self.network = (
            Best(ppo.fast(ppo.Policy.from_weights(victim.weights))) if has_network(victim) else None
        )
        self.usual = victim

    def players(self, rng: np.random.Generator, past: bool) -> np.ndarray:
        """[N, 4] who sits where."""
        who = np.full((self.config.tables, 4), ppo.PAST if past else ppo.RULE_BASED)
        who[np.arange(len(who)), rng.integers(4, size=len(who))] = ppo.CURRENT
        return who

    def play(self, policy: nn.Module, past: nn.Module | None, seed: int) -> ppo.Rollout:
        """One deal at each table, the victim's network in the place of a past self."""
        rollout = super().play(policy, self.network, seed)
        return dataclasses.replace(rollout, decisions=len(rollout.actions))


class Learner(ppo.Learner):
    """PPO that may start as the victim."""

    def __init__(self, config: Config, start: Weights | None = None) -> None:
        super().__init__(config)
        self.start = start

    def prepare(self, folder: Path) -> None:
        """Take the victim's network."""
        if self.start:
            self.policy.load_state_dict(ppo.Policy.from_weights(self.start).state_dict())


def train(config: Config, victim: Any, folder: Path) -> Learner:
    """From where an earlier run stopped. On the way, the gain is that over what the learner plays with."""
    asked = NeuralAgent(victim.weights) if has_network(victim) else victim
    return ppo.train(
        config,
        folder,
        lambda config: Learner(config, victim.weights if config.start == "victim" else None),
        lambda config: Collector(config, victim),
        lambda config, policy, deals, seed: ppo.evaluate(config, policy, deals, seed, asked),
    )


def random_victim() -> NeuralAgent:
    """A small network that has learnt nothing."""
    torch.manual_seed(0)
    return NeuralAgent(ppo.Policy(32, 1).weights(), "random")


def main(arguments: list[str] | None = None) -> list[dict[str, Any]]:
    """Read the command line, train, measure, and tell: a line for each of the rules."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--victim", default="neural", help="an agent of the package")
    parser.add_argument("--weights", help="of a neural victim, instead of the package's")
    parser.add_argument("--start", choices=("nothing", "victim"), default="nothing")
    parser.add_argument("--decisions", type=int, help="of the learner, with a choice; else 20,000,000")
    parser.add_argument("--deals", type=int, help="of the measurement; else 10,000")
    parser.add_argument("--deals-seed", type=int, default=77_000_001)
    parser.add_argument("--seed", type=int, help="of the training; else 1")
    parser.add_argument("--threads", type=int, help="of torch and of the arena; else 1")
    parser.add_argument("--config", help="a TOML file with settings of Config")
    parser.add_argument("--folder", type=Path, help="of the checkpoint; else runs/deviator and what it is of")
    parser.add_argument("--out", type=Path, help="a file to append the result to")
    parser.add_argument("--smoke", action="store_true", help="a small victim that has learnt nothing")
    args = parser.parse_args(arguments)
    if args.weights and args.victim != "neural":
        raise SystemExit(f"--weights are of neural, not of {args.victim}")
    if args.smoke:
        victim: Any = random_victim()
    else:
        with ppo.exits(""):
            victim = make_agent(f"neural:weights={args.weights}" if args.weights else args.victim)
    with ppo.exits("--"):
        deals = 400 if args.smoke else 10_000
        deals = deals if args.deals is None else check_count(args.deals, "deals", 2)
        check_seed(args.deals_seed, "deals-seed")
    settings: dict[str, Any] = dict(SMOKE if args.smoke else {})
    for name in ("seed", "threads", "decisions"):
        if getattr(args, name) is not None:
            settings[name] = getattr(args, name)
    told: dict[str, Any] = {"victim": victim.name}
    if has_network(victim):
        told["digest"] = victim.digest
    if args.start == "victim":
        if not has_network(victim):
            raise SystemExit(f"--start victim: {victim.name} has no network")
        layers, units = victim.weights.biases.shape
        settings |= {"units": units, "layers": layers}
    settings |= {"victim": " ".join(told.values()), "start": args.start}
    config = Config.load(args.config, **settings)
    if config.rounds:
        raise SystemExit(f"{args.config}: a deviator has no lessons, and no rounds")
    with ppo.exits("--out: "):
        if args.out:
            args.out.parent.mkdir(parents=True, exist_ok=True)
            args.out.open("a").close()
    print(json.dumps(dataclasses.asdict(config)))
    parts = (told["victim"], told.get("digest", ""), args.start, f"seed{config.seed}")
    name = "-".join(filter(None, parts)).replace(":", "_").replace("/", "_")
    folder = args.folder or Path("runs/deviator", name)
    learner = train(config, victim, folder)
    found = ppo.evaluate(config, learner.policy, deals, args.deals_seed, victim)
    told |= {"start": args.start, "decisions": learner.decisions, "seed": config.seed}
    told |= {"minutes": round(learner.minutes, 1), "deals": deals, "deals_seed": args.deals_seed}
    lines = []
    for rules in ppo.main_rules(config):
        mine = {name.removeprefix(f"{rules}_"): x for name, x in found.items() if name.startswith(rules)}
        lines.append(told | {"rules": rules} | {name: round(x, 4) for name, x in mine.items()})
        print(json.dumps(lines[-1]))
    if args.out:
        with args.out.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
    return lines


if __name__ == "__main__":
    main()
