"""Perfect-information Monte Carlo: its choices, how it weighs worlds, and its sums against plain Python."""

from __future__ import annotations

import itertools
import math
import random
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from agents import compiled, positions
from callbreak_env import PRESETS, Match, Rules, deck_from_hands, make_agent
from callbreak_env.agents.compiled import CompiledAgent
from callbreak_env.arena.figures import challenge
from callbreak_env.arena.formats import challenger
from callbreak_env.arena.play import play
from callbreak_env.cards import cards_of, suit_of
from callbreak_env.engine.beliefs import BELIEFS
from callbreak_env.engine.legality import legal_word
from callbreak_env.engine.pimc import (
    BIDS_AROUND,
    MAX_CHOICES,
    STRANGE,
    SURPRISE,
    TRUST_BID,
    TRUST_PLAY,
    bids_weight,
    imagine,
    open_pimc,
    pimc_sums,
    plays_weight,
    write_choices,
)
from callbreak_env.engine.policies import RULE_BASED, policy_action
from callbreak_env.engine.rule_based import PARAMETERS, SHADE, expected_tricks, write_bid_values
from callbreak_env.engine.state import TABLE, rules_record
from callbreak_env.engine.worlds import WORLDS, open_worlds
from callbreak_env.playouts import playouts
from callbreak_env.worlds import Worlds
from conftest import JIT
from learners import Amount
from positions import extra_deal_opening

Hands = npt.NDArray[np.uint64]
ENDING = Rules(deals=1, tie="shared")


def teacher(match: Match) -> int:
    return int(policy_action(RULE_BASED, match.record_array[0], match.rules_array[0]))


def choices_at(match: Match) -> list[int]:
    """The actions that the search tells apart."""
    table, rules = match.record_array[0], match.rules_array[0]
    choices = np.empty(MAX_CHOICES, np.int64)
    return choices[: write_choices(table, rules, np.uint64(legal_word(table, rules)), choices)].tolist()


def until(match: Match, plays: int, rng: random.Random, teach: float) -> Match:
    """The match played on to so many cards of its deal; by the rule-based policy so often, else at random."""
    while match.phase == "bidding" or len(match.plays) < plays:
        usual = match.phase == "bidding" or rng.random() < teach
        match.apply(teacher(match) if usual else rng.choice(match.legal_actions()))
    return match


def endings(
    count: int, seed: int, most: int, rules: Rules = ENDING, tricks: int = 3, teach: float = 0.8
) -> Iterator[Match]:
    """So many positions of the last tricks with a choice and at most ``most`` worlds, but more than one."""
    rng = random.Random(seed)
    while count:
        match = Match(rules, seed=rng.randrange(10**6))
        until(match, 52 - 4 * tricks + rng.randrange(4), rng, teach)
        assert match.seat is not None
        if len(match.legal_actions()) > 1 and 1 < Worlds(match.view(match.seat)).count <= most:
            count -= 1
            yield match


def in_world(match: Match, hands: Hands) -> Match:
    there = match.clone()
    there.record_array["hands"][0] = hands
    return there


# Choices


@pytest.mark.parametrize("preset", ["standard", "bhoos", "bonus", "partnership", "no_trump"])
def test_bids_tried_are_those_near_the_rule_based_one(preset: str, amount: Amount) -> None:
    rules = PRESETS[preset]
    for seed in range(amount(40, no_jit=6)):
        match, rng = Match(rules, seed=seed), random.Random(seed)
        for _ in range(rng.randrange(4)):
            match.apply(rng.choice(match.legal_actions()))
        near = range(teacher(match) - BIDS_AROUND, teacher(match) + BIDS_AROUND + 1)
        assert choices_at(match) == [action for action in match.legal_actions() if action in near]


