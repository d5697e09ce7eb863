"""The Gymnasium environment: one learner at a table of four."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from callbreak_env.actions import NUM_ACTIONS
from callbreak_env.checks import check_int, check_seat, check_seed
from callbreak_env.engine.state import NONE
from callbreak_env.envs.learners import Learners, Opponents
from callbreak_env.envs.shared import (
    RENDER_MODES,
    check_options,
    check_render_mode,
    show_table,
    warn_unknown,
)
from callbreak_env.errors import NotResetError
from callbreak_env.match import check_decks
from callbreak_env.refusals import in_int64
from callbreak_env.rules import Rules
from callbreak_env.table import View


class CallBreakEnv(gymnasium.Env[npt.NDArray[Any], np.int64]):
    """Call Break for one learner; three opponents play the other seats. An episode is a match.

    The legal actions are in ``info["action_mask"]`` and ``action_masks()``, which is
    ``env.unwrapped.action_masks()`` after ``gymnasium.make``. The reward is what the learner's seat earned
    since its last turn, in points. The episode ends with the match, or when an extra deal (R15) is played
    without the learner; what is observed then is its last view, with one dummy legal action, 0.

    Args:
        rules: a ``Rules``, a preset's name, or None for the standard game.
        opponents: the three to the learner's right, in turn: names of agents, or ``policy.Agent``,
            ``policy.BatchAgent`` or ``policy.TableAgent`` objects; one for all three (an object is copied).
        seat: the learner's, 0-3; None draws it for every match.
        reward: ``"points"``, ``"zero_sum"`` or ``"win"``, as in the PettingZoo environment.
        illegal: ``"penalty"``: an illegal action ends the episode with reward -13 and
            ``info["illegal"]``. ``"raise"``: it raises ``IllegalAction`` and changes nothing.
        encoding: ``"flat"``: float32 [804]; ``"history"``: int16 [125].
        dtype: ``"int8"`` gives the flat encoding as whole numbers, as in ``SelfPlayEnv``.
        deals: deals a match, if not as the rules have it.
        render_mode: None, ``"ansi"`` or ``"human"``: the table as the learner sees it.

    Raises:
        ValueError: an argument is not what it must be.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 2}  # noqa: RUF012

    def __init__(
        self,
        rules: Rules | str | None = None,
        opponents: Opponents = "uniform",
        seat: int | None = 0,
        reward: str = "points",
        illegal: str = "penalty",
        encoding: str = "flat",
        dtype: str = "float32",
        deals: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        self.render_mode = check_render_mode(render_mode)
        self._core = Learners(
            1,
            rules=rules,
            opponents=opponents,
            seat=seat,
            reward=reward,
            illegal=illegal,
            encoding=encoding,
            dtype=dtype,
            deals=deals,
            threads=1,
            one_table=True,
        )
        self.rules = self._core.rules
        self.observation_space = self._core.layout.space
        self.action_space = spaces.Discrete(NUM_ACTIONS)
        self._stream: int | None = None
        self._warned: set[str] = set()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[Any], dict[str, Any]]:
        """Start a match, ``Match(rules, seed=seed, number=0)``; without a seed the next number.

        Args:
            seed: 0 to 2**63 - 1.
            options: ``"dealer"``: the first dealer's seat. ``"decks"``: decks of 52 card ids, used up in
                order, one for each deal.

        Raises:
            ValueError: a bad seed or option; nothing has changed.
        """
        options = check_options(options)
        dealer = options.pop("dealer", None)
        dealer = NONE if dealer is None else check_seat(dealer, "dealer")
        decks = check_decks(options.pop("decks", None))
        seed = None if seed is None else check_seed(seed)
        super().reset(seed=seed)
        warn_unknown(options, self._warned)
        if seed is None and self._stream is not None:
            stream, number = self._stream, int(self._core.tables["match"][0]) + 1
        else:
            stream, number = int(self.np_random.integers(2**63)) if seed is None else seed, 0
        key = np.array([[stream], [number]], np.uint64)
        with self._core.all_or_nothing():
            if number == 0:
                self._core.seed_agents(stream)
            self._core.start(np.zeros(1, np.int64), key[0], key[1], dealer, decks)
        self._stream = stream
        return self._shown()

    def step(self, action: Any) -> tuple[npt.NDArray[Any], float, bool, bool, dict[str, Any]]:
        """The learner's action, and then the others', up to its next turn or the end.

        Raises:
            IllegalAction: with ``illegal="raise"``; nothing has changed.
            ValueError: it is no whole number.
            NotResetError: before ``reset``, or after the end.
        """
        if self._core.done[0]:
            raise NotResetError("no match is on: call reset() first")
        if isinstance(action, np.ndarray) and action.size == 1:
            action = action.item()
        with self._core.all_or_nothing():
            number = check_int(action, "action")
            self._core.step(np.array([in_int64(number)]), restart=False, given=[number])
        observation, info = self._shown()
        if self._core.illegal[0]:
            info["illegal"] = True
        return observation, float(self._core.rewards[0]), bool(self._core.done[0]), False, info

    def action_masks(self) -> npt.NDArray[np.int8]:
        """[65] int8, 1 = legal; what sb3-contrib's MaskablePPO asks for."""
        self._check_started()
        return self._mask.copy()

    @property
    def seat(self) -> int:
        """The learner's seat in this match."""
        self._check_started()
        return int(self._core.learners[0])

    def view(self) -> View:
        """What the learner knows now."""
        self._check_started()
        return self._core.view(0)

    def render(self) -> str | None:
        """The table as the learner sees it: returned (``"ansi"``) or printed (``"human"``)."""
        return show_table(self.view(), self.render_mode)

    def _check_started(self) -> None:
        if self._stream is None:
            raise NotResetError("no match has begun: call reset() first")

    def _shown(self) -> tuple[npt.NDArray[Any], dict[str, Any]]:
        observations, masks = self._core.layout.empty(1)
        self._core.show(observations, masks)
        self._mask: npt.NDArray[np.int8] = masks[0].copy()  # the caller's may be written on
        if self.render_mode == "human":
            self.render()
        return observations[0], {"action_mask": masks[0]}
