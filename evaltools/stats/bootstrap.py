"""Bootstrap intervals of all metrics at once: BCa, percentile, and for metrics without limits bca-t.

Units are drawn with replacement. Weights (resamples x units: how often each unit was drawn) times
the columns is one matrix product for every metric together. The jackknife for BCa is in closed form
for ratios of sums. For one ratio and the same generator the bounds equal
`scipy.stats.bootstrap(..., paired=True)`.

References: Efron, "Better bootstrap confidence intervals", JASA 82 (1987); Hesterberg, "What
teachers should know about the bootstrap", The American Statistician 69 (2015).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from ..core.resampling import Resampling
from .influence import Array, over_units

# Resamples that are drawn at a time.
CHUNK = 128
# Relative width within which a resampled value counts as equal to the observed one.
TIE = 1e-12


def resample_weights(m: int, n_resamples: int, rng: np.random.Generator) -> Iterator[Array]:
    """How often each of m units was drawn. Yields (up to CHUNK resamples, m)."""
    for start in range(0, n_resamples, CHUNK):
        rows = min(CHUNK, n_resamples - start)
        drawn = rng.integers(0, m, (rows, m))
        drawn += np.arange(rows)[:, None] * m
        times = np.bincount(drawn.ravel(), minlength=rows * m)
        # an integer matrix product would not use BLAS
        yield times.astype(float).reshape(rows, m)


def bootstrap(
    sides: Sequence[Array],
    metrics_of: Callable[..., Array],
    wanted: Array,
    alpha: Array,
    resampling: Resampling,
) -> tuple[Array, Array]:
    """(low, high) of the wanted metrics, nan for all others, from the same draws for all sides.

    `sides`: column sums of the units, (..., units, columns) each. `metrics_of` gives the metrics at
    column sums of each side, (..., columns) -> (..., metrics). `wanted` (metrics): bool. `alpha`
    (metrics): the probability outside of both bounds together. Percentile by that method, else BCa.
    """
    totals = [over_units(sums) for sums in sides]
    values = metrics_of(*totals)
    low, high = np.full((2, len(values)), np.nan)
    if not wanted.any():
        return low, high
    jackknife = metrics_of(*[total[..., None, :] - sums for total, sums in zip(totals, sides)])
    rng = np.random.default_rng(resampling.seed)
    drawn = []
    for weights in resample_weights(sides[0].shape[-2], resampling.n_resamples, rng):
        drawn.append(metrics_of(*[weights @ sums for sums in sides])[:, wanted])
    replicates = np.concatenate(drawn)
    for column, metric in enumerate(np.flatnonzero(wanted)):
        known = replicates[:, column]
        known = known[~np.isnan(known)]
        levels = np.array([alpha[metric] / 2, 1 - alpha[metric] / 2])
        if resampling.method != "percentile":
            corrected = bca_levels(known, values[metric], jackknife[:, metric], levels)
            levels = np.where(np.isfinite(corrected), corrected, levels)
        low[metric], high[metric] = np.quantile(known, levels)
    return low, high


def bca_levels(replicates: Array, value: float, jackknife: Array, levels: Array) -> Array:
    """The quantiles of the resampled values that BCa takes for these levels; nan where it is not defined."""
    largest = np.abs(replicates).max(initial=0.0)
    tolerance = TIE * max(abs(value), float(largest), 1e-300)
    below = np.count_nonzero(replicates < value - tolerance)
    up_to = np.count_nonzero(replicates <= value + tolerance)
    known = jackknife[~np.isnan(jackknife)]
    deviation = known.mean() - known
    with np.errstate(all="ignore"):
        bias = ndtri((below + up_to) / (2 * len(replicates)))
        acceleration = np.sum(deviation**3) / (6 * np.sum(deviation**2) ** 1.5)
        z = bias + ndtri(levels)
        return ndtr(bias + z / (1 - acceleration * z))


def expanded(alpha: Array, n: Array) -> Array:
    """The level at which a bootstrap of n units is as wide as a t interval at `alpha` (Hesterberg)."""
    n = np.maximum(n, 2)
    return 2 * ndtr(np.sqrt(n / (n - 1)) * stdtrit(n - 1, alpha / 2))


def monte_carlo_digits(width: float, resampling: Resampling) -> int:
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
