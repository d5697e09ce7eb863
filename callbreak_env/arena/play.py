"""Plays a schedule: chunk after chunk of deals, in this process or several, kept in a file if wanted."""

from __future__ import annotations

import atexit
import collections
import contextlib
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
import time
import warnings
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from callbreak_env.arena.entrants import Entrant, as_entrants
from callbreak_env.arena.player import REPLACEMENT, Player
from callbreak_env.arena.results import FAULTS, Results, Schedule, merge
from callbreak_env.arena.store import ResultFile, new_header
from callbreak_env.checks import check_count, check_list, check_number, check_seed
from callbreak_env.engine.threads import check_threads, usable_cores
from callbreak_env.rules import Rules, as_rules

CHUNK_S = 1.0
"""What a chunk shall take: so much is lost at most when a run is killed, a worker."""
CHUNK_ROWS = 1 << 16
"""The most rows of a chunk: 16 MiB of tables."""
GROWTH = 4
"""A chunk has at most so many times the deals of the one before."""

Deals = npt.NDArray[np.int64]
Faults = dict[tuple[int, int], str]
Chunk = tuple[Results, Faults]


def play(
    schedule: Schedule,
    entrants: Iterable[Any] | None = None,
    rules: Rules | str | None = None,
    *,
    seed: int,
    deals: int | Iterable[int],
    threads: int | None = 1,
    workers: int | None = 1,
    time_limit: float | None = None,
    progress: bool = False,
    file: str | Path | None = None,
) -> Results:
    """Play deals, each in all seatings of a schedule.

    The same schedule, entrants, rules, seed and deals give the same results (but for ``seconds``), for any
    number of threads and workers, in one run or in several; deals do not depend on which others are played.
    Foreign agents must then draw only from the generator that they are given, and forget at ``reset``
    what was before.

    A decision of a foreign agent that is illegal, fails, or comes too late is counted in ``faults``; what the
    policy ``lowest`` does is played instead: the minimum bid, the legal card of the lowest rank. The
    first of each kind is told in a RuntimeWarning. An agent that fails at ``reset`` is at fault in all its
    decisions of that deal.

    Args:
        schedule: who sits where, by ``arena.formats``.
        entrants: one for each name of the schedule, in any order, as ``Entrant`` takes them; None: the names
            say it all.
        rules: a ``Rules``, a preset's name, or None for the standard game.
        seed: 0 to 2**63 - 1; deal number d is the first deal of ``Match(rules, seed=seed, number=d)``.
        deals: so many, numbers 0 on; or their numbers.
        threads: share the compiled work of a process; None: one for each core.
        workers: processes that share the deals, for foreign agents and searches; None: one for each core. A
            script that asks for more than 1 must start under ``if __name__ == "__main__":``.
        time_limit: seconds a decision of a foreign agent; None for no limit.
        progress: show a bar on stderr.
        file: where deals are kept as they are done (``arena.store``). One that is there is continued: what is
            in it is not played again. An interrupt leaves it whole.

    Returns:
        The results of these deals; others in the file are not in it.

    Raises:
        ValueError: an argument is not what it must be, or the file is of another tournament.
    """
    the_rules, seed = as_rules(rules), check_seed(seed)
    numbers = _check_deals(deals)
    seated = _in_order(schedule, as_entrants(schedule.names if entrants is None else entrants))
    threads = check_threads(threads)
    workers = usable_cores() if workers is None else check_count(workers, "workers")
    time_limit = None if time_limit is None else check_number(time_limit, "time_limit", positive=True)
    work = (schedule, seated, the_rules, seed, threads, time_limit)
    with contextlib.ExitStack() as stack:
        parts, kept = [], None
        if file is not None:
            sources = [_source(entrant) for entrant in seated]
            header = new_header(schedule, sources, the_rules, seed, time_limit)
            kept = stack.enter_context(ResultFile(file, header, numbers))
            parts = [kept.done] if kept.done else []
        todo = np.setdiff1d(numbers, parts[0].deals) if parts else numbers
        bar = stack.enter_context(_bar(len(numbers), len(numbers) - len(todo))) if progress else None
        pace = _Pace(todo, len(schedule.seatings), workers)
        told: set[tuple[int, int]] = set()
        chunks = _here(pace, work) if workers == 1 else _elsewhere(pace, work, workers)
        for results, faults in stack.enter_context(contextlib.closing(chunks)):
            if kept:
                kept.add(results)
            parts.append(results)
            _tell(schedule, faults, told)
            if bar is not None:
                bar.update(len(results.deals))
    return merge(parts).select(numbers)


def _check_deals(deals: Any) -> Deals:
    """The numbers of deals, ascending."""
    if isinstance(deals, (int, np.integer)):
        return np.arange(check_count(deals, "deals"))
    listed = [check_seed(deal, "a deal") for deal in check_list(deals, "deals must be a count, or numbers")]
    numbers = np.unique(np.array(listed, np.int64))
    if not len(numbers) or len(numbers) < len(listed):
        raise ValueError("deals must be one or more, each once")
    return numbers


