"""Self-play at thousands of tables: each row of the arrays is the seat that is to act at one table."""

from __future__ import annotations

import secrets
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from callbreak_env.actions import NUM_ACTIONS
from callbreak_env.cards import NUM_SEATS
from callbreak_env.checks import check_choice, check_count, check_seed
from callbreak_env.engine.scoring import REWARDS
from callbreak_env.engine.state import TABLE, Array, rules_record
from callbreak_env.engine.threads import check_threads, run_rows
from callbreak_env.envs.layout import new_layout
from callbreak_env.envs.rows import (
    MATCHES_APART,
    count_illegal,
    observe_rows,
    sample_rows,
    start_rows,
    state_rows,
    step_rows,
)
from callbreak_env.errors import NotResetError
from callbreak_env.observation import STATE_WIDTH
from callbreak_env.refusals import check_actions, check_out, check_row, refuse_rows
from callbreak_env.rules import Rules, as_rules
from callbreak_env.table import View


class Turn(NamedTuple):
    """What a call gives; N tables, 4 seats.

    Attributes:
        observation: [N, 804] float32 or int8 (or [N, 125] int16), of the seat to act.
        action_mask: [N, 65] int8, 1 = legal for it.
        seat: [N] int8, the seat to act; -1 where the match is over and stays so.
        rewards: [N, 4] float32, of this step, by seat.
        terminations: [N, 4] bool, by seat: its match ended with this step, for all in it, or (R15) because it
            is not in the extra deal that follows.
        deal_over: [N] bool: a deal was scored.
        match_over: [N] bool: the match ended; with ``autoreset`` what is observed belongs to the next one.
    """

    observation: Array
    action_mask: npt.NDArray[np.int8]
    seat: npt.NDArray[np.int8]
    rewards: npt.NDArray[np.float32]
    terminations: npt.NDArray[np.bool_]
    deal_over: npt.NDArray[np.bool_]
    match_over: npt.NDArray[np.bool_]

    def at(self, step: int) -> Turn:
        """One step's arrays of a buffer (views into it)."""
        return Turn(*(array[step] for array in self))


