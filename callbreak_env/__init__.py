"""Call Break as a reinforcement-learning environment: exact rules, compiled, with every house rule."""

from callbreak_env import callbreak_v0
from callbreak_env.envs.registration import register_all
from callbreak_env.errors import IllegalAction
from callbreak_env.match import Match, deal_points, deck_from_hands
from callbreak_env.policy import make_agent
from callbreak_env.rules import PRESETS, Rules

__all__ = [
    "PRESETS",
    "IllegalAction",
    "Match",
    "Rules",
    "__version__",
    "callbreak_v0",
    "deal_points",
    "deck_from_hands",
    "make_agent",
]
__version__ = "0.1.0"

register_all()
