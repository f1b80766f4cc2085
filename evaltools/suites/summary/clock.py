"""Times of day in Korean and English notation, read to 24 hours: 14:30.

Source: specification D16.
"""

from __future__ import annotations

import re

from .dates import numbered, parts_of
from .numerals import NATIVE
from .text import any_of

HOUR = "[0-9]{1,2}"

# 오전 and 오후, or what says the same
_BEFORE = "(?:(?P<am>오전|새벽|아침)|(?P<pm>오후|저녁))?"
_AFTER = r"(?:(?P<am>a\.?m)|(?P<pm>p\.?m))"

_HOUR_ENDS = "(?![가-힣])|(?=에|부터|까지|경|쯤|이후|이전|로|은|는|이|의|도|만|입|정각|반)"  # 세 시, not 세 시간

FORMS = (
    # 14:30, 2:30 pm
    rf"(?<![0-9.:])(?P<h>{HOUR}):(?P<i>[0-5][0-9])(?::[0-5][0-9])?(?![0-9:])"
    r"(?:\s?(?P<am>a\.?m)|\s?(?P<pm>p\.?m))?",
    # 오후 두 시 반, 14시 30분
    rf"{_BEFORE}\s?(?<![0-9.,가-힣])(?P<h>{HOUR}|{any_of(NATIVE)})\s?시"
    rf"(?:(?=\s?(?:[0-9]|반))(?:\s?(?P<i>[0-5]?[0-9])\s?분|\s?(?P<half>반))|{_HOUR_ENDS})",
    # 2 pm
    rf"(?<![0-9.:])(?P<h>{HOUR})\s?{_AFTER}(?![a-z])",
    # the first of two: 9~18시, 9-6 pm
    rf"{_BEFORE}\s?(?<![0-9.,:])(?P<h>{HOUR})"
    rf"(?=\s?(?:[~-]|to)\s?{HOUR}(?:\s?시(?!간)|\s?[ap]\.?m(?![a-z])))",
)
"""Groups: h(our), i (minute) or half, and the half of the day."""

CLOCK = numbered(FORMS)
"""`clock_values` reads a match of it."""


def clock_values(match: re.Match[str]) -> list[str]:
    """The time of a match of CLOCK, and those it may be read as; none where there is no such hour.

    A time of 24 hours has two figures for the hour (14:30, 02:30), one of unknown half of the day
    as few as it can (2:30); each supports the other.
    """
    parts = parts_of(match)
    hour = NATIVE.get(parts["h"]) or int(parts["h"])
    minute = 30 if "half" in parts else int(parts.get("i", 0))
    half_is_named = "am" in parts or "pm" in parts
    if hour > 24 or minute > 59 or (hour > 12 and "am" in parts):
        return []
    either = f"{hour % 12 or 12}:{minute:02d}"
    if half_is_named and hour <= 12:
        hour = hour % 12 + (12 if "pm" in parts else 0)
    if half_is_named or not 1 <= hour <= 12 or parts["h"].startswith("0"):
        return [f"{hour % 24:02d}:{minute:02d}", either]
    return [either, f"{hour % 12:02d}:{minute:02d}", f"{hour % 12 + 12}:{minute:02d}"]
