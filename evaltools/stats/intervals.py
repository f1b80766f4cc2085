"""Intervals of one run, of a condition over its seeds, and of paired differences: the rows of docs/statistics.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..core.estimates import complete, public_frame
from ..core.metric import Metric, MetricTable
from ..core.resampling import Resampling
from .bootstrap import Draws, bootstrap, expanded
from .formulas import DOUBT_OF_PARTS, Limits, mid_p, mover, none_seen, score_t, t_quantile
from .influence import (
    LARGE,
    Array,
    Cells,
    Runs,
    effective_units,
    label,
    rounded,
    sample_variance,
    unit_differences,
    unit_shares,
    varies,
)
from .seeds import NEW_SEEDS, THIS_RUN, accounts, seed_part, widest

# Fewer resampling units than this have no interval without limits, and no verdict.
MIN_UNITS = 10
# A BCa interval within limits needs so many effective units, and of a difference so many that differ.
BCA_UNITS = 50
# So many units must be off the commonest value for it.
OFF_COMMONEST = 10


class Interval(NamedTuple):
    """Bounds and how they were made; nan and "none" where there is none."""

    low: float = np.nan
    high: float = np.nan
    method: str = "none"


# --- differences of one run each, or within a run


def gains_and_losses(
    differences: Array,
    shares: Array,
    span: float,
    alpha: float,
) -> tuple[float, float]:
    """How far the bounds of a paired difference lie (below, above) it.

    `differences` (units,) sum to it; `shares` (units,), what each unit weighs, sum to 1. `span`: how
    far apart the limits are. Gains and losses are each a mean within 0 and the span, with a score
    interval of its own, put together by MOVER; of one that was not drawn the bound is that of `none_seen`.
    """
    n = effective_units(shares)
    errors, below, above = [], [], []
    for part in (np.maximum(differences, 0.0), np.maximum(-differences, 0.0)):
        mean = part.sum()
        error = part - mean * shares
        variance, critical = sample_variance(error, n), t_quantile(n - 1, alpha)
        low, high = score_t(mean, variance, n, critical, (0.0, span), alpha, DOUBT_OF_PARTS)
        if mean <= 0:
            high = span * none_seen(n, alpha)
        errors.append(error)
        below.append(mean - low)
        above.append(high - mean)
    signs = np.array([1.0, -1.0])
    return mover(signs, np.array(below), np.array(above), np.stack(errors, axis=1))


def difference_interval(
    differences: Array,
    shares: Array,
    limits: Limits,
    alpha: float,
    draws: Draws | None = None,
) -> Interval:
    """Rows 5, 7 and 8: the interval of a paired difference.

    `differences`, `shares` (units,), `limits` of the difference; `draws`: its bootstrap, if it has one.
    """
    value, n = differences.sum(), effective_units(shares)
    n_units, n_differ = (int(np.count_nonzero(each)) for each in (shares, differences))
    errors = differences - value * shares
    has_limits = bool(np.isfinite(limits).all())
    if has_limits and draws and n_differ >= BCA_UNITS:
        return Interval(*draws.bounds(alpha), "bca")
    is_dense = n_differ >= MIN_UNITS or not has_limits
    if is_dense and n_units >= MIN_UNITS and varies(errors, value):
        if has_limits:
            draws = None
        return _t_interval(value, errors, n, n_units, limits, alpha, draws)
    if not has_limits or n <= 1:
        return Interval()
    below, above = gains_and_losses(differences, shares, (limits[1] - limits[0]) / 2, alpha)
    return Interval(max(value - below, limits[0]), min(value + above, limits[1]), "mover")


def _t_interval(
    value: float,
    errors: Array,
    n: float,
    n_units: int,
    limits: Limits,
    alpha: float,
    draws: Draws | None,
) -> Interval:
    """The t interval at n effective units; with a bootstrap the wider of both (row 5)."""
    half = t_quantile(n - 1, alpha) * np.sqrt(sample_variance(errors, n))
    if draws is None:
        return Interval(max(value - half, limits[0]), min(value + half, limits[1]), "t")
    low, high = draws.bounds(expanded(alpha, n_units))
    return Interval(min(low, value - half), max(high, value + half), "bca-t")


# --- one run


def run_intervals(runs: Sequence[Cells], resampling: Resampling) -> list[Interval]:
    """Rows 1 to 5 (7 and 8 for a difference within the run), for metrics of one run (one seed) each."""
    statistics = []
    for run in runs:
        is_drawn = run.present.sum() <= LARGE and run.takes_part.sum() >= MIN_UNITS
        is_drawn &= not run.is_count and varies(run.errors[0], run.values[0])
        columns = run.sums[0, run.present[0]] if is_drawn else None
        statistics.append(None if columns is None else (columns, run.formula.values))
    draws = bootstrap(statistics, resampling)
    return [_run_interval(run, own, resampling) for run, own in zip(runs, draws)]


def _run_interval(
    run: Cells,
    draws: Draws | None,
    resampling: Resampling,
) -> Interval:
    """The interval of one metric of one run."""
    value, alpha, n_units = run.values[0], resampling.level, int(run.takes_part.sum())
    limits = run.formula.ends
    if np.isnan(value) or run.is_count or not n_units:
        return Interval()
    if draws and resampling.method != "auto":
        return Interval(*draws.bounds(alpha, resampling.method), resampling.method)
    weights = run.formula.weights
    if len(weights) == 2 and weights.sum() == 0:
        # the difference of two ratios of the run
        one, other = np.argsort(weights)
        sides = [(run.num[0][:, [i]], run.den[0][:, [i]]) for i in (one, other)]
        differences = rounded(unit_differences(*sides)[:, 0] * weights[other])
        shares = unit_shares(sides[0][1], sides[1][1])[:, 0]
        return difference_interval(differences, shares, limits, alpha, draws)
    if not np.isfinite(limits).all():
        if n_units < MIN_UNITS or not varies(run.errors[0], value):
            return Interval()
        return _t_interval(value, run.errors[0], n_units, n_units, limits, alpha, draws)
    if draws and _carries_bca(run):
        return Interval(*draws.bounds(alpha), "bca")
    if _is_proportion(run):
        trials = int(run.den.sum())
        return Interval(*mid_p(min(int(run.num.sum()), trials), trials, alpha), "mid-p")
    return _score_interval(run, alpha)


def _carries_bca(run: Cells) -> bool:
    """Whether each ratio has 50 effective units, 10 of them off the commonest value."""
    for num, den, shares in zip(run.num[0].T, run.den[0].T, run.ratio_shares.T):
        own = np.round(num[den != 0] / den[den != 0], 9)
        times = np.unique(own, return_counts=True)[1]
        if effective_units(shares) < BCA_UNITS or len(own) - times.max() < OFF_COMMONEST:
            return False
    return True


def _is_proportion(run: Cells) -> bool:
    """Whether the metric is a proportion of single trials."""
    metric, num, den = run.formula.metric, run.num, run.den
    if not (isinstance(metric, Metric) and metric.proportion):
        return False
    return bool((num == num**2).all() and (den == den**2).all())


def _score_interval(run: Cells, alpha: float) -> Interval:
    """Row 4: score-t of every ratio, several put together by MOVER.

    A ratio without units (an absent class) can be anything within its limits.
    """
    formula, errors = run.formula, run.ratio_errors[0]
    ratios = np.nan_to_num(formula.ratio_values(run.sums[0].sum(axis=0)))
    bounds = []
    for ratio, value in enumerate(ratios):
        n = effective_units(run.ratio_shares[:, ratio])
        variance = 0.0
        if n > 1 and varies(errors[:, ratio], value):
            variance = sample_variance(errors[:, ratio], n)
        low, high = formula.limits[:, ratio]
        bounds.append(score_t(value, variance, n, t_quantile(n - 1, alpha), (low, high), alpha))
    low, high = np.array(bounds).T
    below, above = mover(formula.weights, ratios - low, high - ratios, errors)
    value, limits = float(ratios @ formula.weights), formula.ends
    method = "score-t" if len(ratios) == 1 else "mover"
    return Interval(max(value - below, limits[0]), min(value + above, limits[1]), method)


# --- one condition over its seeds


def seed_interval(condition: Cells, resampling: Resampling) -> Interval:
    """Row 6, for a metric that is measured in all of two or more seeds."""
    c, alpha = condition, resampling.level
    n, n_units = effective_units(c.shares), int(c.takes_part.sum())
    part = seed_part(c.values, c.errors, c.present, c.takes_part)
    found = accounts(sample_variance(c.errors.mean(axis=0), n), n, [part])
    error, critical, df = widest(found, alpha)
    mean, (low, high) = c.values.mean(), c.formula.ends
    if error <= 1e-10 * np.abs(c.values).max():
        error = 0.0
    if c.is_count or not n_units:
        return Interval()
    is_difference = (c.formula.weights < 0).any()
    # of hardly any degrees of freedom the interval would be all that is possible
    if np.isfinite([low, high]).all() and not is_difference and (df >= 2 or not error):
        return Interval(*score_t(mean, error**2, n, critical, (low, high), alpha), "score-t")
    if n_units < MIN_UNITS or not error:
        return Interval()
    half = error * critical
    return Interval(max(mean - half, low), min(mean + half, high), "components")


def estimate(
    units: pd.DataFrame,
    table: MetricTable,
    unit: str,
    resampling: Resampling,
) -> pd.DataFrame:
    """Value and interval of every metric, one row each.

    Columns: name, title, value, ci_low, ci_high, ci_method, numerator, denominator, n_units, group,
    better, blocked. Null is "not measured" (value) or "no interval" (bounds). `title` is the name where
    the table has none. `numerator` and `denominator` are null for weighted sums of metrics. `n_units`
    counts the resampling units that take part in the metric. `ci_method`: docs/statistics.md.

    A row in which a column of a metric is null takes no part in that metric, as if it were left
    out. The trials of a sample (rows that differ in the column `trial`) are averaged first.

    Raises KeyError for columns that the frame lacks, ValueError for infinite values, for a null
    numerator of a row that the denominator counts, for a row whose own value is outside the limits of
    its metric, and for a table that does not compile.

    >>> units = pd.DataFrame({"id": range(40), "right": [1, 1, 0, 1] * 10, "n": 1})
    >>> accuracy = Metric(
    ...     name="accuracy", numerator="right", denominator="n", better="higher", proportion=True
    ... )
    >>> estimates = estimate(units, [accuracy], "id", Resampling())
    >>> estimates[["name", "value", "ci_low", "ci_high", "ci_method"]]
           name  value    ci_low  ci_high ci_method
    0  accuracy   0.75  0.599457  0.86546     mid-p
    """
    return public_frame(complete(_over_seeds({"": units}, table, unit, resampling)))


def aggregate(
    runs: Runs,
    table: MetricTable,
    unit: str,
    resampling: Resampling,
    condition: str = "",
) -> pd.DataFrame:
    """The estimates of a condition (seed -> units frame) over its seeds, a row a metric.

    Columns: those of `core.estimates`, min and max (the least and greatest value of a seed), and claim
    (what the interval speaks for). `value` is the mean over the seeds in which the metric is measured
    (`n_seeds`), `std` their standard deviation (ddof 1, nan for one seed). `n_units` counts the
    resampling units that take part in any seed. Metrics of one seed have the interval of that run.

    >>> run = pd.DataFrame({"id": range(40), "right": [1, 1, 0, 1] * 10, "n": 1})
    >>> runs = {1: run, 2: run.assign(right=[1, 0, 0, 1] * 10)}
    >>> accuracy = Metric(name="accuracy", numerator="right", denominator="n", better="higher")
    >>> estimates = aggregate(runs, [accuracy], "id", Resampling())
    >>> estimates[["metric", "value", "n_seeds", "min", "max"]]
         metric  value  n_seeds  min   max
    0  accuracy  0.625        2  0.5  0.75
    """
    rows = _over_seeds(runs, table, unit, resampling)
    return complete(rows.drop(columns=["numerator", "denominator"]), condition)


def _over_seeds(
    runs: Runs,
    table: MetricTable,
    unit: str,
    resampling: Resampling,
) -> pd.DataFrame:
    """The rows of `aggregate`, with the sums of metrics of one seed."""
    (labelled,) = label([runs], table, unit)
    # of many units one metric at a time, so that memory does not grow with the table
    at_once = len(table) if len(labelled.sample) <= LARGE else 1
    rows = []
    for start in range(0, len(table), max(at_once, 1)):
        measured = []
        for metric in range(start, start + at_once):
            cells = labelled.cells(metric).per_unit()
            is_known = ~np.isnan(cells.values)
            is_part = is_known.any() and not is_known.all()
            measured.append(cells.at(is_known) if is_part else cells)
        alone = [cells for cells in measured if len(cells.sums) == 1]
        of_one = iter(run_intervals(alone, resampling))
        for cells in measured:
            if len(cells.sums) == 1:
                interval = next(of_one)
            elif np.isnan(cells.values).any():
                interval = Interval()
            else:
                interval = seed_interval(cells, resampling)
            rows.append(_row(cells, interval))
    return pd.DataFrame(rows)


def _row(cells: Cells, interval: Interval) -> dict[str, object]:
    """The row of `aggregate` for a metric, from the seeds in which it is measured."""
    metric, values, n_seeds = cells.formula.metric, cells.values, len(cells.sums)
    sums = [np.nan, np.nan]
    if n_seeds == 1 and isinstance(metric, Metric):
        sums = [cells.num.sum(), np.nan if cells.is_count else cells.den.sum()]
    claim = THIS_RUN if n_seeds == 1 else NEW_SEEDS
    return {
        "metric": metric.name,
        # of equal values that value, without the rounding of a sum
        "value": values[0] if np.ptp(values) == 0 else values.mean(),
        "std": values.std(ddof=1) if n_seeds > 1 else np.nan,
        "ci_low": interval.low,
        "ci_high": interval.high,
        "ci_method": interval.method,
        "numerator": sums[0],
        "denominator": sums[1],
        "n_units": 0 if n_seeds > 1 and np.isnan(values).any() else int(cells.takes_part.sum()),
        "n_seeds": int((~np.isnan(values)).sum()),
        "min": values.min(),
        "max": values.max(),
        "claim": claim if interval.method != "none" else "",
        "title": metric.title,
        "group": metric.group,
        "better": metric.better,
    }
