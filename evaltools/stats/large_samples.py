"""Many units: intervals and sign-flip p-values in closed form.

A bootstrap or permutation distribution of many units is known from the first moments of what each
unit brings into a metric, so nothing is drawn. How far the bounds lie from those of the bootstrap:
docs/statistics.md.

References: DiCiccio and Efron, "More accurate confidence intervals in exponential families",
Biometrika 79 (1992), the ABC interval; also in Efron and Tibshirani, "An Introduction to the
Bootstrap" (1993), chapter 22.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy.special import ndtr, ndtri

from ..core.metric import MetricTable, subset
from ..core.metric_matrix import Compiled, compile_table
from ..core.resampling import Resampling
from .arrays import Array, divide, sum_products

LARGE = 2_000
"""More resampling units than this have closed forms."""

AT_ONCE = 1_000_000
"""Values (metrics times cells) that are held in memory at a time where there are many units."""

STEP = 0.1
"""Standard errors over which a curve's second derivative is taken."""

CLOSED = {"auto": "abc", "bca": "abc", "percentile": "percentile"}
"""Method of `Resampling` -> what `ci_method` calls its closed form."""

WHOLE = 1e-6
"""How far a paired difference may be from a whole multiple of the smallest one."""


def metric_groups(
    table: MetricTable,
    metrics: Sequence[int],
    n_units: int,
    n_cells: int,
) -> Iterator[tuple[list[int], Compiled]]:
    """(indices of metrics, these metrics of the table compiled), some at a time.

    So memory does not grow with the table. All metrics at once for up to LARGE units; else as many
    as `n_cells` cells each allow (AT_ONCE).
    """
    size = len(metrics)
    if n_units > LARGE:
        size = max(1, AT_ONCE // n_cells)
    for start in range(0, len(metrics), size):
        indices = list(metrics[start : start + size])
        names = [table[index].name for index in indices]
        group = compile_table(subset(table, names))
        # a subset ends with the metrics that the named ones are made of
        yield (
            indices,
            replace(
                group,
                metrics=group.metrics[: len(names)],
                parts=group.parts[: len(names)],
            ),
        )


def over_units(values: Array) -> Array:
    """Sum over units: (..., units, columns) -> (..., columns)."""
    n_units = values.shape[-2]
    if n_units > LARGE:
        # numpy's own sum of many short rows takes ten times as long
        return np.ones(n_units) @ values
    return values.sum(axis=-2)


def closed_bounds(
    errors: Array,
    bias: Array,
    curve: Callable[[Array], Array],
    resampling: Resampling,
) -> tuple[Array, Array]:
    """(low, high) of every metric: the ABC interval, or the percentile interval's closed form.

    `errors` (units, metrics): what each unit brings into the metric. `bias` (metrics): that of the
    metric by its curvature. `curve` gives the metrics where unit i weighs 1 + step * errors[i], for
    one step a metric.

    With s the standard error, a the acceleration, c the quadratic coefficient of the curve and
    z0 = a - (bias / s - c), a bound lies on the curve at w / (1 - a w)^2 standard errors, w = z0 +-
    z. The percentile method's lies at v (1 + a v), v = -z0 +- z, which is the Cornish-Fisher
    quantile of the resampled values.
    """
    s = np.sqrt(sum_products(errors, errors))
    s[s == 0] = np.nan
    cubes = np.einsum("um,um,um->m", errors, errors, errors)
    a = cubes / (6 * s**3)
    here = curve(np.zeros_like(s))
    above = curve(STEP / s)
    below = curve(-STEP / s)
    second_difference = above + below - 2 * here
    c = second_difference / (2 * STEP**2 * s)
    z0 = a - (bias / s - c)
    z = ndtri(0.5 + resampling.confidence / 2)

    def bound(quantile: float) -> Array:
        if resampling.method == "percentile":
            v = quantile - z0
            return curve(v * (1 + a * v) / s)
        w = z0 + quantile
        distance = w / (1 - a * w) ** 2
        return curve(distance / s)

    return bound(-z), bound(z)


def normal_flips(
    differences: Array,
    mid: Array | bool = False,
) -> Array:
    """Two-sided p of sum(differences) = 0 under random signs, by the normal limit: (metrics).

    `differences` (units, metrics). Where all units differ by a whole multiple of the smallest
    difference, sums are two of these apart, and half of that is taken off the distance
    (continuity), as a binomial test needs; not for metrics with mid-p (`mid`). 1 where nothing
    differs.
    """
    size = np.abs(differences)
    nonzero = np.where(size > 0, size, np.inf)
    smallest = nonzero.min(axis=0, initial=np.inf)
    multiples = size / smallest
    off_whole = np.abs(multiples - np.round(multiples))
    is_whole = np.all(off_whole <= WHOLE, axis=0)
    all_whole = is_whole & np.isfinite(smallest)
    continuity = np.where(all_whole & np.logical_not(mid), smallest, 0.0)
    scale = np.sqrt(sum_products(differences, differences))
    distance = np.abs(differences.sum(axis=0)) - continuity
    distance = np.maximum(distance, 0.0)
    z = divide(distance, scale, otherwise=0.0)
    return 2 * ndtr(-z)
