"""Tables of estimates: every metric with its value, interval, n and method, on a page and as text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd

from ..core.estimates import Row, is_null
from ..core.language import say
from ..core.metric import AnyMetric, metric_title
from ..core.resampling import Resampling
from ..stats.bootstrap import monte_carlo_digits
from ..stats.intervals import MIN_UNITS
from .markdown import ARROWS, number, struck, text_of, text_table
from .tables import HtmlTable
from .templates import macros
from .text import anchor

SHOWN = ["metric", "value", "interval", "n", "method"]
"""The columns of estimates as text."""

LARGE = 1000
"""Numbers from here on are printed whole."""


def estimates_table(
    estimates: pd.DataFrame,
    *,
    metrics: Iterable[AnyMetric],
    resampling: Resampling,
    blocked: frozenset[str] = frozenset(),
) -> HtmlTable:
    """Every metric with its value, interval, numerator and denominator, n, method and direction.

    `estimates`: rows of `core.estimates`; `metrics`, the suite's table, says more of each metric. A metric that is
    another's alias is left out. A value has three decimals and an interval as many as the Monte-Carlo error of its
    bounds supports. Null is N/A, what is `blocked` is struck and without an interval; fewer than MIN_UNITS units are
    marked "small n".
    """
    entries = {metric.name: metric for metric in metrics}
    rows = []
    texts = []
    for estimate in estimates.to_dict("records"):
        name = estimate["metric"]
        entry = entries.get(name)
        if entry and entry.alias_of:
            continue
        row = shown_estimate(estimate, resampling, name in blocked)
        texts.append({**row, "metric": f"{row['title']} {row['arrow']}".rstrip(), "id": name})
        row["id"] = anchor("metric", name)
        row["description"] = say(entry.description) if entry else ""
        row["source"] = entry.source if entry else ""
        rows.append(row)
    html = macros().estimates(rows, estimates["group"].nunique() > 1)
    as_text = pd.DataFrame(texts, columns=[*SHOWN, "id"], dtype=object)
    return HtmlTable(html, text_table(as_text))


def plain_estimates(
    estimates: pd.DataFrame,
    resampling: Resampling,
    blocked: frozenset[str] = frozenset(),
) -> pd.DataFrame:
    """The estimates as text, a row a metric: metric, value, interval, n, method."""
    rows = []
    for estimate in estimates.to_dict("records"):
        rows.append(shown_estimate(estimate, resampling, estimate["metric"] in blocked))
    return pd.DataFrame(rows, columns=SHOWN, dtype=object)


def shown_estimate(
    estimate: Row,
    resampling: Resampling,
    blocked: bool = False,
) -> dict[str, Any]:
    """What a reader sees of an estimate, as text; `raw` is the estimate itself."""
    if blocked:
        estimate = {**estimate, "ci_low": None, "ci_high": None}
    name = str(estimate["metric"])
    value = number(estimate["value"], _decimals(estimate))
    arrow, direction = ARROWS.get(estimate["better"], ("", ""))
    n_units: Any = estimate["n_units"]
    is_measured = not is_null(estimate["value"]) and not is_null(n_units)
    return {
        "raw": estimate,
        "metric": name,
        "title": say(metric_title(name, text_of(estimate["title"]))),
        "group": say(text_of(estimate.get("group"))),
        "arrow": arrow,
        "direction": say(direction),
        "value": struck(value) if blocked else value,
        "interval": interval(estimate, row_decimals(estimate, resampling)),
        "n_seeds": number(estimate.get("n_seeds"), 0),
        "ratio": _ratio(estimate["numerator"], estimate["denominator"]),
        "n": number(n_units, 0),
        "small": is_measured and 0 < n_units < MIN_UNITS,
        "method": text_of(estimate["ci_method"]),
    }


def _ratio(*sums: Any) -> str:
    """ "3 / 7", or "" where one of them is null."""
    if any(map(is_null, sums)):
        return ""
    return " / ".join(f"{value:,.2f}".removesuffix(".00") for value in sums)


def _decimals(estimate: Row) -> int:
    """Decimals to print for a value: none for a count, and for numbers from LARGE on."""
    value: Any = estimate["value"]
    if is_null(value):
        return 3
    is_count = is_null(estimate["denominator"]) and value == estimate["numerator"]
    is_whole = is_count and value == int(value)
    return 0 if is_whole or abs(value) >= LARGE else 3


def row_decimals(
    row: Row,
    resampling: Resampling,
) -> int:
    """Decimals to print for an interval: none for numbers from LARGE on, else what its bounds support."""
    value: Any = row.get("value")
    if not is_null(value) and abs(value) >= LARGE:
        return 0
    if is_null(row.get("ci_low")):
        return 3
    return min(3, monte_carlo_digits(row["ci_high"] - row["ci_low"], resampling))


def interval(
    row: Row,
    decimals: int = 3,
    *,
    signed: bool = False,
) -> str:
    """ "[0.42, 0.65]" of ci_low and ci_high, "[+0.01, +0.07]" where `signed`, or "" where there is no interval."""
    ends: list[Any] = [row.get("ci_low"), row.get("ci_high")]
    if any(map(is_null, ends)):
        return ""
    low, high = (number(float(end), decimals, signed=signed) for end in ends)
    return f"[{low}, {high}]"