class SelfPlayEnv:
    """N tables at once, every seat to be played by the caller; one compiled call a step.

    Table i plays the matches ``Match(rules, seed=seed, number=i + k * 2**32)``, k = 0, 1, 2, ...: the same
    for any number of tables and threads.

    Args:
        num_envs: tables, N.
        rules: a ``Rules``, a preset's name, or None for the standard game.
        reward: ``"points"``, ``"zero_sum"`` or ``"win"``, as in the PettingZoo environment.
        encoding: ``"flat"`` (float32 or int8), ``"history"`` (int16), or None for no observation.
        dtype: of the flat encoding: ``"float32"``, fields over their scale; ``"int8"``, a quarter of the
            memory and twice as fast: fields as they are, all of them exact but ``totals``, which are rounded
            to whole points. ``float32 = int8 / scale``, with the scales of ``observation.FIELDS``.
        threads: at most so many share the rows (of 1,024 or more each); None: one for each core that the
            process may use. The results do not depend on it. It pays where the cores are idle: threads that
            wait for each other beside a network on the same cores make both slower.
        autoreset: whether the next match starts in the step that ends one. Without, the table stays as it
            is: ``seat`` -1, an empty mask, any action.
        copy: False returns the same arrays from every call, overwritten by the next one.

    Raises:
        ValueError: an argument is not what it must be.
    """

    def __init__(
        self,
        num_envs: int,
        rules: Rules | str | None = None,
        *,
        reward: str = "points",
        encoding: str | None = "flat",
        dtype: str = "float32",
        threads: int | None = 1,
        autoreset: bool = True,
        copy: bool = True,
    ) -> None:
        self.num_envs = check_count(num_envs, "num_envs")
        self.rules = as_rules(rules)
        self.reward = check_choice(reward, "reward", REWARDS)
        self.encoding = encoding
        self.threads = check_threads(threads)
        self.autoreset = bool(autoreset)
        self._kind = REWARDS.index(reward)
        self._record = rules_record(self.rules)
        self._layout = new_layout(self._record, encoding, dtype)
        self.single_observation_space = self._layout.space
        self.single_action_space = spaces.Discrete(NUM_ACTIONS)
        self._tables = np.zeros(num_envs, TABLE)
        self._words = np.zeros(num_envs, np.uint64)
        self._seed: int | None = None
        wide = (self._layout.width,)
        self._shapes: tuple[tuple[tuple[int, ...], Any], ...] = (
            (wide, self._layout.dtype),
            ((NUM_ACTIONS,), np.int8),
            ((), np.int8),
            ((NUM_SEATS,), np.float32),
            ((NUM_SEATS,), np.bool_),
            ((), np.bool_),
            ((), np.bool_),
        )
        self._turn = None if copy else self.allocate()

    @property
    def tables(self) -> Array:
        """The engine's records, [N] TABLE (256 bytes each): for compiled code; not to be written."""
        return self._tables

    @property
    def rules_array(self) -> Array:
        """The rules as the engine reads them, [1] RULES; not to be written."""
        return self._record

    def allocate(self, steps: int | None = None) -> Turn:
        """Zeroed arrays of one turn, or of a rollout: [steps, N, ...], for ``out=buffer.at(t)``."""
        lead = (self.num_envs,) if steps is None else (check_count(steps, "steps"), self.num_envs)
        return Turn(*(np.zeros((*lead, *shape), dtype) for shape, dtype in self._shapes))

    def reset(self, seed: int | None = None, out: Turn | None = None) -> Turn:
        """A new match at every table.

        Args:
            seed: 0 to 2**63 - 1; without one, each table goes on with its next match.
            out: arrays to write into and return, as ``allocate`` makes them.

        Raises:
            ValueError: a bad seed or array; nothing has changed.
        """
        seed = None if seed is None else check_seed(seed)
        turn = self._room(out)
        if seed is None and self._seed is not None:
            numbers = self._tables["match"] + MATCHES_APART
        else:
            self._seed = secrets.randbits(63) if seed is None else seed
            numbers = np.arange(self.num_envs, dtype=np.uint64)
        self._run(start_rows, self._seed, numbers, self._words, *turn[:3])
        for array in turn[3:]:
            array[...] = 0
        return turn

    def step(self, actions: Any, out: Turn | None = None) -> Turn:
        """One action at every table.

        Args:
            actions: [N] whole numbers, one for the seat to act at each table.
            out: arrays to write into and return, such as a step of a rollout buffer. They get what follows
                the actions: ``reset(out=buffer.at(0))``, then ``step(actions_t, out=buffer.at(t + 1))``
                keeps what was seen at ``t`` beside the actions of ``t``.

        Raises:
            ValueError: not N whole numbers, or illegal in some rows (the first are named), or an array of
                ``out`` that does not fit; no table has changed.
            NotResetError: before the first ``reset``.
        """
        self._check_reset()
        chosen = check_actions(actions, self.num_envs)
        turn = self._room(out)
        if run_rows(count_illegal, self.num_envs, self.threads, self._words, chosen):
            raise refuse_rows(self._tables, self.rules, self._words, actions)
        self._run(step_rows, self._kind, self.autoreset, chosen, self._words, *turn)
        return turn

    def _run(self, kernel: Any, *args: Any) -> None:
        shown = self._layout.rules_shown
        run_rows(kernel, self.num_envs, self.threads, self._tables, self._record, shown, *args)

    def sample_actions(self) -> npt.NDArray[np.int64]:
        """[N] a legal action for each row, each equally likely (0 where none is).

        It depends on the match and the position alone: the same seed and actions give the same samples.
        """
        self._check_reset()
        actions = np.empty(self.num_envs, np.int64)
        run_rows(sample_rows, self.num_envs, self.threads, self._tables, self._words, actions)
        return actions

    def observe(self, seats: Any) -> Array:
        """[N, width] what seats that need not be to act see now, for example to value the end of a rollout.

        Args:
            seats: one seat for all tables, or [N].

        Raises:
            ValueError: not such seats.
        """
        self._check_reset()
        given = np.asarray(seats)
        fits = given.dtype.kind in "iu" and given.shape in ((), (self.num_envs,))
        if not (fits and given.min() >= 0 and given.max() < NUM_SEATS):
            raise ValueError(f"seats must be a seat 0 to 3, or ({self.num_envs},) of them, not {seats!r:.60}")
        viewers = np.full(self.num_envs, given, np.int64)
        observations, _ = self._layout.empty(self.num_envs)
        self._run(observe_rows, viewers, observations)
        return observations

    def states(self) -> Array:
        """[N, 961] the whole tables for a central critic, as the seat to act places them (``STATE_FIELDS``).

        The dtype of the observation; float32 for the history encoding.
        """
        self._check_reset()
        dtype = np.int8 if self._layout.dtype == np.int8 else np.float32
        states = np.empty((self.num_envs, STATE_WIDTH), dtype)
        viewers = self._tables["seat"].copy()
        run_rows(state_rows, self.num_envs, self.threads, self._tables, self._record, viewers, states)
        return states

    def view(self, row: int, seat: int | None = None) -> View:
        """What a seat knows at one table, the seat to act when left out: to print, or for an ``Agent``."""
        self._check_reset()
        row = check_row(row, self.num_envs)
        tables = self._tables[row : row + 1]
        return View(tables, self.rules, max(0, int(tables["seat"][0])) if seat is None else seat)

    def _check_reset(self) -> None:
        if self._seed is None:
            raise NotResetError("no match has begun: call reset() first")

    def _room(self, out: Any) -> Turn:
        """Arrays to write into: the caller's, the own ones, or fresh ones."""
        if out is None:
            return self._turn or Turn(*(np.empty((self.num_envs, *s), dtype) for s, dtype in self._shapes))
        if not isinstance(out, tuple) or len(out) != len(self._shapes):
            raise ValueError(f"out must be a Turn, as allocate() makes it, not {type(out).__name__}")
        for name, array, (shape, dtype) in zip(Turn._fields, out, self._shapes, strict=True):
            check_out(array, (self.num_envs, *shape), dtype, f"out.{name}")
        return out if isinstance(out, Turn) else Turn(*out)
