"""Match: the checked Python face of one table."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from callbreak_env.actions import NUM_ACTIONS
from callbreak_env.cards import CARDS_PER_HAND, NUM_CARDS, NUM_SEATS, card_text, cards_of
from callbreak_env.checks import check_int, check_list, check_seat, check_seed
from callbreak_env.engine.play import advance, advance_by, new_match, points_of
from callbreak_env.engine.state import (
    NO_DECKS,
    NO_SUCH_ACTION,
    NONE,
    TABLE,
    Array,
    rules_record,
)
from callbreak_env.errors import illegal_action
from callbreak_env.rules import Rules, as_rules
from callbreak_env.table import TableFace, View
from callbreak_env.text import table_line, table_picture
from callbreak_env.transcript import build

_BYTES_MARK = b"callbreak match 1"


class Match(TableFace):
    """One match at one table, every move checked.

    Deals depend on (seed, number, deck counter) alone: the same three give the same cards everywhere.

    Args:
        rules: a ``Rules``, a preset's name, or None for the standard game.
        seed: 0 to 2**63 - 1; None draws one.
        number: which match under that seed, 0 or more.
        dealer: the first dealer's seat; None cuts for it (R3).
        decks: decks of 52 card ids, used up in order, one for each deal (thrown-in deals and the extra deal
            included); card k goes to the k-th chair counted from the dealer's right, one card at a time
            among the seats that are dealt in. Seeded shuffles follow.

    Raises:
        ValueError: an argument is not what it must be.
    """

    __slots__ = ("_actions", "_deck_array", "_first_dealer", "_mask", "_number", "_seed")

    def __init__(
        self,
        rules: Rules | str | None = None,
        *,
        seed: int | None = None,
        number: int = 0,
        dealer: int | None = None,
        decks: Iterable[Sequence[int]] | None = None,
    ) -> None:
        self._rules = as_rules(rules)
        self._record = rules_record(self._rules)
        self._seed = secrets.randbits(63) if seed is None else check_seed(seed)
        self._number = check_seed(number, "number")
        self._deck_array = check_decks(decks)
        self._tables = np.zeros(1, TABLE)
        self._mask = np.empty(NUM_ACTIONS, np.int8)
        self._actions: list[int] = []
        first = NONE if dealer is None else check_seat(dealer, "dealer")
        new_match(
            self._tables,
            self._record,
            self._deck_array,
            self._seed,
            self._number,
            first,
            self._mask,
        )
        self._first_dealer = int(self._tables["dealer"][0])

    @property
    def seed(self) -> int:
        """The seed of the shuffles."""
        return self._seed

    @property
    def number(self) -> int:
        """The number of the match under its seed."""
        return self._number

    @property
    def hands(self) -> list[list[int]]:
        """The cards held, by seat, each ascending."""
        return [cards_of(hand) for hand in self._tables["hands"][0]]

    @property
    def actions(self) -> list[int]:
        """All actions taken so far, as ids."""
        return self._actions.copy()

    def legal_mask(self) -> npt.NDArray[np.int8]:
        """[65] int8, 1 = legal for the seat to act; all zeros when the match is over. The caller's own."""
        return self._mask.copy()

    def legal_actions(self) -> list[int]:
        """The legal action ids, ascending; empty when the match is over."""
        return [int(action) for action in np.flatnonzero(self._mask)]

    def apply(self, action: int) -> int:
        """Take an action for the seat to act.

        Returns:
            What it brought about, a sum of ``TRICK_END`` (1), ``DEAL_END`` (2), ``MATCH_END`` (4) and
            ``REDEAL`` (8) of ``callbreak_env.engine.state``.

        Raises:
            IllegalAction: the rules forbid it, the match is over, or there is no such id (then without a
                clause); nothing has changed.
            ValueError: it is not a whole number; nothing has changed.
        """
        if type(action) is not int:
            action = check_int(action, "action")
        if not 0 <= action < NUM_ACTIONS:
            self._refuse(action, NO_SUCH_ACTION)
        mask = np.empty(NUM_ACTIONS, np.int8)
        happened = advance(self._tables, self._record, self._deck_array, action, mask)
        if happened < 0:
            self._refuse(action, -happened)
        self._mask = mask
        self._actions.append(action)
        return int(happened)

    def _refuse(self, action: int, code: int) -> None:
        raise illegal_action(code, action, self._tables[0], self._rules, tuple(self.legal_actions()))

    def view(self, seat: int) -> View:
        """What a seat knows now, as a copy that stays as it is."""
        return View(self._tables, self._rules, seat)

    def record(self) -> dict[str, Any]:
        """The record of the match so far, JSON-ready; ``callbreak_env.records`` writes and reads it."""
        return build(
            self._rules,
            self._seed,
            self._number,
            self._first_dealer,
            self._deck_array,
            self._actions,
        )

    def to_bytes(self) -> bytes:
        """The match so far as some hundred bytes; :meth:`from_bytes` makes it again, future and all.

        For copies within compiled code take ``record_array``: 256 bytes a table.
        """
        head = {
            "rules": self._rules.to_dict(),
            "seed": self._seed,
            "number": self._number,
            "dealer": self._first_dealer,
            "decks": len(self._deck_array),
        }
        body = self._deck_array.tobytes() + bytes(self._actions)
        return b"\n".join((_BYTES_MARK, json.dumps(head).encode(), body))

    @classmethod
    def from_bytes(cls, data: bytes) -> Match:
        """The match that :meth:`to_bytes` wrote; every action is checked on the way.

        Raises:
            ValueError: the bytes are not such, or an action in them is illegal.
        """
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise ValueError(f"a match is made from bytes, not from {type(data).__name__}")
        mark, _, rest = bytes(data).partition(b"\n")
        head, _, body = rest.partition(b"\n")
        if mark != _BYTES_MARK:
            raise ValueError(f"these are not the bytes of a match: they begin with {mark[:20]!r}")
        try:
            told = json.loads(head)
            rules, count = Rules.from_dict(told["rules"]), check_int(told["decks"], "decks")
            if not 0 <= NUM_CARDS * count <= len(body):
                raise ValueError(f"there are no {count} decks in them")
            decks = [list(body[NUM_CARDS * i : NUM_CARDS * (i + 1)]) for i in range(count)]
            seed, dealer = check_seed(told["seed"]), check_seat(told["dealer"], "dealer")
            match = cls(rules, seed=seed, number=told["number"], dealer=dealer, decks=decks)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ValueError(f"these are not the bytes of a match: {error}") from None
        actions = np.frombuffer(body[NUM_CARDS * count :], np.uint8)
        taken = advance_by(match._tables, match._record, match._deck_array, actions, match._mask)
        match._actions = actions[:taken].tolist()
        if taken < len(actions):
            match.apply(int(actions[taken]))  # it says why not
        return match

    def clone(self) -> Match:
        """An independent copy with the same future: the same deals come after."""
        other = object.__new__(type(self))
        for name in ("_rules", "_record", "_seed", "_number", "_first_dealer", "_deck_array"):
            setattr(other, name, getattr(self, name))
        other._tables = self._tables.copy()
        other._mask = self._mask.copy()
        other._actions = self._actions.copy()
        return other

    __copy__ = clone

    def render(self, seat: int | None = None) -> str:
        """The table as a picture for people; with a seat, as that seat sees it."""
        if seat is not None:
            return str(self.view(seat))
        return table_picture(self._tables[0], self._rules, None, self.legal_actions())

    def __str__(self) -> str:
        return self.render()

    def __repr__(self) -> str:
        return f"<Match {table_line(self._tables[0], self._rules)}>"


