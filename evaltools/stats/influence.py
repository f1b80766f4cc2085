"""One array of influences: what every cell (seed, unit) adds to the numerator and denominator of a metric.

A metric of one seed is a ratio of sums R = N / D, or a weighted sum of such ratios. To first order unit
i brings (num_i - R den_i) / D into it, its influence. With influences every metric, and every difference
of metrics, is a mean over units, and runs, seeds, comparisons, ranks and plans take what they need.

Reference: Hampel, "The influence curve and its role in robust estimation", JASA 69 (1974).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype

from ..core.errors import UsageError
from ..core.estimates import is_null
from ..core.files import nearest
from ..core.metric import LARGEST, AnyMetric, Metric, MetricTable, as_ratios, columns_of, linear
from ..core.records import require_unique, short

Array = np.ndarray
Seed = Hashable
Runs = Mapping[Any, pd.DataFrame]

# Columns that tell the samples of a unit apart: those of a cluster, the turns of a dialogue.
ITEM, TURN = "item", "turn_pair_id"
TRIAL = "trial"
# More units than this have neither bootstrap nor drawn sign flips.
LARGE = 5_000


@dataclass(frozen=True)
class Formula:
    """A metric as a weighted sum of k ratios of sums.

    What a row, or a cell, or a whole run adds up to is one vector, its sums: k numerators, k denominators,
    k columns that a ratio `needs` (where one does), and the number of rows.
    """

    metric: AnyMetric
    ratios: tuple[Metric, ...]
    weights: Array

    @cached_property
    def is_count(self) -> Array:
        """(ratios,): whether a ratio is a plain count."""
        return np.array([not linear(ratio.denominator) for ratio in self.ratios])

    @property
    def is_directed(self) -> bool:
        """Whether the metric can be better or worse: it has a direction, and is made of no plain count."""
        return self.metric.better != "none" and not any(self.is_count)

    @cached_property
    def limits(self) -> Array:
        """(2, ratios): the least and the greatest value of each ratio."""
        return np.array([ratio.limits for ratio in self.ratios]).T

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest value that the metric can take."""
        low, high = np.where(self.weights > 0, self.limits, self.limits[::-1]) @ self.weights
        return float(low), float(high)

    def of_rows(self, columns: Mapping[str, Array]) -> Array:
        """The sums of each row, (sums, rows), from columns (rows,); nan where a column is null."""
        ratios, n_rows = self.ratios, len(next(iter(columns.values())))
        totals = [ratio.numerator for ratio in ratios] + [ratio.denominator for ratio in ratios]
        needs = [ratio.needs for ratio in ratios]
        needs = needs if any(needs) else []
        sums = np.zeros((len(totals) + len(needs) + 1, n_rows))
        for total, expression in zip(sums, totals):
            for name, factor in linear(expression).items():
                total += columns[name] if factor == 1 else columns[name] * factor
        for total, name in zip(sums[len(totals) :], [*needs, ""]):
            total[:] = np.nan_to_num(columns[name]) if name else 1.0
        return sums

    def ratio_values(self, sums: Array) -> Array:
        """The ratios: (..., sums) -> (..., ratios); nan is not measured."""
        k = len(self.ratios)
        num, den = sums[..., :k], sums[..., k : 2 * k]
        needs = sums[..., 2 * k : -1]
        ratios = np.empty(num.shape)
        ratios[:] = [np.nan if ratio.empty is None else ratio.empty for ratio in self.ratios]
        np.divide(
            num,
            den,
            out=ratios,
            where=den != 0,
        )
        np.copyto(ratios, num, where=self.is_count)
        np.copyto(ratios, np.nan, where=(sums[..., -1:] == 0) & ~self.is_count)
        if needs.shape[-1]:
            np.copyto(ratios, np.nan, where=needs == 0)
        return ratios

    def values(self, sums: Array) -> Array:
        """The metric: (..., sums) -> (...); nan is not measured."""
        return self.ratio_values(sums) @ self.weights


def formulas_of(table: MetricTable) -> dict[str, Formula]:
    """The formula of each metric of a table, by its name. UsageError for a name that is doubled or unknown."""
    return {
        metric.name: Formula(metric, tuple(parts), np.array(list(parts.values())))
        for metric, parts in zip(table, as_ratios(table))
    }


