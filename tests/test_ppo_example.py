"""``examples/ppo_selfplay.py``: it learns, a stopped run goes on exactly, credit and study do as they say."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import JIT

pytest.importorskip("torch")
pytest.importorskip("tqdm")

sys.path.append(str(Path(__file__).resolve().parent.parent / "examples"))

import ppo_selfplay as ppo
import torch

from agents import positions
from callbreak_env import make_agent
from callbreak_env.agents.inputs import BITS, INPUTS, encode_inputs
from callbreak_env.agents.neural import NeuralAgent, load_weights, save_weights
from callbreak_env.agents.neural_search import NeuralSearchAgent
from learners import Amount

pytestmark = pytest.mark.usefixtures("one_torch_thread")
compiled_only = pytest.mark.skipif(not JIT, reason="minutes without compiled kernels")
TINY: dict[str, Any] = {
    "units": 16,
    "critic_units": 16,
    "tables": 16,
    "minibatch": 128,
    "threads": 1,
    "evaluate_deals": 4,
}
TEACHER = "pimc:bid=2,play=2,draws=1"
DEALS = 16 * 56
"""Decisions of an iteration at 16 tables."""


def tiny(**changes: Any) -> ppo.Config:
    return ppo.Config(**(TINY | changes))


def lively(units: int, layers: int) -> ppo.Policy:
    """A policy that has opinions, as a trained one has."""
    torch.manual_seed(1)
    policy = ppo.Policy(units, layers)
    for head in (policy.play, policy.bid, policy.tricks):
        torch.nn.init.normal_(head.weight, std=0.5)
        torch.nn.init.normal_(head.bias, std=0.1)
    return policy


# --- whole runs ---


@compiled_only
def test_the_smoke_run_learns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    learner = ppo.main(["--smoke", "--threads", "1", "--out", str(tmp_path)])
    told = capsys.readouterr().out
    untrained = json.loads(told.split("untrained: ")[1].splitlines()[0])
    trained = json.loads(told.split("trained: ")[2].splitlines()[0])
    assert trained == learner.history[-1]
    for rules in ("standard", "bhoos"):
        gain, before = trained[f"{rules}_gain"], untrained[f"{rules}_gain"]
        assert before < -0.6, "it bids and plays anything"
        assert gain > -0.35
        assert gain > before + 0.5
    assert trained["explained"] > 0.3, "the critic knows what deals bring"
    assert (tmp_path / "history.csv").read_text().count("\n") == len(learner.history) + 1
    assert {"checkpoint.pt", "clone.npz", "weights.npz", "weights.json"} <= {
        p.name for p in tmp_path.iterdir()
    }
    again = ppo.main(["--smoke", "--threads", "1", "--out", str(tmp_path)])
    assert again.history == learner.history, "the run is over"


class PlugPulledError(Exception):
    """Somebody pulled the plug."""


def without_times(history: list[dict[str, float]]) -> list[dict[str, float]]:
    return [
        {
            k: v
            for k, v in row.items()
            if not k.endswith("seconds") and k not in ("minutes", "decisions_per_second")
        }
        for row in history
    ]


def same(one: Any, other: Any) -> bool:
    """Whether nested dicts and lists of tensors and numbers are equal, bit for bit."""
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


@compiled_only
def test_a_stopped_run_goes_on_exactly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    all_tables = ppo.Tables
    monkeypatch.setattr(ppo, "Tables", lambda rules, count: all_tables(rules, min(count, 16)))
    config = tiny(
        seed=3,
        rules={"standard": 0.5, "bhoos": 0.5},
        rounds=[
            {"lessons": 300, "teacher": TEACHER, "by_cross_entropy": 1, "by_value": 1},
            {"lessons": 300, "teacher": TEACHER, "where": "own", "forget": True, "by_value": 1},
            {"lessons": 300, "teacher": TEACHER, "where": "endings"},
            {"lessons": 300, "teacher": TEACHER, "where": "own", "by_value": 1},
        ],
        decisions=9 * DEALS,
        critic_only=2,
        warm_up=1,
        past_every=2 * DEALS,
        past_most=3,
        evaluate_every=4 * DEALS,
        lr=3e-3,
    )
    starts: list[int] = []

    class Interrupted(ppo.Collector):
        def play(self, policy: torch.nn.Module, past: torch.nn.Module | None, seed: int) -> ppo.Rollout:
            starts.append(seed - config.seed * 1_000_000_007)  # the iteration
            if len(starts) == 7:
                raise PlugPulledError
            return super().play(policy, past, seed)

    whole = ppo.train(config, tmp_path / "whole")
    with pytest.raises(PlugPulledError):
        ppo.train(config, tmp_path / "part", collector=Interrupted)
    later = ppo.train(config, tmp_path / "part", collector=Interrupted)
    assert starts == [*range(7), *range(4, 9)], "it goes on after the last checkpoint"
    for name in ppo.Learner.learning:
        assert same(getattr(whole, name).state_dict(), getattr(later, name).state_dict()), name
    assert same(whole.past, later.past)
    assert len(whole.past) == 3
    assert without_times(whole.history) == without_times(later.history)
    assert len(whole.history) == 10, "the first is of the clone"
    assert {"standard_gain", "standard_high", "past_first_gain"} <= whole.history[4].keys()
    assert whole.history[4].keys() < whole.history[-1].keys(), "there is a middle one by then"
    for name in ("weights.npz", "clone.npz"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "part" / name).read_bytes()


def test_the_folder_of_another_run_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Already where its lessons are all that it has made."""
    ppo.claim(tiny(), tmp_path)
    ppo.claim(tiny(decisions=5, threads=2), tmp_path)
    with pytest.raises(SystemExit, match="of a run with other lr, clip: choose another --out"):
        ppo.train(tiny(clip=0.1, lr=1.0), tmp_path)
    monkeypatch.setattr(ppo, "inputs_digest", lambda: "other")
    with pytest.raises(SystemExit, match="of a run with other inputs: choose another --out"):
        ppo.claim(tiny(), tmp_path)
    for text, error in (
        ("[1]", "of a run with other seed, .*: choose another --out"),
        ("{", "config.json: "),
    ):
        (tmp_path / "config.json").write_text(text)
        with pytest.raises(SystemExit, match=error):
            ppo.claim(tiny(), tmp_path)


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "weights.npz").touch()
    with pytest.raises(SystemExit, match="has files of something else: choose another --out"):
        ppo.claim(tiny(), tmp_path)


