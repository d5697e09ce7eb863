"""The engine against the slow reference: random deals, all options mixed, everything equal at every step.

A failure names the seed, the rules, the decks and the actions that lead there. The environment variable
CALLBREAK_SEED draws another sample.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from callbreak_env import IllegalAction, Match, Rules
from callbreak_env.engine.dealing import cut_for_dealer, shuffle
from callbreak_env.engine.legality import legal_word
from callbreak_env.engine.play import new_match
from callbreak_env.engine.scoring import POINTS
from callbreak_env.engine.state import (
    DEAL_END,
    MATCH_END,
    NO_DECKS,
    REDEAL,
    TABLE,
    TRICK_END,
    rules_record,
)
from callbreak_env.envs.rows import count_illegal, step_rows
from conftest import JIT
from reference import CARDS, ReferenceMatch

SEED = int(os.environ.get("CALLBREAK_SEED", "20260"))
PARTS = 4

IDS = {card: number for number, card in enumerate(CARDS)}
BITS = {card: 1 << number for card, number in IDS.items()}
PHASES = {"bidding": 0, "playing": 1, "over": 2}
SUITS = {None: -1, "C": 0, "D": 1, "H": 2, "S": 3}

# What a sample must hold to be worth its name, where it is large enough.
WANTED = (
    "extra deal of 2",
    "extra deal of 3",
    "extra deal of 4",
    "extra deal of two sides",
    "extra deal shared",
    "extra deal after misdeal",
    "tie shared by H8",
    "redeal",
    "played as bid at the bound",
    "misdeal",
    "bonus made",
    "bonus failed",
    "bonus of a side made",
    "first-led trump C",
    "first-led trump D",
    "first-led trump H",
    "first-led trump S",
    "only spades to lead",
    "not overtrumped",
    "free discard instead of a low trump",
)


def bits(cards: Sequence[str]) -> int:
    return sum(map(BITS.__getitem__, cards))


def action_of(move: tuple[str, int | str]) -> int:
    kind, what = move
    return 51 + what if kind == "bid" else IDS[what]


def facts_of_reference(reference: ReferenceMatch, plays: list[tuple[int, int]]) -> dict:
    return {
        "phase": PHASES[reference.phase],
        "seat": -1 if reference.seat is None else reference.seat,
        "legal": sorted(map(action_of, reference.legal())),
        "hands": list(map(bits, reference.hands)),
        "may_hold": [bits(reference.may_hold(seat)) for seat in range(4)],
        "played": list(map(bits, reference.played)),
        "plays": plays,
        "trick": [next((IDS[c] for s, c in reference.trick if s == seat), -1) for seat in range(4)],
        "in_trick": len(reference.trick),
        "trick in order": [(seat, IDS[card]) for seat, card in reference.trick],
        "bids": [bid or 0 for bid in reference.bids],
        "tricks_won": reference.tricks_won,
        "trump": SUITS[reference.trump],
        "dealer": reference.dealer,
        "leader": reference.leader,
        "deal": reference.deal,
        "trick_no": reference.trick_no,
        "active": sum(1 << seat for seat in reference.active),
        "num_active": len(reference.active),
        "totals": reference.totals,
        "points": reference.points,
        "redeals": reference.redeals,
        "last_winner": -1 if reference.last_trick_winner is None else reference.last_trick_winner,
        "winners": sum(1 << seat for seat in reference.winners),
        "deck": reference.decks_used,
    }


LISTS = ("hands", "may_hold", "played", "trick", "bids", "tricks_won", "totals", "points")
NUMBERS = (
    *("phase", "seat", "in_trick", "trump", "dealer", "leader", "deal", "trick_no", "active", "num_active"),
    *("redeals", "last_winner", "winners", "deck"),
)


def facts_of_engine(table: np.void, mask: np.ndarray) -> dict:
    log = table["log"].tolist()
    count = int(table["num_played"])
    assert log[count:] == [255] * (52 - count)
    facts = {name: table[name].tolist() for name in LISTS}
    facts |= {name: int(table[name]) for name in NUMBERS}
    facts["legal"] = np.flatnonzero(mask).tolist()
    facts["plays"] = [(entry >> 6, entry & 63) for entry in log[:count]]
    return facts


def facts_of_match(match: Match) -> dict:
    """The same facts by the public names, as far as they have some."""
    return {
        "phase": PHASES[match.phase],
        "seat": -1 if match.seat is None else match.seat,
        "legal": match.legal_actions(),
        "hands": [sum(1 << card for card in hand) for hand in match.hands],
        "plays": match.plays,
        "trick in order": match.trick,
        "bids": [bid or 0 for bid in match.bids],
        "tricks_won": match.tricks_won,
        "trump": -1 if match.trump is None else match.trump,
        "dealer": match.dealer,
        "leader": match.leader,
        "deal": match.deal,
        "trick_no": match.trick_no,
        "active": sum(1 << seat for seat in match.active),
        "totals": match.totals,
        "points": match.points,
        "redeals": match.redeals,
        "last_winner": -1 if match.last_winner is None else match.last_winner,
        "winners": sum(1 << seat for seat in match.winners),
    }


def random_options(rng: random.Random) -> dict:
    """Rules of every kind; level bids, short matches and easy bonuses, which tie, more than their share."""
    low = rng.randint(1, rng.choice((2, 4, 13)))
    high = rng.choice((low, low, rng.randint(low, 13), 13))
    least = rng.choice((0, 0, 0, rng.randint(1, 30), 2 * (low + high)))
    options = {
        "deals": rng.choice((1, 1, 1, 2, 2, 3, 4)),
        "min_bid": low,
        "max_bid": high,
        "min_total_bid": least,
        "max_redeals": rng.randint(0, 3),
        "misdeal": rng.random() < 0.5,
        "bonus_bid": rng.choice((None, None, low, rng.randint(1, 13))),
        "bonus_points": rng.choice((13, 0, rng.randint(1, 30))),
        "partnership": rng.random() < 0.3,
        "trump": rng.choice(("spades", "first_led")),
        "free_spade_lead": rng.random() < 0.4,
        "tie": rng.choice(("extra_deal", "extra_deal", "shared")),
        "must_beat": rng.random() < 0.7,
        "beat_when_trumped": rng.random() < 0.5,
        "undertrump": rng.random() < 0.5,
    }
    if rng.random() < 0.15:  # everyone bids the same and all who make it score the same: two to four tie
        low = rng.randint(2, 4)
        options |= {"deals": 1, "min_bid": low, "max_bid": low, "bonus_bid": 1, "partnership": False}
        options |= {"tie": "extra_deal"}
    return options


def random_deck(rng: random.Random) -> list[int]:
    """A deck for four: well shuffled, or with long suits and voids, or a suit a hand."""
    mess = rng.choice((0, 20, 40, 1000))
    in_order = sorted(range(52), key=lambda card: card + mess * rng.random())
    hands = [in_order[first : first + 13] for first in (0, 13, 26, 39)]
    rng.shuffle(hands)
    return [hands[place % 4][place // 4] for place in range(52)]


def deck_source(seed: int, number: int, decks: Sequence[Sequence[int]]) -> Callable[[], list[str]]:
    """The decks in order, then the engine's shuffles by their key: the reference has none of its own."""
    counter = iter(range(10**9))

    def next_deck() -> list[str]:
        deck = next(counter)
        if deck < len(decks):
            return [CARDS[card] for card in decks[deck]]
        cards = np.zeros(52, np.uint8)
        shuffle(np.uint64(seed), np.uint64(number), np.uint64(deck), cards)
        return [CARDS[card] for card in cards]

    return next_deck


