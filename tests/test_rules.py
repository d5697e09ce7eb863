"""``Rules``: what is refused, what is not, presets, words."""

from __future__ import annotations

import dataclasses
import itertools
import re
from typing import Any

import numpy as np
import pytest

from callbreak_env import Match
from callbreak_env.rules import PRESETS, Rules, as_rules, describe_rules

DEFAULTS = {
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
NUMBERS = [name for name, value in DEFAULTS.items() if type(value) is int or name == "bonus_bid"]
FLAGS = [name for name, value in DEFAULTS.items() if type(value) is bool]


def test_the_standard_game_has_the_defaults() -> None:
    assert Rules().to_dict() == DEFAULTS


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [True, 2.0, "3", [4], float("nan"), 1j])
def test_a_number_of_the_wrong_type_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"{name}=.*: must be a whole number"):
        Rules(**{name: value})


@pytest.mark.parametrize("name", [name for name in NUMBERS if name != "bonus_bid"])
def test_none_is_no_number(name: str) -> None:
    with pytest.raises(ValueError, match=rf"{name}=None: must be a whole number, not NoneType"):
        Rules(**{name: None})


@pytest.mark.parametrize("name", FLAGS)
@pytest.mark.parametrize("value", [1, 0, None, "yes"])
def test_a_flag_of_the_wrong_type_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"{name}=.*: must be True or False"):
        Rules(**{name: value})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"deals": 0}, "deals=0: must be at least 1"),
        ({"deals": -3}, "deals=-3: must be at least 1"),
        ({"min_bid": 0}, "min_bid=0, max_bid=13"),
        ({"max_bid": 14}, "min_bid=2, max_bid=14"),
        ({"min_bid": 6, "max_bid": 5}, "1 <= min_bid <= max_bid <= 13"),
        ({"min_total_bid": -1}, "min_total_bid=-1: must be at least 0"),
        ({"max_redeals": -1}, "max_redeals=-1: must be at least 0"),
        ({"bonus_points": -1}, "bonus_points=-1: must be at least 0"),
        ({"bonus_bid": 0}, "bonus_bid=0: must be at least 1"),
        ({"trump": "hearts"}, "trump='hearts': choose one of 'spades', 'first_led'"),
        ({"trump": 3}, "trump=3: choose one of"),
        ({"tie": None}, "tie=None: choose one of 'extra_deal', 'shared'"),
        ({"deals": 10**9}, "deals=1000000000: must be at most 100,000,000"),
        ({"bonus_points": 10**30}, "must be at most 100,000,000"),
    ],
)
def test_values_out_of_range_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Rules(**options)


def test_what_cannot_matter_is_no_error() -> None:
    for options in (
        {"bonus_bid": 27},
        {"bonus_bid": 13, "max_bid": 8},
        {"bonus_bid": 10**6},
        {"bonus_points": 0},
        {"min_total_bid": 1000},
        {"max_redeals": 0},
        {"free_spade_lead": True, "trump": "first_led"},
        {"beat_when_trumped": False, "must_beat": False},
        {"min_bid": 13, "max_bid": 13},
    ):
        match = Match(Rules(**options), seed=1)
        while not match.is_over:
            match.apply(match.legal_actions()[-1])
        assert match.winners


def test_all_options_combine() -> None:
    switches = {
        "partnership": (False, True),
        "trump": ("spades", "first_led"),
        "bonus_bid": (None, 8),
        "min_total_bid": (0, 20),
        "misdeal": (False, True),
        "tie": ("extra_deal", "shared"),
        "must_beat": (False, True),
        "undertrump": (False, True),
    }
    for seed, values in enumerate(itertools.product(*switches.values())):
        match = Match(Rules(deals=1, **dict(zip(switches, values, strict=True))), seed=seed)
        for _ in range(20):
            match.apply(match.legal_actions()[0])


def test_rules_are_frozen_hashable_and_equal_by_value() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Rules().deals = 3  # type: ignore[misc]
    assert Rules(deals=7) == Rules(deals=np.int64(7)) == PRESETS["seven_deals"]
    assert hash(Rules(deals=7)) == hash(PRESETS["seven_deals"])
    assert type(Rules(deals=np.int64(7)).deals) is int


def test_presets_are_those_of_the_rules() -> None:
    changes = {
        "standard": {},
        "single_deal": {"deals": 1},
        "seven_deals": {"deals": 7},
        "nine_deals": {"deals": 9},
        "partnership": {"partnership": True},
        "no_trump": {"trump": "first_led"},
        "bonus": {"bonus_bid": 8},
        "free_spade_lead": {"free_spade_lead": True},
        "min_total": {"min_total_bid": 10},
        "misdeal": {"misdeal": True},
        "bhoos": {
            "min_bid": 1,
            "max_bid": 8,
            "free_spade_lead": True,
            "beat_when_trumped": False,
            "undertrump": False,
            "tie": "shared",
        },
    }
    assert {name: rules.to_dict() for name, rules in PRESETS.items()} == {
        name: DEFAULTS | change for name, change in changes.items()
    }


def test_rules_by_name_by_value_and_by_default() -> None:
    assert as_rules(None) == as_rules("standard") == as_rules(Rules()) == Rules()
    assert Rules.preset("bhoos") is PRESETS["bhoos"]
    for wrong in ("Standard", "", "whist"):
        with pytest.raises(ValueError, match=r"there is no preset .*: choose one of standard, single_deal"):
            as_rules(wrong)
    with pytest.raises(ValueError, match="rules must be a Rules or a preset's name, not int"):
        as_rules(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("preset", PRESETS)
def test_options_by_name_come_back(preset: str) -> None:
    rules = PRESETS[preset]
    assert Rules.from_dict(rules.to_dict()) == rules
    assert Rules.from_dict({}) == Rules()


def test_unknown_options_are_refused() -> None:
    with pytest.raises(ValueError, match="there is no option 'jokers': options are deals, min_bid"):
        Rules.from_dict({"jokers": 2})
    with pytest.raises(ValueError, match="rules must be options by name, not list"):
        Rules.from_dict([])  # type: ignore[arg-type]


def test_words_name_the_clause_of_whatever_is_on() -> None:
    standard = describe_rules(Rules())
    for change, clause in (
        ({"deals": 7}, "7 deals a match (R14, H1)"),
        ({"min_bid": 1, "max_bid": 8}, "Bids are 1 to 8 tricks"),
        ({"min_total_bid": 10}, "less than 10 are dealt again, at most 10 times in a row (H2)"),
        ({"misdeal": True}, "(H3)"),
        ({"bonus_bid": 8}, "A bid of 8 or more that is made scores 13 points flat (H4)"),
        ({"partnership": True}, "(H5)"),
        ({"partnership": True, "bonus_bid": 8}, "A side's combined bid of 8"),
        ({"trump": "first_led"}, "(H6)"),
        ({"free_spade_lead": True}, "(H7)"),
        ({"tie": "shared"}, "(H8)"),
        ({"must_beat": False}, "may play any card of it (H10)"),
        ({"beat_when_trumped": False}, "not once the trick is trumped (R8, H10)"),
        ({"undertrump": False}, "(R9, H10)"),
    ):
        words = "\n".join(describe_rules(Rules(**change)))
        assert clause in words
        assert clause not in "\n".join(standard)


def test_every_option_is_documented_with_its_clause() -> None:
    import inspect

    source = inspect.getsource(Rules)
    for field in dataclasses.fields(Rules):
        after = source.split(f"    {field.name}: ", 1)[1].split("\n", 2)[1]
        assert re.match(r'    """[RH]\d+(, [RH]\d+)?: ', after), field.name
