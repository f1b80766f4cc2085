"""Several tests that keep one level: of several metrics, of parts, and of looks at growing data.

What is shared between metrics is kept by flipping all differences of a unit at once
(sign_flips.py), so that many metrics which say the same cost little.

The level that looks may spend by the time that a share t of the samples is there is
2 - 2 Phi(z / root(t)) for each side, where Phi(z) = 1 - level / 4: next to nothing early on, nearly
all at the end, as by the boundaries of O'Brien and Fleming. How often a look is reached follows
from the sums of normal differences, which grow as a Brownian motion.

References: Westfall and Young, "Resampling-based multiple testing" (1993), step-down min-P; Lan and
DeMets, "Discrete sequential boundaries for clinical trials", Biometrika 70 (1983); O'Brien and
Fleming, Biometrics 35 (1979); Armitage, McPherson and Rowe, JRSS A 132 (1969), the recursion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from .arrays import Array, least


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


POINTS = 2001
"""Sums between the bounds on which studies that go on are held."""

FARTHEST = 10.0
"""No look has a bound beyond so many standard errors."""


def spent(
    fraction: float,
    level: float,
) -> float:
    """The part of a two-sided level that may be spent when this fraction (0..1) of the samples is
    there.

    >>> spent(1.0, 0.05), round(spent(0.5, 0.05), 4)
    (0.05, 0.0031)
    """
    if fraction >= 1:
        return level
    z = ndtri(1 - level / 4)
    return float(4 * ndtr(-z / np.sqrt(fraction)))


def look_levels(
    fractions: Sequence[float],
    level: float,
) -> list[float]:
    """The two-sided level of each look at these fractions of the samples, in ascending order.

    A p at or below its level ends the study; all looks together err in `level` of the cases.

    >>> [round(look, 4) for look in look_levels([0.5, 1.0], 0.05)]
    [0.0031, 0.049]
    """
    levels: list[float] = []
    # before the first look every study stands at 0
    sums, share = np.zeros(1), np.ones(1)
    before = spent_before = 0.0
    for fraction in fractions:
        error = np.sqrt(fraction)
        step = np.sqrt(fraction - before)
        spent_now = spent(fraction, level)
        bound = _bound(
            sums,
            share,
            step,
            error,
            spent_now - spent_before,
        )
        levels.append(float(2 * ndtr(-bound)))
        inside = np.linspace(-bound * error, bound * error, POINTS)
        share = _shares(
            sums,
            share,
            inside,
            step,
        )
        sums = inside
        before, spent_before = fraction, spent_now
    return levels


def _shares(
    sums: Array,
    share: Array,
    inside: Array,
    step: float,
) -> Array:
    """The share of studies at each of the sums `inside`, one normal step after those at `sums`."""
    z = (inside[:, None] - sums) / step
    kernel = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    density = kernel @ share / step
    shares = density * (inside[1] - inside[0])
    shares[[0, -1]] /= 2  # the trapezoids at the ends have one side
    return shares


def _bound(
    sums: Array,
    share: Array,
    step: float,
    error: float,
    wanted: float,
) -> float:
    """The bound, in standard errors, that studies which went on cross with this probability."""

    def is_far(bound: Array) -> bool:
        above = ndtr((sums - bound * error) / step)
        below = ndtr((-sums - bound * error) / step)
        return bool((above + below) @ share <= wanted)

    return float(least(is_far, 0.0, FARTHEST))
