"""The agents that come with the package; ``callbreak_env.make_agent`` makes them by name."""
