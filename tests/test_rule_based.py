"""The rule-based policy: bids that a teacher would make, by all rules; plays easy to judge; its strength."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from agents import positions
from callbreak_env import PRESETS, Match, Rules, deal_points
from callbreak_env.arena.figures import challenge, entrant_figures
from callbreak_env.arena.formats import challenger
from callbreak_env.arena.play import play
from callbreak_env.cards import CARDS_PER_SUIT, SPADES, card_text, cards_of, parse_card, set_of, suit_of
from callbreak_env.engine.legality import legal_word
from callbreak_env.engine.policies import RULE_BASED, policy_action
from callbreak_env.engine.rule_based import (
    EARLIER_BID,
    PARAMETERS,
    PARTNER_SPREAD,
    SHADE,
    SPREAD,
    USUAL_BID,
    best_trump_suit,
    count_tricks,
    expected_tricks,
    write_bid_values,
)
from callbreak_env.engine.state import rules_record
from conftest import JIT
from learners import Amount
from positions import extra_deal_opening
from tables import bid_all, cards, deck, place

STRONGEST = "AKQJT98:S AK:C AK:D AK:H"
NOTHING = "5432:C 5432:D 432:H 32:S"
USUAL = "A432:C K32:D Q32:H Q32:S"
ALL_SPADES = "23456789TJQKA:S"


def choose(match: Match) -> int:
    return int(policy_action(RULE_BASED, match.record_array[0], match.rules_array[0]))


def at_bid(hand: str, rules: Rules | str = "standard", before: tuple[int, ...] = ()) -> Match:
    """A match where the seat to bid holds a hand, after earlier bids."""
    hands = ["", "", "", ""]
    hands[len(before)] = hand
    return bid_all(Match(rules, seed=0, dealer=3, decks=[deck(*hands)]), *before)


def bid(hand: str, rules: Rules | str = "standard", before: tuple[int, ...] = ()) -> int:
    return choose(at_bid(hand, rules, before)) - 51


def count(hand: list[int], trump: int = SPADES) -> float:
    return float(count_tricks(np.uint64(set_of(hand)), trump, PARAMETERS))


def expected(match: Match) -> float:
    table = match.record_array[0]
    seat = int(table["seat"])
    return float(expected_tricks(table, match.rules_array[0], seat, table["hands"][seat], PARAMETERS))


def values_of(match: Match) -> npt.NDArray[np.float64]:
    values = np.empty(14)
    write_bid_values(match.record_array[0], match.rules_array[0], PARAMETERS, values)
    return values


# The count


def test_a_higher_card_of_a_suit_never_counts_less(amount: Amount) -> None:
    """And an ace in place of a lower card counts for a fifth of a trick at least."""
    rng, seen = random.Random(1), 0
    for _ in range(amount(4000, nightly=200_000, no_jit=400)):
        hand = rng.sample(range(52), 13)
        card = rng.choice(hand)
        higher = [c for c in range(card + 1, 13 * (suit_of(card) + 1)) if c not in hand]
        if higher:
            better = rng.choice(higher)
            gain = count([*set(hand) - {card}, better]) - count(hand)
            is_ace = better % CARDS_PER_SUIT == 12
            seen += is_ace
            assert gain >= (0.19 if is_ace else -1e-9), (card_text(card), card_text(better), hand)
    assert seen > 50


def test_one_more_trump_counts(amount: Amount) -> None:
    """In place of a plain card below the queen, from a hand with two trumps or more."""
    rng = random.Random(2)
    for _ in range(amount(4000, nightly=200_000, no_jit=400)):
        hand = rng.sample(range(52), 13)
        trumps = [c for c in hand if suit_of(c) == SPADES]
        low = [c for c in hand if suit_of(c) != SPADES and c % 13 < 10]
        if len(trumps) >= 2 and low:
            more = rng.choice([c for c in range(39, 52) if c not in trumps])
            assert count([*set(hand) - {rng.choice(low)}, more]) > count(hand) + 0.2


def test_plain_suits_count_alike(amount: Amount) -> None:
    """Spades are the trumps: the other three may be exchanged. So may any two, if the trump goes along."""
    rng = random.Random(3)
    for _ in range(amount(300, no_jit=50)):
        hand = rng.sample(range(52), 13)
        order = [*rng.sample(range(3), 3), SPADES]
        assert count([13 * order[suit_of(c)] + c % 13 for c in hand]) == pytest.approx(count(hand))
        order = rng.sample(range(4), 4)
        moved = [13 * order[suit_of(c)] + c % 13 for c in hand]
        for trump in range(4):
            assert count(moved, order[trump]) == pytest.approx(count(hand, trump))
        best = best_trump_suit(np.uint64(set_of(hand)), PARAMETERS)
        held = {suit_of(c) for c in hand}
        assert count(hand, best) == max(count(hand, suit) for suit in held)
        assert best in held


def test_counts_are_right_on_average(amount: Amount) -> None:
    """Four seats share 13 tricks, and so do their counts, about."""
    rng, total = random.Random(4), 0.0
    deals = amount(2000, no_jit=150)
    for _ in range(deals):
        whole = rng.sample(range(52), 52)
        total += sum(count(whole[k : k + 13]) for k in range(0, 52, 13))
    assert total / deals == pytest.approx(13, abs=0.5)


# Bids


def test_bids_of_known_hands() -> None:
    assert bid(NOTHING) == 2
    assert bid(NOTHING, "bhoos") == 1
    assert bid(STRONGEST) >= 10
    assert bid(ALL_SPADES) >= 8
    assert bid("AKQJ:S AKQ:C AKQ:D AKQ:H") >= 8
    assert bid("AK432:C AK3:D AK:H 532:S") in (4, 5, 6)
    assert bid(USUAL) in (2, 3)
    assert bid("A432:C A32:D A32:H A32:S") in (3, 4, 5)


@pytest.mark.parametrize("preset", [name for name in PRESETS if name != "misdeal"])  # H3 deals other hands
def test_stronger_hands_bid_no_less(preset: str) -> None:
    """Card by card from nothing to the strongest."""
    stronger = [
        NOTHING,
        "A543:C 5432:D 432:H 32:S",
        "A543:C A543:D 432:H 32:S",
        "A543:C A543:D A43:H 32:S",
        "A543:C A543:D A43:H A2:S",
        "AK54:C A543:D A43:H A2:S",
        "AK54:C AK54:D A43:H A2:S",
        "AK5:C AK54:D A43:H AK2:S",
        "AK5:C AK5:D A43:H AKQ2:S",
        "AK5:C AK:D AK:H AKQJT9:S",
        STRONGEST,
    ]
    bids = [bid(hand, preset) for hand in stronger]
    assert bids == sorted(bids)
    assert bids[0] == PRESETS[preset].min_bid
    assert bids[-1] >= 8
    assert len(set(bids)) >= 5


def test_limits_bind_the_bid_and_nothing_else() -> None:
    free = Rules(min_bid=1, max_bid=13)
    for hand in (NOTHING, USUAL, "AK432:C AK3:D AK:H 532:S", STRONGEST):
        wanted = bid(hand, free)
        for least, most in ((1, 3), (3, 6), (5, 5), (6, 13), (8, 8)):
            limits = Rules(min_bid=least, max_bid=most)
            assert bid(hand, limits) == min(max(wanted, least), most)


def test_bids_are_shaded() -> None:
    """A missed bid costs it all, an overtrick pays a tenth: below the count, for every usual hand."""
    rng, below = random.Random(5), []
    for _ in range(60):
        hand = " ".join(card_text(card) for card in rng.sample(range(52), 13))
        match = at_bid(hand)
        if expected(match) > 3:
            below.append(expected(match) - (choose(match) - 51))
    assert len(below) > 20
    assert min(below) > 0
    assert sum(below) / len(below) < 1.7


BONUS_HAND = "AKQJ98:S AK:C A32:D 32:H"


def test_H4_bonus_bids_where_they_pay() -> None:
    assert bid(BONUS_HAND) == 7
    assert bid(BONUS_HAND, "bonus") == 8
    assert bid("AK432:C AK3:D AK:H 532:S", "bonus") == bid("AK432:C AK3:D AK:H 532:S")  # it would be too far
    assert bid(BONUS_HAND, Rules(bonus_bid=8, bonus_points=8)) == 7  # it would pay nothing more
    assert bid(STRONGEST, "bonus") == 8  # the bonus is the same for more
    assert bid(STRONGEST, Rules(bonus_bid=10)) == 10


def chances_by_hand(mean: float, spread: float) -> list[float]:
    """The chance of exactly k tricks, 0 to 13: a logistic spread about a mean, its tails at the ends."""
    at_least = [1.0] + [1 / (1 + math.exp(1.702 * (k - 0.5 - mean) / spread)) for k in range(1, 14)] + [0.0]
    return [at_least[k] - at_least[k + 1] for k in range(14)]


BEFORE: list[tuple[int, ...]] = [(), (2,), (8,), (2, 4), (3, 6), (5, 5, 5)]


@pytest.mark.parametrize("preset", ["standard", "bhoos", "bonus", "partnership", "no_trump"])
def test_values_of_bids_are_expectations_by_the_scoring(preset: str) -> None:
    """Against the sum over all trick counts of their chance times ``deal_points``."""
    rules = PRESETS[preset]
    for before in BEFORE:
        for hand in (NOTHING, USUAL, BONUS_HAND):
            match = at_bid(hand, rules, before)
            seat = len(before)
            mean, spread = expected(match), float(PARAMETERS[SPREAD])
            mean += sum(PARAMETERS[EARLIER_BID] * (b - PARAMETERS[USUAL_BID]) for b in before)
            promised = before[seat - 2] if rules.partnership and seat >= 2 else 0
            if promised:
                mean += promised + PARAMETERS[SHADE]
                spread *= PARAMETERS[PARTNER_SPREAD]
            chances = chances_by_hand(mean, spread)
            values = values_of(match)
            for own in range(1, 14):
                bids: list[int | None] = [1, 1, 1, 1]
                bids[seat] = own
                if rules.partnership:  # the side's bid counts: of two seats, or only of this one
                    bids[seat ^ 2] = promised or None
                average = 0.0
                for k, chance in enumerate(chances):
                    won = [0, 0, 0, 0]
                    won[seat] = k
                    average += chance * deal_points(bids, won, rules)[seat]
                assert values[own] == pytest.approx(average, abs=1e-6)
            legal = range(rules.min_bid, rules.max_bid + 1)
            assert choose(match) - 51 == max(legal, key=lambda own: values[own])


def test_H5_a_partner_s_bid_counts_as_its_tricks() -> None:
    """The side's tricks pay the side's bid: one's own share is about what one would bid alone."""
    rules = PRESETS["partnership"]
    strong = "AK5:C AK5:D A43:H AKQ2:S"
    for promised in (2, 4, 6):
        assert bid(USUAL, rules, (promised, 2)) in (2, 3)
        assert abs(bid(strong, rules, (promised, 2)) - bid(strong, rules)) <= 1
    # What the other side promises is not in it: a seat without tricks gains by its partner's bid alone.
    ours, theirs = values_of(at_bid(USUAL, rules, (6, 2))), values_of(at_bid(USUAL, rules, (2, 6)))
    assert ours[2] > theirs[2] + 20


