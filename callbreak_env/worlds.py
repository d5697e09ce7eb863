"""Worlds: all the ways the unseen cards may lie by what one seat knows; for search (determinization).

The method is told in ``callbreak_env.engine.worlds``, whose kernels a search agent calls from compiled code.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from callbreak_env.cards import CARDS_PER_HAND, NUM_SEATS
from callbreak_env.checks import check_int, check_seed
from callbreak_env.engine.state import ALL_CARDS, Array
from callbreak_env.engine.worlds import WORLDS, open_worlds, sample_worlds, unrank_worlds
from callbreak_env.errors import CallBreakError
from callbreak_env.table import View

MAX_ALL = 10_000_000
"""The most worlds that ``Worlds.all`` lists: 32 bytes each."""

Hands = npt.NDArray[np.uint64]
"""Sets of cards by seat along the last axis: bit c for card c; 0 for a seat that is not in the deal."""


class Worlds:
    """Every complete deal of the unseen cards that agrees with a view: its hand sizes and ``may_hold``.

    These are the hard facts, all but H3's (that each hand holds a spade, and not spades alone). What
    a choice among legal plays or a bid suggests is not a fact. In an extra deal of two or three seats some
    unseen cards are with nobody. When the match is over, no card is held: there is one world.

    Args:
        view: what a seat of the deal knows.

    Raises:
        ValueError: that is no view, its seat is not in the (extra) deal, or no world agrees with it.
    """

    __slots__ = ("_tables", "_viewer", "_worlds")

    def __init__(self, view: View) -> None:
        if not isinstance(view, View):
            raise CallBreakError(
                f"worlds are those of a View, match.view(seat), not of {type(view).__name__}"
            )
        if view.viewer not in view.active:
            raise CallBreakError(
                f"seat {view.viewer} is not in the extra deal, which is between {list(view.active)}: "
                "take the view of one of these"
            )
        self._viewer = view.viewer
        self._tables = view.record_array
        self._worlds = np.zeros(1, WORLDS)
        if not open_worlds(self._tables, self._viewer, self._worlds):
            raise CallBreakError("no world agrees with this view: its record contradicts itself")

    @property
    def count(self) -> int:
        """How many worlds there are, exactly; at most 39! / 13!**3 = 84478098072866400."""
        return int(self._worlds["count"][0])

    @property
    def worlds_array(self) -> Array:
        """The engine's record, an array of one ``WORLDS``: for compiled code; not to be written."""
        return self._worlds

    def unrank(self, index: int) -> Hands:
        """World number ``index``: each world has exactly one number from 0 to ``count`` - 1.

        Returns:
            [4] uint64, hands as sets of cards, by seat.

        Raises:
            ValueError: no whole number, or there is no such world.
        """
        index = check_int(index, "index")
        if not 0 <= index < self.count:
            raise CallBreakError(f"there is no world {index}: they are numbered 0 to {self.count - 1}")
        hands = np.empty((1, NUM_SEATS), np.uint64)
        unrank_worlds(self._worlds, index, hands)
        world: Hands = hands[0]
        return world

    def all(self) -> Hands:
        """Every world once, in the order of their numbers: for the end of a deal, where they are few.

        Returns:
            [count, 4] uint64, hands as sets of cards, by seat.

        Raises:
            ValueError: there are more than ``MAX_ALL``.
        """
        if self.count > MAX_ALL:
            raise CallBreakError(f"{self.count} worlds are too many to list: at most {MAX_ALL}, or sample")
        hands = np.empty((self.count, NUM_SEATS), np.uint64)
        unrank_worlds(self._worlds, 0, hands)
        return hands

    def sample(self, n: int, rng: int | np.random.Generator) -> Hands:
        """Worlds drawn independently, each with exactly the same chance.

        Args:
            n: how many, 0 or more.
            rng: a seed, 0 to 2**63 - 1, or a generator, from which one number is drawn. The same seed gives
                the same worlds.

        Returns:
            [n, 4] uint64, hands as sets of cards, by seat.

        Raises:
            ValueError: ``n`` is no whole number or negative, or ``rng`` is neither.
        """
        n = check_int(n, "n")
        if n < 0:
            raise CallBreakError(f"n must be 0 or more, not {n}")
        if isinstance(rng, np.random.Generator):
            state = rng.integers(2**64, dtype=np.uint64)
        else:
            state = np.uint64(check_seed(rng, "rng"))
        hands = np.empty((n, NUM_SEATS), np.uint64)
        sample_worlds(self._worlds, state, hands)
        return hands

    def tables(self, hands: Hands) -> Array:
        """The viewed table with worlds filled in, for playouts in compiled code.

        What is dealt next stays unknown (the records hold 0 for the key of the shuffles): play to the deal's
        end only.

        Args:
            hands: [n, 4] uint64, worlds of this view.

        Returns:
            [n] TABLE.

        Raises:
            ValueError: another shape or dtype, or a row is not one of the worlds.
        """
        self._check(hands)
        tables = np.repeat(self._tables, len(hands))
        tables["hands"] = hands
        return tables

    def _check(self, hands: Any) -> None:
        if not isinstance(hands, np.ndarray) or hands.dtype != np.uint64 or hands.shape[1:] != (NUM_SEATS,):
            got = f"{hands.shape} {hands.dtype}" if isinstance(hands, np.ndarray) else type(hands).__name__
            raise CallBreakError(
                f"hands must be an array of shape (n, {NUM_SEATS}) and dtype uint64, not {got}"
            )
        table = self._tables[0]
        own, played = table["hands"][self._viewer], table["played"]
        may_hold = table["may_hold"] & ALL_CARDS & ~own & ~np.bitwise_or.reduce(played)
        may_hold[self._viewer] = own
        sizes = np.where(may_hold == 0, 0, CARDS_PER_HAND - np.bitwise_count(played))
        together = np.bitwise_count(np.bitwise_or.reduce(hands, axis=1))
        right = (np.bitwise_count(hands) == sizes).all(axis=1) & (hands & ~may_hold == 0).all(axis=1)
        wrong = np.flatnonzero(~right | (together != sizes.sum()))
        if len(wrong):
            raise CallBreakError(f"hands[{wrong[0]}] is not a world of this view")
