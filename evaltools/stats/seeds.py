"""One condition under several seeds: mean, spread and an interval that names its claim.

Claims: "new seeds and new samples" (across seeds: what to expect of another seed on other samples),
and, where there is one seed only, "new samples, this system". Formulas and measured coverage: docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from ..core.estimates import complete
from ..core.metric import MetricTable
from ..core.resampling import Resampling
from .arrays import Array, divide
from .bounds import Intervals
from .claims import NEW_SEEDS, THIS_SYSTEM, with_trials
from .design import Runs, Seed, grid, in_order
from .influence import Cells, cell_sums
from .intervals import estimate_run
from .large_samples import metric_groups
from .measured import measured_groups
from .seed_intervals import BY_COMPONENTS, OverSeeds, over_seeds, seed_intervals
from .seed_variance import seed_pool, seed_term

INTERVAL = ["ci_low", "ci_high", "ci_method"]


def aggregate(
    conditions: Mapping[str, Runs],
    table: MetricTable,
    unit: str,
    resampling: Resampling,
    estimates_of_runs: Mapping[str, Mapping[Seed, pd.DataFrame]] | None = None,
) -> dict[str, pd.DataFrame]:
    """The estimates of each condition over its seeds, a row a metric.

    `conditions`: name -> seed -> units frame. By the method "auto" the seeds of two conditions count
    together for metrics in which they differ equally much (`pooled`). Seeds of more conditions do
    not: one whose seeds differ more than those of the others would look too sure.
    `estimates_of_runs`: condition -> seed -> what `intervals.estimate_run` says of its run, where it
    was asked before; else it is asked for metrics that are measured in one seed only.

    Columns: those of `core.estimates`, and
    min, max: the least and the greatest value of a seed; claim: what the interval speaks for;
    pooled: whether the seeds of another condition count in the interval;
    df: degrees of freedom of the t quantile; var_share_seed, var_share_sample, var_share_residual: parts of the variance
    of the mean (another seed, another sample, their interaction), which add to 1; null where no sample is in two seeds.

    `value` is the mean over the seeds in which the metric is measured (`n_seeds`), `std` their standard deviation (ddof
    1, nan for one seed). `n_units` counts the resampling units that take part in any seed. `ci_method` is "components"
    (t, by the variance components); "score-t" (a metric within limits: Wilson's interval at the trials that the
    components amount to, by the method "auto"); "wilson" (a proportion, by the other methods, or without variation);
    CONSTANT; "none" (a count, too few units, no variation); or, for one seed, what `intervals.estimate` says of that run.
    No interval is null.

    >>> from evaltools.core.metric import Metric
    >>> run = pd.DataFrame({"id": range(40), "right": [1, 1, 0, 1] * 10, "n": 1})
    >>> runs = {1: run, 2: run.assign(right=[1, 0, 0, 1] * 10)}
    >>> accuracy = Metric(name="accuracy", numerator="right", denominator="n", better="higher")
    >>> estimates = aggregate({"mine": runs}, [accuracy], "id", Resampling())["mine"]
    >>> estimates[["metric", "value", "n_seeds", "min", "max"]]
         metric  value  n_seeds  min   max
    0  accuracy  0.625        2  0.5  0.75
    """
    estimates = {}
    for name, rows in _in_groups(conditions, table, unit, resampling).items():
        runs = conditions[name]
        known = (estimates_of_runs or {}).get(name, {})
        for k, of_seed in rows[rows["n_seeds"] == 1].groupby("first_seed"):
            # what is measured in one seed alone has the interval of its run
            seed = in_order(runs)[k]
            of_run = known.get(seed)
            if of_run is None:
                of_run = estimate_run(runs[seed], table, unit, resampling)
            intervals = of_run.set_index("metric").loc[of_seed["metric"], INTERVAL]
            rows.loc[of_seed.index, INTERVAL] = intervals.to_numpy()
        estimates[name] = _finished(rows, name, runs, unit)
    return estimates


def _in_groups(
    conditions: Mapping[str, Runs],
    table: MetricTable,
    unit: str,
    resampling: Resampling,
) -> dict[str, pd.DataFrame]:
    """The rows of each condition in the order of the table, made group by group of metrics."""
    frames: list[pd.DataFrame] = []
    for runs in conditions.values():
        frames += runs.values()
    rows: dict[str, list[pd.DataFrame]] = {}
    for group in measured_groups(table, frames, unit):
        grids = {}
        for name, runs in conditions.items():
            grids[name] = grid(group.runs(runs), unit)
        sides = list(grids.values())
        n_units = max(len(side.units) for side in sides)
        n_seeds = max(len(side.seeds) for side in sides)
        n_cells = n_units * n_seeds
        for metrics, compiled in metric_groups(table, group.metrics, n_units, n_cells):
            cells = {}
            for name, side in grids.items():
                cells[name] = cell_sums(side, compiled)
            for name, of_group in _group_rows(cells, resampling).items():
                of_group = of_group.set_index(pd.Index(metrics))
                rows.setdefault(name, []).append(of_group)
    of_conditions = {}
    for name, of_groups in rows.items():
        of_conditions[name] = pd.concat(of_groups).sort_index()
    return of_conditions


def _finished(
    rows: pd.DataFrame,
    condition: str,
    runs: Runs,
    unit: str,
) -> pd.DataFrame:
    """The rows of a condition as `aggregate` gives them, with their claims."""
    claims = np.where(rows["n_seeds"] == 1, THIS_SYSTEM, NEW_SEEDS)
    has_interval = rows["ci_method"] != "none"
    rows = rows.assign(claim=np.where(has_interval, claims, ""))
    rows = rows.drop(columns="first_seed")
    rows = with_trials(rows, runs.values(), unit)
    return complete(rows, condition=condition)


def _group_rows(
    cells: Mapping[str, Cells],
    resampling: Resampling,
) -> dict[str, pd.DataFrame]:
    """The rows of each condition for metrics that are measured in the same cells."""
    terms = [seed_term(of_condition) for of_condition in cells.values()]
    pooled: Array | bool = False
    if resampling.method == "auto" and len(terms) == 2:
        pool = seed_pool(terms)
        pooled = pool.alike
        terms = [pool.term(term) for term in terms]
    rows = {}
    for name, term in zip(cells, terms):
        condition = over_seeds(cells[name], term, resampling)
        intervals = seed_intervals(condition, resampling)
        rows[name] = _rows(condition, intervals).assign(pooled=pooled)
    return rows


def _rows(
    condition: OverSeeds,
    intervals: Intervals,
) -> pd.DataFrame:
    """The rows of `aggregate` without claims; `first_seed`: the first that a metric is measured in."""
    compiled = condition.cells.compiled
    values = condition.cells.values
    squares = np.nansum((values - condition.mean) ** 2, axis=0)
    varies = condition.error > 0
    methods = intervals.method.astype(str)
    by_components = np.isin(methods, BY_COMPONENTS) & varies
    spread = condition.spread
    nested_seeds = condition.nested & condition.several
    has_shares = varies & ~compiled.counts & ~nested_seeds
    variance = np.where(has_shares, spread.variance, np.nan)
    return pd.DataFrame(
        {
            "metric": compiled.names,
            "value": condition.mean,
            "std": np.sqrt(divide(squares, condition.n_seeds - 1.0)),
            "n_seeds": condition.n_seeds,
            "ci_low": intervals.low,
            "ci_high": intervals.high,
            "min": np.fmin.reduce(values),
            "max": np.fmax.reduce(values),
            "ci_method": intervals.method,
            "df": np.where(by_components, condition.df, np.nan),
            "var_share_seed": divide(spread.from_seeds, variance),
            "var_share_sample": divide(spread.from_samples, variance),
            "var_share_residual": divide(spread.from_residual, variance),
            "n_units": condition.n_units,
            "first_seed": np.argmax(~np.isnan(values), axis=0),
            **compiled.each("title", "group", "better"),
        }
    )
