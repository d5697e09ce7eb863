"""Deep Monte Carlo, to compare with PPO: learn what each action brings, play the best. One file, PyTorch.

    python examples/dmc.py --out runs/dmc --seed 1
    python examples/dmc.py --start runs/neural/checkpoint.pt --out runs/warm    from a cloned network
    python examples/dmc.py --smoke                                              half a minute, from nothing

As DouZero (Zha et al., DouZero: mastering DouDizhu with self-play deep reinforcement learning, ICML 2021):
all seats do what has the highest value, now and then something else, and the value of what was done moves
towards what the deal brought its seat. There is no critic and no bootstrapping. Unlike DouZero's, the network
is not asked once for each action: a head has a value, in points, for all 65.

Rows, tables, network, loop, evaluation and checkpoints are those of ``ppo_selfplay.py``; so are the
settings, of which PPO's own and the teacher's have no effect here. Some bids are moved by one or two at
random: what those near the best are worth stays known, and play stays right after any.
"""

from __future__ import annotations

import argparse
import copy
import dataclasses
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import ppo_selfplay as ppo
import torch
from torch import nn
from torch.nn import functional

from callbreak_env.agents.inputs import INPUTS, Inputs
from callbreak_env.agents.network import Weights

HEADS = ("play", "bid", "tricks", "value")


@dataclass
class Config(ppo.Config):
    """What a run is made of: the settings of ``ppo_selfplay.py``, and these."""

    start: str = ""  # a checkpoint of ppo_selfplay.py, best as it was after cloning; none: from nothing
    value_only: int = 10  # iterations after such a start in which only the values' common part learns
    against_past: float = 0.0
    against_rule_based: float = 0.0
    past_every: int = 10**12
    odd_bids: float = 0.1
    epsilon: float = 0.1  # share of the actions that are random, at first
    epsilon_end: float = 0.01
    lr: float = 1e-3
    lr_end: float = 1e-4
    limits: ClassVar[ppo.Limits] = ppo.Config.limits | {
        "value_only": (0, None),
        "epsilon": (0, 1),
        "epsilon_end": (0, 1),
    }


