"""`evaltools demo`"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ...core.commands import lang_option, out_option, quiet_option
from ..options import jobs_option


@click.command()
@out_option
@lang_option
@quiet_option
@jobs_option(default=2)
def demo(out: Path, jobs: int, quiet: bool) -> None:
    """All reports and the gallery on the bundled examples."""
    from ..demo import run_demo
    from ..settings import Settings

    sys.exit(run_demo(Settings(out=out, jobs=jobs, quiet=quiet)))
