"""Reads dates and times of day in Korean, ISO and English notation to one value each: 2026-01-01, --01-01, 14:30.

Source: specification D16. The value of a date follows ISO 8601; a part that is not named is left out, as in --01-01.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date

from .text import NATIVE, Match, any_of, number_value

# year in figures, month and day; "" and 0 where they are not named
Day = tuple[str, int, int]

# a date with its place in a text: start, end
StatedDay = tuple[Day, int, int]

YEAR = "(?:19|20)[0-9]{2}"
TWO = "[0-9]{2}"
# of a day, a month or an hour
DAY = "[0-9]{1,2}"


# in Hangul: 이천이십육 (2026), 십이 (12), 유 and 시 of 유월 and 시월, 삼십일 (31)
H_ONES = "일이삼사오육칠팔구"
H_TENS = f"(?:[{H_ONES}]?십[{H_ONES}]?|[{H_ONES}])"
H_YEAR = f"(?:(?:이천|천구백){H_TENS}|이천)"
H_MONTH = f"(?:십[일이]?|[{H_ONES}유시])"
H_DAY = f"(?:[이삼]?십[{H_ONES}]?|[{H_ONES}])"

# a year of two digits is of the last century from this one on
PIVOT_YEAR = 50

# after a figure that could be of something else: no further digit, and no unit
NO_UNIT = (
    "(?![0-9,]*[0-9])"
    r"(?!\s?(?:%|퍼센트|프로|percent|원|만|억|천|days?\b|months?\b|years?\b|weeks?\b))"
)

# after 년: the year of a date, not a number of years (2020년, but 20년간, 20년 만기)
NO_DURATION = r"(?!\s?[간납]|\s?동안|\s?이내|\s?만기)"

# what may be a share (1/10, 2/3), and what makes it a day
SHARE = "0?(?:1/(?:0?[2-9]|[1-9][0-9])|2/0?[3-5]|3/0?[45]|4/0?5)"
WHEN = r"\s?\(?[월화수목금토일]\)|\s?(?:까지|부터|일자|자|경|에)"

# groups: y(ear), m(onth), d(ay)
FORMS = (
    # in words, or partly so: 이천이십육년 삼월 삼일, 3월 십오일
    rf"(?<![가-힣0-9.,])(?:(?P<y>{YEAR}|{TWO}|{H_YEAR}|{H_TENS})\s?년\s?)?"
    rf"(?P<m>{H_MONTH}|{DAY})\s?월\s?(?P<d>{H_DAY}|{DAY})\s?일",
    # 이월 alone is more often what is carried over
    r"(?<![가-힣0-9])(?!이월(?!부터|까지|\s?[말초]|\s?[중하]순))"
    rf"(?P<m>{H_MONTH})월(?:(?![가-힣])|(?=부터|까지|에|[말초중]|하순|생|분|자))",
    rf"(?<![가-힣0-9])(?P<y>{H_YEAR})\s?년{NO_DURATION}",
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
    rf"(?<![0-9.,])'?(?P<y>{YEAR})\s?년{NO_DURATION}",
    # '24년, where the apostrophe opens no quotation; 68년생
    rf"'(?P<y>{TWO})\s?년{NO_DURATION}(?![^'\n]{{0,20}}'(?![0-9]))",
    rf"(?<![0-9.,])'?(?P<y>{TWO})\s?년(?=생)",
    # 10/3; one that may be a share (2/3) only before a day of the week or a particle of time
    rf"(?<![0-9./])(?!{SHARE}(?![0-9])(?!{WHEN}|~))(?P<m>{DAY})/(?P<d>{DAY})(?![0-9/%])(?>(?:{WHEN})?)",
    # 10.3.; no number of a heading (3.1. at the start of a line), unless it goes on to another day
    rf"(?<![0-9.,a-z-])(?:(?<=\S)|(?<=\S )|(?=[0-9.]{{4,6}}\s?~))(?<!버전 )"
    rf"(?P<m>{DAY})\.\s?(?P<d>{DAY})\.(?=\s?[~(가-힣)\]○,/])",
    # the end of a period, behind a date: 2026.5.3~5.12
    rf"\s?~\s?(?P<m>{DAY})[./](?P<d>{DAY})(?![.:/]?[0-9]){NO_UNIT}",
)


def numbered(forms: Iterable[str]) -> str:
    """One pattern of several that name their groups alike: a name gets the number of its form.

    >>> numbered(["(?P<m>a)", "(?P<m>b)"])
    '(?P<m0>a)|(?P<m1>b)'
    """
    return "|".join(
        re.sub(r"\(\?P(<|=)([a-z]+)", rf"(?P\g<1>\g<2>{number}", form)
        for number, form in enumerate(forms)
    )


def parts_of(match: Match) -> dict[str, str]:
    """The groups of a match of `numbered` forms, under the names that the forms gave them."""
    found = match.groupdict().items()
    return {name.rstrip("0123456789"): text for name, text in found if text and name[-1].isdigit()}


# `read_date` reads a match of it
DATE = numbered(FORMS)

# stands for a year that is not named, as it has every day that a month may have
LEAP_YEAR = 2024


def read_date(match: Match) -> Day | None:
    """The date of a match of DATE; None where there is no such day."""
    parts = parts_of(match)
    year = ""
    if "y" in parts:
        number = _number(parts["y"].lstrip("'"))
        if number < 100:
            number += 1900 if number >= PIVOT_YEAR else 2000
        year = str(number)
    month, day = (_number(parts.get(name, "1")) for name in "md")
    try:
        date(int(year or LEAP_YEAR), month, day)
    except ValueError:
        return None
    return year, month * ("m" in parts), day * ("d" in parts)


def _number(part: str) -> int:
    """A part of a date as a number: 26, 이십육 (26), 유 and 시 (6 and 10)."""
    return int(number_value(part.replace("유", "육").replace("시", "십")) or 0)


def date_values(days: Sequence[StatedDay]) -> Iterator[tuple[str, int, int, bool]]:
    """The values of the dates of a text: value, start, end, and whether it only supports.

    A day implies its month, its year, and both without the year: 2026-01-31, 2026-01, 2026, --01-31, --01. One without
    a year is also of that of the last date before it, without one of the first after it.

    >>> days = [(("2026", 1, 2), 0, 10), (("", 3, 4), 11, 17)]
    >>> [value for value, start, *_ in date_values(days) if start]
    ['--03-04', '--03', '2026-03-04']
    """
    around = next((year for (year, _, _), _, _ in days if year), "")
    for (year, month, day), start, end in days:
        around = year or around
        of_month = f"-{month:02d}" if month else ""
        of_day = f"-{day:02d}" if day else ""
        values = [(year or "-") + of_month + of_day]
        if year:
            values += [year + of_month, year, f"-{of_month}{of_day}"]
        values.append(f"-{of_month}")
        if around and not year:
            values.append(around + values[0][1:])
        for number, value in enumerate(dict.fromkeys(values)):
            if value.strip("-"):
                yield value, start, end, number > 0


# 오전 and 오후, or what says the same
_BEFORE = "(?:(?P<am>오전|새벽|아침)|(?P<pm>오후|저녁))?"

_HOUR_ENDS = "(?![가-힣])|(?=에|부터|까지|경|쯤|이후|이전|로|은|는|이|의|도|만|입|정각|반)"  # 세 시, not 세 시간

# `clock_values` reads a match of it; groups: h(our), i (minute) or half, and the half of the day
CLOCK = numbered(
    (
        # 14:30
        rf"(?<![0-9.:])(?P<h>{DAY}):(?P<i>[0-5][0-9])(?::[0-5][0-9])?(?![0-9:])",
        # 오후 두 시 반, 14시 30분
        rf"{_BEFORE}\s?(?<![0-9.,가-힣])(?P<h>{DAY}|{any_of(NATIVE)})\s?시"
        rf"(?:(?=\s?(?:[0-9]|반))(?:\s?(?P<i>[0-5]?[0-9])\s?분|\s?(?P<half>반))|{_HOUR_ENDS})",
        # the first of two: 9~18시
        rf"{_BEFORE}\s?(?<![0-9.,:])(?P<h>{DAY})(?=\s?[~-]\s?{DAY}\s?시(?!간))",
    )
)


def clock_values(match: Match) -> list[str]:
    """The time of a match of CLOCK, and those it may be read as; none where there is no such hour.

    A time of 24 hours has two figures for the hour (14:30, 02:30), one of unknown half of the day
    as few as it can (2:30); each supports the other.
    """
    parts = parts_of(match)
    hour = NATIVE.get(parts["h"]) or int(parts["h"])
    minute = 30 if "half" in parts else int(parts.get("i", 0))
    half_is_named = "am" in parts or "pm" in parts
    if hour > 24 or (hour > 12 and "am" in parts):
        return []
    either = f"{hour % 12 or 12}:{minute:02d}"
    if half_is_named and hour <= 12:
        hour = hour % 12 + (12 if "pm" in parts else 0)
    if half_is_named or not 1 <= hour <= 12 or parts["h"].startswith("0"):
        return [f"{hour % 24:02d}:{minute:02d}", either]
    return [either, f"{hour % 12:02d}:{minute:02d}", f"{hour % 12 + 12}:{minute:02d}"]
