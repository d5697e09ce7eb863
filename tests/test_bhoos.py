"""Match histories of the bot tournament: real ones replay without an illegal card, with their points."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callbreak_env import Match, deck_from_hands
from callbreak_env.bhoos import is_bhoos, read_bhoos, replay_bhoos
from callbreak_env.cards import card_text, parse_card
from callbreak_env.errors import RecordError
from callbreak_env.rules import PRESETS
from callbreak_env.simulation import uniform_match
from callbreak_env.story import tell_bhoos

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "bhoos"
FILES = sorted(SHARED.glob("*.json"))


@pytest.mark.skipif(not FILES, reason="the real match files are not part of the repository")
def test_real_files_replay_without_an_illegal_card_and_with_their_points() -> None:
    for path in FILES:
        match = read_bhoos(path)
        raw = json.loads(path.read_text(encoding="utf-8"))
        assert not [move for deal in match.deals for move in deal.illegal], path.name
        assert [deal.points for deal in match.deals] == [deal.recorded_points for deal in match.deals]
        totals = [sum(deal.points[seat] for deal in match.deals) for seat in range(4)]
        assert totals == [round(10 * score) for score in raw["rounds"][-1]["scores"]]
        cards = sum(card is not None for r in raw["rounds"] for t in r["actions"] for card in t["cards"])
        assert sum(len(deal.moves) for deal in match.deals) == cards
        assert match.agrees


@pytest.mark.skipif(not FILES, reason="the real match files are not part of the repository")
def test_the_deal_that_was_cut_is_scored_on_the_tricks_so_far() -> None:
    match = read_bhoos(SHARED / "match_cut.json")
    assert [deal.complete for deal in match.deals] == [True, True, True, False]
    last = match.deals[-1]
    assert len(last.moves) == 43
    assert last.points == (40, -40, -10, 21)
    assert last.server_errors == ("trick 10, turn 3: TIMEOUT",)


def server_card(card: int) -> str:
    return card_text(card).replace("A", "1")


def history(seed: int = 3) -> dict[str, Any]:
    """A match of uniform agents as the tournament's server would write it."""
    match = uniform_match(PRESETS["bhoos"], seed, 0)
    rounds = [
        {
            "dealer": entry["dealer"],
            "cards": [[server_card(parse_card(card)) for card in hand] for hand in entry["hands"]],
            "bids": entry["bids"],
            "errors": {},
            "actions": [
                {
                    "started": trick["leader"],
                    "cards": [server_card(parse_card(card)) for card in trick["cards"]],
                    "ended": trick["winner"],
                }
                for trick in entry["tricks"]
            ],
            "scores": [total / 10 for total in entry["totals"]],
            "responseTimes": [0, 0, 0, 0],
        }
        for entry in match.record()["deals"]
    ]
    return {"players": ["a", "b", "c", "d"], "rounds": rounds, "ranks": [0] * 4}


def test_a_match_of_ours_agrees() -> None:
    value = history()
    match = replay_bhoos(value)
    assert match.agrees
    assert is_bhoos(value)
    assert [len(deal.moves) for deal in match.deals] == [52] * 5
    assert [move.points for move in match.deals[0].moves][-1] == match.deals[0].points


def test_an_illegal_card_is_reported_with_its_clause_and_ends_the_deal() -> None:
    suits = ["C", "D", "H", "S"]
    hands = [[parse_card(rank + suit) for rank in "23456789TJQKA"] for suit in suits]
    hands[0][0], hands[1][0] = hands[1][0], hands[0][0]  # seat 0 holds 2D, seat 1 holds 2C
    value = history()
    value["rounds"] = value["rounds"][:1]
    value["rounds"][0] |= {
        "dealer": 3,
        "cards": [[server_card(card) for card in hand] for hand in hands],
        "bids": [1, 1, 1, 1],
        "actions": [{"started": 0, "cards": ["KC", "1D", "2H", "2S"], "ended": 3}],
        "scores": [-1.0, -1.0, -1.0, -1.0],
    }
    match = replay_bhoos(value)
    (deal,) = match.deals
    assert [(move.seat, card_text(move.card), bool(move.broken)) for move in deal.moves] == [
        (0, "KC", False),
        (1, "AD", True),
    ]
    assert deal.moves[1].broken == "seat 1 cannot play A♦: R8 holds clubs, the led suit; legal 2♣"
    assert not deal.agrees
    assert not deal.complete
    assert any("ILLEGAL: seat 1 cannot play A♦" in line for line in tell_bhoos(match))


