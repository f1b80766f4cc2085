"""Batches: isolation of failures, resumption after interruption, full disks, names that clash."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest

from evaltools.app.batch import Batch
from evaltools.app.settings import Settings
from evaltools.app.workers import Workers
from evaltools.core.errors import InputError, Problem, UsageError, WorkFailed
from evaltools.core.files import LEFTOVER_SECONDS, beside, example
from evaltools.core.plugins import get_suite

CR = get_suite("cr")
CONDITIONS = ("no_memory__seed1", "no_memory__seed2", "with_memory__seed1")
RUNS = [f"example:cr/{condition}_proposed" for condition in CONDITIONS]
NAMES = [r.removeprefix("example:cr/") for r in RUNS]


def _scored(runs: list[str], settings: Settings, options: dict[str, Any]) -> Batch:
    batch = Batch(settings)
    batch.score(CR, runs, options)
    batch.end()
    return batch


def _reported(runs: list[str], settings: Settings, options: dict[str, Any]) -> Batch:
    batch = Batch(settings)
    batch.report(CR, runs, options)
    batch.end()
    return batch


# the command line with the notebooks of another folder
MAIN = """
import sys
from pathlib import Path
import evaltools.report.notebook
folder = Path(sys.argv.pop(1))
evaltools.report.notebook.asset_dir = lambda name: folder
from evaltools.app.cli import main
main(prog_name="evaltools")
"""

PARAMETERS = """
run = None
scored = None
out = None
name = None
gold = None
protocol = "cr_v2"
match = "spec"
stop_terms = ()
allowlist = ()
metrics = None
ci = "bca"
n_resamples = 10_000
confidence = 0.95
seed = 0
on_error = "fail"
"""
SCORE = """
import evaltools as et
result = et.load(scored)
print(result.signature, result.value("tuple_f1_s2_refpol"))
"""


def write_notebook(folder: Path, *cells: str) -> Path:
    """A small notebook in the place of that of the suite, so that a report takes a second."""
    folder.mkdir(exist_ok=True)
    first = nbformat.v4.new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]})
    nb = nbformat.v4.new_notebook(cells=[first, *map(nbformat.v4.new_code_cell, cells)])
    nb.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    nbformat.write(nb, folder / "cr_run.ipynb")
    return folder


def command(notebooks: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-c", MAIN, str(notebooks), *arguments]


REPORT = ("report", "cr", *RUNS, "-j", "2", "--n-resamples", "100")


def files(folder: Path, *without: str) -> dict[str, bytes]:
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for p in sorted(folder.rglob("*"))
        if p.is_file() and p.name not in (*without, ".lock")
    }


TIMED = ("manifest.json", "index.html")
"""The files that say when something was done."""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the notebooks and the outputs of a batch that nothing disturbed."""
    folder = tmp_path_factory.mktemp("undisturbed")
    write_notebook(folder / "notebooks", "import time\ntime.sleep(1)", SCORE)
    done = subprocess.run(
        command(folder / "notebooks", *REPORT), cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("3 done\n")
    return folder


@pytest.mark.parametrize(
    ("how", "kill"),
    [
        (signal.SIGINT, os.kill),
        (signal.SIGINT, os.killpg),
        (signal.SIGKILL, os.kill),
        (signal.SIGTERM, os.kill),
        (signal.SIGHUP, os.killpg),
    ],
)
def test_a_killed_batch_goes_on_where_it_was(
    undisturbed: Path, tmp_path: Path, how: signal.Signals, kill: Callable[[int, int], None]
) -> None:
    """One signal to the command alone, or to all of its processes as a terminal does. No process is left."""
    batch = command(undisturbed / "notebooks", *REPORT)
    running = subprocess.Popen(
        batch,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    out = tmp_path / "outputs"
    _until(lambda: running.poll() is not None or any(out.glob("reports/*/metric_report.ipynb")))
    below = psutil.Process(running.pid).children(recursive=True)
    kill(running.pid, how)
    # the kernels of a killed process hold its output open until they notice, within a second or two
    _, errors = running.communicate(timeout=60)
    if how is not signal.SIGKILL:
        assert not [p for p in below if _alive(p)]
        assert running.returncode == 130
        assert (
            errors == "interrupted: what is finished is kept, the same command goes on from there\n"
        )
    else:
        assert _until(lambda: not any(map(_alive, below)))
        assert running.returncode == -how
        assert "Traceback" not in errors

    finished = {
        p: _identity(p)
        for p in out.rglob("*")
        if p.is_file() and p.suffix != ".part" and p.parent != out
    }
    reports = [p for p in finished if p.name == "metric_report.ipynb"]
    assert 0 < len(reports) < len(RUNS)
    again = subprocess.run(batch, cwd=tmp_path, capture_output=True, text=True)
    assert (again.returncode, again.stderr) == (0, "")
    assert again.stdout.endswith(f"3 done; {len(reports)} reports already current\n")
    assert {p.name for p in out.rglob(".*")} <= {".lock"}, "nothing half-written"
    for path, identity in finished.items():
        if path.parent.parent.name != "reports" or path.parent / "metric_report.ipynb" in reports:
            assert _identity(path) == identity, f"{path} was made again"
    assert files(out, *TIMED) == files(undisturbed / "outputs", *TIMED)


def _identity(path: Path) -> tuple[int, int]:
    return path.stat().st_ino, path.stat().st_mtime_ns


def _alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _until(true: Any, seconds: float = 120) -> bool:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
    return True


def test_resume_makes_again_what_is_not_current(undisturbed: Path, tmp_path: Path) -> None:
    shutil.copytree(undisturbed / "outputs", tmp_path / "outputs")
    out = tmp_path / "outputs"
    results, reports = out / "results", out / "reports"
    (results / NAMES[0] / "units.parquet").write_bytes(b"spoilt")
    (results / NAMES[1] / "derived/metrics/structural_metrics.csv").unlink()
    (reports / NAMES[2] / "metric_report.html").write_text("cut o", encoding="utf-8")
    (reports / NAMES[0] / "metric_report.ipynb").unlink()
    done = subprocess.run(
        command(undisturbed / "notebooks", *REPORT), cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("3 done; 1 reports already current\n")
    assert files(out, *TIMED) == files(undisturbed / "outputs", *TIMED)


@pytest.mark.parametrize("limit", [10_000, 100_000])
def test_a_full_disk_is_one_line_a_run_and_leaves_nothing_half_written(
    undisturbed: Path, tmp_path: Path, limit: int
) -> None:
    """A limit to the size of files stands in for the full disk: writing fails in the same way, at the same places."""
    batch = command(undisturbed / "notebooks", *REPORT, "-q")

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

    done = subprocess.run(batch, cwd=tmp_path, preexec_fn=limited, capture_output=True, text=True)
    assert done.returncode == 4
    lines = done.stderr.splitlines()
    assert all(line.startswith("error: ") for line in lines[:-1])
    assert all("File too large" in line for line in lines[:-1])
    assert "failed" in lines[-1]
    whole = files(undisturbed / "outputs", *TIMED)
    assert files(tmp_path / "outputs", *TIMED).items() <= whole.items()
    again = subprocess.run(batch, cwd=tmp_path, capture_output=True, text=True)
    assert (again.returncode, again.stderr) == (0, "")
    assert files(tmp_path / "outputs", *TIMED) == whole


def test_one_failed_report_does_not_stop_the_others(tmp_path: Path) -> None:
    fail = "assert 'seed2' not in run, 'seed 2 is bad'"
    notebooks = write_notebook(tmp_path / "notebooks", SCORE, fail)
    done = subprocess.run(command(notebooks, *REPORT), cwd=tmp_path, capture_output=True, text=True)
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
def settings(tmp_path: Path) -> Settings:
    return Settings(out=tmp_path / "outputs", n_resamples=100, quiet=True)


@pytest.mark.parametrize("jobs", [1, 2])
def test_one_bad_run_does_not_stop_the_others(
    settings: Settings, tmp_path: Path, jobs: int, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "scorecards.jsonl").write_text("{}\nnot json\n", encoding="utf-8")
    outcome = _scored(
        [str(bad), RUNS[0], str(tmp_path / "absent"), RUNS[1]], _jobs(settings, jobs), {}
    )
    assert (outcome.done, outcome.bad_input, outcome.failed) == (
        NAMES[:2],
        [str(tmp_path / "absent"), "bad"],
        [],
    )
    assert sorted(p.name for p in (settings.out / "results").glob("[!.]*")) == NAMES[:2]
    errors = capsys.readouterr().err
    assert f"error: {bad}/scorecards.jsonl:2:" in errors
    assert errors.endswith(f"2 done; 2 with bad input ({tmp_path}/absent, bad)\n")


def test_only_a_defect_is_shown_with_its_place(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    batch = Batch(settings)
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


def _jobs(settings: Settings, jobs: int) -> Settings:
    return Settings(**{**vars(settings), "jobs": jobs})


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
    outcome = Batch(Settings())
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
        Batch(Settings()).run_all(_misbehave, {"x": ("usage",), "y": ("usage",)}, workers)
    outcome = Batch(Settings())
    assert outcome.run_all(_misbehave, {how: (how,) for how in ("a", "usage", "b")}, workers) == {
        "a": "a",
        "b": "b",
    }
    assert (outcome.failed, outcome.status) == (["usage"], 4)
    later = Batch(Settings(), done=["scored"])
    assert later.run_all(_misbehave, {"report": ("usage",)}, workers) == {}
    assert later.failed == ["report"]


def test_a_call_that_is_alone_is_made_in_this_process(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = Batch(Settings())
    assert outcome.run_all(os.getpid, {"a": ()}, Workers(2)) == {"a": os.getpid()}
    for how in ("full", "defect"):
        assert outcome.run_all(_misbehave, {how: (how,)}, Workers()) == {}
    assert (outcome.failed, outcome.status) == (["full", "defect"], 4)
    assert capsys.readouterr().err.count("in _misbehave") == 1, (
        "a defect shows its place, and nothing else does"
    )


def test_names_that_clash_write_nothing(settings: Settings, tmp_path: Path) -> None:
    for part in ("x", "y"):
        shutil.copytree(example("cr/no_memory__seed1_proposed"), tmp_path / part / "run")
    with pytest.raises(UsageError, match=r"x/run and .*y/run would both be named 'run'"):
        _scored([str(tmp_path / "x/run"), RUNS[0], str(tmp_path / "y/run")], settings, {})
    with pytest.raises(UsageError, match="--name goes with one run only"):
        _scored(RUNS[:2], Settings(**{**vars(settings), "name": "n"}), {})
    with pytest.raises(UsageError, match="control characters"):
        _scored([RUNS[0], "a\nb"], settings, {})
    with pytest.raises(
        UsageError, match="options of cr: protocol: Input should be 'cr_v2' or 'cr_v1', got 'cr_v3'"
    ):
        _scored(RUNS[:2], settings, {"protocol": "cr_v3"})
    assert not settings.out.exists()


@pytest.mark.parametrize(
    "name", ["../x", "a/b", "", ".", "..", "a\\b", "x" * 201, "a\0b", "\ud800"]
)
def test_a_name_cannot_leave_the_output_folder(
    settings: Settings, tmp_path: Path, name: str
) -> None:
    before = sorted(tmp_path.rglob("*"))
    if name == "":  # no name was given: the run's own is taken
        return
    with pytest.raises(UsageError, match="cannot be the name of a run"):
        _scored(RUNS[:1], Settings(**{**vars(settings), "name": name}), {})
    assert sorted(tmp_path.rglob("*")) == before


def test_what_processes_left_that_are_gone_is_removed(settings: Settings) -> None:
    """Files and folders of killed processes, beside the results, in reports and in the folder of all."""
    results, reports = settings.out / "results", settings.out / "reports" / NAMES[0]
    reports.mkdir(parents=True)
    results.mkdir()
    gone = subprocess.Popen(["true"])
    gone.wait()
    parts = [beside(folder / "run") for folder in (results, reports, settings.out)]
    kept = {Path(tempfile.mkdtemp(**part)) for part in parts}
    other = Path(tempfile.mkdtemp(prefix=".run.elsewhere-1.", suffix=".part", dir=results))
    of_gone = [
        {**part, "prefix": part["prefix"].replace(f"-{os.getpid()}.", f"-{gone.pid}.")}
        for part in parts
    ]
    for part in of_gone:
        (Path(tempfile.mkdtemp(**part)) / "units.parquet").touch()
        Path(tempfile.mkdtemp(**{**part, "suffix": ".old.part"}))
        os.close(tempfile.mkstemp(**part)[0])
    aged = results / ".run.elsewhere-2.x.part"
    aged.touch()
    os.utime(aged, (0, time.time() - LEFTOVER_SECONDS - 60))
    _scored(RUNS[:1], settings, {})
    assert set(settings.out.rglob(".*.part")) == kept | {other}


def test_jobs_and_order_change_nothing(settings: Settings, tmp_path: Path) -> None:
    found = []
    for i, (jobs, runs) in enumerate(
        [(1, RUNS), (2, RUNS), (2, RUNS[::-1]), (1, [RUNS[2], RUNS[0], RUNS[1]])]
    ):
        out = tmp_path / str(i)
        assert (
            _scored(runs, Settings(**{**vars(settings), "out": out, "jobs": jobs}), {}).failed == []
        )
        found.append(files(out, "manifest.json"))
    assert all(f == found[0] for f in found)
    assert len(found[0]) == 3 * 5


def test_a_batch_on_a_cluster_is_the_same_to_the_byte(undisturbed: Path, tmp_path: Path) -> None:
    """A worker is killed while its report is made; another makes it."""
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    # the small notebook stands in for the real one on the workers too, and on one that comes back
    preload = tmp_path / "small_notebook.py"
    preload.write_text(PRELOAD.format(folder=str(undisturbed / "notebooks")), encoding="utf-8")
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        silence_logs=50,
        preload=[str(preload)],
    ) as cluster:
        with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
            workers = [psutil.Process(pid) for pid in client.run(os.getpid).values()]
        batch = command(
            undisturbed / "notebooks", *REPORT, "--scheduler", cluster.scheduler_address
        )
        running = subprocess.Popen(
            batch,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        victim = _first_with_kernel(workers, running)
        victim.kill()
        output, errors = running.communicate(timeout=120)
    assert (running.returncode, errors) == (0, "")
    assert output.endswith("3 done\n")
    assert files(tmp_path / "outputs", *TIMED) == files(undisturbed / "outputs", *TIMED)


def _first_with_kernel(
    processes: list[psutil.Process], batch: subprocess.Popen[str]
) -> psutil.Process:
    while batch.poll() is None:
        for process in processes:
            for child in process.children():
                with suppress(psutil.Error):
                    if any("report.kernels" in argument for argument in child.cmdline()):
                        return process
        time.sleep(0.02)
    raise AssertionError(f"no report was begun: {batch.communicate()}")


PRELOAD = """
from pathlib import Path
import evaltools.report.notebook
evaltools.report.notebook.asset_dir = lambda name: Path({folder!r})
"""


def test_report_runs_makes_no_report_of_a_bad_run(settings: Settings, tmp_path: Path) -> None:
    outcome = _reported([str(tmp_path / "absent")], settings, {})
    assert (outcome.done, outcome.bad_input, outcome.failed) == ([], [str(tmp_path / "absent")], [])
    assert not settings.out.exists() or not (settings.out / "reports").exists()
