"""One array of influences: what every cell (seed, unit) adds to the numerator and denominator of a metric.

A metric of one seed is a ratio of sums R = N / D, or a weighted sum of such ratios. To first order unit i brings its
influence, (num_i - R den_i) / D. With influences every metric, and every difference of metrics, is a mean over units.

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
from pandas import DataFrame
from pandas.api.types import infer_dtype

from ..core.estimates import is_null
from ..core.files import nearest
from ..core.messages import UsageError
from ..core.metric import LARGEST, AnyMetric, Metric, MetricTable, as_ratios, columns_of, linear
from ..core.records import require_unique, short
from .formulas import Array, rounded

Seed = Hashable
Runs = Mapping[Any, DataFrame]
# condition -> metric that means nothing there -> the code of the check that says so
Codes = Mapping[str, Mapping[str, str]]
NO_CODES: Codes = {}

# Columns that tell the samples of a unit apart: those of a cluster, the turns of a dialogue.
ITEM, TURN = "item", "turn_pair_id"
TRIAL = "trial"
# Columns of what is asked and of what is right: rows that pair but differ in one of them are other questions.
TEXTS = ("text", "user_text", "contexts_hash", "compared_gold")
# More units than this have neither bootstrap nor drawn sign flips.
LARGE = 5_000


@dataclass(frozen=True)
class Formula:
    """A metric as a weighted sum of k ratios of sums.

    What a row, or a cell, or a whole run adds up to are its sums, (4, ..., k): of every ratio the numerator, the
    denominator, the column that it `needs` (else 1 a row), and the number of rows.
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
    def ends(self) -> tuple[float, float]:
        """The least and the greatest value that the metric can take."""
        limits = np.array([ratio.limits for ratio in self.ratios]).T
        low, high = np.where(self.weights > 0, limits, limits[::-1]) @ self.weights
        return float(low), float(high)

    def of_rows(self, columns: Mapping[str, Array]) -> Array:
        """The sums of each row, (4, ratios, rows), from columns (rows,); nan where a column is null."""
        n_rows = len(next(iter(columns.values())))
        sums = np.ones((4, len(self.ratios), n_rows))
        for k, ratio in enumerate(self.ratios):
            for total, expression in zip(sums[:, k], (ratio.numerator, ratio.denominator)):
                factors = linear(expression)
                total[:] = sum(columns[name] * factor for name, factor in factors.items())
            if ratio.needs:
                sums[2, k] = columns[ratio.needs]
        return sums

    def ratio_values(self, sums: Array) -> Array:
        """The ratios: (4, ..., ratios) -> (..., ratios); nan is not measured."""
        num, den, needs, _ = sums
        ratios = np.full(num.shape, np.array([ratio.empty for ratio in self.ratios], float))
        np.divide(num, den, out=ratios, where=den != 0)
        ratios = np.where(self.is_count, num, ratios)
        is_known = [not (ratio.denominator or ratio.needs) for ratio in self.ratios]
        return np.where((needs != 0) | is_known, ratios, np.nan)

    def values(self, sums: Array) -> Any:
        """The metric: (4, ..., ratios) -> (...); nan is not measured."""
        ratios = self.ratio_values(sums)
        return rounded(ratios @ self.weights, np.abs(ratios) @ np.abs(self.weights))


def formulas_of(table: MetricTable) -> dict[str, Formula]:
    """The formula of each metric of a table, by its name. UsageError for a name that is doubled or unknown."""
    return {
        metric.name: Formula(metric, tuple(parts), np.array(list(parts.values())))
        for metric, parts in zip(table, as_ratios(table))
    }


