"""The process that executes a report notebook with papermill: forked from the one that makes the report, or new.

The folder that a command is called in, and the user's home, take no part in a report: a notebook reads no profile,
startup file or style there, and imports no module but what the command's own path finds there alone.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from threading import Thread
from typing import Any

import matplotlib as mpl
import numpy as np
from traitlets.config import Config


def import_papermill() -> Any:
    """Import papermill and, through it, nbformat, without its second of building parsers; the kernel without a debugger.

    jsonschema's optional check of URIs builds them at import; notebook schemas use none.
    """
    modules: dict[str, Any] = sys.modules
    spared = [name for name in ("rfc3987_syntax", "debugpy") if name not in modules]
    modules.update(dict.fromkeys(spared))
    try:
        import ipykernel.debugger
        import ipykernel.inprocess.ipkernel  # noqa: F401  loaded by the start of a kernel
        import papermill
    finally:
        for name in spared:
            del modules[name]
    return papermill


papermill = import_papermill()

import nbformat  # noqa: E402
from ipykernel.inprocess.manager import InProcessKernelManager  # noqa: E402
from jupyter_client.jsonutil import json_default  # noqa: E402
from nbclient import NotebookClient  # noqa: E402
from papermill.engines import Engine, papermill_engines  # noqa: E402


class InProcessEngine(Engine):
    """Executes a notebook with an IPython kernel in this process, until a cell fails."""

    @classmethod
    def execute_managed_notebook(
        cls,
        nb_man: Any,
        kernel_name: str,
        **_: Any,
    ) -> None:
        manager = InProcessKernelManager(config=Config({"HistoryManager": {"enabled": False}}))
        # with a question mark for a half of a character
        manager.session.pack = lambda message: json.dumps(
            message, default=json_default, ensure_ascii=False
        ).encode("utf-8", "replace")
        manager.start_kernel()
        kernel: Any = manager.kernel
        client = manager.client()
        client.start_channels()
        sys.stdout, sys.stderr = kernel.stdout, kernel.stderr
        # else what is printed slowly comes in as many pieces as there was time for
        sys.stdout.flush_interval = sys.stderr.flush_interval = 1e6
        kernel.shell.enable_matplotlib("inline")
        outputs = NotebookClient(nb_man.nb, record_timing=False)
        for number, cell in enumerate(nb_man.nb.cells):
            if cell.cell_type == "code":
                outputs.clear_before_next_output = False
                result = kernel.shell.run_cell(cell.source, store_history=True)
                sys.stdout.flush()
                sys.stderr.flush()
                for message in client.iopub_channel.get_msgs():
                    outputs.process_message(message, cell, number)
                cell.execution_count = result.execution_count
                if not result.success:
                    nb_man.cell_exception(cell, number)
                    break


def end_with(parent: int) -> None:
    """End this process, and those that it started, when its parent has ended."""
    while os.getppid() == parent:
        time.sleep(0.2)
    if os.name == "posix":
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def run(draft: Path) -> None:
    """Execute a notebook with the parameters in its metadata, in this process, which serves nothing else."""
    parent = os.getppid()
    if os.name == "posix":
        os.setsid()  # an interrupt from the terminal is not for it
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
    Thread(target=end_with, args=(parent,), daemon=True).start()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)  # what libraries write past Python
    os.environ |= {"IPYTHONDIR": str(draft.parent), "PYTHONSAFEPATH": "1"}
    sys.path.sort(
        key=("", str(Path.cwd())).__contains__
    )  # a suite may lie there, and hides no other module
    mpl.rcdefaults()  # without the matplotlibrc of the working directory or of the user
    np.random.seed()  # noqa: NPY002 - unseeded numbers would be the same in every process
    papermill_engines.register("evaltools", InProcessEngine)
    nb = nbformat.read(draft, as_version=4)
    try:
        papermill.execute_notebook(
            nb,
            draft,
            nb.metadata.papermill.parameters,
            "evaltools",
            kernel_name="python3",
            progress_bar=False,
            request_save_on_cell_execute=False,
        )
    finally:
        os._exit(0)  # whatever threads a cell has left at work


if __name__ == "__main__":
    run(Path(sys.argv[1]))
