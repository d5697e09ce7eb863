"""``Match``: construction, moves, views, copies, text."""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from callbreak_env import IllegalAction, Match, Rules, deal_points, deck_from_hands
from callbreak_env.actions import (
    NUM_ACTIONS,
    action_symbol,
    action_text,
    bid_action,
    bid_of,
    is_bid,
    parse_action,
)
from callbreak_env.cards import card_symbol, card_text, cards_of, hand_text, parse_card, set_of, suit_of
from callbreak_env.rules import PRESETS
from callbreak_env.text import tenths_text
from tables import SUIT_HANDS, cards, deck, place


def after(steps: int, rules: str = "standard", seed: int = 3) -> Match:
    """A match after some random legal actions."""
    match, moves = Match(rules, seed=seed), random.Random(seed)
    for _ in range(steps):
        match.apply(moves.choice(match.legal_actions()))
    return match


def future(match: Match) -> list[Any]:
    moves = random.Random(1)
    while not match.is_over:
        match.apply(moves.choice(match.legal_actions()))
    return [match.actions, match.totals, match.winners, match.record()]


# Cards and actions


def test_cards_are_thirteen_times_suit_plus_rank() -> None:
    for number in range(52):
        suit, rank = divmod(number, 13)
        text = "23456789TJQKA"[rank] + "CDHS"[suit]
        assert card_text(number) == text
        assert card_symbol(number) == text[0] + "♣♦♥♠"[suit]
        assert suit_of(number) == suit
        forms = (text, text.lower(), f" {text} ", card_symbol(number), text.replace("T", "10"))
        assert {parse_card(form) for form in forms} == {number}
    assert set_of(cards_of(0b1011)) == 0b1011
    assert hand_text(cards("2C AD AH 2S AS")) == "A♠ 2♠ A♥ 2♣ A♦"


@pytest.mark.parametrize("text", ["", "S", "1S", "AX", "11S", "ASS", "A S", "10", None, 51, b"AS"])
def test_what_is_no_card_is_refused(text: Any) -> None:
    with pytest.raises(ValueError, match="is not a card: write a rank of"):
        parse_card(text)


def test_actions_are_cards_then_bids() -> None:
    assert NUM_ACTIONS == 65
    assert [bid_action(bid) for bid in (1, 13)] == [52, 64]
    for action in range(65):
        assert is_bid(action) == (action >= 52)
        assert parse_action(action_text(action)) == action
        assert action_symbol(action) == (f"bid {bid_of(action)}" if action > 51 else card_symbol(action))
    for text in ("bid 0", "bid 14", "bid", "bid x", "pass"):
        with pytest.raises(ValueError, match=r"there is no bid|is not a card"):
            parse_action(text)


