"""The metric table: expressions, compilation, values, and what null and infinity mean."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

import evaltools as et
from evaltools.core.metric import Difference, Mean, Metric, MetricTable, as_ratios, linear, subset


def metric(name: str, num: str, den: str, **more: object) -> Metric:
    return Metric(name=name, numerator=num, denominator=den, group="g", better="higher", **more)  # type: ignore[arg-type]


def test_linear_reads_factors_and_signs() -> None:
    assert linear("2*tp + fp - fn") == {"tp": 2.0, "fp": 1.0, "fn": -1.0}
    assert linear("a - a") == {"a": 0.0}
    assert linear("") == {}
    assert linear("-x+3*y") == {"x": -1.0, "y": 3.0}


@pytest.mark.parametrize("bad", ["a b", "a +", "a*2", "1.5*a", "__import__('os')"])
def test_linear_rejects_what_is_no_sum_of_columns(bad: str) -> None:
    with pytest.raises(et.UsageError, match="not a sum of columns"):
        linear(bad)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: metric("a", "x", "n", bounds=(1, 0)), r"low below high.* got \(1, 0\)"),
        (lambda: metric("a", "x", "n", bounds=()), r"got \(\)"),
        (lambda: Metric(name="a", numerator="x", denominator="n", better="Lower"), "got 'Lower'"),  # type: ignore[arg-type]
        (lambda: metric("a", "x", "n", empty="0.x"), "empty as a number"),
        (lambda: metric("a", "x", "n", bounds=(1, 5), empty=0), r"within.* got \(1, 5\), 0 and"),
        (lambda: metric("a", "", "n"), "and a numerator, got None, None and ''"),
        (lambda: Mean(name="a", of=("x", "y", "x"), better="higher"), "other metrics, each once"),
        (lambda: Difference(name="a", minuend="x", subtrahend="x", better="none"), "each once"),
    ],
)
def test_a_metric_that_makes_no_sense_is_refused_when_it_is_made(
    make: Callable[[], object], said: str
) -> None:
    with pytest.raises(et.UsageError, match=f"^metric 'a': .*{said}"):
        make()


def test_doubled_and_unknown_names_are_named() -> None:
    with pytest.raises(et.UsageError, match=r"doubled metric: \['a'\]"):
        as_ratios([metric("a", "x", "n"), metric("a", "y", "n")])
    with pytest.raises(et.UsageError, match="'zzz', which is no other metric"):
        as_ratios(
            [
                metric("a", "x", "n"),
                Difference(name="d", minuend="a", subtrahend="zzz", group="g", better="higher"),
            ]
        )


def valued(units: pd.DataFrame, table: MetricTable) -> dict[str, float]:
    """Metric -> its value over the units."""
    units = units.assign(id=range(len(units)))
    frame = et.estimate(units, table, unit="id", resampling=et.Resampling())
    return dict(zip(frame["name"], frame["value"]))


def test_values_by_hand() -> None:
    table = [
        metric("micro", "2*tp", "2*tp + fp + fn"),
        metric("count", "tp", ""),
        metric("void", "tp", "nothing"),
        metric("void0", "tp", "nothing", empty=0.0),
        metric("rate", "tp", "n"),
        Difference(name="d", minuend="micro", subtrahend="rate", group="g", better="higher"),
    ]
    units = pd.DataFrame({"tp": [1, 2], "fp": [1, 0], "fn": [0, 3], "nothing": [0, 0], "n": [2, 2]})
    values = valued(units, table)
    assert values["micro"] == 6 / 10  # tp 3, fp 1, fn 3: 2*3 / (2*3 + 1 + 3)
    assert values["count"] == 3
    assert np.isnan(values["void"])
    assert values["void0"] == 0
    assert values["d"] == 6 / 10 - 3 / 4


def test_null_takes_no_part_and_infinity_is_an_error() -> None:
    units = pd.DataFrame({"a": [1.0, None, 3.0], "b": [True, None, None], "i": [1.0, np.inf, 0.0]})
    assert valued(units, [metric("m", "b", "")])["m"] == 1
    with pytest.raises(et.UsageError, match=r"row 2 \(id 1\): i is inf; expected a finite number"):
        valued(units, [metric("m", "a", "i")])


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            [1, 10**400],
            r"^row 2 \(id 1\): x is 1000+\.\.\.; expected a finite number below 1e\+70$",
        ),
        ([1, {}], r"^row 2 \(id 1\): x is {}; expected a finite number below 1e\+70$"),
        ([b"1", b"0"], r"^row 1 \(id 0\): x is b'1'; expected a finite number below 1e\+70$"),
        ([True, 1.0, "a"], r"^row 3 \(id 2\): x is 'a'; expected a finite number below 1e\+70$"),
        (None, "^the units frame lacks .{978}…$"),
    ],
)
def test_what_is_no_number_is_named_with_its_row(values: list[object] | None, said: str) -> None:
    column = "x" if values else "y" * 10**6
    units = pd.DataFrame({"x": pd.Series(values or [1, 2], dtype=object), "n": 1})
    with pytest.raises(et.UsageError, match=said):
        valued(units, [metric("m", column, "n")])


def test_weighted_sums_of_metrics_by_hand() -> None:
    table = [
        metric("a", "x", "n"),
        metric("b", "y", "n"),
        Mean(name="m", of=("a", "b"), better="higher"),
        Difference(name="d", minuend="m", subtrahend="b", better="higher"),
    ]
    # 3/4, 1/4, their mean 1/2, and 1/2 - 1/4
    values = valued(pd.DataFrame({"x": [3.0], "y": [1.0], "n": [4.0]}), table)
    assert list(values.values()) == [0.75, 0.25, 0.5, 0.25]
    assert list(as_ratios(table)[3].values()) == [0.5, -0.5]
    assert [m.name for m in subset(table, ["d"])] == ["d", "m", "b", "a"]
