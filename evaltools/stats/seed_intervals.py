"""Intervals over seeds: which method each metric of a condition gets.

Reference: Korn and Graubard, "Confidence intervals for proportions with small expected number of
positive counts estimated from survey data", Survey Methodology 24 (1998), Wilson's interval at the
effective number of trials.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from ..core.resampling import COMPONENTS, CONSTANT
from .arrays import Array, divide
from .bounds import Intervals
from .over_seeds import OverSeeds
from .score_intervals import (
    first_ratio,
    normal_quantile,
    proportions,
    score_interval,
    t_quantile,
    t_wilson,
)

BY_COMPONENTS = (COMPONENTS, "wilson", "score-t")
"""The methods whose interval rests on the variance components."""

EstimatesOf = Callable[[int], pd.DataFrame]
"""Number of a seed -> the estimates of its run."""


def seed_intervals(
    condition: OverSeeds,
    estimates_of: EstimatesOf,
) -> Intervals:
    """The intervals of `seeds.aggregate`."""
    intervals = Intervals.none(len(condition.mean))
    _fill_one_seed(intervals, condition, estimates_of)
    if condition.resampling.method == "auto":
        _fill_scored(intervals, condition)
    else:
        _fill_wilson(intervals, condition)
    error, critical, _ = condition.widest
    low, high = condition.clipped(error * critical)
    intervals.fill(condition.has_components, low, high, COMPONENTS)
    return intervals


def _fill_one_seed(
    intervals: Intervals,
    condition: OverSeeds,
    estimates_of: EstimatesOf,
) -> None:
    """Metrics that are measured in one seed only have the interval of that run."""
    one_seed = condition.n_seeds == 1
    first_seed = np.argmax(condition.measured, axis=0)
    for k in np.unique(first_seed[one_seed]):
        of_run = estimates_of(k).set_index("metric").loc[condition.compiled.names]
        intervals.fill(
            one_seed & (first_seed == k),
            of_run["ci_low"].to_numpy(),
            of_run["ci_high"].to_numpy(),
            of_run["ci_method"].to_numpy(),
        )


def _fill_scored(
    intervals: Intervals,
    condition: OverSeeds,
) -> None:
    """Metrics within limits have Wilson's interval by the method "auto".

    It reaches at least as far as that of no event (or of nothing else) in every unit, which would
    otherwise be wider than that of a single one.
    """
    compiled = condition.compiled
    mean = condition.mean
    n = condition.n_effective
    error, critical, df = condition.widest
    confidence = condition.resampling.confidence
    is_proportion = proportions(compiled)
    limits = _limits(condition)

    of_units = t_quantile(n - 1, confidence)
    of_units = np.where(is_proportion, normal_quantile(confidence), of_units)
    quantile = np.where(error > 0, critical, of_units)
    low, high = t_wilson(mean, error**2, n, quantile, limits)
    no_variance = np.zeros_like(mean)
    least, most = limits
    low_of_all, _ = t_wilson(most, no_variance, n, of_units, limits)
    _, high_of_none = t_wilson(least, no_variance, n, of_units, limits)

    has_limits = condition.several & ~np.isnan(low)
    # of hardly any degrees of freedom the interval would be all that is possible
    few_df = has_limits & condition.has_components & (df < 2)
    plain_low, plain_high = condition.clipped(error * critical)
    intervals.fill(
        few_df,
        np.fmin(plain_low, low_of_all),
        np.fmax(plain_high, high_of_none),
        COMPONENTS,
    )
    constant = np.where(is_proportion, "wilson", CONSTANT)
    intervals.fill(
        has_limits,
        np.fmin(low, low_of_all),
        np.fmax(high, high_of_none),
        np.where(error > 0, "score-t", constant),
    )


def _limits(condition: OverSeeds) -> Array:
    """(2, metrics): limits of every metric; nan for a difference."""
    (_, limits), (taken_weights, _) = condition.compiled.sides
    is_difference = taken_weights.any(axis=0)
    return np.where(is_difference, np.nan, limits)


def _fill_wilson(
    intervals: Intervals,
    condition: OverSeeds,
) -> None:
    """Proportions have Wilson's interval by the methods "bca" and "percentile"."""
    mean = condition.mean
    n = condition.n_units
    error, critical, _ = condition.widest
    compiled = condition.compiled
    is_proportion = condition.several & (n > 0) & proportions(compiled)
    varies = (error > 0) & (mean > 0) & (mean < 1)

    totals = condition.cells.totals.sum(axis=0)
    trials = (totals @ compiled.denominator)[first_ratio(compiled)]
    effective = divide(mean * (1 - mean), error**2)
    effective = np.fmin(effective, trials)
    # without variation the units stand in, as if all seeds of a unit were one trial
    effective = np.where(varies, effective, n)
    effective = np.where(is_proportion, effective, 1.0)
    share = np.where(varies, mean, mean * n / np.maximum(n, 1))
    share = np.where(is_proportion, share, 0.5)
    z = normal_quantile(condition.resampling.confidence)
    low, high = score_interval(share, effective, np.where(varies, critical, z))
    intervals.fill(is_proportion, low, high, "wilson")
