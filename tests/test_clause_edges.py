"""The finer edges of each clause, beside ``test_clauses.py``: what a small slip would get wrong."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from callbreak_env import Match, Rules, deck_from_hands
from callbreak_env.actions import bid_action
from tables import SUIT_HANDS, accepts, bid_all, cards, deck, legal, may_hold, place, refuses

ALL = set(range(52))
CLUBS, _, HEARTS, SPADES = ({13 * suit + rank for rank in range(13)} for suit in range(4))
ONE_DEAL = Rules(deals=1)
TIES = [seats for size in (2, 3, 4) for seats in itertools.combinations(range(4), size)]


def script(
    tricks: Sequence[int], dealer: int, seats: Sequence[int] = range(4)
) -> tuple[list[int], list[int]]:
    """A deck, and its cards in an order of play in which each seat wins so many tricks.

    Every trick takes the highest cards left of one suit, the best of them to its winner; only the last of
    four seats takes the four twos. So each seat always has a single card of the trick.
    """
    order = [seat for seat in ((dealer + 1 + i) % 4 for i in range(4)) if seat in seats]
    winners = [seat for seat in order for _ in range(tricks[seat])]
    size = len(order)
    groups = [
        [13 * suit + 12 - size * row - i for i in range(size)]
        for suit in range(4)
        for row in range(13 // size)
    ]
    groups = [*groups, cards("2S 2H 2D 2C")][:13]
    hands: list[list[int]] = [[], [], [], []]
    plays, leader = [], order[0]
    for winner, group in zip(winners, groups, strict=True):
        given = dict(zip([winner, *(seat for seat in order if seat != winner)], group, strict=True))
        start = order.index(leader)
        plays += [given[seat] for seat in order[start:] + order[:start]]
        for seat, card in given.items():
            hands[seat].append(card)
        leader = winner
    return deck_from_hands([hand or None for hand in hands], dealer), plays


def play_script(match: Match, bids: Sequence[int], plays: Sequence[int]) -> None:
    for _ in match.active:
        assert match.seat is not None
        match.apply(bid_action(bids[match.seat]))
    for card in plays:
        match.apply(card)


def scripted(
    *deals: tuple[Sequence[int], Sequence[int]],
    rules: Rules | str | None = None,
    dealer: int = 0,
    more_decks: Sequence[list[int]] = (),
) -> Match:
    """A match after whole deals, each given by its bids and its tricks by seat."""
    scripts = [script(tricks, (dealer + i) % 4) for i, (_, tricks) in enumerate(deals)]
    decks = [dealt for dealt, _ in scripts] + list(more_decks)
    match = Match(rules, seed=0, dealer=dealer, decks=decks)
    for (bids, _), (_, plays) in zip(deals, scripts, strict=True):
        play_script(match, bids, plays)
    return match


def tie(
    tied: Sequence[int], rules: Rules = ONE_DEAL, dealer: int = 0, more_decks: Sequence[list[int]] = ()
) -> Match:
    """A match after its only deal, these seats tied at the top: 4.0 each, or -5.0 where all four tie."""
    tricks, bids = [0] * 4, [5] * 4
    for seat in tied if len(tied) < 4 else ():
        tricks[seat] = bids[seat] = 4
    others = [seat for seat in range(4) if not tricks[seat]]
    share, odd = divmod(13 - sum(tricks), len(others))
    for i, seat in enumerate(others):
        tricks[seat] = share + (i < odd)
    return scripted((bids, tricks), rules=rules, dealer=dealer, more_decks=more_decks)


def chairs(dealer: int, seats: Sequence[int]) -> list[int]:
    """The seats, from the dealer's right."""
    return [seat for seat in ((dealer + 1 + i) % 4 for i in range(4)) if seat in seats]


# R1-R4


def test_R1_each_player_is_scored_alone() -> None:
    match = scripted(((4, 3, 2, 5), (4, 3, 1, 5)), rules=ONE_DEAL)
    assert match.points == match.totals == [40, 30, -20, 50]
    assert match.winners == (3,)


