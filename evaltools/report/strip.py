"""The interval strip: a value and its interval as a mark on a line, small enough for a cell of a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from ..core.estimates import Row, is_null
from ..core.language import say
from ..core.metric import AnyMetric, Difference, Mean, MetricTable
from .templates import macros

SMALL_N = 10
"""Below this many units a mark is hollow: read it as an example, not as evidence."""


@dataclass(frozen=True)
class Scale:
    """The ends of the line on which the strips of one column are drawn."""

    start: float
    end: float

    def place(self, number: Any) -> float | None:
        """Where a number stands on the line, in percent of its length (0 to 100, one decimal); None for a null.

        >>> Scale(0, 1).place(0.876)
        87.6
        """
        if is_null(number):
            return None
        if self.end == self.start:
            return 50.0
        share = (number - self.start) / (self.end - self.start)
        return round(100 * min(1.0, max(0.0, share)), 1)

    @property
    def labels(self) -> tuple[str, str, str]:
        """What stands at its start, its middle and its end; with a sign where the middle is 0.

        >>> Scale(-0.2, 0.2).labels, Scale(0, 1).labels
        (('−0.2', '0', '+0.2'), ('0', '0.5', '1'))
        """
        middle = (self.start + self.end) / 2
        sign = "+" if middle == 0 else ""
        start = f"{self.start:,.6g}".replace("-", "−")
        return start, f"{middle:,.6g}", f"{self.end:{sign},.6g}"


def scale_of(
    numbers: Iterable[Any],
    *,
    signed: bool = False,
) -> Scale:
    """The scale that reaches as far as some numbers: from 0, or with 0 in its middle where one is below it, or `signed`.

    Numbers from 0 to 1 stand on the whole line from 0 to 1, so that strips of different tables can be compared.
    Nulls are passed over.

    >>> scale_of([0.2, None, 0.7]), scale_of([-3, 12])
    (Scale(start=0.0, end=1.0), Scale(start=-20.0, end=20.0))
    """
    measured = [float(x) for x in numbers if not is_null(x) and math.isfinite(x)]
    end = _beyond(max(map(abs, measured), default=1.0))
    if signed or min(measured, default=0.0) < 0:
        return Scale(-end, end)
    return Scale(0.0, max(1.0, end))


def strip(
    estimate: Row,
    scale: Scale | None,
    text: str,
    *,
    n_units: Any = None,
    miss: Any = None,
) -> Markup:
    """The strip of an estimate (value, ci_low, ci_high) on a scale; "" without a scale, and where nothing was measured.

    `text` says the numbers to those who do not see the strip. Without an interval only the value is marked; the mark
    is hollow for fewer than SMALL_N units. `miss`: differences below it, which the data would miss, are grey.
    """
    if scale is None or is_null(estimate.get("value")):
        return Markup("")
    band = [] if is_null(miss) else [scale.place(-miss), scale.place(miss)]
    return macros().strip(
        *(scale.place(estimate.get(column)) for column in ENDS),
        scale.place(0.0) if scale.start < 0 < scale.end else None,
        text,
        not is_null(n_units) and n_units < SMALL_N,
        band,
    )


# --- the axes that the numbers of a table share

ENDS = ("value", "ci_low", "ci_high")
"""What of an estimate must have its place on an axis."""

CHANGE = "change"
"""The axis of changes of metrics that have limits."""


@dataclass
class Group:
    """Rows of a table that share an axis."""

    scale: Scale | None
    """None for rows without strips."""
    rows: Sequence[Row]
    label: str = ""
    """What stands above them."""
    dim: bool = False
    """Whether they are grey."""


def by_scale(
    rows: Iterable[Row],
    metrics: MetricTable,
    *,
    differences: bool = False,
) -> list[Group]:
    """Estimates by the axis that they share, each in its order.

    Metrics of the same limits share an axis, and so do all changes of such metrics (differences, and what may be below
    0), which have 0 in its middle. A metric without limits has an axis of its own. `differences`: the values are
    differences of the metrics.
    """
    by_name = {metric.name: metric for metric in metrics}
    of_axes: dict[Any, list[Row]] = {}
    for row in rows:
        axis = axis_of(row["metric"], by_name)
        if differences and isinstance(axis, tuple):
            axis = CHANGE
        of_axes.setdefault(axis, []).append(row)
    groups = []
    for axis, members in of_axes.items():
        is_change = axis == CHANGE
        scale = Scale(*axis) if isinstance(axis, tuple) else None
        if scale is None:
            numbers = [row.get(column) for row in members for column in ENDS]
            scale = scale_of(numbers, signed=is_change or differences)
        label = say("Changes") if is_change and not differences else ""
        groups.append(Group(scale, members, label))
    return groups


def axis_of(
    name: str,
    by_name: Mapping[str, AnyMetric],
) -> Any:
    """The limits of a metric that are its axis; CHANGE; or its name, where it has an axis of its own."""
    metric = by_name.get(name)
    if metric is None:
        return name
    if isinstance(metric, Difference):
        sides = [axis_of(side, by_name) for side in (metric.minuend, metric.subtrahend)]
        has_limits = all(isinstance(side, tuple) for side in sides)
        return CHANGE if has_limits else name
    if isinstance(metric, Mean):
        axes = {axis_of(part, by_name) for part in metric.of}
        return axes.pop() if len(axes) == 1 else name
    low, high = metric.limits
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        return name
    return CHANGE if low < 0 else (low, high)


def _beyond(value: float) -> float:
    """The end of an axis that holds a value: its first digit, rounded up.

    >>> _beyond(0.506), _beyond(230)
    (0.6, 300.0)
    """
    if value < 1e-300:  # nothing, or no number with all its digits
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    first_digit = math.ceil(value / power - 1e-9)
    return float(f"{first_digit * power:.6g}")
