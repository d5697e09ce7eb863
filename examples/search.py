"""Search by sampled worlds: for each legal card, the mean points of the same imagined deals played out.

python examples/search.py [worlds]
"""

import sys

from callbreak_env import Match
from callbreak_env.actions import action_symbol
from callbreak_env.playouts import playouts
from callbreak_env.worlds import Worlds


def values(match: Match, worlds: int, seed: int) -> dict[int, float]:
    """Mean points of the seat to act after each legal action, by what that seat knows alone."""
    seat = match.seat
    imagined = Worlds(match.view(seat))
    tables = imagined.tables(imagined.sample(worlds, seed))  # the same worlds for every action
    return {
        action: playouts(tables, actions=action, rules=match.rules, seed=seed)[..., seat].mean() / 10
        for action in match.legal_actions()
    }


def main(worlds: int = 200, seed: int = 3) -> None:
    """Low bids and low cards for two tricks; then ask what the next seat should play."""
    match = Match("single_deal", seed=seed)
    while len(match.plays) < 8:
        match.apply(match.legal_actions()[0])
    print(match.view(match.seat), end="\n\n")
    for action, value in sorted(values(match, worlds, seed).items(), key=lambda item: -item[1]):
        print(f"{action_symbol(action):>4}  {value:+.2f} points")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