class Comparison:
    """One reference match, the moves made in it, and what happened on the way."""

    def __init__(self, rng: random.Random, options: dict, reference: ReferenceMatch, told: str) -> None:
        self.rng = rng
        self.options = options
        self.reference = reference
        self.told = told
        self.actions: list[int] = []
        self.plays: list[tuple[int, int]] = []
        self.seen: Counter[str] = Counter()
        self.deals = 0
        self.bidding_style = rng.choice(("uniform", "low", "same"))
        self.playing_style = rng.choice(("uniform", "uniform", "uniform", "low", "high"))
        self._look_at_decks(0)
        self.expected = facts_of_reference(reference, self.plays)

    def choose(self) -> int:
        """A legal action, by the match's style."""
        legal = self.expected["legal"]
        if self.expected["phase"] == 0:
            made = max(self.expected["bids"])
            if self.bidding_style == "same" and made:
                return 51 + made
            if self.bidding_style == "low":
                return self.rng.choice(legal[:3])
        elif self.playing_style != "uniform" and self.rng.random() < 0.8:
            return max(legal, key=lambda card: (card % 13) * (1 if self.playing_style == "high" else -1))
        return self.rng.choice(legal)

    def choose_illegal(self) -> int:
        """An action that is not legal; all are when the match is over."""
        return self.rng.choice([action for action in range(65) if action not in self.expected["legal"]])

    def apply(self, action: int) -> int:
        """Take an action in the reference; what the engine should say that it brought about."""
        reference, before = self.reference, self.expected
        hand = set(reference.hands[reference.seat])
        trick, trump = list(reference.trick), reference.trump
        self.actions.append(action)
        if action > 51:
            reference.apply(("bid", action - 51))
        else:
            reference.apply(("play", CARDS[action]))
            self.plays.append((before["seat"], action))
        if reference.decks_used != before["deck"]:
            self.plays.clear()
        self.expected = facts_of_reference(reference, self.plays)
        happened = 0
        if reference.redeals > before["redeals"]:
            happened = REDEAL
        elif action < 52 and not reference.trick:
            happened = TRICK_END
            if reference.deal != before["deal"] or reference.phase == "over":
                happened |= DEAL_END
                self.deals += 1
            if reference.phase == "over":
                happened |= MATCH_END
        self._look(action, happened, before, hand, trick, trump)
        return happened

    def _look(
        self, action: int, happened: int, before: dict, hand: set[str], trick: list, trump: str | None
    ) -> None:
        seen, options, reference = self.seen, self.options, self.reference
        if happened & REDEAL:
            seen["redeal"] += 1
        elif before["phase"] == 0 and reference.phase == "playing" and len(reference.active) == 4:
            short = sum(reference.bids) < options["min_total_bid"] and options["max_redeals"] > 0
            seen["played as bid at the bound"] += short
        if happened & (REDEAL | DEAL_END) and not happened & MATCH_END:
            self._look_at_decks(before["deck"])
        if happened & DEAL_END:
            side = options["partnership"]
            for seat in reference.active if reference.phase == "over" else range(4):
                bid = before["bids"][seat] + (before["bids"][seat ^ 2] if side else 0)
                if before["active"] >> seat & 1 and bid >= (options["bonus_bid"] or 99):
                    kind = "bonus of a side" if side else "bonus"
                    seen[f"{kind} {'made' if reference.points[seat] >= 0 else 'failed'}"] += 1
        if happened & MATCH_END and len(reference.winners) > (2 if options["partnership"] else 1):
            extra = reference.deal == options["deals"]
            seen["extra deal shared" if extra else "tie shared by H8"] += 1
        if action > 51:
            return
        card = CARDS[action]
        if not trick:
            if trump is None:
                seen[f"first-led trump {card[1]}"] += 1
            elif before["trick_no"] == 0 and {held[1] for held in hand} == {"S"}:
                seen["only spades to lead"] += 1
        elif trump and all(held[1] != trick[0][1][1] for held in hand):
            highest = max((IDS[other] for _, other in trick if other[1] == trump), default=-1)
            if highest >= 0 and any(held[1] == trump for held in hand):
                if card[1] != trump:
                    seen["free discard instead of a low trump"] += 1
                elif IDS[card] < highest:
                    seen["not overtrumped"] += 1

    def _look_at_decks(self, before: int) -> None:
        reference, seen = self.reference, self.seen
        extra = reference.deal == self.options["deals"]
        if reference.decks_used > before + 1:
            seen["extra deal after misdeal" if extra else "misdeal"] += 1
        if extra:
            seen[f"extra deal of {len(reference.active)}"] += 1
            if self.options["partnership"]:
                seen["extra deal of two sides"] += 1

    def check(self, facts: dict) -> None:
        """That the engine's facts are the reference's."""
        if any(value != self.expected[name] for name, value in facts.items()):
            differing = [name for name, value in facts.items() if value != self.expected[name]]
            lines = [f"{name}: engine {facts[name]}, reference {self.expected[name]}" for name in differing]
            pytest.fail("\n".join([*lines, self.told, f"actions={self.actions}"]))


