"""The metric table: every metric is a ratio of sums over the columns of a units frame, or a weighted sum of ratios.

A suite's table is data. A metric exists if and only if it stands in its suite's table; files, reports, docs
and tests are all driven by it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

Better = Literal["higher", "lower", "none"]


@dataclass(frozen=True, kw_only=True)
class _Entry:
    """What every metric has.

    `better` tells in which direction it improves ("none": it only describes). `title` is the field's own
    term, `description` one plain sentence, `source` the section or paper that defines it. `alias_of` names the
    metric that this one is another name of.
    """

    name: str
    group: str = ""
    better: Better
    title: str = ""
    description: str = ""
    source: str = ""
    alias_of: str = ""

    @property
    def limits(self) -> tuple[float, float]:
        """The least and greatest value that the metric can take."""
        return -np.inf, np.inf

    def weights(self) -> dict[str, float]:
        """The metrics of the same table that this one is a weighted sum of; {} for a ratio of its own."""
        return {}


@dataclass(frozen=True, kw_only=True)
class Metric(_Entry):
    """sum(numerator) / sum(denominator) over the units.

    `numerator` and `denominator` are a column of the units frame or a sum of columns with whole
    factors, as in "fix_refpol - break_refpol" or "2*tp + fp + fn". An empty denominator makes a plain
    count. `proportion`: each unit of the denominator is one trial and the numerator its success, so that a
    Wilson interval is valid. `empty` is the value where the denominator sums to 0: None (not
    measured) unless the source document names a number; it does only where the column `needs` sums to more than 0.
    `bounds`: the least and greatest value that the
    metric can take, at which intervals end (a proportion has 0 and 1).

    >>> Metric(name="accuracy", numerator="right", denominator="n", better="higher", proportion=True).limits
    (0.0, 1.0)
    """

    numerator: str
    denominator: str
    proportion: bool = False
    empty: float | None = None
    needs: str = ""
    bounds: tuple[float, float] | None = None

    @property
    def limits(self) -> tuple[float, float]:
        return self.bounds or ((0.0, 1.0) if self.proportion else (-np.inf, np.inf))


@dataclass(frozen=True, kw_only=True)
class Difference(_Entry):
    """`minuend` - `subtrahend`, two metrics of the same table over the same units."""

    minuend: str
    subtrahend: str

    def weights(self) -> dict[str, float]:
        return {self.minuend: 1.0, self.subtrahend: -1.0}


@dataclass(frozen=True, kw_only=True)
class Mean(_Entry):
    """The plain mean of other metrics of the same table, as macro F1 is that of the classes' F1.

    Not measured where one of them is not: give these `empty=0.0` where an absent class counts as 0.
    """

    of: tuple[str, ...]

    def weights(self) -> dict[str, float]:
        return dict.fromkeys(self.of, 1 / len(self.of))


AnyMetric = Metric | Difference | Mean
MetricTable = Sequence[AnyMetric]

LARGEST = 1e70
"""Numbers of this size are refused: fourth powers of errors, on which intervals rest, would have no finite sums."""

_TERM = re.compile(r"([+-]|^)\s*(?:(\d+)\s*\*\s*)?([^\W\d]\w*)\s*")


def linear(expression: str) -> dict[str, float]:
    """Column -> factor of a sum like "2*tp + fp - fn"; ValueError where it is none.

    >>> linear("2*tp + fp - fn")
    {'tp': 2.0, 'fp': 1.0, 'fn': -1.0}
    """
    out: dict[str, float] = {}
    if _TERM.sub("", expression.strip()):
        raise ValueError(f"not a sum of columns: {expression!r}")
    for sign, factor, column in _TERM.findall(expression.strip()):
        out[column] = out.get(column, 0.0) + float(sign + (factor or "1"))
    return out


def read_table(path: Path, **given: str) -> tuple[AnyMetric, ...]:
    """A metric table from a TOML file.

    [each.NAME]  what {NAME} stands for in a row, each with the words that {NAME.words} stands for, or with several
                 texts by name, as {NAME.title}; {NAME.given} is the one of `given` with the name of the value
    [[metric]]   a row with the fields of Metric, Difference (minuend, subtrahend) or Mean (of); a row with
                 {NAME} in its name stands for one metric each; `only` lists some of them; a row takes what it
                 leaves out from [defaults.GROUP]
    [[metric.block]]  rows with the same {NAME} that follow one another for each of its values
    [aliases]    another name -> the metric that it stands for

    `given` are further texts by name, for {name} anywhere. ValueError for a row that makes no metric.
    """
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    rows = [m for row in content["metric"] for m in _expanded(row, content.get("each", {}), given)]
    table = [
        make_metric({**content.get("defaults", {}).get(row.get("group", ""), {}), **row})
        for row in rows
    ]
    by_name = {m.name: m for m in table}
    for alias, name in content.get("aliases", {}).items():
        target = by_name[name.format_map(given)]
        table.append(replace(target, name=alias, alias_of=target.name))
    return tuple(table)


class _Words(str):
    """A text with further ones as attributes."""


def _expanded(
    row: Mapping[str, Any],
    each: Mapping[str, Mapping[str, str | Mapping[str, str]]],
    given: Mapping[str, str],
) -> Iterator[dict[str, Any]]:
    """The row, or the rows of its block, once for every value of the {NAME} in its name."""
    block = row.get("block", [row])
    name = next((n for n in each if f"{{{n}}}" in block[0]["name"]), None)
    for value, words in each[name].items() if name else [("", "")]:
        text = _Words(value)
        vars(text).update(
            {"words": words} if isinstance(words, str) else words, given=given.get(value, "")
        )
        at = {**given, name: text} if name else given
        for r in block:
            if value in r.get("only", [value]):
                yield {k: _filled(v, at) for k, v in r.items() if k != "only"}


def _filled(value: Any, at: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return tuple(_filled(v, at) for v in value)
    return value.format_map(at) if isinstance(value, str) else value


def make_metric(row: Mapping[str, Any]) -> AnyMetric:
    """The metric that these fields make: of Metric, Difference (minuend) or Mean (of). ValueError for others."""
    kind: Any = Difference if "minuend" in row else Mean if "of" in row else Metric
    unknown = set(row) - {f.name for f in fields(kind)}
    if unknown:
        raise ValueError(f"metric {row.get('name')!r}: unknown fields {sorted(unknown)}")
    try:
        return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in row.items()})
    except TypeError as e:
        raise ValueError(f"metric {row.get('name')!r}: {e}") from e


@dataclass(frozen=True)
class Compiled:
    """A metric table as matrices over `columns`.

    Ratio r is (sums @ numerator)[r] / (sums @ denominator)[r], with `numerator` and `denominator` of
    shape (columns, ratios). Metric m is the sum of the ratios of `parts[m]`, each (ratio, weight).
    A count has a denominator of zeros and `is_count` set. `empty[r]` stands in for 0/0 (nan: not measured).
    `limits` (2, ratios): the least and greatest value of each ratio.
    """

    metrics: tuple[AnyMetric, ...]
    columns: tuple[str, ...]
    numerator: np.ndarray
    denominator: np.ndarray
    empty: np.ndarray
    needs: tuple[tuple[int, int], ...]
    is_count: np.ndarray
    limits: np.ndarray
    parts: tuple[tuple[tuple[int, float], ...], ...]

    @property
    def names(self) -> list[str]:
        return [m.name for m in self.metrics]

    def each(self, *fields: str) -> dict[str, list[Any]]:
        """These fields of every metric, as columns of a frame; the title of one that has none is its name."""
        return {
            f: [getattr(m, f) or (m.name if f == "title" else "") for m in self.metrics]
            for f in fields
        }

    @cached_property
    def ends(self) -> np.ndarray:
        """(2, metrics): the least and greatest value that each metric can take."""
        return np.array([m.limits for m in self.metrics]).T

    @cached_property
    def uses(self) -> np.ndarray:
        """(metrics, ratios): whether a ratio is part of a metric."""
        out = np.zeros((len(self.parts), len(self.is_count)), dtype=bool)
        for m, parts in enumerate(self.parts):
            out[m, [ratio for ratio, _ in parts]] = True
        return out

    @cached_property
    def counts(self) -> np.ndarray:
        """(metrics,): whether a metric is made of plain counts."""
        return (self.uses & self.is_count).any(axis=1)

    @cached_property
    def sides(self) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        """What each metric adds and what it takes off: twice (weights (ratios, metrics), limits (2, metrics)).

        Weights are 0 or more; of a metric that takes nothing off, the second weights and limits are 0.
        """
        weights = np.zeros((len(self.is_count), len(self.parts)))
        for m, parts in enumerate(self.parts):
            for ratio, weight in parts:
                weights[ratio, m] += weight
        sides = [np.maximum(weights, 0.0), np.maximum(-weights, 0.0)]
        # a weight of 0 takes no part, though a limit be infinite
        limits = [np.array([np.where(w > 0, x[:, None], 0.0) for x in self.limits]) for w in sides]
        return tuple((w, (w * x).sum(axis=1)) for w, x in zip(sides, limits))

    @cached_property
    def _rounds(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """The first, second, ... part of every metric that has so many: (metrics, ratios, weights)."""
        longest = max(map(len, self.parts), default=0)
        found = [
            [(m, *parts[k]) for m, parts in enumerate(self.parts) if len(parts) > k]
            for k in range(longest)
        ]
        return [tuple(map(np.array, zip(*rows))) for rows in found]  # type: ignore[misc]

    def combined(self, per_ratio: np.ndarray) -> np.ndarray:
        """Weighted sums: (..., ratios) -> (..., metrics)."""
        out = np.empty((*per_ratio.shape[:-1], len(self.metrics)))
        for k, (metrics, ratios, weights) in enumerate(self._rounds):
            part = per_ratio[..., ratios] * weights
            out[..., metrics] = part if k == 0 else out[..., metrics] + part
        return out

    def values(self, sums: np.ndarray) -> np.ndarray:
        """Metrics from column sums: (..., columns) -> (..., metrics); nan is not measured."""
        return self.combined(self.ratios(sums))

    def ratios(self, sums: np.ndarray) -> np.ndarray:
        num, den = sums @ self.numerator, sums @ self.denominator
        out = np.broadcast_to(self.empty, num.shape).copy()
        for ratio, column in self.needs:
            np.copyto(out[..., ratio], np.nan, where=sums[..., column] == 0)
        np.divide(num, den, out=out, where=den != 0)
        np.copyto(out, num, where=self.is_count)
        return out


def subset(table: MetricTable, names: Sequence[str]) -> tuple[AnyMetric, ...]:
    """The named metrics of a table, followed by those that they are made of; KeyError for an unknown name."""
    by_name = {m.name: m for m in table}
    wanted = list(dict.fromkeys(names))
    for name in wanted:
        wanted += [part for part in by_name[name].weights() if part not in wanted]
    return tuple(by_name[n] for n in wanted)


Ratio = tuple[str, str, float | None, str]
"""Numerator, denominator, what stands for 0/0, and the column without which nothing does."""


def _flat(
    metric: AnyMetric, by_name: Mapping[str, AnyMetric], above: tuple[str, ...] = ()
) -> list[tuple[Metric, float]]:
    """The ratios that a metric is a weighted sum of."""
    if isinstance(metric, Metric):
        return [(metric, 1.0)]
    found = []
    for name, weight in metric.weights().items():
        if name not in by_name or name in (*above, metric.name):
            raise ValueError(
                f"{metric.name!r} is made of {name!r}, which is no other metric of this table"
            )
        parts = _flat(by_name[name], by_name, (*above, metric.name))
        found += [(ratio, weight * w) for ratio, w in parts]
    return found


def compile_table(table: MetricTable) -> Compiled:
    """Matrices of a metric table; ValueError for a name that is doubled or unknown."""
    by_name = {m.name: m for m in table}
    if len(by_name) != len(table):
        names = [m.name for m in table]
        raise ValueError(f"doubled metric: {sorted({n for n in names if names.count(n) > 1})}")
    flat = [
        [
            ((r.numerator, r.denominator, r.empty, r.needs), r.limits, w)
            for r, w in _flat(m, by_name)
        ]
        for m in table
    ]
    ratios: dict[Ratio, int] = {}
    parts = tuple(
        tuple((ratios.setdefault(ratio, len(ratios)), w) for ratio, _, w in found) for found in flat
    )
    limits = np.repeat([[-np.inf], [np.inf]], len(ratios), axis=1)
    for ratio, (least, most), _ in chain.from_iterable(flat):
        # of two metrics of one ratio one may leave out its limits
        at = ratios[ratio]
        limits[:, at] = max(limits[0, at], least), min(limits[1, at], most)
    columns = tuple(
        dict.fromkeys(
            c for n, d, _, needs in ratios for c in (*linear(n), *linear(d), *linear(needs))
        )
    )
    place = {c: i for i, c in enumerate(columns)}
    numerator, denominator = np.zeros((2, len(columns), len(ratios)))
    for r, (n, d, *_) in enumerate(ratios):
        for matrix, expression in ((numerator, n), (denominator, d)):
            for column, factor in linear(expression).items():
                matrix[place[column], r] = factor
    return Compiled(
        metrics=tuple(table),
        columns=columns,
        numerator=numerator,
        denominator=denominator,
        empty=np.array([np.nan if e is None else e for _, _, e, _ in ratios]),
        needs=tuple((r, place[needs]) for r, (*_, needs) in enumerate(ratios) if needs),
        is_count=np.array([d == "" for _, d, *_ in ratios], dtype=bool),
        limits=limits,
        parts=parts,
    )


def column_values(units: pd.DataFrame, columns: Sequence[str]) -> np.ndarray:
    """The columns as a (units, columns) float matrix. Null means that the unit takes no part: it adds 0.

    Raises KeyError naming the columns that the frame lacks and ValueError for a value of LARGEST and more in size.
    """
    missing = [c for c in columns if c not in units.columns]
    if missing:
        raise KeyError(f"the units frame lacks {missing}")
    values = np.empty((len(units), len(columns)))
    refused = []
    for i, c in enumerate(columns):
        values[:, i] = found = units[c].to_numpy(dtype=float, na_value=np.nan)
        if np.fmax.reduce(np.abs(found), initial=0.0) >= LARGEST:
            refused.append(c)
    if refused:
        raise ValueError(f"infinite values, or of {LARGEST:g} and more, in {refused}")
    np.copyto(values, 0.0, where=np.isnan(values))
    return values


def require_measured(units: pd.DataFrame, compiled: Compiled, unit: str = "") -> None:
    """ValueError for a row that counts in the denominator of a ratio whose numerator is null there.

    Such a row would count as 0, which nobody measured: its denominator must be 0 or null too.
    """
    there = units.columns.intersection(compiled.columns)
    null = set(there[units[there].isna().to_numpy().any(axis=0)])
    values = column_values(units, compiled.columns) if null else np.empty((0, 0))
    for numerator, denominator in zip(compiled.numerator.T, compiled.denominator.T) if null else ():
        names = [c for c, factor in zip(compiled.columns, numerator) if factor and c in null]
        if not names or not denominator.any():
            continue
        counted = values @ denominator != 0
        for c in names:
            if (bad := np.flatnonzero(units[c].isna().to_numpy() & counted)).size:
                of = " and ".join(d for d, factor in zip(compiled.columns, denominator) if factor)
                row = f"row {bad[0] + 1}" + (
                    f" ({unit} {units[unit].iloc[bad[0]]})" if unit else ""
                )
                raise ValueError(
                    f"{row}: {c} is null where {of} counts the row; leave {of} null or 0 where {c} was not measured"
                )
