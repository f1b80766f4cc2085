"""What inputs look like, and what is said of one that is another suite's, none, or several."""

import math
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, create_model

import evaltools as et
from evaltools.core.suite import TAKEN, get_suite
from tests.files import write_lines

INPUTS = {
    "cr": "cr/with_memory__seed1_proposed",
    "memfin": "memfin/plain_llm",
    "summary": "summary/cases.jsonl",
}
UNBOUNDED = {"cr": ["latency_ms_mean"]}


@pytest.mark.parametrize("name", INPUTS)
def test_every_metric_says_what_it_is_and_a_ratio_its_limits(name: str) -> None:
    """A bounded metric has an interval however few units there are, which hangs on its limits in the table."""
    suite = get_suite(name)
    metrics = suite.metrics(suite.options())
    assert all(m.title and m.description and m.group and m.source for m in metrics)
    ratios = {m.name: m.limits for m in metrics if isinstance(m, et.Metric) and m.denominator}
    assert [name for name, limits in ratios.items() if math.isinf(limits[1])] == UNBOUNDED.get(
        name, []
    )


def test_options_that_a_suite_has_not_or_does_not_take() -> None:
    run = f"example:{INPUTS['cr']}"
    with pytest.raises(et.UsageError, match="cr has no option 'nosuch'; there are"):
        et.evaluate("cr", run, nosuch=1)
    with pytest.raises(et.UsageError, match="options of cr: protocol: expected 'cr_v2' or 'cr_v1'"):
        et.evaluate("cr", run, protocol="cr_v3")


class Graded(BaseModel):
    id: str
    line: int
    x: float


def graded(columns: Callable[[Graded], dict[str, float]], **metric: Any) -> et.Suite:
    fields: Any = {"name": "m", "numerator": "x", "denominator": "n", "better": "higher", **metric}
    return et.jsonl_suite(
        "graded",
        title="Graded",
        record=Graded,
        unit="id",
        columns=columns,
        metrics=[et.Metric(**fields)],
        headline=["m"],
    )


RECORDS = [{"id": f"r{i}", "line": 5, "x": i / 40} for i in range(40)]
FAST = et.Resampling(n_resamples=100)


def test_numbers_of_a_suite_made_in_python_are_never_those_of_its_older_code(
    tmp_path: Path,
) -> None:
    path = write_lines(tmp_path / "run.jsonl", RECORDS)
    weights = [1.0]
    suites = [
        graded(lambda r: {"n": 1, "x": r.x * weights[0]}),
        graded(lambda r: {"n": 1, "x": 1 - r.x}),
        graded(lambda r: {"n": 1, "x": r.x, "y": 2 * r.x}, numerator="y"),
    ]
    runs = [et.evaluate(suite, path, out=tmp_path, resampling=FAST) for suite in suites]
    assert [run.value("m") for run in runs] == pytest.approx([0.4875, 0.5125, 0.975])
    assert len({run.signature for run in runs}) == 2  # other metrics, another policy
    weights[0] = 0.5
    assert et.evaluate(suites[0], path, out=tmp_path, resampling=FAST).value("m") == 0.24375


def test_a_field_named_line_is_the_users() -> None:
    run = et.evaluate(graded(lambda r: {"n": 1}, numerator="line"), RECORDS, resampling=FAST)
    assert run.value("m") == 5
    # where a record does not have a column that others have it is null, whatever its field says
    some = graded(lambda r: {"x": 1, "line": 1} if r.x < 0.5 else {}, denominator="line")
    assert et.evaluate(some, RECORDS, resampling=FAST).value("m") == 1


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"name": "cr"}, "'cr': that is the name of a built-in suite"),
        ({"unit": "no"}, "a pydantic model with the field no"),
        ({"headline": ["no"]}, "headline names no"),
        (
            {"options": create_model("Odd", __base__=et.SuiteOptions, seed=(int, 0))},
            "an option cannot be named seed; the names that are taken: all, baseline, better",
        ),
    ],
)
def test_a_suite_that_makes_no_sense_is_refused_when_it_is_made(changed: Any, said: str) -> None:
    fields: Any = {
        "name": "graded",
        "title": "Graded",
        "record": Graded,
        "unit": "id",
        "columns": lambda r: {"n": 1},
        "metrics": [et.Metric(name="m", numerator="x", denominator="n", better="none")],
        "headline": ["m"],
        **changed,
    }
    with pytest.raises(et.UsageError, match=said):
        et.jsonl_suite(fields.pop("name"), **fields)
    assert {*signature(et.evaluate).parameters} <= TAKEN | {"options"}
