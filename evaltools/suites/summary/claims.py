"""What a summary says without a value: that something is paid, or not, or that an item is not there.

    clauses without figures --words, paid or denied--> most alike clause of the sources --> the opposite?
    an item that is denied  --its name---------------> value of the item in a source
    a figure of any unit    --its bound--------------> the same figure in a source --> the opposite bound?

A value carries its payment and its bound by itself (`statements`); this is for what is none: 분실도 보상됨,
면책기간 없음, 2.5kg 미만. Source: specification D34.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .entities import Entity, ReadText
from .statements import HIGH, LOW, OPPOSITE, PAYMENT_WORDS, STOP, payment, syllable_pairs
from .text import normalise
from .unread import outside_values

ALIKE = 0.6
"""Share of the words of a claim that stand in a clause of a source about the same thing."""

LONGEST_LIST = 200
"""Characters of a list of which something is said at its end."""

NEAR = 16
"""Characters between an item and its value in a source."""

OPPOSITE_PAYMENT = "the source says the opposite of payment"
OPPOSITE_BOUND = "the source puts the opposite bound on it"
STATED = "the source states a value for it"

WAIVER = "면제"
"""Without a value it is a benefit as a payment is, which is given or not."""

_FIGURE = re.compile("[0-9]")

_ITEM = (
    r"(?P<item>(?:면책|대기|감액|부담보)(?: ?기간)?|(?:자기|본인) ?부담(?:금|률|액)?|자부담금?|면책금"
    r"|공제(?: ?금액|액|금)?|(?:보상|보장|지급|가입|이용)? ?한도|수수료|위약금|해약 ?환급금|만기 ?환급금)"
)
_ABSENT = re.compile(
    rf"{_ITEM}(?:은|는|이|가|도|을|를)?[\s:]{{0,2}}(?:전혀 |따로 |별도로 |일체 )?"
    r"(?:없(?!는 경우)[가-힣]{0,3}|면제|미적용|[가-힣]{0,4}지 ?(?:않|아니)|적용 ?안|불필요|무제한)"
)
"""An item that is told as not there: 면책기간 없음."""

_ZERO = re.compile(rf"{_ITEM}[은는이가:]?\s?0\s?[%원]")
"""An item of which a source states 0, which may be told as not there: 자기부담 0%."""

_DENIED = re.compile(r"[^.!?;,\n]{0,12}(?:없|면제|무료)")
"""Behind a value: up to it there is nothing of the item (수수료는 4회까지 없음)."""

_QUALIFIED = re.compile(r"[가-힣a-z]{2,}")
_CLAUSE = re.compile(r"[.!?](?!\d)|[;,\n]")
_OF_LISTS = (",", "·", "/")
"""Between things of which something is said at the end: 등반, 글라이더 조종은 면책."""

_BOUNDED = re.compile(
    r"(?<![0-9,.])(?P<figure>[0-9][0-9,.]{0,14})\s?(?:[a-z㎡]{1,5}|[가-힣]{1,2}?)?\s?(?:(?P<low>이상|초과)|이하|미만|이내)",
    re.IGNORECASE,
)
"""A figure with a unit of any kind, and what bounds it."""

_VALUES = ("amount", "percent", "duration", "count")


@dataclass(frozen=True, slots=True)
class Claim:
    """A clause that says whether something is paid.

    text, start, end: in its text. words: pairs of syllables of what it speaks of.
    """

    text: str
    start: int
    end: int
    side: str
    words: frozenset[str]


def opposite_claims(summary: ReadText, sources: Sequence[ReadText]) -> Iterator[dict[str, Any]]:
    """The claims of a summary of which the most alike clause of the sources says the opposite, as evidence."""
    claims = [claim for claim in payment_claims(summary) if not _FIGURE.search(claim.text)]
    if not claims:
        return
    of_sources = []
    for number, source in enumerate(sources):
        of_sources += [(number, claim) for claim in payment_claims(source)]
    for claim in claims:
        opposite = _opposite(claim, of_sources)
        if opposite is not None:
            number, other = opposite
            yield {
                "kind": "payment",
                "text": claim.text,
                "value": claim.side,
                "at": [claim.start, claim.end],
                "context": number,
                "context_at": [other.start, other.end],
                "why": OPPOSITE_PAYMENT,
            }


def _opposite(claim: Claim, sources: Sequence[tuple[int, Claim]]) -> tuple[int, Claim] | None:
    """The clause that says the opposite of a claim, where none that is as alike says the same."""
    best = None
    best_likeness = {claim.side: 0.0, OPPOSITE[claim.side]: ALIKE}
    for number, source in sources:
        likeness = len(claim.words & source.words) / len(claim.words)
        if likeness >= best_likeness[source.side]:
            best_likeness[source.side] = likeness
            if source.side != claim.side:
                best = (number, source)
    if best_likeness[claim.side] >= best_likeness[OPPOSITE[claim.side]]:
        return None
    return best


def payment_claims(read: ReadText) -> Iterator[Claim]:
    """The clauses of a text that say whether something is paid."""
    text = read.text
    clause_start = 0
    ends = [(match.start(), match.end(), match[0]) for match in STOP.finditer(text.norm)]
    for clause_end, following, sign in [*ends, (len(text.norm), 0, "")]:
        clause = text.norm[clause_start:clause_end]
        side = payment(clause.replace(WAIVER, "보상") + " ")
        is_blank = not clause.strip()
        goes_on = sign in _OF_LISTS and len(clause) <= LONGEST_LIST
        if side is None and goes_on and not is_blank and not _FIGURE.search(clause):
            continue
        words = syllable_pairs(PAYMENT_WORDS.sub(" ", clause))
        if side and words:
            blanks = len(clause) - len(clause.lstrip())
            start, end = text.span(clause_start + blanks, clause_end)
            yield Claim(read.raw[start:end], start, end, side, words)
        clause_start = following


def absent_items(
    summary: ReadText, sources: Sequence[ReadText]
) -> Iterator[tuple[dict[str, Any], bool]]:
    """The items that a summary denies and to which a source gives a value, denying them nowhere.

    As evidence, and whether it is sure: not where the summary denies the item of something that it
    names, as another thing may have it.
    """
    text = summary.text
    absent_in_sources: set[str] = set()
    for source in sources:
        for pattern in (_ABSENT, _ZERO):
            matches = pattern.finditer(source.text.norm)
            absent_in_sources.update(_named(match["item"]) for match in matches)
    for match in _ABSENT.finditer(text.norm):
        item = _named(match["item"])
        if item in absent_in_sources:
            continue
        for number, source in enumerate(sources):
            entity = _value_of(item, source)
            if entity is None:
                continue
            start, end = text.span(*match.span())
            before = _CLAUSE.split(text.norm[max(0, match.start() - 40) : match.start()])[-1]
            evidence = {
                "kind": "denied",
                "text": summary.raw[start:end],
                "value": summary.raw[start:end],
                "at": [start, end],
                "context": number,
                "context_at": [entity.start, entity.end],
                "instead": entity.text,
                "why": STATED,
            }
            yield evidence, not _QUALIFIED.search(before)
            break


def opposite_bounds(summary: ReadText, sources: Sequence[ReadText]) -> Iterator[dict[str, Any]]:
    """The figures of a summary that are no values, where the sources only put the opposite bound on them."""
    of_sources: dict[str, dict[str, dict[str, Any]]] = {}
    for number, source in enumerate(sources):
        for match in outside_values(_BOUNDED, source):
            place = {"context": number, "context_at": list(match.span())}
            of_sources.setdefault(match["figure"], {})[_side(match)] = place
    for match in outside_values(_BOUNDED, summary):
        bounds = of_sources.get(match["figure"], {})
        if bounds and _side(match) not in bounds:
            yield {
                "kind": "bound",
                "text": match[0],
                "value": match[0],
                "at": list(match.span()),
                "why": OPPOSITE_BOUND,
                **bounds[OPPOSITE[_side(match)]],
            }


def _side(match: re.Match[str]) -> str:
    return LOW if match["low"] else HIGH


def _plain(text: str) -> str:
    return normalise(text).norm.replace(" ", "")


def _named(item: str) -> str:
    """An item as texts may also name it: 자기부담금 is 자기부담, 면책기간 is 면책."""
    return re.sub("기간$|(?<=부담)[금률액]$|(?<=공제)(?:금액|[금액])$", "", _plain(item))


def _value_of(item: str, source: ReadText) -> Entity | None:
    """The first value but 0 right behind an item in a source, or right before it, that its clause does not deny."""
    names_behind = tuple(joint + item for joint in ("", "의", "간", "동안"))
    for entity in source.entities:
        if entity.kind not in _VALUES or entity.support_only or entity.value == "0":
            continue
        before = _plain(source.raw[max(0, entity.start - NEAR) : entity.start])
        after = _plain(source.raw[entity.end : entity.end + NEAR // 2])
        if _DENIED.match(source.raw, entity.end):
            continue
        if item in _CLAUSE.split(before)[-1] or after.startswith(names_behind):
            return entity
    return None
