"""One condition under several seeds: mean, spread and an interval that names its claim.

Claims: "new seeds and new samples" (across seeds: what to expect of another seed on other samples),
and, where there is one seed only, "new samples, this system". Formulas and measured coverage:
docs/statistics.md.

Reference: Korn and Graubard, Survey Methodology 24 (1998), Wilson's interval at the effective
number of trials.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..core.estimates import complete
from ..core.metric import MetricTable
from ..core.resampling import COMPONENTS, CONSTANT, Resampling
from .arrays import Array, Intervals, divide
from .claims import NEW_SEEDS, THIS_SYSTEM, with_trials
from .design import Runs, Seed, grid, in_order
from .influence import Cells, cell_sums, seed_mean, seen
from .intervals import MIN_UNITS, estimate_run
from .measured import measured_groups, metric_groups
from .score_intervals import (
    effective_units,
    first_ratio,
    normal_quantile,
    proportions,
    score_interval,
    t_quantile,
    t_wilson,
)
from .seed_variance import SeedTerm, seed_pool, seed_term
from .variance import Spread, negligible, sample_term, spread

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
                of_run = estimate_run(
                    runs[seed],
                    table,
                    unit,
                    resampling,
                )
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
    # that of the mean, of no event, and of nothing else
    least, most = limits
    none = np.zeros_like(mean)
    lows, highs = t_wilson(
        np.stack([mean, least, most]),
        np.stack([error**2, none, none]),
        n,
        np.stack([quantile, of_units, of_units]),
        limits,
    )
    low, low_of_all = lows[0], lows[2]
    high, high_of_none = highs[:2]

    # of hardly any degrees of freedom the interval would be all that is possible
    few_df = _has_components(condition) & (condition.df < 2)
    plain_low, plain_high = condition.around_mean(error * condition.critical)
    constant = np.where(is_proportion, "wilson", CONSTANT)
    method = np.where(error > 0, "score-t", constant)
    intervals.fill(
        condition.several & (condition.n_units > 0) & ~np.isnan(low),
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
