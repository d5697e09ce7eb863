"""What all tests share: the --nightly flag and the sizes that depend on it."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, settings

from callbreak_env import Match
from callbreak_env.engine import threads
from callbreak_env.table import View

JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
"""Whether kernels are compiled; without that, everything is some hundred times slower."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--nightly", action="store_true", help="run the heavy sizes too (minutes to hours)")


def pytest_configure(config: pytest.Config) -> None:
    nightly = config.getoption("--nightly")
    settings.register_profile(
        "callbreak",
        max_examples=2000 if nightly else 60 if JIT else 10,
        deadline=None,  # the first example may compile
        derandomize=not nightly,  # an ordinary run fails for a change, never by chance
        suppress_health_check=[HealthCheck.too_slow],  # the same reason as for the deadline
    )
    settings.load_profile("callbreak")
    # In the background of a shell that has no job control, interrupts are ignored, by all children too.
    with contextlib.suppress(ValueError):  # not the main thread
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--nightly"):
        return
    skip = pytest.mark.skip(reason="heavy size: run with --nightly")
    for item in items:
        if "nightly" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def amount(request: pytest.FixtureRequest) -> Callable[..., int]:
    """How many samples to take: ``amount(ordinary, nightly=..., no_jit=...)``."""

    def choose(ordinary: int, *, nightly: int | None = None, no_jit: int | None = None) -> int:
        if no_jit is not None and not JIT:
            return no_jit
        if nightly is not None and request.config.getoption("--nightly"):
            return nightly
        return ordinary

    return choose


@pytest.fixture
def one_torch_thread() -> Iterator[None]:
    """Torch on one thread, and afterwards as before: figures then do not depend on the machine's cores."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def view() -> View:
    """The first bid of a deal: legal are the bids 2 to 13, actions 53 to 64."""
    match = Match("standard", seed=5)
    return match.view(match.seat or 0)


@pytest.fixture
def few_rows_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four rows are worth a thread here."""
    monkeypatch.setattr(threads, "ROWS_A_THREAD", 4)
