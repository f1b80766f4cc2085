"""What statistics say, in words: verdicts, p, and notes.

The statistics give words of their own (a verdict, the code of a note) and numbers; every sentence
on them, on a page, in the terminal, in a workbook or in a paper, is made here. The English
templates are the keys of the translations in `lang/`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..core.estimates import Row
from ..core.language import Message, say
from ..core.metric import metric_title
from ..core.resampling import Resampling
from ..stats.calibration import Drawn
from ..stats.compare import ROUGH
from ..stats.differences import equivalence_confidence
from ..stats.intervals import MIN_UNITS
from .markdown import number
from .tables import interval


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
    'too few: 40 pairs, 3 differ'
    """
    verdict = row["verdict"]
    if verdict == "too few":
        n = int(row["n_units"])
        return say("too few: {n} pairs, {differ} differ", n=n, differ=int(row["n_differ"]))
    text = say(verdict_word(verdict))
    if verdict == "equivalent":
        text += f" (±{row['margin']:g})"
    if verdict in ("better", "worse", "equivalent") and not row["family"]:
        text += " " + say("(exploratory)")
    return text


FINDINGS = {
    "not measured": "{b} cannot be compared with {a} on “{title}”",
    "better": "{b} is better than {a} on “{title}”",
    "worse": "{b} is worse than {a} on “{title}”",
    "equivalent": "{b} is equivalent to {a} on “{title}” within {margin}",
    "tied": "{b} is not shown to differ from {a} on “{title}”",
    "too few": "Too few units to judge {b} against {a} on “{title}”",
    "few differ": "Too few units differ to tell {b} from {a} on “{title}”",
}
"""What the row of a primary metric says, by its verdict; "few differ" is "too few" of units enough."""

DETAILS = "{x} against {y}, a difference of {delta}, {level} interval {bounds}, {p}."

OTHER_DETAILS = {
    "not measured": "it is not measured on both sides.",
    "too few": "{x} against {y}, a difference of {delta}, {level} interval {bounds}; {n} paired units, of which {differ} "
    "differ, are too few for a verdict.",
    "few differ": "{x} against {y}, a difference of {delta}, {level} interval {bounds}; {differ} of {n} paired units "
    "differ, too few for a verdict.",
}
"""The numbers behind a verdict that is none; behind all others stand DETAILS."""


def whole_sentence(
    finding: str,
    details: str,
) -> str:
    """A finding and the numbers behind it as one sentence; the finding alone where there are none."""
    return say("{finding}: {details}", finding=finding, details=details) if details else finding


def verdict_parts(
    row: Row,
    resampling: Resampling,
) -> tuple[str, str]:
    """The finding of the row of a primary metric, which is the title of its page, and the numbers behind it.

    Behind an equivalence stands the interval that lies within the margin.
    """
    verdict = row["verdict"]
    level, bounds = resampling.percent, interval(row, signed=True)
    if verdict == "equivalent":
        level = f"{100 * equivalence_confidence(resampling.confidence):.4g}%"
        ends = {"ci_low": row["equivalence_low"], "ci_high": row["equivalence_high"]}
        bounds = interval(ends, signed=True)
    if verdict == "too few" and row["n_units"] >= MIN_UNITS:
        verdict = "few differ"
    # of several conditions the p for all pairs of them
    is_adjusted = not pd.isna(row["p_adjusted"]) and row["p_adjusted"] != row["p_value"]
    p = p_equation(row["p_adjusted"] if is_adjusted else row["p_value"])
    finding = say(
        FINDINGS[verdict],
        a=row["baseline"],
        b=row["candidate"],
        title=say(metric_title(row["metric"], row["title"])),
        margin=f"±{row['margin']:g}",
    )
    details = say(
        OTHER_DETAILS.get(verdict, DETAILS),
        x=number(row["value_candidate"]),
        y=number(row["value_baseline"]),
        delta=number(row["delta"], signed=True),
        level=level,
        bounds=bounds or "–",
        p=f"{p} {say('(adjusted)')}" if is_adjusted else p,
        n=int(row["n_units"]),
        differ=int(row["n_differ"]),
    )
    return finding, details


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
