"""The network of the neural agents: its weights, and a forward pass that gives the same bits anywhere.

A multilayer perceptron with residual layers (He et al., Deep residual learning, 2016) on the rows of
``agents.inputs``. Inputs are few ones among zeros, and many hidden units are zero after the ReLU, so what
counts is skipping them: each other one adds its row of weights. No sum is split over the lanes of a
processor, so that the result depends neither on the machine nor on how many rows are asked at once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from callbreak_env.actions import BID_OFFSET, NUM_ACTIONS
from callbreak_env.agents.inputs import INPUTS, own_place, put_inputs
from callbreak_env.cards import CARDS_PER_HAND, NUM_CARDS
from callbreak_env.engine._jit import add_product, kernel, lowest_bit
from callbreak_env.engine.legality import BIDS_FLAG
from callbreak_env.engine.state import Array, CardSet, Record
from callbreak_env.errors import CallBreakError

NUM_TRICKS = CARDS_PER_HAND + 1
OUTPUTS = NUM_ACTIONS + NUM_TRICKS
"""Logits of the actions, then of how many tricks the seat will have won at the end of the deal."""
HOLDERS = 3
BELIEF_OUTPUTS = HOLDERS * NUM_CARDS
"""Logits of the seats after the own one, to hold each card."""
_CACHE_LINE = 16
"""Numbers that a processor loads together."""
_ZERO = np.float32(0)
_LARGEST = np.float32(1e30)


class Weights(NamedTuple):
    """A network of L layers of H units, x = relu(first), then x + relu(hidden); float32, rows of inputs.

    Attributes:
        first: [INPUTS, H], for int8 rows: what the training scaled is scaled in here.
        hidden: [L - 1, H, H].
        biases: [L, H].
        last: [H, 79], the heads; [H, 156] of a network of beliefs.
        last_bias: [79], [156].
    """

    first: npt.NDArray[np.float32]
    hidden: npt.NDArray[np.float32]
    biases: npt.NDArray[np.float32]
    last: npt.NDArray[np.float32]
    last_bias: npt.NDArray[np.float32]


def check_weights(arrays: Mapping[str, Any], outputs: int = OUTPUTS) -> Weights:
    """Arrays by name as weights: float32 copies.

    Args:
        arrays: by the names of ``Weights``.
        outputs: how many the network is to have.

    Raises:
        ValueError: an array is missing or one too many, of a shape that does not fit, or of anything but
            finite floats.
    """
    if set(arrays) != set(Weights._fields):
        found = ", ".join(map(str, arrays)) or "nothing"
        raise CallBreakError(f"weights must be {', '.join(Weights._fields)}, not {found}")
    given = {name: np.asarray(arrays[name]) for name in Weights._fields}
    layers, units = given["biases"].shape if given["biases"].ndim == 2 else (0, 0)
    if not (layers and units):
        shape = given["biases"].shape
        raise CallBreakError(f"weights: biases must be of shape (layers, units), not {shape}")
    wanted = ((INPUTS, units), (layers - 1, units, units), (layers, units), (units, outputs), (outputs,))
    copies = []
    for (name, array), shape in zip(given.items(), wanted, strict=True):
        if array.shape != shape:
            raise CallBreakError(f"weights: {name} must be of shape {shape}, not {array.shape}")
        if array.dtype.kind != "f":
            raise CallBreakError(f"weights: {name} must be of floats, not of {array.dtype}")
        copies.append(_at_a_cache_line(array))
        if not np.isfinite(copies[-1]).all():
            raise CallBreakError(f"weights: {name} has numbers that are not finite")
    return Weights(*copies)


def weights_digest(weights: Weights) -> str:
    """Twelve hexadecimal digits that other weights do not have."""
    return hashlib.sha256(b"".join(array.tobytes() for array in weights)).hexdigest()[:12]


def _at_a_cache_line(array: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """A float32 copy that begins where a cache line does: the network is a seventh faster by it."""
    room = np.empty(array.size + _CACHE_LINE, np.float32)
    start = -(room.ctypes.data // room.itemsize) % _CACHE_LINE
    copy = room[start : start + array.size].reshape(array.shape)
    with np.errstate(over="ignore"):  # that it is infinite then is told by who asks
        copy[...] = array
    return copy


@kernel()
def forward(row: Array, weights: Weights, units: Array, out: Array) -> None:
    """The outputs for one row.

    Args:
        row: [INPUTS] int8.
        weights: of the network.
        units: [2, H] float32, overwritten.
        out: [79] or [156] float32, written; no number is above 1e30 in size, and what is none is -1e30.
    """
    now, more = units[0], units[1]
    now[:] = weights.biases[0]
    add_product(now, row, weights.first)
    now[:] = np.maximum(now, _ZERO)
    for layer in range(len(weights.hidden)):
        more[:] = weights.biases[layer + 1]
        add_product(more, now, weights.hidden[layer])
        now += np.maximum(more, _ZERO)
    out[:] = weights.last_bias
    add_product(out, now, weights.last)
    for i in range(len(out)):  # weights may be finite, and what they give not even a number
        if not abs(out[i]) < _LARGEST:
            out[i] = _LARGEST if out[i] > _ZERO else -_LARGEST


class Memory(NamedTuple):
    """What a pass of the network writes to: made once, used again and again, by one thread.

    Attributes:
        row: [INPUTS] int8.
        order: [3] int8, the plain suits in their places.
        units: [2, H] float32.
        raw: [79] float32, by place.
        out: [79] float32, as named at the table.
    """

    row: npt.NDArray[np.int8]
    order: npt.NDArray[np.int8]
    units: npt.NDArray[np.float32]
    raw: npt.NDArray[np.float32]
    out: npt.NDArray[np.float32]


@kernel()
def new_memory(weights: Weights) -> Memory:
    """Memory for a network."""
    return Memory(
        np.empty(INPUTS, np.int8),
        np.empty(3, np.int8),
        np.empty((2, weights.last.shape[0]), np.float32),
        np.empty(OUTPUTS, np.float32),
        np.empty(OUTPUTS, np.float32),
    )


@kernel()
def ask(table: Record, rules: Record, word: CardSet, weights: Weights, memory: Memory) -> None:
    """What the network says of the seat to act, into ``memory.out``: -inf for illegal actions.

    Args:
        table: TABLE; of other hands nothing is read.
        rules: RULES.
        word: the ``legal_word``.
        weights: of the network.
        memory: written.
    """
    order, raw, out = memory.order, memory.raw, memory.out
    put_inputs(table, rules, int(table["seat"]), word, order, memory.row)
    forward(memory.row, weights, memory.units, raw)
    out[:NUM_ACTIONS] = -np.inf
    out[NUM_ACTIONS:] = raw[NUM_ACTIONS:]
    hand, bidding = table["hands"][int(table["seat"])], word >= BIDS_FLAG
    left = word & ~BIDS_FLAG
    while left != np.uint64(0):
        one = lowest_bit(left)
        left &= left - np.uint64(1)
        if bidding:
            out[BID_OFFSET + one] = raw[BID_OFFSET + one]
        else:
            out[one] = raw[own_place(one, hand, order)]