def play_scalar(key: str) -> Comparison:
    """One match, step by step in both; the key decides everything."""
    rng = random.Random(key)
    options = random_options(rng)
    seed, number = rng.getrandbits(63), rng.choice((0, 1, rng.getrandbits(63)))
    decks = [random_deck(rng) for _ in range(rng.choice((0, 1, 2, 5)))]
    dealer = rng.choice((None, 0, 1, 2, 3))
    match = Match(Rules(**options), seed=seed, number=number, dealer=dealer, decks=decks)
    if dealer is None:
        dealer = int(cut_for_dealer(np.uint64(seed), np.uint64(number)))
    told = f"{key=} {options=} {seed=} {number=} {dealer=} {decks=}"
    reference = ReferenceMatch(options, dealer, deck_source(seed, number, decks))
    comparison = Comparison(rng, options, reference, told)
    while True:
        comparison.check(facts_of_engine(match.record_array[0], match.legal_mask()))
        comparison.check(facts_of_match(match))
        if rng.random() < 0.05 or reference.phase == "over":
            before = match.record_array.tobytes()
            with pytest.raises(IllegalAction):
                match.apply(comparison.choose_illegal())
            assert match.record_array.tobytes() == before, told
        if reference.phase == "over":
            break
        action = comparison.choose()
        happened = match.apply(action)
        assert happened == comparison.apply(action), (told, comparison.actions)
    if decks and reference.decks_used > len(decks):
        comparison.seen["decks ran out"] += 1
    return comparison


