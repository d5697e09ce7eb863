"""The slow reference against positions worked by hand from RULES.md, and against recorded ones."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path

import pytest

from reference import (
    CARDS,
    RANKS,
    SUITS,
    ReferenceMatch,
    deal_points,
    legal_cards,
    proved_absent,
    trick_winner,
)

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"

STANDARD = {
    "deals": 5,
    "min_bid": 2,
    "max_bid": 13,
    "min_total_bid": 0,
    "max_redeals": 10,
    "misdeal": False,
    "bonus_bid": None,
    "bonus_points": 13,
    "partnership": False,
    "trump": "spades",
    "free_spade_lead": False,
    "tie": "extra_deal",
    "must_beat": True,
    "beat_when_trumped": True,
    "undertrump": True,
}
BHOOS = STANDARD | {
    "min_bid": 1,
    "max_bid": 8,
    "free_spade_lead": True,
    "beat_when_trumped": False,
    "undertrump": False,
    "tie": "shared",
}


def rules(**changes) -> dict:
    assert set(changes) <= set(STANDARD)
    return STANDARD | changes


def cards(text: str) -> list[str]:
    return text.split()


def run(suit: str, low: str = "2", high: str = "A") -> list[str]:
    """The cards of suit from low to high."""
    return [rank + suit for rank in RANKS[RANKS.index(low) : RANKS.index(high) + 1]]


def table(text: str) -> list[tuple[int, str]]:
    return list(enumerate(cards(text)))


def deck_for(dealer: int, hands: dict[int, list[str]]) -> list[str]:
    """The deck that deals these hands (by seat) when dealer deals; the rest goes to the bottom."""
    order = [seat for seat in ((dealer + step) % 4 for step in (1, 2, 3, 4)) if seat in hands]
    dealt = [hands[seat][row] for row in range(13) for seat in order]
    return dealt + [card for card in CARDS if card not in dealt]


def one_suit_each(dealer: int, spades: int) -> list[str]:
    """Seat `spades` holds all the spades, so it wins every trick whatever is played."""
    others = [seat for seat in range(4) if seat != spades]
    hands = {spades: run("S")} | {seat: run(suit) for seat, suit in zip(others, "CDH", strict=True)}
    return deck_for(dealer, hands)


def start(options: dict, dealer: int, *decks: list[str]) -> ReferenceMatch:
    return ReferenceMatch(options, dealer, iter(decks).__next__)


def bid(match: ReferenceMatch, *bids: int) -> None:
    for number in bids:
        match.apply(("bid", number))


def play(match: ReferenceMatch, text: str) -> None:
    for card in cards(text):
        match.apply(("play", card))


def play_deal(match: ReferenceMatch) -> None:
    """Play to the end of the deal, always the first legal card in text order."""
    deal = match.deal
    while match.phase == "playing" and match.deal == deal:
        match.apply(match.legal()[0])


def legal(match: ReferenceMatch) -> set[str]:
    return {move[1] for move in match.legal()}


# Dealt out in suit order by dealer 3:
# seat 0: 2C 6C TC AC 5D 9D KD 4H 8H QH 3S 7S JS      seat 1: 3C 7C JC 2D 6D TD AD 5H 9H KH 4S 8S QS
# seat 2: 4C 8C QC 3D 7D JD 2H 6H TH AH 5S 9S KS      seat 3: 5C 9C KC 4D 8D QD 3H 7H JH 2S 6S TS AS
MIXED = list(CARDS)


# --- dealing, bidding, leading ---


def test_cards_go_out_one_at_a_time_from_the_dealers_right():
    match = start(rules(), 2, MIXED)
    assert match.hands[3][:3] == ["2C", "6C", "TC"]
    assert match.hands[0][:3] == ["3C", "7C", "JC"]
    assert match.hands[2][-1] == "AS"
    assert [len(hand) for hand in match.hands] == [13] * 4
    assert (match.phase, match.seat, match.leader, match.dealer, match.deal) == (
        "bidding",
        3,
        3,
        2,
        0,
    )
    assert (match.bids, match.trump, match.decks_used, match.winners) == ([None] * 4, "S", 1, [])


def test_bids_go_round_from_the_dealers_right_and_that_seat_leads():
    match = start(rules(), 2, MIXED)
    assert match.legal() == [("bid", number) for number in range(2, 14)]
    bid(match, 5, 2, 13)
    assert (match.seat, match.bids, match.phase) == (2, [2, 13, None, 5], "bidding")
    bid(match, 4)
    assert (match.seat, match.leader, match.bids, match.phase) == (3, 3, [2, 13, 4, 5], "playing")


def test_bid_limits():
    match = start(BHOOS, 0, MIXED)
    assert match.legal() == [("bid", number) for number in range(1, 9)]


@pytest.mark.parametrize(
    "move",
    [
        ("bid", 1),
        ("bid", 14),
        ("bid", True),
        ("bid", 2.0),
        ("bid", "3"),
        ("play", "2C"),
        None,
        ["bid", 2],
    ],
)
def test_refused_moves_change_nothing(move):
    match = start(rules(), 3, MIXED)
    with pytest.raises(ValueError, match="not legal"):
        match.apply(move)
    assert (match.seat, match.bids) == (0, [None] * 4)


def test_cards_of_others_and_played_cards_are_refused():
    match = start(rules(), 3, MIXED)
    bid(match, 2, 2, 2, 2)
    play(match, "TC")
    for card in ("TC", "QC", "3C", "QS"):  # played; another's; does not beat; does not follow
        with pytest.raises(ValueError, match="not legal"):
            match.apply(("play", card))
    assert match.trick == [(0, "TC")]
    assert legal(match) == {"JC"}


PLAIN_0 = set(cards("2C 6C TC AC 5D 9D KD 4H 8H QH"))
SPADES_0 = set(cards("3S 7S JS"))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, PLAIN_0),
        ({"free_spade_lead": True}, PLAIN_0 | SPADES_0),
        ({"trump": "first_led"}, PLAIN_0 | SPADES_0),
    ],
)
def test_first_lead(options, expected):
    match = start(rules(**options), 3, MIXED)
    bid(match, 2, 2, 2, 2)
    assert legal(match) == expected


def test_later_leads_are_free():
    match = start(rules(), 3, MIXED)
    bid(match, 2, 2, 2, 2)
    play(match, "AC 3C 4C 5C")
    assert (match.trick, match.trick_no, match.leader, match.seat) == ([], 1, 0, 0)
    assert match.tricks_won == [1, 0, 0, 0]
    assert legal(match) == (PLAIN_0 | SPADES_0) - {"AC"}


def test_first_lead_by_a_hand_of_spades_only():
    match = start(rules(), 3, one_suit_each(3, spades=0))
    bid(match, 2, 2, 2, 2)
    assert legal(match) == set(run("S"))
    play(match, "4S")
    assert match.may_hold(0) == set(run("S")) - {"4S"}
    assert match.may_hold(1) == set(CARDS) - {"4S"}


def test_the_first_card_led_makes_the_trump():
    match = start(rules(trump="first_led"), 3, MIXED)
    bid(match, 2, 2, 2)
    assert match.trump is None
    bid(match, 2)
    assert match.trump is None
    play(match, "QH")
    assert match.trump == "H"
    assert legal(match) == {"KH"}
    play(match, "KH AH 3H")
    assert (match.last_trick_winner, match.leader, match.trump) == (2, 2, "H")


def test_a_second_match_deal_forgets_the_first_led_trump():
    match = start(rules(trump="first_led", deals=2), 3, MIXED, MIXED)
    bid(match, 2, 2, 2, 2)
    play_deal(match)
    assert (match.deal, match.dealer, match.leader, match.trump, match.trick_no) == (
        1,
        0,
        1,
        None,
        0,
    )


# --- following: every combination of H10 ---

# Letters present are options that are on: B must_beat, W beat_when_trumped, U undertrump.
H10 = ["BWU", "BW", "BU", "WU", "B", "W", "U", ""]
NOT_BOTH_B_AND_W = ["BU", "WU", "B", "W", "U", ""]
NOT_B = ["WU", "W", "U", ""]
NOT_U = ["BW", "B", "W", ""]


@pytest.mark.parametrize("on", H10)
@pytest.mark.parametrize(
    ("hand", "trick", "trump", "strict", "loose", "loose_for"),
    [
        # Following a plain suit: not trumped, trumped, and unable to beat.
        ("2C TC KC 7S AD", "9C", "S", "TC KC", "2C TC KC", NOT_B),
        ("2C TC KC 7S AD", "9C 4S", "S", "TC KC", "2C TC KC", NOT_BOTH_B_AND_W),
        ("2C 3C AS KH", "9C 8S", "S", "2C 3C", "", []),
        # The card to beat is the best of the led suit, not the one led and not an off-suit ace.
        ("TC QC", "9C JC AD", "S", "QC", "TC QC", NOT_B),
        # Spades led: beat_when_trumped is about plain suits only.
        ("3S JS KD", "9S 2S", "S", "JS", "3S JS", NOT_B),
        ("3S KD", "9S", "S", "3S", "", []),
        # Void in the led suit with spades: no spade yet, one that can be beaten, one that cannot.
        ("2S 7S KD", "9C", "S", "2S 7S", "", []),
        ("2S 9S AS KD", "9C 8S", "S", "9S AS", "", []),
        ("2S 7S KD", "9C 8S", "S", "2S 7S", "2S 7S KD", NOT_U),
        # The spade to beat is the highest, not the last.
        ("7S 9S", "9C 8S 3S", "S", "9S", "", []),
        # Void in both.
        ("2H KD", "9C 8S", "S", "2H KD", "", []),
        ("2H KD", "9S", "S", "2H KD", "", []),
        # Another trump suit: a spade is a plain card.
        ("AS 4H 6H", "9C 5H", "H", "6H", "", []),
        ("AS 4H", "9C 5H", "H", "4H", "AS 4H", NOT_U),
        ("AS KD", "9C", "H", "AS KD", "", []),
        ("2C AC AH", "9C 5H", "H", "AC", "2C AC", NOT_BOTH_B_AND_W),
    ],
)
def test_following(hand, trick, trump, strict, loose, loose_for, on):
    options = rules(must_beat="B" in on, beat_when_trumped="W" in on, undertrump="U" in on)
    expected = loose if on in loose_for else strict
    assert set(legal_cards(cards(hand), table(trick), trump, options, False)) == set(cards(expected))


@pytest.mark.parametrize(
    ("trick", "trump", "winner"),
    [
        ("9C JC 2C TC", "S", 1),
        ("KH AH 2S 3H", "S", 2),
        ("KH 3S 2S AH", "S", 1),
        ("6D AC AH 5D", "S", 0),
        ("6D AS 2H 7D", "H", 2),
        ("TS KS AS", "S", 2),
        ("2C AD", "S", 0),
    ],
)
def test_who_wins_a_trick(trick, trump, winner):
    assert trick_winner(table(trick), trump) == winner


# --- what a play proves ---


@pytest.mark.parametrize(
    ("card", "trick", "trump", "options", "gone"),
    [
        ("3C", "9C", "S", {}, run("C", "T")),
        ("3C", "9C", "S", {"beat_when_trumped": False}, run("C", "T")),
        ("3C", "9C", "S", {"must_beat": False}, []),
        ("3C", "9C 4S", "S", {}, run("C", "T")),
        ("3C", "9C 4S", "S", {"beat_when_trumped": False}, []),
        ("3C", "9C 4S", "S", {"must_beat": False}, []),
        ("3S", "9S", "S", {"beat_when_trumped": False}, run("S", "T")),
        ("3S", "9S", "S", {"must_beat": False}, []),
        ("TC", "9C", "S", {}, []),
        ("2S", "9C", "S", {}, run("C")),
        ("2S", "9C QS", "S", {}, [*run("C"), "KS", "AS"]),
        ("2S", "9C QS", "S", {"undertrump": False}, [*run("C"), "KS", "AS"]),
        ("AS", "9C QS", "S", {}, run("C")),
        ("2D", "9C", "S", {}, run("C") + run("S")),
        ("2D", "9C", "S", {"undertrump": False}, run("C") + run("S")),
        ("2D", "9C QS", "S", {}, run("C") + run("S")),
        ("2D", "9C QS", "S", {"undertrump": False}, [*run("C"), "KS", "AS"]),
        ("2D", "9S", "S", {"undertrump": False}, run("S")),
        ("AS", "9C", "H", {"trump": "first_led"}, run("C") + run("H")),
    ],
)
def test_what_a_play_proves(card, trick, trump, options, gone):
    assert proved_absent(card, table(trick), trump, rules(**options), False) == set(gone)


@pytest.mark.parametrize(
    ("card", "options", "first_trick", "gone"),
    [
        ("AS", {}, True, run("C") + run("D") + run("H")),
        ("AS", {}, False, []),
        ("AC", {}, True, []),
        ("AS", {"free_spade_lead": True}, True, []),
        ("AS", {"trump": "first_led"}, True, []),
    ],
)
def test_what_a_lead_proves(card, options, first_trick, gone):
    assert proved_absent(card, [], "S", rules(**options), first_trick) == set(gone)


def test_may_hold_through_a_trick():
    # MIXED with the ace and the four of diamonds exchanged, so that seat 3 has the ace.
    swap = {"AD": "4D", "4D": "AD"}
    match = start(rules(), 3, [swap.get(card, card) for card in MIXED])
    assert [match.may_hold(seat) for seat in range(4)] == [set(CARDS)] * 4
    bid(match, 2, 2, 2, 2)
    play(match, "KD")
    assert [match.may_hold(seat) for seat in range(4)] == [set(CARDS) - {"KD"}] * 4
    play(match, "6D 3D")
    out = set(CARDS) - set(cards("KD 6D 3D"))
    assert [match.may_hold(seat) for seat in range(4)] == [out, out - {"AD"}, out - {"AD"}, out]
    assert legal(match) == {"AD"}
    play(match, "AD")
    assert [match.may_hold(seat) for seat in range(4)] == [out - {"AD"}] * 4
    assert (match.seat, match.last_trick_winner, match.tricks_won) == (3, 3, [0, 0, 0, 1])
    assert match.played == [["KD"], ["6D"], ["3D"], ["AD"]]


def test_may_hold_starts_afresh_with_each_deal():
    match = start(rules(), 3, one_suit_each(3, spades=0), MIXED)
    bid(match, 2, 2, 2, 2)
    play(match, "AS 2C")
    assert match.may_hold(1) == set(CARDS) - set(run("S")) - {"2C"}
    play_deal(match)
    assert (match.deal, match.phase, match.last_trick_winner) == (1, "bidding", 0)
    assert [match.may_hold(seat) for seat in range(4)] == [set(CARDS)] * 4


# --- scoring ---


@pytest.mark.parametrize(
    ("bids", "tricks", "options", "points"),
    [
        ([4, 4, 4, 2], [7, 3, 0, 3], {}, [43, -40, -40, 21]),
        ([2, 13, 2, 2], [13, 0, 0, 0], {}, [31, -130, -20, -20]),
        ([8, 7, 2, 2], [9, 2, 2, 0], {}, [81, -70, 20, -20]),
        ([8, 7, 2, 2], [9, 2, 2, 0], {"bonus_bid": 8}, [130, -70, 20, -20]),
        ([9, 2, 2, 2], [8, 2, 2, 1], {"bonus_bid": 8}, [-90, 20, 20, -20]),
        ([7, 2, 2, 2], [9, 2, 2, 0], {"bonus_bid": 8}, [72, 20, 20, -20]),
        ([5, 2, 2, 2], [5, 4, 4, 0], {"bonus_bid": 5, "bonus_points": 10}, [100, 22, 22, -20]),
        ([2, 2, 3, 4], [1, 6, 6, 0], {"partnership": True}, [52, 60, 52, 60]),
        ([2, 2, 3, 5], [1, 6, 6, 0], {"partnership": True}, [52, -70, 52, -70]),
        ([4, 2, 4, 2], [1, 2, 8, 2], {"partnership": True, "bonus_bid": 8}, [130, 40, 130, 40]),
        ([4, 2, 4, 2], [7, 6, 0, 0], {"partnership": True, "bonus_bid": 8}, [-80, 42, -80, 42]),
        ([None, 3, None, 2], [0, 4, 0, 9], {}, [0, 31, 0, 27]),
    ],
)
def test_scores(bids, tricks, options, points):
    assert deal_points(bids, tricks, rules(**options)) == points


# --- the end of the match ---


def test_one_winner_and_the_last_deal_stays_visible():
    match = start(rules(deals=1), 0, one_suit_each(0, spades=3))
    bid(match, 2, 2, 3, 2)  # seats 1, 2, 3, 0
    play_deal(match)
    assert (match.phase, match.seat, match.winners, match.legal()) == ("over", None, [3], [])
    assert match.totals == match.points == [-20, -20, -20, 40]
    assert (match.deal, match.dealer, match.active, match.trick) == (0, 0, [0, 1, 2, 3], [])
    assert (match.bids, match.tricks_won, match.hands) == ([2, 2, 2, 3], [0, 0, 0, 13], [[]] * 4)
    assert sorted(match.played[3]) == sorted(run("S"))
    with pytest.raises(ValueError, match="not legal"):
        match.apply(("bid", 2))


def two_tied(**options) -> ReferenceMatch:
    """Seats 0 and 1 win one deal each (31 - 20), so they tie; the extra deal's dealer is seat 2."""
    extra = deck_for(2, {0: run("C"), 1: run("D")})
    decks = [one_suit_each(0, spades=0), one_suit_each(1, spades=1), extra]
    match = start(rules(deals=2, **options), 0, *decks)
    for _ in range(2):
        bid(match, 2, 2, 2, 2)
        play_deal(match)
    return match


