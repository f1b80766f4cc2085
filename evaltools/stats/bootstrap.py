"""Bootstrap intervals of all metrics at once: BCa, percentile, and for metrics without limits bca-t.

Units are drawn with replacement. Weights (resamples x units: how often each unit was drawn) times
the columns is one matrix product for every metric together. The jackknife for BCa is in closed form
for ratios of sums. For one ratio and the same generator the bounds equal
`scipy.stats.bootstrap(..., paired=True)`. More than LARGE units have closed forms
(`closed_bounds`).

Without limits BCa is too short from few units: by the method "auto" it stands at the normal
quantile z that sqrt(n / (n - 1)) times that of a t is, and is joined with the t interval itself
("bca-t"). Hesterberg recommends the expansion; the union covers best where tails are heavy.

References: Efron, "Better bootstrap confidence intervals", JASA 82 (1987); Hesterberg, "What
teachers should know about the bootstrap", The American Statistician 69 (2015); DiCiccio and Efron,
"More accurate confidence intervals in exponential families", Biometrika 79 (1992), the ABC interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from ..core.resampling import Resampling
from .arrays import LARGE, Array, Intervals, over_units, sum_products, varies

CHUNK = 128
"""Resamples that are drawn at a time."""

TIE = 1e-12
"""Relative width within which a resampled value counts as equal to the observed one."""

STEP = 0.1
"""Standard errors over which a curve's second derivative is taken."""

CLOSED = {"auto": "abc", "bca": "abc", "percentile": "percentile"}
"""Method of `Resampling` -> what `ci_method` calls its closed form."""


@dataclass(frozen=True)
class Statistic:
    """What is resampled: the metrics of one run, or the differences of two sides that are compared.

    `sides`: the column sums of the units, (..., units, columns) of one run or of each side.
    `metrics_of` gives the metrics at column sums of each side, (..., columns) -> (..., metrics).
    `n_units` (metrics): the units that take part. `unlimited` (metrics): whether a metric has no
    limits. `errors` (units, metrics) and `bias` (metrics) are for the closed form
    (`closed_bounds`).
    """

    sides: Sequence[Array]
    metrics_of: Callable[..., Array]
    n_units: Array
    unlimited: Array
    errors: Array
    bias: Array

    @cached_property
    def totals(self) -> list[Array]:
        """The column sums of each side."""
        return [over_units(sums) for sums in self.sides]

    @cached_property
    def values(self) -> Array:
        """The metrics as they were observed."""
        return self.metrics_of(*self.totals)


def resample_weights(
    m: int,
    n_resamples: int,
    rng: np.random.Generator,
) -> Iterator[Array]:
    """How often each of m units was drawn. Yields (up to CHUNK resamples, m)."""
    for start in range(0, n_resamples, CHUNK):
        rows = min(CHUNK, n_resamples - start)
        drawn = rng.integers(0, m, (rows, m))
        drawn += np.arange(rows)[:, None] * m
        times = np.bincount(drawn.ravel(), minlength=rows * m)
        # an integer matrix product would not use BLAS
        yield times.astype(float).reshape(rows, m)


def resampled(
    statistic: Statistic,
    wanted: Array,
    resampling: Resampling,
) -> Intervals:
    """Bootstrap intervals of the wanted metrics that vary, from the same draws for all sides."""
    if len(statistic.errors) > LARGE:
        return _closed(statistic, wanted, resampling)
    alpha = (1 - resampling.confidence) / 2
    unlimited = statistic.unlimited & (resampling.method == "auto")
    n = np.maximum(statistic.n_units, 2)
    t = stdtrit(n - 1, 1 - alpha)
    expanded = ndtr(-np.sqrt(n / (n - 1)) * t)
    tails = np.where(unlimited, expanded, alpha)
    intervals = _drawn(
        statistic,
        wanted,
        tails,
        resampling,
    )
    squares = sum_products(statistic.errors, statistic.errors)
    half = t * np.sqrt(squares * n / (n - 1))
    union = unlimited & (intervals.method != "none")
    t_low = np.where(union, statistic.values - half, np.nan)
    t_high = np.where(union, statistic.values + half, np.nan)
    return Intervals(
        low=np.fmin(intervals.low, t_low),
        high=np.fmax(intervals.high, t_high),
        method=np.where(union, "bca-t", intervals.method),
    )


def _closed(
    statistic: Statistic,
    wanted: Array,
    resampling: Resampling,
) -> Intervals:
    """The closed form of many units."""
    errors = statistic.errors
    directions = [errors.T @ sums for sums in statistic.sides]

    def curve(step: Array) -> Array:
        moved = []
        for total, direction in zip(statistic.totals, directions):
            moved.append(total[..., None, :] + step[:, None] * direction)
        return np.diagonal(statistic.metrics_of(*moved))

    intervals = Intervals.none(len(wanted))
    low, high = closed_bounds(
        errors,
        statistic.bias,
        curve,
        resampling,
    )
    intervals.fill(
        wanted & varies(errors, statistic.values),
        low,
        high,
        CLOSED[resampling.method],
    )
    return intervals


