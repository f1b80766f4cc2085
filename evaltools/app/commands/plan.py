"""`evaltools plan RUN...`"""

from __future__ import annotations

from typing import Any

import click

from ...core.commands import PATH, quiet_option
from ...core.terminal import echo
from ..options import (
    study_options,
    suite_file_option,
    suite_option,
    whole_numbers,
)
from ..suite_commands import RunsCommand


@click.command(cls=RunsCommand)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option(
    "--metric",
    required=True,
    metavar="NAME",
    help="The metric in which the difference is looked for.",
)
@click.option(
    "--difference",
    required=True,
    type=float,
    metavar="X",
    help="The difference, in the metric's own unit.",
)
@click.option(
    "--power",
    type=float,
    default=0.8,
    show_default=True,
    help="Probability of finding it, 0 to 1.",
)
@click.option(
    "--seeds",
    default="1,3,5",
    show_default=True,
    metavar="N,...",
    callback=whole_numbers,
    help="Numbers of seeds to plan for.",
)
@click.option(
    "--trials",
    metavar="N,...",
    callback=whole_numbers,
    help="Numbers of trials of a sample to plan for; by default as many as the runs have.",
)
@click.option(
    "--cluster-size",
    metavar="N,...",
    callback=whole_numbers,
    help="Numbers of samples in a cluster to plan for; by default as many as the runs have.",
)
@click.option("--csv", "csv_file", type=PATH, help="Write the plan there as well.")
@click.option(
    "--register",
    type=PATH,
    metavar="FILE",
    help="Write the decision there (TOML), before the data: compare and gate --decision FILE test exactly that.",
)
@click.option(
    "--margin",
    type=click.FloatRange(0),
    default=0.0,
    show_default=True,
    help="With --register: how much worse the candidate may be, in the metric's own unit; 0: it must be better.",
)
@click.option(
    "--looks",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="With --register: how often the data may be tested on the way, at equal numbers of samples.",
)
@suite_option
@suite_file_option
@study_options
@quiet_option
def plan(runs: tuple[str, ...], **values: Any) -> None:
    """How many samples and seeds would show a difference.

    RUN... are the pilot: the runs of two conditions (named as for `compare`), or of one, whose seeds then stand in
    for the other.
    """
    from ..plan import plan_command

    echo(plan_command(runs, **values))
