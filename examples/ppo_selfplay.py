"""Train a Call Break player on two cores: imitate a search, then play oneself (PPO). One file, PyTorch.

python examples/ppo_selfplay.py --config examples/neural.toml --out runs/neural
python examples/ppo_selfplay.py --smoke        a minute of everything, to see that it works

1. teach: PIMC plays deals against itself and says of each decision what every action would bring (its worlds
   are weighted by what the others bid and played). Bids are sometimes shifted: play must be right after any.
2. clone: the network learns to do what brings most. In a second round the clone plays, and the teacher
   says what it thinks of that (DAgger, Ross et al. 2011): the clone meets the positions it brings about.
3. ppo: one shared policy for four seats. Thousands of single deals in lockstep, each seat credited at its own
   next turn, gamma 1, reward in own points. At some tables sit past selves or rule-based agents.

Decisions with one legal action are played but neither asked nor learnt. Plain suits are named by the seat's
own cards (``callbreak_env.agents.inputs``), which makes of six hands one: nothing is left to augment.
The arena evaluates at intervals. Every checkpoint continues exactly: run the same command again.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import csv
import dataclasses
import itertools
import json
import time
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from tqdm import tqdm

from callbreak_env import SelfPlayEnv, make_agent
from callbreak_env.agents.compiled import CompiledAgent
from callbreak_env.agents.inputs import BITS, HIDDEN, INPUTS, SCALES, Inputs, encode_inputs, inputs_digest
from callbreak_env.agents.network import Weights, check_weights
from callbreak_env.agents.neural import NeuralAgent, save_weights
from callbreak_env.agents.neural_search import NeuralSearchAgent
from callbreak_env.arena.entrants import Entrant
from callbreak_env.arena.figures import Challenge, challenge
from callbreak_env.arena.formats import challenger
from callbreak_env.arena.play import play
from callbreak_env.checks import MAX_SEED, check_count, check_number
from callbreak_env.engine.agents import PIMC
from callbreak_env.engine.state import TABLE
from callbreak_env.envs.selfplay import Turn
from callbreak_env.playouts import playouts
from callbreak_env.records import parse_json
from callbreak_env.rules import Rules, as_rules

ACTIONS, CARDS, TRICKS = 65, 52, 14
Limits = dict[str, tuple[float, float | None]]
CURRENT, PAST, RULE_BASED = range(3)


@dataclass
class Config:
    """What a run is made of. A TOML file names what differs."""

    seed: int = 1
    rules: dict[str, float] = field(default_factory=lambda: {"standard": 1.0})  # shares of the tables
    units: int = 512
    layers: int = 2
    threads: int = 2
    # teach and clone
    rounds: list[dict[str, Any]] = field(default_factory=list)  # settings of Round; none: from nothing
    odd_bids: float = 0.08
    clone_lr: float = 1e-3
    value_lr: float = 3e-4
    temperature: float = 0.1  # points: how much worse an action may be and still be taken now and then
    value_temperature: float = 0.05
    # ppo
    play_rules: dict[str, float] = field(default_factory=dict)  # shares of its tables; none: as in lessons
    decisions: int = 10_000_000  # of all seats, forced ones and opponents' too
    tables: int = 2048
    against_past: float = 0.15  # share of the tables
    against_rule_based: float = 0.35
    past_every: int = 20_000_000  # decisions
    past_most: int = 8
    lr: float = 3e-4
    lr_end: float = 3e-5
    critic_units: int = 256
    critic_lr: float = 5e-4
    critic_sees_all: bool = True
    critic_only: int = 0  # iterations at first in which the policy does not move
    warm_up: int = 20  # iterations after them in which its learning rate grows
    clip: float = 0.2
    epochs: int = 1
    minibatch: int = 4096
    gae_lambda: float = 0.95
    entropy_bid: float = 5e-3
    entropy_play: float = 1e-3
    tricks_weight: float = 0.1
    anchor_bid: float = 0.5  # weight of the cross-entropy to the clone's bids
    # evaluation
    evaluate_every: int = 20_000_000
    evaluate_deals: int = 500
    evaluate_seed: int = 5_000
    # least and most of settings; of others the least is 1, or 0 of those that need not be whole
    limits: ClassVar[Limits] = {
        "seed": (0, 10**9),  # what is made of it is a seed too
        "threads": (1, 1024),
        "odd_bids": (0, 1),
        "temperature": (1e-4, None),
        "value_temperature": (1e-4, None),
        "decisions": (0, None),
        "against_past": (0, 1),
        "against_rule_based": (0, 1),
        "critic_only": (0, None),
        "warm_up": (0, None),
        "gae_lambda": (0, 1),
        "evaluate_deals": (2, None),
        "evaluate_seed": (0, MAX_SEED),
    }

    @classmethod
    def load(cls, path: str | None, **changes: Any) -> Config:
        """The defaults, then the file, then the changes."""
        with exits(f"{path}: "):
            given = tomllib.loads(Path(path).read_text(encoding="utf-8")) if path else {}
        check_settings(f"{path}: ", given, cls)
        check_settings("", changes, cls)
        for one in given.get("rounds", []):
            if not isinstance(one, dict):
                raise SystemExit(f"{path}: a round must be a table, not {one!r}")
            check_settings(f"{path}: ", one, Round, " of a round")
            if "lessons" not in one:
                raise SystemExit(f"{path}: a round must say how many lessons it has")
            Round(**one)
        config = cls(**(given | changes))
        if config.against_past + config.against_rule_based > 1:
            raise SystemExit(
                "against_past and against_rule_based are shares of the tables: at most 1 together"
            )
        return config


KINDS: dict[str, tuple[Any, str]] = {
    "float": (int | float, "a number"),
    "bool": (bool, "true or false"),
    "str": (str, "a text"),
    "dict": (dict, "a table of presets and their shares"),
    "list": (list, "a list of tables"),
}


@contextlib.contextmanager
def exits(before: str, *more: type[Exception]) -> Iterator[None]:
    """End with the text of what goes wrong inside, and this before it."""
    try:
        yield
    except (OSError, ValueError, *more) as error:
        raise SystemExit(f"{before}{error}") from error


def check_settings(path: str, given: dict[str, Any], kind: Any, here: str = "") -> None:
    """Refuse settings that are unknown, of another type, too small or too large.

    Args:
        path: what errors begin with.
        given: the settings.
        kind: the dataclass that they are of, with its limits.
        here: what errors say after a setting's name.
    """
    known = {f.name: str(f.type).partition("[")[0] for f in dataclasses.fields(kind)}
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise SystemExit(f"{path}there is no setting {', '.join(unknown)}{here}")
    for name, value in given.items():
        if known[name] == "int":
            with exits(path):
                check_count(value, f"{name}{here}", *kind.limits.get(name, (1, None)))
            continue
        wanted, text = KINDS[known[name]]
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            raise SystemExit(f"{path}{name}{here} must be {text}, not {value!r}")
        if known[name] == "float":
            least, most = kind.limits.get(name, (0, None))
            if not least <= value < float("inf"):
                raise SystemExit(f"{path}{name}{here} must be at least {least}, not {value}")
            if most is not None and value > most:
                raise SystemExit(f"{path}{name}{here} must be at most {most}, not {value}")
        for preset, share in value.items() if known[name] == "dict" else ():
            with exits(f"{path}{name}: "):
                as_rules(preset)
            with exits(path):
                check_number(share, f"the share of {preset}", positive=True)
    if "rules" in given and not given["rules"]:
        raise SystemExit(f"{path}rules must name a preset")


@dataclass
class Round:
    """Lessons, and how they are studied. One without passes is studied with the next."""

    lessons: int  # decisions that the teacher labels
    teacher: str = "pimc:bid=40,play=12,draws=20,enumerate=24"
    # "teacher": the teacher plays; "own": the clone does, among others; "endings": the last tricks
    where: str = "teacher"
    against_rule_based: float = 0.35  # share of the tables where the clone plays
    forget: bool = False  # the lessons before
    by_cross_entropy: int = 0  # passes
    by_value: int = 0  # passes after those
    limits: ClassVar[Limits] = {
        "against_rule_based": (0, 1),
        "by_cross_entropy": (0, None),
        "by_value": (0, None),
    }

    def __post_init__(self) -> None:
        if self.where not in ("teacher", "own", "endings"):
            raise SystemExit(f"where a round is played is 'teacher', 'own' or 'endings', not {self.where!r}")
        with exits("the teacher of a round: "):
            agent = make_agent(self.teacher)
        searches = isinstance(agent, CompiledAgent) and agent.record_array["kind"][0] == PIMC
        if not searches and not isinstance(agent, NeuralSearchAgent):
            raise SystemExit(f"the teacher of a round is a pimc or neural_search agent, not {self.teacher!r}")
        settings = agent.record_array[0] if searches else agent.settings[0]
        cards = settings["play_worlds"] and settings["last"]
        if not cards and (self.where == "endings" or not settings["bid_worlds"]):
            raise SystemExit(f"the teacher of a round must have worlds to speak of, not {self.teacher!r}")


# --- networks ---


def input_scales(width: int) -> torch.Tensor:
    """What each int8 slot is multiplied by: one over its scale."""
    return torch.from_numpy(np.concatenate([1 / SCALES, np.ones(width - INPUTS, np.float32)]))


def first_layer(
    rows: torch.Tensor, scales: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """[K, n] int8 rows, scaled, times weights [units, n]: these are fewer, so it is they that are scaled."""
    # int8 is exact in bfloat16: autocast would copy the rows to float32 on the way.
    dtype = torch.bfloat16 if torch.is_autocast_enabled("cpu") else scales.dtype
    return functional.linear(rows.to(dtype), weight * scales, bias)


class Policy(nn.Module):
    """A shared body; heads for the cards, the bids and the tricks at the end of the deal."""

    heads: ClassVar[dict[str, int]] = {"play": CARDS, "bid": ACTIONS - CARDS, "tricks": TRICKS}

    def __init__(self, units: int, layers: int) -> None:
        super().__init__()
        self.register_buffer("scales", input_scales(INPUTS), persistent=False)
        self.body = nn.ModuleList(nn.Linear(INPUTS if i == 0 else units, units) for i in range(layers))
        for name, outputs in self.heads.items():
            self.add_module(name, nn.Linear(units, outputs))
        for layer in self.body:
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)
        for name in self.heads:
            nn.init.orthogonal_(getattr(self, name).weight, 0.01)
            nn.init.zeros_(getattr(self, name).bias)

    def features(self, rows: torch.Tensor) -> torch.Tensor:
        """[K, INPUTS] int8 -> [K, units], by residual layers after the first."""
        first, *others = self.body
        x = functional.relu(first_layer(rows, self.scales, first.weight, first.bias))
        for layer in others:
            x = x + functional.relu(layer(x))
        return x

    def forward(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """[K, INPUTS] int8 -> logits of the actions [K, 65] and of the tricks [K, 14]."""
        x = self.features(rows)
        return torch.cat((self.play(x), self.bid(x)), 1), self.tricks(x)

    def weights(self) -> Weights:
        """As the package reads them: the scales are folded in."""
        heads = [getattr(self, name) for name in self.heads]
        arrays = {
            "first": (self.body[0].weight * self.scales).T,
            "hidden": torch.stack([layer.weight.T for layer in self.body[1:]])
            if len(self.body) > 1
            else torch.zeros(0, *[self.body[0].out_features] * 2),
            "biases": torch.stack([layer.bias for layer in self.body]),
            "last": torch.cat([head.weight for head in heads]).T,
            "last_bias": torch.cat([head.bias for head in heads]),
        }
        given = {name: array.detach().float().numpy() for name, array in arrays.items()}
        return check_weights(given, sum(self.heads.values()))

    def scale(self, factor: float) -> None:
        """Multiply the logits of the actions: the same best one, chosen more or less often."""
        with torch.no_grad():
            for parameter in (*self.play.parameters(), *self.bid.parameters()):
                parameter.mul_(factor)

    @classmethod
    def from_weights(cls, weights: Weights) -> Policy:
        """The network that has these weights."""
        layers, units = weights.biases.shape
        policy = cls(units, layers)
        first = weights.first / policy.scales.numpy()[:, None]
        state = {f"body.{i}.bias": bias for i, bias in enumerate(weights.biases)}
        state |= {f"body.{i}.weight": w.T for i, w in enumerate((first, *weights.hidden))}
        start = 0
        for name, outputs in cls.heads.items():
            here = slice(start, start := start + outputs)
            state |= {f"{name}.weight": weights.last[:, here].T, f"{name}.bias": weights.last_bias[here]}
        policy.load_state_dict({name: torch.tensor(array) for name, array in state.items()})
        return policy


class Critic(nn.Module):
    """The value of a position for the seat to act, in points.

    One that sees all hands also knows what comes of the position if the rule-based agent plays it to the end
    from all seats. That is a good guess, and costs two microseconds: the network learns what is to be added.
    """

    def __init__(self, units: int, sees_all: bool) -> None:
        super().__init__()
        self.sees_all = sees_all
        self.width = INPUTS + HIDDEN * sees_all
        self.register_buffer("scales", input_scales(self.width), persistent=False)
        self.trust = nn.Parameter(torch.tensor(0.5 * sees_all))
        self.body = nn.Sequential(
            nn.Linear(self.width + 1, units),
            nn.ReLU(),
            nn.Linear(units, units),
            nn.ReLU(),
            nn.Linear(units, 1),
        )

    def forward(self, rows: torch.Tensor, foreseen: torch.Tensor) -> torch.Tensor:
        """[K, INPUTS + HIDDEN] int8, [K] float32 points of the playouts -> [K]."""
        known = foreseen[:, None].to(self.scales.dtype) * self.sees_all
        first, rest = self.body[0], self.body[1:]
        x = first_layer(rows[:, : self.width], self.scales, first.weight[:, :-1], first.bias)
        x = x + (known / 4 * first.weight[:, -1]).to(x.dtype)
        return (rest(x) + self.trust * known)[:, 0]


def fast(network: nn.Module) -> nn.Module:
    """A copy to ask, not to train: bfloat16 where the processor has it, twice as fast."""
    return copy.deepcopy(network).to(torch.bfloat16 if BFLOAT16 else torch.float32).eval()


def has_bfloat16() -> bool:
    """Whether the processor multiplies bfloat16 itself."""
    return bool(getattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)())


BFLOAT16 = has_bfloat16()


def masked(logits: torch.Tensor, legal: torch.Tensor) -> torch.Tensor:
    """Log-probabilities in float32, illegal actions at about -1e9."""
    return functional.log_softmax(logits.float().masked_fill(~legal, -1e9), 1)


# --- tables ---


def shares(weights: dict[str, float], total: int) -> dict[str, int]:
    """Whole numbers that sum to the total, as near to the weights as can be."""
    exact = np.array(list(weights.values()), float) / sum(weights.values()) * total
    counts = exact.astype(int)
    counts[np.argsort(counts - exact)[: total - counts.sum()]] += 1
    return {name: int(count) for name, count in zip(weights, counts, strict=True) if count}


def deal_rules(name: str) -> Rules:
    """A preset's rules for a single deal."""
    return dataclasses.replace(as_rules(name), deals=1, tie="shared")


