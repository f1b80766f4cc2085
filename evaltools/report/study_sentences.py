"""What came out of a run or a study, in words: verdicts, how they were reached, and what these data can show.

The statistics give words of their own (a verdict, the code of a note) and numbers; page, terminal, gallery and paper
take their sentences on them from here. The English texts are the keys of the translations in `lang/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Context
from typing import TYPE_CHECKING

from pandas import Series

from ..core.estimates import UNFAIR, Resampling, Row, is_null
from ..core.messages import listed, say
from ..core.metric import metric_title
from ..stats.compare import POWER
from ..stats.effects import MIN_UNITS, ROUGH
from ..stats.formulas import NEW_SEEDS, THESE_RUNS, THESE_TWO_RUNS, THIS_RUN
from .tables import p_head, shown_texts
from .text import interval, number, p_text

if TYPE_CHECKING:
    from .result import Result

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

# what a verdict is called beside the numbers of its row, where it is more than the verdict
BESIDE = {
    "equivalent": "equivalent ({margin})",
    "too few": "too few: {differ} of {n} differ",
    "too few pairs": "too few pairs: {n}",
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
    THIS_RUN: "{level} intervals cover new samples from the same source, not other systems or seeds.",
    THESE_TWO_RUNS: "{level} intervals cover new samples for these two runs, not their other seeds.",
    THESE_RUNS: "{level} intervals cover new samples for these runs, not other seeds.",
    NEW_SEEDS: "{level} intervals cover new seeds and new samples; seeds are taken as normal.",
}


def _said(
    row: Row,
    texts: Mapping[str, str],
) -> str:
    """What the texts, by verdict, say of a row."""
    verdict = row["verdict"]
    if verdict == "too few" and row["n_units"] < MIN_UNITS:
        verdict = "too few pairs"
    return say(
        texts.get(verdict, verdict),
        a=row["baseline"],
        b=row["candidate"],
        title=metric_title(row["metric"], row["title"]),
        margin=f"±{row['margin']:g}",
        differ=int(row["n_differ"]),
        n=int(row["n_units"]),
    )


def verdict_text(row: Row) -> str:
    """The verdict of a row as it stands beside the metric's numbers."""
    verdict, text = row["verdict"], _said(row, BESIDE)
    if row["short"]:
        return f"{text}: {say(SHORTFALLS[row['short']])}"
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
    verdict, finding = row["verdict"], _said(row, FINDINGS)
    if verdict == "not measured":
        text = "one side at least has no value."
        if row["blocked"] == UNFAIR:
            text = "what one side lacks is perhaps not like the rest."
        return finding, say(text)
    level, ends = resampling.percent, row
    if verdict == "equivalent":
        level = f"{200 * resampling.confidence - 100:.4g}%"
        ends = {"ci_low": row["equivalence_low"], "ci_high": row["equivalence_high"]}
    details = [
        say(
            "{x} against {y}, a difference of {delta}",
            x=number(row["value_candidate"]),
            y=number(row["value_baseline"]),
            delta=number(row["delta"], signed=True),
        )
    ]
    if bounds := interval(ends, signed=True):
        details.append(f"{say('{level} interval', level=level)} {bounds}")
    if verdict != "too few":
        adjusted = row["p_adjusted"]
        p = p_text(row["p_value"] if is_null(adjusted) else adjusted)
        details.append(f"p = {p}".replace("= <", "<"))
    if row["short"]:
        details.append(say("no verdict: {why}", why=say(SHORTFALLS[row["short"]])))
    return finding, say("{details}.", details=listed(details, "; "))


def whole_sentence(
    finding: str,
    details: str,
) -> str:
    """A finding and the numbers behind it as one sentence; the finding alone where there are none."""
    return say("{finding}: {details}", finding=finding, details=details) if details else finding


def size(shown: Result) -> str:
    """How many units the numbers rest on, "n = 60 (text_id)", how many samples where clusters do, and of which query."""
    of_what = f"({shown.suite.unit})"
    if shown.n_clustered:
        of_what = say("clusters of {samples} samples", samples=shown.n_clustered)
    text, query = f"n = {number(shown.n_units)} {of_what}", shown.results[0].query
    return f"{text}, {query}" if query else text


def finding(shown: Result) -> Parts:
    """What a page is called: its first finding, or of several candidates those that differ from the baseline."""
    if len(shown.candidates) > 1 and shown.primary:
        return _among_several(shown), ""
    return findings(shown)[0]


