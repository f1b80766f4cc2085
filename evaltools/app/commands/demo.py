"""`evaltools demo`"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from ...core.commands import lang_option, out_option, quiet_option
from ...core.files import EXAMPLES
from ...core.language import language, speak
from ...core.plugins import get_suite
from ..batch import Batch, end, make_batch, report, report_seeds
from ..options import jobs_option, suite_languages
from .report import report_suite


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
    lang = language()
    batch = Batch(None, out, jobs=jobs, quiet=quiet)
    for entry in json.loads((EXAMPLES / "demo.json").read_text(encoding="utf-8")):
        # the settings of the same report by itself, which is then current
        options = report_suite(entry["suite"]).make_context("report", list(entry["runs"])).params
        del options["runs"]
        batch.suite = get_suite(entry["suite"])
        batch.settings = make_batch(batch.suite, **options).settings
        speak(lang if lang in suite_languages(batch.suite) else "en")
        make = report_seeds if entry["seeds"] else report
        make(batch, entry["runs"])
    speak(lang)
    sys.exit(end(batch))
