"""The tables of the first screen: headline metrics, or differences, with an interval strip in each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd
from markupsafe import Markup

from ..core.check import LEVEL_WORDS
from ..core.errors import UsageError
from ..core.estimates import is_null
from ..core.language import say
from ..core.metric import metric_title
from . import study_sentences, study_tables
from .estimate_tables import interval, shown_estimate
from .markdown import ARROWS, number, struck, text_table, titled
from .sentences import NO_VERDICT, UNDECIDED, p_text, verdict_text
from .strip import Scale, by_scale, strip
from .tables import VERDICTS, HtmlTable, no_rows, stack, table, words
from .templates import macros
from .text import anchor

if TYPE_CHECKING:
    from .run import Run
    from .study import Study

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
    usable = estimates[~is_blocked].to_dict("records")
    usable.sort(key=lambda row: row["metric"] != shown.primary)
    groups = []
    for scaled in by_scale(usable, shown.metrics):
        group = Group(say("Changes") if scaled.is_change else "", scaled.scale)
        for row in scaled.rows:
            group.rows.append(_metric_row(shown, row, scaled.scale))
        groups.append(group)
    struck_estimates = estimates[is_blocked & estimates["value"].notna()]
    if not struck_estimates.empty:
        group = Group(say(LEVEL_WORDS["blocking"]), Scale(0.0, 1.0), dim=True)
        for row in struck_estimates.to_dict("records"):
            group.rows.append(_metric_row(shown, row, None))
        groups.append(group)
    level = _level(shown)
    html = macros().headline(groups, level)
    columns = {
        "title": say("metric"),
        "value": say("value"),
        "interval": level,
        "ratio": say("of"),
    }
    return HtmlTable(str(html), _as_text(groups, columns), estimates)


def _level(shown: Run | Study) -> str:
    """The head of a column of intervals."""
    return say("{level} interval", level=shown.resampling.percent)


def _as_text(
    groups: Sequence[Group],
    columns: Mapping[str, str],
    caption: str = "",
) -> str:
    """The rows of all groups as a table of text."""
    rows = []
    for group in groups:
        rows += group.rows
    frame = pd.DataFrame(rows, columns=list(columns), dtype=object)
    return text_table(frame, columns=columns, caption=caption)


def _metric_row(
    shown: Run | Study,
    estimate: Mapping[Any, Any],
    scale: Scale | None,
) -> dict[str, Any]:
    """A row of the headline as text; without a scale it is blocked: struck, and without a strip."""
    metric = shown.metric(estimate["metric"])
    texts = shown_estimate(estimate, shown.resampling, scale is None)
    value = texts["value"]
    bounds = texts["interval"]
    drawn = Markup("")
    if scale is not None:
        text = f"{value} {bounds}".strip()
        drawn = strip(estimate, scale, text)
    n_units = ""
    if texts["n"] != "N/A":
        n_units = f"n = {texts['n']}"
    return {
        "id": anchor("metric", metric.name),
        "name": metric.name,
        "title": f"{texts['title']}\u00a0{texts['arrow']}".rstrip(),
        "about": say(metric.description),
        "primary": metric.name == shown.primary,
        "strip": drawn,
        "value": value,
        "interval": bounds,
        "ratio": texts["ratio"] or n_units,
    }


# --- differences

TABLES = ("comparison", "all metrics", "ranks")
"""The tables of a study."""


def study_table(study: Study, which: str) -> HtmlTable:
    """One of TABLES. UsageError for another."""
    if which == "comparison":
        return comparison(study, study_tables.comparison(study))
    if which == "all metrics":
        return comparison(study, study_tables.comparison(study, headline=False))
    if which == "ranks":
        text = " ".join(study_sentences.ranking(study))
        return stack([words(text), table(study.rank())])
    raise UsageError("no table {name}; there are {names}", name=repr(which), names=TABLES)


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
        label = str(candidate) if several else ""
        groups += _groups(study, part, label)
    candidate_head = say("candidate") if several else study.candidates[0]
    heads = (say("metric"), study.baseline, candidate_head)
    caption = say(
        "Differences to {baseline}, over what both sides have",
        baseline=study.baseline,
    )
    return _comparison_table(study, groups, heads, caption, rows)


def primary_differences(study: Study) -> HtmlTable:
    """The difference of every candidate on the primary metric, a row a candidate; an empty piece for none."""
    rows = study_tables.comparison(study, headline=False)
    rows = rows[rows["metric"] == study.primary]
    groups = []
    for scaled in by_scale(_as_differences(rows), study.metrics, differences=True):
        shown = []
        for row in scaled.rows:
            texts = _difference_row(study, row, scaled.scale)
            shown.append({**texts, "title": row["candidate"], "primary": False})
        groups.append(Group("", scaled.scale, shown))
    title = titled(study.metric(study.primary).shown_title, "")
    caption = say("“{title}” against {baseline}", title=title, baseline=study.baseline)
    heads = (say("condition"), study.baseline, say("candidate"))
    return _comparison_table(study, groups, heads, caption, rows, fold_from=100)


def _comparison_table(
    study: Study,
    groups: Sequence[Group],
    heads: tuple[str, str, str],
    caption: str,
    rows: pd.DataFrame,
    fold_from: int = LEAST_ROWS,
) -> HtmlTable:
    """Groups of differences, folded where there are more than so many.

    `heads` are those of what a row is about, of the baseline's values and of the candidates' values.
    """
    level = _level(study)
    n_rows = sum(len(group.rows) for group in groups)
    html = macros().comparison(groups, heads, level, caption, n_rows, fold_from)
    about, baseline, candidate = heads
    columns = {
        "title": about,
        "baseline": baseline,
        "candidate": candidate,
        "difference": say("difference"),
        "interval": level,
        "p": say("p adj."),
        "n": "n",
        "verdict": say("verdict"),
    }
    return HtmlTable(str(html), _as_text(groups, columns, caption), rows)


def _as_differences(rows: pd.DataFrame) -> list[dict[Any, Any]]:
    """Rows of a comparison in which the value is the difference."""
    return rows.assign(value=rows["delta"]).to_dict("records")


def _groups(
    study: Study,
    rows: pd.DataFrame,
    label: str,
) -> list[Group]:
    """The rows of one candidate: the primary metric and what has a verdict, then the rest."""
    records = _as_differences(rows)
    records.sort(key=lambda row: not row["primary"])
    scaled_rows = by_scale(records, study.metrics, differences=True)
    undecided = say(NO_VERDICT)
    groups = []
    for dim, heading in ((False, label), (True, undecided)):
        for scaled in scaled_rows:
            members = [row for row in scaled.rows if _is_undecided(row) == dim]
            if not members:
                continue
            shown = [_difference_row(study, row, scaled.scale) for row in members]
            groups.append(Group(heading, scaled.scale, shown, dim))
            heading = ""  # stands above the first of them only
    return groups


def _is_undecided(row: Mapping[Any, Any]) -> bool:
    return not row["primary"] and row["verdict"] in UNDECIDED


def _difference_row(
    study: Study,
    row: Mapping[Any, Any],
    scale: Scale,
) -> dict[str, Any]:
    """A row of the comparison as text; a metric that a check blocks is struck, and has no verdict."""
    name = row["metric"]
    title = metric_title(name, row["title"])
    baseline = number(row["value_baseline"])
    candidate = number(row["value_candidate"])
    bounds = interval(row, signed=True)
    difference = number(row["delta"], signed=True)
    text = f"{difference} {bounds}".strip()
    shown = {
        "id": "",
        "name": name,
        "title": titled(title, row["better"]),
        "about": say(study.metric(name).description),
        "primary": bool(row["primary"]),
        "n": number(int(row["n_units"])),
        "baseline": baseline,
        "candidate": candidate,
        "strip": strip({**row, "n_units": None}, scale, text),
        "difference": difference,
        "interval": bounds,
        "p": _p(row),
        "verdict": say(verdict_text(row)),
        "kind": _kind(row["verdict"]),
    }
    if name in study.blocked:
        shown.update(dict.fromkeys(("strip", "difference", "interval", "p"), ""))
        shown["baseline"] = struck(baseline)
        shown["candidate"] = struck(candidate)
        shown["verdict"] = say(LEVEL_WORDS["blocking"]).lower()
        shown["kind"] = "error"
    return shown


def _kind(verdict: str) -> str:
    """The colour of a verdict."""
    if verdict in UNDECIDED:
        return "none"
    return VERDICTS.get(verdict, "info")


def _p(row: Mapping[Any, Any]) -> str:
    """p, adjusted where the metric is one of a family, else marked as raw."""
    if not is_null(row["p_adjusted"]):
        return p_text(row["p_adjusted"])
    if is_null(row["p_value"]):
        return ""
    return f"{p_text(row['p_value'])} {say('raw')}"


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
    start, middle, end = scale.labels
    if row["better"] in ARROWS:
        start = say("{end} {condition} better", end=start, condition=lower)
        end = say("{condition} better {end}", end=end, condition=higher)
    difference = number(row["delta"], signed=True)
    bounds = interval(row, signed=True)
    text = f"{difference} {bounds}".strip()
    drawn = strip({**rows[0], "n_units": None}, scale, text, miss=reach)
    html = macros().verdict_strip(Markup(drawn), [start, middle, end])
    return HtmlTable(str(html), "")