def findings(shown: Result) -> list[Parts]:
    """What came out: of a comparison its verdicts, of a run what its suite says, else the first measured headline metric.

    Where none can be measured, the check that says why.
    """
    if shown.results == [shown] and shown.suite.finding:
        own = shown.suite.finding(shown)
        if own:
            return [own]
    if shown.candidates:
        text, rows = verdict_parts, shown.rows_of(shown.primary)
    else:  # a value that is not measured is no finding
        text, rows = _value, shown.rows_of(*shown.headline).dropna(subset="value").head(1)
    found = [text(row, shown.resampling) for row in rows.to_dict("records")]
    why = [check.message for check in shown.doubts() if check.level == "blocking"]
    return found or [(say("No headline metric can be judged"), listed(why[:1]))]


def outcomes(shown: Result) -> list[str]:
    """The findings, a sentence each."""
    return [whole_sentence(*parts) for parts in findings(shown)]


def _value(
    row: Row,
    resampling: Resampling,
) -> Parts:
    texts = shown_texts(row)
    lead = f"{metric_title(row['metric'], row['title'])} {texts['value']}"
    if texts["condition"]:
        lead = f"{texts['condition']}, {lead}"
    text = "{level} interval {bounds}, n = {n}" if texts["interval"] else "n = {n}"
    return lead, say(
        text,
        level=resampling.percent,
        bounds=texts["interval"],
        n=texts["n"],
    )


def _among_several(study: Result) -> str:
    """Which of several conditions differ from the baseline."""
    found = []
    for word in CONFIRMED:
        names = [name for name, verdict in verdicts(study).items() if verdict == word]
        if names:
            text = "{names} is {verdict}" if len(names) == 1 else "{names} are {verdict}"
            found.append(say(text, names=names, verdict=say(word)))
    text = "No difference from {baseline} is confirmed on “{title}” ({n} conditions)"
    if found:
        text = "Compared with {baseline} on “{title}”, {found}"
    return say(
        text,
        found=listed(found, "; "),
        title=study.title(study.primary),
        baseline=study.baseline,
        n=len(study.candidates),
    )


def verdicts(study: Result) -> dict[str, str]:
    """Candidate -> its verdict on the primary metric."""
    rows = study.rows_of(study.primary)
    return dict(zip(rows.get("candidate", ()), rows.get("verdict", ())))


def by_finding(study: Result) -> list[str]:
    """The candidates, those first that the finding of a study names, in its order."""
    found = verdicts(study)
    named = [name for word in CONFIRMED for name in found if found[name] == word]
    return list(dict.fromkeys(named + study.candidates))


def settling(study: Result) -> str:
    """What difference could be confirmed, where the only candidate is not shown to differ, for its values; else ""."""
    row, *others = study.rows_of(study.primary).to_dict("records") or [{}]
    if others or row.get("verdict") != "tied" or row["short"] == "missing" or is_null(row["mde"]):
        return ""
    # with the digits that are known
    known = Context(prec=1 if row["n_units"] < ROUGH else 2)
    return say(
        "These data can confirm differences of {now} or more ({power:.0%} power).",
        now=f"{known.create_decimal(row['mde']):,f}",
        power=POWER,
    )


def how(shown: Result) -> str:
    """How the sides were paired and their p adjusted, and what the intervals cover; "" without intervals."""
    rows, sentences = shown.rows_of(*shown.headline), []
    if shown.candidates:
        by = shown.suite.unit
        if shown.seeds:
            shared = set.intersection(*map(set, shown.conditions.values()))
            by = say("sample and seed") if len(shared) > 1 else say("sample")
        sentences.append(say("Paired by {by}, over the samples that both sides have.", by=by))
        if p_head(rows, shown.resampling.level) != "p":
            sentences.append(
                say(
                    "p and intervals of tests that belong together are adjusted together (step-down max-T)."
                )
            )
        if shown.margin:
            sentences.append(
                say(
                    "Equivalent: the {level} interval lies within the declared margin (two one-sided tests).",
                    level=f"{100 - 200 * shown.resampling.level:.4g}%",
                )
            )
    claims = rows.get("claim", Series(THIS_RUN, rows.index))[rows["ci_low"].notna()]
    if len(shown.candidates) > 1:
        claims = claims.replace(THESE_TWO_RUNS, THESE_RUNS)
    covered = [say(COVER[claim], level=shown.resampling.percent) for claim in sorted(set(claims))]
    if (rows["n_seeds"] == 2).any():
        covered.append(say("Of two seeds t has one degree of freedom."))
    return " ".join(sentences + covered)
