"""Neural agents: what imagined worlds say of each choice, and what a network says of it, added up.

Perfect-information Monte Carlo (``callbreak_env.engine.pimc``) is noisy and sees through walls: in each of
its worlds it knows all hands. The network is neither, but has no time to think. Their errors are different
ones, and the sum is better than both: ``mean points over the worlds + prior * log-probability``.

The worlds are such as a second network believes in: it has seen in many deals who held what, and so knows
what bids and plays tell (``callbreak_env.engine.beliefs``).
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

from callbreak_env.actions import NUM_ACTIONS
from callbreak_env.agents.compiled import MOST_DRAWS, CompiledAgent, KeyedAgent, pimc_settings
from callbreak_env.agents.inputs import place_of
from callbreak_env.agents.network import (
    BELIEF_OUTPUTS,
    HOLDERS,
    Memory,
    Weights,
    ask,
    forward,
    new_memory,
    weights_digest,
)
from callbreak_env.agents.neural import RELEASED_BELIEFS, best_action, chosen_weights
from callbreak_env.cards import CARDS_PER_SUIT, NUM_CARDS, NUM_SEATS
from callbreak_env.checks import check_count, check_number
from callbreak_env.engine._jit import kernel
from callbreak_env.engine.beliefs import BELIEFS, build_beliefs
from callbreak_env.engine.legality import BIDS_FLAG, legal_word
from callbreak_env.engine.pimc import (
    MAX_CHOICES,
    best_choice,
    choice_for,
    pimc_sums,
    worlds_used,
    worlds_wanted,
    write_choices,
    write_values,
)
from callbreak_env.engine.state import SUIT_OF, Array, rules_record
from callbreak_env.engine.threads import check_threads, run_parts
from callbreak_env.engine.worlds import WORLDS, build_worlds
from callbreak_env.errors import CallBreakError
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


@kernel()
def believe(weights: Weights, memory: Memory, units: Array, logits: Array, by_card: Array) -> None:
    """Who holds which card, by the network of beliefs, into ``by_card`` ([52, 3] float64).

    Args:
        weights: of the network of beliefs.
        memory: in which ``ask`` left the row.
        units: [2, H] float32, overwritten.
        logits: [156] float32, overwritten.
        by_card: written, relative to the likeliest of the three.
    """
    forward(memory.row, weights, units, logits)
    for card in range(NUM_CARDS):
        suit = SUIT_OF[card]
        place = card + CARDS_PER_SUIT * (place_of(suit, memory.order) - suit)
        largest = max(logits[place], logits[NUM_CARDS + place], logits[2 * NUM_CARDS + place])
        for holder in range(HOLDERS):
            by_card[card, holder] = np.exp(float(logits[NUM_CARDS * holder + place]) - float(largest))


@kernel(nogil=True)
def search_rows(
    first: int,
    end: int,
    agents: Array,
    tables: Array,
    rules: Array,
    weights: Weights,
    of_beliefs: Weights,
    believes: bool,
    bid_prior: float,
    play_prior: float,
    actions: Array,
    values: Array,
) -> int:
    """What the search does at tables ([K] TABLE), into ``actions`` ([K] int64).

    Args:
        first: of the rows to do.
        end: of the rows to do.
        agents: [1] AGENT, the settings of the worlds.
        tables: of them only that is read which the seats to act know.
        rules: [1] RULES.
        weights: of the network.
        of_beliefs: of the network of beliefs.
        believes: whether it is asked for the worlds.
        bid_prior: points for a unit of log-probability.
        play_prior: the same, for cards.
        actions: written.
        values: [K, 65] float32, written: what ``action_values`` gives; or [0, 65].
    """
    memory = new_memory(weights)
    choices, sums, priors = np.empty(MAX_CHOICES, np.int64), np.empty(MAX_CHOICES), np.empty(MAX_CHOICES)
    worlds, beliefs = np.empty(1, WORLDS), np.empty(1, BELIEFS)
    logits, by_card = np.empty(BELIEF_OUTPUTS, np.float32), np.empty((NUM_CARDS, HOLDERS))
    units = np.empty((2, of_beliefs.last.shape[0]), np.float32)
    settings = agents[0]
    for k in range(first, end):
        table = tables[k]
        word = legal_word(table, rules[0])
        count = write_choices(table, rules[0], word, choices)
        sums[:] = 0.0
        values[k : k + 1] = np.nan
        if count > 1:
            ask(table, rules[0], word, weights, memory)
            if worlds_wanted(table, settings) == 0:
                actions[k] = best_action(memory.out)
                continue
            write_log_priors(word, choices[:count], memory.out, priors[:count])
            build_worlds(table, int(table["seat"]), worlds[0])
            amount = worlds_used(table, settings, worlds[0])
            known = 0
            if believes and int(table["num_active"]) == NUM_SEATS:
                believe(of_beliefs, memory, units, logits, by_card)
                known = int(build_beliefs(table, worlds[0], by_card, beliefs[0]) > 0)
            pimc_sums(
                table, rules[0], settings, 0, amount, worlds, beliefs[:known], choices[:count], sums[:count]
            )
            prior = bid_prior if word >= BIDS_FLAG else play_prior
            for i in range(count):
                sums[i] += 10 * prior * amount * priors[i]
            if len(values) > 0:
                write_values(word, choices[:count], sums[:count] / (10 * amount), values[k])
        actions[k] = best_choice(choices[:count], sums[:count])
    return 0


class NeuralSearchAgent(KeyedAgent):
    """The search. It knows what the seat to act knows.

    Attributes:
        weights: of the network.
        beliefs: of the network of beliefs; None, and in extra deals: worlds are drawn as PIMC draws them.
        settings: [1] AGENT, of the worlds; not to be written.
        bid_prior: points for a unit of log-probability.
        play_prior: the same, for cards.
    """

    def __init__(
        self,
        weights: Weights,
        beliefs: Weights | None,
        settings: Array,
        bid_prior: float,
        play_prior: float,
        name: str = "neural_search",
    ) -> None:
        super().__init__(name)
        self.weights, self.beliefs, self.settings = weights, beliefs, settings
        self.bid_prior, self.play_prior = bid_prior, play_prior

    @property
    def digest(self) -> str:
        """Of both networks' weights and of the settings."""
        networks = [weights_digest(each) for each in (self.weights, self.beliefs) if each]
        told = (*networks, self.settings[0].item(), self.bid_prior, self.play_prior)
        return hashlib.sha256(repr(told).encode()).hexdigest()[:12]

    def act_tables(self, tables: Array, rules: Rules, threads: int | None = 1) -> npt.NDArray[np.int64]:
        """The action ids for the seats to act at K tables: [K] TABLE -> [K] int64. None may be over."""
        return self._search(tables, rules, threads, np.empty((0, NUM_ACTIONS), np.float32))

    def action_values(self, tables: Array, rules: Rules, threads: int | None = 1) -> npt.NDArray[np.float32]:
        """What each action is worth to the search: [K] TABLE -> [K, 65] float32, points.

        The mean over its worlds, and the log-probability times the prior. NaN: illegal, a bid that it does
        not try, or nothing to choose or to search. ``examples/ppo_selfplay.py`` learns from them.
        """
        values = np.empty((len(tables), NUM_ACTIONS), np.float32)
        self._search(tables, rules, threads, values)
        return values

    def _search(
        self, tables: Array, rules: Rules, threads: int | None, values: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.int64]:
        actions = np.empty(len(tables), np.int64)
        networks = (self.weights, self.beliefs or self.weights, self.beliefs is not None)
        work = (self.settings, tables, rules_record(rules), *networks, self.bid_prior, self.play_prior)
        run_parts(search_rows, len(tables), 1, check_threads(threads), *work, actions, values)
        return actions