def test_the_order_of_the_rules_is_part_of_a_run(tmp_path: Path) -> None:
    """Lessons keep a number for the rules that they are of."""
    ppo.claim(tiny(rules={"standard": 0.5, "bhoos": 0.5}), tmp_path)
    with pytest.raises(SystemExit, match="of a run with other rules"):
        ppo.claim(tiny(rules={"bhoos": 0.5, "standard": 0.5}), tmp_path)


@pytest.mark.parametrize("name", ["checkpoint.pt", "clone_0.pt", "lessons_0/00000.npz"])
def test_a_damaged_file_is_named(name: str, tmp_path: Path) -> None:
    config = tiny(rounds=[{"lessons": 1, "teacher": TEACHER, "by_value": 1}])
    lesson = {"tricks": np.zeros(1, np.int8)}
    ppo.claim(config, tmp_path)
    (tmp_path / "lessons_0").mkdir()
    np.savez(tmp_path / "lessons_0" / "00000.npz", **lesson)
    (tmp_path / name).write_bytes(b"half a file")
    with pytest.raises(SystemExit, match=f"{name}: "):
        ppo.train(config, tmp_path)


def test_a_few_deals_are_enough_to_evaluate(tmp_path: Path) -> None:
    learner = ppo.Learner(tiny(evaluate_deals=2))
    learner.past.append(learner.remember())
    found = ppo.against_past(learner)
    assert found["past_first_gain"] == 0 == found["past_first_high"], "it is the same network"


# --- parts of self-play ---


def slow_advantages(rollout: ppo.Rollout, values: np.ndarray, lam: float) -> list[float]:
    """As the paper has it: each decision's advantage is a sum over its seat's later ones."""
    found = []
    for k, owner in enumerate(rollout.owners):
        later = [j for j in range(k, len(rollout.owners)) if rollout.owners[j] == owner]
        total = 0.0
        for distance, j in enumerate(later):
            last = distance == len(later) - 1
            after = rollout.points[owner] if last else values[later[distance + 1]]
            total += lam**distance * (after - values[j])
        found.append(float(total))
    return found


