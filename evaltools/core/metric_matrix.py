"""The metrics of a table as formulas over columns: matrices that give the values of many sums at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from .metric import AnyMetric, Metric, MetricTable, linear
from .names import nearest

# Numbers of this size are refused: intervals rest on fourth powers of errors, whose sums would be infinite.
LARGEST = 1e70


@dataclass(frozen=True)
class Formula:
    """A metric as a weighted sum of ratios of sums over `columns`.

    numerator, denominator: (columns, ratios). Ratio r of column sums s (a vector) is
        (s @ numerator)[r] / (s @ denominator)[r]; with a denominator of zeros it is a plain count.
    weights: (ratios,) how much of each ratio stands in the metric.
    empty: (ratios,) the value for 0/0; nan is not measured.
    needs: (ratio, column) pairs: a ratio is measured only where the sum of this column is not 0.
    limits: (2, ratios) the least and the greatest value of each ratio.
    """

    metric: AnyMetric
    columns: tuple[str, ...]
    numerator: np.ndarray
    denominator: np.ndarray
    weights: np.ndarray
    empty: np.ndarray
    needs: tuple[tuple[int, int], ...]
    limits: np.ndarray

    @property
    def is_count(self) -> np.ndarray:
        """(ratios,): whether a ratio is a plain count."""
        return np.asarray(~self.denominator.any(axis=0))

    @property
    def summed(self) -> np.ndarray:
        """(columns,): whether the column stands in a numerator or denominator."""
        return np.asarray(self.numerator.any(axis=1) | self.denominator.any(axis=1))

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest value that the metric can take."""
        lowest, greatest = self.limits
        return float(self.combined(lowest, greatest)), float(self.combined(greatest, lowest))

    def combined(
        self,
        ratios: np.ndarray,
        subtracted: np.ndarray,
    ) -> np.ndarray:
        """The metric from ratios, (..., ratios) -> (...); `subtracted` are those that it takes off."""
        return np.where(self.weights > 0, ratios, subtracted) @ self.weights

    def values(self, sums: np.ndarray) -> np.ndarray:
        """The metric from sums of columns: (..., columns) -> (...); nan is not measured."""
        return self.ratios(sums) @ self.weights

    def ratios(self, sums: np.ndarray) -> np.ndarray:
        """Ratios from sums of columns: (..., columns) -> (..., ratios); nan is not measured."""
        numerators, denominators = sums @ self.numerator, sums @ self.denominator
        ratios = np.broadcast_to(self.empty, numerators.shape).copy()
        np.divide(numerators, denominators, out=ratios, where=denominators != 0)
        np.copyto(ratios, numerators, where=self.is_count)
        for ratio, column in self.needs:
            np.copyto(ratios[..., ratio], np.nan, where=sums[..., column] == 0)
        return ratios


def compile_table(table: MetricTable) -> list[Formula]:
    """The formula of each metric of a table. ValueError for a name that is doubled or unknown.

    >>> rate = Metric(name="rate", numerator="2*right", denominator="n", better="higher")
    >>> (formula,) = compile_table([rate])
    >>> formula.columns
    ('right', 'n')
    >>> float(formula.values(np.array([3.0, 8.0])))
    0.75
    """
    times = Counter(metric.name for metric in table)
    doubled = sorted(name for name, n in times.items() if n > 1)
    if doubled:
        raise ValueError(f"doubled metric: {doubled}")
    by_name = {metric.name: metric for metric in table}
    return [_formula(metric, by_name) for metric in table]


def _formula(
    metric: AnyMetric,
    by_name: Mapping[str, AnyMetric],
) -> Formula:
    """The formula of a metric of a table."""
    weights: dict[Metric, float] = {}
    for ratio, weight in _as_ratios(metric, by_name):
        weights[ratio] = weights.get(ratio, 0.0) + weight
    ratios = list(weights)
    columns: dict[str, float] = {}
    for ratio in ratios:
        for expression in (ratio.numerator, ratio.denominator, ratio.needs):
            columns.update(linear(expression))
    names = list(columns)
    return Formula(
        metric=metric,
        columns=tuple(names),
        numerator=_factors([ratio.numerator for ratio in ratios], names),
        denominator=_factors([ratio.denominator for ratio in ratios], names),
        weights=np.array(list(weights.values())),
        empty=np.array([ratio.empty for ratio in ratios], dtype=float),
        needs=tuple((i, names.index(r.needs)) for i, r in enumerate(ratios) if r.needs),
        limits=np.array([ratio.limits for ratio in ratios]).T,
    )


