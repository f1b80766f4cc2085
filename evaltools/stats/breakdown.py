"""Estimates and differences within the parts of the units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_list_like

from ..core.errors import UsageError
from ..core.metric import MetricTable, subset
from ..core.resampling import Resampling
from .compare import NothingPaired, compare, verdicts
from .influence import Runs
from .intervals import estimate
from .multiple import holm

MOST = 20
"""Parts that are shown; the smallest of more are summed up as one."""

PART = "(part)"
"""The column that holds the part of each row, in frames that `compare_parts` takes."""

DIFFERS = "(differs)"
"""The part of a unit that is in one part on one side and in another on the other."""


def by_parts(
    units: pd.DataFrame,
    column: str | pd.Series | Sequence[Any] | Callable[[pd.DataFrame], Any],
) -> pd.Series:
    """The part of each row of the units.

    `column`: a column of theirs, values row by row, or a function of the units. A null is the part
    "(none)"; 2 and 2.0 are one part. UsageError for a column that the units have not, for another number of values, and
    for a Series of other rows.
    """
    name = PART
    if isinstance(column, str):
        if column not in units:
            raise UsageError(
                f"the units have no column {column!r}; there are "
                f"{', '.join(map(str, units.columns))}"
            )
        values, name = units[column], column
    elif callable(column):
        values = column(units)
    else:
        values = column
    if isinstance(values, pd.Series) and values.index.equals(units.index):
        values = values.to_numpy()
    n_values = len(values) if is_list_like(values) else 1
    if n_values != len(units):
        raise UsageError(
            f"{n_values} values for {len(units)} units: expected one a row (of some "
            "rows of the units: run.where(rows).by(...))"
        )
    if isinstance(values, pd.Series):
        has_value = units.index.isin(values.index)
        if not has_value.all():
            raise UsageError("the index of the values is not that of the units")
    parts = pd.Series(values, index=units.index, name=name)
    texts = parts.astype("string").fillna("(none)")
    if pd.api.types.is_float_dtype(parts):
        # whole numbers are floats where one of them is null
        texts = texts.str.removesuffix(".0")
    return texts


def largest_parts(
    parts: pd.Series,
    units: pd.Series,
) -> tuple[pd.Series, list[str]]:
    """(the part of each row, names of the parts, the largest first).

    All but the MOST - 1 largest are summed up as "(N others)". `units` names the resampling unit
    of each row; a part is as large as it has units.
    """
    n_units = units.groupby(parts).nunique()
    in_order = n_units.sort_index().sort_values(ascending=False, kind="stable")
    names = in_order.index.tolist()
    if len(names) <= MOST:
        return parts, names
    shown = names[: MOST - 1]
    rest = f"({len(names) - len(shown)} others)"
    return parts.where(parts.isin(shown), rest), [*shown, rest]


def breakdown(
    units: pd.DataFrame,
    table: MetricTable,
    unit: str,
    column: str | pd.Series,
    names: Sequence[str],
    resampling: Resampling,
) -> pd.DataFrame:
    """The named metrics within each part of the units, the largest part first.

    `column`: a column of the units, or the part of each row. One row a part and metric: `part`, `n`
    (resampling units in the part), then the columns of `estimate`. Null values make a part of their
    own, "(none)". At most MOST parts; the rest are summed up as "(N others)", so that no unit is
    lost. KeyError for a name that the table lacks.

    >>> from evaltools.core.metric import Metric
    >>> units = pd.DataFrame({"id": range(30), "right": [1, 1, 0] * 10, "n": 1})
    >>> units["kind"] = ["a"] * 20 + ["b"] * 10
    >>> table = [Metric(name="accuracy", numerator="right", denominator="n", better="higher")]
    >>> parts = breakdown(units, table, "id", "kind", ["accuracy"], Resampling())
    >>> parts[["part", "n", "name", "value"]]
      part   n      name  value
    0    a  20  accuracy    0.7
    1    b  10  accuracy    0.6
    """
    metrics = subset(table, names)
    labels = by_parts(units, column)
    parts, part_names = largest_parts(labels, units[unit])
    frames = []
    for part in part_names or ["(none)"]:
        of_part = units[parts == part]
        rows = estimate(
            of_part,
            metrics,
            unit,
            resampling,
        )
        n = of_part[unit].nunique()
        frames.append(_of_part(rows, part, n))
    frame = pd.concat(frames, ignore_index=True)
    is_wanted = frame["name"].isin(names) & (frame["n"] > 0)
    return frame[is_wanted].reset_index(drop=True)


def _of_part(
    rows: pd.DataFrame,
    part: str,
    n: Any,
) -> pd.DataFrame:
    """The rows with the columns `part` and `n` before the others."""
    rows = rows.copy()
    rows.insert(0, "part", part)
    rows.insert(1, "n", n)
    return rows


def compare_parts(
    baseline: Runs,
    candidate: Runs,
    table: MetricTable,
    unit: str,
    resampling: Resampling,
    names: Sequence[str],
    conditions: tuple[str, str],
) -> pd.DataFrame:
    """The difference of two conditions within each part of their units, the largest part first.

    The frames have the part of each row in the column PART. Columns: `part`, `n` (paired units),
    then those of `compare(...).table`, and `turns`. `p_adjusted` is Holm's over the parts of one
    metric, and the verdict follows it. `turns`: whether another part is better or worse with a
    difference of the other sign. Parts in which the sides share no unit are left out; units that
    are in one part on one side and in another on the other are the part DIFFERS.
    """
    metrics = subset(table, names)
    baseline, candidate, part_names = _in_shown_parts(baseline, candidate, unit)
    frames = []
    for part in part_names:
        try:
            compared = compare(
                _of_runs(baseline, part),
                _of_runs(candidate, part),
                metrics,
                unit,
                resampling,
                names=conditions,
            )
        except NothingPaired:
            continue
        table_of_part = compared.table
        wanted = table_of_part[table_of_part["metric"].isin(names)]
        frames.append(_of_part(wanted, part, wanted["n_units"]))
    if not frames:
        raise UsageError("the sides share no unit in any part")
    frame = pd.concat(frames, ignore_index=True)
    for _, of_metric in frame.groupby("metric"):
        frame.loc[of_metric.index, "p_adjusted"] = holm(of_metric["p_value"])
    frame["verdict"], frame["short"] = verdicts(frame, resampling.level)
    for _, of_metric in frame.groupby("metric"):
        frame.loc[of_metric.index, "turns"] = _turns(of_metric)
    return frame


def _turns(rows: pd.DataFrame) -> pd.Series:
    """Which parts have a difference of the other sign than one that is better or worse."""
    sign = np.sign(rows["delta"])
    shown = sign[rows["verdict"].isin(["better", "worse"])]
    return (-sign).isin(shown) & (sign != 0)


def _in_shown_parts(
    baseline: Runs,
    candidate: Runs,
    unit: str,
) -> tuple[Runs, Runs, list[str]]:
    """(both sides with the parts that are shown, names of these parts as `largest_parts` has them)."""
    a, b = (
        pd.concat([units[[unit, PART]] for units in runs.values()], ignore_index=True)
        for runs in (baseline, candidate)
    )
    is_alike = a[unit].isin(a.merge(b)[unit])
    differing = a[unit][a[unit].isin(b[unit]) & ~is_alike]
    a[PART] = a[PART].mask(a[unit].isin(differing), DIFFERS)
    parts, names = largest_parts(a[PART], a[unit])
    shown = dict(zip(a[PART], parts))

    def in_parts(runs: Runs) -> Runs:
        relabelled = {}
        for seed, units in runs.items():
            own = units[PART].mask(units[unit].isin(differing), DIFFERS)
            relabelled[seed] = units.assign(**{PART: own.map(shown)})
        return relabelled

    return in_parts(baseline), in_parts(candidate), names


def _of_runs(runs: Runs, part: str) -> Runs:
    """The rows of a condition (seed -> units frame) that are of a part."""
    of_part = {}
    for seed, units in runs.items():
        of_part[seed] = units[units[PART] == part]
    return of_part
