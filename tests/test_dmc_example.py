"""``examples/dmc.py``: it learns, what it saves plays as it does, a run that was stopped goes on exactly."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from conftest import JIT

pytest.importorskip("torch")
pytest.importorskip("tqdm")

sys.path.append(str(Path(__file__).resolve().parent.parent / "examples"))

import dmc
import ppo_selfplay as ppo
import torch

from callbreak_env.agents.inputs import INPUTS
from callbreak_env.agents.neural import NeuralAgent, load_weights

pytestmark = pytest.mark.usefixtures("one_torch_thread")
compiled_only = pytest.mark.skipif(not JIT, reason="minutes without compiled kernels")
TINY = {"units": 16, "tables": 32, "minibatch": 256, "threads": 1}


def tiny(**changes: object) -> dmc.Config:
    return dmc.Config(**(TINY | changes))


def asked(collector: dmc.Collector, policy: torch.nn.Module, seed: int = 0) -> np.ndarray:
    """What it does at all tables, as they stand."""
    inputs = collector.tables.inputs(np.arange(collector.config.tables), hidden=False)
    return collector.choose(policy, inputs, torch.Generator().manual_seed(seed))[0]


@compiled_only
def test_the_smoke_run_learns(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("past_every = 200_000\n")
    learner = dmc.main(["--smoke", "--config", str(config), "--out", str(tmp_path)])
    untrained, first, *_, last = learner.history
    assert untrained["standard_gain"] < -4, "it bids anything"
    assert last["standard_gain"] > -2.5
    assert first["points"] < -2
    assert last["points"] > 0.5, "of four such players, exploration included"
    assert last["explained"] > 0.25, "of the variance of the points"
    assert last["past_first_gain"] > 0, "over itself as it was in the middle"
    assert (tmp_path / "history.csv").read_text().count("\n") == len(learner.history) + 1
    # The exported network, as the package runs it, does what has the highest value.
    agent = NeuralAgent(load_weights(tmp_path / "weights"))
    collector = dmc.Collector(tiny(tables=64, odd_bids=0.0))
    turn, same = collector.tables.reset(5), []
    while (turn.seat >= 0).any():
        actions = asked(collector, learner.policy)
        same.append(actions == collector.tables.act(agent, np.arange(64)))
        turn = collector.tables.step(actions)
    assert np.mean(same) > 0.98, "values that float16 makes equal are left"


@compiled_only
def test_a_stopped_run_goes_on_exactly(tmp_path: Path) -> None:
    whole, part, later = (dmc.Learner(tiny(seed=3)) for _ in range(3))
    for _ in range(3):
        ppo.iterate(whole, dmc.Collector(whole.config))
    for _ in range(2):
        ppo.iterate(part, dmc.Collector(part.config))
    part.save(tmp_path / "checkpoint.pt")
    later.load(tmp_path / "checkpoint.pt")
    ppo.iterate(later, dmc.Collector(later.config))
    assert later.decisions == whole.decisions
    for name, array in whole.policy.state_dict().items():
        assert torch.equal(array, later.policy.state_dict()[name]), name


@pytest.mark.parametrize("whole", [True, False])
def test_it_starts_as_the_clone_plays(tmp_path: Path, whole: bool) -> None:
    learner = ppo.Learner(ppo.Config(units=16, critic_units=16, threads=1))
    path = tmp_path / "checkpoint.pt"
    learner.save(path) if whole else torch.save(learner.policy.state_dict(), path)
    values = dmc.Values(16, 2)
    values.start(str(path), 0.25)
    rows = torch.randint(2, (50, INPUTS), dtype=torch.int8, generator=torch.Generator().manual_seed(1))
    assert torch.allclose(values(rows)[0], 0.25 * learner.policy(rows)[0], atol=1e-6)


def test_what_is_no_start_is_told(tmp_path: Path) -> None:
    values = dmc.Values(16, 2)
    (tmp_path / "text").write_text("weights")
    torch.save(ppo.Policy(8, 2).state_dict(), tmp_path / "smaller")
    torch.save(values.state_dict(), tmp_path / "values")
    before = {name: array.clone() for name, array in values.state_dict().items()}
    for name, error in (
        ("nothing", "No such file"),
        ("text", "."),
        ("smaller", "size mismatch"),
        ("values", "holds values already"),
    ):
        with pytest.raises(SystemExit, match=f"{name}: (?s:.*){error}"):
            values.start(str(tmp_path / name), 0.25)
    assert all(torch.equal(array, before[name]) for name, array in values.state_dict().items())


@pytest.mark.parametrize("text", ["epsilon = 1.1", "value_only = -1", "start = 3"])
def test_its_own_settings_are_checked(text: str, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(SystemExit, match=f"mine.toml: {text.split(maxsplit=1)[0]} must be"):
        dmc.main(["--config", str(tmp_path / "mine.toml"), "--out", str(tmp_path / "run")])


@compiled_only
def test_at_first_a_clone_learns_only_what_positions_are_worth(tmp_path: Path) -> None:
    torch.save(ppo.Policy(16, 2).state_dict(), tmp_path / "clone")
    learner = dmc.Learner(tiny(start=str(tmp_path / "clone"), value_only=1))
    learner.policy.start(learner.config.start, 0.15)
    changed = []
    for _ in range(2):
        before = {name: array.clone() for name, array in learner.policy.state_dict().items()}
        ppo.iterate(learner, dmc.Collector(learner.config))
        after = learner.policy.state_dict()
        changed.append({name.split(".")[0] for name in after if not torch.equal(before[name], after[name])})
    assert changed == [{"value"}, {"body", *dmc.HEADS}]


def test_it_explores_bids_near_the_best_and_any_action() -> None:
    count = 512 if JIT else 128
    collector = dmc.Collector(tiny(tables=count, odd_bids=0.0))
    policy = dmc.Values(16, 2)
    turn = collector.tables.reset(1)
    best = asked(collector, policy.fast())
    assert (turn.action_mask[np.arange(count), best] == 1).all()
    collector.config.odd_bids = 0.5
    moved = asked(collector, policy.fast()) - best
    assert set(moved.tolist()) == {-1, 0, 1, 2}
    assert 0.2 < np.mean(moved != 0) < 0.6
    collector.config.odd_bids = 0.0
    assert set(asked(collector, policy.fast(1.0)).tolist()) == set(np.flatnonzero(turn.action_mask.any(0)))


def test_past_selves_play_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their heads in float32, also where networks are asked in bfloat16."""
    monkeypatch.setattr(ppo, "BFLOAT16", True)
    learner = dmc.Learner(tiny(epsilon=0.5))
    past = learner.past_player(learner.remember())
    rows = torch.randint(2, (50, INPUTS), dtype=torch.int8, generator=torch.Generator().manual_seed(1))
    assert past.epsilon == 0
    assert torch.equal(past(rows)[0], learner.policy.fast()(rows)[0])


def test_it_grows_less_curious() -> None:
    learner = dmc.Learner(tiny(epsilon=0.3, epsilon_end=0.1, decisions=1000))
    found = []
    for learner.decisions in (0, 500, 1000, 2000):
        found.append(learner.player().epsilon)
    assert found == pytest.approx([0.3, 0.2, 0.1, 0.1])