@pytest.mark.parametrize("suit", "CDHS")
def test_R1_each_rank_is_beaten_by_those_after_it(suit: str) -> None:
    ranks = "23456789TJQKA"
    other = "H" if suit == "S" else "S"
    for i, rank in enumerate(ranks):
        hands = (f"{rank}{suit} {ranks[1:]}:{other}", f"{ranks.replace(rank, '')}:{suit} 2{other}", "", "")
        match = place(*hands, rules="free_spade_lead", plays=f"{rank}{suit}")
        accepts(match, f"{ranks[i + 1 :] or ranks[:-1]}:{suit}")


def test_R2_spades_are_trumps_in_every_deal() -> None:
    # The last trick of each scripted deal is the four twos, won by the spade.
    rules = Rules(deals=3)
    match = Match(rules, dealer=0, decks=[script((0, 0, 0, 13), dealer)[0] for dealer in range(3)])
    for deal in range(3):
        assert match.trump == 3
        play_script(match, (2, 2, 2, 2), script((0, 0, 0, 13), deal)[1])
        assert match.last_winner == 3
    assert match.is_over


@pytest.mark.parametrize("tied", TIES)
def test_R4_an_extra_deal_gives_13_cards_in_turn_and_keeps_the_rest(tied: tuple[int, ...]) -> None:
    order = list(range(51, -1, -1))
    for dealer in range(4):
        match = tie(tied, dealer=dealer, more_decks=[order])
        right = chairs((dealer + 1) % 4, tied)
        expected: list[list[int]] = [[], [], [], []]
        for place_, seat in enumerate(right):
            expected[seat] = sorted(order[place_ : 13 * len(right) : len(right)])
        assert match.hands == expected
        assert sum(map(len, match.hands)) == 13 * len(tied)


# R5-R7


@pytest.mark.parametrize("dealer", range(4))
def test_R5_every_seat_is_refused_another_bid_and_out_of_range(dealer: int) -> None:
    match = Match(seed=0, dealer=dealer)
    for i in range(4):
        assert match.seat == (dealer + 1 + i) % 4
        assert legal(match) == {f"bid {bid}" for bid in range(2, 14)}
        refuses(match, "bid 1", "R5", f"seat {match.seat} cannot bid 1: R5 bids are 2 to 13")
        bid_all(match, 13)
    for bid in range(1, 14):
        refuses(match, f"bid {bid}", "R5", "each seat bids once, before the play")


@pytest.mark.parametrize("dealer", range(4))
@pytest.mark.parametrize("winner", range(4))
def test_R6_each_seat_can_win_and_then_leads(dealer: int, winner: int) -> None:
    tricks = [0, 0, 0, 0]
    tricks[winner] = 13
    dealt, plays = script(tricks, dealer)
    match = Match(seed=0, dealer=dealer, decks=[dealt])
    bid_all(match, 2, 2, 2, 2)
    assert match.seat == match.leader == (dealer + 1) % 4
    for card in plays[:4]:
        match.apply(card)
    assert match.seat == match.leader == match.last_winner == winner
    play_on = plays[4:8]
    match.apply(play_on[0])
    assert match.seat == (winner + 1) % 4


def test_R7_one_plain_card_must_be_led_and_a_follower_may_play_spades() -> None:
    match = place("2D 23456789TJQK:S", "AS 23456789TJQK:H", "", "")
    accepts(match, "2D")
    refuses(match, "2S", "R7", "from a hand that holds another suit")
    match.apply(cards("2D")[0])
    accepts(match, "AS")


@pytest.mark.parametrize("tied", [(0, 2), (0, 1, 2), (0, 1, 2, 3)])
def test_R7_holds_in_the_extra_deal(tied: tuple[int, ...]) -> None:
    texts = ("AH 23456789TJQK:S", SUIT_HANDS[0], "AS 23456789TJQK:H", SUIT_HANDS[1])
    hands = [cards(text) if seat in tied else None for seat, text in enumerate(texts)]
    match = tie(tied, more_decks=[deck_from_hands(hands, 1)])
    bid_all(match, *[2] * len(tied))
    assert match.seat == 2
    accepts(match, "23456789TJQK:H")
    refuses(match, "AS", "R7", "seat 2 cannot play A♠")


