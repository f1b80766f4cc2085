"""What a reader must know before believing a number: what was not measured, or not read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

import pandas as pd

from ...core.check import Check, Level, duplicate_texts, share_check
from ...core.language import say
from ...report.run import Run
from .options import SummaryOptions
from .states import JUDGED, metric_verdicts

UNMEASURED = 0.2
"""With so many cases left out, the mean of the rest can be 0.2 away from that of all."""

IMPUTED = 0.05
"""Imputed numbers move a mean by at most their share of the cases; 0.05 is about half an interval
of 300 cases."""

UNREAD = 0.05
"""One summary in twenty with a figure that nothing compares is what the default rules leave of
fresh cases."""

SHOWN = 5
"""How many of the figures the sentence shows."""

DUPLICATES = 0.05
"""Stock answers for a few odd cases are common; from one case in twenty on the system answers many
alike."""


def checks(run: Run) -> Iterator[Check]:
    """The checks of a file of cases."""
    data = run.data
    with_contexts = data[data["contexts"] != "[]"]
    yield from duplicate_texts(with_contexts, "contexts", "case_id")
    yield from not_measured(run)
    yield from unread_figures(data)
    yield from duplicate_answers(data["answer"])
    yield from not_judged(data, run.options)


def not_measured(run: Run) -> Iterator[Check]:
    """Metrics that many cases give nothing to measure for, and their means over all cases, which hold fixed numbers for
    these (D14). n is of the metric that lacks most.
    """
    verdicts = metric_verdicts(run)
    total = len(run.data)
    texts: list[tuple[str, float, Level, str]] = [
        (
            "unmeasured-share",
            UNMEASURED,
            "warning",
            "not measured, of {of} cases: {metrics}; their means over measured cases speak for those only",
        ),
        (
            "imputed-share",
            IMPUTED,
            "info",
            "means over all {of} cases hold fixed numbers for those not measured: {metrics}",
        ),
    ]
    for code, limit, level, text in texts:
        rows = verdicts[verdicts["not_measured"] > limit * total]
        if rows.empty:
            continue
        metrics = [
            f"“{say(title)}” {n} ({n / total:.0%})"
            for title, n in zip(rows["title"], rows["not_measured"])
        ]
        n = rows["not_measured"].max()
        yield from share_check(
            code,
            level,
            text,
            n,
            total,
            metrics=metrics,
        )


def unread_figures(data: pd.DataFrame) -> Iterator[Check]:
    """Summaries with figures that no rule read: they are compared with nothing."""
    of_cases = [figures for figures in map(json.loads, data["unread_figures"]) if figures]
    figures = [figure for of_case in of_cases for figure in of_case]
    quoted = [f"“{figure}”" for figure in dict.fromkeys(figures)]
    if len(quoted) > SHOWN:
        quoted[SHOWN:] = ["..."]
    n, of = len(of_cases), len(data)
    level: Level = "warning" if n > UNREAD * of else "info"
    template = (
        "{figures} figures in {n} of {of} summaries were not read as values, so nothing checks "
        "them: {quoted}"
    )
    return share_check(
        "unread-figures",
        level,
        template,
        n,
        of,
        figures=len(figures),
        quoted=quoted,
    )


def duplicate_answers(answers: pd.Series) -> Iterator[Check]:
    """One summary for several cases."""
    texts = answers.fillna("").str.split().str.join(" ")
    texts = texts[texts != ""]
    repeated = texts[texts.duplicated(keep=False)]
    template = "{n} of {of} cases have a summary that stands on other cases too ({count} texts)"
    return share_check(
        "duplicate-answers",
        "warning",
        template,
        len(repeated),
        len(answers),
        above=DUPLICATES,
        count=repeated.nunique(),
    )


def not_judged(
    data: pd.DataFrame,
    options: SummaryOptions,
) -> Iterator[Check]:
    """Questions to which the judge gave no usable reply, with the commonest reason."""
    if options.judge == "off":
        return
    errors: Counter[str] = Counter()
    n_asked = 0
    for metric in JUDGED:
        for evidence in map(json.loads, data[f"{metric}_evidence"]):
            if "judge" in evidence:
                n_asked += 1
                errors[evidence["judge"]["error"] or ""] += 1
    del errors[""]
    template = "the judge gave no usable reply to {n} of {of} questions: {reason}"
    for reason, _ in errors.most_common(1):
        n = errors.total()
        yield from share_check(
            "not-judged",
            "warning",
            template,
            n,
            n_asked,
            reason=reason,
        )
