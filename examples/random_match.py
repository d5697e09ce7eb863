"""Four random agents play one match of the PettingZoo environment; the table is shown after each deal.

python examples/random_match.py
"""

from callbreak_env import callbreak_v0


def main(seed: int = 7) -> None:
    """Play one match."""
    env = callbreak_v0.env(render_mode="ansi")
    env.reset(seed=seed)
    for seat, agent in enumerate(env.possible_agents):
        env.action_space(agent).seed(seed + seat)
    returns = dict.fromkeys(env.possible_agents, 0.0)
    deal = -1
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, _ = env.last()
        returns[agent] += reward
        if terminated or truncated:
            env.step(None)
            continue
        if env.unwrapped.match.deal != deal:
            deal = env.unwrapped.match.deal
            print(env.render(), end="\n\n")
        env.step(env.action_space(agent).sample(observation["action_mask"]))
    print(env.render())
    print({agent: round(total, 1) for agent, total in returns.items()})


if __name__ == "__main__":
    main()
