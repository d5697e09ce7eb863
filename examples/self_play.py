"""A rollout of thousands of tables, all seats by one policy, with the return of each decision.

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


def returns(seat: np.ndarray, rewards: np.ndarray, deal_over: np.ndarray) -> np.ndarray:
    """[T, N] what each decision's own seat earned from then to the end of its deal.

    ``seat[t]`` decides at t; ``rewards[t]`` and ``deal_over[t]`` came of that decision, for all four seats.
    A deal that the rollout cuts off earns nothing here: a trainer would put in the values of
    ``env.observe(seat)``.
    """
    steps, tables = seat.shape
    found = np.empty((steps, tables), np.float32)
    later = np.zeros((tables, 4), np.float32)
    for t in reversed(range(steps)):
        later = np.where(deal_over[t, :, None], 0, later) + rewards[t]
        found[t] = later[np.arange(tables), seat[t]]
    return found


def main(tables: int = 1024, steps: int = 560, seed: int = 0) -> None:
    """Collect, and credit."""
    env = SelfPlayEnv(tables, rules="standard", dtype="int8")
    rng = np.random.default_rng(seed)
    buffer = env.allocate(steps + 1)  # [steps + 1, tables, ...]: at t, what was seen before action t
    actions = np.empty((steps, tables), np.int64)
    turn = env.reset(seed=seed, out=buffer.at(0))
    start = time.perf_counter()
    for t in range(steps):
        actions[t] = policy(turn.observation, turn.action_mask, rng)
        turn = env.step(actions[t], out=buffer.at(t + 1))
    seconds = time.perf_counter() - start
    # What action t brought about stands one place later than what was seen before it.
    gained = returns(buffer.seat[:-1], buffer.rewards[1:], buffer.deal_over[1:])
    bids = actions > 51
    print(f"{buffer.deal_over.sum()} deals, {buffer.match_over.sum()} matches")
    for bid in (2, 5, 8):
        print(f"mean points of a deal after a bid of {bid}: {gained[actions == 51 + bid].mean():+.2f}")
    print(f"{bids.mean():.1%} of the decisions are bids; {tables * steps / seconds:,.0f} decisions a second")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
