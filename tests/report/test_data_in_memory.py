"""Frames, tables of Arrow and lists as inputs: the numbers of the files, and errors that name what is there."""

import math
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import evaltools as et
from evaltools.core import tables
from tests.files import read_lines

from ..app.calling import call

RUN = "cr/with_memory__seed1_proposed"
SCORES = pd.DataFrame(
    {
        "id": [f"q{i}" for i in range(30)],
        "metric": "accuracy",
        "value": [int(i % 3 > 0) for i in range(30)],
        "topic": ["a", "b"] * 15,
    }
)


def lines(file: str) -> list[dict[str, Any]]:
    return read_lines(et.example(RUN) / file)


@pytest.mark.parametrize(
    "data",
    [SCORES, pa.table(SCORES), SCORES.to_dict("records")],
    ids=["DataFrame", "Arrow", "list of dicts"],
)
def test_data_in_memory_has_the_numbers_of_its_file(data: Any, tmp_path: Path) -> None:
    SCORES.to_csv(tmp_path / "scores.csv", index=False)
    run = et.evaluate("table", data, n_resamples=200)
    of_file = et.evaluate("table", tmp_path / "scores.csv", n_resamples=200)
    # 20 of 30: all but 0, 3, 6, ...
    assert run["accuracy"]["value"] == pytest.approx(20 / 30)
    columns = ["value", "ci_low", "ci_high", "n_units"]
    pd.testing.assert_frame_equal(run.frame[columns], of_file.frame[columns])
    assert run.name == "data"
    (entry,) = run.manifest.inputs
    assert entry.path == "data" and len(entry.sha256) == 64


def test_data_of_several_runs_are_a_study_and_name_one_for_a_run() -> None:
    frames = [SCORES.assign(condition=name) for name in ("base", "tuned")]
    both = pd.concat(frames, ignore_index=True)
    study = et.study([both], suite="table", n_resamples=100)
    assert [run.name for run in study.results] == ["base_data", "tuned_data"]
    assert study["accuracy"]["delta"] == 0
    assert et.evaluate("table", both, name="tuned_data", n_resamples=100).n_units == 30
    with pytest.raises(et.UsageError, match=r"holds 2 runs, name one of them: base_data, tuned"):
        et.evaluate("table", both)


def test_rows_and_gold_as_lists_are_the_run_of_the_folder() -> None:
    run = et.evaluate("cr", lines("outputs.jsonl"), gold=lines("gold.jsonl"), n_resamples=100)
    assert run.to_dict() == et.evaluate("cr", f"example:{RUN}", n_resamples=100).to_dict()
    assert {entry.role: entry.path for entry in run.manifest.inputs}["gold"] == "gold"


def test_a_result_of_data_in_memory_is_kept_and_read_again(tmp_path: Path) -> None:
    first = et.evaluate("table", SCORES, out=tmp_path, n_resamples=100)
    again = et.evaluate("table", SCORES, out=tmp_path, n_resamples=100)
    assert again.manifest.started == first.manifest.started
    assert et.load(tmp_path / "results" / "data").to_dict() == first.to_dict()
    other = et.evaluate("table", SCORES.head(10), out=tmp_path, n_resamples=100)
    assert other.n_units == et.load(tmp_path / "results" / "data").n_units == 10
    # the data are gone: nothing can be scored again
    done = call("rerun", tmp_path / "results" / "data", status=3)
    assert "is not there" in done.stderr


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (SCORES.drop(columns="id"), "data:1: id: Field required"),
        (
            [{"id": "a", "metric": "m", "value": 1}, {"metric": "m", "values": 1}],
            "data:2: id: Field required",
        ),
        ([], "data: the file is empty"),
        (SCORES.head(0), "data: the file is empty"),
    ],
    ids=["no id", "mixed", "empty list", "empty frame"],
)
def test_data_that_cannot_be_used_are_named_with_what_is_there(data: Any, message: str) -> None:
    with pytest.raises(et.InputError) as error:
        et.evaluate("table", data)
    assert message in str(error.value)
    assert "/tmp" not in str(error.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (3, "expected a path, a DataFrame or a list of dicts, got int"),
        ([{"id": "a"}, 3], "record 1 of the list is int; expected a dict"),
        ([{"id": [math.nan]}], "cannot be written as JSON"),
        ([{"id": type("Bad", (), {"__str__": lambda self: 1 / 0})()}], "JSON: division by zero"),
    ],
)
def test_what_is_no_data_is_an_error_of_usage(data: Any, message: str) -> None:
    with pytest.raises(et.UsageError, match=message):
        et.evaluate("table", data)


def test_settings_of_the_intervals_are_keywords() -> None:
    run = et.evaluate("table", SCORES, n_resamples=500, confidence=0.9, ci="bca", seed=3)
    assert run.resampling == et.Resampling(method="bca", n_resamples=500, confidence=0.9, seed=3)
    with pytest.raises(et.UsageError, match=r"n_resamples.*greater than or equal to 100, got 5"):
        et.evaluate("table", SCORES, n_resamples=5)


# --- two lists of numbers

A = [0.1, 0.4, 0.35, 0.8] * 5
B = [0.2, 0.5, 0.30, 0.9] * 5


