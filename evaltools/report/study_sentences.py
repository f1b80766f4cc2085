"""What came out of a study, in words: verdicts, how they were reached, and ranks.

Page, terminal, gallery and paper take their sentences from here. Each function takes a study and
gives text in the language in force.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ..core.language import listed, say
from ..core.metric import metric_title
from ..stats.compare import Comparison
from ..stats.equivalence import equivalence_confidence
from ..stats.intervals import MIN_UNITS
from .markdown import number
from .plan_sentences import settle
from .sentences import Row, verdict_parts, whole_sentence
from .study_tables import comparison

if TYPE_CHECKING:
    from .run import Run
    from .study import Study


Parts = tuple[str, str]
"""A finding, and the numbers behind it ("" for none)."""


def verdicts(study: Study) -> list[str]:
    """What came out: for every candidate the verdict on the primary metric, a sentence each.

    Of identical sides only that they are; none for a primary metric without a direction, which has
    no verdict. What makes a whole run mean nothing is said before any of them.
    """
    sentences = _void_runs(study)
    for candidate in study.candidates:
        sentences += _verdict(study, candidate)
    return [*sentences, *switched(study)]


def switched(shown: Run | Study) -> list[str]:
    """That another metric than the suite's own leads, because a check says that this one cannot be measured."""
    usual = shown.suite.primary_name(shown.options, frozenset())
    if usual not in shown.blocked or shown.primary in (usual, shown.declared):
        return []
    primary_title = "–"
    if shown.primary:
        primary_title = say(shown.metric(shown.primary).shown_title)
    sentence = say(
        "“{usual}” cannot be measured here: “{primary}” leads in its place.",
        usual=say(shown.metric(usual).shown_title),
        primary=primary_title,
    )
    return [sentence]


def _void_runs(study: Study) -> list[str]:
    """A sentence for every run of which a check says that none of its numbers means anything."""
    sentences = []
    for run in study.results:
        for check in run.checks:
            if check.level == "blocking" and not check.blocks:
                sentences.append(f"{run.name}: {check.text()}.")
    return sentences


def finding(study: Study) -> Parts:
    """What the page of a study is called: its finding, and the numbers behind it.

    Of one candidate its verdict; of several how many differ from the baseline; of one condition
    what it reaches. The name of the study where none of this can be said.
    """
    if void := _void_runs(study):
        return " ".join(void), " ".join(verdicts(study)[len(void) :])
    if not study.comparisons:
        values = _values(study)
        return (values[0].rstrip("."), "") if len(values) == 1 else (study.name, "")
    if len(study.candidates) == 1:
        parts = _verdict_parts(study, study.candidates[0])
        return parts[0] if parts else (study.name, "")
    return _among_several(study), ""


def _among_several(study: Study) -> str:
    """How many of several candidates differ from the baseline on the primary metric."""
    counts = {"better": 0, "worse": 0}
    for compared in study.comparisons.values():
        for row in _rows_of(compared, study.primary):
            if row["verdict"] in counts:
                counts[row["verdict"]] += 1
    title = say(study.metric(study.primary).shown_title)
    text = "{better} of {n} conditions better than {baseline} on “{title}”, {worse} worse"
    if not any(counts.values()):
        text = "None of {n} conditions is shown to differ from {baseline} on “{title}”"
    values = {"n": len(study.candidates), "baseline": study.baseline, "title": title}
    return say(text, **values, **counts)


def _verdict(study: Study, candidate: str) -> list[str]:
    """The verdict on one candidate: one sentence, or none."""
    return [whole_sentence(*parts) for parts in _verdict_parts(study, candidate)]


def _verdict_parts(study: Study, candidate: str) -> list[Parts]:
    """The verdict on one candidate as finding and numbers; none for a metric without a direction."""
    compared = study.comparisons[candidate]
    if compared.identical:
        text = "{b} and {a} are identical: there is nothing to compare."
        return [(say(text, a=study.baseline, b=candidate), "")]
    rows = _rows_of(compared, study.primary)
    return [verdict_parts(row, study.resampling.confidence) for row in rows]