@dataclass(frozen=True)
class Condition:
    """The units frames of a condition, one a seed, and which sample each row is of.

    `formulas`: those of all its metrics, by name. `ids`: the unit of each row of all frames, by its number in its own.
    `sample`: (rows,), an index of the samples of all conditions, which are ordered by their unit. `starts`: the first
    sample of each of the `units`.
    """

    name: str
    seeds: tuple[Seed, ...]
    formulas: Mapping[str, Formula]
    frames: Sequence[pd.DataFrame]
    ids: pd.Series
    sample: Array
    n_samples: int
    units: pd.Index
    starts: Array

    def cells(self, metric: str) -> Cells:
        """The cells of a metric: its sums of every sample under every seed.

        A row in which one of its columns is null is as if left out. The trials of a sample are averaged, so that
        samples weigh alike; other rows of one sample are summed. UsageError names the row of what cannot be (`_wrong`);
        KeyError for a metric that the table lacks.
        """
        formula = self.formulas[metric]
        columns = {
            name: np.concatenate([column_of(frame, name, self.ids.name) for frame in self.frames])
            for name in columns_of(formula.ratios)
        }
        rows = formula.of_rows(columns)
        for is_wrong, name, values, expected in _wrong(formula, columns, rows):
            if is_wrong.any():
                row = is_wrong.argmax()
                value = "null" if np.isnan(values[row]) else f"{values[row]:g}"
                place = f"row {self.ids.index[row] + 1} ({self.ids.name} {self.ids.iloc[row]})"
                raise UsageError(f"{place}: {name} is {value}{expected}")
        rows[:, np.isnan(rows[:-1]).any(axis=0)] = 0.0
        num, den = rows[: 2 * len(formula.ratios)].reshape(2, len(formula.ratios), -1)
        num[(den == 0) & ~formula.is_count[:, None]] = 0.0
        n_cells = len(self.frames) * self.n_samples
        if self._cell is not None:
            rows = np.array([np.bincount(self._cell, row, n_cells) for row in rows])
        if self._cell is not None and all(TRIAL in frame for frame in self.frames):
            measured = np.maximum(rows[-1], 1)
            n_trials = np.bincount(self._cell, minlength=n_cells)
            rows[:-1] /= measured
            rows[-1] /= np.maximum(n_trials, 1)
        sums = rows.T.reshape(
            len(self.frames),
            self.n_samples,
            len(rows),
        )
        return Cells(formula, self.seeds, sums, self.starts)

    @cached_property
    def _cell(self) -> Array | None:
        """(rows,): seed * number of samples + sample; None where every row is the cell of its own number."""
        sizes = [len(frame) for frame in self.frames]
        seed = np.repeat(range(len(self.frames)), sizes)
        cell = seed * self.n_samples + self.sample
        is_row = np.array_equal(cell, np.arange(len(self.frames) * self.n_samples))
        return None if is_row else cell


def column_of(frame: pd.DataFrame, name: str, unit: str) -> Array:
    """A column of a units frame as floats; a null is nan. UsageError, with the row, for what is no number."""
    values: Any = frame[name].to_numpy()
    if values.dtype.kind in "biuf":
        return values.astype(float, copy=False)
    numbers = np.full(len(values), np.nan)
    for row, cell in enumerate(values):
        if is_null(cell):
            continue
        is_number = isinstance(cell, Real | Decimal | np.bool_)
        if not is_number or not -LARGEST < cell < LARGEST:
            place = f"row {row + 1} ({unit} {frame[unit].iloc[row]})"
            raise UsageError(f"{place}: {name} is {short(cell)}; expected a number")
        numbers[row] = cell
    return numbers


def _wrong(
    formula: Formula,
    columns: Mapping[str, Array],
    rows: Array,
) -> Iterator[tuple[Array, str, Array, str]]:
    """What no metric can be made of: which rows are so, of what, its values (rows,), and what was expected.

    Numbers that are too large; of a ratio a null numerator where the denominator counts the row, and a value outside
    the limits.
    """
    expected = f"; expected a finite number below {LARGEST:g}"
    for name, values in columns.items():
        yield np.abs(values) >= LARGEST, name, values, expected
    metric = formula.metric
    if not isinstance(metric, Metric):
        return  # what it is made of stands in the table too
    num, den = rows[:2]
    yield den < 0, metric.denominator, den, "; expected 0 or more"
    leave = f"; leave {metric.denominator} null or 0 where nothing was measured"
    expected = f" where {metric.denominator} counts the row{leave}"
    yield np.isnan(num) & (den > 0), metric.numerator, num, expected
    low, high = metric.limits
    if np.isinf([low, high]).all():
        return
    own = num if formula.is_count[0] else num / np.where(den > 0, den, np.nan)
    # a sum of floats may be off its limit by as much
    is_outside = (own < low - 1e-9 * max(1, abs(low))) | (own > high + 1e-9 * max(1, abs(high)))
    yield is_outside, metric.name, own, f", which is not within {low:g} and {high:g}"


