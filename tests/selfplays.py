"""Self-play by value, and the rules that its tests play by."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from callbreak_env import Match, Rules
from callbreak_env.engine.state import DEAL_END, MATCH_END, TABLE
from callbreak_env.envs.selfplay import SelfPlayEnv, Turn
from callbreak_env.observation import STATE_FIELDS, encode

APART = 2**32
"""Table i plays the matches i, i + APART, i + 2 * APART, ..."""
SEATS = range(4)
TIES = ((0, 2), (0, 1, 3), (0, 1, 2, 3), (1, 3), (1, 2, 3), (2, 3))
BEYOND = {
    "low": Rules(deals=3, min_bid=1, max_bid=2),  # with overtricks: halves of points
    "long": Rules(deals=25, bonus_bid=10, bonus_points=200),
    "patient": Rules(
        deals=30, min_total_bid=60, max_redeals=25, bonus_bid=30, bonus_points=127, misdeal=True
    ),
}
"""Numbers that int8 has to round, and that go beyond what is shown."""
SCALES = {field.name: np.float32(field.scale) for field in STATE_FIELDS}
TENTHS = ("totals", "total")
"""The fields in tenths, which int8 rounds to points."""


# --- the same, told by the scalar game ---


def contents(tables: np.ndarray) -> list[bytes]:
    """All that tables hold. (By field: the padding between fields means nothing.)"""
    return [tables[name].tobytes() for name in TABLE.names or ()]


def told(turn: Turn) -> list[tuple[Any, ...]]:
    """A turn by value, bit by bit, with dtypes and shapes."""
    return [(name, a.dtype, a.shape, a.tobytes()) for name, a in zip(Turn._fields, turn, strict=True)]


def choose(match: Match, rng: random.Random, tied: Sequence[int] = ()) -> int:
    """A random legal action; with ``tied``, bids that leave those seats tied at the top of a single deal.

    These bid 9 and the others 13, and nobody comes near: -9 each, -13 each.
    """
    if tied and match.phase == "bidding":
        return 51 + (9 if match.seat in tied else 13)
    return rng.choice(match.legal_actions())


def paid(kind: str, match: Match, dealt_in: Sequence[int]) -> list[np.float32]:
    """The rewards of the step that ended a deal among ``dealt_in``, in exact fractions till the end."""
    rewards = [Fraction(0)] * 4
    points = [Fraction(tenths, 10) for tenths in match.points]
    mean = sum((points[seat] for seat in dealt_in), Fraction(0)) / len(dealt_in)
    for seat in dealt_in:
        if kind != "win":
            rewards[seat] = points[seat] - (mean if kind == "zero_sum" else 0)
        elif seat in match.winners:
            rewards[seat] = Fraction(1, len(match.winners))
    return [np.float32(float(reward)) for reward in rewards]


class Tables:
    """Matches that stand beside a self-play environment, and say what each step must give."""

    def __init__(self, env: SelfPlayEnv, seed: int) -> None:
        self.env, self.seed = env, seed
        self.matches = [Match(env.rules, seed=seed, number=i) for i in range(env.num_envs)]
        self.extra_deals: Counter[int] = Counter()
        self.ended = 0

    def choose(self, rng: random.Random, tied: Sequence[Sequence[int]] = ((),)) -> list[int]:
        return [
            0 if match.is_over else choose(match, rng, tied[i % len(tied)])
            for i, match in enumerate(self.matches)
        ]

    def check_seen(self, turn: Turn) -> None:
        for i, match in enumerate(self.matches):
            where = f"table {i}, {match!r}"
            assert contents(self.env.tables[i : i + 1]) == contents(match.record_array), where
            assert turn.seat[i] == (-1 if match.seat is None else match.seat), where
            assert turn.action_mask[i].tobytes() == match.legal_mask().tobytes(), where
            if self.env.encoding is not None and self.env.single_observation_space.dtype != np.int8:
                expected = encode(match, match.seat or 0, self.env.encoding)
                assert turn.observation[i].dtype == expected.dtype
                assert turn.observation[i].tobytes() == expected.tobytes(), where

    def check_reset(self, turn: Turn) -> None:
        self.check_seen(turn)
        assert not any(array.any() for array in turn[3:])

    def check_step(self, actions: Sequence[int], turn: Turn) -> None:
        for i, action in enumerate(actions):
            match, kind = self.matches[i], self.env.reward
            happened, dealt_in = 0, match.active
            if not match.is_over:
                happened = match.apply(action)
            rewards, done = [np.float32(0)] * 4, [False] * 4
            if happened & DEAL_END:
                rewards = paid(kind, match, dealt_in)
                out = dealt_in if match.is_over else set(SEATS) - set(match.active)
                done = [seat in out for seat in SEATS]
                if match.is_extra_deal and not match.is_over:
                    self.extra_deals[len(match.active)] += 1
            where = f"table {i}, {match!r}"
            assert turn.rewards[i].tolist() == [float(reward) for reward in rewards], where
            assert turn.terminations[i].tolist() == done, where
            assert turn.deal_over[i] == bool(happened & DEAL_END), where
            assert turn.match_over[i] == bool(happened & MATCH_END), where
            if happened & MATCH_END:
                self.ended += 1
                if self.env.autoreset:
                    self.matches[i] = Match(match.rules, seed=self.seed, number=match.number + APART)
        self.check_seen(turn)


def follow(
    env: SelfPlayEnv, seed: int, steps: int, rng: random.Random, tied: Sequence[Sequence[int]] = ((),)
) -> Tables:
    """Play, every step told again."""
    tables = Tables(env, seed)
    tables.check_reset(env.reset(seed=seed))
    for _ in range(steps):
        actions = tables.choose(rng, tied)
        tables.check_step(actions, env.step(actions))
    return tables
