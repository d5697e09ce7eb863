"""Intervals by a bootstrap over deals, and how many deals a question needs.

The unit is the deal: the seatings of a deal share its cards and are not independent. Every figure is one sum
over units divided by another, of whole numbers, and so is each resample of it: sums below 2**53 are exact in
whatever order a machine adds them, and the same results give the same figures to the last digit.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from callbreak_env.checks import check_count, check_seed

RESAMPLES = 2000
"""Resamples of an interval, unless said otherwise."""
BOOTSTRAP_SEED = 1
"""Of the resamples, unless said otherwise: the same for all figures, which so are resampled together."""
Z = NormalDist().inv_cdf(0.975)
"""Half a 95 % interval of a normal figure, in standard errors: 1.96."""
_KEPT, _USED = 2**27, 2**22  # counts that are kept for the next figures (128 MiB), and used at once (32 MiB)

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Interval:
    """A figure with its 95 % interval. In points where it is of points (never in tenths).

    Attributes:
        mean: the figure.
        low: the lower end.
        high: the upper end.
        deviation: of one unit's value: the figure's standard error times the root of ``units``.
        units: what was resampled: deals, or matches for the figures of matches.
    """

    mean: float
    low: float
    high: float
    deviation: float
    units: int

    @property
    def half_width(self) -> float:
        """Half the distance of the ends: the ± to print."""
        return (self.high - self.low) / 2

    def __neg__(self) -> Interval:
        """The interval of the opposite figure."""
        return Interval(-self.mean, -self.high, -self.low, self.deviation, self.units)


def intervals(
    tops: Whole, bottoms: Whole, *, resamples: int = RESAMPLES, seed: int = BOOTSTRAP_SEED
) -> list[Interval]:
    """The ratio of two sums over units, with its interval, for V figures resampled together.

    The ends are those of the expanded percentile bootstrap: percentiles of the resampled figure, at levels
    that make up for the bootstrap's being too narrow by sqrt((n - 1) / n) and for the t distribution's wider
    tails (Hesterberg: What teachers should know about the bootstrap, The American Statistician 69, 2015,
    section 4.4). One method for means and ratios, symmetric in the sign. Its two-sided coverage errs by a
    share of the order of 1/n; BCa, which also moves with the skewness, differs by less than a twentieth of
    the half width for the skewest figure here (points of one seat) at 100 deals, and would need a jackknife
    of each figure. The deviation is that of the delta method, (top - ratio * bottom) / mean bottom.

    Args:
        tops: [U, V] int64, by unit.
        bottoms: [U, V] int64, or [V] where all units have the same.
        resamples: R, of the units with replacement.
        seed: of the resamples.

    Returns:
        One each of V. (A resample whose bottoms are all 0 counts as the figure itself.)

    Raises:
        ValueError: fewer than two units, or bottoms that are 0 in all of them.
    """
    units, figures = tops.shape
    if units < 2:
        raise ValueError(f"an interval needs at least 2 deals (or matches), not {units}")
    bottoms = np.broadcast_to(bottoms, tops.shape)
    varying = np.flatnonzero((bottoms != bottoms[0]).any(axis=0))
    sums = resampled_sums(np.concatenate([tops, bottoms[:, varying]], axis=1), resamples=resamples, seed=seed)
    below = np.broadcast_to(bottoms[0] * np.float64(units), (resamples, figures)).copy()
    below[:, varying] = sums[:, figures:]
    totals = bottoms.sum(axis=0)
    if not totals.all():
        raise ValueError(f"figure {int(totals.argmin())} is a ratio to a sum of 0")
    found = []
    for v in range(figures):
        mean = int(tops[:, v].sum()) / int(totals[v])
        again = np.full(resamples, mean)
        np.divide(sums[:, v], below[:, v], out=again, where=below[:, v] != 0)
        low, high = interval_ends(again, units)
        found.append(Interval(mean, low, high, _deviation(tops[:, v], bottoms[:, v]), units))
    return found


def interval_ends(figures: Floats, units: int) -> tuple[float, float]:
    """The ends of the 95 % interval from a figure's values in resamples ([R]) of so many units."""
    degrees = units - 1
    # The t distribution's quantile by z (Abramowitz and Stegun, 26.7.5): to 0.001 from 10 degrees on.
    t = Z + (Z**3 + Z) / (4 * degrees) + (5 * Z**5 + 16 * Z**3 + 3 * Z) / (96 * degrees**2)
    level = NormalDist().cdf(-math.sqrt(units / degrees) * t)
    ordered = np.sort(figures)
    rank = int(level * len(ordered))
    return float(ordered[rank]), float(ordered[len(ordered) - 1 - rank])


