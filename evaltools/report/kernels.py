"""The process that executes a report notebook with papermill: forked from the one that makes the report, or new.

The folder that a command is called in, and the user's home, take no part in a report: a notebook reads no profile,
startup file or style there, and imports no module but what the command's own path finds there alone.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import time
from collections import defaultdict
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import matplotlib as mpl
import numpy as np
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
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

PRINTING = Lock()  # threads of a cell print at once


class Stream(io.TextIOBase):
    """What a cell prints, as its output."""

    encoding = "utf-8"

    def __init__(
        self,
        shell: Shell,
        name: str,
    ) -> None:
        self.shell, self.name = shell, name

    def write(
        self,
        text: str,
    ) -> int:
        with PRINTING:
            last = self.shell.outputs[-1:]
            if last and last[0].get("name") == self.name:
                last[0]["text"] += as_json(text)
            elif text:
                self.shell.add("stream", name=self.name, text=text)
        return len(text)


class Publisher(DisplayPublisher):
    """What a cell shows by `display`, as its output."""

    shell: Any

    def publish(
        self,
        data: Any,
        metadata: Any = None,
        *_: Any,
        transient: Any = None,
        update: bool = False,
        **__: Any,
    ) -> None:
        shown = {"data": data, "metadata": metadata or {}}
        same = self.shell.displayed[(transient or {}).get("display_id")]
        for output in same if update else ():
            output.update(as_json(shown))
        if not (update and same):
            same.append(self.shell.add("display_data", **shown))

    def clear_output(
        self,
        wait: bool = False,
    ) -> None:
        self.shell.outputs.clear()


class Hook(DisplayHook):
    """What a cell ends with, as its output."""

    shell: Any

    def write_output_prompt(self) -> None:
        """Nothing: the number of a cell stands beside it."""

    def write_format_data(
        self,
        format_dict: Any,
        md_dict: Any = None,
    ) -> None:
        number = self.prompt_count
        self.shell.add(
            "execute_result",
            data=format_dict,
            metadata=md_dict,
            execution_count=number,
        )


class Shell(InteractiveShell):
    """Runs cells in this process; `outputs` are those of the cell that runs, `displayed` those of a display's id."""

    displayhook_class = Hook
    display_pub_class = Publisher
    outputs: list[Any]
    displayed: dict[Any, list[Any]]

    def add(
        self,
        kind: str,
        **content: Any,
    ) -> Any:
        self.outputs.append(as_json({"output_type": kind, **content}))
        return self.outputs[-1]

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
        self.add(
            "error",
            ename=etype.__name__,
            evalue=str(evalue),
            traceback=stb,
        )


def as_json(output: Any) -> Any:
    """An output as a notebook holds it: pictures, and objects that JSON has not, as text."""

    def as_text(value: Any) -> Any:
        try:
            return json_default(value)
        except TypeError:
            return repr(value)

    text = json.dumps(output, default=as_text, ensure_ascii=False)
    return nbformat.from_dict(json.loads(text.encode("utf-8", "replace")))


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
        shell.outputs, shell.displayed = [], defaultdict(list)
        sys.stdout, sys.stderr = Stream(shell, "stdout"), Stream(shell, "stderr")
        shell.enable_matplotlib("inline")
        for number, cell in enumerate(nb_man.nb.cells):
            if cell.cell_type == "code":
                cell.outputs = shell.outputs = []
                result = shell.run_cell(cell.source, store_history=True)
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
