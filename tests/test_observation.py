"""The observation: each field told again in plain Python, and nothing in it that the seat could not know."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable

import numpy as np
import pytest

from callbreak_env import Match, Rules, deck_from_hands
from callbreak_env.errors import IllegalAction
from callbreak_env.observation import (
    FIELDS,
    HISTORY_PAD,
    HISTORY_WIDTH,
    LAYOUT_VERSION,
    MAX_EVENTS,
    STATE_FIELDS,
    STATE_WIDTH,
    WIDTH,
    Field,
    encode,
    encode_flat,
    encode_history,
    encode_state,
    field_table,
    layout_digest,
    new_space,
    split,
)
from callbreak_env.table import View
from positions import VARIETY, extra_deal_opening, random_action, random_decks, random_play
from reference import CARDS, proved_absent

Parts = dict[str, np.ndarray]

SEATS = range(4)


# --- the observation, told again ---


def cards(held: list[int]) -> np.ndarray:
    row = np.zeros(52, np.float32)
    row[held] = 1
    return row


def one_hot(index: int | None, size: int) -> np.ndarray:
    row = np.zeros(size, np.float32)
    if index is not None:
        row[index] = 1
    return row


def number(value: float, scale: int) -> np.float32:
    """``value / scale``, at most 1 and at least -1."""
    return np.float32(min(1.0, max(-1.0, value / scale)))


def may_hold(match: Match) -> list[set[int]]:
    """What each seat may still hold by the cards on the table, by the oracle's reading of RULES.md."""
    rules = match.rules.to_dict()
    held = [set(CARDS) if seat in match.active else set() for seat in SEATS]
    trump = "S" if match.rules.trump == "spades" else None
    trick: list[tuple[int, str]] = []
    for count, (seat, card) in enumerate(match.plays):
        text = CARDS[card]
        trump = trump or text[1]
        held[seat] -= proved_absent(text, trick, trump, rules, count < len(match.active))
        for others in held:
            others.discard(text)
        trick.append((seat, text))
        if len(trick) == len(match.active):
            trick = []
    return [{CARDS.index(text) for text in texts} for texts in held]


