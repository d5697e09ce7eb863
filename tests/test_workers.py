"""Kernels on several threads, then in worker processes of every kind, and from several threads at once."""

from __future__ import annotations

import functools
import hashlib
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv

from callbreak_env import Rules
from callbreak_env.engine import threads
from callbreak_env.envs.selfplay import SelfPlayEnv
from callbreak_env.envs.single import CallBreakEnv
from callbreak_env.envs.vector import CallBreakVectorEnv
from conftest import JIT

ROWS = 2 * threads.ROWS_A_THREAD if JIT else 48
"""Just enough for two threads; without compilation the threshold is lowered to half of that."""
STEPS = 20 if JIT else 16
PATIENCE = 120.0
"""Seconds until a worker counts as hung: a spawned one may have to compile first."""
METHODS = [m for m in ("fork", "spawn", "forkserver") if m in multiprocessing.get_all_start_methods()]
KINDS = ("self_play", "learners")

Result = tuple[str, int]
pytestmark = pytest.mark.filterwarnings(
    # Python 3.12 and later warn of any fork of a process with threads; that it works here is the point.
    r"ignore:This process \(pid=\d+\) is multi-threaded:DeprecationWarning"
)


def helpers() -> int:
    """How many others share the rows in this process: threads of ours, or (counted as one) Numba's."""
    numbas = threads._layer.cache_info().currsize and threads._may_use_numba_threads()
    return int(numbas) or sum(thread.name.startswith("callbreak_env") for thread in threading.enumerate())


def lower() -> None:
    """Lower the threshold in this process (it stays as it is where kernels are compiled)."""
    threads.ROWS_A_THREAD = ROWS // 2


@pytest.fixture(scope="module", autouse=True)
def _threshold() -> Iterator[None]:
    before = threads.ROWS_A_THREAD
    yield
    threads.ROWS_A_THREAD = before


def play(kind: str, count: int = 2, seed: int = 1) -> Result:
    """A digest of all that some steps at many tables give, and how many helper threads there are after."""
    lower()
    digest = hashlib.sha256()
    if kind == "self_play":
        env = SelfPlayEnv(ROWS, Rules(deals=1), dtype="int8", threads=count)
        env.reset(seed)
        for _ in range(STEPS):
            for array in env.step(env.sample_actions()):
                digest.update(array.tobytes())
    else:
        envs = CallBreakVectorEnv(ROWS, Rules(deals=1), seat=None, dtype="int8", threads=count)
        _, infos = envs.reset(seed=seed)
        for _ in range(STEPS):
            *arrays, infos = envs.step(infos["action_mask"].argmax(axis=1))
            for array in (*arrays, infos["action_mask"]):
                digest.update(array.tobytes())
    return digest.hexdigest(), helpers()


def answer(pipe: Any, function: Callable[..., Any], *args: Any) -> None:
    """What a worker does: it sends the result, or the error."""
    try:
        pipe.send(function(*args))
    except BaseException as error:
        pipe.send(f"{type(error).__name__}: {error}")


class Worker:
    """A process that computes one thing; it is killed if it hangs."""

    def __init__(self, method: str, function: Callable[..., Any], *args: Any) -> None:
        context = multiprocessing.get_context(method)
        self.pipe, other = context.Pipe(duplex=False)
        self.process = context.Process(target=answer, args=(other, function, *args), daemon=False)
        self.process.start()
        other.close()

    def result(self, patience: float = PATIENCE) -> Any:
        try:
            if not self.pipe.poll(patience):
                pytest.fail(f"the worker hangs: nothing in {patience} seconds")
            try:
                got = self.pipe.recv()
            except EOFError:
                self.process.join(10)
                pytest.fail(f"the worker died, exit code {self.process.exitcode}")
            self.process.join(30)
            assert self.process.exitcode == 0, "it answered, but did not end"
            return got
        finally:
            if self.process.is_alive():
                self.process.kill()
                self.process.join()


@pytest.fixture(scope="module")
def expected() -> dict[str, str]:
    """The digests on one thread; and then the kernels have run on several in this process."""
    alone = {kind: play(kind, 1)[0] for kind in KINDS}
    for kind in KINDS:
        digest, pool = play(kind)
        assert digest == alone[kind]
        assert pool > 0
    return alone


