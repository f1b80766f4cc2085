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

from ..core.check import LEVEL_WORDS
from ..core.estimates import Row
from ..core.language import listed, say
from ..core.metric import MetricTable
from ..stats.influence import formulas_of
from ..stats.intervals import MIN_UNITS
from . import study_sentences
from .page import macros
from .samples import changed_units, groups_of_change, groups_of_run
from .study_sentences import verdict_text
from .tables import VERDICTS, HtmlTable, no_rows, shown_difference, shown_estimate, stack, words
from .text import ENDS, anchor, axis_over, clipped, number
from .trust import all_checks, is_bundled, short_signature

if TYPE_CHECKING:
    from .run import Run
    from .study import Study

# letters of the gist of a check in the trust line
GIST = 60


# --- tables


def metric_table(shown: Run | Study, *names: str) -> HtmlTable:
    """Metrics with their strips, the primary one first; those that a check blocks stand in one line below.

    Of a comparison their differences, else their values. "all": every metric but aliases, folded. UsageError for an
    unknown name.
    """
    is_whole = names == ("all",)
    if is_whole:
        names = tuple(metric.name for metric in shown.metrics if not metric.alias_of)
    names = tuple(shown.metric(name).name for name in names)
    blocked = [name for name in names if name in shown.blocked]
    found = shown.differences_of(*names) if shown.candidates else shown.estimates_of(*names)
    frame = found[~found["metric"].isin(blocked)]
    describe: Any = _differences if shown.candidates else _values
    heads, caption, rows = describe(shown, frame, is_whole)
    for row in rows:
        metric = shown.metric(row["metric"])
        row["about"] = f"{say(metric.description)} ({metric.name})".strip()
    rows.sort(key=lambda row: not row["primary"])
    groups = list(dict.fromkeys(row["group"] for row in rows))
    rows = with_axes(rows, shown.metrics, differences="difference" in heads)
    rows.sort(key=lambda row: groups.index(row["group"]))
    pieces = [HtmlTable(macros().strips(heads, rows, caption, is_whole))] if rows else []
    if blocked:
        titles = listed(map(shown.title, blocked))
        pieces.append(words(say("Cannot be measured here: {names}", names=titles)))
    if not pieces:
        return no_rows(caption or say("Metrics"))
    return stack(pieces, frame)


# heads of columns, a caption, and rows with the texts of their cells by the same columns
Described = tuple[dict[str, str], str, list[dict[str, Any]]]


def _values(
    shown: Run | Study,
    estimates: pd.DataFrame,
    is_whole: bool,
) -> Described:
    """The table of estimates: of all metrics by their groups."""
    rows = []
    for row in estimates.to_dict("records"):
        texts = shown_estimate(row)
        is_primary = not is_whole and row["metric"] == shown.primary
        row |= {"group": say(row["group"]) if is_whole else "", "primary": is_primary}
        cells = {**texts, "ratio": texts["ratio"] or f"n = {texts['n']}"}
        rows.append({**row, "id": anchor("metric", row["metric"]), "cells": cells})
    level = say("{level} interval", level=shown.resampling.percent)
    heads = {
        "title": say("Metric"),
        "strip": level,
        "value": say("value"),
        "interval": level,
        "ratio": say("of"),
    }
    return heads, say("All metrics") if is_whole else "", rows


def _differences(
    study: Study,
    compared: pd.DataFrame,
    is_whole: bool,
) -> Described:
    """The table of every candidate against the baseline; of several candidates a row each, below their metric."""
    several = len(study.candidates) > 1
    rows = []
    for row in compared.to_dict("records"):
        texts = shown_difference(row, f" {say('raw')}")
        cells = {**texts, "n": number(int(row["n_units"])), "verdict": verdict_text(row)}
        row |= {
            "value": row["delta"],
            "kind": VERDICTS.get(row["verdict"], "info"),
            "group": texts["title"] if several else "",
        }
        if several:
            cells["title"] = row["candidate"]
        rows.append({**row, "cells": cells})
    level = say("{level} interval", level=study.resampling.percent)
    heads = {
        "title": say("condition") if several else say("Metric"),
        "baseline": study.baseline,
        "candidate": say("candidate") if several else study.candidates[0],
        "strip": level,
        "difference": say("difference"),
        "interval": level,
        "p": say("p adj.") if compared["p_adjusted"].notna().sum() > 1 else "p",
        "n": "n",
        "verdict": say("verdict"),
    }
    caption = say("Difference from {baseline} (shared samples)", baseline=study.baseline)
    return heads, caption, rows


