"""Waiting for processes and for what they do."""

from __future__ import annotations

import time
from collections.abc import Callable

import psutil


def until(true: Callable[[], object], seconds: float = 300) -> None:
    """Wait until `true()` holds; fail after so many seconds."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    """Whether the process is there and no zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
