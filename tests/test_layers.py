"""A file of the package imports only from files above it in LAYERS."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = "callbreak_env"
ROOT = Path(__file__).resolve().parent.parent / PACKAGE

LAYERS = (
    "cards",
    "actions",
    "checks",
    "rules",
    "engine._jit",
    "engine.state",
    "engine.random",
    "engine.dealing",
    "engine.legality",
    "engine.scoring",
    "engine.play",
    "engine.worlds",
    "engine.beliefs",
    "engine.rule_based",
    "engine.policies",
    "engine.playouts",
    "engine.pimc",
    "engine.ismcts",
    "engine.agents",
    "engine.loops",
    "engine.threads",
    "engine",
    "text",
    "errors",
    "transcript",
    "table",
    "refusals",
    "match",
    "worlds",
    "playouts",
    "observation",
    "records",
    "bhoos",
    "simulation",
    "story",
    "policy",
    "envs.shared",
    "envs.aec",
    "envs.rows",
    "envs.learner_rows",
    "envs.layout",
    "envs.selfplay",
    "envs.learners",
    "envs.single",
    "envs.vector",
    "envs.registration",
    "envs",
    "agents.compiled",
    "agents.inputs",
    "agents.network",
    "agents.neural",
    "agents.neural_search",
    "agents",
    "arena.results",
    "arena.statistics",
    "arena.figures",
    "arena.ratings",
    "arena.guard",
    "arena.foreign",
    "arena.messages",
    "arena.process",
    "arena.entrants",
    "arena.formats",
    "arena.rows",
    "arena.player",
    "arena.store",
    "arena.play",
    "arena.variates",
    "arena.definition",
    "arena.report",
    "arena.summary",
    "arena.tables",
    "arena.report_file",
    "arena.benchmark",
    "arena.verification",
    "arena.plots",
    "arena.leaderboard",
    "arena",
    "integrations.sb3",
    "integrations",
    "play",
    "cli_bench",
    "cli",
    "callbreak_v0",
    "__init__",
    "__main__",
)
"""From top to bottom. A folder's own name is its ``__init__.py``, which stands below its files.

A module need not exist yet, but every file must be listed.
"""

ONLY_FOR = {"cli": "__main__"}
"""Modules that one other file alone may import."""

# Entry points and registry entries ("callbreak_env.envs.aec:env") are strings that are resolved
# when asked for. They are not imports: a layer may name one below it in that way.


def modules(root: Path) -> dict[str, Path]:
    """The files of a package by their name in LAYERS."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if parts[-1] == "__init__" and len(parts) > 1:
            parts = parts[:-1]
        found[".".join(parts)] = path
    return found


def inside(dotted: str) -> str | None:
    """``callbreak_env.engine.play`` as ``engine.play``; None for what is not ours."""
    if dotted == PACKAGE:
        return "__init__"
    return dotted[len(PACKAGE) + 1 :] if dotted.startswith(PACKAGE + ".") else None


def imports(name: str, path: Path, known: set[str]) -> Iterator[tuple[int, str]]:
    """Line and module of every import of ours in a file: under functions, ifs and tries too."""
    package = [PACKAGE, *name.split(".")]
    if path.name != "__init__.py" or name == "__init__":
        package.pop()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if (target := inside(alias.name)) is not None:
                    yield node.lineno, target
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            base = inside(".".join([*start, *filter(None, [node.module])]))
            if base is None:
                continue
            for alias in node.names:
                # `from package import thing`: a module of that name, else a name of its __init__
                module = alias.name if base == "__init__" else f"{base}.{alias.name}"
                yield node.lineno, module if module in known else base


def faults(root: Path) -> list[str]:
    """Every import that the list forbids, and every file that is not in it."""
    files = modules(root)
    place = {name: index for index, name in enumerate(LAYERS)}
    found = [f"{name} is not in LAYERS: add it to the list" for name in files if name not in place]
    known = files.keys() | place.keys()
    for name, path in files.items():
        for line, target in imports(name, path, known):
            where = f"{path.relative_to(root.parent)}:{line}: {name} imports {target}"
            if target not in known:
                found.append(f"{where}, which does not exist")
            elif ONLY_FOR.get(target, name) != name:
                found.append(f"{where}, which only {ONLY_FOR[target]} may")
            elif name not in place or target not in place or name in ("__init__", "__main__"):
                continue
            elif place[target] >= place[name]:
                found.append(f"{where}, which is not above it")
    return found


