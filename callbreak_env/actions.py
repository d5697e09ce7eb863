"""Action ids: the only map between ``Discrete(65)`` and "play this card" or "bid n".

0-51 play that card; ``51 + n`` bids n, so 52 is a bid of 1 and 64 a bid of 13.
"""

from __future__ import annotations

from callbreak_env.cards import NUM_CARDS, card_symbol, card_text, parse_card

MAX_BID = 13
NUM_ACTIONS = NUM_CARDS + MAX_BID
BID_OFFSET = NUM_CARDS - 1
"""Action id of a bid minus the bid."""


def is_bid(action: int) -> bool:
    """Whether an action id is a bid (otherwise it plays a card)."""
    return action >= NUM_CARDS


def bid_action(bid: int) -> int:
    """The action id that bids ``bid`` tricks, 1-13.

    Raises:
        ValueError: no such bid.
    """
    if not 1 <= bid <= MAX_BID:
        raise ValueError(f"there is no bid of {bid}: bids are 1 to {MAX_BID}")
    return BID_OFFSET + bid


def bid_of(action: int) -> int:
    """The bid, 1-13, of a bidding action."""
    return action - BID_OFFSET


def action_text(action: int) -> str:
    """``"bid 4"`` or ``"AS"``: the form that :func:`parse_action` reads."""
    return f"bid {bid_of(action)}" if is_bid(action) else card_text(action)


def action_symbol(action: int) -> str:
    """``"bid 4"`` or ``"A♠"``: the form for people."""
    return f"bid {bid_of(action)}" if is_bid(action) else card_symbol(action)


def parse_action(text: str) -> int:
    """Read ``"bid 4"`` or a card.

    Raises:
        ValueError: it is neither.
    """
    words = text.split()
    if len(words) == 2 and words[0].lower() == "bid" and words[1].isdecimal():
        return bid_action(int(words[1]))
    return parse_card(text)
