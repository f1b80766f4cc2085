"""One condition under several seeds: mean, spread and an interval that names its claim.

Claims: "new seeds and new samples" (the default across seeds: what to expect of another seed on other
samples), "these samples, new seeds" (`seeds_ci_low/high`), and, where there is one seed only, "new
samples, this system". Formulas and measured coverage: docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from ..core.metric import Compiled, Difference, Metric, MetricTable, compile_table
from .cells import LARGE
from .crossed import (
    Alike,
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
from .intervals import MIN_UNITS, Resampling, estimate, score_interval, wilson

CLAIM_ONE = "new samples, this system"
CLAIM_BOTH = "new seeds and new samples"

TWO_SEEDS = "Two seeds only: intervals that speak for new seeds are very wide."

CONTRACT = ("metric", "mean", "std", "n_seeds", "ci_low", "ci_high", "min", "max")
"""The columns of aggregated_mean_std.csv, in order."""

SingleRuns = dict[tuple[str, int], tuple[float, float, str]]
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
    compiled = compile_table(table)
    seeds = grid(runs, unit)
    single = cache(partial(_single_runs, runs, seeds, table, unit, resampling))
    if len(seeds.units) <= LARGE:
        return pd.DataFrame(_aggregated(compiled, seeds.cross(compiled.columns), resampling, single))
    alike = Alike([seeds])
    rows = []
    for m in range(len(compiled.metrics)):
        own = compiled.only(m)
        (c,) = alike.cross(own.columns)
        rows += _aggregated(own, c, resampling, single)
    return pd.DataFrame(rows)


def _aggregated(
    compiled: Compiled, c: Crossed, resampling: Resampling, single: Callable[[], SingleRuns]
) -> list[dict[str, Any]]:
    """The rows of `aggregate`."""
    i = influence(compiled, c)
    measured = ~np.isnan(i.values)
    n_seeds = measured.sum(axis=0)
    lowest, highest = np.fmin.reduce(i.values), np.fmax.reduce(i.values)
    # the mean of equal values is that value, without the rounding of a sum
    mean = np.where(lowest == highest, lowest, seed_mean(i.values, measured))
    std = np.sqrt(_ratio(seed_mean((i.values - mean) ** 2, measured) * n_seeds, n_seeds - 1.0))
    n = (c.counts @ ((c.present[:, :, None] & measured[:, None, :]).any(axis=0) & i.part)).astype(int)
    term = seed_term(i, c)
    s = spread(sample_term(seed_mean(i.errors, measured), c.counts, n), term)
    error, critical, _ = s.widest(resampling.confidence)
    half, seeds_half = error * critical, stdtrit(term.plain_df, 0.5 + resampling.confidence / 2) * np.sqrt(term.plain)
    variance = np.where(negligible(s.variance, i.values), 0.0, s.variance)
    shares = [_ratio(v, variance) for v in (s.from_seeds, s.from_samples, s.from_residual)]
    trials = _trials(compiled, c)
    rows = []
    for m, metric in enumerate(compiled.metrics):
        low, high, seeds_low, seeds_high = (np.nan,) * 4
        method, claim = "none", CLAIM_BOTH
        is_count = bool(compiled.is_count[compiled.first[m]])
        proportion = isinstance(metric, Metric) and metric.proportion
        if n_seeds[m] == 1:
            low, high, method = single()[metric.name, int(np.flatnonzero(measured[:, m])[0])]
            claim = CLAIM_ONE
        elif n_seeds[m] > 1 and not is_count:
            seeds_low, seeds_high = _clip(metric, mean[m] - seeds_half[m], mean[m] + seeds_half[m])
            if proportion and n[m] > 0:
                low, high, method = _proportion(
                    mean[m], variance[m] and error[m], critical[m], n[m], trials[m], resampling
                )
            elif n[m] >= MIN_UNITS and variance[m] > 0:
                low, high = _clip(metric, mean[m] - half[m], mean[m] + half[m])
                method = "variance components"
        if method == "none":
            claim = ""
        if std[m] == 0:
            # equal seeds say nothing about the next one's distance
            seeds_low = seeds_high = np.nan
        rows.append(
            {
                "metric": metric.name,
                "mean": mean[m],
                "std": std[m],
                "n_seeds": int(n_seeds[m]),
                "ci_low": low,
                "ci_high": high,
                "min": lowest[m],
                "max": highest[m],
                "ci_method": method,
                "claim": claim,
                "seeds_ci_low": seeds_low,
                "seeds_ci_high": seeds_high,
                "df": s.df[m] if method.startswith(("variance", "wilson,")) else np.nan,
                "var_share_seed": np.nan if is_count else shares[0][m],
                "var_share_sample": np.nan if is_count else shares[1][m],
                "var_share_residual": np.nan if is_count else shares[2][m],
                "n_samples": int(n[m]),
                "title": metric.title,
                "group": metric.group,
                "better": metric.better,
            }
        )
    return rows


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


def _trials(compiled: Compiled, c: Crossed) -> np.ndarray:
    """Sum of the (first) denominator of every metric over all cells."""
    return (c.totals.sum(axis=0) @ compiled.denominator)[compiled.first]


def _ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a / b, nan where b is not above 0."""
    return np.divide(a, b, out=np.full(np.shape(a), np.nan), where=b > 0)


def _clip(metric: Metric | Difference, low: float, high: float) -> tuple[float, float]:
    least, most = metric.limits if isinstance(metric, Metric) else (-np.inf, np.inf)
    return max(low, least), min(high, most)
