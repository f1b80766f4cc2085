"""`evaltools score SUITE INPUT...`"""

from __future__ import annotations

import sys
from typing import Any

import click

from ...core.commands import RUN
from ...core.plugins import get_suite
from ..batch import end, make_batch
from ..batch import score as score_runs
from ..groups import LazyGroup
from ..options import batch_options, suite_file_option, suite_options


def score_suite(name: str) -> click.Command:
    """The command for runs of a suite."""
    suite = get_suite(name)
    options = suite_options(suite.options, suite.options.settable())

    @click.command(suite.name, params=options, help=f"Score runs of {suite.title}.")
    @click.argument("runs", metavar=f"{suite.input}...", nargs=-1, required=True, type=RUN)
    @batch_options
    def command(runs: tuple[str, ...], **options: Any) -> None:
        batch = make_batch(suite, **options)
        score_runs(batch, runs)
        sys.exit(end(batch))

    return command


@click.group(cls=LazyGroup, load=score_suite)
@suite_file_option
def score() -> None:
    """Numbers of runs, without notebook and page.

    Writes results/<run>/. `evaltools score SUITE --help` lists the options of a suite.
    """
