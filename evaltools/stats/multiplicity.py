"""Several metrics judged together: step-down adjustment, and the variance of seeds that they share.

What is shared between metrics is kept by flipping all differences of a unit at once
(sign_flips.py), so that many metrics which say the same cost little.

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

    `flipped` (patterns, metrics): the p under sign patterns without a difference. From the smallest
    p on, adjusted is the share of the patterns whose smallest p, among this metric and those with a
    larger p, is no larger; never below p itself or what stands before. The step of a metric that is
    not found is the first that was not passed.

    >>> flipped = np.array([[0.25, 1.0], [1.0, 0.25], [0.5, 0.5], [1.0, 1.0]])
    >>> step_down(np.array([0.25, 0.25]), flipped, 0.05).p
    array([0.5, 0.5])
    """
    order = np.argsort(p, kind="stable")
    ordered = p[order]
    # smallest p of each pattern among a metric and those with a larger p
    largest_first = flipped[:, order[::-1]]
    least = np.minimum.accumulate(largest_first, axis=1)
    least = least[:, ::-1]
    share = (least <= ordered).mean(axis=0)
    not_below_p = np.maximum(share, ordered)
    adjusted = np.maximum.accumulate(not_below_p)

    # a p below this one has at most `level` of the patterns at or below it
    n_patterns = len(least)
    rank = min(int(level * n_patterns), n_patterns - 1)
    within = np.sort(least, axis=0)[rank]
    levels = np.minimum(np.nextafter(within, 0.0), level)
    failed = adjusted > level
    n_passed = np.argmax(np.append(failed, True))
    # metrics of equal p are one step, whatever their order
    step = np.minimum(np.searchsorted(ordered, ordered), n_passed)

    back = np.argsort(order)
    return Steps(
        p=adjusted[back],
        level=levels[step][back],
    )


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
        several_seeds = ~np.isnan(shares)
        share = np.nan
        if several_seeds.any():
            share = np.median(shares[several_seeds])
        lent = samples * share / (1 - share)
        by_seeds = np.fmax(seeds, lent)
        by_seeds = np.where(several_seeds, by_seeds, np.nan)
        variance = samples + by_seeds
        squares = samples**2 / (n - 1) + by_seeds**2 / df_seeds
        df = variance**2 / squares
    return np.sqrt(variance), np.maximum(df, df_seeds)
