"""`evaltools demo`"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import click

from ...core.commands import lang_option, out_option, quiet_option
from ..options import jobs_option


@click.command()
@out_option
@lang_option
@quiet_option
@jobs_option(default=2)
def demo(
    out: Path,
    jobs: int,
    quiet: bool,
) -> None:
    """All reports and the gallery on the bundled examples."""
    from ...core.files import EXAMPLES
    from ...core.plugins import get_suite
    from ..batch import Batch
    from ..settings import Settings

    batch = Batch(Settings(out=out, jobs=jobs, quiet=quiet))
    for entry in json.loads((EXAMPLES / "demo.json").read_text(encoding="utf-8")):
        suite = get_suite(entry["suite"])
        # as the commands give them, of which the reports are the same
        options = {name: getattr(suite.options(), name) for name in suite.options.settable()}
        # what becomes of its runs is noted in the same lists
        part = replace(batch, suite=suite, options=options)
        report = part.report_seeds if entry["seeds"] else part.report
        report(entry["runs"])
    sys.exit(batch.end())
