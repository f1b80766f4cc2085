"""One condition under several seeds: mean, spread, and an interval for new seeds and new samples.

Rule 6 of docs/statistics.md: the two-way variance of seeds and samples. Seeds are taken as normal. A
bootstrap over three seeds covers 75%, so there is none here.

References: Searle, Casella, McCulloch, "Variance Components" (1992); Satterthwaite, Biometrics
Bulletin 2 (1946).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import stdtr

from ..core.estimates import complete
from ..core.metric import MetricTable
from ..core.resampling import Resampling
from .influence import (
    Array,
    Cells,
    Runs,
    cells,
    divide,
    effective_units,
    measured_groups,
    measured_seeds,
    without_nulls,
)
from .intervals import MIN_UNITS, Intervals, run_intervals, score_t, t_quantile

# What intervals speak for.
THIS_RUN = "new samples, this run"
THESE_TWO_RUNS = "new samples, these two runs"
THESE_RUNS = "new samples, these runs"
NEW_SEEDS = "new seeds and new samples (seeds taken as normal)"


@dataclass(frozen=True)
class SeedPart:
    """What the seeds of one side bring to the variance of a mean over them; arrays over metrics.

    `own`: what is theirs alone; `squares`: sum of (mean square)^2 / df of what it is made of; `plain`:
    the variance by the values of the seeds alone, with `df` = seeds - 1. `residual`: the interaction
    of seeds and units. `nested`: no unit is in two seeds, so that `own` holds the units' spread too.
    """

    own: Array
    squares: Array
    plain: Array
    df: float
    residual: Array
    nested: bool


def seed_part(values: Array, errors: Array, present: Array, takes_part: Array) -> SeedPart:
    """The part of two or more seeds: values (seeds, metrics), errors (seeds, units, metrics).

    The interaction is estimated on the units that all seeds have; where fewer than two are, the
    seeds' own part is all of their spread.
    """
    k = len(values)
    between = values.var(axis=0, ddof=1)
    whole = np.all(present, axis=0)[:, None] & takes_part
    n = whole.sum(axis=0)
    per_seed = (present[:, :, None] & takes_part).sum(axis=1)
    # each cell as if it stood for its whole seed
    scaled = np.where(whole, errors * per_seed[:, None, :], 0.0)
    rest = scaled - scaled.mean(axis=0)
    rest = np.where(whole, rest - divide(rest.sum(axis=1), n, 0.0)[:, None, :], 0.0)
    df_rest = np.maximum((n - 1) * (k - 1), 1)
    mean_square = (rest**2).sum(axis=(0, 1)) / df_rest
    within = mean_square * divide(1.0, per_seed, 0.0).mean(axis=0)
    within = np.where(n > 1, within, 0.0)
    excess = between - within
    # the last digit of two equal mean squares must not decide anything
    own = np.where(excess > 1e-9 * (between + within), excess, 0.0) / k
    squares = (between**2 / (k - 1) + within**2 / df_rest) / k**2
    return SeedPart(
        own=own,
        squares=np.where(own > 0, squares, 0.0),
        plain=between / k,
        df=k - 1.0,
        residual=within / k,
        nested=bool((present.sum(axis=0) <= 1).all()),
    )


@dataclass(frozen=True)
class Spread:
    """Uncertainty of a mean or difference, by two accounts that must both hold; arrays over metrics.

    `variance` with `df`; and that by the seeds' values alone, `plain` with `plain_df` (0: none): what
    is said of new seeds and new samples cannot be surer than what is said of new seeds.
    """

    variance: Array
    df: Array
    plain: Array
    plain_df: Array

    def widest(self, alpha: Array | float) -> tuple[Array, Array, Array]:
        """(standard error, t quantile, df) of the account with the wider interval."""
        error, critical = np.sqrt(self.variance), t_quantile(self.df, alpha)
        plain, plain_critical = np.sqrt(self.plain), t_quantile(self.plain_df, alpha)
        wider = plain * plain_critical > error * critical
        return (
            np.where(wider, plain, error),
            np.where(wider, plain_critical, critical),
            np.where(wider, self.plain_df, self.df),
        )

    def p_value(self, difference: Array) -> Array:
        """Two-sided p for a true value of 0: the level at which the widest interval just reaches it."""
        size = np.abs(difference)
        with np.errstate(divide="ignore", invalid="ignore"):
            p = 2 * stdtr(self.df, -size / np.sqrt(self.variance))
            plain = 2 * stdtr(self.plain_df, -size / np.sqrt(self.plain))
        return np.where(size > 0, np.fmax(p, plain), 1.0)


def two_way(sample: Array, n: Array, parts: Sequence[SeedPart]) -> Spread:
    """The spread for new seeds and new samples: `sample`, the variance by n effective units, and the parts of seeds.

    Without parts that of new samples alone. The seeds' values alone count where seeds show a part of
    their own or are only two: with 3 seeds Satterthwaite's df alone cover 92% where seeds dominate.
    """
    df = np.maximum(n - 1.0, 1e-9)
    if not parts:
        return Spread(sample, df, np.zeros_like(sample), np.ones_like(sample))
    if all(part.nested for part in parts):
        sample, df = np.zeros_like(sample), np.maximum(df, 1.0)
    own = np.sum([part.own for part in parts], axis=0)
    variance = sample + own
    squares = sample**2 / df + np.sum([part.squares for part in parts], axis=0)
    fewest = min(part.df for part in parts)
    # a difference of mean squares can come out below the df of the smallest
    joint = np.fmax(divide(variance**2, squares), np.minimum(df, fewest))
    plain = np.sum([part.plain for part in parts], axis=0)
    welch = divide(plain**2, np.sum([part.plain**2 / part.df for part in parts], axis=0), 1.0)
    return Spread(
        variance=variance,
        df=np.where(variance > 0, joint, df),
        plain=np.where((own > 0) | (fewest < 2), plain, 0.0),
        plain_df=welch,
    )


def sample_variance(errors: Array, n: Array) -> Array:
    """Variance that units bring to a mean: errors (units, metrics) that sum to 0, n effective units."""
    return np.einsum("um,um->m", errors, errors) * n / np.maximum(n - 1, 1e-9)


def seed_intervals(condition: Cells, resampling: Resampling) -> Intervals:
    """Rule 6 for metrics that are measured in all of two or more seeds."""
    compiled = condition.compiled
    n = effective_units(condition.weights)
    n_units = condition.takes_part.sum(axis=0)
    part = seed_part(condition.values, condition.errors, condition.present, condition.takes_part)
    spread = two_way(sample_variance(condition.errors.mean(axis=0), n), n, [part])
    error, critical, df = spread.widest(resampling.level)
    mean = condition.values.mean(axis=0)
    scale = np.abs(condition.values).max(axis=0)
    error = np.where(error <= 1e-10 * scale, 0.0, error)
    is_difference = (compiled.weights < 0).any(axis=0)
    intervals = Intervals.none(len(mean))
    low, high = score_t(mean, error**2, n, critical, compiled.ends, resampling.level)
    # of hardly any degrees of freedom the interval would be all that is possible
    scored = ~is_difference & ~np.isnan(low) & ((df >= 2) | (error == 0))
    intervals.fill(scored & (n_units > 0), low, high, "score-t")
    low = np.maximum(mean - error * critical, compiled.ends[0])
    high = np.minimum(mean + error * critical, compiled.ends[1])
    intervals.fill((n_units >= MIN_UNITS) & (error > 0) & ~compiled.counts, low, high, "components")
    return intervals


def aggregate(
    runs: Runs,
    table: MetricTable,
    unit: str,
    resampling: Resampling,
    condition: str = "",
) -> pd.DataFrame:
    """The estimates of a condition (seed -> units frame) over its seeds, a row a metric.

    Columns: those of `core.estimates`, min and max (the least and greatest value of a seed), and claim
    (what the interval speaks for). `value` is the mean over the seeds in which the metric is measured
    (`n_seeds`), `std` their standard deviation (ddof 1, nan for one seed). `n_units` counts the
    resampling units that take part in any seed. Metrics of one seed have the interval of that run.

    >>> from evaltools.core.metric import Metric
    >>> run = pd.DataFrame({"id": range(40), "right": [1, 1, 0, 1] * 10, "n": 1})
    >>> runs = {1: run, 2: run.assign(right=[1, 0, 0, 1] * 10)}
    >>> accuracy = Metric(name="accuracy", numerator="right", denominator="n", better="higher")
    >>> estimates = aggregate(runs, [accuracy], "id", Resampling())
    >>> estimates[["metric", "value", "n_seeds", "min", "max"]]
         metric  value  n_seeds  min   max
    0  accuracy  0.625        2  0.5  0.75
    """
    rows = []
    for indices, compiled, columns in measured_groups(table, list(runs.values()), unit):
        whole = cells(without_nulls(runs, columns), compiled, unit)
        for metrics, seeds in measured_seeds(~np.isnan(whole.values)):
            of_metrics = whole.part(seeds, metrics)
            frame = _rows(of_metrics, len(seeds), resampling)
            rows.append(frame.set_index(pd.Index([indices[metric] for metric in metrics])))
    return complete(pd.concat(rows).sort_index(), condition=condition)


def _rows(part: Cells, n_seeds: int, resampling: Resampling) -> pd.DataFrame:
    """The rows of `aggregate` for metrics that are measured in the same seeds."""
    n_metrics = len(part.compiled.parts)
    values = part.values if n_seeds else np.full((1, n_metrics), np.nan)
    if n_seeds == 1:
        intervals = run_intervals(part, resampling)
    elif n_seeds:
        intervals = seed_intervals(part, resampling)
    else:
        intervals = Intervals.none(n_metrics)
    claim = THIS_RUN if n_seeds == 1 else NEW_SEEDS
    least, most = values.min(axis=0), values.max(axis=0)
    return pd.DataFrame(
        {
            "metric": part.compiled.names,
            # of equal values that value, without the rounding of a sum
            "value": np.where(least == most, least, values.mean(axis=0)),
            "std": values.std(axis=0, ddof=1) if n_seeds > 1 else np.nan,
            "n_seeds": n_seeds,
            "ci_low": intervals.low,
            "ci_high": intervals.high,
            "min": least,
            "max": most,
            "ci_method": intervals.method,
            "n_units": part.takes_part.sum(axis=0) if n_seeds else 0,
            "claim": np.where(intervals.method == "none", "", claim),
            **part.compiled.each("title", "group", "better"),
        }
    )
