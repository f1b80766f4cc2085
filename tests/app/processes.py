"""Waiting for processes and for what they do."""

import time
from collections.abc import Callable
from pathlib import Path


def until(true: Callable[[], object]) -> None:
    """Wait until `true()` holds; fail after five minutes."""
    end = time.monotonic() + 300
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def _stat(pid: int) -> tuple[str, int]:
    """(state, parent) of a process; Z where it is gone."""
    try:
        state, parent, *_ = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "Z", 0
    return state, int(parent)


def alive(pid: int) -> bool:
    """Whether the process is there and no zombie."""
    return _stat(pid)[0] != "Z"


def below(pid: int) -> list[int]:
    """The processes that a process started, and those that they did."""
    pids = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    children = [child for child in pids if _stat(child)[1] == pid]
    return children + [further for child in children for further in below(child)]