def test_R7_proof_a_spade_led_later_shows_nothing() -> None:
    match = place("AH KS", "2H", "3H", "4H", plays="AH 2H 3H 4H KS")
    assert may_hold(match, 0) == ALL - set(cards("AH 2H 3H 4H KS"))


def test_R7_proof_a_plain_card_or_a_free_spade_lead_shows_nothing() -> None:
    assert may_hold(place("AH KS", "", "", "", plays="AH"), 0) == ALL - set(cards("AH"))
    free = place("KS AH", "", "", "", rules="free_spade_lead", plays="KS")
    assert may_hold(free, 0) == ALL - set(cards("KS"))


# R8-R11


def test_R8_a_lower_later_card_is_not_the_one_to_beat() -> None:
    match = place("9H", "5H 23456789TJQK:D", "AH 7H 2345678T9:C KC QC", "", plays="9H 5H")
    accepts(match, "AH")
    refuses(match, "7H", "R8", "beats 9♥")


@pytest.mark.parametrize("dealer", range(4))
def test_R8_holds_at_every_place_of_the_trick(dealer: int) -> None:
    chairs_ = ("9H", "TH 23456789TJQK:D", "JH AS 23456789TJQ:C", "AH QH 2H KS QS JS TS 9S 8S 7S AC KC AD")
    hands = [chairs_[(seat - dealer - 1) % 4] for seat in range(4)]
    match = place(*hands, dealer=dealer, plays="9H TH JH")
    assert match.seat == dealer
    accepts(match, "AH QH")
    refuses(match, "2H", "R8", f"seat {dealer} cannot play 2♥: R8 holds a card that beats J♥")


def test_R8_proof_goes_by_the_highest_card_not_the_led_one() -> None:
    match = place("5H", "9H 23456789TJQK:D", "7H AS 23456789TJQ:C", "", plays="5H 9H 7H")
    assert may_hold(match, 2) == ALL - set(cards("5H 9H 7H")) - set(cards("TJQKA:H"))


def test_R8_proof_lasts_for_the_deal_and_no_longer() -> None:
    dealt, plays = script((0, 0, 0, 13), 0)
    match = Match(Rules(deals=2), dealer=0, decks=[dealt])
    bid_all(match, 2, 2, 2, 2)
    for card in plays[:4]:
        match.apply(card)
    # Clubs A K Q J: the seats after the ace could not beat it, and show no higher card by that.
    assert all(may_hold(match, seat) == ALL - set(plays[:4]) for seat in range(4))
    for card in plays[4:]:
        match.apply(card)
    assert match.deal == 1
    assert all(may_hold(match, seat) == ALL for seat in range(4))


def test_R9_any_spade_will_do_where_none_stands() -> None:
    match = place("AH", "KH 23456789TJQK:D", "QS 2S 23456789TJQ:C", "", plays="AH KH")
    accepts(match, "QS 2S")


def test_R9_proof_a_low_trump_does_not_show_a_void_in_trumps() -> None:
    match = place("3H", "TS 23456789TJQK:D", "6S 2S 23456789TJQ:C", "", plays="3H TS 6S")
    assert may_hold(match, 2) == ALL - set(cards("3H TS 6S")) - HEARTS - set(cards("JQKA:S"))


def test_R10_a_higher_rank_of_another_suit_wins_nothing() -> None:
    hands = ("8H", "QC AD 23456789TJ:D 3C", "2H 23456789TJQ:S 4C", "3H")
    for discard in ("AD", "QC"):
        match = place(*hands, plays=f"8H {discard} 2H 3H", rules=Rules(must_beat=False))
        assert match.last_winner == 0


def test_R10_all_suits_are_open_and_none_is_refused() -> None:
    match = place(SUIT_HANDS[2], "AS", SUIT_HANDS[0], "", plays="2H AS")
    accepts(match, SUIT_HANDS[0])
    void = place("2H", "AC AD 23456:C 23456K:D", "", "", plays="2H")
    accepts(void, "AC AD 23456:C 23456K:D")


