"""Kernels forked from one process with their libraries loaded; elsewhere than on Linux they are started anew."""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

from ..core import plugins

OPTION = "EVALTOOLS_KERNELS"
"""Environment variable: with "spawn" every kernel is started anew, as `jupyter` does."""

LIBRARIES = (
    "ipykernel.ipkernel",
    "ipykernel.kernelapp",
    "matplotlib_inline.backend_inline",
    "pyarrow.parquet",
    "evaltools.report.figures",
    "evaltools.report.study",
)
"""What the kernel of every report imports."""

_warm: socket.socket | None = None
"""To the process that forks kernels: of this process and, inherited, of those that it forks."""


@contextmanager
def without(*modules: str) -> Iterator[None]:
    """Imports in the block do not find these modules, which others can do without."""
    hidden = {name for name in modules if name not in sys.modules}
    sys.modules |= dict.fromkeys(hidden)  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


@contextmanager
def warm() -> Iterator[None]:
    """Kernels that are started within the block are forked from a process that does nothing else.

    It is forked here and now, before anything of a user's is read, and loads the libraries when first asked for a
    kernel. At the end of the block, or of this process, it ends with all of its kernels.
    """
    global _warm
    # where a suite of the user's is loaded, a kernel forked from here would have run its code
    if sys.platform != "linux" or os.environ.get(OPTION) == "spawn" or plugins.FROM_FILES:
        yield
        return
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        try:
            ours.close()
            _serve(theirs)
        finally:
            os._exit(1)
    theirs.close()
    _warm = ours
    try:
        yield
    finally:
        _warm = None
        # not merely closed: a process forked from this one may hold it open
        ours.shutdown(socket.SHUT_RDWR)
        ours.close()
        os.waitpid(pid, 0)


def _serve(asked: socket.socket) -> None:
    """Fork a kernel for each line sent here, until nobody is left to ask."""
    os.setsid()  # an interrupt from the terminal is not for this process
    for number in (signal.SIGTERM, signal.SIGHUP):  # nor does it clean up as the command does
        signal.signal(number, signal.SIG_DFL)
    running: set[int] = set()
    while True:
        message, lines, *_ = socket.recv_fds(asked, 1, 1)
        if not message:
            break
        running = {pid for pid in running if not os.waitpid(pid, os.WNOHANG)[0]}
        if "IPython" not in sys.modules:
            _load()
        for line in lines:
            pid = os.fork()
            if pid == 0:
                try:
                    asked.close()
                    _be_kernel(socket.socket(fileno=line))
                finally:
                    os._exit(1)
            running.add(pid)
            os.close(line)
    for pid in running:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _load() -> None:
    """Import what the kernel of every report does. Nothing here starts a thread, which no fork would take along."""
    from .fonts import covered
    from .templates import macros

    for name in LIBRARIES:
        import_module(name)
    with without("scipy.stats"):  # seaborn needs it for densities only, and half a second goes by
        import_module("seaborn")
    covered()
    macros()
    gc.freeze()


def _be_kernel(line: socket.socket) -> None:
    """Run the kernel that is asked for on the line, for as long as somebody holds the other end."""
    os.setsid()
    line.sendall(b"%d\n" % os.getpid())
    request = json.loads(line.makefile("rb").readline())
    Thread(target=_end_with, args=(line,), daemon=True).start()
    os.register_at_fork(after_in_child=line.close)
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    os.environ["JPY_PARENT_PID"] = str(os.getppid())
    sys.argv = request["argv"]
    import numpy as np
    from ipykernel.kernelapp import IPKernelApp

    np.random.seed()  # noqa: NPY002 - else what is drawn unseeded would be the same in every kernel
    # told here, as ipykernel reads the variable when it is imported
    IPKernelApp.launch_instance(request["argv"][1:], parent_handle=os.getppid())


def _end_with(line: socket.socket) -> None:
    line.recv(1)
    os._exit(1)


class Forked:
    """A kernel that the warm process forks, to jupyter_client what a `subprocess.Popen` is."""

    stdin = stdout = stderr = None
    pid = 0

    def __init__(self, warm: socket.socket):
        self.line, theirs = socket.socketpair()
        _forked.append(self)  # whatever interrupts the start
        with theirs:
            socket.send_fds(warm, [b"k"], [theirs.fileno()])
        self.pid = int(self.line.makefile("rb").readline() or 0)

    def poll(self) -> int | None:
        """None while the kernel lives; how it ended is not known."""
        try:
            return None if self.line.recv(1, socket.MSG_DONTWAIT) else 1
        except BlockingIOError:
            return None
        except OSError:
            return 1

    def wait(self) -> int:
        with suppress(OSError):
            if self.pid:
                self.line.settimeout(1)
                self.line.recv(1)
        self.line.close()
        return 1

    def send_signal(self, number: int) -> None:
        if self.pid and self.poll() is None:
            os.killpg(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


_forked: list[Forked] = []
"""Of this process."""


def end_forked() -> None:
    """End the kernels that were forked for this process, one whose start was interrupted too."""
    while _forked:
        one = _forked.pop()
        with suppress(ProcessLookupError):
            one.kill()
        one.wait()


def _fork(argv: list[str], env: dict[str, str]) -> Forked | None:
    """A kernel forked from the warm process; None where there is none, or where it died."""
    if _warm is None:
        return None
    with suppress(OSError):
        forked = Forked(_warm)
        if forked.pid:
            request = {"argv": argv, "env": env, "cwd": str(Path.cwd())}
            forked.line.sendall(json.dumps(request).encode() + b"\n")
            return forked
    return None


@cache
def kernel_manager() -> Any:
    """The kind of manager that forks a kernel of this Python where there is a warm process, and else starts it."""
    from jupyter_client.manager import AsyncKernelManager

    # an interrupt before a coroutine is awaited is no news beside the interrupt
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)

    class KernelManager(AsyncKernelManager):
        async def _async_launch_kernel(self, kernel_cmd: list[str], **kw: Any) -> None:
            forked = None
            if kernel_cmd[:3] == [sys.executable, "-m", "ipykernel_launcher"]:
                forked = _fork(kernel_cmd[2:], kw.get("env") or dict(os.environ))
            if forked is None:
                await super()._async_launch_kernel(kernel_cmd, **kw)
                return
            provisioner: Any = self.provisioner
            provisioner.process, provisioner.pid, provisioner.pgid = forked, forked.pid, forked.pid

        _launch_kernel = _async_launch_kernel

    return KernelManager
