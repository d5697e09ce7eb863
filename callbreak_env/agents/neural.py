"""A network as an agent: one pass for each decision, its best action; no torch. And the files of weights."""

from __future__ import annotations

import functools
import hashlib
import io
import json
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from callbreak_env.actions import NUM_ACTIONS
from callbreak_env.agents.compiled import KeyedAgent
from callbreak_env.agents.inputs import inputs_digest
from callbreak_env.agents.network import OUTPUTS, Weights, ask, check_weights, new_memory, weights_digest
from callbreak_env.engine._jit import kernel, popcount
from callbreak_env.engine.legality import BIDS_FLAG, legal_word
from callbreak_env.engine.policies import lowest_action
from callbreak_env.engine.state import Array, rules_record
from callbreak_env.engine.threads import check_threads, run_parts
from callbreak_env.errors import CallBreakError
from callbreak_env.rules import Rules

RELEASED, RELEASED_BELIEFS = "neural_v1", "beliefs_v1"
"""The weights in the package: ``callbreak_env/agents/weights/``."""
ROWS_A_PART = 64
"""Rows that a thread takes at a time: a millisecond."""


class NeuralAgent(KeyedAgent):
    """An agent that does what its network thinks best. It knows what its seat knows, and draws nothing.

    Attributes:
        weights: of the network.
    """

    def __init__(self, weights: Weights, name: str = "neural") -> None:
        super().__init__(name)
        self.weights = weights

    @property
    def digest(self) -> str:
        """Of the weights."""
        return weights_digest(self.weights)

    def reset(self, seat: int, rules: Rules, rng: np.random.Generator) -> None:
        """Nothing is kept from one decision to the next."""

    def act_tables(self, tables: Array, rules: Rules, threads: int | None = 1) -> npt.NDArray[np.int64]:
        """The action ids for the seats to act at K tables: [K] TABLE -> [K] int64. None may be over."""
        actions = np.empty(len(tables), np.int64)
        work = (tables, rules_record(rules), self.weights, actions)
        run_parts(neural_rows, len(tables), ROWS_A_PART, check_threads(threads), *work)
        return actions

    def outputs(self, tables: Array, rules: Rules, threads: int | None = 1) -> npt.NDArray[np.float32]:
        """[K, 79] what the network says of the seats to act.

        Logits of the 65 actions, -inf where illegal, then of 0 to 13 tricks at the end of the deal.
        """
        found = np.empty((len(tables), OUTPUTS), np.float32)
        work = (tables, rules_record(rules), self.weights, found)
        run_parts(output_rows, len(tables), ROWS_A_PART, check_threads(threads), *work)
        return found


@kernel(nogil=True)
def output_rows(first: int, end: int, tables: Array, rules: Array, weights: Weights, outputs: Array) -> int:
    """What the network says at tables ([K] TABLE) into ``outputs`` ([K, 79] float32)."""
    memory = new_memory(weights)
    for k in range(first, end):
        ask(tables[k], rules[0], legal_word(tables[k], rules[0]), weights, memory)
        outputs[k] = memory.out
    return 0


@kernel()
def best_action(out: Array) -> int:
    """The action of the largest output, of equals the lowest."""
    best = 0
    for action in range(1, NUM_ACTIONS):
        if out[action] > out[best]:
            best = action
    return best


@kernel(nogil=True)
def neural_rows(first: int, end: int, tables: Array, rules: Array, weights: Weights, actions: Array) -> int:
    """The best action at tables ([K] TABLE) into ``actions`` ([K] int64)."""
    memory = new_memory(weights)
    for k in range(first, end):
        word = legal_word(tables[k], rules[0])
        if popcount(word & ~BIDS_FLAG) == 1:
            actions[k] = lowest_action(word)
        else:
            ask(tables[k], rules[0], word, weights, memory)
            actions[k] = best_action(memory.out)
    return 0


def save_weights(arrays: Weights, path: str | Path, card: dict[str, Any] | None = None) -> None:
    """Write weights as ``PATH.npz`` (float16) and what is to be known of them as ``PATH.json``.

    Args:
        arrays: the weights.
        path: with or without ``.npz``.
        card: of the model: anything JSON holds. ``sha256`` and ``inputs`` are added.

    Raises:
        ValueError: they are not weights, or too large for float16.
    """
    with np.errstate(over="ignore"):  # that it is infinite then is told by the check
        halves = {name: array.astype(np.float16) for name, array in arrays._asdict().items()}
    check_weights(halves, halves["last_bias"].size)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **halves)
    digest = hashlib.sha256(buffer.getvalue()).hexdigest()
    told = {**(card or {}), "sha256": digest, "inputs": inputs_digest()}
    text = json.dumps(told, indent=1) + "\n"
    npz, description = _files(path)
    npz.write_bytes(buffer.getvalue())
    description.write_text(text, encoding="utf-8")


def load_weights(path: str | Path, outputs: int = OUTPUTS) -> Weights:
    """Weights that ``save_weights`` wrote: nothing is unpickled, and their checksum must be right.

    Args:
        path: with or without ``.npz``.
        outputs: how many the network is to have.

    Raises:
        ValueError: no such files, a wrong checksum, or weights for other inputs.
    """
    return _load(*_files(path), outputs)


def released_weights(name: str = RELEASED, outputs: int = OUTPUTS) -> Weights:
    """The weights that come with the package: shared, not to be written."""
    return _released(name, outputs)


@functools.cache
def _released(name: str, outputs: int) -> Weights:
    folder = resources.files("callbreak_env.agents") / "weights"
    return _load(folder / f"{name}.npz", folder / f"{name}.json", outputs)


def chosen_weights(path: str | None, name: str = RELEASED, outputs: int = OUTPUTS) -> Weights:
    """``load_weights`` of a path, or with None ``released_weights`` of a name."""
    return released_weights(name, outputs) if path is None else load_weights(path, outputs)


def _files(path: str | Path) -> tuple[Path, Path]:
    base = str(path).removesuffix(".npz")
    return Path(f"{base}.npz"), Path(f"{base}.json")


def _load(npz: Traversable, description: Traversable, outputs: int) -> Weights:
    try:
        data, told = npz.read_bytes(), json.loads(description.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CallBreakError(f"weights {npz}: {error}") from error
    if not isinstance(told, dict) or told.get("sha256") != hashlib.sha256(data).hexdigest():
        raise CallBreakError(f"weights {npz}: not the file that {description.name} describes (sha256)")
    if told.get("inputs") != inputs_digest():
        raise CallBreakError(f"weights {npz}: made for other inputs than those of this version")
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            arrays = dict(archive)
    except Exception as error:  # NumPy has no one kind of error for what is none
        raise CallBreakError(f"weights {npz}: no archive of arrays: {error}") from error
    try:
        return check_weights(arrays, outputs)
    except CallBreakError as error:
        raise CallBreakError(f"weights {npz}: {error}") from error
