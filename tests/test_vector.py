"""The vector environment: equal to Gymnasium's ``SyncVectorEnv`` of single ones, and whose its arrays are."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from gymnasium.vector import AutoresetMode

from callbreak_env.engine import threads
from callbreak_env.engine.state import TABLE
from callbreak_env.envs.single import CallBreakEnv
from callbreak_env.envs.vector import CallBreakVectorEnv
from callbreak_env.errors import NotResetError
from learners import (
    DISABLED,
    MIXES,
    NEXT_STEP,
    SAME_STEP,
    TIES,
    Amount,
    HighestBatch,
    compare,
    one_of,
    same,
    some,
    vector_pair,
)


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
@pytest.mark.parametrize("mix", MIXES)
def test_vector_is_equal_to_gymnasium_s_own(mix: str, mode: AutoresetMode, amount: Amount) -> None:
    ours, theirs = vector_pair(mode, 5, MIXES[mix])
    for name in ("observation_space", "action_space", "single_observation_space", "single_action_space"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert ours.metadata == theirs.metadata
    moves, happened = random.Random(mix), Counter[str]()
    for seed in (3, None, [5, 0, 2**63 - 1, 5, 9], None, [1, None, 2, None, 3]):
        same(ours.reset(seed=seed), theirs.reset(seed=seed), f"seed {seed}")
        happened += compare(ours, theirs, amount(70, nightly=1000, no_jit=50), moves)
    assert happened["end"] > 5
    assert happened["illegal"] > 1
    assert happened["reward"] > happened["illegal"]


def test_vector_of_one_table_is_equal_too() -> None:
    for mode in (NEXT_STEP, SAME_STEP):
        ours, theirs = vector_pair(mode, 1, MIXES["ties"])
        same(ours.reset(seed=37), theirs.reset(seed=37))
        assert compare(ours, theirs, 60, random.Random(3))["end"] > 2


@pytest.mark.parametrize("mix", ["ties", "drawn_bhoos_int8", "history_win"])
def test_disabled_mode_resets_the_rows_of_the_mask_and_no_other(mix: str, amount: Amount) -> None:
    ours, theirs = vector_pair(DISABLED, 4, MIXES[mix])
    moves, resets = random.Random(5), 0
    _, infos = ours.reset(seed=2)
    theirs.reset(seed=2)
    for step in range(amount(120, no_jit=50)):
        actions = some(infos["action_mask"], moves, wild=0.02)
        result, expected = ours.step(actions), theirs.step(actions)
        same(result, expected, f"step {step}")
        infos = result[4]
        rows = np.flatnonzero(result[2]).tolist()
        if step % 20 == 7:
            rows.append(moves.randrange(4))  # in mid-match
        moves.shuffle(rows)
        while rows:
            mask = np.isin(np.arange(4), [rows.pop() for _ in range(moves.randint(1, len(rows)))])
            seed = moves.choice([None, 77, [1, 2, None, 4]])
            before, tables = infos["action_mask"], ours._core.tables.copy()
            got, infos = ours.reset(seed=seed, options={"reset_mask": mask})
            right, told = theirs.reset(seed=seed, options={"reset_mask": mask.copy()})
            same(got, right, f"reset at {step}")
            same(infos["_action_mask"], told["_action_mask"])
            same(infos["action_mask"][mask], told["action_mask"][mask])
            # Gymnasium leaves zeros in the other rows; here they show what they showed.
            same(infos["action_mask"][~mask], before[~mask])
            same(ours.action_masks(), infos["action_mask"])
            for field in TABLE.names or ():
                assert (ours._core.tables[field][~mask] == tables[field][~mask]).all(), field
            resets += 1
    assert resets > amount(10, no_jit=4)


def test_disabled_mode_refuses_to_step_a_row_that_is_done() -> None:
    envs = CallBreakVectorEnv(3, autoreset_mode=DISABLED)
    envs.reset(seed=1)
    actions = envs.action_masks().argmax(axis=1)
    actions[1] = 0
    assert envs.step(actions)[2].tolist() == [False, True, False]
    before = envs._core.tables.tobytes()
    with pytest.raises(NotResetError, match="row 1 is done: reset it"):
        envs.step(envs.action_masks().argmax(axis=1))
    assert envs._core.tables.tobytes() == before
    envs.reset(options={"reset_mask": np.array([False, True, False])})
    envs.step(envs.action_masks().argmax(axis=1))


def test_modes_are_declared_and_default_to_next_step() -> None:
    assert CallBreakVectorEnv(2).metadata["autoreset_mode"] is NEXT_STEP
    for mode in AutoresetMode:
        for given in (mode, mode.value):
            assert CallBreakVectorEnv(2, autoreset_mode=given).metadata["autoreset_mode"] is mode


@pytest.mark.parametrize("illegal", ["penalty", "raise"])
def test_finished_row_shows_a_dummy_and_ignores_its_action(illegal: str) -> None:
    endings = 0
    for wrong in (1, -1, 65, -(2**63), 2**63 - 1):
        envs, twin = (CallBreakVectorEnv(3, illegal=illegal, deals=1, rules=TIES) for _ in range(2))
        envs.reset(seed=20)  # row 0 ends early: it is not in the extra deal
        twin.reset(seed=20)
        moves = random.Random(20)
        done = np.zeros(3, np.bool_)
        for _ in range(50):
            masks = envs.action_masks()
            assert (masks[done].sum(axis=1) == 1).all()
            assert (masks[done][:, 0] == 1).all()
            actions = some(masks, moves)
            assert (actions[done] == 0).all()
            result = twin.step(actions)
            same(envs.step(np.where(done, wrong, actions)), result)
            assert not result[2][done].any()
            assert (result[1][done] == 0).all()
            done = result[2]
            endings += int(done.sum())
    assert endings > 20


@pytest.mark.parametrize("seed", [None, [None] * 4])
def test_unseeded_rows_are_all_different_and_go_on_from_there(seed: Any) -> None:
    ours, theirs = vector_pair(NEXT_STEP, 4, MIXES["plain"])
    first, infos = ours.reset(seed=seed)
    expected, told = theirs.reset(seed=seed)
    assert (first.shape, first.dtype) == (expected.shape, expected.dtype)
    same(infos["_action_mask"], told["_action_mask"])
    assert len({row.tobytes() for row in first}) == 4
    assert not np.array_equal(first, CallBreakVectorEnv(4, deals=1).reset(seed=seed)[0])
    keys = ours._core.tables["seed"].copy()
    ours.reset()
    assert (ours._core.tables["seed"] == keys).all()
    assert (ours._core.tables["match"] == 1).all()


def test_seed_is_gymnasium_s_seed_plus_i_and_0_is_one() -> None:
    envs = CallBreakVectorEnv(4, deals=1)
    for first in (0, 41):
        observations, infos = envs.reset(seed=first)
        for row in range(4):
            single, info = CallBreakEnv(deals=1).reset(seed=first + row)
            same(observations[row], single)
            same(infos["action_mask"][row], info["action_mask"])
        same(envs.reset(seed=[first + row for row in range(4)])[0], observations)
    same(envs.reset(seed=0)[0], CallBreakVectorEnv(4, deals=1).reset(seed=0)[0])


@pytest.mark.parametrize("mix", ["ties", "drawn_bhoos_int8", "history_win"])
@pytest.mark.parametrize("mode", AutoresetMode)
def test_number_of_threads_does_not_matter(
    mix: str, mode: AutoresetMode, monkeypatch: pytest.MonkeyPatch, amount: Amount
) -> None:
    split, asked = threads._bounds, []
    monkeypatch.setattr(threads, "_bounds", lambda rows, parts: asked.append(parts) or split(rows, parts))
    monkeypatch.setattr(threads, "ROWS_A_THREAD", 2)
    seen = []
    for number in (1, 3, 50):
        envs = CallBreakVectorEnv(
            11,
            **MIXES[mix],
            threads=number,
            autoreset_mode=mode,
            opponents=["uniform", HighestBatch(), "uniform"],
        )
        asked.clear()
        moves = random.Random(1)
        seen.append([envs.reset(seed=30)])
        for _ in range(amount(50, no_jit=20)):
            seen[-1].append(envs.step(some(envs.action_masks(), moves, wild=0.01)))
            done = seen[-1][-1][2]
            if mode is DISABLED and done.any():
                seen[-1].append(envs.reset(options={"reset_mask": done}))
        assert bool(asked) == (number > 1)
    same(seen[1], seen[0])
    same(seen[2], seen[0])


def test_illegal_rows_of_every_thread_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "ROWS_A_THREAD", 2)
    envs = CallBreakVectorEnv(9, illegal="raise", threads=4)
    envs.reset(seed=1)
    for row in range(9):
        actions = envs.action_masks().argmax(axis=1)
        actions[row] = 3
        with pytest.raises(ValueError, match=f"1 of 9 actions is illegal, nothing was stepped\nrow {row}: "):
            envs.step(actions)


# Aliasing


def arrays_in(value: Any, path: str = "") -> list[tuple[str, npt.NDArray[Any]]]:
    """Every array in a result, the ones in arrays of objects too."""
    if isinstance(value, dict):
        return [found for key, one in value.items() for found in arrays_in(one, f"{path}/{key}")]
    if isinstance(value, np.ndarray) and value.dtype != object:
        return [(path, value)]
    if isinstance(value, (tuple, list, np.ndarray)):
        return [found for i, one in enumerate(value) for found in arrays_in(one, f"{path}/{i}")]
    return []


@pytest.mark.parametrize("mode", ["single", *AutoresetMode])
def test_what_was_returned_is_never_overwritten(mode: Any) -> None:
    env: Any = (
        CallBreakEnv(deals=1)
        if mode == "single"
        else CallBreakVectorEnv(4, deals=1, autoreset_mode=mode, rules=TIES)
    )
    moves, kept = random.Random(6), []
    results = [env.reset(seed=2)]
    for _ in range(70):
        masks = env.action_masks()
        kept.append((masks, masks.copy()))
        if mode == "single":
            results.append(env.step(one_of(masks, moves)))
            if results[-1][2]:
                results.append(env.reset())
        else:
            results.append(env.step(some(masks, moves, wild=0.02)))
            done = results[-1][2]
            if mode is DISABLED and done.any():
                results.append(env.reset(options={"reset_mask": done}))
        kept += [(array, array.copy()) for _, array in arrays_in(results[-1])]
    assert mode is not SAME_STEP or any("final_obs" in r[-1] for r in results)
    for array, before in kept:
        assert np.array_equal(array, before)
    owners = [array if array.base is None else array.base for array, _ in kept]
    assert not any(isinstance(owner, np.ndarray) and owner.dtype == TABLE for owner in owners)


@pytest.mark.parametrize("mode", ["single", NEXT_STEP, SAME_STEP])
def test_writing_into_what_was_returned_changes_no_future(mode: Any) -> None:
    def make() -> Any:
        return (
            CallBreakEnv(deals=1)
            if mode == "single"
            else CallBreakVectorEnv(4, autoreset_mode=mode, rules=TIES, seat=None)
        )

    env, twin, moves = make(), make(), random.Random(1)
    result, expected = env.reset(seed=5), twin.reset(seed=5)
    for _ in range(60):
        same(result, expected)
        masks = twin.action_masks()
        for _, array in arrays_in(result):
            array[...] = 1
        actions = one_of(masks, moves) if mode == "single" else some(masks, moves)
        over = mode == "single" and len(expected) == 5 and expected[2]
        result, expected = (env.reset(), twin.reset()) if over else (env.step(actions), twin.step(actions))


@pytest.mark.parametrize("make", [CallBreakEnv, lambda: CallBreakVectorEnv(3)], ids=["single", "vector"])
def test_writing_into_the_mask_of_info_leaves_action_masks_alone(make: Any) -> None:
    env = make()
    _, info = env.reset(seed=1)
    before = env.action_masks()
    info["action_mask"][...] = 0
    same(env.action_masks(), before)


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
def test_no_copy_mode_hands_out_the_same_arrays_with_the_same_content(mode: AutoresetMode) -> None:
    envs = CallBreakVectorEnv(4, deals=1, autoreset_mode=mode, copy=False)
    twin = CallBreakVectorEnv(4, deals=1, autoreset_mode=mode)
    first, expected = envs.reset(seed=5), twin.reset(seed=5)
    result, moves, finals = first, random.Random(1), []
    for _ in range(60):
        same(result, expected)
        assert result[0] is first[0]
        assert result[-1]["action_mask"] is first[1]["action_mask"]
        masks = envs.action_masks()
        assert not np.shares_memory(masks, first[1]["action_mask"])
        actions = some(masks, moves)
        result, expected = envs.step(actions), twin.step(actions)
        finals += [(last, last.copy()) for last in result[-1].get("final_obs", []) if last is not None]
    assert bool(finals) == (mode is SAME_STEP)
    for last, before in finals:
        assert np.array_equal(last, before)


# Opponents


def test_an_interrupt_between_step_and_show_leaves_sound_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C arrives when a kernel returns: what is legal must already belong to the new positions."""
    envs = CallBreakVectorEnv(20, deals=1, illegal="raise")
    envs.reset(seed=4)
    for count in range(13):
        actions = envs.sample_actions()
        with monkeypatch.context() as patch:
            patch.setattr(type(envs._core), "show", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                envs.step(actions)
        tables = envs._core.tables
        assert (envs.action_masks().sum(axis=1) > 0).all()
        if count:
            with pytest.raises(ValueError, match="20 of 20 actions are illegal"):
                envs.step(actions)  # these cards are played already
        held = np.bitwise_count(tables["hands"]).sum(axis=1) + np.bitwise_count(tables["played"]).sum(axis=1)
        assert (held == 52).all()