def made_up(owners: np.ndarray, tables: int, rng: np.random.Generator) -> ppo.Rollout:
    """A rollout of which only who decided when is real."""
    count, nothing = len(owners), torch.zeros(0)
    mine = np.zeros(tables * 4, bool)
    mine[owners] = True
    points = rng.normal(0, 3, tables * 4).astype(np.float32)
    tricks, bids = rng.integers(0, 14, (2, tables * 4))
    return ppo.Rollout(
        nothing, nothing, nothing, nothing, nothing, owners, points, tricks, bids, mine, count, 0.0
    )


@pytest.mark.parametrize("lam", [0.0, 0.9, 1.0])
def test_credit_is_each_seats_own(lam: float) -> None:
    rng = np.random.default_rng(2)
    seats = rng.permutation(20)[:13]  # the rest are opponents'
    owners = rng.choice(seats, 150)
    rollout = made_up(owners, 5, rng)
    values = rng.normal(0, 1, len(owners)).astype(np.float32)
    assert np.allclose(ppo.credit(rollout, values, lam), slow_advantages(rollout, values, lam), atol=1e-4)
    if lam == 1.0:
        assert np.allclose(ppo.credit(rollout, values, lam), rollout.points[owners] - values, atol=1e-4)


@compiled_only
def test_a_rollout_holds_the_current_policys_decisions() -> None:
    config = tiny(tables=40, against_past=0.3, against_rule_based=0.4, rules={"standard": 0.5, "bhoos": 0.5})
    collector = ppo.Collector(config)
    rollout = collector.play(lively(16, 1), lively(8, 1), 5)
    assert 0 < rollout.mine.sum() < 160
    assert set(rollout.owners) == set(np.flatnonzero(rollout.mine)), "each bids, none of the others' seats"
    count = len(rollout.actions)
    assert rollout.decisions == 40 * 56
    assert count < rollout.mine.sum() * 14, "forced ones are not learnt"
    assert rollout.legal[torch.arange(count), rollout.actions].all()
    assert (rollout.legal.sum(1) > 1).all()
    assert (rollout.logp <= 0).all()
    bids = rollout.actions.numpy() >= 52
    assert np.array_equal(rollout.bids[rollout.owners[bids]], rollout.actions.numpy()[bids] - 51)
    again = collector.play(lively(16, 1), lively(8, 1), 5)
    assert torch.equal(again.actions, rollout.actions)
    assert np.array_equal(again.points, rollout.points)
    values = np.random.default_rng(1).normal(0, 1, count).astype(np.float32)
    some = np.isin(rollout.owners // 4, (0, 7, 23))
    part = ppo.dataclasses.replace(rollout, owners=rollout.owners[some])
    found = ppo.credit(rollout, values, 0.8)[some]
    assert np.allclose(found, slow_advantages(part, values[some], 0.8), atol=1e-4)


def test_figures_are_of_the_current_policys_seats() -> None:
    rollout = made_up(np.array([0, 5]), 2, np.random.default_rng(0))
    rollout.points[[0, 5]], rollout.bids[[0, 5]], rollout.tricks[[0, 5]] = (2.1, -6), (2, 6), (3, 5)
    expected = {"points": -1.95, "bid": 4.0, "bids_over_5": 0.5, "made": 0.5}
    assert rollout.figures() == pytest.approx(expected)


def test_players_sit_as_the_shares_say() -> None:
    who = ppo.players(20_000, 0.2, 0.3, np.random.default_rng(1))
    mine = (who == ppo.CURRENT).sum(1)
    kinds = [(who == kind).any(1) for kind in (ppo.PAST, ppo.RULE_BASED)]
    assert kinds[0].mean() == pytest.approx(0.2, abs=0.01)
    assert kinds[1].mean() == pytest.approx(0.3, abs=0.01)
    assert not (kinds[0] & kinds[1]).any(), "one kind at a table"
    assert set(mine) == {1, 2, 4}
    assert (mine == 1).sum() / (mine < 4).sum() == pytest.approx(0.7, abs=0.02)
    shared = who[mine < 4] == ppo.CURRENT
    assert np.allclose(shared.mean(0), 0.325, atol=0.02), "in every seat alike"
    whole = ppo.players(20_000, 0.8, 0.2, np.random.default_rng(1))  # in floats 1 - 0.8 - 0.2 is below 0
    assert set((whole == ppo.CURRENT).sum(1)) == {1, 2}
    collector = ppo.Collector(tiny(tables=1000, against_past=0.2, against_rule_based=0.3))
    alone = collector.players(np.random.default_rng(1), past=False)
    assert not (alone == ppo.PAST).any()
    assert (alone == ppo.RULE_BASED).any(1).mean() == pytest.approx(0.3, abs=0.04)


def test_self_play_may_have_rules_of_its_own() -> None:
    own = ppo.Collector(tiny(rules={"standard": 1.0}, play_rules={"bhoos": 0.75, "no_trump": 0.25}))
    assert [rules.trump for rules in own.tables.rules] == ["spades", "first_led"]
    assert own.tables.kind.tolist() == [0] * 12 + [1] * 4
    assert ppo.Collector(tiny(rules={"no_trump": 1.0})).tables.rules[0].trump == "first_led"


def test_only_bids_are_shifted_and_only_to_legal_ones() -> None:
    rng = np.random.default_rng(4)
    mask = np.zeros((4000, 65), np.int8)
    mask[:2000, 53:61] = 1  # bids 2 to 9
    mask[2000:, 20:30] = 1
    mask[3000:, 52] = 1  # never so; a card must not become a bid all the same
    actions = np.array([rng.choice(np.flatnonzero(row)) for row in mask])
    shifted = ppo.shift_bids(actions, mask, 0.5, rng)
    assert (mask[np.arange(4000), shifted] == 1).all()
    assert np.array_equal(shifted[actions < 52], actions[actions < 52])
    change = (shifted - actions)[:2000]
    assert set(change) == {-1, 0, 1, 2}
    assert 0.3 < (change != 0).mean() < 0.5
    assert np.array_equal(ppo.shift_bids(actions, mask, 0.0, rng), actions)


def test_shares_are_whole_and_sum_up() -> None:
    assert ppo.shares({"a": 0.5, "b": 0.3, "c": 0.2}, 10) == {"a": 5, "b": 3, "c": 2}
    assert ppo.shares({"a": 1.0, "b": 1.0, "c": 1.0}, 100) in [
        {"a": 34, "b": 33, "c": 33},
        {"a": 33, "b": 34, "c": 33},
        {"a": 33, "b": 33, "c": 34},
    ]
    assert ppo.shares({"a": 1.0, "b": 1e-9}, 7) == {"a": 7}


# --- the clone ---


@pytest.mark.parametrize("where", ["teacher", "own", "endings"])
def test_a_lesson_says_what_the_teacher_says_of_its_positions(where: str, amount: Amount) -> None:
    """And how many tricks their seat has at the end; of a seat's decisions, each is there once."""
    config = tiny(rules={"standard": 0.5, "bhoos": 0.5})
    tables = ppo.Tables(config.rules, amount(24, no_jit=2))
    one = ppo.Round(lessons=1, teacher=TEACHER, where=where, against_rule_based=0.5)
    lesson = ppo.one_lesson(config, one, tables, 3, lively(16, 2))
    records, kinds, seats = lesson["tables"], lesson["kind"], lesson["tables"]["seat"]
    for kind, rules in enumerate(tables.rules):
        here = kinds == kind
        said = make_agent(TEACHER).action_values(records[here], rules)
        assert np.array_equal(lesson["values"][here], said.astype(np.float16), equal_nan=True)
    tricks: dict[tuple[int, int, int], set[int]] = {}
    for record, kind, seat, won in zip(records, kinds, seats, lesson["tricks"], strict=True):
        assert won >= record["tricks_won"][seat]
        tricks.setdefault((int(kind), int(record["match"]), int(seat)), set()).add(int(won))
    assert all(len(each) == 1 for each in tricks.values())
    assert len(np.unique([record.tobytes() for record in records])) == len(records)
    labelled = set(tricks)
    if where == "own":
        who = ppo.players(len(tables.kind), 0.0, 0.5, np.random.default_rng(3))
        own = {
            (kind, table - part.start, seat)
            for kind, part in enumerate(tables.parts)
            for table in range(part.start, part.stop)
            for seat in range(4)
            if who[table, seat] == ppo.CURRENT
        }
        assert labelled == own
    else:
        assert len(labelled) > 0.9 * 4 * len(tables.kind) or not JIT
    left = 13 - records["trick_no"]
    assert (left.max() == 7) if where == "endings" else (left.max() == 13)
    assert left.min() <= 3


def test_a_lesson_of_a_search_is_of_the_network_that_learns(tmp_path: Path) -> None:
    """Expert iteration; seats of which such a teacher says nothing do what the network would."""
    policy = lively(16, 2)
    save_weights(ppo.Policy(16, 2).weights(), tmp_path / "other")
    spec = f"neural_search:play=1,draws=1,play_prior=5,weights={tmp_path / 'other'}"
    config = tiny(rules={"bhoos": 1.0}, odd_bids=0.0)
    tables = ppo.Tables(config.rules, 2)
    one = ppo.Round(lessons=1, teacher=spec, where="own", against_rule_based=0.0)
    lesson = ppo.one_lesson(config, one, tables, 3, policy)
    searcher = make_agent(spec)
    assert isinstance(searcher, NeuralSearchAgent)
    searcher.weights = policy.weights()
    said = searcher.action_values(lesson["tables"], tables.rules[0])
    assert np.array_equal(lesson["values"], said.astype(np.float16), equal_nan=True)
    assert (lesson["tables"]["phase"] == 1).all(), "it searches for no bid"
    bids = lesson["tables"]["bids"][-1]
    assert bids.tolist() != rule_based_bids(tables, 3), "nor does anybody bid for the network"


def rule_based_bids(tables: ppo.Tables, seed: int) -> list[int]:
    """What they bid at the last table where all are rule-based."""
    turn, usual = tables.reset(seed), make_agent("rule_based")
    while (tables.field("phase") == 0).all():
        turn = tables.step(tables.act(usual, np.arange(len(turn.seat))))
    return list(tables.field("bids")[-1].tolist())


def test_other_rules_have_other_deals() -> None:
    tables = ppo.Tables({"standard": 0.5, "bhoos": 0.5}, 8)
    tables.reset(1)
    assert len(np.unique(tables.field("hands")[:, 0])) == 8


def test_what_is_read_is_what_the_network_is_given(tmp_path: Path, amount: Amount) -> None:
    """Of each kind of rules by these, values by place, tricks beside them."""
    config = tiny(rules={"standard": 0.5, "no_trump": 0.5})
    rules = [ppo.deal_rules(name) for name in config.rules]
    records = [positions(one, amount(30, no_jit=3), seed=k) for k, one in enumerate(rules)]
    kinds = np.repeat([0, 1], [len(part) for part in records]).astype(np.int8)
    values = np.random.default_rng(1).random((len(kinds), 65)).astype(np.float16)
    tricks = np.arange(len(kinds), dtype=np.int8) % 14
    given = {"kind": kinds, "values": values, "tricks": tricks}
    order = np.random.default_rng(2).permutation(len(kinds))
    for number, part in enumerate(np.array_split(order, 2)):
        tables = ppo.as_bytes(np.concatenate(records)[part])
        np.savez(tmp_path / f"{number}.npz", tables=tables, **{k: v[part] for k, v in given.items()})
    lessons = ppo.read_lessons(config, [tmp_path / "0.npz", tmp_path / "1.npz"])
    assert len(lessons) == len(kinds)
    rows, legal, filled, told = lessons.batch(np.arange(len(lessons)))
    expected = set()
    for kind, one in enumerate(rules):
        here = kinds == kind
        inputs = encode_inputs(np.concatenate(records)[here], one)
        placed = np.take_along_axis(values[here], inputs.places, 1).astype(np.float32)
        parts = (inputs.rows, inputs.legal > 0, placed, tricks[here].astype(np.int64))
        expected |= {tuple(a[k].tobytes() for a in parts) for k in range(here.sum())}
    found = (rows, legal, filled, told)
    assert {tuple(a[k].numpy().tobytes() for a in found) for k in range(len(lessons))} == expected


def lessons(values: np.ndarray, legal: np.ndarray, hint: np.ndarray) -> ppo.Lessons:
    """Lessons of rows that say nothing but ``hint``, in their first slot."""
    rng = np.random.default_rng(8)
    rows = np.zeros((len(values), BITS), np.uint8)
    rows[:, 100:140] = rng.integers(2, size=(len(rows), 40))
    rows[:, 0] = hint
    numbers = np.zeros((len(values), INPUTS - BITS), np.int8)
    arrays = {
        "rows": np.packbits(rows, axis=1),
        "numbers": numbers,
        "legal": np.packbits(legal, axis=1),
        "values": values.astype(np.float16),
        "tricks": np.full(len(values), 3, np.int8),
    }
    return ppo.Lessons(arrays)


def test_study_by_value_averages_noise_out() -> None:
    """One of two cards seems better by a little more often than not, and is worse by more the other times."""
    rng = np.random.default_rng(5)
    count = 8192
    hint = rng.integers(2, size=count)  # which card it is
    noise = np.where(rng.random(count) < 0.65, 0.5, -2.0)  # -0.375 in the mean
    values = np.full((count, 65), np.nan)
    values[np.arange(count), 10 + hint] = noise
    values[np.arange(count), 11 - hint] = 0.0
    taught = lessons(values, ~np.isnan(values), hint)
    config = tiny(minibatch=256, clone_lr=1e-2, value_lr=1e-2)
    torch.manual_seed(0)
    policy = ppo.Policy(16, 1)

    def share_of_the_safe_card() -> float:
        rows, legal, _, _ = taught.batch(np.arange(1000))
        best = ppo.masked(policy(rows)[0], legal).argmax(1).numpy()
        assert set(best) <= {10, 11}
        return float((best == 11 - hint[:1000]).mean())

    ppo.study(config, policy, taught, 2, by_value=False)
    assert share_of_the_safe_card() < 0.1, "cross-entropy counts how often"
    ppo.study(config, policy, taught, 3, by_value=True)
    assert share_of_the_safe_card() > 0.9
    tricks = policy(taught.batch(np.arange(50))[0])[1].argmax(1)
    assert (tricks == 3).all()


def test_bids_that_were_not_tried_are_worth_less() -> None:
    values, legal = np.full((1, 65), np.nan), np.zeros((1, 65), bool)
    legal[0, 53:] = True
    values[0, 54:57] = 1.0, 2.0, 1.5
    rows, found, filled, tricks = lessons(values, legal, np.ones(1)).batch(np.array([0]))
    assert rows.shape == (1, INPUTS)
    assert rows[0, 0] == 1
    assert torch.equal(found, torch.from_numpy(legal))
    assert filled[0, 53:60].tolist() == [0.5, 1.0, 2.0, 1.5, 0.5, 0.0, -0.5]
    assert tricks.tolist() == [3]


# --- networks ---


@pytest.mark.parametrize(("layers", "rules"), [(1, "standard"), (2, "bhoos"), (3, "no_trump")])
def test_saved_weights_say_what_the_policy_says(tmp_path: Path, layers: int, rules: str) -> None:
    policy = lively(24, layers)
    save_weights(policy.weights(), tmp_path / "weights")
    agent = NeuralAgent(load_weights(tmp_path / "weights"))
    one = ppo.deal_rules(rules)
    tables = positions(one, 40 if JIT else 6, seed=2)
    found = agent.outputs(tables, one)
    inputs = encode_inputs(tables, one, hidden=True)
    with torch.no_grad():
        logits, tricks = policy(torch.from_numpy(inputs.rows[:, :INPUTS]))
    named = np.full_like(logits, -np.inf)
    np.put_along_axis(named, inputs.places, np.where(inputs.legal, logits, -np.inf), 1)
    assert np.array_equal(np.isfinite(found[:, :65]), np.isfinite(named))
    legal = np.isfinite(named)
    assert np.ptp(named[legal]) > 1
    assert np.allclose(found[:, :65][legal], named[legal], atol=1e-2)
    assert np.allclose(found[:, 65:], tricks, atol=1e-2)


def test_a_policy_is_made_of_its_weights() -> None:
    policy = lively(24, 3)
    again = ppo.Policy.from_weights(policy.weights())
    for name, array in policy.state_dict().items():
        assert torch.allclose(array, again.state_dict()[name], atol=1e-6), name


def test_a_critic_that_sees_only_its_seat_ignores_the_rest() -> None:
    torch.manual_seed(3)
    rows = torch.randint(2, (30, INPUTS + ppo.HIDDEN), dtype=torch.int8)
    other = rows.clone()
    other[:, INPUTS:] = 1 - other[:, INPUTS:]
    foreseen = torch.randn(30)
    blind, seeing = ppo.Critic(16, False), ppo.Critic(16, True)
    assert torch.equal(blind(rows, foreseen), blind(other, -foreseen))
    assert not torch.allclose(seeing(rows, foreseen), seeing(other, foreseen))
    assert not torch.allclose(seeing(rows, foreseen), seeing(rows, -foreseen))


@pytest.mark.parametrize("sees_all", [True, False])
def test_networks_calculate_what_their_layers_say_in_every_precision(sees_all: bool) -> None:
    torch.manual_seed(3)
    critic, policy = ppo.Critic(16, sees_all), lively(24, 2)
    rows = torch.randint(6, (30, INPUTS + ppo.HIDDEN), dtype=torch.int8)
    foreseen = torch.randn(30) * 3
    known = foreseen[:, None] * sees_all
    x = torch.cat((rows[:, : critic.width] * critic.scales, known / 4), 1)
    value = (critic.body(x) + critic.trust * known)[:, 0]
    assert torch.allclose(critic(rows, foreseen), value, atol=1e-4)
    first, second = policy.body
    x = torch.relu(first(rows[:, :INPUTS] * policy.scales))
    logits = policy.play(x + torch.relu(second(x)))
    assert torch.allclose(policy(rows[:, :INPUTS])[0][:, :52], logits, atol=1e-4)
    with torch.autocast("cpu", torch.bfloat16):
        found = critic(rows, foreseen), policy(rows[:, :INPUTS])[0][:, :52]
    critic, policy = critic.to(torch.bfloat16), policy.to(torch.bfloat16)
    again = critic(rows, foreseen), policy(rows[:, :INPUTS])[0][:, :52]
    for one in (found, again):
        for of_bits, exact in zip(one, (value, logits), strict=True):
            assert (of_bits.float() - exact).abs().max() < 0.04 * exact.abs().max()


# --- settings and warnings ---


def test_warnings_tell_of_known_failures() -> None:
    fine = {"bid": 2.8, "entropy": 0.8, "kl": 0.003, "past_first_gain": 0.3, "past_first_high": 0.4}
    assert ppo.warn(fine) == []
    assert ppo.warn({"bid": 2.8}) == [], "nothing learnt yet"
    for change, text in (
        ({"bid": 2.05}, "bids sink to the minimum (mean 2.05)"),
        ({"entropy": 0.01}, "hardly varies"),
        ({"kl": 0.2}, "steps are too large (KL 0.200"),
        (
            {"past_last_gain": -0.3, "past_last_high": -0.1},
            "loses to a past self, a cycle perhaps (past_last_high)",
        ),
    ):
        (sign,) = ppo.warn(fine | change)
        assert text in sign


def test_the_log_writes_all_rows_and_warns_of_the_last(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"decisions": 1_000_000, "bid": 2.0}, {"decisions": 2_000_000, "bid": 2.1, "gain": 0.5}]
    log = ppo.Log(tmp_path)
    log.write(rows)
    log.close()
    text = (tmp_path / "history.csv").read_text()
    assert text.splitlines() == ["decisions,bid,gain", "1000000,2.0,", "2000000,2.1,0.5"]
    told = "".join(capsys.readouterr())
    assert told.count("WARNING") == 1
    assert "WARNING after 2.0 M decisions: bids sink" in told


