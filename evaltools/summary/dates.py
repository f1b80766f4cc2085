"""Dates in Korean, ISO and English notation, read to one value: 2026-01-01, 2026-01, --01-01, --01, 2026.

Source: specification D16. The value follows ISO 8601 (a part that is not named is left out, as in --01-01).
"""

from __future__ import annotations

import re
from calendar import monthrange

from .text import NOTATION

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

DATE = "|".join(NOTATION["date"]["forms"])
for _name, _part in NOTATION["date"]["parts"].items():
    DATE = DATE.replace(f"{{{_name}}}", _part)
"""One pattern for all notations, of bounded length; `date_value` reads its match."""


def date_value(m: re.Match[str]) -> str | None:
    """The date of a match of DATE; None where the calendar has no such day (February 30)."""
    found = {k[0]: v for k, v in m.groupdict().items() if v and k[0] in "ymdnab" and k[1:].isdigit()}
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
    last = monthrange(int(year or 2024), month)[1] if 1 <= month <= 12 else 0
    if ("m" in found and not last) or ("d" in found and not 1 <= day <= last):
        return None
    return (year or "-") + (f"-{month:02d}" if month else "") + (f"-{day:02d}" if day else "")


def less_specific(date: str) -> list[str]:
    """The dates that this one implies: a day implies its month, its year, and both without the year.

    >>> less_specific("2026-01-31")
    ['2026-01', '2026', '--01-31', '--01']
    """
    if date.startswith("-"):
        return [date[:4]] if len(date) > 4 else []
    year, *rest = date.split("-")
    out = [f"{year}-{rest[0]}", year, "-" + date[4:], f"--{rest[0]}"] if len(rest) == 2 else []
    return out or ([year, f"--{rest[0]}"] if rest else [])
