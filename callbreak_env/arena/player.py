"""Plays deals in all their seatings in this process: compiled entrants in kernels, the others asked."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from callbreak_env.agents.compiled import policy_agent
from callbreak_env.arena.entrants import Entrant
from callbreak_env.arena.guard import ERROR, ILLEGAL, Answer, ask, ask_reset, guarded
from callbreak_env.arena.results import FAULTS, Results, Schedule
from callbreak_env.arena.rows import advance_rows, show_rows, start_rows
from callbreak_env.cards import NUM_SEATS
from callbreak_env.engine.agents import AGENT, POLICY
from callbreak_env.engine.legality import word_allows
from callbreak_env.engine.playouts import last_deal
from callbreak_env.engine.state import NONE, OVER, TABLE, rules_record
from callbreak_env.engine.threads import run_parts
from callbreak_env.envs.layout import new_layout
from callbreak_env.policy import Agent, TableAgent
from callbreak_env.refusals import check_actions, in_int64
from callbreak_env.rules import Rules
from callbreak_env.table import View

POLICY_ROWS = 256
"""Rows that a thread takes at a time where only policies play (2 ms); of searches it takes one."""
REPLACEMENT = "lowest"
"""The compiled policy that plays where a foreign agent is at fault: minimum bid, lowest legal rank."""

Rows = npt.NDArray[np.int64]


class Player:
    """Plays deals of a schedule. The same deals give the same results, whatever was played before.

    Foreign agents that are asked by views keep a match in mind. So each seat that an entrant takes has an
    agent of its own, and tables with such agents are played one after the other, each agent ``reset`` at the
    beginning with ``default_rng([seed, deal, seat])``.

    Agents of batches keep nothing in mind: they are asked for all tables at once. If one draws from the
    generator that it is given, its answer is thrown away, and it is asked for each table by itself, with
    that table's own ``default_rng([seed, deal, seat])``: so results do not depend on which tables are played
    together. (That a net's own arithmetic gives a row the same in every batch is the agent's business.)

    Args:
        schedule: who sits where.
        entrants: [E], in the schedule's order.
        rules: of the deals.
        seed: deal number d is the first deal of ``Match(rules, seed=seed, number=d)``.
        threads: share the compiled work.
        time_limit: seconds a decision of a foreign agent; None for no limit.

    Attributes:
        faults: what went wrong first, by (entrant, kind): a message.
    """

    def __init__(
        self,
        schedule: Schedule,
        entrants: Sequence[Entrant],
        rules: Rules,
        seed: int,
        threads: int,
        time_limit: float | None,
    ) -> None:
        self._schedule, self._entrants, self._rules, self._seed = schedule, entrants, rules, seed
        self._threads, self._time_limit = threads, time_limit
        self._record = rules_record(rules)
        self._last = self._record.copy()
        last_deal(np.zeros(1, TABLE)[0], self._last)
        self._asked = np.array([entrant.record is None for entrant in entrants])
        self._records = np.zeros(len(entrants), AGENT)
        for i, entrant in enumerate(entrants):
            if entrant.record is not None:
                self._records[i] = entrant.record[0]
        self._part = POLICY_ROWS if (self._records["kind"] == POLICY).all() else 1
        self._layout = new_layout(self._record, "flat", "float32")
        self._replacement = policy_agent(REPLACEMENT)
        self._agents: dict[tuple[int, int], Agent] = {}
        self._drawing: set[int] = set()
        self.faults: dict[tuple[int, int], str] = {}

    def play(self, deals: npt.NDArray[np.int64]) -> Results:
        """Deals by their numbers ([D], ascending)."""
        count = len(self._schedule.seatings)
        self._tables = np.zeros(len(deals) * count, TABLE)
        self._deals = np.repeat(deals, count)
        self._by_seat = np.tile(self._schedule.seatings, (len(deals), 1))
        self._faults = np.zeros((len(self._tables), NUM_SEATS, len(FAULTS)), np.int8)
        self._decisions = np.zeros(len(self._entrants), np.int64)
        self._seconds = np.zeros(len(self._entrants))
        self._generators: dict[tuple[int, int], np.random.Generator] = {}
        rows = np.arange(len(self._tables))
        self._run(start_rows, len(rows), self._tables, self._record, self._seed, self._deals)
        self._advance(rows, np.full(len(rows), NONE))
        alone = np.array([e.record is None and e.batch is None for e in self._entrants])
        one_by_one = alone[self._by_seat].any(axis=1)
        self._finish(rows[~one_by_one])
        for row in rows[one_by_one]:
            self._reset(row)
            self._finish(rows[row : row + 1])
        shape = (len(deals), count, NUM_SEATS)
        return Results(
            schedule=self._schedule,
            rules=self._rules,
            seed=self._seed,
            deals=deals,
            points=self._tables["points"].reshape(shape).copy(),
            bids=self._tables["bids"].reshape(shape).copy(),
            tricks=self._tables["tricks_won"].reshape(shape).copy(),
            faults=self._faults.reshape(*shape, len(FAULTS)),
            decisions=self._decisions,
            seconds=self._seconds,
        )

    def prepare(self) -> None:
        """Compile, or load, the kernels of the play without playing, so that worker processes find them."""
        none, tables = np.zeros(0, np.int64), np.zeros(0, TABLE)
        start_rows(0, 0, tables, self._record, self._seed, none)
        work = (tables, self._record, self._last, self._records, self._asked, self._schedule.seatings)
        advance_rows(0, 0, none, none, *work)

    def close(self) -> None:
        """End what agents have begun: their programs."""
        for agent in self._agents.values():
            close = getattr(agent, "close", None)
            if callable(close):
                try:
                    close()
                except Exception as error:
                    warnings.warn(
                        f"close() of {agent.name} failed: {type(error).__name__}: {error}",
                        RuntimeWarning,
                        stacklevel=2,
                    )
        self._agents.clear()

    def _run(self, kernel: Any, rows: int, *args: Any) -> None:
        run_parts(kernel, rows, self._part, self._threads, *args)

    def _advance(self, rows: Rows, actions: Rows) -> None:
        work = (self._tables, self._record, self._last, self._records, self._asked, self._by_seat)
        self._run(advance_rows, len(rows), rows, actions, *work)

    def _finish(self, rows: Rows) -> None:
        """Ask and advance until the deals of some rows are over."""
        while len(rows := rows[self._tables["phase"][rows] != OVER]):
            who = self._by_seat[rows, self._tables["seat"][rows]]
            actions = np.empty(len(rows), np.int64)
            for entrant in np.unique(who).tolist():
                at = np.flatnonzero(who == entrant)
                actions[at] = self._answers(entrant, rows[at])
            self._advance(rows, actions)

    def _answers(self, entrant: int, rows: Rows) -> list[int]:
        """What an entrant that is asked does at some rows, or what is done instead."""
        if self._entrants[entrant].batch is None:
            answers = [self._answer(entrant, row) for row in rows.tolist()]
        else:
            answers = self._batch_answers(entrant, rows)
        self._decisions[entrant] += len(rows)
        actions = []
        for row, answer in zip(rows.tolist(), answers, strict=True):
            self._seconds[entrant] += answer.seconds
            if answer.fault is not None:
                self._note(entrant, row, answer)
            action = answer.action
            if action is None:
                action = self._replacement.act_tables(self._tables[row : row + 1], self._rules)[0]
            actions.append(int(action))
        return actions

    def _note(self, entrant: int, row: int, answer: Answer) -> None:
        """Count a fault; the first of its kind is kept in words."""
        seat, fault = int(self._tables["seat"][row]), int(answer.fault or 0)
        if self._faults[row, seat, fault] < np.iinfo(np.int8).max:
            self._faults[row, seat, fault] += 1
        where = f"seat {seat} of deal {self._deals[row]}"
        self.faults.setdefault((entrant, fault), f"{where}: {answer.message}")

    def _generator(self, row: int, seat: int) -> np.random.Generator:
        key = [self._seed, int(self._deals[row]), seat]
        return np.random.default_rng(key)

    # --- agents that are asked by views ---

    def _reset(self, row: int) -> None:
        """A deal begins for the agents at one table that are asked by views."""
        self._out: dict[int, Answer] = {}
        for seat, entrant in enumerate(self._by_seat[row].tolist()):
            one = self._entrants[entrant]
            if one.record is None and one.batch is None:
                if (entrant, seat) not in self._agents:
                    self._agents[entrant, seat] = one.new_agent()
                agent, rng = self._agents[entrant, seat], self._generator(row, seat)
                answer = ask_reset(agent, seat, self._rules, rng, self._time_limit)
                self._seconds[entrant] += answer.seconds
                if answer.fault is not None:
                    self._out[seat] = answer._replace(seconds=0.0, message=f"reset: {answer.message}")

    def _answer(self, entrant: int, row: int) -> Answer:
        seat = int(self._tables["seat"][row])
        if seat in self._out:  # it does not know what is played
            return self._out[seat]
        view = View(self._tables[row : row + 1], self._rules, seat)
        return ask(self._agents[entrant, seat], view, self._time_limit)

    # --- agents of batches ---

    def _batch_answers(self, entrant: int, rows: Rows) -> list[Answer]:
        """In one call where that gives what calls for each row would; else in these."""
        if entrant not in self._drawing:
            rng = np.random.default_rng(0)
            before = _state(rng)
            answers = self._ask_batch(entrant, rows, rng)
            if _state(rng) != before:
                self._drawing.add(entrant)
            elif all(answer.fault in (None, ILLEGAL) for answer in answers):
                return answers
        answers = []
        for k, row in enumerate(rows.tolist()):
            key = (row, int(self._tables["seat"][row]))
            if key not in self._generators:
                self._generators[key] = self._generator(*key)
            answers += self._ask_batch(entrant, rows[k : k + 1], self._generators[key])
        return answers

    def _ask_batch(self, entrant: int, rows: Rows, rng: np.random.Generator) -> list[Answer]:
        """One call for K rows. A fault of the call as a whole is one of each row."""
        agent, count = self._entrants[entrant].batch, len(rows)
        words = np.empty(count, np.uint64)
        observations, masks = self._layout.empty(count)
        told = (self._tables, self._record, self._layout.rules_shown)
        self._run(show_rows, count, rows, *told, words, observations, masks)

        def answers() -> Any:
            if isinstance(agent, TableAgent):
                return agent.act_tables(self._seen(rows), self._rules, self._threads)
            assert agent is not None
            return agent.act_batch(observations, masks, rng)

        limit = None if self._time_limit is None else self._time_limit * count
        given, fault, seconds, message = guarded(answers, limit)
        seconds /= count
        if fault is not None:
            return [Answer(None, fault, seconds, message)] * count
        try:
            actions = check_actions(given, count)
        except ValueError as error:
            return [Answer(None, ILLEGAL if count == 1 else ERROR, seconds, str(error))] * count
        legal = [word_allows(word, action) for word, action in zip(words, actions, strict=True)]
        return [
            Answer(int(action), None, seconds)
            if fine
            else Answer(None, ILLEGAL, seconds, f"action {in_int64(action)} is not legal")
            for action, fine in zip(actions, legal, strict=True)
        ]

    def _seen(self, rows: Rows) -> npt.NDArray[Any]:
        """[K] TABLE: copies of some tables without the hands that the seats to act do not see."""
        tables = self._tables[rows]
        own = np.arange(NUM_SEATS) == tables["seat"][:, None]
        tables["hands"][~own] = 0
        return tables


def _state(rng: np.random.Generator) -> tuple[Any, ...]:
    """What drawing from a generator, or spawning others, changes."""
    seed_seq: Any = rng.bit_generator.seed_seq
    return rng.bit_generator.state, seed_seq.n_children_spawned
