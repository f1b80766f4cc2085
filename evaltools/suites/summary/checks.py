"""What a reader must know before believing a number: what was not measured, or not read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...core.check import AnyCheck, CheckKind, Level
from ...core.common_checks import DUPLICATE_TEXTS, duplicate_texts
from ...core.language import Message
from ...report.sentences import label_message
from . import people
from .options import SummaryOptions
from .verdicts import metric_verdicts

if TYPE_CHECKING:
    from ...report.run import Run

UNMEASURED_SHARE = CheckKind(
    code="unmeasured-share",
    title="metrics that many cases give nothing to measure for",
    advice="Read the mean over measured cases with its n. Give contexts and tags (`contexts`, `summary_tags`) for the"
    " cases that lack them.",
)

IMPUTED_SHARE = CheckKind(
    code="imputed-share",
    title="means that rest on numbers which stand for what was not measured",
    advice="Use the mean over measured cases; the mean over all is kept for tools that expect it.",
)

UNREAD_FIGURES = CheckKind(
    code="unread-figures",
    title="figures of a summary that no rule could read",
    advice="Read these summaries yourself, or ask the judge (`--judge`): nothing compares such a figure with the"
    " source.",
)

DUPLICATE_ANSWERS = CheckKind(
    code="duplicate-answers",
    title="one summary for several cases",
    applies="Where cases have summaries.",
    advice="Look whether the system answers different cases alike, or the file repeats a row.",
)

LABELS_NOT_RANDOM = CheckKind(
    code="labels-not-random",
    title="labelled cases that cannot have been drawn at random",
    applies="With `--labels`.",
    advice="Draw the cases to label at random (`evaltools label` does): labels of failures only say nothing of the"
    " rest.",
)

KINDS = (
    DUPLICATE_TEXTS,
    UNMEASURED_SHARE,
    IMPUTED_SHARE,
    UNREAD_FIGURES,
    DUPLICATE_ANSWERS,
    LABELS_NOT_RANDOM,
)

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


def checks(run: Run) -> Iterator[AnyCheck]:
    """The checks of a file of cases."""
    data = run.data
    with_contexts = data[data["contexts"] != "[]"]
    yield from duplicate_texts(with_contexts, "contexts", "case_id")
    yield from unmeasured_share(run)
    yield from imputed_share(run)
    yield from unread_figures(data)
    yield from duplicate_answers(data["answer"])
    yield from labels_not_random(data, run.options)


def _left_out(run: Run, above: float) -> list[dict[Any, Any]]:
    """The verdicts of metrics for which more than a share `above` of the cases measure nothing."""
    rows = metric_verdicts(run)
    return rows[rows["not_measured"] > above * len(run.data)].to_dict("records")


def unmeasured_share(run: Run) -> Iterator[AnyCheck]:
    """Metrics that many cases give nothing to measure for. n is of the metric that lacks most."""
    total = len(run.data)
    rows = _left_out(run, UNMEASURED)
    if not rows:
        return
    listed = []
    for row in rows:
        values = {
            "title": Message(row["title"]),
            "count": row["not_measured"],
            "share": row["not_measured"] / total,
        }
        listed.append(Message("“{title}” {count} ({share:.0%})", values))
    template = (
        "not measured, of {of} cases: {listed}; their means over measured cases speak for those "
        "only"
    )
    n = max(row["not_measured"] for row in rows)
    yield UNMEASURED_SHARE.failed("warning", template, {"listed": tuple(listed)}, n, total)


def imputed_share(run: Run) -> Iterator[AnyCheck]:
    """Means over all cases in which fixed numbers stand for those not measured (D14)."""
    total = len(run.data)
    rows = _left_out(run, IMPUTED)
    if not rows:
        return
    listed = _imputed(run.data, rows[0])
    for row in rows[1:]:
        values = {"before": listed, "next": _imputed(run.data, row)}
        listed = Message("{before}; {next}", values)
    template = "means over all {of} cases hold fixed numbers for those not measured: {listed}"
    n = max(row["not_measured"] for row in rows)
    yield IMPUTED_SHARE.failed("info", template, {"listed": listed}, n, total)


def _imputed(data: pd.DataFrame, row: dict[Any, Any]) -> Message:
    """The mean over the measured cases, and over all, with what those not measured count as."""
    metric = row["metric"]
    measured = Message("none measured")
    if row["measured"]:
        values = {"mean": row["mean_measured"], "count": row["measured"]}
        measured = Message("{mean:.3f} over the {count} measured", values)
    unmeasured = ~data[f"{metric}_measured"].astype(bool)
    numbers = sorted(data.loc[unmeasured, metric].unique())
    return Message(
        "“{metric}” {measured}, {mean:.3f} with {count} counted as {values}",
        {
            "metric": Message(row["title"]),
            "measured": measured,
            "mean": row["mean"],
            "count": row["not_measured"],
            "values": " / ".join(f"{number:.1f}" for number in numbers),
        },
    )


def unread_figures(data: pd.DataFrame) -> Iterator[AnyCheck]:
    """Summaries with figures that no rule read: they are compared with nothing."""
    if "unread_figures" not in data:  # written by an earlier version
        yield UNREAD_FIGURES.not_applicable("the result was written by an earlier version")
        return
    n = 0
    figures = []
    for text in data["unread_figures"]:
        of_case = json.loads(text)
        figures += of_case
        if of_case:
            n += 1
    if n == 0:
        return
    level: Level = "warning" if n > UNREAD * len(data) else "info"
    different = list(dict.fromkeys(figures))
    quoted = [f"“{figure}”" for figure in different[:SHOWN]]
    if len(different) > SHOWN:
        quoted.append("...")
    template = (
        "{figures} figures in {n} of {of} summaries were not read as values, so nothing checks "
        "them: {listed}"
    )
    values = {"figures": len(figures), "listed": tuple(quoted)}
    yield UNREAD_FIGURES.failed(level, template, values, n, len(data))


def duplicate_answers(answers: pd.Series) -> Iterator[AnyCheck]:
    """One summary for several cases."""
    texts = answers.fillna("").astype(str).map(lambda text: " ".join(text.split()))
    texts = texts[texts != ""]
    if texts.empty:
        yield DUPLICATE_ANSWERS.not_applicable("no case has a summary")
        return
    counts = texts.value_counts()
    repeated = counts[counts > 1]
    n = int(repeated.sum())
    if n > DUPLICATES * len(answers):
        template = "{n} of {of} cases have a summary that stands on other cases too ({count} texts)"
        values = {"count": len(repeated)}
        yield DUPLICATE_ANSWERS.failed("warning", template, values, n, len(answers))


def labels_not_random(data: pd.DataFrame, options: SummaryOptions) -> Iterator[AnyCheck]:
    """Labels that were not drawn at random."""
    if not options.labelled:
        yield LABELS_NOT_RANDOM.not_applicable("no labels of people were given")
        return
    for metric, note in people.calibration(data, options, 0.95).notes.items():
        n_labelled = int(data[f"{metric}_label"].notna().sum())
        message = label_message(metric, note)
        yield LABELS_NOT_RANDOM.failed(
            "warning",
            message.template,
            message.values,
            n_labelled,
            len(data),
        )