def test_extra_deal_of_two():
    # The bids of the extra deal stay under H2's minimum, which holds for four players only.
    match = two_tied(min_total_bid=8)
    assert (match.phase, match.deal, match.dealer, match.active) == ("bidding", 2, 2, [0, 1])
    assert match.totals == [11, 11, -40, -40]
    assert (match.seat, match.leader) == (0, 0)  # seat 3, next to the dealer, is not tied
    assert match.hands == [run("C"), run("D"), [], []]
    assert [len(match.may_hold(seat)) for seat in range(4)] == [52, 52, 0, 0]
    bid(match, 3, 2)
    assert (match.phase, match.bids, match.seat, match.redeals) == (
        "playing",
        [3, 2, None, None],
        0,
        0,
    )
    play(match, "2C")
    assert match.seat == 1
    play(match, "2D")
    assert (match.trick, match.tricks_won, match.leader) == ([], [1, 0, 0, 0], 0)
    assert match.may_hold(0) == set(CARDS) - {"2C", "2D"}
    assert match.may_hold(1) == set(run("D") + run("H")) - {"2D"}
    play_deal(match)
    assert (match.phase, match.winners) == ("over", [0])
    assert match.points == [40, -20, 0, 0]
    assert match.totals == [11, 11, -40, -40]
    assert (match.deal, match.active, match.decks_used, match.last_trick_winner) == (
        2,
        [0, 1],
        3,
        0,
    )


