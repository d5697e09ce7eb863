"""MaskablePPO of sb3-contrib against a pool of opponents, measured in the arena (figures: docs/sb3.md).

python examples/sb3_maskable_ppo.py --out runs/sb3             train, evaluate, save: a few minutes
python examples/sb3_maskable_ppo.py --play runs/sb3/model.zip  evaluate a saved model, and tell a match of it
python examples/sb3_maskable_ppo.py --smoke                    a tiny run, in seconds

The trap: while play is random every bid above the minimum loses, so PPO from nothing learns to bid 2 before
it learns to play, and then tries nothing else. The way out:

--lessons N  first the policy learns, supervised, what ``rule_based`` does in N decisions, and the critic what
             came of them
--sharpen F  then its logits are multiplied by F: PPO improves the policy that draws its actions, and a clone
             draws many that its teacher would not take
--windows P  in a share P of the deals only two neighbouring bids are legal for the learner, so that all bids
             stay tried; without lessons that was not enough
"""

from __future__ import annotations

import argparse
import csv
import itertools
import resource
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv, VecMonitor
from tqdm import tqdm

from callbreak_env import Match, Rules, SelfPlayEnv, make_agent
from callbreak_env.actions import BID_OFFSET
from callbreak_env.arena.figures import Challenge, challenge
from callbreak_env.arena.foreign import PolicyAgent
from callbreak_env.arena.formats import challenger
from callbreak_env.arena.play import play
from callbreak_env.checks import check_count, check_seed
from callbreak_env.integrations.sb3 import CallBreakVecEnv
from callbreak_env.observation import FIELDS
from callbreak_env.story import tell_match

RULES = Rules(deals=1, tie="shared")
"""A deal by itself is an episode of 14 decisions: gamma can be 1, and the reward is its points."""
UNTOLD = {"extra_deal", "deal", "deals_left", "redeals", "totals", "rules"}
"""Fields that say nothing about such a deal. The networks do not see them, so whole matches are the same."""
SEEDS = 1_000_000_000
"""Deals are keyed by a seed. Training takes seeds from here on, evaluation takes small ones."""
DECISIONS = 56
"""Of all four seats in a deal."""


class PastSelf:
    """An opponent for many tables in one call (``policy.BatchAgent``): one of the copies of the policy."""

    name = "past self"

    def __init__(self, most: int = 6) -> None:
        self.copies: list[dict[str, torch.Tensor]] = []
        self.most = most
        self.policy: Any = None

    def keep(self, policy: Any) -> None:
        """One more copy; of too many the second goes (the first is where it all began)."""
        self.copies.append({name: weights.clone() for name, weights in policy.state_dict().items()})
        if len(self.copies) > self.most:
            del self.copies[1]

    def draw(self, model: MaskablePPO, rng: np.random.Generator) -> None:
        """Play one of the copies from now on."""
        if self.policy is None:
            self.policy = model.policy_class(**model.policy._get_constructor_parameters())
        self.policy.load_state_dict(self.copies[rng.integers(len(self.copies))])

    def act_batch(self, observations: np.ndarray, action_masks: np.ndarray, rng: np.random.Generator) -> Any:
        """[K] what it thinks best."""
        return self.policy.predict(observations, deterministic=True, action_masks=action_masks)[0]