def groups_of(match: Match) -> list[list[int]]:
    """The legal cards, those together between which there is no card of another seat's, by plain Python."""
    assert match.seat is not None
    trick = {card for _, card in match.plays[len(match.plays) - len(match.plays) % 4 :]}
    seen = {card for _, card in match.plays} - trick | set(match.hands[match.seat])
    groups: list[list[int]] = []
    for card in match.legal_actions():
        last = groups[-1][-1] if groups else -1
        if groups and suit_of(last) == suit_of(card) and set(range(last + 1, card)) <= seen:
            groups[-1].append(card)
        else:
            groups.append([card])
    return groups


@pytest.mark.parametrize("preset", ["standard", "bhoos", "no_trump"])
def test_cards_tried_are_the_lowest_of_their_neighbours(preset: str, amount: Amount) -> None:
    sizes: Counter[int] = Counter()
    for seed in range(amount(15, no_jit=2)):
        match, rng = Match(PRESETS[preset], seed=seed), random.Random(seed)
        until(match, 0, rng, 0.5)
        while match.deal == 0:
            groups = groups_of(match)
            sizes.update(map(len, groups))
            assert choices_at(match) == [group[0] for group in groups]
            match.apply(rng.choice(match.legal_actions()))
    assert sum(sizes[n] for n in (2, 3, 4, 5)) >= (50 if JIT else 2)


def results_of(match: Match, action: int) -> Counter[tuple[int, ...]]:
    """What comes of an action, over all ways to play on: points by seat, each with how often."""
    after = match.clone()
    after.apply(action)
    if after.is_over:
        return Counter([tuple(after.points)])
    return sum((results_of(after, each) for each in after.legal_actions()), Counter())


def test_merged_cards_have_equal_results_in_every_world(amount: Amount) -> None:
    """And some of those told apart have not: over all ways to play on, to the last card."""
    merged = differ = 0
    for match in endings(amount(40, nightly=1000, no_jit=2), 3, most=amount(12, no_jit=3), tricks=2):
        groups = groups_of(match)
        assert [group[0] for group in groups] == choices_at(match)
        everywhere = {}
        assert match.seat is not None
        worlds = [in_world(match, hands) for hands in Worlds(match.view(match.seat)).all()]
        for card in match.legal_actions():
            everywhere[card] = [results_of(world, card) for world in worlds]
        for group in groups:
            merged += len(group) - 1
            assert all(everywhere[card] == everywhere[group[0]] for card in group)
        for one, other in itertools.combinations(choices_at(match), 2):
            differ += everywhere[one] != everywhere[other]
    if JIT:
        assert merged >= 5
        assert differ >= 3


# How well worlds explain


def bids_by_hand(match: Match, viewer: int, hands: Any) -> float:
    """The product of a normal chance for each bid, about the count of the seat's 13 cards less the shade."""
    table, rules = match.record_array[0], match.rules_array[0]
    chance = 1.0
    for seat, made in enumerate(match.bids):
        if made and seat != viewer:
            whole = np.uint64(hands[seat]) | table["played"][seat]
            usual = expected_tricks(table, rules, seat, whole, PARAMETERS) - PARAMETERS[SHADE]
            chance *= math.exp(-(((made - usual) / SURPRISE) ** 2) / 2)
    return chance


def plays_by_hand(match: Match, viewer: int, hands: Any) -> float:
    """The deal once more through ``Match``: a factor for each choice that the policy would not have made."""
    table = match.record_array[0]
    whole = [cards_of(int(hands[seat]) | int(table["played"][seat])) for seat in range(4)]
    dealt = [hand if seat in match.active else None for seat, hand in enumerate(whole)]
    if len(match.active) < 4:  # an extra deal: from its opening on, with these hands
        again = opening_of(match)
        again.record_array["hands"][0] = [sum(1 << card for card in hand) for hand in whole]
    else:
        again = Match(match.rules, seed=0, dealer=match.dealer, decks=[deck_from_hands(dealt, match.dealer)])
    while again.phase == "bidding":
        assert again.seat is not None
        again.apply(51 + (match.bids[again.seat] or 0))
    weight = 1.0
    for seat, card in match.plays:
        if seat != viewer and len(again.legal_actions()) > 1 and teacher(again) != card:
            weight *= STRANGE
        again.apply(card)
    return weight