def label(
    conditions: Iterable[tuple[str, Runs]],
    table: MetricTable,
    unit: str,
) -> list[Condition]:
    """Conditions (name, seed -> units frame) with the sample of each row, the same labels for all.

    The order of seeds and rows changes nothing. UsageError for no run, a null in the unit column, a second row of
    one sample which no trial tells apart, and columns that a frame lacks or has twice.
    """
    formulas = formulas_of(table)
    sides = [(name, sorted(runs.items(), key=lambda run: str(run[0]))) for name, runs in conditions]
    if not all(runs for _, runs in sides):
        raise UsageError("a condition needs at least one run")
    frames = [frame for _, runs in sides for _, frame in runs]
    needed = [unit, *columns_of(ratio for formula in formulas.values() for ratio in formula.ratios)]
    for frame in frames:
        _require_readable(frame, needed)
    is_doubled = any(frame[unit].duplicated().any() for frame in frames)
    # where each unit has one row a turn is only where its value stands
    names = [ITEM, TURN] if is_doubled else [ITEM]
    names = [name for name in names if all(name in frame for frame in frames)]
    rows = pd.concat([frame[[unit, *names]].reset_index(drop=True) for frame in frames])
    of_unit, units = pd.factorize(rows[unit], sort=True)
    by_unit = rows[names].astype(str).assign(unit=of_unit)
    sample = by_unit.groupby(["unit", *names], dropna=False).ngroup().to_numpy()
    _, first = np.unique(sample, return_index=True)
    starts = np.flatnonzero(np.diff(of_unit[first], prepend=-1))
    labelled, end = [], 0
    for name, runs in sides:
        seeds, own = zip(*runs)
        start, end = end, end + sum(map(len, own))
        ids = rows[unit].iloc[start:end]
        labelled.append(
            Condition(
                name,
                seeds,
                formulas,
                own,
                ids,
                sample[start:end],
                len(first),
                pd.Index(units),
                starts,
            )
        )
    return labelled


def _require_readable(
    frame: pd.DataFrame,
    needed: Sequence[str],
) -> None:
    """UsageError for columns that are lacking (the first is the unit) or doubled, a null unit, a second row of one."""
    require_unique(frame.columns)
    missing = [column for column in needed if column not in frame]
    if missing:
        known = [str(column) for column in frame.columns]
        raise UsageError(f"the units frame lacks {missing}; {nearest(missing[0], known)}")
    unit = needed[0]
    if frame[unit].isna().any() or infer_dtype(frame[unit]).startswith("mixed"):
        raise UsageError(f"the unit column {unit!r}: expected texts or whole numbers, none null")
    names = [name for name in (unit, ITEM, TURN, TRIAL) if name in frame]
    doubled = frame.duplicated(names).to_numpy() & (len(names) > 1)
    for row in np.flatnonzero(doubled)[:1]:
        place = ", ".join(f"{name} {frame[name].iloc[row]}" for name in names)
        raise UsageError(f"row {row + 1} ({place}): a second row of one sample")


