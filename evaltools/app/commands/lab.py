"""`evaltools lab`"""

from __future__ import annotations

from pathlib import Path

import click

from ...core.commands import PATH


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("options", metavar="[JUPYTERLAB OPTIONS]", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--dir",
    "folder",
    type=PATH,
    default=Path("evaltools-lab"),
    show_default=True,
    help="Folder of the notebooks' copy.",
)
def lab(folder: Path, options: tuple[str, ...]) -> None:
    """Open JupyterLab on a copy of the notebooks.

    A file that is in the folder already is never overwritten: another --dir gets a fresh copy.
    Options of JupyterLab are passed on to it, as --port 8889, --no-browser or, in a container whose port is
    published, --ip=0.0.0.0
    """
    from ..lab import open_lab

    open_lab(folder, options)
