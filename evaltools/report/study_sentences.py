"""What came out of a run or a study, in words: verdicts, how they were reached, ranks, and what would settle it.

Page, terminal, gallery and paper take their sentences from here, in the language in force.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ..core.estimates import Row
from ..core.language import listed, say
from ..core.metric import metric_title
from ..core.resampling import Resampling
from ..stats.detectable import POWER, larger_studies
from ..stats.differences import equivalence_confidence
from ..stats.intervals import MIN_UNITS
from ..stats.seed_variance import ALIKE
from .markdown import number
from .sentences import mde_text, verdict_parts, whole_sentence
from .study_tables import comparison
from .tables import shown_estimate

if TYPE_CHECKING:
    from .run import Run
    from .study import Study


Parts = tuple[str, str]
"""A finding, and the numbers behind it ("" for none)."""


def run_finding(run: Run) -> Parts:
    """The primary metric with its value, and its interval and n; that nothing can be measured where there is none."""
    estimates = run.estimates[run.estimates["metric"] == run.primary]
    if estimates["value"].isna().all():
        return say("No headline metric of {run} can be measured", run=run.name), ""
    return _value(estimates.iloc[0].to_dict(), run.resampling)


def _value(
    estimate: Row,
    resampling: Resampling,
) -> Parts:
    texts = shown_estimate(estimate, resampling)
    details = say(
        "{level} interval {bounds}, n = {n}",
        level=resampling.percent,
        bounds=texts["interval"] or "–",
        n=texts["n"],
    )
    return f"{texts['title']} {texts['value']}", details


def finding(study: Study) -> Parts:
    """What the page of a study is called: its finding, and the numbers behind it.

    Of one candidate its verdict; of several how many differ from the baseline; of one condition what it reaches. What
    makes a whole run mean nothing stands before all.
    """
    leads = _void_runs(study)
    if len(study.candidates) > 1 and study.primary:
        verdicts = [row["verdict"] for row in primary_rows(study).values()]
        among_several = say(
            "{better} of {n} conditions better than {baseline} on “{title}”, {worse} worse",
            n=len(study.candidates),
            baseline=study.baseline,
            title=study.title(study.primary),
            better=verdicts.count("better"),
            worse=verdicts.count("worse"),
        )
        leads.append((among_several, ""))
    leads += _verdicts(study) if study.candidates else _values(study)
    return leads[0] if leads else (study.name, "")


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
    if usual not in shown.blocked or shown.primary in (usual, shown.declared):
        return []
    text = "“{usual}” cannot be measured here, nor any other metric of the headline."
    primary = ""
    if shown.primary:
        text = "“{usual}” cannot be measured here: “{primary}” leads in its place."
        primary = shown.title(shown.primary)
    return [say(text, usual=shown.title(usual), primary=primary)]


def _void_runs(study: Study) -> list[Parts]:
    """The runs of which a check says that none of their numbers means anything."""
    parts = []
    for run in study.results:
        for check in run.checks:
            if check.level == "blocking" and not check.blocks:
                parts.append((f"{run.name}: {check.text()}.", ""))
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
            of_parts.append(f"{row['part']} {delta} ({say(row['verdict'])})")
        sentence = say(
            "“{title}”: the difference turns its sign: {parts}. A number for all of the units hides that.",
            title=say(metric_title(name, rows["title"].iloc[0])),
            parts=listed(of_parts),
        )
        sentences.append(sentence)
    return sentences


def primary_rows(study: Study) -> dict[str, Row]:
    """Candidate -> the row of the primary metric in its comparison; without those that have none."""
    rows = comparison(study, [study.primary]).to_dict("records")
    return {row["candidate"]: row for row in rows}


def settling(study: Study) -> list[str]:
    """What would settle the primary metric of every candidate that is not shown to differ; each named among several."""
    sentences = []
    for candidate, row in primary_rows(study).items():
        text = settle(row, study.resampling)
        if text:
            lead = f"{candidate}: " if len(study.candidates) > 1 else ""
            sentences.append(lead + text)
    return sentences


def how(study: Study) -> str:
    """What the intervals speak for, and by which rules the verdicts were reached, a few sentences.

    "" where all is identical, and without any interval or comparison.
    """
    compared = list(study.comparisons.values())
    if compared and all(each.identical for each in compared):
        return ""
    rows = comparison(study) if compared else pd.concat(study.aggregates.values())
    sentences = []
    if compared:
        by = say(compared[0].paired_by) if study.seeded else study.suite.unit
        sentences.append(say("Paired by {by}, over what both sides have.", by=by))
        sentences += family(study)
    claims = listed(say(claim) for claim in sorted(set(rows.loc[rows["ci_low"].notna(), "claim"])))
    if claims:
        level = study.resampling.percent
        sentences.append(say("{level} intervals speak for {claim}.", level=level, claim=claims))
    if rows["pooled"].any():
        text = (
            "The spread of seeds is that of both sides together wherever the two do not differ too much (Bartlett's "
            "test, p > {level})."
        )
        sentences.append(say(text, level=ALIKE))
    return " ".join(sentences)


def family(study: Study) -> list[str]:
    """How the p of the headline stand to each other, and what a verdict needs; nothing where none is tested."""
    if not study.candidates:
        return []
    rows = comparison(study)
    tested = rows[rows["p_adjusted"].notna() & (rows["n_units"] >= MIN_UNITS)]
    tested = tested[tested["alias_of"] == ""]
    if tested.empty:
        return []
    text = "“{title}” is tested alone"
    if study.joint is not None:
        text = (
            "“{title}” is tested over all pairs of the {n} conditions together (studentised max-T of shared sign flips, "
            "step-down)"
        )
    title = study.title(study.primary)
    others = tested[~tested["primary"]]["candidate"].value_counts()
    text_of_others = (
        "{primary}, p of the other headline metrics ({n}) adjusted by Westfall and Young's step-down min-P; all else is "
        "exploratory. Better or worse: p at most {level}, an interval that leaves out 0, and {least} pairs or more."
    )
    sentence = say(
        text_of_others,
        primary=say(text, title=title, n=len(study.conditions)),
        n=int(others.max()) if len(others) else 0,
        level=f"{study.resampling.level:g}",
        least=MIN_UNITS,
    )
    sentences = [sentence]
    if study.margin:
        text = "Equivalent: the {level} interval lies within the declared margin (two one-sided tests)."
        level = f"{equivalence_confidence(study.resampling.confidence):.0%}"
        sentences.append(say(text, level=level))
    return sentences


RANK_NOTE = (
    "With {level:.0%} confidence every rank lies from rank_low to rank_high, all of them at once; conditions that "
    "share a letter are not shown to differ."
)


def ranking(study: Study) -> list[str]:
    """How the conditions stand to each other on the primary metric, in sentences."""
    measured = study.rank().dropna(subset=["group"])
    first = measured[measured["rank_low"] == 1]["condition"].tolist()
    template = "The best of {n} conditions on “{title}” is one of these: {first}."
    if len(first) == 1:
        template = "{first} is the best of {n} conditions on “{title}”."
    title = study.title(study.primary)
    lead = say(
        template,
        n=len(measured),
        first=listed(first),
        title=title,
    )
    return [lead, say(RANK_NOTE, level=study.resampling.confidence)]


# --- larger studies

HELPS = {
    "more-seeds": "two more seeds would bring that to {then}",
    "more-samples": "twice the samples would bring that to {then}",
}
"""Code of a larger study -> what it would do."""

ALONE = (
    "One condition only: another one is assumed to differ from it, sample by sample, as its own seeds do from each "
    "other. One that differs more needs more."
)

COLUMNS = (
    "samples: units ({unit}), each of as many rows as these runs have or trials or cluster_size says. calls: "
    "seeds x samples x rows, for one condition. samples_low to samples_high: what these runs leave open (in "
    "simulations more than 80% of such ranges held the truth); no samples_high: they do not rule out that no "
    "number is enough. One seed speaks for these systems, not for their other seeds."
)

NONE_IS_ENOUGH = (
    "No number of samples for {seeds} seeds: the differences between seeds keep the power below what is asked, or "
    "only one seed pairs here, which does not tell how far seeds differ."
)


DESPITE_P = "p is small, but the interval holds 0: large differences the other way may be too rare to have been drawn."


def settle(
    row: Row,
    resampling: Resampling,
) -> str:
    """What would settle a "tied" row of `Comparison.table`, a sentence; "" for every other verdict.

    It names the smallest difference that could be shown now, with two more seeds, and with twice the samples. Where p is
    small all the same, it says what the interval allows for.
    """
    ways = []
    for code, share in larger_studies(row, resampling.confidence).items():
        then = mde_text({"mde": row["mde"] * share, "df": row["df"]})
        ways.append(say(HELPS[code], then=then))
    if not ways:
        return ""
    despite = ""
    if row["ci_method"] == "mover" and row["p_value"] <= row["level"]:
        despite = say(DESPITE_P) + " "
    return despite + say(
        "What would settle it: on “{title}” a true difference of {now} could be shown now ({power:.0%} power); {ways}.",
        title=say(metric_title(row["metric"], row["title"])),
        now=mde_text(row),
        power=POWER,
        ways=listed(ways),
    )


def plan_title(
    study: Study,
    metric: str,
    difference: float,
    power: float,
) -> str:
    """What a plan is for, a sentence."""
    return say(
        "To show {candidate} better than {baseline} by {difference} on “{metric}” with {power} power, as the primary "
        "metric at level {level}:",
        candidate=study.candidates[0] if study.candidates else say("another condition"),
        baseline=study.baseline,
        difference=f"{difference:g}",
        metric=study.title(metric),
        power=f"{power:.0%}",
        level=f"{study.resampling.level:.2g}",
    )


def plan_notes(
    study: Study,
    planned: pd.DataFrame,
) -> list[str]:
    """What a reader must know of a plan, in sentences; the first names its cheapest row."""
    notes = []
    lacking = planned[planned["samples"].isna()]
    if len(lacking) < len(planned):
        best = cheapest_row(planned)
        cheapest = say(
            "Cheapest (seeds: {n}): {samples} samples, {calls} calls for each condition.",
            n=int(best["seeds"]),
            samples=int(best["samples"]),
            calls=int(best["calls"]),
        )
        notes += [cheapest, say(COLUMNS, unit=study.suite.unit)]
    if len(lacking):
        notes.append(say(NONE_IS_ENOUGH, seeds=listed(lacking["seeds"].unique())))
    if not study.candidates:
        notes.append(say(ALONE))
    return notes


def cheapest_row(planned: pd.DataFrame) -> pd.Series:
    """The row of a plan that takes the fewest calls; one without samples where none has any."""
    in_order = planned.sort_values(["calls", "seeds"], kind="stable", na_position="last")
    return in_order.iloc[0]