# Construction


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, "seed must be from 0 to"),
        ({"seed": 2**63}, "seed must be from 0 to"),
        ({"seed": 1.0}, "seed must be a whole number, not 1.0"),
        ({"seed": True}, "seed must be a whole number, not True"),
        ({"seed": "7"}, "seed must be a whole number, not '7'"),
        ({"number": -1}, "number must be from 0 to"),
        ({"dealer": 4}, "dealer must be a seat, 0 to 3, not 4"),
        ({"dealer": -1}, "dealer must be a seat"),
        ({"dealer": 1.5}, "dealer must be a whole number"),
        ({"decks": 5}, "decks must be decks of 52 card ids, not int"),
        ({"decks": "AS"}, "decks must be decks of 52 card ids, not str"),
        ({"decks": [5]}, r"decks\[0\] must be 52 card ids, not int"),
        ({"decks": [range(52), range(51)]}, r"decks\[1\] must hold each card id 0 to 51 once: it holds 51"),
        ({"decks": [[0, *range(51)]]}, r"decks\[0\] must hold .* \[0\] more than once"),
        ({"decks": [range(1, 53)]}, r"decks\[0\] must hold each card id"),
        ({"decks": [[0.0, *range(1, 52)]]}, r"a card of decks\[0\] must be a whole number, not 0\.0"),
        ({"rules": "whist"}, "there is no preset"),
    ],
)
def test_bad_arguments_are_one_clear_error(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Match(**arguments)


def test_seeds_give_the_same_matches_and_zero_is_one() -> None:
    for seed in (0, 1, 2**63 - 1):
        assert Match(seed=seed).hands == Match(seed=seed).hands
        assert Match(seed=seed, number=1).hands != Match(seed=seed).hands
    assert Match(seed=0).hands != Match(seed=1).hands
    assert Match().seed != Match().seed
    assert Match(seed=np.int64(5)).hands == Match(seed=5).hands


def test_decks_are_used_in_order_then_shuffles_follow() -> None:
    decks = [list(range(52)), list(range(51, -1, -1))]
    match = Match(Rules(deals=3), seed=4, dealer=3, decks=decks)
    hands = []
    for deal in range(3):
        hands.append(match.hands)
        while not match.is_over and match.deal == deal:
            match.apply(match.legal_actions()[0])
    assert hands[0] == [list(range(chair, 52, 4)) for chair in range(4)]
    assert hands[1] == [sorted(decks[1][(seat - 1) % 4 :: 4]) for seat in range(4)]
    other = Match(Rules(deals=3), seed=4, dealer=3)
    while other.deal < 2:
        other.apply(other.legal_actions()[0])
    assert hands[2] == other.hands


def test_a_deck_from_hands_deals_those_hands() -> None:
    for dealer in range(4):
        hands = [sorted(hand) for hand in Match(seed=dealer).hands]
        assert Match(dealer=dealer, decks=[deck_from_hands(hands, dealer)]).hands == hands
    partial = deck_from_hands([list(range(13)), None, list(range(13, 26)), None], 3)
    assert partial[:4] == [0, 13, 1, 14]
    assert partial[26:] == list(range(26, 52))


@pytest.mark.parametrize(
    ("hands", "dealer", "message"),
    [
        ([[0]] * 3, 0, "there are 4 hands"),
        ([list(range(12)), None, None, None], 0, "seat 0 must hold 13 cards, not 12"),
        ([list(range(13))] * 4, 0, "2C is held twice, by seats 1 and 2"),
        ([list(range(40, 53)), None, None, None], 0, "seat 0: there is no card 52"),
        ([["AS"] * 13, None, None, None], 0, "a card of seat 0 must be a whole number"),
        ([None] * 4, 4, "dealer must be a seat"),
    ],
)
def test_hands_that_are_none_are_refused(hands: Any, dealer: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        deck_from_hands(hands, dealer)


# Moves


@pytest.mark.parametrize("action", [True, None, 2.5, "3", [1], np.float64(53), np.bool_(True)])
def test_what_is_no_action_id_is_refused(action: Any) -> None:
    match = after(9)
    before = pickle.dumps(match)
    with pytest.raises(ValueError, match="action must be a whole number, not"):
        match.apply(action)
    assert pickle.dumps(match) == before


@pytest.mark.parametrize("action", [-1, 65, 2**70, -(2**70)])
def test_ids_out_of_range_are_refused(action: int) -> None:
    match = after(9)
    with pytest.raises(
        IllegalAction, match=rf"cannot take action {action}: action ids are 0 to 64"
    ) as caught:
        match.apply(action)
    assert caught.value.clause == ""


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint8, np.array])
def test_numpy_integers_are_actions(kind: Any) -> None:
    match = after(9)
    action = match.legal_actions()[0]
    match.apply(kind(action))
    assert match.actions[-1] == action
    assert type(match.actions[-1]) is int


def test_an_illegal_action_tells_all_and_survives_pickling() -> None:
    match = place("2H", "TH AS", "", "", plays="2H")
    with pytest.raises(IllegalAction) as caught:
        match.apply(parse_card("AS"))
    error = pickle.loads(pickle.dumps(caught.value))
    assert str(error) == str(caught.value)
    assert (error.seat, error.action, error.clause) == (1, parse_card("AS"), "R8")
    assert error.legal == tuple(match.legal_actions())
    assert str(error).startswith("seat 1 cannot play A♠: R8 holds hearts, the led suit; legal ")
    assert error.table in repr(match)
    assert "\n" not in str(error)
    assert isinstance(error, ValueError)


def test_the_mask_is_the_callers_own() -> None:
    match = after(9)
    mask = match.legal_mask()
    assert mask.dtype == np.int8
    assert mask.shape == (65,)
    assert np.flatnonzero(mask).tolist() == match.legal_actions()
    held = mask.copy()
    mask[:] = 1
    assert match.legal_mask().tolist() == held.tolist()
    match.apply(match.legal_actions()[0])
    assert mask.tolist() == [1] * 65
    assert not after(280).legal_mask().any()


# Copies


