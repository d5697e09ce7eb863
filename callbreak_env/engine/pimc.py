"""Perfect-information Monte Carlo: worlds are imagined, and every choice is played out in each of them.

Ginsberg (GIB: imperfect information in a computationally challenging game; JAIR 14, 2001) did so for bridge,
with a solver where we have playouts by a compiled policy. All choices see the same worlds and the same random
numbers, so that their differences are less noisy than they are. With ``draws`` above 1 the worlds are such
as explain what the other seats bid and played. What the rule-based policy thinks counts besides, as worlds
are few.

Of the table only that is read which the seat to act knows.
"""

from __future__ import annotations

import numpy as np

from callbreak_env.actions import BID_OFFSET
from callbreak_env.engine._jit import kernel, lowest_bit, merged
from callbreak_env.engine.beliefs import BELIEFS, belief_in, draw_believed
from callbreak_env.engine.dealing import open_bidding
from callbreak_env.engine.legality import BIDS_FLAG, legal_word
from callbreak_env.engine.play import step
from callbreak_env.engine.playouts import last_deal, play_out
from callbreak_env.engine.policies import RULE_BASED, decision_random, policy_action
from callbreak_env.engine.random import keyed, mix, next_state
from callbreak_env.engine.rule_based import (
    PARAMETERS,
    SHADE,
    expected_tricks,
    rule_based_action,
    unseen_cards,
    write_bid_values,
)
from callbreak_env.engine.state import (
    ABOVE,
    BIDDING,
    NO_DECKS,
    NONE,
    PLAYING,
    RULES,
    SUIT_OF,
    TABLE,
    Array,
    CardSet,
    Record,
)
from callbreak_env.engine.worlds import WORLDS, build_worlds, draw_world, unrank_world

_0, _1 = np.uint64(0), np.uint64(1)
_WORLDS_STREAM, _PLAYOUTS_STREAM = np.uint64(1), np.uint64(2)
BIDS_AROUND = 2
"""Bids that are tried: those at most so far from the rule-based one."""
MAX_CHOICES = 13
SURPRISE = 0.7
"""How far, in tricks, a bid usually is from the count of the hand: the less, the more the bids tell."""
STRANGE = 0.1
"""How likely another choice than the rule-based one is, to that: the less, the more the plays tell."""
TRUST_BID = 50.0
"""As many worlds the rule-based values of the bids weigh."""
TRUST_PLAY = 50.0
"""What the rule-based card has ahead of the others, in tenths over all worlds together."""


@kernel()
def write_choices(table: Record, rules: Record, word: CardSet, choices: Array) -> int:
    """The actions worth telling apart, into ``choices`` ([MAX_CHOICES] int64); returns how many.

    Bids: those near the rule-based one. Cards: of neighbours, between which nobody else's card lies, the
    lowest: they win the same tricks.
    """
    count = 0
    if word >= BIDS_FLAG:
        usual = rule_based_action(table, rules, word, PARAMETERS)
        legal = word & ~BIDS_FLAG
        while legal != _0:
            action = BID_OFFSET + lowest_bit(legal)
            legal &= legal - _1
            if abs(action - usual) <= BIDS_AROUND:
                choices[count] = action
                count += 1
        return count
    between = unseen_cards(table, table["hands"][int(table["seat"])])
    for seat in range(4):
        if int(table["trick"][seat]) >= 0:
            between |= _1 << np.uint64(table["trick"][seat])
    before = NONE
    while word != _0:
        card = lowest_bit(word)
        word &= word - _1
        if before < 0 or SUIT_OF[card] != SUIT_OF[before] or ABOVE[before] & ~ABOVE[card] & between != _0:
            choices[count] = card
            count += 1
        before = card
    return count


@kernel()
def choice_for(choices: Array, card: int) -> int:
    """Which of the choices ([n] int64, of ``write_choices``) stands for a legal card: the last up to it."""
    at = 0
    while at + 1 < len(choices) and choices[at + 1] <= card:
        at += 1
    return at


@kernel()
def bids_weight(table: Record, rules: Record, viewer: int, hands: Array) -> float:
    """How well a world ([4] uint64) explains the bids of the other seats: at most 1.

    A bid is taken as the rule-based count of the seat's 13 cards, less the usual shade, with a normal error.
    """
    error = 0.0
    for seat in range(4):
        bid = int(table["bids"][seat])
        if seat != viewer and bid > 0:
            hand = hands[seat] | table["played"][seat]
            usual = expected_tricks(table, rules, seat, hand, PARAMETERS) - PARAMETERS[SHADE]
            error += (bid - usual) ** 2
    return float(np.exp(-error / (2 * SURPRISE**2)))


