"""Registers the environment ids with the libraries that have a registry."""

from __future__ import annotations

import pettingzoo

AEC_ID = "callbreak/callbreak-v0"


def register_all() -> None:
    """Register once; does nothing where the installed PettingZoo has no registry (before 1.27)."""
    if hasattr(pettingzoo, "register") and AEC_ID not in pettingzoo.aec_registry:
        pettingzoo.register("aec", AEC_ID, entry_point="callbreak_env.envs.aec:env")
