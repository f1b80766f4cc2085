"""The tables of the first screen: headline metrics, or differences, with an interval strip in each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..core.check import LEVEL_WORDS
from ..core.errors import UsageError
from ..core.estimates import Row, is_null
from ..core.language import say
from ..core.metric import metric_title
from . import study_sentences, study_tables
from .estimate_tables import interval, shown_estimate
from .markdown import number, struck, text_table, titled
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
) -> HtmlTable:
    """A table whose rows have a strip; folded where there are more rows than so many.

    `groups`: their rows as text, "title" being what a row is about. `heads`: key of a row -> head of its column.
    `frame`: the numbers behind them.
    """
    rows: list[Any] = []
    for group in groups:
        rows += group.rows
    html = macros().strips(
        heads,
        groups,
        caption,
        len(rows),
        LEAST_ROWS,
    )
    columns = {key: head for key, head in heads.items() if key != "strip"}
    texts = pd.DataFrame(rows, columns=list(columns), dtype=object)
    texts = texts.set_axis(list(columns.values()), axis="columns")
    return HtmlTable(html, text_table(texts, caption), frame)


def headline(
    shown: Run | Study,
    estimates: pd.DataFrame,
) -> HtmlTable:
    """Estimates with their strips, the primary metric first; those that a check blocks are struck, below the others."""
    is_blocked = estimates["metric"].isin(shown.blocked)
    usable = estimates[~is_blocked].to_dict("records")
    usable.sort(key=lambda row: row["metric"] != shown.primary)
    groups = by_scale(usable, shown.metrics)
    blocked = estimates[is_blocked & estimates["value"].notna()].to_dict("records")
    if blocked:
        label = say(LEVEL_WORDS["blocking"])
        groups.append(Group(None, blocked, label, dim=True))
    for group in groups:
        group.rows = [_metric_row(shown, row, group.scale) for row in group.rows]
    level = say("{level} interval", level=shown.resampling.percent)
    heads = {
        "title": say("metric"),
        "strip": level,
        "value": say("value"),
        "interval": level,
        "ratio": say("of"),
    }
    return strip_table(groups, heads, estimates)


def _metric_row(
    shown: Run | Study,
    estimate: Row,
    scale: Scale | None,
) -> dict[str, Any]:
    """A row of the headline as text; without a scale it is blocked: struck, and without a strip."""
    metric = shown.metric(estimate["metric"])
    texts = shown_estimate(estimate, shown.resampling, scale is None)
    text = f"{texts['value']} {texts['interval']}".strip()
    return {
        **texts,
        "id": anchor("metric", metric.name),
        "title": f"{texts['title']}\u00a0{texts['arrow']}".rstrip(),
        "about": say(metric.description),
        "primary": metric.name == shown.primary,
        "strip": strip(estimate, scale, text, n_units=estimate["n_units"]),
        "ratio": texts["ratio"] or f"n = {texts['n']}",
    }


# --- differences

TABLES = ("comparison", "all metrics", "ranks")
"""The tables of a study."""


def study_table(
    study: Study,
    which: str,
) -> HtmlTable:
    """One of TABLES. UsageError for another."""
    if which not in TABLES:
        raise UsageError("no table {name}; there are {names}", name=repr(which), names=TABLES)
    if which == "ranks":
        text = " ".join(study_sentences.ranking(study))
        return stack([words(text), table(study.rank())])
    if not study.candidates:
        return no_rows("Differences of one condition only")
    names = study.headline if which == "comparison" else [metric.name for metric in study.metrics]
    rows = study_tables.comparison(study, names)
    groups: list[Group] = []
    for candidate, part in rows.groupby("candidate", sort=False):
        label = str(candidate) if len(study.candidates) > 1 else ""
        groups += _groups(study, part, label)
    caption = say(
        "Differences to {baseline}, over what both sides have",
        baseline=study.baseline,
    )
    return _differences(
        study,
        rows,
        groups,
        "metric",
        caption,
    )


def primary_differences(study: Study) -> HtmlTable:
    """The difference of every candidate on the primary metric, a row a candidate; an empty piece for none."""
    rows = study_tables.comparison(study, [study.primary])
    caption = say(
        "“{title}” against {baseline}",
        title=study.title(study.primary),
        baseline=study.baseline,
    )
    return _differences(
        study,
        rows,
        _groups(study, rows, about="condition"),
        "condition",
        caption,
    )


def _differences(
    study: Study,
    rows: pd.DataFrame,
    groups: Sequence[Group],
    about: str,
    caption: str,
) -> HtmlTable:
    """A table of differences; `about` is what a row is about: "metric" or "condition"."""
    level = say("{level} interval", level=study.resampling.percent)
    heads = {
        "title": say(about),
        "baseline": study.baseline,
        "candidate": study.candidates[0] if len(study.candidates) == 1 else say("candidate"),
        "strip": level,
        "difference": say("difference"),
        "interval": level,
        "p": say("p adj."),
        "n": "n",
        "verdict": say("verdict"),
    }
    return strip_table(
        groups,
        heads,
        rows,
        caption,
    )


def _groups(
    study: Study,
    rows: pd.DataFrame,
    label: str = "",
    about: str = "metric",
) -> list[Group]:
    """Rows of a comparison: the primary metric and what has a verdict, then the rest in grey."""
    records = rows.assign(value=rows["delta"]).to_dict("records")
    records.sort(key=lambda row: not row["primary"])
    scaled = by_scale(records, study.metrics, differences=True)
    groups = []
    for dim, heading in ((False, label), (True, say(NO_VERDICT))):
        for group in scaled:
            members = []
            for row in group.rows:
                is_undecided = not row["primary"] and row["verdict"] in UNDECIDED
                if is_undecided == dim:
                    members.append(_difference_row(study, row, group.scale, about))
            if members:
                groups.append(Group(group.scale, members, heading, dim))
                heading = ""  # stands above the first of them only
    return groups


def _difference_row(
    study: Study,
    row: Row,
    scale: Scale | None,
    about: str,
) -> dict[str, Any]:
    """A row of the comparison as text; a metric that a check blocks is struck, and has no verdict."""
    name = row["metric"]
    title = row["candidate"]
    if about == "metric":
        title = titled(metric_title(name, row["title"]), row["better"])
    difference = number(row["delta"], signed=True)
    bounds = interval(row, signed=True)
    p = p_text(row["p_adjusted"])
    if not p and not is_null(row["p_value"]):
        p = f"{p_text(row['p_value'])} {say('raw')}"
    shown = {
        "id": "",
        "title": title,
        "about": say(study.metric(name).description),
        "primary": about == "metric" and bool(row["primary"]),
        "n": number(int(row["n_units"])),
        "baseline": number(row["value_baseline"]),
        "candidate": number(row["value_candidate"]),
        "strip": strip(row, scale, f"{difference} {bounds}".strip()),
        "difference": difference,
        "interval": bounds,
        "p": p,
        "verdict": say(verdict_text(row)),
        "kind": VERDICTS.get(row["verdict"], "info"),
    }
    if name in study.blocked:
        shown.update(dict.fromkeys(("strip", "difference", "interval", "p"), ""))
        shown["baseline"] = struck(shown["baseline"])
        shown["candidate"] = struck(shown["candidate"])
        shown["verdict"] = say(LEVEL_WORDS["blocking"]).lower()
        shown["kind"] = "error"
    return shown


def verdict_strip(
    study: Study,
    row: Row,
) -> HtmlTable:
    """The difference on the primary metric large, with what the data would miss in grey and who is better where."""
    reach = row["mde"] if row["verdict"] == "tied" else None
    scale = scale_of([row["delta"], row["ci_low"], row["ci_high"], reach], signed=True)
    left, right = row["baseline"], row["candidate"]
    if row["better"] == "lower":
        left, right = right, left
    start, middle, end = scale.labels
    ends = [
        f"{start} {say('{condition} better', condition=left)}",
        middle,
        f"{say('{condition} better', condition=right)} {end}",
    ]
    text = f"{number(row['delta'], signed=True)} {interval(row, signed=True)}".strip()
    drawn = strip(
        {**row, "value": row["delta"]},
        scale,
        text,
        miss=reach,
    )
    return HtmlTable(macros().verdict_strip(drawn, ends))