def test_several_threads_have_run_and_give_the_same(expected: dict[str, str]) -> None:
    assert helpers() > 0
    assert expected["self_play"] != expected["learners"]
    assert play("learners", seed=2)[0] != expected["learners"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", METHODS)
def test_worker_runs_the_threaded_kernels_like_its_parent(
    method: str, kind: str, expected: dict[str, str]
) -> None:
    digest, pool = Worker(method, play, kind).result()
    assert digest == expected[kind]
    assert pool > 0
    assert play(kind)[0] == expected[kind]  # and the parent can go on


@pytest.mark.skipif(not JIT, reason="it is about Numba's threads")
@pytest.mark.parametrize("layer", ["workqueue", "omp"])
def test_worker_under_any_threading_layer(
    layer: str, expected: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python's threads do it where Numba's layer is one that must not be called from two at once."""
    monkeypatch.setenv("NUMBA_THREADING_LAYER", layer)
    digest, way = Worker("spawn", play_and_tell, "self_play").result()
    assert digest == expected["self_play"]
    assert way == ("python" if layer == "workqueue" else "numba")


def play_and_tell(kind: str) -> tuple[str, str]:
    digest = play(kind)[0]
    return digest, "numba" if threads._may_use_numba_threads() else "python"


def test_forked_worker_of_a_parent_that_used_torch(expected: dict[str, str]) -> None:
    """Its OpenMP is the one that Numba's threads would use."""
    torch = pytest.importorskip("torch")
    square = torch.rand(700, 700)
    assert (square @ square).sum() > 0
    assert Worker("fork", play, "learners").result(60)[0] == expected["learners"]


def test_several_forked_workers_at_once(expected: dict[str, str]) -> None:
    workers = [Worker("fork", play, kind) for kind in KINDS * 2]
    play("learners")  # while they run
    assert [worker.result()[0] for worker in workers] == [expected[kind] for kind in KINDS * 2]


def grandchild() -> Result:
    """Threaded kernels in a worker, then in a worker of that worker."""
    first = play("learners")
    second: Result = Worker("fork", play, "learners").result(60)
    assert first[0] == second[0]
    return second


def test_forked_worker_of_a_forked_worker(expected: dict[str, str]) -> None:
    digest, pool = Worker("fork", grandchild).result()
    assert (digest, pool > 0) == (expected["learners"], True)


def test_forks_while_another_thread_is_in_a_kernel(expected: dict[str, str]) -> None:
    stop, seen = threading.Event(), set()

    def busy() -> None:
        while not stop.is_set():
            seen.add(play("learners")[0])

    thread = threading.Thread(target=busy, daemon=True)
    thread.start()
    try:
        for _ in range(4):
            assert Worker("fork", play, "learners").result(60)[0] == expected["learners"]
    finally:
        stop.set()
        thread.join(PATIENCE)
    assert not thread.is_alive()
    assert seen == {expected["learners"]}


def test_use_from_several_threads_at_once(expected: dict[str, str]) -> None:
    got: list[str] = []
    jobs = [
        threading.Thread(target=lambda kind=kind: got.append(play(kind, 3)[0]), daemon=True)
        for kind in KINDS * 3
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join(PATIENCE)
        assert not job.is_alive(), "a thread hangs"
    assert sorted(got) == sorted([expected[kind] for kind in KINDS * 3])


class Threaded(CallBreakEnv):
    """An environment that runs the threaded kernels in the process where it lives."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        observation, info = super().reset(seed=seed, options=options)
        digest, pool = play("learners")
        return observation, info | {"digest": digest, "pool": pool}


@pytest.mark.parametrize("context", [None, "spawn"])
def test_gymnasium_s_async_workers(context: str | None, expected: dict[str, str]) -> None:
    """The default context, which forks on Linux, and one that does not."""
    envs = AsyncVectorEnv([functools.partial(Threaded, deals=1)] * 2, context=context)
    try:
        envs.reset_async(seed=3)
        observations, infos = envs.reset_wait(timeout=PATIENCE)
        assert infos["digest"].tolist() == [expected["learners"]] * 2
        assert (infos["pool"] > 0).all()
        right = CallBreakVectorEnv(2, deals=1)
        same_observations, told = right.reset(seed=3)
        assert np.array_equal(observations, same_observations)
        for _ in range(13):
            actions = told["action_mask"].argmax(axis=1)
            envs.step_async(actions)
            got = envs.step_wait(timeout=PATIENCE)
            expect = right.step(actions)
            told = expect[-1]
            assert all(np.array_equal(one, other) for one, other in zip(got[:4], expect[:4], strict=True))
    finally:
        envs.close(timeout=10, terminate=True)


def test_hung_and_dead_workers_are_noticed() -> None:
    """The tests above can fail: a worker that hangs is killed, one that dies or raises is told apart."""
    hung = Worker("fork", threading.Event().wait)
    with pytest.raises(pytest.fail.Exception, match="hangs"):
        hung.result(0.2)
    assert not hung.process.is_alive()
    with pytest.raises(pytest.fail.Exception, match="exit code 3"):
        Worker("fork", _die).result()
    assert Worker("fork", play, "learners", 0).result().startswith("ValueError: threads")


def _die() -> None:
    os._exit(3)
