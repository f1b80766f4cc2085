"""`evaltools lab`: the report notebooks in JupyterLab, as a copy that is yours to change."""

import os
import sys
from pathlib import Path

import click

from ...core.files import Names, asset_dir, write_text
from ...core.messages import echo


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument(
    "options",
    metavar="[JUPYTERLAB OPTIONS]",
    nargs=-1,
    type=click.UNPROCESSED,
)
def lab(options: Names) -> None:
    """Open JupyterLab on a copy of the notebooks, in the folder evaltools-lab.

    A file that is in the folder already is never overwritten.
    Options of JupyterLab are passed on to it, as --port 8889, --no-browser or, in a container whose port is
    published, --ip=0.0.0.0
    """
    folder = Path("evaltools-lab")
    for path in asset_dir("notebooks").glob("*.ipynb"):
        if not (folder / path.name).exists():
            write_text(folder / path.name, path.read_text(encoding="utf-8"))
    echo(f"notebooks in {folder}")
    arguments = [
        sys.executable,
        "-m",
        "jupyterlab",
        str(folder),
        # root, as in a container, may start it, and nothing is fetched from the network
        "--allow-root",
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        *options,
    ]
    # neither the server nor a kernel is a module of the working directory
    os.execve(arguments[0], arguments, {**os.environ, "PYTHONSAFEPATH": "1"})
