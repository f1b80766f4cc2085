"""What came out of a run or a study, in words: verdicts, how they were reached, ranks, and what these data can show.

Page, terminal, gallery and paper take their sentences from here, in the language in force.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ..core.estimates import Row
from ..core.language import listed, say
from ..core.metric import metric_title
from ..core.resampling import Resampling
from ..stats.compare import POWER
from ..stats.intervals import MIN_UNITS
from ..stats.verdicts import equivalence_confidence
from .numbers import mde_text, number, p_equation
from .sentences import verdict_parts, whole_sentence
from .tables import shown_estimate

if TYPE_CHECKING:
    from .run import Run
    from .study import Study

# a finding, and the numbers behind it ("" for none)
Parts = tuple[str, str]

# what intervals say, by the claim of `stats.seeds`
COVER = {
    "new samples, this run": "{level} intervals cover new samples from the same source, not other systems or seeds.",
    "new samples, these two runs": "{level} intervals cover new samples for these two runs, not their other seeds.",
    "new samples, these runs": "{level} intervals cover new samples for these runs, not other seeds.",
    "new seeds and new samples (seeds taken as normal)": "{level} intervals cover new seeds and new samples; seeds are "
    "taken as normal.",
}


def cover(
    rows: pd.DataFrame,
    resampling: Resampling,
) -> list[str]:
    """What the intervals of estimates or differences cover, a sentence a claim."""
    claims = rows.get("claim", pd.Series("new samples, this run", rows.index))
    claims = sorted(set(claims[rows["ci_low"].notna()]))
    return [say(COVER.get(claim, claim), level=resampling.percent) for claim in claims]


def run_finding(run: Run) -> Parts:
    """What the suite says of a run first; else its primary metric with value, interval and n, if it has any."""
    own = run.suite.finding(run) if run.suite.finding else None
    if own is not None:
        return own
    estimates = run.estimates[run.estimates["metric"] == run.primary]
    if estimates["value"].isna().all():
        return say("No headline metric of {run} can be measured", run=run.name), ""
    return _value(estimates.iloc[0].to_dict(), run.resampling)


def _value(
    estimate: Row,
    resampling: Resampling,
) -> Parts:
    texts = shown_estimate(estimate, resampling)
    title = say(metric_title(estimate["metric"], estimate["title"]))
    if not texts["interval"]:
        return f"{title} {texts['value']}", say("n = {n}", n=texts["n"])
    details = say(
        "{level} interval {bounds}, n = {n}",
        level=resampling.percent,
        bounds=texts["interval"],
        n=texts["n"],
    )
    return f"{title} {texts['value']}", details


def finding(study: Study) -> Parts:
    """What the page of a study is called: its finding, and the numbers behind it.

    Of one candidate its verdict; of several those that differ from the baseline; of one condition what it reaches. What
    makes a whole run mean nothing stands before all.
    """
    leads = _void_runs(study)
    if len(study.candidates) > 1 and study.primary:
        leads.append(_among_several(study))
    leads += _verdicts(study) if study.candidates else _values(study)
    return leads[0] if leads else (study.name, "")


def _among_several(study: Study) -> Parts:
    """Which of several conditions differ from the baseline; where none does, the one that comes closest to it."""
    rows = pd.DataFrame(list(primary_rows(study).values()))
    values = {"title": study.title(study.primary), "baseline": study.baseline, "n": len(rows)}
    found = []
    for verdict, text in (
        ("better", "better than {baseline}: {names}"),
        ("worse", "worse than {baseline}: {names}"),
        ("equivalent", "equivalent to {baseline}: {names}"),
    ):
        names = rows.loc[rows["verdict"] == verdict, "candidate"]
        if len(names):
            found.append(say(text, names=listed(names), **values))
    if found:
        lead = "; ".join(found)
        text = say("{lead} (“{title}”, {n} conditions compared)", lead=lead, **values)
        return text[:1].upper() + text[1:], ""
    tested = rows[rows["p_value"].notna()]
    text = say("No difference from {baseline} is confirmed on “{title}” ({n} conditions)", **values)
    if tested.empty:
        return text, ""
    closest = tested.loc[tested["p_adjusted"].fillna(tested["p_value"]).idxmin()]
    p = closest["p_value"] if pd.isna(closest["p_adjusted"]) else closest["p_adjusted"]
    return text, say(
        "Closest: {name} {delta} ({p}).",
        name=closest["candidate"],
        delta=number(closest["delta"], signed=True),
        p=p_equation(p),
    )


def outcomes(study: Study) -> list[str]:
    """What came out, a sentence each: the verdicts; where there are none what the primary metric of each condition is.

    What makes a whole run mean nothing is said before any of them.
    """
    parts = [*_void_runs(study), *(_verdicts(study) or _values(study))]
    sentences = [whole_sentence(*each) for each in parts]
    return [*sentences, *switched(study)]


def switched(shown: Run | Study) -> list[str]:
    """That another metric than the suite's own leads, because a check says that this one cannot be measured."""
    usual = shown.usual_primary
    if usual not in shown.blocked or shown.primary in (usual, getattr(shown, "declared", None)):
        return []
    if not shown.primary:
        return [say("No headline metric can be measured here.")]
    text = "Headline is {primary}, because {usual} cannot be measured here."
    return [say(text, usual=shown.title(usual), primary=shown.title(shown.primary))]


