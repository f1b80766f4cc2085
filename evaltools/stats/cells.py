"""Resampling many units: those that are alike in all that a metric sums are one cell, and share one draw.

How often a bootstrap resample of n units draws each cell is multinomial in the cells' sizes, so the
resampled sums of a metric come from as many numbers as it has cells, not as it has units. That is the
bootstrap itself, not an approximation of it. A metric with more than MAX_CELLS cells (a mean of
milliseconds) has neighbouring cells put together: how often a group is drawn is still multinomial, and
the sum of c units drawn from within a group is taken as normal with c times the group's mean and
covariance. That keeps mean and covariance of the resampled sums as they are; how far bounds then lie from
those of the plain bootstrap is measured by benchmarks/intervals.py.

Sign flips go the same way: of m units that differ by the same size, the number that keeps its sign is
binomial (m, 1/2), and neighbouring sizes are put together where there are more than MAX_CELLS.

The draws of a metric depend on the seed and on its own cells only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from ..core.metric import column_values

LARGE = 2_000
"""More resampling units than this are drawn in cells; up to it the bounds equal scipy's for the same generator."""

MAX_CELLS = 256
"""Cells of a metric, or groups of them, that are drawn."""


@dataclass(frozen=True)
class Cells:
    """Distinct rows of some columns, in their order, and how many units have each: (cells, columns), (cells,)."""

    rows: np.ndarray
    counts: np.ndarray


@dataclass
class UnitColumns:
    """The columns of a units frame by resampling unit, each sorted into its distinct values once."""

    units: pd.DataFrame
    unit: str
    _sorted: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        codes, names = pd.factorize(self.units[self.unit], use_na_sentinel=False)
        self.n = len(names)
        self._codes = codes if self.n < len(self.units) else None

    def cells(self, columns: Sequence[str]) -> Cells:
        """The distinct rows of these columns over the resampling units."""
        return join(self._distinct(c) for c in columns)

    def _distinct(self, column: str) -> tuple[np.ndarray, np.ndarray]:
        """(place among the distinct values, a unit; the distinct values in order)."""
        if column not in self._sorted:
            values = column_values(self.units, (column,))[:, 0]
            if self._codes is not None:
                values = np.bincount(self._codes, weights=values, minlength=self.n)
            self._sorted[column] = encode(values)
        return self._sorted[column]


def encode(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(place of each value among the distinct ones, in as few bytes as will do; the distinct values in order)."""
    codes, distinct = pd.factorize(values, sort=True)
    return codes.astype(np.min_scalar_type(len(distinct))), np.asarray(distinct)


def join(columns: Iterable[tuple[np.ndarray, np.ndarray]]) -> Cells:
    """The distinct rows of one or more encoded columns over the same units."""
    first, *others = columns
    codes, rows = first[0], first[1][:, None]
    for more, values in others:
        codes, there = _compact(codes.astype(np.int64) * len(values) + more, len(rows) * len(values))
        rows = np.column_stack([rows[there // len(values)], values[there % len(values)]])
    return Cells(rows, np.bincount(codes, minlength=len(rows)).astype(float))


def _compact(codes: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """(codes without gaps, the old code of each); `codes` are below `size`."""
    if size > max(len(codes), 1 << 16):
        return pd.factorize(codes, sort=True)
    there = np.flatnonzero(np.bincount(codes, minlength=size))
    new = np.zeros(size, dtype=np.int64)
    new[there] = np.arange(len(there))
    return new[codes], there


def resample_cells(cells: Cells, influence: np.ndarray, n_resamples: int, rng: np.random.Generator) -> np.ndarray:
    """Column sums of every resample: (resamples, columns). `influence` orders the cells where they are grouped."""
    if len(cells.counts) <= MAX_CELLS:
        return _draws(cells.counts, n_resamples, rng) @ cells.rows
    group = _groups(cells.counts, influence, np.average(influence, weights=cells.counts))
    sizes = np.bincount(group, weights=cells.counts)
    k = cells.rows.shape[1]
    means = np.column_stack([np.bincount(group, cells.counts * x) / sizes for x in cells.rows.T])
    rest = cells.rows - means[group]
    spread = np.column_stack(
        [np.bincount(group, cells.counts * rest[:, i] * rest[:, j]) / sizes for i in range(k) for j in range(k)]
    )
    drawn = _draws(sizes, n_resamples, rng)
    within = (drawn @ spread).reshape(n_resamples, k, k)
    size, direction = np.linalg.eigh(within)
    noise = np.einsum("rij,rj->ri", direction.transpose(0, 2, 1), rng.standard_normal((n_resamples, k)))
    noise *= np.sqrt(np.maximum(size, 0.0))
    return drawn @ means + np.einsum("rij,rj->ri", direction, noise)


def _draws(counts: np.ndarray, n_resamples: int, rng: np.random.Generator) -> np.ndarray:
    n = counts.sum()
    return rng.multinomial(int(n), counts / n, n_resamples).astype(float)


def flip_cells(sizes: np.ndarray, counts: np.ndarray, n_permutations: int, rng: np.random.Generator) -> np.ndarray:
    """Sums over all units of sizes with random signs: (permutations,). `counts` units differ by each of `sizes`.

    In a group of m units of mean size u, with h more pluses than minuses, the sum is h * u and a normal part: the
    sizes without their mean, S their sum of squares, have variance S (m^2 - h^2) / (m (m - 1)) given h, and S over
    all h, which is what flipping each of them alone gives.
    """
    values, code = np.unique(np.abs(sizes), return_inverse=True)
    counts = np.bincount(code, weights=counts)
    if len(values) <= MAX_CELLS:
        return _excess(counts, n_permutations, rng).T @ values
    group = _groups(counts, values, 0.0)
    m = np.bincount(group, weights=counts)
    means = np.bincount(group, counts * values) / m
    squares = np.bincount(group, counts * (values - means[group]) ** 2)
    excess = _excess(m, n_permutations, rng)
    free = squares / np.maximum(m * (m - 1), 1.0)
    within = free @ (m[:, None] ** 2 - excess**2)
    return means @ excess + np.sqrt(np.maximum(within, 0.0)) * rng.standard_normal(n_permutations)


def _excess(counts: np.ndarray, n_permutations: int, rng: np.random.Generator) -> np.ndarray:
    """Pluses less minuses of `counts` fair signs each: (cells, permutations)."""
    counts = counts[:, None].astype(np.int64)
    return (2 * rng.binomial(counts, 0.5, (len(counts), n_permutations)) - counts).astype(float)


def _groups(counts: np.ndarray, values: np.ndarray, centre: float) -> np.ndarray:
    """A group of each cell: neighbours in value; groups share units, and squares about `centre`, about equally."""
    order = np.argsort(values, kind="stable")
    n, u = counts[order], values[order]
    variance = n * (u - centre) ** 2
    share = (np.cumsum(n) - n) / n.sum() + (np.cumsum(variance) - variance) / max(variance.sum(), 1e-300)
    at = np.minimum((share / 2 * MAX_CELLS).astype(int), MAX_CELLS - 1)
    group = np.empty(len(order), dtype=int)
    group[order] = np.unique(at, return_inverse=True)[1]
    return group
