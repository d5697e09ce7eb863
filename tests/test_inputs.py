"""What the network is given: right, by plain Python; honest; and the same whatever plain suits are called."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from agents import Tables, legal_at, other_worlds, positions, share_bidding, without_hands
from callbreak_env import PRESETS, Rules, make_agent
from callbreak_env.agents import inputs as inputs_module
from callbreak_env.agents.inputs import (
    BITS,
    CHANCES,
    HIDDEN,
    INPUTS,
    ONE_HOTS,
    OWN_PLANES,
    PLANES,
    SCALES,
    encode_inputs,
    input_rows,
    inputs_digest,
    put_suit_order,
)
from callbreak_env.engine.play import step
from callbreak_env.engine.state import NO_DECKS, NONE, TABLE, rules_record
from callbreak_env.observation import FIELDS
from callbreak_env.table import View
from conftest import JIT
from learners import Amount
from networks import NAMINGS, as_called_now, has_alike, keeps_its_choice, renamed

STRANGE = Rules(
    deals=3,
    min_bid=2,
    max_bid=12,
    min_total_bid=9,
    max_redeals=7,
    bonus_bid=7,
    bonus_points=11,
    free_spade_lead=True,
    undertrump=False,
)
"""Every number of the rules is another one."""
RULES = {name: PRESETS[name] for name in ("standard", "bhoos", "no_trump", "partnership", "min_total")}
RULES["strange"] = STRANGE
RULE_NAMES = (
    "min_bid",
    "max_bid",
    "min_total_bid",
    "max_redeals",
    "misdeal",
    "bonus_bid",
    "bonus_points",
    "partnership",
    "first_led",
    "free_spade_lead",
    "shared",
    "must_beat",
    "beat_when_trumped",
    "undertrump",
)
USUAL = slice(52 * OWN_PLANES.index("rule_based"), 52 * OWN_PLANES.index("rule_based") + 52)


# Right, by plain Python


def members(cards: Any) -> set[int]:
    return {card for card in range(52) if int(cards) >> card & 1}


def suit_order(view: View) -> list[int]:
    """The plain suits in their places."""
    record, viewer = view.record_array[0], view.viewer
    round_it = [(viewer + i) % 4 for i in range(4)]
    when = [card // 13 for _, card in view.plays]

    def of_suit(cards: Any, suit: int) -> list[int]:
        return sorted((card % 13 for card in members(cards) if card // 13 == suit), reverse=True)

    def place(suit: int) -> Any:
        dealt = of_suit(int(record["hands"][viewer]) | int(record["played"][viewer]), suit)
        key: list[Any] = [len(dealt), dealt, view.trump == suit]
        for seat in round_it:
            key += [of_suit(record["played"][seat], suit), of_suit(record["may_hold"][seat], suit)]
        return (*key, -when.index(suit) if suit in when else -99, -suit)

    return sorted(range(3), key=place, reverse=True)


def trick_winner(view: View) -> int | None:
    """R11: the highest trump, or else the highest card of the led suit."""
    if not view.trick:
        return None
    led = view.trick[0][1] // 13
    worth = [(card // 13 == view.trump, card // 13 == led, card % 13) for _, card in view.trick]
    return view.trick[worth.index(max(worth))][0]


def would_win(tables: Tables, rules: Rules, view: View) -> set[int]:
    """The legal cards that hold the trick after they are really played."""
    found = set()
    if not view.trick:
        return set(view.legal_actions())
    for card in view.legal_actions():
        after = tables.copy()
        step(after[0], rules_record(rules)[0], NO_DECKS, card)
        ends = len(view.trick) == len(view.active) - 1
        if after["last_winner" if ends else "trick_seat"][0] == view.viewer:
            found.add(card)
    return found


def may_hold(view: View, seat: int, unseen: set[int], suit: int | None, above: int = -1) -> int:
    """How many unseen cards of a suit, above a card, a seat may hold."""
    return len([c for c in view.may_hold(seat) if c in unseen and c // 13 == suit and c > above])


def stays(view: View, rules: Rules, card: int, unseen: set[int]) -> float:
    """The rule-based agent's estimate of the chance that a card which is the best of the trick stays it.

    Each unseen card is with a seat that may hold it by one chance in three.
    """
    led = view.trick[0][1] // 13 if view.trick else card // 13
    chance = 1.0
    yet = [view.viewer + i for i in range(1, 4)]
    yet = [seat % 4 for seat in yet if seat % 4 in view.active and seat % 4 not in dict(view.trick)]
    for seat in yet:
        if rules.partnership and seat == (view.viewer + 2) % 4:
            continue
        none_over = (2 / 3) ** may_hold(view, seat, unseen, card // 13, card)
        void = (2 / 3) ** may_hold(view, seat, unseen, led)
        no_trump = (2 / 3) ** may_hold(view, seat, unseen, view.trump)
        if card // 13 == led == view.trump:
            chance *= none_over
        elif card // 13 == led:
            chance *= none_over * (1 - void * (1 - no_trump))
        else:
            chance *= 1 - void * (1 - none_over)
    return chance


def may_beat(view: View, seat: int, card: int, unseen: set[int]) -> bool:
    """Whether a seat may beat a card that is led: by its suit, or by trumps when it is void."""
    if may_hold(view, seat, unseen, card // 13, card):
        return True
    void = not may_hold(view, seat, unseen, card // 13)
    return card // 13 != view.trump and void and may_hold(view, seat, unseen, view.trump) > 0


def higher(card: int, cards: set[int]) -> list[int]:
    """The cards of its suit that are higher."""
    return [other for other in cards if other // 13 == card // 13 and other > card]


def passed_over(
    tricks: list[list[tuple[int, int]]], seat: int, unseen: set[int]
) -> tuple[set[int], set[int]]:
    """Unseen cards that a seat could have played to tricks as well as those that it did: lower, and higher.

    They lie on the same side of the highest card of their suit that was in the trick.
    """
    lower, higher = set(), set()
    for trick in tricks:
        for i, (who, card) in enumerate(trick):
            if who == seat and i > 0:
                top = max((c for _, c in trick[:i] if c // 13 == card // 13), default=-1)
                like = {c for c in unseen if c // 13 == card // 13 and (c > top) == (card > top)}
                lower |= {c for c in like if c < card}
                higher |= {c for c in like if c > card}
    return lower, higher


def by_hand(tables: Tables, rules: Rules) -> tuple[list[int], list[int]]:
    """The row of a table [1], and which card stands in each place."""
    own = int(tables["seat"][0])
    view = View(tables, rules, own)
    seats = [(own + i) % 4 for i in range(4)]
    bidding = view.phase == "bidding"
    usual = make_agent("rule_based").act(view)
    hand = set(view.hand)
    unseen = set(range(52)) - hand - {card for _, card in view.plays}
    above = {card: len(higher(card, unseen)) for card in hand}
    below = {card: len([u for u in unseen if u // 13 == card // 13]) - above[card] for card in hand}
    trick = dict(view.trick)
    winning = set() if bidding else would_win(tables, rules, view)
    chances = {} if view.trump is None else {card: stays(view, rules, card, unseen) for card in winning}
    own_planes: dict[str, set[int]] = {
        "legal": set() if bidding else set(view.legal_actions()),
        "would_win": winning,
        "equal": {c for c in hand if any(above[c] == above[other] for other in higher(c, hand))},
        "rule_based": set() if bidding else {usual},
    }
    for least in CHANCES:
        own_planes[f"wins_{least}"] = {card for card, chance in chances.items() if chance >= least - 1e-12}
    for i in range(5):
        own_planes[f"above_{i}"] = {card for card in hand if min(above[card], 4) == i}
    for i in range(2):
        own_planes[f"below_{i}"] = {card for card in hand if below[card] == i}
    planes = {
        "hand": hand,
        "trick": set(trick.values()),
        "left": {13 * (card // 13) + len(higher(card, hand | unseen)) for card in hand},
    }
    tricks = [view.plays[i : i + len(view.active)] for i in range(0, len(view.plays), len(view.active))]
    for i, seat in enumerate(seats[1:], 1):
        planes[f"played_{i}"] = {card for who, card in view.plays if who == seat}
        planes[f"led_{i}"] = {one[0][1] for one in tricks if one[0][0] == seat}
        planes[f"off_{i}"] = {
            card for one in tricks for who, card in one if who == seat and card // 13 != one[0][1] // 13
        }
        planes[f"lower_{i}"], planes[f"higher_{i}"] = passed_over(tricks, seat, unseen)
        planes[f"may_hold_{i}"] = set(view.may_hold(seat))
        own_planes[f"beaten_by_{i}"] = {card for card in hand if may_beat(view, seat, card, unseen)}
    suits = [*suit_order(view), 3]  # by place
    places = [
        card
        for suit in suits
        for held in (True, False)
        for card in range(13 * suit + 12, 13 * suit - 1, -1)
        if (card in hand) == held
    ]
    bids, won = [view.bids[seat] or 0 for seat in seats], [view.tricks_won[seat] for seat in seats]
    winner = trick_winner(view)

    def one_of(size: int, *which: int | None) -> list[int]:
        return [int(i == one) for one in which for i in range(size)]

    def place(suit: int | None) -> int:
        return 4 if suit is None else suits.index(suit)

    hots = {
        "bids": one_of(14, *bids),
        "won": one_of(14, won[0]),
        "needs": one_of(14, *(max(0, bid - had) for bid, had in zip(bids, won, strict=True))),
        "unseen": one_of(14, *(len([c for c in unseen if c // 13 == suit]) for suit in suits)),
        "held": one_of(14, *(len([c for c in hand if c // 13 == suit]) for suit in suits)),
        "void": [int(may_hold(view, seat, unseen, suit) == 0) for seat in seats[1:] for suit in suits],
        "rule_based_bid": one_of(14, usual - 51 if bidding else None),
        "trick_number": one_of(14, view.trick_no),
        "in_trick": one_of(4, len(trick)),
        "winner": one_of(4, None if winner is None else (winner - own) % 4),
        "dealer": one_of(4, (view.dealer - own) % 4),
        "active": [int(seat in view.active) for seat in seats],
        "trump": one_of(5, place(view.trump)),
        "led_suit": one_of(5, place(view.trick[0][1] // 13 if trick else None)),
    }
    row = [int(card in own_planes[name]) for name in OWN_PLANES for card in places]
    row += [int(13 * suit + rank in planes[name]) for name in PLANES for suit in suits for rank in range(13)]
    for name, size in ONE_HOTS:
        assert len(hots[name]) == size
        row += hots[name]
    told = {**rules.to_dict(), "first_led": rules.trump == "first_led", "shared": 0}
    return row + [int(told[name] or 0) for name in RULE_NAMES], places


@pytest.mark.parametrize("name", RULES)
def test_every_input_is_what_its_name_says(name: str, amount: Amount) -> None:
    """Extra deals and bids are among the positions; every slot is written, and none but 0 or 1."""
    rules = RULES[name]
    tables = positions(rules, amount(200, nightly=3000, no_jit=8), seed=21)
    assert 0.2 < share_bidding(tables) < 0.8 or not JIT
    assert (tables["num_active"] < 4).any() == (name in ("standard", "no_trump", "min_total"))
    found = encode_inputs(tables, rules)
    assert (found.rows.dtype, found.rows.shape) == (np.int8, (len(tables), INPUTS))
    for k in range(len(tables)):
        row, places = by_hand(tables[k : k + 1], rules)
        assert found.places[k].tolist() == [*places, *range(52, 65)]
        differ = [at for at in range(INPUTS) if found.rows[k, at] != row[at]]
        assert differ == [], f"position {k}"
    assert set(np.unique(found.rows[:, :BITS])) == {0, 1}
    if JIT:  # every plane has a card somewhere
        assert found.rows[:, : 52 * len(OWN_PLANES + PLANES)].reshape(len(tables), -1, 52).any((0, 2)).all()
    dirty = [np.full_like(array, 7) for array in found]
    input_rows(0, len(tables), tables, rules_record(rules), *dirty)
    for one, other in zip(dirty, found, strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("name", ["standard", "no_trump"])
def test_legal_actions_have_the_names_of_the_places(name: str, amount: Amount) -> None:
    rules = RULES[name]
    tables = positions(rules, amount(100, no_jit=6), seed=22)
    found = encode_inputs(tables, rules)
    places = found.places
    assert (np.sort(places, axis=1) == np.arange(65)).all()
    masks = [View(tables[k : k + 1], rules, int(s)).legal_mask() for k, s in enumerate(tables["seat"])]
    assert np.take_along_axis(np.array(masks), places, 1).tolist() == found.legal.tolist()
    cards = tables["phase"] != 0
    legal_plane = 52 * OWN_PLANES.index("legal")
    assert (found.legal[cards, :52] == found.rows[cards, legal_plane : legal_plane + 52]).all()
    if JIT:
        back = [int(p[place]) for p, place in zip(places, found.legal.argmax(1), strict=True)]
        assert legal_at(tables, rules, np.array(back)).all()


def test_hidden_hands_come_last_and_only_where_asked_for(amount: Amount) -> None:
    """Exchanged, they change what a critic sees, and nothing else; so does their absence."""
    for rules in (PRESETS["standard"], PRESETS["no_trump"]):
        tables = positions(rules, amount(80, no_jit=4), seed=23)
        plain, told = encode_inputs(tables, rules), encode_inputs(tables, rules, hidden=True)
        assert told.rows.shape == (len(tables), INPUTS + HIDDEN)
        assert told.rows[:, :INPUTS].tolist() == plain.rows.tolist()
        assert told.places.tolist() == plain.places.tolist()
        for k, seat in enumerate(tables["seat"].tolist()):
            suits = (plain.places[k, :52:13] // 13).tolist()
            expected = [
                int(13 * suit + rank in members(tables["hands"][k, (seat + i) % 4]))
                for i in (1, 2, 3)
                for suit in suits
                for rank in range(13)
            ]
            assert told.rows[k, INPUTS:].tolist() == expected
        for changed in (other_worlds(tables, rules, 7), without_hands(tables)):
            assert (changed["hands"] != tables["hands"]).any()
            again = encode_inputs(changed, rules, hidden=True)
            assert again.rows[:, :INPUTS].tobytes() == plain.rows.tobytes()
            assert again.legal.tobytes() == plain.legal.tobytes()
            assert again.places.tobytes() == plain.places.tobytes()
            assert (again.rows[:, INPUTS:] != told.rows[:, INPUTS:]).any()


def test_threads_and_batches_change_nothing(amount: Amount, few_rows_a_thread: None) -> None:
    rules = PRESETS["standard"]
    tables = positions(rules, amount(60, no_jit=9), seed=24)
    before, found = tables.tobytes(), encode_inputs(tables, rules, hidden=True)
    alone = [encode_inputs(tables[k : k + 1], rules, hidden=True) for k in range(len(tables))]
    others = [encode_inputs(tables, rules, hidden=True, threads=threads) for threads in (2, 3, None)]
    others.append(type(found)(*map(np.concatenate, zip(*alone, strict=True))))
    for other in others:
        for one, expected in zip(other, found, strict=True):
            assert one.tobytes() == expected.tobytes()
    assert tables.tobytes() == before
    assert encode_inputs(tables[:0], rules).rows.shape == (0, INPUTS)


# Whatever plain suits are called


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("naming", NAMINGS)
def test_a_row_is_the_same_in_all_namings(name: str, naming: tuple[int, ...], amount: Amount) -> None:
    """Each place stands for the same action, unless suits are alike.

    Only what the rule-based agent would do may differ: of equal leads it takes the first suit's.
    """
    rules = RULES[name]
    tables = positions(rules, amount(150, nightly=2000, no_jit=4), seed=25)
    expected, found = encode_inputs(tables, rules), encode_inputs(renamed(tables, naming), rules)
    kept = keeps_its_choice(tables, rules, naming)
    assert kept.mean() > 0.9 or not JIT
    assert found.rows[kept].tolist() == expected.rows[kept].tolist()
    others = np.ones(INPUTS, np.bool_)
    others[USUAL] = False
    assert found.rows[:, others].tolist() == expected.rows[:, others].tolist()
    assert found.legal.tolist() == expected.legal.tolist()
    told = ~has_alike(tables)
    assert told.mean() > 0.9 or not JIT
    assert found.places[told].tolist() == as_called_now(expected.places[told], naming).tolist()


def order_of(tables: Tables, viewer: int = 0) -> list[int]:
    order = np.full(3, 9, np.int8)
    put_suit_order(tables[0], viewer, order)
    return [int(suit) for suit in order]


def blank() -> Tables:
    """A table where plain suits are alike: seat 0 holds a two of each and has played its ace."""
    tables = np.zeros(1, TABLE)
    for field in ("trick", "trump", "best_led", "best_trump"):
        tables[field] = NONE
    tables["hands"][0, 0] = 1 | 1 << 13 | 1 << 26
    tables["played"][0, 0] = 1 << 12 | 1 << 25 | 1 << 38
    return tables


def bits(*cards: int) -> np.uint64:
    return np.uint64(sum(1 << card for card in cards))


def test_the_longer_suit_stands_first_then_the_higher() -> None:
    tables = blank()
    tables["played"][0, 0] |= bits(13 + 4, 13 + 5)  # diamonds: four dealt
    tables["hands"][0, 0] |= bits(1, 26 + 3)  # three clubs and hearts, these with the higher middle card
    assert order_of(tables) == [1, 2, 0]
    tables["hands"][0, 0] |= bits(50, 51)  # spades do not count
    assert order_of(tables) == [1, 2, 0]
    tables = blank()
    tables["hands"][0, 0] |= bits(3)
    tables["played"][0, 0] |= bits(13 + 4)  # held or played, a dealt card is one
    assert order_of(tables) == [1, 0, 2]
    tables["trump"] = 2  # which counts only for suits dealt alike
    assert order_of(tables) == [1, 0, 2]


def change(tables: Tables, what: str, seat: int) -> None:
    """Tell diamonds apart by one thing alone."""
    if what == "trump":
        tables["trump"] = 1
    elif what == "log":
        tables["played"][0, seat] |= bits(4, 13 + 4, 26 + 4)
        tables["log"][0, :4] = [seat << 6 | card for card in (45, 13 + 4, 4, 26 + 4)]
        tables["num_played"] = 4
    else:
        tables[what][0, seat] |= bits(13 + 6)


@pytest.mark.parametrize(
    ("what", "seat"),
    [
        ("trump", 0),
        *(("played", seat) for seat in (1, 2, 3)),
        *(("may_hold", seat) for seat in range(4)),
        *(("log", seat) for seat in (0, 3)),
    ],
)
def test_suits_dealt_alike_are_told_apart_by_all_else(what: str, seat: int) -> None:
    tables = blank()
    change(tables, what, seat)
    for naming in NAMINGS:
        assert order_of(renamed(tables, naming))[0] == naming[1]


def test_suits_that_are_alike_altogether_keep_their_order() -> None:
    """Whatever is in hands that the viewer does not see, and beyond the last card of the log."""
    assert has_alike(blank()).all()
    assert order_of(blank()) == [0, 1, 2]
    for seat in (1, 2, 3):
        tables = blank()
        tables["hands"][0, seat] = bits(13 + 6)
        tables["log"][0] = 13 + 6
        assert order_of(tables) == [0, 1, 2]
    assert order_of(blank(), viewer=2) == [0, 1, 2]


# What is kept beside weights


def test_scales_are_those_of_the_observation() -> None:
    assert SCALES.shape == (INPUTS,)
    assert (SCALES[:BITS] == 1).all()
    assert tuple(SCALES[BITS:].tolist()) == next(field.scale for field in FIELDS if field.name == "rules")
    most = replace(STRANGE, max_bid=13, min_bid=9, min_total_bid=52, max_redeals=20, bonus_points=127)
    rows = encode_inputs(positions(most, 1, seed=1), most).rows / SCALES
    assert rows.max() == 1
    assert rows.min() >= 0


def test_the_digest_tells_other_inputs_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    digests = {inputs_digest()}
    for name, value in (
        ("INPUTS_VERSION", inputs_module.INPUTS_VERSION + 1),
        ("OWN_PLANES", OWN_PLANES[::-1]),
        ("PLANES", PLANES[::-1]),
        ("ONE_HOTS", ONE_HOTS[:-1]),
        ("SCALES", SCALES * 2),
        ("PARAMETERS", inputs_module.PARAMETERS + 1),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(inputs_module, name, value)
            digests.add(inputs_digest())
    assert len(digests) == 7
    assert {len(digest) for digest in digests} == {16}
    assert inputs_digest() in digests