def _void_runs(study: Study) -> list[Parts]:
    """The runs of which a check says that none of their numbers means anything."""
    parts = []
    for run in study.results:
        for check in run.checks:
            if check.level == "blocking" and not check.blocks:
                parts.append((f"{run.name}: {check.message}", ""))
    return parts


def _verdicts(study: Study) -> list[Parts]:
    """The verdict on every candidate; of identical sides only that they are."""
    rows = primary_rows(study)
    parts = []
    for candidate, compared in study.comparisons.items():
        if compared.identical:
            text = "{b} and {a} are identical: there is nothing to compare."
            parts.append((say(text, a=study.baseline, b=candidate), ""))
        elif candidate in rows:
            parts.append(verdict_parts(rows[candidate], study.resampling))
    return parts


def _values(study: Study) -> list[Parts]:
    """The primary metric of each condition; without those in which it is not measured."""
    parts = []
    for condition, estimates in study.aggregates.items():
        measured = estimates[(estimates["metric"] == study.primary) & estimates["value"].notna()]
        for row in measured.to_dict("records"):
            value, details = _value(row, study.resampling)
            parts.append((f"{condition}, {value}", details))
    return parts


def turning(parts: pd.DataFrame) -> list[str]:
    """A warning for each metric whose difference turns its sign between parts (`stats.compare_parts`)."""
    sentences = []
    for name, rows in parts[parts["turns"]].groupby("metric", sort=False):
        of_parts = []
        for row in rows.to_dict("records"):
            delta = number(row["delta"], signed=True)
            of_parts.append(f"{row['part']} {delta} ({row['verdict']})")
        title = metric_title(name, rows["title"].iloc[0])
        sentences.append(f"“{title}”: the difference turns its sign: {', '.join(of_parts)}")
    return sentences


def primary_rows(study: Study) -> dict[str, Row]:
    """Candidate -> the row of the primary metric in its comparison; without those that have none."""
    rows = study.differences_of(study.primary).to_dict("records")
    return {row["candidate"]: row for row in rows}


def settling(study: Study) -> list[str]:
    """What difference could be confirmed, where a candidate is not shown to differ."""
    tied = [
        row for row in primary_rows(study).values() if row["verdict"] == "tied" and mde_text(row)
    ]
    if not tied:
        return []
    text = "These data can confirm differences of {now} or more ({power:.0%} power)."
    lowest = max(tied, key=lambda row: row["mde"])
    return [say(text, now=mde_text(lowest), power=POWER)]


