"""What a reader of summary scores must know before believing a number: what was not measured, or not read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pandas as pd

from ...core.check import Check, Level, duplicate_texts
from ...core.results import Result
from . import people
from .verdicts import verdicts

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


def checks(result: Result) -> Iterator[Check]:
    """The checks of a file of cases."""
    data = result.data
    yield from duplicate_texts(data[data["contexts"] != "[]"], "contexts", "case_id")
    yield from unmeasured_share(result)
    yield from imputed_share(result)
    yield from unread_figures(data)
    yield from duplicate_answers(data["answer"])
    yield from people.checks(data, result.options)


def _left_out(result: Result, above: float) -> list[dict[Any, Any]]:
    """The rows of `verdicts` of the metrics that more than that share of the cases give nothing to measure for."""
    found = verdicts(result)
    return found[found["not_measured"] > above * len(result.data)].to_dict("records")


def unmeasured_share(result: Result) -> Iterator[Check]:
    """Metrics that many cases give nothing to measure for. n is of the metric that lacks most."""
    total = len(result.data)
    if found := _left_out(result, UNMEASURED):
        listed = ", ".join(
            f"“{m['title']}” {m['not_measured']} ({m['not_measured'] / total:.0%})" for m in found
        )
        message = f"not measured, of {total} cases: {listed}; their means over measured cases speak for those only"
        yield Check(
            "unmeasured-share", "warning", message, max(m["not_measured"] for m in found), total
        )


def imputed_share(result: Result) -> Iterator[Check]:
    """Means over all cases that rest on numbers which stand for cases that were not measured (D14)."""
    total = len(result.data)
    if found := _left_out(result, IMPUTED):
        listed = "; ".join(_imputed(result.data, **m) for m in found)
        message = (
            f"means over all {total} cases hold fixed numbers for those not measured: {listed}"
        )
        yield Check("imputed-share", "info", message, max(m["not_measured"] for m in found), total)


def _imputed(
    data: pd.DataFrame, metric: str, title: str, mean: float, not_measured: int, **row: Any
) -> str:
    led = (
        f"{row['mean_measured']:.3f} over the {row['measured']} measured"
        if row["measured"]
        else "none measured"
    )
    values = sorted(data.loc[~data[f"{metric}_measured"].astype(bool), metric].unique())
    counted = " / ".join(f"{v:.1f}" for v in values)
    return f"“{title}” {led}, {mean:.3f} with {not_measured} counted as {counted}"


def unread_figures(data: pd.DataFrame) -> Iterator[Check]:
    """Summaries with figures that no rule read: neither supported nor unsupported, they are compared with nothing."""
    if "unread_figures" not in data:  # written by an earlier version
        return
    unread = data["unread_figures"].map(json.loads)
    figures = [figure for of_case in unread for figure in of_case]
    if n := int((unread.str.len() > 0).sum()):
        level: Level = "warning" if n > UNREAD * len(data) else "info"
        some = list(dict.fromkeys(figures))
        shown = ", ".join(f"“{f}”" for f in some[:SHOWN]) + (", ..." if len(some) > SHOWN else "")
        message = f"{len(figures)} figures in {n} of {len(data)} summaries were not read as values, so nothing checks them"
        yield Check("unread-figures", level, f"{message}: {shown}", n, len(data))


def duplicate_answers(answers: pd.Series) -> Iterator[Check]:
    """One summary for several cases."""
    texts = answers.fillna("").astype(str).map(lambda text: " ".join(text.split()))
    counts = texts[texts != ""].value_counts()
    counts = counts[counts > 1]
    if (n := int(counts.sum())) > DUPLICATES * len(texts):
        message = f"{n} of {len(texts)} cases have a summary that stands on other cases too ({len(counts)} texts)"
        yield Check("duplicate-answers", "warning", message, n, len(texts))