def test_points_that_differ_are_reported() -> None:
    value = history()
    value["rounds"][2]["scores"][1] += 0.1
    match = replay_bhoos(value)
    assert [deal.agrees for deal in match.deals] == [True, True, False, False, True]
    assert any("which differs" in line for line in tell_bhoos(match))


def test_scores_that_drift_as_floats_are_read_as_tenths() -> None:
    value = history()
    value["rounds"][0]["scores"] = [score + 4e-16 for score in value["rounds"][0]["scores"]]
    assert replay_bhoos(value).agrees


def first(value: dict[str, Any]) -> dict[str, Any]:
    return value["rounds"][0]


BREAKS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "three players": (lambda v: v["players"].pop(), "'players' must be 4 long"),
    "a player without a name": (lambda v: v["players"].__setitem__(0, 1), "'players' must be four names"),
    "no rounds": (lambda v: v.pop("rounds"), "has no 'rounds'"),
    "a round of another type": (lambda v: v["rounds"].__setitem__(0, []), r"rounds\[0\]: must be an object"),
    "a card twice": (lambda v: first(v)["cards"].__setitem__(0, first(v)["cards"][1]), "is held twice"),
    "no such card": (
        lambda v: first(v)["cards"][0].__setitem__(0, "11"),
        "cards of seat 0: '.*' is not a card",
    ),
    "a hand of another type": (
        lambda v: first(v)["cards"].__setitem__(0, "1S"),
        "cards of seat 0: must be a list",
    ),
    "a bid of 9": (lambda v: first(v)["bids"].__setitem__(0, 9), "bid of seat 0: .*R5 bids are 1 to 8"),
    "fourteen tricks": (
        lambda v: first(v)["actions"].append(copy.deepcopy(first(v)["actions"][0])),
        "trick 14: a deal has 13 tricks",
    ),
    "a hole in a trick": (
        lambda v: first(v)["actions"][4]["cards"].__setitem__(1, None),
        "follows a missing one",
    ),
    "cards after the cut": (
        lambda v: first(v)["actions"].__setitem__(2, {"started": 0, "cards": [None] * 4, "ended": None}),
        r"trick 3|cards follow a deal that was cut short",
    ),
    "another winner": (
        lambda v: first(v)["actions"][0].update(ended=(first(v)["actions"][0]["ended"] + 1) % 4),
        r"trick 1: 'ended' is \d, by the rules \d",
    ),
    "another leader": (
        lambda v: first(v)["actions"][1].update(started=(first(v)["actions"][1]["started"] + 1) % 4),
        r"trick 2: seat \d leads, but it is for seat \d",
    ),
    "a score in text": (lambda v: first(v)["scores"].__setitem__(0, "4.1"), "a score must be a number"),
    "a score of two decimals": (
        lambda v: first(v)["scores"].__setitem__(0, 4.15),
        "a score must have one decimal",
    ),
    "an infinite score": (
        lambda v: first(v)["scores"].__setitem__(0, float("inf")),
        "a score must be a number",
    ),
    "errors of another type": (lambda v: first(v).update(errors=[1]), "'errors' must be an object"),
    "an error without a type": (
        lambda v: first(v).update(errors={"3": [{}]}),
        "errors of '3': has no 'type'",
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_what_is_wrong_is_named(name: str) -> None:
    spoil, message = BREAKS[name]
    value = history()
    spoil(value)
    with pytest.raises(RecordError, match=message):
        replay_bhoos(value)


def test_a_file_names_itself(tmp_path: Path) -> None:
    path = tmp_path / "cut.json"
    path.write_text(json.dumps(history())[:1000], encoding="utf-8")
    with pytest.raises(RecordError, match=r"cut\.json: not JSON, or cut short"):
        read_bhoos(path)
    path.write_text(json.dumps(history()), encoding="utf-8")
    assert read_bhoos(path).agrees


def test_a_history_is_dealt_as_it_says() -> None:
    entry = first(history())
    hands = [[parse_card(card.replace("1", "A")) for card in hand] for hand in entry["cards"]]
    match = Match("bhoos", dealer=entry["dealer"], decks=[deck_from_hands(hands, entry["dealer"])])
    assert match.hands == [sorted(hand) for hand in hands]