@kernel()
def plays_weight(table: Record, rules: Record, viewer: int, hands: Array, again: Record) -> float:
    """How well a world ([4] uint64) explains the plays of the other seats: at most 1.

    The deal is played again from its first card (at the table ``again``, overwritten). Each time another
    seat had a choice and did not take what the rule-based policy would have, the world counts ``STRANGE``
    times as much.
    """
    again["hands"][:] = hands
    again["hands"][:] |= table["played"]
    again["active"] = table["active"]
    again["num_active"] = table["num_active"]
    again["dealer"] = table["dealer"]
    open_bidding(again, rules)
    again["bids"][:] = table["bids"]
    again["phase"] = PLAYING
    weight = 1.0
    for i in range(int(table["num_played"])):
        seat, card = int(table["log"][i]) >> 6, int(table["log"][i]) & 63
        if seat != viewer:
            word = legal_word(again, rules)
            if word & (word - _1) != _0 and rule_based_action(again, rules, word, PARAMETERS) != card:
                weight *= STRANGE
        step(again, rules, NO_DECKS, card)
    return weight


@merged()
def world_weight(table: Record, rules: Record, viewer: int, hands: Array, again: Record) -> float:
    """How well a world explains what the other seats did."""
    return bids_weight(table, rules, viewer, hands) * plays_weight(table, rules, viewer, hands, again)


@merged()
def imagine(
    table: Record,
    rules: Record,
    worlds: Record,
    draws: int,
    random: np.uint64,
    tried: Array,
    again: Record,
    hands: Array,
) -> None:
    """Draw a world into ``hands`` ([4] uint64): one of ``draws`` uniform ones, chosen by ``world_weight``.

    Args:
        table: viewed by ``worlds["viewer"]``.
        rules: of the table.
        worlds: WORLDS, built.
        draws: 1 or more.
        random: all that chance decides.
        tried: [4] uint64, overwritten.
        again: TABLE, overwritten.
        hands: written.
    """
    state = draw_world(worlds, random, hands)
    if draws == 1:
        return
    total = world_weight(table, rules, worlds["viewer"], hands, again)
    for _ in range(draws - 1):
        state = draw_world(worlds, state, tried)
        weight = world_weight(table, rules, worlds["viewer"], tried, again)
        total += weight
        state = next_state(state)
        if (mix(state) >> np.uint64(11)) * 2.0**-53 * total < weight:
            for seat in range(4):
                hands[seat] = tried[seat]


@kernel(nogil=True)
def pimc_sums(
    table: Record,
    rules: Record,
    settings: Record,
    first: int,
    end: int,
    worlds: Array,
    beliefs: Array,
    choices: Array,
    sums: Array,
) -> None:
    """Add what each choice brings its seat in the worlds from ``first`` to ``end``, in tenths.

    Args:
        table: where the seat acts.
        rules: of the table.
        settings: AGENT.
        first: of the worlds.
        end: of the worlds; at most the number of all where these are gone through (``goes_through``).
        worlds: [1] WORLDS, built for the seat to act. (An array: Numba frees a caller's local array after its
            last use, even where a record of it is still in use.)
        beliefs: [1] BELIEFS, built for the worlds, or [0]: then worlds are uniform, or ``draws`` says which.
        choices: [n] int64, actions.
        sums: [n] float64, added to.
    """
    seat = int(np.int64(table["seat"]))
    random = decision_random(table)
    believes, weighs = len(beliefs) > 0, settings["draws"] > 1
    all_of_them = goes_through(settings, worlds[0])
    imagined, played, again = np.empty(1, TABLE), np.empty(1, TABLE), np.empty(1, TABLE)
    imagined[0] = table
    again[0] = table
    last = np.empty(1, RULES)
    last[0] = rules
    last_deal(table, last)
    policies = np.full(4, settings["policy"])
    hands, tried = np.empty(4, np.uint64), np.empty(4, np.uint64)
    weights, brought = 0.0, np.zeros(len(choices))
    for number in range(first, end):
        weight = 1.0
        if all_of_them:
            unrank_world(worlds[0], number, hands)
            if believes:
                weight = belief_in(worlds[0], beliefs[0], hands)
            elif weighs:
                weight = world_weight(table, rules, seat, hands, again[0])
        else:
            drawn = keyed(random, np.uint64(number), _WORLDS_STREAM)
            if believes:
                draw_believed(worlds[0], beliefs[0], drawn, hands)
            else:
                imagine(table, rules, worlds[0], settings["draws"], drawn, tried, again[0], hands)
        weights += weight
        for other in range(4):
            imagined[0]["hands"][other] = hands[other]
        seed = keyed(random, np.uint64(number), _PLAYOUTS_STREAM)
        for i in range(len(choices)):
            played[0] = imagined[0]
            play_out(played[0], last[0], choices[i], policies, seed, np.uint64(number))
            brought[i] += weight * played[0]["points"][seat]
    for i in range(len(choices)):  # in all, the worlds count as many as they are, however likely each is
        sums[i] += brought[i] * (end - first) / max(weights, 1e-300)


