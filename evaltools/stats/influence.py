"""One array of influences: what every cell (seed, unit) adds to the numerators and denominators of all metrics.

A metric of one seed is a ratio of sums R = N / D. To first order unit i brings (num_i - R den_i) / D
into it, its influence. With influences every metric, and every difference of metrics, is a mean over
units, and runs, seeds, comparisons, ranks and plans take what they need from them.

Reference: Hampel, "The influence curve and its role in robust estimation", JASA 69 (1974).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from ..core.metric import Metric, MetricTable, subset
from ..core.metric_matrix import (
    Compiled,
    column_values,
    compile_table,
    require_columns,
    require_measured,
    require_within_limits,
)

Array = np.ndarray
Seed = Hashable
Runs = Mapping[Seed, pd.DataFrame]

# Columns that tell the rows of a unit apart: the samples of a cluster, the turns of a dialogue.
ROW_COLUMNS = ("item", "turn_pair_id")
TRIAL = "trial"
# More resampling units than this have neither bootstrap nor drawn sign flips.
LARGE = 5_000
# So many values (metrics times cells) are held in memory at a time where there are many units.
AT_ONCE = 1_000_000


def divide(a: Array | float, b: Array, otherwise: float = np.nan) -> Array:
    """a / b where b is above 0, else `otherwise`.

    >>> divide(np.array([1.0, 1.0]), np.array([2.0, 0.0]), otherwise=0.0).tolist()
    [0.5, 0.0]
    """
    ratio = np.full(np.broadcast(a, b).shape, otherwise)
    np.divide(a, b, out=ratio, where=b > 0)
    return ratio


def over_units(values: Array) -> Array:
    """Sum over units: (..., units, columns) -> (..., columns)."""
    if values.shape[-2] > LARGE:
        # numpy's own sum of many short rows takes ten times as long
        return np.ones(values.shape[-2]) @ values
    return values.sum(axis=-2)


def in_order(labels: Iterable[Seed]) -> list[Seed]:
    """Labels sorted: None first, then numbers by size, then all others by their text.

    >>> in_order({10, 9, None, "b", "a"})
    [None, 9, 10, 'a', 'b']
    """

    def key(label: Seed) -> tuple[int, float, str]:
        if label is None:
            return 0, 0.0, ""
        if isinstance(label, int | float | np.number):
            return 1, float(label), ""
        return 2, 0.0, str(label)

    return sorted(labels, key=key)


@dataclass(frozen=True)
class Cells:
    """Column sums of every cell of a condition, and what the cells bring into its metrics.

    `sums` (seeds, units, columns of `compiled`) are 0 where a cell is not `present` (seeds, units).
    """

    compiled: Compiled
    units: pd.Index
    sums: Array
    present: Array

    @cached_property
    def num(self) -> Array:
        """What each cell adds to the numerator of every ratio, (seeds, units, ratios)."""
        return self.sums @ self.compiled.numerator

    @cached_property
    def den(self) -> Array:
        """What each cell adds to the denominator of every ratio, (seeds, units, ratios)."""
        return self.sums @ self.compiled.denominator

    @cached_property
    def totals(self) -> Array:
        """Column sums of every seed, (seeds, columns)."""
        return over_units(self.sums)

    @cached_property
    def values(self) -> Array:
        """Metrics of every seed, (seeds, metrics); nan where not measured in that seed."""
        values = self.compiled.values(self.totals)
        has_cells = self.present.any(axis=1, keepdims=True)
        return np.where(has_cells | self.compiled.counts, values, np.nan)

    @cached_property
    def takes_part(self) -> Array:
        """(units, metrics): whether the unit is in a denominator of the metric in any seed; in a count all are."""
        # sizes, because terms of opposite sign can cancel
        size = np.abs(self.sums) @ np.abs(self.compiled.denominator)
        in_ratio = (size != 0).any(axis=0)
        n_ratios = in_ratio.astype(float) @ self.compiled.uses.T
        return (n_ratios > 0) | (self.compiled.counts & np.any(self.present, axis=0)[:, None])

    @cached_property
    def shares(self) -> Array:
        """Each cell's part of its seed's denominator, (seeds, units, ratios)."""
        total = over_units(self.den)
        return self.den / np.where(total == 0, np.inf, total)[:, None, :]

    @cached_property
    def ratio_errors(self) -> Array:
        """(num - ratio * den) / D of every cell, (seeds, units, ratios); 0 where D is 0."""
        total = over_units(self.den)
        ratios = np.nan_to_num(self.compiled.ratios(self.totals))
        errors = self.num - ratios[:, None, :] * self.den
        return errors / np.where(total == 0, np.inf, total)[:, None, :]

    @cached_property
    def errors(self) -> Array:
        """What every cell brings into a metric of its seed, (seeds, units, metrics); sums to 0 over the units."""
        return self.compiled.combined(self.ratio_errors)

    @cached_property
    def weights(self) -> Array:
        """What each unit weighs in a metric, (units, metrics): its mean share of the denominators."""
        return mean_shares(self.shares.mean(axis=0), self.compiled)

    def part(self, seeds: Sequence[int], metrics: Sequence[int]) -> Cells:
        """The cells of some seeds and metrics, without units that none of these seeds has."""
        compiled = self.compiled
        if len(metrics) < len(compiled.parts):
            compiled = replace(
                compiled,
                metrics=tuple(compiled.metrics[m] for m in metrics),
                parts=tuple(compiled.parts[m] for m in metrics),
            )
        present = self.present[seeds]
        has = present.any(axis=0)
        if has.all() and len(seeds) == len(self.sums):
            return Cells(compiled, self.units, self.sums, self.present)
        return Cells(compiled, self.units[has], self.sums[seeds][:, has], present[:, has])

    def over(self, units: pd.Index) -> Cells:
        """The cells of these units, in this order; those that the condition lacks are not present."""
        index = self.units.get_indexer(units)
        has = index >= 0
        sums = np.zeros((len(self.sums), len(units), self.sums.shape[2]))
        present = np.zeros(sums.shape[:2], dtype=bool)
        sums[:, has] = self.sums[:, index[has]]
        present[:, has] = self.present[:, index[has]]
        return Cells(self.compiled, units, sums, present)


def mean_shares(shares: Array, compiled: Compiled) -> Array:
    """Shares of ratios (units, ratios) as those of metrics: the mean of its ratios by the size of their weights."""
    size = np.abs(compiled.weights)
    return shares @ (size / size.sum(axis=0))


def effective_units(shares: Array, otherwise: float = 1.0) -> Array:
    """(sum m)^2 / sum m^2 of what each unit weighs in each metric; `otherwise` where none does.

    >>> effective_units(np.array([[1.0, 1.0], [1.0, 3.0]])).tolist()
    [2.0, 1.6]
    """
    squares = np.einsum("um,um->m", shares, shares)
    return divide(over_units(shares) ** 2, squares, otherwise)


def cells(runs: Runs, compiled: Compiled, unit: str) -> Cells:
    """The cells of a condition; the order of seeds, units and rows in the input changes nothing.

    Several rows of one unit are summed; the trials of a sample are averaged first, so that samples
    weigh alike. ValueError for no run and for a null in the unit column.
    """
    if not runs:
        raise ValueError("a condition needs at least one run")
    for seed, frame in runs.items():
        if frame[unit].isna().any():
            raise ValueError(f"null in the unit column {unit!r} (seed {seed!r})")
    seeds = in_order(runs)
    labels = np.concatenate([runs[seed][unit].unique() for seed in seeds])
    try:
        units = pd.Index(np.unique(labels), dtype=labels.dtype)
    except TypeError:  # labels of several types
        units = pd.Index(in_order(set(labels)), dtype=object)
    sums = np.empty((len(seeds), len(units), len(compiled.columns)))
    present = np.zeros(sums.shape[:2], dtype=bool)
    for k, seed in enumerate(seeds):
        frame = runs[seed]
        index = units.get_indexer(pd.Index(frame[unit], dtype=units.dtype))
        values = column_values(frame, compiled.columns)
        if TRIAL in frame:
            values /= _trials(frame, unit)[:, None]
        sums[k] = add_rows(values, index, len(units))
        present[k, index] = True
    return Cells(compiled, units, sums, present)


def _trials(frame: pd.DataFrame, unit: str) -> Array:
    """How many trials the sample of each row has, (rows,)."""
    sample = [unit, *(column for column in ROW_COLUMNS if column in frame and column != unit)]
    return frame.groupby(sample, dropna=False)[TRIAL].transform("size").to_numpy(float)


def add_rows(values: Array, index: Array, n: int) -> Array:
    """Sums of the rows of each of n units: values (rows, columns), index (rows) -> (n, columns).

    >>> add_rows(np.array([[1.0], [2.0], [4.0]]), np.array([0, 1, 0]), 2).ravel().tolist()
    [5.0, 2.0]
    """
    if np.array_equal(index, np.arange(n)):
        return values
    if len(index) > n:
        # a sum of floats depends on its order: the rows of a unit are added by size
        order = np.lexsort((*values.T, index))
        values, index = values[order], index[order]
    columns = [np.bincount(index, column, minlength=n) for column in values.T]
    return np.array(columns).reshape(-1, n).T


def measured_groups(
    table: MetricTable,
    frames: Sequence[pd.DataFrame],
    unit: str,
) -> Iterator[tuple[list[int], Compiled, list[str]]]:
    """The metrics of a table in groups that are measured in the same rows of all frames.

    A row in which a column of a metric is null takes no part in it, as if it were left out. Yields
    (indices of metrics, these metrics compiled, the columns in which a null leaves a row out). Of
    many units some metrics at a time, so that memory does not grow with the table.

    KeyError names columns that a frame lacks; ValueError as `require_measured` and `require_within_limits`, and
    for a sample that has two rows which no trial tells apart.
    """
    if not frames:
        raise ValueError("a condition needs at least one run")
    compiled = compile_table(table)
    for frame in frames:
        require_columns(frame, [unit, *compiled.columns])
        require_measured(frame, compiled, unit)
        require_within_limits(frame, compiled, unit)
        _require_samples_apart(frame, unit)
    is_null = pd.concat([frame[list(compiled.columns)].isna() for frame in frames])
    is_null = is_null.loc[:, is_null.any()]
    groups: dict[bytes, tuple[list[int], list[str]]] = {}
    for metric in range(len(compiled.metrics)):
        used = compiled.uses[metric]
        factors = np.abs(compiled.numerator) + np.abs(compiled.denominator)
        in_metric = factors[:, used].any(axis=1)
        columns = [c for c, use in zip(compiled.columns, in_metric) if use and c in is_null]
        key = is_null[columns].any(axis=1).to_numpy().tobytes()
        groups.setdefault(key, ([], columns))[0].append(metric)
    n_rows = max(len(frame) for frame in frames)
    at_once = len(table) if n_rows <= LARGE else max(1, AT_ONCE // (n_rows * len(frames)))
    for metrics, columns in groups.values():
        for start in range(0, len(metrics), at_once):
            indices = metrics[start : start + at_once]
            group = compile_table(subset(table, [table[index].name for index in indices]))
            # a subset ends with the metrics that the named ones are made of
            n = len(indices)
            yield indices, replace(group, metrics=group.metrics[:n], parts=group.parts[:n]), columns


def _require_samples_apart(frame: pd.DataFrame, unit: str) -> None:
    """ValueError for a second row of a sample; trials have a column of their own, rows of a cluster their names."""
    names = [column for column in (unit, *ROW_COLUMNS, TRIAL) if column in frame]
    doubled = frame.duplicated(names).to_numpy() & (len(names) > 1)
    for row in np.flatnonzero(doubled)[:1]:
        place = ", ".join(f"{name} {frame[name].iloc[row]}" for name in names)
        raise ValueError(f"row {row + 1} ({place}): a second row of one sample")


def without_nulls(runs: Runs, columns: Sequence[str]) -> Runs:
    """A condition (seed -> units frame) without the rows that have a null in these columns."""
    if not columns:
        return runs
    return {seed: frame.dropna(subset=list(columns)) for seed, frame in runs.items()}


def measured_seeds(measured: Array) -> Iterator[tuple[list[int], list[int]]]:
    """(indices of metrics, indices of the seeds in which just these are measured), of (seeds, metrics)."""
    patterns, group = np.unique(measured, axis=1, return_inverse=True)
    for column in range(patterns.shape[1]):
        metrics = np.flatnonzero(group.ravel() == column).tolist()
        yield metrics, np.flatnonzero(patterns[:, column]).tolist()


def proportions(compiled: Compiled) -> Array:
    """(metrics,): whether each metric is a proportion."""
    kinds = [isinstance(metric, Metric) and metric.proportion for metric in compiled.metrics]
    return np.array(kinds, dtype=bool)


def unit_differences(num_a: Array, den_a: Array, num_b: Array, den_b: Array) -> Array:
    """What each unit brings into ratio b less ratio a, (..., units, ratios); exactly 0 where it is the same in both.

    Linearised at the mean of both ratios, so that the sum over the units is their difference.
    """
    total_a, total_b = den_a.sum(axis=-2, keepdims=True), den_b.sum(axis=-2, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio_a = num_a.sum(axis=-2, keepdims=True) / total_a
        ratio_b = num_b.sum(axis=-2, keepdims=True) / total_b
        middle = (ratio_a + ratio_b) / 2
        differences = (num_b - num_a - middle * (den_b - den_a)) / ((total_a + total_b) / 2)
    return np.nan_to_num(differences, posinf=0.0, neginf=0.0)


def unit_shares(den_a: Array, den_b: Array) -> Array:
    """What each unit weighs in a difference of ratios, (units, ratios); sums to 1."""
    total = over_units(den_a + den_b)
    return (den_a + den_b) / np.where(total == 0, np.inf, total)


def rounded(differences: Array) -> Array:
    """Differences (units, metrics), those set to 0 that are 0 but for the rounding of sums."""
    size = np.abs(differences).sum(axis=0)
    return np.where(np.abs(differences) <= 1e-12 * size, 0.0, differences)


def varies(errors: Array, values: Array) -> Array:
    """(metrics,): whether errors (units, metrics) differ by more than the rounding of values."""
    size = np.abs(errors).max(axis=0, initial=0.0) * len(errors)
    return size > 1e-11 * np.maximum(np.abs(np.nan_to_num(values)), 1e-3)
