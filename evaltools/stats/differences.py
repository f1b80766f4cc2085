"""Every metric of a pair of conditions by itself: values, difference, p, interval, claim, equivalence.

p of one seed is that of sign flips over units. Of several seeds it is the larger of that and the p
of the variance components (t), because a difference must stand out from the seeds as well as from
the samples.

Interval of a difference, by what the data are:

- several seeds on both sides: variance components of the difference (t), for new seeds and new
  samples;
- one seed on a side: a bootstrap that draws the same units for both sides;
- the same, where the metric has limits and few units decide: "mover", the score intervals of the
  gains and of the losses put together, by the method "auto" only. So too where all units differ
  alike; without limits the interval has no width then.

A margin says how large a difference may be and still not matter. Two one-sided tests (TOST), each
at the level alpha, ask whether the true difference lies above -margin and below +margin. Both find
so exactly where the interval at the confidence 1 - 2 alpha lies within the margin.

Reference: Schuirmann, "A comparison of the two one-sided tests procedure and the power approach for
assessing the equivalence of average bioavailability", Journal of Pharmacokinetics and
Biopharmaceutics 15 (1987).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtr

from ..core.resampling import COMPONENTS, Resampling
from . import claims
from .arrays import Array, Intervals, rounded
from .bootstrap import Statistic, resampled
from .influence import Paired
from .intervals import MIN_UNITS, carries_difference
from .multiplicity import shared_seeds, step_down
from .score_intervals import gains_and_losses, proportions
from .sign_flips import flipped_p, sign_flip
from .variance import (
    Spread,
    negligible,
    spread_of_delta,
)


def differences(
    tested: Evidence,
    margins: Array,
    resampling: Resampling,
) -> pd.DataFrame:
    """A row for every metric of the evidence, judged by nobody yet.

    `margins` (metrics) is the declared margin, nan for none. Columns: both values; `ci_low`,
    `ci_high`, `ci_method`, `claim`; `equivalence_low` and `equivalence_high`, the interval that
    must lie within the margin; `n_units`, `n_seeds`; `n_differ`, the units that differ,
    and `each`, the mean size of their differences as a part of delta; `p_value`, `p_samples`,
    `error`, `df`; the parts of the variance; `pooled`; and `mid`, whether the metric is a
    proportion, whose p is mid-p.
    """
    paired = tested.paired
    counts = paired.baseline.compiled.counts
    unmeasured = np.isnan(paired.delta) | counts
    enough = paired.n_units >= MIN_UNITS
    wanted = ~unmeasured & enough
    intervals = _intervals(tested, wanted, resampling)

    confidence = equivalence_confidence(resampling.confidence)
    inside = resampling.model_copy(update={"confidence": confidence})
    declared = wanted & ~np.isnan(margins)
    equivalence = _intervals(tested, declared, inside)

    n_differ = (tested.differences != 0).sum(axis=0)
    size = np.abs(tested.differences).sum(axis=0)
    spread = tested.spread
    return pd.DataFrame(
        {
            "value_baseline": paired.value_a,
            "value_candidate": paired.value_b,
            "delta": paired.delta,
            "ci_low": intervals.low,
            "ci_high": intervals.high,
            "ci_method": intervals.method,
            "claim": np.where(unmeasured, "", _claims(paired)),
            "equivalence_low": equivalence.low,
            "equivalence_high": equivalence.high,
            "p_value": tested.p_value,
            "p_samples": tested.p_samples,
            "error": tested.error,
            "df": np.where(wanted & (tested.error > 0), tested.df, np.nan),
            "n_units": paired.n_units,
            "n_seeds": paired.n_seeds,
            "n_differ": n_differ,
            "each": size / np.maximum(n_differ, 1),
            "var_seed": spread.from_seeds,
            "var_sample": spread.from_samples,
            "var_residual": spread.from_residual,
            "pooled": spread.pooled,
            "mid": proportions(paired.baseline.compiled),
        }
    )


def _claims(paired: Paired) -> Array:
    """What the interval of every metric speaks for."""
    seeds_a = paired.in_a.sum(axis=0)
    seeds_b = paired.in_b.sum(axis=0)
    one_each = (seeds_a == 1) & (seeds_b == 1)
    one_side = np.where(one_each, claims.THESE_SYSTEMS, claims.THESE_SEEDS)
    return np.where(paired.n_seeds > 1, claims.NEW_SEEDS, one_side)


def _intervals(
    tested: Evidence,
    wanted: Array,
    resampling: Resampling,
) -> Intervals:
    """The intervals of the delta of the wanted metrics, each by the first rule that holds for it."""
    delta = tested.paired.delta
    span = _span(tested.paired)
    has_limits = np.isfinite(span)
    auto = resampling.method == "auto"
    low, high = _mover_bounds(tested, span, resampling.confidence)
    differs = wanted & (tested.differences != 0).any(axis=0)
    varies = wanted & (tested.error > 0)
    one_seed = varies & ~tested.several
    intervals = Intervals.none(len(delta))
    intervals.fill(
        differs & one_seed & _uses_mover(tested, span, resampling),
        low,
        high,
        "mover",
    )
    to_draw = one_seed & (intervals.method == "none")
    if to_draw.any():
        drawn = _bootstrap(tested.paired, to_draw, resampling)
        intervals.fill(
            drawn.method != "none",
            drawn.low,
            drawn.high,
            drawn.method,
        )
    half = tested.error * tested.spread.widest(resampling.confidence)[1]
    intervals.fill(varies, delta - half, delta + half, COMPONENTS)
    if auto:
        # those that have none yet: all units differ alike
        intervals.fill(
            differs & has_limits,
            low,
            high,
            "mover",
        )
        # without limits nothing is known of units that were not drawn: the interval has no width
        method = np.where(tested.several, COMPONENTS, "bca-t")
        intervals.fill(
            differs & ~has_limits,
            delta,
            delta,
            method,
        )
    return Intervals(
        low=np.maximum(intervals.low, -span),
        high=np.minimum(intervals.high, span),
        method=intervals.method,
    )


def _span(paired: Paired) -> Array:
    """How far the limits of each metric are apart; infinite without limits."""
    least, most = paired.baseline.compiled.ends
    return most - least


def _uses_mover(
    tested: Evidence,
    span: Array,
    resampling: Resampling,
) -> Array:
    """(metrics,): whether gains and losses are taken apart, as few units of one seed decide."""
    if resampling.method != "auto":
        return np.zeros(len(span), dtype=bool)
    few_decide = ~carries_difference(tested.differences, span)
    return np.isfinite(span) & ~tested.several & few_decide


def _mover_bounds(
    tested: Evidence,
    span: Array,
    confidence: float,
) -> tuple[Array, Array]:
    """Bounds of every delta from its gains and losses; nan for a metric without limits."""
    paired = tested.paired
    below, above = gains_and_losses(
        tested.differences,
        paired.unit_shares,
        np.where(np.isfinite(span), span, np.nan),
        confidence,
    )
    return paired.delta - below, paired.delta + above


def _bootstrap(
    paired: Paired,
    to_draw: Array,
    resampling: Resampling,
) -> Intervals:
    """Bootstrap intervals of the metrics `to_draw`: the same draws of units for both sides."""
    has_limits = np.isfinite(paired.baseline.compiled.ends)
    statistic = Statistic(
        sides=[paired.baseline.sums, paired.candidate.sums],
        metrics_of=paired.delta_of,
        n_units=paired.n_units,
        unlimited=~has_limits.all(axis=0),
        errors=paired.errors,
        bias=paired.bias,
    )
    return resampled(statistic, to_draw, resampling)


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
    spread = spread_of_delta(paired, pooling=resampling.method == "auto")
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
    n_seeds = column["n_seeds"]
    error, df = shared_seeds(
        column["var_sample"] + column["var_residual"],
        np.where(n_seeds > 1, column["var_seed"], np.nan),
        column["n_units"],
        (n_seeds - 1.0) * (1 + column["pooled"]),
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
    span = _span(paired)
    in_use = _uses_mover(tested, span, resampling)
    if in_use.any():
        low, high = _mover_bounds(tested, span, resampling.confidence)
        shown &= ~(in_use & (low <= 0) & (high >= 0))
    return np.where(shown, np.sign(paired.delta), 0.0)


LOWEST = 0.01
"""The least confidence that an interval can have."""


def equivalence_confidence(confidence: float) -> float:
    """The confidence of the interval that must lie within the margin: 1 - 2 (1 - confidence).

    >>> round(equivalence_confidence(0.95), 2)
    0.9
    """
    return max(2 * confidence - 1, LOWEST)


def within_margin(row: Any) -> Any:
    """Whether a difference was shown to lie within its margin.

    `row` is a row of a comparison, or a frame of them. The columns are `equivalence_low`,
    `equivalence_high` and `margin`. False where one of them is null.

    >>> within_margin({"equivalence_low": -0.01, "equivalence_high": 0.03, "margin": 0.05})
    True
    """
    return (row["equivalence_low"] > -row["margin"]) & (row["equivalence_high"] < row["margin"])


def least_gain(
    row: Any,
    end: float,
    better: str,
) -> float:
    """What the candidate of a row gains at least, above 0 being better: an end of the interval of its difference.

    `better`: "higher" or "lower". Delta stands for an end that is null. Values that one side lacks
    count as the worst that they could be.

    >>> row = {"delta": -0.02, "delta_worst": 0.01, "missing_baseline": 0, "missing_candidate": 3}
    >>> round(least_gain(row, 0.01, "lower"), 2)
    -0.04
    """
    gain = row["delta"] if pd.isna(end) else end
    if better == "lower":
        gain = -gain
    if row["missing_baseline"] or row["missing_candidate"]:
        gain -= abs(row["delta_worst"] - row["delta"])
    return float(gain)
