"""The small kernels that all others stand on: sets of bits, and the random numbers of policies."""

from __future__ import annotations

import random

import numpy as np
import pytest

from callbreak_env import Match, Rules
from callbreak_env.engine._jit import lowest_bit, nth_bit, popcount, store_bits
from callbreak_env.engine.policies import UNIFORM, decision_random, policy_action, uniform_choice
from callbreak_env.engine.random import keyed, mix, next_state
from callbreak_env.engine.state import rules_record

EDGES = [0, 1, 2, 3, 1 << 31, 1 << 32, 1 << 63, (1 << 52) - 1, (1 << 64) - 1]


def words(count: int) -> list[int]:
    """The edges, and random words, sparse ones too."""
    rng = random.Random(11)
    return EDGES + [rng.getrandbits(64) & rng.choice((-1, rng.getrandbits(64))) for _ in range(count)]


def test_bits_are_counted_and_found() -> None:
    for word in words(200):
        bits = [i for i in range(64) if word >> i & 1]
        assert popcount(np.uint64(word)) == len(bits)
        if bits:
            assert lowest_bit(np.uint64(word)) == bits[0]
        assert [nth_bit(np.uint64(word), n) for n in range(len(bits))] == bits


@pytest.mark.parametrize("dtype", ["int8", "float32", "int16"])
def test_bits_are_spread_over_slots_and_nothing_else_is_touched(dtype: str) -> None:
    for k, word in enumerate(words(40)):
        at = k % 9
        out = np.full(80, 7, dtype)
        store_bits(out, at, np.uint64(word))
        assert out[at : at + 64].tolist() == [word >> i & 1 for i in range(64)]
        assert (out[:at] == 7).all()
        assert (out[at + 64 :] == 7).all()


def test_splitmix64_gives_the_published_numbers() -> None:
    """The first outputs from seed 1234567, as printed with several public implementations."""
    state, found = np.uint64(1234567), []
    for _ in range(5):
        state = np.uint64(next_state(state))
        found.append(int(mix(state)))
    assert found == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_keyed_numbers_differ_in_every_key() -> None:
    keys = [(s, m, c) for s in (0, 1, 2, 2**63 - 1) for m in range(40) for c in range(40)]
    found = [int(keyed(np.uint64(s), np.uint64(m), np.uint64(c))) for s, m, c in keys]
    assert len(set(found)) == len(keys)
    ones = np.mean([number.bit_count() for number in found])
    assert abs(ones - 32) < 5 * 4 / np.sqrt(len(keys))


def test_every_decision_of_a_match_has_its_own_number() -> None:
    """H2 redeals and several deals included: the deck counts them."""
    match, rng = Match(Rules(deals=3, min_total_bid=30, max_redeals=3), seed=3), random.Random(1)
    found = []
    while not match.is_over:
        found.append(int(decision_random(match.record_array[0])))
        match.apply(rng.choice(match.legal_actions()))
    assert match.record_array["deck"][0] > 3
    assert len(set(found)) == len(found) > 3 * 56


def test_a_choice_covers_all_actions_and_no_others() -> None:
    for legal in ([0], [51], [3, 17, 50], list(range(13))):
        word = np.uint64(sum(1 << card for card in legal))
        ends = [uniform_choice(word, np.uint64(number)) for number in (0, 2**64 - 1)]
        assert ends == [legal[0], legal[-1]]
    bids = np.uint64(1 << 63 | sum(1 << bid for bid in range(2, 14)))
    assert [uniform_choice(bids, np.uint64(number)) for number in (0, 2**64 - 1)] == [53, 64]


def test_a_policy_depends_on_what_its_seat_knows_and_its_draw_alone() -> None:
    """The hidden hands exchanged, the uniform policy acts the same."""
    match, rng = Match(seed=5), random.Random(5)
    record = rules_record(Rules())[0]
    while not match.is_over:
        tables = match.record_array.copy()
        others = [seat for seat in range(4) if seat != match.seat]
        hands = tables["hands"][0].copy()
        tables["hands"][0][others] = hands[others[1:] + others[:1]]
        assert policy_action(UNIFORM, tables[0], record) == policy_action(
            UNIFORM, match.record_array[0], record
        )
        match.apply(rng.choice(match.legal_actions()))
