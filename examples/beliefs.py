"""Train the network of beliefs that the neural agents draw their worlds by: who holds which unseen card.

    python examples/beliefs.py --weights runs/neural/weights --out runs/beliefs
    python examples/beliefs.py --smoke        half a minute, to see that it learns

The network of ``neural`` plays deals among itself and others. At each of its decisions another network is
given what it sees, and is told where the cards really were: cross-entropy over the holders that may have a
card, so that it learns what bids and plays tell. Tables and rows are those of ``ppo_selfplay.py``.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import ppo_selfplay as ppo
import torch
from torch.nn import functional
from tqdm import tqdm

from callbreak_env import make_agent
from callbreak_env.agents.inputs import INPUTS, OWN_PLANES, PLANES
from callbreak_env.agents.network import BELIEF_OUTPUTS, HOLDERS
from callbreak_env.agents.neural import NeuralAgent, chosen_weights, save_weights

MAY_HOLD = 52 * (OWN_PLANES + PLANES).index("may_hold_1")


@dataclass
class Config:
    """What a run is made of."""

    weights: str = ""  # of the network that plays; none: those of the package
    seed: int = 1
    rules: dict[str, float] = field(default_factory=lambda: {"standard": 0.55, "bhoos": 0.45})
    units: int = 256
    layers: int = 2
    threads: int = 2
    decisions: int = 20_000_000  # with a choice, that are learnt from
    tables: int = 2048
    among_rule_based: float = 0.3  # share of the tables
    odd_bids: float = 0.02
    lr: float = 1e-3
    minibatch: int = 4096
    limits: ClassVar[ppo.Limits] = {
        name: ppo.Config.limits[name] for name in ("seed", "threads", "odd_bids")
    } | {"among_rule_based": (0, 1)}


class Beliefs(ppo.Policy):
    """The policy's body; a head for the holders of the cards."""

    heads: ClassVar[dict[str, int]] = {"holders": BELIEF_OUTPUTS}

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """[K, INPUTS] int8 -> [K, 3, 52] log-probabilities of the next three seats to hold a card."""
        logits = self.holders(self.features(rows)).float().reshape(-1, HOLDERS, ppo.CARDS)
        return functional.log_softmax(logits.masked_fill(~may_hold(rows), -1e9), 1)


def may_hold(rows: torch.Tensor) -> torch.Tensor:
    """[K, 3, 52] bool: who may hold which card, by the rules alone."""
    return rows[:, MAY_HOLD : MAY_HOLD + BELIEF_OUTPUTS].reshape(-1, HOLDERS, ppo.CARDS) > 0


def error_of(beliefs: Beliefs, rows: torch.Tensor) -> torch.Tensor:
    """The mean cross-entropy of a card, in nats, of those that two or three seats may hold."""
    held = rows[:, INPUTS:].reshape(-1, HOLDERS, ppo.CARDS) > 0
    open_to = may_hold(rows).sum(1)
    with torch.autocast("cpu", torch.bfloat16, enabled=ppo.BFLOAT16):
        logp = beliefs(rows[:, :INPUTS])
    return -logp[held & (open_to > 1)[:, None]].mean()


def positions(config: Config) -> Iterator[torch.Tensor]:
    """[K, INPUTS + HIDDEN] int8 at a time: what the network saw at its decisions, and the other hands."""
    agent, usual = NeuralAgent(chosen_weights(config.weights or None)), make_agent("rule_based")
    tables = ppo.Tables(config.rules, config.tables)
    seed = config.seed * 1_000_000_007
    while True:
        rng = np.random.default_rng([seed, 1])
        turn = tables.reset(seed)
        who = ppo.players(config.tables, 0.0, config.among_rule_based, rng)
        found = []
        while len(live := np.flatnonzero(turn.seat >= 0)):
            actions = np.zeros(config.tables, np.int64)
            mask = turn.action_mask[live]
            actions[live] = mask.argmax(1)
            free = live[mask.sum(1, dtype=np.int64) > 1]
            own = who[free, turn.seat[free]] == ppo.CURRENT
            if len(others := free[~own]):
                actions[others] = tables.act(usual, others)
            if len(mine := free[own]):
                actions[mine] = tables.act(agent, mine, config.threads)
                found.append(tables.inputs(mine, hidden=True).rows)
                actions[mine] = ppo.shift_bids(actions[mine], turn.action_mask[mine], config.odd_bids, rng)
            turn = tables.step(actions)
        yield torch.from_numpy(np.concatenate(found))
        seed += 1


def train(config: Config, folder: Path) -> dict[str, float]:
    """Learn, write the weights, and tell how good the beliefs are in deals that were not learnt from."""
    ppo.claim(config, folder)
    torch.manual_seed(config.seed)
    torch.set_num_threads(config.threads)
    start = time.perf_counter()
    beliefs = Beliefs(config.units, config.layers)
    optimizer = torch.optim.Adam(beliefs.parameters(), config.lr, fused=True)
    dealt = positions(config)
    others = torch.cat([next(dealt) for _ in range(2)])
    before = judge(beliefs, others)
    seen = 0
    with tqdm(total=config.decisions, unit="dec", unit_scale=True, desc="beliefs", mininterval=5) as bar:
        while seen < config.decisions:
            rows = next(dealt)
            for group in optimizer.param_groups:
                group["lr"] = config.lr * max(0.01, 1 - seen / config.decisions)
            errors = []
            for chosen in torch.randperm(len(rows)).split(config.minibatch):
                error = error_of(beliefs, rows[chosen])
                optimizer.zero_grad(set_to_none=True)
                error.backward()
                optimizer.step()
                errors.append(error.item())
            seen += len(rows)
            bar.update(len(rows))
            bar.set_postfix(error=f"{np.mean(errors):.4f}")
    told = {
        "untrained_error": before,
        "error": judge(beliefs, others),
        "decisions": seen,
        "minutes": (time.perf_counter() - start) / 60,
    }
    card: dict[str, Any] = {"config": dataclasses.asdict(config), **told}
    save_weights(beliefs.weights(), folder / "weights", card)
    return told


@torch.no_grad()
def judge(beliefs: Beliefs, rows: torch.Tensor) -> float:
    """``error_of``, of many rows."""
    parts = rows.split(8192)
    errors = [error_of(beliefs, part).item() for part in parts]
    return float(np.average(errors, weights=[len(part) for part in parts]))


SMOKE = {"units": 64, "decisions": 60_000, "tables": 256, "minibatch": 512, "lr": 3e-3}


def main(arguments: list[str] | None = None) -> dict[str, float]:
    """Read the command line, train, and tell what came of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--weights", help="of the network that plays, as neural:weights=PATH takes them")
    parser.add_argument("--out", default="runs/beliefs", help="folder of the weights")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--threads", type=int, help="of torch and of the tables")
    parser.add_argument("--decisions", type=int, help="with a choice; else 20,000,000")
    parser.add_argument("--smoke", action="store_true", help="a small run instead")
    args = vars(parser.parse_args(arguments))
    smoke, out = args.pop("smoke"), Path(args.pop("out"))
    given = (SMOKE if smoke else {}) | {name: each for name, each in args.items() if each is not None}
    ppo.check_settings("", given, Config)
    with ppo.exits(""):
        chosen_weights(args["weights"])
    config = Config(**given)
    print(json.dumps(dataclasses.asdict(config)))
    told = train(config, out)
    print(json.dumps(told))
    return told


if __name__ == "__main__":
    main()