@pytest.mark.parametrize("steps", [0, 3, 30, 57, 130])
@pytest.mark.parametrize("preset", ["standard", "min_total", "misdeal"])
def test_copies_have_equal_futures_and_are_independent(steps: int, preset: str) -> None:
    match = after(steps, preset)
    before = pickle.dumps(match.record())
    copies = [
        match.clone(),
        copy.deepcopy(match),
        copy.copy(match).clone(),
        pickle.loads(pickle.dumps(match)),
    ]
    futures = [future(each) for each in copies]
    assert pickle.dumps(match.record()) == before
    assert futures == [future(match)] * len(copies)


# Views


@pytest.mark.parametrize("preset", PRESETS)
def test_a_view_holds_what_its_seat_knows_and_nothing_else(preset: str) -> None:
    match, moves = Match(preset, seed=8), random.Random(8)
    while not match.is_over:
        for seat in range(4):
            view = match.view(seat)
            table = view.record_array[0]
            assert view.viewer == seat
            assert view.hand == match.hands[seat] == view.may_hold(seat)
            assert all(int(table["hands"][other]) == 0 for other in range(4) if other != seat)
            assert int(table["seed"]) == int(table["match"]) == int(table["deck"]) == 0
            assert not hasattr(view, "hands")
            for name in (
                "phase",
                "bids",
                "trick",
                "plays",
                "tricks_won",
                "totals",
                "trump",
                "dealer",
                "active",
            ):
                assert getattr(view, name) == getattr(match, name)
            turn = seat == match.seat
            assert view.legal_actions() == (match.legal_actions() if turn else [])
            assert view.legal_mask().tolist() == (match.legal_mask() if turn else np.zeros(65)).tolist()
            for other in range(4):
                assert set(match.hands[other]) <= set(view.may_hold(other))
                assert other == seat or not set(view.may_hold(other)) & set(view.hand)
        match.apply(moves.choice(match.legal_actions()))


def test_a_view_stays_as_it_is() -> None:
    match = after(20)
    view = match.view(2)
    before = (view.hand, view.plays, view.legal_actions(), str(view))
    for _ in range(60):
        match.apply(match.legal_actions()[0])
    assert (view.hand, view.plays, view.legal_actions(), str(view)) == before
    for seat in (-1, 4, "0", None):
        with pytest.raises(ValueError, match="seat must be a"):
            match.view(seat)  # type: ignore[arg-type]


# Text


def test_the_picture_goes_counter_clockwise() -> None:
    match = place("9H", "TH", "JH", "QH", plays="9H TH JH", dealer=3)
    lines = str(match).splitlines()
    assert lines[0] == "Deal 1 of 5, trick 1 of 13, trump ♠"
    (west,) = [line for line in lines if line.startswith("▶ seat 3 (dealer)")]
    assert west.endswith("seat 1")
    north = next(i for i, line in enumerate(lines) if line.strip() == "seat 2")
    south = next(i for i, line in enumerate(lines) if line.strip() == "seat 0")
    assert north < lines.index(west) < south
    table = [line[31:44] for line in lines if "│" in line]
    assert table == ["│    J♥     │", "│     ↺  T♥ │", "│    9♥     │"]
    assert lines[-1].startswith("Seat 3 to play: ")
    assert "bid 2, won 0, total 0.0" in str(match)


def test_the_picture_of_a_seat_hides_the_others() -> None:
    match = place(*SUIT_HANDS, plays="2C 2D")
    text = match.render(2)
    assert text == str(match.view(2))
    assert text.count("12 cards") == 2
    assert text.count("13 cards") == 1
    assert "♥ A K Q J T 9 8 7 6 5 4 3 2" in text
    assert "A K Q J T 9 8 7 6 5 4 3 2" not in text.replace("♥ A K Q J T 9 8 7 6 5 4 3 2", "")
    assert text.splitlines()[-8].strip() == "▶ seat 2"  # at the bottom


def test_the_picture_of_the_end_names_the_winners() -> None:
    match = after(0, "single_deal")
    future(match)
    assert f"The match is over: seat {match.winners[0]}" in str(match)


def test_repr_is_one_line() -> None:
    for steps in (0, 5, 120):
        assert "\n" not in repr(after(steps))


@pytest.mark.parametrize(
    ("tenths", "text"), [(0, "0.0"), (41, "4.1"), (-5, "-0.5"), (-40, "-4.0"), (130, "13.0")]
)
def test_tenths_are_told_with_one_decimal(tenths: int, text: str) -> None:
    assert tenths_text(tenths) == text


# Points of a deal


def test_points_of_unfinished_deals_and_of_seats_that_are_not_in() -> None:
    assert deal_points([4, 4, 1, 2], [4, 3, 0, 3], "bhoos") == [40, -40, -10, 21]
    assert deal_points([3, None, 2, 0], [0, 0, 0, 0]) == [-30, 0, -20, 0]
    assert deal_points([2] * 4, [0] * 4) == [-20] * 4


