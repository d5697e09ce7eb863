"""The network's arithmetic: right, the same bits as additions one after another, and no strange weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from agents import positions
from callbreak_env import PRESETS
from callbreak_env.agents.inputs import INPUTS, encode_inputs
from callbreak_env.agents.network import OUTPUTS, Weights, ask, check_weights, forward, new_memory
from callbreak_env.engine._jit import add_product
from callbreak_env.engine.legality import legal_word
from callbreak_env.engine.state import rules_record
from learners import Amount
from networks import network

Rows = npt.NDArray[np.int8]


def asked(rows: Rows, weights: Weights) -> npt.NDArray[np.float32]:
    """[K, 79] by the forward pass; what was in its arrays before is of no account."""
    found = np.full((len(rows), OUTPUTS), np.nan, np.float32)
    for row, out in zip(rows, found, strict=True):
        forward(row, weights, np.full((2, len(weights.last)), np.nan, np.float32), out)
    return found


def step_by_step(values: Any, matrix: Any, bias: Any) -> npt.NDArray[np.float32]:
    """``bias + values @ matrix`` in float32, row after row, each number rounded after each operation."""
    out: npt.NDArray[np.float32] = bias.copy()
    for value, row in zip(values.astype(np.float32), matrix, strict=True):
        if value != 0:
            out = out + value * row
    return out


def rows(count: int) -> Rows:
    """[K, INPUTS] what seats to act are given, and one of numbers as large as int8 holds."""
    rules = PRESETS["standard"]
    seen = encode_inputs(positions(rules, count, seed=9), rules).rows
    extreme = np.random.default_rng(9).integers(-128, 128, (1, INPUTS)).astype(np.int8)
    return np.concatenate([seen, extreme])


@pytest.mark.parametrize(("units", "layers"), [(20, 1), (33, 2), (16, 3), (64, 2)])
def test_forward_is_a_multilayer_perceptron(units: int, layers: int, amount: Amount) -> None:
    weights, inputs = network(units, layers), rows(amount(20, no_jit=3))
    found = asked(inputs, weights)
    x = np.maximum(inputs.astype(np.float64) @ weights.first + weights.biases[0], 0)
    for matrix, bias in zip(weights.hidden, weights.biases[1:], strict=True):
        x = x + np.maximum(x @ matrix + bias, 0)
    exact = x @ weights.last + weights.last_bias
    assert np.abs(exact).max() > 1
    assert np.allclose(found, exact, rtol=1e-4, atol=1e-3)
    assert len({out.tobytes() for out in found}) == len(found)


@pytest.mark.parametrize(("units", "layers"), [(20, 1), (33, 2), (16, 3)])
def test_forward_adds_in_one_order(units: int, layers: int, amount: Amount) -> None:
    """Bit for bit: no machine may take the sums apart, nor round once where twice is told."""
    weights, inputs = network(units, layers), rows(amount(20, no_jit=3))
    for row, found in zip(inputs, asked(inputs, weights), strict=True):
        x = np.maximum(step_by_step(row, weights.first, weights.biases[0]), 0)
        for matrix, bias in zip(weights.hidden, weights.biases[1:], strict=True):
            x = x + np.maximum(step_by_step(x, matrix, bias), 0)
        expected = step_by_step(x, weights.last, weights.last_bias)
        assert found.tobytes() == expected.tobytes()


def test_weights_of_any_size_give_numbers(amount: Amount) -> None:
    """Sums beyond float32 are infinite, and one infinity less another is no number: that chooses nothing."""
    huge = network(20, 3)._replace(hidden=np.full((2, 20, 20), 3e38, np.float32))
    inputs = rows(amount(20, no_jit=3))
    x = np.maximum(inputs.astype(np.float32) @ huge.first + huge.biases[0], 0)
    with np.errstate(all="ignore"):
        for matrix, bias in zip(huge.hidden, huge.biases[1:], strict=True):
            x = x + np.maximum(x @ matrix + bias, 0)
        raw = x @ huge.last + huge.last_bias
        found = asked(inputs, huge)
    assert np.isnan(raw).mean() > 0.9
    assert (np.abs(found) <= np.float32(1e30)).all()


@pytest.mark.parametrize("preset", ["standard", "no_trump"])
def test_what_is_asked_at_a_table_has_its_names(preset: str, amount: Amount) -> None:
    """The forward pass of its row, from the places back; -inf where illegal. What was there is lost."""
    rules, weights = PRESETS[preset], network(20, 2)
    tables = positions(rules, amount(40, no_jit=5), seed=10)
    inputs = encode_inputs(tables, rules)
    told, places = asked(inputs.rows, weights), inputs.places
    record, memory = rules_record(rules)[0], new_memory(weights)
    for array in memory:
        array[:] = 7
    moved = 0
    for k in range(len(tables)):
        ask(tables[k], record, np.uint64(legal_word(tables[k], record)), weights, memory)
        expected = np.full(OUTPUTS, -np.inf, np.float32)
        expected[65:] = told[k, 65:]
        for place in np.flatnonzero(inputs.legal[k]):
            expected[places[k, place]] = told[k, place]
            moved += places[k, place] != place
        assert memory.out.tobytes() == expected.tobytes()
        assert memory.row.tolist() == inputs.rows[k].tolist()
    assert moved


@pytest.mark.parametrize("width", [1, 3, 16, 79])
@pytest.mark.parametrize("dtype", [np.int8, np.float32])
def test_a_product_is_added_row_after_row(width: int, dtype: Any) -> None:
    """Of any number of values that are not zero: in fours, and what is left."""
    rng = np.random.default_rng(width)
    for count in (*range(10), 23):
        values = np.zeros(24, dtype)
        values[rng.permutation(24)[:count]] = rng.choice([-3, -1, 1, 2, 127], count)
        matrix = rng.standard_normal((24, width)).astype(np.float32)
        bias = rng.standard_normal(width).astype(np.float32)
        out = bias.copy()
        add_product(out, values, matrix)
        assert out.tobytes() == step_by_step(values, matrix, bias).tobytes()


def test_rows_of_zeros_are_not_read() -> None:
    """Which is why it is fast: NaN there would spoil a sum."""
    matrix = np.full((9, 5), np.nan, np.float32)
    matrix[[2, 7]] = 1
    values, out = np.zeros(9, np.float32), np.zeros(5, np.float32)
    values[[2, 7]] = 3, -2
    add_product(out, values, matrix)
    assert out.tolist() == [1] * 5


def test_weights_are_aligned_float32_copies() -> None:
    """Where a cache line begins, whatever they are made of."""
    given = {name: array.astype(np.float16) for name, array in network()._asdict().items()}
    given["first"] = np.asfortranarray(given["first"])
    weights = check_weights(given)
    for name, array in weights._asdict().items():
        assert array.dtype == np.float32
        assert array.flags.c_contiguous
        assert array.ctypes.data % 64 == 0
        assert array.tolist() == given[name].tolist()
        assert not np.may_share_memory(array, given[name])


def changed(name: str, array: Any) -> dict[str, Any]:
    arrays = dict(network(8, 2)._asdict())
    return arrays | {name: array}


def with_nan(shape: tuple[int, ...], what: float) -> npt.NDArray[np.float64]:
    array = np.zeros(shape)
    array.flat[-1] = what
    return array


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "none": ({}, "weights must be first, hidden, biases, last, last_bias, not nothing"),
    "one missing": ({k: v for k, v in network(8)._asdict().items() if k != "last"}, "not first, hidden, bi"),
    "one too many": (changed("more", np.zeros(3)), "not first, hidden, biases, last, last_bias, more"),
    "no layers": (
        changed("biases", np.zeros((0, 8))),
        r"of shape \(layers, units\), not \(0, 8\)",
    ),
    "flat biases": (changed("biases", np.zeros(8)), r"biases must be of shape \(layers, units\), not \(8,\)"),
    "a number": (changed("biases", 3.0), r"biases must be of shape \(layers, units\), not \(\)"),
    "inputs": (
        changed("first", np.zeros((99, 8))),
        rf"first must be of shape \({INPUTS}, 8\), not \(99, 8\)",
    ),
    "other units": (
        changed("biases", np.zeros((2, 9))),
        rf"first must be of shape \({INPUTS}, 9\), not \({INPUTS}, 8\)",
    ),
    "layers": (
        changed("hidden", np.zeros((2, 8, 8))),
        r"hidden must be of shape \(1, 8, 8\), not \(2, 8, 8\)",
    ),
    "outputs": (changed("last", np.zeros((8, 65))), r"last must be of shape \(8, 79\), not \(8, 65\)"),
    "last bias": (
        changed("last_bias", np.zeros((1, 79))),
        r"last_bias must be of shape \(79,\), not \(1,",
    ),
    "nan": (changed("last", with_nan((8, 79), np.nan)), "last has numbers that are not finite"),
    "infinite": (changed("hidden", with_nan((1, 8, 8), -np.inf)), "hidden has numbers that are not finite"),
    "too large": (changed("biases", with_nan((2, 8), 1e300)), "biases has numbers that are not finite"),
    "integers": (changed("last_bias", np.zeros(79, np.int64)), "last_bias must be of floats, not of int64"),
    "objects": (changed("last_bias", np.full(79, None)), "last_bias must be of floats, not of object"),
    "text": (changed("last_bias", np.full(79, "1")), "last_bias must be of floats, not of <U1"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_are_no_weights_is_told(case: str) -> None:
    arrays, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        check_weights(arrays)
