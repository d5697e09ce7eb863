"""A Stable-Baselines3 ``VecEnv`` of thousands of tables, for sb3-contrib's MaskablePPO among others."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.vec_env import VecEnv

from callbreak_env.envs.shared import show_table
from callbreak_env.envs.vector import CallBreakVectorEnv


class CallBreakVecEnv(VecEnv):
    """N ``CallBreakEnv`` in one: equal, step by step, to SB3's ``DummyVecEnv`` of them, many times as fast.

    ``MaskablePPO("MlpPolicy", CallBreakVecEnv(256), gamma=1.0)`` trains on it as it is: the masks come from
    ``env_method("action_masks")``. Episodes are never truncated. Wrap it in SB3's ``VecMonitor`` to log them.

    Args:
        num_envs: tables, N.
        options: the other arguments of ``CallBreakVectorEnv``, but for ``autoreset_mode`` and ``copy``.

    Raises:
        ValueError: an argument is not what it must be.
    """

    def __init__(self, num_envs: int, **options: Any) -> None:
        for name in ("autoreset_mode", "copy"):
            if name in options:  # SB3 keeps the observations of one step while it takes the next
                raise ValueError(f"{name}: a VecEnv of SB3 resets in the same step, and its arrays are kept")
        self._env = CallBreakVectorEnv(num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **options)
        super().__init__(
            self._env.num_envs, self._env.single_observation_space, self._env.single_action_space
        )
        self._actions: Any = None

    def reset(self) -> npt.NDArray[Any]:
        """A match at every table: observations [N, width]. ``seed(s)`` before it seeds table i with s + i."""
        if any(self._options):
            raise ValueError("this environment takes no reset options")
        observations, infos = self._env.reset(seed=list(self._seeds))
        self.reset_infos = [{"action_mask": mask} for mask in infos["action_mask"]]
        self._reset_seeds()
        return observations

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Take note of the actions ([N] whole numbers)."""
        self._actions = actions

    def step_wait(
        self,
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32], npt.NDArray[np.bool_], list[dict[str, Any]]]:
        """Observations, rewards, dones and infos, as ``DummyVecEnv`` gives them."""
        observations, rewards, dones, _, told = self._env.step(self._actions)
        infos: list[dict[str, Any]] = [
            {"action_mask": mask, "TimeLimit.truncated": False} for mask in told["action_mask"]
        ]
        for row in np.flatnonzero(dones):
            last = told["final_info"]
            self.reset_infos[row] = {"action_mask": told["action_mask"][row]}
            infos[row]["action_mask"] = last["action_mask"][row]
            infos[row]["terminal_observation"] = told["final_obs"][row]
            if "illegal" in last and last["illegal"][row]:
                infos[row]["illegal"] = True
        return observations, rewards.astype(np.float32), dones, infos

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """``action_masks()``, ``view()`` or ``render()`` of some tables; all without ``indices``."""
        if args or kwargs:
            raise ValueError(f"{method_name}() takes no arguments")
        rows = list(self._get_indices(indices))
        if method_name == "action_masks":
            masks = self._env.action_masks()
            return [masks[row] for row in rows]
        if method_name in ("view", "render"):
            views = [self._env.view(row) for row in rows]
            return views if method_name == "view" else [show_table(v, self._env.render_mode) for v in views]
        raise AttributeError(f"there is no method {method_name!r}: there are action_masks, view, render")

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The ``seat`` of each table's learner, or an attribute of ``CallBreakVectorEnv``, once a table."""
        rows = list(self._get_indices(indices))
        if attr_name == "seat":
            seats = self._env.seats
            return [int(seats[row]) for row in rows]
        return [getattr(self._env, attr_name)] * len(rows)

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refused: tables have no attributes of their own."""
        raise AttributeError(f"{attr_name!r} cannot be set: all tables are one environment")

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """False for every table: nothing is wrapped."""
        return [False for _ in self._get_indices(indices)]

    def close(self) -> None:
        """Nothing is held."""
