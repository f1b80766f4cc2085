"""Many units: intervals and sign-flip p-values in closed form, for some metrics of a table at a time.

A bootstrap or permutation distribution of many units is known from the first moments of what each unit brings
into a metric, so nothing is drawn. How far the bounds lie from those of the bootstrap: docs/statistics.md.

References: DiCiccio and Efron, "More accurate confidence intervals in exponential families", Biometrika 79
(1992), the ABC interval, also in Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 22.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

import numpy as np
from scipy.special import ndtr, ndtri

from ..core.metric import MetricTable, subset
from ..core.metric_matrix import Compiled, compile_table
from ..core.resampling import Resampling

T = TypeVar("T")

LARGE = 2_000
"""More resampling units than this have closed forms; up to it the bounds equal scipy's for the same generator."""

AT_ONCE = 1_000_000
"""Values (metrics times cells) that are held at a time where there are many units."""

THREADS = 2
"""Blocks of metrics that are worked on at a time."""

STEP = 0.1
"""Standard errors over which a curve's second derivative is taken."""

CLOSED = {"auto": "abc", "bca": "abc", "percentile": "percentile"}
"""Method of `Resampling` -> what `ci_method` calls its closed form."""

WHOLE = 1e-6
"""How far a paired difference may be from a whole multiple of the smallest one."""


def in_blocks(table: MetricTable, units: int, cells: int) -> Iterator[Compiled]:
    """The table compiled: whole for up to LARGE units, else so many metrics at a time as `cells` cells allow."""
    whole = compile_table(table)
    if units <= LARGE:
        yield whole
        return
    size = max(1, AT_ONCE // cells)
    for start in range(0, len(table), size):
        names = whole.names[start : start + size]
        block = compile_table(subset(table, names))
        yield replace(block, metrics=block.metrics[: len(names)], parts=block.parts[: len(names)])


def of_blocks(call: Callable[[Compiled], T], table: MetricTable, units: int, cells: int) -> list[T]:
    """call(compiled) for each of `in_blocks`, in order: THREADS at a time, as numpy lets others go on."""
    blocks = [*in_blocks(table, units, cells)]
    if len(blocks) == 1:
        return [call(blocks[0])]
    with ThreadPoolExecutor(THREADS) as pool:
        return [*pool.map(call, blocks)]


def closed_bounds(
    errors: np.ndarray,
    bias: np.ndarray,
    curve: Callable[[np.ndarray], np.ndarray],
    resampling: Resampling,
) -> tuple[np.ndarray, np.ndarray]:
    """(low, high) of every metric: the ABC interval, or, for the percentile method, that without its corrections.

    `errors` (units, metrics) is what each unit brings into the metric: influence / units. `bias` (metrics) is
    `second_order`'s. `curve` gives the metrics where unit i weighs 1 + step * errors[i], for steps (metrics).

    With s the standard error, a the acceleration, c the quadratic coefficient of the curve and z0 = a - (bias / s
    - c), a bound lies on the curve at w / (1 - a w)^2 standard errors, w = z0 +- z. The percentile method's lies
    at v (1 + a v), v = -z0 +- z, which is the Cornish-Fisher quantile of the resampled values.
    """
    s = np.sqrt(np.einsum("um,um->m", errors, errors))
    s[s == 0] = np.nan
    a = np.einsum("um,um,um->m", errors, errors, errors) / (6 * s**3)
    c = (curve(STEP / s) + curve(-STEP / s) - 2 * curve(np.zeros_like(s))) / (2 * STEP**2 * s)
    z0 = a - (bias / s - c)
    z = ndtri(0.5 + resampling.confidence / 2)

    def bound(z: float) -> np.ndarray:
        if resampling.method == "percentile":
            v = z - z0
            return curve(v * (1 + a * v) / s)
        w = z0 + z
        return curve(w / (1 - a * w) ** 2 / s)

    return bound(-z), bound(z)


def normal_flips(differences: np.ndarray, mid: np.ndarray | bool = False) -> np.ndarray:
    """Two-sided p of sum(differences) = 0 under random signs by the normal limit, for columns of (units, metrics).

    Where all units differ by a whole multiple of the smallest difference, sums are two of these apart, and half
    of that is taken off the distance (continuity), as a binomial test needs, but not for the metrics with mid-p
    (`mid`). 1 where nothing differs.
    """
    size = np.abs(differences)
    smallest = np.where(size > 0, size, np.inf).min(axis=0, initial=np.inf)
    size /= smallest
    whole = (np.abs(size - np.round(size)) <= WHOLE).all(axis=0) & np.isfinite(smallest)
    scale = np.sqrt(np.einsum("um,um->m", differences, differences))
    distance = np.maximum(
        np.abs(differences.sum(axis=0)) - np.where(whole & np.logical_not(mid), smallest, 0.0), 0.0
    )
    return 2 * ndtr(-np.divide(distance, scale, out=np.zeros_like(scale), where=scale > 0))
