"""What one of two conditions lacks: counted, what it could change, and whether it is missing at random."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import stdtr

from .influence import Array, Cells, divide

# The test needs so many units that are missing, and as many that are not.
TESTABLE = 3


def p_random(values: Array, missing: Array, present: Array) -> Array:
    """(metrics,): p that the units which a side lacks have the same values on the other side as the rest.

    `values` (units, metrics) are those of the other side, nan for none; `missing`, `present` (units):
    bool. By the larger p of Welch's t and Student's, from TESTABLE units each on: Welch's alone would
    find six units that happen to be all right, Student's alone one rare event among six. Of values
    without variance and other means it is 0; nan where there are too few to test.

    >>> values = np.array([[0.1], [0.2], [0.15], [0.8], [0.9], [0.85]])
    >>> lacks = np.array([True] * 3 + [False] * 3)
    >>> p_random(values, lacks, ~lacks).round(4).tolist()
    [0.0001]
    """
    parts = []
    for rows in (values[missing], values[present]):
        known = ~np.isnan(rows)
        n = known.sum(axis=0)
        mean = np.where(known, rows, 0.0).sum(axis=0) / np.maximum(n, 1)
        squares = np.where(known, (rows - mean) ** 2, 0.0).sum(axis=0)
        variance = squares / np.maximum(n - 1, 1)
        parts.append((n, mean, variance))
    (n, mean, variance), (n_rest, mean_rest, variance_rest) = parts
    testable = (n >= TESTABLE) & (n_rest >= TESTABLE)
    apart = np.abs(mean - mean_rest)
    df = n + n_rest - 2
    pooled = divide((n - 1) * variance + (n_rest - 1) * variance_rest, df, 0.0)
    error = np.sqrt(pooled * (divide(1.0, n, 0.0) + divide(1.0, n_rest, 0.0)))
    no_variance = error <= 1e-10 * np.maximum(apart, 1e-3)
    student = 2 * stdtr(np.maximum(df, 1), -divide(apart, error, 0.0))
    part, part_rest = divide(variance, n, 0.0), divide(variance_rest, n_rest, 0.0)
    squares = divide(part**2, n - 1, 0.0) + divide(part_rest**2, n_rest - 1, 0.0)
    welch_df = np.maximum(divide((part + part_rest) ** 2, squares, 1.0), 1.0)
    welch = 2 * stdtr(welch_df, -divide(apart, np.sqrt(part + part_rest), 0.0))
    p = np.where(no_variance, apart <= 1e-12, np.maximum(student, welch))
    return np.where(testable, p, np.nan)


def lacking(a: Cells, b: Cells, by_seed: bool, delta: Array) -> dict[str, Any]:
    """What each of two whole conditions lacks of the other's cells, over the same units, and what that could change.

    - n_cells: cells that either side has: a unit under a seed, of each side where seeds do not pair;
    - missing_baseline, missing_candidate: cells that this side lacks and the other has;
    - delta_worst, delta_best (metrics): the difference if all of them were the worst, or the best, for
      the candidate: at the limits of the metric, without limits at the least and greatest value seen;
    - p_random (metrics): p that what is missing is missing at random, Bonferroni over both sides;
    - few_missing (metrics): whether it is too little to tell.

    A cell that is lacking weighs in the denominator what it weighs on the other side.
    """
    on_a = a.present if by_seed else a.present.any(axis=0, keepdims=True)
    on_b = b.present if by_seed else b.present.any(axis=0, keepdims=True)
    lacks_a, lacks_b = on_b & ~a.present, on_a & ~b.present
    n_cells = (on_a | on_b).sum() * (1 if by_seed else len(a.present) + len(b.present))
    counts = {
        "n_cells": int(n_cells),
        "missing_baseline": int(lacks_a.sum()),
        "missing_candidate": int(lacks_b.sum()),
    }
    nothing = np.zeros(len(delta), dtype=bool)
    if not lacks_a.any() and not lacks_b.any():
        same = {"delta_worst": delta, "delta_best": delta}
        return {**counts, **same, "p_random": np.nan, "few_missing": nothing}
    compiled = a.compiled
    own_a, own_b = _unit_means(a), _unit_means(b)
    of_sides, few = [], nothing.copy()
    paired = np.any(on_a, axis=0) & np.any(on_b, axis=0)
    for other, lacking_cells in ((own_b, lacks_a), (own_a, lacks_b)):
        lacks = np.any(lacking_cells, axis=0)
        rest = ~lacks & paired
        n = (~np.isnan(other[lacks])).sum(axis=0)
        n_rest = (~np.isnan(other[rest])).sum(axis=0)
        of_sides.append(p_random(other, lacks, rest))
        few |= (n > 0) & ((n < TESTABLE) | (n_rest < TESTABLE))
    limits = _limits(a, b)
    low_a, high_a = _ends(a, _weights(b, lacks_a, by_seed), limits)
    low_b, high_b = _ends(b, _weights(a, lacks_b, by_seed), limits)
    lower = np.array([metric.better == "lower" for metric in compiled.metrics], dtype=bool)
    least, greatest = low_b - high_a, high_b - low_a
    ends = {
        "delta_worst": np.where(lower, greatest, least),
        "delta_best": np.where(lower, least, greatest),
    }
    p = np.fmin(*of_sides) * np.maximum((~np.isnan(of_sides)).sum(axis=0), 1)
    return {**counts, **ends, "p_random": p, "few_missing": few}


def _unit_means(side: Cells) -> Array:
    """The metric of each unit by itself over all seeds, (units, metrics); nan where it has none."""
    values = side.compiled.values(side.sums.sum(axis=0))
    return np.where(side.takes_part & ~side.compiled.counts, values, np.nan)


def _limits(a: Cells, b: Cells) -> Array:
    """(2, ratios): the limits of every ratio, where it has none the least and greatest value of a cell."""
    with np.errstate(divide="ignore", invalid="ignore"):
        own = [np.where(side.den != 0, side.num / side.den, np.nan) for side in (a, b)]
    seen = np.concatenate([values.reshape(-1, values.shape[-1]) for values in own])
    least = np.fmin.reduce(seen, axis=0, initial=np.inf)
    most = np.fmax.reduce(seen, axis=0, initial=-np.inf)
    limits = a.compiled.limits
    return np.where(np.isfinite(limits), limits, np.stack([least, most]))


def _weights(other: Cells, lacks: Array, by_seed: bool) -> Array:
    """Denominators that lacking cells would add to each seed, (seeds, ratios)."""
    den = other.den
    if not by_seed:
        n_seeds = np.maximum(other.present.sum(axis=0), 1)
        den = den.sum(axis=0, keepdims=True) / n_seeds[:, None]
        return np.einsum("ku,ur->kr", lacks.astype(float), den[0])
    return np.einsum("ku,kur->kr", lacks.astype(float), den)


def _ends(side: Cells, added: Array, limits: Array) -> tuple[Array, Array]:
    """(least, greatest) mean over seeds of every metric, if cells that add these denominators were at a limit."""
    compiled = side.compiled
    num, den = side.num.sum(axis=1), side.den.sum(axis=1)
    ratios = compiled.ratios(side.totals)
    ends = []
    for limit in limits:
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = (num + limit * added) / (den + added)
        ends.append(np.where(added > 0, moved, ratios))
    low, high = compiled.combined(ends[0], ends[1]), compiled.combined(ends[1], ends[0])
    known = ~np.isnan(low).all(axis=0)
    least, greatest = (np.nanmean(np.where(known, x, 0.0), axis=0) for x in (low, high))
    return np.where(known, least, np.nan), np.where(known, greatest, np.nan)