def resampled_sums(columns: Whole, *, resamples: int = RESAMPLES, seed: int = BOOTSTRAP_SEED) -> Floats:
    """Sums of each column over the units of each resample: [U, V] whole numbers -> [R, V] float64, exact."""
    check_count(resamples, "resamples")
    values = columns.astype(np.float64)
    parts = [counts @ values for counts in resample_counts(len(columns), resamples, seed)]
    return np.concatenate(parts)


def resample_counts(units: int, resamples: int, seed: int) -> Iterator[Floats]:
    """How often each unit is in each resample: blocks of [B, U] float64, R rows in all."""
    check_seed(seed)
    kept, used = max(1, _KEPT // units), max(1, _USED // units)
    for first in range(0, resamples, kept):
        counts = _draw_counts(units, first, min(kept, resamples - first), seed)
        for row in range(0, len(counts), used):
            yield counts[row : row + used].astype(np.float64)


@functools.lru_cache(maxsize=2)  # deals and matches: the figures of a result are asked for one after another
def _draw_counts(units: int, first: int, rows: int, seed: int) -> npt.NDArray[np.uint8]:
    """[rows, U] from resample number ``first`` on. That a unit is drawn 256 times does not happen.

    A resample is U draws from the raw words of PCG64, a stream that NumPy keeps; a draw is 32 bits times U,
    whose bias is below U in 2**32.
    """
    bits = np.random.PCG64(seed).advance(first * units)
    counts = np.empty((rows, units), np.uint8)
    for row in counts:
        high = bits.random_raw(units) >> np.uint64(32)
        row[:] = np.bincount((high * np.uint64(units) >> np.uint64(32)).view(np.int64), minlength=units)
    return counts


def _deviation(top: Whole, bottom: Whole) -> float:
    """Of one unit's ``(top - ratio * bottom) / mean bottom``; from whole numbers, so that it is exact."""
    units, over, under = len(top), int(top.sum()), int(bottom.sum())
    # sum((top - over / under * bottom)**2) * under**2, in Python's integers
    spread = under**2 * _dot(top, top) - 2 * over * under * _dot(top, bottom) + over**2 * _dot(bottom, bottom)
    return math.sqrt(spread / (units - 1)) * units / under**2


def _dot(one: Whole, other: Whole) -> int:
    """The sum of products, exact: by Python's integers where 64 bits might not hold it."""
    if len(one) * int(np.abs(one).max()) * int(np.abs(other).max()) >= 2**63:
        return int(one.astype(object) @ other.astype(object))
    return int(one @ other)


def deals_needed(half_width: float, deviation: float) -> int:
    """The deals after which a 95 % interval is ± ``half_width``: (1.96 * deviation / half_width)**2.

    Args:
        half_width: in the unit of the figure (points).
        deviation: of the figure's per-deal value, ``Interval.deviation`` of a trial.

    Raises:
        ValueError: not positive.
    """
    return _deals(Z, half_width, deviation, "half_width")


def deals_to_find(edge: float, deviation: float, power: float = 0.8) -> int:
    """The deals after which an edge is told from 0, two-sided at 5 %, with this chance.

    ((1.96 + z_power) * deviation / edge)**2, z_0.8 = 0.84: NIST/SEMATECH e-Handbook of Statistical Methods,
    section 7.2.2.2. That is 2.04 times what an interval of ± ``edge`` takes.

    Raises:
        ValueError: not positive, or ``power`` is not between 0.5 and 1.
    """
    if not 0.5 <= power < 1:
        raise ValueError(f"power must be from 0.5 to below 1, not {power!r}")
    return _deals(Z + NormalDist().inv_cdf(power), edge, deviation, "edge")


def _deals(z: float, size: float, deviation: float, what: str) -> int:
    for name, value in ((what, size), ("deviation", deviation)):
        if not 0 < value < math.inf:
            raise ValueError(f"{name} must be a positive number of points, not {value!r}")
    return math.ceil((z * deviation / size) ** 2)
