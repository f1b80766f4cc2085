"""The browser of cases: which there are to choose from, and what a card says and marks."""

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import accumulate

from pandas import DataFrame

from ...core.files import Fields, Names
from ...core.messages import listed, say
from ...report.run import Run
from ...report.samples import Line, Place, Row, SampleView
from ...report.study import Study
from .rules import JUDGED, TERMS
from .states import STATES, WORD_OF, rules_in_force
from .wording import around

LEGEND = (
    "Check figures marked “?”: they occur in the source, perhaps for another item. Compare the two passages of one "
    "number."
)

# the state of a case or of a metric in it -> its mark
MARKS = {"fail": "bad", "look": "look", "ok": "good"}


def in_order(run: Run, units: DataFrame) -> DataFrame:
    """The cases, the worst state first, in it those that fail most metrics, then in the file's order."""
    passed = units[[f"{metric}_state" for metric in JUDGED]] != "fail"
    order = DataFrame({"worst": units["state"].map(STATES.index), "n": passed.sum(axis=1)})
    return units.loc[order.sort_values(["worst", "n"]).index]


def card(
    case: Fields,
    *,
    thresholds: Mapping[str, float],
) -> Fields:
    """The card of a case: contexts as one text, tags, rows (one a metric), places (what is marked)."""
    state = case["state"]
    failed = [say(TERMS[metric]) for metric in JUDGED if case[f"{metric}_state"] == "fail"]
    word = ": ".join(filter(None, [say(WORD_OF[state]), listed(failed)]))
    return {
        "contexts": "\n".join(case["contexts"]),
        "tags": [Line(word, MARKS[state]), *(Line(say(tag)) for tag in case["tags"])],
        "rows": [_row(case, metric, thresholds[metric]) for metric in JUDGED],
        "places": [*_places(case)],
    }


def _row(
    case: Fields,
    metric: str,
    threshold: float,
) -> Row:
    """The score of a case and what it rests on; what was not measured says so, without a score."""
    mark = MARKS[case[f"{metric}_state"]]
    score = f"{case[metric]:.2f}"
    if not case[f"{metric}_measured"]:
        score = ""
        mark = mark.replace("good", "")
    return Row(
        say(TERMS[metric]),
        {
            "threshold": [Line(f"≥ {threshold:g}")],
            "found": [Line(score, mark, "; ".join(why(case, metric)))],
        },
    )


def _places(case: Fields) -> Iterator[Place]:
    """Where the two texts of a card say what the scores rest on.

    Figures with their passage under one number, definitive phrases, and what is missing.
    """
    accuracy = case["summary_accuracy_evidence"]
    marks = [
        ("good", entity, source_sentence(entity, case["contexts"]))
        for entity in accuracy.get("supported", [])
    ]
    marks += [("bad", each, compared(each, case)) for each in accuracy.get("unsupported", [])]
    tip = say("Definitive phrases")
    promises = case["summary_non_definitive_evidence"]
    marks += [("bad", phrase, tip) for phrase in promises.get("definitive", [])]
    marks.sort(key=lambda mark: mark[1]["at"])
    marks += [
        ("missing", due, f"{say('missing')}: {say(tag)}")
        for tag, due in case["summary_risk_coverage_evidence"].get("due", {}).items()
    ]
    starts = [0, *accumulate(len(context) + 1 for context in case["contexts"])]
    for number, (kind, entity, tip) in enumerate(marks, 1):
        offset = starts[entity.get("context", 0)]
        for column, at, before in (("answer", "at", 0), ("contexts", "context_at", offset)):
            if at in entity:
                start, end = (before + place for place in entity[at])
                yield Place(
                    column,
                    start,
                    end,
                    kind,
                    number,
                    tip,
                )


def sample_view(shown: Run | Study) -> SampleView:
    """How cases are browsed: those in each state, and those that fail each metric."""
    names = zip(("failing", "look", "passing"), WORD_OF.items())
    groups = {name: (f"state == '{state}'", caption) for name, (state, caption) in names}
    for metric in JUDGED:
        caption = say("failing {metric}", metric=say(TERMS[metric]))
        groups[metric] = (f"{metric}_state == 'fail'", caption)
    return SampleView(
        in_order,
        partial(card, thresholds=rules_in_force(shown.options).thresholds),
        id="case_id",
        groups=groups,
        texts={"answer": "summary", "contexts": "context"},
        head="Rule",
        columns={"threshold": "threshold", "found": "score and finding"},
        legend=LEGEND,
    )


