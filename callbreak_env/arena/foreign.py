"""Foreign agents: a user's classes, functions and policies as agents, and by name from modules and files."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from callbreak_env.errors import CallBreakError
from callbreak_env.observation import encode
from callbreak_env.policy import Agent, BatchAgent
from callbreak_env.rules import Rules
from callbreak_env.table import View


class FunctionAgent:
    """An agent from a function that gives an action id.

    Args:
        function: of the view; or of (view, rng), if one argument is not enough for it or a parameter is named
            ``rng``. All that it draws must come from that generator, if results are to be repeatable.
        name: the function's own if left out.

    Raises:
        ValueError: it cannot be called so.
    """

    def __init__(self, function: Callable[..., Any], name: str | None = None) -> None:
        self.name = name or _name_of(function)
        self._call = _calling(function, ("view",), self.name)
        self._rng = np.random.default_rng()

    def reset(self, seat: int, rules: Rules, rng: np.random.Generator) -> None:
        """Take the deal's random numbers."""
        self._rng = rng

    def act(self, view: View) -> int:
        """What the function gives."""
        action: int = self._call(self._rng, view)
        return action


class PolicyAgent:
    """An agent from a policy as PettingZoo's and Gymnasium's are: of (observation, action_mask).

    Args:
        policy: without memory, as all seats share it. A function of ([804] float32, [65] int8), and of a
            generator ``rng`` as in ``FunctionAgent``; or an object with ``predict(observation,
            action_masks=...)`` that gives (action, state), as SB3-contrib's MaskablePPO, which is asked with
            ``deterministic=True`` where it takes that; or a class of such objects that is made without
            arguments. The action may be an array of one number.
        name: the policy's own if left out.

    Raises:
        ValueError: it cannot be called so.
    """

    def __init__(self, policy: Any, name: str | None = None) -> None:
        if isinstance(policy, type):
            policy = _made(policy)
        self.name = name or _name_of(policy)
        self._call: _Call | _Predict
        if hasattr(policy, "predict"):
            self._call = _predicting(policy, self.name)
        else:
            self._call = _calling(policy, ("observation", "action_mask"), self.name)
        self._rng = np.random.default_rng()

    def __deepcopy__(self, memo: dict[int, Any]) -> PolicyAgent:
        """Seats share the policy, which has no memory, and may be a large network that cannot be copied."""
        return copy.copy(self)

    def reset(self, seat: int, rules: Rules, rng: np.random.Generator) -> None:
        """Take the deal's random numbers."""
        self._rng = rng

    def act(self, view: View) -> int:
        """What the policy gives for what the seat sees."""
        action = self._call(self._rng, encode(view), view.legal_mask())
        if hasattr(action, "item"):
            with contextlib.suppress(ValueError, RuntimeError):  # NumPy, torch: more than one number
                action = action.item()
        number: int = action
        return number


def as_agent(thing: Any, name: str | None = None) -> Any:
    """An agent from what a user has: an agent stays, a class is made without arguments, a function wrapped.

    Args:
        thing: an ``Agent`` or ``BatchAgent`` (``callbreak_env.policy``), a class of such, or a function as
            ``FunctionAgent`` takes it.
        name: of a function; agents keep theirs.

    Returns:
        An ``Agent`` or a ``BatchAgent``, or what is both.

    Raises:
        ValueError: it is none of these; says what it lacks.
    """
    if isinstance(thing, type):
        thing = _made(thing)
    if isinstance(thing, (Agent, BatchAgent)):
        return thing
    methods = [method for method in ("act_batch", "act", "reset") if hasattr(thing, method)]
    if callable(thing) and not methods:
        return FunctionAgent(thing, name)
    wanted = ("name", "act_batch") if "act_batch" in methods else ("name", "reset", "act")
    lacking = ", ".join(each for each in wanted if not hasattr(thing, each))
    raise CallBreakError(
        "an agent must be an Agent or a BatchAgent (callbreak_env.policy), a class of such, or a function of "
        f"the view: {thing!r:.60} ({type(thing).__name__}) has no {lacking}"
    )


def load(text: str) -> Any:
    """What ``"package.module:attribute"`` or ``"folder/file.py:attribute"`` names.

    A file is imported once. While that happens, its own folder comes first for imports (a neighbour goes
    before another module of that name, so that two folders may each have their ``net.py``), later last.

    Raises:
        ValueError: the text has another form, there is no such module, file or attribute, or the import
            fails; then the user's own error is its cause.
    """
    where, colon, attribute = text.rpartition(":")
    if not (where and colon and attribute):
        raise CallBreakError(
            f"{text!r:.100} must be module:attribute or file.py:attribute, such as agents/mine.py:Agent"
        )
    module = _import_file(where) if where.endswith(".py") else _import_module(where)
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            public = ", ".join(each for each in vars(module) if not each.startswith("_"))
            raise CallBreakError(f"{where} has no {attribute!r}: it has {public or 'nothing'}")
        found = getattr(found, part)
    return found


