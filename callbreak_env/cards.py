"""Cards: ids, suits, ranks and their text. This is the one card order used everywhere.

A card is an integer 0-51, ``13 * suit + (rank - 2)``, with suits clubs 0, diamonds 1, hearts 2,
spades 3 and ranks 2-14 (jack 11, queen 12, king 13, ace 14).
"""

from __future__ import annotations

from collections.abc import Iterable

CLUBS, DIAMONDS, HEARTS, SPADES = range(4)
SUIT_LETTERS = "CDHS"
SUIT_SYMBOLS = "♣♦♥♠"
SUIT_NAMES = ("clubs", "diamonds", "hearts", "spades")
RANK_LETTERS = "23456789TJQKA"

NUM_SEATS = 4
NUM_SUITS = 4
CARDS_PER_SUIT = 13
CARDS_PER_HAND = 13
NUM_CARDS = 52

_RANK_OF_TEXT = {letter: rank for rank, letter in enumerate(RANK_LETTERS)} | {"10": 8}
_SUIT_OF_TEXT = {letter: suit for suit, letter in enumerate(SUIT_LETTERS)} | {
    symbol: suit for suit, symbol in enumerate(SUIT_SYMBOLS)
}


def suit_of(card: int) -> int:
    """The suit 0-3 of a card id."""
    return card // CARDS_PER_SUIT


def card_text(card: int) -> str:
    """``"2C"`` ... ``"TS"`` ... ``"AS"``: the form in records and on the command line."""
    suit, rank = divmod(card, CARDS_PER_SUIT)
    return RANK_LETTERS[rank] + SUIT_LETTERS[suit]


def card_symbol(card: int) -> str:
    """``"2♣"`` ... ``"A♠"``: the form for people."""
    suit, rank = divmod(card, CARDS_PER_SUIT)
    return RANK_LETTERS[rank] + SUIT_SYMBOLS[suit]


def parse_card(text: str) -> int:
    """Read one card: ``AS``, ``as``, ``TD``, ``10D``, ``A♠``.

    Raises:
        ValueError: the text is not a card.
    """
    if isinstance(text, str):
        clean = text.strip().upper()
        rank = _RANK_OF_TEXT.get(clean[:-1])
        suit = _SUIT_OF_TEXT.get(clean[-1:])
        if rank is not None and suit is not None:
            return CARDS_PER_SUIT * suit + rank
    raise ValueError(
        f"{text!r:.60} is not a card: write a rank of {RANK_LETTERS} and a suit of {SUIT_LETTERS}, "
        "such as AS or TD"
    )


def cards_of(card_set: int) -> list[int]:
    """The card ids, ascending, of a 52-bit set (bit ``c`` set = card ``c`` in it)."""
    bits = int(card_set)
    return [card for card in range(NUM_CARDS) if bits >> card & 1]


def set_of(cards: Iterable[int]) -> int:
    """The 52-bit set of some card ids; the opposite of :func:`cards_of`."""
    bits = 0
    for card in cards:
        bits |= 1 << card
    return bits


def hand_text(cards: Iterable[int]) -> str:
    """A hand for people, spades first and high to low: ``A♠ 9♠ K♥ 3♥ Q♣ 7♦``.

    The suits go ♠ ♥ ♣ ♦, so that black and red alternate.
    """
    place = {SPADES: 0, HEARTS: 1, CLUBS: 2, DIAMONDS: 3}
    in_order = sorted(cards, key=lambda card: (place[suit_of(card)], -card))
    return " ".join(card_symbol(card) for card in in_order)
