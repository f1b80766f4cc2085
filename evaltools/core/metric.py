"""The metric table: every metric is a ratio of sums over the columns of a units frame, or the difference of two.

A suite's table is plain data. A metric exists if and only if it stands in its suite's table; files,
reports, docs and tests are all driven by it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd

Better = Literal["higher", "lower", "none"]


@dataclass(frozen=True)
class Metric:
    """sum(numerator) / sum(denominator) over the units.

    `numerator` and `denominator` are a column of the units frame or a sum of columns with whole
    factors, as in "fix_refpol - break_refpol" or "2*tp + fp + fn". An empty denominator makes a plain
    count. `better` tells in which direction the metric improves ("none": it only describes).
    `proportion`: each unit of the denominator is one trial and the numerator its success, so that a
    Wilson interval is valid. `empty` is the value where the denominator sums to 0: None (not
    measured) unless the source document names a number. `bounds`: the least and greatest value that the
    metric can take, at which intervals end (a proportion has 0 and 1). `source` is the section or paper that
    defines the metric; `title` what a reader calls it.
    """

    name: str
    numerator: str
    denominator: str
    group: str
    better: Better
    title: str
    source: str
    proportion: bool = False
    empty: float | None = None
    bounds: tuple[float, float] | None = None

    @property
    def limits(self) -> tuple[float, float]:
        """The bounds, (0, 1) for a proportion, or no bounds at all."""
        return self.bounds or ((0.0, 1.0) if self.proportion else (-np.inf, np.inf))


@dataclass(frozen=True)
class Difference:
    """`minuend` - `subtrahend`, two metrics of the same table over the same units."""

    name: str
    minuend: str
    subtrahend: str
    group: str
    better: Better
    title: str
    source: str


MetricTable = Sequence[Metric | Difference]

_TERM = re.compile(r"\s*([+-]?)\s*(?:(\d+)\s*\*\s*)?([^\W\d]\w*)\s*")


def linear(expression: str) -> dict[str, float]:
    """Column -> factor of a sum like "2*tp + fp - fn"; ValueError where it is none.

    >>> linear("2*tp + fp - fn")
    {'tp': 2.0, 'fp': 1.0, 'fn': -1.0}
    """
    out: dict[str, float] = {}
    at = 0
    while at < len(expression):
        m = _TERM.match(expression, at)
        if not m or (at > 0 and not m[1]):
            raise ValueError(f"not a sum of columns: {expression!r}")
        out[m[3]] = out.get(m[3], 0.0) + float(m[1] + (m[2] or "1"))
        at = m.end()
    return out


@dataclass(frozen=True)
class Compiled:
    """A metric table as matrices over `columns`.

    Ratio r is (sums @ numerator)[r] / (sums @ denominator)[r], with `numerator` and `denominator` of
    shape (columns, ratios). Metric m is ratio `first[m]`, less ratio `second[m]` where that is not -1.
    A count has a denominator of zeros and `is_count` set. `empty[r]` stands in for 0/0 (nan: not measured).
    """

    metrics: tuple[Metric | Difference, ...]
    columns: tuple[str, ...]
    numerator: np.ndarray
    denominator: np.ndarray
    empty: np.ndarray
    is_count: np.ndarray
    first: np.ndarray
    second: np.ndarray

    @property
    def names(self) -> list[str]:
        return [m.name for m in self.metrics]

    def only(self, m: int) -> Compiled:
        """Metric m alone, over the columns that it needs."""
        metric = self.metrics[m]
        by_name = {other.name: other for other in self.metrics}
        parts = [by_name[metric.minuend], by_name[metric.subtrahend]] if isinstance(metric, Difference) else []
        own = compile_table([*parts, metric])
        return replace(own, metrics=(metric,), first=own.first[-1:], second=own.second[-1:])

    def values(self, sums: np.ndarray) -> np.ndarray:
        """Metrics from column sums: (..., columns) -> (..., metrics); nan is not measured."""
        ratios = self.ratios(sums)
        out = ratios[..., self.first]
        pairs = np.flatnonzero(self.second >= 0)
        out[..., pairs] -= ratios[..., self.second[pairs]]
        return out

    def ratios(self, sums: np.ndarray) -> np.ndarray:
        num, den = sums @ self.numerator, sums @ self.denominator
        out = np.broadcast_to(self.empty, num.shape).copy()
        np.divide(num, den, out=out, where=den != 0)
        np.copyto(out, num, where=self.is_count)
        return out


def compile_table(table: MetricTable) -> Compiled:
    """Matrices of a metric table; ValueError for a name that is doubled or unknown."""
    by_name = {m.name: m for m in table}
    if len(by_name) != len(table):
        names = [m.name for m in table]
        raise ValueError(f"doubled metric: {sorted({n for n in names if names.count(n) > 1})}")
    ratios: dict[tuple[str, str, float | None], int] = {}

    def ratio(name: str) -> int:
        m = by_name.get(name)
        if not isinstance(m, Metric):
            raise ValueError(f"{name!r} is no metric of this table with a numerator of its own")
        return ratios.setdefault((m.numerator, m.denominator, m.empty), len(ratios))

    first = np.array([ratio(m.minuend if isinstance(m, Difference) else m.name) for m in table], dtype=int)
    second = np.array([ratio(m.subtrahend) if isinstance(m, Difference) else -1 for m in table], dtype=int)
    columns = tuple(dict.fromkeys(c for n, d, _ in ratios for c in (*linear(n), *linear(d))))
    at = {c: i for i, c in enumerate(columns)}
    numerator, denominator = np.zeros((2, len(columns), len(ratios)))
    for r, (n, d, _) in enumerate(ratios):
        for matrix, expression in ((numerator, n), (denominator, d)):
            for column, factor in linear(expression).items():
                matrix[at[column], r] = factor
    return Compiled(
        metrics=tuple(table),
        columns=columns,
        numerator=numerator,
        denominator=denominator,
        empty=np.array([np.nan if e is None else e for _, _, e in ratios]),
        is_count=np.array([d == "" for _, d, _ in ratios]),
        first=first,
        second=second,
    )


def column_values(units: pd.DataFrame, columns: Sequence[str]) -> np.ndarray:
    """The columns as a (units, columns) float matrix. Null means that the unit takes no part: it adds 0.

    Raises KeyError naming the columns that the frame lacks and ValueError for an infinite value.
    """
    missing = [c for c in columns if c not in units.columns]
    if missing:
        raise KeyError(f"the units frame lacks {missing}")
    values = np.empty((len(units), len(columns)))
    for i, c in enumerate(columns):
        values[:, i] = units[c].to_numpy(dtype=float, na_value=np.nan)
    infinite = np.array(columns)[np.isinf(values).any(axis=0)].tolist()
    if infinite:
        raise ValueError(f"infinite values in {infinite}")
    return np.nan_to_num(values, nan=0.0)
