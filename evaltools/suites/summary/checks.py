"""What a reader must know before believing a number: what was not measured, or not read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd

from ...core.check import AnyCheck, CheckKind, Level
from ...core.common_checks import DUPLICATE_TEXTS, duplicate_texts
from ...core.language import Message
from ...report.sentences import label_message
from . import people
from .options import SummaryOptions
from .states import JUDGED
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

NOT_JUDGED = CheckKind(
    code="not-judged",
    title="questions to which the judge gave no usable reply",
    applies="With `--judge hybrid`.",
    advice="Read the reason: a server that cannot be reached or a wrong model fails every question. The rules decide"
    " these cases; run the command again once the judge answers.",
)

LABELS_NOT_RANDOM = CheckKind(
    code="labels-not-random",
    title="labelled cases that cannot have been drawn at random",
    applies="With `--labels`.",
    advice="Draw the cases to label at random: labels of failures only say nothing of the rest.",
)

KINDS = (
    DUPLICATE_TEXTS,
    UNMEASURED_SHARE,
    IMPUTED_SHARE,
    UNREAD_FIGURES,
    DUPLICATE_ANSWERS,
    NOT_JUDGED,
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
    yield from not_measured(run)
    yield from unread_figures(data)
    yield from duplicate_answers(data["answer"])
    yield from not_judged(data, run.options)
    yield from labels_not_random(data, run.options)


LEFT_OUT = {
    UNMEASURED_SHARE: "not measured, of {of} cases: {listed}; their means over measured cases speak for those only",
    IMPUTED_SHARE: "means over all {of} cases hold fixed numbers for those not measured: {listed}",
}
"""What is said of metrics for which many cases give nothing to measure."""


def not_measured(run: Run) -> Iterator[AnyCheck]:
    """Metrics that many cases give nothing to measure for, and their means over all cases, which hold fixed numbers for
    these (D14). n is of the metric that lacks most.
    """
    verdicts = metric_verdicts(run)
    total = len(run.data)
    limits: list[tuple[CheckKind, float, Level]] = [
        (UNMEASURED_SHARE, UNMEASURED, "warning"),
        (IMPUTED_SHARE, IMPUTED, "info"),
    ]
    for kind, limit, level in limits:
        rows = verdicts[verdicts["not_measured"] > limit * total]
        if rows.empty:
            continue
        listed = []
        for title, n in zip(rows["title"], rows["not_measured"]):
            values = {"title": Message(title), "count": n, "share": n / total}
            listed.append(Message("“{title}” {count} ({share:.0%})", values))
        n_most = int(rows["not_measured"].max())
        yield kind.failed(level, LEFT_OUT[kind], {"listed": tuple(listed)}, n_most, total)


def unread_figures(data: pd.DataFrame) -> Iterator[AnyCheck]:
    """Summaries with figures that no rule read: they are compared with nothing."""
    of_cases = [figures for figures in map(json.loads, data["unread_figures"]) if figures]
    if not of_cases:
        return
    figures = [figure for of_case in of_cases for figure in of_case]
    quoted = [f"“{figure}”" for figure in dict.fromkeys(figures)]
    if len(quoted) > SHOWN:
        quoted[SHOWN:] = ["..."]
    n = len(of_cases)
    level: Level = "warning" if n > UNREAD * len(data) else "info"
    template = (
        "{figures} figures in {n} of {of} summaries were not read as values, so nothing checks "
        "them: {listed}"
    )
    values = {"figures": len(figures), "listed": tuple(quoted)}
    yield UNREAD_FIGURES.failed(level, template, values, n, len(data))


def duplicate_answers(answers: pd.Series) -> Iterator[AnyCheck]:
    """One summary for several cases."""
    texts = answers.fillna("").str.split().str.join(" ")
    texts = texts[texts != ""]
    if texts.empty:
        yield DUPLICATE_ANSWERS.not_applicable("no case has a summary")
    repeated = texts[texts.duplicated(keep=False)]
    n = len(repeated)
    if n > DUPLICATES * len(answers):
        template = "{n} of {of} cases have a summary that stands on other cases too ({count} texts)"
        values = {"count": repeated.nunique()}
        yield DUPLICATE_ANSWERS.failed("warning", template, values, n, len(answers))


def not_judged(data: pd.DataFrame, options: SummaryOptions) -> Iterator[AnyCheck]:
    """Questions to which the judge gave no usable reply, with the commonest reason."""
    if options.judge == "off":
        yield NOT_JUDGED.not_applicable("no judge was asked")
        return
    errors: Counter[str] = Counter()
    n_asked = 0
    for metric in JUDGED:
        for evidence in map(json.loads, data[f"{metric}_evidence"]):
            if "judge" in evidence:
                n_asked += 1
                errors[evidence["judge"]["error"] or ""] += 1
    del errors[""]
    if errors:
        template = "the judge gave no usable reply to {n} of {of} questions: {reason}"
        reason, _ = errors.most_common(1)[0]
        n = errors.total()
        yield NOT_JUDGED.failed("warning", template, {"reason": Message(reason)}, n, n_asked)


def labels_not_random(data: pd.DataFrame, options: SummaryOptions) -> Iterator[AnyCheck]:
    """Labels that were not drawn at random."""
    if not options.labelled:
        yield LABELS_NOT_RANDOM.not_applicable("no labels of people were given")
        return
    for metric, note in people.calibration(data, options).notes.items():
        n = int(data[f"{metric}_label"].notna().sum())
        said = label_message(metric, note)
        yield LABELS_NOT_RANDOM.failed("warning", said.template, said.values, n, len(data))
