"""Every metric of a pair of conditions by itself: values, difference, interval, and claim.

Interval of a difference, by what the data are:

- several seeds on both sides: variance components of the difference (t), for new seeds and new
  samples;
- one seed on a side: a bootstrap that draws the same units for both sides;
- one seed each, where few units decide and the metric has limits: "mover", the score intervals of
  both sides put together (`intervals.mover`), by the method "auto" only.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..core.resampling import Resampling
from . import claims
from .arrays import Array
from .bootstrap import resampled
from .bounds import Intervals
from .equivalence import equivalence_confidence
from .evidence import Evidence
from .influence import Paired
from .intervals import CARRIES, MIN_UNITS
from .score_intervals import deciding, mover, score_bounds, share_correlation


def differences(
    tested: Evidence,
    margins: Array,
    resampling: Resampling,
) -> pd.DataFrame:
    """A row for every metric of the evidence, judged by nobody yet.

    `margins` (metrics) is the declared margin, nan for none. Columns: both values; `ci_low`,
    `ci_high`, `ci_method`, `claim`; `equivalence_low` and `equivalence_high`, the interval that
    must lie within the margin; `n_units`, `n_seeds`; `n_differ`, the units that differ,
    and `each`, the mean size of their differences as a part of delta; `p_value`, `p_samples`, `error`, `df`; the
    parts of the variance; and what `judged_together` needs.
    """
    paired = tested.paired
    counts = paired.baseline.compiled.counts
    unmeasured = np.isnan(paired.delta) | counts
    enough = paired.n_units >= MIN_UNITS
    wanted = ~unmeasured & enough & (tested.error > 0)
    intervals = _intervals(tested, wanted, resampling)

    confidence = equivalence_confidence(resampling.confidence)
    inside = resampling.model_copy(update={"confidence": confidence})
    declared = wanted & ~np.isnan(margins)
    equivalence = _intervals(tested, declared, inside)

    n_differ = (tested.differences != 0).sum(axis=0)
    size = np.abs(tested.differences).sum(axis=0)
    columns = {
        "value_baseline": paired.value_a,
        "value_candidate": paired.value_b,
        "ci_low": intervals.low,
        "ci_high": intervals.high,
        "equivalence_low": equivalence.low,
        "equivalence_high": equivalence.high,
        "n_seeds": paired.n_seeds,
        "ci_method": intervals.method,
        "claim": np.where(unmeasured, "", _claims(paired)),
        "p_samples": tested.p_samples,
        "error": tested.error,
        "df": np.where(wanted, tested.df, np.nan),
        "each": size / np.maximum(n_differ, 1),
        "n_differ": n_differ,
        "var_seed": tested.spread.from_seeds,
        "var_sample": tested.spread.from_samples,
        "var_residual": tested.spread.from_residual,
    }
    return tested.parts().assign(**columns)


def _claims(paired: Paired) -> Array:
    """What the interval of every metric speaks for."""
    one_each = (paired.in_a.sum(axis=0) == 1) & (paired.in_b.sum(axis=0) == 1)
    one_side = np.where(one_each, claims.THESE_SYSTEMS, claims.THESE_SEEDS)
    return np.where(paired.n_seeds > 1, claims.NEW_SEEDS, one_side)


def _intervals(
    tested: Evidence,
    wanted: Array,
    resampling: Resampling,
) -> Intervals:
    """The intervals of the delta of the wanted metrics, each by the first rule that holds for it."""
    paired = tested.paired
    intervals = Intervals.none(len(paired.delta))
    one_seed = wanted & ~tested.several
    one_run_each = len(paired.a.values) == len(paired.b.values) == 1
    if resampling.method == "auto" and one_run_each:
        low, high = _from_both_sides(paired, resampling.confidence)
        few_decide = deciding(paired.errors) < CARRIES
        by_sides = one_seed & ~np.isnan(low) & few_decide
        intervals.fill(by_sides, low, high, "mover")
        one_seed = one_seed & ~by_sides
    if one_seed.any():
        drawn = resampled(
            [paired.baseline.sums, paired.candidate.sums],
            paired.delta_of,
            paired.errors,
            paired.bias,
            one_seed,
            resampling,
        )
        intervals.fill(drawn.method != "none", drawn.low, drawn.high, drawn.method)
    half = tested.error * tested.spread.widest(resampling.confidence)[1]
    intervals.fill(wanted, paired.delta - half, paired.delta + half, "variance components")
    return intervals


def _from_both_sides(
    paired: Paired,
    confidence: float,
) -> tuple[Array, Array]:
    """(low, high) of delta, one seed each, from the score intervals of both sides.

    nan for a metric without limits.
    """
    baseline, _ = score_bounds(paired.baseline, confidence, t_only=True)
    candidate, _ = score_bounds(paired.candidate, confidence, t_only=True)
    return mover(
        (paired.value_a, baseline.low, baseline.high),
        (paired.value_b, candidate.low, candidate.high),
        share_correlation(paired.a.errors[0], paired.b.errors[0]),
    )