@pytest.mark.parametrize(
    ("bids", "tricks", "message"),
    [
        ([2] * 3, [0] * 4, "there are 4 bids and 4 trick counts"),
        ([2] * 4, [0] * 5, "there are 4 bids and 4 trick counts"),
        ([14, 2, 2, 2], [0] * 4, "a bid must be from 0 to 13"),
        ([2] * 4, [-1, 0, 0, 0], "a trick count must be from 0 to 13"),
        ([2] * 4, [7, 7, 0, 0], "a deal has 13 tricks, not 14"),
        ([2.0] * 4, [0] * 4, "a bid must be a whole number"),
        ([2] * 4, [True, 0, 0, 0], "a trick count must be a whole number"),
    ],
)
def test_points_of_nonsense_are_refused(bids: Any, tricks: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        deal_points(bids, tricks)


def test_helpers_deal_what_they_say() -> None:
    assert sorted(deck(*SUIT_HANDS)) == list(range(52))
    assert place(*SUIT_HANDS).hands == [list(range(13 * seat, 13 * seat + 13)) for seat in range(4)]


def test_what_is_no_collection_is_refused() -> None:
    for call, message in (
        (lambda: Match(decks=np.array(5)), "decks must be decks of 52 card ids, not ndarray"),
        (lambda: Match(decks=[np.array(5)]), r"decks\[0\] must be 52 card ids, not ndarray"),
        (lambda: deck_from_hands(None, 0), "hands must be 4 hands, not NoneType"),
        (lambda: deck_from_hands([5] * 4, 0), "the hand of seat 1 must be 13 card ids, not int"),
        (lambda: deal_points(None, [0] * 4), "bids must be four bids, not NoneType"),
        (lambda: Rules.preset([]), r"there is no preset \[\]"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_a_shallow_copy_is_independent_too() -> None:
    match = after(2)
    other = copy.copy(match)
    other.apply(other.legal_actions()[0])
    assert len(match.actions) == 2
    assert match.bids != other.bids


# --- to and from bytes ---


@pytest.mark.parametrize("preset", PRESETS)
def test_a_match_from_bytes_is_the_same_match_with_the_same_future(preset: str) -> None:
    rng = random.Random(6)
    decks = [rng.sample(range(52), 52) for _ in range(2)]
    match = Match(preset, seed=9, number=4, decks=decks if preset == "bhoos" else None)
    while True:
        again = Match.from_bytes(match.to_bytes())
        assert again.record_array.tobytes() == match.record_array.tobytes()
        assert again.record() == match.record()
        assert again.legal_actions() == match.legal_actions()
        if match.is_over:
            break
        for _ in range(rng.randint(1, 40)):
            if not match.is_over:
                match.apply(rng.choice(match.legal_actions()))
    assert len(match.to_bytes()) < 1000


def test_a_match_from_bytes_goes_its_own_way() -> None:
    match = Match(seed=1)
    again = Match.from_bytes(match.to_bytes())
    again.apply(again.legal_actions()[0])
    assert match.actions == []
    match.apply(match.legal_actions()[0])
    assert match.to_bytes() == again.to_bytes()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda data: b"", "these are not the bytes of a match: they begin with b''"),
        (lambda data: b"other" + data, "they begin with b'othercallbreak match"),
        (
            lambda data: data[: data.index(b"\n") + 1] + b"[" * 10**5 + b"\n",
            "these are not the bytes of a match: maximum recursion",
        ),
        (lambda data: data[:40], "these are not the bytes of a match: "),
        (lambda data: data.replace(b'"seed": 1', b'"seed": -1'), "seed must be from 0"),
        (lambda data: data.replace(b'"decks": 1', b'"decks": 3'), "there are no 3 decks in them"),
        (lambda data: data.replace(b'"deals": 5', b'"deals": 0'), "deals=0: must be at least 1"),
        (lambda data: data.replace(b'"seed"', b'"sead"'), "'seed'"),
        (lambda data: data + b"\xff", "cannot take action 255"),
        (lambda data: data + b"\x00", "R5 every seat bids before a card is played"),
    ],
)
def test_bytes_that_are_no_match_are_refused(spoil: Callable[[bytes], bytes], message: str) -> None:
    data = Match(seed=1, decks=[range(52)]).to_bytes()
    assert spoil(data) != data
    with pytest.raises(ValueError, match=message):
        Match.from_bytes(spoil(data))
