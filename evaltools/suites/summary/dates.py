"""Dates in Korean, ISO and English notation, read to one value: 2026-01-01, 2026-01, --01-01; times: 14:30.

Source: specification D16. The value follows ISO 8601 (a part that is not named is left out, as in --01-01).
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Sequence
from itertools import accumulate

from .numerals import NATIVE, ONES, hangul_value
from .text import any_of, pattern

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


DATE, CLOCK = pattern("date"), pattern("clock", NATIVE=any_of(NATIVE))
"""`date_values` and `clock_values` read a match of these."""


_DAY = re.compile(r"(?P<y>\d*)-?-(?P<m>\d\d)-(?P<d>\d\d)")
_LAST = re.compile(pattern("date", "last"))


def _found(m: re.Match[str]) -> dict[str, str]:
    """The groups that matched, without the number of the form."""
    return {k.rstrip("0123456789"): v for k, v in m.groupdict().items() if v and k[-1].isdigit()}


def _figures(part: str) -> str:
    """A part of a date in figures: 26, 이십육 (26), 이공이육 (2026), 유 and 시 of 유월 and 시월 (6 and 10)."""
    if part.isascii():
        return part
    part = part.replace("유", "육").replace("시", "십")
    return (
        "".join(str(ONES[c]) for c in part)
        if "공" in part or "영" in part
        else str(hangul_value(part))
    )


def date_values(m: re.Match[str]) -> list[str]:
    """The date of a match of DATE, and those that it implies; none where the calendar has no such day (February 30).

    A day implies its month, its year, and both without the year: 2026-01-31, 2026-01, 2026, --01-31, --01.
    """
    found = {name: _figures(part) for name, part in _found(m).items()}
    year = found.get("y", "").lstrip("'")
    if len(year) == 2:
        year = "20" + year
    if "n" in found:
        found["m"] = str(_MONTHS.index(found["n"][:3]) + 1)
    if "a" in found:
        # the month comes first, as in the United States, unless it cannot
        first, second = found["a"], found["b"]
        found["m"], found["d"] = (second, first) if int(first) > 12 else (first, second)
    month, day = int(found.get("m", 0)), int(found.get("d", 0))
    if ("m" in found and not 1 <= month <= 12) or (
        "d" in found and not 1 <= day <= _days(year, month)
    ):
        return []
    if m["m14"] and month < day and (month == 1 or day <= 5) and not m["when"]:
        return []  # as well a share: 1/10, 2/3
    return _implied(year, f"-{month:02d}" if month else "", f"-{day:02d}" if day else "")


def _days(year: str, month: int) -> int:
    return monthrange(int(year or 2024), month)[1]


def _implied(year: str, month: str, day: str) -> list[str]:
    implied = [year + month, year, f"-{month}{day}", f"-{month}"] if year else [f"-{month}"]
    return [v for v in dict.fromkeys([(year or "-") + month + day, *implied]) if v.strip("-")]


def until(first: str, t: str, end: int) -> tuple[list[str], int]:
    """The values of the day up to which a date ending at `end` goes on (3월 3일~17일), and where it ends; or none."""
    day, last = _DAY.fullmatch(first), _LAST.match(t, end)
    if not day or not last:
        return [], end
    begun = int(day["m"]), int(day["d"])
    m, d = int(last["m"] or day["m"]), int(_figures(last["d"] or last["h"]))
    if begun >= (m, d) or m > 12 or d > _days(day["y"], m):
        return [], end
    return _implied(day["y"], f"-{m:02d}", f"-{d:02d}"), last.end()


def _last(before: str, here: str) -> str:
    return here or before


def with_years(dates: Sequence[list[str]]) -> list[list[str]]:
    """The values of the dates of a text; one without a year may be told with that of the dates around it."""
    years = ["".join(values[:1]).split("-")[0] for values in dates]
    filled = list(accumulate(years, _last))
    filled = list(accumulate(filled[::-1], _last))[::-1]
    return [
        [*values, year + values[0][1:]] if values and not own and year else values
        for values, own, year in zip(dates, years, filled)
    ]


def clock_values(m: re.Match[str]) -> list[str]:
    """The time of a match of CLOCK, and those that it may be read as; none where there is no such hour.

    A time of 24 hours has two figures for the hour (14:30, 02:30), one of unknown half of the day as few as it can
    (2:30); each supports the other.
    """
    found = _found(m)
    hour = NATIVE.get(found["h"]) or int(found["h"])
    minute = 30 if "half" in found else int(found.get("i", 0))
    named, twelve = "am" in found or "pm" in found, hour % 12 or 12
    if hour > 24 or minute > 59 or (named and "h" in found and hour > 12 and "am" in found):
        return []
    if named and hour <= 12:
        hour = hour % 12 + 12 * ("pm" in found)
    whole, either = f"{hour % 24:02d}:{minute:02d}", f"{twelve}:{minute:02d}"
    if named or not 1 <= hour <= 12 or found["h"].startswith("0"):
        return [whole, either]
    return [either, f"{hour % 12:02d}:{minute:02d}", f"{hour % 12 + 12}:{minute:02d}"]
