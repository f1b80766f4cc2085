"""`evaltools lab`: the report notebooks and the examples in JupyterLab, as a copy that is yours to change."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import count
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
    wanted = contents()
    for n in count(1):
        place = folder if n == 1 else folder.with_name(f"{folder.name}-{n}")
        if place.exists() and not place.is_dir():
            raise UsageError(f"{place} is a file; name a folder for the notebooks with --dir")
        if all(_same(place / name, content) for name, content in wanted.items()):
            break
    for name, content in wanted.items():
        if not (place / name).is_file():
            require_writable(place)
            write_text(place / name, content)
    return place


def _same(path: Path, content: str) -> bool:
    """Whether writing `content` there would lose nothing."""
    return not path.exists() or (path.is_file() and path.read_bytes() == content.encode())


def contents() -> dict[str, str]:
    """File name -> text of everything in a fresh copy."""
    notebooks = {
        p.name: p.read_text(encoding="utf-8")
        for p in sorted(asset_dir("notebooks").glob("*.ipynb"))
    }
    table = "\n".join(
        f"| [{name}]({name}) | {_heading(text)} |" for name, text in notebooks.items()
    )
    bundled = "\n".join(f"- `example:{name}`" for name in examples())
    return {"README.md": README.format(notebooks=table, examples=bundled), **notebooks}


def _heading(notebook: str) -> str:
    """The heading that a notebook begins with."""
    first = "".join(json.loads(notebook)["cells"][0]["source"])
    return first.partition("\n")[0].lstrip("# ")


def command(folder: Path, port: int | None, browser: bool, more: Sequence[str] = ()) -> list[str]:
    """The command that opens JupyterLab on `folder` with this Python. Nothing is fetched from the network."""
    return [
        *(sys.executable, "-m", "jupyterlab", str(folder)),
        *([f"--ServerApp.port={port}"] if port is not None else []),
        *([] if browser else ["--no-browser"]),
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        *more,
    ]


def open_lab(
    folder: Path, port: int | None = None, browser: bool = True, more: Sequence[str] = ()
) -> None:
    """Become JupyterLab on a fresh copy of the notebooks; returns only where that is not possible.

    UsageError where JupyterLab is not installed.
    """
    if find_spec("jupyterlab") is None:
        raise UsageError("JupyterLab is not installed: pip install jupyterlab")
    place = prepare(folder)
    echo(f"notebooks in {place}")
    arguments = command(place, port, browser, more)
    os.execv(arguments[0], arguments)
