"""The Gymnasium vector environment: thousands of tables with one learner each, in compiled calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from callbreak_env.actions import NUM_ACTIONS
from callbreak_env.checks import MAX_SEED, check_choice, check_list, check_seed
from callbreak_env.envs.learners import Learners, Opponents
from callbreak_env.envs.shared import RENDER_MODES, check_options, check_render_mode, show_table
from callbreak_env.errors import NotResetError
from callbreak_env.refusals import check_row
from callbreak_env.rules import Rules
from callbreak_env.table import View

_Actions = npt.NDArray[np.int64]
_Bools = npt.NDArray[np.bool_]


class CallBreakVectorEnv(VectorEnv[npt.NDArray[Any], _Actions, npt.NDArray[Any]]):
    """N ``CallBreakEnv`` in one: equal, step by step, to Gymnasium's ``SyncVectorEnv`` of them.

    Row i plays the matches 0, 1, 2, ... under ``seed + i``. The legal actions are in
    ``infos["action_mask"]`` ([N, 65] int8) and ``action_masks()``.

    Args:
        num_envs: tables, N.
        rules: as in ``CallBreakEnv``, like all that follow here.
        opponents: names of agents, or ``policy.BatchAgent`` or ``policy.TableAgent`` objects. A policy by
            name is the fastest: it acts within the environment's compiled calls.
        seat: the learner's.
        reward: kind of rewards.
        illegal: ``"penalty"``, or ``"raise"``: one ValueError that names the rows, and nothing is stepped.
        encoding: of the observation.
        dtype: of the flat observation.
        deals: deals a match.
        render_mode: of ``render``, which gives one frame a table.
        autoreset_mode: NEXT_STEP: a row that is done shows its last view and one dummy legal action, and
            its next step ignores the action and starts the next match. SAME_STEP: the next match starts in
            the step that ends one; the last view is in ``infos["final_obs"]``. DISABLED: the caller resets,
            with ``options={"reset_mask": [N] bool}``.
        threads: as in ``SelfPlayEnv``.
        copy: False returns the same observations and masks from every call, overwritten by the next.

    Raises:
        ValueError: an argument is not what it must be.
    """

    def __init__(
        self,
        num_envs: int = 1,
        rules: Rules | str | None = None,
        opponents: Opponents = "uniform",
        seat: int | None = 0,
        reward: str = "points",
        illegal: str = "penalty",
        encoding: str = "flat",
        dtype: str = "float32",
        deals: int | None = None,
        render_mode: str | None = None,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        threads: int | None = 1,
        copy: bool = True,
    ) -> None:
        self.render_mode = check_render_mode(render_mode)
        modes = {mode.value: mode for mode in AutoresetMode}
        name = autoreset_mode.value if isinstance(autoreset_mode, AutoresetMode) else autoreset_mode
        self._mode = modes[check_choice(name, "autoreset_mode", list(modes))]
        self._core = Learners(
            num_envs,
            rules=rules,
            opponents=opponents,
            seat=seat,
            reward=reward,
            illegal=illegal,
            encoding=encoding,
            dtype=dtype,
            deals=deals,
            threads=threads,
        )
        self.num_envs = self._core.num_envs
        self.rules = self._core.rules
        self.metadata = {
            "render_modes": list(RENDER_MODES),
            "render_fps": 2,
            "autoreset_mode": self._mode,
        }
        self.single_observation_space = self._core.layout.space
        self.single_action_space = spaces.Discrete(NUM_ACTIONS)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._started = np.zeros(num_envs, np.bool_)
        self._arrays = None if copy else self._core.layout.empty(num_envs)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[Any], dict[str, Any]]:
        """Start a match at every table.

        Args:
            seed: of table 0, table i takes ``seed + i``; or one a table. Without one a table goes on with
                the next match of its stream.
            options: ``"reset_mask"``: [N] bool, the tables to reset; the others stay as they are.

        Raises:
            ValueError: a bad seed or option; nothing has changed.
        """
        options = check_options(options)
        rows = self._rows_to_reset(options.pop("reset_mask", None))
        if options:
            raise ValueError(
                f"reset options {list(options)} are not for the vector environment: only 'reset_mask' is"
            )
        seeds = self._seeds(seed)
        if np.ndim(np.asarray(seed)) == 0:
            super().reset(seed=seeds[0])
        keys, numbers = self._core.tables["seed"][rows], self._core.tables["match"][rows] + np.uint64(1)
        for k, row in enumerate(rows):
            key = seeds[row]
            if key is None and not self._started[row]:
                key = int(self.np_random.integers(2**63))
            if key is not None:
                keys[k], numbers[k] = key, 0
        with self._core.all_or_nothing():
            if seeds[rows[0]] is not None or not self._started.any():
                self._core.seed_agents(int(keys[0]))
            self._core.start(rows, keys, numbers)
        self._started[rows] = True
        observations, masks = self._show()
        chosen = np.zeros(self.num_envs, np.bool_)
        chosen[rows] = True
        return observations, {"action_mask": masks, "_action_mask": chosen}

    def step(
        self, actions: Any
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64], _Bools, _Bools, dict[str, Any]]:
        """The learners' actions, and then the others', up to their next turns or the ends of their matches.

        Args:
            actions: [N] whole numbers.

        Raises:
            ValueError: not N whole numbers, or, with ``illegal="raise"``, illegal ones; no table has changed.
            NotResetError: before ``reset``, or a row is done and ``autoreset_mode`` is DISABLED.
        """
        core = self._core
        self._check_started()
        if self._mode is AutoresetMode.DISABLED and core.done.any():
            row = int(np.flatnonzero(core.done)[0])
            raise NotResetError(f"row {row} is done: reset it with options={{'reset_mask': ...}}")
        with core.all_or_nothing():
            core.step(actions, restart=self._mode is AutoresetMode.NEXT_STEP)
            rewards, terminations = core.rewards.copy(), core.done.copy()
            infos = self._illegal_info()
            if self._mode is AutoresetMode.SAME_STEP and terminations.any():
                infos = self._final_info(infos, terminations)
        observations, masks = self._show()
        infos |= {"action_mask": masks, "_action_mask": np.ones(self.num_envs, np.bool_)}
        return observations, rewards, terminations, np.zeros(self.num_envs, np.bool_), infos

    def _illegal_info(self) -> dict[str, Any]:
        illegal = self._core.illegal
        return {"illegal": illegal.copy(), "_illegal": illegal.copy()} if illegal.any() else {}

    def _final_info(self, info: dict[str, Any], done: _Bools) -> dict[str, Any]:
        """Start the next matches, and tell of the last ones as ``SyncVectorEnv`` does."""
        rows, observations, masks = self._core.restart_done()
        final_obs = np.full(self.num_envs, None, object)
        final_masks = np.zeros((self.num_envs, NUM_ACTIONS), np.int8)
        final_masks[rows] = masks
        for k, row in enumerate(rows):
            final_obs[row] = observations[k]
        return {
            "final_obs": final_obs,
            "_final_obs": done.copy(),
            "final_info": {"action_mask": final_masks, "_action_mask": done.copy(), **info},
            "_final_info": done.copy(),
        }

    def action_masks(self) -> npt.NDArray[np.int8]:
        """[N, 65] int8, 1 = legal."""
        self._check_started()
        return self._core.masks()

    def sample_actions(self) -> npt.NDArray[np.int64]:
        """[N] a legal action for each learner, each equally likely (0 where it is done).

        It depends on the match and the position alone: the same seed and actions give the same samples.
        """
        self._check_started()
        return self._core.sample_actions()

    def view(self, row: int) -> View:
        """What the learner of one table knows now."""
        self._check_started()
        return self._core.view(check_row(row, self.num_envs))

    @property
    def seats(self) -> npt.NDArray[np.int8]:
        """[N] int8, the learners' seats in their matches."""
        self._check_started()
        return self._core.learners.copy()

    def render(self) -> tuple[str | None, ...]:  # type: ignore[override] # str is a frame for "ansi"
        """The tables as their learners see them: returned (``"ansi"``) or printed (``"human"``)."""
        return tuple(show_table(self.view(row), self.render_mode) for row in range(self.num_envs))

    def _check_started(self) -> None:
        if not self._started.all():
            raise NotResetError("not all matches have begun: call reset() first")

    def _rows_to_reset(self, reset_mask: Any) -> npt.NDArray[np.int64]:
        if reset_mask is None:
            return np.arange(self.num_envs)
        mask = np.asarray(reset_mask)
        if mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise ValueError(f"reset_mask must be ({self.num_envs},) bool, not {mask.shape} {mask.dtype}")
        if not mask.any():
            raise ValueError("reset_mask names no table: one at least must be True")
        return np.flatnonzero(mask)

    def _seeds(self, seed: Any) -> list[int | None]:
        """A seed or None for each row."""
        if seed is None:
            return [None] * self.num_envs
        if np.ndim(seed) == 0:
            first = check_seed(seed)
            if first > MAX_SEED - self.num_envs + 1:
                raise ValueError(f"seed {first} + {self.num_envs - 1} for the last table is above 2**63 - 1")
            return [first + row for row in range(self.num_envs)]
        listed = check_list(seed, "seeds must be a list")
        if len(listed) != self.num_envs:
            raise ValueError(f"there must be a seed for each of {self.num_envs} tables, not {len(listed)}")
        return [None if one is None else check_seed(one, f"seed[{i}]") for i, one in enumerate(listed)]

    def _show(self) -> tuple[npt.NDArray[Any], npt.NDArray[np.int8]]:
        observations, masks = self._arrays or self._core.layout.empty(self.num_envs)
        self._core.show(observations, masks)
        return observations, masks