def test_first_lead_is_restricted_in_the_extra_deal_too():
    extra = deck_for(2, {0: [*run("S", "3"), "2C"], 1: run("D")})
    match = start(rules(deals=2), 0, one_suit_each(0, spades=0), one_suit_each(1, spades=1), extra)
    for _ in range(2):
        bid(match, 2, 2, 2, 2)
        play_deal(match)
    bid(match, 2, 2)
    assert legal(match) == {"2C"}


def test_tie_shared():
    match = two_tied(tie="shared")
    assert (match.phase, match.winners, match.totals) == ("over", [0, 1], [11, 11, -40, -40])
    assert (match.deal, match.dealer, match.decks_used) == (1, 1, 2)


def test_extra_deal_of_three_that_ties_again():
    # Seats 0, 1 and 2 win a deal each; in the extra deal seat 2 deals and seat 3 is passed over.
    extra = deck_for(2, {0: [*run("C", "3"), "2D"], 1: [*run("D", "3"), "2C"], 2: run("H")})
    decks = [one_suit_each((3 + deal) % 4, spades=deal) for deal in range(3)]
    match = start(rules(deals=3), 3, *decks, extra)
    for _ in range(3):
        bid(match, 2, 2, 2, 2)
        play_deal(match)
    assert (match.dealer, match.active, match.seat) == (2, [0, 1, 2], 0)
    assert match.totals == [-9, -9, -9, -60]
    bid(match, 13, 2, 2)
    # Twelve clubs win, then the two of diamonds loses to seat 1: 12, 1 and 0 tricks.
    for card in run("C", "3"):
        play(match, card)
        while match.trick:
            match.apply(match.legal()[0])
    play(match, "2D")
    assert legal(match) == {match.hands[1][0]}
    play_deal(match)
    assert match.tricks_won == [12, 1, 0, 0]
    assert match.points == [-130, -20, -20, 0]
    assert (match.phase, match.winners, match.totals) == ("over", [1, 2], [-9, -9, -9, -60])