class Tables(VecEnv):
    """Several ``CallBreakVecEnv`` as one, so that tables have different opponents; with windows of bids.

    Args:
        parts: the environments.
        windows: share of the bids of which two neighbours alone are legal, drawn from 2-3 to 5-6.
    """

    def __init__(self, parts: list[CallBreakVecEnv], windows: float) -> None:
        self.parts, self.windows = parts, windows
        self.rng = np.random.default_rng(0)
        rows = np.cumsum([part.num_envs for part in parts])
        self.ends = rows[:-1]
        super().__init__(int(rows[-1]), parts[0].observation_space, parts[0].action_space)

    def seed(self, seed: int | None = None) -> list[Any]:
        """SB3 gives its own small seed: ours are far from those of the evaluation."""
        first = SEEDS * (1 + (seed or 0))
        self.rng = np.random.default_rng(first)
        return [
            s for part, end in zip(self.parts, [0, *self.ends], strict=True) for s in part.seed(first + end)
        ]

    def reset(self) -> np.ndarray:
        """A deal at every table."""
        observations = np.concatenate([part.reset() for part in self.parts])
        self._look()
        return observations

    def step_async(self, actions: np.ndarray) -> None:
        """Take note of the actions."""
        for part, own in zip(self.parts, np.split(actions, self.ends), strict=True):
            part.step_async(own)

    def step_wait(self) -> Any:
        """What all parts give, one after the other."""
        observations, rewards, dones, infos = zip(*(part.step_wait() for part in self.parts), strict=True)
        self._look()
        told = list(itertools.chain.from_iterable(infos))
        return np.concatenate(observations), np.concatenate(rewards), np.concatenate(dones), told

    def _look(self) -> None:
        """The masks, once a step: a window stays the same however often it is asked for."""
        self.masks = np.concatenate([part.env_method("action_masks") for part in self.parts])
        bids = self.masks[:, BID_OFFSET + 1 :].any(axis=1)
        for row in np.flatnonzero(bids & (self.rng.random(self.num_envs) < self.windows)):
            bid = BID_OFFSET + self.rng.integers(2, 6)
            self.masks[row, :bid] = 0
            self.masks[row, bid + 2 :] = 0

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """``action_masks()`` of some tables."""
        if method_name != "action_masks":
            raise AttributeError(method_name)
        return [self.masks[row] for row in self._get_indices(indices)]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of each table."""
        found = [each for part in self.parts for each in part.get_attr(attr_name)]
        return [found[row] for row in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refused."""
        raise AttributeError(attr_name)

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """False for every table."""
        return [False for _ in self._get_indices(indices)]

    def close(self) -> None:
        """Nothing is held."""


def make_tables(count: int, shares: dict[str, float], past: PastSelf, windows: float) -> Tables:
    """Tables of three opponents of a kind each; the learner's seat is drawn for each deal."""
    parts = []
    for name, share in shares.items():
        if rows := round(count * share):
            opponents = [past if name == "past" else name] * 3
            parts.append(CallBreakVecEnv(rows, rules=RULES, opponents=opponents, seat=None, illegal="raise"))
    return Tables(parts, windows)


def blind(model: MaskablePPO) -> None:
    """Zero weights for what is not to be seen, and they stay so."""
    told = torch.cat([torch.full((field.size,), float(field.name not in UNTOLD)) for field in FIELDS])
    extractor = model.policy.mlp_extractor
    for first in (extractor.policy_net[0], extractor.value_net[0]):
        first.weight.data *= told
        first.weight.register_hook(lambda gradient: gradient * told)


