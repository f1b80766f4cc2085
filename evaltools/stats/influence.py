"""One array of influences: what every cell (seed, unit) adds to the numerator and denominator of a metric.

A metric of one seed is a ratio of sums R = N / D, or a weighted sum of such ratios. To first order unit
i brings (num_i - R den_i) / D into it, its influence. With influences every metric, and every difference
of metrics, is a mean over units, and runs, seeds, comparisons, ranks and plans take what they need.

Reference: Hampel, "The influence curve and its role in robust estimation", JASA 69 (1974).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ..core.metric import MetricTable
from ..core.metric_matrix import Formula, compile_table, unit_columns

Array = np.ndarray
Seed = Hashable
Runs = Mapping[Any, pd.DataFrame]

# Columns that tell the samples of a unit apart: those of a cluster, the turns of a dialogue.
ITEM, TURN = "item", "turn_pair_id"
TRIAL = "trial"
# Columns of what is asked: rows that pair but differ there are other questions.
TEXTS = ("text", "user_text")
# More units than this have neither bootstrap nor drawn sign flips.
LARGE = 5_000


@dataclass(frozen=True)
class Samples:
    """The samples of all conditions by the order of their units: `unit_of` (samples,) is the index of each one's unit."""

    units: pd.Index
    unit_of: Array

    def per_unit(self, values: Array) -> Array:
        """Sums over the samples of each unit: (..., samples, columns) -> (..., units, columns)."""
        if len(self.unit_of) == len(self.units):
            return values
        starts = np.flatnonzero(np.diff(self.unit_of, prepend=-1))
        return np.add.reduceat(
            values,
            starts,
            axis=-2,
        )


@dataclass(frozen=True)
class Condition:
    """The rows of a condition, those of all seeds one below the other, and the cell of each.

    `columns`: name -> (rows,), nan for null. A cell is a sample under a seed: `cell` (rows,)
    is seed * number of samples + sample. `texts` (rows,): what is asked; null where that is not known.
    """

    formulas: Sequence[Formula]
    samples: Samples
    n_seeds: int
    columns: Mapping[str, Array]
    cell: Array
    has_trials: bool
    texts: pd.Series

    @property
    def present(self) -> Array:
        """(seeds, samples): whether there is a row."""
        n_samples = len(self.samples.unit_of)
        n_rows = np.bincount(self.cell, minlength=self.n_seeds * n_samples)
        return (n_rows > 0).reshape(self.n_seeds, n_samples)

    def without(self, samples: Iterable[int]) -> Condition:
        """The condition without the rows of some samples."""
        keep = ~np.isin(self.cell % len(self.samples.unit_of), list(samples))
        return replace(
            self,
            columns={name: values[keep] for name, values in self.columns.items()},
            cell=self.cell[keep],
            texts=self.texts[keep],
        )

    def cells(self, metric: int) -> Cells:
        """The cells of a metric over all samples. A row in which one of its columns is null is as if left out.

        The trials of a sample are averaged, so that samples weigh alike; other rows of one sample are summed.
        """
        formula, cell = self.formulas[metric], self.cell
        values = np.array([self.columns[name] for name in formula.columns]).T
        is_null = np.isnan(values)
        if is_null.any():
            is_measured = ~is_null[:, formula.summed].any(axis=1)
            values, cell = np.where(is_null, 0.0, values)[is_measured], cell[is_measured]
        shape = self.n_seeds, len(self.samples.unit_of), len(formula.columns)
        n_cells = shape[0] * shape[1]
        n_rows = np.bincount(cell, minlength=n_cells)
        sums = values.T
        if n_rows.max(initial=0) > 1:
            # a sum of floats depends on its order: the rows of a cell are added by size
            order = np.lexsort((*values.T, cell))
            cell, sums = cell[order], sums[:, order]
        if not np.array_equal(cell, np.arange(n_cells)):
            sums = np.array([np.bincount(cell, column, n_cells) for column in sums])
        if self.has_trials:
            sums = sums / np.maximum(n_rows, 1)
        return Cells(
            formula,
            sums.T.reshape(shape),
            (n_rows > 0).reshape(shape[:2]),
        )

    def units(self, metric: int) -> Cells:
        """The cells of a metric, summed over the samples of each unit."""
        return self.cells(metric).per_unit(self.samples)


