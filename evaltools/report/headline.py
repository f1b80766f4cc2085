"""The tables of the first screen: headline metrics, or differences, with an interval strip in each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd
from markupsafe import Markup

from ..core.check import LEVEL_WORDS
from ..core.estimates import is_null
from ..core.language import say
from . import study_tables
from .estimate_tables import interval, shown_estimate
from .markdown import ARROWS, number, struck, text_of, text_table, titled
from .scales import by_scale
from .sentences import p_text, verdict_text
from .strip import Scale, strip
from .tables import VERDICTS, HtmlTable, no_rows
from .templates import macros
from .text import anchor

if TYPE_CHECKING:
    from .run import Run
    from .study import Study

UNDECIDED = ("too few", "not measured")
"""Verdicts that are none: their rows stand in grey, below the others."""

LEAST_ROWS = 25
"""A longer table is folded."""


@dataclass(frozen=True)
class Group:
    """Rows below one another that share an axis, or a heading."""

    label: str
    scale: Scale
    rows: list[dict[str, Any]] = field(default_factory=list)
    dim: bool = False


def headline(shown: Run | Study, estimates: pd.DataFrame) -> HtmlTable:
    """Estimates with their strips, the primary metric first; those that a check blocks are struck, below the others."""
    is_blocked = estimates["metric"].isin(shown.blocked)
    records = estimates[~is_blocked].to_dict("records")
    records.sort(key=lambda row: row["metric"] != shown.primary)
    groups = []
    for scaled in by_scale(records, shown.metrics):
        label = say("Changes") if scaled.is_change else ""
        rows = [_metric_row(shown, row, scaled.scale) for row in scaled.rows]
        groups.append(Group(label, scaled.scale, rows))
    struck_rows = [
        _metric_row(shown, row, None)
        for row in estimates[is_blocked & estimates["value"].notna()].to_dict("records")
    ]
    if struck_rows:
        groups.append(Group(say(LEVEL_WORDS["blocking"]), Scale(0.0, 1.0), struck_rows, dim=True))
    level = say("{level} interval", level=f"{shown.resampling.confidence:.0%}")
    html = macros().headline(groups, level)
    rows = [row for group in groups for row in group.rows]
    columns = {
        "title": say("metric"),
        "value": say("value"),
        "interval": level,
        "ratio": say("of"),
    }
    frame = pd.DataFrame(rows, columns=list(columns), dtype=object)
    return HtmlTable(str(html), text_table(frame, columns=columns), estimates)


def _metric_row(
    shown: Run | Study,
    estimate: Mapping[Any, Any],
    scale: Scale | None,
) -> dict[str, Any]:
    """A row of the headline as text; without a scale it is blocked: struck, and without a strip."""
    name = estimate["metric"]
    texts = shown_estimate(estimate, shown.resampling, scale is None)
    metric = shown.metric(name)
    bounds = texts["interval"]
    text = f"{texts['value']} {bounds}".strip()
    n_units = "" if texts["n"] == "N/A" else f"n = {texts['n']}"
    return {
        "id": anchor("metric", name),
        "name": name,
        "title": titled(text_of(estimate.get("title")) or name, metric.better),
        "about": say(metric.description),
        "primary": name == shown.primary,
        "strip": "" if scale is None else strip(estimate, scale, text),
        "value": texts["value"],
        "interval": bounds,
        "ratio": texts["ratio"] or n_units,
    }


def comparison(study: Study, rows: pd.DataFrame) -> HtmlTable:
    """Every candidate against the baseline: values, difference with its strip, p, n, verdict.

    `rows`: of `Comparison.table`. Metrics without a verdict stand in grey below the others; several candidates have a
    part of the table each.
    """
    if rows.empty:
        return no_rows("Differences of one condition only")
    several = len(study.candidates) > 1
    groups: list[Group] = []
    for candidate, part in rows.groupby("candidate", sort=False):
        groups += _groups(study, part, str(candidate) if several else "")
    level = say("{level} interval", level=f"{study.resampling.confidence:.0%}")
    caption = say("Differences to {baseline}, over what both sides have", baseline=study.baseline)
    heads = [study.baseline, say("candidate") if several else study.candidates[0]]
    n_rows = sum(len(group.rows) for group in groups)
    html = macros().comparison(groups, heads, level, caption, n_rows, LEAST_ROWS)
    return HtmlTable(str(html), _comparison_text(groups, heads, level, caption), rows)


def primary_differences(study: Study) -> HtmlTable:
    """The difference of every candidate on the primary metric, a row a candidate; an empty piece for none."""
    rows = study_tables.comparison(study, headline=False)
    rows = rows[rows["metric"] == study.primary]
    title = titled(study.metric(study.primary).title, "")
    groups = []
    for scaled in by_scale(_as_differences(rows), study.metrics, differences=True):
        shown = [
            {
                **_difference_row(study, row, scaled.scale),
                "title": row["candidate"],
                "primary": False,
            }
            for row in scaled.rows
        ]
        groups.append(Group("", scaled.scale, shown))
    level = say("{level} interval", level=f"{study.resampling.confidence:.0%}")
    heads = [study.baseline, say("candidate")]
    caption = say("“{title}” against {baseline}", title=title, baseline=study.baseline)
    html = macros().comparison(groups, heads, level, caption, len(rows), 100)
    return HtmlTable(str(html), _comparison_text(groups, heads, level, caption), rows)


def _comparison_text(
    groups: Sequence[Group],
    heads: Sequence[str],
    level: str,
    caption: str,
) -> str:
    """The table of differences as text."""
    columns = {
        "title": say("metric"),
        "baseline": heads[0],
        "candidate": heads[1],
        "difference": say("difference"),
        "interval": level,
        "p": say("p adj."),
        "n": "n",
        "verdict": say("verdict"),
    }
    rows = [row for group in groups for row in group.rows]
    frame = pd.DataFrame(rows, columns=list(columns), dtype=object)
    return text_table(frame, columns=columns, caption=caption)


def _as_differences(rows: pd.DataFrame) -> list[dict[Any, Any]]:
    """Rows of a comparison in which the value is the difference."""
    return rows.assign(value=rows["delta"]).to_dict("records")


def _groups(study: Study, rows: pd.DataFrame, label: str) -> list[Group]:
    """The rows of one candidate: the primary metric and what has a verdict, then the rest."""
    records = _as_differences(rows)
    records.sort(key=lambda row: not row["primary"])
    decided = [row for row in records if row["primary"] or row["verdict"] not in UNDECIDED]
    undecided = [row for row in records if row not in decided]
    groups: list[Group] = []
    scaled_rows = by_scale(records, study.metrics, differences=True)
    for dim, members in ((False, decided), (True, undecided)):
        for scaled in scaled_rows:
            shown = [
                _difference_row(study, row, scaled.scale) for row in scaled.rows if row in members
            ]
            if not shown:
                continue
            heading = label if not groups else ""
            if dim and not any(group.dim for group in groups):
                heading = say("No verdict: too few units, or not measured")
            groups.append(Group(heading, scaled.scale, shown, dim))
    return groups


def _difference_row(
    study: Study,
    row: Mapping[Any, Any],
    scale: Scale,
) -> dict[str, Any]:
    """A row of the comparison as text."""
    name = row["metric"]
    is_blocked = name in study.blocked
    values = [number(row["value_baseline"]), number(row["value_candidate"])]
    metric = study.metric(name)
    shown = {
        "id": "",
        "name": name,
        "title": titled(row["title"] or name, row["better"]),
        "about": say(metric.description),
        "primary": bool(row["primary"]),
        "n": number(int(row["n_units"])),
        "strip": "",
        "difference": "",
        "interval": "",
        "p": "",
    }
    if is_blocked:
        baseline, candidate = (struck(value) for value in values)
        verdict = say(LEVEL_WORDS["blocking"]).lower()
        return {
            **shown,
            "baseline": baseline,
            "candidate": candidate,
            "verdict": verdict,
            "kind": "error",
        }
    bounds = interval(row, signed=True)
    difference = number(row["delta"], signed=True)
    strip_row = {**row, "n_units": None}
    return {
        **shown,
        "baseline": values[0],
        "candidate": values[1],
        "strip": strip(strip_row, scale, f"{difference} {bounds}".strip()),
        "difference": difference,
        "interval": bounds,
        "p": _p(row),
        "verdict": say(verdict_text(row)),
        "kind": VERDICTS.get(row["verdict"], "info") if row["verdict"] not in UNDECIDED else "none",
    }


def _p(row: Mapping[Any, Any]) -> str:
    """p, adjusted where the metric is one of a family, else marked as raw."""
    is_raw = is_null(row["p_adjusted"])
    p = row["p_value"] if is_raw else row["p_adjusted"]
    if is_null(p):
        return ""
    text = p_text(p).removeprefix("= ")
    return f"{text} {say('raw')}" if is_raw else text


def verdict_strip(study: Study, row: Mapping[Any, Any]) -> HtmlTable:
    """The difference on the primary metric large, with what the data would miss in grey and who is better where."""
    rows = [{**row, "value": row["delta"]}]
    reach = row["mde"] if row["verdict"] == "tied" else None
    if not is_null(reach):
        rows.append({"metric": row["metric"], "value": reach})
    scale = by_scale(rows, study.metrics, differences=True)[0].scale
    lower, higher = row["baseline"], row["candidate"]
    if row["better"] == "lower":
        lower, higher = higher, lower
    ends = list(scale.labels)
    if row["better"] in ARROWS:
        ends[0] = say("{end} {condition} better", end=ends[0], condition=lower)
        ends[2] = say("{condition} better {end}", end=ends[2], condition=higher)
    text = f"{number(row['delta'], signed=True)} {interval(row, signed=True)}".strip()
    drawn = strip({**rows[0], "n_units": None}, scale, text, miss=reach)
    return HtmlTable(str(macros().verdict_strip(Markup(drawn), ends)), "")