@dataclass(frozen=True)
class Cells:
    """One metric of a condition: the sums (seeds, samples or units, sums of the formula) of every cell.

    The last sum is the number of rows that are measured, of a sample's trials the share of them.

    `seeds`: those of its condition, also where it is not measured in some. `starts`: the first sample of each unit.
    """

    formula: Formula
    seeds: tuple[Seed, ...]
    sums: Array
    starts: Array

    def per_unit(self) -> Cells:
        """Cells of samples summed over those of each unit."""
        n_units = len(self.starts)
        if self.sums.shape[1] == n_units:
            return self
        sums = np.add.reduceat(self.sums, self.starts, axis=1)
        return replace(self, sums=sums, starts=np.arange(n_units))

    def where(self, mask: Array) -> Cells:
        """The cells of a mask, (units,) or (seeds, units); the others are not present."""
        return replace(self, sums=np.where(mask[..., None], self.sums, 0.0))

    def at(self, seeds: Array | slice) -> Cells:
        """The cells of some seeds, by a mask (seeds,) or a slice."""
        return replace(self, sums=self.sums[seeds])

    def ratio(self, index: int) -> Cells:
        """The cells of one of its ratios, times the size of its weight."""
        f, width = self.formula, self.sums.shape[-1]
        one = Formula(f.metric, (f.ratios[index],), np.abs(f.weights[[index]]))
        columns = [*range(index, width - 1, len(f.ratios)), width - 1]
        return replace(self, formula=one, sums=self.sums[..., columns])

    @cached_property
    def present(self) -> Array:
        """(seeds, units): whether the cell has a row that is measured."""
        return self.sums[..., -1] > 0

    @property
    def is_count(self) -> bool:
        """Whether the metric is made of plain counts."""
        return any(self.formula.is_count)

    @property
    def num(self) -> Array:
        """What each cell adds to the numerator of every ratio, (seeds, units, ratios)."""
        return self.sums[..., : len(self.formula.ratios)]

    @property
    def den(self) -> Array:
        """What each cell adds to the denominator of every ratio, (seeds, units, ratios)."""
        k = len(self.formula.ratios)
        return self.sums[..., k : 2 * k]

    @property
    def own_values(self) -> Array:
        """The metric of every cell by itself, (seeds, units); nan where it has none."""
        return np.where(self.present, self.formula.values(self.sums), np.nan)

    @cached_property
    def ratios(self) -> Array:
        """The ratios of every seed, (seeds, ratios); nan where one is not measured."""
        return self.formula.ratio_values(self.sums.sum(axis=1))

    @cached_property
    def values(self) -> Array:
        """The metric of every seed, (seeds,); nan where it is not measured."""
        return self.ratios @ self.formula.weights

    @cached_property
    def takes_part(self) -> Array:
        """(units,): whether the unit is in a denominator in any seed; in a count all that are present are."""
        if self.is_count:
            return np.any(self.present, axis=0)
        return np.any(self.den != 0, axis=(0, 2))

    @cached_property
    def size(self) -> Array:
        """The denominators D of every seed, (seeds, 1, ratios); inf where they are 0."""
        total = self.den.sum(axis=1, keepdims=True)
        return np.where(total == 0, np.inf, total)

    @cached_property
    def ratio_errors(self) -> Array:
        """(num - ratio * den) / D of every cell, (seeds, units, ratios); 0 where D is 0."""
        return (self.num - np.nan_to_num(self.ratios)[:, None] * self.den) / self.size

    @cached_property
    def errors(self) -> Array:
        """What every cell brings into the metric of its seed, (seeds, units); sums to 0 over the units."""
        return self.ratio_errors @ self.formula.weights

    @cached_property
    def ratio_shares(self) -> Array:
        """Each unit's mean part of the denominators of the seeds, (units, ratios)."""
        return (self.den / self.size).mean(axis=0)

    @property
    def n_of_ratios(self) -> list[float]:
        """The effective units of each ratio."""
        return [effective_units(shares) for shares in self.ratio_shares.T]

    @cached_property
    def shares(self) -> Array:
        """What each unit weighs in the metric, (units,): the mean of its ratios by the size of their weights."""
        weights = np.abs(self.formula.weights)
        return self.ratio_shares @ (weights / weights.sum())


def present_on(
    a: Cells,
    b: Cells,
) -> tuple[Array, Array]:
    """Which cells (seeds, units) each of two sides has; where seeds do not pair, which units (1, units) in any seed."""
    if a.seeds == b.seeds:
        return a.present, b.present
    on_a, on_b = (np.any(side.present, axis=0, keepdims=True) for side in (a, b))
    return on_a, on_b


def effective_units(shares: Array) -> float:
    """(sum m)^2 / sum m^2 of what each unit weighs, without the rounding of sums; 1 where none does.

    >>> float(effective_units(np.array([1.0, 3.0])))
    1.6
    """
    squares = shares @ shares
    return round(shares.sum() ** 2 / squares, 9) if squares > 0 else 1.0


def sample_variance(
    errors: Array,
    n: float,
) -> float:
    """Variance that units bring to a mean: errors (units,) that sum to 0, n effective units."""
    return errors @ errors * n / max(n - 1, 1e-9)


def rounded(differences: Array) -> Array:
    """Differences, (units,) or (units, tests), those set to 0 that are 0 but for the rounding of sums."""
    size = np.abs(differences).sum(axis=0)
    return np.where(np.abs(differences) <= 1e-12 * size, 0.0, differences)
