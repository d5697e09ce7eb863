"""Information-set tree search: one tree over what all can see, each pass through it in another world.

Single-observer ISMCTS (Cowling, Powley, Whitehouse: Information set Monte Carlo tree search; IEEE TCIAIG 4,
2012) for four seats that each want their own points. Bids and cards are seen by all, so a node is what has
happened since the root. A pass draws a world, goes down the tree by the moves that are legal in it, adds one
node, has a compiled policy play the deal out, and credits each seat on the way with its own points.
"""

from __future__ import annotations

import numpy as np

from callbreak_env.actions import BID_OFFSET
from callbreak_env.engine._jit import kernel, merged, popcount
from callbreak_env.engine.legality import BIDS_FLAG, legal_word, word_allows
from callbreak_env.engine.pimc import MAX_CHOICES, write_choices
from callbreak_env.engine.play import step
from callbreak_env.engine.playouts import last_deal, play_out
from callbreak_env.engine.policies import (
    decision_random,
    lowest_action,
    uniform_choice,
)
from callbreak_env.engine.random import keyed, mix, next_state
from callbreak_env.engine.state import (
    DEAL_END,
    NO_DECKS,
    NONE,
    REDEAL,
    RULES,
    TABLE,
    Array,
    CardSet,
    Record,
)
from callbreak_env.engine.worlds import WORLDS, build_worlds, draw_world

# fmt: off
NODE = np.dtype(
    [
        # name         type       range and meaning
        ("total",     np.int64),   # tenths: the points, added, of the seat that moved here
        ("visits",    np.int64),   # passes that went through
        ("available", np.int64),   # passes that could have: they came to its parent, and the move was legal
        ("action",    np.int64),   # the move that leads here from its parent
        ("first",     np.int64),   # its youngest child, NONE without one
        ("next",      np.int64),   # its parent's next older child, NONE without one
    ],
    align=True,
)
# fmt: on

_DEPTH = 4 + 52  # moves of a deal
_STREAM = np.uint64(0x69736D637473)  # sets these numbers apart from other uses of the same decision's
_EULER = 0.5772156649015329
_0, _1 = np.uint64(0), np.uint64(1)


@kernel()
def choice_word(table: Record, rules: Record, choices: Array) -> CardSet:
    """What the tree looks at for the seat to act: a ``legal_word`` of ``write_choices`` alone."""
    word = legal_word(table, rules)
    offset = BID_OFFSET if word >= BIDS_FLAG else 0
    kept = word & BIDS_FLAG
    for i in range(write_choices(table, rules, word, choices)):
        kept |= _1 << np.uint64(choices[i] - offset)
    return kept


@kernel()
def most_visited(nodes: Array) -> int:
    """The action of the root's most visited child, the lowest of equals."""
    best, most = NONE, np.int64(0)
    child = int(nodes[0]["first"])
    while child != NONE:
        action, visits = int(nodes[child]["action"]), nodes[child]["visits"]
        if visits > most or (visits == most and action < best):
            best, most = action, visits
        child = int(nodes[child]["next"])
    return int(best)