class Tables:
    """Single deals in lockstep at many tables, of several rules, as one batch of rows.

    Attributes:
        turn: of all tables, as the last call left it.
        kind: [N] the number of each table's rules.
    """

    def __init__(self, rules: dict[str, float], count: int) -> None:
        counts = shares(rules, count)
        self.rules = [deal_rules(name) for name in counts]
        self.envs = [
            SelfPlayEnv(n, one, encoding=None, autoreset=False)
            for n, one in zip(counts.values(), self.rules, strict=True)
        ]
        ends = np.cumsum([0, *counts.values()])
        self.parts = [slice(a, b) for a, b in itertools.pairwise(ends.tolist())]
        self.kind = np.repeat(np.arange(len(counts)), list(counts.values()))
        one = self.envs[0].allocate()
        self.turn = Turn(*(np.zeros((count, *array.shape[1:]), array.dtype) for array in one))

    def _each(self) -> Iterator[tuple[SelfPlayEnv, slice, Turn]]:
        for env, part in zip(self.envs, self.parts, strict=True):
            yield env, part, Turn(*(array[part] for array in self.turn))

    def reset(self, seed: int) -> Turn:
        """New deals, others under each of the rules."""
        for kind, (env, _, turn) in enumerate(self._each()):
            env.reset(seed=seed + 10**15 * kind, out=turn)
        return self.turn

    def step(self, actions: np.ndarray) -> Turn:
        """One action at every table."""
        for env, part, turn in self._each():
            env.step(actions[part], out=turn)
        return self.turn

    def field(self, name: str) -> np.ndarray:
        """A field of the engine's records, of all tables."""
        return np.concatenate([env.tables[name] for env in self.envs])

    def map(self, chosen: np.ndarray, ask: Callable[[np.ndarray, Rules], Any]) -> list[Any]:
        """What a function of (records, rules) gives for the chosen tables ([K], ascending), by rules."""
        found = []
        for kind, (env, part) in enumerate(zip(self.envs, self.parts, strict=True)):
            here = chosen[self.kind[chosen] == kind] - part.start
            if len(here):
                found.append(ask(env.tables[here], self.rules[kind]))
        return found

    def act(self, agent: Any, chosen: np.ndarray, threads: int = 1) -> np.ndarray:
        """What a compiled agent does at the chosen tables."""
        return np.concatenate(self.map(chosen, lambda t, rules: agent.act_tables(t, rules, threads)))

    def foresee(self, chosen: np.ndarray) -> np.ndarray:
        """[K] float32 points of the seats to act if the rule-based agent plays on from all seats."""

        def play_out(tables: np.ndarray, rules: Rules) -> np.ndarray:
            points = playouts(tables, 1, "rule_based", seed=0, rules=rules)[:, 0]
            return points[np.arange(len(tables)), tables["seat"]]

        return np.concatenate(self.map(chosen, play_out)).astype(np.float32) / 10

    def inputs(self, chosen: np.ndarray, hidden: bool) -> Inputs:
        """What networks are given for the seats to act at the chosen tables."""
        parts = self.map(chosen, lambda tables, rules: encode_inputs(tables, rules, hidden=hidden))
        return Inputs(*map(np.concatenate, zip(*parts, strict=True)))


