"""Score intervals: bounds of metrics within limits, without resampling, and those of sums of metrics.

The mid-p Clopper-Pearson interval holds for proportions of independent trials. A mean, an F1 or a
rate of clusters has Wilson's at its effective number of trials, with the quantile of a t
("score-t").

MOVER: the distance of a bound of a weighted sum is put together from the distances of the bounds of
its parts, as standard errors would be. So each part keeps its own asymmetry: near its limits an
interval is longer on one side.

References: Berry and Armitage, "Mid-P confidence intervals: a brief review", The Statistician 44
(1995); Wilson, JASA 22 (1927); Korn and Graubard, "Confidence intervals for proportions with small
expected number of positive counts estimated from survey data", Survey Methodology 24 (1998); Zou
and Donner, "Construction of confidence limits about effect measures", Statistics in Medicine 27
(2008). Measured coverage: docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import betainc, ndtri, stdtrit

from ..core.metric import Metric
from ..core.metric_matrix import Compiled
from .arrays import Array, divide, least, over_units, sum_products

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
    centre = p + z2 / (2 * trials)
    centre = centre / shrink
    of_p = p * (1 - p) / trials
    variance = of_p + z2 / (4 * trials**2)
    half = critical * np.sqrt(variance) / shrink
    low = np.where(p <= 0, 0.0, centre - half)
    high = np.where(p >= 1, 1.0, centre + half)
    return np.maximum(low, 0.0), np.minimum(high, 1.0)


def mid_p(
    successes: Array,
    trials: Array,
    confidence: float,
) -> tuple[Array, Array]:
    """Mid-p Clopper-Pearson interval of proportions; counts may be fractional.

    A bound is the proportion under which as many successes or fewer (or as many or more) have the
    probability (1 - confidence) / 2, the observed number counting half.

    >>> low, high = mid_p(np.array([8.0]), np.array([10.0]), 0.95)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.48], [0.965])
    """
    tail = (1 - confidence) / 2
    low = 1 - _mid_p_upper(trials - successes, trials, tail)
    high = _mid_p_upper(successes, trials, tail)
    return low, high


def _mid_p_upper(
    successes: Array,
    trials: Array,
    tail: float,
) -> Array:
    """The upper bound: the probability falls as the proportion rises."""
    failures = trials - successes

    def is_unlikely(p: Array) -> Array:
        up_to = betainc(failures, successes + 1, 1 - p)
        below = betainc(failures + 1, successes, 1 - p)
        return (up_to + below) / 2 <= tail

    upper = least(is_unlikely, successes / trials, np.ones_like(trials))
    return np.where(successes >= trials, 1.0, upper)


def effective_trials(
    p: Array,
    variance: Array,
    n: Array,
    doubt: float = DOUBT,
) -> Array:
    """Trials of a proportion p that are as sure as a mean of values in 0..1 with this variance.

    That is p (1 - p) / variance (Korn and Graubard); n where the variance is 0. Few values that
    differ know their variance badly, and values that lie by chance close together would promise too
    much: of n units, the trials are not more than with `doubt` further units at the far limit,
    n (n p (1 - p) + doubt) / (n^2 variance + doubt).
    """
    spread = p * (1 - p)
    trials = divide(spread, variance)
    trials = np.where(spread > 0, trials, np.inf)
    doubted_spread = n * (n * spread + doubt)
    doubted_variance = n**2 * variance + doubt
    with_doubt = doubted_spread / doubted_variance
    fewer = np.minimum(trials, with_doubt)
    return np.where(variance > 0, fewer, n)


def t_wilson(
    value: Array,
    variance: Array,
    n: Array,
    critical: Array,
    limits: Array,
    doubt: float = DOUBT,
) -> tuple[Array, Array]:
    """Wilson's interval of bounded metrics at the effective number of trials.

    `variance` is that of the values, which rest on `n` units; `critical` is a t quantile. `limits`
    (2, metrics); nan for limits that are not finite.
    """
    has_limits = np.isfinite(limits).all(axis=0)
    lowest, highest = np.where(has_limits, limits, np.nan)
    width = np.where(highest > lowest, highest - lowest, 1.0)
    p = (value - lowest) / width
    p = np.clip(p, 0.0, 1.0)
    trials = effective_trials(
        p,
        variance / width**2,
        n,
        doubt,
    )
    low, high = score_interval(p, trials, critical)
    return lowest + width * low, lowest + width * high


def deciding(errors: Array) -> Array:
    """How many units decide the variance of each metric.

    That is (sum e^2)^2 / sum e^4 of the errors (units, metrics). Of m units that differ alike from
    all the others it is about m, of normal errors n / 3; 0 where nothing varies.
    """
    return effective_units(errors**2, otherwise=0.0)


def effective_units(
    shares: Array,
    otherwise: float = 1.0,
) -> Array:
    """(sum m)^2 / sum m^2 of what each unit weighs in each metric; `otherwise` where none does."""
    total = over_units(shares)
    squares = sum_products(shares, shares)
    return divide(total**2, squares, otherwise)


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


DOUBT_OF_PARTS = 0.03
"""Units at the far limit that are added to find the number of trials of gains and of losses."""

WIDEST_DF = 1e-9
"""Least degrees of freedom that a variance is divided by."""


def mover(
    weights: Array,
    below: Array,
    above: Array,
    correlations: Array,
) -> tuple[float, float]:
    """How far the bounds of a weighted sum lie (below, above) its value.

    `below`, `above` (parts): how far those of each part do. `correlations` (parts, parts).

    >>> apart = np.eye(2)
    >>> mover(np.array([1.0, -1.0]), np.array([3.0, 1.0]), np.array([1.0, 4.0]), apart)
    (5.0, 1.4142135623730951)
    """
    adds = weights > 0
    downward = weights * np.where(adds, below, above)
    upward = weights * np.where(adds, above, below)
    low = downward @ correlations @ downward
    high = upward @ correlations @ upward
    return _root(low), _root(high)


def _root(square: float) -> float:
    """The root of what rounding may have made negative."""
    return float(np.sqrt(max(square, 0.0)))


def correlations(errors: Array) -> Array:
    """Correlations of errors (units, parts) that sum to 0; 0 where one does not vary."""
    products = errors.T @ errors
    size = np.sqrt(np.diag(products))
    correlation = divide(products, np.outer(size, size), otherwise=0.0)
    np.fill_diagonal(correlation, 1.0)
    return correlation


def gains_and_losses(
    differences: Array,
    shares: Array,
    spans: Array | Sequence[float],
    confidence: float,
) -> tuple[Array, Array]:
    """How far the bounds of paired differences lie (below, above) their sums; (metrics) each.

    `differences` (units, metrics) sum to the difference; `shares` (units, metrics), what each unit
    weighs, sum to 1. `spans` (metrics): how far apart the limits are. Gains and losses are each a
    mean within 0 and the span, with a score interval of its own ("score-t"), and are put together
    by MOVER. So a few large losses beside many small gains, or none that was drawn, widen the side
    on which they lie.
    """
    n = effective_units(shares)
    critical = t_quantile(n - 1, confidence)
    correction = n / np.maximum(n - 1, WIDEST_DF)
    spans = np.broadcast_to(spans, n.shape)
    limits = np.stack([np.zeros_like(n), spans])
    gains = np.maximum(differences, 0.0)
    losses = np.maximum(-differences, 0.0)
    parts = []
    for part in (gains, losses):
        mean = part.sum(axis=0)
        errors = part - mean * shares
        variance = sum_products(errors, errors) * correction
        low, high = t_wilson(
            mean,
            variance,
            n,
            critical,
            limits,
            DOUBT_OF_PARTS,
        )
        parts.append((errors, mean - low, high - mean))
    (of_gains, gains_below, gains_above), (of_losses, losses_below, losses_above) = parts
    squares = sum_products(of_gains, of_gains) * sum_products(of_losses, of_losses)
    products = sum_products(of_gains, of_losses)
    correlation = divide(products, np.sqrt(squares), otherwise=0.0)
    below = _reach(gains_below, losses_above, correlation)
    above = _reach(gains_above, losses_below, correlation)
    return below, above


def _reach(
    x: Array,
    y: Array,
    correlation: Array,
) -> Array:
    """Distance of a bound of a difference, from the distances of the bounds of its sides."""
    product = correlation * (x * y)
    square = x**2 + y**2 - 2 * product
    return np.sqrt(np.maximum(square, 0.0))


def unit_differences(
    num_a: Array,
    den_a: Array,
    num_b: Array,
    den_b: Array,
) -> Array:
    """What each unit brings into ratio b less ratio a: (..., units, ratios) each, and the result.

    With R and D the mean of the two ratios and of the two denominators, that is (difference of the
    numerators - R * difference of the denominators) / D. So a unit with the same numerator and
    denominator brings exactly 0, however far the totals lie apart, and the sum is the difference of
    the ratios. A ratio without a denominator counts as 0. Denominators that lie far apart as a whole
    (ten trials of a sample against one) are brought to one size first (`_scales`); there the sum
    holds, and equal units may differ.

    >>> one = np.array([[1.0], [0.0]])
    >>> unit_differences(one, np.ones((2, 1)), np.ones((2, 1)), np.ones((2, 1))).ravel().tolist()
    [0.0, 0.5]
    """
    scale_a, scale_b = _scales(den_a, den_b)
    num_a, den_a = scale_a * num_a, scale_a * den_a
    num_b, den_b = scale_b * num_b, scale_b * den_b
    total_a = over_units(den_a)
    total_b = over_units(den_b)
    ratio_a = _quotient(over_units(num_a), total_a)
    ratio_b = _quotient(over_units(num_b), total_b)
    middle = (ratio_a + ratio_b)[..., None, :] / 2
    total = (total_a + total_b)[..., None, :] / 2
    differences = num_b - num_a - middle * (den_b - den_a)
    return _quotient(differences, total)


FAR_APART = 1.5
"""Totals of denominators one of which is more than so many times the other are scales of their own."""


def _scales(
    den_a: Array,
    den_b: Array,
) -> tuple[Array, Array]:
    """What each side of the denominators (..., units, ratios) is multiplied by; 1 for most ratios.

    Where the totals are FAR_APART, and most units with a denominator on both sides have another one
    there, both sides get the mean of the totals. Else the side with more would outweigh the other,
    and the spread of the differences come out too small.
    """
    total_a = over_units(den_a)[..., None, :]
    total_b = over_units(den_b)[..., None, :]
    smaller = np.minimum(total_a, total_b)
    larger = np.maximum(total_a, total_b)
    far_apart = (smaller > 0) & (larger > FAR_APART * smaller)
    in_both = (den_a != 0) & (den_b != 0)
    alike = in_both & (den_a == den_b)
    far_apart &= 2 * over_units(alike)[..., None, :] < over_units(in_both)[..., None, :]
    middle = (total_a + total_b) / 2
    scale_a = np.where(far_apart, _quotient(middle, total_a), 1.0)
    scale_b = np.where(far_apart, _quotient(middle, total_b), 1.0)
    return scale_a, scale_b


def unit_shares(
    den_a: Array,
    den_b: Array,
) -> Array:
    """What each unit weighs in the difference of two ratios; sums to 1 over units, or is all 0."""
    scale_a, scale_b = _scales(den_a, den_b)
    weights = scale_a * den_a + scale_b * den_b
    return _quotient(weights, over_units(weights)[..., None, :])


def _quotient(
    numerators: Array,
    denominators: Array,
) -> Array:
    """numerators / denominators, 0 where the denominator is 0."""
    denominators = np.broadcast_to(denominators, numerators.shape)
    quotients = np.zeros(numerators.shape)
    np.divide(
        numerators,
        denominators,
        out=quotients,
        where=denominators != 0,
    )
    return quotients