@kernel()
def grow_tree(
    root: Record, rules: Record, word: CardSet, worlds: Array, explore: float, policy: int, nodes: Array
) -> int:
    """Grow a tree by one pass after another; other hands than the mover's are not read.

    The choice on the way down is UCB1 with availability counts: the mover's mean, as a part of the way
    from the fewest to the most points that the search has seen it make (as Schrittwieser et al.: Mastering
    Atari, Go, chess and shogi by planning with a learned model; Nature 588, 2020), plus ``explore`` times
    sqrt(log(available) / visits). A fixed scale would hide what an overtrick is worth, and would not
    serve bids of different sizes. For the logarithm stands the harmonic number, less Euler's constant: sums
    and quotients have the same bits on every machine.

    Args:
        root: a table where the seat to act has ``worlds``; stays as it is.
        rules: of the match.
        word: the root's moves, as a ``legal_word``.
        worlds: [1] WORLDS by ``build_worlds``, with one world at least. (The array, not its record: Numba
            frees an array after its last use, also while a record of it is in use.)
        explore: weight of what has seldom been tried.
        policy: that plays deals out, for all seats.
        nodes: [P + 1] NODE, zeros: P passes are made, each adds one node at most. Node 0 is the root.

    Returns:
        The nodes in use.
    """
    passes = len(nodes) - 1
    logs = np.empty(passes + 1, np.float64)
    harmonic = 0.0
    for i in range(1, passes + 1):
        harmonic += 1.0 / i
        logs[i] = harmonic - _EULER
    tables, last = np.empty(1, TABLE), np.empty(1, RULES)
    table = tables[0]
    last[0] = rules
    last_deal(root, last)
    policies = np.full(4, policy, np.int64)
    low, high = np.zeros(4, np.int64), np.zeros(4, np.int64)
    choices = np.empty(MAX_CHOICES, np.int64)
    path, movers = np.empty(_DEPTH, np.int64), np.empty(_DEPTH, np.int64)
    random = decision_random(root)
    state, seed = keyed(random, _STREAM, _0), keyed(random, _STREAM, _1)
    nodes[0]["first"] = NONE
    used = 1
    for number in range(passes):
        tables[0] = root
        state = draw_world(worlds[0], state, table["hands"])
        table["seed"] = seed  # of an H2 redeal on the way
        table["match"] = number
        node, depth, happened, action = 0, 0, 0, NONE
        # Down to a new node, to the end of the deal, or to a redeal, whose hands are of no use to others.
        while action == NONE and not happened & (DEAL_END | REDEAL):
            seat = int(table["seat"])
            moves = word if depth == 0 else choice_word(table, last[0], choices)
            untried = moves
            best, chosen = -np.inf, NONE
            child = int(nodes[node]["first"])
            while child != NONE:
                move = int(nodes[child]["action"])
                if word_allows(moves, move):
                    untried &= ~(_1 << np.uint64(move if moves < BIDS_FLAG else move - BID_OFFSET))
                    nodes[child]["available"] += 1
                    visits = nodes[child]["visits"]
                    value = explore * np.sqrt(logs[nodes[child]["available"]] / visits)
                    if high[seat] > low[seat]:
                        mean = nodes[child]["total"] / visits
                        value += (mean - low[seat]) / (high[seat] - low[seat])
                    if value > best:
                        best, chosen = value, child
                child = int(nodes[child]["next"])
            if untried & ~BIDS_FLAG != _0:
                state = next_state(state)
                action = uniform_choice(untried, mix(state))
                nodes[used]["action"] = action
                nodes[used]["available"] = 1
                nodes[used]["first"] = NONE
                nodes[used]["next"] = nodes[node]["first"]
                nodes[node]["first"] = used
                chosen = used
                used += 1
            else:
                happened = step(table, last[0], NO_DECKS, int(nodes[chosen]["action"]))
            path[depth], movers[depth] = chosen, seat
            depth += 1
            node = chosen
        if not happened & DEAL_END:
            play_out(table, last[0], action, policies, seed, np.uint64(number))
        for i in range(depth):
            nodes[path[i]]["visits"] += 1
            nodes[path[i]]["total"] += int(table["points"][movers[i]])
        for seat in range(4):
            points = int(table["points"][seat])
            low[seat] = points if number == 0 else min(low[seat], points)
            high[seat] = points if number == 0 else max(high[seat], points)
    nodes[0]["visits"] = passes
    return used


@merged()
def ismcts_action(table: Record, rules: Record, iterations: int, explore: float, policy: int) -> int:
    """What the search does for the seat to act: a function of what this seat knows and of the table's key.

    Args:
        table: a deal is on.
        rules: of the match.
        iterations: passes, at least 1.
        explore: weight of what has seldom been tried.
        policy: that plays deals out.
    """
    word = choice_word(table, rules, np.empty(MAX_CHOICES, np.int64))
    worlds = np.empty(1, WORLDS)
    # Without a choice there is nothing to search, and without a world (no such table can be played to)
    # nothing to search in.
    if popcount(word & ~BIDS_FLAG) == 1 or build_worlds(table, int(table["seat"]), worlds[0]) == 0:
        return lowest_action(word)
    nodes = np.zeros(iterations + 1, NODE)
    grow_tree(table, rules, word, worlds, explore, policy, nodes)
    return most_visited(nodes)