def test_tied_sides_play_a_full_extra_deal():
    decks = [one_suit_each(0, spades=0), one_suit_each(1, spades=1)]
    decks += [one_suit_each(2, spades=3), one_suit_each(2, spades=3)]
    match = start(rules(deals=2, partnership=True, min_bid=1, min_total_bid=8), 0, *decks)
    bid(match, 2, 2, 2, 2)
    play_deal(match)
    assert match.totals == [49, -40, 49, -40]  # 13 tricks on a bid of 4
    bid(match, 2, 2, 2, 2)
    play_deal(match)
    assert (match.totals, match.deal, match.active, match.dealer) == ([9] * 4, 2, [0, 1, 2, 3], 2)
    bid(match, 1, 2, 2, 2)  # 7: too little, and H2 holds in an extra deal of four
    assert (match.phase, match.redeals, match.dealer, match.deal) == ("bidding", 1, 2, 2)
    bid(match, 2, 2, 2, 2)
    play_deal(match)
    assert (match.winners, match.points, match.totals) == ([1, 3], [-40, 49, -40, 49], [9] * 4)


def test_tied_sides_share():
    decks = [one_suit_each(0, spades=0), one_suit_each(1, spades=1)]
    match = start(rules(deals=2, partnership=True, tie="shared"), 0, *decks)
    for _ in range(2):
        bid(match, 2, 2, 2, 2)
        play_deal(match)
    assert match.winners == [0, 1, 2, 3]