@pytest.mark.parametrize("dealer", range(4))
def test_R11_the_winner_at_every_place(dealer: int) -> None:
    for winner in range(4):
        tricks = [0] * 4
        tricks[winner] = 13
        dealt, plays = script(tricks, dealer)
        match = Match(seed=0, dealer=dealer, decks=[dealt])
        bid_all(match, 2, 2, 2, 2)
        for i, card in enumerate(plays[:-1]):
            match.apply(card)
            assert match.tricks_won[winner] == (i + 1) // 4
    hands = (SUIT_HANDS[1], "5S 23456789TJQK:H", "8S 23456789TJQK:C", "AH AC 2679TJQKA:S 3S 4S")
    turned = [hands[(seat - dealer - 1) % 4] for seat in range(4)]
    match = place(*turned, dealer=dealer, plays="2D 5S 8S 9S")
    assert match.last_winner == dealer


# R12-R15


def test_R12_R13_in_played_deals_by_seat() -> None:
    match = scripted(((2, 3, 4, 5), (7, 3, 3, 0)), rules=Rules(deals=2), dealer=2)
    assert match.points == [25, 30, -40, -50]
    long = scripted(((2, 2, 13, 2), (13, 0, 0, 0)), rules=ONE_DEAL)
    assert long.points == [31, -20, -130, -20]
    assert scripted(((2, 2, 13, 2), (0, 0, 13, 0)), rules=ONE_DEAL).points == [-20, -20, 130, -20]


def test_R14_the_totals_of_all_five_deals_decide() -> None:
    deals = [((4, 3, 2, 2), (4, 3, 3, 3))] * 4 + [((4, 13, 2, 2), (4, 3, 3, 3))]
    match = scripted(*deals)
    assert match.is_over
    assert match.deal == 4
    assert match.totals == [200, 120 - 130, 105, 105]
    assert match.points == [40, -130, 21, 21]
    assert match.winners == (0,)
    refuses(match, "AS", "R14", "nobody can play A♠: R14 the match is over; legal nothing")


def test_R14_a_later_deal_can_overturn_the_first_and_totals_may_be_negative() -> None:
    match = scripted(
        ((2, 5, 5, 5), (4, 3, 3, 3)), ((5, 2, 5, 5), (3, 4, 3, 3)), rules=Rules(deals=2), dealer=3
    )
    assert match.totals == [22 - 50, -50 + 22, -100, -100]
    assert not match.is_over  # 0 and 1 are tied
    assert match.active == (0, 1)


@pytest.mark.parametrize("dealer", range(4))
@pytest.mark.parametrize("tied", TIES)
def test_R15_dealer_first_bidder_and_leader_for_every_tie(tied: tuple[int, ...], dealer: int) -> None:
    match = tie(tied, dealer=dealer)
    totals = match.totals
    right = chairs((dealer + 1) % 4, tied)
    assert (match.is_extra_deal, match.deal, match.active) == (True, 1, tied)
    assert match.dealer == (dealer + 1) % 4  # one seat right, tied or not
    assert [match.seat, match.leader, match.phase] == [right[0], right[0], "bidding"]
    order = []
    for _ in tied:
        order.append(match.seat)
        match.apply(bid_action(2))
    assert order == right
    assert match.seat == right[0]
    assert [bid is None for bid in match.bids] == [seat not in tied for seat in range(4)]
    outside = [seat for seat in range(4) if seat not in tied]
    assert all(match.hands[seat] == [] and not may_hold(match, seat) for seat in outside)
    for card_no in range(13 * len(tied)):
        assert len(match.trick) == card_no % len(tied)
        match.apply(match.legal_actions()[0])
    assert match.is_over
    assert match.totals == totals
    assert set(match.winners) <= set(tied)
    assert all(match.points[seat] == 0 for seat in outside)


def extra_deal(
    tied: Sequence[int], bids: Sequence[int], tricks: Sequence[int], rules: Rules = ONE_DEAL
) -> Match:
    """The extra deal (dealer 1) after a tie, played to the end."""
    dealt, plays = script(tricks, 1, tied)
    match = tie(tied, rules=rules, more_decks=[dealt])
    play_script(match, bids, plays)
    assert match.is_over
    return match


