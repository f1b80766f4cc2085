"""A metric table as matrices over columns, so that all its metrics are computed at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from .metric import AnyMetric, Metric, MetricTable, linear
from .names import nearest

LARGEST = 1e70
"""Numbers of this size are refused: intervals rest on fourth powers of errors, whose sums would
be infinite."""

Part = tuple[int, float]
"""(index of a ratio, its weight in the metric)."""


@dataclass(frozen=True)
class Compiled:
    """A metric table as matrices over `columns`.

    numerator, denominator: (columns, ratios). Ratio r of column sums s (a vector) is
        (s @ numerator)[r] / (s @ denominator)[r].
    parts: for each metric the ratios that it is a weighted sum of.
    is_count: (ratios,) whether a ratio is a plain count: its denominator is zeros.
    empty: (ratios,) the value for 0/0; nan is not measured.
    needs: (ratio, column) pairs: `empty` holds only where the sum of this column is above 0.
    limits: (2, ratios) the least and the greatest value of each ratio.
    """

    metrics: tuple[AnyMetric, ...]
    columns: tuple[str, ...]
    numerator: np.ndarray
    denominator: np.ndarray
    empty: np.ndarray
    needs: tuple[tuple[int, int], ...]
    is_count: np.ndarray
    limits: np.ndarray
    parts: tuple[tuple[Part, ...], ...]

    @property
    def names(self) -> list[str]:
        """The names of the metrics, in the order of the table."""
        return [metric.name for metric in self.metrics]

    def each(self, *fields: str) -> dict[str, list[Any]]:
        """These fields of every metric, as columns of a frame."""
        columns = {}
        for field in fields:
            columns[field] = [getattr(metric, field) for metric in self.metrics]
        return columns

    def only(self, metric: int) -> Compiled:
        """This metric alone, with the ratios and columns that it is made of; metric is its index."""
        ratios = list(dict.fromkeys(ratio for ratio, _ in self.parts[metric]))
        summed = (self.numerator != 0) | (self.denominator != 0)
        needs = [(ratios.index(r), column) for r, column in self.needs if r in ratios]
        used = summed[:, ratios].any(axis=1)
        used[[column for _, column in needs]] = True
        columns = np.flatnonzero(used).tolist()
        return Compiled(
            metrics=(self.metrics[metric],),
            columns=tuple(self.columns[column] for column in columns),
            numerator=self.numerator[np.ix_(columns, ratios)],
            denominator=self.denominator[np.ix_(columns, ratios)],
            empty=self.empty[ratios],
            needs=tuple((ratio, columns.index(column)) for ratio, column in needs),
            is_count=self.is_count[ratios],
            limits=self.limits[:, ratios],
            parts=(tuple((ratios.index(r), weight) for r, weight in self.parts[metric]),),
        )

    @cached_property
    def weights(self) -> np.ndarray:
        """(ratios, metrics): how much of each ratio stands in each metric."""
        weights = np.zeros((len(self.is_count), len(self.parts)))
        for metric, parts in enumerate(self.parts):
            for ratio, weight in parts:
                weights[ratio, metric] += weight
        return weights

    @cached_property
    def uses(self) -> np.ndarray:
        """(metrics, ratios): whether a ratio is part of a metric."""
        uses: np.ndarray = self.weights.T != 0
        return uses

    @cached_property
    def counts(self) -> np.ndarray:
        """(metrics,): whether a metric is made of plain counts."""
        return (self.uses & self.is_count).any(axis=1)

    @cached_property
    def ends(self) -> np.ndarray:
        """(2, metrics): the least and the greatest value that each metric can take."""
        least, greatest = self.limits
        least_values = self.combined(least, greatest)
        greatest_values = self.combined(greatest, least)
        return np.stack([least_values, greatest_values])

    def combined(
        self,
        ratios: np.ndarray,
        taken: np.ndarray | None = None,
    ) -> np.ndarray:
        """Metrics from ratios, as weighted sums: (..., ratios) -> (..., metrics).

        `taken`: what the ratios are where a metric takes them off, if that is not the same.
        """
        metrics = np.zeros((*ratios.shape[:-1], len(self.parts)))
        for metric, parts in enumerate(self.parts):
            for ratio, weight in parts:
                values = ratios
                if taken is not None and weight <= 0:
                    values = taken
                metrics[..., metric] += weight * values[..., ratio]
        return metrics

    def values(self, sums: np.ndarray) -> np.ndarray:
        """Metrics from sums of columns: (..., columns) -> (..., metrics); nan is not measured."""
        return self.combined(self.ratios(sums))

    def ratios(self, sums: np.ndarray) -> np.ndarray:
        """Ratios from sums of columns: (..., columns) -> (..., ratios); nan is not measured."""
        numerators = sums @ self.numerator
        denominators = sums @ self.denominator
        ratios = np.broadcast_to(self.empty, numerators.shape).copy()
        np.divide(
            numerators,
            denominators,
            out=ratios,
            where=denominators != 0,
        )
        np.copyto(ratios, numerators, where=self.is_count)
        for ratio, column in self.needs:
            np.copyto(ratios[..., ratio], np.nan, where=sums[..., column] == 0)
        return ratios


def compile_table(table: MetricTable) -> Compiled:
    """Matrices of a metric table. ValueError for a name that is doubled or unknown.

    >>> rate = Metric(name="rate", numerator="2*right", denominator="n", better="higher")
    >>> compiled = compile_table([rate])
    >>> compiled.columns
    ('right', 'n')
    >>> compiled.values(np.array([3.0, 8.0])).tolist()
    [0.75]
    """
    times = Counter(metric.name for metric in table)
    doubled = sorted(name for name, n in times.items() if n > 1)
    if doubled:
        raise ValueError(f"doubled metric: {doubled}")
    by_name = {metric.name: metric for metric in table}
    ratios: list[Metric] = []
    index_of: dict[Any, int] = {}
    parts = []
    for metric in table:
        of_metric = []
        for ratio, weight in _as_ratios(metric, by_name):
            # metrics for which this is the same share one ratio
            key = (
                ratio.numerator,
                ratio.denominator,
                ratio.empty,
                ratio.needs,
                ratio.limits,
            )
            if key not in index_of:
                index_of[key] = len(ratios)
                ratios.append(ratio)
            of_metric.append((index_of[key], weight))
        parts.append(tuple(of_metric))

    columns = _columns(ratios)
    needs = []
    for index, ratio in enumerate(ratios):
        if ratio.needs:
            needs.append((index, columns.index(ratio.needs)))
    numerators = [linear(ratio.numerator) for ratio in ratios]
    denominators = [linear(ratio.denominator) for ratio in ratios]
    empty = [ratio.empty for ratio in ratios]
    is_count = [ratio.denominator == "" for ratio in ratios]
    limits = [ratio.limits for ratio in ratios]
    return Compiled(
        metrics=tuple(table),
        columns=columns,
        numerator=_factors(numerators, columns),
        denominator=_factors(denominators, columns),
        empty=np.array(empty, dtype=float),
        needs=tuple(needs),
        is_count=np.array(is_count, dtype=bool),
        limits=np.array(limits).reshape(-1, 2).T,
        parts=tuple(parts),
    )


def _columns(ratios: Sequence[Metric]) -> tuple[str, ...]:
    """The columns that some ratios sum, each once."""
    columns: dict[str, float] = {}
    for ratio in ratios:
        for expression in (ratio.numerator, ratio.denominator, ratio.needs):
            columns.update(linear(expression))
    return tuple(columns)


def _factors(
    sums: Sequence[Mapping[str, float]],
    columns: Sequence[str],
) -> np.ndarray:
    """The factor of each column in each sum of columns: (columns, sums)."""
    factors = pd.DataFrame(sums, columns=list(columns)).fillna(0.0)
    return np.ascontiguousarray(factors.to_numpy(dtype=float).T)


def _as_ratios(
    metric: AnyMetric,
    by_name: Mapping[str, AnyMetric],
    above: tuple[str, ...] = (),
) -> list[tuple[Metric, float]]:
    """The ratios that a metric is a weighted sum of, with their weights.

    `above` names the metrics that lead to this one, so that a circle is found.
    """
    if isinstance(metric, Metric):
        return [(metric, 1.0)]
    above = (*above, metric.name)
    ratios = []
    for name, weight in metric.weights().items():
        if name not in by_name or name in above:
            raise ValueError(
                f"{metric.name!r} is made of {name!r}, which is no other metric of this table"
            )
        for ratio, weight_below in _as_ratios(by_name[name], by_name, above):
            ratios.append((ratio, weight * weight_below))
    return ratios


def unit_columns(
    units: pd.DataFrame,
    compiled: Compiled,
    unit: str,
) -> np.ndarray:
    """The columns of a table as floats, (rows, columns); a null is nan.

    KeyError names the columns that the frame lacks, and the nearest to the first. ValueError names the row (`unit`
    is the column of its name) and the column of what cannot be: a number of LARGEST or more; a null numerator where
    the denominator counts the row, which would count as 0, which nobody measured; a row whose own value of a metric
    is outside its limits.

    >>> table = [Metric(name="rate", numerator="right", denominator="n", better="higher")]
    >>> units = pd.DataFrame({"id": ["a", "b"], "right": [True, None], "n": [1, None]})
    >>> unit_columns(units, compile_table(table), "id").tolist()
    [[1.0, 1.0], [nan, nan]]
    """
    missing = [column for column in (unit, *compiled.columns) if column not in units.columns]
    if missing:
        known = [str(column) for column in units.columns]
        raise KeyError(f"the units frame lacks {missing}; {nearest(missing[0], known)}")
    by_column = [units[name].to_numpy(dtype=float, na_value=np.nan) for name in compiled.columns]
    values = np.array(by_column).reshape(len(by_column), len(units)).T
    for ratio in range(len(compiled.empty)):
        for row, what in _wrong_rows(values, compiled, ratio):
            raise ValueError(f"row {row + 1} ({unit} {units[unit].iloc[row]}): {what}")
    return values


def _wrong_rows(
    values: np.ndarray,
    compiled: Compiled,
    ratio: int,
) -> Iterator[tuple[Any, str]]:
    """Yield (row, what is wrong with it) for the rows of columns that a ratio cannot be made of."""
    numerator, denominator = compiled.numerator[:, ratio], compiled.denominator[:, ratio]
    used = np.flatnonzero((numerator != 0) | (denominator != 0))
    columns = np.array(compiled.columns)[used]
    own = values[:, used]
    is_null = np.isnan(own)
    if is_null.any():
        own = np.where(is_null, 0.0, own)
    is_infinite = (own >= LARGEST) | (own <= -LARGEST)
    for row, column in np.argwhere(is_infinite) if is_infinite.any() else ():
        expected = f"expected a finite number below {LARGEST:g}"
        yield row, f"{columns[column]} is {own[row, column]:g}; {expected}"
    num, den = own @ numerator[used], own @ denominator[used]
    is_lacking = is_null & (numerator[used] != 0)
    for row in np.flatnonzero(is_lacking.any(axis=1) & (den != 0)) if is_lacking.any() else ():
        name = columns[is_lacking[row]][0]
        counts = " and ".join(columns[denominator[used] != 0])
        leave = f"leave {counts} null or 0 where {name} was not measured"
        yield row, f"{name} is null where {counts} counts the row; {leave}"
    low, high = compiled.limits[:, ratio]
    # a sum of floats may be off its limit by as much
    lowest, highest = low - 1e-9 * max(1, abs(low)), high + 1e-9 * max(1, abs(high))
    ratios = num if compiled.is_count[ratio] else num / np.where(den == 0, np.nan, den)
    is_outside = (ratios < lowest) | (ratios > highest)
    for row in np.flatnonzero(is_outside & ~is_null.any(axis=1)) if is_outside.any() else ():
        metric = compiled.metrics[np.flatnonzero(compiled.uses[:, ratio])[0]]
        yield row, f"{metric.name} is {ratios[row]:g}, which is not within {low:g} and {high:g}"
