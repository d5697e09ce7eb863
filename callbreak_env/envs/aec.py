"""The PettingZoo AEC environment. Agents ``player_0`` ... ``player_3`` are seats 0-3."""

from __future__ import annotations

import copy
import secrets
from collections import OrderedDict
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers

from callbreak_env.actions import NUM_ACTIONS
from callbreak_env.cards import NUM_SEATS
from callbreak_env.checks import check_choice, check_seed
from callbreak_env.engine.scoring import REWARDS, rewards_of
from callbreak_env.engine.state import DEAL_END, MATCH_END
from callbreak_env.envs.shared import (
    ILLEGAL_REWARD,
    RENDER_MODES,
    check_options,
    check_render_mode,
    show_table,
    warn_unknown,
)
from callbreak_env.errors import CallBreakError, NotResetError
from callbreak_env.match import Match
from callbreak_env.observation import STATE_WIDTH, encode, encode_state, new_space
from callbreak_env.rules import Rules, as_rules

AGENTS = [f"player_{seat}" for seat in range(NUM_SEATS)]

Observation = dict[str, npt.NDArray[Any]]

_SEAT_OF = {agent: seat for seat, agent in enumerate(AGENTS)}
_SET_BY_RESET = frozenset(
    (
        "match",
        "agents",
        "agent_selection",
        "rewards",
        "terminations",
        "truncations",
        "infos",
        "_cumulative_rewards",
        "num_agents",  # a property that reads `agents`
    )
)


def env(
    rules: Rules | str | None = None,
    reward: str = "points",
    encoding: str = "flat",
    render_mode: str | None = None,
) -> AECEnv:
    """:class:`raw_env` in PettingZoo's usual wrappers: an illegal move ends the match with reward -13.

    ``copy.deepcopy(env)`` copies it in mid-match with an equal future.
    """
    inner: AECEnv = raw_env(rules, reward, encoding, render_mode)
    inner = wrappers.TerminateIllegalWrapper(inner, illegal_reward=ILLEGAL_REWARD)
    inner = wrappers.AssertOutOfBoundsWrapper(inner)
    return wrappers.OrderEnforcingWrapper(inner)


