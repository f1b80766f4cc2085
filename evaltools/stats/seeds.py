"""One condition under several seeds: mean, spread and an interval that names its claim.

Claims: "new seeds and new samples" (the default across seeds: what to expect of another seed on other
samples), "these samples, new seeds" (`seeds_ci_low/high`), and, where there is one seed only, "new
samples, this system". Formulas and measured coverage: docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtrit

from ..core.estimates import complete
from ..core.metric import MetricTable, subset
from ..core.metric_matrix import Compiled, compile_table
from ..core.resampling import CONSTANT, Resampling
from .arrays import Array, divide
from .bounds import Intervals
from .design import Grid, Runs, grid
from .influence import Cells, Influence, cell_sums, influence, seed_mean
from .intervals import MIN_UNITS, estimate_run
from .large_samples import metric_groups
from .notes import Note
from .score_intervals import (
    effective_units,
    first_ratio,
    proportions,
    score_interval,
    t_quantile,
    t_wilson,
)
from .seed_variance import ALIKE, SeedPool, SeedTerm, seed_pool, seed_term
from .variance import Spread, negligible, sample_term, spread

CLAIM_ONE = "new samples, this system"
CLAIM_BOTH = "new seeds and new samples"

BY_COMPONENTS = ("variance components", "wilson, effective n", "t-wilson")
"""The methods whose interval rests on the variance components."""

NAMED = 3
"""At most so many metrics are named whose seeds count apart."""


def seed_values(
    runs: Runs,
    table: MetricTable,
    unit: str,
) -> pd.DataFrame:
    """Every metric of every seed: metric, seed, value (nan: not measured), n_units (of the run)."""
    compiled = compile_table(table)
    condition = grid(runs, unit)
    values = compiled.values(condition.totals(compiled.columns))
    frame = pd.DataFrame(values, columns=compiled.names)
    frame["seed"] = pd.Series(condition.seeds, dtype=object)
    frame["n_units"] = condition.present.sum(axis=1)
    rows = frame.melt(["seed", "n_units"], var_name="metric")
    return rows[["metric", "seed", "value", "n_units"]]


def pooled_seeds(
    conditions: Iterable[Runs],
    table: MetricTable,
    unit: str,
) -> SeedPool:
    """What the seeds of several conditions differ by in every metric of the table, together."""
    grids = [grid(runs, unit) for runs in conditions]
    n_units = max(len(condition.units) for condition in grids)
    n_cells = max(len(condition.units) * len(condition.seeds) for condition in grids)
    pools = []
    for compiled in metric_groups(table, n_units, n_cells):
        terms = []
        for condition in grids:
            cells = cell_sums(condition, compiled)
            terms.append(seed_term(influence(cells), cells))
        pools.append(seed_pool(terms))
    return SeedPool.join(pools)


def pool_notes(
    table: MetricTable,
    pools: Sequence[SeedPool],
) -> list[Note]:
    """For which metrics the seeds of several conditions count together, and for which not; [] for none.

    `pools`: those of the metrics of the table, some after others. Of the metrics whose seeds count apart the titles of
    a few are named.
    """
    if not pools:
        return []
    pool = SeedPool.join(pools)
    if not (pool.alike | pool.unlike).any():
        return []
    apart = []
    for metric, unlike in zip(table, pool.unlike):
        if unlike and metric.better != "none" and not metric.alias_of:
            apart.append(metric.title or metric.name)
    named = tuple(apart[:NAMED])
    values = {"titles": named, "more": len(apart) - len(named), "level": ALIKE}
    return [Note("seed-pool", values)]


def aggregate(
    runs: Runs,
    table: MetricTable,
    unit: str,
    resampling: Resampling,
    pool: SeedPool | None = None,
    condition: str = "",
) -> pd.DataFrame:
    """The estimates of one condition over its seeds, a row a metric.

    `pool`: what the seeds of all conditions of a study say. Columns: those of `core.estimates`, and
    min, max: the least and the greatest value of a seed;
    claim: what the interval speaks for;
    seeds_ci_low, seeds_ci_high: t over the seeds' values (claim "these samples, new seeds");
    df: degrees of freedom of the t quantile;
    var_share_seed, var_share_sample, var_share_residual: parts of the variance of the mean (another
        seed, another sample, their interaction), which add to 1; null where no sample occurs in two
        seeds.

    `value` is the mean over the seeds in which the metric is measured (`n_seeds`), `std` their
    standard deviation (ddof 1, nan for one seed). `n_units` counts the resampling units that take part
    in any seed. `ci_method` is "variance components"; "t-wilson" (a metric within limits: Wilson's
    interval at the trials that the variance components amount to, by the method "auto"; else "wilson,
    effective n", of proportions only); "wilson" (a proportion without variation) or CONSTANT; "none"
    (a count, too few units, no variation); or, for one seed, what `intervals.estimate` says of that
    run. No interval is null.

    >>> from evaltools.core.metric import Metric
    >>> run = pd.DataFrame({"id": range(40), "right": [1, 1, 0, 1] * 10, "n": 1})
    >>> runs = {1: run, 2: run.assign(right=[1, 0, 0, 1] * 10)}
    >>> accuracy = Metric(name="accuracy", numerator="right", denominator="n", better="higher")
    >>> aggregate(runs, [accuracy], "id", Resampling())[["metric", "value", "n_seeds", "min", "max"]]
         metric  value  n_seeds  min   max
    0  accuracy  0.625        2  0.5  0.75
    """
    design = grid(runs, unit)
    n_units, n_seeds = len(design.units), len(design.seeds)
    rows = []
    start = 0
    for compiled in metric_groups(table, n_units, n_units * n_seeds):
        stop = start + len(compiled.metrics)
        group_pool = pool.take(range(start, stop)) if pool else None
        over_seeds = _OverSeeds(cell_sums(design, compiled), resampling, group_pool)
        intervals = Intervals.none(len(compiled.metrics))
        _fill_single(intervals, over_seeds, design, subset(table, compiled.names), unit)
        if resampling.method == "auto":
            _fill_scored(intervals, over_seeds)
        else:
            _fill_wilson(intervals, over_seeds)
        _fill_components(intervals, over_seeds)
        rows.append(_rows(over_seeds, intervals))
        start = stop
    return complete(pd.concat(rows, ignore_index=True), condition=condition)


def completeness(
    runs: Runs,
    table: MetricTable,
    unit: str,
) -> list[Note]:
    """What a reader must know of the seeds: one seed only, missing samples, metrics not measured. [] is all well."""
    c = grid(runs, unit)
    n_seeds, n_samples = len(c.seeds), len(c.units)
    notes = []
    if n_seeds == 1:
        notes.append(Note("one-seed"))
    if n_seeds == 2:
        notes.append(Note("two-seeds"))
    if n_samples == 1:
        notes.append(Note("one-sample"))
    for seed, n in zip(c.seeds, c.present.sum(axis=1).tolist()):
        if n < n_samples:
            notes.append(Note("short-seed", {"seed": seed, "n": n, "total": n_samples}))
    shared = int(c.present.all(axis=0).sum())
    if n_seeds > 1 and n_samples and c.present.sum() == n_samples:
        notes.append(Note("no-common-sample"))
    elif shared < n_samples:
        notes.append(Note("shared-samples", {"shared": shared, "total": n_samples}))
    for name, values in seed_values(runs, table, unit).groupby("metric", sort=False):
        lacking = values.loc[values["value"].isna(), "seed"].map(str).tolist()
        if 0 < len(lacking) < n_seeds:
            notes.append(Note("not-in-seeds", {"name": name, "seeds": ", ".join(lacking)}))
    return notes


@dataclass(frozen=True)
class _OverSeeds:
    """One condition over its seeds; all quantities are arrays over metrics."""

    cells: Cells
    resampling: Resampling
    pool: SeedPool | None

    @property
    def compiled(self) -> Compiled:
        return self.cells.compiled

    @cached_property
    def influence(self) -> Influence:
        return influence(self.cells)

    @property
    def values(self) -> Array:
        """(seeds, metrics)"""
        return self.influence.values

    @cached_property
    def measured(self) -> Array:
        """(seeds, metrics)"""
        return ~np.isnan(self.values)

    @cached_property
    def n_seeds(self) -> Array:
        """Seeds in which the metric is measured."""
        return self.measured.sum(axis=0)

    @property
    def many(self) -> Array:
        """Whether the metric has an interval over seeds: it is measured in several and is no count."""
        return (self.n_seeds > 1) & ~self.compiled.counts

    @cached_property
    def lowest(self) -> Array:
        return np.fmin.reduce(self.values)

    @cached_property
    def highest(self) -> Array:
        return np.fmax.reduce(self.values)

    @cached_property
    def mean(self) -> Array:
        """Mean over seeds; of equal values that value, without the rounding of a sum."""
        mean = seed_mean(self.values, self.measured)
        return np.where(self.lowest == self.highest, self.lowest, mean)

    @cached_property
    def std(self) -> Array:
        """Standard deviation of the seeds' values, ddof 1; nan for one seed."""
        squares = seed_mean((self.values - self.mean) ** 2, self.measured) * self.n_seeds
        return np.sqrt(divide(squares, self.n_seeds - 1.0))

    @cached_property
    def n_samples(self) -> Array:
        """Units that take part in any seed in which the metric is measured."""
        seen = (self.cells.present[:, :, None] & self.measured[:, None, :]).any(axis=0)
        return (seen & self.influence.takes_part).sum(axis=0)

    @cached_property
    def n_effective(self) -> Array:
        """Units, each by what it weighs in the denominator (method "auto"); else their number."""
        if self.resampling.method != "auto":
            return self.n_samples
        added_weights = self.compiled.sides[0][0]
        shares = seed_mean(self.cells.shares @ added_weights, self.measured)
        return effective_units(np.nan_to_num(shares))

    @cached_property
    def own_term(self) -> SeedTerm:
        """Variance by the condition's own seeds."""
        return seed_term(self.influence, self.cells)

    @cached_property
    def spread(self) -> Spread:
        """Uncertainty of the mean for new seeds and new samples."""
        term = self.own_term
        if self.pool and self.resampling.method == "auto":
            term = self.pool.term(term)
        errors = seed_mean(self.influence.errors, self.measured)
        return spread(sample_term(errors, self.n_effective), term)

    @cached_property
    def variance(self) -> Array:
        """Variance of the mean; 0 where it is rounding."""
        variance = self.spread.variance
        return np.where(negligible(variance, self.values), 0.0, variance)

    @cached_property
    def widest(self) -> tuple[Array, Array, Array]:
        """(standard error, t quantile, degrees of freedom) of the mean."""
        error, critical, df = self.spread.widest(self.resampling.confidence)
        return np.where(self.variance == 0, 0.0, error), critical, df

    def clipped(self, half: Array) -> tuple[Array, Array]:
        """mean -+ half within the limits of every metric."""
        least, most = self.compiled.ends
        return np.maximum(self.mean - half, least), np.minimum(self.mean + half, most)


def _fill_single(
    intervals: Intervals,
    condition: _OverSeeds,
    design: Grid,
    table: MetricTable,
    unit: str,
) -> None:
    """Metrics that are measured in one seed only have the interval of that run.

    `table`: the metrics of the condition, followed by those that they are made of.
    """
    single = condition.n_seeds == 1
    only_seed = np.argmax(condition.measured, axis=0)
    for seed in np.unique(only_seed[single]):
        estimates = estimate_run(design.frames[seed], table, unit, condition.resampling)
        estimates = estimates[: len(single)]
        intervals.fill(
            single & (only_seed == seed),
            estimates["ci_low"].to_numpy(),
            estimates["ci_high"].to_numpy(),
            estimates["ci_method"].to_numpy(),
        )


def _fill_scored(
    intervals: Intervals,
    condition: _OverSeeds,
) -> None:
    """Metrics within limits have Wilson's interval by the method "auto".

    It reaches at least as far as that of no event (or of nothing else) in every sample, which would
    otherwise be wider than that of a single one.
    """
    compiled, mean, n = condition.compiled, condition.mean, condition.n_effective
    error, critical, df = condition.widest
    confidence = condition.resampling.confidence
    is_proportion = proportions(compiled)
    (_, limits), (taken_weights, _) = compiled.sides
    limits = np.where(taken_weights.any(axis=0), np.nan, limits)
    z = np.where(is_proportion, ndtri(0.5 + confidence / 2), t_quantile(n - 1, confidence))
    low, high = t_wilson(mean, error**2, n, np.where(error > 0, critical, z), limits)
    nothing = np.zeros_like(mean)
    least, most = limits
    low_of_all, _ = t_wilson(most, nothing, n, z, limits)
    _, high_of_none = t_wilson(least, nothing, n, z, limits)

    use = condition.many & ~np.isnan(low)
    # a quantile without degrees of freedom to speak of would pull the interval over all that is possible
    few_df = use & _has_components(condition) & (df < 2)
    plain_low, plain_high = condition.clipped(error * critical)
    intervals.fill(
        few_df,
        np.fmin(plain_low, low_of_all),
        np.fmax(plain_high, high_of_none),
        "variance components",
    )
    constant = np.where(is_proportion, "wilson", CONSTANT)
    intervals.fill(
        use,
        np.fmin(low, low_of_all),
        np.fmax(high, high_of_none),
        np.where(error > 0, "t-wilson", constant),
    )


def _fill_wilson(
    intervals: Intervals,
    condition: _OverSeeds,
) -> None:
    """Proportions have Wilson's interval by the methods "bca" and "percentile" (Korn and Graubard)."""
    mean, n = condition.mean, condition.n_samples
    error, critical, _ = condition.widest
    compiled = condition.compiled
    denominators = condition.cells.totals.sum(axis=0) @ compiled.denominator
    trials = denominators[first_ratio(compiled)]
    use = condition.many & (n > 0) & proportions(compiled)
    known = (error > 0) & (mean > 0) & (mean < 1)
    # without variation the samples stand in, as if all seeds of a sample were one trial
    n_effective = np.where(known, np.fmin(divide(mean * (1 - mean), error**2), trials), n)
    z = np.where(known, critical, ndtri(0.5 + condition.resampling.confidence / 2))
    share = np.where(known, mean, mean * n / np.maximum(n, 1))
    low, high = score_interval(np.where(use, share, 0.5), np.where(use, n_effective, 1.0), z)
    intervals.fill(use, low, high, np.where(known, "wilson, effective n", "wilson"))


def _has_components(condition: _OverSeeds) -> Array:
    """Whether variance components carry an interval: several seeds, enough samples, some variation."""
    enough = condition.n_samples >= MIN_UNITS
    return condition.many & enough & (condition.variance > 0)


def _fill_components(
    intervals: Intervals,
    condition: _OverSeeds,
) -> None:
    """All others have a t interval by the variance components, where these carry one."""
    error, critical, _ = condition.widest
    low, high = condition.clipped(error * critical)
    intervals.fill(_has_components(condition), low, high, "variance components")


def _rows(
    condition: _OverSeeds,
    intervals: Intervals,
) -> pd.DataFrame:
    """The rows of `aggregate`."""
    compiled, own, n_seeds = condition.compiled, condition.own_term, condition.n_seeds
    critical = stdtrit(own.plain_df, 0.5 + condition.resampling.confidence / 2)
    seeds_low, seeds_high = condition.clipped(critical * np.sqrt(own.plain))
    # equal seeds say nothing about the next one's distance
    seeds_differ = condition.many & (condition.std != 0)
    claim = np.where(n_seeds == 1, CLAIM_ONE, CLAIM_BOTH)
    df = condition.widest[2]
    no_shares = compiled.counts | (own.nested & condition.many)

    def share(part: Array) -> Array:
        return np.where(no_shares, np.nan, divide(part, condition.variance))

    return pd.DataFrame(
        {
            "metric": compiled.names,
            "value": condition.mean,
            "std": condition.std,
            "n_seeds": n_seeds,
            "ci_low": intervals.low,
            "ci_high": intervals.high,
            "min": condition.lowest,
            "max": condition.highest,
            "ci_method": intervals.method,
            "claim": np.where(intervals.method == "none", "", claim),
            "seeds_ci_low": np.where(seeds_differ, seeds_low, np.nan),
            "seeds_ci_high": np.where(seeds_differ, seeds_high, np.nan),
            "df": np.where(np.isin(intervals.method.astype(str), BY_COMPONENTS), df, np.nan),
            "var_share_seed": share(condition.spread.from_seeds),
            "var_share_sample": share(condition.spread.from_samples),
            "var_share_residual": share(condition.spread.from_residual),
            "n_units": condition.n_samples,
            **compiled.each("title", "group", "better"),
        }
    )
