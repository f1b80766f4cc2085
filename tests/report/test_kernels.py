"""Forked kernels: the bytes of started ones, nothing shared between them, and an end with whoever asked for them."""

from __future__ import annotations

import importlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from evaltools.report import kernels
from evaltools.report import notebook as execute
from evaltools.report.notebook import NOTEBOOK, ReportFailed, run
from tests.app.test_batch import TIMED, files

from .test_notebook import texts

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="kernels are forked on Linux only")

WHO = "import os\nprint(os.getpid(), os.getppid(), os.getsid(0))"


@pytest.fixture
def warm(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(kernels.OPTION, raising=False)
    with kernels.warm():
        yield


def who(folder: Path) -> list[int]:
    return [int(word) for word in texts(folder / NOTEBOOK)[0].split()]


def _until(true: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def _alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_the_kernels_of_a_block_have_one_parent_that_ends_with_it(job: Any) -> None:
    with kernels.warm():
        for name in ("a", "b"):
            made = job(WHO, name=name)
            run(made)
        (a, parent, session), (b, other, _) = (
            who(made.folder.parent / name) for name in ("a", "b")
        )
        assert a != b and parent == other != os.getpid()
        assert session == a, "a session of its own: an interrupt from the terminal is not for it"
        assert psutil.Process(parent).ppid() == os.getpid()
    assert not any(map(_alive, (parent, a, b)))
    run(made)
    assert who(made.folder)[1] == os.getpid(), "outside of the block kernels are started"


def test_spawning_is_an_option(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kernels.OPTION, "spawn")
    made = job(WHO)
    with kernels.warm():
        run(made)
    assert who(made.folder)[1] == os.getpid()


def test_where_a_suite_of_the_users_is_loaded_kernels_are_started(
    job: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaltools.core.plugins.FROM_FILES", {"mine": object()})
    made = job(WHO)
    with kernels.warm():
        run(made)
    assert who(made.folder)[1] == os.getpid()


def test_without_the_warm_process_kernels_are_started(warm: None, job: Any) -> None:
    made = job(WHO)
    run(made)
    os.kill(who(made.folder)[1], signal.SIGKILL)
    _until(lambda: not _alive(who(made.folder)[1]))
    run(made)
    assert who(made.folder)[1] == os.getpid()


SEEN = """
import os, sys, matplotlib as mpl, numpy as np, pandas as pd, evaltools as et
from evaltools.core.language import language
print(os.environ.get("LEFT"), os.getcwd(), language(), pd.get_option("display.max_rows"), mpl.rcParams["font.size"])
print(hasattr(et, "left"), "left" in dir(), sys.argv[0], os.read(0, 1))
print(np.random.random())
"""
LEFT = """
import os, matplotlib as mpl, numpy as np, pandas as pd, evaltools as et
left = et.left = 1
et.speak("ko"); pd.set_option("display.max_rows", 7); mpl.rcParams["font.size"] = 3; np.random.seed(0)
os.environ["LEFT"] = "1"; os.chdir("/")
"""


def test_nothing_of_one_notebook_is_seen_by_the_next(warm: None, job: Any) -> None:
    found = []
    for name, cell in (("first", SEEN), ("leaves", LEFT), ("last", SEEN)):
        made = job(cell, name=name)
        run(made)
        found.append("".join(texts(made.folder / NOTEBOOK)).splitlines())
    first, _, last = found
    assert first[:2] == last[:2]
    assert first[0].startswith(f"None {Path.cwd()} en ")
    assert first[2] != last[2], "what is drawn unseeded differs from kernel to kernel"


def test_a_forked_kernel_that_dies_fails_its_report_alone(warm: None, job: Any) -> None:
    # a child of the kernel outlives it, and must not be taken for it
    leave = "import os, signal, time\nif os.fork() == 0: (time.sleep(20), os._exit(0))"
    cells = leave, "os.kill(os.getpid(), signal.SIGKILL)"
    with pytest.raises(ReportFailed, match="Kernel died"):
        run(job(*cells))
    run(job(WHO))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_kernel_ends_with_the_process_that_asked_for_it(
    job: Any, tmp_path: Path, how: signal.Signals
) -> None:
    made = job(
        "import os\nopen('pid', 'w').write(f'{os.getpid()} {os.getppid()}')",
        "import time\ntime.sleep(60)",
    )
    pid = os.fork()
    if pid == 0:
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            with kernels.warm():
                run(made)
        finally:
            os._exit(1)
    there = tmp_path / "pid"
    _until(lambda: there.is_file() and len(there.read_text().split()) == 2)
    os.kill(pid, how)
    os.waitpid(pid, 0)
    _until(lambda: not any(_alive(int(p)) for p in there.read_text().split()), 20)


def test_an_interrupted_start_leaves_no_kernel(
    warm: None, job: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    usual = kernels.Forked.__init__

    def interrupted(self: kernels.Forked, warm: socket.socket) -> None:
        usual(self, warm)
        asked.append(self.pid)
        raise KeyboardInterrupt

    monkeypatch.setattr(kernels.Forked, "__init__", interrupted)
    with pytest.raises(KeyboardInterrupt), execute.scratch():
        kernels._fork([], {})
    assert asked and not any(map(_alive, asked))


def test_forked_and_started_kernels_give_the_same_bytes(tmp_path: Path) -> None:
    """The whole report of a run, Korean words and all figures in it."""
    found = []
    for how in ("spawn", "fork"):
        (tmp_path / how).mkdir()
        command = [
            sys.executable,
            "-m",
            "evaltools.app.cli",
            "report",
            "cr",
            "-q",
            "--lang",
            "ko",
            "--n-resamples",
            "100",
        ]
        env = {**os.environ, kernels.OPTION: how}
        subprocess.run(
            [*command, "example:cr/with_memory__seed1_proposed"],
            cwd=tmp_path / how,
            env=env,
            check=True,
        )
        found.append(files(tmp_path / how, *TIMED))
    assert found[0] == found[1]
    assert any(name.endswith("metric_report.html") for name in found[0])


def test_a_hidden_module_is_found_again_and_one_that_is_loaded_stays() -> None:
    sys.modules.pop("this", None)
    with kernels.without("this", "json"), pytest.raises(ImportError):
        importlib.import_module("this")
    assert "this" not in sys.modules and sys.modules["json"].loads("1") == 1
    with kernels.without("json"):
        import json
    assert sys.modules["json"] is json


def test_what_an_interrupt_leaves_unawaited_is_not_told() -> None:
    start = "async def start(): pass\nstart()"
    said = [
        subprocess.run(
            [sys.executable, "-c", f"{before}\n{start}"], capture_output=True, text=True, check=True
        ).stderr
        for before in ("", "from evaltools.report.kernels import kernel_manager\nkernel_manager()")
    ]
    assert "never awaited" in said[0] and said[1] == ""