# --- dealing again ---


def test_low_bids_are_dealt_again_until_the_limit():
    match = start(rules(min_total_bid=10, max_redeals=2), 3, MIXED, MIXED[::-1], MIXED)
    bid(match, 2, 3, 2, 2)
    assert (match.phase, match.redeals, match.decks_used, match.deal, match.dealer) == (
        "bidding",
        1,
        2,
        0,
        3,
    )
    assert (match.bids, match.seat, match.hands[0][0]) == ([None] * 4, 0, "AS")
    bid(match, 2, 2, 2, 2)
    assert (match.redeals, match.decks_used) == (2, 3)
    bid(match, 2, 2, 2, 3)
    assert (match.phase, match.bids, match.redeals) == ("playing", [2, 2, 2, 3], 2)


def test_a_total_at_the_minimum_is_played():
    match = start(rules(min_total_bid=10), 3, MIXED)
    bid(match, 3, 3, 2, 2)
    assert (match.phase, match.redeals) == ("playing", 0)


def test_the_redeal_count_starts_again_with_the_next_deal():
    decks = [MIXED, one_suit_each(3, spades=0), MIXED]
    match = start(rules(min_total_bid=9), 3, *decks)
    bid(match, 2, 2, 2, 2)
    bid(match, 2, 2, 2, 3)
    assert match.redeals == 1
    play_deal(match)
    assert (match.deal, match.redeals, match.decks_used) == (1, 0, 3)