def check_decks(decks: Any) -> Array:
    """Decks as an [n, 52] uint8 array; ValueError where one is not the 52 cards once each."""
    if decks is None:
        return NO_DECKS
    rows = []
    for number, deck in enumerate(check_list(decks, f"decks must be decks of {NUM_CARDS} card ids")):
        what = f"decks[{number}]"
        listed = check_list(deck, f"{what} must be {NUM_CARDS} card ids")
        cards = [check_int(card, f"a card of {what}") for card in listed]
        if sorted(cards) != list(range(NUM_CARDS)):
            twice = sorted({card for card in cards if cards.count(card) > 1})
            fault = f"it holds {len(cards)} cards" + (f", {twice} more than once" if twice else "")
            raise ValueError(f"{what} must hold each card id 0 to 51 once: {fault}")
        rows.append(cards)
    return np.array(rows, np.uint8).reshape(len(rows), NUM_CARDS)


def deck_from_hands(hands: Sequence[Iterable[int] | None], dealer: int) -> list[int]:
    """The deck that deals these hands when ``dealer`` deals.

    Args:
        hands: four hands of 13 card ids by seat; None for a seat not dealt in (an extra deal), then the
            cards out of play come last, ascending.
        dealer: the seat that deals.

    Returns:
        52 card ids.

    Raises:
        ValueError: not 13 cards each, a card twice, or no such card.
    """
    dealer = check_seat(dealer, "dealer")
    hands = check_list(hands, f"hands must be {NUM_SEATS} hands")
    if len(hands) != NUM_SEATS:
        raise ValueError(f"there are {NUM_SEATS} hands, one a seat (None if not dealt in), not {len(hands)}")
    held: dict[int, int] = {}
    queues: list[list[int]] = []
    for seat in ((dealer + 1 + i) % NUM_SEATS for i in range(NUM_SEATS)):
        hand = hands[seat]
        if hand is None:
            continue
        hand = check_list(hand, f"the hand of seat {seat} must be {CARDS_PER_HAND} card ids")
        cards = [check_int(card, f"a card of seat {seat}") for card in hand]
        if len(cards) != CARDS_PER_HAND:
            raise ValueError(f"seat {seat} must hold {CARDS_PER_HAND} cards, not {len(cards)}")
        for card in cards:
            if not 0 <= card < NUM_CARDS:
                raise ValueError(f"seat {seat}: there is no card {card}, ids are 0 to 51")
            if card in held:
                raise ValueError(f"{card_text(card)} is held twice, by seats {held[card]} and {seat}")
            held[card] = seat
        queues.append(cards)
    dealt = [card for one_round in zip(*queues, strict=True) for card in one_round]
    return dealt + [card for card in range(NUM_CARDS) if card not in held]


