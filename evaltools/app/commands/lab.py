"""`evaltools lab`"""

from __future__ import annotations

from pathlib import Path

import click

from ...core.commands import PATH


@click.command()
@click.argument("more", metavar="[-- JUPYTERLAB OPTIONS]", nargs=-1)
@click.option(
    "--dir",
    "folder",
    type=PATH,
    default=Path("evaltools-lab"),
    show_default=True,
    help="Folder of the notebooks' copy.",
)
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help="Port of JupyterLab (default: the first free from 8888).",
)
@click.option(
    "--browser/--no-browser",
    default=True,
    show_default=True,
    help="Open a browser, or only print the address.",
)
def lab(
    folder: Path,
    port: int | None,
    browser: bool,
    more: tuple[str, ...],
) -> None:
    """Open JupyterLab on a fresh copy of the notebooks, the examples at hand.

    A copy that was changed is never overwritten: the next one goes into DIR-2, DIR-3, ...
    In a container whose port is published: evaltools lab -- --ip=0.0.0.0
    """
    from ..lab import open_lab

    open_lab(folder, port, browser, more)