def test_every_import_goes_upward() -> None:
    assert len(modules(ROOT)) > 1
    assert faults(ROOT) == []


def test_the_list_names_each_module_once() -> None:
    assert len(set(LAYERS)) == len(LAYERS)
    for child in LAYERS:
        if "." in child:
            assert LAYERS.index(child) < LAYERS.index(child.rpartition(".")[0])


PLANTED = {
    "at the top": ("cards.py", "from callbreak_env.rules import Rules", "cards imports rules"),
    "plain import": ("cards.py", "import callbreak_env.rules", "cards imports rules"),
    "from the package": ("cards.py", "from callbreak_env import rules", "cards imports rules"),
    "relative": ("cards.py", "from .rules import Rules", "cards imports rules"),
    "relative module": ("cards.py", "from . import rules", "cards imports rules"),
    "relative, in a folder": ("engine/state.py", "from ..text import x", "imports text"),
    "sibling": ("engine/state.py", "from . import play", "state imports engine.play"),
    "own folder": ("engine/state.py", "from callbreak_env.engine import x", "imports engine"),
    "in a function": ("cards.py", "def f():\n    from .rules import Rules", "cards imports rules"),
    "for types only": (
        "cards.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .match import Match",
        "cards imports match",
    ),
    "a name of the top": ("match.py", "from callbreak_env import Rules", "match imports __init__"),
    "the top itself": ("match.py", "import callbreak_env", "match imports __init__"),
    "itself": ("cards.py", "import callbreak_env.cards", "cards imports cards"),
    "cli below": ("callbreak_v0.py", "from callbreak_env.cli import main", "only __main__ may"),
    "cli at the top": ("__init__.py", "from callbreak_env.cli import main", "only __main__ may"),
    "unlisted": ("extra.py", "", "extra is not in LAYERS: add it to the list"),
    "unlisted folder": ("extra/__init__.py", "", "extra is not in LAYERS: add it to the list"),
    "missing": ("match.py", "from callbreak_env.nothing import x", "does not exist"),
    "missing module": ("match.py", "import callbreak_env.nothing", "which does not exist"),
}


@pytest.mark.parametrize("case", PLANTED)
def test_a_planted_fault_is_found(case: str, tmp_path: Path) -> None:
    file, text, expected = PLANTED[case]
    copy = tmp_path / PACKAGE
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("__pycache__"))
    target = copy / file
    target.parent.mkdir(exist_ok=True)
    before = target.read_text(encoding="utf-8") if target.exists() else ""
    target.write_text(f"{before}\n{text}\n", encoding="utf-8")
    new = [fault for fault in faults(copy) if fault not in faults(ROOT)]
    assert any(expected in fault for fault in new), new


ALLOWED = {
    "upward": ("match.py", "from callbreak_env.engine import play\nfrom .rules import Rules"),
    "a folder's face": ("match.py", "from callbreak_env.engine import anything"),
    "__init__ from its files": ("engine/__init__.py", "from callbreak_env.engine.play import x"),
    "__init__ from siblings": ("engine/__init__.py", "from . import play, state"),
    "the top": ("__init__.py", "from callbreak_env import callbreak_v0\nfrom .cards import x"),
    "main": ("__main__.py", "from callbreak_env.cli import main"),
    "others": ("cards.py", "import numpy.random\nfrom callbreak_envelope import x"),
}


@pytest.mark.parametrize("case", ALLOWED)
def test_what_is_allowed_is_not_a_fault(case: str, tmp_path: Path) -> None:
    file, text = ALLOWED[case]
    target = tmp_path / PACKAGE / file
    target.parent.mkdir(parents=True)
    target.write_text(text + "\n", encoding="utf-8")
    assert faults(tmp_path / PACKAGE) == []
