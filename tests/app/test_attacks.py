"""What a bad day brings to the commands: odd files and folders, inputs in danger, one bad line among good ones."""

import gzip
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from evaltools.app.cli import main
from evaltools.core.files import example
from tests.app.calling import QUICK, call, written
from tests.app.small_report import SCORE, write_notebook
from tests.app.small_report import run as run_with
from tests.files import contents, read_json

METRIC = ("--metric", "tuple_f1_s2_refpol")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return Path(shutil.copytree(example("cr/no_memory__seed1_proposed"), tmp_path / "run"))


@pytest.fixture
def result(run: Path, tmp_path: Path) -> Path:
    call("score", "cr", run, "-o", tmp_path / "out", *QUICK)
    return tmp_path / "out" / "results" / "run"


@pytest.fixture
def one_of_many(scored: Path) -> Path:
    """A result that nothing is written to."""
    return scored / "no_memory__seed1_proposed"


def test_no_command_writes_over_its_input(run: Path, result: Path, tmp_path: Path) -> None:
    outputs, gold = run / "outputs.jsonl", run / "gold.jsonl"
    nikl = tmp_path / "a.jsonl"
    nikl.write_text('{"id": "1", "sentence_form": "x", "annotation": []}\n', encoding="utf-8")
    (tmp_path / "link").symlink_to(outputs)
    before = contents(tmp_path)
    for command in (
        ("compare", run, run, "--csv", outputs, *QUICK),
        ("compare", run, run, "--csv", tmp_path / "link", *QUICK),
        ("scorecards", outputs, "--gold", gold, "-o", gold),
        ("convert", "nikl", nikl, "-o", nikl),
        ("plan", run, *METRIC, "--difference", "0.1", "--csv", gold, *QUICK),
        ("gate", result, "--min", "n=0", "--junit", result / "metrics.json"),
    ):
        assert "is an input" in call(*command, status=2).output
    assert contents(tmp_path) == before


# --- files that are damaged

GOOD = example("summary/cases.jsonl").read_bytes()

DAMAGED: dict[str, tuple[str, str, bytes, str]] = {
    "utf-16": ("summary", "c.jsonl", GOOD.decode().encode("utf-16"), "UTF-16"),
    "cp949": ("summary", "c.jsonl", GOOD.decode().encode("cp949", "ignore"), "CP949"),
    "compressed": ("summary", "c.jsonl", gzip.compress(GOOD), "compressed (gzip)"),
    "cut": ("summary", "c.jsonl", GOOD[:-20], "c.jsonl:24"),
    "empty": ("summary", "c.jsonl", b"", "c.jsonl: the file is empty"),
    "CR": ("summary", "c.csv", b"id,answer\r1,x\r", "CR alone"),
    "field": ("memfin", "dialog_trace.jsonl", b'{"x": 1}\n', "dialog_trace.jsonl:1"),
    "no record": ("summary", "c.json", b"[]\n", "c.json"),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_file_is_named_with_its_line_and_nothing_is_written(
    kind: str, tmp_path: Path
) -> None:
    suite, name, content, message = DAMAGED[kind]
    (tmp_path / name).write_bytes(content)
    for command in (("check", suite), ("score", suite, "-o", tmp_path / "out", *QUICK)):
        done = call(*command, tmp_path / name, status=3)
        assert message in done.stderr and "error: " in done.stderr
    assert written(tmp_path) == {name}


# --- what is no file, and folders that may not be written to


@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "link in a circle"])
def test_what_is_no_file_is_an_error_and_not_waited_for(
    kind: str, run: Path, tmp_path: Path
) -> None:
    odd = tmp_path / "odd"
    if kind == "pipe":
        os.mkfifo(odd)
    elif kind == "folder":
        odd.mkdir()
    else:
        odd.symlink_to("/dev/null" if kind == "device" else odd)
    for command in (
        ("gate", odd, "--min", "x=0"),
        ("rerun", odd),
        ("check", "cr", odd),
        ("score", "summary", odd, "-o", tmp_path / "out"),
        ("scorecards", odd, "--gold", run / "gold.jsonl", "-o", tmp_path / "s.jsonl"),
        ("convert", "nikl", odd, "-o", tmp_path / "gold.jsonl"),
    ):
        assert "error: " in call(*command, status=3).output
    assert "error: " in call("compare", run, run, "--csv", odd, *QUICK, status=2).output
    assert not list(tmp_path.glob("out/results/*"))


