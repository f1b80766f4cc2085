"""Numbers as readers see them: values, intervals, p values, and the smallest difference that could be shown."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

from ..core.estimates import Row, is_null
from ..core.language import say

# the better direction of a metric -> its sign
ARROWS = {"higher": "↑", "lower": "↓"}

# numbers below are the rounding of a sum and printed as 0; numbers from LARGE on are printed whole
LEAST, LARGE = 1e-9, 1000

# units from which on two digits of a detectable difference are known
KNOWN_UNITS = 20


def titled(
    title: Any,
    better: str,
) -> str:
    """A metric's title with the arrow of its better direction, which never stands on a line of its own."""
    return f"{say(title)}\u00a0{ARROWS.get(better, '')}".rstrip()


def number(
    value: Any,
    decimals: int = 3,
    *,
    signed: bool = False,
) -> str:
    """A number as printed: "N/A" where nothing was measured, whole where it counts, else with `decimals`.

    What would be 0 so, and is not, has two significant digits.

    >>> number(-0.0024), number(0.0521, signed=True), number(-1200), number(0.000012345)
    ('−0.002', '+0.052', '−1,200', '0.000012')
    """
    if is_null(value):
        return "N/A"
    sign = "+" if signed else ""
    if isinstance(value, Integral):
        return f"{int(value):{sign},}".replace("-", "−")
    value = float(value)
    if LEAST <= abs(value) < 0.5 * 10.0**-decimals:
        decimals = decimals_of(value, 2)
    text = f"{value:{sign},.{decimals}f}"
    if not text.strip("-0.,"):
        return text.removeprefix("-")
    return text.replace("-", "−")


def decimals_of(
    value: float,
    digits: int,
) -> int:
    """Decimals that show so many significant digits of a number other than 0.

    >>> decimals_of(0.00345, 2), decimals_of(12.0, 2)
    (4, 0)
    """
    return digits - 1 - math.floor(math.log10(abs(value)))


def estimate_text(estimate: Row) -> str:
    """The value of an estimate: a count and a number from LARGE on are whole, all else has three decimals."""
    value: Any = estimate["value"]
    if is_null(value):
        return "N/A"
    is_count = is_null(estimate["denominator"]) and value == estimate["numerator"]
    is_whole = abs(value) >= LARGE or (is_count and value == int(value))
    return number(value, 0 if is_whole else 3)


def interval(row: Row, *, signed: bool = False) -> str:
    """ "[0.42, 0.65]" of ci_low and ci_high, "[+0.01, +0.07]" where `signed`, or "" where there is no interval.

    So narrow an interval that its ends would be alike has more decimals than three, one from LARGE on none.
    """
    ends: list[Any] = [row.get("ci_low"), row.get("ci_high")]
    if any(map(is_null, ends)):
        return ""
    width = float(ends[1] - ends[0])
    decimals = 0 if max(map(abs, ends)) >= LARGE else 3
    if LEAST <= width < 2 * 10.0**-decimals:
        decimals = decimals_of(width, 2)
    low, high = (number(round(float(end), decimals), decimals, signed=signed) for end in ends)
    return f"[{low}, {high}]"


def p_text(p: float) -> str:
    """A p value in three digits, as in a table; "" for none.

    >>> p_text(0.00004), p_text(0.0312)
    ('< 0.001', '0.031')
    """
    if is_null(p):
        return ""
    return "< 0.001" if p < 0.001 else number(float(p))


def p_equation(p: float) -> str:
    """A p value as in a sentence.

    >>> p_equation(0.00004), p_equation(0.0312)
    ('p < 0.001', 'p = 0.031')
    """
    return f"p {p_text(p)}" if p < 0.001 else f"p = {p_text(p)}"


def mde_text(row: Row) -> str:
    """The smallest difference that could be shown, with the digits that are known.

    >>> mde_text({"mde": 0.1, "n_units": 30}), mde_text({"mde": 0.1, "n_units": 12})
    ('0.10', '0.1')
    """
    digits = 1 if row["n_units"] < KNOWN_UNITS else 2
    return number(row["mde"], max(0, decimals_of(row["mde"], digits)))


def sort_key(value: Any) -> float | str:
    """What a cell of a table sorts by: its number, or "" (last) where it has none.

    Six significant digits and twelve decimals: the last digits of a sum depend on the processor, and a page must not.

    >>> sort_key(0.28168669095825843)
    0.281687
    """
    if is_null(value) or not isinstance(value, Real):
        return ""
    return round(float(f"{float(value):.6g}"), 12)
