"""A value told in other words than the source's: rounded, or one step of reckoning away from it.

Source: specification D33.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from .entities import Entity
from .facts import Fact

ONE_STEP = "it follows from the source's figure by one step"

_ABOUT_BEFORE = re.compile(r"(?:약|대략|어림잡아|about|around|approximately|some)\s?$")
_ABOUT_AFTER = re.compile(r"\s?(?:정도|가량|내외|안팎|남짓|쯤|or so)")

WITHIN = 12
"""Characters before a figure in which a word calls it an approximation."""

DAYS = {"day": 1, "month": 30}
"""A day more or less than a month's is another figure: 1개월 is not 31일."""


def restated(
    fact: Fact,
    sources: Sequence[Fact],
    text: str,
) -> tuple[Fact | None, str]:
    """The first figure of the sources that a value restates, and what a person must settle of it, if anything.

    fact: of the value. text: where it stands. One that its words call an approximation (약, 정도) may be rounded:
    3천만원 is told to ten millions, so that 29,870,000원 rounds to it. Else one step leads to it:
    what is left of a whole (80% cover from 20% co-payment), months told in days or days in months.
    """
    stated = fact.entity
    if not stated.base:  # of what is no number
        return None, ""
    known = [source for source in sources if source.entity.kind == stated.kind]
    before = text[max(stated.start - WITHIN, 0) : stated.start]
    if _ABOUT_BEFORE.search(before) or _ABOUT_AFTER.match(text, stated.end):
        told = Decimal(stated.value).normalize()
        step = Decimal(f"1e{told.as_tuple().exponent}")
        for source in known:
            entity = source.entity
            if entity.base == stated.base and abs(Decimal(entity.value) - told) <= step / 2:
                return source, ""
    for source in known:
        if not source.entity.support_only and _is_one_step(stated, source.entity):
            return source, ONE_STEP
    return None, ""


def _is_one_step(stated: Entity, source: Entity) -> bool:
    told, known = Decimal(stated.value), Decimal(source.value)
    if stated.kind == "percent":
        return told + known == 100
    days = told * DAYS.get(stated.base, 0)
    return stated.kind == "duration" and days == known * DAYS.get(source.base, 0) > 0
