"""What came out of a study, in words: verdicts, how they were reached, and ranks.

Page, terminal, gallery and paper take their sentences from here. Each function takes a study and
gives text in the language in force.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ..core.language import listed, say
from ..core.metric import metric_title
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


def outcomes(study: Study) -> list[str]:
    """What came out: the verdicts; where there are none what the primary metric of each condition is."""
    if study.candidates:
        return verdicts(study) or _values(study)
    return [*_void_runs(study), *_values(study), *switched(study)]


def verdicts(study: Study) -> list[str]:
    """For every candidate the verdict on the primary metric, a sentence each.

    Of identical sides only that they are; none for a primary metric without a direction, which has
    no verdict. What makes a whole run mean nothing is said before any of them.
    """
    sentences = _void_runs(study)
    for parts in _verdicts(study).values():
        sentences.append(whole_sentence(*parts))
    return [*sentences, *switched(study)]


def switched(shown: Run | Study) -> list[str]:
    """That another metric than the suite's own leads, because a check says that this one cannot be measured."""
    usual = shown.usual_primary
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


def _verdicts(study: Study) -> dict[str, Parts]:
    """Candidate -> the verdict on it; without those that have none."""
    rows = primary_rows(study)
    parts = {}
    for candidate, compared in study.comparisons.items():
        if compared.identical:
            text = "{b} and {a} are identical: there is nothing to compare."
            parts[candidate] = say(text, a=study.baseline, b=candidate), ""
        elif candidate in rows:
            parts[candidate] = verdict_parts(rows[candidate], study.resampling.confidence)
    return parts


def primary_rows(study: Study) -> dict[str, Row]:
    """Candidate -> the row of the primary metric in its comparison; without those that have none."""
    rows = {}
    for candidate, compared in study.comparisons.items():
        is_primary = compared.table["metric"] == study.primary
        for row in compared.table[is_primary].to_dict("records"):
            rows[candidate] = row
    return rows


def finding(study: Study) -> Parts:
    """What the page of a study is called: its finding, and the numbers behind it.

    Of one candidate its verdict; of several how many differ from the baseline; of one condition
    what it reaches. The name of the study where none of this can be said.
    """
    unknown = (study.name, "")
    void = _void_runs(study)
    if void:
        others = verdicts(study)[len(void) :]
        return " ".join(void), " ".join(others)
    if not study.candidates:
        values = _values(study)
        return (values[0].rstrip("."), "") if len(values) == 1 else unknown
    if len(study.candidates) == 1:
        return _verdicts(study).get(study.candidates[0], unknown)
    return _among_several(study), ""


def _among_several(study: Study) -> str:
    """How many of several candidates differ from the baseline on the primary metric."""
    found = [row["verdict"] for row in primary_rows(study).values()]
    better = found.count("better")
    worse = found.count("worse")
    text = "{better} of {n} conditions better than {baseline} on “{title}”, {worse} worse"
    if better == worse == 0:
        text = "None of {n} conditions is shown to differ from {baseline} on “{title}”"
    return say(
        text,
        n=len(study.candidates),
        baseline=study.baseline,
        title=say(study.metric(study.primary).shown_title),
        better=better,
        worse=worse,
    )


def settling(study: Study) -> list[str]:
    """What would settle the primary metric of every candidate that is not shown to differ."""
    sentences = []
    for candidate, row in primary_rows(study).items():
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


RANK_NOTE = (
    "With {level:.0%} confidence every rank lies from rank_low to rank_high, all of them at once; conditions that "
    "share a letter are not shown to differ."
)


def ranking(study: Study) -> list[str]:
    """How the conditions stand to each other on the primary metric, in sentences."""
    measured = study.rank().dropna(subset=["group"])
    first = measured[measured["rank_low"] == 1]["condition"].tolist()
    title = study.metric(study.primary).shown_title
    if len(first) == 1:
        template = "{first} is the best of {n} conditions on “{title}”."
    else:
        template = "The best of {n} conditions on “{title}” is one of these: {first}."
    lead = say(template, n=len(measured), first=listed(first), title=say(title))
    return [lead, say(RANK_NOTE, level=study.resampling.confidence)]
