"""Thousands of tables, all seats by one policy: returns by seat, and how fast it goes.

python examples/self_play.py [tables] [steps]
"""

import sys
import time

import numpy as np

from callbreak_env import SelfPlayEnv


def policy(observation: np.ndarray, action_mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A legal action for each row: where a network would go."""
    scores = rng.random(action_mask.shape, dtype=np.float32)
    return np.where(action_mask, scores, -1).argmax(axis=1)


def main(tables: int = 1024, steps: int = 560, seed: int = 0) -> None:
    """Collect a rollout into one buffer, and credit each seat with what it earned."""
    env = SelfPlayEnv(tables, rules="standard", dtype="int8")
    rng = np.random.default_rng(seed)
    buffer = env.allocate(steps)  # arrays of [steps, tables, ...]
    turn = env.reset(seed=seed)
    start = time.perf_counter()
    for step in range(steps):
        # What row i shows belongs to seat turn.seat[i]; its reward comes at the end of the deal.
        turn = env.step(policy(turn.observation, turn.action_mask, rng), out=buffer.at(step))
    seconds = time.perf_counter() - start
    deals = int(buffer.deal_over.sum())
    by_seat = buffer.rewards.sum(axis=(0, 1)) / deals
    print(f"{deals} deals, {buffer.match_over.sum()} matches; points a deal by seat {by_seat.round(2)}")
    print(f"{tables * steps / seconds:,.0f} decisions a second, the policy included")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
