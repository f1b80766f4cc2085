"""The score interval of every metric of one run, and where the units carry a bootstrap instead."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from ..core.metric_matrix import Part
from ..core.resampling import CONSTANT
from .arrays import Array, divide, sum_products, varies
from .bounds import Intervals
from .influence import Cells
from .large_samples import over_units
from .mover import correlations, gains_and_losses, mover, unit_differences, unit_shares
from .score_intervals import (
    deciding,
    effective_units,
    first_ratio,
    mid_p,
    proportions,
    t_quantile,
    t_wilson,
)

CARRIES = 8
"""So many units must decide (`deciding`) for a bootstrap interval of a metric within limits."""

BOOTSTRAP_UNITS = 20
"""Fewest units for a bootstrap interval of a metric within limits."""

CARRIES_DIFFERENCE = 30
"""So many units must decide for a bootstrap interval of a paired difference within limits."""

LEAST_SIZE = 0.1
"""Least size (root mean square) of a unit's difference, as a share of how far the limits are apart,
for such a bootstrap. Beside smaller ones a large difference that was not drawn decides."""

CLOSEST = 10
"""Units that lie closer together than this promise too much: their variance, next to that of values
that are all at the limits, is smaller than 1 to CLOSEST. What was not drawn could then be most of
the spread."""


def run_bounds(
    run: Cells,
    confidence: float,
) -> tuple[Intervals, Array]:
    """The interval of every metric without resampling, and whether the units carry a bootstrap.

    - A proportion of units that are one trial each: "mid-p".
    - Another ratio: "score-t" with n - 1 degrees of freedom; n, of units that weigh m in the
      denominator, is (sum m)^2 / sum m^2.
    - The difference of two ratios: "mover" of its gains and losses, none where no unit differs.
    - Another weighted sum of ratios: "mover" of its ratios, each at its own n. One without units
      (an absent class) can be anything within its limits.

    Where no unit differs from another the method is CONSTANT. Nothing for a metric of which a part
    has no limits.
    """
    compiled = run.compiled
    varying = varies(run.errors[0], np.nan_to_num(run.values[0]))
    ratios = _ratio_bounds(run, confidence)
    lowest, highest = compiled.ends
    intervals = _mid_p(run, confidence)
    carries = np.zeros(len(compiled.parts), dtype=bool)
    for metric, parts in enumerate(compiled.parts):
        indices = [ratio for ratio, _ in parts]
        weights = np.array([weight for _, weight in parts])
        is_difference = len(parts) == 2 and weights.sum() == 0
        no_limits = np.isnan(ratios.below[indices]).any()
        if no_limits or intervals.method[metric] != "none":
            continue
        if is_difference and not varying[metric]:
            continue
        method = "mover" if len(parts) > 1 else "score-t"
        if is_difference:
            below, above, carries[metric] = _gains_and_losses(run, parts, confidence)
        else:
            together = correlations(run.own_errors[0][:, indices])
            below, above = mover(
                weights,
                ratios.below[indices],
                ratios.above[indices],
                together,
            )
            carries[metric] = ratios.carries[indices].all()
        value = weights @ ratios.values[indices]
        intervals.low[metric] = max(value - below, lowest[metric])
        intervals.high[metric] = min(value + above, highest[metric])
        intervals.method[metric] = method if varying[metric] else CONSTANT
    return intervals, carries


def _mid_p(
    run: Cells,
    confidence: float,
) -> Intervals:
    """The intervals of the proportions of units that are one trial each."""
    compiled = run.compiled
    ratio = first_ratio(compiled)
    den = run.den[0]
    trials = over_units(den)
    one_trial_each = sum_products(den, den) == trials
    trials = np.maximum(trials[ratio], 1.0)
    successes = over_units(run.num[0])[ratio]
    successes = np.clip(successes, 0.0, trials)
    low, high = mid_p(successes, trials, confidence)
    intervals = Intervals.none(len(ratio))
    intervals.fill(
        one_trial_each[ratio] & proportions(compiled),
        low,
        high,
        "mid-p",
    )
    return intervals


def carries_difference(
    differences: Array,
    span: Array,
) -> Array:
    """(metrics,): whether a bootstrap of paired differences (units, metrics) covers what it claims.

    That is where CARRIES_DIFFERENCE units decide, and units differ by LEAST_SIZE of the `span`
    between the limits.
    """
    mean_square = sum_products(differences, differences) * len(differences)
    is_large = mean_square >= (LEAST_SIZE * span) ** 2
    return is_large & (deciding(differences) >= CARRIES_DIFFERENCE)


def _gains_and_losses(
    run: Cells,
    parts: tuple[Part, ...],
    confidence: float,
) -> tuple[float, float, bool]:
    """How far the bounds of the difference of two ratios lie (below, above) its value.

    And whether the units carry a bootstrap of it.
    """
    # the ratio that is taken off has the lower weight
    (one, _), (other, weight) = sorted(parts, key=itemgetter(1))
    num, den = run.num[0], run.den[0]
    num_a, den_a = num[:, [one]], den[:, [one]]
    num_b, den_b = num[:, [other]], den[:, [other]]
    differences = unit_differences(
        num_a,
        den_a,
        num_b,
        den_b,
    )
    shares = unit_shares(den_a, den_b)
    least, most = run.compiled.limits[:, [one, other]]
    span = np.array([most.max() - least.min()])
    below, above = gains_and_losses(
        differences,
        shares,
        span,
        confidence,
    )
    carries = carries_difference(differences, span)
    return (
        weight * float(below[0]),
        weight * float(above[0]),
        bool(carries[0]),
    )


@dataclass(frozen=True)
class _RatioBounds:
    """Every ratio by itself: its value, how far its bounds lie below and above it (nan without
    limits), and whether the units carry a bootstrap."""

    values: Array
    below: Array
    above: Array
    carries: Array


def _ratio_bounds(
    run: Cells,
    confidence: float,
) -> _RatioBounds:
    """The "score-t" interval of every ratio.

    A bootstrap needs BOOTSTRAP_UNITS units, of which CARRIES decide, and which do not lie CLOSEST
    together.
    """
    compiled = run.compiled
    values = np.nan_to_num(compiled.ratios(run.totals)[0])
    errors = run.own_errors[0]
    n = effective_units(run.shares[0])
    squares = sum_products(errors, errors)
    variance = divide(squares * n, n - 1, otherwise=0.0)
    variance = np.where(varies(errors, values), variance, 0.0)
    critical = t_quantile(n - 1, confidence)
    low, high = t_wilson(
        values,
        variance,
        n,
        critical,
        compiled.limits,
    )

    least, most = compiled.limits
    n_units = (run.den[0] != 0).sum(axis=0)
    with np.errstate(invalid="ignore"):
        room = (values - least) * (most - values)
        apart = squares * n * CLOSEST >= room
    carries = (n_units >= BOOTSTRAP_UNITS) & (deciding(errors) >= CARRIES) & apart
    return _RatioBounds(
        values,
        values - low,
        high - values,
        carries,
    )
