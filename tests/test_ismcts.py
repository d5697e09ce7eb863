"""Information-set tree search: the shape of its tree, what it merges, and that it finds provable moves."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from agents import positions
from callbreak_env import PRESETS, Match, Rules
from callbreak_env.cards import cards_of, set_of
from callbreak_env.engine.ismcts import NODE, choice_word, grow_tree, ismcts_action, most_visited
from callbreak_env.engine.pimc import MAX_CHOICES
from callbreak_env.engine.policies import LOWEST, RULE_BASED, UNIFORM, policy_action
from callbreak_env.engine.state import NONE, Array, rules_record
from callbreak_env.engine.worlds import WORLDS, open_worlds
from callbreak_env.worlds import Worlds
from conftest import JIT
from learners import Amount
from positions import random_action
from tables import cards

ENDING = Rules(deals=1, tie="shared")


def looked_at(table: Any, rules: Rules) -> int:
    """The moves that the tree looks at, as a legal word."""
    return int(choice_word(table[0], rules_record(rules)[0], np.empty(MAX_CHOICES, np.int64)))


def search(table: Any, rules: Rules, passes: int, policy: int = LOWEST) -> tuple[Array, int, int]:
    """The tree that is grown for the seat to act, the nodes in use, and the root's moves."""
    record = rules_record(rules)[0]
    word = looked_at(table, rules)
    worlds, nodes = np.zeros(1, WORLDS), np.zeros(passes + 1, NODE)
    open_worlds(table, int(table["seat"][0]), worlds)
    used = grow_tree(table[0], record, np.uint64(word), worlds, 0.5, policy, nodes)
    return nodes, used, word


def children(nodes: Array, node: int) -> list[int]:
    found, child = [], int(nodes[node]["first"])
    while child != NONE:
        found.append(child)
        child = int(nodes[child]["next"])
    return found


def decide(match: Match, passes: int, policy: int = UNIFORM) -> int:
    return int(ismcts_action(match.record_array[0], match.rules_array[0], passes, 0.5, policy))


# The tree


@pytest.mark.parametrize("preset", ["standard", "partnership", "no_trump", "min_total", "bhoos"])
def test_every_pass_is_counted_once_on_its_way(preset: str, amount: Amount) -> None:
    rules, passes = PRESETS[preset], amount(200, no_jit=12)
    tables = positions(rules, amount(25, no_jit=3), seed=1)
    for k in range(len(tables)):
        nodes, used, word = search(tables[k : k + 1], rules, passes)
        assert used <= passes + 1
        assert int(nodes[0]["visits"]) == passes
        below = 0
        for node in range(used):
            there = children(nodes, node)
            below += len(there)
            actions = [int(nodes[child]["action"]) for child in there]
            assert len(set(actions)) == len(actions)
            for child in there:
                assert 1 <= nodes[child]["visits"] <= nodes[child]["available"] <= nodes[node]["visits"]
            # Passes that came here and did not go on: the one that made the node, and those that ended
            # here, by the end of the deal or by a redeal.
            stayed = int(nodes[node]["visits"]) - sum(int(nodes[child]["visits"]) for child in there)
            assert stayed == 0 if node == 0 else stayed >= bool(there)
        assert below == used - 1  # all hang together
        root = {int(nodes[child]["action"]) for child in children(nodes, 0)}
        flag = word >> 63
        moves = {index + 51 * flag for index in cards_of(word & ~(1 << 63))}
        assert root == moves if passes >= len(moves) else root <= moves
        # At the root a move is legal in every world: it could be taken in every pass since it was first.
        for child in children(nodes, 0):
            assert nodes[child]["available"] >= passes - len(moves) + 1


def last_trick_known() -> Match:
    """Before a last trick where the leader knows who holds which card."""
    for seed in range(1000):
        match, rng = Match(ENDING, seed=seed), random.Random(seed)
        for bid in (2, 3, 4, 5):
            match.apply(51 + bid)
        while match.trick_no < 12:
            match.apply(random_action(match, rng))
        assert match.seat is not None
        if Worlds(match.view(match.seat)).count == 1:
            return match
    raise AssertionError("no such deal in a thousand")


