"""Builds positions for tests out of hands, bids and cards in text; decides no rule."""

from __future__ import annotations

import pickle
from collections.abc import Iterable

import pytest

from callbreak_env import IllegalAction, Match, Rules, deck_from_hands
from callbreak_env.actions import action_text, bid_action, parse_action
from callbreak_env.cards import cards_of, parse_card

SUIT_HANDS = ("23456789TJQKA:C", "23456789TJQKA:D", "23456789TJQKA:H", "23456789TJQKA:S")
"""One suit a seat: with spade trumps seat 3 wins every trick."""
TWELVE = ("3456789TJQKA:C 2:S", "23456789TJQKA:D", "23456789TJQKA:H", "2:C 3456789TJQKA:S")
"""Seat 0 leads clubs (dealer 3) and wins one trick, seat 3 the other twelve."""


def cards(text: str) -> list[int]:
    """``"AS TD"`` or, by suit, ``"AKQ:S T2:D"``, as card ids."""
    found = []
    for word in text.split():
        ranks, colon, suit = word.partition(":")
        found += [parse_card(rank + suit) for rank in ranks] if colon else [parse_card(word)]
    return found


def fill(hands: Iterable[str]) -> list[list[int]]:
    """Four hands of 13: what is not said is filled with the other cards, ascending, seat by seat."""
    given = [cards(text) for text in hands]
    held = {card for hand in given for card in hand}
    rest = iter([card for card in range(52) if card not in held])
    return [hand + [next(rest) for _ in range(13 - len(hand))] for hand in given]


def deck(*hands: str, dealer: int = 3) -> list[int]:
    """The deck that deals four hands, each given in text and filled up."""
    return deck_from_hands(fill(hands), dealer)


def place(
    *hands: str,
    rules: Rules | str | None = None,
    dealer: int = 3,
    bids: Iterable[int] | None = None,
    plays: str = "",
    more_decks: Iterable[list[int]] = (),
) -> Match:
    """A match brought to a position: four hands, bids in bidding order (None: the least), cards played."""
    match = Match(rules, seed=0, dealer=dealer, decks=[deck(*hands, dealer=dealer), *more_decks])
    for bid in bids or [match.rules.min_bid] * 4:
        match.apply(bid_action(bid))
    for card in cards(plays):
        match.apply(card)
    return match


def legal(match: Match) -> set[str]:
    """The legal actions as text."""
    return {action_text(action) for action in match.legal_actions()}


def may_hold(match: Match, seat: int) -> set[int]:
    """What the table keeps of a seat: cards it may still hold, for eyes that hold none."""
    return set(cards_of(match.record_array["may_hold"][0, seat]))


def refuses(match: Match, action: str, clause: str, words: str | None = None) -> None:
    """The action is refused for that clause, and nothing changes."""
    before = pickle.dumps(match)
    seat, options = match.seat, tuple(match.legal_actions())
    with pytest.raises(IllegalAction, match=words) as caught:
        match.apply(parse_action(action))
    assert pickle.dumps(match) == before
    error = caught.value
    assert (error.clause, error.seat, error.legal) == (clause, seat, options)
    assert str(error).endswith("| " + error.table)


def accepts(match: Match, expected: str) -> None:
    """Exactly these cards are legal; each is accepted on a copy, each other card of the hand is not."""
    assert match.seat is not None
    right = set(cards(expected))
    assert set(match.legal_actions()) == right
    for card in right:
        match.clone().apply(card)
    for card in set(match.hands[match.seat]) - right:
        with pytest.raises(IllegalAction):
            match.clone().apply(card)


def play_out(match: Match, deals: int = 1) -> Match:
    """The lowest legal card until so many deals have ended; bids of later deals are the least."""
    last = match.deal + deals
    while not match.is_over and match.deal < last:
        match.apply(match.legal_actions()[0])
    return match


def bid_all(match: Match, *bids: int) -> Match:
    """Bids in bidding order."""
    for bid in bids:
        match.apply(bid_action(bid))
    return match
