"""Dates in Korean, ISO and English notation, read to one value: 2026-01-01, 2026-01, --01-01, --01, 2026.

Source: specification D16. The value follows ISO 8601 (a part that is not named is left out, as in --01-01).
"""

from __future__ import annotations

import re
from calendar import monthrange

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_YEAR = r"(?:19|20)[0-9]{2}"
_D = r"[0-9]{1,2}"
_ORDINAL = r"(?:st|nd|rd|th)?"
_NO_UNIT = r"(?![0-9,]*[0-9])(?!\s?(?:%|퍼센트|프로|percent|원|만|억|천|days?\b|months?\b|years?\b|weeks?\b))"

_FORMS = (
    # 2026년 1월 1일, '26년 1월 1일; the day may lack its 일 before a particle
    rf"(?<![0-9.,])'?(?P<y1>{_YEAR}|[0-9]{{2}})\s?년\s?(?P<m1>{_D})\s?월\s?(?P<d1>{_D})(?![0-9])(?:\s?일)?",
    # 2026-01-01, 2026.1.1, 2026/1/1, 2026. 1. 1., '26.1.1
    rf"(?<![0-9.,-])(?P<y2>{_YEAR}|'?[0-9]{{2}})(?P<s2>\s?[-./])\s?(?P<m2>{_D})(?P=s2)\s?(?P<d2>{_D})(?![0-9])(?!\.[0-9])",
    rf"(?<![0-9])(?P<y3>{_YEAR})(?P<m3>0[1-9]|1[0-2])(?P<d3>0[1-9]|[12][0-9]|3[01])(?![0-9])(?!\s?[원만억천.,%])",
    # 01/31/2026, 31.01.2026
    rf"(?<![0-9./-])(?P<a4>{_D})(?P<s4>[-./])(?P<b4>{_D})(?P=s4)(?P<y4>{_YEAR})(?![0-9])",
    rf"(?<![0-9.,])(?P<y5>{_YEAR}|(?<=')[0-9]{{2}})\s?년\s?(?P<m5>{_D})\s?월(?!\s?납)",
    rf"(?<![0-9.,-])(?P<y6>{_YEAR})[-./](?P<m6>0?[1-9]|1[0-2]){_NO_UNIT}(?![-/])",
    rf"(?<![0-9.,])(?P<m7>{_D})\s?월\s?(?P<d7>{_D})\s?일",
    rf"(?<![0-9.,])(?P<m8>{_D})\s?월(?!\s?납)",
    rf"(?<![0-9.,])(?P<y9>{_YEAR})\s?년(?!\s?[간납]|\s?동안|\s?이내|\s?만기)",
    rf"(?<![0-9.,-])(?P<y13>{_YEAR})(?=\s?[~-]\s?{_YEAR}\s?년)",
    rf"\b(?P<n10>{_MONTH})\s?(?P<d10>{_D}){_ORDINAL}\b{_NO_UNIT}(?:,?\s?(?P<y10>{_YEAR})(?![0-9]))?",
    rf"(?<![0-9.,])(?P<d11>{_D}){_ORDINAL}\s?(?:of\s)?(?P<n11>{_MONTH})(?:,?\s?(?P<y11>{_YEAR})(?![0-9]))?",
    rf"\b(?P<n12>{_MONTH}),?\s?(?:of\s)?(?P<y12>{_YEAR})(?![0-9])",
)
DATE = "|".join(_FORMS)
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
    if ("m" in found and not 1 <= month <= 12) or ("d" in found and not 1 <= day <= _last_day(year, month)):
        return None
    return (year or "-") + (f"-{month:02d}" if month else "") + (f"-{day:02d}" if day else "")


def _last_day(year: str, month: int) -> int:
    return monthrange(int(year) if year else 2024, month)[1]


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
