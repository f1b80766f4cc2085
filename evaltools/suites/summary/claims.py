"""What a summary says is paid, or not paid, where a source says the opposite of the same thing.

    clauses without figures --words, paid or denied--> claims --most alike in the sources--> the opposite?

A value carries its payment by itself (`statements`); this is for what has none: 분실도 보상됨. Source:
specification D34.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .statements import DENIED, OPPOSITE, PAYMENT_WORDS, STOP, payment, syllable_pairs
from .text import normalise

ALIKE = 0.75
"""Share of the words of a claim that stand in a clause of a source about the same thing."""

OPPOSITE_PAYMENT = "the source says the opposite of payment"

_EXCLUDED = re.compile(r"면책(?!금|기간| ?사항)|제외(?:되|된|됨|됩|하|한|함|합|[\s.,;)]|$)")

_FIGURE = re.compile("[0-9]")


@dataclass(frozen=True, slots=True)
class Claim:
    """A clause that says whether something is paid: [start, end) in its text, and pairs of syllables of what."""

    start: int
    end: int
    side: str
    words: frozenset[str]


def opposite_claims(answer: str, contexts: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The claims of a summary of which the most alike clause of the sources says the opposite, as evidence."""
    claims = [claim for claim in _claims(answer) if not _has_figure(answer, claim)]
    if not claims:
        return
    sources = []
    for number, context in enumerate(contexts):
        sources += [(number, claim) for claim in _claims(context)]
    for claim in claims:
        nearest = _nearest(claim, sources)
        if nearest is None:
            continue
        number, source = nearest
        yield {
            "kind": "payment",
            "text": answer[claim.start : claim.end],
            "value": claim.side,
            "at": [claim.start, claim.end],
            "context": number,
            "context_at": [source.start, source.end],
            "why": OPPOSITE_PAYMENT,
        }


def _nearest(claim: Claim, sources: Sequence[tuple[int, Claim]]) -> tuple[int, Claim] | None:
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


def _claims(text: str) -> Iterator[Claim]:
    """The clauses of a text that say whether something is paid."""
    norm = normalise(text)
    start = 0
    ends = [match.span() for match in STOP.finditer(norm.norm)]
    for end, following in [*ends, (len(norm.norm), 0)]:
        clause = norm.norm[start:end]
        side = DENIED if _EXCLUDED.search(clause) else payment(clause + " ")
        words = syllable_pairs(PAYMENT_WORDS.sub(" ", clause))
        if side and words:
            blanks = len(clause) - len(clause.lstrip())
            first, last = norm.span(start + blanks, end)
            yield Claim(first, last, side, words)
        start = following


def _has_figure(text: str, claim: Claim) -> bool:
    return bool(_FIGURE.search(text[claim.start : claim.end]))
