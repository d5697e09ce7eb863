"""A kernel over many rows on several threads. The threads are Python's: kernels release its lock.

Numba's own parallel loops would be a trap here: under its GNU OpenMP layer a process that forks afterwards
(Gymnasium's AsyncVectorEnv does) dies, and under its own layer one that calls from two threads at once does.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from callbreak_env.checks import check_count

ROWS_A_THREAD = 1024
"""Fewer rows than this are not worth waking a thread for (some 20 microseconds)."""


def usable_cores() -> int:
    """The processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_threads(threads: Any) -> int:
    """``threads`` as a number of threads: None is one a core. ValueError for anything else below 1."""
    return usable_cores() if threads is None else check_count(threads, "threads")


@functools.lru_cache(maxsize=1)
def _pool(process: int) -> ThreadPoolExecutor:
    """Helpers of one process: a forked one has none of its parent's threads, and asks with another number."""
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="callbreak_env")


def run_rows(kernel: Callable[..., Any], rows: int, threads: int, *args: Any) -> list[Any]:
    """``kernel(first, end, *args)`` for the rows 0 to ``rows``, in as many parts as threads are worth it.

    Rows must not touch each other's memory; then the result is the same for any number of threads.

    Returns:
        What the calls returned, in the order of the rows.
    """
    parts = max(1, min(threads, rows // ROWS_A_THREAD))
    if parts == 1:
        return [kernel(0, rows, *args)]
    bounds = [rows * part // parts for part in range(parts + 1)]
    pool = _pool(os.getpid())
    others = [pool.submit(kernel, bounds[part], bounds[part + 1], *args) for part in range(1, parts)]
    first = kernel(0, bounds[1], *args)
    return [first, *(other.result() for other in others)]
