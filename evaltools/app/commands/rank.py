"""`evaltools rank RUN...`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ...core.commands import out_option
from ...core.terminal import echo
from ..options import study_options, study_settings, suite_file_option, suite_option
from ..suite_commands import RunsCommand


@click.command(cls=RunsCommand)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option(
    "--metric",
    required=True,
    metavar="NAME",
    help="The metric that the conditions are ranked by.",
)
@suite_option
@suite_file_option
@out_option
@study_options
def rank(runs: tuple[str, ...], metric: str, out: Path, **values: Any) -> None:
    """Every pair of conditions on one metric: tie groups, and ranks that hold together.

    Writes results/<baseline>_aggregated/ of this metric, with ranks.csv in it; the baseline is the first condition by
    name.
    """
    from ..rank import rank_command

    echo(rank_command(runs, metric=metric, out=out, **study_settings(values)))