def test_H6_who_leads_first_counts_its_best_suit_as_trumps() -> None:
    hearts = "AKQJT9:H 432:C 32:D 32:S"
    assert bid(hearts, "no_trump") >= 5
    assert bid(hearts) == 2
    # Others cannot choose: the mean over the suits.
    mean = sum(count(cards(hearts), suit) for suit in range(4)) / 4
    assert expected(at_bid(hearts, "no_trump", (2,))) == pytest.approx(mean)
    assert expected(at_bid(hearts, "no_trump")) == pytest.approx(count(cards(hearts), 2))
    assert bid(hearts, "no_trump", (2,)) < bid(hearts, "no_trump")


@pytest.mark.parametrize("tied", [(0, 2), (0, 1, 3), (0, 1, 2, 3)])
def test_R15_with_fewer_seats_each_counts_more(tied: tuple[int, ...]) -> None:
    match, _ = extra_deal_opening(tied)
    assert match.seat is not None
    assert expected(match) == pytest.approx(count(match.hands[match.seat]) * 4 / len(tied))
    values = values_of(match)
    chances = chances_by_hand(expected(match), PARAMETERS[SPREAD] * 4 / len(tied))
    average = sum(chance * (40 + k - 4 if k >= 4 else -40) for k, chance in enumerate(chances))
    assert values[4] == pytest.approx(average, abs=1e-6)


