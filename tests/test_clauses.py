"""One test or more for each clause of the rules, named after it, on positions built by hand.

Seats: the dealer is seat 3 unless said, so that seat 0 bids first and leads.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from callbreak_env import Match, Rules, deal_points
from callbreak_env.cards import parse_card
from callbreak_env.engine.state import REDEAL
from tables import (
    SUIT_HANDS,
    TWELVE,
    accepts,
    bid_all,
    cards,
    deck,
    legal,
    may_hold,
    place,
    play_out,
    refuses,
)

ALL = set(range(52))
CLUBS, DIAMONDS, HEARTS, SPADES = ({13 * suit + rank for rank in range(13)} for suit in range(4))
ONE_DEAL = Rules(deals=1)


def above(card: str) -> set[int]:
    """The higher cards of its suit."""
    number = parse_card(card)
    return {other for other in ALL if other // 13 == number // 13 and other > number}


# R1-R4: cards, seats, dealing


def test_R1_four_players_hold_the_52_cards() -> None:
    hands = Match(seed=1).hands
    assert [len(hand) for hand in hands] == [13] * 4
    assert sorted(card for hand in hands for card in hand) == list(range(52))


@pytest.mark.parametrize(("low", "high"), list(zip("23456789TJQK", "3456789TJQKA", strict=True)))
def test_R1_ranks_go_from_two_to_ace(low: str, high: str) -> None:
    void = SUIT_HANDS[1], SUIT_HANDS[0]
    up = place(f"{low}H", f"{high}H", *void, plays=f"{low}H {high}H 2D 2C")
    assert up.last_winner == 1
    down = place(f"{high}H", f"{low}H", *void, rules=Rules(must_beat=False), plays=f"{high}H {low}H 2D 2C")
    assert down.last_winner == 0


def play_out_trick(match: Match) -> None:
    for _ in range(4 - len(match.trick)):
        others = [card for card in match.legal_actions() if card // 13 != 3]
        match.apply(others[0] if others else match.legal_actions()[0])


def test_R2_any_spade_beats_any_card_of_another_suit() -> None:
    match = place("AH", "23456789TJQK:D 2S", "KH", "QH", plays="AH 2S KH QH")
    assert match.last_winner == 1
    assert match.trump == 3


@pytest.mark.parametrize("first", range(4))
def test_R3_play_goes_counter_clockwise_and_the_deal_passes_right(first: int) -> None:
    match = Match(Rules(deals=6), seed=5, dealer=first)
    for deal in range(6):
        assert match.dealer == (first + deal) % 4
        order = []
        for _ in range(4):
            order.append(match.seat)
            match.apply(match.legal_actions()[0])
        assert order == [(first + deal + 1 + i) % 4 for i in range(4)]
        assert [match.seat, *(play_one(match) for _ in range(3))] == order
        play_out(match)


def play_one(match: Match) -> int | None:
    match.apply(match.legal_actions()[0])
    return match.seat


def test_R3_the_first_dealer_is_drawn_from_all_seats_alike() -> None:
    dealers = [Match(seed=9, number=number).dealer for number in range(400)]
    assert all(70 < dealers.count(seat) < 130 for seat in range(4))
    assert [Match(seed=9, number=number).dealer for number in range(400)] == dealers


@pytest.mark.parametrize("dealer", range(4))
def test_R4_one_card_at_a_time_from_the_dealers_right(dealer: int) -> None:
    order = list(range(51, -1, -1))
    match = Match(dealer=dealer, decks=[order])
    for chair in range(4):
        assert match.hands[(dealer + 1 + chair) % 4] == sorted(order[chair::4])


def test_R4_a_card_that_is_not_held_cannot_be_played() -> None:
    match = place("AH", "KH", "", "")
    refuses(match, "KH", "R4", "seat 0 cannot play K♥: R4 does not hold that card")
    match.apply(cards("AH")[0])
    refuses(match, "AH", "R4")


# R5: bidding


def test_R5_each_bids_once_from_the_dealers_right() -> None:
    match = Match(seed=2, dealer=1)
    seats = []
    for bid in (2, 13, 5, 7):
        seats.append(match.seat)
        bid_all(match, bid)
    assert seats == [2, 3, 0, 1]
    assert match.bids == [5, 7, 2, 13]
    assert match.phase == "playing"
    refuses(match, "bid 2", "R5", "each seat bids once")


def test_R5_bids_are_two_to_thirteen_and_there_is_no_pass() -> None:
    match = Match(seed=2)
    assert legal(match) == {f"bid {bid}" for bid in range(2, 14)}
    refuses(match, "bid 1", "R5", "bids are 2 to 13")
    assert match.bids == [None] * 4


def test_R5_no_card_before_all_have_bid() -> None:
    match = Match(seed=2, dealer=3)
    for seat in range(4):
        refuses(match, "AS", "R5", f"seat {seat} cannot play A♠: R5 every seat bids")
        bid_all(match, 2)


# R6-R7: leading


def test_R6_the_first_bidder_leads_then_the_winner_of_each_trick() -> None:
    match = place("2H 3C", "AH AC", "3H 4C", "4H 5C", plays="2H AH 3H 4H")
    assert match.last_winner == match.leader == match.seat == 1
    match.apply(cards("AC")[0])
    assert match.seat == 2
    assert match.trick == [(1, cards("AC")[0])]


def test_R7_no_spade_leads_the_first_trick() -> None:
    match = place("AKQ:S 2:H 34:D", "", "", "")
    held = match.hands[0]
    accepts(match, " ".join(text(card) for card in held if card not in SPADES))
    refuses(match, "AS", "R7", "a spade may not lead the first trick")


def text(card: int) -> str:
    return "23456789TJQKA"[card % 13] + "CDHS"[card // 13]


def test_R7_a_leader_with_only_spades_leads_one() -> None:
    match = place(SUIT_HANDS[3], *SUIT_HANDS[:3])
    accepts(match, "23456789TJQKA:S")


def test_R7_later_leads_are_free() -> None:
    match = place("AH KS", "2H", "3H", "4H", plays="AH 2H 3H 4H")
    assert match.seat == 0
    accepts(match, " ".join(text(card) for card in match.hands[0]))
    match.apply(cards("KS")[0])


def test_R7_holds_in_every_deal_and_in_the_extra_deal() -> None:
    extra = deck("AS AH", "", "", "")
    match = place(*TWELVE, rules=ONE_DEAL, bids=(2, 2, 3, 13), more_decks=[extra])
    play_out(match)
    bid_all(match, 2, 2)
    leader = match.seat
    spades = [card for card in match.hands[leader] if card in SPADES]
    assert spades
    assert not set(spades) & set(match.legal_actions())


def test_R7_proof_a_spade_led_first_shows_a_hand_of_spades() -> None:
    match = place(SUIT_HANDS[3], *SUIT_HANDS[:3], plays="5S")
    assert may_hold(match, 0) == SPADES - set(cards("5S"))
    assert may_hold(match, 1) == ALL - set(cards("5S"))


# R8: following suit


def test_R8_the_led_suit_must_be_followed_and_beaten_if_able() -> None:
    match = place("9H 3D", "TH JH 2H AS AC", "", "", plays="9H")
    assert {"TH", "JH"} <= legal(match)
    assert legal(match) <= {text(card) for card in HEARTS & above("9H")}
    refuses(match, "2H", "R8", "R8 holds a card that beats 9♥")
    refuses(match, "AS", "R8", "R8 holds hearts, the led suit")
    refuses(match, "AC", "R8", "R8 holds hearts, the led suit")


def test_R8_any_card_of_the_suit_where_none_beats() -> None:
    match = place("AH", "TH 2H AS 23456789TJ:D", "", "", plays="AH")
    accepts(match, "TH 2H")


def test_R8_the_card_to_beat_is_the_highest_not_the_led_one() -> None:
    match = place("3C", "7C 23456789TJQK:D", "KC AC 4C 2C 23456789T:H", "", plays="3C 7C")
    accepts(match, "KC AC")


def test_R8_holds_also_when_the_trick_is_trumped() -> None:
    match = place("8D", "3S 23456789TJQK:H", "KD 3D KS 23456789TJ:C", "", plays="8D 3S")
    accepts(match, "KD")
    refuses(match, "3D", "R8", "beats 8♦")
    refuses(match, "KS", "R8", "holds diamonds, the led suit")


def test_R8_a_trumped_trick_that_cannot_be_beaten_is_followed_freely() -> None:
    match = place("JC", "KS 23456789TJQK:H", "8C 6C AS 23456789TJ:D", "", plays="JC KS")
    accepts(match, "8C 6C")


def test_R8_holds_when_spades_are_led() -> None:
    match = place("AH 2S", "2H QS", "3H 3S KS JS 8S 23456789:D", "4H", plays="AH 2H 3H 4H 2S QS")
    accepts(match, "KS")
    refuses(match, "JS", "R8", "beats Q♠")
    refuses(match, "9D", "R8", "holds spades, the led suit")


def test_R8_proof_a_lower_card_shows_no_higher_one() -> None:
    match = place("9H", "2H AS 23456789TJQ:D", "", "", plays="9H 2H")
    assert may_hold(match, 1) == ALL - set(cards("9H 2H")) - above("9H")


def test_R8_proof_a_lower_card_on_a_trumped_trick_shows_no_higher_one() -> None:
    match = place("9H", "3S 23456789TJQK:D", "2H AS 23456789TJQ:C", "", plays="9H 3S 2H")
    assert may_hold(match, 2) == ALL - set(cards("9H 3S 2H")) - above("9H")


def test_R8_proof_a_lower_trump_on_a_trump_lead_shows_no_higher_one() -> None:
    match = place("AH 9S", "2H 2S 3456789TJQK:D", "3H", "4H", plays="AH 2H 3H 4H 9S 2S")
    assert may_hold(match, 1) == ALL - set(cards("AH 2H 3H 4H 9S 2S")) - above("9S")


def test_R8_proof_a_higher_card_shows_nothing() -> None:
    match = place("9H", "TH AH 23456789TJQ:D", "", "", plays="9H TH")
    assert may_hold(match, 1) == ALL - set(cards("9H TH"))


def test_R8_proof_not_following_shows_a_void() -> None:
    match = place("9H", "3S 23456789TJQK:D", "", "", plays="9H 3S")
    assert may_hold(match, 1) == ALL - set(cards("3S")) - HEARTS


# R9-R11: trumps, discards, winners


def test_R9_void_a_spade_must_be_played() -> None:
    match = place("2D", "QS 3S 8765432:H 5432:C", "", "", plays="2D")
    accepts(match, "QS 3S")
    refuses(match, "8H", "R9", "R9 holds spades, which are trumps, void in diamonds")


def test_R9_a_spade_in_the_trick_must_be_beaten_if_able() -> None:
    match = place("6H", "4S 23456789TJQK:D", "QS 8S 3S 2S 23456789T:C", "", plays="6H 4S")
    accepts(match, "QS 8S")
    refuses(match, "3S", "R9", "R9 holds a trump that beats 4♠")
    refuses(match, "9C", "R9", "R9 holds spades, which are trumps")


def test_R9_the_spade_to_beat_is_the_highest_not_the_last() -> None:
    hands = (SUIT_HANDS[1], "8S 23456789TJQK:H", "5S 23456789TJQK:C", "9S 7S 4S 6S 23TJQKA:S AH AC")
    match = place(*hands, plays="QD 8S 5S")
    accepts(match, "9TJQKA:S")
    refuses(match, "7S", "R9", "beats 8♠")


def play(match: Match, text_: str) -> None:
    for card in cards(text_):
        match.apply(card)


def test_R9_a_spade_too_low_is_still_forced() -> None:
    match = place("3H 4H", "AS 23456789TJQK:D", "6S 3S 2S 23456789TJ:C", "", plays="3H AS")
    accepts(match, "6S 3S 2S")
    refuses(match, "9C", "R9")


def test_R9_proof_a_low_trump_shows_no_higher_one() -> None:
    match = place("3H", "TS 23456789TJQK:D", "6S 23456789TJQK:C", "", plays="3H TS 6S")
    assert may_hold(match, 2) == ALL - set(cards("3H TS 6S")) - HEARTS - above("TS")


def test_R9_proof_a_high_trump_shows_only_the_void() -> None:
    match = place("3H", "TS 23456789TJQK:D", "JS 23456789TJQK:C", "", plays="3H TS JS")
    assert may_hold(match, 2) == ALL - set(cards("3H TS JS")) - HEARTS


def test_R9_proof_a_discard_shows_no_trump_at_all() -> None:
    plain = place("3H", SUIT_HANDS[1], "", "", plays="3H 2D")
    assert may_hold(plain, 1) == ALL - set(cards("3H 2D")) - HEARTS - SPADES
    trumped = place("3H", "TS 23456789TJQK:D", SUIT_HANDS[0], "", plays="3H TS 2C")
    assert may_hold(trumped, 2) == ALL - set(cards("3H TS 2C")) - HEARTS - SPADES


def test_R10_void_in_both_any_card_and_it_cannot_win() -> None:
    match = place("8H", "QC 6C AD 23456789TJ:D", "9H", "TH", plays="8H")
    accepts(match, "QC 6C AD 23456789TJ:D")
    play(match, "AD 9H TH")
    assert match.last_winner == 3


def test_R11_the_highest_spade_wins() -> None:
    hearts, clubs, spades = "23456789TJQK:H", "23456789TJQK:C", "AH AC 2679TJQKA:S 3S 4S"
    rising = place(SUIT_HANDS[1], f"5S {hearts}", f"8S {clubs}", spades, plays="2D 5S 8S 9S")
    assert rising.last_winner == 3
    falling = place("2D", f"AS {hearts}", f"5S {clubs}", "3D", plays="2D AS 5S 3D")
    assert falling.last_winner == 1


def test_R11_without_spades_the_highest_of_the_led_suit_wins() -> None:
    third = place("3D", SUIT_HANDS[2], "TD KD 2C", "4D", plays="3D AH TD 4D")
    assert third.last_winner == 2
    leader = place("AD", SUIT_HANDS[2], SUIT_HANDS[0], "4D", plays="AD AH AC 4D")
    assert leader.last_winner == 0


def test_R11_a_led_suit_card_above_does_not_beat_a_trump() -> None:
    match = place("3D", "2S 23456789TJQK:H", "AD 2C", "4D", plays="3D 2S AD 4D")
    assert match.last_winner == 1


# R12-R15: scoring, matches, ties


@pytest.mark.parametrize(
    ("bid", "won", "tenths"),
    [(4, 4, 40), (4, 7, 43), (2, 2, 20), (2, 12, 30), (2, 13, 31), (3, 13, 40), (13, 13, 130), (1, 13, 22)],
)
def test_R12_made_scores_the_bid_and_a_tenth_an_overtrick(bid: int, won: int, tenths: int) -> None:
    assert deal_points([bid, None, None, None], [won, 0, 0, 0])[0] == tenths


@pytest.mark.parametrize(("bid", "won"), [(4, 3), (4, 0), (13, 12), (2, 1), (5, 4)])
def test_R13_failed_costs_the_bid_however_short(bid: int, won: int) -> None:
    assert deal_points([bid, None, None, None], [won, 0, 0, 0])[0] == -10 * bid


def test_R12_R13_in_a_deal_that_is_played() -> None:
    match = play_out(place(*SUIT_HANDS, bids=(2, 3, 4, 5)))
    assert match.points == [-20, -30, -40, 58]
    assert match.totals == match.points


def test_R14_five_deals_and_the_highest_total_wins_even_below_zero() -> None:
    match = place(*TWELVE, bids=(2, 3, 4, 13), more_decks=[deck(*TWELVE, dealer=d) for d in range(4)])
    for _ in range(4):
        play_out(match)
        assert match.phase == "bidding"
        bid_all(match, *[{0: 2, 1: 3, 2: 4, 3: 13}[(match.dealer + 1 + i) % 4] for i in range(4)])
    assert match.deal == 4
    play_out(match)
    assert match.is_over
    assert match.seat is None
    assert match.legal_actions() == []
    assert max(match.totals) < 0
    assert match.winners == (match.totals.index(max(match.totals)),)
    with pytest.raises(ValueError, match="nobody can bid 2: R14 the match is over"):
        match.apply(53)


def extra(bids: tuple[int, ...], *decks: list[int], rules: Rules = ONE_DEAL) -> Match:
    """One deal that ends with all bids failed; the lowest bids tie at the top."""
    return play_out(place(*TWELVE, rules=rules, bids=bids, more_decks=decks))


@pytest.mark.parametrize(
    ("bids", "tied"),
    [((2, 2, 3, 13), (0, 1)), ((2, 3, 2, 13), (0, 2)), ((3, 2, 2, 13), (1, 2)), ((2, 2, 2, 13), (0, 1, 2))],
)
def test_R15_the_tied_players_alone_play_an_extra_deal(bids: tuple[int, ...], tied: tuple[int, ...]) -> None:
    order = list(range(52))
    match = extra(bids, order)
    assert not match.is_over
    assert match.is_extra_deal
    assert match.deal == 1
    assert match.active == tied
    assert match.dealer == 0  # one seat right of 3, tied or not
    chairs = [(match.dealer + 1 + i) % 4 for i in range(4)]
    chairs = [seat for seat in chairs if seat in tied]
    assert match.seat == chairs[0]
    for place_, seat in enumerate(chairs):
        dealt = order[place_ : 13 * len(chairs) : len(chairs)]
        assert match.hands[seat] == dealt
    assert all(match.hands[seat] == [] for seat in range(4) if seat not in tied)
    totals = match.totals
    bid_all(match, *[2] * len(tied))
    assert match.bids == [2 if seat in tied else None for seat in range(4)]
    assert match.seat == chairs[0]
    for _ in chairs:
        match.apply(match.legal_actions()[0])
    assert match.trick == []
    assert sum(match.tricks_won) == 1
    play_out(match)
    assert match.is_over
    assert sum(match.tricks_won) == 13
    assert match.totals == totals
    best = max(match.points[seat] for seat in tied)
    assert match.winners == tuple(seat for seat in tied if match.points[seat] == best)
    assert all(match.points[seat] == 0 for seat in range(4) if seat not in tied)


def test_R15_four_tied_players_play_a_whole_deal() -> None:
    match = extra((13, 13, 13, 13))
    assert match.active == (0, 1, 2, 3)
    assert match.is_extra_deal
    assert [len(hand) for hand in match.hands] == [13] * 4


def test_R15_the_highest_score_in_the_extra_deal_wins() -> None:
    # Seat 1, first at the dealer's right, gets all spades, seat 0 all hearts, in turn.
    pairs = zip(sorted(SPADES), sorted(HEARTS), strict=True)
    match = extra((2, 2, 3, 13), [card for pair in pairs for card in pair] + sorted(CLUBS | DIAMONDS))
    bid_all(match, 5, 2)
    play_out(match)
    assert match.points == [-20, 58, 0, 0]
    assert match.winners == (1,)


def test_R15_a_second_tie_is_shared_by_those_who_tie_in_it() -> None:
    match = extra((2, 2, 2, 13))
    bid_all(match, 13, 13, 13)
    play_out(match)
    assert match.is_over
    assert match.points == [-130, -130, -130, 0]
    assert match.winners == (0, 1, 2)


def test_R15_an_untied_player_cannot_win_any_more() -> None:
    match = extra((2, 2, 3, 13))
    bid_all(match, 13, 13)
    play_out(match)
    assert match.totals[2] == -30
    assert match.points[:2] == [-130, -130]
    assert match.winners == (0, 1)


# H1-H10: house rules


@pytest.mark.parametrize("deals", [1, 7, 9])
def test_H1_any_number_of_deals(deals: int) -> None:
    match = Match(Rules(deals=deals, tie="shared"), seed=3)
    ended = 0
    while not match.is_over:
        assert match.deal == ended
        play_out(match)
        ended += 1
    assert ended == deals


def test_H2_bids_below_the_minimum_are_dealt_again_by_the_same_dealer() -> None:
    match = Match("min_total", seed=4, dealer=2)
    first = match.hands
    bid_all(match, 2, 2, 3)
    assert match.apply(51 + 2) == REDEAL  # 9
    assert match.dealer == 2
    assert match.deal == 0
    assert match.redeals == 1
    assert match.phase == "bidding"
    assert match.bids == [None] * 4
    assert match.hands != first
    assert match.seat == 3
    assert match.totals == [0] * 4
    bid_all(match, 2, 2, 3, 3)  # 10
    assert match.phase == "playing"


def test_H2_after_the_bound_the_deal_is_played_as_bid() -> None:
    match = Match(Rules(min_total_bid=10, max_redeals=2, deals=2), seed=4)
    for redeals in (1, 2):
        bid_all(match, 2, 2, 2, 2)
        assert (match.phase, match.redeals) == ("bidding", redeals)
    bid_all(match, 2, 2, 2, 2)
    assert match.phase == "playing"
    play_out(match)
    assert match.redeals == 0
    bid_all(match, 2, 2, 2, 2)
    assert (match.phase, match.redeals, match.deal) == ("bidding", 1, 1)


def test_H2_is_off_by_default_and_without_redeals() -> None:
    for rules in (Rules(), Rules(min_total_bid=52, max_redeals=0)):
        match = Match(rules, seed=1)
        bid_all(match, 2, 2, 2, 2)
        assert match.phase == "playing"


def test_H2_does_not_apply_to_an_extra_deal_of_fewer_than_four() -> None:
    rules = Rules(deals=1, min_total_bid=18)
    match = extra((2, 2, 3, 13), rules=rules)
    bid_all(match, 2, 2)
    assert match.phase == "playing"
    four = extra((13, 13, 13, 13), rules=rules)
    bid_all(four, 2, 2, 2, 2)
    assert (four.phase, four.redeals) == ("bidding", 1)


def no_spade(seat: int) -> list[int]:
    """A deck that leaves this seat alone without a spade (dealer 3)."""
    hands = ["23456789TJQK:C 2D", "AC 2S", "3S", "4S"]
    return deck(*hands[-seat:], *hands[:-seat]) if seat else deck(*hands)


@pytest.mark.parametrize("seat", range(4))
def test_H3_a_hand_without_a_spade_is_dealt_again_at_once(seat: int) -> None:
    good = deck("2S AC", "3S", "4S", "5S")
    match = Match("misdeal", dealer=3, decks=[no_spade(seat), no_spade(seat), good])
    assert cards("2S AC")[0] in match.hands[0]
    assert cards("2S AC")[1] in match.hands[0]
    assert match.record_array["deck"][0] == 3
    assert (match.dealer, match.redeals, match.deal) == (3, 0, 0)
    off = Match(dealer=3, decks=[no_spade(seat), good])
    assert not set(off.hands[seat]) & SPADES
    assert all(set(off.hands[other]) & SPADES for other in range(4) if other != seat)


def test_H3_a_hand_of_one_suit_is_dealt_again() -> None:
    good = deck("2S AC", "3S", "4S", "5S")
    match = Match("misdeal", dealer=3, decks=[deck(*SUIT_HANDS), good])
    assert parse_card("2S") in match.hands[0]


def test_H3_means_spades_also_under_first_led_trump_and_after_a_redeal() -> None:
    good = deck("2S AC", "3S", "4S", "5S")
    rules = Rules(misdeal=True, trump="first_led", min_total_bid=52)
    match = Match(rules, dealer=3, decks=[good, no_spade(0), good])
    bid_all(match, 2, 2, 2, 2)
    assert parse_card("2S") in match.hands[0]
    assert match.record_array["deck"][0] == 3


def test_H3_holds_in_the_extra_deal_and_only_the_seats_dealt_in_count() -> None:
    # Seat 0 wins one trick as in TWELVE, and every hand has a spade, so that the first deck stands.
    first = deck("3456789TJQA:C 2S KH", "KC 23456789TJQ:D 3S", "23456789TJQA:H 4S", "2C KD AD 56789TJQKA:S")
    no_spade = sorted(CLUBS | DIAMONDS | HEARTS) + sorted(SPADES)  # two seats get clubs and diamonds
    one_spade_each = sorted(SPADES)[:2] + sorted(ALL - set(sorted(SPADES)[:2]))  # the rest stays out of play
    match = Match(Rules(deals=1, misdeal=True), dealer=3, decks=[first, no_spade, one_spade_each])
    assert match.record_array["deck"][0] == 1
    bid_all(match, 2, 2, 3, 13)
    while not match.is_extra_deal and not match.is_over:
        match.apply(match.legal_actions()[0])
    assert match.active == (0, 1)
    assert len(match.active) == 2
    assert match.record_array["deck"][0] == 3
    assert all(len(set(match.hands[seat]) & SPADES) == 1 for seat in match.active)


def test_H3_only_the_seats_dealt_in_count() -> None:
    found = 0
    for number in range(300):
        match = Match(Rules(deals=1, misdeal=True, min_bid=2, max_bid=3), seed=6, number=number)
        play_out(match)
        if match.is_extra_deal and not match.is_over:
            found += 1
            for seat in match.active:
                assert set(match.hands[seat]) & SPADES
    assert found > 3


@pytest.mark.parametrize(
    ("bid", "won", "tenths"), [(8, 8, 130), (8, 11, 130), (9, 9, 130), (7, 9, 72), (8, 7, -80)]
)
def test_H4_a_bonus_bid_made_scores_flat(bid: int, won: int, tenths: int) -> None:
    assert deal_points([bid, None, None, None], [won, 0, 0, 0], "bonus")[0] == tenths
    other = replace(Rules(), bonus_bid=bid, bonus_points=20)
    assert deal_points([bid, None, None, None], [won, 0, 0, 0], other)[0] == (
        200 if won >= bid else -10 * bid
    )


def test_H4_in_a_deal_that_is_played_and_by_the_sides_combined_bid() -> None:
    assert play_out(place(*SUIT_HANDS, rules="bonus", bids=(2, 2, 2, 8))).points == [-20, -20, -20, 130]
    sides = Rules(partnership=True, bonus_bid=8)
    assert play_out(place(*SUIT_HANDS, rules=sides, bids=(4, 4, 4, 4))).points == [-80, 130, -80, 130]
    assert play_out(place(*SUIT_HANDS, rules=sides, bids=(4, 3, 4, 4))).points == [-80, 76, -80, 76]


def test_H5_bids_and_tricks_of_partners_are_added() -> None:
    match = play_out(place(*SUIT_HANDS, rules="partnership", bids=(2, 5, 3, 6)))
    assert match.points == [-50, 112, -50, 112]
    assert deal_points([2, 3, 4, 5], [3, 3, 2, 5], "partnership") == [-60, 80, -60, 80]


def test_H5_the_side_wins_and_a_tie_of_sides_is_played_off_by_all_four() -> None:
    rules = Rules(deals=1, partnership=True)
    match = play_out(place(*SUIT_HANDS, rules=rules, bids=(2, 5, 3, 6)))
    assert match.is_over
    assert match.winners == (1, 3)
    # Seat 0 wins one trick, seat 3 twelve: 0 + 2 fail at 15, 1 + 3 fail at 15.
    tied = play_out(place(*TWELVE, rules=rules, bids=(2, 2, 13, 13)))
    assert tied.active == (0, 1, 2, 3)
    assert tied.is_extra_deal
    bid_all(tied, 13, 13, 13, 13)
    play_out(tied)
    assert tied.winners == (0, 1, 2, 3)


def test_H6_the_first_led_suit_is_trump_for_the_deal() -> None:
    match = place("2H 3D", "5H 2S", "3H", "4H", rules="no_trump")
    assert match.trump is None
    play(match, "2H")
    assert match.trump == 2
    trumped = place("2D AC", "4D", "5D", "6D", rules="no_trump", plays="2D")
    play_out_trick(trumped)
    assert trumped.trump == 1
    play_out(trumped)
    assert trumped.trump is None


def test_H6_read_trump_for_spade() -> None:
    hands = ("AH 2C", "2H AC", "QH 4H 3456789TJQK:S", "3H")
    match = place(*hands, rules="no_trump", plays="AH 2H 4H 3H 2C AC")
    accepts(match, "QH")  # void in clubs: a heart is forced, a spade is an ordinary card
    refuses(match, "3S", "R9", "holds hearts, which are trumps, void in clubs")
    play(match, "QH")
    assert may_hold(match, 2) & CLUBS == set()
    assert may_hold(match, 2) & HEARTS
    accepts(match, "KH")
    play(match, "KH")
    assert match.last_winner == 3


def test_H6_a_spade_may_lead_the_first_trick() -> None:
    match = place("AS 2H", "", "", "", rules="no_trump")
    assert "AS" in legal(match)
    play(match, "AS")
    assert match.trump == 3
    assert may_hold(match, 0) == ALL - set(cards("AS"))


def test_H7_a_spade_may_lead_the_first_trick() -> None:
    match = place("AS 2H", "", "", "", rules="free_spade_lead")
    assert set(match.legal_actions()) == set(match.hands[0])
    play(match, "AS")
    assert may_hold(match, 0) == ALL - set(cards("AS"))


def test_H8_a_tie_at_the_top_is_shared() -> None:
    match = extra((2, 2, 3, 13), rules=Rules(deals=1, tie="shared"))
    assert match.is_over
    assert match.winners == (0, 1)
    assert match.deal == 0


def test_H9_bids_have_limits() -> None:
    match = Match("bhoos", seed=1)
    assert legal(match) == {f"bid {bid}" for bid in range(1, 9)}
    refuses(match, "bid 9", "R5", "bids are 1 to 8")
    bid_all(match, 1, 8, 1, 8)
    one = Match(Rules(min_bid=4, max_bid=4), seed=1)
    assert legal(one) == {"bid 4"}
    refuses(one, "bid 3", "R5", "bids are 4 to 4")


def test_H10_need_not_beat_once_the_trick_is_trumped() -> None:
    rules = Rules(beat_when_trumped=False)
    trumped = place("8D", "3S 23456789TJQK:H", "KD 3D KS 23456789TJ:C", "", rules=rules, plays="8D 3S")
    accepts(trumped, "KD 3D")
    untrumped = place("8D", "9D", "KD 3D KS 23456789TJ:C", "", rules=rules, plays="8D 9D")
    accepts(untrumped, "KD")


def test_H10_a_trump_lead_is_beaten_all_the_same() -> None:
    rules = Rules(beat_when_trumped=False)
    match = place("AH 2S", "2H QS", "3H 3S KS JS 8S 23456789:D", "4H", rules=rules, plays="AH 2H 3H 4H 2S QS")
    accepts(match, "KS")


def test_H10_need_not_beat_at_all() -> None:
    rules = Rules(must_beat=False)
    match = place("9H", "TH JH 2H AS AC 23456789:D", "", "", rules=rules, plays="9H")
    accepts(match, "TH JH 2H")
    refuses(match, "AS", "R8", "holds hearts, the led suit")
    void = place("6H", "4S 23456789TJQK:D", "QS 3S 23456789TJQ:C", "", rules=rules, plays="6H 4S")
    accepts(void, "QS")  # R9 stays as it is


def test_H10_a_spade_that_cannot_win_is_not_forced() -> None:
    rules = Rules(undertrump=False)
    low = place("3H 4H", "AS 23456789TJQK:D", "6S 3S 23456789TJQ:C", "", rules=rules, plays="3H AS")
    accepts(low, "6S 3S 23456789TJQ:C")
    high = place("3H 4H", "5S 23456789TJQK:D", "6S 3S 23456789TJQ:C", "", rules=rules, plays="3H 5S")
    accepts(high, "6S")
    refuses(high, "QC", "R9", "R9 holds a trump that beats 5♠")
    none = place("3H 4H", "6S 3S 23456789TJQ:C", "", "", rules=rules, plays="3H")
    accepts(none, "6S 3S")


def test_H10_all_three_together() -> None:
    rules = Rules(must_beat=False, beat_when_trumped=False, undertrump=False)
    hands = ("8D", "3S 23456789TJQK:H", "KD 3D KS 23456789TJ:C", "")
    accepts(place(*hands, rules=rules, plays="8D 3S"), "KD 3D")


def test_H10_proof_a_low_card_shows_nothing_where_it_need_not_beat() -> None:
    free = place("9H", "2H AS 23456789TJQ:D", "", "", rules=Rules(must_beat=False), plays="9H 2H")
    assert may_hold(free, 1) == ALL - set(cards("9H 2H"))
    hands = ("9H", "3S 23456789TJQK:D", "2H AS 23456789TJQ:C", "")
    trumped = place(*hands, rules=Rules(beat_when_trumped=False), plays="9H 3S 2H")
    assert may_hold(trumped, 2) == ALL - set(cards("9H 3S 2H"))
    untrumped = place(
        "9H", "2H AS 23456789TJQ:D", "", "", rules=Rules(beat_when_trumped=False), plays="9H 2H"
    )
    assert may_hold(untrumped, 1) == ALL - set(cards("9H 2H")) - above("9H")


def test_H10_proof_a_discard_shows_only_that_no_trump_wins() -> None:
    rules = Rules(undertrump=False)
    trumped = place("3H", "TS 23456789TJQK:D", "6S 23456789TJQK:C", "", rules=rules, plays="3H TS 2C")
    assert may_hold(trumped, 2) == ALL - set(cards("3H TS 2C")) - HEARTS - above("TS")
    plain = place("3H", SUIT_HANDS[1], "", "", rules=rules, plays="3H 2D")
    assert may_hold(plain, 1) == ALL - set(cards("3H 2D")) - HEARTS - SPADES
