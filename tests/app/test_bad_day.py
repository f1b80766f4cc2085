"""What a bad day brings: inputs that would be overwritten, files in other encodings, one bad line among good ones."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from evaltools.app.batch import Batch
from evaltools.app.cli import main
from evaltools.core.files import example
from evaltools.core.plugins import get_suite
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


@pytest.mark.parametrize(
    ("encoding", "named"), [("utf-16", "UTF-16"), ("utf-16-be", ""), ("cp949", "CP949")]
)
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

    kept = pd.read_parquet(tmp_path / "out" / "results" / "cases" / "units.parquet")[
        "case_id"
    ].tolist()
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
    said = call(
        "score",
        suite,
        tmp_path / name,
        "-o",
        tmp_path / "out",
        "--on-error",
        "skip",
        *QUICK,
        status=3,
    )
    assert "[no-rows]" in said.output or "nothing to score" in said.output
    assert not (tmp_path / "out" / "results").exists()


def test_a_workbook_that_lies_about_its_size(tmp_path: Path) -> None:
    """A sheet of two cases that says it has a million rows of 16,384 columns."""
    import re
    import zipfile

    from openpyxl import Workbook

    book = Workbook()
    for row in (
        ("id", "question", "answer"),
        ("1", "질문", "답"),
        ("2", "질문", "대기기간은 90일입니다"),
    ):
        book.active.append(row)
    book.save(tmp_path / "honest.xlsx")
    path = tmp_path / "cases.xlsx"
    with zipfile.ZipFile(tmp_path / "honest.xlsx") as old, zipfile.ZipFile(path, "w") as new:
        for item in old.infolist():
            content = old.read(item)
            if item.filename == "xl/worksheets/sheet1.xml":
                content = re.sub(
                    rb'<dimension ref="[^"]*"', b'<dimension ref="A1:XFD1048576"', content
                )
            new.writestr(item, content)
    assert "0 errors" in call("check", "summary", path).output


def test_names_and_folders_of_strange_letters(run: Path, tmp_path: Path) -> None:
    odd = run.rename(tmp_path / "r2__seed①_x")
    call(
        "report", "seeds", odd, odd.parent / "r2__seed①_x", "-o", tmp_path / "out", *QUICK, status=2
    )
    call("score", "cr", odd, "-o", tmp_path / "a{b}", *QUICK)


@pytest.mark.parametrize(("bound", "status"), [("tuple_f1_s2=0", 0), ("tuple_f1_s2=2", 1)])
def test_a_reader_that_has_seen_enough_changes_no_status(
    run: Path, bound: str, status: int, tmp_path: Path
) -> None:
    call("score", "cr", run, "-o", tmp_path / "out", *QUICK)
    command = f"""{sys.executable} -m evaltools.app.cli gate {tmp_path}/out/results/run --min {bound} | true
        exit ${{PIPESTATUS[0]}}"""
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (status, "")


def test_the_names_of_runs_and_of_conditions_cannot_take_each_others_place(
    run: Path, tmp_path: Path
) -> None:
    """A run of the name base_aggregated and the aggregate of the condition base: neither replaces the other."""
    seed = Path(shutil.copytree(run, tmp_path / "base__seed1_x"))
    other = Path(shutil.copytree(run, tmp_path / "new__seed1_x"))
    own = run.rename(tmp_path / "base_aggregated")
    out = tmp_path / "out"
    call("score", "cr", own, "-o", out, *QUICK)
    before = {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}
    for command in (("report", "seeds"), ("rank", "--metric", "tuple_f1_s2_refpol")):
        said = call(*command, seed, other, "-o", out, *QUICK, status=2).output
        assert "base_aggregated, a run of cr" in said
        assert {p: p.read_bytes() for p in before} == before
    out = tmp_path / "out2"
    call("rank", seed, other, "--metric", "tuple_f1_s2_refpol", "-o", out, *QUICK)
    call("rank", seed, other, "--metric", "tuple_f1_s2_refpol", "-o", out, *QUICK)
    assert (
        "holds an aggregate over seeds"
        in call("score", "cr", own, "-o", out, *QUICK, status=2).output
    )


def test_names_that_differ_in_capitals_alone_are_one(run: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(run, tmp_path / "b" / "RUN"))
    said = call("score", "cr", run, other, "-o", tmp_path / "out", *QUICK, status=2).output
    assert "would both be named" in said
    assert not (tmp_path / "out").exists()


def test_what_one_run_may_not_replace_is_said_before_any_is_written(
    run: Path, tmp_path: Path
) -> None:
    foreign = Path(
        shutil.copytree(example("cr/with_memory__seed1_proposed"), tmp_path / "b" / "run")
    )
    second = Path(shutil.copytree(run, tmp_path / "a_first"))
    out = tmp_path / "out"
    call("score", "cr", foreign, "-o", out, *QUICK)
    before = {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}
    said = call("score", "cr", second, run, "-o", out, *QUICK, status=2).output
    assert "the result of another input" in said
    assert {p: p.read_bytes() for p in out.rglob("*") if p.is_file()} == before
    call("score", "cr", second, run, "-o", out, "--fresh", *QUICK)


@pytest.mark.parametrize("file", ["metrics.json", "units.parquet"])
def test_a_result_that_is_not_as_it_was_written_is_not_read(
    run: Path, file: str, tmp_path: Path
) -> None:
    call("score", "cr", run, "-o", tmp_path / "out", *QUICK)
    result = tmp_path / "out" / "results" / "run"
    call("compare", result, run, *QUICK)
    import pandas as pd

    for content in (
        b"",
        b"[]",
        b"null",
        b'{"metrics": [{}]}',
        pd.DataFrame({"a": [1]}).to_parquet(),
    ):
        (result / file).write_bytes(content)
        said = call("compare", result, run, *QUICK, status=2).output
        assert f"{file} is not as it was written" in said
        manifest = json.loads((result / "manifest.json").read_text())
        kept = dict(manifest["files"])
        del manifest["files"][file]  # as of the first edition, which listed no hashes
        (result / "manifest.json").write_text(json.dumps(manifest))
        assert "holds no complete result" in call("compare", result, run, *QUICK, status=2).output
        (result / "manifest.json").write_text(json.dumps(manifest | {"files": kept}))
    call("score", "cr", run, "-o", tmp_path / "out", *QUICK)  # is made again
    call("compare", result, run, *QUICK)


def test_a_defect_is_no_gate_that_is_not_met(
    run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(*_: object, **asked: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("evaltools.app.commands.gate.read", broken)
    done = CliRunner().invoke(main, ["gate", str(run)])
    assert (done.exit_code, "ZeroDivisionError" in done.output) == (4, True)


def test_a_path_that_no_page_could_name(run: Path, tmp_path: Path) -> None:
    odd = os.fsdecode(bytes(tmp_path) + b"/out\xff")
    assert "is no UTF-8" in call("score", "cr", run, "-o", odd, *QUICK, status=2).output
    assert not Path(odd).exists()
    call("score", "cr", run, "-o", tmp_path / "나가는 곳", *QUICK)


def test_a_manifest_that_is_a_pipe_is_no_manifest(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out" / "results" / "run"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "manifest.json")
    said = call("score", "cr", run, "-o", tmp_path / "out", *QUICK, status=2).output
    assert "holds what evaltools did not write, and would be replaced: manifest.json" in said
    assert (folder / "manifest.json").is_fifo()


def test_a_full_disk_leaves_the_old_result(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    call("score", "cr", run, "-o", out, *QUICK)
    before = {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}
    again = f"{sys.executable} -m evaltools.app.cli score cr {run} -o {out} --fresh --seed 3 --n-resamples 100"
    done = subprocess.run(
        ["bash", "-c", f"ulimit -f 40; {again}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 4, done.stderr
    assert {p: p.read_bytes() for p in out.rglob("*") if p.is_file()} == before


def test_the_common_prefix_of_runs_stands_for_them_wherever_runs_are_put_together(
    tmp_path: Path,
) -> None:
    batch = Batch(get_suite("cr"), out=tmp_path, n_resamples=100, quiet=True)
    batch.report_seeds(["example:cr/no_memory", "example:cr/with_memory"])
    assert len(list((tmp_path / "results").glob("*_memory__seed?_proposed"))) == 6
    assert (tmp_path / "results" / "no_memory_aggregated" / "comparison.csv").is_file()


@pytest.mark.parametrize("place", [0, 1])
def test_a_suite_file_that_is_not_there_is_wrong_usage_wherever_it_is_named(
    place: int, tmp_path: Path
) -> None:
    """Status 1 would be a gate that is not met."""
    command = ["score", "labels", "x"]
    command[place:place] = ["--suite-file", str(tmp_path / "none.py")]
    assert "no such file" in call(*command, status=2).output


def test_the_suite_of_a_file_is_known_however_it_is_written(tmp_path: Path) -> None:
    file = Path(__file__).parents[1] / "data" / "labels.py"
    said = call(
        "compare", f"--suite-file={file}", "--suite=labels", "x", "y", *QUICK, status=2
    ).output
    assert "no such run" in said
