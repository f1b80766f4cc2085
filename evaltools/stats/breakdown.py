"""Estimates and differences within the parts of the units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pandas as pd
from pandas.api.types import is_list_like

from ..core.errors import UsageError
from ..core.estimates import Resampling
from ..core.files import nearest
from ..core.metric import MetricTable, subset
from .compare import compare, verdicts
from .effects import NothingPaired
from .influence import Runs
from .intervals import estimate
from .multiple import holm

# Parts that are shown; the smallest of more are summed up as one.
MOST = 20
# The column that holds the part of each row, in frames that `compare_parts` takes.
PART = "(part)"


def by_parts(
    units: pd.DataFrame,
    column: str | pd.Series | Sequence[Any] | Callable[[pd.DataFrame], Any],
) -> pd.Series:
    """The part of each row of the units.

    `column`: a column of theirs, values row by row, or a function of the units. A null is the part
    "(none)"; 2 and 2.0 are one part. UsageError for a column that the units have not, and for values of other rows.
    """
    if isinstance(column, str):
        if column not in units:
            raise UsageError(
                f"the units have no column {column!r}; {nearest(column, list(units.columns))}"
            )
        column = units[column]
    values = column(units) if callable(column) else column
    n_values = len(values) if is_list_like(values) else 1
    is_other = isinstance(values, pd.Series) and not units.index.isin(values.index).all()
    if n_values != len(units) or is_other:
        raise UsageError(
            f"{n_values} values for {len(units)} units: expected one a row, by "
            "the index of the units (of some rows: run.where(rows).by(...))"
        )
    parts = pd.Series(values, index=units.index)
    texts = parts.astype("string").fillna("(none)")
    # whole numbers are floats where one of them is null
    return texts.str.removesuffix(".0") if pd.api.types.is_float_dtype(parts) else texts


def largest_parts(parts: pd.Series, units: pd.Series) -> tuple[pd.Series, list[str]]:
    """(the part of each row, names of the parts, the largest first).

    All but the MOST - 1 largest are summed up as "(others)". `units` names the resampling unit
    of each row; a part is as large as it has units.
    """
    n_units = units.groupby(parts).nunique()
    names = n_units.sort_values(ascending=False, kind="stable").index.tolist()
    if len(names) > MOST:
        names = [*names[: MOST - 1], "(others)"]
    return parts.where(parts.isin(names), "(others)"), names


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
    own, "(none)". At most MOST parts; the rest are summed up as "(others)", so that no unit is
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
    parts, part_names = largest_parts(by_parts(units, column), units[unit])
    frames = []
    for part in part_names or ["(none)"]:
        of_part = units[parts == part]
        rows = estimate(of_part, metrics, unit, resampling)
        rows.insert(0, "part", part)
        rows.insert(1, "n", of_part[unit].nunique())
        frames.append(rows)
    frame = pd.concat(frames, ignore_index=True)
    return frame[frame["name"].isin(names) & (frame["n"] > 0)].reset_index(drop=True)


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
    then those of `compare(...).table`. `p_adjusted` is Holm's over the parts of one metric, and the
    verdict follows it. A sample is compared in a part that it is in on both sides; parts without any
    are left out.
    """
    metrics = subset(table, names)
    own = pd.concat(baseline.values(), ignore_index=True)
    parts, part_names = largest_parts(own[PART], own[unit])
    frames = []
    for part in part_names:
        of_part = own[PART][parts == part].unique()
        a, b = (
            {seed: frame[frame[PART].isin(of_part)] for seed, frame in runs.items()}
            for runs in (baseline, candidate)
        )
        with suppress(NothingPaired):
            rows = compare(
                a,
                b,
                metrics,
                unit,
                resampling,
                names=conditions,
            ).table
            rows.insert(0, "part", part)
            rows.insert(1, "n", rows["n_units"])
            frames.append(rows[rows["metric"].isin(names)])
    if not frames:
        raise UsageError("the sides share no unit in any part")
    frame = pd.concat(frames, ignore_index=True)
    frame["p_adjusted"] = frame.groupby("metric")["p_value"].transform(holm)
    frame["verdict"], frame["short"] = verdicts(frame, resampling.level)
    return frame
