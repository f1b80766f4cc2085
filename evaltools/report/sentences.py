"""What statistics say, in words: verdicts, p, and notes.

The statistics give words of their own (a verdict, the code of a note) and numbers; every sentence on them, on a page, in
the terminal, in a workbook or in a paper, is made here. The English texts are the keys of the translations in `lang/`.
"""

from __future__ import annotations

import pandas as pd

from ..core.estimates import Row
from ..core.language import say
from ..core.metric import metric_title
from ..core.resampling import Resampling
from ..stats.intervals import MIN_UNITS
from ..stats.verdicts import equivalence_confidence
from .numbers import interval, number, p_equation

# verdicts that are none: pages and figures show them in grey
UNDECIDED = ("too few", "not measured")


def verdict_text(row: Row) -> str:
    """The verdict of a row as it stands beside the metric's numbers.

    >>> row = {"verdict": "too few", "short": "", "n_units": 40, "n_differ": 3}
    >>> verdict_text(row)
    'too few: 3 of 40 differ'
    """
    verdict = row["verdict"]
    if verdict == "too few":
        differ, n = int(row["n_differ"]), int(row["n_units"])
        return say("too few: {differ} of {n} differ", differ=differ, n=n)
    text = say(verdict)
    why = shortfall(row)
    if why:
        return f"{text}: {why}"
    if verdict == "equivalent":
        text += f" (±{row['margin']:g})"
    if verdict in ("better", "worse", "equivalent") and not row["family"]:
        text += " " + say("(exploratory)")
    return text


# what keeps a row from a verdict, by the column `short` of a comparison
SHORTFALLS = {
    "p": "p is not small enough",
    "interval": "the interval holds 0",
    "missing": "missing values could turn it",
}


def shortfall(row: Row) -> str:
    """What keeps a row from a verdict that its p, or its interval, would give alone; "" where neither would.

    >>> shortfall({"verdict": "tied", "short": "interval"})
    'the interval holds 0'
    """
    return say(SHORTFALLS[row["short"]]) if row["short"] else ""


# what the row of a primary metric says, by its verdict; "few differ" is "too few" of units enough
FINDINGS = {
    "not measured": "{b} cannot be compared with {a} on “{title}”",
    "unfair": "{b} cannot be compared with {a} on “{title}”",
    "better": "{b} is better than {a} on “{title}”",
    "worse": "{b} is worse than {a} on “{title}”",
    "equivalent": "{b} is equivalent to {a} on “{title}” within {margin}",
    "tied": "{b} is not shown to differ from {a} on “{title}”",
    "too few": "{n} samples are too few to judge {b} against {a} on “{title}”",
    "few differ": "Too few samples differ to tell {b} from {a} on “{title}”",
}

# the numbers behind a verdict, and those behind one that is none
DETAILS = "{x} against {y}, a difference of {delta}, {level} interval {bounds}, {p}."
OTHER_DETAILS = {
    "not measured": "it is not measured on both sides.",
    "unfair": "what one side lacks is not like the rest.",
    "too few": "{x} against {y}, a difference of {delta}, {level} interval {bounds}.",
    "few differ": "{x} against {y}, a difference of {delta}, {level} interval {bounds}; {differ} of {n} pairs differ.",
}


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
    if verdict == "not measured" and row["not_random"]:
        verdict = "unfair"
    is_adjusted = not pd.isna(row["p_adjusted"]) and row["p_adjusted"] != row["p_value"]
    p = row["p_adjusted"] if is_adjusted else row["p_value"]
    values = {
        "a": row["baseline"],
        "b": row["candidate"],
        "title": say(metric_title(row["metric"], row["title"])),
        "margin": f"±{row['margin']:g}",
        "n": int(row["n_units"]),
    }
    text = OTHER_DETAILS.get(verdict, DETAILS)
    if verdict not in ("not measured", "unfair") and not bounds:
        text = "{x} against {y}, a difference of {delta}."
        if verdict in ("better", "worse"):
            text = "{x} against {y}, a difference of {delta}, {p}; all pairs differ alike: no interval."
    details = say(
        text,
        x=number(row["value_candidate"]),
        y=number(row["value_baseline"]),
        delta=number(row["delta"], signed=True),
        level=level,
        bounds=bounds,
        p=p_equation(p) + (f" {say('(adjusted)')}" if is_adjusted else ""),
        n=int(row["n_units"]),
        differ=int(row["n_differ"]),
    )
    if shortfall(row):
        details += " " + say("No verdict: {why}.", why=shortfall(row))
    return say(FINDINGS[verdict], **values), details
