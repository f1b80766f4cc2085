"""Bootstrap intervals, BCa or percentile, of many metrics from the same draws.

Units are drawn with replacement. Weights (resamples x units: how often each unit was drawn) times the
columns of all metrics is one matrix product. For one ratio and the same generator the bounds equal
`scipy.stats.bootstrap(..., paired=True)`.

References: Efron, "Better bootstrap confidence intervals", JASA 82 (1987); Hesterberg, "What teachers
should know about the bootstrap", The American Statistician 69 (2015).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
            largest = float(np.abs(self.replicates).max(initial=0.0))
            tolerance = TIE * max(abs(self.value), largest, 1e-300)
            below = np.count_nonzero(self.replicates < self.value - tolerance)
            up_to = np.count_nonzero(self.replicates <= self.value + tolerance)
            deviation = self.jackknife.mean() - self.jackknife
            with np.errstate(all="ignore"):
                bias = ndtri((below + up_to) / (2 * len(self.replicates)))
                acceleration = np.sum(deviation**3) / (6 * np.sum(deviation**2) ** 1.5)
                z = bias + ndtri(levels)
                corrected = ndtr(bias + z / (1 - acceleration * z))
            levels = np.where(np.isfinite(corrected), corrected, levels)
        low, high = np.quantile(self.replicates, levels)
        return float(low), float(high)


def bootstrap(
    statistics: Sequence[Statistic | None],
    resampling: Resampling,
) -> list[Draws | None]:
    """The draws of each statistic; all of so many units have the same. None stays None."""
    draws: list[Draws | None] = [None] * len(statistics)
    of_size: dict[int, list[tuple[int, Statistic]]] = {}
    for i, statistic in enumerate(statistics):
        if statistic:
            of_size.setdefault(
                len(statistic[0]),
                [],
            ).append((i, statistic))
    for alike in of_size.values():
        sums = _resampled(
            np.hstack([columns for _, (columns, _) in alike]),
            resampling,
        )
        for i, (columns, metric) in alike:
            own, sums = np.split(sums, [columns.shape[1]], axis=1)
            total = columns.sum(axis=0)
            replicates, jackknife = metric(own), metric(total - columns)
            known = replicates[~np.isnan(replicates)], jackknife[~np.isnan(jackknife)]
            draws[i] = Draws(known[0], float(metric(total)), known[1])
    return draws


def _resampled(columns: Array, resampling: Resampling) -> Array:
    """Sums of columns (units, columns) over units drawn with replacement: (resamples, columns)."""
    n = len(columns)
    rng = np.random.default_rng(resampling.seed)
    sums = np.empty((resampling.n_resamples, columns.shape[1]))
    for start in range(0, len(sums), CHUNK):
        part = sums[start : start + CHUNK]
        drawn = (
            rng.integers(
                0,
                n,
                (len(part), n),
            )
            + n * np.arange(len(part))[:, None]
        )
        times = np.bincount(drawn.ravel(), minlength=drawn.size)
        # an integer matrix product would not use BLAS
        np.matmul(
            times.reshape(drawn.shape).astype(float),
            columns,
            out=part,
        )
    return sums


def expanded(alpha: float, n: int) -> float:
    """The level at which a bootstrap of n units is as wide as a t interval at `alpha` (Hesterberg)."""
    return float(
        2
        * ndtr(
            np.sqrt(n / (n - 1))
            * stdtrit(
                n - 1,
                alpha / 2,
            )
        )
    )
