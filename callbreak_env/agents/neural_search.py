"""Neural search: what imagined worlds say of each choice, and what a network says of it, added up.

Perfect-information Monte Carlo (``callbreak_env.engine.pimc``) is noisy and sees through walls: in each of
its worlds it knows all hands. The network is neither, but has no time to think. Their errors are different
ones, and the sum is better than both: ``mean points over the worlds + prior * log-probability``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from callbreak_env.actions import NUM_ACTIONS
from callbreak_env.agents.compiled import CompiledAgent, KeyedAgent, pimc_settings
from callbreak_env.agents.network import Weights, ask, new_memory
from callbreak_env.agents.neural import best_action, load_weights, released_weights
from callbreak_env.checks import check_number
from callbreak_env.engine._jit import kernel
from callbreak_env.engine.legality import BIDS_FLAG, legal_word
from callbreak_env.engine.pimc import (
    MAX_CHOICES,
    best_choice,
    choice_for,
    pimc_sums,
    worlds_used,
    worlds_wanted,
    write_choices,
)
from callbreak_env.engine.state import Array, rules_record
from callbreak_env.engine.threads import check_threads, run_parts
from callbreak_env.engine.worlds import WORLDS, build_worlds
from callbreak_env.rules import Rules


@kernel()
def write_log_priors(word: int, choices: Array, logits: Array, priors: Array) -> None:
    """The log-probability of each choice, a card's with its equals', into ``priors`` ([n] float64).

    Args:
        word: the ``legal_word``.
        choices: [n] int64, of ``write_choices``.
        logits: [79] float32, of ``ask``.
        priors: written.
    """
    largest = -np.inf
    for action in range(NUM_ACTIONS):
        largest = max(largest, float(logits[action]))
    total = 0.0
    priors[:] = 0.0
    for action in range(NUM_ACTIONS):
        if logits[action] > -np.inf:
            chance = np.exp(float(logits[action]) - largest)
            total += chance
            if word >= BIDS_FLAG:
                for i in range(len(choices)):
                    if choices[i] == action:
                        priors[i] = chance
            else:
                priors[choice_for(choices, action)] += chance
    for i in range(len(choices)):
        priors[i] = np.log(max(priors[i] / total, 1e-6))


@kernel(nogil=True)
def search_rows(
    first: int,
    end: int,
    agents: Array,
    tables: Array,
    rules: Array,
    weights: Weights,
    bid_prior: float,
    play_prior: float,
    actions: Array,
) -> int:
    """What the search does at tables ([K] TABLE), into ``actions`` ([K] int64).

    Args:
        first: of the rows to do.
        end: of the rows to do.
        agents: [1] AGENT, the settings of the worlds.
        tables: of them only that is read which the seats to act know.
        rules: [1] RULES.
        weights: of the network.
        bid_prior: points for a unit of log-probability.
        play_prior: the same, for cards.
        actions: written.
    """
    memory = new_memory(weights)
    choices, sums, priors = np.empty(MAX_CHOICES, np.int64), np.empty(MAX_CHOICES), np.empty(MAX_CHOICES)
    worlds = np.empty(1, WORLDS)
    settings = agents[0]
    for k in range(first, end):
        table = tables[k]
        word = legal_word(table, rules[0])
        count = write_choices(table, rules[0], word, choices)
        sums[:] = 0.0
        if count > 1:
            ask(table, rules[0], word, weights, memory)
            if worlds_wanted(table, settings) == 0:
                actions[k] = best_action(memory.out)
                continue
            write_log_priors(word, choices[:count], memory.out, priors[:count])
            build_worlds(table, int(table["seat"]), worlds[0])
            amount = worlds_used(table, settings, worlds[0])
            pimc_sums(table, rules[0], settings, 0, amount, worlds, choices[:count], sums[:count])
            prior = bid_prior if word >= BIDS_FLAG else play_prior
            for i in range(count):
                sums[i] += 10 * prior * amount * priors[i]
        actions[k] = best_choice(choices[:count], sums[:count])
    return 0


class NeuralSearchAgent(KeyedAgent):
    """The search. It knows what the seat to act knows.

    Attributes:
        weights: of the network.
        settings: [1] AGENT, of the worlds; not to be written.
        bid_prior: points for a unit of log-probability.
        play_prior: the same, for cards.
    """

    def __init__(
        self,
        weights: Weights,
        settings: Array,
        bid_prior: float,
        play_prior: float,
        name: str = "neural_search",
    ) -> None:
        super().__init__(name)
        self.weights, self.settings = weights, settings
        self.bid_prior, self.play_prior = bid_prior, play_prior

    def act_tables(self, tables: Array, rules: Rules, threads: int | None = 1) -> npt.NDArray[np.int64]:
        """The action ids for the seats to act at K tables: [K] TABLE -> [K] int64. None may be over."""
        actions = np.empty(len(tables), np.int64)
        work = (self.settings, tables, rules_record(rules), self.weights, self.bid_prior, self.play_prior)
        run_parts(search_rows, len(tables), 1, check_threads(threads), *work, actions)
        return actions


def neural_search_agent(
    name: str,
    /,
    bid: int = 0,
    play: int = 100,
    draws: int = 20,
    bid_prior: float = 0.2,
    play_prior: float = 0.1,
    weights: str | None = None,
) -> NeuralSearchAgent:
    """The search with a network.

    Args:
        name: ``neural_search``.
        bid: worlds for a bid; 0: the network bids.
        play: worlds for a card; 0: the network plays.
        draws: as of PIMC: of so many worlds one is used, chosen by what the others did.
        bid_prior: points for a unit of the network's log-probability.
        play_prior: the same, for cards.
        weights: a path for ``load_weights``; None: those that come with the package.

    Raises:
        ValueError: an option is not what it must be.
    """
    settings = CompiledAgent(name, **pimc_settings(bid, play, draws)).record_array
    return NeuralSearchAgent(
        released_weights() if weights is None else load_weights(str(weights)),
        settings,
        check_number(bid_prior, "bid_prior"),
        check_number(play_prior, "play_prior"),
        name,
    )