def deal_points(
    bids: Sequence[int | None], tricks: Sequence[int], rules: Rules | str | None = None
) -> list[int]:
    """The points of a deal by seat in tenths (R12, R13, H4, H5); also of one cut short.

    Args:
        bids: four bids 1-13 by seat; None or 0 for a seat that is not in the deal, which gets 0 points.
        tricks: tricks won so far by seat, 0-13 each.
        rules: a ``Rules``, a preset's name, or None for the standard game.

    Raises:
        ValueError: not four of each, or out of range.
    """
    bids, tricks = (
        check_list(bids, "bids must be four bids"),
        check_list(tricks, "tricks must be four counts"),
    )
    if len(bids) != NUM_SEATS or len(tricks) != NUM_SEATS:
        raise ValueError(f"there are {NUM_SEATS} bids and {NUM_SEATS} trick counts, one a seat")
    numbers = [
        [0 if value is None else check_int(value, what) for value in values]
        for what, values in (("a bid", bids), ("a trick count", tricks))
    ]
    for what, values in zip(("a bid", "a trick count"), numbers, strict=True):
        if not all(0 <= value <= CARDS_PER_HAND for value in values):
            raise ValueError(f"{what} must be from 0 to {CARDS_PER_HAND}, not {values}")
    if sum(numbers[1]) > CARDS_PER_HAND:
        raise ValueError(f"a deal has {CARDS_PER_HAND} tricks, not {sum(numbers[1])}")
    points = np.zeros(NUM_SEATS, np.int64)
    points_of(np.array(numbers[0]), np.array(numbers[1]), rules_record(as_rules(rules)), points)
    return [int(value) for value in points]