class Values(ppo.Policy):
    """The policy's network, whose logits are values in points: a common part, and one of each action's own.

    That is one head, written as a sum (Wang et al., Dueling network architectures, 2016): what a position is
    worth is learnt from all actions, without disturbing which is best. The heads calculate in float32: in
    bfloat16 2.00 and 2.01 are the same number, and such differences are what is to be learnt.

    Attributes:
        epsilon: share of the actions that are random.
    """

    epsilon = 0.0

    def __init__(self, units: int, layers: int) -> None:
        super().__init__(units, layers)
        self.value = nn.Linear(units, 1)
        nn.init.zeros_(self.value.weight)
        nn.init.zeros_(self.value.bias)

    def forward(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """[K, INPUTS] int8 -> values of the actions [K, 65], logits of the tricks [K, 14]."""
        x = self.features(rows)
        with torch.autocast("cpu", enabled=False):
            x = x.float()
            return torch.cat((self.play(x), self.bid(x)), 1) + self.value(x), self.tricks(x)

    def weights(self) -> Weights:
        """As the package reads them: the common part added to each action's own."""
        found = super().weights()
        found.last[:, : ppo.ACTIONS] += self.value.weight.detach().numpy().T
        found.last_bias[: ppo.ACTIONS] += self.value.bias.detach().numpy()
        return found

    def fast(self, epsilon: float = 0.0) -> nn.Module:
        """A copy to ask, not to train."""
        found = ppo.fast(self)
        for name in HEADS:
            setattr(found, name, copy.deepcopy(getattr(self, name)))
        found.epsilon = epsilon
        return found

    def start(self, path: str, temperature: float) -> None:
        """Begin with a cloned policy: its logits are values over the temperature, up to a constant."""
        own = {name: array for name, array in self.state_dict().items() if name.startswith("value.")}
        with ppo.exits(f"{path}: ", Exception):
            kept = torch.load(path, weights_only=True)
            kept = kept["parts"]["policy"] if "parts" in kept else kept
            if own.keys() & kept.keys():
                raise SystemExit(f"{path}: holds values already; a start is of ppo_selfplay.py, a policy")
            self.load_state_dict(own | kept)
        self.scale(temperature)

    def hold(self, held: bool) -> None:
        """Let nothing but the common part learn, or all."""
        for name, parameter in self.named_parameters():
            parameter.requires_grad_(not held or name.startswith("value."))


class Collector(ppo.Collector):
    """Plays deals on the best values, with exploration."""

    @torch.no_grad()
    def choose(
        self, policy: nn.Module, inputs: Inputs, generator: torch.Generator
    ) -> tuple[np.ndarray, torch.Tensor, torch.Tensor]:
        """Actions, the same under the names of the places, and their values."""
        values = policy(torch.from_numpy(inputs.rows[:, :INPUTS]))[0]
        values = values.masked_fill(torch.from_numpy(inputs.legal == 0), -torch.inf)
        rng = np.random.default_rng(int(torch.randint(2**62, (), generator=generator)))
        anything = (rng.random(inputs.legal.shape, np.float32) * inputs.legal).argmax(1)
        random = rng.random(len(anything)) < policy.epsilon
        taken = np.where(random, anything, values.argmax(1).numpy())
        taken = ppo.shift_bids(taken, inputs.legal, self.config.odd_bids, rng)  # bids keep their places
        actions = inputs.places[np.arange(len(taken)), taken]
        taken = torch.from_numpy(taken)
        return actions, taken, values.gather(1, taken[:, None])[:, 0]


class Learner(ppo.Learner):
    """Values that follow what deals bring."""

    learning = ("policy", "policy_optimizer")

    def make_policy(self) -> Values:
        """An untrained network."""
        return Values(self.config.units, self.config.layers)

    def prepare(self, folder: Path) -> None:
        """Begin as a clone, if that is wanted."""
        if self.config.start:
            self.policy.start(self.config.start, self.config.value_temperature)

    def player(self) -> nn.Module:
        """The values as they sit at the tables, less and less curious."""
        return self.policy.fast(self.progress(self.config.epsilon, self.config.epsilon_end))

    def past_player(self, past: dict[str, torch.Tensor]) -> nn.Module:
        """Values as they were, without curiosity."""
        return self.recall(past).fast()

    def learn(self, rollout: ppo.Rollout) -> dict[str, float]:
        """One pass over the decisions: squared error, as what is wanted is the mean of the points."""
        c = self.config
        start = time.perf_counter()
        for group in self.policy_optimizer.param_groups:
            group["lr"] = self.progress(c.lr, c.lr_end)
        self.policy.hold(bool(c.start) and self.iteration < c.value_only)
        points = torch.from_numpy(rollout.points[rollout.owners])
        tricks = torch.from_numpy(rollout.tricks[rollout.owners])
        count = len(points)
        rng = torch.Generator().manual_seed(c.seed * 1_000_003 + self.iteration)
        errors, trick_errors = [], []
        for _ in range(c.epochs):
            for chosen in torch.randperm(count, generator=rng).tensor_split(max(1, count // c.minibatch)):
                with torch.autocast("cpu", torch.bfloat16, enabled=ppo.BFLOAT16):
                    values, trick_logits = self.policy(rollout.rows[chosen, :INPUTS])
                value = values.gather(1, rollout.actions[chosen, None])[:, 0]
                error = functional.mse_loss(value, points[chosen])
                trick_error = functional.cross_entropy(trick_logits, tricks[chosen])
                self._step(self.policy, self.policy_optimizer, error + c.tricks_weight * trick_error)
                errors.append(error.item())
                trick_errors.append(trick_error.item())
        return {
            "explained": 1 - float(np.mean(errors)) / max(float(points.var()), 1e-9),
            "value_error": float(np.mean(errors)),
            "tricks_error": float(np.mean(trick_errors)),
            **rollout.figures(),
            "learn_seconds": time.perf_counter() - start,
            "samples": count,
        }


SMOKE: dict[str, Any] = {
    "units": 64,
    "tables": 256,
    "decisions": 400_000,
    "minibatch": 1024,
    "threads": 1,
    "evaluate_deals": 300,
    "lr": 2e-3,
}


def main(arguments: list[str] | None = None) -> Learner:
    """Read the command line, train, and tell what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", help="a TOML file with settings of Config")
    parser.add_argument("--out", default="runs/dmc", help="folder of checkpoint, history and weights")
    parser.add_argument("--start", help="a checkpoint of ppo_selfplay.py to begin with")
    parser.add_argument("--seed", type=int, help="instead of the config's")
    parser.add_argument("--threads", type=int, help="of torch and of the arena")
    parser.add_argument("--smoke", action="store_true", help="a small network, half a minute")
    args = parser.parse_args(arguments)
    given = {
        name: getattr(args, name) for name in ("start", "seed", "threads") if getattr(args, name) is not None
    }
    config = Config.load(args.config, **(SMOKE if args.smoke else {}) | given)
    print(json.dumps(dataclasses.asdict(config)))
    learner = ppo.train(config, Path(args.out), Learner, Collector)
    first, last = learner.history[0], learner.history[-1]
    print(f"{learner.decisions:,} decisions of self-play, {learner.minutes:.1f} minutes")
    for name in (name for name in first if name.endswith("_gain")):
        print(f"{name} over rule_based: {first[name]:.2f} untrained, {last[name]:.2f} trained")
    print(json.dumps(last))
    return learner


if __name__ == "__main__":
    main()