# Leads


def leading(hand: str, gone: str = "", lack: str = "", rules: Rules | str = "standard") -> Any:
    """A table where seat 0 leads from a hand, some cards are gone, and nobody else may hold others."""
    match = place("", "", "", "", rules=rules)
    table = match.record_array.copy()
    table["hands"][0, 0] = set_of(cards(hand))
    table["played"][0, 1] = set_of(cards(gone))
    table["may_hold"][0, 1:] &= ~np.uint64(set_of(cards(lack)))
    table["num_played"], table["trick_no"] = 4, 1
    return table


def lead(*args: Any, **options: Any) -> str:
    table = leading(*args, **options)
    rules = PRESETS[options.get("rules", "standard")]
    return card_text(int(policy_action(RULE_BASED, table[0], rules_record(rules)[0])))


def test_leads_of_known_positions() -> None:
    assert lead("A5:C 73:D", "KQJT98:C 234567:H", ALL_SPADES) == "AC"  # nobody can beat it
    assert lead("K5:C 73:D", "AQJT98:C", ALL_SPADES) == "KC"  # nor the king, once the ace is gone
    assert lead("K5:C 73:D", "QJT98:C", ALL_SPADES) != "KC"  # but it is kept while the ace is out
    assert lead("AKQJT9:S AK:C 2:D", "2345:S", rules="free_spade_lead") == "AS"  # many trumps: draw them
    assert lead("A:S 432:D 54:H", rules="free_spade_lead") != "AS"  # few: keep them
    assert lead("3:C 5432:D 5432:H 5432:S") == "3C"  # a lone low card first, to trump its suit later


