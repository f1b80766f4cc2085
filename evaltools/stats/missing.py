"""What one of two conditions lacks: counted, what it could change, and whether it is missing at random."""

from __future__ import annotations

from typing import Any

import numpy as np

from .influence import Array, Cells, present_on

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
    if min(len(missing), len(present)) < TESTABLE:
        return np.nan
    from scipy.stats import ttest_ind_from_stats  # slow to import

    apart = abs(missing.mean() - present.mean())
    sides = [
        (x.mean(), x.std(ddof=1), len(x))
        for x in (
            missing,
            present,
        )
    ]
    largest = max(deviation for _, deviation, _ in sides)
    if largest <= 1e-10 * max(apart, 1e-3):
        return float(apart <= 1e-12)
    found = [
        ttest_ind_from_stats(
            *sides[0],
            *sides[1],
            equal_var=is_student,
        )
        for is_student in (True, False)
    ]
    return float(max(test.pvalue for test in found))


def lacking(
    a: Cells,
    b: Cells,
) -> dict[str, Any]:
    """What each side of a metric lacks of the other's cells, over the same samples, and what that could change.

    - n_cells: cells that either side has: a sample under a seed, of each side where seeds do not pair;
    - missing_baseline, missing_candidate: cells that this side lacks and the other has;
    - delta_worst, delta_best: the difference over all n_cells if those were the worst, or the best, for the
      candidate: at the limits of the metric, without limits at the least and greatest value seen;
    - p_random: p that what is missing is missing at random; few_missing: whether it is too little to tell.

    A cell that is lacking weighs in the denominator what it weighs on the other side.
    """
    on_a, on_b = present_on(a, b)
    both = on_a.any(axis=0) & on_b.any(axis=0)
    limits = np.array(a.formula.ends)
    if not np.isfinite(limits).all():
        seen = np.concatenate([side.formula.values(side.sums).ravel() for side in (a, b)])
        limits = np.array([each.reduce(seen, initial=np.nan) for each in (np.fmin, np.fmax)])
    p, ends, n_lacking = [], [], []
    for side, other, on_other in (
        (a, b, on_b),
        (b, a, on_a),
    ):
        lacks = on_other & ~side.present
        n_lacking.append(int(lacks.sum()))
        # of each unit by itself, over all seeds
        value = other.formula.values(other.sums.sum(axis=0))
        is_known = other.takes_part & ~np.isnan(value)
        is_missing = lacks.any(axis=0)
        if (is_missing & is_known).any():
            present = both & ~is_missing
            p.append(p_random(value[is_missing & is_known], value[present & is_known]))
        weight = other.den
        if a.seeds != b.seeds:
            n_seeds = np.maximum(other.present.sum(axis=0), 1)
            weight = weight.sum(axis=0) / n_seeds[:, None]
        added = (lacks[:, :, None] * weight).sum(axis=1)
        total = side.den.sum(axis=1) + added
        # of several ratios the one that lacks most
        share = (added / np.where(total == 0, np.inf, total)).max(axis=1, keepdims=True)
        known = ~np.isnan(side.values)
        at_ends = (1 - share) * side.values[:, None] + share * limits
        end = np.full(2, np.nan)
        if known.any():
            end = at_ends[known].mean(axis=0)
        ends.append(end)
    # Bonferroni over the sides that can be tested
    tested = [each for each in p if not np.isnan(each)]
    worst, best = ends[1] - ends[0][::-1]
    if a.formula.metric.better == "lower":
        worst, best = best, worst
    n_runs = 1 if a.seeds == b.seeds else len(a.sums) + len(b.sums)
    return {
        "n_cells": int((on_a | on_b).sum()) * n_runs,
        "missing_baseline": n_lacking[0],
        "missing_candidate": n_lacking[1],
        "delta_worst": worst,
        "delta_best": best,
        "p_random": min(tested, default=np.nan) * len(tested),
        "few_missing": len(tested) < len(p),
    }