def opening_of(match: Match) -> Match:
    return extra_deal_opening(match.active)[0]


def weights(match: Match, viewer: int, hands: Any) -> tuple[float, float]:
    """``bids_weight`` and ``plays_weight``."""
    table, rules, again = match.record_array[0], match.rules_array[0], match.record_array.copy()
    held = np.array(hands, np.uint64)
    bids = float(bids_weight(table, rules, viewer, held))
    return bids, float(plays_weight(table, rules, viewer, held, again[0]))


@pytest.mark.parametrize("preset", ["standard", "bhoos", "bonus", "partnership", "no_trump"])
def test_weights_are_those_of_the_deal_played_again(preset: str, amount: Amount) -> None:
    found = set()
    for seed in range(amount(6, no_jit=1)):
        rng = random.Random(seed)
        match = until(Match(PRESETS[preset], seed=seed), rng.randrange(1, amount(44, no_jit=20)), rng, 0.8)
        assert match.seat is not None
        for hands in Worlds(match.view(match.seat)).sample(amount(15, no_jit=2), seed):
            bids, plays = weights(match, match.seat, hands)
            assert bids == pytest.approx(bids_by_hand(match, match.seat, hands), rel=1e-9)
            assert plays == pytest.approx(plays_by_hand(match, match.seat, hands), rel=1e-9)
            found.add(round(math.log10(plays)))
    if JIT:
        assert len(found) > 3


@pytest.mark.parametrize("tied", [(0, 2), (1, 2, 3)])
def test_R15_weights_of_an_extra_deal(tied: tuple[int, ...], amount: Amount) -> None:
    match, _ = extra_deal_opening(tied)
    rng = random.Random(1)
    until(match, amount(7 * len(tied), no_jit=2 * len(tied)) + 1, rng, 0.7)
    assert match.seat is not None
    for hands in Worlds(match.view(match.seat)).sample(amount(30, no_jit=2), 3):
        bids, plays = weights(match, match.seat, hands)
        assert bids == pytest.approx(bids_by_hand(match, match.seat, hands), rel=1e-9)
        assert plays == pytest.approx(plays_by_hand(match, match.seat, hands), rel=1e-9)


def test_only_bids_of_others_count(amount: Amount) -> None:
    """Before the first bid all worlds are alike; then the better a hand fits a bid the more it weighs."""
    match = Match("standard", seed=3)
    assert match.seat is not None
    held = match.record_array["hands"][0].tolist()
    assert weights(match, match.seat, held)[0] == 1.0
    first = match.seat
    match.apply(51 + 9)
    assert weights(match, first, held)[0] == 1.0  # its own
    viewer = match.seat
    by_count = []
    for hands in Worlds(match.view(viewer)).sample(amount(60, no_jit=10), 1):
        table, rules = match.record_array[0], match.rules_array[0]
        count = float(expected_tricks(table, rules, first, hands[first], PARAMETERS))
        if count < 9:
            by_count.append((count, weights(match, viewer, hands)[0]))
    assert len(by_count) > 5
    assert [w for _, w in sorted(by_count)] == sorted(w for _, w in by_count)


