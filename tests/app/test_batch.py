"""Batches: isolation of failures, resumption after interruption, full disks."""

import os
import shutil
import signal
from pathlib import Path

import pytest

from evaltools.app.batch import Batch, end, run_all
from evaltools.core.messages import Problems, UsageError
from evaltools.core.suite import get_suite
from evaltools.core.workers import Workers
from evaltools.report.notebook import RECORD

from .processes import alive, below, until
from .small_report import (
    GATE,
    NAMES,
    REPORT,
    SCORE,
    TIMED,
    files,
    make_gates,
    open_gates,
    run,
    start,
    write_notebook,
)

# a signal to the command alone, or to all of its processes as a terminal sends it
SIGNALS = [(signal.SIGINT, os.killpg), (signal.SIGKILL, os.kill)]

INTERRUPTED = "interrupted: what is finished is kept, the same command goes on from there\n"


def test_a_killed_batch_goes_on_where_it_was(undisturbed: Path, tmp_path: Path) -> None:
    """One report ends; in the middle of the others the batch is killed, and started again, in all ways."""
    gate, folder = make_gates(tmp_path / "gate"), tmp_path / "work"
    folder.mkdir()
    out = folder / "outputs"
    open_gates(gate, NAMES[0])
    waiting = [gate / f"{name}.begun" for name in NAMES[1:]]
    finished: dict[Path, tuple[int, int]] = {}
    for how, kill in SIGNALS:
        running = start(undisturbed / "notebooks", folder, *REPORT, **{GATE: str(gate)})
        until(lambda p=running: p.poll() is not None or all(f.is_file() for f in waiting))
        started = below(running.pid)
        kill(running.pid, how)
        # the kernels of a killed process hold its output open until they notice, in a second or two
        _, errors = running.communicate(timeout=120)
        until(lambda pids=started: not any(alive(pid) for pid in pids))
        is_killed = how is signal.SIGKILL
        assert running.returncode == (-how if is_killed else 130)
        assert "Traceback" not in errors if is_killed else errors == INTERRUPTED
        for path, identity in finished.items():
            assert identity_of(path) == identity, f"{path} was made again"
        # the files of all results, and those of the first report
        folders = [out / "results", out / "reports" / NAMES[0]]
        found = {path for folder in folders for path in folder.rglob("*") if path.is_file()}
        finished = {path: identity_of(path) for path in found if ".part" not in str(path)}
        assert [f.parent.name for f in out.glob("reports/*/metric_report.ipynb")] == NAMES[:1]
        for file in waiting:
            file.unlink()

    again = run(undisturbed / "notebooks", folder, *REPORT)
    assert again.stderr == ""
    assert again.stdout.endswith("3 done; 1 already current\n")
    assert {path.name for path in out.rglob(".*")} <= {".lock", RECORD}, "nothing half-written"
    for path, identity in finished.items():
        assert identity_of(path) == identity, f"{path} was made again"
    assert files(out, *TIMED) == files(undisturbed / "outputs", *TIMED)


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
    done = run(undisturbed / "notebooks", tmp_path, *REPORT)
    assert done.stdout.endswith("3 done; 1 already current\n")
    written_again = files(out, *TIMED)
    for name, content in files(undisturbed / "outputs", *TIMED).items():
        assert written_again[name] == content, name


def test_one_failed_report_does_not_stop_the_others(tmp_path: Path) -> None:
    fail = "assert 'seed2' not in run, 'seed 2 is bad'"
    notebooks = write_notebook(tmp_path / "notebooks", SCORE, fail)
    done = run(notebooks, tmp_path, *REPORT, status=4)
    place = f"outputs/reports/{NAMES[1]}"
    assert done.stderr == (
        f"error: {NAMES[1]}: AssertionError: seed 2 is bad (see {place}/metric_report.ipynb)\n"
        f"3 done; 1 failed ({NAMES[1]})\n"
    )
    assert sorted(p.name for p in (tmp_path / place).iterdir()) == [
        ".report.json",
        "metric_report.ipynb",
    ]
    for name in (NAMES[0], NAMES[2]):
        assert (tmp_path / "outputs/reports" / name / "metric_report.html").is_file()
    assert (tmp_path / "outputs/index.html").is_file()


def misbehave(how: str) -> None:
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "full":
        raise OSError(28, "No space left on device")
    if how == "defect":
        raise ZeroDivisionError("a defect")
    if how == "input":
        raise Problems().fatal("bad", "wrong", file="f", line=1)
    if how == "usage":
        raise UsageError("no such model")


def test_every_kind_of_failure_is_one_of_one_run(capsys: pytest.CaptureFixture[str]) -> None:
    batch = Batch(get_suite("cr"), {"quiet": False})
    tasks = {how: (how,) for how in ("a", "killed", "full", "b", "defect", "input", "usage", "c")}
    run_all(batch, misbehave, tasks, Workers(3))
    assert batch.lost == {"killed": 4, "full": 4, "defect": 4, "input": 3, "usage": 2}
    errors = capsys.readouterr().err
    assert "error: killed: the process that worked on it was killed (out of memory?)\n" in errors
    assert "error: full: [Errno 28] No space left on device\n" in errors
    assert "error: f:1: wrong [bad]\n" in errors and "error: usage: no such model\n" in errors
    assert errors.count("in misbehave") == 1, "a defect shows its place, and nothing else does"
    assert "error: defect: ZeroDivisionError: a defect\n" in errors


def test_lines_about_many_failed_runs_stay_short(capsys: pytest.CaptureFixture[str]) -> None:
    batch = Batch(get_suite("cr"), {"quiet": True, "fresh": False})
    names = [f"run{n:04}" for n in range(1000)]
    run_all(batch, misbehave, dict.fromkeys(names, ("input",)), Workers())
    assert end(batch) == 3
    *first, last = capsys.readouterr().err.splitlines()
    assert first == ["error: f:1: wrong [bad]"] * len(names)
    assert last == f"0 done; 1000 failed ({', '.join(names[:10])}, and 990 more)"
