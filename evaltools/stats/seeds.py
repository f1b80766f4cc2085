"""One condition under several seeds: mean, spread, and an interval for new seeds and new samples.

Row 6 of docs/statistics.md: the two-way variance of seeds and samples. Seeds are taken as normal. A
bootstrap over three seeds covers 75%, so there is none here.

References: Searle, Casella, McCulloch, "Variance Components" (1992); Satterthwaite, Biometrics
Bulletin 2 (1946).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtr

from ..core.estimates import complete
from ..core.metric import MetricTable
from ..core.resampling import Resampling
from .formulas import score_t, t_quantile
from .influence import Array, Cells, Runs, effective_units, label, sample_variance
from .intervals import MIN_UNITS, Interval, interval_row, run_intervals

# What intervals speak for.
THIS_RUN = "new samples, this run"
THESE_TWO_RUNS = "new samples, these two runs"
THESE_RUNS = "new samples, these runs"
NEW_SEEDS = "new seeds and new samples (seeds taken as normal)"


class SeedPart(NamedTuple):
    """What the seeds of one side bring to the variance of a mean over them.

    `own`: what is theirs alone; `squares`: sum of (mean square)^2 / df of what it is made of; `plain`:
    the variance by the values of the seeds alone, with `df` = seeds - 1. `residual`: the interaction
    of seeds and units. `nested`: no unit is in two seeds, so that `own` holds the units' spread too.
    """

    own: float
    squares: float
    plain: float
    df: float
    residual: float
    nested: bool


def seed_part(
    values: Array,
    errors: Array,
    present: Array,
    takes_part: Array,
) -> SeedPart:
    """The part of two or more seeds: values (seeds,), errors and present (seeds, units), takes_part (units,).

    The interaction is estimated on the units that all seeds have; where fewer than two are, the
    seeds' own part is all of their spread.
    """
    k = len(values)
    between = values.var(ddof=1)
    here = present & takes_part
    whole = here.all(axis=0)
    n, per_seed = int(whole.sum()), here.sum(axis=1)
    within = df_rest = 0.0
    if n > 1:
        # each cell as if it stood for its whole seed
        rest = errors[:, whole] * per_seed[:, None]
        rest = rest - rest.mean(axis=0)
        rest -= rest.mean(axis=1, keepdims=True)
        df_rest = (n - 1) * (k - 1)
        within = (rest**2).sum() / df_rest * (1 / per_seed).mean()
    excess = between - within
    # the last digit of two equal mean squares must not decide anything
    own = excess / k if excess > 1e-9 * (between + within) else 0.0
    squares = between**2 / (k - 1) + within**2 / max(df_rest, 1)
    return SeedPart(
        own=own,
        squares=squares / k**2 if own > 0 else 0.0,
        plain=between / k,
        df=k - 1.0,
        residual=within / k,
        nested=bool((present.sum(axis=0) <= 1).all()),
    )


class Spread(NamedTuple):
    """Uncertainty of a mean or difference, by two accounts that must both hold.

    `variance` with `df`; and that by the seeds' values alone, `plain` with `plain_df` (0: none): what
    is said of new seeds and new samples cannot be surer than what is said of new seeds.
    """

    variance: float
    df: float
    plain: float = 0.0
    plain_df: float = 1.0

    def widest(self, alpha: float) -> tuple[float, float, float]:
        """(standard error, t quantile, df) of the account with the wider interval."""
        accounts = [
            (float(np.sqrt(variance)), t_quantile(df, alpha), df)
            for variance, df in ((self.variance, self.df), (self.plain, self.plain_df))
        ]
        return max(accounts, key=lambda account: account[0] * account[1])

    def p_value(self, difference: float) -> float:
        """Two-sided p for a true value of 0: the level at which the widest interval just reaches it."""
        p = [
            2 * float(stdtr(df, -abs(difference) / np.sqrt(variance)))
            for variance, df in ((self.variance, self.df), (self.plain, self.plain_df))
            if variance > 0
        ]
        return max(p, default=0.0) if difference else 1.0


def two_way(
    sample: float,
    n: float,
    parts: Sequence[SeedPart],
) -> Spread:
    """The spread for new seeds and new samples: `sample`, the variance by n effective units, and the parts of seeds.

    Without parts that of new samples alone. The seeds' values alone count where seeds show a part of
    their own or are only two: with 3 seeds Satterthwaite's df alone cover 92% where seeds dominate.
    """
    df = max(n - 1.0, 1e-9)
    if not parts:
        return Spread(sample, df)
    if all(part.nested for part in parts):
        sample, df = 0.0, max(df, 1.0)
    own = sum(part.own for part in parts)
    variance = sample + own
    squares = sample**2 / df + sum(part.squares for part in parts)
    fewest = min(part.df for part in parts)
    if squares > 0:
        # a difference of mean squares can come out below the df of the smallest
        df = max(variance**2 / squares, min(df, fewest))
    plain = sum(part.plain for part in parts)
    plain_squares = sum(part.plain**2 / part.df for part in parts)
    welch = plain**2 / plain_squares if plain_squares > 0 else 1.0
    return Spread(
        variance,
        df,
        plain if own > 0 or fewest < 2 else 0.0,
        welch,
    )


def seed_interval(condition: Cells, resampling: Resampling) -> Interval:
    """Row 6, for a metric that is measured in all of two or more seeds."""
    n, n_units = effective_units(condition.shares), np.count_nonzero(condition.takes_part)
    part = seed_part(
        condition.values,
        condition.errors,
        condition.present,
        condition.takes_part,
    )
    spread = two_way(sample_variance(condition.errors.mean(axis=0), n), n, [part])
    error, critical, df = spread.widest(resampling.level)
    mean = condition.values.mean()
    if error <= 1e-10 * np.abs(condition.values).max():
        error = 0.0
    low, high = condition.limits
    if condition.is_count or not n_units:
        return Interval()
    is_difference = (condition.weights < 0).any()
    # of hardly any degrees of freedom the interval would be all that is possible
    if np.isfinite([low, high]).all() and not is_difference and (df >= 2 or not error):
        bounds = score_t(
            mean,
            error**2,
            n,
            critical,
            (low, high),
            resampling.level,
        )
        return Interval(*bounds, "score-t")
    if n_units < MIN_UNITS or not error:
        return Interval()
    half = error * critical
    return Interval(max(mean - half, low), min(mean + half, high), "components")


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
    (labelled,) = label([runs], table, unit)
    whole = [labelled.units(metric) for metric in range(len(table))]
    measured = [cells.at(~np.isnan(cells.values)) for cells in whole]
    alone = [index for index, cells in enumerate(measured) if len(cells.sums) == 1]
    intervals = dict(zip(alone, run_intervals([measured[i] for i in alone], resampling)))
    rows = []
    for index, cells in enumerate(measured):
        if len(cells.sums) > 1:
            intervals[index] = seed_interval(cells, resampling)
        rows.append(_row(cells, intervals.get(index, Interval())))
    return complete(pd.DataFrame(rows), condition=condition)


def _row(cells: Cells, interval: Interval) -> dict[str, Any]:
    """The row of `aggregate` for a metric, from the seeds in which it is measured."""
    n_seeds = len(cells.sums)
    values = cells.values if n_seeds else np.array([np.nan])
    claim = THIS_RUN if n_seeds == 1 else NEW_SEEDS
    return interval_row(cells, interval) | {
        # of equal values that value, without the rounding of a sum
        "value": values[0] if np.ptp(values) == 0 else values.mean(),
        "std": values.std(ddof=1) if n_seeds > 1 else np.nan,
        "n_seeds": n_seeds,
        "min": values.min(),
        "max": values.max(),
        "claim": claim if interval.method != "none" else "",
    }