@pytest.mark.parametrize("preset", ["standard", "bhoos"])
def test_the_true_world_of_rule_based_seats_explains_all(preset: str, amount: Amount) -> None:
    """Whatever the viewer itself plays; wrong worlds explain less; a strange card of another seat costs."""
    strange = 0
    wrong: list[float] = []
    right: list[float] = []
    for seed in range(amount(15, no_jit=1)):
        match, rng = Match(PRESETS[preset], seed=seed), random.Random(seed)
        viewer = seed % 4
        expected = 1.0
        for _ in range(4):
            match.apply(teacher(match))
        for _ in range(amount(30, no_jit=12)):
            assert match.seat is not None
            legal = match.legal_actions()
            card = teacher(match)
            if match.seat == viewer:
                card = rng.choice(legal)
            elif rng.random() < 0.1 and len(legal) > 1:
                card = rng.choice([each for each in legal if each != card])
                expected *= STRANGE
                strange += 1
            match.apply(card)
        bids, plays = weights(match, viewer, match.record_array["hands"][0])
        assert plays == pytest.approx(expected, rel=1e-9)
        right.append(bids * plays / expected)
        for hands in Worlds(match.view(viewer)).sample(amount(20, no_jit=2), seed):
            bids, plays = weights(match, viewer, hands)
            wrong.append(bids * plays / expected)
    if JIT:
        assert strange > 20
        assert np.mean(right) > 10 * np.mean(wrong)


def built(match: Match) -> tuple[Worlds, Any]:
    assert match.seat is not None
    worlds = np.zeros(1, WORLDS)
    open_worlds(match.record_array, match.seat, worlds)
    return Worlds(match.view(match.seat)), worlds


def imagined(match: Match, draws: int, count: int) -> Hands:
    """Worlds drawn for the seat to act, under the numbers 0 on."""
    _, worlds = built(match)
    again, tried, hands = np.empty(1, TABLE), np.empty(4, np.uint64), np.empty((count, 4), np.uint64)
    again[0] = match.record_array[0]
    for k in range(count):
        key = np.uint64(k * 0x1234567)
        imagine(match.record_array[0], match.rules_array[0], worlds[0], draws, key, tried, again[0], hands[k])
    return hands


@pytest.mark.parametrize("draws", [1, 2, 7])
def test_imagined_worlds_are_worlds_of_the_view(draws: int, amount: Amount) -> None:
    rng = random.Random(draws)
    for seed in range(amount(20, no_jit=2)):
        match = until(Match("standard", seed=seed), rng.randrange(1, amount(50, no_jit=12)), rng, 0.7)
        worlds, _ = built(match)
        found = imagined(match, draws, amount(30, no_jit=2))
        worlds.tables(found)  # an error for one that is none
        assert (found != 0).any()


def test_worlds_are_chosen_by_their_weights(amount: Amount) -> None:
    """Of two drawn, each by its share of their weights; of many, nearly by its share of all."""
    count = amount(4000, no_jit=250)
    seen = 0
    for match in endings(amount(20, no_jit=5), 8, most=12, teach=0.5):
        worlds, _ = built(match)
        assert match.seat is not None
        everything = worlds.all()
        weight = np.array([math.prod(weights(match, match.seat, hands)) for hands in everything])
        if weight.max() < 3 * weight.min() or seen == amount(4, no_jit=1):
            continue
        seen += 1
        number = {hands.tobytes(): k for k, hands in enumerate(everything)}
        n = len(everything)
        for draws in (1, 2, 40)[: amount(3, no_jit=2)]:
            drawn = Counter(number[hands.tobytes()] for hands in imagined(match, draws, count))
            shares = weight[:, None] / (weight[:, None] + weight[None, :])
            exact = {1: np.full(n, 1 / n), 2: 2 * shares.sum(axis=1) / n**2, 40: weight / weight.sum()}
            for k in range(n):
                slack = 0.03 if draws == 40 else 0.001  # forty are not yet all
                error = 4.5 * math.sqrt(exact[draws][k] * (1 - exact[draws][k]) / count)
                assert abs(drawn[k] / count - exact[draws][k]) < slack + error
    assert seen


# Decisions


def agent(draws: int = 1, policy: str = "rule_based", through: int = 1000, **more: Any) -> CompiledAgent:
    options = ",".join(f"{key}={value}" for key, value in more.items())
    text = f"pimc:draws={draws},policy={policy},enumerate={through}"
    return compiled(f"{text},{options}" if options else text)


