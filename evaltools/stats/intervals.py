"""Intervals of one run: which method each metric of a table gets, and the public `estimate`.

Where the data carry a bootstrap, the interval comes from it (bootstrap.py). Proportions, and other
metrics within limits where few units decide (F1 near 0 or 1, a few long dialogues), have a score
interval (run_bounds.py).

Claim of these intervals: new samples, this system.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ..core.estimates import complete, public_frame
from ..core.metric import Metric, MetricTable
from ..core.metric_matrix import Compiled, column_values, compile_table
from ..core.resampling import Resampling
from .arrays import Array
from .bootstrap import Statistic, resampled
from .bounds import Intervals
from .design import add_rows
from .influence import Cells
from .large_samples import metric_groups, over_units
from .measured import measured_groups
from .run_bounds import run_bounds
from .score_intervals import first_ratio, normal_quantile, proportions, score_interval

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
    numerator of a row that the denominator counts, and for a table that does not compile.

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
    drawn = resampled(statistic, carried, resampling)
    least, most = compiled.ends
    intervals = Intervals.none(len(values))
    intervals.fill(
        drawn.method != "none",
        np.clip(drawn.low, least, most),
        np.clip(drawn.high, least, most),
        drawn.method,
    )
    intervals.fill(
        known,
        score.low,
        score.high,
        score.method,
    )
    return intervals