def test_lists_pair_by_position() -> None:
    # (.1 + .1 - .05 + .1) / 4 = .0625
    difference = et.compare(A, B)["value"]
    assert difference["delta"] == pytest.approx(0.0625)
    assert difference["verdict"] == "better"
    assert et.compare(A, B, better="lower")["value"]["verdict"] == "worse"


def test_series_pair_by_their_index() -> None:
    b = pd.Series([30.0, 10.0], index=["z", "x"])
    row = et.compare(pd.Series([1.0, 2.0, 3.0], index=["x", "y", "z"]), b)["value"]
    # z: 30 - 3, x: 10 - 1; y has no counterpart
    assert row["delta"] == pytest.approx((27 + 9) / 2)
    assert row["n_units"] == 2


def test_arrays_of_events_and_nullable_series_are_numbers() -> None:
    events = et.compare(np.array([True, False] * 10), np.array([True, True] * 10))
    assert events["value"]["delta"] == pytest.approx(0.5)
    with_null = pd.Series([1.0, None] * 10, dtype="Float64")
    row = et.compare(with_null, pd.Series([0.5, 0.5] * 10))["value"]
    assert row["delta"] == pytest.approx(-0.5)


@pytest.mark.parametrize(
    ("a", "b", "bounds", "message"),
    [
        ([0, 1], [0, 1, 1], None, "lists of different lengths pair by no position: 2 and 3"),
        ([], [], None, "data: the file is empty"),
        ([0.5], "example:cr/no_memory", None, "compares with a list of numbers only"),
        (np.ones((3, 2)), np.ones((3, 2)), None, "data:1: value"),
        (pd.Series(["a"]), pd.Series(["b"]), None, "data:1: value.*number"),
        ([2.0, 0.3], [0.1, 0.3], (0, 1), "data:1: 0: value: 2 is not within 0 and 1"),
        (pd.Series([1, 2], index=["x", "x"]), pd.Series([1]), None, "data:2: .*x"),
    ],
)
def test_numbers_that_cannot_be_compared(a: Any, b: Any, bounds: Any, message: str) -> None:
    with pytest.raises((et.InputError, et.UsageError), match=message):
        et.compare(a, b, bounds=bounds)


ODD = SCORES.assign(
    when=pd.date_range("2020-01-01", periods=30, tz="UTC"),
    day=[date(2020, 1, 1)] * 30,
    took=pd.to_timedelta(range(30), unit="s"),
    price=[Decimal("0.5")] * 30,
    key=[UUID(int=i) for i in range(30)],
    size=[math.inf, *range(29)],
)


@pytest.mark.parametrize("bounds", [(0, 1), 5, "m=0,1", {"m": 1}, {"m": (1, 0)}])
def test_limits_of_runs_name_their_metric(bounds: Any) -> None:
    rows = [{"id": str(i), "metric": "m", "value": i % 2} for i in range(20)]
    for way in (et.study, lambda runs, **how: et.compare(runs, runs, **how)):
        with pytest.raises(et.UsageError, match=r"expected (\{metric|NAME=LOW,HIGH)"):
            way(rows, suite="table", bounds=bounds)
    with pytest.raises(et.UsageError, match="better: of two lists"):
        et.compare(rows, rows, suite="table", better="lower")


def test_what_json_has_no_form_for_is_text() -> None:
    odd = ODD.assign(bin=pd.cut(range(30), 3), month=pd.Period("2020-01", "M"))
    units = et.evaluate("table", odd, n_resamples=100).units
    assert units["when"][0] == "2020-01-01 00:00:00+00:00"
    assert units["day"][0] == "2020-01-01"
    assert units["took"][1].endswith("0:00:01")
    assert units["price"].sum() == 15
    assert units["size"][0] == "inf"
    assert units["key"][1] == "00000000-0000-0000-0000-000000000001"
    assert (units["bin"][29], units["month"][0]) == ("(19.333, 29.0]", "2020-01")


def test_errors_name_the_data_and_not_a_file_of_ours(tmp_path: Path) -> None:
    with pytest.raises(et.UsageError, match=r"^data has no metric .kk."):
        et.evaluate("table", SCORES, lower=["kk"])
    rows = [{"id": "a", "metric": "m", "value": "zz", "extra": 10**30}, *SCORES.to_dict("records")]
    with pytest.raises(et.InputError, match=r"^error: data:1: "):
        et.evaluate("table", rows)
    run = et.evaluate("table", rows, on_error="skip", n_resamples=100)
    assert {text.split(":")[1] for found in run.manifest.problems for text in found.examples} == {
        " data"
    }
    with pytest.raises(
        et.UsageError, match=r"on_error: expected one of \('fail', 'skip'\), got 'ignore'"
    ):
        et.evaluate("table", SCORES, on_error="ignore")  # type: ignore[arg-type]
    (tmp_path / "file").write_text("")
    with pytest.raises(et.UsageError, match="file is no folder that can be written to"):
        et.evaluate("table", SCORES, out=tmp_path / "file")


def test_a_frame_of_several_runs_is_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    written = []
    write = tables.write_records

    def counted(data: Any, folder: Path, name: str) -> Path:
        written.append(name)
        return write(data, folder, name)

    monkeypatch.setattr(tables, "write_records", counted)
    parts = [SCORES.assign(condition=name, seed=seed) for name in "ab" for seed in (1, 2)]
    study = et.study(pd.concat(parts), suite="table", n_resamples=100)
    assert len(study.results) == 4 and written == ["data"]
