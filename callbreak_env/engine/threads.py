"""A kernel over many rows on several threads.

Numba's own threads do it, where they can: they wait for work awake, so that a call costs a few microseconds
more. Two traps are kept out of. In a forked process (Gymnasium's AsyncVectorEnv forks) GNU OpenMP hangs or
ends it, if the parent used it, by Numba or by torch. And Numba's workqueue layer sleeps between calls, and
ends a process that calls it from two threads at once. There, Python's threads do it: kernels release Python's
lock. (That torch itself hangs in a process forked after OpenMP's threads ran is beyond this module.)
"""

from __future__ import annotations

import functools
import os
import types
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from numba import prange

from callbreak_env.checks import check_count
from callbreak_env.engine._jit import kernel as compiled

ROWS_A_THREAD = 1024
"""Fewer rows than this are not worth waking a thread for."""

_forked = False


def _after_fork() -> None:
    global _forked  # noqa: PLW0603 - it is about the process
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def usable_cores() -> int:
    """The processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_threads(threads: Any) -> int:
    """``threads`` as a number of threads: None is one a core. ValueError for anything else below 1."""
    return usable_cores() if threads is None else check_count(threads, "threads")


def run_rows(kernel: Callable[..., int], rows: int, threads: int, *args: Any) -> int:
    """``kernel(first, end, *args)`` for the rows 0 to ``rows``, in as many parts as threads are worth it.

    Rows must not touch each other's memory; then the result is the same for any number of threads.

    Returns:
        The sum of what the calls returned.
    """
    parts = max(1, min(threads, rows // ROWS_A_THREAD))
    if parts == 1:
        return kernel(0, rows, *args)
    bounds = _bounds(rows, parts)
    if not _may_use_numba_threads():
        pool = _pool(os.getpid())
        others = [pool.submit(kernel, first, end, *args) for first, end in pairwise(bounds[1:].tolist())]
        return kernel(0, int(bounds[1]), *args) + sum(other.result() for other in others)
    before = numba.get_num_threads()
    if parts >= before:
        return int(_in_parallel(kernel)(bounds, *args))
    numba.set_num_threads(parts)
    try:
        return int(_in_parallel(kernel)(bounds, *args))
    finally:
        numba.set_num_threads(before)


def run_parts(kernel: Callable[..., int], rows: int, size: int, threads: int, *args: Any) -> int:
    """``run_rows`` for rows that take long, and one longer than another.

    The rows are shared out ``size`` at a time, always to the thread that is done first. Python's threads do
    it: to wake one costs more, which long rows do not feel.

    Returns:
        The sum of what the calls returned.
    """
    starts = deque(range(0, rows, size))

    def work() -> int:
        total = 0
        while True:
            try:
                first = starts.popleft()
            except IndexError:
                return total
            total += kernel(first, min(rows, first + size), *args)

    others = [_pool(os.getpid()).submit(work) for _ in range(min(threads, len(starts)) - 1)]
    try:
        return work() + sum(other.result() for other in others)
    finally:  # also after an error or an interrupt nobody may write any more
        starts.clear()
        if others:
            wait(others)


@functools.lru_cache(maxsize=64)
def _bounds(rows: int, parts: int) -> npt.NDArray[np.int64]:
    """[parts + 1] the first row of each part, and the end."""
    return np.array([rows * part // parts for part in range(parts + 1)])


def _may_use_numba_threads() -> bool:
    return not (numba.config.DISABLE_JIT or _forked) and _layer() != "workqueue"


@functools.cache
def _layer() -> str:
    """The name of Numba's threading layer; starts its threads."""
    numba.set_num_threads(numba.get_num_threads())
    return str(numba.threading_layer())


@functools.cache
def _in_parallel(kernel: Callable[..., int]) -> Callable[..., int]:
    """The kernel's parts, as one parallel loop."""
    # A function with the kernel among its globals, and no closure: Numba finds no closure again on disk.
    name = f"{kernel.__name__}_in_parallel"
    function = types.FunctionType(_parts.__code__, {"_kernel": kernel, "prange": numba.prange}, name)
    function.__qualname__ = name
    function.__module__ = __name__
    return compiled(nogil=True, parallel=True)(function)


def _kernel(first: int, end: int, *args: Any) -> int:
    """What stands for the kernel in ``_parts``."""
    raise NotImplementedError


def _parts(bounds: npt.NDArray[np.int64], *args: Any) -> int:
    total = 0
    for part in prange(bounds.size - 1):
        total += _kernel(bounds[part], bounds[part + 1], *args)
    return total


@functools.lru_cache(maxsize=1)
def _pool(process: int) -> ThreadPoolExecutor:
    """Python's threads of one process: a forked one has none of its parent's, and has another number."""
    return ThreadPoolExecutor(usable_cores(), thread_name_prefix="callbreak_env")
