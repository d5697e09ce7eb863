"""Every house rule combines: partnership, first-led trump, bonus bids and redeals in one match.

python examples/house_rules.py
"""

import random

from callbreak_env import Match, Rules
from callbreak_env.rules import describe_rules
from callbreak_env.story import tell_match


def main(seed: int = 1) -> None:
    """Play one match by random legal moves and tell it."""
    rules = Rules(deals=2, partnership=True, trump="first_led", bonus_bid=8, min_total_bid=10, misdeal=True)
    print("\n".join(describe_rules(rules)), end="\n\n")
    match, moves = Match(rules, seed=seed), random.Random(seed)
    while not match.is_over:
        match.apply(moves.choice(match.legal_actions()))
    print("\n".join(tell_match(match)))


if __name__ == "__main__":
    main()