def closed_bounds(
    errors: Array,
    bias: Array,
    curve: Callable[[Array], Array],
    resampling: Resampling,
) -> tuple[Array, Array]:
    """(low, high) of every metric: the ABC interval, or the percentile interval's closed form.

    `errors` (units, metrics): what each unit brings into the metric. `bias` (metrics): that of the
    metric by its curvature. `curve` gives the metrics where unit i weighs 1 + step * errors[i], for
    one step a metric.

    With s the standard error, a the acceleration, c the quadratic coefficient of the curve and
    z0 = a - (bias / s - c), a bound lies on the curve at w / (1 - a w)^2 standard errors, w = z0 +-
    z. The percentile method's lies at v (1 + a v), v = -z0 +- z, which is the Cornish-Fisher
    quantile of the resampled values.
    """
    s = np.sqrt(sum_products(errors, errors))
    s[s == 0] = np.nan
    cubes = np.einsum(
        "um,um,um->m",
        errors,
        errors,
        errors,
    )
    a = cubes / (6 * s**3)
    here = curve(np.zeros_like(s))
    above = curve(STEP / s)
    below = curve(-STEP / s)
    second_difference = above + below - 2 * here
    c = second_difference / (2 * STEP**2 * s)
    z0 = a - (bias / s - c)
    z = ndtri(0.5 + resampling.confidence / 2)

    def bound(quantile: float) -> Array:
        if resampling.method == "percentile":
            v = quantile - z0
            return curve(v * (1 + a * v) / s)
        w = z0 + quantile
        distance = w / (1 - a * w) ** 2
        return curve(distance / s)

    return bound(-z), bound(z)


def _drawn(
    statistic: Statistic,
    wanted: Array,
    tails: Array,
    resampling: Resampling,
) -> Intervals:
    """The bootstrap. `tails` (metrics): the probability that lies outside on each side."""
    values = statistic.values
    one_left_out = []
    for total, sums in zip(statistic.totals, statistic.sides):
        one_left_out.append(total[..., None, :] - sums)
    jackknife = statistic.metrics_of(*one_left_out)
    wanted = wanted & varies(jackknife, values)
    intervals = Intervals.none(len(values))
    if not wanted.any():
        return intervals
    replicates = _replicates(statistic, wanted, resampling)
    for column, metric in enumerate(np.flatnonzero(wanted)):
        low, high, method = bounds(
            replicates[:, column],
            values[metric],
            jackknife[:, metric],
            float(tails[metric]),
            resampling.method == "percentile",
        )
        intervals.low[metric] = low
        intervals.high[metric] = high
        intervals.method[metric] = method
    return intervals


def _replicates(
    statistic: Statistic,
    wanted: Array,
    resampling: Resampling,
) -> Array:
    """The wanted metrics of every resample, (resamples, wanted)."""
    rng = np.random.default_rng(resampling.seed)
    replicates = []
    for weights in resample_weights(len(statistic.errors), resampling.n_resamples, rng):
        totals = [weights @ sums for sums in statistic.sides]
        values = statistic.metrics_of(*totals)
        replicates.append(values[:, wanted])
    return np.concatenate(replicates)


def bounds(
    replicates: Array,
    value: float,
    jackknife: Array,
    tail: float,
    percentile_only: bool,
) -> tuple[float, float, str]:
    """(low, high, method) of one metric from its resampled values (nan where undefined).

    `jackknife`: the leave-one-out values. `tail`: the probability outside on each side. Resamples
    in which the metric is undefined are left out. Where the bias correction is not finite the
    percentile interval stands in, and says so.
    """
    replicates = replicates[~np.isnan(replicates)]
    levels = np.array([tail, 1 - tail])
    method = "percentile"
    if not percentile_only:
        corrected = _bca_levels(
            replicates,
            value,
            jackknife,
            levels,
        )
        if np.isfinite(corrected).all():
            levels = corrected
            method = "bca"
    low, high = np.quantile(replicates, levels)
    return float(low), float(high), method


def _bca_levels(
    replicates: Array,
    value: float,
    jackknife: Array,
    levels: Array,
) -> Array:
    """The quantiles of the resampled values that BCa takes for these levels; nan for none."""
    largest = np.abs(replicates).max(initial=0.0)
    tolerance = TIE * max(abs(value), float(largest), 1e-300)
    below = np.count_nonzero(replicates < value - tolerance)
    up_to = np.count_nonzero(replicates <= value + tolerance)
    bias_correction = ndtri((below + up_to) / (2 * len(replicates)))
    known = jackknife[~np.isnan(jackknife)]
    deviation = known.mean() - known
    squares = np.sum(deviation**2)
    with np.errstate(all="ignore"):
        acceleration = np.sum(deviation**3) / (6 * squares**1.5)
        z = bias_correction + ndtri(levels)
        corrected = ndtr(bias_correction + z / (1 - acceleration * z))
    if not np.isfinite(bias_correction) or squares <= 0:
        return np.full(len(levels), np.nan)
    return corrected


def monte_carlo_digits(
    width: float,
    resampling: Resampling,
) -> int:
    """Decimals of bounds that their Monte-Carlo error supports, 1 to 4, for an interval so wide.

    >>> monte_carlo_digits(0.4, Resampling())
    2
    """
    # standard error of a bootstrap quantile, in units of the interval's width, for a normal density
    alpha = (1 - resampling.confidence) / 2
    z = ndtri(1 - alpha)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    variance = alpha * (1 - alpha) / resampling.n_resamples
    error = np.sqrt(variance) / density
    error = error / (2 * z) * width
    digits = np.floor(-np.log10(max(error, 1e-9)))
    return int(np.clip(digits, 1, 4))
