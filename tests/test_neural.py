"""The neural agent: honest, legal, the same in any batch and naming; the files of its weights."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import pickle
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents import (
    asked_by_view,
    legal_at,
    other_worlds,
    played,
    positions,
    share_bidding,
    without_hands,
)
from callbreak_env import PRESETS, Match, make_agent
from callbreak_env.agents import neural
from callbreak_env.agents.inputs import inputs_digest
from callbreak_env.agents.network import BELIEF_OUTPUTS, OUTPUTS, Weights, check_weights
from callbreak_env.agents.neural import NeuralAgent, load_weights, released_weights, save_weights
from callbreak_env.agents.neural_search import NeuralSearchAgent
from callbreak_env.envs.single import CallBreakEnv
from callbreak_env.envs.vector import CallBreakVectorEnv
from callbreak_env.policy import AGENT_VERSIONS, agent_names
from callbreak_env.table import View
from conftest import JIT
from learners import Amount
from networks import NAMINGS, has_alike, keeps_its_choice, network, renamed_cards

ROOT = Path(__file__).resolve().parent.parent
AGENT = NeuralAgent(network(20, 2), "small")


# What it says and does


def test_illegal_actions_are_impossible_and_legal_ones_not(amount: Amount) -> None:
    rules = PRESETS["standard"]
    tables = positions(rules, amount(60, no_jit=8), seed=5)
    assert 0.2 < share_bidding(tables) < 0.8
    found = AGENT.outputs(tables, rules)
    assert found.shape == (len(tables), OUTPUTS)
    assert found.dtype == np.float32
    for k, seat in enumerate(tables["seat"].tolist()):
        legal = View(tables[k : k + 1], rules, seat).legal_actions()
        assert np.flatnonzero(found[k, :65] > -np.inf).tolist() == legal
    assert np.isfinite(found[:, 65:]).all()
    assert AGENT.outputs(tables[:0], rules).shape == (0, OUTPUTS)


def test_it_does_what_its_network_thinks_best(amount: Amount) -> None:
    """Of equals the lowest action: all are, of a network that knows nothing."""
    rules = PRESETS["standard"]
    tables = positions(rules, amount(60, no_jit=8), seed=5)
    assert AGENT.act_tables(tables, rules).tolist() == AGENT.outputs(tables, rules)[:, :65].argmax(1).tolist()
    nothing = check_weights({name: np.zeros_like(array) for name, array in AGENT.weights._asdict().items()})
    lowest = [
        min(View(tables[k : k + 1], rules, int(s)).legal_actions()) for k, s in enumerate(tables["seat"])
    ]
    assert NeuralAgent(nothing).act_tables(tables, rules).tolist() == lowest


@pytest.mark.parametrize("preset", PRESETS)
def test_it_is_legal_under_all_rules_and_knows_no_hidden_hands(preset: str, amount: Amount) -> None:
    """Extra deals are among the positions. Whatever others hold, it says the same to the last bit."""
    rules = PRESETS[preset]
    tables = positions(rules, amount(60, nightly=1000, no_jit=2), seed=6)
    assert legal_at(tables, rules, AGENT.act_tables(tables, rules)).all()
    told = AGENT.outputs(tables, rules)
    for changed in (other_worlds(tables, rules, 7), without_hands(tables)):
        assert (changed["hands"] != tables["hands"]).any()
        assert AGENT.outputs(changed, rules).tobytes() == told.tobytes()
    assert (tables["num_active"] < 4).any() == (rules.tie == "extra_deal" and not rules.partnership)


def test_a_batch_changes_no_bit(monkeypatch: pytest.MonkeyPatch, amount: Amount) -> None:
    """Nor does its order, the number of threads, or that it is asked by views; tables stay as they are."""
    rules = PRESETS["standard"]
    tables = positions(rules, amount(50, no_jit=7), seed=8)
    before, told, done = tables.tobytes(), AGENT.outputs(tables, rules), AGENT.act_tables(tables, rules)
    assert done.dtype == np.int64
    assert len(set(done.tolist())) > 4
    alone = [AGENT.outputs(tables[k : k + 1], rules) for k in range(len(tables))]
    assert np.concatenate(alone).tobytes() == told.tobytes()
    monkeypatch.setattr(neural, "ROWS_A_PART", 3)
    for threads in (1, 2, None):
        assert AGENT.outputs(tables, rules, threads).tobytes() == told.tobytes()
        assert AGENT.act_tables(tables, rules, threads).tolist() == done.tolist()
    assert AGENT.outputs(tables[::-1].copy(), rules)[::-1].tobytes() == told.tobytes()
    assert asked_by_view(AGENT, tables, rules, key=3).tolist() == done.tolist()
    assert tables.tobytes() == before


def match_of(cards: list[int], deck: list[int], actions: list[int]) -> Match:
    """A match with the cards under other names."""
    match = Match("no_trump", decks=[[cards[card] for card in deck]], dealer=1)
    for action in actions:
        match.apply(cards[action] if action < 52 else action)
    return match


def test_it_acts_alike_whatever_the_plain_suits_are_called(amount: Amount) -> None:
    """Under rules in which no suit is trump by its name; of suits that are alike, either way.

    Where the rule-based agent does: what it would do is among the inputs.
    """
    rng = random.Random(3)
    told = kept = 0
    for _ in range(amount(12, no_jit=1)):
        deck = rng.sample(range(52), 52)
        match = match_of(list(range(52)), deck, [])
        for _ in range(rng.randrange(48)):
            match.apply(rng.choice(match.legal_actions()))
        expected = AGENT.outputs(match.record_array, match.rules)[0]
        alike = has_alike(match.record_array)[0]
        told += not alike
        for naming in NAMINGS:
            if not keeps_its_choice(match.record_array, match.rules, naming)[0]:
                continue
            kept += 1
            cards = renamed_cards(naming)
            renamed = match_of(cards, deck, match.actions)
            found = AGENT.outputs(renamed.record_array, renamed.rules)[0][[*cards, *range(52, OUTPUTS)]]
            if alike:
                found, expected = np.sort(found), np.sort(expected)
            assert found.tobytes() == expected.tobytes()
    assert told >= amount(8, no_jit=1)
    assert kept >= amount(60, no_jit=4)


def test_asked_out_of_turn_it_says_so() -> None:
    match = Match("single_deal", seed=1, dealer=3)
    with pytest.raises(ValueError, match="seat 1 is not to act"):
        AGENT.act(match.view(1))


# Weights and their files


def saved(folder: Path, weights: Weights | None = None, **card: Any) -> Path:
    save_weights(weights or AGENT.weights, folder / "net", card)
    return folder / "net"


def test_files_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = saved(tmp_path, name="small", deals=[1, 2])
    for given in (path, str(path), f"{path}.npz", path.with_suffix(".npz")):
        for one, other in zip(load_weights(given), AGENT.weights, strict=True):
            assert one.tobytes() == other.tobytes()  # the test's weights are float16 already
    with np.load(f"{path}.npz") as arrays:
        assert {array.dtype for array in arrays.values()} == {np.dtype(np.float16)}
    data, told = (
        Path(f"{path}.npz").read_bytes(),
        json.loads(Path(f"{path}.json").read_text(encoding="utf-8")),
    )
    assert told == {
        "name": "small",
        "deals": [1, 2],
        "sha256": hashlib.sha256(data).hexdigest(),
        "inputs": inputs_digest(),
    }
    saved(tmp_path, name="small", deals=[1, 2])
    assert Path(f"{path}.npz").read_bytes() == data


def test_a_dot_in_a_name_is_no_suffix(tmp_path: Path) -> None:
    save_weights(AGENT.weights, tmp_path / "net.1")
    save_weights(network(8, 1), tmp_path / "net.2.npz")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "net.1.json",
        "net.1.npz",
        "net.2.json",
        "net.2.npz",
    ]
    assert len(load_weights(tmp_path / "net.1").biases) == 2
    assert len(load_weights(tmp_path / "net.2").biases) == 1


def test_what_float16_does_not_hold_is_not_saved(tmp_path: Path) -> None:
    weights = network(8)
    weights.last[0, 0] = 1e5
    with pytest.raises(ValueError, match="last has numbers that are not finite"):
        save_weights(weights, tmp_path / "net")
    assert list(tmp_path.iterdir()) == []


def write(path: Path, data: bytes, **changes: Any) -> None:
    """A file of weights and its description, whose checksum is right."""
    told = {"sha256": hashlib.sha256(data).hexdigest(), "inputs": inputs_digest(), **changes}
    Path(f"{path}.npz").write_bytes(data)
    Path(f"{path}.json").write_text(json.dumps(told), encoding="utf-8")


def archive(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


class Bomb:
    """What must not be unpickled."""

    exploded: list[int] = []  # noqa: RUF012

    def __reduce__(self) -> Any:
        return Bomb.exploded.append, (1,)


def spoil(path: Path, case: str) -> None:
    data = Path(f"{path}.npz").read_bytes()
    arrays = {name: array.astype(np.float16) for name, array in AGENT.weights._asdict().items()}
    buffer = io.BytesIO()
    if case == "no file":
        Path(f"{path}.npz").unlink()
    elif case == "no description":
        Path(f"{path}.json").unlink()
    elif case == "a folder":
        Path(f"{path}.npz").unlink()
        Path(f"{path}.npz").mkdir()
    elif case == "no JSON":
        Path(f"{path}.json").write_text("{", encoding="utf-8")
    elif case == "nested":
        Path(f"{path}.json").write_text("[" * 10**5, encoding="utf-8")
    elif case == "no text":
        Path(f"{path}.json").write_bytes(b"\xff\xfe\xfa")
    elif case == "another JSON":
        Path(f"{path}.json").write_text("[1]", encoding="utf-8")
    elif case == "no checksum":
        write(path, data, sha256=None)
    elif case == "one bit":
        Path(f"{path}.npz").write_bytes(data[:99] + bytes([data[99] ^ 1]) + data[100:])
    elif case == "other inputs":
        write(path, data, inputs="0" * 16)
    elif case == "no inputs":
        write(path, data, inputs=None)
    elif case == "text":
        write(path, b"weights")
    elif case == "nothing":
        write(path, b"")
    elif case == "cut off":
        write(path, data[:-200])
    elif case == "a pickle":
        write(path, pickle.dumps(Bomb()))
    elif case == "an array":
        np.save(buffer, arrays["last"])
        write(path, buffer.getvalue())
    elif case == "pickled arrays":
        write(path, archive(**arrays | {"last": np.array([Bomb()], object)}))
    elif case == "one missing":
        write(path, archive(first=arrays["first"]))
    elif case == "another shape":
        write(path, archive(**arrays | {"last": arrays["last"][:, :65]}))
    elif case == "NaN":
        write(path, archive(**arrays | {"last_bias": np.full(OUTPUTS, np.nan, np.float16)}))


SPOILT = {
    "no file": "No such file",
    "no description": "No such file",
    "a folder": "Is a directory|Permission denied",
    "no JSON": "Expecting property name",
    "nested": "recursion",
    "no text": "can't decode byte",
    "another JSON": r"not the file that net\.json describes \(sha256\)",
    "no checksum": r"not the file that net\.json describes \(sha256\)",
    "one bit": r"not the file that net\.json describes \(sha256\)",
    "other inputs": "made for other inputs than those of this version",
    "no inputs": "made for other inputs than those of this version",
    "text": "no archive of arrays",
    "nothing": "no archive of arrays",
    "cut off": "no archive of arrays",
    "a pickle": "no archive of arrays",
    "an array": "no archive of arrays",
    "pickled arrays": "no archive of arrays",
    "one missing": "weights must be first, hidden, biases, last, last_bias, not first",
    "another shape": r"last must be of shape \(20, 79\), not \(20, 65\)",
    "NaN": "last_bias has numbers that are not finite",
}


@pytest.mark.parametrize("case", SPOILT)
def test_what_are_no_files_of_weights_is_told(case: str, tmp_path: Path) -> None:
    """One error that names the file, and the agent; nothing is unpickled."""
    path = saved(tmp_path)
    spoil(path, case)
    with pytest.raises(ValueError, match=rf"^weights .*net\.npz: .*(?:{SPOILT[case]})"):
        load_weights(path)
    with pytest.raises(ValueError, match=rf"^agent 'neural:weights=.*net': weights .*(?:{SPOILT[case]})"):
        make_agent(f"neural:weights={path}")
    assert not Bomb.exploded


# The agent of the package


def test_the_weights_of_the_package_are_whole_and_small() -> None:
    folder = Path(neural.__file__).parent / "weights"
    files = sorted(path.name for path in folder.iterdir())
    names = (neural.RELEASED_BELIEFS, neural.RELEASED)
    assert files == ["MODEL_CARD.md", *(f"{name}.{kind}" for name in names for kind in ("json", "npz"))]
    assert sum(path.stat().st_size for path in folder.iterdir()) < 5_000_000
    weights = released_weights()
    assert released_weights() is weights
    for one, other in zip(load_weights(folder / neural.RELEASED), weights, strict=True):
        assert one.tobytes() == other.tobytes()
    beliefs = released_weights(neural.RELEASED_BELIEFS, BELIEF_OUTPUTS)
    assert beliefs.last.shape[1] == BELIEF_OUTPUTS


def test_it_is_registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "neural" in agent_names()
    assert AGENT_VERSIONS["neural"] >= 1
    agent = make_agent("neural")
    assert isinstance(agent, NeuralSearchAgent)
    assert agent.name == "neural"
    assert agent.weights is released_weights()
    assert agent.beliefs is released_weights(neural.RELEASED_BELIEFS, BELIEF_OUTPUTS)
    assert agent.play_prior == 0.06
    fields = ("bid_worlds", "play_worlds", "last", "draws")
    assert [int(agent.settings[field][0]) for field in fields] == [0, 32, 8, 1]
    agent = make_agent("neural:play=7,last=3,play_prior=2")
    assert isinstance(agent, NeuralSearchAgent)
    assert agent.play_prior == 2
    assert [int(agent.settings[field][0]) for field in fields] == [0, 7, 3, 1]
    save_weights(network(8, 1, outputs=BELIEF_OUTPUTS), tmp_path / "beliefs")
    save_weights(network(8, 1), tmp_path / "net")
    agent = make_agent(f"neural:beliefs={tmp_path / 'beliefs'}")
    assert isinstance(agent, NeuralSearchAgent)
    assert agent.beliefs is not None
    assert agent.beliefs.last.shape == (8, BELIEF_OUTPUTS)
    save_weights(network(9, 1), Path("007"))
    agent = make_agent("neural:weights=007")
    assert isinstance(agent, NeuralSearchAgent)
    assert agent.weights.last.shape == (9, OUTPUTS), "a path is a text, also where it reads as a number"
    for options, message in (
        (f"beliefs={tmp_path / 'net'}", r"last must be of shape \(8, 156\)"),
        ("deals=3", "has no option 'deals': its options are play, last, play_prior, weights, beliefs"),
        ("last=14", "last must be at most 13, not 14"),
        ("play=-1", "play must be at least 0, not -1"),
        ("play_prior=nan", "play_prior must be"),
    ):
        with pytest.raises(ValueError, match=f"^agent 'neural:{options}'.*{message}"):
            make_agent(f"neural:{options}")


def test_it_needs_no_torch() -> None:
    code = (
        "import sys, callbreak_env, callbreak_env.agents.neural; callbreak_env.make_agent('neural'); "
        "print([name for name in ('torch', 'matplotlib') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_copies_act_alike(amount: Amount) -> None:
    rules = PRESETS["standard"]
    tables = positions(rules, amount(12, no_jit=2), seed=9)
    done = AGENT.act_tables(tables, rules).tolist()
    for other in (copy.deepcopy(AGENT), pickle.loads(pickle.dumps(AGENT))):
        assert other is not AGENT
        assert type(other) is NeuralAgent
        assert other.name == "small"
        assert other.act_tables(tables, rules).tolist() == done
    assert copy.deepcopy(AGENT).weights is AGENT.weights  # which may be large


def test_it_plays_in_environments_as_its_views_tell(amount: Amount) -> None:
    """At many tables in one call, and at one; by name, and as an object."""
    steps, tables = amount(16, no_jit=2), amount(6, no_jit=2)
    by_name = played(CallBreakVectorEnv(tables, opponents="neural"), steps)
    assert played(CallBreakVectorEnv(tables, opponents=make_agent("neural"), threads=2), steps) == by_name
    env = CallBreakEnv(opponents="neural")
    seen, info = env.reset(seed=4)
    for step in range(steps):
        seen, reward, ended, _, info = env.step(int(info["action_mask"].argmax()))
        assert seen.tolist() == by_name[2 * step][0]
        assert reward == by_name[2 * step + 1][0]
        assert not ended


def test_it_plays_a_match(amount: Amount) -> None:
    match, agent = Match("single_deal", seed=amount(3, no_jit=4)), make_agent("neural")
    steps = 0
    while not match.is_over and steps < amount(60, no_jit=8):
        view = match.view(match.seat or 0)
        match.apply(agent.act(view))
        steps += 1
    assert match.is_over or not JIT
