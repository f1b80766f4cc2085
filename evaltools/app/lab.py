"""`evaltools lab`: the report notebooks and the examples in JupyterLab, as a copy that is yours to change."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from ..core.errors import UsageError
from ..core.files import asset_dir, examples, require_writable, write_text
from ..core.terminal import echo

README = """# Notebooks of evaltools

A copy: change what you like. `evaltools lab` makes a new folder beside a changed one and never overwrites it.

Open a notebook, set the parameters in its first code cell, and run all cells. Every run parameter takes a path
or the name of a bundled example.

| notebook | for |
| --- | --- |
{notebooks}

Examples that come with the package:

{examples}
"""


def prepare(folder: Path) -> Path:
    """Copy the notebooks and a README.md into `folder`, and return the folder to open.

    An untouched copy is used again. Where any file of it was changed, the copy goes into the first of
    `folder-2`, `folder-3`, ... that is not there yet or untouched. UsageError where `folder` is a file.
    """
    files = contents()
    target = folder
    number = 1
    while not _is_free(target, files):
        number += 1
        target = folder.with_name(f"{folder.name}-{number}")
    for name, content in files.items():
        if not (target / name).is_file():
            require_writable(target)
            write_text(target / name, content)
    return target


def _is_free(folder: Path, files: dict[str, str]) -> bool:
    """Whether a folder is not there yet, or an untouched copy. UsageError where it is a file."""
    if folder.exists() and not folder.is_dir():
        text = "{target} is a file; name a folder for the notebooks with --dir"
        raise UsageError(text, target=folder)
    return all(_is_untouched(folder / name, content) for name, content in files.items())


def _is_untouched(path: Path, content: str) -> bool:
    """Whether writing `content` there would lose nothing."""
    if not path.exists():
        return True
    return path.is_file() and path.read_bytes() == content.encode()


def contents() -> dict[str, str]:
    """File name -> text of everything in a fresh copy."""
    notebooks = {}
    for path in sorted(asset_dir("notebooks").glob("*.ipynb")):
        notebooks[path.name] = path.read_text(encoding="utf-8")
    rows = [f"| [{name}]({name}) | {_heading(text)} |" for name, text in notebooks.items()]
    bundled = [f"- `example:{name}`" for name in examples()]
    readme = README.format(notebooks="\n".join(rows), examples="\n".join(bundled))
    return {"README.md": readme, **notebooks}


def _heading(notebook: str) -> str:
    """The heading that a notebook begins with."""
    source = "".join(json.loads(notebook)["cells"][0]["source"])
    return source.partition("\n")[0].lstrip("# ")


def command(
    folder: Path,
    port: int | None,
    browser: bool,
    more: Sequence[str] = (),
) -> list[str]:
    """The command that opens JupyterLab on `folder` with this Python. Nothing is fetched from the network."""
    arguments = [sys.executable, "-m", "jupyterlab", str(folder)]
    if port is not None:
        arguments.append(f"--ServerApp.port={port}")
    if not browser or not _has_browser():
        arguments.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        arguments.append("--allow-root")  # JupyterLab refuses to start without it
    arguments += [
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    return [*arguments, *more]


def _has_browser() -> bool:
    """Whether there is a browser with windows; those of a terminal would take it from the server."""
    if sys.platform.startswith("linux"):
        return any(os.environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))
    return True


def open_lab(
    folder: Path,
    port: int | None = None,
    browser: bool = True,
    more: Sequence[str] = (),
) -> None:
    """Become JupyterLab on a fresh copy of the notebooks; returns only where that is not possible.

    UsageError where JupyterLab is not installed.
    """
    if find_spec("jupyterlab") is None:
        raise UsageError("JupyterLab is not installed: pip install jupyterlab")
    target = prepare(folder)
    echo(f"notebooks in {target}")
    arguments = command(target, port, browser, more)
    # neither the server nor a kernel is a module of the working directory
    os.execve(arguments[0], arguments, {**os.environ, "PYTHONSAFEPATH": "1"})
