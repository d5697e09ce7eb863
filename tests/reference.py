"""A slow, literal reading of the Call Break rules, to compare the engine against.

Written clause by clause from RULES.md (the R and H numbers below) with text cards, lists, dicts and
sets, and sharing no code with the engine: where the two disagree, one has misread the rules.
Cards are rank then suit, such as "TD". Scores are integer tenths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

RANKS = "23456789TJQKA"
SUITS = "CDHS"
CARDS = [rank + suit for suit in SUITS for rank in RANKS]
HEIGHT = {rank: height for height, rank in enumerate(RANKS)}

Move = tuple[str, int | str]
Trick = list[tuple[int, str]]


def suit_of(card: str) -> str:
    return card[1]


def higher(card: str, other: str) -> bool:
    """R1: whether card ranks above other; asked only about two cards of one suit."""
    return HEIGHT[card[0]] > HEIGHT[other[0]]


def of_suit(cards: Sequence[str], suit: str | None) -> list[str]:
    return [card for card in cards if card[1] == suit]


def best(cards: Sequence[str]) -> str | None:
    """The highest of some cards of one suit, or None where there are none."""
    if not cards:
        return None
    return max(cards, key=lambda card: HEIGHT[card[0]])


def trick_winner(trick: Trick, trump: str) -> int:
    """R11: the highest trump wins; without trumps the highest card of the led suit."""
    cards = [card for _, card in trick]
    led = suit_of(cards[0])
    top = best(of_suit(cards, trump)) or best(of_suit(cards, led))
    for seat, card in trick:
        if card == top:
            return seat
    raise AssertionError("a trick always holds its best card")


def first_lead_restricted(rules: dict) -> bool:
    """R7 holds unless dropped by H7, and it does not apply where H6 makes the trump."""
    return rules["trump"] == "spades" and not rules["free_spade_lead"]


def legal_cards(
    hand: Sequence[str], trick: Trick, trump: str | None, rules: dict, first_trick: bool
) -> list[str]:
    """The cards of hand that may be played to trick, which is empty for a lead."""
    if not trick:
        if first_trick and first_lead_restricted(rules):
            plain = [card for card in hand if suit_of(card) != "S"]
            if plain:
                return plain  # R7
        return list(hand)  # R7: later leads are free; R7: a leader with only spades leads one

    table = [card for _, card in trick]
    led = suit_of(table[0])
    best_led = best(of_suit(table, led))
    best_trump = best(of_suit(table, trump))

    follow = of_suit(hand, led)
    if follow:
        # R8. H10's first looseness needs a plain suit led: a trick led in trumps is not "trumped".
        must_beat = rules["must_beat"] and (led == trump or best_trump is None or rules["beat_when_trumped"])
        beating = [card for card in follow if higher(card, best_led)]
        return beating if must_beat and beating else follow

    trumps = of_suit(hand, trump)
    if trumps:
        # R9, which no option softens but H10's last.
        if best_trump is None:
            return trumps
        over = [card for card in trumps if higher(card, best_trump)]
        if over:
            return over
        return trumps if rules["undertrump"] else list(hand)

    return list(hand)  # R10


def proved_absent(card: str, trick: Trick, trump: str | None, rules: dict, first_trick: bool) -> set[str]:
    """The table "What a play proves": what the seat that plays card to trick cannot still hold."""
    if not trick:
        if first_trick and first_lead_restricted(rules) and suit_of(card) == "S":
            return {other for other in CARDS if suit_of(other) != "S"}
        return set()

    table = [other for _, other in trick]
    led = suit_of(table[0])
    best_led = best(of_suit(table, led))
    best_trump = best(of_suit(table, trump))

    if suit_of(card) == led:
        if higher(card, best_led):
            return set()
        if rules["must_beat"] and (led == trump or best_trump is None or rules["beat_when_trumped"]):
            return {other for other in of_suit(CARDS, led) if higher(other, best_led)}
        return set()

    gone = set(of_suit(CARDS, led))
    if suit_of(card) == trump:
        if best_trump is not None and not higher(card, best_trump):
            gone |= {other for other in of_suit(CARDS, trump) if higher(other, best_trump)}
    elif best_trump is None or rules["undertrump"]:
        gone |= set(of_suit(CARDS, trump))
    else:
        gone |= {other for other in of_suit(CARDS, trump) if higher(other, best_trump)}
    return gone


def side_score(bid: int, won: int, rules: dict) -> int:
    """One player's score in tenths, or one side's (H5)."""
    if won < bid:
        return -10 * bid  # R13
    if rules["bonus_bid"] is not None and bid >= rules["bonus_bid"]:
        return 10 * rules["bonus_points"]  # H4: flat, no overtrick tenths
    return 10 * bid + (won - bid)  # R12


def sides(rules: dict) -> list[list[int]]:
    """Who scores, ties and wins together: partners under H5, otherwise each player alone (R1)."""
    return [[0, 2], [1, 3]] if rules["partnership"] else [[0], [1], [2], [3]]


def deal_points(bids: Sequence[int | None], tricks: Sequence[int], rules: dict) -> list[int]:
    """Tenths per seat for one deal; a bid of None marks a seat that is not in the deal."""
    points = [0, 0, 0, 0]
    for side in sides(rules):
        seated = [seat for seat in side if bids[seat] is not None]
        if seated:
            bid = sum(bids[seat] for seat in seated)
            won = sum(tricks[seat] for seat in seated)
            score = side_score(bid, won, rules)
            for seat in seated:
                points[seat] = score
    return points


class ReferenceMatch:
    """One match from the first deal to the winner; the attributes are the whole visible state."""

    def __init__(self, rules: dict, dealer: int, next_deck: Callable[[], list[str]]) -> None:
        self.rules = rules
        self.next_deck = next_deck
        self.totals = [0, 0, 0, 0]
        self.points = [0, 0, 0, 0]
        self.winners: list[int] = []
        self.decks_used = 0
        self.last_trick_winner: int | None = None
        self._start_deal(deal=0, dealer=dealer, active=[0, 1, 2, 3])

    def _start_deal(self, deal: int, dealer: int, active: list[int]) -> None:
        self.deal = deal
        self.dealer = dealer
        self.active = active
        self.redeals = 0
        self._deal_cards()

    def _order_from(self, seat: int) -> list[int]:
        """R3: the seats in this deal, counter-clockwise from seat on."""
        around = [(seat + step) % 4 for step in range(4)]
        return [chair for chair in around if chair in self.active]

    def _right_of(self, seat: int) -> int:
        return self._order_from(seat + 1)[0]

    def _deal_cards(self) -> None:
        """Deal the current deal: for the first time, or again after H2."""
        order = self._order_from(self.dealer + 1)
        while True:
            deck = list(self.next_deck())
            if sorted(deck) != sorted(CARDS):
                raise ValueError("a deck is the 52 different cards")
            self.decks_used += 1
            hands: list[list[str]] = [[], [], [], []]
            for place in range(13 * len(order)):
                hands[order[place % len(order)]].append(deck[place])  # R4, R15
            if not (self.rules["misdeal"] and any(self._is_misdeal(hands[seat]) for seat in order)):
                break
        self.hands = hands
        self.phase = "bidding"
        self.bids: list[int | None] = [None, None, None, None]
        self.tricks_won = [0, 0, 0, 0]
        self.trick: Trick = []
        self.trick_no = 0
        self.played: list[list[str]] = [[], [], [], []]
        self.trump: str | None = "S" if self.rules["trump"] == "spades" else None  # R2, H6
        self._may = [set(CARDS) if seat in self.active else set() for seat in range(4)]
        self.leader = order[0]  # R6, R15
        self.seat: int | None = order[0]  # R5, R15

    @staticmethod
    def _is_misdeal(hand: list[str]) -> bool:
        """H3: one suit only, or no spade (a spade also where H6 makes another suit trump)."""
        suits = {suit_of(card) for card in hand}
        return len(suits) == 1 or "S" not in suits

    def legal(self) -> list[Move]:
        if self.phase == "over":
            return []
        if self.phase == "bidding":
            allowed = range(self.rules["min_bid"], self.rules["max_bid"] + 1)  # R5, H9
            return [("bid", bid) for bid in allowed]
        cards = legal_cards(self.hands[self.seat], self.trick, self.trump, self.rules, self.trick_no == 0)
        return [("play", card) for card in sorted(cards)]

    def apply(self, move: Move) -> None:
        # The types are looked at because True == 1 and 2.0 == 2 would pass for bids.
        well_formed = isinstance(move, tuple) and len(move) == 2 and type(move[1]) in (int, str)
        if not well_formed or move not in self.legal():
            raise ValueError(f"not legal: {move!r}")
        if self.phase == "bidding":
            self._bid(move[1])
        else:
            self._play(move[1])

    def may_hold(self, seat: int) -> set[str]:
        return set(self._may[seat])

    def _bid(self, bid: int) -> None:
        self.bids[self.seat] = bid
        if any(self.bids[seat] is None for seat in self.active):
            self.seat = self._right_of(self.seat)
            return
        if (
            len(self.active) == 4
            and sum(self.bids) < self.rules["min_total_bid"]
            and self.redeals < self.rules["max_redeals"]
        ):
            self.redeals += 1  # H2: the same deal, by the same dealer
            self._deal_cards()
            return
        self.phase = "playing"
        self.seat = self.leader

    def _play(self, card: str) -> None:
        seat = self.seat
        if self.trump is None:
            self.trump = suit_of(card)  # H6: the first card led in the deal
        self._may[seat] -= proved_absent(card, self.trick, self.trump, self.rules, self.trick_no == 0)
        for mask in self._may:
            mask.discard(card)
        self.hands[seat].remove(card)
        self.played[seat].append(card)
        self.trick.append((seat, card))
        if len(self.trick) < len(self.active):  # R15: as many cards as players
            self.seat = self._right_of(seat)
            return

        winner = trick_winner(self.trick, self.trump)
        self.tricks_won[winner] += 1
        self.last_trick_winner = winner
        self.leader = winner  # R6
        self.seat = winner
        self.trick = []
        self.trick_no += 1
        if self.trick_no == 13:
            self._finish_deal()

    def _finish_deal(self) -> None:
        self.points = deal_points(self.bids, self.tricks_won, self.rules)
        extra = self.deal == self.rules["deals"]
        if extra:
            # R15: ties among the players of the extra deal share, and the totals stay as they are.
            self._end(self._top(self.points))
            return
        self.totals = [total + point for total, point in zip(self.totals, self.points, strict=True)]
        # R3, R15: right as always, whether or not that seat is tied.
        next_dealer = (self.dealer + 1) % 4
        if self.deal + 1 < self.rules["deals"]:
            self._start_deal(self.deal + 1, next_dealer, [0, 1, 2, 3])
            return
        top = self._top(self.totals)  # R14
        if top in sides(self.rules) or self.rules["tie"] == "shared":  # H8
            self._end(top)
        else:
            # R15; H5: two tied sides are all four seats.
            self._start_deal(self.deal + 1, next_dealer, top)

    def _top(self, scores: list[int]) -> list[int]:
        """The seats of this deal with the best score; partners always have the same (H5)."""
        most = max(scores[seat] for seat in self.active)
        return [seat for seat in self.active if scores[seat] == most]

    def _end(self, winners: list[int]) -> None:
        self.winners = winners
        self.phase = "over"
        self.seat = None
