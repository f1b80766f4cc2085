"""Long tables that cannot be used: the file, the line, the field and what was expected."""

from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

import evaltools as et
from evaltools.core.messages import InputError
from tests.app.calling import call, written

from .tables import FEW, KINDS, ROW, ROWS, put


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("second", "said"),
    [
        (
            {**ROW},
            "a: a second row of acc: id is one sample, cluster what samples belong to [duplicate-id]",
        ),
        (
            {**ROW, "id": "b", "value": float("inf")},
            "value: expected a number below 1e+70 in size, got ",
        ),
        ({**ROW, "id": "b", "value": -1}, "b: acc: -1 is not within 0 and 1 [out-of-bounds]"),
    ],
)
def test_bad_rows_are_named_with_their_line(
    kind: str, second: dict[str, Any], said: str, tmp_path: Path
) -> None:
    path = put(tmp_path, [ROW, second, {**ROW, "id": "c"}], kind)
    is_table = kind in ("csv", "xlsx")
    name = "b: " if is_table and said.startswith("value") else ""  # of JSON the line says it
    expected = f"{path}:{3 if is_table else 2}: {name}{said}"
    score = ("score", "table", path, "-o", tmp_path / "out", "--bounds", "acc=0,1")
    for command in (score, ("check", "table", path, "--bounds", "acc=0,1")):
        assert expected in call(*command, status=3).output
    assert not list(tmp_path.glob("out/results/*"))
    done = call(*score, "--on-error", "skip")
    assert "n = 2" in done.output and "(1 in all)" in " ".join(done.output.split())
    run = et.load(tmp_path / "out/results/scores")
    # the other row and c, which are a proportion whatever was left out
    assert run["acc"]["n_units"] == 2 and run.metric("acc").proportion
    assert "Caution: The input of this run is not complete: 1 ×" in repr(run)
    assert ("1 of 3 samples lack a value" in repr(run)) == said.endswith("[out-of-bounds]")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,metric,value\na,acc,high\n", "scores.csv:2: a: value: expected a valid number, unable to parse"),
        ("id,metric,value\na,acc,1_0\n", "2: a: value: expected a number in plain digits, got '1_0'"),
        ("id,metric,value\na,acc\n", "scores.csv:2: expected 3 cells, as the header has, got 2"),
        ("id,metric,value\n,acc,1\n", "scores.csv:2: id: expected a valid string"),
        ('id,metric,value\na,acc,"1\n', "not CSV: unexpected end of data"),
        ("id,metric,score\na,acc,1\n", "and value (or num and den), got id, metric, score"),
        ("id,metric,value,value\na,acc,1,2\n", "two columns are named value"),
        ("id,metric,value\na, ,1\n", "scores.csv:2: a: id and metric: expected texts, got a blank one"),
        ('id,metric,value\na,"acc\nF1 0.99",1\n', "expected names without control characters"),
        ("id,metric,value,condition\na,acc,1,x\x1b[2J\n", "expected names without control characters"),
        (f"id,metric,value,condition\na,acc,1,{'x' * 300}\n", "scores.csv:2: condition: 'xxx"),
        ("id,metric,value\n", "no row can be used; expected the columns id, metric and value"),
        ("id,metric,num,den\na,acc,1,0\n", "den: expected a denominator above 0 beside num, got 0.0"),
        ("id,metric,num,den\na,acc,1,-2\n", "den: expected a denominator above 0 beside num, got -2.0"),
        ("id,metric,value,higher_is_better\na,acc,1,maybe\n", "higher_is_better: expected a valid boolean"),
        (
            "id,metric,value,higher_is_better\na,acc,1,true\nb,acc,1,false\n",
            "higher_is_better: both 0 and 1 for 'acc'",
        ),
        ("id,metric,value,low,high\na,acc,1,0,1\nb,acc,1,0,2\n", "high: both 1 and 2 for 'acc'"),
        ("id,metric,value,low,high\na,acc,1,1,0\n", "low: expected low below high, both or neither"),
        ("id,metric,value,low\na,acc,1,0\n", "low: expected low below high, both or neither, got 0.0 and None"),
        (
            "id,metric,value,condition\na,acc,1,x/y\na,acc,1,X-y\n",
            "two runs (condition, seed) would both be named 'X-y_scores'",
        ),
        (
            "id,metric,value,condition,cluster\na,acc,1,x,k\na,acc,1,y,l\n",
            "scores.csv:3: a: cluster: a second cluster of this sample",
        ),
    ],
)  # fmt: skip
def test_bad_files(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(text, encoding="utf-8")
    assert said in call("score", "table", path, "-o", tmp_path / "out", status=3).output
    assert not written(tmp_path / "out")


def test_too_many_metrics_are_a_column_taken_for_another(tmp_path: Path) -> None:
    path = put(tmp_path, [{"id": "a", "metric": f"m{i}", "value": 1} for i in range(1001)], "csv")
    assert (
        "more than 1,000 metrics"
        in call("score", "table", path, "-o", tmp_path / "out", status=3).output
    )


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("--bounds", "acc"), "--bounds 'acc': expected NAME=LOW,HIGH"),
        (("--bounds", "acc=1,0"), "--bounds 'acc=1,0': expected NAME=LOW,HIGH with LOW below HIGH"),
        (("--bounds", "acc=0,inf"), "expected NAME=LOW,HIGH with LOW below HIGH, both finite"),
        (("--lower", "acc", "--higher", "acc"), "give its bounds once, and --lower or --higher"),
        (("--lower", "los"), "has no metric 'los'; did you mean loss?"),
    ],
)
def test_wrong_options(option: tuple[str, ...], said: str, tmp_path: Path) -> None:
    assert (
        said
        in call(
            "score", "table", put(tmp_path, ROWS), "-o", tmp_path / "out", *option, status=2
        ).output
    )
    assert not (tmp_path / "out" / "results").exists()


