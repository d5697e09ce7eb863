"""Worlds: counts against brute force, samples against exact chances, the true deal always among them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any

import numba
import numpy as np
import pytest

from callbreak_env import PRESETS, Match, Rules
from callbreak_env.cards import cards_of, set_of
from callbreak_env.engine._jit import popcount
from callbreak_env.engine.legality import legal_set
from callbreak_env.engine.play import next_deal, start_match, step
from callbreak_env.engine.random import GOLDEN, mix, next_state
from callbreak_env.engine.state import ALL_CARDS, BIDDING, NO_DECKS, TABLE, rules_record
from callbreak_env.engine.worlds import (
    AB,
    ABC,
    AC,
    BC,
    MAX_ROWS,
    WORLDS,
    build_worlds,
    draw_subset,
    open_worlds,
    sample_worlds,
)
from callbreak_env.errors import CallBreakError
from callbreak_env.table import View
from callbreak_env.worlds import Worlds
from conftest import JIT
from positions import extra_deal_opening, random_action
from tables import SUIT_HANDS, cards, place

Amount = Callable[..., int]
World = tuple[int, ...]

ALL = (0, 1, 2, 3)
PAIRS, TRIPLES = list(combinations(range(4), 2)), list(combinations(range(4), 3))
KINDS = [
    (preset, seats) for preset in PRESETS for seats in (4, 2, 3) if seats == 4 or preset != "partnership"
]
"""Preset and number of seats in the deal; sides tie all four together (H5)."""


@cache
def opening(preset: str, active: tuple[int, ...], seed: int) -> Match:
    """A deal of these seats, at its first bid; not to be played on."""
    if len(active) == 4:
        return Match(preset, seed=seed)
    return extra_deal_opening(active, replace(PRESETS[preset], deals=1, max_bid=13, tie="extra_deal"), seed)[
        0
    ]


def position(kind: int, rng: random.Random, hand: int) -> tuple[Match, View]:
    """Somewhere in random play, ``hand`` cards left of the leader's; seen by a random seat of the deal."""
    preset, seats = KINDS[kind % len(KINDS)]
    active = ALL if seats == 4 else rng.choice(PAIRS if seats == 2 else TRIPLES)
    match = opening(preset, active, rng.randrange(1000 if JIT and seats == 4 else 2)).clone()
    while match.phase == "bidding":
        match.apply(random_action(match, rng))
    for _ in range(seats * (13 - hand) + rng.randrange(seats)):
        match.apply(random_action(match, rng))
    return match, match.view(rng.choice(match.active))


def endings(count: int, seed: int, small: bool) -> Iterator[tuple[Match, View]]:
    """Endings of every kind with up to 5 cards a hand; fewer where undealt cards make too many worlds."""
    rng = random.Random(seed)
    for kind in range(count):
        most = {4: 4, 2: 3 if small else 4, 3: 2}[KINDS[kind % len(KINDS)][1]]
        more = most == 4 and not small and rng.random() < 0.05
        yield position(kind, rng, 5 if more else rng.randint(1, most))


def holders_of(view: View) -> list[tuple[int, int, int]]:
    """Seat, number of cards and the cards it may hold for each other seat; seat 4: the undealt cards."""
    played = [sum(seat == each for each, _ in view.plays) for seat in range(4)]
    others = [seat for seat in view.active if seat != view.viewer]
    holders = [(seat, 13 - played[seat], set_of(view.may_hold(seat))) for seat in others]
    return [*holders, (4, 52 - 13 * len(view.active), 2**52 - 1)]


def brute_force(view: View) -> set[World]:
    """All worlds, by trying every split of the unseen cards that has the right sizes."""
    found: set[World] = set()

    def fill(hands: World, rest: int, left: list[tuple[int, int, int]]) -> None:
        (seat, size, may_hold), *others = left
        if not others:  # the undealt cards, or none: whatever is left
            if rest.bit_count() == size:
                found.add(hands)
            return
        if len(others) == 1 and others[0][1] == 0:  # the last seat takes the rest
            if rest & ~may_hold == 0:
                found.add((*hands[:seat], rest, *hands[seat + 1 :]))
            return
        for chosen in combinations([1 << card for card in cards_of(rest & may_hold)], size):
            taken = sum(chosen)
            fill((*hands[:seat], taken, *hands[seat + 1 :]), rest & ~taken, others)

    own = set_of(view.hand)
    start = tuple(own if seat == view.viewer else 0 for seat in range(4))
    fill(start, 2**52 - 1 & ~own & ~set_of(card for _, card in view.plays), holders_of(view))
    return found