class raw_env(AECEnv):  # type: ignore[misc]  # noqa: N801 - PettingZoo's name; it has no types
    """Call Break for four agents that act in turn. Safe without wrappers: an illegal action changes nothing.

    Observations are ``{"observation": ..., "action_mask": int8 [65]}``; the mask is all zeros for a seat not
    to act. A seat that is not in the extra deal (R15) is terminated before it starts.

    Args:
        rules: a ``Rules``, a preset's name, or None for the standard game.
        reward: ``"points"``: each deal's points, to every seat in it, at the step that ends it, the extra
            deal's too. ``"zero_sum"``: those minus their mean. ``"win"``: at the end of the match the
            winners share 1.
        encoding: ``"flat"``: float32 [804]. ``"history"``: int16 [125]. See ``observation.encode``.
        render_mode: None, ``"ansi"`` (``render`` returns text) or ``"human"`` (printed at every step).

    Raises:
        ValueError: an argument is not what it must be.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - PettingZoo declares it as an instance attribute
        "name": "callbreak_v0",
        "render_modes": list(RENDER_MODES),
        "is_parallelizable": False,
        "render_fps": 2,
    }

    def __init__(
        self,
        rules: Rules | str | None = None,
        reward: str = "points",
        encoding: str = "flat",
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        self.rules = as_rules(rules)
        self.reward = check_choice(reward, "reward", REWARDS)
        self.encoding = encoding
        self.render_mode = check_render_mode(render_mode)
        self.possible_agents = AGENTS.copy()
        self.observation_spaces = {
            agent: spaces.Dict(
                # An OrderedDict keeps the order of the keys; a dict would be sorted.
                OrderedDict(
                    observation=new_space(encoding),
                    action_mask=spaces.Box(0, 1, (NUM_ACTIONS,), np.int8),
                )
            )
            for agent in AGENTS
        }
        self.action_spaces = {agent: spaces.Discrete(NUM_ACTIONS) for agent in AGENTS}
        self.state_space = spaces.Box(-1.0, 1.0, (STATE_WIDTH,), np.float32)
        self._seed: int | None = None
        self._next_number = 0
        self._warned: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        if name in _SET_BY_RESET:
            raise NotResetError(f"{name} is not there yet: call reset() first")
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The space of ``observe``; the same object on every call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """``Discrete(65)``; the same object on every call."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a match.

        Args:
            seed: 0 to 2**63 - 1; without one the stream of matches goes on.
            options: ``"dealer"``: the first dealer's seat. ``"decks"``: decks of 52 card ids, used up in
                order, one for each deal; see ``Match``.

        Raises:
            ValueError: a bad seed or option; nothing has changed.
        """
        options = check_options(options)
        known = {name: options.pop(name) for name in ("dealer", "decks") if name in options}
        if seed is not None:
            stream, number = check_seed(seed), 0
        elif self._seed is None:
            stream, number = secrets.randbits(63), 0
        else:
            stream, number = self._seed, self._next_number
        self.match = Match(self.rules, seed=stream, number=number, **known)
        self._seed, self._next_number = stream, number + 1
        warn_unknown(options, self._warned)
        self.agents = AGENTS.copy()
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0.0)
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self._all_zero = True
        self.infos = {agent: {"action_mask": np.zeros(NUM_ACTIONS, np.int8)} for agent in AGENTS}
        self._skip_agent_selection = None
        self._select_next()
        if self.render_mode == "human":
            self.render()

    def _select_next(self) -> None:
        self.agent_selection = AGENTS[self.match.seat or 0]
        self.infos[self.agent_selection] = {"action_mask": self.match.legal_mask()}

    def step(self, action: int | None) -> None:
        """Act for ``agent_selection``; ``None`` for one that is terminated.

        Raises:
            IllegalAction: the rules forbid it; nothing has changed.
            ValueError: it is no action, or there is nobody left to act.
        """
        agent = self.agent_selection
        terminated = self.terminations.get(agent)
        if terminated is None:
            raise NotResetError("nobody is left to act: call reset() for another match")
        if terminated:
            self._was_dead_step(action)
            return
        happened = self.match.apply(action)  # type: ignore[arg-type] # it checks
        self._cumulative_rewards[agent] = 0.0
        self.infos[agent] = {"action_mask": np.zeros(NUM_ACTIONS, np.int8)}
        if not self._all_zero:
            self.rewards = dict.fromkeys(self.agents, 0.0)
            self._all_zero = True
        if happened & DEAL_END:
            self._end_deal(happened)
        else:
            self._select_next()
        if self.render_mode == "human":
            self.render()

    def _end_deal(self, happened: int) -> None:
        """Pay the deal's rewards, and terminate whoever plays no more."""
        rewards = np.zeros(NUM_SEATS)
        rewards_of(self.match.record_array, happened, REWARDS.index(self.reward), rewards)
        self.rewards = {agent: float(rewards[_SEAT_OF[agent]]) for agent in self.agents}
        self._all_zero = False
        self._accumulate_rewards()
        over = bool(happened & MATCH_END)
        playing = () if over else self.match.active
        for agent in self.agents:
            self.terminations[agent] = _SEAT_OF[agent] not in playing
        if not over:
            self._select_next()
        self._deads_step_first()

    def observe(self, agent: str) -> Observation:
        """What an agent sees, at any time after ``reset``, also when it is not to act or is done.

        Raises:
            ValueError: there is no such agent.
        """
        try:
            seat = _SEAT_OF[agent]
        except (KeyError, TypeError):  # TypeError: not even hashable
            raise CallBreakError(f"there is no agent {agent!r}: agents are {', '.join(AGENTS)}") from None
        info = self.infos.get(agent)
        mask = np.zeros(NUM_ACTIONS, np.int8) if info is None else info["action_mask"]
        return {"observation": encode(self.match, seat, self.encoding), "action_mask": mask}

    def last(self, observe: bool = True) -> tuple[Observation | None, float, bool, bool, dict[str, Any]]:
        """Observation, reward since its last turn, terminated, truncated and info of ``agent_selection``.

        Raises:
            NotResetError: nobody is left to act.
        """
        agent = self.agent_selection
        if agent not in self.terminations:
            raise NotResetError("nobody is left to act: call reset() for another match")
        return (
            self.observe(agent) if observe else None,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            self.infos[agent],
        )

    def state(self) -> npt.NDArray[np.float32]:
        """The whole table for a central critic: float32 [961], the fields of ``STATE_FIELDS``."""
        out = np.empty(STATE_WIDTH, np.float32)
        encode_state(self.match.record_array, self.match.rules_array, out)
        return out

    def render(self) -> str | None:
        """The table as text: returned (``"ansi"``) or printed (``"human"``); a warning without a mode."""
        return show_table(self.match.render(), self.render_mode)

    def close(self) -> None:
        """Nothing is held; the environment can be used on."""

    def clone(self) -> raw_env:
        """An independent copy with an equal future (as ``copy.deepcopy``)."""
        return copy.deepcopy(self)
