"""What a bad day brings: inputs that would be overwritten, files in other encodings, one bad line among good ones."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from evaltools.core.files import example
from tests.app.calling import QUICK, call


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return Path(shutil.copytree(example("cr/no_memory__seed1_proposed"), tmp_path / "run"))


def test_no_command_writes_over_its_input(run: Path, tmp_path: Path) -> None:
    outputs, gold = run / "outputs.jsonl", run / "gold.jsonl"
    before = {p.name: p.read_bytes() for p in run.iterdir()}
    nikl = tmp_path / "a.jsonl"
    nikl.write_text('{"id": "1", "sentence_form": "x", "annotation": []}\n', encoding="utf-8")
    (tmp_path / "link").symlink_to(outputs)
    for command in (
        ("compare", run, run, "--csv", outputs, *QUICK),
        ("compare", run, run, "--csv", tmp_path / "link", *QUICK),
        ("scorecards", outputs, "--gold", gold, "-o", gold),
        ("convert", "nikl", nikl, "-o", nikl),
        ("plan", run, "--metric", "tuple_f1_s2", "--difference", "0.1", "--csv", gold, *QUICK),
    ):
        assert "is an input" in call(*command, status=2).output
    assert {p.name: p.read_bytes() for p in run.iterdir()} == before
    call("compare", run, run, "--csv", tmp_path / "new.csv", *QUICK)


@pytest.mark.parametrize(("encoding", "named"), [("utf-16", "UTF-16"), ("utf-16-be", ""), ("cp949", "CP949")])
def test_another_encoding_is_named(encoding: str, named: str, tmp_path: Path) -> None:
    text = example("summary/cases.jsonl").read_text(encoding="utf-8")
    path = tmp_path / "cases.jsonl"
    path.write_bytes(text.encode(encoding, "ignore"))
    said = call("check", "summary", path, status=3).output
    assert named in said
    utf8 = tmp_path / "good.jsonl"
    utf8.write_text(text, encoding="utf-8")
    assert "CP949" not in call("check", "summary", utf8).output


def test_a_compressed_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_bytes(gzip.compress(example("summary/cases.jsonl").read_bytes()))
    assert "compressed (gzip)" in call("check", "summary", path, status=3).output


@pytest.mark.parametrize(
    "bad",
    [
        '"2,질문,답\n',  # a quote that is never closed
        '"2"x,질문,답\n',
        '2,"질문\n둘째 줄"x,답\n',
    ],
)
def test_a_bad_line_of_a_csv_file_costs_its_record_alone(bad: str, tmp_path: Path) -> None:
    path = tmp_path / "cases.csv"
    good = "".join(f"{i},질문,대기기간은 90일입니다\n" for i in (3, 4, 5))
    path.write_text("id,question,answer\n1,질문,답\n" + bad + good, encoding="utf-8")
    said = call("score", "summary", path, "-o", tmp_path / "out", "--on-error", "skip", *QUICK)
    assert "cases.csv:3" in said.output
    assert "[bad-csv]" in said.output
    import pandas as pd

    kept = pd.read_parquet(tmp_path / "out" / "results" / "cases" / "units.parquet")["case_id"].tolist()
    assert kept == ["1", "3", "4", "5"]
    call("score", "summary", path, "-o", tmp_path / "out2", *QUICK, status=3)


@pytest.mark.parametrize(
    ("suite", "name", "line"),
    [
        ("summary", "cases.jsonl", '{"x": 1}'),
        ("summary", "cases.json", "[]"),
        ("memfin", "dialog_trace.jsonl", '{"x": 1}'),
    ],
)
def test_an_input_of_which_nothing_can_be_used_is_an_error_under_skip_too(
    suite: str, name: str, line: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(line + "\n", encoding="utf-8")
    said = call("score", suite, tmp_path / name, "-o", tmp_path / "out", "--on-error", "skip", *QUICK, status=3)
    assert "[no-rows]" in said.output or "nothing to score" in said.output
    assert not (tmp_path / "out" / "results").exists()


def test_a_workbook_that_lies_about_its_size(tmp_path: Path) -> None:
    """A sheet of two cases that says it has a million rows of 16,384 columns."""
    import re
    import zipfile

    from openpyxl import Workbook

    book = Workbook()
    for row in (("id", "question", "answer"), ("1", "질문", "답"), ("2", "질문", "대기기간은 90일입니다")):
        book.active.append(row)
    book.save(tmp_path / "honest.xlsx")
    path = tmp_path / "cases.xlsx"
    with zipfile.ZipFile(tmp_path / "honest.xlsx") as old, zipfile.ZipFile(path, "w") as new:
        for item in old.infolist():
            content = old.read(item)
            if item.filename == "xl/worksheets/sheet1.xml":
                content = re.sub(rb'<dimension ref="[^"]*"', b'<dimension ref="A1:XFD1048576"', content)
            new.writestr(item, content)
    assert "0 errors" in call("check", "summary", path).output


def test_names_and_folders_of_strange_letters(run: Path, tmp_path: Path) -> None:
    odd = run.rename(tmp_path / "r2__seed①_x")
    call("report", "seeds", odd, odd.parent / "r2__seed①_x", "-o", tmp_path / "out", *QUICK, status=2)
    call("score", "cr", odd, "-o", tmp_path / "a{b}", *QUICK)


@pytest.mark.parametrize(("bound", "status"), [("tuple_f1_s2=0", 0), ("tuple_f1_s2=2", 1)])
def test_a_reader_that_has_seen_enough_changes_no_status(run: Path, bound: str, status: int, tmp_path: Path) -> None:
    call("score", "cr", run, "-o", tmp_path / "out", *QUICK)
    command = f"""{sys.executable} -m evaltools.app.cli gate {tmp_path}/out/results/run --min {bound} | true
        exit ${{PIPESTATUS[0]}}"""
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (status, "")
