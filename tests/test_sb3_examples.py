"""``examples/sb3_*.py``: they learn, masks and windows are right, what is saved plays the same."""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import JIT

pytest.importorskip("stable_baselines3")
pytest.importorskip("sb3_contrib")
pytest.importorskip("tqdm")

sys.path.append(str(Path(__file__).resolve().parent.parent / "examples"))

import sb3_maskable_ppo as masked
import sb3_without_masks as unmasked
import torch
from sb3_contrib import MaskablePPO

from callbreak_env.integrations.sb3 import CallBreakVecEnv
from callbreak_env.observation import FIELDS, WIDTH

pytestmark = [
    pytest.mark.usefixtures("one_torch_thread"),
    pytest.mark.filterwarnings("default"),  # what other packages warn of is not tested here
    pytest.mark.skipif(not JIT, reason="minutes without compiled kernels"),
]


def gains(text: str) -> list[float]:
    """Those that were printed, in order: against low_bid, against rule_based."""
    return [float(gain) for gain in re.findall(r"against three \w+: gain ([+-]\d\.\d+)", text)]


def test_smoke_run_learns_and_what_it_saves_plays_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history = masked.main(["--smoke", "--out", str(tmp_path)])
    untrained, taught, trained = history
    assert (untrained["lessons"], untrained["steps"]) == (0, 0)
    assert (taught["lessons"], taught["steps"]) == (60_000, 0)
    assert trained["steps"] >= 20_000
    assert untrained["low_bid_gain"] < -3
    assert taught["low_bid_gain"] > untrained["low_bid_gain"] + 3  # about 0.15
    assert trained["low_bid_gain"] > untrained["low_bid_gain"] + 3
    with (tmp_path / "history.csv").open(encoding="utf-8") as file:
        assert [float(row["low_bid_gain"]) for row in csv.DictReader(file)] == [
            row["low_bid_gain"] for row in history
        ]
    told = capsys.readouterr().out
    assert "seed 1;" in told
    assert "95 % intervals" in told

    assert masked.main(["--smoke", "--play", str(tmp_path / "model.zip")]) == []
    again = capsys.readouterr().out
    assert gains(again) == gains(told)
    assert len(gains(told)) == 2
    assert "A match of seed 77" in again


def test_ppo_alone_learns(tmp_path: Path) -> None:
    """The other half of the smoke run, without lessons."""
    untrained, *_, trained = masked.main(["--smoke", "--lessons", "0", "--out", str(tmp_path)])
    assert trained["low_bid_gain"] > untrained["low_bid_gain"] + 1.5


def test_windows_leave_two_neighbouring_bids_and_all_cards() -> None:
    parts = [CallBreakVecEnv(n, rules=masked.RULES, opponents=o) for n, o in ((3, "low_bid"), (5, "lowest"))]
    tables = masked.Tables(parts, windows=1.0)
    plain = [CallBreakVecEnv(n, rules=masked.RULES, opponents=o) for n, o in ((3, "low_bid"), (5, "lowest"))]
    seeds = tables.seed(4)
    assert min(seeds) >= masked.SEEDS  # far from the evaluation's
    assert len(set(seeds)) == 8
    plain[0].seed(seeds[0])
    plain[1].seed(seeds[3])
    assert np.array_equal(tables.reset(), np.concatenate([part.reset() for part in plain]))
    seen = set()
    for _ in range(60):
        masks = np.array(tables.env_method("action_masks"))
        legal = np.concatenate([part.env_method("action_masks") for part in plain])
        bids = legal[:, 52:].any(axis=1)
        assert np.array_equal(masks[~bids], legal[~bids])
        for row in np.flatnonzero(bids):
            low, high = np.flatnonzero(masks[row])
            assert high == low + 1
            assert legal[row, [low, high]].all()
            seen.add(int(low) - 51)
        actions = masks.argmax(axis=1)
        got = tables.step(actions)
        parted = [part.step(own) for part, own in zip(plain, np.split(actions, [3]), strict=True)]
        for k in range(3):
            assert np.array_equal(got[k], np.concatenate([each[k] for each in parted]))
        assert len(got[3]) == 8
    assert seen == {2, 3, 4, 5}
    assert tables.get_attr("seat", [1, 7]) == [0, 0]


def test_networks_do_not_see_what_a_deal_does_not_depend_on() -> None:
    model = MaskablePPO(
        "MlpPolicy",
        CallBreakVecEnv(4, rules=masked.RULES),
        policy_kwargs={"net_arch": [8]},
        n_steps=16,
        batch_size=32,
        seed=1,
        device="cpu",
    )
    masked.blind(model)
    model.learn(64)  # weights of zero stay so
    rng = np.random.default_rng(1)
    rows = rng.random((50, WIDTH), np.float32)
    told = np.concatenate([np.full(field.size, field.name not in masked.UNTOLD) for field in FIELDS])
    other = np.where(told, rows, rng.random(rows.shape, np.float32))
    first, second = (model.policy.predict_values(torch.from_numpy(each)) for each in (rows, other))
    assert torch.allclose(first, second, atol=1e-6)
    assert not torch.allclose(first, model.policy.predict_values(torch.from_numpy(1 - rows)), atol=1e-3)


@pytest.mark.parametrize("algorithm", ["ppo", "dqn"])
def test_without_masks_nearly_all_ends_by_an_illegal_action(algorithm: str, tmp_path: Path) -> None:
    arguments = ["--smoke", "--algorithm", algorithm, "--steps", "8000", "--out", str(tmp_path)]
    history, illegal = unmasked.main(arguments)
    assert history[-1]["illegal_share"] > 0.9
    assert 0.5 < illegal <= 1
    assert (tmp_path / f"{algorithm}.csv").exists()


@pytest.mark.parametrize("options", ["--deals 1", "--eval-seed -1"])
@pytest.mark.parametrize("script", [masked, unmasked])
def test_bad_options_are_told_before_the_training(
    script: Any, options: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        script.main([*options.split(), "--out", str(tmp_path / "run")])
    assert f"{options.split(maxsplit=1)[0]} must be" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
