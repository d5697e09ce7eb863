"""Tables with one learner and three opponents each: what the Gymnasium and SB3 environments are made of."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from callbreak_env.actions import NUM_ACTIONS
from callbreak_env.cards import NUM_SEATS
from callbreak_env.checks import check_choice, check_count, check_int, check_seat
from callbreak_env.engine.policies import ASK, POLICIES
from callbreak_env.engine.scoring import REWARDS
from callbreak_env.engine.state import NO_DECKS, NONE, TABLE, Array, rules_record
from callbreak_env.engine.threads import check_threads, run_rows
from callbreak_env.envs.layout import ENCODINGS, Layout, new_layout
from callbreak_env.envs.learner_rows import (
    DUMMY,
    resume_learners,
    show_learners,
    start_learners,
    step_learners,
)
from callbreak_env.envs.rows import count_illegal, mask_rows, sample_rows
from callbreak_env.errors import CallBreakError
from callbreak_env.policy import Agent, BatchAgent, TableAgent, make_agent
from callbreak_env.refusals import check_actions, illegal_at, refuse_rows
from callbreak_env.rules import Rules, as_rules
from callbreak_env.table import View

ILLEGAL = ("penalty", "raise")
OPPONENTS = NUM_SEATS - 1

Opponent = str | Agent | BatchAgent | TableAgent
Opponents = Opponent | Sequence[Opponent]


class Learners:
    """N tables with one learner each. Arguments as in ``CallBreakEnv`` and ``CallBreakVectorEnv``.

    ``one_table``: it is the single environment's: agents that act by views may be opponents, and errors name
    no row.

    Attributes:
        learners: [N] int8, the learner's seat.
        rewards: [N] float64, what the learner earned in the last call.
        done: [N] bool, whether its match is over.
        illegal: [N] bool, whether an illegal action ended it in the last call.
    """

    def __init__(
        self,
        num_envs: int,
        *,
        rules: Rules | str | None,
        opponents: Opponents,
        seat: int | None,
        reward: str,
        illegal: str,
        encoding: str,
        dtype: str,
        deals: int | None,
        threads: int | None,
        one_table: bool = False,
    ) -> None:
        self.num_envs = check_count(num_envs, "num_envs")
        self.rules = as_rules(rules)
        if deals is not None:
            self.rules = dataclasses.replace(self.rules, deals=deals)
        self.seat = NONE if seat is None else check_seat(seat, "seat")
        self.threads = check_threads(threads)
        self._kind = REWARDS.index(check_choice(reward, "reward", REWARDS))
        self._raise = check_choice(illegal, "illegal", ILLEGAL) == "raise"
        self._record = rules_record(self.rules)
        self.layout = new_layout(self._record, check_choice(encoding, "encoding", ENCODINGS), dtype)
        self._asked_layout = new_layout(self._record, "flat", "float32")
        self._one_table = one_table
        self.opponents = check_opponents(opponents, one_table)
        self._policies = np.array(
            [POLICIES[o] if isinstance(o, str) else ASK for o in self.opponents], np.int64
        )
        self._asking = bool((self._policies == ASK).any())
        self._rng = np.random.default_rng()
        self._decks = NO_DECKS
        self.tables = np.zeros(num_envs, TABLE)
        self.learners = np.zeros(num_envs, np.int8)
        self.rewards = np.zeros(num_envs, np.float64)
        self.done = np.ones(num_envs, np.bool_)
        self.illegal = np.zeros(num_envs, np.bool_)
        self._asks = np.full(num_envs, NONE, np.int8)
        self._words = np.full(num_envs, DUMMY)
        self._rows = np.arange(num_envs)

    def start(
        self,
        rows: npt.NDArray[np.int64],
        seeds: npt.NDArray[np.uint64],
        numbers: npt.NDArray[np.uint64],
        dealer: int = NONE,
        decks: Array = NO_DECKS,
    ) -> None:
        """A new match at some tables ([K]), number ``numbers`` under ``seeds``, up to the learner's turn."""
        self._decks = decks
        self._run(start_learners, len(rows), rows, seeds, numbers, dealer, self.seat)
        self._reset_agents(rows)
        self._ask()

    def restart_done(self) -> tuple[npt.NDArray[np.int64], Array, npt.NDArray[np.int8]]:
        """The next match at every table that is done: their rows ([K]), and what was last seen there."""
        rows = np.flatnonzero(self.done)
        observations, masks = self._shown(rows, self.layout)
        tables = self.tables[rows]
        self.start(rows, tables["seed"], tables["match"] + np.uint64(1))
        return rows, observations, masks

    def step(self, actions: Any, *, restart: bool, given: Any = None) -> None:
        """The learners act ([N]); with ``restart``, a row that is done starts its next match instead.

        Raises:
            ValueError: not N whole numbers, or illegal ones with ``illegal="raise"``; nothing has changed.
        """
        chosen = check_actions(actions, self.num_envs)
        if self._raise:
            self._refuse(chosen, actions if given is None else given)
        again = np.flatnonzero(self.done) if restart else self._rows[:0]
        self._run(step_learners, self.num_envs, chosen, restart, self.seat, self.illegal)
        self._reset_agents(again)
        self._ask()

    def all_or_nothing(self) -> contextlib.AbstractContextManager[None]:
        """Undo what is done at the tables in its block if an opponent that is asked fails on the way."""
        return self._undoing() if self._asking else contextlib.nullcontext()

    @contextlib.contextmanager
    def _undoing(self) -> Iterator[None]:
        changed: tuple[Array, ...] = (
            self.tables,
            self.learners,
            self.rewards,
            self.done,
            self.illegal,
            self._asks,
            self._words,
        )
        before, decks = [array.copy() for array in changed], self._decks
        drawn = self._rng.bit_generator.state
        try:
            yield
        except BaseException:
            self._decks = decks
            self._rng.bit_generator.state = drawn
            for array, kept in zip(changed, before, strict=True):
                array[...] = kept
            raise

    def masks(self) -> npt.NDArray[np.int8]:
        """[N, 65] int8, what every learner may do, as last shown."""
        masks = np.empty((self.num_envs, NUM_ACTIONS), np.int8)
        run_rows(mask_rows, self.num_envs, self.threads, self._words, masks)
        return masks

    def show(self, observations: Array, masks: Array) -> None:
        """What every learner sees and may do, into [N, width] and [N, 65]; done: its seat, and a dummy."""
        self._show(self._rows, self.layout, observations, masks)

    def sample_actions(self) -> npt.NDArray[np.int64]:
        """[N] a legal action for each learner, each equally likely; a function of match and position."""
        actions = np.empty(self.num_envs, np.int64)
        run_rows(sample_rows, self.num_envs, self.threads, self.tables, self._words, actions)
        return actions

    def view(self, row: int) -> View:
        """What the learner knows at one table."""
        return View(self.tables[row : row + 1], self.rules, int(self.learners[row]))

    def seed_agents(self, seed: int) -> None:
        """Start the random numbers that batched opponents draw from anew."""
        self._rng.bit_generator.state = np.random.default_rng(seed).bit_generator.state

    def _refuse(self, actions: npt.NDArray[np.int64], given: Any) -> None:
        words = np.where(self.done, np.uint64(0), self._words)
        if run_rows(count_illegal, self.num_envs, self.threads, words, actions):
            if self._one_table:
                raise illegal_at(self.tables, self.rules, 0, given[0])
            raise refuse_rows(self.tables, self.rules, words, given)

    def _run(self, kernel: Any, rows: int, *args: Any) -> None:
        run_rows(
            kernel,
            rows,
            self.threads,
            *args,
            self.tables,
            self._record,
            self._decks,
            self._kind,
            self._policies,
            self.learners,
            self.rewards,
            self.done,
            self._asks,
            self._words,
        )

    def _show(self, rows: Array, layout: Layout, observations: Array, masks: Array) -> None:
        shown = (self.learners, self.done, self.tables, self._record, layout.rules_shown, self._words)
        run_rows(show_learners, len(rows), self.threads, rows, *shown, observations, masks)

    def _shown(self, rows: Array, layout: Layout) -> tuple[Array, npt.NDArray[np.int8]]:
        """``_show`` into fresh arrays."""
        observations, masks = layout.empty(len(rows))
        self._show(rows, layout, observations, masks)
        return observations, masks

    def _reset_agents(self, rows: npt.NDArray[np.int64]) -> None:
        """A match has begun at some tables: tell the opponents that keep something in mind."""
        if not (len(rows) and self._one_table):
            return
        table = self.tables[0]
        for k, opponent in enumerate(self.opponents):
            if not isinstance(opponent, (str, BatchAgent, TableAgent)):
                seat = (int(self.learners[0]) + 1 + k) % NUM_SEATS
                key = [int(table["seed"]), int(table["match"]), seat]
                opponent.reset(seat, self.rules, np.random.default_rng(key))

    def _ask(self) -> None:
        """Ask the opponents that are no policies by name, until every learner is to act or done."""
        while self._asking and (self._asks != NONE).any():
            for k, opponent in enumerate(self.opponents):
                rows = np.flatnonzero(self._asks == k)
                if len(rows):
                    actions = self._answer(opponent, rows)
                    self._run(resume_learners, len(rows), rows, actions)

    def _answer(self, opponent: Any, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """What an opponent does at some tables ([K] int64), or a ValueError that names it."""
        try:
            if isinstance(opponent, TableAgent):
                return self._legal(opponent.act_tables(self.tables[rows], self.rules, self.threads), rows)
            if isinstance(opponent, BatchAgent):
                shown = self._shown(rows, self._asked_layout)
                return self._legal(opponent.act_batch(*shown, self._rng), rows)
            view = View(self.tables, self.rules, int(self.tables["seat"][0]))
            action = check_int(opponent.act(view), "its action")
            if action not in view.legal_actions():
                raise illegal_at(self.tables, self.rules, 0, action)
        except ValueError as error:
            raise CallBreakError(f"opponent {opponent.name!r}: {error}") from error
        return np.array([action])

    def _legal(self, given: Any, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """What was answered for some tables, or a ValueError that tells what is wrong with it."""
        actions, words = check_actions(given, len(rows)), self._words[rows]
        if run_rows(count_illegal, len(rows), self.threads, words, actions):
            raise refuse_rows(self.tables, self.rules, words, given, rows)
        return actions


def check_opponents(opponents: Any, one_table: bool) -> list[Any]:
    """The three opponents to the learner's right, each a compiled policy's name or an agent.

    Raises:
        ValueError: no such name, not one or three, or an agent that cannot play at many tables.
    """
    if not isinstance(opponents, (list, tuple)):
        # One agent in three seats would be told of three matches at once.
        opponents = [opponents, copy.deepcopy(opponents), copy.deepcopy(opponents)]
    if len(opponents) != OPPONENTS:
        raise ValueError(f"opponents must be one, or {OPPONENTS}, not {len(opponents)}")
    return [_check_opponent(opponent, one_table) for opponent in opponents]


def _check_opponent(opponent: Any, one_table: bool) -> Any:
    if isinstance(opponent, str):
        if opponent in POLICIES:
            return opponent
        opponent = make_agent(opponent)
    if isinstance(opponent, type):
        raise ValueError(f"an opponent must be an agent, not the class {opponent.__name__}: make one of it")
    if isinstance(opponent, (BatchAgent, TableAgent)) or (one_table and isinstance(opponent, Agent)):
        return opponent
    if isinstance(opponent, Agent):
        raise ValueError(
            f"opponent {opponent.name!r} plays at one table at a time: a vector environment needs act_batch "
            "(policy.BatchAgent), or vectorization_mode='sync'"
        )
    batched = [name for name in ("act_tables", "act_batch") if hasattr(opponent, name)]
    wanted = ("name", *batched) if batched else ("name", "reset", "act")
    lacking = ", ".join(name for name in wanted if not hasattr(opponent, name))
    raise ValueError(
        f"opponents must be names, Agents, BatchAgents or TableAgents (callbreak_env.policy): "
        f"{type(opponent).__name__} has no {lacking}"
    )
