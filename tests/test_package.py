"""The package as others meet it: a quiet import, one version, types that are shipped."""

from __future__ import annotations

import importlib.metadata
import importlib.resources
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

HEAVY = ("matplotlib", "pygame", "ray", "sb3_contrib", "stable_baselines3", "torch")

WATCHED_IMPORT = f"""
import sys
import gymnasium, numba, numpy, pettingzoo

class Watch:
    asked = set()

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {HEAVY!r}:
            self.asked.add(name)

before = set(sys.modules)
sys.meta_path.insert(0, Watch())
import callbreak_env
loaded = sorted(m for m in set(sys.modules) - before if m.partition(".")[0] in {HEAVY!r})
sys.exit(f"loaded {{loaded}}, asked for {{sorted(Watch.asked)}}" if loaded or Watch.asked else 0)
"""


def python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_import_is_silent(tmp_path: Path) -> None:
    done = python("import callbreak_env", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_import_loads_no_heavy_library(tmp_path: Path) -> None:
    """Not even where it is installed: an attempt counts, whether or not it succeeds."""
    done = python(WATCHED_IMPORT, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_one_version_everywhere() -> None:
    import callbreak_env

    version = importlib.metadata.version("callbreak-env")
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.M)
    assert cited is not None
    assert cited[1] == version
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert getattr(callbreak_env, "__version__", version) == version


def test_types_are_shipped() -> None:
    assert importlib.resources.files("callbreak_env").joinpath("py.typed").is_file()


def test_dependencies_have_floors_and_no_ceilings() -> None:
    """Exact versions are the business of constraints.txt."""
    for requirement in importlib.metadata.requires("callbreak-env") or []:
        specifier = requirement.partition(";")[0]
        assert not re.search(r"<|==|~=", specifier), requirement


def test_constraints_pin_every_dependency_exactly() -> None:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in pins), pins
    names = {re.sub(r"[-_.]+", "-", pin.partition("==")[0]).lower() for pin in pins}
    for requirement in importlib.metadata.requires("callbreak-env") or []:
        match = re.match(r"[\w.-]+", requirement)
        assert match is not None
        assert match[0].lower() in names | {"callbreak-env"}, requirement
