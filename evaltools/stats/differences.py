"""Every metric of a pair of conditions by itself: values, difference, interval, and claim.

Interval of a difference, by what the data are:

- several seeds on both sides: variance components of the difference (t), for new seeds and new
  samples;
- one seed on a side: a bootstrap that draws the same units for both sides;
- the same, where the metric has limits and few units decide: "mover", the score intervals of the
  gains and of the losses put together (mover.py), by the method "auto" only. So too where all units
  differ alike; without limits the interval has no width then.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..core.resampling import COMPONENTS, Resampling
from . import claims
from .arrays import Array
from .bootstrap import Statistic, resampled
from .bounds import Intervals
from .equivalence import equivalence_confidence
from .evidence import Evidence
from .influence import Paired
from .intervals import MIN_UNITS
from .mover import gains_and_losses
from .run_bounds import carries_difference
from .score_intervals import proportions


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
    `error`, `df`; the parts of the variance. For `judged_together`: what samples and what seeds
    (null for one seed) bring to the variance, the degrees of freedom of the seeds, and `mid`,
    whether the metric is a proportion, whose p is mid-p.
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
    seeds_that_tell = np.where(spread.pooled, 2, 1)
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
            "of_samples": spread.variance - spread.from_seeds,
            "of_seeds": np.where(tested.several, spread.from_seeds, np.nan),
            "df_seeds": (paired.n_seeds - 1.0) * seeds_that_tell,
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
    least, most = tested.paired.baseline.compiled.ends
    span = most - least
    has_limits = np.isfinite(span)
    auto = resampling.method == "auto"
    low, high = _mover_bounds(tested, span, resampling.confidence)
    differs = wanted & (tested.differences != 0).any(axis=0)
    varies = wanted & (tested.error > 0)
    one_seed = varies & ~tested.several
    intervals = Intervals.none(len(delta))
    if auto:
        few_decide = ~carries_difference(tested.differences, span)
        intervals.fill(differs & has_limits & one_seed & few_decide, low, high, "mover")
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
        intervals.fill(differs & has_limits, low, high, "mover")
        # without limits nothing is known of units that were not drawn: the interval has no width
        method = np.where(tested.several, COMPONENTS, "bca-t")
        intervals.fill(differs & ~has_limits, delta, delta, method)
    return Intervals(
        low=np.maximum(intervals.low, -span),
        high=np.minimum(intervals.high, span),
        method=intervals.method,
    )


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