def how(study: Study) -> str:
    """By which rules the verdicts were reached, and what the intervals cover, a few sentences.

    "" where all is identical, and without any interval or comparison.
    """
    compared = list(study.comparisons.values())
    if compared and all(each.identical for each in compared):
        return ""
    rows = (
        study.differences_of(*study.headline) if compared else pd.concat(study.aggregates.values())
    )
    sentences = cover(rows, study.resampling)
    if compared:
        by = say(compared[0].paired_by) if study.seeded else study.suite.unit
        text = "Paired by {by}; samples missing on one side are left out."
        sentences = [say(text, by=by), *family(study), *sentences]
    return " ".join(sentences)


def family(study: Study) -> list[str]:
    """How the p of the headline stand to each other, and what a verdict needs; nothing where none is tested."""
    if not study.candidates:
        return []
    rows = study.differences_of(*study.headline)
    tested = rows[rows["p_adjusted"].notna() & (rows["n_units"] >= MIN_UNITS)]
    tested = tested[tested["alias_of"] == ""]
    if tested.empty:
        return []
    families = []
    leading, others = tested[tested["primary"]], tested[~tested["primary"]]
    for rows in (leading, others):
        if len(rows) == 1:
            families.append(
                say("“{title}” is tested alone", title=study.title(rows["metric"].item()))
            )
    if len(leading) > 1:
        text = "The {k} comparisons on “{title}” are tested together, with simultaneous intervals"
        families.append(say(text, title=study.title(study.primary), k=len(leading)))
    if len(others) > 1:
        text = "p and intervals of the other headline metrics ({n}) are adjusted together (step-down max-T)"
        if len(study.candidates) > 1:
            text = "the {n} comparisons on the other headline metrics are tested together, with simultaneous intervals"
        families.append(say(text, n=len(others)))
    families.append(say("all else is exploratory"))
    sentences = ["; ".join(families) + "."]
    text = "Better or worse: p at most {level}, an interval that leaves out 0, and {least} pairs or more."
    sentences.append(say(text, level=f"{study.resampling.level:g}", least=MIN_UNITS))
    if study.margin:
        text = "Equivalent: the {level} interval lies within the declared margin (two one-sided tests)."
        level = f"{equivalence_confidence(study.resampling.confidence):.0%}"
        sentences.append(say(text, level=level))
    return sentences


def ranking(study: Study) -> list[str]:
    """How the conditions stand to each other on the primary metric, in sentences."""
    measured = study.rank().dropna(subset=["rank_low"])
    first = measured[measured["rank_low"] == 1]["condition"].tolist()
    template = "The best of {n} conditions on “{title}” is one of these: {first}."
    if len(first) == 1:
        template = "{first} is the best of {n} conditions on “{title}”."
    lead = say(
        template,
        n=len(measured),
        first=listed(first),
        title=study.title(study.primary),
    )
    text = "All ranks lie within their intervals at once, with {level:.0%} confidence."
    return [lead, say(text, level=study.resampling.confidence)]


# --- plans: for the terminal, in English


def plan_title(
    study: Study,
    metric: str,
    difference: float,
    power: float,
) -> str:
    """What a plan is for, a sentence."""
    candidate = study.candidates[0] if study.candidates else "another condition"
    return (
        f"To show {candidate} better than {study.baseline} by {difference:g} on “{study.title(metric)}” with {power:.0%} "
        f"power, as the primary metric at level {study.resampling.level:.2g}:"
    )


def plan_notes(
    study: Study,
    planned: pd.DataFrame,
) -> list[str]:
    """What a reader must know of a plan, in sentences."""
    notes = [
        f"samples: units ({study.suite.unit}); samples_low to samples_high: what these runs leave open."
    ]
    lacking = planned.loc[planned["samples"].isna(), "seeds"]
    if len(lacking):
        seeds = ", ".join(map(str, lacking.unique()))
        notes.append(
            f"No number of samples is enough for {seeds} seeds: the differences between seeds keep the power below what "
            "is asked, or only one seed pairs here."
        )
    if not study.candidates:
        notes.append(
            "One condition only: another one is assumed to differ from it as its own seeds do from each other."
        )
    return notes
