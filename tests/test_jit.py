"""Compiling and caching: an edit is never missed, a cache is never required, waiting is announced."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

import callbreak_env
from callbreak_env.engine import _jit
from conftest import JIT

PACKAGE = Path(callbreak_env.__file__).parent
needs_jit = pytest.mark.skipif(not JIT, reason="nothing is compiled with NUMBA_DISABLE_JIT=1")

# points_of (play.py) calls r12_r13_points (scoring.py): the kernel that is edited is a called one.
SCORE = "from callbreak_env import deal_points; print(deal_points([4, 2, 2, 2], [7, 2, 2, 2])[0])"


def run(code: str, path: Path, **environment: str | None) -> subprocess.CompletedProcess[str]:
    """Python code with the package of ``path`` in a process of its own; None takes a variable away."""
    merged = os.environ | {"PYTHONPATH": str(path)} | environment
    return subprocess.run(
        [sys.executable, "-c", code],
        env={name: value for name, value in merged.items() if value is not None},
        cwd=path,
        capture_output=True,
        text=True,
        check=False,
    )


def copy_of_the_package(folder: Path) -> Path:
    shutil.copytree(PACKAGE, folder / "callbreak_env", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@needs_jit
def test_an_edit_to_a_called_kernel_is_not_missed(tmp_path: Path) -> None:
    root, cache = copy_of_the_package(tmp_path), str(tmp_path / "cache")
    assert run(SCORE, root, NUMBA_CACHE_DIR=cache).stdout == "43\n"
    assert run(SCORE, root, NUMBA_CACHE_DIR=cache).stdout == "43\n"
    (first,) = (tmp_path / "cache" / "callbreak_env").iterdir()
    assert list(first.rglob("*.nbc"))
    scoring = root / "callbreak_env" / "engine" / "scoring.py"
    text = scoring.read_text(encoding="utf-8")
    scoring.write_text(
        text.replace("return 10 * bid + won - bid", "return 20 * bid + won - bid"), encoding="utf-8"
    )
    assert run(SCORE, root, NUMBA_CACHE_DIR=cache).stdout == "83\n"
    assert len(list((tmp_path / "cache" / "callbreak_env").iterdir())) == 2


@needs_jit
@pytest.mark.parametrize("kind", ["a file in the way", "no home at all"])
def test_without_a_folder_for_the_cache_it_works_quietly(kind: str, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("not a folder")
    environment: dict[str, str | None] = {"XDG_CACHE_HOME": None, "NUMBA_CACHE_DIR": None}
    environment["HOME"] = str(blocked) if kind == "a file in the way" else "/proc/none"
    result = run(SCORE, PACKAGE.parent, **environment)
    assert (result.returncode, result.stdout) == (0, "43\n")
    assert result.stderr in (
        "",
        "callbreak_env: compiling the engine, this time (no folder to cache it in)\n",
    )


@needs_jit
def test_the_cache_is_where_it_is_asked_for(tmp_path: Path) -> None:
    elsewhere = tmp_path / "xdg"
    result = run(SCORE, PACKAGE.parent, XDG_CACHE_HOME=str(elsewhere), NUMBA_CACHE_DIR=None)
    assert result.stdout == "43\n"
    assert list((elsewhere / "callbreak_env").rglob("*.nbc"))


def test_numbas_own_setting_is_put_back() -> None:
    import numba

    before = numba.config.CACHE_DIR
    _jit.kernel()(lambda: 0)
    assert before == numba.config.CACHE_DIR


@needs_jit
def test_old_caches_are_swept(tmp_path: Path) -> None:
    parent = tmp_path / "callbreak_env"
    for number in range(12):
        (parent / f"{number:02d}").mkdir(parents=True)
        os.utime(parent / f"{number:02d}", (number, number))
    run(SCORE, PACKAGE.parent, NUMBA_CACHE_DIR=str(tmp_path))
    left = sorted((path.name for path in parent.iterdir()), key=lambda name: (len(name), name))
    assert left[:8] == [f"{number:02d}" for number in range(4, 12)]
    assert len(left) == 9


def event_of(module: str) -> Any:
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=SimpleNamespace(__module__=module))})


class Timer:
    """Stands for ``threading.Timer``: fires when told to."""

    made: ClassVar[list[Timer]] = []

    def __init__(self, seconds: float, action: Any) -> None:
        self.seconds, self.action, self.cancelled = seconds, action, False
        Timer.made.append(self)

    def start(self) -> None:
        pass

    def cancel(self) -> None:
        self.cancelled = True


def test_a_long_compilation_is_announced_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_jit.threading, "Timer", Timer)
    Timer.made.clear()
    announcer = _jit._Announcer()
    announcer.on_start(event_of("somebody.else"))
    announcer.on_end(event_of("somebody.else"))
    assert Timer.made == []
    announcer.on_start(event_of("callbreak_env.engine.play"))
    announcer.on_start(event_of("callbreak_env.engine.scoring"))  # a called kernel: the same wait
    announcer.on_end(event_of("callbreak_env.engine.scoring"))
    (timer,) = Timer.made
    assert timer.seconds == 2.0
    assert not timer.cancelled
    announcer.on_end(event_of("callbreak_env.engine.play"))
    assert timer.cancelled
    assert capsys.readouterr().err == ""
    announcer.on_start(event_of("callbreak_env.engine.play"))
    Timer.made[-1].action()
    assert capsys.readouterr().err.startswith("callbreak_env: compiling the engine, ")
    announcer.on_end(event_of("callbreak_env.engine.play"))
    announcer.on_start(event_of("callbreak_env.engine.play"))
    assert len(Timer.made) == 2


def test_bit_kernels() -> None:
    for bits in (1, 2, 3, 2**51, 2**52 - 1, 2**63, 2**64 - 1, 0b1011000):
        assert _jit.popcount(np.uint64(bits)) == bin(bits).count("1")
        assert _jit.lowest_bit(np.uint64(bits)) == (bits & -bits).bit_length() - 1
    assert _jit.popcount(np.uint64(0)) == 0


@needs_jit
@pytest.mark.skipif(sys.platform == "win32", reason="no such limit there")
def test_a_full_disk_is_no_obstacle(tmp_path: Path) -> None:
    """No file may grow beyond a kilobyte: a kernel that cannot be saved is used all the same."""
    code = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024)); {SCORE}"
    done = run(code, copy_of_the_package(tmp_path / "package"), NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert (done.returncode, done.stdout) == (0, "43\n"), done.stderr
