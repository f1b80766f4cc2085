"""Tables of estimates: every metric with its value, interval, n and method, on a page and as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from ..core.estimates import is_null
from ..core.language import say
from ..core.metric import MetricTable, metric_title
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
    metrics: MetricTable | None = None,
    resampling: Resampling | None = None,
    caption: str | None = None,
    group: bool = True,
    aliases: bool = False,
    blocked: frozenset[str] = frozenset(),
) -> HtmlTable:
    """Every metric with its value, interval, numerator and denominator, n, method and direction.

    `estimates` has the columns of `bootstrap.estimate`, and may have condition, std, n_seeds, and title,
    description, source and alias_of; what it lacks of these four, `metrics` (the suite's table) gives. A metric that
    is another's alias is left out unless `aliases`. A value has three decimals and an interval as many as the
    Monte-Carlo error of its bounds supports. Null is N/A, what is `blocked` is struck and without an interval;
    fewer than MIN_UNITS units are marked "small n".
    """
    entries = {metric.name: metric for metric in metrics or ()}
    rows = []
    text_rows = []
    ids = set[str]()
    for estimate in estimates.to_dict("records"):
        name = estimate["metric"]
        about = about_metric(estimate, entries.get(name))
        if about["alias_of"] and not aliases:
            continue
        id = anchor("metric", name)
        row = {**shown_estimate(estimate, resampling, name in blocked), **about}
        title = f"{row['title']} {row['arrow']}".rstrip()
        rows.append({**row, "id": "" if id in ids else id})
        text_rows.append({**row, "metric": title, "id": name})
        ids.add(id)
    columns = _columns_with_content(estimates)
    if not group and "group" in columns:
        columns.remove("group")
    caption = caption and say(caption)
    html = macros().estimates(rows, columns, caption)
    text = text_table(_plain(text_rows, columns, "id"), caption=caption)
    return HtmlTable(str(html), text)


def about_metric(estimate: Mapping[Any, Any], entry: Any) -> dict[str, str]:
    """What the estimate, or else the metric's entry in its suite's table, says of the metric; see ABOUT."""
    about = {}
    for key in ABOUT:
        stored = text_of(estimate.get(key))
        of_entry = getattr(entry, key, None)
        about[key] = stored or of_entry or ""
    title = metric_title(estimate["metric"], about["title"])
    about["title"] = say(title)
    about["description"] = say(about["description"])
    if about["alias_of"]:
        about["title"] = f"= {about['alias_of']}"
    return about


ABOUT = ("title", "description", "source", "alias_of")
RAW = ("value", "ci_low", "std", "n_seeds", "numerator", "denominator", "n_units")


def _columns_with_content(estimates: pd.DataFrame) -> list[str]:
    """The columns of estimates; of those that a single run leaves empty only the ones that say something."""
    empty = []
    if "condition" in estimates:
        has_condition = estimates["condition"].astype(bool)
        if not has_condition.any():
            empty.append("condition")
    if "std" in estimates and estimates["std"].isna().all():
        empty += ["std", "n_seeds"]
    columns = []
    for column in estimates.columns:
        if column not in empty:
            columns.append(str(column))
    return columns


def plain_estimates(
    estimates: pd.DataFrame,
    resampling: Resampling | None = None,
    blocked: frozenset[str] = frozenset(),
) -> pd.DataFrame:
    """The estimates as text, a row a metric: metric, (condition,) value, interval, n, method."""
    rows = []
    for estimate in estimates.to_dict("records"):
        is_blocked = estimate["metric"] in blocked
        rows.append(shown_estimate(estimate, resampling, is_blocked))
    columns = _columns_with_content(estimates)
    return _plain(rows, columns)


def _plain(
    rows: Sequence[Mapping[str, Any]],
    columns: Iterable[str],
    *more: str,
) -> pd.DataFrame:
    """Some of what `shown_estimate` gives, as a frame."""
    shown = ["metric", "value", "interval", "n", "method", *more]
    if "condition" in columns:
        shown.insert(1, "condition")
    return pd.DataFrame(rows, columns=shown, dtype=object)


def shown_estimate(
    estimate: Mapping[Any, Any],
    resampling: Resampling | None,
    blocked: bool,
) -> dict[str, Any]:
    """What a reader sees of an estimate, as text; `raw` is the estimate itself, None for what it lacks."""
    if blocked:
        no_interval = dict.fromkeys(["ci_low", "ci_high", "std"])
        estimate = {**estimate, **no_interval}
    digits = row_decimals(estimate, resampling)
    value = _value(estimate)
    better = str(estimate.get("better"))
    arrow, direction = ARROWS.get(better, ("", ""))
    raw: dict[str, Any] = {key: estimate.get(key) for key in RAW}
    n_units = raw["n_units"]
    is_small = False
    if not is_null(raw["value"]) and not is_null(n_units):
        is_small = 0 < n_units < MIN_UNITS
    return {
        "raw": raw,
        "metric": str(estimate["metric"]),
        "group": say(text_of(estimate.get("group"))),
        "condition": text_of(estimate.get("condition")),
        "arrow": arrow,
        "direction": direction and say(direction),
        "value": struck(value) if blocked else value,
        "interval": interval(estimate, digits),
        "std": number(raw["std"], digits),
        "n_seeds": number(raw["n_seeds"], 0),
        "ratio": _ratio(raw["numerator"], raw["denominator"]),
        "n": number(n_units, 0),
        "small": is_small,
        "method": text_of(estimate.get("ci_method")),
    }


def _ratio(numerator: float | None, denominator: float | None) -> str:
    """ "3 / 7", or "" where one of them is null."""
    if is_null(numerator) or is_null(denominator):
        return ""
    parts = [_short(numerator), _short(denominator)]
    return " / ".join(parts)


def row_decimals(e: Any, resampling: Resampling | None = None) -> int:
    """Decimals to print for an interval: none for numbers from 1,000 on, else what its bounds support."""
    if _large(e.get("value")):
        return 0
    low = e.get("ci_low")
    high = e.get("ci_high")
    if is_null(low) or is_null(high):
        return 3
    width = high - low
    digits = monte_carlo_digits(width, resampling or Resampling())
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