def players(tables: int, past: float, rule_based: float, rng: np.random.Generator) -> np.ndarray:
    """[N, 4] who sits where: at a table either four current, or two or three others of one kind."""
    kind = rng.choice(3, tables, p=[max(0.0, 1 - past - rule_based), past, rule_based])
    mine = rng.random((tables, 4)).argsort(1) < np.where(rng.random(tables) < 0.7, 1, 2)[:, None]
    return np.where(mine, CURRENT, kind[:, None])


@torch.no_grad()
def choose(
    policy: nn.Module, inputs: Inputs, generator: torch.Generator
) -> tuple[np.ndarray, torch.Tensor, torch.Tensor]:
    """Sampled actions, as they are named at the tables and under the names of the places, and their logp."""
    logits, _ = policy(torch.from_numpy(inputs.rows[:, :INPUTS]))
    logp = masked(logits, torch.from_numpy(inputs.legal > 0))
    # The largest of log-probabilities with Gumbel noise is a sample of them.
    noise = torch.empty_like(logp).exponential_(generator=generator)
    sampled = (logp - noise.log()).argmax(1)
    actions = inputs.places[np.arange(len(logp)), sampled.numpy()]
    return actions, sampled, logp.gather(1, sampled[:, None])[:, 0]


# --- teach and clone ---

ENDING, ODD_CARDS = 7, 0.1  # cards left in a hand, and the share of random ones in the deals that lead there
LESSON_TABLES = 1024
LESSON = {"tables": TABLE, "kind": np.int8, "values": np.float16, "tricks": np.int8}


