"""Tables of estimates: every metric with its value, interval, n and method, on a page and as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from ..core.estimates import is_null
from ..core.language import say
from ..core.metric import AnyMetric, metric_title
from ..core.resampling import Resampling
from ..stats.bootstrap import monte_carlo_digits
from ..stats.intervals import MIN_UNITS
from .markdown import ARROWS, number, struck, text_of, text_table
from .tables import HtmlTable
from .templates import macros
from .text import anchor


def estimates_table(
    estimates: pd.DataFrame,
    *,
    metrics: Iterable[AnyMetric],
    resampling: Resampling,
    blocked: frozenset[str] = frozenset(),
) -> HtmlTable:
    """Every metric with its value, interval, numerator and denominator, n, method and direction.

    `estimates`: rows of `core.estimates`; `metrics`, the suite's table, says more of each metric. A metric that is
    another's alias is left out. A value has three decimals and an interval as many as the Monte-Carlo
    error of its bounds supports. Null is N/A, what is `blocked` is struck and without an interval; fewer than MIN_UNITS
    units are marked "small n".
    """
    entries = {metric.name: metric for metric in metrics}
    rows = []
    text_rows = []
    ids = set[str]()
    for estimate in estimates.to_dict("records"):
        name = estimate["metric"]
        entry = entries.get(name)
        if entry and entry.alias_of:
            continue
        is_blocked = name in blocked
        row = shown_estimate(estimate, resampling, is_blocked)
        title = f"{row['title']} {row['arrow']}".rstrip()
        text_rows.append({**row, "metric": title, "id": name})
        id = anchor("metric", name)
        row["id"] = "" if id in ids else id
        row["description"] = say(entry.description) if entry else ""
        row["source"] = entry.source if entry else ""
        rows.append(row)
        ids.add(id)
    columns = _columns_with_content(estimates)
    html = macros().estimates(rows, columns)
    return HtmlTable(html, text_table(_as_text(text_rows, columns, "id")))


def _columns_with_content(estimates: pd.DataFrame) -> list[str]:
    """Those columns that say something here: several groups, conditions, a spread over seeds."""
    columns = []
    if estimates["group"].nunique() > 1:
        columns.append("group")
    if estimates["condition"].astype(bool).any():
        columns.append("condition")
    if estimates["std"].notna().any():
        columns += ["std", "n_seeds"]
    return columns


def plain_estimates(
    estimates: pd.DataFrame,
    resampling: Resampling,
    blocked: frozenset[str] = frozenset(),
) -> pd.DataFrame:
    """The estimates as text, a row a metric: metric, (condition,) value, interval, n, method."""
    rows = []
    for estimate in estimates.to_dict("records"):
        is_blocked = estimate["metric"] in blocked
        row = shown_estimate(estimate, resampling, is_blocked)
        rows.append(row)
    return _as_text(rows, _columns_with_content(estimates))


def _as_text(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    *more: str,
) -> pd.DataFrame:
    """Some of what `shown_estimate` gives, as a frame."""
    shown = ["metric", "value", "interval", "n", "method", *more]
    if "condition" in columns:
        shown.insert(1, "condition")
    return pd.DataFrame(rows, columns=shown, dtype=object)


def shown_estimate(
    estimate: Mapping[Any, Any],
    resampling: Resampling,
    blocked: bool,
) -> dict[str, Any]:
    """What a reader sees of an estimate, as text; `raw` is the estimate itself."""
    if blocked:
        no_interval = dict.fromkeys(["ci_low", "ci_high", "std"])
        estimate = {**estimate, **no_interval}
    name = str(estimate["metric"])
    digits = row_decimals(estimate, resampling)
    value = _value(estimate)
    arrow, direction = ARROWS.get(estimate["better"], ("", ""))
    n_units: Any = estimate["n_units"]
    is_measured = not is_null(estimate["value"]) and not is_null(n_units)
    return {
        "raw": estimate,
        "metric": name,
        "title": say(metric_title(name, text_of(estimate["title"]))),
        "group": say(text_of(estimate.get("group"))),
        "condition": text_of(estimate.get("condition")),
        "arrow": arrow,
        "direction": say(direction),
        "value": struck(value) if blocked else value,
        "interval": interval(estimate, digits),
        "std": number(estimate.get("std"), digits),
        "n_seeds": number(estimate.get("n_seeds"), 0),
        "ratio": _ratio(estimate["numerator"], estimate["denominator"]),
        "n": number(n_units, 0),
        "small": is_measured and 0 < n_units < MIN_UNITS,
        "method": text_of(estimate["ci_method"]),
    }


def _ratio(numerator: float | None, denominator: float | None) -> str:
    """ "3 / 7", or "" where one of them is null."""
    if is_null(numerator) or is_null(denominator):
        return ""
    return f"{_short(numerator)} / {_short(denominator)}"


def row_decimals(e: Any, resampling: Resampling) -> int:
    """Decimals to print for an interval: none for numbers from 1,000 on, else what its bounds support."""
    if _large(e.get("value")):
        return 0
    low = e.get("ci_low")
    high = e.get("ci_high")
    if is_null(low) or is_null(high):
        return 3
    width = high - low
    digits = monte_carlo_digits(width, resampling)
    return min(3, digits)


def interval(
    e: Any,
    decimals: int = 3,
    *,
    signed: bool = False,
) -> str:
    """ "[0.42, 0.65]" of ci_low and ci_high, "[+0.01, +0.07]" where `signed`, or "" where there is no interval."""
    low = e.get("ci_low")
    high = e.get("ci_high")
    if is_null(low) or is_null(high):
        return ""
    low_text = number(float(low), decimals, signed=signed)
    high_text = number(float(high), decimals, signed=signed)
    return f"[{low_text}, {high_text}]"


def _large(value: Any) -> bool:
    return not is_null(value) and abs(value) >= 1000


def _value(estimate: Mapping[Any, Any]) -> str:
    """The value as printed: a count and a number from 1,000 on whole, else with three decimals."""
    value: Any = estimate.get("value")
    if is_null(value):
        return number(value)
    is_ratio = not is_null(estimate.get("denominator"))
    is_count = not is_ratio and value == estimate.get("numerator")
    if is_count and value == int(value):
        return number(int(value), 0)
    if _large(value):
        return number(value, 0)
    return number(value, 3)


def _short(value: Any) -> str:
    is_whole = abs(value - round(value)) < 1e-9
    return f"{value:,.0f}" if is_whole else f"{value:,.2f}"
