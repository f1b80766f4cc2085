"""`evaltools gallery [OUTPUTS]`"""

from __future__ import annotations

from pathlib import Path

import click

from ...core.commands import PATH, lang_option
from ...core.terminal import echo
from ...report.gallery import build


@click.command()
@click.argument("outputs", default="outputs", type=PATH)
@lang_option
def gallery(outputs: Path) -> None:
    """Make index.html of all results under OUTPUTS again.

    The page finds, filters and compares them.
    """
    echo(build(outputs))
