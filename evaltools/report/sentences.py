"""What statistics say, in words: verdicts, p, and notes.

The statistics give words of their own (a verdict, the code of a note) and numbers; every sentence
on them, on a page, in the terminal, in a workbook or in a paper, is made here. The English
templates are the keys of the translations in `lang/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..core.language import Message, say
from ..core.metric import metric_title
from ..stats.calibration import Drawn
from ..stats.compare import ROUGH
from ..stats.equivalence import equivalence_confidence, within_margin
from ..stats.intervals import MIN_UNITS
from .markdown import number

Row = Mapping[Any, Any]
"""A row of `stats.compare.Comparison.table`."""


def p_text(p: float) -> str:
    """A p value in three digits, as in a table; "" for none.

    >>> p_text(0.00004), p_text(0.0312)
    ('< 0.001', '0.031')
    """
    if pd.isna(p):
        return ""
    return "< 0.001" if p < 0.001 else number(float(p))


def p_equation(p: float) -> str:
    """A p value as in a sentence.

    >>> p_equation(0.00004), p_equation(0.0312)
    ('p < 0.001', 'p = 0.031')
    """
    return f"p {p_text(p)}" if p < 0.001 else f"p = {p_text(p)}"


def mde_text(row: Row) -> str:
    """The smallest difference that could be shown, with the digits that are known; "" for none.

    >>> mde_text({"mde": 0.1, "df": 30}), mde_text({"mde": 0.1, "df": 2})
    ('0.10', '0.1')
    """
    if pd.isna(row["mde"]):
        return ""
    digits = 1 if row["df"] < ROUGH else 2
    text = np.format_float_positional(
        row["mde"],
        digits,
        unique=False,
        fractional=False,
        trim="k",
    )
    return text.removesuffix(".")


UNDECIDED = ("too few", "not measured")
"""Verdicts that are none: pages and figures show them in grey."""

NO_VERDICT = "No verdict: too few units, or not measured"


def verdict_word(verdict: str) -> str:
    """A verdict as it is shown, in English: nobody shall take "tied" for equality.

    >>> verdict_word("tied"), verdict_word("better")
    ('not shown to differ', 'better')
    """
    return "not shown to differ" if verdict == "tied" else verdict


def verdict_text(row: Row) -> str:
    """The verdict of a row as it stands beside the metric's numbers.

    >>> row = {"verdict": "too few", "n_units": 40, "n_differ": 3}
    >>> verdict_text(row)
    'too few: 3 of 40 differ'
    """
    verdict, n, differ = row["verdict"], int(row["n_units"]), int(row["n_differ"])
    if verdict == "too few":
        if n < MIN_UNITS:
            return say("too few pairs: {n}", n=n)
        return say("too few: {differ} of {n} differ", n=n, differ=differ)
    text = say(verdict_word(verdict))
    if verdict in ("tied", "not measured"):
        return text
    if verdict != "equivalent" and within_margin(row):
        text += say(", and within the margin")
    if not row["family"]:
        text += " " + say("(exploratory)")
    return text


FINDINGS = {
    "not measured": "{b} cannot be compared with {a} {on}",
    "better": "{b} is better{beside} than {a} {on}",
    "worse": "{b} is worse{beside} than {a} {on}",
    "equivalent": "{b} is equivalent{beside} to {a} {on} within {margin}",
    "tied": "{b} is not shown to differ from {a} {on}",
    "too few": "Too few units to judge {b} against {a} {on}",
}
"""What a row says, by its verdict."""

DETAILS = {
    "not measured": "it is not measured on both sides.",
    "better": "{numbers}, {difference}, {p}.{also}",
    "worse": "{numbers}, {difference}, {p}.{also}",
    "equivalent": "{numbers}, {difference}.",
    "tied": "{numbers}, {difference}, {p}.{also}",
    "too few": "{numbers}, {difference}; {why}.",
}
"""The numbers behind it."""


def whole_sentence(finding: str, details: str) -> str:
    """A finding and the numbers behind it as one sentence; the finding alone where there are none."""
    return say("{finding}: {details}", finding=finding, details=details) if details else finding


def verdict_parts(
    row: Row,
    confidence: float = 0.95,
) -> tuple[str, str]:
    """The finding of a row, which is the title of its page, and the numbers behind it."""
    verdict = row["verdict"]
    finding = say(
        FINDINGS[verdict],
        a=row["baseline"],
        b=row["candidate"],
        on=on_metric(row),
        beside="" if row["family"] else " " + say("(exploratory: outside the headline)"),
        margin=_margin(row),
    )
    numbers = say(
        "{x} against {y}",
        x=number(row["value_candidate"]),
        y=number(row["value_baseline"]),
    )
    details = say(
        DETAILS[verdict],
        numbers=numbers,
        difference=_difference(row, confidence),
        p=_tested_p(row),
        also=_on_interval(row, confidence) + _on_margin(row),
        why=_why_too_few(row),
    )
    return finding, details


def on_metric(row: Row) -> str:
    """The metric of a row as it stands in a sentence: on “Micro F1”."""
    return say("on “{title}”", title=say(metric_title(row["metric"], row["title"])))


def _difference(
    row: Row,
    confidence: float,
) -> str:
    """The difference of a row with its interval: for "equivalent" the one that lies within the
    margin.
    """
    which, level = "ci", confidence
    if row["verdict"] == "equivalent":
        which, level = "equivalence", equivalence_confidence(confidence)
    low, high = row[f"{which}_low"], row[f"{which}_high"]
    interval = ""
    if pd.notna(low):
        interval = say(
            ", {level} interval [{low}, {high}]",
            level=f"{level:.0%}",
            low=number(low, signed=True),
            high=number(high, signed=True),
        )
    delta = number(row["delta"], signed=True)
    return say(
        "a difference of {delta}{interval}",
        delta=delta,
        interval=interval,
    )


def _tested_p(row: Row) -> str:
    """The p that the verdict rests on: adjusted in the family; of the primary metric over several conditions."""
    text = p_equation(_decisive_p(row))
    tested_alone = row["primary"] and row["p_adjusted"] == row["p_value"]
    if tested_alone or pd.isna(row["p_adjusted"]):
        return text
    return f"{text} {say('(adjusted)')}"


def _decisive_p(row: Row) -> float:
    """The p that the verdict rests on: the adjusted one, where there is one."""
    return row["p_value"] if pd.isna(row["p_adjusted"]) else row["p_adjusted"]


def _on_interval(row: Row, confidence: float) -> str:
    """Why a small p makes no verdict, a sentence; "" for a verdict, and where p is not small."""
    is_small = _decisive_p(row) <= 1 - confidence
    if row["verdict"] != "tied" or not is_small:
        return ""
    return say(" A verdict needs an interval that leaves out 0, too.")


def _margin(row: Row) -> str:
    return f"±{row['margin']:g}"


def _on_margin(row: Row) -> str:
    """What the declared margin adds to the verdict, a sentence; "" for none."""
    if row["verdict"] == "tied":
        if pd.isna(row["equivalence_low"]):
            return ""
        return say(" Nor is it shown to be equivalent within {margin}.", margin=_margin(row))
    if within_margin(row):
        return say(" The difference lies within the margin of {margin}.", margin=_margin(row))
    return ""


def _why_too_few(row: Row) -> str:
    """Why there are too few units for a verdict, part of a sentence."""
    n, differ = int(row["n_units"]), int(row["n_differ"])
    if n < MIN_UNITS:
        return say("{n} paired units, and a verdict needs {least}", n=n, least=MIN_UNITS)
    text = "{differ} of {n} paired units differ, too few to be told from chance"
    return say(text, differ=differ, n=n)


OF_LABELS = {
    "labels-of-passes": "{metric}: labels are of passes only (mean score {mean}, of all cases {all}): they say nothing "
    "of the others",
    "labels-of-failures": "{metric}: labels are of failures only (mean score {mean}, of all cases {all}): they say "
    "nothing of the others",
    "labels-of-low": "{metric}: labels are rather of cases with low scores (mean score {mean}, of all cases {all}): "
    "they were not drawn at random",
    "labels-of-high": "{metric}: labels are rather of cases with high scores (mean score {mean}, of all cases {all}): "
    "they were not drawn at random",
}
"""Code of `stats.calibration.Drawn` -> what a reader must know of the labels."""


def label_message(
    metric: str,
    drawn: Drawn,
) -> Message:
    """What a reader must know of how the labels of a metric were drawn."""
    means = {"mean": number(drawn.mean, 2), "all": number(drawn.mean_of_all, 2)}
    return Message(OF_LABELS[drawn.code], {"metric": metric, **means})
