"""The interval strip: places on the line, the text for those who do not see it, and nothing where nothing is."""

from typing import Any

from evaltools.report.page import macros


def strip(value: Any, axis: tuple[float, float], **row: Any) -> str:
    row = {"ci_low": None, "ci_high": None, **row}
    return str(macros().strip({**row, "value": value, "axis": axis}, "0.890 [0.81, 0.94]"))


def test_places_are_percent_of_the_line() -> None:
    html = strip(0.89, (0, 1), ci_low=0.806, ci_high=0.941)
    assert 'style="--value:89.0%;--low:80.6%;--high:94.1%"' in html
    assert 'role="img" aria-label="0.890 [0.81, 0.94]"' in html
    assert 'style="--value:75.0%;--zero:50.0%"' in strip(0.5, (-1, 1))
    assert not strip(None, (0, 1)).strip() and not strip(float("nan"), (0, 1)).strip()
