"""Where the notebooks and templates are: inside the installed package, or beside it in a source checkout."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def asset_dir(name: str) -> Path:
    """The folder of that name ("notebooks", "templates"); FileNotFoundError where neither place has it."""
    for folder in (PACKAGE / name, PACKAGE.parent / name):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"the folder {name!r} is neither in {PACKAGE} nor beside it; reinstall evaltools")
