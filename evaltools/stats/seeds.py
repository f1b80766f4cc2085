"""One condition under several seeds: mean, spread and an interval that names its claim.

Claims: "new seeds and new samples" (the default across seeds: what to expect of another seed on other
samples), "these samples, new seeds" (`seeds_ci_low/high`), and, where there is one seed only, "new
samples, this system". Formulas and measured coverage: docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from ..core.metric import Compiled, Metric, MetricTable, compile_table
from ..core.resampling import Resampling
from .crossed import (
    Crossed,
    Grid,
    Runs,
    grid,
    influence,
    negligible,
    sample_term,
    seed_mean,
    seed_term,
    spread,
)
from .intervals import MIN_UNITS, Interval, estimate, score_interval, wilson
from .many import in_blocks

CLAIM_ONE = "new samples, this system"
CLAIM_BOTH = "new seeds and new samples"

BY_COMPONENTS = ("variance components", "wilson, effective n")

TWO_SEEDS = "Two seeds only: intervals that speak for new seeds are very wide."

CONTRACT = ("metric", "mean", "std", "n_seeds", "ci_low", "ci_high", "min", "max")
"""The columns of aggregated_mean_std.csv, in order."""

SingleRuns = dict[tuple[str, int], Interval]
"""(metric, seed's position) -> interval of that one run."""


def seed_values(runs: Runs, table: MetricTable, unit: str) -> pd.DataFrame:
    """Every metric of every seed: metric, seed, value (nan: not measured), n_units (of the run)."""
    compiled = compile_table(table)
    c = grid(runs, unit)
    values = compiled.values(c.totals(compiled.columns))
    return pd.DataFrame(
        {
            "metric": np.repeat(compiled.names, len(c.seeds)),
            "seed": pd.Series(list(c.seeds) * len(compiled.names), dtype=object),
            "value": values.T.ravel(),
            "n_units": np.tile(c.present.sum(axis=1), len(compiled.names)),
        }
    )


def aggregate(runs: Runs, table: MetricTable, unit: str, resampling: Resampling) -> pd.DataFrame:
    """One row a metric, over the seeds of one condition.

    Columns: those of CONTRACT; `ci_method`, `claim`; `seeds_ci_low`, `seeds_ci_high` (claim "these
    samples, new seeds": t over the per-seed values); `df` (Satterthwaite); `var_share_seed`,
    `var_share_sample`, `var_share_residual` (parts of the variance of the mean: another seed, another
    sample, their interaction; they add to 1); `n_samples` (resampling units that take part in any seed);
    `title`, `group`, `better`.

    `mean`, `std` (ddof 1, nan for one seed), `min` and `max` are over the values of the seeds in which
    the metric is measured (`n_seeds`). `ci_method` is "variance components"; "wilson, effective n" (a
    proportion: Wilson's interval at the number of samples that the variance components amount to);
    "wilson" (a proportion without variation); "none" (a count, too few units, no variation); or, for one
    seed, what `bootstrap.estimate` says of that run. No interval is null.
    """
    seeds = grid(runs, unit)
    single = cache(partial(_single_runs, runs, seeds, table, unit, resampling))
    found = [
        _aggregated(seeds.cross(compiled), resampling, single)
        for compiled in in_blocks(table, len(seeds.units), len(seeds.units) * len(seeds.seeds))
    ]
    return pd.concat(found, ignore_index=True)


def _aggregated(c: Crossed, resampling: Resampling, single: Callable[[], SingleRuns]) -> pd.DataFrame:
    """The rows of `aggregate`."""
    compiled, i = c.compiled, influence(c)
    measured = ~np.isnan(i.values)
    n_seeds = measured.sum(axis=0)
    lowest, highest = np.fmin.reduce(i.values), np.fmax.reduce(i.values)
    # the mean of equal values is that value, without the rounding of a sum
    mean = np.where(lowest == highest, lowest, seed_mean(i.values, measured))
    std = np.sqrt(_ratio(seed_mean((i.values - mean) ** 2, measured) * n_seeds, n_seeds - 1.0))
    n = ((c.present[:, :, None] & measured[:, None, :]).any(axis=0) & i.part).sum(axis=0)
    term = seed_term(i, c)
    s = spread(sample_term(seed_mean(i.errors, measured), n), term)
    variance = np.where(negligible(s.variance, i.values), 0.0, s.variance)
    error, critical, _ = s.widest(resampling.confidence)
    error = np.where(variance == 0, 0.0, error)

    half = stdtrit(term.plain_df, 0.5 + resampling.confidence / 2) * np.sqrt(term.plain)
    # equal seeds say nothing about the next one's distance
    several = (n_seeds > 1) & ~compiled.counts & (std != 0)
    seeds_low, seeds_high = (np.where(several, bound, np.nan) for bound in _clipped(compiled, mean, half))

    one, many = n_seeds == 1, (n_seeds > 1) & ~compiled.counts
    low, high = _clipped(compiled, mean, error * critical)
    components = many & (n >= MIN_UNITS) & (variance > 0)
    low, high = np.where(components, low, np.nan), np.where(components, high, np.nan)
    method = np.where(components, "variance components", "none").astype(object)
    trials = _trials(c)
    for m, metric in enumerate(compiled.metrics):
        if one[m]:
            low[m], high[m], method[m] = single()[metric.name, int(np.flatnonzero(measured[:, m])[0])]
        elif many[m] and n[m] > 0 and isinstance(metric, Metric) and metric.proportion:
            low[m], high[m], method[m] = _proportion(mean[m], error[m], critical[m], n[m], trials[m], resampling)

    by_components = np.isin(method.astype(str), BY_COMPONENTS)
    parts = s.from_seeds, s.from_samples, s.from_residual
    shares = [np.where(compiled.counts, np.nan, _ratio(v, variance)) for v in parts]
    return pd.DataFrame(
        {
            "metric": compiled.names,
            "mean": mean,
            "std": std,
            "n_seeds": n_seeds,
            "ci_low": low,
            "ci_high": high,
            "min": lowest,
            "max": highest,
            "ci_method": method,
            "claim": np.where(method == "none", "", np.where(one, CLAIM_ONE, CLAIM_BOTH)),
            "seeds_ci_low": seeds_low,
            "seeds_ci_high": seeds_high,
            "df": np.where(by_components, s.df, np.nan),
            "var_share_seed": shares[0],
            "var_share_sample": shares[1],
            "var_share_residual": shares[2],
            "n_samples": n,
            "title": [m.title or m.name for m in compiled.metrics],
            "group": [m.group for m in compiled.metrics],
            "better": [m.better for m in compiled.metrics],
        }
    )


def completeness(runs: Runs, table: MetricTable, unit: str) -> list[str]:
    """What a reader must know of the seeds: one seed only, missing samples, metrics not measured. [] is all well."""
    compiled = compile_table(table)
    c = grid(runs, unit)
    values = compiled.values(c.totals(compiled.columns))
    counts = c.present.sum(axis=1)
    notes = []
    if len(c.seeds) == 1:
        notes.append("One seed only: no standard deviation, and the intervals do not speak for another seed.")
    if len(c.seeds) == 2:
        notes.append(TWO_SEEDS)
    if len(c.units) == 1:
        notes.append("One sample only: no interval for new samples.")
    for seed, count in zip(c.seeds, counts):
        if count < len(c.units):
            notes.append(f"Seed {seed} has {count} of the {len(c.units)} samples that any seed has.")
    if len(c.seeds) > 1 and len(c.units) and c.present.sum() == len(c.units):
        notes.append("No sample occurs in two seeds: the spread of seeds and of samples cannot be told apart.")
    elif (shared := int(c.present.all(axis=0).sum())) < len(c.units):
        notes.append(
            f"{shared} of {len(c.units)} samples occur in every seed; values of a seed rest on its own samples."
        )
    for m, name in enumerate(compiled.names):
        lacking = [str(seed) for seed, v in zip(c.seeds, values[:, m]) if np.isnan(v)]
        if 0 < len(lacking) < len(c.seeds):
            notes.append(f"{name} is not measured in seed {', '.join(lacking)}; it rests on the other seeds.")
    return notes


def _single_runs(runs: Runs, seeds: Grid, table: MetricTable, unit: str, resampling: Resampling) -> SingleRuns:
    out = {}
    for k, seed in enumerate(seeds.seeds):
        for row in estimate(runs[seed], table, unit, resampling).to_dict("records"):
            out[row["name"], k] = (row["ci_low"], row["ci_high"], row["ci_method"])
    return out


def _proportion(
    p: float, error: float, critical: float, n: int, trials: float, resampling: Resampling
) -> tuple[float, float, str]:
    """Wilson's interval at the effective number of trials p(1-p)/error^2 (Korn and Graubard, 1998).

    Without variation the number of samples stands in, as if all seeds of a sample were one trial.
    """
    if not error > 0 or not 0 < p < 1:
        low, high = wilson(p * n, n, resampling.confidence)
        return low, high, "wilson"
    low, high = score_interval(p, min(p * (1 - p) / error**2, trials), critical)
    return low, high, "wilson, effective n"


def _trials(c: Crossed) -> np.ndarray:
    """Sum of the (first) denominator of every metric over all cells."""
    return (c.totals.sum(axis=0) @ c.compiled.denominator)[[parts[0][0] for parts in c.compiled.parts]]


def _ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a / b, nan where b is not above 0."""
    return np.divide(a, b, out=np.full(np.shape(a), np.nan), where=b > 0)


def _clipped(compiled: Compiled, centre: np.ndarray, half: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """centre -+ half within the limits of every metric."""
    least, most = np.array([m.limits for m in compiled.metrics]).T
    return np.maximum(centre - half, least), np.minimum(centre + half, most)
