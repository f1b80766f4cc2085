"""`evaltools score`, `report`, `demo` and `gallery`: runs to results, pages, and the page that finds them all."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from ...core.commands import (
    PATH,
    RUN,
    LazyGroup,
    lang_option,
    out_option,
    quiet_option,
    runs_argument,
    suite_file_option,
)
from ...core.files import EXAMPLES
from ...core.language import language, speak
from ...core.names import find_runs
from ...core.plugins import get_suite
from ...core.terminal import echo
from ...report.gallery import build
from ...report.make_study import suite_of_run
from .. import batch
from ..options import (
    RunsCommand,
    batch_options,
    declared_options,
    jobs_option,
    suite_languages,
    suite_option,
    suite_options,
)

paper_option = click.Option(
    ["--paper"],
    is_flag=True,
    help="Figures as SVG and PDF, and tables and words for a paper, beside the report.",
)


def _command(
    name: str,
    verb: str,
    make: Callable[[batch.Batch, Sequence[str]], None],
    *more: click.Parameter,
) -> click.Command:
    """The command that makes something of runs of a suite."""
    suite = get_suite(name)
    options = suite_options(suite.options, suite.options.settable())

    @click.command(suite.name, params=[*options, *more], help=f"{verb} runs of {suite.title}.")
    @click.argument(
        "runs",
        metavar=f"{suite.input}...",
        nargs=-1,
        required=True,
        type=RUN,
    )
    @batch_options
    def command(runs: tuple[str, ...], **options: Any) -> None:
        work = batch.Batch(suite, options)
        make(work, runs)
        sys.exit(batch.end(work))

    return command


def score_suite(name: str) -> click.Command:
    """The command that scores runs of a suite."""
    return _command(name, "Score", batch.score)


def report_suite(name: str) -> click.Command:
    """The command that reports runs of a suite."""
    return _command(name, "Report", batch.report, paper_option)


@click.group(cls=LazyGroup, load=score_suite)
@suite_file_option
def score() -> None:
    """Numbers of runs, without notebook and page.

    Writes results/<run>/. `evaltools score SUITE --help` lists the options of a suite.
    """


@click.group(cls=LazyGroup, load=report_suite)
@suite_file_option
def report() -> None:
    """Numbers, notebook and HTML page of runs.

    Writes results/<run>/ and reports/<run>/. `evaltools report SUITE --help` lists the options of a suite.
    """


@report.command(cls=RunsCommand)
@runs_argument
@suite_option
@suite_file_option
@click.option(
    "--baseline",
    help="Condition that the others are compared with (default: the first by name).",
)
@declared_options
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
    work = batch.Batch(suite, options)
    batch.report_seeds(
        work,
        runs,
        baseline=baseline,
        primary=primary,
        margin=margin,
    )
    sys.exit(batch.end(work))


@click.command()
@out_option
@lang_option
@quiet_option
@jobs_option(default=2)
def demo(**options: Any) -> None:
    """All reports and the gallery on the bundled examples."""
    lang = language()
    entries = json.loads((EXAMPLES / "demo.json").read_text(encoding="utf-8"))
    work = batch.Batch(get_suite(entries[0]["suite"]), options)
    for entry in entries:
        # the settings of the same report by itself, which is then current
        usual = report_suite(entry["suite"]).make_context("report", list(entry["runs"])).params
        runs = usual.pop("runs")
        work.suite = get_suite(entry["suite"])
        work.options = {**usual, **options}
        speak(lang if lang in suite_languages(work.suite) else "en")
        make = batch.report_seeds if entry["seeds"] else batch.report
        make(work, runs)
    speak(lang)
    sys.exit(batch.end(work))


@click.command()
@click.argument("outputs", default="outputs", type=PATH)
@lang_option
def gallery(outputs: Path) -> None:
    """Make index.html of all results under OUTPUTS again.

    The page finds, filters and compares them.
    """
    echo(build(outputs))
