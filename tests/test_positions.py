"""The positions of ``data/positions.jsonl``: every expected value as given there.

Cards there are rank then suit with ``1`` for the ace; values follow the rules read literally, ``alt.bhoos``
the preset ``bhoos``. Replayed from the deal, card by card.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from callbreak_env import IllegalAction, Match, deal_points, deck_from_hands
from callbreak_env.actions import bid_action
from callbreak_env.cards import card_text, parse_card
from callbreak_env.rules import Rules
from callbreak_env.text import tenths_text

LINES = Path(__file__).parent.joinpath("data", "positions.jsonl").read_text(encoding="utf-8").splitlines()
POSITIONS: dict[str, dict[str, Any]] = {line["id"]: line for line in map(json.loads, LINES)}


def of_type(*kinds: str, alt: str | None = None) -> list[str]:
    return [
        name
        for name, line in POSITIONS.items()
        if line["type"] in kinds and "deal" in line and (alt is None or alt in line.get("alt", {}))
    ]


def card(text: str) -> int:
    return parse_card(text.replace("1", "A"))


def reach(line: dict[str, Any], rules: str | Rules = "standard") -> Match:
    """The position, by dealing, bidding and playing up to it; its other fields checked on the way."""
    hands = [[card(text) for text in hand] for hand in line["deal"]]
    dealer = line["dealer"]
    match = Match(rules, dealer=dealer, decks=[deck_from_hands(hands, dealer)])
    for i in range(4):
        match.apply(bid_action(line["bids"][(dealer + 1 + i) % 4]))
    for text in line["prefix"]:
        match.apply(card(text))
    assert match.trick_no == line["trick_no"] - 1
    assert match.tricks_won == line["won"]
    assert match.trick == [(seat, card(text)) for seat, text in line["trick"]]
    assert match.seat == line["turn"]
    assert match.hands == [sorted(card(text) for text in hand) for hand in line["hands"]]
    return match


def test_all_lines_are_known() -> None:
    assert len(POSITIONS) == len(LINES) == 21
    assert {line["type"] for line in POSITIONS.values()} == {
        "legal",
        "winner",
        "illegal",
        "information",
        "score",
        "match",
        "bid",
    }


@pytest.mark.parametrize("name", of_type("legal"))
def test_legal_cards(name: str) -> None:
    line = POSITIONS[name]
    match = reach(line)
    legal = {card(text) for text in line["expect"]["legal"]}
    illegal = {card(text) for text in line["expect"]["illegal"]}
    assert set(match.legal_actions()) == legal
    assert set(match.hands[line["turn"]]) == legal | illegal
    assert match.legal_mask().tolist() == [int(action in legal) for action in range(65)]
    for choice in legal:
        match.clone().apply(choice)
    for choice in illegal:
        with pytest.raises(IllegalAction):
            match.apply(choice)


@pytest.mark.parametrize("name", of_type("legal", alt="bhoos"))
def test_legal_cards_under_the_tournaments_rules(name: str) -> None:
    line = POSITIONS[name]
    match = reach(line, Rules(free_spade_lead=True, beat_when_trumped=False, undertrump=False, max_bid=8))
    assert set(match.legal_actions()) == {card(text) for text in line["alt"]["bhoos"]}
    preset = reach(line, "bhoos")
    assert preset.legal_actions() == match.legal_actions()


@pytest.mark.parametrize("name", of_type("winner"))
def test_winner(name: str) -> None:
    line = POSITIONS[name]
    match = reach(line)
    match.apply(card(line["play"]))
    expect = line["expect"]
    assert match.last_winner == expect["winner"]
    assert match.seat == expect["next_to_play"]
    assert (expect["winner"], card(expect["winning_card"])) in match.plays[-4:]


def test_history_in_play_order() -> None:
    line = POSITIONS["history-in-play-order"]
    order = [(line["leader"] + i) % 4 for i in range(4)]
    played = dict(zip(order, line["cards"], strict=True))
    assert played == {int(seat): text for seat, text in line["expect"]["by_seat"].items()}
    # The trick opens a deal; the preset lets a spade lead it.
    hands = [[card(played[seat])] for seat in range(4)]
    rest = [number for number in range(52) if not any(number in hand for hand in hands)]
    for hand in hands:
        hand += [rest.pop() for _ in range(12)]
    dealer = (line["leader"] - 1) % 4
    match = Match("bhoos", dealer=dealer, decks=[deck_from_hands(hands, dealer)])
    for _ in range(4):
        match.apply(bid_action(1))
    for seat in order:
        match.apply(card(played[seat]))
    assert match.last_winner == line["expect"]["winner"]
    assert [text for _, text in match.plays] == [card(text) for text in line["cards"]]


@pytest.mark.parametrize("name", [name for name, line in POSITIONS.items() if line["type"] == "illegal"])
def test_illegal_card_is_refused_and_nothing_else_is_played(name: str) -> None:
    line = POSITIONS[name]
    match = reach(POSITIONS[line["position"]])
    for text in (line["play"], line["play_also"]):
        before = (match.record_array.tobytes(), match.actions)
        with pytest.raises(IllegalAction, match="R4 does not hold that card"):
            match.apply(card(text))
        assert (match.record_array.tobytes(), match.actions) == before


@pytest.mark.parametrize("name", [name for name, line in POSITIONS.items() if line["type"] == "information"])
def test_voids_that_play_has_proved(name: str) -> None:
    line = POSITIONS[name]
    match = reach(line)
    unplayed = {number for hand in match.hands for number in hand}
    voids = {}
    for seat in range(4):
        if seat != line["turn"]:
            may = set(match.view(line["turn"]).may_hold(seat))
            unseen = unplayed - set(match.hands[line["turn"]])
            empty = "".join(
                suit
                for suit in "SHCD"
                if any(card_text(c)[1] == suit for c in unseen)
                and not any(card_text(c)[1] == suit for c in may)
            )
            if empty:
                voids[str(seat)] = empty
    assert voids == line["expect"]["voids"]


def test_scores() -> None:
    lines = [line for line in POSITIONS.values() if line["type"] == "score"]
    assert sum(len(line["cases"]) for line in lines) == 8
    for line in lines:
        for case in line["cases"]:
            points = deal_points([case["bid"], None, None, None], [case["won"], 0, 0, 0])[0]
            assert (points, tenths_text(points)) == (case["tenths"], case["text"])


def test_totals_do_not_drift() -> None:
    line = POSITIONS["totals-float-drift-tie"]
    totals = [0] * 4
    for deal, after in zip(line["rounds"], line["expect"]["tenths_after_each"], strict=True):
        points = deal_points(deal["bids"], deal["won"])
        assert points == deal["tenths"]
        totals = [total + more for total, more in zip(totals, points, strict=True)]
        assert totals == after
    assert totals == line["expect"]["final_tenths"]
    assert [tenths_text(total) for total in totals] == line["expect"]["final_text"]
    assert [seat for seat in range(4) if totals[seat] == max(totals)] == line["expect"]["tied_at_top"]


def test_bids() -> None:
    line = POSITIONS["bid-range"]
    match = Match(seed=1)
    assert [action - 51 for action in match.legal_actions()] == line["legal"]
    assert [action - 51 for action in Match("bhoos", seed=1).legal_actions()] == line["alt"]["bhoos"]
    for bid in line["legal"]:
        match.clone().apply(bid_action(bid))
    before = match.record_array.tobytes()
    for bid in line["illegal"]:
        with pytest.raises(ValueError, match=r"bid|number|action"):
            match.apply(51 + bid if isinstance(bid, (int, float)) and bid is not True else bid)
    assert match.record_array.tobytes() == before
