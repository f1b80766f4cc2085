"""Score intervals: bounds of metrics within limits, without resampling.

Wilson's interval holds for proportions of independent trials. A mean, an F1 or a rate of clusters
has it at its effective number of trials, with the quantile of a t. A difference of two metrics has
the bounds of its sides, put together by MOVER.

References: Wilson, JASA 22 (1927); Korn and Graubard, "Confidence intervals for proportions with
small expected number of positive counts estimated from survey data", Survey Methodology 24 (1998);
Zou and Donner, "Construction of confidence limits about effect measures", Statistics in Medicine 27
(2008), MOVER.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit

from ..core.metric import Metric
from ..core.metric_matrix import Compiled
from ..core.resampling import CONSTANT
from .arrays import Array, divide, sum_products, varies
from .bounds import Intervals
from .influence import Cells
from .large_samples import over_units

DOUBT = 0.1
"""Units of the greatest possible deviation that are added to find the number of trials."""

WIDE = 1e9
"""Critical value that stands for an infinite one: the interval is all that the limits allow."""


def wilson(
    successes: float,
    trials: float,
    confidence: float,
) -> tuple[float, float]:
    """Wilson score interval of a proportion; counts may be fractional (scaled).

    >>> low, high = wilson(8, 10, 0.95)
    >>> round(low, 3), round(high, 3)
    (0.49, 0.943)
    """
    low, high = score_interval(successes / trials, trials, normal_quantile(confidence))
    return float(low), float(high)


def normal_quantile(confidence: float) -> float:
    """Two-sided critical value of a normal, about 1.96 for a confidence of 0.95."""
    return float(ndtri(0.5 + confidence / 2))


def t_quantile(df: Array, confidence: float) -> Array:
    """Two-sided critical values of a t; WIDE without degrees of freedom."""
    df = np.where(df > 0, df, np.nan)
    critical = stdtrit(df, 0.5 + confidence / 2)
    return np.fmin(critical, WIDE)


def score_interval(
    p: Any,
    trials: Any,
    critical: Any,
) -> tuple[Any, Any]:
    """Wilson's interval of proportions p of `trials`, at quantiles of a normal or a t."""
    z2 = critical**2
    shrink = 1 + z2 / trials
    centre = (p + z2 / (2 * trials)) / shrink
    variance = p * (1 - p) / trials + z2 / (4 * trials**2)
    half = critical * np.sqrt(variance) / shrink
    low = np.where(p <= 0, 0.0, centre - half)
    high = np.where(p >= 1, 1.0, centre + half)
    return np.maximum(low, 0.0), np.minimum(high, 1.0)


def effective_trials(
    p: Array,
    variance: Array,
    n: Array,
) -> Array:
    """Trials of a proportion p that are as sure as a mean of values in 0..1 with this variance.

    That is p (1 - p) / variance (Korn and Graubard); n where the variance is 0. Few values that
    differ know their variance badly, and values that lie by chance close together would promise too
    much: of n units, the trials are not more than with DOUBT further units at the far limit,
    n (n p (1 - p) + DOUBT) / (n^2 variance + DOUBT).
    """
    spread = p * (1 - p)
    trials = divide(spread, variance)
    trials = np.where(spread > 0, trials, np.inf)
    with_doubt = n * (n * spread + DOUBT)
    with_doubt = with_doubt / (n**2 * variance + DOUBT)
    fewer = np.minimum(trials, with_doubt)
    return np.where(variance > 0, fewer, n)


def t_wilson(
    value: Array,
    variance: Array,
    n: Array,
    critical: Array,
    limits: Array,
) -> tuple[Array, Array]:
    """Wilson's interval of bounded metrics at the effective number of trials.

    `variance` is that of the values, which rest on `n` units; `critical` is a t quantile. `limits`
    (2, metrics); nan for limits that are not finite.
    """
    has_limits = np.isfinite(limits).all(axis=0)
    least, most = np.where(has_limits, limits, np.nan)
    width = np.where(most > least, most - least, 1.0)
    p = (value - least) / width
    p = np.clip(p, 0.0, 1.0)
    trials = effective_trials(p, variance / width**2, n)
    low, high = score_interval(p, trials, critical)
    return least + width * low, least + width * high


def mover(
    one: tuple[Array, ...],
    other: tuple[Array, ...],
    correlation: Array,
) -> tuple[Array, Array]:
    """(low, high) of other - one, each of them (value, low, high), by recovering their variances.

    The method of variance estimates recovery of Zou and Donner, for estimates with a correlation.
    """
    value, low, high = one
    other_value, other_low, other_high = other
    difference = other_value - value
    below = _reach(other_value - other_low, high - value, correlation)
    above = _reach(other_high - other_value, value - low, correlation)
    return difference - below, difference + above


def _reach(
    x: Array,
    y: Array,
    correlation: Array,
) -> Array:
    """Distance of a bound of a difference, from the distances of the bounds of its sides."""
    product = correlation * (x * y)
    square = x**2 + y**2 - 2 * product
    return np.sqrt(np.maximum(square, 0.0))


