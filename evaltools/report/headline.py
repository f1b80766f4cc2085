"""The tables of the first screen: headline metrics, or differences, with an interval strip in each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
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
from .strip import Group, Scale, by_scale, scale_of, strip
from .tables import VERDICTS, HtmlTable, no_rows, stack, table, words
from .templates import macros
from .text import anchor

if TYPE_CHECKING:
    from .run import Run
    from .study import Study

LEAST_ROWS = 25
"""A longer table is folded."""


def strip_table(
    groups: Sequence[Group],
    heads: Mapping[str, str],
    frame: pd.DataFrame,
    caption: str = "",
    fold_from: int = LEAST_ROWS,
) -> HtmlTable:
    """A table whose rows have a strip; folded where there are more rows than so many.

    `groups`: their rows as text, "title" being what a row is about. `heads`: key of a row -> head of its column.
    `frame`: the numbers behind them.
    """
    rows: list[Mapping[Any, Any]] = []
    for group in groups:
        rows += group.rows
    html = macros().strips(heads, groups, caption, len(rows), fold_from)
    columns = {key: head for key, head in heads.items() if key != "strip"}
    texts = pd.DataFrame(rows, columns=list(columns), dtype=object)
    texts = texts.set_axis(list(columns.values()), axis="columns")
    return HtmlTable(html, text_table(texts, caption), frame)


def headline(shown: Run | Study, estimates: pd.DataFrame) -> HtmlTable:
    """Estimates with their strips, the primary metric first; those that a check blocks are struck, below the others."""
    is_blocked = estimates["metric"].isin(shown.blocked)
    usable = estimates[~is_blocked].to_dict("records")
    usable.sort(key=lambda row: row["metric"] != shown.primary)
    groups = []
    for group in by_scale(usable, shown.metrics):
        rows = [_metric_row(shown, row, group.scale) for row in group.rows]
        groups.append(replace(group, rows=rows))
    blocked = estimates[is_blocked & estimates["value"].notna()]
    if not blocked.empty:
        rows = [_metric_row(shown, row, None) for row in blocked.to_dict("records")]
        label = say(LEVEL_WORDS["blocking"])
        groups.append(Group(None, rows, label, dim=True))
    level = _level(shown)
    heads = {
        "title": say("metric"),
        "strip": level,
        "value": say("value"),
        "interval": level,
        "ratio": say("of"),
    }
    return strip_table(groups, heads, estimates)


def _level(shown: Run | Study) -> str:
    """The head of a column of intervals."""
    return say("{level} interval", level=shown.resampling.percent)


def _metric_row(
    shown: Run | Study,
    estimate: Mapping[Any, Any],
    scale: Scale | None,
) -> dict[str, Any]:
    """A row of the headline as text; without a scale it is blocked: struck, and without a strip."""
    metric = shown.metric(estimate["metric"])
    texts = shown_estimate(estimate, shown.resampling, scale is None)
    text = f"{texts['value']} {texts['interval']}".strip()
    drawn = strip(estimate, scale, text, n_units=estimate["n_units"])
    n_units = ""
    if texts["n"] != "N/A":
        n_units = f"n = {texts['n']}"
    return {
        **texts,
        "id": anchor("metric", metric.name),
        "title": f"{texts['title']}\u00a0{texts['arrow']}".rstrip(),
        "about": say(metric.description),
        "primary": metric.name == shown.primary,
        "strip": drawn,
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
    raise UsageError(
        "no table {name}; there are {names}",
        name=repr(which),
        names=TABLES,
    )


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
    caption = say(
        "Differences to {baseline}, over what both sides have",
        baseline=study.baseline,
    )
    heads = _heads(study, say("metric"), candidate_head)
    return strip_table(groups, heads, rows, caption)


def primary_differences(study: Study) -> HtmlTable:
    """The difference of every candidate on the primary metric, a row a candidate; an empty piece for none."""
    rows = study_tables.comparison(study, headline=False)
    rows = rows[rows["metric"] == study.primary]
    groups = []
    differences = _as_differences(rows)
    for group in by_scale(differences, study.metrics, differences=True):
        shown = []
        for row in group.rows:
            texts = _difference_row(study, row, group.scale)
            texts["title"] = row["candidate"]
            texts["primary"] = False
            shown.append(texts)
        groups.append(replace(group, rows=shown))
    title = titled(study.metric(study.primary).shown_title, "")
    caption = say(
        "“{title}” against {baseline}",
        title=title,
        baseline=study.baseline,
    )
    heads = _heads(study, say("condition"), say("candidate"))
    return strip_table(groups, heads, rows, caption, fold_from=100)


def _heads(
    study: Study,
    about: str,
    candidate: str,
) -> dict[str, str]:
    """The heads of a table of differences: of what a row is about, and of the candidates' values."""
    level = _level(study)
    return {
        "title": about,
        "baseline": study.baseline,
        "candidate": candidate,
        "strip": level,
        "difference": say("difference"),
        "interval": level,
        "p": say("p adj."),
        "n": "n",
        "verdict": say("verdict"),
    }


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
    scaled = by_scale(records, study.metrics, differences=True)
    groups = []
    for dim, heading in ((False, label), (True, say(NO_VERDICT))):
        for group in scaled:
            members = []
            for row in group.rows:
                is_undecided = not row["primary"] and row["verdict"] in UNDECIDED
                if is_undecided == dim:
                    texts = _difference_row(study, row, group.scale)
                    members.append(texts)
            if members:
                shown = replace(group, rows=members, label=heading, dim=dim)
                groups.append(shown)
                heading = ""  # stands above the first of them only
    return groups