@pytest.mark.parametrize(
    ("tied", "bids", "tricks", "points", "winners"),
    [
        ((0, 2), (5, 0, 3, 0), (5, 0, 8, 0), [50, 0, 35, 0], (0,)),
        ((1, 3), (0, 13, 0, 2), (0, 11, 0, 2), [0, -130, 0, 20], (3,)),
        ((0, 1), (7, 7, 0, 0), (6, 7, 0, 0), [-70, 70, 0, 0], (1,)),
        ((2, 3), (0, 0, 9, 9), (0, 0, 6, 7), [0, 0, -90, -90], (2, 3)),
        ((0, 1, 2), (4, 4, 4, 0), (4, 4, 5, 0), [40, 40, 41, 0], (2,)),
        ((0, 2, 3), (4, 0, 4, 5), (4, 0, 4, 5), [40, 0, 40, 50], (3,)),
        ((1, 2, 3), (0, 4, 4, 6), (0, 4, 4, 5), [0, 40, 40, -60], (1, 2)),
        ((0, 1, 2, 3), (3, 3, 3, 5), (3, 3, 3, 4), [30, 30, 30, -50], (0, 1, 2)),
        ((0, 1, 2, 3), (2, 2, 6, 2), (3, 3, 6, 1), [21, 21, 60, -20], (2,)),
    ],
)
def test_R15_the_extra_deals_points_decide_alone(
    tied: tuple[int, ...],
    bids: tuple[int, ...],
    tricks: tuple[int, ...],
    points: list[int],
    winners: tuple[int, ...],
) -> None:
    match = extra_deal(tied, bids, tricks)
    assert match.points == points
    assert match.winners == winners
    # 4.0 each and -5.0 for the others, or -5.0 each: as they were before it.
    assert match.totals == [40 if seat in tied and len(tied) < 4 else -50 for seat in range(4)]


# H2-H6


def test_H2_an_extra_deal_of_four_has_the_bound_too() -> None:
    rules = Rules(deals=1, min_total_bid=18, max_redeals=1)
    match = tie((0, 1, 2, 3), rules=rules)
    dealer = match.dealer
    bid_all(match, 2, 2, 2, 2)
    assert (match.phase, match.redeals, match.dealer, match.deal) == ("bidding", 1, dealer, 1)
    bid_all(match, 2, 2, 2, 2)
    assert match.phase == "playing"


@pytest.mark.parametrize("tied", [tied for tied in TIES if len(tied) < 4])
def test_H2_is_off_in_every_smaller_extra_deal(tied: tuple[int, ...]) -> None:
    match = tie(tied, rules=Rules(deals=1, min_total_bid=14))
    bid_all(match, *[2] * len(tied))
    assert (match.phase, match.redeals) == ("playing", 0)


def test_H2_the_decks_thrown_in_are_used_up() -> None:
    match = Match("min_total", dealer=3, decks=[deck(first, "", "", "") for first in ("AC", "AD", "AH")])
    for first in cards("AC AD"):
        assert first in match.hands[0]
        bid_all(match, 2, 2, 2, 3)
        assert match.phase == "bidding"
    assert cards("AH")[0] in match.hands[0]
    assert match.record_array["deck"][0] == 3
    bid_all(match, 2, 2, 2, 4)
    assert match.phase == "playing"


GOOD = ("2S AC", "3S", "4S", "5S")
SPADELESS = ("23456789TJQK:C 2D", "AC", "", "")


def test_H3_there_is_no_bound() -> None:
    decks = [deck(*SPADELESS)] * 40 + [deck(*GOOD)]
    match = Match(Rules(misdeal=True, max_redeals=1), dealer=3, decks=decks)
    assert match.record_array["deck"][0] == 41
    assert (match.dealer, match.redeals, match.deal) == (3, 0, 0)


@pytest.mark.parametrize("poor", range(4))
def test_H3_any_seat_without_a_spade_counts_and_one_spade_is_enough(poor: int) -> None:
    hands = ["2S", "3S", "4S", "5S"]
    rich = (poor + 1) % 4
    hands[rich] += " 6789TJQKA:S"
    without = hands.copy()
    without[rich] += " " + without[poor]
    without[poor] = "23456789TJQK:H 2C"
    match = Match("misdeal", dealer=3, decks=[deck(*without), deck(*hands)])
    assert match.record_array["deck"][0] == 2
    assert [len(set(hand) & SPADES) for hand in match.hands] == [
        10 if seat == rich else 1 for seat in range(4)
    ]
    assert match.dealer == 3


