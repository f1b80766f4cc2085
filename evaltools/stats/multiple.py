"""Tests: sign flips, those that keep one level together, and whether what a side lacks is missing at random.

If two conditions do not differ, each unit's paired difference is as likely to be -d as d. The p of a
metric is the share of sign patterns under which the sum of its differences is at least as large as
the one observed. Signs are flipped for all tests of a family at once, which keeps what they share.

References: Lancaster, JASA 56 (1961), mid-p; Westfall and Young, "Resampling-based multiple testing"
(1993), step-down max-T; Romano and Wolf, JASA 100 (2005); Holm, Scandinavian Journal of Statistics 6
(1979).
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from pandas import DataFrame, Series
from scipy.special import bdtrc

from ..core.estimates import UNFAIR
from .formulas import Array, p_random
from .influence import LARGE, Cells

# Sign patterns that are drawn at a time.
SIGN_CHUNK = 512


def _null_sums(
    d: Array,
    n_permutations: int,
    seed: int,
) -> Iterator[Array]:
    """Sums of differences (units, tests) under sign patterns, some at a time: (patterns, tests).

    All patterns, where they are no more than `n_permutations`, else that of the data and random ones, of more than
    LARGE units by their normal limit.
    """
    n = len(d)
    if 2**n <= n_permutations:
        bits = np.arange(2**n)[:, None] >> np.arange(n) & 1
        yield (1.0 - 2.0 * bits) @ d
        return
    yield d.sum(axis=0, keepdims=True)
    rng = np.random.default_rng(seed)
    if n > LARGE:
        yield rng.multivariate_normal(
            np.zeros(d.shape[1]),
            d.T @ d,
            n_permutations,
            check_valid="ignore",
            method="eigh",
        )
        return
    for start in range(0, n_permutations, SIGN_CHUNK):
        shape = min(SIGN_CHUNK, n_permutations - start), -(-n // 8)
        drawn = rng.integers(
            0,
            256,
            shape,
            dtype=np.uint8,
        )
        yield (1.0 - 2.0 * np.unpackbits(drawn, axis=1, count=n)) @ d


def sign_flip(
    differences: Array,
    n_permutations: int,
    seed: int,
    mid: Array | bool = False,
) -> Array:
    """Two-sided p of sum(differences) = 0 for every column of (units, metrics), by flipping signs.

    `mid` (metrics): whether the metric has mid-p, as proportions do: what is exactly as large counts
    half. 1 where nothing differs. Exact where the patterns of the units that differ are no more than
    `n_permutations`, and binomial where all differences are of one size; else drawn.

    >>> sign_flip(np.ones((6, 2)), 10_000, 0, np.array([False, True])).tolist()
    [0.03125, 0.015625]
    """
    d = differences[differences.any(axis=1)]
    # as large and larger
    shares = np.ones((2, d.shape[1]))
    to_draw = []
    for metric in np.flatnonzero(d.any(axis=0)).tolist():
        own = d[d[:, metric] != 0, metric]
        n = len(own)
        sizes = np.abs(own)
        if 2**n <= n_permutations:
            shares[:, [metric]] = _as_large(
                own[:, None],
                n_permutations,
                seed,
            )
        elif sizes.min() >= (1 - 1e-6) * sizes.max():
            surplus = abs(own.sum()) / sizes.mean()
            more = np.round((n + surplus) / 2)
            tails = bdtrc([more - 1, more], n, 0.5)
            shares[:, metric] = np.minimum(2 * tails, 1.0)
        else:
            to_draw.append(metric)
    if to_draw:
        shares[:, to_draw] = _as_large(
            d[:, to_draw],
            n_permutations,
            seed,
        )
    return np.where(mid, shares.mean(axis=0), shares[0])


def _as_large(
    d: Array,
    n_permutations: int,
    seed: int,
) -> Array:
    """(2, metrics): shares of sign patterns under which sums of d (units, metrics) are as large as without, and larger."""
    observed = np.abs(d.sum(axis=0))
    slack = 1e-12 * np.abs(d).sum(axis=0)
    counts = np.zeros((2, d.shape[1]))
    n_patterns = 0
    for sums in _null_sums(d, n_permutations, seed):
        sizes = np.abs(sums)
        n_patterns += len(sizes)
        counts += [
            (sizes >= observed - slack).sum(axis=0),
            (sizes > observed + slack).sum(axis=0),
        ]
    return counts / n_patterns


def max_t(
    differences: Array,
    n_permutations: int,
    seed: int,
    level: float | None = None,
    mid: Array | bool = False,
) -> tuple[Array, Array]:
    """Studentised step-down max-T over shared sign flips of differences (units, tests): (p of each, c of each).

    T is the sum of the differences over the root of their sum of squares, which no sign pattern
    changes. From the largest T on, the adjusted p is the share of patterns whose largest T, among
    this test and those with a smaller one, is no smaller (`mid`: as `sign_flip` has it), and no less than those before.
    So a hopeless test costs the others nothing. The smallest T is left alone: its own p, which is not made again here,
    counts beside this one. c is the 1 - level quantile of the same largest T, for the interval; nan for the smallest T
    and without a level.

    >>> d = np.column_stack([np.ones(6), np.ones(6)])
    >>> max_t(d, 10_000, 0)[0].tolist(), max_t(d, 10_000, 0, mid=True)[0].tolist()
    ([0.03125, 0.03125], [0.015625, 0.015625])
    """
    d = differences
    size = np.sqrt((d**2).sum(axis=0))
    scaled = d / np.where(size > 0, size, 1.0)
    observed = np.abs(scaled.sum(axis=0))
    order = np.argsort(observed, kind="stable")
    scaled = scaled[:, order]
    ordered = observed[order]
    mid = np.broadcast_to(mid, len(order))[order]
    # of equal T all are of one step
    step = np.searchsorted(ordered, ordered * (1 + 1e-9), "right") - 1
    differs = scaled.any(axis=1)
    at_least = np.zeros(len(order))
    n_patterns = 0
    largest = []
    for sums in _null_sums(scaled[differs], n_permutations, seed):
        highest = np.maximum.accumulate(np.abs(sums), axis=1)[:, step]
        larger = highest > ordered * (1 + 1e-9)
        as_large = highest >= ordered * (1 - 1e-9)
        counted = np.where(mid, larger / 2 + as_large / 2, as_large)
        at_least += counted.sum(axis=0)
        n_patterns += len(highest)
        if level:  # ranks have thousands of tests, and no intervals
            largest.append(highest)
    adjusted = np.empty(len(order))
    critical = np.full(
        len(order),
        np.nan,
    )
    at_least[step == 0] = 0  # alone, where its own p stands
    # from the largest T on no adjusted p is below one before it
    adjusted[order] = np.maximum.accumulate(at_least[::-1] / n_patterns)[::-1]
    if level:
        steps = np.quantile(np.concatenate(largest), 1 - level, axis=0)
        steps[step == 0] = np.nan  # alone
        critical[order] = steps
    return adjusted, critical


def holm(
    p: Series,
) -> Series:
    """Holm's adjusted p values; a null stays null.

    >>> holm(Series([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    ordered = p.dropna().sort_values()
    n_left = np.arange(len(ordered), 0, -1)
    adjusted = (ordered * n_left).cummax().clip(upper=1.0)
    return adjusted.reindex(p.index)


# --- what one of two conditions lacks

# The level of the test, of each metric over both sides.
NOT_RANDOM = 0.05


def _own_values(
    cells: Cells,
) -> Series:
    """The metric of each sample or unit by itself, over all seeds, of those that are measured.

    Of a mean of ratios that of those which count it: a label is of one class or two of a macro F1.
    """
    weights = cells.formula.weights
    values = cells.formula.ratio_values(cells.sums.sum(axis=1))
    parts = DataFrame(values * weights)
    return parts[cells.takes_part].mean(axis=1, skipna=(weights > 0).all()).dropna()


def lacking(
    a: Cells,
    b: Cells,
) -> dict[str, Any]:
    """What each side of a metric lacks of the other's cells, over the same samples, and what that could change.

    - n_cells: cells that count in a denominator on either side, or that one side lacks: a sample under a seed, of each
      side where seeds do not pair;
    - missing_baseline, missing_candidate: cells of the other side that are missing here, wholly or in some trials, and
      could count here;
    - delta_worst, delta_best: the difference over all n_cells if those were the worst, or the best, for the
      candidate: each ratio at its limits, without one at the least or greatest value seen;
    - blocked: the code of the check of a side, or UNFAIR where what is missing is not missing at random; few_missing:
      whether a side lacks too little to tell;
    - tested: the cells, or samples where seeds do not pair, that a side lacks enough of to tell.

    A cell that is lacking weighs in the denominator what its sample does wherever it was seen; in a denominator that is
    a run's own, where samples do not weigh alike everywhere, the most that any weighs.
    """
    is_paired = a.seeds == b.seeds
    sums = np.concatenate([a.sums, b.sums], axis=1)
    ratio_weights = a.formula.weights
    limits = np.array([ratio.limits for ratio in a.formula.ratios]).T
    seen = a.formula.ratio_values(sums).reshape(-1, len(ratio_weights))
    least, greatest = np.fmin.reduce(seen), np.fmax.reduce(seen)
    limits = np.where(np.isfinite(limits), limits, [least, greatest])
    limits *= ratio_weights
    limits.sort(axis=0)
    _, weights, _, n_rows = sums
    weight = weights.max(axis=0)
    is_own = (n_rows > 0) & (weights < (1 - 1e-9) * weight)
    weight = np.where(is_own.any(axis=(0, 1)), weight.max(axis=0), weight)
    p, ends, lacks, counted, tested = [], [], [], [], np.False_
    for side, other in ((a, b), (b, a)):
        here, there = (np.minimum(each.sums[3, ..., 0], 1) for each in (side, other))
        if not is_paired:
            there = n_rows[..., 0].max(axis=0)
        # a whole cell, or those of its trials that have no value here, whichever they are there
        part = ((there > 0) | (here > 0)) - here
        lacks.append((part > 0) & weight.any(axis=-1))
        counted.append(lacks[-1] | side.den.any(axis=-1))
        is_missing = lacks[-1].any(axis=0)
        if is_missing.any():
            on_both = a.present.any(axis=0) & b.present.any(axis=0)
            samples = [other.where(is_missing), other.where(on_both & ~is_missing)]
            # by units and by their samples: the few that a cluster lacks vary more than the mean of a cluster
            groupings = map(Cells.per_unit, samples), samples
            p.append(max(p_random(*map(_own_values, groups)) for groups in groupings))
            tested = tested | (lacks[-1] if is_paired else is_missing) & np.isfinite(p[-1])
        kept = replace(side, sums=side.sums * (1 - part)[..., None])
        lacked = part[..., None] * weight
        size = kept.unit_sizes(lacked)
        kept.sums[:2] /= size
        added = (lacked / size).sum(axis=1)
        share = added / np.maximum(kept.totals[1] + added, 1e-300)
        # of a ratio of a seed that has no value here all is missing
        value = np.where(share < 1, (1 - share) * kept.ratios, 0) @ ratio_weights
        known = ~np.isnan(value)
        lost = limits @ share[known].sum(axis=0)
        ends.append((np.nansum(value) + lost) / (known.sum() or np.nan))
    ends_of_delta = ends[1] - ends[0][::-1]
    worst, best = ends_of_delta[:: -1 if a.formula.metric.better == "lower" else 1]
    # Bonferroni over the sides that can be tested
    n_tested = np.isfinite(p).sum()
    is_unfair = np.fmin.reduce(p, initial=np.nan) * n_tested <= NOT_RANDOM
    return {
        "n_cells": (np.any(counted, axis=0) if is_paired else np.concatenate(counted)).sum(),
        "missing_baseline": lacks[0].sum(),
        "missing_candidate": lacks[1].sum(),
        "delta_worst": worst,
        "delta_best": best,
        "blocked": a.blocked or b.blocked or (UNFAIR if is_unfair else None),
        "few_missing": n_tested < len(p),
        "tested": tested,
    }