def test_points_are_those_of_who_moved() -> None:
    """The last trick is forced: each seat's total is its visits times what it makes there."""
    match = last_trick_known()
    end = match.clone()
    movers = []
    while not end.is_over:
        movers.append(end.seat)
        end.apply(end.legal_actions()[0])
    nodes, used, _ = search(match.record_array, ENDING, 10)
    assert used == 5
    node = 0
    for mover in movers:
        assert mover is not None
        (node,) = children(nodes, node)
        visits = int(nodes[node]["visits"])
        assert int(nodes[node]["total"]) == visits * end.points[mover]
    assert len({abs(points) for points in end.points}) > 1


def test_a_redeal_ends_the_way_down() -> None:
    """The bids add up to too little in any case (H2): the hands dealt then are not those of the tree."""
    match = Match(Rules(min_total_bid=30), seed=2)
    for _ in range(3):
        match.apply(53)
    nodes, used, _ = search(match.record_array, match.rules, 20)
    assert used == 1 + len(children(nodes, 0)) > 2
    assert [children(nodes, child) for child in children(nodes, 0)] == [[]] * (used - 1)


def test_most_visited_is_chosen_and_of_equals_the_lowest() -> None:
    nodes = np.zeros(4, NODE)
    nodes["first"], nodes["next"] = NONE, NONE
    nodes[0]["first"], nodes[3]["next"], nodes[2]["next"] = 3, 2, 1
    for visits, chosen in (((5, 4, 5), 7), ((5, 6, 5), 3), ((1, 1, 1), 3), ((0, 1, 2), 9)):
        for node, action in ((1, 7), (2, 3), (3, 9)):
            nodes[node]["action"], nodes[node]["visits"] = action, visits[node - 1]
        assert most_visited(nodes) == chosen


def test_one_move_is_taken_at_once() -> None:
    """Passes that would take for ever, were they made."""
    forced = Match(Rules(min_bid=5, max_bid=5), seed=1)
    assert decide(forced, 10**15) == 51 + 5
    for action in (56, 56, 56, 56):
        forced.apply(action)
    rng = random.Random(1)
    asked = 0
    while not forced.is_over and asked < 5:
        if len(forced.legal_actions()) == 1:
            asked += 1
            assert decide(forced, 10**15) == forced.legal_actions()[0]
        forced.apply(random_action(forced, rng))
    assert asked == 5


# What it looks at


def test_bids_are_near_the_rule_based_one() -> None:
    seen = set()
    for seed in range(20):
        match = Match("standard", seed=seed)
        bid = int(policy_action(RULE_BASED, match.record_array[0], match.rules_array[0])) - 51
        near = {b for b in range(bid - 2, bid + 3) if 2 <= b <= 13}
        word = looked_at(match.record_array, match.rules)
        assert word >> 63
        assert set(cards_of(word & ~(1 << 63))) == near
        seen.add(bid)
    assert len(seen) > 2


LEADS = {
    "neighbours": ("AKQ:S 54:H 2:C", "QS 4H 2C"),
    "apart": ("AQT:S 7:D", "TS QS AS 7D"),
    "two runs": ("AK87:D 3:C", "7D KD 3C"),
    "ace and two of suits that touch": ("A:C 2:D", "AC 2D"),
}


def leading(hand: str) -> tuple[Any, int]:
    """A table where the seat to lead holds these cards, and its seat."""
    match = Match(Rules(free_spade_lead=True), seed=0)
    for _ in range(4):
        match.apply(53)
    table = match.record_array.copy()
    seat = int(table["seat"][0])
    table["hands"][0, seat] = set_of(cards(hand))
    return table, seat


