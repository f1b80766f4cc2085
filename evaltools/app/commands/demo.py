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
from ..batch import Batch
from ..options import jobs_option, suite_languages


@click.command()
@out_option
@lang_option
@quiet_option
@jobs_option(default=2)
def demo(out: Path, jobs: int, quiet: bool) -> None:
    """All reports and the gallery on the bundled examples."""
    lang = language()
    batch = Batch(out=out, jobs=jobs, quiet=quiet)
    of_all = batch.settings
    for entry in json.loads((EXAMPLES / "demo.json").read_text(encoding="utf-8")):
        batch.suite = get_suite(entry["suite"])
        speak(lang if lang in suite_languages(batch.suite) else "en")
        options = batch.suite.options
        defaults = options().model_dump(include=set(options.settable()))
        batch.settings = {**of_all, **defaults}
        report = batch.report_seeds if entry["seeds"] else batch.report
        report(entry["runs"])
    speak(lang)
    sys.exit(batch.end())
