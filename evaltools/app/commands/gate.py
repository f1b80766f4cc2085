"""`evaltools gate RESULT`"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from ...core.commands import PATH, lang_option
from ...core.errors import GATE_NOT_MET
from ...core.terminal import echo
from ..options import decision_option, parse_margins


@click.command()
@click.argument("result", type=PATH)
@click.option(
    "--min",
    "minima",
    multiple=True,
    metavar="NAME=X",
    help="The metric must be at least X.",
)
@click.option(
    "--max",
    "maxima",
    multiple=True,
    metavar="NAME=X",
    help="The metric must be at most X.",
)
@click.option(
    "--use",
    type=click.Choice(["ci_low", "value", "ci_high", "worst"]),
    default="value",
    show_default=True,
    help="What of the metric must keep the bounds; worst: ci_low for --min, ci_high for --max.",
)
@click.option(
    "--baseline",
    type=PATH,
    metavar="RESULT",
    help="No metric of the headline may be worse than there.",
)
@click.option(
    "--margin",
    "margins",
    multiple=True,
    callback=parse_margins,
    metavar="NAME=X",
    help="With --baseline: how much worse the metric may be, in its own unit, at the bound of its interval.",
)
@decision_option
@click.option(
    "--strict",
    is_flag=True,
    help="The suite's verdicts too, and what a person must look at does not pass.",
)
@click.option(
    "--junit",
    "junit_file",
    type=PATH,
    metavar="FILE",
    help="Write what was found as JUnit XML, also where it fails.",
)
@click.option(
    "--summary",
    "summary_file",
    type=PATH,
    metavar="FILE",
    help="Write it as Markdown, for the summary of a CI job.",
)
@lang_option
def gate(result: Path, **asked: Any) -> None:
    """Status 1 unless RESULT holds what is asked, for CI.

    RESULT is a metrics.json, or the results folder of a run or an aggregate. Without any bound or baseline the
    verdicts of its suite must be passes. What is not measured does not pass.
    """
    from .. import gate as work

    rows = work.gate(result, **asked)
    for row in rows:
        echo(str(row))
    not_met = [row for row in rows if row.met is False]
    sys.exit(GATE_NOT_MET if not_met else 0)
