"""Bounds of sums and differences from the bounds of their parts (MOVER).

The distance of a bound of a weighted sum is put together from the distances of the bounds of its
parts, as standard errors would be. So each part keeps its own asymmetry: near its limits an
interval is longer on one side.

Reference: Zou and Donner, "Construction of confidence limits about effect measures", Statistics in
Medicine 27 (2008). Measured coverage: benchmarks/simulations.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .arrays import Array, divide, sum_products
from .large_samples import over_units
from .score_intervals import effective_units, t_quantile, t_wilson

DOUBT = 0.03
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
            DOUBT,
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
    the ratios. A ratio without a denominator counts as 0.

    >>> one = np.array([[1.0], [0.0]])
    >>> unit_differences(one, np.ones((2, 1)), np.ones((2, 1)), np.ones((2, 1))).ravel().tolist()
    [0.0, 0.5]
    """
    total_a = over_units(den_a)
    total_b = over_units(den_b)
    ratio_a = _quotient(over_units(num_a), total_a)
    ratio_b = _quotient(over_units(num_b), total_b)
    middle = (ratio_a + ratio_b)[..., None, :] / 2
    total = (total_a + total_b)[..., None, :] / 2
    differences = num_b - num_a - middle * (den_b - den_a)
    return _quotient(differences, total)


def unit_shares(
    den_a: Array,
    den_b: Array,
) -> Array:
    """What each unit weighs in the difference of two ratios; sums to 1 over units, or is all 0."""
    weights = den_a + den_b
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
