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


def p_random(missing: Array, present: Array) -> float:
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
    return float(2 * max(student, stdtr(welch_df, -apart / np.sqrt(part + rest))))


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
    n_cells = (on_a | on_b).sum() * (1 if by_seed else len(a.sums) + len(b.sums))
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
    limits = _limits(a, b)
    p, ends = [], []
    for side, other, lacks in ((a, b, lacks_a), (b, a, lacks_b)):
        # of each unit by itself, over all seeds
        values = np.where(other.takes_part, other.formula.values(other.sums.sum(axis=0)), np.nan)
        is_missing = lacks.any(axis=0)
        missing, rest = values[is_missing], values[paired & ~is_missing]
        if not np.isnan(missing).all():
            p.append(p_random(missing[~np.isnan(missing)], rest[~np.isnan(rest)]))
        weight = other.den
        if not by_seed:
            weight = weight.sum(axis=0) / np.maximum(other.present.sum(axis=0), 1)[:, None]
        ends.append(_ends(side, lacks, weight, limits))
    # Bonferroni over the sides that can be tested
    tested = [each for each in p if not np.isnan(each)]
    (low_a, high_a), (low_b, high_b) = ends
    worst, best = low_b - high_a, high_b - low_a
    if a.formula.metric.better == "lower":
        worst, best = best, worst
    return found | {
        "delta_worst": worst,
        "delta_best": best,
        "p_random": min(tested, default=np.nan) * len(tested),
        "few_missing": len(tested) < len(p),
    }


def _limits(a: Cells, b: Cells) -> Array:
    """(2, ratios): the limits of every ratio, where it has none the least and greatest value of a cell."""
    limits = a.formula.limits
    sizes = [np.where(side.den == 0, np.nan, side.den) for side in (a, b)]
    own = np.concatenate([side.num / size for side, size in zip((a, b), sizes)]).reshape(
        -1, limits.shape[1]
    )
    seen = [np.fmin.reduce(own, initial=np.inf), np.fmax.reduce(own, initial=-np.inf)]
    return np.where(np.isfinite(limits), limits, seen)


def _ends(
    side: Cells,
    lacks: Array,
    weight: Array,
    limits: Array,
) -> list[float]:
    """[least, greatest] mean over seeds of the metric, if what the side lacks, of this weight, were all at a limit."""
    formula, k = side.formula, len(side.formula.ratios)
    added = (lacks[:, :, None] * weight).sum(axis=1)
    ends = []
    for ascending in (limits, limits[::-1]):
        sums = side.sums.sum(axis=1)
        limit = np.where(formula.weights > 0, *ascending)
        sums[:, :k] += np.where(added > 0, limit * added, 0.0)
        sums[:, k : 2 * k] += added
        sums[:, 2 * k :] += lacks.sum(axis=1)[:, None]
        values = formula.values(sums)
        known = values[~np.isnan(values)]
        ends.append(float(known.mean()) if len(known) else np.nan)
    return ends