@dataclass(frozen=True, eq=False)
class Condition:
    """The rows of a condition, those of all its seeds, and which cell each is of.

    `formulas`: those of all its metrics. `rows`: the columns that are read, by the number of a row in its own frame.
    `cell`: (rows,), number of the seed * n_samples + number of the sample, one of those of all conditions, which are
    ordered by their unit. `starts`: the first sample of each of the `units`. `blocked`: metric that means nothing here ->
    the code of the check that says so.
    """

    name: str
    seeds: tuple[Seed, ...]
    formulas: Mapping[str, Formula]
    rows: DataFrame
    cell: Array
    n_samples: int
    units: pd.Index
    starts: Array
    blocked: Mapping[str, str]

    @cached_property
    def texts(self) -> Array:
        """(seeds, TEXTS, samples): the hash of what each asks; 0 is unknown. Of rows that are summed the first tells."""
        found = np.zeros((len(self.seeds), len(TEXTS), self.n_samples), np.uint64)
        for name in self.rows.filter(TEXTS):
            text = self.rows[name].groupby(self.cell).first().dropna().astype(str)
            text = text.str.normalize("NFC").str.split().str.join(" ")
            seed, sample = divmod(text.index, self.n_samples)
            hashes = pd.util.hash_pandas_object(text, index=False)
            found[seed, TEXTS.index(name), sample] = hashes.where(text != "", 0)
        return found

    def cells(self, metric: str) -> Cells:
        """The cells of a metric: its sums of every sample under every seed.

        A row in which one of its columns is null is as if left out. The trials of a sample are averaged, so that
        samples weigh alike; other rows of one sample are summed. UsageError names the row of what cannot be (`_wrong`);
        KeyError for a metric that the table lacks.
        """
        formula, unit = self.formulas[metric], self.units.name
        names = columns_of(formula.ratios)
        columns = {name: numbers_of(self.rows[name].to_numpy()) for name in names}
        sums = formula.of_rows(columns)
        for is_wrong, name, values, expected in _wrong(formula, self.rows, columns, sums):
            if is_wrong.any():
                row = is_wrong.argmax()
                cell = values[row]
                value = f"{cell:g}" if isinstance(cell, float) else short(cell)
                value = "null" if is_null(cell) else value
                place = f"row {self.rows.index[row] + 1} ({unit} {self.rows[unit].iloc[row]})"
                raise UsageError(f"{place}: {name} is {value}{expected}")
        sums[..., np.isnan(sums).any(axis=(0, 1))] = 0.0
        num, den, _, [measured, *_] = sums
        num[(den == 0) & ~formula.is_count[:, None]] = 0.0
        shape = 4, len(formula.ratios), len(self.seeds), self.n_samples
        n_cells = shape[2] * shape[3]
        rows = sums.reshape(4 * shape[1], -1)
        sums = np.array([np.bincount(self.cell, row, n_cells) for row in rows], float)
        sums = sums.reshape(shape)
        if TRIAL in self.rows:
            trial = self.rows[TRIAL]
            # metrics may have trials of their own: others than those in which some sample has a value are none
            n_trials = np.bincount(self.cell, trial.isin(trial[measured > 0]), n_cells)
            sums[:3] /= np.maximum(sums[3], 1)
            sums[3] /= np.maximum(n_trials.reshape(shape[2:]), 1)
        sums = np.moveaxis(sums, 1, -1)
        return Cells(formula, self.seeds, sums, self.starts, self.blocked.get(metric))


def asks_several(
    texts: Array,
) -> Array:
    """Which samples do not ask the same in all of several hashes, (hashes, ..., samples), of which 0 is unknown."""
    greatest = texts.max(axis=0)
    is_other = np.where(texts > 0, texts, greatest).min(axis=0) < greatest
    return is_other.reshape(-1, texts.shape[-1]).any(axis=0)


def numbers_of(values: Array) -> Array:
    """Values as floats: nan for a null, infinity for what is no number, or too large for one."""
    if values.dtype.kind in "biuf":
        return values.astype(float, copy=False)
    numbers = np.full(len(values), np.nan)
    for row, cell in enumerate(values):
        if not is_null(cell):
            is_number = isinstance(cell, Real | Decimal | np.bool_)
            numbers[row] = cell if is_number and -LARGEST < cell < LARGEST else np.inf
    return numbers


