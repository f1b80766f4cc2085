"""One condition under several seeds: mean, spread and an interval that names its claim.

Claims: "new seeds and new samples" (the default across seeds: what to expect of another seed on
other samples), "these samples, new seeds" (`seeds_ci_low/high`), and, where there is one seed only,
"new samples, this system". Formulas and measured coverage: docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from ..core.estimates import complete
from ..core.metric import MetricTable
from ..core.metric_matrix import column_values, compile_table, require_measured
from ..core.resampling import Resampling
from .arrays import divide
from .bounds import Intervals
from .claims import NEW_SEEDS, THIS_SYSTEM, with_trials
from .design import Runs, Seed, grid, in_order
from .influence import cell_sums, influence
from .intervals import estimate_run
from .large_samples import metric_groups
from .measured import measured_groups
from .over_seeds import OverSeeds
from .seed_intervals import BY_COMPONENTS, seed_intervals
from .seed_variance import SeedPool, seed_pool, seed_term


def seed_values(
    runs: Runs,
    table: MetricTable,
    unit: str,
) -> pd.DataFrame:
    """Every metric of every seed: metric, seed, value (nan: not measured), n_units (of the run)."""
    compiled = compile_table(table)
    values = []
    n_units = []
    seeds = in_order(runs)
    for seed in seeds:
        totals = column_values(runs[seed], compiled.columns).sum(axis=0)
        values.append(compiled.values(totals))
        n_units.append(runs[seed][unit].nunique())
    frame = pd.DataFrame(values, columns=compiled.names)
    frame["seed"] = pd.Series(seeds, dtype=object)
    frame["n_units"] = n_units
    rows = frame.melt(["seed", "n_units"], var_name="metric")
    return rows[["metric", "seed", "value", "n_units"]]


def pooled_seeds(
    conditions: Iterable[Runs],
    table: MetricTable,
    unit: str,
) -> SeedPool:
    """What the seeds of several conditions differ by in every metric of the table, together."""
    conditions = list(conditions)
    frames = [frame for runs in conditions for frame in runs.values()]
    pools = []
    order: list[int] = []
    for group in measured_groups(table, frames):
        grids = [grid(group.runs(runs), unit) for runs in conditions]
        n_units = max(len(condition.units) for condition in grids)
        n_seeds = max(len(condition.seeds) for condition in grids)
        for metrics, compiled in metric_groups(table, group.metrics, n_units, n_units * n_seeds):
            terms = []
            for condition in grids:
                cells = cell_sums(condition, compiled)
                terms.append(seed_term(influence(cells), cells))
            pools.append(seed_pool(terms))
            order += metrics
    return SeedPool.join(pools).take(np.argsort(order))


def aggregate(
    runs: Runs,
    table: MetricTable,
    unit: str,
    resampling: Resampling,
    pool: SeedPool | None = None,
    condition: str = "",
    estimates_of_runs: Mapping[Seed, pd.DataFrame] | None = None,
) -> pd.DataFrame:
    """The estimates of one condition over its seeds, a row a metric.

    `pool`: what the seeds of all conditions of a study say. `estimates_of_runs`: seed -> what
    `intervals.estimate_run` says of its run, where it was asked before; else it is asked for
    metrics that are measured in one seed only. Columns: those of `core.estimates`, and
    min, max: the least and the greatest value of a seed; claim: what the interval speaks for;
    seeds_ci_low, seeds_ci_high: t over the seeds' values (claim "these samples, new seeds");
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
    >>> estimates = aggregate(runs, [accuracy], "id", Resampling())
    >>> estimates[["metric", "value", "n_seeds", "min", "max"]]
         metric  value  n_seeds  min   max
    0  accuracy  0.625        2  0.5  0.75
    """
    seeds = in_order(runs)
    known = dict(estimates_of_runs or {})

    def estimates_of(k: int) -> pd.DataFrame:
        seed = seeds[k]
        if seed not in known:
            known[seed] = estimate_run(runs[seed], table, unit, resampling)
        return known[seed]

    rows = []
    order: list[int] = []
    for group in measured_groups(table, list(runs.values())):
        design = grid(group.runs(runs), unit)
        n_units, n_seeds = len(design.units), len(design.seeds)
        for metrics, compiled in metric_groups(table, group.metrics, n_units, n_units * n_seeds):
            for run in runs.values():
                require_measured(run, compiled)
            group_pool = pool.take(metrics) if pool else None
            over_seeds = OverSeeds(cell_sums(design, compiled), resampling, group_pool)
            intervals = seed_intervals(over_seeds, estimates_of)
            rows.append(_rows(over_seeds, intervals))
            order += metrics
    estimates = pd.concat(rows, ignore_index=True).iloc[np.argsort(order)]
    estimates = with_trials(estimates.reset_index(drop=True), runs.values(), unit)
    return complete(estimates, condition=condition)


def _rows(
    condition: OverSeeds,
    intervals: Intervals,
) -> pd.DataFrame:
    """The rows of `aggregate`."""
    compiled = condition.compiled
    own = condition.own_term
    has_interval = intervals.method != "none"
    claim = np.where(condition.n_seeds == 1, THIS_SYSTEM, NEW_SEEDS)

    level = 0.5 + condition.resampling.confidence / 2
    half = stdtrit(own.plain_df, level) * np.sqrt(own.plain)
    seeds_low, seeds_high = condition.clipped(half)
    # equal seeds say nothing about the next one's distance
    seeds_differ = condition.several & (condition.std != 0)

    _, _, df = condition.widest
    by_components = np.isin(intervals.method.astype(str), BY_COMPONENTS) & (condition.variance > 0)

    no_shares = compiled.counts | (own.nested & condition.several)
    variance = np.where(no_shares, np.nan, condition.variance)
    spread = condition.spread
    return pd.DataFrame(
        {
            "metric": compiled.names,
            "value": condition.mean,
            "std": condition.std,
            "n_seeds": condition.n_seeds,
            "ci_low": intervals.low,
            "ci_high": intervals.high,
            "min": condition.lowest,
            "max": condition.highest,
            "ci_method": intervals.method,
            "claim": np.where(has_interval, claim, ""),
            "seeds_ci_low": np.where(seeds_differ, seeds_low, np.nan),
            "seeds_ci_high": np.where(seeds_differ, seeds_high, np.nan),
            "df": np.where(by_components, df, np.nan),
            "var_share_seed": divide(spread.from_seeds, variance),
            "var_share_sample": divide(spread.from_samples, variance),
            "var_share_residual": divide(spread.from_residual, variance),
            "n_units": condition.n_units,
            **compiled.each("title", "group", "better"),
        }
    )
