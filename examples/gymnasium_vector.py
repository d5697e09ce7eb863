"""One learner at each of many tables, with opponents of one's own: a policy for many tables in one call.

python examples/gymnasium_vector.py [tables] [steps]
"""

import sys

import gymnasium
import numpy as np

import callbreak_env  # registers the ids


class LowestCard:
    """Bids as little as it may, and plays its lowest legal card."""

    name = "lowest card"

    def act_batch(
        self, observations: np.ndarray, action_masks: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """The first legal action: bids come in order, cards by suit and rank."""
        ranks = np.append(np.arange(52) % 13, np.arange(13))
        return np.where(action_masks, ranks, 99).argmin(axis=1)


def main(tables: int = 256, steps: int = 300, seed: int = 0) -> None:
    """Mean return of a uniform learner, against uniform opponents and against lowest cards."""
    for opponents in ("uniform", LowestCard()):
        envs = gymnasium.make_vec(
            "callbreak/CallBreakDeal-v0",
            tables,
            vectorization_mode="vector_entry_point",
            opponents=opponents,
        )
        _, infos = envs.reset(seed=seed)
        rng = np.random.default_rng(seed)
        total, episodes = 0.0, 0
        for _ in range(steps):
            scores = rng.random(infos["action_mask"].shape)
            actions = np.where(infos["action_mask"], scores, -1).argmax(axis=1)
            _, rewards, terminations, _, infos = envs.step(actions)
            total += rewards.sum()
            episodes += int(terminations.sum())
        name = getattr(opponents, "name", opponents)
        print(f"against {name}: {total / episodes:+.2f} points an episode, {episodes} episodes")


if __name__ == "__main__":
    assert callbreak_env.__version__
    main(*map(int, sys.argv[1:]))
