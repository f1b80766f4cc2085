"""What a reader of summary scores must know before believing a number: what was not measured, or not read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...core.check import Check, Level, duplicate_texts
from ...core.language import Message
from . import people
from .verdicts import verdicts

if TYPE_CHECKING:
    from ...report.run import Run

UNMEASURED = 0.2
"""With more than a fifth of the cases left out, the mean of the rest can be 0.2 away from that of all."""

IMPUTED = 0.05
"""Imputed numbers move a mean by at most their share of the cases; 0.05 is about half an interval of 300 cases."""

UNREAD = 0.05
"""One summary in twenty with a figure that nothing compares is what the default rules leave of fresh cases."""

SHOWN = 5
"""How many of the figures the sentence shows."""

DUPLICATES = 0.05
"""Stock answers for a few odd cases are common; from one case in twenty on the system answers many alike."""


def checks(result: Run) -> Iterator[Check]:
    """The checks of a file of cases."""
    data = result.data
    yield from duplicate_texts(data[data["contexts"] != "[]"], "contexts", "case_id")
    yield from unmeasured_share(result)
    yield from imputed_share(result)
    yield from unread_figures(data)
    yield from duplicate_answers(data["answer"])
    yield from people.checks(data, result.options)


def _left_out(result: Run, above: float) -> list[dict[Any, Any]]:
    """The rows of `verdicts` of the metrics that more than that share of the cases give nothing to measure for."""
    found = verdicts(result)
    return found[found["not_measured"] > above * len(result.data)].to_dict("records")


def unmeasured_share(run: Run) -> Iterator[Check]:
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
    yield Check("unmeasured-share", "warning", template, {"listed": tuple(listed)}, n, total)


def imputed_share(run: Run) -> Iterator[Check]:
    """Means over all cases that rest on numbers which stand for cases that were not measured (D14)."""
    total = len(run.data)
    rows = _left_out(run, IMPUTED)
    if not rows:
        return
    listed = tuple(_imputed(run.data, row) for row in rows)
    template = "means over all {of} cases hold fixed numbers for those not measured: {listed}"
    n = max(row["not_measured"] for row in rows)
    yield Check("imputed-share", "info", template, {"listed": listed}, n, total)


def _imputed(data: pd.DataFrame, row: dict[Any, Any]) -> Message:
    """The mean of a metric over the measured cases, and over all, with what those not measured count as."""
    metric = row["metric"]
    measured = Message("none measured")
    if row["measured"]:
        values = {"mean": row["mean_measured"], "count": row["measured"]}
        measured = Message("{mean:.3f} over the {count} measured", values)
    counted = sorted(data.loc[~data[f"{metric}_measured"].astype(bool), metric].unique())
    return Message(
        "“{metric}” {measured}, {mean:.3f} with {count} counted as {values}",
        {
            "metric": Message(row["title"]),
            "measured": measured,
            "mean": row["mean"],
            "count": row["not_measured"],
            "values": " / ".join(f"{value:.1f}" for value in counted),
        },
    )


def unread_figures(data: pd.DataFrame) -> Iterator[Check]:
    """Summaries with figures that no rule read: neither supported nor unsupported, they are compared with nothing."""
    if "unread_figures" not in data:  # written by an earlier version
        return
    unread = data["unread_figures"].map(json.loads)
    figures = [figure for of_case in unread for figure in of_case]
    if n := int((unread.str.len() > 0).sum()):
        level: Level = "warning" if n > UNREAD * len(data) else "info"
        some = list(dict.fromkeys(figures))
        quoted = [f"“{figure}”" for figure in some[:SHOWN]]
        if len(some) > SHOWN:
            quoted.append("...")
        template = (
            "{figures} figures in {n} of {of} summaries were not read as values, so nothing "
            "checks them: {listed}"
        )
        values = {"figures": len(figures), "listed": tuple(quoted)}
        yield Check("unread-figures", level, template, values, n, len(data))


def duplicate_answers(answers: pd.Series) -> Iterator[Check]:
    """One summary for several cases."""
    texts = answers.fillna("").astype(str).map(lambda text: " ".join(text.split()))
    counts = texts[texts != ""].value_counts()
    counts = counts[counts > 1]
    if (n := int(counts.sum())) > DUPLICATES * len(texts):
        template = "{n} of {of} cases have a summary that stands on other cases too ({count} texts)"
        values = {"count": len(counts)}
        yield Check("duplicate-answers", "warning", template, values, n, len(texts))
