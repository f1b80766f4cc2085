"""What a pair of conditions shows of every metric: p, and the standard error of delta.

p of one seed is that of sign flips over units. Of several seeds it is the larger of that and the p
of the variance components (t), because a difference must stand out from the seeds as well as from
the samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import stdtr

from ..core.resampling import Resampling
from .arrays import Array, rounded
from .influence import Paired
from .intervals import MIN_UNITS
from .multiplicity import shared_seeds, step_down
from .score_intervals import proportions
from .seed_variance import seed_pool, seed_term, where
from .sign_flips import flipped_p, sign_flip
from .variance import (
    Spread,
    negligible,
    sample_term,
    spread_of_pair,
    spread_of_samples,
)


@dataclass(frozen=True)
class Evidence:
    """What a pair of conditions shows without an interval; arrays over metrics.

    `differences` (units, metrics) are `Paired.null_errors`, rounded. `p_samples` is the p of sign
    flips alone, `p_value` the p of the metric. `error` and `df` are the standard error of delta and
    its degrees of freedom; `spread` says what they are made of.
    """

    paired: Paired
    differences: Array
    p_samples: Array
    p_value: Array
    error: Array
    df: Array
    spread: Spread

    @property
    def several(self) -> Array:
        """(metrics,): whether both sides have the metric in several seeds."""
        return self.paired.n_seeds > 1


def evidence(
    paired: Paired,
    n_permutations: int,
    resampling: Resampling,
) -> Evidence:
    """The p of every metric by itself, and the standard error of its delta.

    By the method "auto" the seeds of both sides count together for metrics in which they differ
    equally much. Plain counts and metrics that a side lacks have no p (nan).
    """
    compiled = paired.baseline.compiled
    several = paired.n_seeds > 1
    spread = spread_of_delta(paired, resampling)
    error, _, df = spread.widest(resampling.confidence)
    values = np.concatenate([paired.baseline.values, paired.candidate.values])
    error = np.where(negligible(error**2, values), 0.0, error)

    differences = rounded(paired.null_errors)
    flips = sign_flip(
        differences,
        n_permutations,
        resampling.seed,
        proportions(compiled),
    )
    untested = np.isnan(paired.delta) | compiled.counts
    p_samples = np.where(untested, np.nan, flips)
    larger = np.fmax(p_samples, spread.p_value(paired.delta))
    p_value = np.where(several & (error > 0), larger, p_samples)
    p_value = np.where(untested, np.nan, p_value)
    return Evidence(
        paired,
        differences,
        p_samples,
        p_value,
        error,
        df,
        spread,
    )


def spread_of_delta(
    paired: Paired,
    resampling: Resampling,
) -> Spread:
    """The spread of delta: of several seeds variance components, else the spread of the samples."""
    several = paired.n_seeds > 1
    samples = sample_term(paired.errors, paired.n_units)
    one_seed = spread_of_samples(samples)
    if not several.any():
        return one_seed
    terms = [seed_term(paired.baseline), seed_term(paired.candidate)]
    pool = seed_pool(terms) if resampling.method == "auto" else None
    several_seeds = spread_of_pair(paired, samples, terms, pool)
    chosen: Spread = where(several, several_seeds, one_seed)
    return chosen


def judged_together(
    rows: pd.DataFrame,
    differences: Array,
    n_permutations: int,
    resampling: Resampling,
) -> pd.DataFrame:
    """The metrics of a family, judged together.

    Columns: p_adjusted, level, error_shared, df_shared; a row a metric.

    `rows` are those of `differences.differences`, `differences` (units, metrics) those of the same
    metrics.
    p is first raised to what a common share of the seeds gives (`shared_seeds`), and then adjusted
    by Westfall and Young's step-down (`step_down`). `level` is what the p of the metric must keep
    at its step.
    """
    column = {name: rows[name].to_numpy() for name in rows}
    error, df = shared_seeds(
        column["of_samples"],
        column["of_seeds"],
        column["n_units"],
        column["df_seeds"],
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        p_shared = 2 * stdtr(df, -np.abs(column["delta"]) / error)
    p = np.fmax(column["p_value"], p_shared)
    flipped = flipped_p(
        differences,
        n_permutations,
        resampling.seed,
        column["mid"],
    )
    steps = step_down(p, flipped, resampling.level)
    return pd.DataFrame(
        {
            "p_adjusted": steps.p,
            "level": steps.level,
            "error_shared": error,
            "df_shared": df,
        },
        index=rows.index,
    )


def decide(
    paired: Paired,
    resampling: Resampling,
    n_permutations: int = 1_000,
) -> Array:
    """(metrics,): 1 or -1 where delta is shown to lie above or below 0, else 0.

    Every metric is judged as the primary one. This is the rule of `compare.verdicts` without the
    bootstrap of single seeds, whose interval leaves out 0 where p is small. It is quick enough for
    simulations.
    """
    tested = evidence(paired, n_permutations, resampling)
    shown = (paired.n_units >= MIN_UNITS) & (tested.p_value <= resampling.level)
    return np.where(shown, np.sign(paired.delta), 0.0)
