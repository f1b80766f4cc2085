"""The first screen of a page: what came out, whether to believe it, and where to look; its title is the finding.

Its tables hold headline metrics, or differences, with an interval strip in each row.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sized
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from ..core.check import LEVEL_WORDS
from ..core.language import listed, say
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
from .trust import is_bundled, short_signature, spoken_checks

if TYPE_CHECKING:
    from .result import Result

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
    usable = [name for name in names if name not in shown.blocked]
    frame = shown.differences_of(*usable) if shown.candidates else shown.estimates_of(*usable)
    pieces: list[HtmlTable | Markup] = []
    if is_whole and shown.candidates:
        values = by_condition(shown.estimates_of(*usable))
        if len(values):
            pieces.append(fold(say("Metrics without a direction"), table(values)))
    if len(frame) and not (pieces and set(frame["metric"]) <= set(shown.headline)):
        pieces.append(_strips(shown, frame, is_whole))
    if blocked := [name for name in names if name in shown.blocked]:
        titles = listed(map(shown.title, blocked))
        pieces.append(words(say("Cannot be measured here: {names}", names=titles)))
    return stack(pieces, frame) if pieces else no_rows(say("Metrics"), frame)


def _strips(
    shown: Result,
    frame: pd.DataFrame,
    is_whole: bool,
) -> Markup:
    """Estimates, or differences, as a table with strips; of several candidates each stands below its metric.

    A whole table is folded, and estimates stand in their groups there.
    """
    level = say("{level} interval", level=shown.resampling.percent)
    title, caption = say("Metric"), say("All metrics") if is_whole else ""
    if not shown.candidates:
        heads = {
            "title": title,
            "strip": level,
            "value": say("value"),
            "interval": level,
            "ratio": say("of"),
        }
        group = frame["group"].map(say) if is_whole else ""
        rows = _with_axes(
            shown, frame.assign(group=group, primary=frame["metric"] == shown.primary)
        )
        return macros().strips(heads, rows, caption, is_whole)
    several = len(shown.candidates) > 1
    heads = {
        "title": say("condition") if several else title,
        "baseline": shown.baseline,
        "candidate": say("candidate") if several else shown.candidates[0],
        "strip": level,
        "difference": say("difference"),
        "interval": level,
        "p": say(p_head(frame)),
        "n": "n",
        "verdict": say("verdict"),
    }
    group = frame["metric"] if several else ""
    rows = _with_axes(shown, frame.assign(value=frame["delta"], group=group))
    for row in rows:
        cells = row["cells"]
        if several:
            row["group"], cells["title"] = cells["title"], row["candidate"]
        cells["verdict"] = verdict_text(row)
        row["kind"] = VERDICTS.get(row["verdict"], "info")
    caption = say("Difference from {baseline} (shared samples)", baseline=shown.baseline)
    return macros().strips(heads, rows, caption, is_whole)


def _with_axes(shown: Result, frame: pd.DataFrame) -> list[dict[Any, Any]]:
    """Rows with the texts of their `cells` and their `axis`; those of one group, and in it of one axis, stand together.

    All rows of a metric have one axis, and so have all metrics with the same limits, and all changes of such.
    """
    formulas = formulas_of(shown.metrics)
    scales: list[Any] = []
    for name in frame["metric"]:
        low, high = formulas[name].ends
        scale: Any = name
        if math.isfinite(low + high):
            scale = "" if shown.candidates or low < 0 else (round(low, 9), round(high, 9))
        scales.append(scale)
    frame = frame.assign(axis=scales)
    order = [pd.factorize(frame[column])[0] for column in ("axis", "group")]
    rows = frame.iloc[np.lexsort(order)].to_dict("records")
    for row in rows:
        scale, metric = row["axis"], shown.metric(row["metric"])
        if isinstance(scale, str):
            numbers = frame.loc[frame["axis"] == scale, list(ENDS)]
            row["axis"] = axis_over(numbers.to_numpy().flat, bool(shown.candidates) or not scale)
        row["cells"] = shown_texts(row)
        row["about"] = f"{say(metric.description)} ({metric.name})".strip()
    return rows


# --- whether to believe it, and where to look


def trust_line(shown: Result) -> Markup:
    """Whether the numbers of a page can be believed, in a line that opens: how many checks failed, and their gist."""
    checks = spoken_checks(shown)
    n_of = Counter[str](check.level for check in checks)
    differences = shown.differences_of(*shown.headline)
    incomplete = [run for run in shown.results if run.manifest.incomplete]
    lost = {
        "incomplete": (len(incomplete), len(shown.results)),
        "{n} of {total} headline metrics cannot be measured": (
            len(shown.blocked.intersection(shown.usual)),
            len(shown.usual),
        ),
        "{n} of {total} differences cannot be measured": (
            sum(differences.get("not_random", ())),
            len(differences),
        ),
    }
    counts = [say(text, n=n, total=total) for text, (n, total) in lost.items() if n]
    if n_of["blocking"] and not counts:
        counts.append(say(LEVEL_WORDS["blocking"]))
    kind = "error" if counts else "warning" if n_of["warning"] else "good"
    for level, one, several in (
        ("warning", "1 caution", "{n} cautions"),
        ("info", "1 note", "{n} notes"),
    ):
        if n := n_of[level]:
            counts.append(say(one if n == 1 else several, n=n))
    # the beginning of a sentence says the most of it
    gists = [re.split(r"[.:;] |[。；：]", c.message)[0].rstrip(".") for c in shown.doubts()]
    gist = listed([text for text in gists if len(text) <= GIST][:2], "; ")
    return macros().trust(
        " · ".join(counts) or say("No caution"),
        study_sentences.whole_sentence("", gist),
        kind,
        LEVEL_WORDS,
        checks,
    )


def first_screen(shown: Any) -> HtmlTable:
    """The first screen of a run, or of several: differences from the baseline, or values; its title is the finding."""
    conditions, n = len(shown.conditions), len(shown.results)
    what = say("{conditions} conditions, {n} runs", conditions=conditions, n=n)
    groups: Mapping[str, Sized] = {}
    if n == 1 and not shown.seeds:
        (shown,) = shown.results
        what, groups = shown.name, groups_of_run(shown)
    elif shown.primary and len(shown.candidates) == 1:
        changed = changed_units(shown, shown.primary, shown.candidate())
        groups = groups_of_change(changed, shown.candidate())
    links = [
        (f"{len(of):,}", name, anchor("group", name)) for name, of in groups.items() if len(of)
    ]
    kind = [say(shown.suite.title), what]
    if is_bundled(shown):
        kind.append(say("bundled example"))
    size = f"{study_sentences.size(shown)} · {short_signature(shown)}"
    pieces = [
        macros().first(kind, size, *study_sentences.finding(shown)),
        trust_line(shown),
        macros().look(links) if links else Markup(),
        words(" ".join(study_sentences.settling(shown))),
        shown.table(),
        words(study_sentences.how(shown)),
    ]
    return stack(pieces)