def test_a_seed_in_some_rows_of_a_condition_only_is_bad_input(tmp_path: Path) -> None:
    """It would split one system into runs that are none."""
    path = tmp_path / "scores.csv"
    path.write_text(
        "id,metric,value,condition,seed\nq0,acc,1,base,1\nq1,acc,0,base,\nq2,acc,0,base,\n"
    )
    with pytest.raises(et.InputError) as error:
        et.evaluate("table", path)
    assert [(p.line, p.field) for p in error.value.problems] == [(3, "seed"), (4, "seed")]
    assert et.evaluate("table", path, on_error="skip").n_units == 1


@pytest.mark.parametrize(
    ("name", "start", "said"),
    [
        ("t.xlsx", b"PK\x03\x04", "no Excel workbook that can be read"),
        ("t.csv", b"PK\x03\x04", "the file is an Excel workbook or another archive; expected text"),
        ("t.jsonl", b"\x00\x01", "the file is binary; expected text in UTF-8"),
        ("t.parquet", b"PAR1", "the file is parquet; expected text in UTF-8"),
    ],
)
def test_what_is_no_text_is_one_problem(name: str, start: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(start + bytes(range(256)) * 20)
    done = call("check", "table", tmp_path / name, status=3)
    assert said in done.output and "errors: 1, warnings: 0" in done.output


def test_a_cell_far_from_the_table_costs_nothing(tmp_path: Path) -> None:
    book = Workbook()
    for row in (["id", "metric", "value"], ["a", "acc", 1], ["b", "acc", 0]):
        book.worksheets[0].append(row)
    book.worksheets[0]["XFD3"] = book.worksheets[0]["XFD1048576"] = "x"
    book.save(tmp_path / "t.xlsx")
    assert et.evaluate("table", tmp_path / "t.xlsx", resampling=FEW).value("acc") == 0.5


def test_a_lock_file_of_excel_is_named(tmp_path: Path) -> None:
    path = tmp_path / "~$scores.csv"
    path.write_bytes(b"\x05maria" + bytes(100))
    with pytest.raises(InputError, match=r"a workbook that is open in Excel; give scores\.csv"):
        et.evaluate("table", path)


def test_more_errors_than_are_listed_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    path.write_text("x\n" * 25, encoding="utf-8")
    with pytest.raises(InputError, match=r"5 more \[bad-json\]") as error:
        et.evaluate("table", path)
    # 20 of them, the file without a row, and how many more there are
    assert len(error.value.problems) == 22
    assert "errors: 26, warnings: 0" in call("check", "table", path, status=3).output