@pytest.mark.parametrize("case", LEADS)
def test_equal_cards_are_one(case: str) -> None:
    hand, expected = LEADS[case]
    table, _ = leading(hand)
    assert set(cards_of(looked_at(table, Rules(free_spade_lead=True)))) == set(cards(expected))


def test_cards_are_equal_once_those_between_are_gone_but_not_in_this_trick() -> None:
    rules = Rules(must_beat=False)
    table, seat = leading("2:D QT:H")
    assert set(cards_of(looked_at(table, rules))) == set(cards("2D TH QH"))
    (jack,) = cards("JH")
    table["played"][0, seat - 1] = 1 << jack
    assert set(cards_of(looked_at(table, rules))) == set(cards("2D TH"))
    table["trick"][0, seat - 1] = table["best_led"] = jack
    table["in_trick"] = 1
    assert set(cards_of(looked_at(table, rules))) == set(cards("TH QH"))


# What it finds


def outcomes(match: Match, seat: int) -> tuple[int, int]:
    """The fewest and the most points of a seat, over all ways to play on."""
    if match.is_over:
        return match.points[seat], match.points[seat]
    found = []
    for action in match.legal_actions():
        after = match.clone()
        after.apply(action)
        found.append(outcomes(after, seat))
    return min(low for low, _ in found), max(high for _, high in found)


def proven(match: Match) -> set[int]:
    """The moves that are best whatever the others hold and do: none of the rest ever makes as much."""
    seat = match.seat
    assert seat is not None
    legal = match.legal_actions()
    low, high = dict.fromkeys(legal, 10**6), dict.fromkeys(legal, -(10**6))
    for hands in Worlds(match.view(seat)).all():
        there = match.clone()
        there.record_array["hands"][0] = hands
        for action in legal:
            after = there.clone()
            after.apply(action)
            worst, best = outcomes(after, seat)
            low[action], high[action] = min(low[action], worst), max(high[action], best)
    for number in range(1, len(legal)):
        best_ones = sorted(legal, key=lambda action: -low[action])[:number]
        if min(low[a] for a in best_ones) > max(high[a] for a in legal if a not in best_ones):
            return set(best_ones)
    return set()


def endings(count: int, seed: int, most: int) -> Iterator[tuple[Match, set[int]]]:
    """So many positions of the last two tricks with few worlds where some moves are provably better."""
    rng = random.Random(seed)
    while count:
        match = Match(ENDING, seed=rng.randrange(10**6))
        while match.phase == "bidding":
            match.apply(51 + rng.choice((2, 3, 4)))
        for _ in range(44 + rng.randrange(3)):
            match.apply(random_action(match, rng))
        assert match.seat is not None
        if len(match.legal_actions()) > 1 and Worlds(match.view(match.seat)).count <= most:
            best = proven(match)
            if best:
                count -= 1
                yield match, best


def test_a_provably_better_move_is_found_the_surer_the_longer_it_searches(amount: Amount) -> None:
    found = {1: 0, 16: 0, 128: 0}
    total = amount(40, nightly=1500, no_jit=4)
    for match, best in endings(total, 5, most=amount(12, no_jit=3)):
        for passes in found:
            found[passes] += decide(match, passes) in best
    assert found[128] == total
    assert found[1] <= found[16]
    if JIT:
        assert found[1] < 0.9 * total


def test_passes_decide_by_the_table_s_key_alone(amount: Amount) -> None:
    rules = PRESETS["standard"]
    record = rules_record(rules)[0]
    passes = amount(24, no_jit=4)
    tables = positions(rules, amount(60, no_jit=12), seed=9)
    actions = [int(ismcts_action(table, record, passes, 0.5, UNIFORM)) for table in tables]
    again = [int(ismcts_action(table, record, passes, 0.5, UNIFORM)) for table in tables]
    assert actions == again
    for field in ("seed", "match", "deck"):
        other = tables.copy()
        other[field] += np.ones((), other[field].dtype)
        changed = [int(ismcts_action(table, record, passes, 0.5, UNIFORM)) for table in other]
        assert changed != actions, field