def primary_rows(study: Study) -> list[Row]:
    """The rows of the primary metric, one a candidate that was compared on it."""
    rows = []
    for compared in study.comparisons.values():
        rows += _rows_of(compared, study.primary)
    return rows


def _rows_of(
    compared: Comparison,
    metric: str,
) -> list[Row]:
    """The row of a metric; none where it was not compared."""
    table = compared.table
    return table[table["metric"] == metric].to_dict("records")


def settling(study: Study) -> list[str]:
    """What would settle the primary metric of every candidate that is not shown to differ."""
    sentences = []
    for candidate, compared in study.comparisons.items():
        for row in _rows_of(compared, study.primary):
            text = settle(row, study.resampling.confidence)
            if text and len(study.candidates) > 1:
                text = f"{candidate}: {text}"
            if text:
                sentences.append(text)
    return sentences


def how(study: Study) -> str:
    """By which rules the verdicts were reached, a few sentences; "" where nothing differs or is
    compared.
    """
    compared = list(study.comparisons.values())
    if all(each.identical for each in compared):
        return ""
    rows = comparison(study)
    confidence = study.resampling.confidence
    by = say(compared[0].paired_by) if study.seeded else study.suite.unit
    tests = family(rows, len(study.conditions))
    tested = say("; p of sign-flip tests: {tests}", tests=tests) if tests else ""
    claims = sorted(set(rows.loc[rows["ci_low"].notna(), "claim"]))
    spoken = ""
    if claims:
        claim = say(" or ").join(say(claim) for claim in claims)
        text = " {level} intervals speak for {claim}."
        spoken = say(
            text,
            level=f"{confidence:.0%}",
            claim=claim,
        )
    sentence = say(
        "Paired by {by}, over what both sides have{tested}.{spoken}",
        by=by,
        tested=tested,
        spoken=spoken,
    )
    return sentence + margins(rows, confidence)


def family(
    rows: pd.DataFrame,
    n_conditions: int = 2,
) -> str:
    """How the p of the rows of a comparison stand to each other, part of a sentence; "" where none
    counts.
    """
    if rows.empty:
        return ""
    counts = rows["p_adjusted"].notna() & (rows["n_units"] >= MIN_UNITS) & (rows["alias_of"] == "")
    rows = rows[counts]
    primary = rows[rows["primary"]]
    others = rows[~rows["primary"]]
    parts = []
    if len(primary):
        first = primary.iloc[0]
        title = say(metric_title(first["metric"], first["title"]))
        text = "“{title}” is tested alone"
        if n_conditions > 2:
            text = (
                "“{title}” is tested over all pairs of the {n} conditions together (studentised max-T of shared "
                "sign flips, step-down)"
            )
        parts.append(
            say(
                text,
                title=title,
                n=n_conditions,
            )
        )
    if len(others):
        n = int(others.groupby("candidate").size().max())
        text = (
            "p of the other headline metrics ({n}) adjusted by Westfall and Young's step-down min-P"
        )
        parts.append(say(text, n=n))
    if not parts:
        return ""
    return say("{said}; all else is exploratory", said=say(", ").join(parts))


def margins(
    rows: pd.DataFrame,
    confidence: float,
) -> str:
    """What equivalence means in the rows of a comparison, a sentence after others; "" where no
    margin is declared.
    """
    if rows.empty:
        return ""
    declared = rows[(rows["alias_of"] == "") & rows["margin"].notna()].drop_duplicates("metric")
    if declared.empty:
        return ""
    named = [
        say(
            "±{margin:g} for “{title}”",
            margin=margin,
            title=say(metric_title(name, title)),
        )
        for margin, name, title in zip(declared["margin"], declared["metric"], declared["title"])
    ]
    text = " Equivalent: the {level} interval lies within the declared margin ({named}; two one-sided tests)."
    level = f"{equivalence_confidence(confidence):.0%}"
    return say(
        text,
        level=level,
        named=listed(named),
    )


