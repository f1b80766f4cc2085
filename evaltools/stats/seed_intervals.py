"""One condition over its seeds, and which interval each of its metrics gets.

Reference: Korn and Graubard, "Confidence intervals for proportions with small expected number of
positive counts estimated from survey data", Survey Methodology 24 (1998), Wilson's interval at the
effective number of trials.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.resampling import COMPONENTS, CONSTANT, Resampling
from .arrays import Array, divide
from .bounds import Intervals
from .influence import Cells, seed_mean, seen
from .intervals import MIN_UNITS
from .score_intervals import (
    effective_units,
    first_ratio,
    normal_quantile,
    proportions,
    score_interval,
    t_quantile,
    t_wilson,
)
from .seed_variance import SeedTerm
from .variance import Spread, negligible, sample_term, spread

BY_COMPONENTS = (COMPONENTS, "wilson", "score-t")
"""The methods whose interval rests on the variance components."""


@dataclass(frozen=True)
class OverSeeds:
    """One condition over its seeds; quantities are arrays over metrics.

    `n_seeds`: seeds in which the metric is measured, `mean` of their values; `several`: whether it
    can have an interval over seeds. `n_units`: units that take part in any seed; `n_effective`: by
    the method "auto" each by what it weighs in the denominator. `spread`: uncertainty of the mean
    for new seeds and new samples; by the account with the wider interval its standard error
    (`error`, 0 where it is rounding), t quantile (`critical`) and degrees of freedom (`df`).
    `nested`: no unit occurs in two seeds.
    """

    cells: Cells
    n_seeds: Array
    several: Array
    mean: Array
    n_units: Array
    n_effective: Array
    spread: Spread
    error: Array
    critical: Array
    df: Array
    nested: Array

    def around_mean(self, half: Array) -> tuple[Array, Array]:
        """mean -+ half within the limits of every metric."""
        least, most = self.cells.compiled.ends
        low = np.maximum(self.mean - half, least)
        high = np.minimum(self.mean + half, most)
        return low, high


def over_seeds(
    cells: Cells,
    term: SeedTerm,
    resampling: Resampling,
) -> OverSeeds:
    """A condition over its seeds, whose values differ as `term` says."""
    values = cells.values
    measured = ~np.isnan(values)
    n_seeds = measured.sum(axis=0)
    lowest = np.fmin.reduce(values)
    all_equal = lowest == np.fmax.reduce(values)
    # of equal values that value, without the rounding of a sum
    mean = np.where(all_equal, lowest, seed_mean(values, measured))

    in_seeds = seen(cells.present, measured)
    n_units = (in_seeds & cells.takes_part).sum(axis=0)
    n_effective = n_units
    if resampling.method == "auto":
        added = np.maximum(cells.compiled.weights, 0.0)
        shares = seed_mean(cells.shares @ added, measured)
        n_effective = effective_units(np.nan_to_num(shares))
    errors = seed_mean(cells.errors, measured)
    of_mean = spread(sample_term(errors, n_effective), term)
    error, critical, df = of_mean.widest(resampling.confidence)
    return OverSeeds(
        cells=cells,
        n_seeds=n_seeds,
        several=(n_seeds > 1) & ~cells.compiled.counts,
        mean=mean,
        n_units=n_units,
        n_effective=n_effective,
        spread=of_mean,
        error=np.where(negligible(of_mean.variance, values), 0.0, error),
        critical=critical,
        df=df,
        nested=term.nested,
    )


def seed_intervals(
    condition: OverSeeds,
    resampling: Resampling,
) -> Intervals:
    """The intervals of `seeds.aggregate` for metrics that are measured in several seeds."""
    intervals = Intervals.none(len(condition.mean))
    if resampling.method == "auto":
        _fill_scored(intervals, condition, resampling.confidence)
    else:
        _fill_wilson(intervals, condition, resampling.confidence)
    low, high = condition.around_mean(condition.error * condition.critical)
    intervals.fill(
        _has_components(condition),
        low,
        high,
        COMPONENTS,
    )
    return intervals


def _has_components(condition: OverSeeds) -> Array:
    """Whether variance components carry an interval: enough units and some variation."""
    enough = condition.n_units >= MIN_UNITS
    varies = condition.error > 0
    return condition.several & enough & varies


def _fill_scored(
    intervals: Intervals,
    condition: OverSeeds,
    confidence: float,
) -> None:
    """Metrics within limits have Wilson's interval by the method "auto"; differences have none.

    It reaches at least as far as that of no event (or of nothing else) in every unit, which would
    otherwise be wider than that of a single one.
    """
    compiled = condition.cells.compiled
    mean, error, n = condition.mean, condition.error, condition.n_effective
    is_proportion = proportions(compiled)
    is_difference = (compiled.weights < 0).any(axis=0)
    limits = np.where(is_difference, np.nan, compiled.ends)

    of_units = t_quantile(n - 1, confidence)
    of_units = np.where(is_proportion, normal_quantile(confidence), of_units)
    quantile = np.where(error > 0, condition.critical, of_units)
    low, high = t_wilson(mean, error**2, n, quantile, limits)
    no_variance = np.zeros_like(mean)
    least, most = limits
    low_of_all, _ = t_wilson(
        most,
        no_variance,
        n,
        of_units,
        limits,
    )
    _, high_of_none = t_wilson(
        least,
        no_variance,
        n,
        of_units,
        limits,
    )

    # of hardly any degrees of freedom the interval would be all that is possible
    few_df = _has_components(condition) & (condition.df < 2)
    plain_low, plain_high = condition.around_mean(error * condition.critical)
    constant = np.where(is_proportion, "wilson", CONSTANT)
    method = np.where(error > 0, "score-t", constant)
    intervals.fill(
        condition.several & ~np.isnan(low),
        np.fmin(np.where(few_df, plain_low, low), low_of_all),
        np.fmax(np.where(few_df, plain_high, high), high_of_none),
        np.where(few_df, COMPONENTS, method),
    )


def _fill_wilson(
    intervals: Intervals,
    condition: OverSeeds,
    confidence: float,
) -> None:
    """Proportions have Wilson's interval by the methods "bca" and "percentile"."""
    compiled = condition.cells.compiled
    mean, n = condition.mean, condition.n_units
    is_proportion = condition.several & (n > 0) & proportions(compiled)
    varies = (condition.error > 0) & (mean > 0) & (mean < 1)

    totals = condition.cells.totals.sum(axis=0)
    trials = (totals @ compiled.denominator)[first_ratio(compiled)]
    effective = divide(mean * (1 - mean), condition.error**2)
    effective = np.fmin(effective, trials)
    # without variation the units stand in, as if all seeds of a unit were one trial
    effective = np.where(varies, effective, n)
    quantile = np.where(varies, condition.critical, normal_quantile(confidence))
    low, high = score_interval(
        np.where(is_proportion, mean, 0.5),
        np.where(is_proportion, effective, 1.0),
        quantile,
    )
    intervals.fill(
        is_proportion,
        low,
        high,
        "wilson",
    )