@pytest.mark.parametrize("trump", ["spades", "first_led"])
def test_misdeals_use_up_decks(trump):
    # First four hands of one suit; then none of one suit, but seats 1 and 2 have no spade.
    mixed_0, mixed_3 = [*run("C", "3"), "AS"], [*run("S", high="K"), "2C"]
    no_spade = deck_for(3, {0: mixed_0, 1: [*run("D", "3"), "2H"], 2: [*run("H", "3"), "2D"], 3: mixed_3})
    decks = [one_suit_each(3, spades=0), no_spade, MIXED]
    match = start(rules(misdeal=True, trump=trump), 3, *decks)
    assert (match.decks_used, match.redeals, match.dealer) == (3, 0, 3)
    assert match.hands[0] == MIXED[0::4]
    # Without H3 the first deck stands.
    assert start(rules(trump=trump), 3, *decks).decks_used == 1


def test_misdeal_after_a_redeal():
    match = start(rules(misdeal=True, min_total_bid=9), 3, MIXED, one_suit_each(3, spades=1), MIXED)
    bid(match, 2, 2, 2, 2)
    assert (match.phase, match.decks_used, match.redeals) == ("bidding", 3, 1)


def test_misdeal_in_the_extra_deal():
    # Each of seats 0, 1 and 2 comes to one trick: seat 3 leads 2C and seat 2 wins with 4S over 3S;
    # seat 2 leads 3H and seat 0 must trump; seat 3 trumps the club and leads 2D to seat 1; the rest
    # is seat 3's.
    first = {
        0: [*run("C", "3"), "2S"],
        1: [*run("D", "3"), "3S"],
        2: [*run("H", "3"), "4S"],
        3: [*run("S", "5"), "2C", "2D", "2H"],
    }
    decks = [
        deck_for(2, first),
        deck_for(3, {0: run("C"), 1: run("S")}),
        deck_for(3, {0: [*run("C", "3"), "2S"], 1: [*run("S", "3"), "2C"]}),
    ]
    match = start(rules(deals=1, min_bid=1, misdeal=True), 2, *decks)
    bid(match, 11, 1, 1, 2)
    play_deal(match)
    assert match.totals == [10, 10, -20, -110]
    assert (match.active, match.decks_used, match.deal, match.dealer) == ([0, 1], 3, 1, 3)
    assert match.hands[1] == [*run("S", "3"), "2C"]