WRONG = {
    "leraning_rate = 1e-3\n[rules]\nstandard = 1.0": "there is no setting leraning_rate",
    "[[rounds]]\nlessons = 5\nteachers = 3": "there is no setting teachers of a round",
    "[[rounds]]\nby_value = 1": "a round must say how many lessons it has",
    "rounds = [3]": "a round must be a table, not 3",
    "against_past = 0.6\nagainst_rule_based = 0.5": "are shares of the tables: at most 1 together",
    '[[rounds]]\nlessons = 5\nteacher = "rule_based"': "is a pimc or neural_search agent, not 'rule_based'",
    '[[rounds]]\nlessons = 5\nteacher = "ismcts"': "is a pimc or neural_search agent, not 'ismcts'",
    '[[rounds]]\nlessons = 5\nwhere = "mine"': "is 'teacher', 'own' or 'endings', not 'mine'",
    "[[rounds]]\nlessons = -5": "lessons of a round must be at least 1, not -5",
    '[[rounds]]\nlessons = 5\nteacher = "pmic"': "the teacher of a round: there is no agent 'pmic'",
    '[[rounds]]\nlessons = 5\nteacher = "pimc:bid=0,play=0"': "of a round must have worlds to speak of",
    '[[rounds]]\nlessons = 5\nwhere = "endings"\nteacher = "pimc:play=0"': "must have worlds to speak of",
    '[[rounds]]\nlessons = 5\nteacher = "neural:last=0"': "must have worlds to speak of",
    "[play_rules]\nnonsense = 1.0": "play_rules: there is no preset 'nonsense'",
    "evaluate_deals = 1": "evaluate_deals must be at least 2, not 1",
    "temperature = 0.0": "temperature must be at least 0.0001, not 0.0",
    "odd_bids = 1.5": "odd_bids must be at most 1, not 1.5",
    "threads = 1000000": "threads must be at most 1024, not 1000000",
    "seed = 12345678901234": "seed must be at most 1000000000, not 12345678901234",
    "tables = 0": "tables must be at least 1, not 0",
    "decisions = -1": "decisions must be at least 0, not -1",
    "units = 1.5": "units must be a whole number, not 1.5",
    "units = true": "units must be a whole number, not True",
    "lr = nan": "lr must be at least 0, not nan",
    'lr = "much"': "lr must be a number, not 'much'",
    "critic_sees_all = 1": "critic_sees_all must be true or false, not 1",
    "rules = 3": "rules must be a table of presets and their shares, not 3",
    "[rules]": "rules must name a preset",
    "[rules]\nnonsense = 1.0": "rules: there is no preset 'nonsense'",
    "[rules]\nstandard = 0.0": "the share of standard must be a number above 0, not 0.0",
    "units = ": "Invalid value",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_setting_is_one_clear_error(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text + "\n")
    with pytest.raises(SystemExit, match=re.escape(WRONG[text])):
        ppo.main(["--config", str(path)])


@pytest.mark.parametrize("option", ["--seed=-1", "--threads=0"])
def test_the_command_line_is_checked_too(option: str, tmp_path: Path) -> None:
    name = option.strip("-").split("=")[0]
    with pytest.raises(SystemExit, match=f"^{name} must be at least"):
        ppo.main([option, "--out", str(tmp_path / "run")])
    assert not (tmp_path / "run").exists()


def test_a_file_of_settings_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"mine\.toml: .*No such file"):
        ppo.main(["--config", str(tmp_path / "mine.toml")])


def test_the_released_settings_load() -> None:
    path = Path(ppo.__file__).with_name("neural.toml")
    config = ppo.Config.load(str(path), seed=7)
    assert config.seed == 7
    rounds = [ppo.Round(**one) for one in config.rounds]
    assert rounds[-1].by_value > 0
    assert {one.where for one in rounds} == {"teacher", "own", "endings"}
    assert sum(config.rules.values()) == pytest.approx(1)
    assert len(ppo.shares(config.rules, config.tables)) == len(config.rules)
    assert {ppo.deal_rules(name).deals for name in config.rules} == {1}