def sums_of(match: Match, searcher: CompiledAgent, parts: int = 1) -> tuple[list[int], list[float]]:
    """The choices of the seat to act, and their sums over all worlds, in so many parts."""
    rules = match.rules_array
    choices, sums = np.empty(MAX_CHOICES, np.int64), np.empty(MAX_CHOICES)
    worlds = np.empty(1, WORLDS)
    table, settings = match.record_array[0], searcher.record_array[0]
    count = open_pimc(table, rules[0], settings, worlds[0], choices, sums)
    ends = np.linspace(0, int(worlds["count"][0]), parts + 1).astype(int).tolist()
    for first, end in itertools.pairwise(ends):
        pimc_sums(
            table, rules[0], settings, first, end, worlds, np.empty(0, BELIEFS), choices[:count], sums[:count]
        )
    return choices[:count].tolist(), sums[:count].tolist()


def sums_by_hand(match: Match, draws: int, policy: str) -> dict[int, float]:
    """The same in plain Python: every world, weighed, is played out after every choice."""
    seat = match.seat
    assert seat is not None
    worlds = Worlds(match.view(seat))
    everything = worlds.all()
    weight = [1.0] * len(everything)
    if draws > 1:
        weight = [bids_by_hand(match, seat, h) * plays_by_hand(match, seat, h) for h in everything]
    tables, found = worlds.tables(everything), {}
    usual = teacher(match)
    for group in groups_of(match):
        points = playouts(tables, policies=policy, seed=1, actions=group[0], rules=match.rules)[:, 0, seat]
        mean = sum(w * int(p) for w, p in zip(weight, points, strict=True)) / sum(weight)
        found[group[0]] = mean * len(everything)
        if policy == "rule_based" and usual in group:
            found[group[0]] += TRUST_PLAY
    return found


@pytest.mark.parametrize("policy", ["rule_based", "lowest"])
@pytest.mark.parametrize("draws", [1, 20])
@pytest.mark.parametrize("preset", ["single_deal", "bhoos", "no_trump"])
def test_all_worlds_gone_through_are_means_in_plain_python(
    preset: str, draws: int, policy: str, amount: Amount
) -> None:
    """Neither of these policies draws anything, so that sums are exact but for rounding."""
    searcher, others = agent(draws, policy), 0
    for match in endings(
        amount(12, nightly=300, no_jit=1), 4, most=amount(60, no_jit=6), rules=PRESETS[preset]
    ):
        if len(groups_of(match)) == 1:  # nothing is summed up then
            continue
        expected = sums_by_hand(match, draws, policy)
        choices, sums = sums_of(match, searcher)
        assert choices == list(expected)
        assert sums == pytest.approx(list(expected.values()), rel=1e-6, abs=1e-6)
        best = max(sums)
        chosen = int(searcher.act_tables(match.record_array, match.rules)[0])
        assert chosen in [choice for choice, each in expected.items() if each > best - 1e-6]
        others += chosen not in [group[0] for group in groups_of(match) if teacher(match) in group]
    if JIT and policy == "lowest":
        assert others > 0


def test_equal_choices_leave_the_lowest() -> None:
    """Without a head start, where nothing depends on the card."""
    searcher = agent(policy="lowest")
    seen = 0
    for match in endings(20 if JIT else 2, 11, most=30 if JIT else 4, tricks=2):
        sums = sums_by_hand(match, 1, "lowest")
        if len(set(sums.values())) == 1:
            seen += 1
            assert searcher.act_tables(match.record_array, match.rules).tolist() == [min(sums)]
    assert seen > 0 or not JIT


