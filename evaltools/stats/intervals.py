"""Intervals of one run and of paired differences; the public `estimate`.

Rows 1 to 5, 7 and 8 of docs/statistics.md. Claim of the intervals of one run: new samples, this run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

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
    effective_units,
    label,
    sample_variance,
    unit_differences,
    unit_shares,
    varies,
)

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
        variance = sample_variance(error, n)
        limits, critical = (0.0, span), t_quantile(n - 1, alpha)
        low, high = score_t(
            mean,
            variance,
            n,
            critical,
            limits,
            alpha,
            DOUBT_OF_PARTS,
        )
        if mean <= 0:
            high = span * none_seen(n, alpha)
        errors.append(error)
        below.append(mean - low)
        above.append(high - mean)
    return mover(
        np.array([1.0, -1.0]),
        np.array(below),
        np.array(above),
        np.stack(errors, axis=1),
    )


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
    value = differences.sum()
    n, n_units = effective_units(shares), int(np.count_nonzero(shares))
    errors = differences - value * shares
    has_limits = bool(np.isfinite(limits).all())
    if draws is not None and has_limits:
        return Interval(*draws.bounds(alpha), "bca")
    is_dense = np.count_nonzero(differences) >= MIN_UNITS or not has_limits
    if is_dense and n_units >= MIN_UNITS and varies(errors, value):
        half = t_quantile(n - 1, alpha) * np.sqrt(sample_variance(errors, n))
        if draws is None:
            return Interval(max(value - half, limits[0]), min(value + half, limits[1]), "t")
        return _wider(
            draws,
            expanded(alpha, n_units),
            value,
            half,
        )
    if not has_limits or n <= 1:
        return Interval()
    below, above = gains_and_losses(
        differences,
        shares,
        (limits[1] - limits[0]) / 2,
        alpha,
    )
    return Interval(max(value - below, limits[0]), min(value + above, limits[1]), "mover")


def _wider(
    draws: Draws,
    alpha: float,
    value: float,
    half: float,
) -> Interval:
    """Row 5: the bounds of BCa and of t that lie farther out."""
    low, high = draws.bounds(alpha)
    return Interval(min(low, value - half), max(high, value + half), "bca-t")


# --- one run


def run_intervals(runs: Sequence[Cells], resampling: Resampling) -> list[Interval]:
    """Rows 1 to 5 (7 and 8 for a difference within the run), for metrics of one run (one seed) each."""
    wanted = [index for index, run in enumerate(runs) if _wants_draws(run, resampling)]
    statistics = []
    for index in wanted:
        run = runs[index]
        statistics.append((run.sums[0][run.present[0]], _statistic(run)))
    draws = dict(zip(wanted, bootstrap(statistics, resampling)))
    return [_run_interval(run, draws.get(i), resampling) for i, run in enumerate(runs)]


def _statistic(run: Cells) -> Any:
    return lambda sums: run.formula.values(sums)


def _wants_draws(run: Cells, resampling: Resampling) -> bool:
    """Whether a bootstrap is drawn: rows 2, 5 and 7, or wherever ten units vary if it was asked for."""
    n_units = np.count_nonzero(run.takes_part)
    if run.is_count or np.isnan(run.values[0]) or not n_units >= MIN_UNITS:
        return False
    if run.present.sum() > LARGE or not varies(run.errors[0], run.values[0]):
        return False
    if resampling.method != "auto" or not np.isfinite(run.limits).all():
        return True
    within = _within(run)
    if within is None:
        return _carries_bca(run)
    return bool(np.count_nonzero(within[0]) >= BCA_UNITS)


def _carries_bca(run: Cells) -> bool:
    """Whether each ratio has 50 effective units, 10 of them off the commonest value."""
    for num, den, shares in zip(run.num[0].T, run.den[0].T, run.ratio_shares.T):
        own = np.round(num[den != 0] / den[den != 0], 9)
        times = np.unique(own, return_counts=True)[1]
        if effective_units(shares) < BCA_UNITS or len(own) - times.max() < OFF_COMMONEST:
            return False
    return True


def _within(run: Cells) -> tuple[Array, Array] | None:
    """(differences, shares) of the units, if the metric is the difference of two ratios of a run; else None."""
    weights = run.weights
    if len(weights) != 2 or weights.sum() != 0:
        return None
    one, other = np.argsort(weights)
    num, den = run.num[0], run.den[0]
    sides = num[:, [one]], den[:, [one]], num[:, [other]], den[:, [other]]
    differences = unit_differences(*sides)[:, 0] * weights[other]
    is_rounding = np.abs(differences) <= 1e-12 * np.abs(differences).sum()
    return np.where(is_rounding, 0.0, differences), unit_shares(sides[1], sides[3])[:, 0]


def _run_interval(
    run: Cells,
    draws: Draws | None,
    resampling: Resampling,
) -> Interval:
    """The interval of one metric of one run."""
    value, alpha = run.values[0], resampling.level
    n_units = int(np.count_nonzero(run.takes_part))
    if np.isnan(value) or run.is_count or not n_units:
        return Interval()
    if draws is not None and resampling.method != "auto":
        return Interval(*draws.bounds(alpha, resampling.method), resampling.method)
    within = _within(run)
    if within is not None:
        return difference_interval(
            *within,
            run.limits,
            alpha,
            draws,
        )
    if not np.isfinite(run.limits).all():
        if n_units < MIN_UNITS or not varies(run.errors[0], value):
            return Interval()
        variance = sample_variance(run.errors[0], n_units)
        half = t_quantile(n_units - 1, alpha) * np.sqrt(variance)
        if draws is None:
            return Interval(value - half, value + half, "t")
        return _wider(
            draws,
            expanded(alpha, n_units),
            value,
            half,
        )
    if draws is not None:
        return Interval(*draws.bounds(alpha), "bca")
    if _is_proportion(run):
        trials = max(run.den[0].sum(), 1.0)
        return Interval(*mid_p(np.clip(run.num[0].sum(), 0.0, trials), trials, alpha), "mid-p")
    return _score_interval(run, alpha)


def _is_proportion(run: Cells) -> bool:
    """Whether the metric is a proportion of single trials."""
    metric = run.formula.metric
    if not (isinstance(metric, Metric) and metric.proportion):
        return False
    return bool(np.isin(run.num[0], (0, 1)).all() and np.isin(run.den[0], (0, 1)).all())


def _score_interval(run: Cells, alpha: float) -> Interval:
    """Row 4: score-t of every ratio, several put together by MOVER.

    A ratio without units (an absent class) can be anything within its limits.
    """
    formula = run.formula
    ratios = np.nan_to_num(formula.ratios(run.totals)[0])
    errors = run.ratio_errors[0]
    bounds = []
    for ratio, value in enumerate(ratios):
        n = effective_units(run.ratio_shares[:, ratio])
        variance = 0.0
        if n > 1 and varies(errors[:, ratio], value):
            variance = sample_variance(errors[:, ratio], n)
        low, high = formula.limits[:, ratio]
        bounds.append(score_t(value, variance, n, t_quantile(n - 1, alpha), (low, high), alpha))
    low, high = np.array(bounds).T
    below, above = mover(
        run.weights,
        ratios - low,
        high - ratios,
        errors,
    )
    value = float(ratios @ run.weights)
    method = "score-t" if len(ratios) == 1 else "mover"
    return Interval(max(value - below, run.limits[0]), min(value + above, run.limits[1]), method)


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
    return public_frame(estimate_run(units, table, unit, resampling))


def estimate_run(
    units: pd.DataFrame,
    table: MetricTable,
    unit: str,
    resampling: Resampling,
) -> pd.DataFrame:
    """The estimates of one run, as `estimate`, in the form of `core.estimates`."""
    (condition,) = label([{"": units}], table, unit)
    # of many units one metric at a time, so that memory does not grow with the table
    at_once = len(table) if len(units) <= LARGE else 1
    rows = []
    for start in range(0, len(table), max(at_once, 1)):
        metrics = range(start, start + at_once)
        runs = [condition.units(metric) for metric in metrics]
        for run, interval in zip(runs, run_intervals(runs, resampling)):
            is_ratio = isinstance(run.formula.metric, Metric)
            row = interval_row(run, interval) | {
                "value": run.values[0],
                "numerator": run.num.sum() if is_ratio else np.nan,
                "denominator": run.den.sum() if is_ratio and not run.is_count else np.nan,
            }
            rows.append(row)
    return complete(pd.DataFrame(rows))


def interval_row(cells: Cells, interval: Interval) -> dict[str, Any]:
    """What the rows of `estimate_run` and `seeds.aggregate` have in common."""
    metric = cells.formula.metric
    return {
        "metric": metric.name,
        "ci_low": interval.low,
        "ci_high": interval.high,
        "ci_method": interval.method,
        "n_units": int(np.count_nonzero(cells.takes_part)),
        "title": metric.title,
        "group": metric.group,
        "better": metric.better,
    }