@pytest.mark.parametrize("tied", [(0, 2), (1, 2, 3)])
def test_H3_in_the_extra_deal_the_cards_out_of_play_do_not_count(tied: tuple[int, ...]) -> None:
    spadeless = sorted(ALL - SPADES) + sorted(SPADES)
    one_spade_each: list[list[int] | None] = [None] * 4
    for suit, seat in enumerate(tied):
        one_spade_each[seat] = [39 + suit, *range(13 * suit, 13 * suit + 12)]
    decks = [spadeless, spadeless, deck_from_hands(one_spade_each, 1)]
    match = tie(tied, Rules(deals=1, misdeal=True), more_decks=decks)
    assert match.is_extra_deal
    assert match.record_array["deck"][0] == 4
    assert (match.dealer, match.active) == (1, tied)
    assert [match.hands[seat] for seat in tied] == [sorted(one_spade_each[seat] or []) for seat in tied]


def test_H4_is_off_by_default_and_made_exactly_or_more_is_flat() -> None:
    deals = ((8, 2, 2, 2), (8, 2, 2, 1))
    assert scripted(deals, rules=ONE_DEAL).points == [80, 20, 20, -20]
    assert scripted(deals, rules=Rules(deals=1, bonus_bid=8)).points == [130, 20, 20, -20]
    more = ((8, 2, 2, 2), (11, 0, 2, 0))
    assert scripted(more, rules=Rules(deals=1, bonus_bid=8)).points == [130, -20, 20, -20]
    failed = ((9, 2, 2, 2), (8, 2, 2, 1))
    assert scripted(failed, rules=Rules(deals=1, bonus_bid=8)).points == [-90, 20, 20, -20]
    below = ((7, 2, 2, 2), (9, 2, 2, 0))
    assert scripted(below, rules=Rules(deals=1, bonus_bid=8)).points == [72, 20, 20, -20]
    assert scripted(deals, rules=Rules(deals=1, bonus_bid=8, bonus_points=0)).points[0] == 0


def test_H4_in_the_extra_deal() -> None:
    match = extra_deal((0, 2), (8, 0, 3, 0), (8, 0, 5, 0), Rules(deals=1, bonus_bid=8))
    assert match.points == [130, 0, 32, 0]
    assert match.winners == (0,)


def test_H5_partners_alone_are_no_tie_and_a_side_wins_together() -> None:
    rules = Rules(deals=1, partnership=True)
    match = scripted(((4, 3, 2, 3), (3, 3, 4, 3)), rules=rules)
    assert match.points == [61, 60, 61, 60]
    assert (match.is_over, match.winners) == (True, (0, 2))
    # One partner wins both tricks bid by the other.
    other = scripted(((2, 3, 2, 3), (0, 6, 4, 3)), rules=rules)
    assert other.points == [40, 63, 40, 63]
    assert other.winners == (1, 3)


def test_H5_sides_that_tie_play_again_and_the_extra_deal_decides() -> None:
    rules = Rules(deals=1, partnership=True)
    dealt, plays = script((3, 4, 3, 3), 1)
    match = scripted(((4, 4, 4, 4), (3, 3, 4, 3)), rules=rules, more_decks=[dealt])  # 8 of 7, 8 of 6
    assert match.totals == [-80] * 4
    assert (match.is_extra_deal, match.active, match.dealer) == (True, (0, 1, 2, 3), 1)
    play_script(match, (2, 4, 4, 4), plays)  # 6 made, 8 failed
    assert match.points == [60, -80, 60, -80]
    assert match.totals == [-80] * 4
    assert match.winners == (0, 2)
    shared = scripted(((4, 4, 4, 4), (3, 3, 4, 3)), rules=Rules(deals=1, partnership=True, tie="shared"))
    assert shared.winners == (0, 1, 2, 3)


