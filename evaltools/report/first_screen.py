"""The first screen of a page: what came out, whether to believe it, and where to look; its title is the finding.

Its tables hold headline metrics, or differences, with an interval strip in each row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..core.check import LEVEL_WORDS
from ..core.errors import UsageError
from ..core.estimates import Row, is_null
from ..core.language import say
from ..core.metric import metric_title
from . import study_sentences, study_tables
from .browse import groups_of_change, groups_of_run
from .markdown import number, struck, text_table, titled
from .provenance import intervals_in_use
from .samples import of_suite
from .sentences import NO_VERDICT, UNDECIDED, p_text, verdict_text
from .strip import SMALL_N, Group, Scale, by_scale, scale_of, strip
from .tables import (
    VERDICTS,
    HtmlTable,
    interval,
    no_rows,
    shown_estimate,
    signature_block,
    stack,
    table,
    where_to_look,
    words,
)
from .templates import macros
from .text import anchor
from .trust import is_bundled, trust_line

if TYPE_CHECKING:
    from .run import Run
    from .study import Study


def strip_table(
    groups: Sequence[Group],
    heads: Mapping[str, str],
    frame: pd.DataFrame,
    caption: str = "",
) -> HtmlTable:
    """A table whose rows have a strip; a long one is folded.

    `groups`: their rows as text, "title" being what a row is about. `heads`: key of a row -> head of its column.
    `frame`: the numbers behind them.
    """
    rows: list[Any] = [row for group in groups for row in group.rows]
    html = macros().strips(heads, groups, caption)
    columns = {key: head for key, head in heads.items() if key != "strip"}
    texts = pd.DataFrame(rows, columns=list(columns), dtype=object).rename(columns=columns)
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
        groups.append(
            Group(
                None,
                blocked,
                label,
                dim=True,
            )
        )
    for group in groups:
        rows = []
        for estimate in group.rows:
            metric = shown.metric(estimate["metric"])
            # without a scale it is blocked: struck, and without a strip
            texts = shown_estimate(estimate, shown.resampling, group.scale is None)
            text = f"{texts['value']} {texts['interval']}".strip()
            row = {
                **texts,
                "id": anchor("metric", metric.name),
                "title": texts["titled"],
                "about": say(metric.description),
                "primary": metric.name == shown.primary,
                "strip": strip(
                    estimate,
                    group.scale,
                    text,
                    n_units=estimate["n_units"],
                ),
                "ratio": texts["ratio"] or f"n = {texts['n']}",
            }
            rows.append(row)
        group.rows = rows
    level = say("{level} interval", level=shown.resampling.percent)
    heads = {
        "title": say("metric"),
        "strip": level,
        "value": say("value"),
        "interval": level,
        "ratio": say("of"),
    }
    return strip_table(groups, heads, estimates)


# --- differences

TABLES = ("comparison", "all metrics", "ranks")
"""The tables of a study."""


def study_table(
    study: Study,
    which: str = "comparison",
) -> HtmlTable:
    """The comparison with the baseline, or "all metrics", "ranks"; UsageError for another."""
    if which not in TABLES:
        raise UsageError(f"no table {which!r}; there are {', '.join(TABLES)}")
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
    if not study.primary:
        return stack([])
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
                    members.append(
                        _difference_row(
                            study,
                            row,
                            group.scale,
                            about,
                        )
                    )
            if members:
                groups.append(
                    Group(
                        group.scale,
                        members,
                        heading,
                        dim,
                    )
                )
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


# --- the screens


def title(
    kind: Sequence[str],
    size: str,
    finding: str,
    details: str = "",
) -> HtmlTable:
    """The title of a page: small above it what kind of page it is and how much was scored, small in it the numbers."""
    return HtmlTable(
        macros().first(
            kind,
            size,
            finding,
            details,
        )
    )


def run_screen(run: Run) -> HtmlTable:
    """The first screen of one run."""
    usual = run.suite.headline(run.options, frozenset())
    blocked = [name for name in usual if name in run.blocked]
    estimates = run.estimates.set_index("metric", drop=False).loc[[*run.headline, *blocked]]
    has_interval = estimates["ci_low"].notna()
    about = []
    if has_interval.any():
        level = run.resampling.percent
        about.append(say("{level} intervals speak for {claim}.", level=level, claim=say(run.claim)))
    if (estimates.loc[has_interval, "n_units"] < SMALL_N).any():
        about.append(say("Hollow: fewer than {n} units.", n=SMALL_N))
    return _screen(
        run,
        run.name,
        of_suite("finding", run) or study_sentences.run_finding(run),
        [],
        groups_of_run(run),
        [
            of_suite("first_screen", run) or stack([]),
            headline(run, estimates),
            words(" ".join(about)),
        ],
    )


def study_screen(study: Study) -> HtmlTable:
    """The first screen of several runs: of one candidate every difference, of several the primary one, else values."""
    if not study.seeded and len(study.results) == 1:
        return study.results[0].page()
    n_conditions = len(study.conditions)
    size = say("conditions: {conditions}, runs: {n}", conditions=n_conditions, n=len(study.results))
    pieces = []
    carrying: dict[str, Sized] = {}
    for name in study.candidates if study.primary else []:
        carrying |= groups_of_change(study, study.primary, name)
    if not study.candidates:
        numbers = headline(study, study_tables.estimates(study))
    elif len(study.candidates) > 1:
        numbers = primary_differences(study)
    else:
        numbers = study.table()
        (compared,) = study.comparisons.values()
        for row in study_sentences.primary_rows(study).values():
            if not compared.identical:
                pieces.append(verdict_strip(study, row))
        pieces.append(words("\n\n".join(study_sentences.settling(study))))
    return _screen(
        study,
        size,
        study_sentences.finding(study),
        pieces,
        carrying,
        [numbers, words(study_sentences.how(study))],
    )


def _screen(
    shown: Run | Study,
    what: str,
    finding: study_sentences.Parts,
    verdict: Sequence[HtmlTable],
    groups: Mapping[str, Sized],
    numbers: Sequence[HtmlTable],
) -> HtmlTable:
    """The pieces that every first screen has, in their order; `what` is shown, and `groups` of units lead on."""
    kind = [say(shown.suite.title), what]
    if is_bundled(shown):
        kind.append(say("bundled example"))
    counts = [run.n_units for run in shown.results]
    ends = dict.fromkeys([number(min(counts)), number(max(counts))])
    return stack(
        [
            title(kind, f"n = {'–'.join(ends)} ({shown.suite.unit})", *finding),
            words("\n\n".join(study_sentences.switched(shown))),
            *verdict,
            trust_line(shown),
            where_to_look(groups),
            *numbers,
            words(intervals_in_use(shown)),
            signature_block(shown.signature),
        ]
    )