def narrative(study: Study) -> str:
    """What came out in plain words and by which rules; paragraphs are split at empty lines."""
    paragraphs = [*outcomes(study), how(study)]
    return "\n\n".join(text for text in paragraphs if text)


def outcomes(study: Study) -> list[str]:
    """What came out, a paragraph a candidate: the verdict, with the other headline metrics.

    Of conditions that are not compared the values of the primary metric.
    """
    if not study.candidates:
        return [*_values(study), *switched(study)]
    paragraphs = []
    for candidate, compared in study.comparisons.items():
        sentences = _verdict(study, candidate)
        others = "" if compared.identical else _others(compared, study.primary)
        if others:
            sentences.append(say("Other headline metrics: {others}.", others=others))
        paragraphs.append(" ".join(sentences))
    return [*paragraphs, *switched(study)]


def _values(study: Study) -> list[str]:
    """What the primary metric of each condition is, a sentence each; none where it is not measured."""
    sentences = []
    for condition, estimates in study.aggregates.items():
        measured = estimates[(estimates["metric"] == study.primary) & estimates["value"].notna()]
        for row in measured.to_dict("records"):
            sentences.append(_value_sentence(row, condition, study.resampling.confidence))
    return sentences


def _value_sentence(
    row: Row,
    condition: str,
    confidence: float,
) -> str:
    """What a metric of a condition is over its seeds."""
    spread = interval = ""
    if pd.notna(row["std"]):
        std = number(row["std"])
        spread = say(
            " (± {std} over {n} seeds)",
            std=std,
            n=int(row["n_seeds"]),
        )
    if pd.notna(row["ci_low"]):
        interval = say(
            ", {level} interval [{low}, {high}] for {claim}",
            level=f"{confidence:.0%}",
            low=number(row["ci_low"]),
            high=number(row["ci_high"]),
            claim=say(str(row["claim"])),
        )
    return say(
        "{condition} reaches {mean}{spread} on “{title}”{interval}.",
        condition=condition,
        mean=number(row["value"]),
        spread=spread,
        title=say(metric_title(row["metric"], row["title"])),
        interval=interval,
    )


BEFORE_METRICS = {
    "better": "better on",
    "worse": "worse on",
    "equivalent": "equivalent within the margin on",
    "tied": "not shown to differ on",
    "too few": "too few units to judge",
    "not measured": "not measured on both sides:",
}
"""Verdict -> what is said before the metrics that have it."""


def _others(
    compared: Comparison,
    primary: str,
) -> str:
    """What a comparison says of the other headline metrics: a part of a sentence for each verdict."""
    table = compared.table
    others = table[table["headline"] & (table["metric"] != primary)]
    parts = []
    for verdict, before in BEFORE_METRICS.items():
        rows = others[others["verdict"] == verdict].to_dict("records")
        titles = [_titled(row) for row in rows]
        if titles:
            parts.append(f"{say(before)} {listed(titles)}")
    return listed(parts, "; ")


def _titled(row: Row) -> str:
    """The title of a metric in quotes, with its difference where one was shown."""
    title = f"“{say(metric_title(row['metric'], row['title']))}”"
    if row["verdict"] in ("better", "worse"):
        return f"{title} ({number(row['delta'], signed=True)})"
    return title


RANK_NOTE = (
    "With {level:.0%} confidence every rank lies from rank_low to rank_high, all of them at once; conditions that "
    "share a letter are not shown to differ."
)


def ranking(study: Study) -> list[str]:
    """How the conditions stand to each other on the primary metric, in sentences."""
    measured = study.rank().dropna(subset=["group"])
    first = measured[measured["rank_low"] == 1]["condition"].tolist()
    title = study.metric(study.primary).shown_title
    lead = say(
        "The best of {n} conditions on “{title}” is one of these: {first}.",
        n=len(measured),
        first=listed(first),
        title=say(title),
    )
    return [lead, say(RANK_NOTE, level=study.resampling.confidence)]