def _in_order(schedule: Schedule, entrants: Sequence[Entrant]) -> list[Entrant]:
    """The entrants in the schedule's order; ValueError unless there is one for each name."""
    by_label = {entrant.label: entrant for entrant in entrants}
    missing = [name for name in schedule.names if name not in by_label]
    extra = [label for label in by_label if label not in schedule.names]
    if missing or extra:
        raise ValueError(
            f"entrants must be those of the schedule, {list(schedule.names)}, by their labels: "
            + "; ".join(f"{what} {them}" for what, them in (("missing", missing), ("extra", extra)) if them)
        )
    return [by_label[name] for name in schedule.names]


def _source(entrant: Entrant) -> str:
    """What an entrant was made from, and which version: deals of two do not go into one file."""
    version = ", ".join(str(each) for each in (entrant.version, entrant.digest) if each is not None)
    return entrant.source + (version and f" (version {version})")


class _Pace:
    """Cuts deals into chunks of about ``CHUNK_S`` seconds, by what chunks took so far."""

    def __init__(self, deals: Deals, seatings: int, workers: int) -> None:
        self._deals, self._workers = deals, workers
        self._most = max(1, CHUNK_ROWS // seatings)
        self._size = 1
        self._at = 0

    def next(self) -> Deals:
        """The next chunk; empty at the end."""
        # Towards the end in smaller chunks, so that the workers are done together.
        share = -(-(len(self._deals) - self._at) // self._workers)
        size = max(1, min(self._size, share))
        chunk = self._deals[self._at : self._at + size]
        self._at += len(chunk)
        return chunk

    def took(self, deals: int, seconds: float) -> None:
        """So many deals took so long."""
        fitting = int(deals * CHUNK_S / max(seconds, 1e-9))
        self._size = max(1, min(fitting, GROWTH * max(deals, self._size), self._most))


def _here(pace: _Pace, work: tuple[Any, ...]) -> Generator[Chunk, None, None]:
    """Chunks played in this process."""
    with contextlib.closing(Player(*work)) as player:
        while len(deals := pace.next()):
            start = time.perf_counter()
            results = player.play(deals)
            pace.took(len(deals), time.perf_counter() - start)
            yield results, player.faults


def _elsewhere(pace: _Pace, work: tuple[Any, ...], workers: int) -> Generator[Chunk, None, None]:
    """Chunks played in worker processes, as they are done."""
    Player(*work).prepare()
    context = multiprocessing.get_context("spawn")  # a forked process has no threads, and hangs in OpenMP
    with ProcessPoolExecutor(workers, context, _start_worker, work) as pool:
        running: set[Future[tuple[Results, Faults, float]]] = set()
        try:
            while True:
                while len(running) < workers and len(deals := pace.next()):
                    running.add(pool.submit(_play_in_worker, deals))
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    results, faults, seconds = future.result()
                    pace.took(len(results.deals), seconds)
                    yield results, faults
        except BrokenProcessPool as error:
            raise RuntimeError(
                "a worker process has ended by itself: a script with workers must start under "
                'if __name__ == "__main__":; otherwise memory may be short, or an agent has ended it'
            ) from error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


_workers_own: collections.deque[Any] = collections.deque(maxlen=1)
"""In a worker process: what it plays, then its player."""


def _start_worker(*work: Any) -> None:
    # An interrupt from the keyboard reaches all processes: a worker ends when its parent says so.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _workers_own.append(work)


def _end_with_parent() -> None:
    """A parent that was killed tells its workers nothing: they would wait for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)


def _play_in_worker(deals: Deals) -> tuple[Results, Faults, float]:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # but a chunk is given up
    try:
        if not isinstance(_workers_own[0], Player):
            player = Player(*_workers_own[0])
            atexit.register(player.close)
            _workers_own.append(player)
        player = _workers_own[0]
        start = time.perf_counter()
        results = player.play(deals)
        return results, player.faults, time.perf_counter() - start
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _tell(schedule: Schedule, faults: Faults, told: set[tuple[int, int]]) -> None:
    """Warn of faults that were not told yet."""
    for (entrant, fault), message in faults.items():
        if (entrant, fault) not in told:
            told.add((entrant, fault))
            warnings.warn(
                f"entrant {schedule.names[entrant]!r}, fault {FAULTS[fault]!r}, replaced by the policy "
                f"{REPLACEMENT!r} (more of this kind are only counted), {message}",
                RuntimeWarning,
                stacklevel=3,
            )


def _bar(total: int, done: int) -> Any:
    try:
        from tqdm import tqdm
    except ImportError:
        raise ValueError("progress=True shows a bar by tqdm: pip install tqdm, or leave it out") from None
    return tqdm(total=total, initial=done, unit="deal", smoothing=0.0)
