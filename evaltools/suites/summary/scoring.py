"""The five scores of a summary by rule, with the evidence that each rests on.

    summary, contexts --entities--> values --same value in both?--> accuracy, recall
    summary, tags     --phrases---> tags that it names           --> risk coverage, follow-up
    summary           --phrases---> definitive phrases           --> non-definitive

A score that could measure nothing keeps the number that the source document gives it, with
`measured` False and the reason in its evidence. Source: seed insurance_summary_prd section 5;
specification D2, D14.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

from ...core.files import Fields
from .compare import compare
from .entities import ReadText, Texts, read_text, unread_figures
from .read import split_tags
from .rules import DEFAULT_RULES, FOLLOWUP_TAG, Rules, load_rules
from .text import composed
from .wording import find_matches, find_tag, weakly_said


@dataclass(frozen=True, slots=True)
class Score:
    """One metric of one summary.

    score: 0..1; where not `measured`, the source document's number. numerator, denominator: what
    the score is a ratio of (0, 0 where not measured). evidence: what it rests on, as JSON values;
    `reason` where nothing was measured, places as [start, end) in characters.
    """

    score: float
    measured: bool
    numerator: int
    denominator: int
    evidence: Fields


def score(
    summary: str | None,
    contexts: Sequence[str] | str,
    tags: Sequence[str | None] | str | None = None,
    rules: str | Path = DEFAULT_RULES,
) -> dict[str, Score]:
    """Score one summary against the texts (or the one text) that it summarises: metric -> Score.

    tags: the risk items it should name (seed section 7), as a list or as one text with commas;
    None: none were given. rules: the name of a bundled rule file (`ko-insurance`, `seed`) or a
    path. Places in the evidence count in the texts as `composed` gives them: in NFC, without
    invisible characters.

    Figures that a context states, however they are written, are supported (seed 5.1):

    >>> contexts = ["암 진단 시 3,000만원을 지급합니다. 면책기간은 90일입니다."]
    >>> scores = score("암 진단비 3천만원, 면책기간 60일", contexts, ["waiting_period", "limit"])
    >>> accuracy = scores["summary_accuracy"]
    >>> accuracy.numerator, accuracy.denominator
    (2, 3)
    >>> [entity["text"] for entity in accuracy.evidence["unsupported"]]
    ['60일']

    Without entities in the summary the seed's number is 0.5, without any in the contexts 0.0:

    >>> nothing = score("상담 내용을 안내함", contexts)["summary_accuracy"]
    >>> nothing.score, nothing.measured, nothing.evidence["reason"]
    (0.5, False, 'no summary entities')
    >>> score("60일", ["안내"])["summary_accuracy"].score
    0.0

    Covered tags over expected tags (seed 5.2); 1.0, not measured, where no tag is expected:

    >>> coverage = scores["summary_risk_coverage"]
    >>> coverage.score, list(coverage.evidence["missing"])
    (0.5, ['limit'])
    >>> score("안내", contexts)["summary_risk_coverage"].score
    1.0

    1.0 unless a definitive phrase stands that nothing takes back (seed 5.3):

    >>> score("무조건 지급됩니다.", contexts)["summary_non_definitive"].score
    0.0
    >>> score("무조건 지급되는 것은 아닙니다.", contexts)["summary_non_definitive"].score
    1.0

    A follow-up is named where the tag asks for one, and only there (seed 5.4); an empty list says that
    none is due:

    >>> score("추가 확인이 필요합니다.", contexts, ["needs_followup"])["summary_needs_followup"].score
    1.0
    >>> score("추가 확인이 필요합니다.", contexts, [])["summary_needs_followup"].score
    0.0
    """
    if isinstance(contexts, str):
        contexts = [contexts]
    return score_case(
        composed(summary or ""), [*map(composed, contexts)], split_tags(tags), load_rules(rules)
    )


def score_case(
    answer: str | None,
    contexts: Sequence[str],
    tags: Sequence[str] | None,
    rules: Rules,
    product: str | None = None,
) -> dict[str, Score]:
    """Score one summary against its contexts (both composed) and tags (in normal form; None: none were given).

    The rules may require more tags of its product. The order of the contexts does not matter to any score.
    """
    due = rules.expected_tags(tags, product)
    summary = read_text(rules, answer or "")
    sources = [read_text(rules, context) for context in contexts]
    blank = not summary.norm.strip()
    return {
        "summary_accuracy": _accuracy(blank, summary, sources, rules),
        "summary_risk_coverage": _risk_coverage(due, summary, sources, rules),
        "summary_non_definitive": _non_definitive(blank, summary, rules),
        "summary_needs_followup": _needs_followup(
            blank,
            tags,
            due,
            summary,
            sources,
            rules,
        ),
        "entity_recall": _recall(summary, sources),
    }


def _ratio(
    numerator: int,
    denominator: int,
    **evidence: Any,
) -> Score:
    return Score(
        numerator / denominator,
        True,
        numerator,
        denominator,
        evidence,
    )


def _not_measured(
    number: float,
    reason: str,
    **evidence: Any,
) -> Score:
    return Score(
        number,
        False,
        0,
        0,
        {"reason": reason, **evidence},
    )


def _accuracy(
    blank: bool,
    summary: ReadText,
    sources: Texts,
    rules: Rules,
) -> Score:
    """Supported entities of the summary over its entities, each value once (seed 5.1, D14, D34).

    Unread figures take no part in it, and are listed (D20). The literal rules compare values alone.
    """
    if blank:
        return Score(
            0.0,
            True,
            0,
            0,
            {"reason": "empty summary"},
        )
    found = compare(
        summary,
        sources,
        weakly_said(summary, sources, rules),
        relations=rules.fold,
    )
    supported, unsupported = found.pop("supported"), found.pop("unsupported")
    open_points = {**found, "unread": unread_figures(summary, sources)}
    more: Fields = {name: values for name, values in open_points.items() if values}
    if not supported and not found["contradicted"] and not stated(sources):
        return _not_measured(
            0.0,
            "no context entities",
            unsupported=unsupported,
            **more,
        )
    if not supported and not unsupported:
        return _not_measured(0.5, "no summary entities", **more)
    return _ratio(
        len(supported),
        len(supported) + len(unsupported),
        supported=supported,
        unsupported=unsupported,
        **more,
    )


def _recall(
    summary: ReadText,
    sources: Texts,
) -> Score:
    """Context entities that the summary keeps over context entities, each value once."""
    asked = stated(sources)
    if not asked:
        return _not_measured(0.0, "no context entities")
    return _ratio(len(asked.intersection(entity.key for entity in summary.entities)), len(asked))


def stated(texts: Iterable[ReadText]) -> set[str]:
    """The keys of the values of texts, without those that only support."""
    return {entity.key for text in texts for entity in text.entities if not entity.support_only}


# why a person, or the judge, looks at a summary that covers a tag
BARE_NOUN = "a risk item is named, and not what it is"


def _risk_coverage(
    tags: Sequence[str],
    summary: ReadText,
    sources: Texts,
    rules: Rules,
) -> Score:
    """Expected tags that the summary covers over expected tags (seed 5.2), but for needs_followup (D32).

    Unknown tags are expected of nobody. due: for a missing tag, where the contexts name it.
    """
    known = [tag for tag in tags if tag in rules.tags]
    covered, missing, due, look = {}, {}, {}, []
    for tag in known:
        matches, place = find_tag(tag, summary, sources, rules)
        if matches.standing:
            covered[tag] = matches.standing
        else:
            missing[tag] = matches.let_off
        if place:
            due[tag] = place
        if matches.only_mentions:
            look.append({**matches.standing[0], "tag": tag, "why": BARE_NOUN})
    unknown = [tag for tag in tags if tag not in rules.known_tags]
    more = {"unknown_tags": unknown, "due": due, "look": look}
    more = {name: found for name, found in more.items() if found}
    if not known:
        return _not_measured(1.0, "no known tags" if more else "no tags", **more)
    return _ratio(
        len(covered),
        len(known),
        covered=covered,
        missing=missing,
        **more,
    )


def _non_definitive(
    blank: bool,
    summary: ReadText,
    rules: Rules,
) -> Score:
    """1 unless a definitive phrase stands that nothing takes back (seed 5.3)."""
    if blank:
        return _not_measured(1.0, "empty summary")
    found = [find_matches(named, summary, rules) for named in rules.definitive]
    definitive, let_off = (
        sorted(chain(*matches), key=itemgetter("at")) for matches in [*zip(*found)][:2]
    )
    return _ratio(
        0 if definitive else 1,
        1,
        definitive=definitive,
        let_off=let_off,
    )


def _needs_followup(
    blank: bool,
    tags: Sequence[str] | None,
    due: Sequence[str],
    summary: ReadText,
    sources: Texts,
    rules: Rules,
) -> Score:
    """1 where a follow-up is named exactly if the tag asks for one (seed 5.4).

    A case that gives tags, an empty list too, says whether one is due; of one without the field the
    same number is not measured (D32), unless the rules require one (`due`: all tags).
    """
    expected = FOLLOWUP_TAG in due
    if expected:
        found, _ = find_tag(FOLLOWUP_TAG, summary, sources, rules)
    else:
        found = find_matches(rules.sure, summary, rules)
    evidence = {"phrases": found.standing, "let_off": found.let_off}
    good = bool(found.standing) == expected
    if blank and not expected:
        return _not_measured(1.0, "empty summary", **evidence)
    if tags is None and not expected:
        return _not_measured(float(good), "no tags", **evidence)
    return _ratio(
        int(good),
        1,
        expected=expected,
        **evidence,
    )