@dataclass(frozen=True)
class _Call:
    """A function, and how it takes the generator: ``"named"``, ``"last"`` or not (``""``)."""

    function: Callable[..., Any]
    takes_rng: str

    def __call__(self, rng: np.random.Generator, *given: Any) -> Any:
        if self.takes_rng == "named":
            return self.function(*given, rng=rng)
        return self.function(*given, rng) if self.takes_rng else self.function(*given)


@dataclass(frozen=True)
class _Predict:
    """An object with ``predict``, and the options it is asked with."""

    policy: Any
    options: dict[str, Any]

    def __call__(self, rng: np.random.Generator, observation: Any, mask: Any) -> Any:
        given = self.policy.predict(observation, action_masks=mask, **self.options)
        return given[0] if isinstance(given, tuple) else given


def _calling(function: Any, arguments: tuple[str, ...], name: str) -> _Call:
    signature = _signature(function, name)
    if signature is None:
        return _Call(function, "")
    # How it takes the generator, with what is bound beside the arguments.
    ways: dict[str, tuple[tuple[str, ...], dict[str, None]]] = {"": ((), {}), "last": (("rng",), {})}
    if "rng" in signature.parameters:
        ways = {"named": ((), {"rng": None})}
    for way, (more, named) in ways.items():
        with contextlib.suppress(TypeError):
            signature.bind(*arguments, *more, **named)
            return _Call(function, way)
    wanted = ", ".join(arguments)
    raise CallBreakError(f"{name}{signature} must take ({wanted}) or ({wanted}, rng)")


def _predicting(policy: Any, name: str) -> _Predict:
    signature = _signature(policy.predict, name)
    options: dict[str, Any] = {}
    if signature is not None:
        try:
            signature.bind(None, action_masks=None)
        except TypeError:
            raise CallBreakError(
                f"{name}.predict{signature} must take (observation, action_masks=...), as MaskablePPO's does"
            ) from None
        if "deterministic" in signature.parameters:
            options["deterministic"] = True  # sampling would draw from a generator that nobody seeds
    return _Predict(policy, options)


def _signature(function: Any, name: str) -> inspect.Signature | None:
    """None where it tells none, as some compiled functions."""
    try:
        return inspect.signature(function)
    except TypeError:
        raise CallBreakError(f"{name} ({type(function).__name__}) cannot be called") from None
    except ValueError:
        return None


def _name_of(thing: Any) -> str:
    name = getattr(thing, "name", None)
    return name if isinstance(name, str) else getattr(thing, "__name__", type(thing).__name__)


def _made(kind: type) -> Any:
    """An object of a user's class."""
    try:
        return kind()
    except Exception as error:
        raise CallBreakError(
            f"class {kind.__name__} cannot be made without arguments: {type(error).__name__}: {error}"
        ) from error


def _import_module(where: str) -> ModuleType:
    try:
        return importlib.import_module(where)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and f"{where}.".startswith(f"{error.name}."):
            raise CallBreakError(
                f"there is no module {where!r}; a file is named by its path, such as {where}.py:Agent"
            ) from None
        raise _import_failed(where, error) from error


def text_digest(text: str) -> str | None:
    """A digest of the file that a text as ``load`` takes it names; None for a module."""
    path = Path(text.rpartition(":")[0]).expanduser()
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12] if path.is_file() else None


def _import_file(where: str) -> ModuleType:
    path = Path(where).expanduser().resolve()
    try:
        source = path.read_bytes()
    except OSError as error:
        raise CallBreakError(f"cannot read {where} ({path}): {error.strerror}") from None
    # By its text too: a file that was edited since is another module.
    digest = hashlib.sha256(bytes(path) + b"\0" + source).hexdigest()[:12]
    name = f"{path.stem}_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look there
    try:
        with _neighbours_first(path.parent):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise _import_failed(where, error) from error
    return module


def _import_failed(where: str, error: BaseException) -> CallBreakError:
    frames = traceback.extract_tb(error.__traceback__)
    at = "" if isinstance(error, SyntaxError) else f" (line {frames[-1].lineno} of {frames[-1].filename})"
    return CallBreakError(f"{where} cannot be imported: {type(error).__name__}: {error}{at}")


@contextlib.contextmanager
def _neighbours_first(folder: Path) -> Iterator[None]:
    """Modules of ``folder`` go before others of the same name, loaded ones too, in this block."""
    own = {path.stem for path in folder.glob("*.py")} | {
        path.parent.name for path in folder.glob("*/__init__.py")
    }
    own -= sys.stdlib_module_names | {"__main__", "__init__"}
    hidden = {
        name: module
        for name, module in sys.modules.items()
        if name.partition(".")[0] in own and not _lies_in(module, folder)
    }
    for name in hidden:
        del sys.modules[name]
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
        tops = {name.partition(".")[0] for name in hidden}
        for name in [name for name in sys.modules if name.partition(".")[0] in tops]:
            del sys.modules[name]
        sys.modules.update(hidden)


def _lies_in(module: ModuleType, folder: Path) -> bool:
    """Whether a module is of that folder, or is not of a file at all."""
    file = getattr(module, "__file__", None)
    return file is None or Path(file).resolve().is_relative_to(folder)
