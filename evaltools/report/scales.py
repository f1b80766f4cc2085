"""Which numbers of a table share an axis for their strips, and how far it reaches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..core.estimates import is_null
from ..core.metric import AnyMetric, Difference, Mean, MetricTable
from .strip import Scale

STEPS = (1, 1.2, 1.5, 2, 3, 4, 5, 6, 8, 10)
"""Where an axis without limits may end, times a power of ten."""

CHANGE = "change"
"""The axis of changes of metrics that have limits."""


@dataclass(frozen=True)
class Scaled:
    """Rows that share an axis."""

    scale: Scale
    rows: list[Mapping[Any, Any]]
    is_change: bool = False
    is_open: bool = False
    """Whether it is the axis of one metric without limits."""


def by_scale(
    rows: Iterable[Mapping[Any, Any]],
    metrics: MetricTable,
    *,
    differences: bool = False,
) -> list[Scaled]:
    """Estimates by the axis that they share, each in its order.

    Metrics of the same limits share an axis, and so do all changes of such metrics (differences, and what may be below
    0), which have 0 in its middle. A metric without limits has an axis of its own. `differences`: the values are
    differences of the metrics.
    """
    by_name = {metric.name: metric for metric in metrics}
    groups: dict[Any, list[Mapping[Any, Any]]] = {}
    for row in rows:
        axis = _axis(row["metric"], by_name)
        if differences and isinstance(axis, tuple):
            axis = CHANGE
        groups.setdefault(axis, []).append(row)
    scaled = []
    for axis, members in groups.items():
        if isinstance(axis, tuple):
            limits = Scale(*axis)
            scaled.append(Scaled(limits, members))
            continue
        is_change = axis == CHANGE
        reach = _open_scale(members, is_change or differences)
        scaled.append(Scaled(reach, members, is_change, is_open=not is_change))
    return scaled


def _axis(name: str, by_name: Mapping[str, AnyMetric]) -> Any:
    """The limits of a metric that are its axis; CHANGE; or its name, where it has an axis of its own."""
    metric = by_name.get(name)
    if metric is None:
        return name
    if isinstance(metric, Difference):
        minuend = _axis(metric.minuend, by_name)
        subtrahend = _axis(metric.subtrahend, by_name)
        if isinstance(minuend, tuple) and isinstance(subtrahend, tuple):
            return CHANGE
        return name
    if isinstance(metric, Mean):
        axes = {_axis(part, by_name) for part in metric.of}
        if len(axes) == 1:
            return axes.pop()
        return name
    low, high = metric.limits
    has_limits = math.isfinite(low) and math.isfinite(high)
    if not has_limits or low >= high:
        return name
    if low < 0:
        return CHANGE
    return low, high


def _open_scale(rows: Iterable[Mapping[Any, Any]], signed: bool) -> Scale:
    """An axis as far as the rows reach, from 0 or with 0 in its middle."""
    ends = _ends(rows)
    if not ends:
        ends = [1.0]
    sizes = [abs(end) for end in ends]
    reach = _beyond(max(sizes))
    if signed or min(ends) < 0:
        return Scale(-reach, reach)
    return Scale(0.0, reach)


def _ends(rows: Iterable[Mapping[Any, Any]]) -> list[float]:
    """The finite values and ends of intervals."""
    ends = []
    for row in rows:
        for column in ("value", "ci_low", "ci_high"):
            value: Any = row.get(column)
            if not is_null(value) and math.isfinite(value):
                ends.append(float(value))
    return ends


def _beyond(value: float) -> float:
    """The end of an axis that holds a value: the next of STEPS.

    >>> _beyond(0.506), _beyond(230)
    (0.6, 300.0)
    """
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    for step in STEPS:
        if step * power >= value * (1 - 1e-9):
            return float(f"{step * power:.6g}")
    return 10 * power