def _factors(
    sums: Sequence[str],
    columns: Sequence[str],
) -> np.ndarray:
    """The factor of each column in each sum of columns: (columns, sums)."""
    factors = np.zeros((len(columns), len(sums)))
    for index, expression in enumerate(sums):
        for column, factor in linear(expression).items():
            factors[columns.index(column), index] = factor
    return factors


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
    formulas: Sequence[Formula],
    unit: str,
) -> dict[str, np.ndarray]:
    """The columns of formulas as floats, name -> (rows,); a null is nan.

    KeyError names the columns that the frame lacks, and the nearest to the first. ValueError names the row (`unit`
    is the column of its name) and the column of what cannot be: a number of LARGEST or more; a null numerator where
    the denominator counts the row, which would count as 0, which nobody measured; a row whose own value of a metric
    is outside its limits.

    >>> table = [Metric(name="rate", numerator="right", denominator="n", better="higher")]
    >>> units = pd.DataFrame({"id": ["a", "b"], "right": [True, None], "n": [1, None]})
    >>> unit_columns(units, compile_table(table), "id")["right"].tolist()
    [1.0, nan]
    """
    names = dict.fromkeys(name for formula in formulas for name in formula.columns)
    missing = [column for column in (unit, *names) if column not in units.columns]
    if missing:
        known = [str(column) for column in units.columns]
        raise KeyError(f"the units frame lacks {missing}; {nearest(missing[0], known)}")
    columns = {name: units[name].to_numpy(dtype=float, na_value=np.nan) for name in names}
    for formula in formulas:
        wrong = _wrong_row(columns, formula)
        if wrong:
            row, what = wrong
            raise ValueError(f"row {row + 1} ({unit} {units[unit].iloc[row]}): {what}")
    return columns


def _wrong_row(
    columns: Mapping[str, np.ndarray],
    formula: Formula,
) -> tuple[int, str] | None:
    """(row, what is wrong with it) of the first row that a ratio cannot be made of; None where all are right."""
    if not isinstance(formula.metric, Metric):
        return None  # what it is made of stands in the table too
    own = np.array([columns[name] for name in formula.columns]).T
    is_null = np.isnan(own)
    has_null = bool(is_null.any())
    if has_null:
        own = np.where(is_null, 0.0, own)
    is_infinite = (own >= LARGEST) | (own <= -LARGEST)
    if is_infinite.any():
        row, column = np.argwhere(is_infinite)[0]
        expected = f"expected a finite number below {LARGEST:g}"
        return row, f"{formula.columns[column]} is {own[row, column]:g}; {expected}"
    num, den = (own @ formula.numerator)[:, 0], (own @ formula.denominator)[:, 0]
    is_lacking = is_null & (formula.numerator[:, 0] != 0)
    if has_null and len(rows := np.flatnonzero(is_lacking.any(axis=1) & (den != 0))):
        names = np.array(formula.columns)
        name = names[is_lacking[rows[0]]][0]
        counts = " and ".join(names[formula.denominator[:, 0] != 0])
        leave = f"leave {counts} null or 0 where {name} was not measured"
        return rows[0], f"{name} is null where {counts} counts the row; {leave}"
    low, high = formula.ends
    # a sum of floats may be off its limit by as much
    lowest, highest = low - 1e-9 * max(1, abs(low)), high + 1e-9 * max(1, abs(high))
    ratios = num if formula.is_count[0] else num / np.where(den == 0, np.nan, den)
    is_outside = (ratios < lowest) | (ratios > highest)
    if has_null:
        is_outside &= ~is_null[:, formula.summed].any(axis=1)
    if len(rows := np.flatnonzero(is_outside)):
        value = f"{formula.metric.name} is {ratios[rows[0]]:g}"
        return rows[0], f"{value}, which is not within {low:g} and {high:g}"
    return None
