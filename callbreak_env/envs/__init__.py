"""Environments: PettingZoo AEC, and the registration of their ids."""
