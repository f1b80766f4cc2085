"""What one of two conditions lacks: counted, what it could change, and whether it is missing at random."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import stdtr

from .influence import Array, Cells

# The test needs so many units that are missing, and as many that are not.
TESTABLE = 3
# The level of the test, Holm over all that is tested together.
NOT_RANDOM = 0.05


def p_random(
    missing: Array,
    present: Array,
) -> float:
    """p that the values of what a side lacks, on the other side, are those of the rest; nan where too few are known.

    The larger p of Welch's t and Student's, from TESTABLE values each on: Welch's alone would find six
    units that happen to be all right, Student's alone one rare event among six. 0 for values without
    variance and with other means.

    >>> round(p_random(np.array([0.1, 0.2, 0.15]), np.array([0.8, 0.9, 0.85])), 4)
    0.0001
    """
    n, m = len(missing), len(present)
    if min(n, m) < TESTABLE:
        return np.nan
    apart = abs(missing.mean() - present.mean())
    part, rest = missing.var(ddof=1) / n, present.var(ddof=1) / m
    pooled = (part * n * (n - 1) + rest * m * (m - 1)) / (n + m - 2) * (1 / n + 1 / m)
    if np.sqrt(pooled) <= 1e-10 * max(apart, 1e-3):
        return float(apart <= 1e-12)
    welch_df = (part + rest) ** 2 / (part**2 / (n - 1) + rest**2 / (m - 1))
    student = stdtr(n + m - 2, -apart / np.sqrt(pooled))
    welch = stdtr(welch_df, -apart / np.sqrt(part + rest))
    return float(2 * max(student, welch))


def lacking(
    a: Cells,
    b: Cells,
    by_seed: bool,
    delta: float,
) -> dict[str, Any]:
    """What each side of a metric lacks of the other's cells, over the same samples, and what that could change.

    - n_cells: cells that either side has: a sample under a seed, of each side where seeds do not pair;
    - missing_baseline, missing_candidate: cells that this side lacks and the other has;
    - delta_worst, delta_best: the difference if all of them were the worst, or the best, for the
      candidate: at the limits of the metric, without limits at the least and greatest value seen;
    - p_random: p that what is missing is missing at random; few_missing: whether it is too little to tell.

    A cell that is lacking weighs in the denominator what it weighs on the other side.
    """
    on_a, on_b = (
        side.present if by_seed else np.any(side.present, axis=0, keepdims=True) for side in (a, b)
    )
    lacks_a, lacks_b = on_b & ~a.present, on_a & ~b.present
    n_cells = (on_a | on_b).sum() * (1 if by_seed else len(a.present) + len(b.present))
    found = {
        "n_cells": int(n_cells),
        "missing_baseline": int(lacks_a.sum()),
        "missing_candidate": int(lacks_b.sum()),
        "delta_worst": delta,
        "delta_best": delta,
        "p_random": np.nan,
        "few_missing": False,
    }
    if not lacks_a.any() and not lacks_b.any():
        return found
    paired = np.any(on_a, axis=0) & np.any(on_b, axis=0)
    p = []
    for other, lacks in ((b, lacks_a.any(axis=0)), (a, lacks_b.any(axis=0))):
        values = _unit_means(other)
        known = ~np.isnan(values)
        missing = values[lacks & known]
        if len(missing):
            p.append(p_random(missing, values[paired & ~lacks & known]))
    # Bonferroni over the sides that can be tested
    tested = [each for each in p if not np.isnan(each)]
    limits = _limits(a, b)
    low_a, high_a = _ends(
        a,
        b,
        lacks_a,
        by_seed,
        limits,
    )
    low_b, high_b = _ends(
        b,
        a,
        lacks_b,
        by_seed,
        limits,
    )
    worst, best = low_b - high_a, high_b - low_a
    if a.formula.metric.better == "lower":
        worst, best = best, worst
    return found | {
        "delta_worst": worst,
        "delta_best": best,
        "p_random": min(tested, default=np.nan) * len(tested),
        "few_missing": len(tested) < len(p),
    }


def _unit_means(side: Cells) -> Array:
    """The metric of each unit by itself over all seeds, (units,); nan where it has none."""
    values = side.formula.values(side.sums.sum(axis=0))
    return np.where(
        side.takes_part & (not side.is_count),
        values,
        np.nan,
    )


def _limits(
    a: Cells,
    b: Cells,
) -> Array:
    """(2, ratios): the limits of every ratio, where it has none the least and greatest value of a cell."""
    seen = []
    for side in (a, b):
        den = np.where(
            side.den == 0,
            np.nan,
            side.den,
        )
        seen.append((side.num / den).reshape(-1, den.shape[-1]))
    own = np.concatenate(seen)
    lowest = np.fmin.reduce(
        own,
        axis=0,
        initial=np.inf,
    )
    greatest = np.fmax.reduce(
        own,
        axis=0,
        initial=-np.inf,
    )
    limits = a.formula.limits
    return np.where(
        np.isfinite(limits),
        limits,
        [lowest, greatest],
    )


def _ends(
    side: Cells,
    other: Cells,
    lacks: Array,
    by_seed: bool,
    limits: Array,
) -> tuple[float, float]:
    """(least, greatest) mean over seeds of the metric, if what the side lacks were all at a limit."""
    weight = other.den
    if not by_seed:
        n_seeds = np.maximum(other.present.sum(axis=0), 1)
        weight = other.den.sum(axis=0) / n_seeds[:, None]
    added = (lacks[:, :, None] * weight).sum(axis=1)
    num, den = side.num.sum(axis=1), side.den.sum(axis=1)
    ratios = side.formula.ratios(side.totals)
    with np.errstate(divide="ignore", invalid="ignore"):
        lowest, greatest = [
            np.where(added > 0, (num + limit * added) / (den + added), ratios) for limit in limits
        ]
    low = side.formula.combined(lowest, greatest)
    high = side.formula.combined(greatest, lowest)
    known = ~np.isnan(low)
    if not known.any():
        return np.nan, np.nan
    return float(low[known].mean()), float(high[known].mean())
