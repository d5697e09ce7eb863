"""``benchmarks/best_deviator.py``: it finds what a weak victim concedes, and knows its victim's network."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from conftest import JIT

pytest.importorskip("torch")
pytest.importorskip("tqdm")

sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))

import best_deviator
import torch

from callbreak_env import make_agent
from callbreak_env.agents.neural import NeuralAgent, released_weights

ppo = best_deviator.ppo
pytestmark = pytest.mark.usefixtures("one_torch_thread")
compiled_only = pytest.mark.skipif(not JIT, reason="minutes without compiled kernels")
CONFIG = best_deviator.Config(units=16, critic_units=16, tables=64, minibatch=256, threads=1)


@compiled_only
def test_the_smoke_run_finds_a_deviator(tmp_path: Path) -> None:
    out, folder = tmp_path / "results" / "deviators.jsonl", tmp_path / "run"
    arguments = ["--smoke", "--out", str(out), "--folder", str(folder), "--seed", "1"]
    found = best_deviator.main(arguments)
    assert [line["rules"] for line in found] == ["standard", "bhoos"]
    for line in found:
        assert line["low"] > 2, "points a deal, over a victim that bids anything"
        assert line["low"] < line["gain"] < line["high"]
    assert best_deviator.main(arguments) == found, "the run is over: it is only measured again"
    assert [json.loads(line) for line in out.read_text().splitlines()] == [*found, *found]


def test_the_learner_can_start_as_the_victim(tmp_path: Path) -> None:
    victim = best_deviator.random_victim()
    config = dataclasses.replace(CONFIG, units=32, layers=1, decisions=0, start="victim")
    learner = best_deviator.train(config, victim, tmp_path)
    assert np.allclose(learner.policy.weights().first, victim.weights.first, atol=1e-6)
    assert np.allclose(learner.policy.weights().last, victim.weights.last, atol=1e-6)
    assert (tmp_path / "history.csv").read_text().count("\n") == 2
    other = dataclasses.replace(config, victim="another")
    with pytest.raises(SystemExit, match="of a run with other victim: choose another --out"):
        best_deviator.train(other, victim, tmp_path)


BAD = {
    "--deals 1": "--deals must be at least 2, not 1",
    "--deals 0": "--deals must be at least 2, not 0",
    "--deals-seed -1": "--deals-seed must be from 0",
    "--decisions -4": "decisions must be at least 0, not -4",
    "--seed -1": "seed must be at least 0, not -1",
    "--threads 0": "threads must be at least 1, not 0",
    "--out .": "--out: .*directory",
    "--victim nobody": "there is no agent 'nobody'",
}


@pytest.mark.parametrize("options", BAD)
def test_bad_options_are_told_at_once(options: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=BAD[options]):
        best_deviator.main([*options.split(), *(["--smoke"] if "--victim" not in options else [])])
    assert list(tmp_path.iterdir()) == []


def test_a_deviator_takes_no_lessons(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("[[rounds]]\nlessons = 5\n")
    with pytest.raises(SystemExit, match=r"mine\.toml: a deviator has no lessons"):
        best_deviator.main(["--smoke", "--config", str(tmp_path / "mine.toml")])


def test_weights_are_of_a_network() -> None:
    with pytest.raises(SystemExit, match="--weights are of neural, not of rule_based"):
        best_deviator.main(["--victim", "rule_based", "--weights", "some"])


@compiled_only
def test_victims_sit_in_three_seats_and_do_their_best() -> None:
    victim = NeuralAgent(released_weights())
    collector = best_deviator.Collector(CONFIG, victim)
    who = collector.players(np.random.default_rng(1), True)
    assert ((who == ppo.CURRENT).sum(1) == 1).all()
    assert ((who == ppo.PAST).sum(1) == 3).all()
    assert (who == ppo.CURRENT).any(0).all(), "the learner's seat changes"
    turn, same = collector.tables.reset(3), []
    generator = torch.Generator().manual_seed(0)
    while (turn.seat >= 0).any():
        inputs = collector.tables.inputs(np.arange(CONFIG.tables), hidden=False)
        actions = collector.choose(collector.network, inputs, generator)[0]
        same.append(actions == collector.tables.act(victim, np.arange(CONFIG.tables)))
        turn = collector.tables.step(actions)
    assert np.mean(same) > 0.98, "nearly equal logits may be ordered otherwise"


@compiled_only
@pytest.mark.parametrize("name", ["random", "neural:play=2", "rule_based"])
def test_decisions_are_the_learners_own(name: str) -> None:
    victim = best_deviator.random_victim() if name == "random" else make_agent(name)
    collector = best_deviator.Collector(CONFIG, victim)
    assert (collector.network is None) == (name == "rule_based"), "one without a network is asked itself"
    row = ppo.iterate(best_deviator.Learner(CONFIG), collector)
    assert CONFIG.tables * 3 < row["decisions"] == row["samples"] < CONFIG.tables * 14


def test_a_victim_without_a_network_is_no_start() -> None:
    with pytest.raises(SystemExit, match="has no network"):
        best_deviator.main(["--victim", "rule_based", "--start", "victim"])
