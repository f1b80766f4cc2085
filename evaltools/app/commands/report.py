"""`evaltools report SUITE INPUT...` and `evaltools report seeds RUN...`"""

from __future__ import annotations

import sys
from typing import Any

import click

from ...core.commands import RUN
from ...core.names import find_runs
from ...core.plugins import get_suite
from ...report.run_groups import suite_of_run
from ..batch import end, make_batch, report_seeds
from ..batch import report as report_runs
from ..groups import LazyGroup, RunsCommand
from ..options import (
    batch_options,
    margin_option,
    paper_option,
    primary_option,
    suite_file_option,
    suite_option,
    suite_options,
)


def report_suite(name: str) -> click.Command:
    """The command for runs of a suite."""
    suite = get_suite(name)
    options = suite_options(suite.options, suite.options.settable())

    @click.command(suite.name, params=options, help=f"Report runs of {suite.title}.")
    @click.argument("runs", metavar=f"{suite.input}...", nargs=-1, required=True, type=RUN)
    @batch_options
    @paper_option
    def command(runs: tuple[str, ...], **options: Any) -> None:
        batch = make_batch(suite, **options)
        report_runs(batch, runs)
        sys.exit(end(batch))

    return command


@click.group(cls=LazyGroup, load=report_suite)
@suite_file_option
def report() -> None:
    """Numbers, notebook and HTML page of runs.

    Writes results/<run>/ and reports/<run>/. `evaltools report SUITE --help` lists the options of a suite.
    """


@report.command(cls=RunsCommand)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=RUN)
@suite_option
@suite_file_option
@click.option(
    "--baseline",
    help="Condition that the others are compared with (default: the first by name).",
)
@primary_option
@margin_option
@batch_options
def seeds(
    runs: tuple[str, ...],
    suite: Any,
    baseline: str | None,
    primary: str | None,
    margin: dict[str, float],
    **options: Any,
) -> None:
    """Means over seeds, and conditions compared (any suite).

    RUN... are named <run_id>__seed<N>_<mode>; runs of one run_id are seeds of one condition. The options of the suite
    are taken too (evaltools report SUITE --help).
    """
    if suite is None:
        suite = suite_of_run(find_runs(runs[0])[0])  # says why it cannot be told
    batch = make_batch(suite, **options)
    report_seeds(batch, runs, baseline=baseline, primary=primary, margin=margin)
    sys.exit(end(batch))