def _wrong(
    formula: Formula,
    frame: DataFrame,
    columns: Mapping[str, Array],
    sums: Array,
) -> Iterator[tuple[Array, str, Array, str]]:
    """What no metric can be made of: which rows are so, of what, its values (rows,), and what was expected.

    Numbers too large; of a ratio a null numerator where the denominator counts the row, and a value out of limits.
    """
    expected = f"; expected a finite number below {LARGEST:g}"
    for name, values in columns.items():
        yield np.abs(values) >= LARGEST, name, frame[name].to_numpy(), expected
    metric = formula.metric
    if not isinstance(metric, Metric):
        return  # what it is made of stands in the table too
    num, den = sums[:2, 0]
    yield den < 0, metric.denominator, den, "; expected 0 or more"
    expected = f" where {metric.denominator} counts the row; leave that null or 0 where nothing was measured"
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
    blocked: Codes = NO_CODES,
) -> list[Condition]:
    """Conditions (name, seed -> units frame) with the sample of each row, the same labels for all.

    The order of seeds and rows changes nothing. UsageError for no run, a null in the unit column, a second row of
    one sample which no trial tells apart, and columns that a frame lacks or has twice.
    """
    formulas = formulas_of(table)
    needed = [unit, *columns_of(ratio for formula in formulas.values() for ratio in formula.ratios)]
    read = [*needed, *TEXTS, ITEM, TURN, TRIAL]
    sides = []
    is_doubled = False
    for name, runs in conditions:
        if not runs:
            raise UsageError("a condition needs at least one run")
        seeds, frames = zip(*sorted(runs.items(), key=lambda run: str(run[0])))
        for frame in frames:
            _require_readable(frame, needed)
            is_doubled |= frame[unit].duplicated().any()
        rows = pd.concat(
            [frame.filter(read).reset_index(drop=True) for frame in frames], join="inner"
        )
        sides.append((name, seeds, np.repeat(range(len(frames)), [*map(len, frames)]), rows))
    # where each unit has one row a turn is only where its value stands
    names = [unit, ITEM, TURN] if is_doubled else [unit, ITEM]
    ids = pd.concat([rows.filter(names) for *_, rows in sides], join="inner")
    of_unit, units = pd.factorize(ids[unit], sort=True)
    by_unit = ids.astype(str).assign(**{unit: of_unit})
    sample = by_unit.groupby([*by_unit], dropna=False).ngroup().to_numpy()
    _, first = np.unique(sample, return_index=True)
    starts = np.flatnonzero(np.diff(of_unit[first], prepend=-1))
    labelled = []
    for name, seeds, seed, rows in sides:
        own, sample = np.split(sample, [len(rows)])
        labelled.append(
            Condition(
                name,
                seeds,
                formulas,
                rows,
                seed * len(first) + own,
                len(first),
                pd.Index(units, name=unit),
                starts,
                blocked.get(name, {}),
            )
        )
    return labelled