def test_the_head_start_is_what_the_rule_based_policy_thinks() -> None:
    """A bid's value as so many worlds, the card's own tenths; with other playouts there is none."""
    match = Match("standard", seed=6)
    for _ in range(6):
        choices, sums = np.empty(MAX_CHOICES, np.int64), np.empty(MAX_CHOICES)
        worlds = np.empty(1, WORLDS)
        for policy in ("rule_based", "uniform", "low_bid", "lowest"):
            searcher = agent(policy=policy)
            table, record = match.record_array[0], match.rules_array[0]
            count = open_pimc(table, record, searcher.record_array[0], worlds[0], choices, sums)
            expected = [0.0] * count
            if policy == "rule_based" and match.phase == "bidding":
                values = np.empty(14)
                write_bid_values(match.record_array[0], match.rules_array[0], PARAMETERS, values)
                expected = [TRUST_BID * values[choice - 51] for choice in choices[:count]]
            elif policy == "rule_based" and count > 1:
                expected = [TRUST_PLAY if teacher(match) in group else 0.0 for group in groups_of(match)]
            if count > 1:
                assert sums[:count].tolist() == pytest.approx(expected)
        match.apply(teacher(match))


@pytest.mark.parametrize("policy", ["uniform", "low_bid", "rule_based", "lowest"])
@pytest.mark.parametrize("draws", [1, 3])
def test_decisions_are_of_the_choices_under_any_playouts(policy: str, draws: int, amount: Amount) -> None:
    rules = PRESETS["standard"]
    searcher = agent(draws, policy, through=0, bid=2, play=2)
    tables = positions(rules, amount(40, no_jit=1), seed=12)[: amount(50, no_jit=1)]
    actions = searcher.act_tables(tables, rules)
    for k, table in enumerate(tables):
        choices = np.empty(MAX_CHOICES, np.int64)
        record = rules_record(rules)[0]
        count = write_choices(table, record, np.uint64(legal_word(table, record)), choices)
        assert int(actions[k]) in choices[:count]


@pytest.mark.parametrize("policy", ["rule_based", "lowest", "low_bid"])
def test_zero_worlds_leave_it_to_the_policy(policy: str, amount: Amount) -> None:
    rules = PRESETS["bhoos"]
    tables = positions(rules, amount(100, no_jit=6), seed=13)
    by_policy = compiled(policy).act_tables(tables, rules)
    bidding = tables["phase"] == 0
    bids = compiled(f"pimc:bid=0,play=1,policy={policy}").act_tables(tables[bidding], rules)
    assert bids.tolist() == by_policy[bidding].tolist()
    played = compiled(f"pimc:bid=1,play=0,policy={policy}").act_tables(tables[~bidding], rules)
    assert played.tolist() == by_policy[~bidding].tolist()
    neither = compiled(f"pimc:bid=0,play=0,policy={policy}").act_tables(tables, rules)
    assert neither.tolist() == by_policy.tolist()


# Time


def asked(name: str, match: Match, key: int) -> int:
    by_name = make_agent(name)
    assert match.seat is not None
    by_name.reset(match.seat, match.rules, np.random.default_rng(key))
    return by_name.act(match.view(match.seat))


def test_a_budget_that_is_never_spent_changes_nothing(amount: Amount) -> None:
    """The worlds are tried in parts then, each by its number."""
    rng, size = random.Random(5), amount(11, no_jit=2)
    plain = f"pimc:bid={size},play={size},draws={amount(3, no_jit=1)},enumerate=0"
    for seed in range(amount(30, no_jit=2)):
        match = Match("standard", seed=seed)
        match.apply(teacher(match))
        if seed % 2:
            until(match, rng.randrange(40), rng, 0.8)
        assert asked(plain + ",ms=1000000", match, seed) == asked(plain, match, seed)
        assert asked(plain + ",ms=1e6", match, seed) == asked(plain, match, seed)


def test_a_budget_is_kept(amount: Amount) -> None:
    """With worlds that would take minutes. Without any time the head start alone decides."""
    rng = random.Random(6)
    many = "pimc:bid=1000000,play=1000000,enumerate=0"
    asked(many + ",ms=1", Match("standard", seed=0), 0)  # compiles
    for seed in range(amount(6, no_jit=2)):
        match = Match("standard", seed=seed)
        if seed % 2:
            until(match, rng.randrange(amount(30, no_jit=5)), rng, 0.8)
        start = time.perf_counter()
        assert asked(many + ",ms=30", match, seed) in match.legal_actions()
        spent = time.perf_counter() - start
        assert spent < (1.0 if JIT else 20.0)
        start = time.perf_counter()
        usual = teacher(match)
        groups = groups_of(match) if match.phase == "playing" else [[usual]]
        assert asked(many + ",ms=0.000001", match, seed) in [group[0] for group in groups if usual in group]


