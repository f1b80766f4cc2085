"""Kernels of report notebooks: forked from the process that makes the report, or started anew.

The folder that a command is called in, and the user's home, take no part in a report: a kernel imports no module
from there and reads no profile, startup file or style.
"""

from __future__ import annotations

import os
import signal
import sys
import warnings
from functools import cache
from multiprocessing import current_process
from multiprocessing.context import ForkProcess
from pathlib import Path
from types import ModuleType
from typing import Any

from ..core import plugins
from ..core.workers import end_with_parent

# environment variable: with "spawn" every kernel is started anew
OPTION = "EVALTOOLS_KERNELS"

# longest path of a folder for sockets, whose names are added to it
SOCKET_BYTES = 80

# what starts a kernel anew; -P leaves the working directory out of sys.path
COMMAND = [sys.executable, "-P", "-m", "evaltools.report.kernels", "-f", "{connection_file}"]


def import_papermill() -> Any:
    """Import papermill and, through it, nbformat, without its second of building parsers.

    jsonschema's optional check of URIs builds them at import; notebook schemas use none.
    """
    name = "rfc3987_syntax"
    is_hidden = name not in sys.modules
    if is_hidden:
        sys.modules[name] = None  # type: ignore[assignment]
    try:
        import papermill
    finally:
        if is_hidden:
            del sys.modules[name]
    return papermill


def start_kernel(arguments: list[str], **options: Any) -> None:
    """Run an IPython kernel in this process, until it is told to end.

    `arguments` are those of `ipykernel_launcher`, `options` those of `IPKernelApp`.
    """
    import matplotlib
    from ipykernel.kernelapp import IPKernelApp

    matplotlib.rcdefaults()  # without the matplotlibrc of the working directory or of the user
    own = ["--IPKernelApp.ignore_cwd=True", "--matplotlib=inline"]
    IPKernelApp.launch_instance([*arguments, *own], **options)


def connection(folder: Path) -> Any:
    """Settings of a manager whose kernel is reached by files in `folder`.

    These are Unix sockets: other users of the machine cannot read along. A socket's path has at most 104 bytes on
    some systems; from longer folders, and where there are none, a kernel is reached over TCP.
    """
    from traitlets.config import Config

    short = len(os.fsencode(folder)) <= SOCKET_BYTES
    transport = "ipc" if os.name == "posix" and short else "tcp"
    files = {"connection_file": str(folder / "kernel.json"), "transport": transport}
    return Config({"KernelManager": files})


def load_libraries() -> None:
    """Import what the notebooks of reports do, so that a kernel forked from this process need not."""
    import pyarrow.parquet  # noqa: F401
    import seaborn  # noqa: F401

    from . import figures, make_study  # noqa: F401
    from .fonts import families
    from .templates import macros

    families()
    macros()


def run_forked(
    arguments: list[str],
    environment: dict[str, str],
) -> None:
    """Be a kernel, in a process that was forked for it from one with an event loop."""
    import asyncio

    import numpy as np

    os.setsid()  # an interrupt from the terminal is not for kernels
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    asyncio.set_event_loop_policy(None)  # the loop of the other process is not for this one
    end_with_parent()
    os.environ.clear()
    os.environ.update(environment)
    sys.path = [entry for entry in sys.path if entry not in ("", str(Path.cwd()))]
    sys.modules["__main__"] = ModuleType("__main__")
    sys.argv = ["ipykernel_launcher", *arguments]
    # the other process may write elsewhere, as a test of commands does, or a notebook
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    np.random.seed()  # noqa: NPY002 - unseeded numbers would be the same in every kernel
    start_kernel(arguments, parent_handle=os.getppid())


class ForkedKernel(ForkProcess):
    """A kernel forked from this process, with the methods of `subprocess.Popen` that jupyter_client uses."""

    stdin = stdout = stderr = None

    def __init__(
        self,
        arguments: list[str],
        environment: dict[str, str],
    ) -> None:
        load_libraries()
        super().__init__(target=run_forked, args=(arguments, environment))
        # until it has a session of its own, no signal from the terminal reaches it
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGHUP))
        try:
            self.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    def poll(self) -> int | None:
        """The exit status; None while the kernel lives."""
        return self.exitcode

    def wait(self, timeout: float | None = None) -> int | None:
        self.join(timeout)
        return self.exitcode

    def send_signal(self, number: int) -> None:
        if self.exitcode is None and self.pid is not None:
            os.kill(self.pid, number)


def kernels_are_forked() -> bool:
    """Whether kernels are forked: on Linux, unless the environment says otherwise.

    With a suite of the user's they are started anew, as are those of a process that may have no children.
    """
    asked = os.environ.get(OPTION) != "spawn"
    return (
        sys.platform == "linux"
        and asked
        and not plugins.FROM_FILES
        and not current_process().daemon
    )


# kernels of this process, as `subprocess.Popen` or ForkedKernel
_started: list[Any] = []


def end_kernels() -> None:
    """End the kernels that are still alive, as after an interrupt."""
    while _started:
        kernel = _started.pop()
        if kernel.poll() is None:
            kernel.kill()
            kernel.wait()


@cache
def kernel_manager() -> Any:
    """The class of manager that forks or starts the kernel of a report."""
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager

    # an interrupt before a coroutine is awaited is no news beside the interrupt
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)

    class KernelManager(AsyncKernelManager):
        @property
        def kernel_spec(self) -> KernelSpec:
            """This Python, whatever kernels the user has installed."""
            return KernelSpec(argv=COMMAND, display_name="Python 3", language="python")

        async def _async_launch_kernel(
            self,
            kernel_cmd: list[str],
            **how: Any,
        ) -> None:
            folder = Path(self.connection_file).parent
            environment = {
                **(how.pop("env", None) or os.environ),
                "IPYTHONDIR": str(folder / "ipython"),  # a profile of its own
                "PYTHONSAFEPATH": "1",
                "PYTHONSTARTUP": "",
            }
            provisioner: Any = self.provisioner
            if kernels_are_forked():
                forked = ForkedKernel(kernel_cmd[4:], environment)
                provisioner.process = forked
                provisioner.pid = provisioner.pgid = forked.pid
            else:
                await super()._async_launch_kernel(kernel_cmd, env=environment, **how)
            _started.append(provisioner.process)

    return KernelManager


if __name__ == "__main__":
    start_kernel(sys.argv[1:])
