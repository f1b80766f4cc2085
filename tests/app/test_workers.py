"""Work in processes and on a cluster: order, isolation of failures, killed processes."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import psutil
import pytest

from evaltools.app import cluster as clusters
from evaltools.app.cluster import cluster_size
from evaltools.app.workers import Workers
from evaltools.core.errors import InputError, Problem, UsageError, WorkFailed
from evaltools.report.evaluate import evaluate

DIE = 3


def double(x: int) -> int:
    if x == DIE:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * x


def refuse(x: int) -> int:
    if x == 1:
        raise InputError([Problem("error", "bad", "no", file="f", line=x)])
    return x


def sleep(folder: Path, x: int) -> int:
    (folder / f"{x}.pid").write_text(str(os.getpid()))
    time.sleep(60)
    return x


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_map_keeps_the_order_of_the_tasks(jobs: int) -> None:
    assert Workers(jobs).map(double, [4, 0, 2, 1, 9]) == [8, 0, 4, 2, 18]
    assert Workers(jobs).map(double, []) == []


def test_map_raises_what_a_call_raises() -> None:
    with pytest.raises(InputError, match="f:1: no"):
        Workers(2).map(refuse, [0, 1, 2])


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_only_the_task_whose_process_dies_is_lost(jobs: int) -> None:
    tasks = [(x,) for x in (1, DIE, 2, 5, DIE, 6)]
    ended = dict(Workers(jobs).ended(double, tasks))
    assert sorted(ended) == list(range(6))
    for place, (x,) in enumerate(tasks):
        if x == DIE:
            assert isinstance(ended[place].exception(), WorkFailed)
            assert "killed" in str(ended[place].exception())
        else:
            assert ended[place].result() == 2 * x


def told_to_end(x: int) -> int:
    if x == 1:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
    return x


def test_a_process_that_is_told_to_end_is_lost_and_no_exit_status() -> None:
    ended = dict(Workers(2).ended(told_to_end, [(0,), (1,), (2,)]))
    assert isinstance(ended[1].exception(), WorkFailed)
    assert ended[0].result() == 0
    with pytest.raises(WorkFailed):
        Workers(2).map(told_to_end, [1, 1])


def test_closing_stops_what_runs(tmp_path: Path) -> None:
    # task 0 ends at once; by then task 1 has begun
    with closing(Workers(2).ended(_first_or_sleep, [(tmp_path, 0), (tmp_path, 1)])) as ended:
        index, future = next(ended)
        assert (index, future.result()) == (0, 0)
    assert not psutil.pid_exists(int((tmp_path / "1.pid").read_text()))


def _first_or_sleep(folder: Path, x: int) -> int:
    if x:
        return sleep(folder, x)
    while not (folder / "1.pid").is_file():
        time.sleep(0.01)
    return x


def test_a_process_does_not_outlive_its_parent(tmp_path: Path) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            Workers(2).map(partial(sleep, tmp_path), [1, 2])
        finally:
            os._exit(1)
    _until(
        lambda: all(
            (tmp_path / f"{x}.pid").is_file() and (tmp_path / f"{x}.pid").read_text()
            for x in (1, 2)
        )
    )
    children = [int((tmp_path / f"{x}.pid").read_text()) for x in (1, 2)]
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    _until(lambda: not any(_alive(p) for p in children))


def _alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _until(true: object, seconds: float = 60) -> None:
    assert callable(true)
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def test_a_scheduler_needs_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(UsageError, match=r"extra `dask`: pip install 'evaltools\[dask\]'"):
        Workers(scheduler="tcp://127.0.0.1:1").map(double, [1, 2])


distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")


def _two_workers() -> distributed.LocalCluster:
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    )


@pytest.fixture(scope="module")
def cluster() -> Iterator[distributed.LocalCluster]:
    """Two processes of one thread on this machine."""
    with _two_workers() as cluster:
        yield cluster


@pytest.fixture
def cluster_to_lose() -> Iterator[distributed.LocalCluster]:
    """Another for a test that kills workers: dask does not always start them again."""
    with _two_workers() as cluster:
        yield cluster


def test_no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "CONNECT_SECONDS", 0.5)
    with pytest.raises(UsageError, match=r"no dask scheduler answers at 'tcp://127\.0\.0\.1:9'"):
        cluster_size("tcp://127.0.0.1:9")
    with pytest.raises(UsageError, match="no dask scheduler answers at"):
        cluster_size("what is this")
    gc.collect()  # dask does not survive that its lost client is collected while it makes the next


def test_a_cluster_without_workers(
    cluster: distributed.LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wait(*_: object, **how: object) -> None:
        raise TimeoutError

    monkeypatch.setattr(distributed.Client, "wait_for_workers", wait)
    with pytest.raises(UsageError, match=r"the dask scheduler at 'tcp://.*' has no workers"):
        cluster_size(cluster.scheduler_address)


def test_cluster_maps_in_order_in_the_folder_of_the_caller(
    cluster: distributed.LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = cluster.scheduler_address
    assert cluster_size(address) == 2
    assert Workers(2, address).map(double, [4, 0, 2, 1, 9]) == [8, 0, 4, 2, 18]
    monkeypatch.chdir(tmp_path)
    assert Workers(2, address).map(_here, [1, 2, 3]) == [str(tmp_path)] * 3
    with pytest.raises(InputError, match="f:1: no"):
        Workers(2, address).map(refuse, [0, 1, 2])


def _here(x: int) -> str:
    return str(Path.cwd())


def test_cluster_with_other_versions_is_refused(
    cluster: distributed.LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters, "versions", lambda: {"evaltools": "0.0.1"})
    with pytest.raises(
        UsageError, match=r"other versions: evaltools .* \(wanted 0\.0\.1\), python"
    ):
        Workers(2, cluster.scheduler_address).map(double, [1, 2])


@pytest.fixture
def processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A cluster of one worker that nobody starts again: its address, and the process of its scheduler."""
    monkeypatch.setattr(clusters, "CONNECT_SECONDS", 5)
    quiet, file = (
        {"stderr": subprocess.DEVNULL, "stdout": subprocess.DEVNULL},
        tmp_path / "scheduler.json",
    )
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    scheduler = subprocess.Popen([*dask, "--scheduler-file", str(file)], **quiet)  # type: ignore[call-overload]
    _until(file.is_file)
    dask[2:] = [
        "distributed.cli.dask_worker",
        "--scheduler-file",
        str(file),
        "--nthreads",
        "1",
        "--no-nanny",
    ]
    worker = subprocess.Popen([*dask, "--no-dashboard", "--death-timeout", "1"], **quiet)  # type: ignore[call-overload]
    try:
        _until(lambda: bool(file.read_text()))
        address = json.loads(file.read_text())["address"]
        with distributed.Client(address, timeout=60, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=60)
        yield address, scheduler
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()