def _difference_row(
    study: Study,
    row: Mapping[Any, Any],
    scale: Scale | None,
) -> dict[str, Any]:
    """A row of the comparison as text; a metric that a check blocks is struck, and has no verdict."""
    name = row["metric"]
    title = metric_title(name, row["title"])
    baseline = number(row["value_baseline"])
    candidate = number(row["value_candidate"])
    difference, bounds, drawn = _difference(row, scale)
    shown = {
        "id": "",
        "title": titled(title, row["better"]),
        "about": say(study.metric(name).description),
        "primary": bool(row["primary"]),
        "n": number(int(row["n_units"])),
        "baseline": baseline,
        "candidate": candidate,
        "strip": drawn,
        "difference": difference,
        "interval": bounds,
        "p": _p(row),
        "verdict": say(verdict_text(row)),
        "kind": VERDICTS.get(row["verdict"], "info"),
    }
    if name in study.blocked:
        shown.update(dict.fromkeys(("strip", "difference", "interval", "p"), ""))
        shown["baseline"] = struck(baseline)
        shown["candidate"] = struck(candidate)
        shown["verdict"] = say(LEVEL_WORDS["blocking"]).lower()
        shown["kind"] = "error"
    return shown


def _difference(
    row: Mapping[Any, Any],
    scale: Scale | None,
    miss: Any = None,
) -> tuple[str, str, Markup]:
    """A difference, its interval, and the strip of both."""
    difference = number(row["delta"], signed=True)
    bounds = interval(row, signed=True)
    text = f"{difference} {bounds}".strip()
    estimate = {**row, "value": row["delta"]}
    drawn = strip(estimate, scale, text, miss=miss)
    return difference, bounds, drawn


def _p(row: Mapping[Any, Any]) -> str:
    """p, adjusted where the metric is one of a family, else marked as raw."""
    if not is_null(row["p_adjusted"]):
        return p_text(row["p_adjusted"])
    if is_null(row["p_value"]):
        return ""
    return f"{p_text(row['p_value'])} {say('raw')}"


def verdict_strip(study: Study, row: Mapping[Any, Any]) -> HtmlTable:
    """The difference on the primary metric large, with what the data would miss in grey and who is better where."""
    reach = row["mde"] if row["verdict"] == "tied" else None
    scale = scale_of([row["delta"], row["ci_low"], row["ci_high"], reach], signed=True)
    lower, higher = row["baseline"], row["candidate"]
    if row["better"] == "lower":
        lower, higher = higher, lower
    start, middle, end = scale.labels
    if row["better"] in ARROWS:
        start = say(
            "{end} {condition} better",
            end=start,
            condition=lower,
        )
        end = say(
            "{condition} better {end}",
            end=end,
            condition=higher,
        )
    _, _, drawn = _difference(row, scale, miss=reach)
    return HtmlTable(macros().verdict_strip(drawn, [start, middle, end]))