def play_batch(key: str, count: int) -> list[Comparison]:
    """A batch of tables, all of them or a stretch of them advanced at a time, until all are over."""
    rng = random.Random(key)
    options = random_options(rng)
    seed = rng.getrandbits(63)
    numbers = [rng.getrandbits(rng.choice((8, 63))) for _ in range(count)]
    dealers = [rng.randint(-1, 3) for _ in range(count)]
    rules = rules_record(Rules(**options))
    tables = np.zeros(count, TABLE)
    masks = np.full((count, 65), 7, np.int8)
    for row in range(count):
        new_match(tables[row : row + 1], rules, NO_DECKS, seed, numbers[row], dealers[row], masks[row])
    words = np.array([legal_word(table, rules[0]) for table in tables], np.uint64)
    seats, rewards = np.zeros(count, np.int8), np.zeros((count, 4), np.float32)
    terminated = np.zeros((count, 4), np.bool_)
    deal_over, match_over = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    nothing = np.zeros((count, 0), np.int16)

    def advance_all(a: int, b: int, chosen: np.ndarray) -> int:
        """Rows a to b act unless one is illegal; how many are."""
        actions = np.full(count, 77)
        actions[a:b] = chosen
        illegal = count_illegal(a, b, words, actions)
        if not illegal:
            step_rows(
                a, b, tables, rules, nothing[0], POINTS, False, actions, words,
                nothing, masks, seats, rewards, terminated, deal_over, match_over,
            )  # fmt: skip
        return illegal

    comparisons = []
    for number, dealer in zip(numbers, dealers, strict=True):
        first = int(cut_for_dealer(np.uint64(seed), np.uint64(number))) if dealer < 0 else dealer
        told = f"{key=} {options=} {seed=} {number=} dealer={first}"
        reference = ReferenceMatch(options, first, deck_source(seed, number, []))
        comparisons.append(Comparison(rng, options, reference, told))
    for row, comparison in enumerate(comparisons):
        comparison.check(facts_of_engine(tables[row], masks[row]))
    while any(comparison.reference.phase != "over" for comparison in comparisons):
        a, b = 0, count
        if rng.random() < 0.4:
            a = rng.randrange(count)
            b = rng.randint(a + 1, count)
        chosen = comparisons[a:b]
        live = [comparison.reference.phase != "over" for comparison in chosen]
        actions = np.array(
            [one.choose() if alive else rng.randint(-9, 99) for one, alive in zip(chosen, live, strict=True)],
            np.int64,
        )
        before = tables[a:b].tobytes()
        if rng.random() < 0.1 and any(live):
            wrong = [row for row in range(b - a) if live[row] and rng.random() < 0.3] or [live.index(True)]
            bad = actions.copy()
            for row in wrong:
                bad[row] = chosen[row].choose_illegal()
            assert advance_all(a, b, bad) == len(wrong), key
            assert tables[a:b].tobytes() == before, key
        resting = [tables[a + row].tobytes() for row in range(b - a) if not live[row]]
        assert advance_all(a, b, actions) == 0, key
        assert [tables[a + row].tobytes() for row in range(b - a) if not live[row]] == resting, key
        for row, comparison in enumerate(chosen):
            expected = comparison.apply(int(actions[row])) if live[row] else 0
            told = (comparison.told, comparison.actions)
            assert deal_over[a + row] == (expected & DEAL_END != 0), told
            assert match_over[a + row] == (expected & MATCH_END != 0), told
            points = tables[a + row]["points"] if expected & DEAL_END else np.zeros(4)
            assert rewards[a + row].tolist() == (points / 10).astype(np.float32).tolist(), told
            assert seats[a + row] == tables[a + row]["seat"], told
            stays = [bool(int(tables[a + row]["active"]) >> seat & 1) for seat in range(4)]
            done = stays if expected & MATCH_END else [not stay for stay in stays]
            assert terminated[a + row].tolist() == (done if expected & DEAL_END else [False] * 4), told
            comparison.check(facts_of_engine(tables[a + row], masks[a + row]))
    return comparisons


