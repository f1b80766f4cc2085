"""The interval strip: a value and its interval as a mark on a line, small enough for a cell of a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from markupsafe import Markup

from ..core.estimates import Row, is_null
from ..core.metric import AnyMetric, Difference, Mean
from .tables import HtmlTable
from .templates import macros

# below this many units a mark is hollow: read it as an example, not as evidence
SMALL_N = 10

# what of an estimate must have its place on an axis
ENDS = ("value", "ci_low", "ci_high")

# the axis that changes of metrics with limits share
CHANGE = "change"


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

    Numbers from 0 to 1 stand on the whole line from 0 to 1. Nulls are passed over.

    >>> scale_of([0.2, None, 0.7]), scale_of([-3, 12])
    (Scale(start=0.0, end=1.0), Scale(start=-20.0, end=20.0))
    """
    measured = [float(x) for x in numbers if not is_null(x) and math.isfinite(x)]
    end = _beyond(max(map(abs, measured), default=1.0))
    if signed or min(measured, default=0.0) < 0:
        return Scale(-end, end)
    return Scale(0.0, max(1.0, end))


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


def axis_of(
    name: str,
    metrics: Mapping[str, AnyMetric],
) -> Any:
    """The limits of a metric that are its axis; CHANGE; or its name, where it has an axis of its own.

    Metrics of the same limits share an axis, and so do all changes of such metrics, which may be below 0.
    """
    metric = metrics.get(name)
    if isinstance(metric, Difference):
        sides = [axis_of(side, metrics) for side in (metric.minuend, metric.subtrahend)]
        return CHANGE if all(isinstance(side, tuple) for side in sides) else name
    if isinstance(metric, Mean):
        axes = {axis_of(part, metrics) for part in metric.of}
        return axes.pop() if len(axes) == 1 else name
    if metric is None or not all(map(math.isfinite, metric.limits)):
        return name
    low, high = metric.limits
    return CHANGE if low < 0 else (low, high)


def scales(
    rows: Sequence[Row],
    metrics: Iterable[AnyMetric],
    *,
    differences: bool = False,
) -> dict[str, Scale]:
    """Metric -> the scale of its strips, one for all rows of it and for all metrics that share its axis.

    `differences`: the values are differences of the metrics, whose axes have 0 in their middle.
    """
    by_name = {metric.name: metric for metric in metrics}
    axes: dict[Any, list[Row]] = {}
    for row in rows:
        axis = axis_of(row["metric"], by_name)
        if differences and isinstance(axis, tuple):
            axis = CHANGE
        axes.setdefault(axis, []).append(row)
    found = {}
    for axis, members in axes.items():
        is_change = differences or axis == CHANGE
        scale = Scale(*axis) if isinstance(axis, tuple) else None
        if scale is None:
            numbers = [row.get(column) for row in members for column in ENDS]
            scale = scale_of(numbers, signed=is_change)
        found.update(dict.fromkeys((row["metric"] for row in members), scale))
    return found


def strip_table(
    rows: Sequence[Mapping[str, Any]],
    heads: Mapping[str, str],
    frame: pd.DataFrame,
    caption: str = "",
    folded: bool = False,
) -> HtmlTable:
    """A table whose rows have a strip.

    `rows`: as text, "title" being what a row is about; "scale", "strip" and "group", the line above rows of one group.
    `heads`: key of a row -> head of its column. `frame`: the numbers behind them.
    """
    return HtmlTable(macros().strips(heads, rows, caption, folded), frame)
