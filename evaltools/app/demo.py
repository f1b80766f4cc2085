"""`evaltools demo`: the reports on the bundled examples."""

from __future__ import annotations

import json

from ..core.files import EXAMPLES
from ..core.plugins import get_suite
from .batch import Batch
from .settings import Settings


def run_demo(settings: Settings) -> int:
    """Make the reports that app/examples/demo.json lists, as `evaltools report` makes them; the exit status."""
    batch = Batch(settings)
    for entry in json.loads((EXAMPLES / "demo.json").read_text(encoding="utf-8")):
        suite = get_suite(entry["suite"])
        defaults = suite.options()
        options = {name: getattr(defaults, name) for name in suite.options.settable()}
        make = batch.report_seeds if entry["seeds"] else batch.report
        make(suite, entry["runs"], options)
    return batch.end()
