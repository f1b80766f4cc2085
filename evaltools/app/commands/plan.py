"""`evaltools plan RUN...`: how large a study must be."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ...core.commands import PATH, RUN
from ...core.files import refuse_input, write_text
from ...core.names import find_runs
from ...core.terminal import echo, paragraph, table
from ...report.make_study import study
from ...report.numbers import number
from ...report.study_files import csv
from ...report.study_sentences import plan_notes, plan_title
from ..groups import RunsCommand
from ..options import study_options, suite_file_option, suite_option, whole_numbers


@click.command(cls=RunsCommand)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=RUN)
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
@click.option("--csv", "csv_file", type=PATH, help="Write the plan there as well.")
@suite_option
@suite_file_option
@study_options
def plan(
    runs: tuple[str, ...],
    metric: str,
    difference: float,
    power: float,
    seeds: Sequence[int],
    csv_file: Path | None,
    **settings: Any,
) -> None:
    """How many samples and seeds would show a difference.

    RUN... are the pilot: the runs of two conditions (named as for `compare`), or of one, whose seeds then stand in
    for the other.
    """
    paths = [path for run in runs for path in find_runs(run)]
    if csv_file is not None:
        refuse_input(csv_file, paths)
    pilot = study(paths, **settings)
    planned = pilot.plan(metric, difference, power=power, seeds=seeds)
    if csv_file is not None:
        write_text(csv_file, csv(planned))
    paragraph(plan_title(pilot, metric, difference, power))
    echo()
    filled = planned.dropna(axis="columns", how="all")
    rows = [[number(cell, 2).removesuffix(".00") for cell in row] for row in filled.values]
    table(list(filled), rows)
    echo()
    for note in plan_notes(pilot, planned):
        paragraph(note)
    if csv_file is not None:
        echo(csv_file)
