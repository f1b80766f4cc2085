"""Arrays of (units, metrics), and the bounds of all metrics of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray

HALVINGS = 60
"""Steps by which `least` finds a number."""

ROUNDING = 1e-12
"""Share of the summed sizes of the terms within which two sums of floats count as equal."""


LARGE = 2_000
"""More resampling units than this have closed forms."""


def divide(
    a: Array | float,
    b: Array,
    otherwise: float = np.nan,
) -> Array:
    """a / b where b is above 0, else `otherwise`.

    >>> divide(np.array([1.0, 1.0]), np.array([2.0, 0.0]), otherwise=0.0).tolist()
    [0.5, 0.0]
    """
    ratio = np.full(np.broadcast(a, b).shape, otherwise)
    np.divide(
        a,
        b,
        out=ratio,
        where=b > 0,
    )
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


def over_units(values: Array) -> Array:
    """Sum over units: (..., units, columns) -> (..., columns)."""
    n_units = values.shape[-2]
    if n_units > LARGE:
        # numpy's own sum of many short rows takes ten times as long
        return np.ones(n_units) @ values
    return values.sum(axis=-2)


Values = Array | float
"""One value for each metric, or one for all."""


@dataclass
class Intervals:
    """Interval of every metric; nan and the method "none" where there is none."""

    low: Array
    high: Array
    method: Array

    @classmethod
    def none(cls, n_metrics: int) -> Intervals:
        """No interval for any metric."""
        return cls(
            low=np.full(n_metrics, np.nan),
            high=np.full(n_metrics, np.nan),
            method=np.full(n_metrics, "none", dtype=object),
        )

    def fill(
        self,
        where: Array,
        low: Values,
        high: Values,
        method: Array | str,
    ) -> None:
        """Give this interval to the metrics in `where` that have none yet.

        >>> intervals = Intervals.none(2)
        >>> intervals.fill(np.array([True, False]), 0.1, 0.2, "bca")
        >>> intervals.fill(np.array([True, True]), 0.0, 1.0, "wilson")
        >>> intervals.low.tolist(), intervals.method.tolist()
        ([0.1, 0.0], ['bca', 'wilson'])
        """
        use = where & (self.method == "none")
        self.low = np.where(use, low, self.low)
        self.high = np.where(use, high, self.high)
        self.method = np.where(use, method, self.method).astype(object)
