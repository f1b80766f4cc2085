"""Intervals of one run, and the formulas of all intervals; the public `estimate`.

Rules 1 to 5 of docs/statistics.md. Claim of the intervals of one run: new samples, this run.

References: Wilson, JASA 22 (1927); Korn and Graubard, Survey Methodology 24 (1998), effective trials;
Zou and Donner, Statistics in Medicine 27 (2008), MOVER; Lancaster, JASA 56 (1961), mid-p.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import betainc, stdtrit

from ..core.estimates import complete, public_frame
from ..core.metric import Metric, MetricTable
from ..core.metric_matrix import Compiled, Part
from ..core.resampling import Resampling
from .bootstrap import bootstrap, expanded
from .influence import (
    LARGE,
    Array,
    Cells,
    cells,
    divide,
    effective_units,
    measured_groups,
    over_units,
    proportions,
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
# Units at the far limit that are added to find effective trials: of values, and of gains or losses.
DOUBT, DOUBT_OF_PARTS = 0.1, 0.03
# A t quantile beyond this is that of an interval that holds everything.
WIDE = 1e6


# --- formulas


def t_quantile(df: Any, alpha: Any) -> Any:
    """The t quantile of an interval with the probability alpha outside.

    >>> float(t_quantile(10, 0.05).round(3))
    2.228
    """
    return np.fmin(stdtrit(np.maximum(df, 1e-9), 1 - alpha / 2), WIDE)


def wilson(p: Any, trials: Any, critical: Any) -> tuple[Any, Any]:
    """Wilson's interval of proportions p of `trials`, at quantiles of a normal or a t.

    >>> low, high = wilson(0.5, 10, 1.96)
    >>> round(float(low), 3), round(float(high), 3)
    (0.237, 0.763)
    """
    shrink = 1 + critical**2 / trials
    centre = (p + critical**2 / (2 * trials)) / shrink
    half = critical * np.sqrt(p * (1 - p) / trials + critical**2 / (4 * trials**2)) / shrink
    low = np.where(p <= 0, 0.0, np.maximum(centre - half, 0.0))
    high = np.where(p >= 1, 1.0, np.minimum(centre + half, 1.0))
    return low, high


def mid_p(successes: Array, trials: Array, alpha: Array | float) -> tuple[Array, Array]:
    """Mid-p Clopper-Pearson interval of proportions.

    A bound is the proportion under which as many successes or fewer (or as many or more) have the
    probability alpha / 2, the observed number counting half.

    >>> low, high = mid_p(np.array([8.0]), np.array([10.0]), 0.05)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.48], [0.965])
    """

    def upper(successes: Array) -> Array:
        failures = np.maximum(trials - successes, 1e-12)
        low, high = successes / trials, np.ones(len(trials))
        for _ in range(60):
            p = (low + high) / 2
            up_to = betainc(failures, successes + 1, 1 - p)
            below = betainc(failures + 1, np.maximum(successes, 1e-12), 1 - p)
            below = np.where(successes > 0, below, 0.0)
            is_unlikely = (up_to + below) / 2 <= alpha / 2
            low, high = np.where(is_unlikely, low, p), np.where(is_unlikely, p, high)
        return np.where(successes >= trials, 1.0, high)

    return 1 - upper(trials - successes), upper(successes)


def none_seen(n: Any, alpha: Any) -> Any:
    """The largest share of units of another kind that leaves a chance of alpha to draw none among n.

    >>> round(float(none_seen(300, 0.05)), 3)
    0.01
    """
    return 1 - alpha ** (1 / np.maximum(n, 1.0))


def score_t(
    value: Array,
    variance: Array,
    n: Array,
    critical: Array,
    limits: Array,
    alpha: Array | float = 0.05,
    doubt: float = DOUBT,
) -> tuple[Array, Array]:
    """Wilson's interval of metrics within limits, at the trials that are as sure as their variance.

    `n`: effective units; `critical`: a t quantile; `limits` (2, metrics), nan bounds for limits that
    are not finite. Values that lie close together by chance would promise too much: trials are not
    more than with `doubt` further units at the far limit. Values that are all alike, off both limits,
    have an interval by what none of n units showed (`none_seen`).
    """
    has_limits = np.isfinite(limits).all(axis=0)
    lowest, highest = np.where(has_limits, limits, np.nan)
    width = np.where(highest > lowest, highest - lowest, 1.0)
    p = np.clip((value - lowest) / width, 0.0, 1.0)
    v = variance / width**2
    spread = p * (1 - p)
    trials = np.where(spread > 0, divide(spread, v), np.inf)
    trials = np.minimum(trials, n * (n * spread + doubt) / (n**2 * v + doubt))
    trials = np.where(v > 0, trials, n)
    low, high = wilson(p, trials, critical)
    # one unit says nothing of others
    unseen = np.where(n > 1, none_seen(n, alpha), 1.0)
    alike = (v <= 0) & (spread > 0)
    low = np.where(alike, p * (1 - unseen), low)
    high = np.where(alike, p + (1 - p) * unseen, high)
    return lowest + width * low, lowest + width * high


def distance(x: Array, y: Array, correlation: Array) -> Array:
    """Distance of a bound of a difference by MOVER, from the distances of the bounds of its sides.

    >>> float(distance(3.0, 4.0, 0.0))
    5.0
    """
    return np.sqrt(np.maximum(x**2 + y**2 - 2 * correlation * x * y, 0.0))


def gains_and_losses(
    differences: Array,
    shares: Array,
    spans: Array,
    alpha: Array,
) -> tuple[Array, Array]:
    """How far the bounds of paired differences lie (below, above) their sums; (metrics) each.

    `differences` (units, metrics) sum to the difference; `shares` (units, metrics), what each unit
    weighs, sum to 1. `spans` (metrics): how far apart the limits are. Gains and losses are each a
    mean within 0 and the span, with a score interval of its own, put together by MOVER; of one that
    was not drawn the bound is that of `none_seen`.
    """
    n = effective_units(shares)
    critical = t_quantile(n - 1, alpha)
    limits = np.stack([np.zeros(len(n)), np.broadcast_to(spans, n.shape)])
    errors, below, above = [], [], []
    for part in (np.maximum(differences, 0.0), np.maximum(-differences, 0.0)):
        mean = part.sum(axis=0)
        error = part - mean * shares
        variance = np.einsum("um,um->m", error, error) * n / np.maximum(n - 1, 1e-9)
        low, high = score_t(mean, variance, n, critical, limits, alpha, DOUBT_OF_PARTS)
        high = np.where(mean > 0, high, limits[1] * none_seen(n, alpha))
        errors.append(error)
        below.append(mean - low)
        above.append(high - mean)
    sizes = [np.einsum("um,um->m", error, error) for error in errors]
    products = np.einsum("um,um->m", *errors)
    correlation = divide(products, np.sqrt(sizes[0] * sizes[1]), otherwise=0.0)
    return (
        distance(below[0], above[1], correlation),
        distance(above[0], below[1], correlation),
    )


@dataclass
class Intervals:
    """Interval of every metric; nan and the method "none" where there is none."""

    low: Array
    high: Array
    method: Array

    @classmethod
    def none(cls, n_metrics: int) -> Intervals:
        """No interval for any metric."""
        nothing = np.full(n_metrics, "none", dtype=object)
        return cls(np.full(n_metrics, np.nan), np.full(n_metrics, np.nan), nothing)

    def fill(self, where: Array, low: Any, high: Any, method: str) -> None:
        """Give this interval to the metrics in `where` that have none yet.

        >>> intervals = Intervals.none(2)
        >>> intervals.fill(np.array([True, False]), 0.1, 0.2, "bca")
        >>> intervals.fill(np.array([True, True]), 0.0, 1.0, "t")
        >>> intervals.low.tolist(), intervals.method.tolist()
        ([0.1, 0.0], ['bca', 't'])
        """
        use = where & (self.method == "none")
        self.low = np.where(use, low, self.low)
        self.high = np.where(use, high, self.high)
        self.method = np.where(use, method, self.method).astype(object)


# --- differences of one run each, or within a run


def difference_intervals(
    differences: Array,
    shares: Array,
    limits: Array,
    alpha: Array,
    drawn: tuple[Array, Array] | None = None,
) -> Intervals:
    """Rules 5, 7 and 8: the intervals of paired differences, a metric a column.

    `differences`, `shares` (units, metrics), `limits` (2, metrics) of a difference; `drawn`: bounds
    of a bootstrap, nan where there was none.
    """
    value = differences.sum(axis=0)
    drawn_low, drawn_high = np.full((2, len(value)), np.nan) if drawn is None else drawn
    n = effective_units(shares)
    errors = differences - value * shares
    variance = np.einsum("um,um->m", errors, errors) * n / np.maximum(n - 1, 1e-9)
    varying = varies(errors, value)
    half = t_quantile(n - 1, alpha) * np.sqrt(variance)
    t_low, t_high = value - half, value + half
    low, high = np.maximum(t_low, limits[0]), np.minimum(t_high, limits[1])
    n_differ = np.count_nonzero(differences, axis=0)
    enough = (shares != 0).sum(axis=0) >= MIN_UNITS
    has_limits = np.isfinite(limits).all(axis=0)
    intervals = Intervals.none(len(value))
    has_draws = ~np.isnan(drawn_low)
    intervals.fill(
        ~has_limits & varying & enough & has_draws,
        np.fmin(drawn_low, t_low),
        np.fmax(drawn_high, t_high),
        "bca-t",
    )
    intervals.fill(has_draws & has_limits, drawn_low, drawn_high, "bca")
    dense = (n_differ >= MIN_UNITS) & varying
    intervals.fill((dense | ~has_limits) & varying & enough, low, high, "t")
    spans = np.where(has_limits, (limits[1] - limits[0]) / 2, np.nan)
    below, above = gains_and_losses(differences, shares, spans, alpha)
    low, high = np.maximum(value - below, limits[0]), np.minimum(value + above, limits[1])
    intervals.fill(has_limits & (n > 1), low, high, "mover")
    return intervals


# --- one run


def run_intervals(run: Cells, resampling: Resampling) -> Intervals:
    """Rules 1 to 5 (and 7, 8 for a difference within the run) for the metrics of one run (one seed)."""
    compiled = run.compiled
    n_metrics = len(compiled.parts)
    values = run.values[0]
    n_units = run.takes_part.sum(axis=0)
    alpha = np.full(n_metrics, resampling.level)
    measured = ~np.isnan(values) & ~compiled.counts & (n_units > 0)
    varying = varies(run.errors[0], values)
    has_limits = np.isfinite(compiled.ends).all(axis=0)
    differences, shares, is_difference = _within(run)
    if resampling.method == "auto":
        dense = np.count_nonzero(differences, axis=0) >= BCA_UNITS
        wanted = np.where(is_difference, dense, _carries_bca(run)) | ~has_limits
    else:
        wanted = np.ones(n_metrics, dtype=bool)
    wanted = wanted & measured & varying & (n_units >= MIN_UNITS) & (len(run.units) <= LARGE)
    levels = np.where(has_limits, alpha, expanded(alpha, n_units))
    if resampling.method != "auto":
        levels = alpha
    drawn = bootstrap([run.sums[0]], compiled.values, wanted, levels, resampling)
    intervals = Intervals.none(n_metrics)
    if resampling.method != "auto":
        intervals.fill(wanted, *drawn, resampling.method)
    single, low, high = _proportion_bounds(run, alpha)
    intervals.fill(measured & wanted & has_limits, *drawn, "bca")
    intervals.fill(measured & single, low, high, "mid-p")
    of_differences = difference_intervals(differences, shares, compiled.ends, alpha, drawn)
    for method in ("bca-t", "t", "mover"):
        where = is_difference & measured & (of_differences.method == method)
        intervals.fill(where, of_differences.low, of_differences.high, method)
    low, high = _score_bounds(run, alpha)
    is_mean = measured & has_limits & ~is_difference
    several = np.array([len(parts) > 1 for parts in compiled.parts], dtype=bool)
    intervals.fill(is_mean & ~several, low, high, "score-t")
    intervals.fill(is_mean & several, low, high, "mover")
    t_low, t_high = _t_bounds(run, alpha)
    no_limits = measured & ~has_limits & varying & (n_units >= MIN_UNITS)
    has_draws = ~np.isnan(drawn[0])
    intervals.fill(
        no_limits & has_draws,
        np.fmin(drawn[0], t_low),
        np.fmax(drawn[1], t_high),
        "bca-t",
    )
    intervals.fill(no_limits, t_low, t_high, "t")
    return intervals


def _within(run: Cells) -> tuple[Array, Array, Array]:
    """(differences, shares, whether it is one) of metrics that are the difference of two ratios of a run.

    (units, metrics) twice, 0 for all others, and (metrics,).
    """
    compiled = run.compiled
    differences, shares = np.zeros((2, len(run.units), len(compiled.parts)))
    is_difference = np.zeros(len(compiled.parts), dtype=bool)
    for metric, parts in enumerate(compiled.parts):
        if len(parts) != 2 or sum(weight for _, weight in parts) != 0:
            continue
        (one, _), (other, weight) = sorted(parts, key=itemgetter(1))
        num, den = run.num[0], run.den[0]
        sides = num[:, [one]], den[:, [one]], num[:, [other]], den[:, [other]]
        difference = unit_differences(*sides)[:, 0] * weight
        size = np.abs(difference).sum()
        differences[:, metric] = np.where(np.abs(difference) <= 1e-12 * size, 0.0, difference)
        shares[:, metric] = unit_shares(den[:, [one]], den[:, [other]])[:, 0]
        is_difference[metric] = True
    return differences, shares, is_difference


def _carries_bca(run: Cells) -> Array:
    """(metrics,): whether each ratio has 50 effective units, 10 of them off the commonest value."""
    den, num = run.den[0], run.num[0]
    many = effective_units(run.shares[0]) >= BCA_UNITS
    carries = many.copy()
    for ratio in np.flatnonzero(many):
        counted = den[:, ratio] != 0
        own = np.round(num[counted, ratio] / den[counted, ratio], 9)
        times = np.unique(own, return_counts=True)[1]
        carries[ratio] = len(own) - times.max() >= OFF_COMMONEST
    return np.array([all(carries[r] for r, _ in parts) for parts in run.compiled.parts], dtype=bool)


def _first_ratio(compiled: Compiled) -> Array:
    """(metrics,): index of the ratio that each metric is, or of the first that it is made of."""
    return np.array([parts[0][0] for parts in compiled.parts], dtype=int)


def _proportion_bounds(run: Cells, alpha: Array) -> tuple[Array, Array, Array]:
    """(whether a metric is a proportion of single trials, low, high of mid-p)."""
    ratio = _first_ratio(run.compiled)
    num, den = run.num[0], run.den[0]
    single = (((num == 0) | (num == 1)) & ((den == 0) | (den == 1))).all(axis=0)[ratio]
    trials = np.maximum(over_units(den)[ratio], 1.0)
    successes = np.clip(over_units(num)[ratio], 0.0, trials)
    return single & proportions(run.compiled), *mid_p(successes, trials, alpha)


def _score_bounds(run: Cells, alpha: Array) -> tuple[Array, Array]:
    """Rule 4: score-t of every ratio, and weighted sums of ratios put together by MOVER.

    A ratio without units (an absent class) can be anything within its limits.
    """
    compiled = run.compiled
    ratios = np.nan_to_num(compiled.ratios(run.totals)[0])
    errors = run.ratio_errors[0]
    n = effective_units(run.shares[0])
    squares = np.einsum("ur,ur->r", errors, errors)
    variance = np.where(varies(errors, ratios), divide(squares * n, n - 1, otherwise=0.0), 0.0)
    # one level for all: those of one run are not adjusted
    level = alpha[0] if len(alpha) else 0.05
    low, high = score_t(ratios, variance, n, t_quantile(n - 1, level), compiled.limits, level)
    lows, highs = np.full((2, len(compiled.parts)), np.nan)
    for metric, parts in enumerate(compiled.parts):
        below, above = _mover(parts, errors, ratios - low, high - ratios)
        value = sum(weight * ratios[ratio] for ratio, weight in parts)
        lows[metric] = max(value - below, compiled.ends[0, metric])
        highs[metric] = min(value + above, compiled.ends[1, metric])
    return lows, highs


def _mover(parts: Sequence[Part], errors: Array, below: Array, above: Array) -> tuple[float, float]:
    """How far the bounds of a weighted sum of ratios lie (below, above) its value (Zou and Donner)."""
    indices = [ratio for ratio, _ in parts]
    weights = np.array([weight for _, weight in parts])
    if len(parts) == 1:
        return abs(weights[0]) * below[indices[0]], abs(weights[0]) * above[indices[0]]
    of_parts = errors[:, indices]
    products = of_parts.T @ of_parts
    size = np.sqrt(np.diag(products))
    correlation = divide(products, np.outer(size, size), otherwise=0.0)
    np.fill_diagonal(correlation, 1.0)
    down = weights * np.where(weights > 0, below[indices], above[indices])
    up = weights * np.where(weights > 0, above[indices], below[indices])
    low, high = (float(np.sqrt(max(side @ correlation @ side, 0.0))) for side in (down, up))
    return low, high


def _t_bounds(run: Cells, alpha: Array) -> tuple[Array, Array]:
    """value -+ t quantile * standard error, at the number of units."""
    n = run.takes_part.sum(axis=0)
    squares = np.einsum("um,um->m", run.errors[0], run.errors[0])
    variance = squares * n / np.maximum(n - 1, 1e-9)
    half = t_quantile(n - 1, alpha) * np.sqrt(variance)
    return run.values[0] - half, run.values[0] + half


def estimate(
    units: pd.DataFrame,
    table: MetricTable,
    unit: str,
    resampling: Resampling,
) -> pd.DataFrame:
    """Value and interval of every metric, one row each.

    Columns: name, title, value, ci_low, ci_high, ci_method, numerator, denominator, n_units, group,
    better. Null is "not measured" (value) or "no interval" (bounds). `title` is the name where the
    table has none. `numerator` and `denominator` are null for weighted sums of metrics. `n_units`
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
    estimates = []
    for metrics, compiled, columns in measured_groups(table, [units], unit):
        rows = units.dropna(subset=columns) if columns else units
        run = cells({"": rows}, compiled, unit)
        estimates.append(_estimates(run, resampling).set_index(pd.Index(metrics)))
    return complete(pd.concat(estimates).sort_index())


def _estimates(run: Cells, resampling: Resampling) -> pd.DataFrame:
    """The rows of `estimate` for metrics that are measured in the same rows."""
    compiled = run.compiled
    intervals = run_intervals(run, resampling)
    ratio = _first_ratio(compiled)
    is_ratio = np.array([isinstance(metric, Metric) for metric in compiled.metrics], dtype=bool)
    numerators = over_units(run.num[0])[ratio]
    denominators = over_units(run.den[0])[ratio]
    return pd.DataFrame(
        {
            "metric": compiled.names,
            "value": run.values[0],
            "ci_low": intervals.low,
            "ci_high": intervals.high,
            "ci_method": intervals.method,
            "numerator": np.where(is_ratio, numerators, np.nan),
            "denominator": np.where(is_ratio & ~compiled.counts, denominators, np.nan),
            "n_units": run.takes_part.sum(axis=0),
            **compiled.each("title", "group", "better"),
        }
    )
