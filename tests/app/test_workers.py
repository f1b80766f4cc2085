"""Work in processes of this machine: order, isolation of failures, killed processes."""

import os
import signal
import time
from functools import partial
from pathlib import Path

import pytest

from evaltools.core.messages import InputError, Problems, UsageError, WorkFailed
from evaltools.core.workers import Workers

from .processes import alive, until

DIE = 3
"""The task whose process is killed."""


def double(x: int) -> int:
    if x == DIE:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * x


def refuse(x: int) -> int:
    if x == 1:
        raise Problems().fatal("bad", "no", file="f", line=x)
    return x


def sleep(folder: Path, x: int) -> int:
    """Write the process id into a file, whole from the first moment, and sleep."""
    part = folder / f"{x}.part"
    part.write_text(str(os.getpid()))
    part.rename(folder / f"{x}.pid")
    time.sleep(60)
    return x


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_map_keeps_the_order_of_the_tasks(jobs: int) -> None:
    assert Workers(jobs).map(double, [4, 0, 2, 1, 9]) == [8, 0, 4, 2, 18]
    assert Workers(jobs).map(double, []) == []


def test_map_raises_what_a_call_raises() -> None:
    with pytest.raises(InputError, match="f:1: no"):
        Workers(2).map(refuse, [0, 1, 2])


@pytest.mark.parametrize("jobs", [2, 4])
def test_only_the_task_whose_process_dies_is_lost(jobs: int) -> None:
    tasks = [(x,) for x in (1, DIE, 2, 5, DIE, 6)]
    ended = dict(Workers(jobs).ended(double, tasks))
    assert sorted(ended) == list(range(6))
    for index, (x,) in enumerate(tasks):
        if x == DIE:
            assert isinstance(ended[index].exception(), WorkFailed)
            assert "killed" in str(ended[index].exception())
        else:
            assert ended[index].result() == 2 * x


def test_a_process_does_not_outlive_its_parent(tmp_path: Path) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            Workers(2).map(partial(sleep, tmp_path), [1, 2])
        finally:
            os._exit(1)
    pid_files = [tmp_path / "1.pid", tmp_path / "2.pid"]
    until(lambda: all(file.is_file() for file in pid_files))
    children = [int(file.read_text()) for file in pid_files]
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    until(lambda: not any(alive(child) for child in children))


def test_a_scheduler_needs_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(UsageError, match="pip install dask distributed"):
        Workers(scheduler="tcp://127.0.0.1:1").map(double, [1, 2])
