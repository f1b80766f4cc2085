"""Batches: isolation of failures, resumption after interruption, full disks, names that clash."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from evaltools.app.batch import Batch
from evaltools.core.errors import InputError, Problem, UsageError, WorkFailed
from evaltools.core.files import beside, example
from evaltools.core.folders import LEFTOVER_SECONDS
from evaltools.core.plugins import get_suite
from evaltools.core.workers import Workers

from .processes import alive, until
from .small_report import (
    GATE,
    NAMES,
    REPORT,
    RUNS,
    SCORE,
    TIMED,
    command,
    files,
    run,
    write_notebook,
)

CR = get_suite("cr")


def _scored(runs: list[str], **options: Any) -> Batch:
    batch = Batch(CR, **options)
    batch.score(runs)
    batch.end()
    return batch


def _reported(runs: list[str], **options: Any) -> Batch:
    batch = Batch(CR, **options)
    batch.report(runs)
    batch.end()
    return batch


SIGNALS = [
    (signal.SIGINT, os.kill),
    (signal.SIGINT, os.killpg),
    (signal.SIGTERM, os.kill),
    (signal.SIGHUP, os.killpg),
    (signal.SIGKILL, os.kill),
]
"""A signal to the command alone, or to all of its processes as a terminal sends it."""


def test_a_killed_batch_goes_on_where_it_was(undisturbed: Path, tmp_path: Path) -> None:
    """One report ends; in the middle of the others the batch is killed, and started again, in all ways."""
    gate, folder = tmp_path / "gate", tmp_path / "work"
    gate.mkdir()
    folder.mkdir()
    out = folder / "outputs"
    batch = command(undisturbed / "notebooks", *REPORT)
    (gate / f"{NAMES[0]}.open").touch()
    waiting = [gate / f"{name}.begun" for name in NAMES[1:]]
    finished: dict[Path, tuple[int, int]] = {}
    for how, kill in SIGNALS:
        running = subprocess.Popen(
            batch,
            cwd=folder,
            env={**os.environ, GATE: str(gate)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        until(lambda p=running: p.poll() is not None or all(f.is_file() for f in waiting))
        below = [child.pid for child in psutil.Process(running.pid).children(recursive=True)]
        kill(running.pid, how)
        # the kernels of a killed process hold its output open until they notice, in a second or two
        _, errors = running.communicate(timeout=120)
        if how is signal.SIGKILL:
            until(lambda pids=below: not any(alive(pid) for pid in pids))
            assert running.returncode == -how
            assert "Traceback" not in errors
        else:
            assert not any(alive(pid) for pid in below)
            assert running.returncode == 130
            assert errors == INTERRUPTED
        for path, identity in finished.items():
            assert identity_of(path) == identity, f"{path} was made again"
        finished = {path: identity_of(path) for path in finished_files(out)}
        assert [f.parent.name for f in out.glob("reports/*/metric_report.ipynb")] == NAMES[:1]
        for file in waiting:
            file.unlink()

    for name in NAMES:
        (gate / f"{name}.open").touch()
    again = run(batch, folder)
    assert (again.returncode, again.stderr) == (0, "")
    assert again.stdout.endswith("3 done; 1 reports already current\n")
    assert {path.name for path in out.rglob(".*")} <= {".lock"}, "nothing half-written"
    for path, identity in finished.items():
        assert identity_of(path) == identity, f"{path} was made again"
    assert files(out, *TIMED) == files(undisturbed / "outputs", *TIMED)


INTERRUPTED = "interrupted: what is finished is kept, the same command goes on from there\n"


def finished_files(out: Path) -> list[Path]:
    """The files of all results, and those of the first report."""
    folders = [out / "results", out / "reports" / NAMES[0]]
    found = [path for folder in folders for path in folder.rglob("*")]
    return [path for path in found if path.is_file() and path.suffix != ".part"]


def identity_of(path: Path) -> tuple[int, int]:
    """What changes when a file is written again."""
    return path.stat().st_ino, path.stat().st_mtime_ns


def test_resume_makes_again_what_is_not_current(undisturbed: Path, tmp_path: Path) -> None:
    shutil.copytree(undisturbed / "outputs", tmp_path / "outputs")
    out = tmp_path / "outputs"
    results, reports = out / "results", out / "reports"
    (results / NAMES[0] / "units.parquet").write_bytes(b"spoilt")
    (results / NAMES[1] / "derived/metrics/structural_metrics.csv").unlink()
    (reports / NAMES[2] / "metric_report.html").write_text("cut o", encoding="utf-8")
    (reports / NAMES[0] / "metric_report.ipynb").unlink()
    done = run(command(undisturbed / "notebooks", *REPORT), tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("3 done; 1 reports already current\n")
    assert files(out, *TIMED) == files(undisturbed / "outputs", *TIMED)


def test_a_full_disk_is_one_line_a_run_and_leaves_nothing_half_written(
    undisturbed: Path, tmp_path: Path
) -> None:
    """A limit to the size of files stands in: writing fails in the same way, at the same places."""
    batch = command(undisturbed / "notebooks", *REPORT, "-q")
    whole = files(undisturbed / "outputs", *TIMED)
    for limit in (10_000, 40_000):

        def limited(size: int = limit) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

        done = subprocess.run(
            batch, cwd=tmp_path, preexec_fn=limited, capture_output=True, text=True
        )
        assert done.returncode == 4
        *lines, last = done.stderr.splitlines()
        assert lines
        assert all(line.startswith("error: ") and "File too large" in line for line in lines)
        assert "failed" in last
        assert files(tmp_path / "outputs", *TIMED).items() <= whole.items()
    again = run(batch, tmp_path)
    assert (again.returncode, again.stderr) == (0, "")
    assert files(tmp_path / "outputs", *TIMED) == whole


def test_one_failed_report_does_not_stop_the_others(tmp_path: Path) -> None:
    fail = "assert 'seed2' not in run, 'seed 2 is bad'"
    notebooks = write_notebook(tmp_path / "notebooks", SCORE, fail)
    done = run(command(notebooks, *REPORT), tmp_path)
    assert done.returncode == 4
    place = f"outputs/reports/{NAMES[1]}"
    assert done.stderr == (
        f"error: {NAMES[1]}: AssertionError: seed 2 is bad (see {place}/metric_report.ipynb)\n"
        f"\n3 done; 1 failed ({NAMES[1]})\n"
    )
    assert sorted(p.name for p in (tmp_path / place).iterdir()) == ["metric_report.ipynb"]
    for name in (NAMES[0], NAMES[2]):
        assert (tmp_path / "outputs/reports" / name / "metric_report.html").is_file()
    assert (tmp_path / "outputs/index.html").is_file()


@pytest.fixture
def options(tmp_path: Path) -> dict[str, Any]:
    return {"out": tmp_path / "outputs", "n_resamples": 100, "quiet": True}


@pytest.mark.parametrize("jobs", [1, 2])
def test_one_bad_run_does_not_stop_the_others(
    options: dict[str, Any], tmp_path: Path, jobs: int, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "scorecards.jsonl").write_text("{}\nnot json\n", encoding="utf-8")
    outcome = _scored([str(bad), RUNS[0], str(tmp_path / "absent"), RUNS[1]], **options, jobs=jobs)
    assert (outcome.done, outcome.bad_input, outcome.failed) == (
        NAMES[:2],
        [str(tmp_path / "absent"), "bad"],
        [],
    )
    assert sorted(p.name for p in (options["out"] / "results").glob("[!.]*")) == NAMES[:2]
    errors = capsys.readouterr().err
    assert f"error: {bad}/scorecards.jsonl:2:" in errors
    assert errors.endswith(f"2 done; 2 with bad input ({tmp_path}/absent, bad)\n")


def test_only_a_defect_is_shown_with_its_place(
    options: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    batch = Batch(**options)
    said = []
    for name, error in {
        "bad": InputError([Problem("error", "bad-json", "no JSON", file="f", line=2)]),
        "lost": WorkFailed("the worker is gone"),
        "full": OSError("no space"),
        "wrong": UsageError("too many"),
        "defect": ZeroDivisionError(),
    }.items():
        batch.fail(name, error)
        said.append(capsys.readouterr().err)
    assert said[:4] == [
        "error: f:2: no JSON [bad-json]\n",
        "error: lost: the worker is gone\n",
        "error: full: no space\n",
        "error: wrong: too many\n",
    ]
    assert said[4].startswith("ZeroDivisionError") and said[4].endswith(
        "error: defect: ZeroDivisionError\n"
    )
    assert (batch.bad_input, batch.failed) == (["bad"], ["lost", "full", "wrong", "defect"])


def _misbehave(how: str) -> str:
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "full":
        raise OSError(28, "No space left on device")
    if how == "defect":
        raise ZeroDivisionError("a defect")
    if how == "input":
        raise InputError([Problem("error", "bad", "wrong", file="f", line=1)])
    if how == "usage":
        raise UsageError("no such model")
    return how


@pytest.mark.parametrize("jobs", [1, 3])
def test_every_kind_of_failure_is_one_of_one_run(
    jobs: int, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = Batch()
    tasks = {how: (how,) for how in ("a", "killed", "full", "b", "defect", "input", "c")}
    assert outcome.run_all(_misbehave, tasks, Workers(jobs)) == {"a": "a", "b": "b", "c": "c"}
    assert (sorted(outcome.failed), outcome.bad_input) == (["defect", "full", "killed"], ["input"])
    errors = capsys.readouterr().err
    assert "error: killed: the process that worked on it was killed (out of memory?)\n" in errors
    assert "error: full: [Errno 28] No space left on device\n" in errors
    assert "error: f:1: wrong [bad]\n" in errors
    assert errors.count("in _misbehave") == 1, "a defect shows its place, and nothing else does"
    assert "error: defect: a defect\n" in errors


@pytest.mark.parametrize("workers", [Workers(), Workers(2)])
def test_wrong_usage_is_raised_only_where_nothing_was_made(workers: Workers) -> None:
    """Status 2 says that nothing was written."""
    with pytest.raises(UsageError, match="no such model"):
        Batch().run_all(_misbehave, {"x": ("usage",), "y": ("usage",)}, workers)
    outcome = Batch()
    assert outcome.run_all(_misbehave, {how: (how,) for how in ("a", "usage", "b")}, workers) == {
        "a": "a",
        "b": "b",
    }
    assert (outcome.failed, outcome.status) == (["usage"], 4)
    later = Batch()
    later.done.append("scored")
    assert later.run_all(_misbehave, {"report": ("usage",)}, workers) == {}
    assert later.failed == ["report"]


def test_a_call_that_is_alone_is_made_in_this_process(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = Batch()
    assert outcome.run_all(os.getpid, {"a": ()}, Workers(2)) == {"a": os.getpid()}
    for how in ("full", "defect"):
        assert outcome.run_all(_misbehave, {how: (how,)}, Workers()) == {}
    assert (outcome.failed, outcome.status) == (["full", "defect"], 4)
    assert capsys.readouterr().err.count("in _misbehave") == 1, (
        "a defect shows its place, and nothing else does"
    )


def test_names_that_clash_write_nothing(options: dict[str, Any], tmp_path: Path) -> None:
    for part in ("x", "y"):
        shutil.copytree(example("cr/no_memory__seed1_proposed"), tmp_path / part / "run")
    with pytest.raises(UsageError, match=r"x/run and .*y/run would both be named 'run'"):
        _scored([str(tmp_path / "x/run"), RUNS[0], str(tmp_path / "y/run")], **options)
    with pytest.raises(UsageError, match="--name goes with one run only"):
        _scored(RUNS[:2], **options, name="n")
    with pytest.raises(UsageError, match="control characters"):
        _scored([RUNS[0], "a\nb"], **options)
    with pytest.raises(
        UsageError, match="options of cr: protocol: Input should be 'cr_v2' or 'cr_v1', got 'cr_v3'"
    ):
        _scored(RUNS[:2], **options, protocol="cr_v3")
    assert not options["out"].exists()


@pytest.mark.parametrize("name", ["../x", "a/b", ".", "..", "a\\b", "x" * 201, "a\0b", "\ud800"])
def test_a_name_cannot_leave_the_output_folder(
    options: dict[str, Any], tmp_path: Path, name: str
) -> None:
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError, match="cannot be the name of a run"):
        _scored(RUNS[:1], **options, name=name)
    assert sorted(tmp_path.rglob("*")) == before


def test_what_processes_left_that_are_gone_is_removed(options: dict[str, Any]) -> None:
    """Files and folders of killed processes, beside the results, in reports and in the folder of all."""
    results, reports = options["out"] / "results", options["out"] / "reports" / NAMES[0]
    reports.mkdir(parents=True)
    results.mkdir()
    gone = subprocess.Popen(["true"])
    gone.wait()
    parts = [beside(folder / "run") for folder in (results, reports, options["out"])]
    kept = {Path(tempfile.mkdtemp(**part)) for part in parts}
    other = Path(tempfile.mkdtemp(prefix=".run.elsewhere-1.", suffix=".part", dir=results))
    of_gone = [
        {**part, "prefix": part["prefix"].replace(f"-{os.getpid()}.", f"-{gone.pid}.")}
        for part in parts
    ]
    for part in of_gone:
        (Path(tempfile.mkdtemp(**part)) / "units.parquet").touch()
        os.close(tempfile.mkstemp(**part)[0])
    aged = results / ".run.elsewhere-2.x.part"
    aged.touch()
    os.utime(aged, (0, time.time() - LEFTOVER_SECONDS - 60))
    _scored(RUNS[:1], **options)
    assert set(options["out"].rglob(".*.part")) == kept | {other}


def test_jobs_and_order_change_nothing(options: dict[str, Any], tmp_path: Path) -> None:
    found = []
    for i, (jobs, runs) in enumerate(
        [(1, RUNS), (2, RUNS), (2, RUNS[::-1]), (1, [RUNS[2], RUNS[0], RUNS[1]])]
    ):
        out = tmp_path / str(i)
        assert _scored(runs, **{**options, "out": out, "jobs": jobs}).failed == []
        found.append(files(out, "manifest.json"))
    assert all(f == found[0] for f in found)
    assert len(found[0]) == 3 * 5


def test_report_runs_makes_no_report_of_a_bad_run(options: dict[str, Any], tmp_path: Path) -> None:
    outcome = _reported([str(tmp_path / "absent")], **options)
    assert (outcome.done, outcome.bad_input, outcome.failed) == ([], [str(tmp_path / "absent")], [])
    assert not options["out"].exists() or not (options["out"] / "reports").exists()
