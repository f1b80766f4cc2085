"""What a reader of dialogue measures must know before believing a number: replies that are none, a constant truth."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd

from ...core.check import Check, Level, duplicate_texts
from ...core.language import Message
from .rules import LABELS

if TYPE_CHECKING:
    from ...report.run import Run

MANY = 0.05
"""More than this share matters: the interval of a rate over 300 turns is about 0.05 wide to either side."""

MOST = 0.5
"""From this share on a number says more of the echo than of the rest."""

FROM_REPLIES = ("m1_contradiction", "m3_", "m4_", "m5_")
"""How the names of the metrics begin that are read from what the system replied."""


def checks(result: Run) -> Iterator[Check]:
    """The checks of a run; those of replies are over the turns that were answered."""
    data = result.data
    turns = data[data["turn_pair_id"].notna()]
    said = turns.groupby("dialog_id", sort=False)["user_text"].agg("\n".join).reset_index()
    yield from duplicate_texts(said, "user_text", "dialog_id")
    answered = turns[turns["turn_status"] == "ok"]
    if len(answered):
        replies, compliant = (
            _plain(answered["reply"]),
            answered["pred_compliance_label"] == LABELS[0],
        )
        yield from echo_replies(result, replies, _plain(answered["user_text"]), compliant)
        yield from empty_replies(replies, compliant)
        yield from duplicate_replies(replies)
        yield from one_class_truth(answered)


def _plain(texts: pd.Series) -> pd.Series:
    """Every run of white space one blank, none at the ends."""
    return texts.fillna("").astype(str).map(lambda text: " ".join(text.split()))


def echo_replies(
    result: Run, replies: pd.Series, asked: pd.Series, compliant: pd.Series
) -> Iterator[Check]:
    """Replies that are the user's own text: users break few rules, so that compliance is high for nothing."""
    echo = (replies == asked) & (replies != "")
    n, of = int(echo.sum()), len(replies)
    if n <= MANY * of:
        return
    level: Level = "blocking" if n >= MOST * of else "warning"
    blocks = tuple(_of_replies(result)) if level == "blocking" else ()
    template = (
        "{n} of {of} replies are the user's own text ({compliant} of them labelled compliant):"
        " on these turns, metrics of replies describe the user"
    )
    values = {"compliant": int(compliant[echo].sum())}
    yield Check("echo-replies", level, template, values, n, of, blocks)


def _of_replies(result: Run) -> Iterator[str]:
    """The metrics read from replies; those of the profile (M2) where replies have filled in most of its fields."""
    origins = [
        f["origin"] for fields in result.data["profile"].dropna() for f in json.loads(fields) or ()
    ]
    filled = [origin in ("replies", "both") for origin in origins if origin != "none"]
    begins = (
        (*FROM_REPLIES, "m2_") if filled and sum(filled) >= MOST * len(filled) else FROM_REPLIES
    )
    return (m.name for m in result.metrics if m.name.startswith(begins) and m.group != "Run")


def empty_replies(replies: pd.Series, compliant: pd.Series) -> Iterator[Check]:
    """Turns that count as answered without a word."""
    empty = replies == ""
    n, of = int(empty.sum()), len(replies)
    if n > MANY * of:
        labelled = int(compliant[empty].sum())
        template = (
            "{n} of {of} turns count as answered but have an empty reply ({labelled} of them "
            "labelled compliant)"
        )
        yield Check("empty-replies", "warning", template, {"labelled": labelled}, n, of)


def duplicate_replies(replies: pd.Series) -> Iterator[Check]:
    """One text as the reply to many turns."""
    counts = replies[replies != ""].value_counts()
    counts, of = counts[counts > 1], len(replies)
    if (n := int(counts.sum())) > MANY * of:
        texts = Message("one text")
        if len(counts) > 1:
            most = int(counts.iloc[0])
            values = {"count": len(counts), "most": most}
            texts = Message("{count} texts, the commonest on {most}", values)
        template = "{n} of {of} turns have a reply that stands on other turns too ({texts})"
        yield Check("duplicate-replies", "warning", template, {"texts": texts}, n, of)


def one_class_truth(answered: pd.DataFrame) -> Iterator[Check]:
    """M4 where every true label is the same, so that the label need not be read to be right."""
    n, labels = len(answered), answered["gt_compliance_label"].unique()
    if n > 1 and len(labels) == 1:
        right = answered["m4_correct"].mean()
        template = (
            "the true compliance label counts as “{label}” on all {n} answered turns: giving "
            "always that one would score 1.000 on compliance accuracy, this run has {value}"
        )
        values = {"label": str(labels[0]), "value": f"{right:.3f}"}
        yield Check("one-class-truth", "warning", template, values, n, n)
