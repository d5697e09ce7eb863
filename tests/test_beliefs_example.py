"""``examples/beliefs.py``: it learns who holds what, and the package asks the network as it was trained."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from conftest import JIT

pytest.importorskip("torch")
pytest.importorskip("tqdm")

sys.path.append(str(Path(__file__).resolve().parent.parent / "examples"))

import beliefs
import torch

from agents import positions
from callbreak_env import PRESETS
from callbreak_env.agents.inputs import INPUTS, encode_inputs
from callbreak_env.agents.network import BELIEF_OUTPUTS, new_memory
from callbreak_env.agents.neural import load_weights
from callbreak_env.agents.neural_search import believe
from learners import Amount
from networks import ranked

pytestmark = pytest.mark.usefixtures("one_torch_thread")


@pytest.mark.skipif(not JIT, reason="minutes without compiled kernels")
def test_the_smoke_run_learns_who_holds_what(tmp_path: Path) -> None:
    told = beliefs.main(["--smoke", "--threads", "1", "--out", str(tmp_path)])
    assert told["untrained_error"] == pytest.approx(np.log(3), abs=0.06), "two or three may hold each card"
    assert told["error"] < told["untrained_error"] - 0.008
    assert told["decisions"] >= 60_000
    weights = load_weights(tmp_path / "weights", BELIEF_OUTPUTS)
    assert weights.last.shape == (64, BELIEF_OUTPUTS)


@pytest.mark.parametrize("option", ["--seed=-1", "--threads=0", "--decisions=0", "--weights=nothing"])
def test_bad_options_are_told_at_once(option: str, tmp_path: Path) -> None:
    name = option.strip("-").split("=")[0]
    with pytest.raises(SystemExit, match=f"^{name} "):
        beliefs.main([option, "--out", str(tmp_path / "run")])
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_another_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "weights.npz").touch()
    with pytest.raises(SystemExit, match="has files of something else"):
        beliefs.train(beliefs.Config(), tmp_path)


def test_what_it_is_told_is_where_the_cards_are(amount: Amount) -> None:
    """The error of a network that knows, and of one that thinks the opposite."""
    rules = PRESETS["standard"]
    tables = positions(rules, amount(60, no_jit=4), seed=3)
    rows = encode_inputs(tables, rules, hidden=True).rows
    held = rows[:, INPUTS:].reshape(-1, 3, 52) > 0
    may_hold = beliefs.may_hold(torch.from_numpy(rows)).numpy()
    assert (may_hold >= held).all()
    whole = tables["num_active"] == 4  # in an extra deal some cards are not dealt
    assert (may_hold.any(1) == held.any(1))[whole].all()

    class Told(torch.nn.Module):
        """Says that the chance of the true holder is this."""

        def __init__(self, chance: float) -> None:
            super().__init__()
            self.chance = chance

        def forward(self, _: torch.Tensor) -> torch.Tensor:
            return torch.from_numpy(np.where(held, np.log(self.chance), -np.inf))

    for chance in (0.9, 0.1):
        error = beliefs.error_of(Told(chance), torch.from_numpy(rows))  # type: ignore[arg-type]
        assert error.item() == pytest.approx(-np.log(chance))


def test_the_package_asks_it_as_it_was_trained(amount: Amount) -> None:
    rules = PRESETS["bhoos"]
    tables = positions(rules, amount(40, no_jit=3), seed=4)
    torch.manual_seed(1)
    network = beliefs.Beliefs(24, 2)
    torch.nn.init.normal_(network.holders.weight, std=0.3)
    inputs = encode_inputs(tables, rules)
    with torch.no_grad():
        logits = network.holders(network.features(torch.from_numpy(inputs.rows)))
    wanted = logits.numpy().reshape(-1, 3, 52)
    weights, cards = network.weights(), ranked(inputs.places)
    memory, by_card = new_memory(weights), np.empty((52, 3))
    for k in range(len(tables)):
        memory.row[:], memory.order[:] = inputs.rows[k], cards[k, :39:13] // 13
        believe(weights, memory, memory.units, np.empty(BELIEF_OUTPUTS, np.float32), by_card)
        expected = np.exp(wanted[k] - wanted[k].max(0))
        assert by_card[cards[k]] == pytest.approx(expected.T, rel=1e-3, abs=1e-5)