def label(
    conditions: Sequence[Runs],
    table: MetricTable,
    unit: str,
) -> list[Condition]:
    """Conditions (seed -> units frame) with their rows labelled by seed and sample, the same labels for all.

    The order of seeds and rows changes nothing. ValueError for no run, a null in the unit column, a second
    row of one sample which no trial tells apart, and for what `unit_columns` refuses.
    """
    formulas = compile_table(table)
    if not conditions or not all(conditions):
        raise ValueError("a condition needs at least one run")
    seeds = [sorted(runs, key=str) for runs in conditions]
    frames = [runs[seed] for runs, names in zip(conditions, seeds) for seed in names]
    values = [unit_columns(frame, formulas, unit) for frame in frames]
    names = [name for name in (ITEM, TURN) if all(name in frame for frame in frames)]
    for frame in frames:
        _require_samples_apart(frame, unit)
    if not any(frame[unit].duplicated().any() for frame in frames):
        # where each unit has one row a turn is only where its value stands
        names = [name for name in names if name == ITEM]
    rows = pd.concat([frame[[unit, *names]] for frame in frames], ignore_index=True)
    code, units = pd.factorize(rows[unit], sort=True)
    part = np.zeros(len(rows), dtype=int)
    if names:
        part = rows[names].astype(str).groupby(names).ngroup().to_numpy()
    n_parts = part.max(initial=0) + 1
    known, sample = np.unique(code * n_parts + part, return_inverse=True)
    samples = Samples(pd.Index(units), known // n_parts)
    text = next((name for name in TEXTS if all(name in frame for frame in frames)), "")
    labelled = []
    for of_condition in seeds:
        n = len(of_condition)
        own, frames = frames[:n], frames[n:]
        sizes = [len(frame) for frame in own]
        cell = np.repeat(np.arange(n), sizes) * len(known) + sample[: sum(sizes)]
        of_seeds = [frame.get(text, pd.Series(index=frame.index, dtype=object)) for frame in own]
        has_trials = all(TRIAL in frame for frame in own)
        condition = Condition(
            formulas,
            samples,
            n,
            {name: np.concatenate([v[name] for v in values[:n]]) for name in values[0]},
            cell,
            has_trials,
            pd.concat(of_seeds, ignore_index=True),
        )
        labelled.append(condition)
        values, sample = values[n:], sample[sum(sizes) :]
    return labelled


def _require_samples_apart(
    frame: pd.DataFrame,
    unit: str,
) -> None:
    """ValueError for a null unit, and for a second row of a sample that has names of its own."""
    if frame[unit].isna().any():
        raise ValueError(f"null in the unit column {unit!r}")
    names = [name for name in (unit, ITEM, TURN, TRIAL) if name in frame]
    doubled = frame.duplicated(names).to_numpy() & (len(names) > 1)
    for row in np.flatnonzero(doubled)[:1]:
        place = ", ".join(f"{name} {frame[name].iloc[row]}" for name in names)
        raise ValueError(f"row {row + 1} ({place}): a second row of one sample")


@dataclass(frozen=True)
class Cells:
    """One metric of a condition: the column sums of every cell, and what the cells bring into the metric.

    `sums` (seeds, units, its columns) are 0 where a cell is not
    `present` (seeds, units).
    """

    formula: Formula
    sums: Array
    present: Array

    def per_unit(self, samples: Samples) -> Cells:
        """Cells of samples summed over those of each unit."""
        present = samples.per_unit(self.present[:, :, None].astype(int))[:, :, 0] > 0
        return Cells(
            self.formula,
            samples.per_unit(self.sums),
            present,
        )

    def where(self, mask: Array) -> Cells:
        """The cells of a mask, (units,) or (seeds, units); the others are not present."""
        present = self.present & mask
        return Cells(
            self.formula,
            np.where(present[:, :, None], self.sums, 0.0),
            present,
        )

    def at(self, seeds: Array) -> Cells:
        """The cells of some seeds, by a mask (seeds,)."""
        if seeds.all():
            return self
        return Cells(
            self.formula,
            self.sums[seeds],
            self.present[seeds],
        )

    @property
    def is_count(self) -> bool:
        """Whether the metric is made of plain counts."""
        return bool(self.formula.is_count.any())

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the greatest value that the metric can take."""
        return self.formula.ends

    @cached_property
    def weights(self) -> Array:
        """(ratios,): how much of each ratio stands in the metric."""
        return self.formula.weights

    @cached_property
    def num(self) -> Array:
        """What each cell adds to the numerator of every ratio, (seeds, units, ratios)."""
        return self.sums @ self.formula.numerator

    @cached_property
    def den(self) -> Array:
        """What each cell adds to the denominator of every ratio, (seeds, units, ratios)."""
        return self.sums @ self.formula.denominator

    @cached_property
    def totals(self) -> Array:
        """Column sums of every seed, (seeds, columns)."""
        return self.sums.sum(axis=1)

    @cached_property
    def values(self) -> Array:
        """The metric of every seed, (seeds,); nan where it is not measured."""
        values = self.formula.values(self.totals)
        return np.where(
            self.is_count | self.present.any(axis=1),
            values,
            np.nan,
        )

    @cached_property
    def takes_part(self) -> Array:
        """(units,): whether the unit is in a denominator in any seed; in a count all that are present are."""
        if self.is_count:
            return np.any(self.present, axis=0)
        # column by column, because terms of opposite sign can cancel
        counted = self.formula.denominator.any(axis=1)
        return np.any(self.sums[:, :, counted] != 0, axis=(0, 2))

    @cached_property
    def ratio_errors(self) -> Array:
        """(num - ratio * den) / D of every cell, (seeds, units, ratios); 0 where D is 0."""
        total = self.den.sum(axis=1, keepdims=True)
        ratios = np.nan_to_num(self.formula.ratios(self.totals))[:, None, :]
        return (self.num - ratios * self.den) / np.where(total == 0, np.inf, total)

    @cached_property
    def errors(self) -> Array:
        """What every cell brings into the metric of its seed, (seeds, units); sums to 0 over the units."""
        return self.ratio_errors @ self.weights

    @cached_property
    def ratio_shares(self) -> Array:
        """Each unit's mean part of the denominators of the seeds, (units, ratios)."""
        total = self.den.sum(axis=1, keepdims=True)
        return (self.den / np.where(total == 0, np.inf, total)).mean(axis=0)

    @cached_property
    def shares(self) -> Array:
        """What each unit weighs in the metric, (units,)."""
        return mean_shares(self.ratio_shares, self.weights)


def mean_shares(
    shares: Array,
    weights: Array,
) -> Array:
    """Shares of ratios (units, ratios) as those of the metric: their mean by the size of the ratios' weights."""
    return shares @ (np.abs(weights) / np.abs(weights).sum())


def effective_units(shares: Array) -> float:
    """(sum m)^2 / sum m^2 of what each unit weighs, without the rounding of sums; 1 where none does.

    >>> effective_units(np.array([1.0, 3.0]))
    1.6
    """
    squares = shares @ shares
    return round(float(shares.sum() ** 2 / squares), 9) if squares > 0 else 1.0


def sample_variance(
    errors: Array,
    n: float,
) -> float:
    """Variance that units bring to a mean: errors (units,) that sum to 0, n effective units."""
    return float(errors @ errors) * n / max(n - 1, 1e-9)


def unit_differences(
    num_a: Array,
    den_a: Array,
    num_b: Array,
    den_b: Array,
) -> Array:
    """What each unit brings into ratio b less ratio a, (..., units, ratios); exactly 0 where it is the same in both.

    Linearised at the mean of both ratios, so that the sum over the units is their difference.
    """
    total_a, total_b = den_a.sum(axis=-2, keepdims=True), den_b.sum(axis=-2, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio_a = num_a.sum(axis=-2, keepdims=True) / total_a
        ratio_b = num_b.sum(axis=-2, keepdims=True) / total_b
        middle = (ratio_a + ratio_b) / 2
        differences = (num_b - num_a - middle * (den_b - den_a)) / ((total_a + total_b) / 2)
    return np.nan_to_num(
        differences,
        posinf=0.0,
        neginf=0.0,
    )


def unit_shares(
    den_a: Array,
    den_b: Array,
) -> Array:
    """What each unit weighs in a difference of ratios, (units, ratios); sums to 1."""
    total = (den_a + den_b).sum(axis=0)
    return (den_a + den_b) / np.where(total == 0, np.inf, total)


def rounded(differences: Array) -> Array:
    """Differences, (units,) or (units, tests), those set to 0 that are 0 but for the rounding of sums."""
    size = np.abs(differences).sum(axis=0)
    return np.where(
        np.abs(differences) <= 1e-12 * size,
        0.0,
        differences,
    )


def varies(
    errors: Array,
    value: float,
) -> bool:
    """Whether errors (units,) differ by more than the rounding of the value."""
    size = np.abs(errors).max(initial=0.0) * len(errors)
    return bool(size > 1e-11 * max(abs(np.nan_to_num(value)), 1e-3))