def neural_agent(
    name: str,
    /,
    play: int = 32,
    last: int = 8,
    play_prior: float = 0.06,
    weights: str | None = None,
    beliefs: str | None = None,
) -> NeuralSearchAgent:
    """The network; in the last tricks, where it is worst and worlds are cheap, it sees a few of these.

    Args:
        name: ``neural``.
        play: worlds for a card of the last tricks, drawn by the network of beliefs (in extra deals, of fewer
            seats, evenly); 0: the network alone.
        last: how many tricks these are.
        play_prior: points for a unit of the network's log-probability.
        weights: a path for ``load_weights``; None: those that come with the package.
        beliefs: the same, of the network of beliefs.

    Raises:
        ValueError: an option is not what it must be.
    """
    settings = CompiledAgent(name, **pimc_settings(0, play, 1, last)).record_array
    return NeuralSearchAgent(
        chosen_weights(weights),
        chosen_weights(beliefs, RELEASED_BELIEFS, BELIEF_OUTPUTS),
        settings,
        0.0,
        check_number(play_prior, "play_prior"),
        name,
    )


def neural_search_agent(
    name: str,
    /,
    bid: int = 0,
    play: int = 800,
    draws: int = 0,
    bid_prior: float = 0.2,
    play_prior: float = 0.02,
    weights: str | None = None,
    beliefs: str | None = None,
) -> NeuralSearchAgent:
    """The search with a network.

    Args:
        name: ``neural_search``.
        bid: worlds for a bid; 0: the network bids.
        play: worlds for a card; 0: the network plays.
        draws: as of PIMC: of so many worlds one is used, chosen by what the others did; 0: worlds are drawn
            by the network of beliefs (in extra deals, of fewer seats, evenly).
        bid_prior: points for a unit of the network's log-probability.
        play_prior: the same, for cards.
        weights: a path for ``load_weights``; None: those that come with the package.
        beliefs: the same, of the network of beliefs.

    Raises:
        ValueError: an option is not what it must be.
    """
    draws = check_count(draws, "draws", 0, MOST_DRAWS)
    if draws and beliefs is not None:
        raise CallBreakError(f"beliefs say which worlds there are where draws=0, not draws={draws}")
    settings = CompiledAgent(name, **pimc_settings(bid, play, draws or 1)).record_array
    return NeuralSearchAgent(
        chosen_weights(weights),
        chosen_weights(beliefs, RELEASED_BELIEFS, BELIEF_OUTPUTS) if draws == 0 else None,
        settings,
        check_number(bid_prior, "bid_prior"),
        check_number(play_prior, "play_prior"),
        name,
    )
