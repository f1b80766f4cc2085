"""Bootstrap intervals, BCa or percentile, of many metrics from the same draws.

Units are drawn with replacement. Weights (resamples x units: how often each unit was drawn) times the
columns of all metrics is one matrix product. For one ratio and the same generator the bounds equal
`scipy.stats.bootstrap(..., paired=True)`.

References: Efron, "Better bootstrap confidence intervals", JASA 82 (1987); Hesterberg, "What teachers
should know about the bootstrap", The American Statistician 69 (2015).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from ..core.resampling import Resampling
from .influence import Array

# Resamples that are drawn at a time.
CHUNK = 128
# Relative width within which a resampled value counts as equal to the observed one.
TIE = 1e-12
# (column sums of the units (units, columns), the metric at sums of columns: (..., columns) -> (...))
Statistic = tuple[Array, Callable[[Array], Array]]


def resample_weights(
    m: int,
    n_resamples: int,
    rng: np.random.Generator,
) -> Iterator[Array]:
    """How often each of m units was drawn. Yields (up to CHUNK resamples, m)."""
    for start in range(0, n_resamples, CHUNK):
        rows = min(CHUNK, n_resamples - start)
        drawn = rng.integers(
            0,
            m,
            (rows, m),
        )
        drawn += np.arange(rows)[:, None] * m
        times = np.bincount(drawn.ravel(), minlength=rows * m)
        # an integer matrix product would not use BLAS
        yield times.astype(float).reshape(rows, m)


@dataclass(frozen=True)
class Draws:
    """The resampled values of a metric (nan left out), its value, and its values without each unit."""

    replicates: Array
    value: float
    jackknife: Array

    def bounds(
        self,
        alpha: float,
        method: str = "bca",
    ) -> tuple[float, float]:
        """(low, high) with the probability alpha outside: percentile by that method, else BCa."""
        levels = np.array([alpha / 2, 1 - alpha / 2])
        if method != "percentile":
            corrected = self._bca_levels(levels)
            levels = np.where(
                np.isfinite(corrected),
                corrected,
                levels,
            )
        low, high = np.quantile(self.replicates, levels)
        return float(low), float(high)

    def _bca_levels(self, levels: Array) -> Array:
        """The quantiles of the resampled values that BCa takes for these levels; nan where it is not defined."""
        largest = np.abs(self.replicates).max(initial=0.0)
        tolerance = TIE * max(abs(self.value), float(largest), 1e-300)
        below = np.count_nonzero(self.replicates < self.value - tolerance)
        up_to = np.count_nonzero(self.replicates <= self.value + tolerance)
        deviation = self.jackknife.mean() - self.jackknife
        with np.errstate(all="ignore"):
            bias = ndtri((below + up_to) / (2 * len(self.replicates)))
            acceleration = np.sum(deviation**3) / (6 * np.sum(deviation**2) ** 1.5)
            z = bias + ndtri(levels)
            return ndtr(bias + z / (1 - acceleration * z))


def bootstrap(
    statistics: Sequence[Statistic],
    resampling: Resampling,
) -> list[Draws]:
    """The draws of each statistic; all of so many units have the same."""
    drawn: dict[int, Array] = {}
    sizes = [len(columns) for columns, _ in statistics]
    for n in set(sizes):
        indices = [i for i, size in enumerate(sizes) if size == n]
        together = np.hstack([statistics[i][0] for i in indices])
        rng = np.random.default_rng(resampling.seed)
        weights = resample_weights(
            n,
            resampling.n_resamples,
            rng,
        )
        sums = np.concatenate([times @ together for times in weights])
        ends = np.cumsum([statistics[i][0].shape[1] for i in indices])
        drawn |= dict(zip(indices, np.split(sums, ends[:-1], axis=1)))
    draws = []
    for i, (columns, metric) in enumerate(statistics):
        total = columns.sum(axis=0)
        replicates, jackknife = metric(drawn[i]), metric(total - columns)
        known = replicates[~np.isnan(replicates)], jackknife[~np.isnan(jackknife)]
        draws.append(Draws(known[0], float(metric(total)), known[1]))
    return draws


def expanded(
    alpha: float,
    n: int,
) -> float:
    """The level at which a bootstrap of n units is as wide as a t interval at `alpha` (Hesterberg)."""
    return float(2 * ndtr(np.sqrt(n / (n - 1)) * stdtrit(n - 1, alpha / 2)))


def monte_carlo_digits(
    width: float,
    resampling: Resampling,
) -> int:
    """Decimals of bounds that their Monte-Carlo error supports, 1 to 4, for an interval so wide.

    >>> monte_carlo_digits(0.4, Resampling())
    2
    """
    # standard error of a bootstrap quantile, in units of the interval's width, for a normal density
    tail = (1 - resampling.confidence) / 2
    z = ndtri(1 - tail)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    error = np.sqrt(tail * (1 - tail) / resampling.n_resamples) / density / (2 * z) * width
    return int(np.clip(np.floor(-np.log10(max(error, 1e-9))), 1, 4))
