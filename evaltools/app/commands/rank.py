"""`evaltools rank RUN...`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ...core.commands import RUN, out_option, verbose_option
from ...core.folders import require_out
from ...core.terminal import echo, paragraph
from ...report.make_study import ranked_study
from ...report.numbers import interval, number
from ...report.study_files import aggregate_folder
from ...report.study_sentences import ranking
from ..groups import RunsCommand
from ..options import study_options, suite_file_option, suite_option
from ..show import show_checks, show_rows


@click.command(cls=RunsCommand)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=RUN)
@click.option(
    "--metric",
    required=True,
    metavar="NAME",
    help="The metric that the conditions are ranked by.",
)
@suite_option
@suite_file_option
@out_option
@verbose_option
@study_options
def rank(
    runs: tuple[str, ...],
    metric: str,
    out: Path,
    verbose: bool,
    **settings: Any,
) -> None:
    """Which condition is best on one metric: ranks.

    Every pair is compared, all pairs together. Writes results/<baseline>_aggregated/ of this metric, with ranks.csv in
    it; the baseline is the first condition by name.
    """
    require_out(out)
    study = ranked_study(runs, metric, out, **settings)
    for sentence in ranking(study):
        paragraph(sentence)
    rows = []
    for row in study.rank().to_dict("records"):
        ranks = "" if row["rank_low"] != row["rank_low"] else f"{row['rank_low']:g}"
        if ranks and row["rank_high"] != row["rank_low"]:
            ranks += f"–{row['rank_high']:g}"
        rows.append([row["condition"], number(row["value"]), interval(row), ranks, ""])
    echo()
    level = f"{study.resampling.percent} interval"
    show_rows(["condition", "value", level, "rank", ""], rows, verbose)
    echo()
    show_checks(study.doubts, verbose)
    echo(aggregate_folder(out, study.baseline) / "ranks.csv")