def told_again(match: Match, viewer: int) -> Parts:
    """The parts of the flat observation from what a ``Match`` says of itself."""
    rules = match.rules
    seats = [(viewer + i) % 4 for i in SEATS]
    hand, trick, plays = match.hands[viewer], dict(match.trick), match.plays
    held = may_hold(match)
    led = match.trick[0][1] // 13 if match.trick else 4
    return {
        "hand": cards(hand),
        "trick": np.stack([cards([trick[seat]] if seat in trick else []) for seat in seats]),
        "played": np.stack([cards([card for who, card in plays if who == seat]) for seat in seats]),
        "may_hold": np.stack([cards(sorted(held[seat] - set(hand))) for seat in seats[1:]]),
        "bids": np.stack([one_hot(match.bids[seat] or 0, 14) for seat in seats]),
        "tricks_won": np.stack([one_hot(match.tricks_won[seat], 14) for seat in seats]),
        "to_act": one_hot(None if match.seat is None else (match.seat - viewer) % 4, 4),
        "leader": one_hot((match.leader - viewer) % 4, 4),
        "dealer": one_hot((match.dealer - viewer) % 4, 4),
        "active": np.array([seat in match.active for seat in seats], np.float32),
        "in_trick": one_hot(len(match.trick), 4),
        "trick_number": one_hot(len(plays) // len(match.active), 14),
        "phase": one_hot(["bidding", "playing", "over"].index(match.phase), 3),
        "trump": one_hot(4 if match.trump is None else match.trump, 5),
        "led_suit": one_hot(led, 5),
        "extra_deal": np.array([number(match.deal == rules.deals, 1)]),
        "deal": np.array([number(match.deal, 20)]),
        "deals_left": np.array([number(max(0, rules.deals - 1 - match.deal), 20)]),
        "redeals": np.array([number(match.redeals, 20)]),
        "totals": np.array([number(match.totals[s] - match.totals[viewer], 500) for s in seats[1:]]),
        "rules": np.array(
            [
                number(rules.min_bid, 13),
                number(rules.max_bid, 13),
                number(rules.min_total_bid, 52),
                number(rules.max_redeals, 20),
                number(rules.misdeal, 1),
                number(rules.bonus_bid or 0, 26),
                number(rules.bonus_points, 127),
                number(rules.partnership, 1),
                number(rules.trump == "first_led", 1),
                number(rules.free_spade_lead, 1),
                number(rules.tie == "shared", 1),
                number(rules.must_beat, 1),
                number(rules.beat_when_trumped, 1),
                number(rules.undertrump, 1),
            ]
        ),
    }


def history_told_again(match: Match, viewer: int) -> list[int]:
    """Own cards, then (seat from own, action): bids from the dealer's right, cards as they fell."""
    hand = match.hands[viewer]
    around = [(match.dealer + step) % 4 for step in (1, 2, 3, 4)]
    events = [(seat, 51 + match.bids[seat]) for seat in around if match.bids[seat] is not None]
    events += match.plays
    told = hand + [-1] * (13 - len(hand))
    for seat, action in events:
        told += [(seat - viewer) % 4, action]
    return told + [-1] * (125 - len(told))


def state_of(match: Match) -> np.ndarray:
    out = np.full(STATE_WIDTH, np.nan, np.float32)
    encode_state(match.record_array, match.rules_array, out)
    return out


def assert_parts(found: Parts, expected: Parts, where: str) -> None:
    assert list(found) == list(expected)
    for name, part in expected.items():
        assert found[name].shape == part.shape, f"{name} {where}"
        assert np.array_equal(found[name], part), f"{name} {where}: {found[name]}, not {part}"


def assert_as_told(match: Match, where: str) -> None:
    for viewer in SEATS:
        flat = encode(match, viewer)
        assert flat.dtype == np.float32
        assert_parts(split(flat), told_again(match, viewer), f"{where}, seat {viewer}")
        assert flat.min() >= -1
        assert flat.max() <= 1
        history = encode(match, viewer, "history")
        assert history.dtype == np.int16
        assert history.tolist() == history_told_again(match, viewer), f"history {where}, seat {viewer}"
        view = match.view(viewer)
        assert encode(view).tobytes() == flat.tobytes()
        assert encode(view, viewer, "history").tobytes() == history.tobytes()
    hands = {"other_hands": np.stack([cards(match.hands[seat]) for seat in (1, 2, 3)])}
    total = {"total": np.array([number(match.totals[0], 500)])}
    assert_parts(split(state_of(match), STATE_FIELDS), told_again(match, 0) | hands | total, where)


@pytest.mark.parametrize("name", VARIETY)
def test_every_field_is_what_the_match_says(name: str, amount: Callable[..., int]) -> None:
    """All four seats, on turn and off turn, at every moment or (uncompiled) at some."""
    every = amount(2, nightly=1, no_jit=23)
    for seed in range(amount(2, nightly=100, no_jit=1)):
        rng = random.Random(seed)
        for count, match in enumerate(random_play(Match(VARIETY[name], seed=seed), rng)):
            if match.is_over or match.phase == "bidding" or count % every == 0:
                assert_as_told(match, f"{name}, seed {seed}, action {count}")


@pytest.mark.parametrize("tied", [(0, 2), (1, 2), (0, 1, 3), (0, 1, 2, 3)])
def test_every_field_in_an_extra_deal(tied: tuple[int, ...], amount: Callable[..., int]) -> None:
    match, _ = extra_deal_opening(tied)
    every = amount(1, no_jit=19)
    for count, moment in enumerate(random_play(match, random.Random(11))):
        if moment.is_over or count % every == 0:
            assert_as_told(moment, f"extra deal of {tied}, action {count}")


def test_every_field_through_redeals_that_are_not_in_the_deal() -> None:
    """H2: what was bid in a deal thrown in is gone; the count of them is shown."""
    match = Match(Rules(min_total_bid=52, max_redeals=3), seed=5, dealer=1)
    for redeals in range(3):
        assert match.redeals == redeals
        assert_as_told(match, f"redeal {redeals}")
        for _ in SEATS:
            match.apply(53)
            assert_as_told(match, f"redeal {redeals}, bidding")
    assert split(encode(match, 0))["redeals"][0] == np.float32(3 / 20)


def test_numbers_beyond_their_scale_stop_at_one() -> None:
    huge = 100_000_000
    rules = Rules(
        deals=huge,
        min_total_bid=huge,
        max_redeals=huge,
        bonus_bid=huge,
        bonus_points=huge,
    )
    parts = split(encode(Match(rules, seed=1), 3))
    assert parts["deals_left"] == 1
    assert parts["rules"][[2, 3, 5, 6]].tolist() == [1, 1, 1, 1]
    # One seat makes a bid worth 1,000 points, far more than what is shown.
    match = Match(Rules(deals=2, bonus_bid=1, bonus_points=1000, min_bid=1), seed=4)
    rng = random.Random(4)
    while match.deal == 0:
        maker = match.dealer
        match.apply(
            (52 if match.seat == maker else 64) if match.phase == "bidding" else random_action(match, rng)
        )
    assert sorted(match.totals) == [-130, -130, -130, 10_000]
    ahead = match.totals.index(10_000)
    assert split(encode(match, ahead))["totals"].tolist() == [-1, -1, -1]
    for viewer in SEATS:
        totals = split(encode(match, viewer))["totals"].tolist()
        if viewer != ahead:
            assert totals == [float((viewer + i) % 4 == ahead) for i in (1, 2, 3)]
    assert_as_told(match, "a thousand points ahead")
    assert new_space("flat").contains(encode(match, 0))


@pytest.mark.parametrize("name", ["standard", "partnership", "no_trump", "ties", "redeals"])
def test_seats_turned_round_the_table_see_the_same(name: str, amount: Callable[..., int]) -> None:
    """The same decks and actions with all seats moved on by one, two and three: egocentric."""
    for seed in range(amount(3, nightly=50, no_jit=1)):
        rules, dealer = VARIETY[name], seed % 4
        turned = [Match(rules, seed=seed, dealer=(dealer + by) % 4) for by in SEATS]
        rng = random.Random(seed)
        every = amount(3, no_jit=20)
        for count in itertools.count():
            if count % every == 0 or turned[0].is_over:
                for seat, encoding in itertools.product(SEATS, ("flat", "history")):
                    seen = {encode(m, (seat + by) % 4, encoding).tobytes() for by, m in enumerate(turned)}
                    assert len(seen) == 1, f"{name}, seed {seed}, action {count}, seat {seat}, {encoding}"
            if turned[0].is_over:
                break
            action = random_action(turned[0], rng)
            for match in turned:
                match.apply(action)


# --- nothing that the seat could not know ---


def view_facts(view: View) -> tuple:
    """All that a view holds and tells. (By field: the padding between fields means nothing.)"""
    table = view.record_array[0]
    fields = tuple(table[name].tobytes() for name in table.dtype.names)
    held = tuple(tuple(view.may_hold(seat)) for seat in SEATS)
    return fields, held, view.legal_mask().tobytes(), str(view), tuple(view.hand), view.viewer


def seen_by(tables: np.ndarray, match: Match, viewer: int) -> tuple[bytes, bytes, tuple]:
    flat, history = np.empty(WIDTH, np.float32), np.empty(HISTORY_WIDTH, np.int16)
    encode_flat(tables, match.rules_array, viewer, flat)
    encode_history(tables, viewer, history)
    return flat.tobytes(), history.tobytes(), view_facts(View(tables, match.rules, viewer))


def swap_unseen(match: Match, viewer: int, rng: random.Random) -> np.ndarray:
    """The engine's table with the unseen cards, undealt ones too, given out anew; hand sizes as before."""
    tables = match.record_array.copy()
    table = tables[0]
    gone = {card for _, card in match.plays} | set(match.hands[viewer])
    unseen = [card for card in range(52) if card not in gone]
    rng.shuffle(unseen)
    for seat in SEATS:
        if seat != viewer:
            taken = [unseen.pop() for _ in match.hands[seat]]
            table["hands"][seat] = sum(1 << card for card in taken)
    for key in ("seed", "match", "deck"):
        table[key] = rng.randrange(1000, 2**31)
    table["log"][int(table["num_played"]) :] = rng.randrange(256)
    return tables


def hands_differ(tables: np.ndarray, match: Match) -> bool:
    return not np.array_equal(tables["hands"], match.record_array["hands"])


@pytest.mark.parametrize("name", VARIETY)
def test_nothing_unseen_is_read(name: str, amount: Callable[..., int]) -> None:
    """Whatever the hidden hands, the undealt cards and the key of the shuffles are, the bytes stay."""
    every = amount(4, nightly=1, no_jit=13)
    swapped = 0
    for seed in range(amount(3, nightly=50, no_jit=1)):
        rng = random.Random(f"{name} {seed}")
        for count, match in enumerate(random_play(Match(VARIETY[name], seed=seed), rng)):
            if count % every and not match.is_over:
                continue
            for viewer in SEATS:
                tables = swap_unseen(match, viewer, rng)
                where = f"{name}, seed {seed}, action {count}, seat {viewer}"
                assert seen_by(tables, match, viewer) == seen_by(match.record_array, match, viewer), where
                if hands_differ(tables, match):
                    swapped += 1
                    state = np.empty(STATE_WIDTH, np.float32)
                    encode_state(tables, match.rules_array, state)
                    assert state.tobytes() != state_of(match).tobytes(), where
    assert swapped > 10


def test_undealt_cards_of_an_extra_deal_are_not_read(amount: Callable[..., int]) -> None:
    """R15: of three quarters or half a deck, nobody can tell which cards are out of play."""
    for tied in ((0, 2), (0, 1, 3)):
        opening, _ = extra_deal_opening(tied)
        rng = random.Random(6)
        undealt = set(range(52)) - {card for hand in opening.hands for card in hand}
        came_in = 0
        for count, match in enumerate(random_play(opening, rng)):
            if count % amount(1, no_jit=13):
                continue
            for viewer in SEATS:
                tables = swap_unseen(match, viewer, rng)
                hands = [int(hand) for hand in tables["hands"][0]]
                came_in += any(hand >> card & 1 for hand in hands for card in undealt)
                assert seen_by(tables, match, viewer) == seen_by(match.record_array, match, viewer)
        assert came_in > 5


def another_world(match: Match, viewer: int, rng: random.Random) -> list[list[int] | None]:
    """Hands as dealt in another deal that fits all that the viewer has seen.

    Unseen cards change places two by two, wherever both may be held where they go (undealt: anything may).
    """
    held = may_hold(match)
    left: dict[int, list[int]] = {seat: match.hands[seat] for seat in match.active if seat != viewer}
    visible = {card for _, card in match.plays} | {card for hand in match.hands for card in hand}
    places = [*left, -1]
    left[-1] = [card for card in range(52) if card not in visible]
    held.append(set(range(52)))
    for _ in range(200):
        one, other = rng.choice(places), rng.choice(places)
        if not left[one] or not left[other]:
            continue
        i, j = rng.randrange(len(left[one])), rng.randrange(len(left[other]))
        a, b = left[one][i], left[other][j]
        if a in held[other] and b in held[one]:
            left[one][i], left[other][j] = b, a
    left[viewer] = match.hands[viewer]
    played = [[card for who, card in match.plays if who == seat] for seat in SEATS]
    return [left[seat] + played[seat] if seat in match.active else None for seat in SEATS]


def is_misdeal(hands: list[list[int] | None]) -> bool:
    suits = [{card // 13 for card in hand} for hand in hands if hand is not None]
    return any(len(each) == 1 or 3 not in each for each in suits)


@pytest.mark.parametrize("name", VARIETY)
def test_another_deal_with_the_same_play_looks_the_same(name: str, amount: Callable[..., int]) -> None:
    """The whole way: unseen cards swapped, the same actions replayed, legal again, the same bytes seen."""
    rules = VARIETY[name]
    every = amount(9, nightly=3, no_jit=40)
    tried = 0
    for seed in range(amount(3, nightly=60, no_jit=1)):
        rng = random.Random(f"{name} {seed}")
        decks = random_decks(rng, 12)
        match = Match(rules, seed=1, dealer=seed % 4, decks=decks)
        for count, _ in enumerate(random_play(match, rng)):
            if count % every or match.is_over:
                continue
            for viewer in SEATS:
                hands = another_world(match, viewer, rng)
                if rules.misdeal and is_misdeal(hands):
                    continue  # such a deal would be thrown in
                used = int(match.record_array["deck"][0])
                assert used <= len(decks)
                other = Match(
                    rules,
                    seed=1,
                    dealer=seed % 4,
                    decks=[*decks[: used - 1], deck_from_hands(hands, match.dealer), *decks[used:]],
                )
                for action in match.actions:
                    other.apply(action)
                where = f"{name}, seed {seed}, action {count}, seat {viewer}"
                for encoding in ("flat", "history"):
                    seen = encode(match, viewer, encoding).tobytes()
                    assert encode(other, viewer, encoding).tobytes() == seen, where
                assert view_facts(other.view(viewer)) == view_facts(match.view(viewer)), where
                if other.hands != match.hands:
                    tried += 1
                    assert state_of(other).tobytes() != state_of(match).tobytes(), where
    assert tried > amount(20, no_jit=3)


@pytest.mark.parametrize("name", VARIETY)
def test_may_hold_is_all_that_a_play_proves(name: str, amount: Callable[..., int]) -> None:
    """Each way to give out the last unseen cards can have led to this table exactly if it may be held."""
    rules, left = VARIETY[name], amount(3, no_jit=2)
    for seed in range(amount(1, nightly=20)):
        rng = random.Random(f"{name} {seed}")
        decks = random_decks(rng, 40)
        match = Match(rules, seed=1, dealer=seed % 4, decks=decks)
        start = 0
        for before in random_play(match, rng):
            if before.phase == "bidding" and not any(before.bids):
                start = len(before.actions)
            if before.phase == "playing" and before.trick_no == 13 - left and not before.trick:
                break
        actions, viewer = match.actions[start:], rng.randrange(4)
        view = match.view(viewer)
        played = [[card for who, card in match.plays if who == seat] for seat in SEATS]
        others = [seat for seat in SEATS if seat != viewer]
        unseen = {card for seat in others for card in match.hands[seat]}
        single = Rules.from_dict(rules.to_dict() | {"deals": 1, "misdeal": False, "min_total_bid": 0})
        fitting = 0
        for first in itertools.combinations(sorted(unseen), left):
            for second in itertools.combinations(sorted(unseen - set(first)), left):
                third = unseen - set(first) - set(second)
                given = dict(zip(others, (set(first), set(second), third), strict=True))
                given[viewer] = set(match.hands[viewer])
                hands = [[*given[seat], *played[seat]] for seat in SEATS]
                other = Match(
                    single,
                    seed=1,
                    dealer=match.dealer,
                    decks=[deck_from_hands(hands, match.dealer)],
                )
                allowed = all(given[seat] <= set(view.may_hold(seat)) for seat in others)
                try:
                    for action in actions:
                        other.apply(action)
                    possible = True
                except IllegalAction:
                    possible = False
                assert possible == allowed, f"{name}, seed {seed}, seat {viewer}, {given}"
                fitting += possible
        assert fitting >= 1  # the truth


# --- the history encoding ---


def test_the_longest_deal_fits_the_history(amount: Callable[..., int]) -> None:
    """Four bids and 52 cards fill all places for events, and leave none over."""
    for name in ("single", "extra"):
        match = Match("single_deal", seed=3) if name == "single" else extra_deal_opening((0, 1, 2, 3))[0]
        rng = random.Random(3)
        while not match.is_over:
            match.apply(random_action(match, rng))
        assert match.is_extra_deal == (name == "extra")
        for viewer in SEATS:
            history = encode(match, viewer, "history")
            assert history.shape == (HISTORY_WIDTH,) == (13 + 2 * MAX_EVENTS,)
            assert (history[:13] == HISTORY_PAD).all()
            events = history[13:].reshape(MAX_EVENTS, 2)
            assert set(events[:, 0].tolist()) == set(SEATS)
            assert sorted(events[4:, 1].tolist()) == list(range(52))
            assert ((events[:4, 1] > 51) & (events[:4, 1] < 65)).all()


def test_history_at_the_start_is_the_hand_alone() -> None:
    match = Match(seed=8)
    for viewer in SEATS:
        history = encode(match, viewer, "history")
        assert history.tolist() == match.hands[viewer] + [-1] * 112
        assert new_space("history").contains(history)


# --- the layout ---


def test_the_layout_is_pinned() -> None:
    """Changing FIELDS makes trained weights useless: do it on purpose, and raise LAYOUT_VERSION with it."""
    assert (LAYOUT_VERSION, layout_digest(), WIDTH, STATE_WIDTH, HISTORY_WIDTH) == (
        1,
        "7aad4a340c72145b",
        804,
        961,
        125,
    )


def test_field_table_covers_the_vector_without_gaps() -> None:
    rows = field_table()
    assert [row[0] for row in rows] == [field.name for field in FIELDS]
    at = 0
    for (_, slots, shape, scale, meaning), field in zip(rows, FIELDS, strict=True):
        first, _, last = slots.partition("-")
        assert int(first) == at
        at = int(last or first) + 1
        sizes = [int(size) for size in shape.split(" x ")]
        assert math.prod(sizes) == at - int(first) == field.size
        assert scale == "by slot" or int(scale) == field.scale
        assert meaning
    assert at == WIDTH
    assert len({field.name for field in STATE_FIELDS}) == len(STATE_FIELDS)


def test_scales_by_slot_have_one_for_each_slot() -> None:
    for field in STATE_FIELDS:
        if not isinstance(field.scale, int):
            assert len(field.scale) == field.size


def test_every_slot_is_written() -> None:
    """No slot keeps what the buffer held before."""
    match = Match(seed=2)
    for fill in (7.0, np.nan):
        flat, state = np.full(WIDTH, fill, np.float32), np.full(STATE_WIDTH, fill, np.float32)
        encode_flat(match.record_array, match.rules_array, 1, flat)
        encode_state(match.record_array, match.rules_array, state)
        assert flat.tobytes() == encode(match, 1).tobytes()
        assert state[:WIDTH].tobytes() == encode(match, 0).tobytes()
        assert np.abs(state).max() <= 1
    history = np.full(HISTORY_WIDTH, 77, np.int16)
    encode_history(match.record_array, 1, history)
    assert history.tolist() == history_told_again(match, 1)


def test_encode_gives_a_fresh_array_and_changes_nothing() -> None:
    match = Match(seed=2)
    before = match.record_array.tobytes()
    one = encode(match, 0)
    kept = one.copy()
    one[:] = 0
    assert np.array_equal(encode(match, 0), kept)
    assert match.record_array.tobytes() == before


def test_split_gives_views_and_keeps_leading_dimensions() -> None:
    match = Match(seed=2)
    batch = np.stack([encode(match, seat) for seat in SEATS]).reshape(2, 2, WIDTH)
    parts = split(batch)
    assert list(parts) == [field.name for field in FIELDS]
    for field in FIELDS:
        assert parts[field.name].shape == (2, 2, *field.shape)
        assert np.shares_memory(parts[field.name], batch)
    assert np.array_equal(parts["hand"][1, 0], cards(match.hands[2]))
    assert np.concatenate([part[0, 1].ravel() for part in parts.values()]).tobytes() == batch[0, 1].tobytes()


@pytest.mark.parametrize("shape", [(), (WIDTH - 1,), (WIDTH + 1,), (WIDTH, 1), (0,), (STATE_WIDTH,)])
def test_split_refuses_another_width(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="804 wide"):
        split(np.zeros(shape, np.float32))


def test_split_refuses_an_observation_as_a_state() -> None:
    with pytest.raises(ValueError, match="961 wide"):
        split(encode(Match(seed=1), 0), STATE_FIELDS)


def test_encode_refuses() -> None:
    match = Match(seed=1)
    for seat in (4, -1, None, "0", 1.0, True):
        with pytest.raises(ValueError, match="seat"):
            encode(match, seat)
    for encoding in ("Flat", "", None, 3):
        for table in (match, match.view(0)):
            with pytest.raises(ValueError, match=r"no encoding .* 'flat' or 'history'"):
                encode(table, 0, encoding)
        with pytest.raises(ValueError, match="no encoding"):
            new_space(encoding)
    with pytest.raises(ValueError, match="view of seat 2, not of seat 1"):
        encode(match.view(2), 1)


def test_spaces() -> None:
    flat, history = new_space("flat"), new_space("history")
    assert (flat.shape, flat.dtype, flat.low.min(), flat.high.max()) == ((WIDTH,), np.float32, -1, 1)
    assert (history.shape, history.dtype) == ((HISTORY_WIDTH,), np.int16)
    assert (history.low.min(), history.high.max()) == (-1, 64)


def test_a_field_knows_its_size() -> None:
    assert Field("x", (2, 3, 4), 1, "").size == 24