def test_a_scheduler_that_is_lost_is_work_that_failed(
    processes: tuple[str, subprocess.Popen[bytes]],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Its process is killed while a task is at work: what came back by then stands, the rest failed, status 4."""
    (address, scheduler), begun = processes, tmp_path / "begun"
    killer = threading.Thread(target=_kill_after, args=(scheduler, begun))
    killer.start()
    tasks = [(["sh", "-c", f"touch {begun}; sleep 2"],)] * 2
    futures = dict(Workers(2, address).ended(subprocess.call, tasks))
    killer.join()
    assert [type(f.exception()) for f in futures.values()] == [WorkFailed, WorkFailed]
    assert "scheduler does not answer any more" in str(futures[0].exception())
    assert "Traceback" not in capfd.readouterr().err


def test_a_cluster_that_lost_its_workers_is_not_waited_for(
    processes: tuple[str, subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters, "CONNECT_SECONDS", 2)
    ended = dict(Workers(1, processes[0]).ended(double, [(1,), (DIE,), (2,)]))
    assert isinstance(ended[1].exception(), WorkFailed)
    assert "has no workers left" in str(ended[1].exception())


def _kill_after(process: subprocess.Popen[bytes], begun: Path) -> None:
    _until(begun.is_file)
    process.kill()


def test_task_that_kills_its_workers_fails_alone(cluster_to_lose: distributed.LocalCluster) -> None:
    ended = dict(Workers(2, cluster_to_lose.scheduler_address).ended(double, [(1,), (DIE,), (2,)]))
    assert isinstance(ended[1].exception(), WorkFailed)
    # a neighbour of the killer may have been lost with it too often; whatever ended is right
    assert [ended[p].result() for p in (0, 2) if ended[p].exception() is None] in (
        [2, 4],
        [2],
        [4],
        [],
    )


def test_what_a_killed_worker_had_begun_is_done_by_another(
    cluster_to_lose: distributed.LocalCluster, tmp_path: Path
) -> None:
    found = Workers(2, cluster_to_lose.scheduler_address).map(
        partial(die_once, tmp_path), [0, 1, 2, 3]
    )
    assert found == [0, 1, 2, 3]
    assert (tmp_path / "died").is_file()


def die_once(folder: Path, x: int) -> int:
    if x == 1 and not (folder / "died").is_file():
        (folder / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return x


def test_shards_of_a_file_are_scored_on_the_cluster_although_a_worker_is_killed(
    cluster_to_lose: distributed.LocalCluster, tmp_path: Path
) -> None:
    """The files are the same to the byte as those of one process, but for the times in the manifest."""
    case = {
        "question": "보험금?",
        "answer": "진단비 1,000만원을 지급합니다.",
        "contexts": ["진단비 1,000만원 지급"],
    }
    lines = (
        json.dumps(
            {"id": str(i), **case, "metadata": {"summary_tags": ["limit"]}}, ensure_ascii=False
        )
        + "\n"
        for i in range(3_000)
    )
    path = tmp_path / "cases.jsonl"
    path.write_text("".join(lines), encoding="utf-8")
    evaluate("summary", path, out=tmp_path / "local")

    with distributed.Client(cluster_to_lose.scheduler_address, set_as_default=False) as client:
        before = set(client.run(os.getpid).values())
        pid = os.fork()
        if pid == 0:  # kills one worker while they are at work
            try:
                time.sleep(0.2)
                os.kill(min(before), signal.SIGKILL)
            finally:
                os._exit(0)
        evaluate(
            "summary",
            path,
            out=tmp_path / "cluster",
            workers=Workers(2, cluster_to_lose.scheduler_address),
        )
        os.waitpid(pid, 0)
    assert not _alive(min(before))
    for name in ("units.parquet", "metrics.json", "summary_scores.csv"):
        local, remote = (
            tmp_path / where / "results" / "cases" / name for where in ("local", "cluster")
        )
        assert local.read_bytes() == remote.read_bytes(), name