def as_set(hands: Any) -> set[World]:
    return set(map(tuple, hands.tolist()))


def test_counts_and_numbers_agree_with_brute_force(amount: Amount) -> None:
    worlds_seen, most = 0, 0
    for match, view in endings(amount(420, nightly=5000, no_jit=100), 1, small=not JIT):
        expected = brute_force(view)
        worlds = Worlds(view)
        assert worlds.count == len(expected)
        if worlds.count <= (100_000 if JIT else 500):
            listed = worlds.all()
            assert as_set(listed) == expected
            assert len(listed) == len(expected)
            index = worlds.count // 2
            assert worlds.unrank(index).tolist() == listed[index].tolist()
        assert tuple(map(set_of, match.hands)) in expected
        worlds_seen += worlds.count
        most = max(most, worlds.count)
    print(f"{worlds_seen} worlds, at most {most} at once")


def chi_square_p(chi: float, freedom: int) -> float:
    """The chance of a chi-square at least so large: Q(freedom / 2, chi / 2)."""
    a, x = freedom / 2, chi / 2
    if x == 0:
        return 1.0
    scale = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:  # series of P
        term = total = 1 / a
        k = a
        while term > total * 1e-15:
            k += 1
            term *= x / k
            total += term
        return 1 - scale * total
    b = x + 1 - a  # continued fraction of Q (Lentz)
    c, d = 1e300, 1 / b
    h = d
    for i in range(1, 10_000):
        b += 2
        step_ = -i * (i - a)
        d = 1 / (step_ * d + b)
        c = b + step_ / c
        h *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return scale * h


def test_the_chi_square_function() -> None:
    for chi, freedom, p in (
        (3.841459, 1, 0.05),
        (18.307038, 10, 0.05),
        (1.0, 2, math.exp(-0.5)),
        (90, 100, 0.7532),
    ):
        assert chi_square_p(chi, freedom) == pytest.approx(p, abs=2e-5)


def test_every_world_is_drawn_with_the_same_chance(amount: Amount) -> None:
    wanted = amount(300, nightly=3000, no_jit=60)
    ps: list[float] = []
    sizes = []
    for number, (_, view) in enumerate(endings(100 * wanted, 2, small=False)):
        worlds = Worlds(view)
        if not 2 <= worlds.count <= (400 if JIT else 40):
            continue
        listed = worlds.all()
        draws = max(50 * worlds.count, 1000)
        found, counts = np.unique(
            np.vstack([listed, worlds.sample(draws, number)]), axis=0, return_counts=True
        )
        assert len(found) == worlds.count  # nothing but worlds
        mean = draws / worlds.count
        ps.append(chi_square_p(float(((counts - 1 - mean) ** 2).sum()) / mean, worlds.count - 1))
        sizes.append(worlds.count)
        if len(ps) == wanted:
            break
    assert len(ps) == wanted
    ordered = np.sort(ps)
    steps = np.arange(wanted + 1) / wanted
    ks = math.sqrt(wanted) * max((steps[1:] - ordered).max(), (ordered - steps[:-1]).max())
    print(f"{wanted} positions of {min(sizes)} to {max(sizes)} worlds: least p {ordered[0]:.5f}, KS {ks:.2f}")
    assert ordered[0] > 0.001 / wanted  # Bonferroni
    assert ks < 1.95  # exceeded by chance once in a thousand