def share_correlation(
    x: Array,
    y: Array,
) -> Array:
    """Correlation of errors (units, metrics) that sum to 0; 0 where one does not vary."""
    squares = sum_products(x, x) * sum_products(y, y)
    size = np.sqrt(squares)
    return divide(sum_products(x, y), size, otherwise=0.0)


def deciding(errors: Array) -> Array:
    """How many units decide the variance of each metric.

    That is (sum e^2)^2 / sum e^4 of the errors (units, metrics). Of m units that differ alike from
    all the others it is about m, of normal errors n / 3; 0 where nothing varies.
    """
    squares = errors**2
    total = squares.sum(axis=0)
    fourth_powers = sum_products(squares, squares)
    return divide(total**2, fourth_powers, otherwise=0.0)


def effective_units(shares: Array) -> Array:
    """(sum m)^2 / sum m^2 of what each unit weighs in each metric; 1 where none does."""
    total = over_units(shares)
    squares = sum_products(shares, shares)
    return divide(total**2, squares, otherwise=1.0)


def proportions(compiled: Compiled) -> Array:
    """(metrics,): whether each metric is a proportion."""
    is_proportion = []
    for metric in compiled.metrics:
        is_proportion.append(isinstance(metric, Metric) and metric.proportion)
    return np.array(is_proportion, dtype=bool)


def first_ratio(compiled: Compiled) -> Array:
    """(metrics,): index of the ratio that each metric is, or of the first that it is made of."""
    ratios = []
    for parts in compiled.parts:
        first, _ = parts[0]
        ratios.append(first)
    return np.array(ratios, dtype=int)


@dataclass(frozen=True)
class _Side:
    """What a metric adds, or takes off: value, bounds (metrics) and errors (units, metrics)."""

    value: Array
    low: Array
    high: Array
    errors: Array


def score_bounds(
    run: Cells,
    confidence: float,
    t_only: bool = False,
) -> tuple[Intervals, Array]:
    """(intervals of every metric of one run, how many units decide each), without resampling.

    A proportion of units that are one trial each has Wilson's interval (not if `t_only`). Other
    ratios, and means of ratios, have it at the effective number of trials with the t quantile of
    n - 1 degrees of freedom; n, of units that weigh m in the denominator, is (sum m)^2 / sum m^2. A
    difference has the bounds of its sides, put together by `mover`. Where no unit differs
    (CONSTANT) n is the number of trials; 0 units decide. Nothing for a metric of which a part has
    no limits.
    """
    compiled = run.compiled
    den = run.den[0]
    one_trial_each = sum_products(den, den) == over_units(den)
    plain = one_trial_each[first_ratio(compiled)] & proportions(compiled)
    if t_only:
        plain = np.zeros_like(plain)
    (added_weights, added_limits), (taken_weights, taken_limits) = compiled.sides
    is_difference = taken_weights.any(axis=0)

    added = _side(run, added_weights, added_limits, plain, confidence)
    value = added.value
    errors = added.errors
    low, high = added.low, added.high
    if is_difference.any():
        taken = _side(run, taken_weights, taken_limits, plain, confidence)
        difference_low, difference_high = mover(
            (taken.value, taken.low, taken.high),
            (added.value, added.low, added.high),
            share_correlation(added.errors, taken.errors),
        )
        low = np.where(is_difference, difference_low, low)
        high = np.where(is_difference, difference_high, high)
        value = added.value - taken.value
        errors = added.errors - taken.errors
    n_deciding = np.where(varies(errors, value), deciding(errors), 0.0)
    intervals = Intervals.none(len(value))
    has_limits = ~np.isnan(low)
    intervals.fill(has_limits & is_difference, low, high, "mover")
    intervals.fill(has_limits & plain, low, high, "wilson")
    intervals.fill(has_limits & (n_deciding == 0), low, high, CONSTANT)
    intervals.fill(has_limits, low, high, "t-wilson")
    return intervals, n_deciding


def _side(
    run: Cells,
    weights: Array,
    limits: Array,
    plain: Array,
    confidence: float,
) -> _Side:
    """One side of every metric: the ratios times these weights (ratios, metrics)."""
    ratios = np.nan_to_num(run.compiled.ratios(run.totals))
    value = ratios[0] @ weights
    errors = run.own_errors[0] @ weights
    n = effective_units(run.shares[0] @ weights)
    squares = sum_products(errors, errors)
    variance = squares * n / np.maximum(n - 1, 1 / WIDE)
    is_constant = ~varies(errors, value)
    variance = np.where(plain | is_constant, 0.0, variance)
    t = t_quantile(n - 1, confidence)
    critical = np.where(plain, normal_quantile(confidence), t)
    low, high = t_wilson(value, variance, n, critical, limits)
    return _Side(value, low, high, errors)