# --- names


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "b/run"], "would both be named"),
        (["run", "b/RUN"], "would both be named"),
        (["run", "second", "--name", "x"], "--name goes with one run only"),
        *(
            (["run", "--name", n], "cannot be the name of a run")
            for n in ("../x", "a\\b", "C:x", "한" * 70, "", "\u200b ", "nul.x")
        ),
        (["run", "-o", ""], "not empty"),
        (["run", "-j", "1.5"], "'1.5' is not a valid integer"),
        (["run", "--confidence", "nan"], "not a finite number"),
        (["run", "a\nb"], "control characters"),
        (["run", "-o", os.fsdecode(b"out\xff")], "control characters"),
        (["run", "-o", "run/outputs.jsonl"], "is a file"),
    ],
)
def test_names_that_cannot_be_write_nothing(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    for copy in ("b/run", "b/RUN", "second"):
        shutil.copytree(run, tmp_path / copy)
    before = contents(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert message in call("score", "cr", "-o", tmp_path / "out", *arguments, status=2).output
    assert contents(tmp_path) == before


def test_strange_letters_are_names_like_any(run: Path, tmp_path: Path) -> None:
    notebooks = write_notebook(tmp_path / "notebooks", SCORE)
    folder = run.rename(tmp_path / "x'; import os; os.mkdir('pwned') # {out} \"\"\" \\n 실행")
    out = tmp_path / "나가는 {곳}"
    run_with(
        notebooks, tmp_path, "report", "cr", str(folder), "--name", "007", "-o", str(out), "-q"
    )
    nb = read_json(out / "reports/007/metric_report.ipynb")
    (injected,) = (c for c in nb["cells"] if "injected-parameters" in c["metadata"].get("tags", []))
    assert 'name = "007"' in "".join(injected["source"])
    assert read_json(out / "results/007/manifest.json")["run"] == "007"
    assert not (tmp_path / "pwned").exists()


def test_a_result_of_something_else_is_not_replaced(
    run: Path, result: Path, tmp_path: Path
) -> None:
    sides = [shutil.copytree(run, tmp_path / f"{name}__seed1_x") for name in ("run", "new")]
    out = ("-o", tmp_path / "out", *QUICK)
    result.rename(tmp_path / "out/results/new_aggregated")
    done = call("rank", *METRIC, *sides, *out, status=2)
    assert "new_aggregated holds run (cr run)" in done.output


# --- ends


@pytest.mark.parametrize(
    ("bound", "status", "streams"),
    [("n=0", 0, "| true"), ("nosuch=0", 2, "2>/dev/full"), ("n=999", 1, "<&- >&- 2>&-")],
)
def test_closed_streams_change_no_status(
    one_of_many: Path, bound: str, status: int, streams: str
) -> None:
    command = f"{sys.executable} -m evaltools.app.cli gate {one_of_many} --min {bound} {streams}"
    ended = f"{command}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", ended], capture_output=True, text=True, check=False)
    assert done.returncode == status and "Error" not in done.stderr


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (ZeroDivisionError, 4, "ZeroDivisionError"),
        (OSError(28, "No space left on device"), 4, "error: [Errno 28] No space left on device\n"),
        (SystemExit(0), 2, "sys.exit() in code of your own"),
        (KeyboardInterrupt, 130, "interrupted: what is finished is kept"),
    ],
)
def test_nothing_but_a_gate_that_is_not_met_ends_with_1(
    one_of_many: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException | Callable[[], BaseException],
    status: int,
    message: str,
) -> None:
    def fail(*_: object) -> None:
        raise error  # type: ignore[misc]

    monkeypatch.setattr("evaltools.app.commands.results.read_metrics", fail)
    done = CliRunner().invoke(main, ["gate", str(one_of_many), "--min", "n=0"])
    assert done.exit_code == status and message in done.output


def test_told_to_terminate_a_command_ends_as_one_that_is_interrupted(
    one_of_many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "evaltools.app.commands.results.read_metrics",
        lambda *_: os.kill(os.getpid(), signal.SIGTERM),
    )
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit, match="130"):
            main(["gate", str(one_of_many), "--min", "n=0"])
    finally:
        signal.signal(signal.SIGTERM, before)
