"""Registers the environment ids with the libraries that have a registry."""

from __future__ import annotations

import gymnasium
import pettingzoo

AEC_ID = "callbreak/callbreak-v0"
MATCH_ID = "callbreak/CallBreak-v0"
DEAL_ID = "callbreak/CallBreakDeal-v0"


def register_all() -> None:
    """Register once. PettingZoo before 1.27 has no registry."""
    if hasattr(pettingzoo, "register") and AEC_ID not in pettingzoo.aec_registry:
        pettingzoo.register("aec", AEC_ID, entry_point="callbreak_env.envs.aec:env")
    for name, options in ((MATCH_ID, {}), (DEAL_ID, {"deals": 1})):
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point="callbreak_env.envs.single:CallBreakEnv",
                vector_entry_point="callbreak_env.envs.vector:CallBreakVectorEnv",
                kwargs=options,
            )