def with_axes(
    rows: Iterable[Row],
    metrics: MetricTable,
    *,
    differences: bool = False,
) -> list[dict[str, Any]]:
    """Estimates, or differences, each with its `axis`; those of one axis stand together.

    All rows of a metric have one axis, and so have all metrics with the same limits, and all changes of such.
    """
    limits = {formula.metric.name: formula.ends for formula in formulas_of(metrics)}
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


def trust_line(shown: Run | Study) -> HtmlTable:
    """Whether the numbers of a page can be believed, in a line that opens: how many checks failed, and their gist."""
    checks = all_checks(shown)
    levels = Counter(str(check.level) for check in checks)
    counts = []
    if any(run.manifest.incomplete for run in shown.results):
        counts.append(say("incomplete"))
    usual = shown.suite.headline(shown.options, frozenset())
    n_blocked = len(shown.blocked.intersection(usual))
    if shown.blocked:
        text = "{n} of {total} headline metrics cannot be measured"
        counts.append(say(text, n=n_blocked, total=len(usual)))
    kind = "error" if counts else "warning" if levels["warning"] else "good"
    for level, one, several in (
        ("warning", "1 caution", "{n} cautions"),
        ("info", "1 note", "{n} notes"),
    ):
        if n := levels[level]:
            counts.append(say(one if n == 1 else several, n=n))
    gists = [_gist(check.message) for check in checks if check.level != "info"][:2]
    gist = f": {listed(gists, '; ')}" if gists else ""
    return HtmlTable(
        macros().trust(
            " · ".join(counts) or say("No caution"),
            gist,
            kind,
            LEVEL_WORDS,
            checks,
        )
    )


def _gist(message: str) -> str:
    """The beginning of a sentence that says the most of it: up to a colon, a semicolon or GIST letters."""
    return clipped(re.split(r"[.:;] |[。；]", message)[0].rstrip("."), GIST)


def where_to_look(groups: Mapping[str, Sized]) -> HtmlTable:
    """Links to the groups of samples of the page: label -> its samples; those without any are left out."""
    links = []
    for label, members in groups.items():
        if len(members):
            links.append((f"{len(members):,}", label, anchor("group", label)))
    return HtmlTable(macros().look(links) if links else "")


def changed_cards(study: Study, candidate: str) -> pd.DataFrame:
    """The samples that carry a difference, each as often as it has a card: of a suite's own view one a row."""
    changed = changed_units(study, study.primary, candidate)
    if not study.suite.sample_view:
        return changed
    rows = []
    for condition in (study.baseline, candidate):
        rows += [data[study.suite.unit].value_counts() for data in study.frames(condition).values()]
    n_cards = pd.concat(rows, axis=1).max(axis=1).reindex(changed[study.suite.unit], fill_value=1)
    return changed.loc[changed.index.repeat(n_cards)]


# --- the screens


def run_screen(run: Run) -> HtmlTable:
    """The first screen of one run."""
    estimates = run.estimates_of(*run.headline)
    about = study_sentences.cover(estimates, run.resampling)
    if (estimates["ci_low"].notna() & (estimates["n_units"] < MIN_UNITS)).any():
        about.append(say("Open circle: fewer than {n} samples.", n=MIN_UNITS))
    own = run.suite.first_screen(run) if run.suite.first_screen else HtmlTable("")
    return _screen(
        run,
        run.name,
        study_sentences.run_finding(run),
        groups_of_run(run),
        [own, metric_table(run, *run.usual), words(" ".join(about))],
    )


def study_screen(study: Study) -> HtmlTable:
    """The first screen of several runs: the differences from the baseline, or of one condition its values."""
    if not study.seeded and len(study.results) == 1:
        return run_screen(study.results[0])
    groups: dict[str, Sized] = {}
    for name in study.candidates if study.primary else []:
        groups |= groups_of_change(changed_cards(study, name), name)
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
    shown: Run | Study,
    what: str,
    finding: study_sentences.Parts,
    groups: Mapping[str, Sized],
    numbers: Sequence[HtmlTable],
) -> HtmlTable:
    """The pieces that every first screen has, in their order; `what` is shown, and `groups` of units lead on."""
    kind = [say(shown.suite.title), what]
    if is_bundled(shown):
        kind.append(say("bundled example"))
    counts = sorted({run.n_units for run in shown.results})
    ends = "–".join(map(number, dict.fromkeys([counts[0], counts[-1]])))
    of_what = f"({shown.suite.unit})"
    if n_samples := max(run.n_clustered for run in shown.results):
        of_what = say("clusters of {samples} samples", samples=n_samples)
    size = f"n = {ends} {of_what} · {short_signature(shown)}"
    pieces = [
        HtmlTable(macros().first(kind, size, *finding)),
        trust_line(shown),
        where_to_look(groups),
        *numbers,
    ]
    return stack(pieces)