@pytest.mark.parametrize(
    "text",
    [
        "pimc:ms=0",
        "pimc:ms=-5",
        "pimc:ms=nan",
        "pimc:ms=inf",
        "pimc:ms=true",
        "pimc:ms=soon",
        "pimc:bid=-1",
        "pimc:bid=2.0",
        "pimc:bid=few",
        "pimc:draws=0",
        "pimc:draws=-2",
        "pimc:draws=1.5",
        "pimc_lite:enumerate=-1",
        "pimc_lite:enumerate=true",
        "pimc_strong:play=nan",
        "pimc_strong:policy=3",
        "pimc_strong:policy=ismcts",
    ],
)
def test_bad_options_are_refused_by_agent_and_option(text: str) -> None:
    option = text.partition(":")[2].partition("=")[0]
    with pytest.raises(ValueError, match=rf"^agent '{text}': (?s:.*){option}"):
        make_agent(text)


@pytest.mark.parametrize("text", ["pimc:ms=10,bid=0", "pimc:ms=10,play=0", "pimc_lite:ms=10,bid=0,play=0"])
def test_a_budget_needs_worlds(text: str) -> None:
    with pytest.raises(ValueError, match=rf"^agent '{text}': with ms, bid and play must be at least 1"):
        make_agent(text)


def test_settings_are_what_the_names_say() -> None:
    """Options take the place of the name's own; all worlds are gone through up to twice those for a card."""
    expected = {
        "pimc_lite": (20, 20, 1, 40),
        "pimc": (50, 20, 20, 40),
        "pimc_strong": (200, 100, 20, 200),
        "pimc:bid=7": (7, 20, 20, 40),
        "pimc:play=9": (50, 9, 20, 18),
        "pimc:draws=1,enumerate=5": (50, 20, 1, 5),
        "pimc_lite:play=0,enumerate=0": (20, 0, 1, 0),
    }
    for text, numbers in expected.items():
        record = compiled(text).record_array[0]
        fields = ("bid_worlds", "play_worlds", "draws", "enumerate")
        assert tuple(int(record[field]) for field in fields) == numbers
        assert record["policy"] == RULE_BASED


# In bulk


def test_thousands_of_decisions_are_the_same_by_two_threads_and_one(
    amount: Amount, few_rows_a_thread: None
) -> None:
    """Memory that is freed too early would show here: arrays of one decision, read during it."""
    rules = PRESETS["standard"]
    searcher = agent(2, through=4, bid=1, play=1)
    tables = np.repeat(positions(rules, amount(60, no_jit=3), seed=14), amount(50, nightly=1000, no_jit=1))
    tables["match"] = np.arange(len(tables))
    one = searcher.act_tables(tables, rules)
    two = searcher.act_tables(tables, rules, threads=2)
    assert one.tolist() == two.tolist()
    some = range(0, len(tables), 37)
    assert [int(searcher.act_tables(tables[k : k + 1], rules)[0]) for k in some] == one[some].tolist()
    if JIT:
        assert len(tables) > 3000
        assert len(set(one.tolist())) > 20


@pytest.mark.nightly
@pytest.mark.parametrize("preset", ["standard", "bhoos"])
def test_it_gains_over_the_rule_based_policy(preset: str) -> None:
    results = play(challenger("pimc", "rule_based"), rules=preset, seed=78, deals=500, threads=None)
    gain = challenge(results, "pimc", "rule_based").gain
    assert gain is not None
    assert gain.low > 0
