"""What came out of a run or a study, in words: verdicts, how they were reached, ranks, and what these data can show.

The statistics give words of their own (a verdict, the code of a note) and numbers; page, terminal, gallery and paper
take their sentences on them from here. The English texts are the keys of the translations in `lang/`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ..core.estimates import Resampling, Row, is_null
from ..core.language import listed, say
from ..core.metric import metric_title
from ..stats.compare import POWER
from ..stats.effects import MIN_UNITS
from .tables import shown_texts
from .text import interval, mde_text, number, p_equation

if TYPE_CHECKING:
    from .result import Result
    from .run import Run
    from .study import Study

# a finding, and the numbers behind it ("" for none)
Parts = tuple[str, str]

# verdicts by which a difference is confirmed, in the order in which a finding names them
CONFIRMED = ("better", "worse", "equivalent")

# what keeps a row from a verdict, by the column `short` of a comparison
SHORTFALLS = {
    "p": "p is not small enough",
    "interval": "the interval holds 0",
    "missing": "missing values could turn it",
}

# what the row of a primary metric says, by its verdict
FINDINGS = {
    "not measured": "{b} cannot be compared with {a} on “{title}”",
    "better": "{b} is better than {a} on “{title}”",
    "worse": "{b} is worse than {a} on “{title}”",
    "equivalent": "{b} is equivalent to {a} on “{title}” within {margin}",
    "tied": "{b} is not shown to differ from {a} on “{title}”",
    "too few": "{differ} of {n} pairs differ: too few to judge {b} against {a} on “{title}”",
    "too few pairs": "Too few pairs ({n}) to judge {b} against {a} on “{title}”",
}

# what intervals say, by the claim of `stats.formulas`
COVER = {
    "new samples, this run": "{level} intervals cover new samples from the same source, not other systems or seeds.",
    "new samples, these two runs": "{level} intervals cover new samples for these two runs, not their other seeds.",
    "new samples, these runs": "{level} intervals cover new samples for these runs, not other seeds.",
    "new seeds and new samples (seeds taken as normal)": "{level} intervals cover new seeds and new samples; seeds are "
    "taken as normal.",
}


def verdict_text(row: Row) -> str:
    """The verdict of a row as it stands beside the metric's numbers.

    >>> row = {"verdict": "too few", "short": "", "n_units": 40, "n_differ": 3}
    >>> verdict_text(row), verdict_text({**row, "n_units": 5})
    ('too few: 3 of 40 differ', 'too few pairs: 5')
    """
    verdict = row["verdict"]
    if verdict == "too few":
        text = "too few: {differ} of {n} differ"
        if row["n_units"] < MIN_UNITS:
            text = "too few pairs: {n}"
        return say(
            text,
            differ=int(row["n_differ"]),
            n=int(row["n_units"]),
        )
    text = say(verdict)
    if row["short"]:
        return f"{text}: {say(SHORTFALLS[row['short']])}"
    if verdict == "equivalent":
        text += f" (±{row['margin']:g})"
    if verdict in CONFIRMED and not row["family"]:
        text += " " + say("(exploratory)")
    return text


def verdict_parts(
    row: Row,
    resampling: Resampling,
) -> Parts:
    """The finding of the row of a primary metric, which is the title of its page, and the numbers behind it.

    Behind an equivalence stands the interval that lies within the margin.
    """
    verdict = row["verdict"]
    is_small = verdict == "too few" and row["n_units"] < MIN_UNITS
    finding = say(
        FINDINGS["too few pairs" if is_small else verdict],
        a=row["baseline"],
        b=row["candidate"],
        title=metric_title(row["metric"], row["title"]),
        margin=f"±{row['margin']:g}",
        differ=int(row["n_differ"]),
        n=int(row["n_units"]),
    )
    if verdict == "not measured":
        text = "it is not measured on both sides."
        if row["not_random"]:
            text = "what one side lacks is perhaps not like the rest."
        return finding, say(text)
    level, ends = resampling.percent, row
    if verdict == "equivalent":
        level = f"{200 * resampling.confidence - 100:.4g}%"
        ends = {"ci_low": row["equivalence_low"], "ci_high": row["equivalence_high"]}
    before, after = number(row["value_baseline"]), number(row["value_candidate"])
    delta = number(row["delta"], signed=True)
    details = [
        say(
            "{x} against {y}, a difference of {delta}",
            x=after,
            y=before,
            delta=delta,
        )
    ]
    if bounds := interval(ends, signed=True):
        details.append(f"{say('{level} interval', level=level)} {bounds}")
    adjusted, p = row["p_adjusted"], row["p_value"]
    if not is_null(adjusted) and adjusted != p:
        details.append(f"{p_equation(adjusted)} {say('(adjusted)')}")
    elif verdict != "too few":
        details.append(p_equation(p))
    if not bounds and verdict in ("better", "worse"):
        details.append(say("all pairs differ alike: no interval"))
    if row["short"]:
        details.append(say("no verdict: {why}", why=say(SHORTFALLS[row["short"]])))
    return finding, say("{details}.", details=listed(details, "; "))


def whole_sentence(finding: str, details: str) -> str:
    """A finding and the numbers behind it as one sentence; the finding alone where there are none."""
    return say("{finding}: {details}", finding=finding, details=details) if details else finding


def size(shown: Result) -> str:
    """How many units the numbers of each run rest on, "n = 54–60 (text_id)", and how many samples where clusters do."""
    counts = sorted({run.n_units for run in shown.results})
    ends = "–".join(map(number, dict.fromkeys([counts[0], counts[-1]])))
    of_what = f"({shown.suite.unit})"
    if shown.n_clustered:
        of_what = say("clusters of {samples} samples", samples=shown.n_clustered)
    return f"n = {ends} {of_what}"


def cover(rows: pd.DataFrame, resampling: Resampling) -> list[str]:
    """What the intervals of estimates or differences cover, a sentence a claim."""
    claims = rows.get("claim", pd.Series("new samples, this run", rows.index))
    claims = sorted(set(claims[rows["ci_low"].notna()]))
    if "candidate" in rows and rows["candidate"].nunique() > 1:
        claims = [claim.replace("these two runs", "these runs") for claim in claims]
    return [say(COVER.get(claim, claim), level=resampling.percent) for claim in claims]


def run_finding(run: Run) -> Parts:
    """What the suite says of a run first; else its primary metric with value, interval and n, if it has any."""
    own = run.suite.finding(run) if run.suite.finding else None
    values = run.estimates[run.estimates["metric"] == run.primary].dropna(subset="value")
    if own is None and values.empty:
        return say("No headline metric of {run} can be measured", run=run.name), ""
    return own or _value(values.iloc[0].to_dict(), run.resampling)


def _value(
    estimate: Row,
    resampling: Resampling,
) -> Parts:
    texts = shown_texts(estimate)
    title = metric_title(estimate["metric"], estimate["title"])
    text = "{level} interval {bounds}, n = {n}" if texts["interval"] else "n = {n}"
    values = {"level": resampling.percent, "bounds": texts["interval"], "n": texts["n"]}
    return f"{title} {texts['value']}", say(text, **values)


def finding(study: Result) -> Parts:
    """What the page of a study is called: its finding, and the numbers behind it.

    Of one candidate its verdict; of several those that differ from the baseline; of one condition what it reaches. What
    makes a whole run mean nothing stands before all.
    """
    void, others = _void_runs(study), _findings(study)
    if len(study.candidates) > 1 and study.primary and not void:
        return _among_several(study), ""
    return [*void, *others, (study.name, "")][0]


def outcomes(study: Result) -> list[str]:
    """What came out, a sentence each: the verdicts; where there are none what the primary metric of each condition is.

    What makes a whole run mean nothing is said before any of them.
    """
    return [whole_sentence(*parts) for parts in [*_void_runs(study), *_findings(study)]]


def _void_runs(study: Result) -> list[Parts]:
    """The runs of which a check says that none of their numbers means anything."""
    return [
        (f"{run.name}: {check.message}", "")
        for run in study.results
        for check in run.checks
        if check.level == "blocking" and not check.blocks
    ]


def _findings(study: Result) -> list[Parts]:
    if not study.primary:
        return [(say("No headline metric can be measured here."), "")]
    rows = study.differences_of(study.primary).to_dict("records")
    found = [verdict_parts(row, study.resampling) for row in rows]
    if not found:
        for row in study.estimates_of(study.primary).dropna(subset="value").to_dict("records"):
            value, details = _value(row, study.resampling)
            found.append((f"{row['condition']}, {value}", details))
    return found


def _among_several(study: Result) -> str:
    """Which of several conditions differ from the baseline."""
    rows = study.differences_of(study.primary)
    values = {"title": study.title(study.primary), "baseline": study.baseline, "n": len(rows)}
    found = []
    for verdict in CONFIRMED:
        names = rows.loc[rows["verdict"] == verdict, "candidate"]
        if len(names):
            found.append(f"{say(verdict)}: {listed(names)}")
    text = "No difference from {baseline} is confirmed on “{title}” ({n} conditions)"
    if found:
        text = "Against {baseline} on “{title}”, {found}"
    return say(text, found=listed(found, "; "), **values)


def by_finding(study: Result) -> list[str]:
    """The candidates, those first that the finding of a study names, in its order."""
    rows = study.differences_of(study.primary)
    confirmed = rows[rows["verdict"].isin(CONFIRMED)]
    named = confirmed.sort_values(
        "verdict",
        key=lambda verdicts: verdicts.map(CONFIRMED.index),
        kind="stable",
    )
    return list(dict.fromkeys([*named["candidate"], *study.candidates]))


def settling(study: Result) -> list[str]:
    """What difference could be confirmed, where the only candidate is not shown to differ."""
    rows = study.differences_of(study.primary).to_dict("records")
    text = "These data can confirm differences of {now} or more ({power:.0%} power)."
    if len(rows) != 1 or rows[0]["verdict"] != "tied" or is_null(rows[0]["mde"]):
        return []
    return [say(text, now=mde_text(rows[0]), power=POWER)]


def how(study: Result) -> str:
    """By which rules the verdicts were reached, and what the intervals cover, a few sentences; "" without intervals."""
    if not study.candidates:
        return " ".join(cover(study.estimates, study.resampling))
    first, other = (set(study.conditions[name]) for name in (study.baseline, study.candidates[0]))
    by = study.suite.unit
    if study.seeded:
        by = say("sample and seed") if first == other else say("sample")
    paired = say("Paired by {by}; samples missing on one side are left out.", by=by)
    covered = cover(study.differences_of(*study.headline), study.resampling)
    return " ".join([paired, *family(study), *covered])


def family(study: Result) -> list[str]:
    """How the p of the headline stand to each other, and what a verdict needs; nothing where none is tested."""
    rows = study.differences_of(*study.headline)
    if rows.empty:
        return []
    tested = rows[rows["p_adjusted"].notna() & (rows["n_units"] >= MIN_UNITS)]
    if tested.empty:
        return []
    texts = {
        True: "The {n} comparisons on “{title}” are tested together, and their intervals adjusted likewise.",
        False: "p and intervals of the other {n} headline comparisons are adjusted together (step-down max-T).",
    }
    title, sentences = study.title(study.primary), []
    for is_primary, text in texts.items():
        n = int((tested["primary"] == is_primary).sum())
        if n > 1:  # one alone is not adjusted
            sentences.append(say(text, title=title, n=n))
    text = "Better or worse: p at most {level}, an interval that leaves out 0, and {least} pairs or more."
    level = f"{study.resampling.level:g}"
    sentences.append(say(text, level=level, least=MIN_UNITS))
    if study.margin:
        text = "Equivalent: the {level} interval lies within the declared margin (two one-sided tests)."
        level = f"{200 * study.resampling.confidence - 100:.4g}%"
        sentences.append(say(text, level=level))
    return sentences


def ranking(study: Study) -> list[str]:
    """How the conditions stand to each other on the primary metric, in sentences."""
    measured = study.rank().dropna(subset=["rank_low"])
    first = " or ".join(measured.loc[measured["rank_low"] == 1, "condition"])
    title = study.title(study.primary)
    return [
        f"Best of {len(measured)} conditions on “{title}”: {first}.",
        f"All ranks lie within their intervals at once, with {study.resampling.percent} confidence.",
    ]
