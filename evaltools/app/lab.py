"""`evaltools lab`: the report notebooks and the examples in JupyterLab, as a copy that is yours to change."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from ..core.errors import UsageError
from ..core.files import asset_dir, require_writable, write_text
from ..core.terminal import echo


def prepare(folder: Path) -> None:
    """Copy the notebooks into `folder`; what is there already stays as it is.

    UsageError where `folder` is a file.
    """
    if folder.is_file():
        text = "{target} is a file; name a folder for the notebooks with --dir"
        raise UsageError(text, target=folder)
    require_writable(folder)
    for path in asset_dir("notebooks").glob("*.ipynb"):
        if not (folder / path.name).exists():
            write_text(folder / path.name, path.read_text(encoding="utf-8"))


def command(folder: Path, options: Sequence[str]) -> list[str]:
    """The command that opens JupyterLab on `folder` with this Python. Nothing is fetched from the network."""
    arguments = [sys.executable, "-m", "jupyterlab", str(folder)]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        arguments.append("--allow-root")  # JupyterLab refuses to start without it
    arguments += [
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    return [*arguments, *options]


def open_lab(folder: Path, options: Sequence[str]) -> None:
    """Become JupyterLab on a copy of the notebooks, with these options of its own.

    UsageError where JupyterLab is not installed.
    """
    if find_spec("jupyterlab") is None:
        raise UsageError("JupyterLab is not installed: pip install jupyterlab")
    prepare(folder)
    echo(f"notebooks in {folder}")
    arguments = command(folder, options)
    # neither the server nor a kernel is a module of the working directory
    os.execve(arguments[0], arguments, {**os.environ, "PYTHONSAFEPATH": "1"})
