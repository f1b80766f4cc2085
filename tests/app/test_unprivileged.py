"""Folders that may not be written to, and things that are no files, where files are expected."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from evaltools.core.files import example
from tests.app.calling import QUICK, call

COMMANDS = """
import json, sys
from click.testing import CliRunner
from evaltools.app.cli import main
done = [CliRunner().invoke(main, command) for command in json.load(sys.stdin)]
print(json.dumps([(d.exit_code, d.output) for d in done]))
"""


def unprivileged(*commands: tuple[object, ...], cwd: Path) -> list[tuple[int, str]]:
    """(exit status, output) of each command, called by somebody for whom the modes of files hold."""
    python = [sys.executable, "-c", COMMANDS]
    if (
        os.geteuid() == 0
    ):  # they do not for root, unless it has given up the right to pass over them
        if shutil.which("setpriv") is None:
            pytest.skip("root ignores the modes of files, and there is no setpriv")
        python = ["setpriv", "--inh-caps=-all", "--bounding-set=-all", *python]
    told = json.dumps([[str(a) for a in command] for command in commands])
    done = subprocess.run(python, input=told, cwd=cwd, capture_output=True, text=True, check=True)
    return [tuple(one) for one in json.loads(done.stdout)]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return Path(shutil.copytree(example("cr/no_memory__seed1_proposed"), tmp_path / "run"))


def test_a_folder_that_may_not_be_written_to_is_told_before_the_work(
    run: Path, tmp_path: Path
) -> None:
    """Status 2, and nothing is made: neither there nor elsewhere."""
    call("score", "cr", run, "-o", tmp_path / "out", *QUICK)
    result = tmp_path / "out" / "results" / "run"
    (tmp_path / "shut").mkdir()
    shutil.copytree(tmp_path / "out", tmp_path / "shut" / "out")
    scores = tmp_path / "scores.csv"
    scores.write_text("case_id,metric,score\n", encoding="utf-8")
    nikl = tmp_path / "nikl.jsonl"
    nikl.write_text('{"id": "1", "sentence_form": "x", "annotation": []}\n', encoding="utf-8")
    shut, new = tmp_path / "shut", tmp_path / "shut" / "new"
    metric = ("--metric", "tuple_f1_s2_refpol")
    commands: list[tuple[object, ...]] = [
        ("score", "cr", run, "-o", new, *QUICK),
        ("report", "cr", run, "-o", new, *QUICK),
        ("report", "seeds", "example:cr/no_memory", "-o", new, *QUICK),
        ("demo", "-o", new),
        ("gallery", shut / "out"),
        ("compare", run, run, "--csv", shut / "c.csv", *QUICK),
        ("plan", run, *metric, "--difference", "0.1", "--csv", shut / "p.csv", *QUICK),
        ("rank", run, *metric, "-o", new, *QUICK),
        ("scorecards", run / "outputs.jsonl", "--gold", run / "gold.jsonl", "-o", shut / "s.jsonl"),
        ("rerun", result, "-o", new),
        ("calibrate", scores, scores, "-o", shut / "cal.csv"),
        ("convert", "nikl", nikl, "-o", shut / "gold.jsonl"),
        ("label", example("summary/cases.jsonl"), "-o", shut / "labels.html"),
        ("gate", result, "--min", "tuple_f1_s2=0", "--junit", shut / "j.xml"),
        ("lab", "--dir", shut / "lab"),
    ]
    (shut / "out").chmod(0o555)
    shut.chmod(0o555)
    try:
        before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")}
        for command, (status, said) in zip(commands, unprivileged(*commands, cwd=tmp_path)):
            assert (status, "cannot be written to" in said) == (2, True), (command, said)
        assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")} == before
    finally:
        shut.chmod(0o755)
        (shut / "out").chmod(0o755)


def test_an_input_that_may_not_be_read(run: Path, tmp_path: Path) -> None:
    call("score", "cr", run, "-o", tmp_path / "out", *QUICK)
    result = tmp_path / "out" / "results" / "run"
    for path in (run / "outputs.jsonl", result / "metrics.json"):
        path.chmod(0)
    commands = [
        ("score", "cr", run, "-o", tmp_path / "new"),
        ("gate", result, "--min", "tuple_f1_s2=0"),
        ("rerun", result),
        ("compare", result, result),
    ]
    found = unprivileged(*commands, cwd=tmp_path)
    assert [status for status, _ in found] == [3, 3, 3, 2]
    assert all(
        "cannot be read" in said or "not there" in said or status == 2 for status, said in found
    ), found
    assert not (tmp_path / "new" / "results").exists()


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
        ("calibrate", odd, odd),
        ("convert", "nikl", odd, "-o", tmp_path / "gold.jsonl"),
    ):
        assert "error: " in call(*command, status=3).output
    status = 2 if kind == "link in a circle" else 3
    assert "error: " in call("compare", odd, run, *QUICK, status=status).output
    plan = ("plan", odd, "--metric", "tuple_f1_s2", "--difference", "0.1")
    assert "error: " in call(*plan, *QUICK, status=2).output
    assert "error: " in call("compare", run, run, "--csv", odd, *QUICK, status=2).output
    assert not list(tmp_path.glob("out/results/*"))


def test_files_of_a_result_that_became_pipes_are_not_waited_for(run: Path, tmp_path: Path) -> None:
    call("score", "cr", run, "-o", tmp_path / "out", *QUICK)
    result = tmp_path / "out" / "results" / "run"
    for name in ("units.parquet", "metrics.json", "manifest.json"):
        (result / name).unlink()
        os.mkfifo(result / name)
        if name == "units.parquet":  # without one of the others its scorecards are scored again
            assert (
                "holds no complete result" in call("compare", result, run, *QUICK, status=2).output
            )
        call("gallery", tmp_path / "out")
    call("gate", result, "--min", "x=0", status=3)
    call("rerun", result, status=3)
