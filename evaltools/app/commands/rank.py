"""`evaltools rank RUN...`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ...core.check import check_lines
from ...core.commands import out_option
from ...core.folders import require_out
from ...core.terminal import echo
from ...report import study_sentences
from ...report.make_study import ranked_study
from ...report.study_files import aggregate_folder
from ...report.text import visible
from ..groups import RunsCommand
from ..options import study_options, suite_file_option, suite_option
from ..text import columns, wrapped


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
def rank(
    runs: tuple[str, ...],
    metric: str,
    out: Path,
    **settings: Any,
) -> None:
    """Which condition is best on one metric: ranks and tie groups.

    Every pair is compared, all pairs together. Writes results/<baseline>_aggregated/ of this metric, with ranks.csv in
    it; the baseline is the first condition by name.
    """
    require_out(out)
    study = ranked_study(runs, metric, out, **settings)
    ranks = study.rank()
    ranks["condition"] = ranks["condition"].map(visible)
    for sentence in study_sentences.ranking(study):
        echo(wrapped(sentence))
    for line in check_lines(study.doubts) if study.doubts else ():
        echo(wrapped(line))
    table = columns(ranks, dict.fromkeys(("value", "ci_low", "ci_high"), "{:.4f}".format))
    echo(f"\n{table}\n")
    echo(aggregate_folder(out, study.baseline) / "ranks.csv")
