"""Records: written, read, verified by replay; what is wrong in a file is named with its place."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import callbreak_env.records as records
from callbreak_env import Match
from callbreak_env.errors import RecordError
from callbreak_env.records import read_records, replay, write_records
from callbreak_env.rules import PRESETS, Rules
from callbreak_env.simulation import uniform_match

Record = dict[str, Any]


def plain(match: Match) -> Record:
    return json.loads(json.dumps(match.record()))


@pytest.mark.parametrize("preset", PRESETS)
def test_a_match_comes_back_as_it_was(preset: str, tmp_path: Path) -> None:
    matches = [uniform_match(PRESETS[preset], 5, number) for number in range(3)]
    assert write_records(tmp_path / "m.jsonl", matches) == 3
    back = list(read_records(tmp_path / "m.jsonl"))
    assert [match.actions for match in back] == [match.actions for match in matches]
    assert [match.record() for match in back] == [match.record() for match in matches]


def test_every_kind_of_deal_comes_back() -> None:
    rules = Rules(deals=2, misdeal=True, min_total_bid=24, max_redeals=2, max_bid=7, trump="first_led")
    outcomes = set()
    for number in range(40):
        record = plain(uniform_match(rules, 8, number))
        outcomes |= {entry["outcome"] for entry in record["deals"]}
        assert plain(replay(record)) == record
    assert outcomes == {"played", "thrown_in", "misdeal"}


def test_extra_deals_of_two_three_and_four_seats_come_back() -> None:
    sizes = set()
    for number in range(200):
        least = 13 if number % 2 else 2  # four failed bids of 13 tie
        match = uniform_match(Rules(deals=1, min_bid=least, max_bid=max(3, least)), 4, number)
        if match.is_extra_deal and len(match.active) not in sizes:
            sizes.add(len(match.active))
            record = plain(match)
            assert sum(hand is None for hand in record["deals"][-1]["hands"]) == 4 - len(match.active)
            assert plain(replay(record)) == record
    assert sizes == {2, 3, 4}


@pytest.mark.parametrize("steps", [0, 1, 4, 5, 60, 57, 200])
def test_a_match_cut_short_can_be_played_on(steps: int) -> None:
    whole = uniform_match(PRESETS["standard"], 11, 0)
    match = Match(seed=11, number=0)
    for action in whole.actions[:steps]:
        match.apply(action)
    back = replay(plain(match))
    assert back.actions == match.actions
    for action in whole.actions[steps:]:
        back.apply(action)
    assert plain(back) == plain(whole)


def test_info_is_kept_out_of_the_verification() -> None:
    record = plain(uniform_match(PRESETS["single_deal"], 1, 0)) | {"info": {"agents": ["a", "b", "c", "d"]}}
    assert replay(record).is_over


def deal(record: Record, index: int = 1) -> Record:
    return record["deals"][index]


def another_card(record: Record) -> None:
    """A card that the seat does not hold."""
    trick = deal(record)["tricks"][3]
    trick["cards"][2] = trick["cards"][1]


def swap_bids(record: Record) -> None:
    deal(record)["bids"][0] = 2 if deal(record)["bids"][0] != 2 else 3


BREAKS: dict[str, tuple[Callable[[Record], Any], str]] = {
    "another format": (lambda r: r.update(format="pgn"), "'format' must be 'callbreak-match'"),
    "a later version": (lambda r: r.update(version=2), "'version' 2 cannot be read"),
    "a version of another type": (lambda r: r.update(version=True), "'version' must be a number, not true"),
    "no rules": (lambda r: r.pop("rules"), "has no 'rules'"),
    "an unknown option": (lambda r: r["rules"].update(jokers=1), "rules: there is no option 'jokers'"),
    "an option out of range": (lambda r: r["rules"].update(deals=0), "rules: deals=0: must be at least 1"),
    "rules of another type": (lambda r: r.update(rules=[]), "'rules' must be an object, not a list"),
    "no deals": (lambda r: r.update(deals=[]), "'deals' is empty"),
    "deals of another type": (lambda r: r.update(deals="all"), "'deals' must be a list, not text"),
    "a deal of another type": (lambda r: r["deals"].append(7), r"deals\[5\]: must be an object with 'hands'"),
    "a deal too many": (
        lambda r: r["deals"].append(copy.deepcopy(r["deals"][0])),
        r"deals\[5\]: the match is over before this deal",
    ),
    "a deal too few": (lambda r: r["deals"].pop(), "deals is 4 long, by the rules 5"),
    "three hands": (lambda r: deal(r)["hands"].pop(), r"deals\[1\]: 'hands' must be 4 long"),
    "a hand missing": (lambda r: deal(r)["hands"].__setitem__(2, None), r"deals\[1\]"),
    "a card twice": (
        lambda r: deal(r)["hands"][0].__setitem__(0, deal(r)["hands"][1][0]),
        r"deals\[1\]: \w\w is held twice, by seats \d and \d",
    ),
    "a hand of twelve": (
        lambda r: deal(r)["hands"][3].pop(),
        r"deals\[1\]: seat 3 must hold 13 cards, not 12",
    ),
    "no such card": (
        lambda r: deal(r)["hands"][0].__setitem__(0, "1S"),
        r"deals\[1\]: hand of seat 0: '1S' is not a card",
    ),
    "a card of another type": (
        lambda r: deal(r)["hands"][0].__setitem__(0, 51),
        r"deals\[1\]: hand of seat 0: 51 is not a card",
    ),
    "a dealer of another type": (lambda r: deal(r).update(dealer="1"), "'dealer' must be a number, not text"),
    "no such dealer": (lambda r: deal(r, 0).update(dealer=4), "dealer must be a seat, 0 to 3, not 4"),
    "the wrong dealer": (lambda r: deal(r).update(dealer=(deal(r)["dealer"] + 1) % 4), r"deals\[1\]"),
    "a bid out of range": (
        lambda r: deal(r)["bids"].__setitem__(0, 14),
        "bid of seat 0: there is no bid of 14",
    ),
    "a bid below the least": (
        lambda r: deal(r)["bids"].__setitem__(0, 1),
        "bid of seat 0: seat 0 cannot bid 1: R5 bids are 2 to 13",
    ),
    "a bid of another type": (
        lambda r: deal(r)["bids"].__setitem__(0, 2.0),
        r"bid of seat 0: a bid must be a whole number, not 2\.0",
    ),
    "another bid": (swap_bids, r"deals\[1\]\.points"),
    "a bid missing": (lambda r: deal(r)["bids"].__setitem__(0, None), "every seat bids before a card"),
    "another card": (another_card, r"deals\[1\]: trick 4: card 3: seat \d cannot play .*: R4 does not hold"),
    "five cards": (
        lambda r: deal(r)["tricks"][3]["cards"].append(deal(r)["tricks"][3]["cards"][0]),
        r"deals\[1\]: trick 4: card 5: seat \d cannot play",
    ),
    "three cards": (
        lambda r: deal(r)["tricks"][3]["cards"].pop(),
        r"deals\[1\]: trick 5: seat \d leads, but",
    ),
    "fourteen tricks": (
        lambda r: deal(r)["tricks"].append({"leader": deal(r, 2)["tricks"][0]["leader"], "cards": ["AS"]}),
        r"deals\[1\]: trick 14: ",
    ),
    "twelve tricks": (lambda r: deal(r)["tricks"].pop(), r"deals\[2\]: "),
    "another leader": (
        lambda r: deal(r)["tricks"][5].update(leader=(deal(r)["tricks"][5]["leader"] + 1) % 4),
        r"deals\[1\]: trick 6: seat \d leads, but it is for seat \d",
    ),
    "another winner": (
        lambda r: deal(r)["tricks"][12].update(winner=(deal(r)["tricks"][12]["winner"] + 1) % 4),
        r"deals\[1\]\.tricks\[12\]\.winner is \d, by the rules \d",
    ),
    "other points": (
        lambda r: deal(r)["points"].__setitem__(2, 131),
        r"deals\[1\]\.points\[2\] is 131, by the rules",
    ),
    "points as a float": (
        lambda r: deal(r)["points"].__setitem__(2, float(deal(r)["points"][2])),
        r"deals\[1\]\.points\[2\] is -?\d+\.0, by the rules",
    ),
    "other totals": (lambda r: deal(r)["totals"].reverse(), r"deals\[1\]\.totals\[0\]"),
    "another outcome": (lambda r: deal(r).update(outcome="thrown_in"), r"deals\[1\]\.outcome is 'thrown_in'"),
    "other winners": (lambda r: r.update(winners=[0, 1, 2, 3]), "winners is 4 long, by the rules 1"),
    "a key too many": (lambda r: deal(r).update(tempo=1), r"deals\[1\] must have .*'tempo'"),
    "a negative seed": (lambda r: r.update(seed=-1), "seed: seed must be from 0"),
    "a seed too large": (lambda r: r.update(seed=2**63), "seed: seed must be from 0"),
}


@pytest.mark.parametrize("name", BREAKS)
def test_what_is_wrong_is_named(name: str) -> None:
    spoil, message = BREAKS[name]
    record = plain(uniform_match(PRESETS["standard"], 2, 0))
    replay(record)
    spoil(record)
    with pytest.raises(RecordError, match=message) as caught:
        replay(record)
    assert "\n" not in str(caught.value)


LINES = {
    "cut short": (b'{"format": "callbreak-match", "vers', "not JSON, or cut short"),
    "not text": (b"\xff\xfe\x00", "byte 1 is not UTF-8"),
    "deeply nested": (b"[" * 200_000, "nested too deeply"),
    "an absurd number": (b'{"format": ' + b"9" * 5000 + b"}", "holds an absurdly long number"),
    "not a number": (b'{"seed": NaN}', "NaN is not a JSON number"),
    "infinity": (b'{"seed": -Infinity}', "-Infinity is not a JSON number"),
    "a list": (b"[]", "must be an object with 'format', not a list"),
    "a key twice": (b'{"seed": 1, "seed": 2}', "an object has a key twice, among"),
    "null": (b"null", "must be an object with 'format', not null"),
    "a number": (b"1", "must be an object with 'format', not a number"),
}


@pytest.mark.parametrize("name", LINES)
def test_a_hostile_line_is_one_clear_error(name: str, tmp_path: Path) -> None:
    line, message = LINES[name]
    path = tmp_path / "hostile.jsonl"
    good = json.dumps(plain(uniform_match(PRESETS["single_deal"], 1, 0))).encode()
    path.write_bytes(good + b"\n\n" + line + b"\n")
    matches = read_records(path)
    assert next(matches).is_over
    with pytest.raises(RecordError, match=rf"hostile\.jsonl: line 3: {message}"):
        next(matches)


def test_a_line_too_long_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real limit is 64 MiB; a sparse file of 2 GiB shows that no more than that is looked at."""
    path = tmp_path / "long.jsonl"
    with path.open("wb") as file:
        file.truncate(2 * 2**30)
    with pytest.raises(RecordError, match=r"line 1: longer than 67,108,864 bytes"):
        list(read_records(path))
    monkeypatch.setattr(records, "MAX_BYTES", 10)
    path.write_bytes(b"12345678901\n")
    with pytest.raises(RecordError, match="line 1: longer than 10 bytes"):
        list(read_records(path))


def test_an_empty_file_has_no_matches(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    assert list(read_records(tmp_path / "empty")) == []


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(read_records(tmp_path / "missing"))


def test_one_match_alone_is_not_a_list_of_them(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_text("as it was", encoding="utf-8")
    match = Match(seed=1)
    for alone in (match, match.record()):
        with pytest.raises(ValueError, match="records must be a list of matches or records"):
            write_records(path, alone)  # type: ignore[arg-type]
    assert path.read_text(encoding="utf-8") == "as it was"
