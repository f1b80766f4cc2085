"""The process that executes a report notebook with papermill: forked from the one that makes the report, or new.

The folder that a command is called in, and the user's home, take no part in a report: a notebook reads no profile,
startup file or style there, and imports no module but what the command's own path finds there alone.
"""

from __future__ import annotations

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
from IPython.core.displayhook import DisplayHook
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import CapturedIO, capture_output
from traitlets.config import Config


def import_papermill() -> Any:
    """Import papermill and, through it, nbformat, without its second of building parsers.

    jsonschema's optional check of URIs builds them at import; notebook schemas use none.
    """
    name = "rfc3987_syntax"
    modules: dict[str, Any] = sys.modules
    found = modules.setdefault(name, None)
    try:
        import papermill
    finally:
        if found is None:
            del modules[name]
    return papermill


papermill = import_papermill()

import nbformat  # noqa: E402
from jupyter_client.jsonutil import json_default  # noqa: E402
from papermill.engines import Engine, papermill_engines  # noqa: E402


class Hook(DisplayHook):
    """Shows what a cell ends with as `display` does."""

    shell: Any

    def write_output_prompt(self) -> None:
        """Nothing: the number of a cell stands beside it."""

    def write_format_data(
        self,
        format_dict: Any,
        md_dict: Any = None,
    ) -> None:
        self.shell.display_pub.publish(format_dict, md_dict)


class Shell(InteractiveShell):
    """Runs cells in this process; `error` is what ended one, as an output, in a list."""

    displayhook_class = Hook
    error: Any = ()

    def ask_exit(self) -> None:
        raise RuntimeError("exit() and quit() end no report: take them out of the cell")

    def enable_gui(
        self,
        gui: Any = None,
    ) -> None:
        """Nothing: figures stand in outputs."""

    def _showtraceback(
        self,
        etype: Any,
        evalue: Any,
        stb: list[str],
    ) -> None:
        said = {"ename": etype.__name__, "evalue": str(evalue), "traceback": stb}
        self.error = [{"output_type": "error", **said}]


def outputs_of(
    captured: CapturedIO,
    error: Any,
) -> Any:
    """What a cell printed, what it showed, and what ended it, as a notebook holds them."""
    printed = {"stdout": captured.stdout, "stderr": captured.stderr}
    outputs: list[Any] = [
        {"output_type": "stream", "name": n, "text": t} for n, t in printed.items() if t
    ]
    for shown in captured.outputs:
        data = {kind: as_json(value) for kind, value in shown.data.items()}
        outputs.append({"output_type": "display_data", "data": data, "metadata": shown.metadata})
    return nbformat.from_dict(as_json([*outputs, *error]))


def as_json(value: Any) -> Any:
    """A value as JSON has it: pictures as text, and what it has no form for as its repr."""
    try:
        text = json.dumps(value, default=json_default, ensure_ascii=False)
    except (TypeError, ValueError):
        text = json.dumps(repr(value))
    return json.loads(text.encode("utf-8", "replace"))


class ShellEngine(Engine):
    """Executes a notebook in this process, until a cell fails."""

    @classmethod
    def execute_managed_notebook(
        cls,
        nb_man: Any,
        kernel_name: str,
        **_: Any,
    ) -> None:
        shell = Shell.instance(config=Config({"HistoryManager": {"enabled": False}}))
        shell.enable_matplotlib("inline")
        for number, cell in enumerate(nb_man.nb.cells):
            if cell.cell_type == "code":
                with capture_output() as captured:
                    result = shell.run_cell(cell.source, store_history=True)
                cell.outputs = outputs_of(captured, shell.error)
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
    papermill_engines.register("evaltools", ShellEngine)
    nb = nbformat.read(draft, as_version=4)
    try:
        papermill.execute_notebook(
            nb,
            # papermill fills in parameters where a path has braces
            str(draft).replace("{", "{{").replace("}", "}}"),
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