def test_a_sure_trick_is_taken_before_a_low_lead(amount: Amount) -> None:
    """Where no other seat can hold a trump, and few cards of a suit are out whose highest this seat holds."""
    seen = 0
    for match in self_played(amount(150, nightly=3000, no_jit=8), first=100):
        table = match.record_array[0]
        if match.phase != "playing" or table["in_trick"] or len(match.legal_actions()) < 2:
            continue
        seat, out = int(table["seat"]), unseen(match)
        others = [cards_of(int(table["may_hold"][other])) for other in range(4) if other != seat]
        if any(suit_of(card) == SPADES and card in out for held in others for card in held):
            continue
        sure = [
            card
            for card in match.legal_actions()
            if suit_of(card) != SPADES
            and is_master(card, out)
            and sum(suit_of(other) == suit_of(card) for other in out) <= 4
        ]
        if sure:
            seen += 1
            assert is_master(choose(match), out)
    assert seen >= (20 if JIT else 1)


@pytest.mark.parametrize("suit", "CDHS")
def test_H6_the_first_lead_makes_the_best_suit_trumps(suit: str) -> None:
    others = [each for each in "CDHS" if each != suit]
    low = f"32:{others[0]} 432:{others[1]} 5432:{others[2]}"
    match = place(f"AKQJ:{suit} {low}", "", "", "", rules="no_trump")
    assert choose(match) == parse_card("A" + suit)  # from the top with the ace
    match = place(f"KQJ5:{suit} {low}", "", "", "", rules="no_trump")
    assert choose(match) == parse_card("5" + suit)  # else from the bottom


# Following


def follow(plays: str, *hands: str, rules: Rules | str = "standard") -> str:
    """What the seat after these plays does; seat 0 led, with clubs unless said."""
    filled = [*hands, *[""] * (4 - len(hands))]
    return card_text(choose(place(*filled, rules=rules, plays=plays)))


LOOSE = Rules(must_beat=False)
PARTNERS = Rules(must_beat=False, partnership=True)
NO_CLUBS = "23456789TJ:D"


def test_follows_of_known_positions() -> None:
    assert follow("5C 7C 9C", "5:C", "7:C", "9:C", "AQT2:C") == "TC"  # last: as cheaply as it can
    assert follow("5C 7C 9C", "5:C", "7:C", "9:C", "AQT2:C", rules=LOOSE) == "TC"  # also of its own will
    assert follow("5C 7C KC", "5:C", "7:C", "K:C", "QT2:C", rules=LOOSE) == "2C"  # it cannot win: the lowest
    assert follow("5C 7C 9C", "5:C", "7:C", "9:C", f"A94:S {NO_CLUBS}") == "4S"  # the lowest trump will do
    assert follow("5C 7C 8S", "5:C", "7:C", f"8:S {NO_CLUBS} QK:D", "A94:S 234567:H A:D") == "9S"
    assert follow("5C 7C", "5:C", "7:C", "AQ2:C", rules=LOOSE) == "AC"  # third: what the last cannot beat