def _require_readable(
    frame: DataFrame,
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


@dataclass(frozen=True, eq=False)
class Cells:
    """One metric of a condition: the sums of every cell, (4, seeds, samples or units, ratios); `Formula` says which.

    The last of them, rows that are measured, is of a sample's trials the share of them. An `Effect` is the cells of one
    seed, without that axis. `seeds`: those of its condition, also where it is not measured in some. `starts`: the first
    sample of each unit. `blocked`: the code of the check that says that the metric means nothing here.
    """

    formula: Formula
    seeds: tuple[Seed, ...]
    sums: Array
    starts: Array
    blocked: str | None

    def unit_sizes(self, lacked: Any = 0.0) -> Any:
        """Of macro means the denominator of each cell's unit with what it lacks, (seeds, samples, ratios); of others 1."""
        is_macro = np.array([ratio.macro for ratio in self.formula.ratios])
        if not is_macro.any():
            return 1.0
        of_unit = np.add.reduceat(self.den + lacked, self.starts, axis=1)
        size = of_unit.repeat(np.diff(self.starts, append=self.den.shape[1]), axis=1)
        return np.where(is_macro & (size > 0), size, 1.0)

    def per_unit(self) -> Cells:
        """Cells of samples summed over those of each unit; in a macro mean each unit counts once."""
        sums = np.add.reduceat(
            self.sums,
            self.starts,
            axis=2,
        )
        found = replace(
            self,
            sums=sums,
            starts=np.arange(len(self.starts)),
        )
        sums[:2] /= found.unit_sizes()
        return found

    def where(self, mask: Array) -> Cells:
        """The cells of a mask, (units,) or (seeds, units); the others are not present."""
        if mask.all():  # what is known of them stays known
            return self
        return replace(
            self,
            sums=np.where(mask[..., None], self.sums, 0.0),
        )

    def at(self, seeds: Array) -> Cells:
        """The cells of some seeds, by a mask (seeds,)."""
        return replace(self, sums=self.sums[:, seeds])

    def ratio(self, index: int) -> Cells:
        """The cells of one of its ratios, times the size of its weight."""
        f = self.formula
        one = Formula(
            f.metric,
            (f.ratios[index],),
            np.abs(f.weights[[index]]),
        )
        return replace(
            self,
            formula=one,
            sums=self.sums[..., [index]],
        )

    @property
    def n_seeds(self) -> int:
        """Seeds in which it is measured."""
        return self.sums.shape[1]

    @cached_property
    def present(self) -> Any:
        """(seeds, units): whether the cell has a row that is measured."""
        return np.any(self.sums[3] > 0, axis=-1)

    @property
    def is_count(self) -> bool:
        """Whether the metric is made of plain counts."""
        return any(self.formula.is_count)

    @property
    def num(self) -> Array:
        """What each cell adds to the numerator of every ratio, (seeds, units, ratios)."""
        return self.sums[0]

    @property
    def den(self) -> Array:
        """What each cell adds to the denominator of every ratio, (seeds, units, ratios)."""
        return self.sums[1]

    @property
    def own_values(self) -> Array:
        """The metric of every cell by itself, (seeds, units); nan where it has none."""
        return np.where(self.present, self.formula.values(self.sums), np.nan)

    @cached_property
    def totals(self) -> Array:
        """The sums of every seed, (4, seeds, ratios)."""
        return self.sums.sum(axis=-2)

    @cached_property
    def ratios(self) -> Array:
        """The ratios of every seed, (seeds, ratios); nan where one is not measured."""
        return self.formula.ratio_values(self.totals)

    @cached_property
    def value(self) -> Any:
        """The metric of every seed, (seeds,); nan where it is not measured."""
        return self.formula.values(self.totals)

    @cached_property
    def takes_part(self) -> Array:
        """(units,): whether the unit is in a denominator in any seed; in a count all that are present are."""
        counted = self.present if self.is_count else np.any(self.den != 0, axis=-1)
        return np.any(np.atleast_2d(counted), axis=0)

    @cached_property
    def size(self) -> Array:
        """The denominators D of every seed, (seeds, 1, ratios); inf where they are 0."""
        total = self.totals[1][..., None, :]
        return np.where(total == 0, np.inf, total)

    @cached_property
    def errors(self) -> Array:
        """What every cell brings into the metric of its seed, (seeds, units); sums to 0 over the units.

        (num - ratio * den) / D of each ratio; 0 where D is 0.
        """
        expected = np.nan_to_num(self.ratios)[..., None, :] * self.den
        weights = self.formula.weights
        size = (np.abs(self.num) + np.abs(expected)) / self.size @ np.abs(weights)
        return rounded((self.num - expected) / self.size @ weights, size)

    @cached_property
    def ratio_shares(self) -> Array:
        """Each cell's part of the denominators of its seed, (seeds, units, ratios)."""
        return self.den / self.size

    @cached_property
    def shares(self) -> Array:
        """What each cell weighs in the metric, (seeds, units): the mean of its ratios by the size of their weights."""
        weights = np.abs(self.formula.weights)
        return self.ratio_shares @ (weights / weights.sum())
