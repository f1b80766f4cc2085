"""Dates in Korean, ISO and English notation, read to one value: 2026-01-01, 2026-01, --01-01.

Source: specification D16. The value follows ISO 8601; a part that is not named is left out, as in
--01-01.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from calendar import monthrange
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from operator import itemgetter

from .numerals import ONES, hangul_value

YEAR = "(?:19|20)[0-9]{2}"
TWO = "[0-9]{2}"
DAY = "[0-9]{1,2}"
"""Of a day or a month."""

MONTH = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
ORDINAL = "(?:st|nd|rd|th)?"

# in Hangul: 이천이십육 or 이공이육 (2026), 십이 (12), 유 and 시 of 유월 and 시월, 삼십일 (31)
H_ONES = "일이삼사오육칠팔구"
H_TENS = f"(?:[{H_ONES}]?십[{H_ONES}]?|[{H_ONES}])"
H_YEAR = f"(?:(?:이천|천구백){H_TENS}|이천|이공[공영{H_ONES}]{{2}})"
H_MONTH = f"(?:십[일이]?|[{H_ONES}유시])"
H_DAY = f"(?:[이삼]?십[{H_ONES}]?|[{H_ONES}])"

OLDEST = "50"
"""The first year of two digits that is of the last century."""

NO_UNIT = (
    "(?![0-9,]*[0-9])"
    r"(?!\s?(?:%|퍼센트|프로|percent|원|만|억|천|days?\b|months?\b|years?\b|weeks?\b))"
)
"""After a figure that could be of something else: no further digit, and no unit."""

NO_SPAN = r"(?!\s?[간납]|\s?동안|\s?이내|\s?만기)"
"""After 년: the year of a date, not a number of years (2020년, but 20년간, 20년 만기)."""

IN_ENGLISH_YEAR = rf"(?:,?\s?(?P<y>{YEAR})(?![0-9]))?"

FORMS = (
    # in words, or partly so: 이천이십육년 삼월 삼일, 3월 십오일
    rf"(?<![가-힣0-9.,])(?:(?P<y>{YEAR}|{TWO}|{H_YEAR}|{H_TENS})\s?년\s?)?"
    rf"(?P<m>{H_MONTH}|{DAY})\s?월\s?(?P<d>{H_DAY}|{DAY})\s?일",
    # 이월 alone is more often what is carried over
    r"(?<![가-힣0-9])(?!이월(?!부터|까지|\s?[말초]|\s?[중하]순))"
    rf"(?P<m>{H_MONTH})월(?:(?![가-힣])|(?=부터|까지|에|[말초중]|하순|생|분|자))",
    rf"(?<![가-힣0-9])(?P<y>{H_YEAR})\s?년{NO_SPAN}",
    # 2026년 1월 1일, '26년 1월 1일; the day may lack its 일 before a particle
    rf"(?<![0-9.,])'?(?P<y>{YEAR}|{TWO})\s?년\s?(?P<m>{DAY})\s?월"
    rf"\s?(?P<d>{DAY})(?![0-9])(?:\s?일)?",
    # 2026-01-01, 2026.1.1, 2026/1/1, 2026. 1. 1., '26.1.1
    rf"(?<![0-9.,-])(?P<y>{YEAR}|'?{TWO})(?P<sign>\s?[-./])\s?(?P<m>{DAY})(?P=sign)"
    rf"\s?(?P<d>{DAY})(?![0-9])(?!\.[0-9])",
    # 20260101
    rf"(?<![0-9])(?P<y>{YEAR})(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12][0-9]|3[01])(?![0-9])"
    r"(?!\s?[원만억천.,%])",
    # 2026년 1월, 26.1월, 2026-01
    rf"(?<![0-9.,])(?P<y>{YEAR}|{TWO})\s?[년.]\s?(?P<m>{DAY})\s?월(?!\s?납)",
    rf"(?<![0-9.,-])(?P<y>{YEAR})[-./](?P<m>0?[1-9]|1[0-2]){NO_UNIT}(?![-/])",
    # 1월 1일, 1월, 2026년; the first of several days: 3월 3~17일
    rf"(?<![0-9.,])(?P<m>{DAY})\s?월\s?(?P<d>{DAY})(?:\s?일|(?=\s?[~-]\s?{DAY}\s?일))",
    rf"(?<![0-9.,])(?P<m>{DAY})\s?월(?!\s?납)",
    rf"(?<![0-9.,])'?(?P<y>{YEAR})\s?년{NO_SPAN}",
    # '24년, where the apostrophe opens no quotation; 68년생
    rf"'(?P<y>{TWO})\s?년{NO_SPAN}(?![^'\n]{{0,20}}'(?![0-9]))",
    rf"(?<![0-9.,])'?(?P<y>{TWO})\s?년(?=생)",
    # 10/3; one that may be a share (2/3) only before a day of the week or a particle of time
    rf"(?<![0-9./])(?P<m>{DAY})(?P<slash>/)(?P<d>{DAY})(?![0-9/%])"
    r"(?>(?P<when>\s?\(?[월화수목금토일]\)|\s?(?:까지|부터|일자|자|경|에))?)",
    # 10.3.; no number of a heading (3.1. at the start of a line), unless it goes on to another day
    rf"(?<![0-9.,a-z-])(?:(?<=\S)|(?<=\S )|(?=[0-9.]{{4,6}}\s?~))(?<!버전 )"
    rf"(?P<m>{DAY})\.\s?(?P<d>{DAY})\.(?=\s?[~(가-힣)\]○,/])",
    # May 3rd, 2026; 3rd of May 2026
    rf"\b(?P<name>{MONTH})\s?(?P<d>{DAY}){ORDINAL}\b{NO_UNIT}{IN_ENGLISH_YEAR}",
    rf"(?<![0-9.,])(?P<d>{DAY}){ORDINAL}\s?(?:of\s)?(?P<name>{MONTH}){IN_ENGLISH_YEAR}",
)
"""Groups: y(ear), m(onth) or its name, d(ay)."""


def numbered(forms: Iterable[str]) -> str:
    """One pattern of several that name their groups alike: a name gets the number of its form.

    >>> numbered(["(?P<m>a)", "(?P<m>b)"])
    '(?P<m0>a)|(?P<m1>b)'
    """
    parts = []
    for number, form in enumerate(forms):
        parts.append(re.sub(r"\(\?P(<|=)([a-z]+)", rf"(?P\g<1>\g<2>{number}", form))
    return "|".join(parts)


def parts_of(match: re.Match[str]) -> dict[str, str]:
    """The groups of a match of `numbered` forms, under the names that the forms gave them."""
    parts = {}
    for name, text in match.groupdict().items():
        if text and name[-1].isdigit():
            parts[name.rstrip("0123456789")] = text
    return parts


DATE = numbered(FORMS)
"""`date_values` reads a match of it."""

LEAP_YEAR = 2024
"""Stands for a year that is not named: every day of a month is in it."""

FROM_NOW = {"오늘": 0, "내일": 1, "모레": 2, "어제": -1, "그제": -2}
"""Days counted from that of the text."""

_DAY_ALONE = re.compile(
    rf"(?<![가-힣0-9])(?:(?P<from_now>{'|'.join(FROM_NOW)})"
    rf"|(?<!월 )(?:(?P<h>{H_DAY})|(?P<d>{DAY}))\s?일(?=까지|부터|에|자|날|경|쯤))"
)

_FULL_DATE = re.compile(r"(?P<y>\d*)-?-(?P<m>\d\d)-(?P<d>\d\d)")

_ANY_DAY = f"(?:{H_DAY}|{DAY})"

_JOINT = (
    "(?:~"
    rf"|-(?=\s?{_ANY_DAY}\s?일)"
    "|(?<=[a-z. ][ ][0-9])-"
    "|(?<=[a-z. ][ ][0-9]{2})-"
    rf"|[,·](?=\s?{DAY}\s?일(?!\s?(?:소요|입원|치)))"
    "|to"
    rf"|(?:부터|에서)(?=\s?{_ANY_DAY}\s?일\s?까지))"
)
_DAY_ENDS = (
    r"(?:\s?일(?!\s?(?:간|동안|이내|안|내|후|뒤|전|째|분))"
    "|(?=까지)"
    rf"|(?![가-힣:/]|\.[0-9]|\s[가-힣]|{ORDINAL}\s?(?:of\s)?{MONTH}){NO_UNIT})"
)
_LAST_DAY = re.compile(
    rf"\.?\s?{_JOINT}\s?(?:(?P<m>{DAY})\s?[./]\s?)?"
    rf"(?:(?P<h>{H_DAY})(?=\s?일)|(?P<d>{DAY})){_DAY_ENDS}"
)
"""What follows a date: the day up to which it goes on (3월 3일~17일)."""


def date_values(match: re.Match[str]) -> list[str]:
    """The date of a match of DATE, and those that it implies; none where there is no such day.

    A day implies its month, its year, and both without the year: 2026-01-31, 2026-01, 2026,
    --01-31, --01.
    """
    parts = parts_of(match)
    year = _in_figures(parts.get("y", "").lstrip("'"))
    if len(year) == 2:
        year = ("19" if year >= OLDEST else "20") + year
    month, day = _month_and_day(parts)
    if month is not None and not 1 <= month <= 12:
        return []
    if day is not None and not 1 <= day <= _days_in(year, month or 0):
        return []
    if "slash" in parts and month and day:
        may_be_share = month < day and (month == 1 or day <= 5)  # 1/10, 2/3
        is_span = match.string.startswith("~", match.end())
        if may_be_share and "when" not in parts and not is_span:
            return []
    return _implied(year, month, day)


def _in_figures(part: str) -> str:
    """A part of a date in figures: 26, 이십육 (26), 이공이육 (2026), 유 and 시 (6 and 10)."""
    if part.isascii():
        return part
    part = part.replace("유", "육").replace("시", "십")
    if "공" in part or "영" in part:
        return "".join(str(ONES[syllable]) for syllable in part)
    return str(hangul_value(part))


def _month_and_day(parts: dict[str, str]) -> tuple[int | None, int | None]:
    day = int(_in_figures(parts["d"])) if "d" in parts else None
    if "name" in parts:
        return MONTHS.index(parts["name"][:3]) + 1, day
    return int(_in_figures(parts["m"])) if "m" in parts else None, day


def _days_in(year: str, month: int) -> int:
    return monthrange(int(year or LEAP_YEAR), month)[1]


def _implied(
    year: str,
    month: int | None,
    day: int | None,
) -> list[str]:
    """The value of a date and of all that are less exact, each once."""
    of_month = f"-{month:02d}" if month else ""
    of_day = f"-{day:02d}" if day else ""
    values = [(year or "-") + of_month + of_day]
    if year:
        values += [year + of_month, year, f"-{of_month}{of_day}"]
    values.append(f"-{of_month}")
    return [value for value in dict.fromkeys(values) if value.strip("-")]


def last_day(
    first: str,
    text: str,
    end: int,
) -> tuple[list[str], int]:
    """The values of the day up to which a date goes on (3월 3일~17일), and where it ends.

    first: the date, which ends at `end`. No values where it goes on to no later day.
    """
    begun = _FULL_DATE.fullmatch(first)
    match = _LAST_DAY.match(text, end)
    if not begun or not match:
        return [], end
    first_month, first_day = int(begun["m"]), int(begun["d"])
    month = int(match["m"] or first_month)
    day = int(_in_figures(match["d"] or match["h"]))
    is_later = (first_month, first_day) < (month, day)
    if not is_later or month > 12 or day > _days_in(begun["y"], month):
        return [], end
    return _implied(begun["y"], month, day), match.end()


def days_alone(
    text: str,
    dates: Sequence[tuple[list[str], int, int]],
) -> list[tuple[list[str], int, int]]:
    """Days without their month (27일까지, 모레) as dates: values, start, end.

    dates: those of the text. A day is of the month of the date before it, of the next month where it
    is earlier in it; 내일 is the day after that date. None where no date stands before.

    >>> days_alone("2025-06-24 통화: 27일까지 회신", [(["2025-06-24"], 0, 10)])[0][0][0]
    '2025-06-27'
    """
    full = []
    for values, _, end in dates:
        begun = _FULL_DATE.fullmatch(values[0])
        if begun:
            full.append((end, begun))
    days = []
    for match in _DAY_ALONE.finditer(text):
        n_before = bisect_right(full, match.start(), key=itemgetter(0))
        if n_before:
            _, stated = full[n_before - 1]
            then = _day_after(stated, match)
            year = str(then.year) if stated["y"] else ""
            days.append((_implied(year, then.month, then.day), *match.span()))
    return days


def _day_after(stated: re.Match[str], day: re.Match[str]) -> date:
    """The date of a match of _DAY_ALONE, counted from the full date before it; a day too many is the month's last."""
    begun = date(int(stated["y"] or LEAP_YEAR), int(stated["m"]), int(stated["d"]))
    if day["from_now"]:
        return begun + timedelta(days=FROM_NOW[day["from_now"]])
    number = int(_in_figures(day["d"] or day["h"]))
    if number < begun.day:
        begun = begun.replace(day=28) + timedelta(days=4)  # a day of the next month
    last = _days_in(str(begun.year), begun.month)
    return begun.replace(day=min(max(number, 1), last))


def with_years(dates: Sequence[list[str]]) -> list[list[str]]:
    """The values of the dates of a text; one without a year also with that of the dates around it.

    The last year before it counts, without one the first after it.

    >>> with_years([["2026-01-02"], ["--03-04"]])
    [['2026-01-02'], ['--03-04', '2026-03-04']]
    """
    years = [values[0].partition("-")[0] for values in dates]
    around = next(filter(None, years), "")
    dated = []
    for values, year in zip(dates, years):
        around = year or around
        if around and not year:
            values = [*values, around + values[0][1:]]
        dated.append(values)
    return dated
