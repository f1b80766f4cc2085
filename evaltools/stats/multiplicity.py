"""Several metrics judged together: step-down adjustment, and the variance of seeds that they share.

What is shared between metrics is kept by flipping all differences of a unit at once (sign_flips.py),
so that many metrics which say the same cost little.

Reference: Westfall and Young, "Resampling-based multiple testing" (1993), step-down min-P.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .arrays import Array


@dataclass(frozen=True)
class Steps:
    """Of every metric the adjusted p, and the `level` that its own p must keep at its step."""

    p: Array
    level: Array


def step_down(
    p: Array,
    flipped: Array,
    level: float,
) -> Steps:
    """Westfall and Young's step-down min-P adjustment of `p` (metrics) at a family-wise level.

    `flipped` (patterns, metrics): the p under sign patterns without a difference. From the smallest p
    on, adjusted is the share of the patterns whose smallest p, among this metric and those with a
    larger p, is no larger; never below p itself or what stands before. The step of a metric that is
    not found is the first that was not passed.

    >>> flipped = np.array([[0.25, 1.0], [1.0, 0.25], [0.5, 0.5], [1.0, 1.0]])
    >>> step_down(np.array([0.25, 0.25]), flipped, 0.05).p
    array([0.5, 0.5])
    """
    order = np.argsort(p, kind="stable")
    ordered = p[order]
    # smallest p of each pattern among a metric and those with a larger p
    least = np.minimum.accumulate(flipped[:, order[::-1]], axis=1)[:, ::-1]
    share = (least <= ordered).mean(axis=0)
    adjusted = np.maximum.accumulate(np.maximum(share, ordered))

    # a p below this one has at most `level` of the patterns at or below it
    rank = min(int(level * len(least)), len(least) - 1)
    within = np.sort(least, axis=0)[rank]
    levels = np.minimum(np.nextafter(within, 0.0), level)
    n_passed = np.argmax(np.append(adjusted > level, True))
    step = np.minimum(np.arange(len(p)), n_passed)

    steps = Steps(np.empty(len(p)), np.empty(len(p)))
    steps.p[order] = adjusted
    steps.level[order] = levels[step]
    return steps


def shared_seeds(
    samples: Array,
    seeds: Array,
    n: Array,
    df_seeds: Array,
) -> tuple[Array, Array]:
    """(standard error, degrees of freedom) of deltas judged together.

    Seeds have at least their median share in the variance of each. `samples` (of `n` units) and
    `seeds` (null: one seed, and so the result) are the parts of the variance of delta. From a few
    seeds their part is often estimated as 0 by chance, and p then far too small, which the smallest
    of many p finds. A mean share would put the seeds of a metric that needs them on all others.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = seeds / (samples + seeds)
        known = shares[~np.isnan(shares)]
        share = np.median(known) if len(known) else np.nan
        lent = samples * share / (1 - share)
        by_seeds = np.where(np.isnan(shares), np.nan, np.fmax(seeds, lent))
        variance = samples + by_seeds
        df = variance**2 / (samples**2 / (n - 1) + by_seeds**2 / df_seeds)
    return np.sqrt(variance), np.maximum(df, df_seeds)