@kernel()
def goes_through(settings: Record, worlds: Record) -> bool:
    """Whether all worlds are gone through instead of some being drawn."""
    return bool(worlds["count"] <= settings["enumerate"])


@kernel()
def best_choice(choices: Array, sums: Array) -> int:
    """The action of the highest sum, of equals the first, which is the lowest."""
    best = 0
    for i in range(1, len(choices)):
        if sums[i] > sums[best]:
            best = i
    return int(choices[best])


@merged()
def trust_rule_based(table: Record, rules: Record, word: CardSet, choices: Array, sums: Array) -> None:
    """Start the sums with what the rule-based policy thinks: some worlds more or less are noisy.

    Args:
        table: where the seat acts.
        rules: of the table.
        word: the ``legal_word``.
        choices: [n] int64, of ``write_choices``.
        sums: [n] float64, added to, in tenths.
    """
    if word >= BIDS_FLAG:
        values = np.empty(14)
        write_bid_values(table, rules, PARAMETERS, values)
        for i in range(len(choices)):
            sums[i] += TRUST_BID * values[choices[i] - BID_OFFSET]
        return
    usual = rule_based_action(table, rules, word, PARAMETERS)
    sums[choice_for(choices, usual)] += TRUST_PLAY


@merged()
def open_pimc(
    table: Record, rules: Record, settings: Record, worlds: Record, choices: Array, sums: Array
) -> int:
    """Begin a decision: its choices, its worlds (WORLDS), and the sums before any world.

    Returns:
        How many choices there are; with one alone nothing else has been written.
    """
    word = legal_word(table, rules)
    count = write_choices(table, rules, word, choices)
    if count > 1:
        build_worlds(table, int(table["seat"]), worlds)
        sums[:] = 0.0
        if settings["policy"] == RULE_BASED:
            trust_rule_based(table, rules, word, choices[:count], sums)
    return count


@kernel()
def write_values(word: CardSet, choices: Array, means: Array, values: Array) -> None:
    """Every legal action's value from those of the choices.

    Args:
        word: the ``legal_word``.
        choices: [n] int64, of ``write_choices``.
        means: [n] float64, what each brings.
        values: [NUM_ACTIONS] float32, written: of a card the value of its choice; NaN for what is not legal
            and for bids that are no choice.
    """
    values[:] = np.nan
    for i in range(len(choices)):
        values[choices[i]] = means[i]
    if word >= BIDS_FLAG:
        return
    while word != _0:
        card = lowest_bit(word)
        word &= word - _1
        values[card] = means[choice_for(choices, card)]


@kernel()
def worlds_wanted(table: Record, settings: Record) -> int:
    """How many worlds a decision is to see; 0: the policy decides by itself."""
    if int(table["phase"]) == BIDDING:
        return int(settings["bid_worlds"])
    return int(settings["play_worlds"]) if 13 - int(table["trick_no"]) <= settings["last"] else 0


@kernel()
def worlds_used(table: Record, settings: Record, worlds: Record) -> int:
    """How many worlds a decision sees: all, where these are few enough, or as many as are wanted."""
    if goes_through(settings, worlds):
        return int(worlds["count"])
    return int(worlds_wanted(table, settings))


@merged()
def pimc_values(settings: Record, table: Record, rules: Record, values: Array) -> None:
    """What each action brings the seat to act in the worlds alone, in points, into ``values``.

    As ``write_values``; NaN throughout where there is one choice, or no worlds are wanted.
    """
    values[:] = np.nan
    choices, sums = np.empty(MAX_CHOICES, np.int64), np.empty(MAX_CHOICES)
    worlds = np.empty(1, WORLDS)
    word = legal_word(table, rules)
    count = write_choices(table, rules, word, choices)
    if count < 2 or worlds_wanted(table, settings) == 0:
        return
    build_worlds(table, int(table["seat"]), worlds[0])
    amount = worlds_used(table, settings, worlds[0])
    sums[:] = 0.0
    pimc_sums(table, rules, settings, 0, amount, worlds, np.empty(0, BELIEFS), choices[:count], sums[:count])
    write_values(word, choices[:count], sums[:count] / (10 * amount), values)


@merged()
def pimc_action(settings: Record, table: Record, rules: Record) -> int:
    """What the search does for the seat to act, by its settings (AGENT)."""
    if worlds_wanted(table, settings) == 0:
        return int(policy_action(settings["policy"], table, rules))
    choices, sums = np.empty(MAX_CHOICES, np.int64), np.empty(MAX_CHOICES)
    worlds = np.empty(1, WORLDS)
    count = open_pimc(table, rules, settings, worlds[0], choices, sums)
    if count > 1:
        amount = worlds_used(table, settings, worlds[0])
        pimc_sums(
            table, rules, settings, 0, amount, worlds, np.empty(0, BELIEFS), choices[:count], sums[:count]
        )
    return best_choice(choices[:count], sums)
