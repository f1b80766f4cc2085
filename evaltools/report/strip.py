"""The axes on which strips and figures show values and their intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..core.estimates import Row, is_null
from ..core.metric import MetricTable
from ..stats.influence import formulas_of

# the start and the end of a line
Axis = tuple[float, float]

# what of an estimate must have its place on an axis
ENDS = ("value", "ci_low", "ci_high")


def axis_over(numbers: Iterable[Any], signed: bool = False) -> Axis:
    """The axis that reaches as far as some numbers, to a round end: from 0, or around it where one is below 0.

    Numbers from 0 to 1 stand on the whole axis from 0 to 1. Nulls are passed over. `signed`: around 0 in any case.

    >>> axis_over([0.2, None, 0.7]), axis_over([-3, 12]), axis_over([0.506], signed=True)
    ((0.0, 1.0), (-20.0, 20.0), (-0.6, 0.6))
    """
    measured = [float(x) for x in numbers if not is_null(x) and math.isfinite(x)]
    end = max(map(abs, measured), default=1.0)
    if end < 1e-300:  # nothing, or no number with all its digits
        end = 1.0
    power = 10.0 ** math.floor(math.log10(end))
    end = float(f"{math.ceil(end / power - 1e-9) * power:.6g}")
    if signed or min(measured, default=0.0) < 0:
        return -end, end
    return 0.0, max(1.0, end)


def axis_labels(axis: Axis) -> list[str]:
    """What stands at the start, the middle and the end of an axis; with a sign where its middle is 0.

    >>> axis_labels((-0.2, 0.2)), axis_labels((0, 1))
    (['−0.2', '0', '+0.2'], ['0', '0.5', '1'])
    """
    start, end = axis
    labels = [f"{number:,.6g}" for number in (start, (start + end) / 2, end)]
    if start == -end:
        labels[2] = f"+{labels[2]}"
    return [label.replace("-", "−") for label in labels]


def with_axes(
    rows: Iterable[Row],
    metrics: MetricTable,
    *,
    differences: bool = False,
) -> list[dict[str, Any]]:
    """Estimates, or differences, each with its `axis`; those of one axis stand together.

    All rows of a metric have one axis, and so have all metrics with the same limits, and all changes of such.
    """
    limits = {formula.metric.name: formula.ends for formula in formulas_of(metrics)}
    shared: dict[Any, list[Row]] = {}
    for row in rows:
        low, high = limits[row["metric"]]
        axis: Any = row["metric"]
        if math.isfinite(low + high):
            axis = "" if differences or low < 0 else (round(low, 9), round(high, 9))
        shared.setdefault(axis, []).append(row)
    found = []
    for axis, members in shared.items():
        if isinstance(axis, str):
            numbers = [row[column] for row in members for column in ENDS]
            axis = axis_over(numbers, differences or not axis)
        found += [{**row, "axis": axis} for row in members]
    return found