def report(what: str, key: str, deals: int, seen: Counter[str], wanted: Sequence[str]) -> None:
    print(f"{what}, seed {key}: {deals} deals, {dict(sorted(seen.items()))}")
    if JIT:
        assert not [kind for kind in wanted if not seen[kind]]


@pytest.mark.parametrize("part", range(PARTS))
def test_a_match_is_the_reference_match_at_every_step(part, amount):
    deals, seen, matches = 0, Counter(), 0
    wanted = amount(600, nightly=20_000, no_jit=300)
    while deals < wanted:
        comparison = play_scalar(f"{SEED}/scalar/{part}/{matches}")
        deals += comparison.deals
        seen += comparison.seen
        matches += 1
    report("scalar", f"{SEED}/scalar/{part}", deals, seen, (*WANTED, "decks ran out"))


@pytest.mark.parametrize("part", range(PARTS))
def test_a_batch_of_tables_is_as_many_reference_matches_at_every_step(part, amount):
    deals, seen, batches = 0, Counter(), 0
    wanted, size = amount(600, nightly=10_000, no_jit=150), amount(16, nightly=64, no_jit=8)
    while deals < wanted:
        for comparison in play_batch(f"{SEED}/batch/{part}/{batches}", size):
            deals += comparison.deals
            seen += comparison.seen
        batches += 1
    # One set of rules a batch: too few of them for every kind in an ordinary run, and no decks to choose.
    wanted = [kind for kind in WANTED if kind != "only spades to lead"] if wanted > 5000 else ()
    report("batch", f"{SEED}/batch/{part}", deals, seen, wanted)