FIRST_LED = (
    "A98:C 543:H 23456:D 23:S",
    "765:C AKQJ:D AKQJT9:S",
    "QJ43:C T987:D 87654:S",
    "KT2:C AKQJT98762:H",
)
"""Seat 0 leads the ace of clubs, then hearts, in which seats 1 and 2 are void."""


def test_H6_what_stands_for_spades() -> None:
    match = place(*FIRST_LED, rules="no_trump")
    assert match.trump is None
    assert match.view(1).trump is None
    accepts(match, FIRST_LED[0])  # R7 does not apply
    for card in cards("AC 5C 3C 2C"):
        match.apply(card)
    assert match.trump == 0
    match.apply(cards("5H")[0])
    accepts(match, "76:C")
    refuses(match, "AS", "R9", "holds clubs, which are trumps, void in hearts")
    refuses(match, "AD", "R9", "holds clubs, which are trumps")
    match.apply(cards("7C")[0])
    accepts(match, "QJ:C")
    refuses(match, "4C", "R9", "holds a trump that beats 7♣")
    refuses(match, "8S", "R9")
    match.apply(cards("QC")[0])
    accepts(match, "AKQJT9876:H")
    refuses(match, "2H", "R8", "beats 5♥")
    refuses(match, "KC", "R8", "holds hearts, the led suit")
    match.apply(cards("6H")[0])
    assert match.last_winner == 2


def test_H6_proof_goes_by_the_trump_of_the_deal() -> None:
    match = place(*FIRST_LED, rules="no_trump", plays="AC 5C 3C 2C 5H 7C QC")
    played = set(cards("AC 5C 3C 2C 5H 7C QC"))
    assert may_hold(match, 1) == ALL - played - HEARTS
    assert may_hold(match, 2) == ALL - played - HEARTS
    # Void in the led trumps: whatever is played, a spade too, shows that and nothing else.
    for hand, discard in ((SUIT_HANDS[1], "2D"), (SUIT_HANDS[3], "AS")):
        void = place("AC", hand, "", "", rules="no_trump", plays=f"AC {discard}")
        assert may_hold(void, 1) == ALL - set(cards(discard)) - CLUBS
    # A club too low on a club that stands: no higher club.
    low = list(FIRST_LED)
    low[1], low[2] = low[1].replace("765:C", "QJ5:C"), low[2].replace("QJ43:C", "7643:C")
    under = place(*low, rules="no_trump", plays="AC 5C 3C 2C 5H QC 4C")
    assert may_hold(under, 2) == ALL - set(cards("AC 5C 3C 2C 5H QC 4C")) - HEARTS - set(cards("KC"))


@pytest.mark.parametrize("dealer", range(4))
def test_H6_each_deal_has_its_own_trump(dealer: int) -> None:
    rules = Rules(deals=2, trump="first_led")
    match = scripted(((2, 2, 2, 2), (0, 0, 0, 13)), rules=rules, dealer=dealer)
    assert (match.deal, match.trump) == (1, None)
    bid_all(match, 2, 2, 2, 2)
    assert match.trump is None
    last = match.legal_actions()[-1]
    match.apply(last)
    assert match.trump == last // 13


# H7-H10


@pytest.mark.parametrize("tied", TIES)
def test_H8_every_tie_is_shared_at_once(tied: tuple[int, ...]) -> None:
    match = tie(tied, Rules(deals=1, tie="shared"))
    assert match.is_over
    assert match.winners == tied
    assert match.deal == 0


@pytest.mark.parametrize(("least", "most"), [(1, 8), (1, 13), (3, 3), (13, 13)])
def test_H9_bids_in_the_limits_and_none_outside(least: int, most: int) -> None:
    match = Match(Rules(min_bid=least, max_bid=most), seed=0)
    for bid in range(1, 14):
        if least <= bid <= most:
            match.clone().apply(bid_action(bid))
        else:
            refuses(match, f"bid {bid}", "R5", f"bids are {least} to {most}")


