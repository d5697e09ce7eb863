"""Version 0 of the PettingZoo environment: ``callbreak_v0.env()`` and ``callbreak_v0.raw_env()``."""

from callbreak_env.envs.aec import env, raw_env

__all__ = ["env", "raw_env"]