def test_H5_a_partner_s_trick_is_left_to_it() -> None:
    # Seat 3 is last and its partner, seat 1, is winning: nothing is gained by the ace.
    assert follow("5C KC 9C", "5:C", "K:C", "9:C", "A2:C", rules=PARTNERS) == "2C"
    assert follow("5C KC 9C", "5:C", "K:C", "9:C", "A2:C", rules=LOOSE) == "AC"  # no partner
    assert follow("5C 7C KC", "5:C", "7:C", "K:C", "A2:C", rules=PARTNERS) == "AC"  # seat 2's trick


def test_who_has_made_its_bid_wants_tricks_less() -> None:
    """The same hand ducks with a bid that is home, and takes the trick with one to make."""
    match = place("5:C", "7:C", "9:C", "KQ2:C AKQ:D", rules=LOOSE, plays="5C 7C 9C")
    wants, has = match.record_array.copy(), match.record_array.copy()
    wants["bids"][0, 3], has["bids"][0, 3] = 9, 2
    for table in (wants, has):
        table["tricks_won"][0, 2:] = 2  # the seat that is winning so far has made its bid of 2
    record = rules_record(LOOSE)[0]
    actions = [card_text(int(policy_action(RULE_BASED, table[0], record))) for table in (wants, has)]
    assert actions == ["QC", "2C"]


def self_played(deals: int, first: int = 0, rules: Rules | None = None) -> Iterator[Match]:
    """Every position of some deals by four rule-based seats, bids and plays."""
    for seed in range(first, first + deals):
        match = Match(rules or PRESETS["single_deal"], seed=seed)
        while not match.is_over and match.deal == 0:
            yield match
            match.apply(choose(match))


def unseen(match: Match) -> set[int]:
    """What the seat to act has not seen."""
    assert match.seat is not None
    played = {card for _, card in match.plays}
    return set(range(52)) - set(match.hands[match.seat]) - played


def is_master(card: int, out: set[int]) -> bool:
    return not any(higher in out for higher in range(card + 1, 13 * (suit_of(card) + 1)))


@pytest.mark.parametrize(
    "rules", [PRESETS["single_deal"], PRESETS["bhoos"], LOOSE, PRESETS["no_trump"], PARTNERS]
)
def test_no_card_is_higher_than_it_need_be(rules: Rules, amount: Amount) -> None:
    """Last to play: the lowest winner of its suit; and whoever cannot win: the lowest loser of its suit."""
    wins = losses = 0
    tables = positions(rules, amount(1500, nightly=30_000, no_jit=40), seed=11)
    record = rules_record(rules)[0]
    for table in tables:
        if table["phase"] != 1 or not table["in_trick"]:
            continue
        card = int(policy_action(RULE_BASED, table, record))
        legal = legal_cards(table, rules)
        lower = [c for c in legal if suit_of(c) == suit_of(card) and c < card]
        if beats(table, card):
            if table["in_trick"] == table["num_active"] - 1:
                wins += 1
                assert not any(beats(table, c) for c in lower)
        else:
            losses += 1
            assert not lower
    if JIT:
        assert wins > 20
        assert losses > 100


def legal_cards(table: Any, rules: Rules) -> list[int]:
    return cards_of(int(legal_word(table, rules_record(rules)[0])))


def beats(table: Any, card: int) -> bool:
    """R11 in plain Python: whether a card would be the best so far."""
    led, trump = int(table["best_led"]), int(table["best_trump"])
    if suit_of(card) == suit_of(led):
        return card > led and trump < 0
    return suit_of(card) == int(table["trump"]) and card > trump


# Strength


@pytest.mark.parametrize("preset", ["standard", "bhoos"])
def test_it_gains_over_the_floor_and_makes_two_points_a_deal(preset: str, amount: Amount) -> None:
    """Beside three of the floor it makes more than a fourth would; and four of it make about two each."""
    deals = amount(2000, no_jit=2)
    results = play(challenger("rule_based", "low_bid"), rules=preset, seed=77, deals=deals)
    alone = play(challenger("low_bid", "rule_based"), rules=preset, seed=77, deals=6 * deals)
    gain = challenge(results, "rule_based", "low_bid").gain
    together = entrant_figures(alone, [1])["rule_based"]
    assert gain is not None
    assert gain.units == deals
    if not JIT:
        return
    assert gain.low >= 0.4
    assert together.points.low >= 1.95
    assert 0.6 < together.made.mean < 0.95
