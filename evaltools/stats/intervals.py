"""Intervals of one run: which method each metric of a table gets, and the public `estimate`.

Where the data carry a bootstrap, the interval comes from it (bootstrap.py). Proportions, and other
metrics within limits where few units decide (F1 near 0 or 1, a few long dialogues), have a score
interval (`run_bounds`).

Claim of these intervals: new samples, this system.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

import numpy as np
import pandas as pd

from ..core.estimates import complete, public_frame
from ..core.metric import Metric, MetricTable
from ..core.metric_matrix import (
    Compiled,
    Part,
    column_values,
    compile_table,
    require_columns,
    require_within_limits,
)
from ..core.resampling import CONSTANT, Resampling
from .arrays import Array, Intervals, divide, over_units, sum_products, varies
from .bootstrap import Statistic, resampled
from .design import add_rows
from .influence import Cells
from .measured import measured_groups, metric_groups
from .score_intervals import (
    correlations,
    deciding,
    effective_units,
    first_ratio,
    gains_and_losses,
    mid_p,
    mover,
    normal_quantile,
    proportions,
    score_interval,
    t_quantile,
    t_wilson,
    unit_differences,
    unit_shares,
)

MIN_UNITS = 10
"""Fewer resampling units than this carry no bootstrap (coverage: docs/statistics.md)."""


def unit_sums(
    units: pd.DataFrame,
    columns: Sequence[str],
    index: Array,
) -> Array:
    """Sums of the columns over each resampling unit: (units, columns).

    `index` (rows) counts the units from 0 in order of first appearance; rows of one unit are
    resampled together.
    """
    values = column_values(units, columns)
    n_units = int(index.max(initial=-1)) + 1
    if n_units == len(values):
        return values
    return add_rows(values, index, n_units)


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
    counts the resampling units that take part in the metric.

    `ci_method` is bca or percentile; bca-t, for metrics without limits the union of that and a t
    interval (bootstrap.py); abc, the closed form of bca for more than LARGE resampling units
    (percentile has one too); mid-p, score-t or mover (`run_bounds`); wilson; or none. By the method
    "auto" a metric within limits always has an interval (a difference where some unit differs):
    proportions mid-p, others a bootstrap where the units carry it, else a score interval. By the
    others, metrics that vary over MIN_UNITS units have a bootstrap, other proportions Wilson's
    interval at the number of units, all else none.

    A row in which a column of a metric is null takes no part in that metric, as if it were left
    out.

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
    estimates = estimate_run(units, table, unit, resampling)
    require_within_limits(units, compile_table(table), unit)
    return public_frame(estimates)


def estimate_run(
    units: pd.DataFrame,
    table: MetricTable,
    unit: str,
    resampling: Resampling,
) -> pd.DataFrame:
    """The estimates of one run, as `estimate`, in the form of `core.estimates`."""
    require_columns(units, [unit])
    estimates = []
    groups = measured_groups(table, [units], unit)
    # the texts of samples would be copied for every group
    units = units[[unit, *compile_table(table).columns]]
    for group in groups:
        rows = group.rows(units)
        index, names = pd.factorize(rows[unit], use_na_sentinel=False)
        for metrics, compiled in metric_groups(
            table,
            group.metrics,
            len(names),
            len(names),
        ):
            sums = unit_sums(rows, compiled.columns, index)
            of_group = _estimates(compiled, sums, resampling)
            estimates.append(of_group.set_index(pd.Index(metrics)))
    return complete(pd.concat(estimates).sort_index())


def _estimates(
    compiled: Compiled,
    sums: Array,
    resampling: Resampling,
) -> pd.DataFrame:
    """The rows of `estimate` from the sums of every resampling unit, (units, columns)."""
    present = np.ones((1, len(sums)), dtype=bool)
    run = Cells(compiled, sums[None], present)
    totals = over_units(sums)
    values = compiled.values(totals)
    intervals = run_intervals(run, values, resampling)
    ratio = first_ratio(compiled)
    kinds = [isinstance(metric, Metric) for metric in compiled.metrics]
    is_ratio = np.array(kinds, dtype=bool)
    numerators = (totals @ compiled.numerator)[ratio]
    denominators = (totals @ compiled.denominator)[ratio]
    return pd.DataFrame(
        {
            "metric": compiled.names,
            "value": values,
            "ci_low": intervals.low,
            "ci_high": intervals.high,
            "ci_method": intervals.method,
            "numerator": np.where(is_ratio, numerators, np.nan),
            "denominator": np.where(is_ratio & ~compiled.counts, denominators, np.nan),
            "n_units": run.takes_part.sum(axis=0),
            **compiled.each("title", "group", "better"),
        }
    )


def run_intervals(
    run: Cells,
    values: Array,
    resampling: Resampling,
) -> Intervals:
    """The intervals of `estimate`: a bootstrap where the data carry it, else a score interval."""
    compiled = run.compiled
    n_units = run.takes_part.sum(axis=0)
    measured = ~np.isnan(values) & ~compiled.counts & (n_units > 0)
    carried = measured & (n_units >= MIN_UNITS)
    if resampling.method == "auto":
        score, carries = run_bounds(run, resampling.confidence)
        carried &= np.isnan(score.low) | carries
        known = measured
    else:
        known = measured & proportions(compiled)
        # each unit is one trial
        trials = np.maximum(n_units, 1)
        share = np.where(known, values, 0.5)
        share = np.clip(share, 0.0, 1.0)
        score = Intervals.none(len(values))
        z = normal_quantile(resampling.confidence)
        score.fill(known, *score_interval(share, trials, z), "wilson")
    statistic = Statistic(
        sides=[run.sums[0]],
        metrics_of=compiled.values,
        n_units=n_units,
        unlimited=~np.isfinite(compiled.ends).all(axis=0),
        errors=run.errors[0],
        bias=run.bias[0],
    )
    intervals = resampled(statistic, carried, resampling)
    least, most = compiled.ends
    intervals.low = np.clip(intervals.low, least, most)
    intervals.high = np.clip(intervals.high, least, most)
    intervals.fill(
        known,
        score.low,
        score.high,
        score.method,
    )
    return intervals


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
    ratios, ratios_below, ratios_above, ratios_carry = _ratio_bounds(run, confidence)
    lowest, highest = compiled.ends
    intervals = _mid_p(run, confidence)
    carries = np.zeros(len(compiled.parts), dtype=bool)
    for metric, parts in enumerate(compiled.parts):
        indices = [ratio for ratio, _ in parts]
        weights = np.array([weight for _, weight in parts])
        is_difference = len(parts) == 2 and weights.sum() == 0
        no_limits = np.isnan(ratios_below[indices]).any()
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
                ratios_below[indices],
                ratios_above[indices],
                together,
            )
            carries[metric] = ratios_carry[indices].all()
        value = weights @ ratios[indices]
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


def _ratio_bounds(
    run: Cells,
    confidence: float,
) -> tuple[Array, Array, Array, Array]:
    """Every ratio by itself: its value, how far its "score-t" bounds lie below and above it (nan
    without limits), and whether the units carry a bootstrap.

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
    return values, values - low, high - values, carries
