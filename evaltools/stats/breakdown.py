"""Estimates and differences within the parts of the units."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pandas as pd
from pandas import DataFrame, Series
from pandas.api.types import is_list_like

from ..core.estimates import PUBLIC, Resampling, public_frame
from ..core.files import nearest
from ..core.messages import UsageError
from ..core.metric import MetricTable, subset
from .compare import CONTRACT, DETAILS, compare_all, verdicts
from .effects import NothingPaired
from .influence import NO_CODES, Codes, Condition, Runs, label
from .intervals import aggregate
from .multiple import holm

# The column that holds the part of each row, in frames that `compare_parts` takes.
PART = "(part)"


def by_parts(
    units: DataFrame, column: str | Series | Sequence[Any] | Callable[[DataFrame], Any]
) -> Series:
    """The part of each row of the units.

    `column`: a column of theirs, values row by row, or a function of the units. A null is the part
    "(none)"; 2 and 2.0 are one part; an ordered category keeps its order. UsageError for a column that the units have
    not, and for values of other rows.
    """
    if isinstance(column, str):
        if column not in units:
            raise UsageError(
                f"the units have no column {column!r}; {nearest(column, list(units.columns))}"
            )
        column = units[column]
    values = column(units) if callable(column) else column
    n_values = len(values) if is_list_like(values) else 1
    is_other = isinstance(values, Series) and not units.index.isin(values.index).all()
    if n_values != len(units) or is_other:
        raise UsageError(
            f"{n_values} values for {len(units)} units: expected one a row, by "
            "the index of the units (of some rows: run.where(rows).by(...))"
        )
    parts = Series(values, index=units.index)
    texts = parts.astype("string").fillna("(none)")
    if isinstance(parts.dtype, pd.CategoricalDtype) and parts.cat.ordered:
        return texts.astype(
            pd.CategoricalDtype(texts[parts.sort_values().index].unique(), ordered=True)
        )
    # whole numbers are floats where one of them is null
    return texts.str.removesuffix(".0") if pd.api.types.is_float_dtype(parts) else texts


def each_part(
    conditions: Mapping[str, Runs],
    table: MetricTable,
    unit: str,
    blocked: Codes,
) -> Iterator[tuple[str, list[Condition]]]:
    """(part, the conditions within it, labelled together), the part with most units of the first condition first.

    Those of an ordered category (`pd.cut`) keep its order. The frames have the part of each row in the column PART. A
    sample is in a part that its condition has it in.
    """
    first = pd.concat(next(iter(conditions.values())).values(), ignore_index=True)
    n_units = first.groupby(PART, observed=True)[unit].nunique()
    if not isinstance(first[PART].dtype, pd.CategoricalDtype):
        n_units = n_units.sort_values(ascending=False, kind="stable")
    for name in n_units.index.tolist() or ["(none)"]:
        runs = (
            (condition, {seed: frame[frame[PART] == name] for seed, frame in of_seed.items()})
            for condition, of_seed in conditions.items()
        )
        yield name, label(runs, table, unit, blocked)


def breakdown(
    units: DataFrame,
    table: MetricTable,
    unit: str,
    column: str | Series,
    names: Sequence[str],
    resampling: Resampling,
    blocked: Codes = NO_CODES,
) -> DataFrame:
    """The named metrics within each part of the units, the largest part first.

    `column`: a column of the units, or the part of each row. `blocked`: what has no interval, of the condition
    "". One row a part and metric: `part`, `n`
    (resampling units in the part), then the columns of `estimate`. Null values make a part of their
    own, "(none)". KeyError for a name that the table lacks.

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
    of_parts = units.assign(**{PART: by_parts(units, column)})
    frames = []
    for part, conditions in each_part({"": {"": of_parts}}, subset(table, names), unit, blocked):
        rows = public_frame(aggregate(conditions, resampling))
        frames.append(rows.assign(part=part, n=len(conditions[0].units)))
    frame = pd.concat(frames, ignore_index=True)
    frame = frame[frame["name"].isin(names) & (frame["n"] > 0)].reset_index(drop=True)
    return frame[["part", "n", *PUBLIC]]


def compare_parts(
    conditions: Mapping[str, Runs],
    table: MetricTable,
    unit: str,
    resampling: Resampling,
    names: Sequence[str],
    blocked: Codes,
) -> DataFrame:
    """The difference of two conditions within each part of their units, the largest part first.

    The frames have the part of each row in the column PART. Columns: `part`, `n` (paired units),
    then those of `compare_all`. `p_adjusted` is Holm's over the parts of one metric, and the
    verdict follows it. A sample is compared in a part that it is in on both sides; parts without any
    are left out. `blocked`: what means nothing in the whole.
    """
    frames = []
    for part, sides in each_part(conditions, subset(table, names), unit, blocked):
        with suppress(NothingPaired):
            frames.append(compare_all(sides, resampling).assign(part=part))
    if not frames:
        raise UsageError("the sides share no unit in any part")
    frame = pd.concat(frames, ignore_index=True)
    frame = frame[frame["metric"].isin(names)].reset_index(drop=True)
    frame["p_adjusted"] = frame.groupby("metric")["p_value"].transform(holm)
    frame["verdict"], frame["short"] = verdicts(frame, resampling.level)
    frame["n"] = frame["n_units"]
    return frame[["part", "n", *CONTRACT, *DETAILS]]
