"""The first screen of a page: what came out, whether to believe it, and where to look; its title is the finding.

Its tables hold headline metrics, or differences, with an interval strip in each row.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import TYPE_CHECKING, Any

import pandas as pd
from markupsafe import Markup

from ..core.check import LEVEL_WORDS
from ..core.estimates import Row
from ..core.language import listed, say
from ..core.metric import MetricTable
from ..stats.influence import formulas_of
from . import study_sentences
from .page import macros
from .samples import changed_units, groups_of_change, groups_of_run
from .study_sentences import verdict_text
from .tables import (
    VERDICTS,
    HtmlTable,
    by_condition,
    fold,
    no_rows,
    p_head,
    shown_texts,
    stack,
    table,
    words,
)
from .text import ENDS, anchor, axis_over
from .trust import all_checks, is_bundled, short_signature

if TYPE_CHECKING:
    from .result import Result
    from .run import Run
    from .study import Study

# most letters of the gist of a check in the trust line
GIST = 60


# --- tables


def metric_table(shown: Result, *names: str) -> HtmlTable:
    """Metrics with their strips, the primary one first; those that a check blocks stand in one line below.

    Of a comparison the difference of every candidate, of several a row each below their metric; else values. "all":
    every metric but aliases, folded, in their groups. UsageError for an unknown name.
    """
    is_whole = names == ("all",)
    if is_whole:
        names = tuple(metric.name for metric in shown.metrics if not metric.alias_of)
    names = tuple(shown.metric(name).name for name in names)
    blocked = [name for name in names if name in shown.blocked]
    found = shown.differences_of(*names) if shown.candidates else shown.estimates_of(*names)
    frame = found[~found["metric"].isin(blocked)]
    caption = say("All metrics") if is_whole else ""
    if shown.candidates:
        text = "Difference from {baseline} (shared samples)"
        caption = say(text, baseline=shown.baseline)
    rows = [_strip(shown, row, is_whole) for row in frame.to_dict("records")]
    groups = list(dict.fromkeys(row["group"] for row in rows))
    rows = with_axes(rows, shown.metrics, differences=bool(shown.candidates))
    rows.sort(key=lambda row: groups.index(row["group"]))
    heads = _heads(shown, frame)
    pieces: list[HtmlTable | Markup] = []
    if is_whole and shown.candidates:
        # what has no direction is not compared
        rest = shown.estimates_of(*names)
        rest = rest[(rest["better"] == "none") & ~rest["metric"].isin(blocked)]
        values = by_condition(rest)
        if len(values):
            pieces.append(fold(say("Metrics without a direction"), table(values)))
    if rows and not (pieces and set(frame["metric"]) <= set(shown.headline)):
        pieces.append(macros().strips(heads, rows, caption, is_whole))
    if blocked:
        titles = listed(map(shown.title, blocked))
        pieces.append(words(say("Cannot be measured here: {names}", names=titles)))
    if not pieces:
        return no_rows(caption or say("Metrics"), frame)
    return stack(pieces, frame)


def _strip(
    shown: Result,
    row: Row,
    is_whole: bool,
) -> dict[str, Any]:
    """A row of a table with strips: an estimate or a difference with the texts of its `cells`, and its group."""
    metric, cells = shown.metric(row["metric"]), shown_texts(row, f" {say('raw')}")
    about = f"{say(metric.description)} ({metric.name})".strip()
    if not shown.candidates:
        return {
            **row,
            "about": about,
            "cells": {**cells, "ratio": cells["ratio"] or f"n = {cells['n']}"},
            "group": say(row["group"]) if is_whole else "",
            "primary": not is_whole and metric.name == shown.primary,
        }
    group = cells["title"] if len(shown.candidates) > 1 else ""
    return {
        **row,
        "about": about,
        "cells": {
            **cells,
            "title": row["candidate"] if group else cells["title"],
            "verdict": verdict_text(row),
        },
        "group": group,
        "value": row["delta"],
        "kind": VERDICTS.get(row["verdict"], "info"),
    }


def _heads(shown: Result, rows: pd.DataFrame) -> dict[str, str]:
    """The columns of a table with strips -> their heads."""
    level = say("{level} interval", level=shown.resampling.percent)
    ends = {"strip": level, "value": say("value"), "interval": level, "ratio": say("of")}
    if not shown.candidates:
        return {"title": say("Metric"), **ends}
    several = len(shown.candidates) > 1
    return {
        "title": say("condition") if several else say("Metric"),
        "baseline": shown.baseline,
        "candidate": say("candidate") if several else shown.candidates[0],
        "strip": level,
        "difference": say("difference"),
        "interval": level,
        "p": say(p_head(rows)),
        "n": "n",
        "verdict": say("verdict"),
    }


def with_axes(
    rows: Iterable[Row],
    metrics: MetricTable,
    *,
    differences: bool = False,
) -> list[dict[str, Any]]:
    """Estimates, or differences, each with its `axis`; those of one axis stand together.

    All rows of a metric have one axis, and so have all metrics with the same limits, and all changes of such.
    """
    limits = {name: formula.ends for name, formula in formulas_of(metrics).items()}
    shared: dict[Any, list[Row]] = {}
    for row in rows:
        low, high = limits[row["metric"]]
        axis: Any = row["metric"]
        if math.isfinite(low + high):
            axis = "" if differences or low < 0 else (round(low, 9), round(high, 9))
        shared.setdefault(axis, []).append(row)
    found = []
    for axis, members in shared.items():
        if isinstance(axis, str):
            numbers = [row[column] for row in members for column in ENDS]
            axis = axis_over(numbers, differences or not axis)
        found += [{**row, "axis": axis} for row in members]
    return found


# --- whether to believe it, and where to look


def trust_line(shown: Result) -> Markup:
    """Whether the numbers of a page can be believed, in a line that opens: how many checks failed, and their gist."""
    checks = all_checks(shown)
    doubts = [check for check in checks if check.level != "info"]
    levels = Counter(str(check.level) for check in checks)
    counts = []
    if any(run.manifest.incomplete for run in shown.results):
        counts.append(say("incomplete"))
    if shown.blocked:
        text = "{n} of {total} headline metrics cannot be measured"
        n_blocked = len(shown.blocked.intersection(shown.usual))
        counts.append(say(text, n=n_blocked, total=len(shown.usual)))
    differences = shown.differences_of(*shown.headline)
    if lost := sum(differences.get("not_random", ())):
        text = "{n} of {total} differences cannot be measured"
        counts.append(say(text, n=lost, total=len(differences)))
    if levels["blocking"] and not counts:
        counts.append(say(LEVEL_WORDS["blocking"]))
    kind = "error" if counts else "warning" if levels["warning"] else "good"
    for level, one, several in (
        ("warning", "1 caution", "{n} cautions"),
        ("info", "1 note", "{n} notes"),
    ):
        if n := levels[level]:
            counts.append(say(one if n == 1 else several, n=n))
    # the beginning of a sentence says the most of it
    gists = [re.split(r"[.:;] |[。；：]", check.message)[0].rstrip(".") for check in doubts]
    gists = [gist for gist in gists if len(gist) <= GIST][:2]
    gist = study_sentences.whole_sentence("", listed(gists, "; "))
    return macros().trust(
        " · ".join(counts) or say("No caution"),
        gist,
        kind,
        LEVEL_WORDS,
        checks,
    )


def where_to_look(groups: Mapping[str, Sized]) -> Markup:
    """Links to the groups of samples of the page: label -> its samples; those without any are left out."""
    links = []
    for label, members in groups.items():
        if len(members):
            links.append((f"{len(members):,}", label, anchor("group", label)))
    return macros().look(links) if links else Markup("")


# --- the screens


def run_screen(run: Run) -> HtmlTable:
    """The first screen of one run."""
    estimates = run.estimates_of(*run.headline)
    about = study_sentences.cover(estimates, run.resampling)
    return _screen(
        run,
        run.name,
        study_sentences.run_finding(run),
        groups_of_run(run),
        [metric_table(run, *run.usual), words(" ".join(about))],
    )


def study_screen(study: Study) -> HtmlTable:
    """The first screen of several runs: the differences from the baseline, or of one condition its values."""
    if not study.seeded and len(study.results) == 1:
        return run_screen(study.results[0])
    groups: dict[str, Sized] = {}
    if study.primary and len(study.candidates) == 1:
        changed = changed_units(study, study.primary, study.candidate())
        groups |= groups_of_change(changed, study.candidate())
    conditions, n = len(study.conditions), len(study.results)
    return _screen(
        study,
        say("{conditions} conditions, {n} runs", conditions=conditions, n=n),
        study_sentences.finding(study),
        groups,
        [
            words(" ".join(study_sentences.settling(study))),
            study.table(),
            words(study_sentences.how(study)),
        ],
    )


def _screen(
    shown: Result,
    what: str,
    finding: study_sentences.Parts,
    groups: Mapping[str, Sized],
    numbers: Sequence[HtmlTable | Markup],
) -> HtmlTable:
    """The pieces that every first screen has, in their order; `what` is shown, and `groups` of units lead on."""
    kind = [say(shown.suite.title), what]
    if is_bundled(shown):
        kind.append(say("bundled example"))
    size = study_sentences.size(shown)
    pieces = [
        macros().first(kind, f"{size} · {short_signature(shown)}", *finding),
        trust_line(shown),
        where_to_look(groups),
        *numbers,
    ]
    return stack(pieces)