# --- whole matches ---


@pytest.mark.parametrize("trump", ["spades", "first_led"])
@pytest.mark.parametrize(
    ("must_beat", "beat_when_trumped", "undertrump"),
    list(itertools.product([True, False], repeat=3)),
)
def test_random_matches_keep_the_books(trump, must_beat, beat_when_trumped, undertrump):
    """Whatever is played, true hands stay within what the plays prove, and the tricks add up."""
    rng = random.Random(f"{trump}{must_beat}{beat_when_trumped}{undertrump}")
    options = rules(
        deals=2,
        min_bid=1,
        max_bid=4,
        min_total_bid=7,
        max_redeals=2,
        trump=trump,
        must_beat=must_beat,
        beat_when_trumped=beat_when_trumped,
        undertrump=undertrump,
    )
    for _ in range(6):
        match = ReferenceMatch(options, rng.randrange(4), lambda: rng.sample(CARDS, 52))
        while match.phase != "over":
            moves = match.legal()
            assert moves == sorted(set(moves))
            assert moves
            assert sum(match.tricks_won) == match.trick_no < 13
            for seat in range(4):
                assert set(match.hands[seat]) <= match.may_hold(seat)
            match.apply(rng.choice(moves))
        assert sum(match.tricks_won) == 13
        assert match.winners


# --- the recorded positions ---


def recorded_positions(kind: str) -> list[dict]:
    path = DATA / "positions.jsonl"
    if not path.is_file():
        pytest.skip("shared/data/positions.jsonl is not here")
    found = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    return [position for position in found if position["type"] == kind]


def ace(text: list[str]) -> list[str]:
    """The data files write the ace as 1."""
    return [card.replace("1", "A") for card in text]