@pytest.mark.parametrize("must_beat", [True, False])
@pytest.mark.parametrize("when_trumped", [True, False])
@pytest.mark.parametrize("undertrump", [True, False])
def test_H10_each_option_does_its_own_and_nothing_else(
    must_beat: bool, when_trumped: bool, undertrump: bool
) -> None:
    rules = Rules(must_beat=must_beat, beat_when_trumped=when_trumped, undertrump=undertrump)

    def check(hands: tuple[str, ...], plays: str, expected: str) -> None:
        accepts(place(*hands, rules=rules, plays=plays), expected)

    untrumped = ("8D", "9D", "KD 3D KS 23456789TJ:C", "")
    check(untrumped, "8D 9D", "KD" if must_beat else "KD 3D")
    trumped = ("8D", "3S 23456789TJQK:H", "KD 3D KS 23456789TJ:C", "")
    check(trumped, "8D 3S", "KD" if must_beat and when_trumped else "KD 3D")
    spades = ("AH 9S", "2H TS", "3H KS 3S 23456789TJ:D", "4H")
    check(spades, "AH 2H 3H 4H 9S TS", "KS" if must_beat else "KS 3S")
    low = ("3H", "AS 23456789TJQK:D", "6S 3S 23456789TJQ:C", "")
    check(low, "3H AS", "6S 3S" if undertrump else "6S 3S 23456789TJQ:C")
    high = ("3H", "5S 23456789TJQK:D", "6S 3S 23456789TJQ:C", "")
    check(high, "3H 5S", "6S")
    none = ("3H", "6S 3S 23456789TJQ:C", "", "")
    check(none, "3H", "6S 3S")
    void = ("3H", "5S 23456789TJQK:D", SUIT_HANDS[0], "")
    check(void, "3H 5S", SUIT_HANDS[0])


@pytest.mark.parametrize("must_beat", [True, False])
@pytest.mark.parametrize("when_trumped", [True, False])
@pytest.mark.parametrize("undertrump", [True, False])
def test_H10_proof_of_every_row_under_each_option(
    must_beat: bool, when_trumped: bool, undertrump: bool
) -> None:
    rules = Rules(must_beat=must_beat, beat_when_trumped=when_trumped, undertrump=undertrump)
    over_9h, over_ts, over_9s = (set(cards(text)) for text in ("TJQKA:H", "JQKA:S", "TJQKA:S"))
    nothing: set[int] = set()

    def check(hands: tuple[str, ...], plays: str, gone: set[int]) -> None:
        match = place(*hands, rules=rules, plays=plays)
        played = cards(plays)
        seat = match.plays[-1][0]
        assert may_hold(match, seat) == ALL - set(played) - gone
        for viewer in set(range(4)) - {seat}:
            seen = set(played) | set(match.hands[viewer])
            assert set(match.view(viewer).may_hold(seat)) == ALL - seen - gone
        assert match.view(seat).may_hold(seat) == match.hands[seat]

    below = ("9H", "2H AS 23456789TJQ:D", "", "")
    check(below, "9H 2H", over_9h if must_beat else nothing)
    trumped = ("9H", "3S 23456789TJQK:D", "2H AS 23456789TJQ:C", "")
    check(trumped, "9H 3S 2H", over_9h if must_beat and when_trumped else nothing)
    led_trump = ("AH 9S", "2H 2S 3456789TJQK:D", "3H", "4H")
    check(led_trump, "AH 2H 3H 4H 9S 2S", over_9s if must_beat else nothing)
    above = ("9H", "TH AH 23456789TJQ:D", "", "")
    check(above, "9H TH", nothing)
    trumps = ("3H", "TS 23456789TJQK:D", "6S 2S 23456789TJQ:C", "")
    check((*trumps[:2], "", ""), "3H TS", HEARTS)
    check(trumps, "3H TS 6S", HEARTS | over_ts)
    overtrump = ("3H", "TS 23456789TJQK:D", "JS 2S 23456789TJQ:C", "")
    check(overtrump, "3H TS JS", HEARTS)
    no_trump_stands = ("3H", SUIT_HANDS[1], "", "")
    check(no_trump_stands, "3H 2D", HEARTS | SPADES)
    trump_stands = ("3H", "TS 23456789TJQK:D", SUIT_HANDS[0], "")
    check(trump_stands, "3H TS 2C", HEARTS | (SPADES if undertrump else over_ts))
