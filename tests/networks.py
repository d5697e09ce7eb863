"""Small networks for the tests, and whole tables with their plain suits under other names."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from agents import Tables
from callbreak_env import Rules, make_agent
from callbreak_env.agents.inputs import INPUTS
from callbreak_env.agents.network import OUTPUTS, Weights, check_weights
from callbreak_env.policy import TableAgent

NAMINGS = list(itertools.permutations(range(3)))
"""Of the plain suits: suit s is called ``naming[s]``."""


def network(units: int = 20, layers: int = 2, seed: int = 1, outputs: int = OUTPUTS) -> Weights:
    """A network of random weights, about as large as trained ones, that float16 holds exactly."""
    rng = np.random.default_rng(seed)

    def normal(scale: float, *shape: int) -> npt.NDArray[np.float32]:
        return (scale * rng.standard_normal(shape)).astype(np.float16).astype(np.float32)

    arrays = {
        "first": normal(0.15, INPUTS, units),
        "hidden": normal(units**-0.5, layers - 1, units, units),
        "biases": normal(0.1, layers, units),
        "last": normal(units**-0.5, units, outputs),
        "last_bias": normal(0.1, outputs),
    }
    return check_weights(arrays, outputs)


def renamed_cards(naming: tuple[int, ...]) -> list[int]:
    """[52] what each card is called then."""
    return [13 * (*naming, 3)[card // 13] + card % 13 for card in range(52)]


def ranked(places: npt.NDArray[np.int8]) -> npt.NDArray[np.int64]:
    """[K, 52] which card stands in each place by suit and rank, from the ``places`` of K inputs."""
    suits = places[:, :52:13].astype(np.int64) // 13
    return (13 * suits[:, :, None] + np.arange(13)).reshape(len(places), 52)


def renamed_set(cards: int, naming: tuple[int, ...]) -> int:
    """A set of cards (bit c for card c) under other names."""
    new = renamed_cards(naming)
    return sum(1 << new[card] for card in range(52) if int(cards) >> card & 1)


def renamed(tables: Tables, naming: tuple[int, ...]) -> Tables:
    """The tables with every card and suit in them under other names."""
    cards, out = renamed_cards(naming), tables.copy()
    for k in range(len(tables)):
        old, new = tables[k], out[k]
        for field in ("hands", "may_hold", "played"):
            new[field] = [renamed_set(one, naming) for one in old[field]]
        for i in range(int(old["num_played"])):
            entry = int(old["log"][i])
            new["log"][i] = cards[entry & 63] | entry >> 6 << 6
        new["trick"] = [cards[card] if card >= 0 else card for card in old["trick"].tolist()]
        for field in ("best_led", "best_trump"):
            new[field] = cards[old[field]] if old[field] >= 0 else old[field]
        new["trump"] = (*naming, 3)[old["trump"]] if old["trump"] >= 0 else old["trump"]
    return out


def seen_only(tables: Tables) -> list[bytes]:
    """What the seats to act see of their tables, to be compared."""
    bare = tables.copy()
    for table in bare:
        own = int(table["seat"])
        table["hands"] = [hand if seat == own else 0 for seat, hand in enumerate(table["hands"])]
    return [table.tobytes() for table in bare]


def has_alike(tables: Tables) -> npt.NDArray[np.bool_]:
    """[K] whether two plain suits may change names and nothing changes in what the seat to act sees."""
    found = np.zeros(len(tables), np.bool_)
    for swap in ((1, 0, 2), (0, 2, 1), (2, 1, 0)):
        pairs = zip(seen_only(renamed(tables, swap)), seen_only(tables), strict=True)
        found |= [one == other for one, other in pairs]
    return found


def as_called_now(actions: npt.NDArray[np.int64], naming: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """The same actions under other names."""
    return np.array([*renamed_cards(naming), *range(52, 65)])[actions]


def keeps_its_choice(tables: Tables, rules: Rules, naming: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    """[K] whether the rule-based agent does the same under other names; of equals it takes the first suit."""
    agent = make_agent("rule_based")
    assert isinstance(agent, TableAgent)
    before, after = agent.act_tables(tables, rules), agent.act_tables(renamed(tables, naming), rules)
    return np.asarray(after == as_called_now(before, naming))