def teach(config: Config, number: int, folder: Path, policy: Policy) -> list[Path]:
    """Files of a round's lessons, made until there are enough; what a run before this one made is kept."""
    one = Round(**config.rounds[number])
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    made = 0
    tables = Tables(config.rules, LESSON_TABLES)
    with tqdm(total=one.lessons, unit="dec", unit_scale=True, desc=folder.name, mininterval=5) as bar:
        while made < one.lessons:
            path = folder / f"{len(files):05d}.npz"
            if not path.exists():
                seed = config.seed * 1_000_000_007 + 10**6 * (number + 1) + len(files)
                lesson = one_lesson(config, one, tables, seed, policy)
                part = path.with_suffix(".part.npz")
                np.savez(part, **lesson | {"tables": as_bytes(lesson["tables"])})
                part.rename(path)
            with exits(f"{path}: ", Exception), np.load(path) as lesson:
                count = len(lesson["tricks"])
            made += count
            bar.update(count)
            files.append(path)
    return files


def one_lesson(
    config: Config, one: Round, tables: Tables, seed: int, policy: Policy
) -> dict[str, np.ndarray]:
    """What the teacher says of deals: its own, those of a policy among itself and others, or endings.

    Endings are of deals by the rule-based agent, with odd cards in between: they cost next to nothing.
    """
    rng = np.random.default_rng(seed)
    generator = torch.Generator().manual_seed(seed)
    teacher, usual = make_agent(one.teacher), make_agent("rule_based")
    if isinstance(teacher, NeuralSearchAgent):  # expert iteration: it searches with what has been learned
        teacher.weights = policy.weights()
    player, own, endings = fast(policy), one.where == "own", one.where == "endings"
    kept: dict[str, list[np.ndarray]] = {name: [] for name in LESSON}
    owners = []
    turn = tables.reset(seed)
    who = np.zeros((len(turn.seat), 4), int)
    if own:
        who = players(len(who), 0.0, one.against_rule_based, rng)
    while len(live := np.flatnonzero(turn.seat >= 0)):
        actions = np.zeros(len(turn.seat), np.int64)
        actions[live] = tables.act(usual, live)
        free = live[turn.action_mask[live].sum(1, dtype=np.int64) > 1]
        free = free[who[free, turn.seat[free]] == CURRENT]
        if own and len(free):
            chosen = choose(player, tables.inputs(free, hidden=False), generator)[0]
            actions[free] = shift_bids(chosen, turn.action_mask[free], config.odd_bids, rng)
        elif endings:
            odd = free[rng.random(len(free)) < ODD_CARDS]
            anything = (turn.action_mask[odd] * rng.random((len(odd), ACTIONS))).argmax(1)
            actions[odd] = np.where(actions[odd] < CARDS, anything, actions[odd])
            actions[free] = shift_bids(actions[free], turn.action_mask[free], config.odd_bids, rng)
            free = free[CARDS // 4 - tables.field("trick_no")[free] <= ENDING]
        said = tables.map(free, lambda t, rules: teacher.action_values(t, rules, config.threads))
        values = np.concatenate([np.zeros((0, ACTIONS), np.float32), *said])
        told = ~np.isnan(values).all(1)
        free, values = free[told], values[told]
        if len(free):
            kept["tables"].append(np.concatenate(tables.map(free, lambda records, _: records)))
            kept["kind"].append(tables.kind[free])
            kept["values"].append(values)
            owners.append((free, turn.seat[free].astype(np.int64)))
            if not own and not endings:  # few worlds: a head start for the usual action makes up for noise
                wish = np.nan_to_num(values, nan=-99.0)
                wish[np.arange(len(free)), actions[free]] += 0.25
                actions[free] = shift_bids(wish.argmax(1), turn.action_mask[free], config.odd_bids, rng)
        turn = tables.step(actions)
    won, decks = tables.field("tricks_won"), tables.field("deck")
    kept["tricks"] = [won[table, seat] for table, seat in owners]
    lesson = {name: np.concatenate(parts).astype(LESSON[name]) for name, parts in kept.items()}
    played = lesson["tables"]["deck"] == decks[np.concatenate([table for table, _ in owners])]
    return {name: array[played] for name, array in lesson.items()}  # without hands that were thrown in (H2)


def shift_bids(actions: np.ndarray, mask: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Some of the bids one lower, or one or two higher, where that is legal."""
    odd = rng.random(len(actions)) < share
    shifted = actions + rng.choice((-1, 1, 2), len(actions))
    odd &= (actions > CARDS - 1) & (shifted > CARDS - 1) & (shifted < ACTIONS)
    odd[odd] &= mask[odd, shifted[odd]] > 0
    return np.where(odd, shifted, actions)


def as_bytes(records: np.ndarray) -> np.ndarray:
    """[K, size] uint8: records as files keep them, who knows no alignment."""
    return records.view(np.uint8).reshape(len(records), -1)


def read_lessons(config: Config, files: list[Path]) -> Lessons:
    """Files hold positions: what the network is given is worked out here, so that they outlast its inputs."""
    rules = [deal_rules(name) for name in shares(config.rules, LESSON_TABLES)]
    parts: dict[str, list[np.ndarray]] = {}
    for path in files:
        with exits(f"{path}: ", Exception), np.load(path) as file:
            records = file["tables"].view(TABLE)[:, 0]
            kinds, values, tricks = (file[name] for name in ("kind", "values", "tricks"))
        for kind in np.unique(kinds):
            here = kinds == kind
            inputs = encode_inputs(records[here], rules[kind], threads=config.threads)
            for name, array in (
                ("rows", np.packbits(inputs.rows[:, :BITS], axis=1)),
                ("numbers", inputs.rows[:, BITS:].copy()),  # not a view: that would keep all of the rows
                ("legal", np.packbits(inputs.legal, axis=1)),
                ("values", np.take_along_axis(values[here], inputs.places, 1)),
                ("tricks", tricks[here]),
            ):
                parts.setdefault(name, []).append(array)
    return Lessons({name: np.concatenate(parts.pop(name)) for name in list(parts)})


@dataclass
class Lessons:
    """All lessons in memory, as minibatches.

    Attributes:
        arrays: rows and legal actions as bits, the numbers of the rules, values by place and tricks.
    """

    arrays: dict[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.arrays["tricks"])

    def batch(self, chosen: np.ndarray) -> tuple[torch.Tensor, ...]:
        """Rows, legal actions, values (points; NaN filled) and tricks."""
        a = {name: array[chosen] for name, array in self.arrays.items()}
        rows = np.empty((len(chosen), INPUTS), np.int8)
        rows[:, :BITS] = np.unpackbits(a["rows"], axis=1, count=BITS)
        rows[:, BITS:] = a["numbers"]
        legal = np.unpackbits(a["legal"], axis=1, count=ACTIONS).astype(bool)
        values = a["values"].astype(np.float32)
        # A bid that was not tried is worth less than those that were, the farther the less.
        tried = ~np.isnan(values)
        places = np.arange(ACTIONS)
        low = np.where(tried, places, 99).min(1)[:, None]
        high = np.where(tried, places, -1).max(1)[:, None]
        worst = np.where(tried, values, np.inf).min(1)[:, None]
        far = np.maximum(low - places, places - high)
        values = np.where(tried, values, worst - 0.5 * np.maximum(far, 0)).astype(np.float32)
        return tuple(map(torch.from_numpy, (rows, legal, values, a["tricks"].astype(np.int64))))


def study(config: Config, policy: Policy, lessons: Lessons, epochs: int, by_value: bool) -> None:
    """Learn to do what the teacher says brings most, in some passes; none does nothing.

    First by cross-entropy to softmax(values / temperature), which finds also what is seldom right. That takes
    noise of the values for a reason to hesitate. Then by the expected value of the policy plus its
    entropy times a temperature: linear in the values, so that their noise averages out, and the network
    does what the search would with many more worlds.
    """
    if not epochs:
        return
    rate = config.value_lr if by_value else config.clone_lr
    optimizer = torch.optim.AdamW(policy.parameters(), rate, weight_decay=1e-2, fused=True)
    size = config.minibatch
    steps = epochs * (len(lessons) // size)
    if not steps:
        raise SystemExit(f"{len(lessons)} lessons are fewer than a minibatch of {size}")
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, steps, pct_start=0.05)
    rng = np.random.default_rng(config.seed)
    regrets = []
    bar = tqdm(total=steps * size, unit="dec", unit_scale=True, desc="study", mininterval=5)
    for _ in range(epochs):
        order = rng.permutation(len(lessons))
        for start in range(0, len(order) - size + 1, size):
            rows, legal, values, tricks = lessons.batch(order[start : start + size])
            with torch.autocast("cpu", torch.bfloat16, enabled=BFLOAT16):
                logits, trick_logits = policy(rows)
            logp = masked(logits, legal)
            regret = (values.masked_fill(~legal, -torch.inf).amax(1, keepdim=True) - values) * legal
            if by_value:
                chances = logp.exp()
                loss = (chances * regret).sum(1).mean() / config.value_temperature + (chances * logp).sum(
                    1
                ).mean()
            else:
                wanted = functional.softmax((-regret / config.temperature).masked_fill(~legal, -torch.inf), 1)
                loss = -(wanted * logp).sum(1).mean()
            loss = loss + config.tricks_weight * functional.cross_entropy(trick_logits.float(), tricks)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            regrets.append(regret.gather(1, logp.argmax(1, keepdim=True)).mean().item())
            bar.update(size)
            if len(regrets) % 50 == 0:
                bar.set_postfix(regret=f"{np.mean(regrets[-50:]):.4f}", loss=f"{loss.item():.3f}")
    bar.close()


def clone(config: Config, policy: Policy, folder: Path) -> None:
    """All rounds of lessons. What is done is kept: a run that was stopped goes on after it."""
    files: list[Path] = []
    for number, given in enumerate(config.rounds):
        one = Round(**given)
        if one.forget:
            files = []
        files += teach(config, number, folder / f"lessons_{number}", policy)
        kept = folder / f"clone_{number}.pt"
        if kept.exists():
            with exits(f"{kept}: ", Exception):
                policy.load_state_dict(torch.load(kept, weights_only=True))
        elif one.by_cross_entropy or one.by_value:
            lessons = read_lessons(config, files)
            study(config, policy, lessons, one.by_cross_entropy, by_value=False)
            study(config, policy, lessons, one.by_value, by_value=True)
            del lessons
            torch.save(policy.state_dict(), kept.with_suffix(".part"))
            kept.with_suffix(".part").rename(kept)


# --- self-play ---


@dataclass
class Rollout:
    """Decisions of the current policy, in the order in which they were made, M of them.

    Attributes:
        rows: [M, INPUTS + HIDDEN] int8.
        foreseen: [M] float32, points, of ``Tables.foresee``.
        legal: [M, 65] bool.
        actions: [M] int64, relabelled.
        logp: [M] float32, of the action when it was taken.
        owners: [M] int64, table * 4 + seat.
        points: [N * 4] float32, what each owner made of its deal.
        tricks: [N * 4] int64, and how many it won.
        bids: [N * 4] int64.
        mine: [N * 4] bool, the current policy's owners.
        decisions: of all seats, forced ones too.
        seconds: that it took.
    """

    rows: torch.Tensor
    foreseen: torch.Tensor
    legal: torch.Tensor
    actions: torch.Tensor
    logp: torch.Tensor
    owners: np.ndarray
    points: np.ndarray
    tricks: np.ndarray
    bids: np.ndarray
    mine: np.ndarray
    decisions: int
    seconds: float

    def figures(self) -> dict[str, float]:
        """What the current policy's deals looked like."""
        bids = self.bids[self.mine]
        return {
            "points": float(self.points[self.mine].mean()),
            "bid": float(bids.mean()),
            "bids_over_5": float((bids > 5).mean()),
            "made": float((self.tricks[self.mine] >= bids).mean()),
        }


class Collector:
    """Plays deals with the current policy, past ones and the rule-based agent at the tables."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.tables = Tables(config.play_rules or config.rules, config.tables)
        room = config.tables * 48  # decisions with a choice, of four seats, and some more; it grows
        self.rows = torch.empty(room, INPUTS + HIDDEN, dtype=torch.int8)
        self.usual = make_agent("rule_based")

    def players(self, rng: np.random.Generator, past: bool) -> np.ndarray:
        """[N, 4] who sits where."""
        c = self.config
        return players(c.tables, c.against_past if past else 0.0, c.against_rule_based, rng)

    def choose(
        self, policy: nn.Module, inputs: Inputs, generator: torch.Generator
    ) -> tuple[np.ndarray, torch.Tensor, torch.Tensor]:
        """Actions, the same under the names of the places, and a number that is kept of each."""
        return choose(policy, inputs, generator)

    def play(self, policy: nn.Module, past: nn.Module | None, seed: int) -> Rollout:
        """One deal at each table."""
        start = time.perf_counter()
        rng = np.random.default_rng([seed, 0])
        generator = torch.Generator().manual_seed(seed)
        who = self.players(rng, past is not None)
        turn = self.tables.reset(seed)
        legal, taken, logps, owners, foreseen = [], [], [], [], []
        count = decisions = 0
        while len(live := np.flatnonzero(turn.seat >= 0)):
            decisions += len(live)
            actions = np.zeros(len(turn.seat), np.int64)
            mask = turn.action_mask[live]
            actions[live] = mask.argmax(1)
            free = live[mask.sum(1, dtype=np.int64) > 1]
            player = who[free, turn.seat[free]]
            if len(others := free[player == RULE_BASED]):
                actions[others] = self.tables.act(self.usual, others)
            if len(others := free[player == PAST]):
                actions[others] = self.choose(past, self.tables.inputs(others, hidden=False), generator)[0]
            mine = free[player == CURRENT]
            if len(mine):
                if count + len(mine) > len(self.rows):
                    self.rows = torch.cat((self.rows, torch.empty_like(self.rows)))
                inputs = self.tables.inputs(mine, hidden=True)
                actions[mine], sampled, logp = self.choose(policy, inputs, generator)
                self.rows[count : count + len(mine)] = torch.from_numpy(inputs.rows)
                legal.append(torch.from_numpy(inputs.legal > 0))
                taken.append(sampled)
                logps.append(logp)
                owners.append(4 * mine + turn.seat[mine])
                foreseen.append(self.tables.foresee(mine))
                count += len(mine)
            turn = self.tables.step(actions)
        return Rollout(
            rows=self.rows[:count],
            foreseen=torch.from_numpy(np.concatenate(foreseen)),
            legal=torch.cat(legal),
            actions=torch.cat(taken),
            logp=torch.cat(logps),
            owners=np.concatenate(owners),
            points=self.tables.field("points").ravel().astype(np.float32) / 10,
            tricks=self.tables.field("tricks_won").ravel().astype(np.int64),
            bids=self.tables.field("bids").ravel().astype(np.int64),
            mine=who.ravel() == CURRENT,
            decisions=decisions,
            seconds=time.perf_counter() - start,
        )


def credit(rollout: Rollout, values: np.ndarray, lam: float) -> np.ndarray:
    """[M] generalized advantages of each seat over its own decisions: gamma 1, the reward at the deal's end.

    Schulman et al., High-dimensional continuous control using generalized advantage estimation, 2016.
    """
    order = np.argsort(rollout.owners, kind="stable")
    owner, value = rollout.owners[order], values[order]
    last = np.append(owner[1:] != owner[:-1], True)
    after = np.where(last, rollout.points[owner], np.append(value[1:], 0))
    found = after - value
    # From each owner's last decision back: all owners at once.
    ends = np.flatnonzero(last)
    place = ends[np.searchsorted(ends, np.arange(len(owner)))] - np.arange(len(owner))
    for back in range(1, place.max(initial=0) + 1):
        here = np.flatnonzero(place == back)
        found[here] += lam * found[here + 1]
    advantages = np.empty_like(found)
    advantages[order] = found
    return advantages


# --- learning ---


class Learner:
    """Everything that learns, and everything that a checkpoint keeps."""

    def __init__(self, config: Config) -> None:
        torch.manual_seed(config.seed)
        torch.set_num_threads(config.threads)
        self.config = config
        self.policy = self.make_policy()
        self.critic = Critic(config.critic_units, config.critic_sees_all)
        self.policy_optimizer = torch.optim.Adam(self.policy.parameters(), config.lr, eps=1e-5, fused=True)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), config.critic_lr, fused=True)
        self.past: list[dict[str, torch.Tensor]] = []
        self.iteration = self.decisions = 0
        self.minutes = 0.0
        self.history: list[dict[str, float]] = []

    def make_policy(self) -> Policy:
        """An untrained network."""
        return Policy(self.config.units, self.config.layers)

    def remember(self) -> dict[str, torch.Tensor]:
        """A copy of the policy as it is now."""
        return copy.deepcopy(self.policy.state_dict())

    def recall(self, past: dict[str, torch.Tensor]) -> Policy:
        """A policy as it was."""
        policy = self.make_policy()
        policy.load_state_dict(past)
        return policy

    def prepare(self, folder: Path) -> None:
        """What comes before self-play: the clone."""
        if self.config.rounds:
            clone(self.config, self.policy, folder)
            self.past.append(self.remember())
            save_weights(self.policy.weights(), folder / "clone")

    def player(self) -> nn.Module:
        """The policy as it sits at the tables."""
        return fast(self.policy)

    def past_player(self, past: dict[str, torch.Tensor]) -> nn.Module:
        """A policy as it was, as it sits at the tables."""
        return fast(self.recall(past))

    def save(self, path: Path) -> None:
        """Write all of it; a stop in between leaves the file before."""
        part = path.with_suffix(".part")
        told = {
            name: getattr(self, name) for name in ("past", "iteration", "decisions", "minutes", "history")
        }
        parts = {name: getattr(self, name).state_dict() for name in self.learning}
        torch.save({"told": told, "parts": parts}, part)
        part.replace(path)

    learning = ("policy", "critic", "policy_optimizer", "critic_optimizer")

    def load(self, path: Path) -> None:
        """Continue from a checkpoint of the same run."""
        with exits(f"{path}: ", Exception):  # torch has no one kind of error for a file that is not whole
            kept = torch.load(path, weights_only=True)
            for name in self.learning:
                getattr(self, name).load_state_dict(kept["parts"][name])
            for name, value in kept["told"].items():
                setattr(self, name, value)

    def progress(self, first: float, last: float) -> float:
        """A setting that goes from one number to another in the course of the run."""
        return first + (last - first) * min(1.0, self.decisions / self.config.decisions)

    def learn(self, rollout: Rollout) -> dict[str, float]:
        """One iteration: values, credit, and PPO's clipped steps (Schulman et al., 2017)."""
        c = self.config
        start = time.perf_counter()
        critic = fast(self.critic)
        with torch.no_grad():
            parts = zip(rollout.rows.split(16384), rollout.foreseen.split(16384), strict=True)
            values = torch.cat([critic(*part).float() for part in parts]).numpy()
        advantages = credit(rollout, values, c.gae_lambda)
        bidding = rollout.actions.numpy() >= CARDS
        # High bids are rare, and the critic errs about them: what it says of the deals that follow would end
        # them. So a bid is judged by what came of it alone.
        returns = rollout.points[rollout.owners]
        advantages[bidding] = (returns - values)[bidding]
        targets = torch.from_numpy(advantages + values)
        scaled = np.empty_like(advantages)
        for kind in (bidding, ~bidding):
            if kind.any():
                scaled[kind] = (advantages[kind] - advantages[kind].mean()) / (advantages[kind].std() + 1e-6)
        scaled = torch.from_numpy(scaled)
        weight = torch.from_numpy(np.where(bidding, c.entropy_bid, c.entropy_play).astype(np.float32))
        tricks = torch.from_numpy(rollout.tricks[rollout.owners])
        anchor = self.anchor(rollout, torch.from_numpy(bidding)) if c.anchor_bid and c.rounds else None
        explained = 1 - np.var(returns - values) / max(np.var(returns), 1e-9)
        moved = self.iteration - c.critic_only
        moves = moved >= 0
        for group in self.policy_optimizer.param_groups:
            group["lr"] = self.progress(c.lr, c.lr_end) * min(1.0, (moved + 1) / (c.warm_up + 1))
        rng = torch.Generator().manual_seed(c.seed * 1_000_003 + self.iteration)
        sums: dict[str, list[float]] = {}
        count = len(rollout.actions)
        for _ in range(c.epochs):
            order = torch.randperm(count, generator=rng)
            for chosen in order.tensor_split(max(1, count // c.minibatch)):
                rows = rollout.rows[chosen]
                with torch.autocast("cpu", torch.bfloat16, enabled=BFLOAT16):
                    value = self.critic(rows, rollout.foreseen[chosen])
                error = functional.mse_loss(value.float(), targets[chosen])
                self._step(self.critic, self.critic_optimizer, error)
                told = {"value_error": error.item()}
                if moves:
                    with torch.autocast("cpu", torch.bfloat16, enabled=BFLOAT16):
                        logits, trick_logits = self.policy(rows[:, :INPUTS])
                    logp = masked(logits, rollout.legal[chosen])
                    change = logp.gather(1, rollout.actions[chosen, None])[:, 0] - rollout.logp[chosen]
                    ratio, gain = change.exp(), scaled[chosen]
                    surrogate = torch.minimum(ratio * gain, ratio.clamp(1 - c.clip, 1 + c.clip) * gain).mean()
                    entropy = -(logp.exp() * logp).sum(1)  # illegal: 0 * -1e9
                    trick_error = functional.cross_entropy(trick_logits.float(), tricks[chosen])
                    loss = c.tricks_weight * trick_error - surrogate - (weight[chosen] * entropy).mean()
                    if anchor is not None:
                        loss = loss - c.anchor_bid * (anchor[chosen] * logp).sum(1).mean()
                    self._step(self.policy, self.policy_optimizer, loss)
                    with torch.no_grad():
                        told |= {
                            "kl": (ratio - 1 - change).mean().item(),
                            "clipped": ((ratio - 1).abs() > c.clip).float().mean().item(),
                            "entropy": entropy.mean().item(),
                            "tricks_error": trick_error.item(),
                        }
                for name, number in told.items():
                    sums.setdefault(name, []).append(number)
        return {
            "explained": float(explained),
            **rollout.figures(),
            **{name: float(np.mean(numbers)) for name, numbers in sums.items()},
            "learn_seconds": time.perf_counter() - start,
            "samples": count,
        }

    @torch.no_grad()
    def anchor(self, rollout: Rollout, bidding: torch.Tensor) -> torch.Tensor:
        """[M, 65] how likely the first past self, the clone, made each bid; 0 where a card was played.

        High bids are rare and a gamble of twice their points. Left to the noise of that, they die out.
        """
        first = self.recall(self.past[0])
        found = torch.zeros(len(bidding), ACTIONS)
        logits, _ = fast(first)(rollout.rows[bidding, :INPUTS])
        found[bidding] = masked(logits, rollout.legal[bidding]).exp()
        return found

    def _step(self, network: nn.Module, optimizer: torch.optim.Optimizer, loss: torch.Tensor) -> None:
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 0.5)
        optimizer.step()


def challenged(config: Config, agent: Any, reference: Any, rules: str, deals: int, seed: int) -> Challenge:
    """The arena's figures of an agent among three copies of a reference, each made an entrant."""
    entrants = [Entrant(agent, "agent"), Entrant(reference, "reference")]
    schedule = challenger("agent", "reference")
    results = play(schedule, entrants, rules, seed=seed, deals=deals, threads=config.threads)
    return challenge(results, "agent", "reference")


def main_rules(config: Config) -> list[str]:
    """The presets that are measured: standard and bhoos where the run has them, else its first."""
    both = [name for name in ("standard", "bhoos") if name in config.rules]
    return both or [next(iter(config.rules))]


def evaluate(
    config: Config, policy: Policy, deals: int, seed: int, reference: Any = "rule_based"
) -> dict[str, float]:
    """The arena's figures of the best action among three of a reference, under the main rules."""
    agent = NeuralAgent(policy.weights())
    found: dict[str, float] = {}
    for name in main_rules(config):
        figures = challenged(config, agent, reference, name, deals, seed)
        found |= {
            f"{name}_gain": figures.gain.mean,
            f"{name}_low": figures.gain.low,
            f"{name}_high": figures.gain.high,
            f"{name}_points": figures.figures.points.mean,
            f"{name}_bid": figures.figures.bid.mean,
            f"{name}_made": figures.figures.made.mean,
        }
    return found


def against_past(learner: Learner) -> dict[str, float]:
    """The gain over three of each of some past selves: the first, the middle and the last."""
    c, past, found = learner.config, learner.past, {}
    chosen = {len(past) // 2: "middle", len(past) - 1: "last", 0: "first"} if past else {}  # few: fewer names
    for k, name in chosen.items():
        now, old = (NeuralAgent(each.weights()) for each in (learner.policy, learner.recall(past[k])))
        deals = max(2, c.evaluate_deals // 2)
        figures = challenged(c, now, old, next(iter(c.rules)), deals, c.evaluate_seed)
        found |= {f"past_{name}_gain": figures.gain.mean, f"past_{name}_high": figures.gain.high}
    return found


def warn(row: dict[str, float]) -> list[str]:
    """Early signs of the failures that are known."""
    signs = []
    if row.get("bid", 3.0) < 2.2:
        signs.append(f"bids sink to the minimum (mean {row['bid']:.2f})")
    if row.get("entropy", 1.0) < 0.02:
        signs.append(f"the policy hardly varies any more (entropy {row['entropy']:.3f})")
    if row.get("kl", 0.0) > 0.05:
        signs.append(f"steps are too large (KL {row['kl']:.3f} in one iteration)")
    worse = [
        name for name, high in row.items() if name.startswith("past_") and name.endswith("_high") and high < 0
    ]
    if worse:
        signs.append(f"it loses to a past self, a cycle perhaps ({', '.join(worse)})")
    return signs


class Log:
    """The history as CSV, for TensorBoard where that is installed, and as warnings."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "history.csv"
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            self.writer = None
        else:
            self.writer = SummaryWriter(str(folder / "tensorboard"))

    def write(self, history: list[dict[str, float]]) -> None:
        """The whole history into the CSV, the last row to the others."""
        names = list(dict.fromkeys(name for row in history for name in row))
        with self.path.open("w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, names, lineterminator="\n")
            table.writeheader()
            table.writerows(history)
        row = history[-1]
        if self.writer:
            for name, number in row.items():
                self.writer.add_scalar(name, number, int(row["decisions"]))
        for sign in warn(row):
            tqdm.write(f"WARNING after {row['decisions'] / 1e6:.1f} M decisions: {sign}")

    def close(self) -> None:
        """End TensorBoard's thread and file."""
        if self.writer:
            self.writer.close()


def iterate(learner: Learner, collector: Collector) -> dict[str, float]:
    """One deal at each table, and what is learnt from them."""
    c, start = learner.config, time.perf_counter()
    past = None
    if learner.past and c.against_past:
        rng = np.random.default_rng([c.seed, learner.iteration])
        past = learner.past_player(learner.past[rng.integers(len(learner.past))])
    rollout = collector.play(learner.player(), past, c.seed * 1_000_000_007 + learner.iteration)
    row = learner.learn(rollout)
    learner.iteration += 1
    learner.decisions += rollout.decisions
    seconds = time.perf_counter() - start
    row |= {"collect_seconds": rollout.seconds, "decisions_per_second": rollout.decisions / seconds}
    return {"iteration": learner.iteration, "decisions": learner.decisions} | row


def train(
    config: Config,
    folder: Path,
    learner: Callable[[Any], Any] = Learner,
    collector: Callable[[Any], Collector] = Collector,
    evaluate: Callable[[Any, Any, int, int], dict[str, float]] = evaluate,
) -> Any:
    """All stages, from where an earlier run stopped.

    Args:
        config: the settings.
        folder: of the checkpoint, the history and the weights.
        learner: makes what learns; ``examples/dmc.py`` puts another in its place.
        collector: makes what plays; ``benchmarks/best_deviator.py`` has another.
        evaluate: figures of (config, policy, deals, seed).
    """
    claim(config, folder)
    learner, collector, log = learner(config), collector(config), Log(folder)
    checkpoint = folder / "checkpoint.pt"

    def keep() -> None:
        log.write(learner.history)
        card = {"config": dataclasses.asdict(config), "last": learner.history[-1]}
        save_weights(learner.policy.weights(), folder / "weights", card)
        learner.save(checkpoint)

    if checkpoint.exists():
        learner.load(checkpoint)
    else:
        start = time.perf_counter()
        learner.prepare(folder)
        found = evaluate(config, learner.policy, config.evaluate_deals, config.evaluate_seed)
        learner.minutes = (time.perf_counter() - start) / 60
        learner.history.append({"iteration": 0, "decisions": 0, "minutes": learner.minutes} | found)
        keep()
    bar = tqdm(
        total=config.decisions,
        initial=learner.decisions,
        unit="dec",
        unit_scale=True,
        desc=folder.name,
        mininterval=5,
    )
    while learner.decisions < config.decisions:
        start = time.perf_counter()
        before = learner.decisions
        row = iterate(learner, collector)
        over = learner.decisions >= config.decisions
        evaluated = over or crosses(before, learner.decisions, config.evaluate_every)
        if evaluated:
            row |= evaluate(config, learner.policy, config.evaluate_deals, config.evaluate_seed)
            row |= against_past(learner)
            tqdm.write(" ".join(f"{k}={v:.3f}" for k, v in row.items() if "gain" in k or "low" in k))
        if crosses(before, learner.decisions, config.past_every):
            learner.past.append(learner.remember())
            if len(learner.past) > config.past_most:  # the first, the clone, stays
                del learner.past[1]
        learner.minutes += (time.perf_counter() - start) / 60
        row["minutes"] = learner.minutes
        learner.history.append(row)
        bar.update(learner.decisions - before)
        bar.set_postfix({k: f"{row[k]:.3g}" for k in ("points", "bid", "made", "explained") if k in row})
        if evaluated or learner.iteration % 20 == 0:
            keep()
    bar.close()
    log.close()
    return learner


def claim(config: Config, folder: Path) -> None:
    """Write what a run is made of into its folder, or refuse one where another run's files lie."""
    with exits("no folder for the run: "):
        folder.mkdir(parents=True, exist_ok=True)
    path = folder / "config.json"
    told = dataclasses.asdict(config) | {"inputs": inputs_digest()}
    for free in ("decisions", "threads"):
        del told[free]
    if not path.exists():
        if any(folder.glob("*.npz")) or any(folder.glob("*.pt")):
            raise SystemExit(f"{folder} has files of something else: choose another --out")
        path.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    with exits(f"{path}: "):
        kept = parse_json(path.read_bytes())
    kept = kept if isinstance(kept, dict) else {}
    # As text: which number stands for which rules in the lessons is by their order.
    changed = [name for name in told if json.dumps(kept.get(name)) != json.dumps(told[name])]
    if changed:
        raise SystemExit(
            f"{folder} is of a run with other {', '.join(changed)}: choose another --out (or remove "
            "config.json there, if nothing has been made)"
        )


def crosses(before: int, after: int, every: int) -> bool:
    """Whether a multiple of ``every`` lies in (before, after]."""
    return before // every < after // every


SMOKE = {
    "rules": {"standard": 0.6, "bhoos": 0.4},
    "units": 64,
    "rounds": [
        {"lessons": 30_000, "teacher": "pimc:bid=8,play=4,draws=2", "by_cross_entropy": 8, "by_value": 2},
    ],
    "minibatch": 1024,
    "decisions": 250_000,
    "tables": 256,
    "critic_units": 64,
    "critic_lr": 2e-3,
    "critic_only": 4,
    "past_every": 100_000,
    "evaluate_every": 10_000_000,
    "evaluate_deals": 150,
}
"""A minute's run: little of everything."""


def main(arguments: list[str] | None = None) -> Learner:
    """Read the command line, train, and tell what came of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--config", help="a TOML file with settings of Config")
    parser.add_argument("--out", default="runs/ppo", help="folder of checkpoint, history and weights")
    parser.add_argument("--smoke", action="store_true", help="a minute's run instead, to see that all works")
    parser.add_argument("--seed", type=int, help="instead of the config's")
    parser.add_argument("--threads", type=int, help="of torch and of the arena")
    args = parser.parse_args(arguments)
    changes = {name: getattr(args, name) for name in ("seed", "threads") if getattr(args, name) is not None}
    config = Config.load(args.config, **(SMOKE if args.smoke else {}) | changes)
    print(json.dumps(dataclasses.asdict(config)))
    claim(config, Path(args.out))
    torch.manual_seed(config.seed)
    before = evaluate(
        config, Policy(config.units, config.layers), config.evaluate_deals, config.evaluate_seed
    )
    print("untrained: " + json.dumps(before))
    learner = train(config, Path(args.out))
    print(f"{learner.decisions:,} decisions of self-play, {learner.minutes:.1f} minutes in all")
    print("trained: " + json.dumps(learner.history[-1]))
    return learner


if __name__ == "__main__":
    main()