def replay(position: dict, options: dict) -> ReferenceMatch:
    hands = {seat: ace(hand) for seat, hand in enumerate(position["deal"])}
    match = start(options, position["dealer"], deck_for(position["dealer"], hands))
    while match.phase == "bidding":
        bid(match, position["bids"][match.seat])
    play(match, " ".join(ace(position["prefix"])))
    assert (match.trick_no + 1, match.tricks_won) == (position["trick_no"], position["won"])
    assert match.trick == [(seat, *ace([card])) for seat, card in position["trick"]]
    assert match.seat == position["turn"]
    assert [sorted(hand) for hand in match.hands] == [sorted(ace(hand)) for hand in position["hands"]]
    return match


def test_recorded_legal_sets():
    for position in recorded_positions("legal"):
        match = replay(position, STANDARD)
        assert legal(match) == set(ace(position["expect"]["legal"])), position["id"]
        refused = set(match.hands[match.seat]) - legal(match)
        assert refused == set(ace(position["expect"]["illegal"])), position["id"]
        assert legal(replay(position, BHOOS)) == set(ace(position["alt"]["bhoos"])), position["id"]


def test_recorded_refusals():
    by_id = {position["id"]: position for position in recorded_positions("legal")}
    for line in recorded_positions("illegal"):
        match = replay(by_id[line["position"]], STANDARD)
        for card in ace([line["play"], line["play_also"]]):
            with pytest.raises(ValueError, match="not legal"):
                match.apply(("play", card))


def test_recorded_trick_winners():
    for line in recorded_positions("winner"):
        if "deal" in line:
            match = replay(line, STANDARD)
            play(match, *ace([line["play"]]))
            assert match.seat == line["expect"]["next_to_play"], line["id"]
            winner = match.last_trick_winner
        else:
            seats = [(line["leader"] + place) % 4 for place in range(4)]
            winner = trick_winner(list(zip(seats, ace(line["cards"]), strict=True)), "S")
        assert winner == line["expect"]["winner"], line["id"]


def test_recorded_voids():
    for line in recorded_positions("information"):
        match = replay(line, STANDARD)
        for seat in set(range(4)) - {line["turn"]}:
            left = {card[1] for card in match.may_hold(seat)}
            expected = set(line["expect"]["voids"].get(str(seat), ""))
            assert set(SUITS) - left == expected, (line["id"], seat)


def test_recorded_scores_and_bids():
    for line in recorded_positions("score"):
        for case in line["cases"]:
            points = deal_points([case["bid"], 2, 2, 2], [case["won"], 0, 0, 0], STANDARD)
            assert points[0] == case["tenths"]
    for line in recorded_positions("match"):
        totals = [0, 0, 0, 0]
        for played, after in zip(line["rounds"], line["expect"]["tenths_after_each"], strict=True):
            points = deal_points(played["bids"], played["won"], STANDARD)
            assert points == played["tenths"]
            totals = [total + point for total, point in zip(totals, points, strict=True)]
            assert totals == after
    for line in recorded_positions("bid"):
        assert [move[1] for move in start(STANDARD, 0, MIXED).legal()] == line["legal"]
        assert [move[1] for move in start(BHOOS, 0, MIXED).legal()] == line["alt"]["bhoos"]
        for number in line["illegal"]:
            with pytest.raises(ValueError, match="not legal"):
                start(STANDARD, 0, MIXED).apply(("bid", number))


def test_recorded_bot_match():
    path = DATA / "bhoos" / "match_complete.json"
    if not path.is_file():
        pytest.skip("shared/data/bhoos/match_complete.json is not here")
    for played in json.loads(path.read_text())["rounds"]:
        hands = {seat: ace(hand) for seat, hand in enumerate(played["cards"])}
        match = start(BHOOS | {"deals": 1}, played["dealer"], deck_for(played["dealer"], hands))
        while match.phase == "bidding":
            bid(match, played["bids"][match.seat])
        for trick in played["actions"]:
            assert match.leader == trick["started"]
            play(match, " ".join(ace(trick["cards"])))
            assert match.last_trick_winner == trick["ended"]
        assert match.phase == "over"