def exact_chances(view: View) -> tuple[int, dict[tuple[int, int], float]]:
    """The number of worlds and the chance that a seat holds a card, card by card over the room left."""
    holders = holders_of(view)
    unseen = cards_of(2**52 - 1 & ~set_of(view.hand) & ~set_of(card for _, card in view.plays))
    full = tuple(size for _, size, _ in holders)

    def moves(card: int, room: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
        for i, (_, _, may_hold) in enumerate(holders):
            if room[i] and may_hold >> card & 1:
                yield i, (*room[:i], room[i] - 1, *room[i + 1 :])

    ways_to = [{full: 1}]  # ways to place the cards before this one, by the room left
    for card in unseen:
        after: dict[tuple[int, ...], int] = {}
        for room, ways in ways_to[-1].items():
            for _, new in moves(card, room):
                after[new] = after.get(new, 0) + ways
        ways_to.append(after)
    none_left = (0,) * len(holders)
    total = ways_to[-1][none_left]
    ways_from = {none_left: 1}
    having: dict[tuple[int, int], int] = {}
    for place_ in range(len(unseen) - 1, -1, -1):
        card, before = unseen[place_], {}
        for room, ways in ways_to[place_].items():
            for i, new in moves(card, room):
                rest = ways_from.get(new, 0)
                before[room] = before.get(room, 0) + rest
                key = (holders[i][0], card)
                having[key] = having.get(key, 0) + ways * rest
        ways_from = before
    return total, {key: ways / total for key, ways in having.items()}


def test_chances_of_single_cards_on_full_hands_and_in_mid_deal(amount: Amount) -> None:
    draws, worst, compared = amount(200_000, no_jit=300), 0.0, 0
    rng = random.Random(3)
    for kind in range(amount(40, nightly=200, no_jit=12)):
        _, view = position(kind, rng, rng.choice([13, 13, 11, 9, 7, 5]))
        worlds = Worlds(view)
        total, chances = exact_chances(view)
        assert worlds.count == total
        hands = worlds.sample(draws, kind)
        for (seat, card), chance in chances.items():
            if seat == 4:
                continue
            held = float((hands[:, seat] >> np.uint64(card) & np.uint64(1)).mean())
            sigma = math.sqrt(chance * (1 - chance) / draws)
            if sigma == 0:
                assert held == chance
            elif sigma * draws > 3:  # too rare else for the bell curve
                compared += 1
                worst = max(worst, abs(held - chance) / sigma)
    print(f"{compared} chances, at most {worst:.2f} sigma off")
    assert worst < (4 if compared < 5000 else 5)


@numba.njit
def _true_deal_is_inside(tables: Any, rules: Any, worlds: Any, seed: int, deals: int, active: int) -> int:
    """Random deals of the active seats: every position as each of them sees it. -1 for a contradiction."""
    table, the_rules = tables[0], rules[0]
    state, seen = np.uint64(seed), 0
    for number in range(deals):
        start_match(table, the_rules, NO_DECKS, np.uint64(seed), np.uint64(number), -1)
        if active != 15:
            table["deal"] = the_rules["deals"] - 1
            next_deal(table, the_rules, NO_DECKS, active)
        deal = int(table["deal"])
        while int(table["phase"]) != 2 and int(table["deal"]) == deal:
            for viewer in range(4):
                if active >> viewer & 1:
                    seen += 1
                    if not _is_inside(table, viewer, worlds[0]):
                        return -1
            state = next_state(state)
            legal = legal_set(table, the_rules)
            for _ in range(np.int64((mix(state) >> np.uint64(32)) % np.uint64(popcount(legal)))):
                legal &= legal - np.uint64(1)
            first = popcount((legal & (~legal + np.uint64(1))) - np.uint64(1))
            step(table, the_rules, NO_DECKS, first + 51 if int(table["phase"]) == BIDDING else first)
    return seen


@numba.njit
def _is_inside(table: Any, viewer: int, worlds: Any) -> bool:
    """Whether the true hands are in the masks, and their split in the rows."""
    build_worlds(table, viewer, worlds)
    hands = table["hands"]
    split = 0
    for i in range(3):
        seat = (viewer + 1 + i) & 3
        if hands[seat] & ~table["may_hold"][seat] != np.uint64(0):
            return False
    held = [np.uint64(0), np.uint64(0), np.uint64(0)]
    undealt = ALL_CARDS
    for seat in range(4):
        undealt &= ~(hands[seat] | table["played"][seat])
    for i in range(3):
        seat = (viewer + 1 + i) & 3
        if int(table["active"]) >> seat & 1:
            held[i] = hands[seat]
        else:
            held[i], undealt = undealt, np.uint64(0)
    for i, (who, holder) in enumerate(((AB, 0), (AC, 0), (BC, 1), (ABC, 0), (ABC, 1))):
        split |= popcount(worlds["cards"][who] & held[holder]) << 8 * i
    before = np.uint64(0)
    for row in range(worlds["rows"]):
        if worlds["splits"][row] == np.uint64(split):
            return bool(
                worlds["upto"][row] > before
                and worlds["upto"][worlds["rows"] - 1] == np.uint64(worlds["count"])
            )
        before = worlds["upto"][row]
    return False


def test_the_true_deal_is_always_a_world(amount: Amount) -> None:
    tables, worlds = np.zeros(1, TABLE), np.zeros(1, WORLDS)
    seen = 0
    for preset, seats in KINDS:
        for active in {4: [ALL], 2: PAIRS, 3: TRIPLES}[seats]:
            deals = amount(24 // len(active), nightly=720 // len(active), no_jit=int(active[:2] == (0, 1)))
            rules = rules_record(PRESETS[preset])
            found = _true_deal_is_inside(tables, rules, worlds, 5, deals, set_of(active))
            assert found >= 0, (preset, active)
            seen += found
    print(f"{seen} views")
    assert seen >= amount(50_000, nightly=1_000_000, no_jit=1_000)


# Corner cases by hand


def test_voids_pin_whole_suits() -> None:
    match = place(*SUIT_HANDS, plays="2C 2D 2H 2S")  # one suit a seat: all are void in clubs but the leader
    counts = [Worlds(match.view(seat)).count for seat in range(4)]
    # Seats 1 and 2 threw off, so they hold no spade either. For seat 0 the spades fill seat 3's hand and for
    # seat 3 the clubs fill seat 0's, which leaves 24 cards to two hands of twelve. Seat 1 holds the diamonds,
    # so hearts are all that seat 2 can hold, and the clubs must be with seat 0; for seat 2 it is the same.
    assert counts == [math.comb(24, 12), 1, 1, math.comb(24, 12)]
    assert as_set(Worlds(match.view(1)).all()) == {tuple(map(set_of, match.hands))}


def by_hand(masks: list[str], sizes: tuple[int, int, int]) -> View:
    """Seat 0 holds no card and sees others of these sizes who may hold these cards; the rest is played."""
    tables = np.zeros(1, TABLE)
    table = tables[0]
    table["active"], table["num_active"] = 15, 4
    may_hold = [0, *(set_of(cards(mask)) for mask in masks)]
    unseen = may_hold[1] | may_hold[2] | may_hold[3]
    gone = [card for card in range(52) if not unseen >> card & 1]
    table["num_played"] = len(gone)
    seats = [seat for seat, size in enumerate((0, *sizes)) for _ in range(13 - size)]
    for place_, (seat, card) in enumerate(zip(seats, gone, strict=True)):
        table["log"][place_] = card | seat << 6
        table["played"][seat] |= np.uint64(1 << card)
    table["may_hold"] = may_hold
    return View(tables, Rules(), 0)


@pytest.mark.parametrize(
    ("masks", "count"),
    [
        (["2C 3D 4H"] * 3, 6),
        (["2C 3D", "3D 4H", "4H 2C"], 2),  # round either way
        (["3D 4H", "2C 4H", "2C 3D"], 2),  # derangements
        (["2C 3D 4H", "2C 3D 4H", "2C"], 2),  # one card pinned by a mask of one
        (["2C 3D 4H", "2C 3D", "2C 3D"], 2),  # and by the room of the others
        (["2C", "3D", "4H"], 1),
        (["2C 3D", "2C 3D", "4H"], 2),
    ],
)
def test_masks_of_single_cards(masks: list[str], count: int) -> None:
    view = by_hand(masks, (1, 1, 1))
    worlds = Worlds(view)
    assert (worlds.count, len(as_set(worlds.all()))) == (count, count)
    assert as_set(worlds.sample(200 if JIT else 50, 1)) == as_set(worlds.all()) == brute_force(view)


def test_a_seat_without_room_holds_nothing_whatever_its_mask_says() -> None:
    worlds = Worlds(by_hand(["2C 3D 4H", "2C 3D 4H", "2C 3D 4H"], (0, 1, 2)))
    assert worlds.count == 3
    assert set(worlds.all()[:, 1].tolist()) == {0}


def test_a_table_that_contradicts_itself_is_refused() -> None:
    for masks, sizes in ((["2C", "2C", "3D 4H"], (1, 1, 1)), (["2C", "", "3D"], (1, 1, 0))):
        with pytest.raises(CallBreakError, match="contradicts itself"):
            Worlds(by_hand(masks, sizes))


def test_full_hands() -> None:
    most = math.factorial(39) // math.factorial(13) ** 3
    for active, count in ((ALL, most), ((0, 1, 3), most), ((1, 2), math.comb(39, 13))):
        match = opening("standard", active, 0)
        assert [Worlds(match.view(seat)).count for seat in active] == [count] * len(active)


def test_a_match_that_is_over_has_one_world_of_empty_hands() -> None:
    for active in (ALL, (1, 2)):
        match = opening("single_deal", active, 0).clone()
        rng = random.Random(0)
        while not match.is_over:
            match.apply(random_action(match, rng))
        worlds = Worlds(match.view(match.active[0]))
        assert worlds.all().tolist() == [[0] * 4]


def test_the_most_rows_there_can_be() -> None:
    """570, over all sizes of classes and hands; and drawing from such a table."""

    @numba.njit
    def most_rows(full: int) -> int:
        most = 0
        for room_a in range(full + 1):
            for room_b in range(room_a + 1):
                for room_c in range(room_b + 1):  # what is named A, B and C does not matter
                    cards_ = room_a + room_b + room_c
                    for ab in range(cards_ + 1):
                        for ac in range(cards_ - ab + 1):
                            for bc in range(cards_ - ab - ac + 1):
                                abc = cards_ - ab - ac - bc
                                rows = 0
                                for x in range(min(ab, room_a) + 1):
                                    for y in range(min(ac, room_a - x) + 1):
                                        a, b, c = room_a - x - y, room_b - ab + x, room_c - ac + y
                                        low, high = max(0, bc - c), min(bc, b)  # z, as far as B and C go
                                        if b >= 0 and c >= 0 and a <= abc:
                                            rows += max(0, high - max(low, b - (abc - a)) + 1)
                                most = max(most, rows)
        return most

    assert most_rows(13 if JIT else 2) == (MAX_ROWS if JIT else 8)  # 8: pairs of one card, three cards in ABC
    deck = [f"{rank}{suit}" for suit in "CDHS" for rank in "23456789TJQKA"]
    ab, ac, bc, abc = deck[:8], deck[8:16], deck[16:25], deck[25:39]
    view = by_hand([" ".join(mask) for mask in (ab + ac + abc, ab + bc + abc, ac + bc + abc)], (13, 13, 13))
    worlds = Worlds(view)
    assert worlds.worlds_array["rows"][0] == MAX_ROWS
    assert worlds.count == exact_chances(view)[0]
    check_hands(view, worlds.sample(2000 if JIT else 20, 1))
    for index in (0, worlds.count - 1):
        check_hands(view, worlds.unrank(index)[None])


# What the worlds depend on, and on what not


def check_hands(view: View, hands: Any) -> None:
    """The right sizes, nothing twice, nothing missing, all within the masks: playable."""
    unseen = 2**52 - 1 & ~set_of(view.hand) & ~set_of(card for _, card in view.plays)
    union = np.zeros(len(hands), np.uint64)
    for seat, size, may_hold in holders_of(view)[:-1]:
        assert (np.bitwise_count(hands[:, seat]) == size).all()
        assert not (hands[:, seat] & ~np.uint64(may_hold)).any()
        assert not (hands[:, seat] & union).any()
        union |= hands[:, seat]
    undealt = 52 - 13 * len(view.active)
    assert (np.bitwise_count(np.uint64(unseen) & ~union) == undealt).all()
    assert not (union & ~np.uint64(unseen)).any()
    for seat in set(range(4)) - {holder[0] for holder in holders_of(view)}:
        assert (hands[:, seat] == (set_of(view.hand) if seat == view.viewer else 0)).all()


def test_worlds_are_playable(amount: Amount) -> None:
    rng = random.Random(6)
    for kind in range(amount(300, nightly=5000, no_jit=20)):
        match, view = position(kind, rng, rng.randint(1, 13))
        worlds = Worlds(view)
        hands = worlds.sample(200 if JIT else 5, kind)
        check_hands(view, hands)
        check_hands(view, np.array([worlds.unrank(rng.randrange(worlds.count)) for _ in range(3)]))
        tables = worlds.tables(hands)
        assert np.array_equal(tables["hands"], hands)
        other = match.clone()  # the same table but for the hands: the deal goes on in that world
        other.record_array["hands"][0] = tables["hands"][-1]
        view_after = other.view(view.viewer)
        assert view_after.record_array == view.record_array
        tables["hands"] = view.record_array["hands"]
        assert (tables == view.record_array).all()
        while not other.is_over and other.deal == view.deal:
            other.apply(legal_of(other, rng))


def legal_of(match: Match, rng: random.Random) -> int:
    """A legal action, by the record as it stands (the mask of a match is older than the hands put in)."""
    return rng.choice(match.view(match.seat or 0).legal_actions())


def test_hidden_hands_change_nothing(amount: Amount) -> None:
    rng = random.Random(7)
    for kind in range(amount(60, no_jit=10)):
        match, view = position(kind, rng, rng.randint(1, 13))
        records = []
        for order in range(3):
            tables = match.record_array.copy()
            others = [seat for seat in range(4) if seat != view.viewer]
            tables["hands"][0, others] = 0 if order == 2 else np.roll(tables["hands"][0, others], order)
            worlds = np.zeros(1, WORLDS)
            open_worlds(tables, view.viewer, worlds)
            records.append(worlds.tobytes())
        assert records == [Worlds(view).worlds_array.tobytes()] * 3


def test_seats_relabelled(amount: Amount) -> None:
    rng = random.Random(8)
    for kind in range(amount(120, nightly=1000, no_jit=10)):
        _, view = position(kind, rng, rng.choice([1, 2, 3, 8, 13]))
        order = rng.sample(range(4), 4)  # seat s becomes order[s]
        tables = view.record_array.copy()
        for name in ("hands", "may_hold", "played"):
            tables[name][0, order] = view.record_array[name][0]
        tables["active"] = set_of(order[seat] for seat in view.active)
        one, other = Worlds(view), Worlds(View(tables, view.rules, order[view.viewer]))
        assert one.count == other.count
        if one.count <= (20_000 if JIT else 200):
            assert as_set(one.all()) == as_set(other.all()[:, order])


# Random numbers

_MASK = 2**64 - 1


def state_before(number: int) -> np.uint64:
    """The state whose next random number is this one."""
    for shift, factor in ((31, 0x94D049BB133111EB), (27, 0xBF58476D1CE4E5B9), (30, 1)):
        number ^= number >> shift ^ number >> 2 * shift
        number = number * pow(factor, -1, 2**64) & _MASK
    return np.uint64((number - int(GOLDEN)) & _MASK)


def used(before: np.uint64, after: np.uint64) -> int:
    """How many random numbers lie between two states."""
    return (int(after) - int(before)) * pow(int(GOLDEN), -1, 2**64) & _MASK


@numba.njit
def _subset(worlds: Any, size: int, take: int, state: np.uint64) -> Any:
    return draw_subset(worlds[0], ABC, np.uint64(size), np.uint64(take), state)


@pytest.mark.parametrize(("size", "take"), [(3, 1), (5, 1), (39, 1), (5, 3), (4, 4), (7, 4), (39, 8)])
def test_bounded_draws_are_exact_at_the_edges(size: int, take: int) -> None:
    """Each outcome of a batch has the same number of 58-bit words, and its first and last one lead to it."""
    worlds = Worlds(opening("standard", ALL, 0).view(0)).worlds_array
    end, ways = 2**58, math.perm(size, take)
    rejected = end % ways
    outcomes = range(ways) if ways <= 1000 else random.Random(9).sample(range(ways), 200)
    for outcome in outcomes if JIT else list(outcomes)[:10]:
        first = -(-(outcome * end + rejected) // ways)
        last = ((outcome + 1) * end - 1) // ways
        assert last - first + 1 == end // ways
        ranks: set[int] = set()
        place_ = ways
        for i in range(size - take, size):
            place_ //= i + 1
            draw = outcome // place_ % (i + 1)
            ranks.add(i if draw in ranks else draw)
        for word in (first, last):
            before = state_before(word << 6)
            cards_, found, after = _subset(worlds, size, take, before)
            assert (used(before, after), int(found)) == (1, set_of(ranks))
            ordered = cards_of(worlds["cards"][0, ABC])
            assert int(cards_) == set_of(ordered[rank] for rank in ranks)
        if rejected and first * ways // end == outcome and (first - 1) * ways // end == outcome:
            before = state_before((first - 1) << 6)
            assert used(before, _subset(worlds, size, take, before)[2]) == 2


def test_the_row_is_drawn_exactly() -> None:
    """Three rows of one world each: one number is used; 2**64 - 1, which would favour 0, is not."""
    worlds = Worlds(by_hand(["2C 3D 4H", "2C 4H", "3D 4H"], (1, 1, 1)))
    assert (worlds.count, worlds.worlds_array["rows"][0]) == (3, 3)
    hands = np.zeros((1, 4), np.uint64)
    for number in (0, 1, 2, 3, _MASK - 3, _MASK - 2, _MASK - 1):
        before = state_before(number)
        assert used(before, sample_worlds(worlds.worlds_array, before, hands)) == 1
        assert hands[0].tolist() == worlds.unrank(number % 3).tolist()
    before = state_before(_MASK)
    assert used(before, sample_worlds(worlds.worlds_array, before, hands)) == 2
    assert hands[0].tolist() == worlds.unrank(int(mix(next_state(next_state(before)))) % 3).tolist()


def test_the_same_seed_gives_the_same_worlds() -> None:
    worlds = Worlds(opening("standard", ALL, 0).view(2))
    again = Worlds(opening("standard", ALL, 0).view(2))
    assert np.array_equal(worlds.sample(50, 3), again.sample(50, 3))
    assert np.array_equal(worlds.sample(50, 3)[:20], worlds.sample(20, 3))
    assert not np.array_equal(worlds.sample(50, 3), worlds.sample(50, 4))
    one, other = np.random.default_rng(1), np.random.default_rng(1)
    assert np.array_equal(worlds.sample(5, one), again.sample(5, other))
    assert not np.array_equal(worlds.sample(5, one), worlds.sample(5, np.random.default_rng(1)))
    assert worlds.sample(0, 1).shape == (0, 4)


def test_bad_input_is_refused() -> None:
    match = opening("standard", (0, 2), 0)
    for wrong, words in (
        (match, "not of Match"),
        (None, "NoneType"),
        (match.view(1), "seat 1 is not in the extra deal"),
    ):
        with pytest.raises(CallBreakError, match=words):
            Worlds(wrong)  # type: ignore[arg-type]
    worlds = Worlds(match.view(0))
    for index in (-1, worlds.count, 1.0, True, "0", None):
        with pytest.raises(ValueError, match=r"there is no world|index must"):
            worlds.unrank(index)  # type: ignore[arg-type]
    for n, rng in ((-1, 0), (1.5, 0), (1, -1), (1, 2**63), (1, None), (1, 0.5)):
        with pytest.raises(ValueError, match=r"^(n|rng) must"):
            worlds.sample(n, rng)  # type: ignore[arg-type]
    with pytest.raises(CallBreakError, match="too many to list"):
        worlds.all()
    good = worlds.sample(3, 0)
    for hands in (good[0], good.astype(np.int64), good.tolist(), good[:, :3]):
        with pytest.raises(CallBreakError, match="hands must be an array"):
            worlds.tables(hands)  # type: ignore[arg-type]
    four = Worlds(opening("standard", ALL, 0).view(1))
    for column, change in ((0, 1), (1, 1), (2, 1), (2, 2**52), (3, None)):
        bad = four.sample(3, 0)
        bad[1, column] = bad[1, 2] if change is None else bad[1, column] ^ np.uint64(change)
        with pytest.raises(CallBreakError, match=r"hands\[1\] is not a world"):
            four.tables(bad)
    assert open_worlds(match.record_array, 1, np.zeros(1, WORLDS)) == 0
