"""Call Break as a reinforcement-learning environment: exact rules, compiled, with every house rule."""

import importlib
from typing import TYPE_CHECKING, Any

from callbreak_env import callbreak_v0
from callbreak_env.envs.registration import register_all
from callbreak_env.errors import IllegalAction
from callbreak_env.match import Match, deal_points, deck_from_hands
from callbreak_env.policy import make_agent
from callbreak_env.rules import PRESETS, Rules

if TYPE_CHECKING:
    from callbreak_env.envs.selfplay import SelfPlayEnv
    from callbreak_env.envs.single import CallBreakEnv
    from callbreak_env.envs.vector import CallBreakVectorEnv

__all__ = [
    "PRESETS",
    "CallBreakEnv",
    "CallBreakVectorEnv",
    "IllegalAction",
    "Match",
    "Rules",
    "SelfPlayEnv",
    "__version__",
    "callbreak_v0",
    "deal_points",
    "deck_from_hands",
    "make_agent",
]
__version__ = "0.1.0"

_LAZY = {
    "CallBreakEnv": "callbreak_env.envs.single",
    "CallBreakVectorEnv": "callbreak_env.envs.vector",
    "SelfPlayEnv": "callbreak_env.envs.selfplay",
}
"""Loaded when first asked for, to keep the import light."""

register_all()


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