def lessons(model: MaskablePPO, decisions: int, seed: int, tables: int = 256, odd_bids: float = 0.1) -> None:
    """Supervised: what ``rule_based`` does in deals of four of them, and how many points it brings.

    Some bids are odd ones, so that play after any bid is learnt; the label stays what the teacher would bid.
    Where one action alone is legal there is nothing to learn.
    """
    teacher = make_agent("rule_based")
    env = SelfPlayEnv(tables, RULES)
    rng = np.random.default_rng(seed)
    seen = env.allocate(DECISIONS + 1)
    labels = np.empty((DECISIONS, tables), np.int64)
    optimizer = torch.optim.Adam(model.policy.parameters(), lr=1e-3)
    rounds = max(1, decisions // labels.size)
    model.policy.set_training_mode(True)
    bar = tqdm(range(rounds), desc="lessons", unit_scale=labels.size, unit="decision", mininterval=2)
    for number in bar:
        turn = env.reset(seed=SEEDS * (seed + 1) - 1 if number == 0 else None, out=seen.at(0))
        for t in range(DECISIONS):
            labels[t] = teacher.act_tables(env.tables, RULES)
            odd = (turn.action_mask[:, BID_OFFSET + 1 :].any(axis=1)) & (rng.random(tables) < odd_bids)
            turn = env.step(np.where(odd, env.sample_actions(), labels[t]), out=seen.at(t + 1))
        points = np.take_along_axis(
            seen.rewards[-1], seen.seat[:-1].T, axis=1
        ).T  # of the seat to act, at the end
        masks = seen.action_mask[:-1]
        t, n = np.nonzero(masks.sum(axis=2) > 1)
        for group in optimizer.param_groups:
            group["lr"] = 1e-3 * (1 - number / rounds) + 1e-5
        for part in np.array_split(rng.permutation(len(t)), max(1, len(t) // 1024)):
            at = t[part], n[part]
            rows, legal = (torch.from_numpy(array[:-1][at]) for array in (seen.observation, seen.action_mask))
            values, log_prob, _ = model.policy.evaluate_actions(rows, torch.from_numpy(labels[at]), legal)
            error = torch.nn.functional.mse_loss(values[:, 0], torch.from_numpy(points[at]))
            loss = 0.1 * error - log_prob.mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        bar.set_postfix({"log_prob": f"{log_prob.mean().item():.3f}", "error": f"{error.item():.2f}"})


class Pupil:
    """The model as the arena asks for it: many tables in one call."""

    name = "sb3"

    def __init__(self, model: MaskablePPO) -> None:
        self.model = model

    def act_batch(self, observations: np.ndarray, action_masks: np.ndarray, rng: np.random.Generator) -> Any:
        """[K] what it thinks best."""
        return self.model.predict(observations, deterministic=True, action_masks=action_masks)[0]


def evaluate(model: MaskablePPO, reference: str, deals: int, seed: int) -> Challenge:
    """The model against three copies of a reference, each deal in all four seats."""
    schedule = challenger("sb3", reference)
    results = play(schedule, [Pupil(model), reference], "standard", seed=seed, deals=deals)
    return challenge(results, "sb3", reference)


def told(found: Challenge, reference: str, deals: int, seed: int) -> str:
    """Figures in a line."""
    gain, points, mine = found.gain, found.figures.points, found.figures
    return (
        f"against three {reference}: gain {gain.mean:+.3f} ({gain.low:+.3f}..{gain.high:+.3f}), "
        f"points {points.mean:.3f} ({points.low:.3f}..{points.high:.3f}) a deal, "
        f"mean bid {mine.bid.mean:.2f}, made {mine.made.mean:.1%}; "
        f"{deals:,} deals in 4 seats, seed {seed}, 95 % intervals"
    )


class Progress(BaseCallback):
    """A bar; an evaluation at intervals, into history.csv (and TensorBoard); copies for the pool."""

    def __init__(self, args: argparse.Namespace, past: PastSelf, folder: Path, start: float) -> None:
        super().__init__()
        self.args, self.past, self.file, self.start = args, past, folder / "history.csv", start
        self.draws = np.random.default_rng(args.seed)
        self.history: list[dict[str, Any]] = []

    def _on_training_start(self) -> None:
        self.bar = tqdm(total=self.args.steps, desc="ppo", unit="step", unit_scale=True, mininterval=2)

    def _on_rollout_start(self) -> None:
        done, every = self.model.num_timesteps, max(1, self.args.steps // self.args.evaluations)
        if done // every >= len(self.history) - 1:  # the first row is the untrained model's
            if done:
                self.past.keep(self.model.policy)
            self.note(self.model, done)
        self.past.draw(self.model, self.draws)

    def _on_step(self) -> bool:
        self.bar.update(self.training_env.num_envs)
        return True

    def _on_training_end(self) -> None:
        self.bar.close()
        self.note(self.model, self.model.num_timesteps)

    def note(self, model: MaskablePPO, steps: int) -> None:
        """A row of the history."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        row = {
            "lessons": self.args.lessons if self.history else 0,
            "steps": steps,
            "seconds": round(time.perf_counter() - self.start, 1),
            "cpu_seconds": round(used.ru_utime + used.ru_stime, 1),
        }
        for reference in ("low_bid", "rule_based"):
            found = evaluate(model, reference, self.args.curve_deals, seed=5000)
            named = {"gain": found.gain.mean, "low": found.gain.low, "high": found.gain.high}
            row |= {f"{reference}_{name}": round(value, 4) for name, value in named.items()}
            if steps:
                self.logger.record(f"arena/gain_{reference}", found.gain.mean)
            if reference == "low_bid":
                row |= {"bid": round(found.figures.bid.mean, 4), "made": round(found.figures.made.mean, 4)}
        played = [episode["r"] for episode in model.ep_info_buffer or ()]
        row["points_in_training"] = (
            round(float(np.mean(played)), 4) if played else ""
        )  # drawn, not best, actions
        self.history.append(row)
        tqdm.write(" ".join(f"{name}={value}" for name, value in row.items()))
        with self.file.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(row), lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.history)


def train(args: argparse.Namespace) -> tuple[MaskablePPO, list[dict[str, Any]]]:
    """Lessons, then PPO; the model and its history, also in a folder."""
    start = time.perf_counter()
    torch.set_num_threads(args.threads)
    folder = Path(args.out)
    folder.mkdir(parents=True, exist_ok=True)
    past = PastSelf()
    shares = dict(zip(("low_bid", "rule_based", "past"), args.opponents, strict=True))
    env = VecMonitor(make_tables(args.tables, shares, past, args.windows))
    lr = args.lr  # the schedule is saved with the model
    model = MaskablePPO(
        "MlpPolicy",
        env,
        gamma=1.0,  # an episode is a deal: nothing is worth less because it comes later
        gae_lambda=0.95,
        n_steps=28,  # two whole deals: no return is cut off
        batch_size=args.batch,
        n_epochs=args.epochs,
        learning_rate=lambda left: lr * max(left, 0.05),
        ent_coef=args.entropy,
        vf_coef=0.1,  # rewards of several points: the critic's gradient would fill what is clipped for both
        policy_kwargs={
            "net_arch": {"pi": [args.units] * 2, "vf": [args.units // 2] * 2},
            "activation_fn": torch.nn.ReLU,
        },
        stats_window_size=10_000,
        tensorboard_log=str(folder / "tensorboard") if find_spec("tensorboard") else None,
        seed=args.seed,
        device="cpu",
    )
    blind(model)
    print(f"seed {args.seed}; deals of training under the seeds from {SEEDS * (1 + args.seed):,} on")
    progress = Progress(args, past, folder, start)
    progress.note(model, 0)
    if args.lessons:
        lessons(model, args.lessons, args.seed)
        with torch.no_grad():  # of a clone's doubts most are none of the teacher's
            model.policy.action_net.weight *= args.sharpen
            model.policy.action_net.bias *= args.sharpen
    past.keep(model.policy)
    past.draw(model, np.random.default_rng(args.seed))
    model.learn(args.steps, callback=progress, log_interval=10)
    model.save(folder / "model")
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(
        f"{model.num_timesteps:,} steps; {(time.perf_counter() - start) / 60:.1f} minutes, "
        f"{(used.ru_utime + used.ru_stime) / 60:.1f} of processor time; saved as {folder / 'model.zip'}"
    )
    return model, progress.history


def show(model: MaskablePPO, seed: int) -> None:
    """A match of the model against three others, in words."""
    seats = [
        PolicyAgent(model, "sb3"),
        *(make_agent(name) for name in ("rule_based", "low_bid", "rule_based")),
    ]
    match = Match("standard", seed=seed)
    for seat, agent in enumerate(seats):
        agent.reset(seat, match.rules, np.random.default_rng([seed, seat]))
    while not match.is_over:
        match.apply(seats[match.seat].act(match.view(match.seat)))
    print(f"\nA match of seed {seed}; seats 0 to 3: {', '.join(agent.name for agent in seats)}")
    print("\n".join(tell_match(match)))


def draw(histories: list[str], picture: Path) -> None:
    """Learning curves of runs from their history files: the gain over three ``low_bid``, and the mean bid."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 6), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[2, 1])
    for number, name in enumerate(histories):
        with Path(name).open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        x, gain, low, high, bid = (
            [float(row[key]) for row in rows]
            for key in ("steps", "low_bid_gain", "low_bid_low", "low_bid_high", "bid")
        )
        x = [steps / 1000 for steps in x]
        style = {"color": f"C{number}", "marker": ".", "label": Path(name).stem}
        upper.plot(x, gain, **style)
        upper.fill_between(x, low, high, color=f"C{number}", alpha=0.2, linewidth=0)
        lower.plot(x, bid, **style)
    upper.axhline(0.874, color="0.6", linestyle="--", label="rule_based (docs/strength.md)")
    upper.set_ylim(-0.6, 1)
    upper.set_ylabel("gain over three low_bid,\npoints a deal, 95 % intervals")
    lower.set_ylim(1.9, 2.9)
    lower.set_ylabel("mean bid")
    lower.set_xlabel("steps of PPO, thousands; lessons come before the first")
    for panel in (upper, lower):
        panel.grid(alpha=0.3)
    upper.legend(fontsize=8)
    figure.savefig(picture, dpi=130)


SMOKE = {
    "units": 32,
    "tables": 64,
    "batch": 256,
    "lessons": 60_000,
    "steps": 20_000,
    "lr": 1e-3,
    "evaluations": 1,
    "curve_deals": 100,
    "deals": 200,
}


def main(argv: list[str] | None = None) -> list[dict[str, Any]]:
    """Read the command line; train or load; the figures. Returns the history of the training."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--out", default="runs/sb3", help="folder for model and history")
    add("--play", metavar="MODEL", help="a saved model: no training, but figures and a match")
    add("--draw", metavar="HISTORY", nargs="+", help="no training, but curves of these files, into --out")
    add("--smoke", action="store_true", help="other defaults: tiny amounts")
    add("--seed", type=int, default=1)
    add("--threads", type=int, default=1, help="of torch")
    add("--lessons", type=int, default=1_000_000, help="decisions of rule_based to learn; 0: none")
    add("--sharpen", type=float, default=6.0, help="factor of the logits after the lessons")
    add("--windows", type=float, default=0.0, help="share of the deals with two legal bids")
    add("--steps", type=int, default=400_000, help="of PPO")
    add(
        "--opponents",
        type=float,
        nargs=3,
        default=(0.6, 0.2, 0.2),
        help="shares: low_bid, rule_based, past selves",
    )
    add("--tables", type=int, default=1024)
    add("--units", type=int, default=256, help="of the two layers; the critic's have half")
    add("--batch", type=int, default=4096, help="of an update")
    add("--epochs", type=int, default=2)
    add("--lr", type=float, default=1e-4, help="at first; then linearly less")
    add("--entropy", type=float, default=0.0)
    add("--evaluations", type=int, default=2, help="during PPO")
    add("--curve-deals", type=int, default=1000, help="of each of these")
    add("--deals", type=int, default=2000, help="of the last evaluation")
    add("--eval-seed", type=int, default=77, help="of its deals")
    if "--smoke" in (sys.argv[1:] if argv is None else argv):
        parser.set_defaults(**SMOKE)
    args = parser.parse_args(argv)
    try:
        for name in ("deals", "curve_deals"):
            check_count(getattr(args, name), f"--{name.replace('_', '-')}", 2)
        check_seed(args.eval_seed, "--eval-seed")
    except ValueError as error:
        parser.error(str(error))
    history: list[dict[str, Any]] = []
    if args.draw:
        draw(args.draw, Path(args.out))
        return history
    if args.play:
        torch.set_num_threads(args.threads)
        model = MaskablePPO.load(args.play, device="cpu")
    else:
        model, history = train(args)
    for reference in ("low_bid", "rule_based"):
        found = evaluate(model, reference, args.deals, args.eval_seed)
        print(told(found, reference, args.deals, args.eval_seed))
    if args.play:
        show(model, args.eval_seed)
    return history


if __name__ == "__main__":
    main()
