"""What a summary denies although a source states it: 면책기간 없음 against a 면책기간 of 90 days.

Source: specification D34.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .entities import Entity
from .text import normalise

_ITEM = (
    r"(?P<item>(?:면책|대기|감액|부담보) ?기간|(?:자기|본인) ?부담(?:금|률|액)?|자부담(?:금)?|면책금|공제(?: ?금액|액|금)"
    r"|(?:보상|보장|지급|가입|이용)? ?한도|수수료|위약금|해약 ?환급금|만기 ?환급금)"
)
_NONE = r"(?:은|는|이|가|도|을|를)?[\s:]{0,2}(?:전혀 |따로 |별도로 |일체 )?"
_DENIED = re.compile(
    rf"{_ITEM}{_NONE}(?P<none>없(?!는 경우)[가-힣]{{0,3}}|면제|미적용|적용(?:되|하)지 ?않|적용 ?안|불필요|무제한)"
)
_QUALIFIED = re.compile(r"[가-힣a-z]{2,}")
_CLAUSE = re.compile(r"[.!?](?!\d)|[;,\n]")

NEAR = 16
"""Characters between an item and its value in a source."""

WHY = "the source states a value for it"

_VALUES = ("amount", "percent", "duration", "count")


@dataclass(frozen=True, slots=True)
class Denial:
    """An item that the summary denies, at [start, end), and the source's value of it."""

    text: str
    at: list[int]
    context: int
    context_at: list[int]
    instead: str
    is_sure: bool
    why: str = WHY

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": "denied",
            "text": self.text,
            "value": self.text,
            "at": self.at,
            "context": self.context,
            "context_at": self.context_at,
            "instead": self.instead,
        }


def denials(
    answer: str, contexts: Sequence[str], sources: Sequence[Sequence[Entity]]
) -> Iterator[Denial]:
    """The items that a summary denies and to which a source gives a value, denying them nowhere.

    Not sure where the summary denies it of something that it names: another thing may have it.
    """
    text = normalise(answer)
    texts = [normalise(context) for context in contexts]
    denied_in_sources: set[str] = set()
    for source in texts:
        denied_in_sources.update(_plain(match["item"]) for match in _DENIED.finditer(source.norm))
    for match in _DENIED.finditer(text.norm):
        item = _plain(match["item"])
        if item in denied_in_sources:
            continue
        for number, entities in enumerate(sources):
            entity = _value_of(item, contexts[number], entities)
            if entity is not None:
                start, end = text.span(*match.span())
                before = _CLAUSE.split(text.norm[max(0, match.start() - 40) : match.start()])[-1]
                yield Denial(
                    answer[start:end],
                    [start, end],
                    number,
                    [entity.start, entity.end],
                    entity.text,
                    is_sure=not _QUALIFIED.search(before),
                )
                break


def _plain(item: str) -> str:
    return item.replace(" ", "")


def _value_of(item: str, context: str, entities: Sequence[Entity]) -> Entity | None:
    """The first value right behind an item in a source, or right before it."""
    for entity in entities:
        if entity.kind not in _VALUES or entity.support_only:
            continue
        before = _plain(normalise(context[max(0, entity.start - NEAR) : entity.start]).norm)
        after = _plain(normalise(context[entity.end : entity.end + NEAR // 2]).norm)
        if item in _CLAUSE.split(before)[-1] or after.startswith((item, "의" + item)):
            return entity
        period = item.removesuffix("기간")
        if period != item and after.startswith((period, "간" + period, "동안" + period)):
            return entity
    return None
