"""The interval strip: places on the line, the text for those who do not see it, and nothing where nothing is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaltools.report.strip import Scale, scale_of, strip


def test_places_are_percent_of_the_line() -> None:
    estimate = {"value": 0.89, "ci_low": 0.806, "ci_high": 0.941}
    html = str(strip(estimate, Scale(0, 1), "0.890 [0.81, 0.94]"))
    # 0.941 - 0.806 = 0.135 of the line
    assert 'style="--value:89.0%;--low:80.6%;--width:13.5%"' in html
    assert 'role="img" aria-label="0.890 [0.81, 0.94]"' in html


def test_a_scale_around_zero_marks_it() -> None:
    html = str(strip({"value": 0.5, "ci_low": None, "ci_high": None}, Scale(-1, 1), "0.500"))
    assert 'style="--value:75.0%;--zero:50.0%"' in html and "et-signed" in html


@pytest.mark.parametrize("value", [None, float("nan")])
def test_what_was_not_measured_has_no_strip(value: float | None) -> None:
    assert strip({"value": value, "ci_low": 0.1, "ci_high": 0.2}, Scale(0, 1), "N/A") == ""


@pytest.mark.parametrize(
    "numbers, scale",
    [
        ([0.2, 0.9], Scale(0, 1)),
        ([-0.2, 0.9], Scale(-0.9, 0.9)),
        ([-0.04, 0.05], Scale(-0.05, 0.05)),
        ([120.0, 950.0], Scale(0, 1000)),
        ([], Scale(0, 1)),
        ([None, 3.0], Scale(0, 3)),
    ],
)
def test_shares_have_one_scale_whatever_their_range(numbers: list[float], scale: Scale) -> None:
    assert scale_of(numbers) == scale


@given(st.lists(st.floats(-1e9, 1e9), min_size=1))
def test_every_number_has_its_place_on_its_scale(numbers: list[float]) -> None:
    scale = scale_of(numbers)
    assert all(0 <= scale.place(number) <= 100 for number in numbers)
