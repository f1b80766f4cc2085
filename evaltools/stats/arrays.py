"""Small helpers for arrays of (units, metrics)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray

HALVINGS = 60
"""Steps by which `least` finds a number."""

ROUNDING = 1e-12
"""Share of the summed sizes of the terms within which two sums of floats count as equal."""


def divide(
    a: Array | float,
    b: Array,
    otherwise: float = np.nan,
) -> Array:
    """a / b where b is above 0, else `otherwise`.

    >>> divide(np.array([1.0, 1.0]), np.array([2.0, 0.0]), otherwise=0.0).tolist()
    [0.5, 0.0]
    """
    ratio = np.full(np.shape(b), otherwise)
    np.divide(a, b, out=ratio, where=b > 0)
    return ratio


def sum_products(
    x: Array,
    y: Array,
) -> Array:
    """Sum over units of x * y: (units, metrics) twice -> (metrics).

    >>> sum_products(np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]])).tolist()
    [11.0]
    """
    return np.einsum("um,um->m", x, y)


def excess(
    total: Array,
    part: Array,
) -> Array:
    """By how much `total` is above `part`, 0 where it is not.

    A difference as small as rounding is 0 too: one event in one of several seeds gives two equal
    mean squares, and their last digit, which depends on the processor, must not decide anything.

    >>> excess(np.array([3.0, 1.0]), np.array([1.0, 3.0])).tolist()
    [2.0, 0.0]
    """
    difference = total - part
    rounding = 1e-9 * (total + part)
    return np.where(difference > rounding, difference, 0.0)


def varies(
    values: Array,
    centre: Array,
) -> Array:
    """Whether the values of a metric differ by more than rounding: (units, metrics) -> (metrics).

    `values` are errors or leave-one-out values; `centre` (metrics) is the metric itself, which sets
    the scale of rounding.

    >>> varies(np.array([[0.5, 0.0], [0.5, 1.0]]), np.array([0.5, 0.5])).tolist()
    [False, True]
    """
    # reducing many short rows takes ten times as long
    values = np.ascontiguousarray(values.T)
    highest = np.fmax.reduce(values, axis=1, initial=-np.inf)
    lowest = np.fmin.reduce(values, axis=1, initial=np.inf)
    rounding = 1e-13 * np.maximum(np.abs(centre), 1e-3)
    with np.errstate(invalid="ignore"):
        return highest - lowest > rounding


def least(
    enough: Callable[[Any], Array | bool],
    low: Array | float,
    high: Array | float,
) -> Array:
    """The least numbers between `low` and `high` that are enough, by halving; `high` where none is.

    >>> float(least(lambda x: x**2 >= 2, 0.0, 2.0).round(6))
    1.414214
    """
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_enough = enough(middle)
        low = np.where(is_enough, low, middle)
        high = np.where(is_enough, middle, high)
    return np.asarray(high)


def rounded(differences: Array) -> Array:
    """Differences (units, metrics), those set to 0 that are 0 but for the rounding of sums."""
    size = np.abs(differences).sum(axis=0)
    is_rounding = np.abs(differences) <= ROUNDING * size
    return np.where(is_rounding, 0.0, differences)