# characters of a sentence that a reason shows on either side of a value of the summary, and of the source
OF_SUMMARY = 12
OF_SOURCE = 24


# who decided -> what is told of the judge
JUDGE_SAYS = {
    "llm": "the judge says {judge:.2f} ({reason}) and decides; the rules say {rule:.2f}",
    "alone": "the judge says {judge:.2f} ({reason}) and decides: the rules measure nothing",
    "rule": "the judge says {judge:.2f} ({reason}), too unsure to decide alone",
    "blend": "the judge says {judge:.2f} ({reason}), blended with the rules' {rule:.2f}",
}


def in_short(case: Fields) -> list[str]:
    """Why a case fails, or what a person must settle: the reasons of the metrics in its state; none of an ok case."""
    if case["state"] == "ok":
        return []
    return [
        reason
        for metric in JUDGED
        if case[f"{metric}_state"] == case["state"]
        for reason in why(case, metric)
    ]


def why(
    case: Fields,
    metric: str,
) -> Iterator[str]:
    """What a judge said of a case, and what speaks against its score; what speaks for it stands in the evidence."""
    evidence = case[f"{metric}_evidence"]
    if not math.isnan(case[f"{metric}_llm"]):
        decided_by = case[f"{metric}_decided_by"]
        if decided_by == "llm" and "reason" in evidence | evidence.get("rules", {}):
            decided_by = "alone"
        yield say(
            JUDGE_SAYS[decided_by],
            judge=case[f"{metric}_llm"],
            reason=evidence["judge"]["reason"],
            rule=case[f"{metric}_rule"],
        )
    if "reason" in evidence:
        reason = say(evidence["reason"])
        if not case[f"{metric}_measured"]:
            reason = say(
                "not measured (counts as {score:.2f}): {reason}", score=case[metric], reason=reason
            )
        yield reason
    absent = [entity for entity in evidence.get("unsupported", []) if "why" not in entity]
    for entity in [*evidence.get("contradicted", []), *absent, *evidence.get("look", [])]:
        yield compared(entity, case)
    if evidence.get("missing"):
        yield say("Risk left out: {tags}", tags=[*map(say, evidence["missing"])])
    if evidence.get("definitive"):
        yield say("Promise: {texts}", texts=_quoted(evidence["definitive"]))
    named = evidence.get("phrases", [])
    is_due = evidence.get("expected", bool(named))
    if is_due and not named:
        yield say("a follow-up is due, and none is named")
    if named and not is_due:
        yield say("a follow-up is named where none is due: {texts}", texts=_quoted(named))
    for tag in evidence.get("unknown_tags", []):
        yield f"{say('unknown tag')}: “{tag}”"
    if evidence.get("unread"):
        figures = [f"“{figure}”" for figure in evidence["unread"]]
        yield say("not read, compared with nothing: {figures}", figures=figures)


def compared(
    entity: Fields,
    case: Fields,
) -> str:
    """What the summary says, and what the source does."""
    if "tag" in entity:
        return say("{tag} is only named: “{text}”", tag=say(entity["tag"]), text=entity["text"])
    says_otherwise = "why" in entity
    said = entity["text"]
    if says_otherwise:
        said = around(case["answer"], entity["at"], OF_SUMMARY)
    if "context" not in entity:
        return say("{said} → not in the source", said=said)
    source = around(case["contexts"][entity["context"]], entity["context_at"], OF_SOURCE)
    if not says_otherwise:
        source = f"{entity['instead']} ({source})"
    line = say("{said} → source {source}", said=said, source=source)
    return f"{say(entity['why'])}: {line}" if says_otherwise else line


def source_sentence(
    place: Fields | None,
    contexts: Names,
) -> str:
    """The sentence around a place of the contexts; "" without one."""
    return around(contexts[place["context"]], place["context_at"]) if place else ""


def _quoted(phrases: Iterable[Fields]) -> list[str]:
    return [f"“{phrase['text'].strip()}”" for phrase in phrases]
