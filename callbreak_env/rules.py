"""Rules: every house rule a documented field, with its clause of RULES.md (R and H numbers).

This module knows no cards in play and no randomness; ``engine/`` is where the clauses are carried out.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

MAX_OPTION = 100_000_000
"""The largest number an option can be: points and counters stay far inside the engine's integers."""

_CHOICES: dict[str, tuple[str, ...]] = {
    "trump": ("spades", "first_led"),
    "tie": ("extra_deal", "shared"),
}
_LEAST: dict[str, int] = {
    "deals": 1,
    "min_total_bid": 0,
    "max_redeals": 0,
    "bonus_bid": 1,
    "bonus_points": 0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules of one match; ``Rules()`` is the standard game.

    Every option combines with every other. An option that cannot matter beside another (a bonus that
    nobody can bid, a free spade lead without spade trumps) is without effect, not an error.

    Raises:
        ValueError: an option has the wrong type or lies outside its range.
    """

    deals: int = 5
    """R14, H1: deals a match, 1 or more (the extra deal of R15 is not counted)."""
    min_bid: int = 2
    """R5, H9: the lowest bid, 1-13."""
    max_bid: int = 13
    """R5, H9: the highest bid, ``min_bid``-13."""
    min_total_bid: int = 0
    """H2: bids that add up to less are thrown in and dealt again by the same dealer; 0 is off.

    Not in an extra deal of fewer than four seats."""
    max_redeals: int = 10
    """H2: after so many redeals in a row the deal is played as bid."""
    misdeal: bool = False
    """H3: a hand of one suit, or without a spade, is dealt again at once by the same dealer."""
    bonus_bid: int | None = None
    """H4: a bid of at least this, made, scores ``bonus_points`` flat; None is off."""
    bonus_points: int = 13
    """H4: whole points for a bonus bid that is made."""
    partnership: bool = False
    """H5: seats 0 and 2 against 1 and 3; bids and tricks of a side are added."""
    trump: Literal["spades", "first_led"] = "spades"
    """R2, H6: spades, or the suit of the first card led in a deal."""
    free_spade_lead: bool = False
    """R7, H7: whether a spade may lead the first trick of a deal."""
    tie: Literal["extra_deal", "shared"] = "extra_deal"
    """R15, H8: a tie at the top is played off, or all tied players win."""
    must_beat: bool = True
    """R8, H10: whoever follows suit must beat the led suit's best card if able."""
    beat_when_trumped: bool = True
    """R8, H10: that also when the trick holds a trump and a plain suit was led."""
    undertrump: bool = True
    """R9, H10: void, with only trumps too low to win: a trump is still forced (False: any card)."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, _checked(field, getattr(self, field.name)))
        if not 1 <= self.min_bid <= self.max_bid <= 13:
            raise ValueError(
                f"min_bid={self.min_bid}, max_bid={self.max_bid}: bids must satisfy "
                "1 <= min_bid <= max_bid <= 13, the tricks of a deal (H9)"
            )

    @classmethod
    def preset(cls, name: str) -> Rules:
        """The rules of a preset by name (the keys of :data:`PRESETS`).

        Raises:
            ValueError: there is no such preset.
        """
        try:
            return PRESETS[name]
        except (KeyError, TypeError):  # TypeError: not even hashable
            raise ValueError(f"there is no preset {name!r}: choose one of {', '.join(PRESETS)}") from None

    def to_dict(self) -> dict[str, Any]:
        """Every option by name, JSON-ready; :meth:`from_dict` reads it back."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> Rules:
        """Rules from options by name; options left out take their defaults.

        Raises:
            ValueError: an unknown option, or a bad value.
        """
        if not isinstance(options, Mapping):
            raise ValueError(f"rules must be options by name, not {type(options).__name__}")
        known = [field.name for field in dataclasses.fields(cls)]
        for name in options:
            if name not in known:
                raise ValueError(f"there is no option {name!r:.60}: options are {', '.join(known)}")
        return cls(**options)


def _checked(field: dataclasses.Field[Any], value: Any) -> Any:
    """One option's value as a plain int, bool or str; ValueError where it cannot be."""
    name = field.name
    if name in _CHOICES:
        if not isinstance(value, str) or value not in _CHOICES[name]:
            raise ValueError(f"{name}={value!r}: choose one of {', '.join(map(repr, _CHOICES[name]))}")
        return value
    if isinstance(field.default, bool):
        if not isinstance(value, bool):
            raise ValueError(f"{name}={value!r}: must be True or False, not {type(value).__name__}")
        return value
    if value is None and field.default is None:
        return None
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        orelse = " or None" if field.default is None else ""
        raise ValueError(
            f"{name}={value!r}: must be a whole number{orelse}, not {type(value).__name__}"
        ) from None
    if number < _LEAST.get(name, number):
        raise ValueError(f"{name}={number}: must be at least {_LEAST[name]}")
    if number > MAX_OPTION:
        raise ValueError(f"{name}={number}: must be at most {MAX_OPTION:,}, the engine's limit")
    return number


PRESETS: dict[str, Rules] = {
    "standard": Rules(),
    "single_deal": Rules(deals=1),
    "seven_deals": Rules(deals=7),
    "nine_deals": Rules(deals=9),
    "partnership": Rules(partnership=True),
    "no_trump": Rules(trump="first_led"),
    "bonus": Rules(bonus_bid=8),
    "free_spade_lead": Rules(free_spade_lead=True),
    "min_total": Rules(min_total_bid=10),
    "misdeal": Rules(misdeal=True),
    # The Nepali bot tournament, as its match logs show it.
    "bhoos": Rules(
        min_bid=1,
        max_bid=8,
        free_spade_lead=True,
        beat_when_trumped=False,
        undertrump=False,
        tie="shared",
    ),
}


def as_rules(rules: Rules | str | None) -> Rules:
    """Rules from what every public face takes: a ``Rules``, a preset's name, or None (standard).

    Raises:
        ValueError: it is none of these.
    """
    if rules is None:
        return PRESETS["standard"]
    if isinstance(rules, Rules):
        return rules
    if isinstance(rules, str):
        return Rules.preset(rules)
    raise ValueError(f"rules must be a Rules or a preset's name, not {type(rules).__name__}")


def describe_rules(rules: Rules) -> list[str]:
    """The rules in words, one sentence a line, each with its clause."""
    last_bid = f"{rules.min_bid} to {rules.max_bid}"
    lines = [
        f"{rules.deals} deal{'s' * (rules.deals > 1)} a match (R14, H1).",
        f"Bids are {last_bid} tricks (R5, H9).",
        "Spades are trumps (R2)."
        if rules.trump == "spades"
        else "The suit of the first card led in a deal is its trump suit (H6).",
    ]
    if rules.trump == "spades":
        lines.append(
            "Any card may lead the first trick (H7)."
            if rules.free_spade_lead
            else "A spade may lead the first trick only from a hand of spades (R7)."
        )
    if not rules.must_beat:
        lines.append("Whoever follows suit may play any card of it (H10).")
    elif rules.beat_when_trumped:
        lines.append("Whoever follows suit must beat its best card in the trick if able (R8).")
    else:
        lines.append(
            "Whoever follows suit must beat its best card in the trick if able, but not once the "
            "trick is trumped (R8, H10)."
        )
    lines.append(
        "Void in the led suit, a trump is forced, and one that beats the trick's trumps if able (R9)."
        if rules.undertrump
        else "Void in the led suit, a trump that wins is forced; a player who cannot win by one may "
        "play any card (R9, H10)."
    )
    if rules.partnership:
        lines.append("Seats 0 and 2 play against seats 1 and 3, bids and tricks added (H5).")
    if rules.bonus_bid is not None:
        whose = "A side's combined bid" if rules.partnership else "A bid"
        lines.append(
            f"{whose} of {rules.bonus_bid} or more that is made scores {rules.bonus_points} points flat (H4)."
        )
    if rules.min_total_bid:
        lines.append(
            f"Bids that add up to less than {rules.min_total_bid} are dealt again, at most "
            f"{rules.max_redeals} times in a row (H2)."
        )
    if rules.misdeal:
        lines.append("A hand of one suit, or without a spade, is dealt again (H3).")
    lines.append(
        "A tie at the top is played off in one extra deal by the tied players (R15)."
        if rules.tie == "extra_deal"
        else "A tie at the top is shared (H8)."
    )
    return lines
