"""`evaltools compare A B`"""

from __future__ import annotations

from typing import Any

import click

from ...core.commands import PATH
from ...core.terminal import echo
from ..options import (
    decision_option,
    margin_option,
    primary_option,
    study_options,
    suite_file_option,
    suite_option,
)
from ..suite_commands import RunsCommand


@click.command(cls=RunsCommand)
@click.argument("baseline", metavar="A")
@click.argument("candidate", metavar="B")
@suite_option
@suite_file_option
@click.option("--all", "everything", is_flag=True, help="Every metric, not only the headline.")
@click.option("--csv", "csv_file", type=PATH, help="Write the whole comparison there as well.")
@primary_option
@margin_option
@decision_option
@study_options
def compare(
    baseline: str,
    candidate: str,
    **values: Any,
) -> None:
    """Is B better than A? Two runs, or two sets of seeds, in pairs.

    A and B are a run, a results folder, a run_id (the common prefix of the folders <run_id>__seed<N>_<mode>),
    or several runs joined by commas. The options of the suite are taken too (evaltools score SUITE --help).
    """
    from ..compare import compare_command

    echo(compare_command(baseline, candidate, **values))
