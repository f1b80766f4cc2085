"""Levels of several looks at growing data, so that all of them together keep one level.

The level that each side may spend by the time that a share t of the samples is there is
2 - 2 Phi(z / root(t)), where Phi(z) = 1 - level / 4: next to nothing early on, nearly all at the
end, as by the boundaries of O'Brien and Fleming (1979). How often a look is
reached follows from the sums of normal differences, which grow as a Brownian motion.

References: Lan and DeMets, "Discrete sequential boundaries for clinical trials", Biometrika 70
(1983); O'Brien and Fleming, "A multiple testing procedure for clinical trials", Biometrics 35
(1979); Armitage, McPherson and Rowe, JRSS A 132 (1969), the recursion.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr, ndtri

from .arrays import Array, least

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
        bound = _bound(sums, share, step, error, spent_now - spent_before)
        levels.append(float(2 * ndtr(-bound)))
        inside = np.linspace(-bound * error, bound * error, POINTS)
        share = _shares(sums, share, inside, step)
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
