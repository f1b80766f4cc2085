"""`evaltools rank RUN...`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ...core.commands import out_option
from ...core.terminal import echo
from ..options import study_options, suite_file_option, suite_option
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
def rank(
    runs: tuple[str, ...],
    metric: str,
    out: Path,
    **values: Any,
) -> None:
    """Which condition is best on one metric: ranks and tie groups.

    Every pair is compared, all pairs together. Writes results/<baseline>_aggregated/ of this metric, with ranks.csv in
    it; the baseline is the first condition by name.
    """
    from ...core.folders import require_out
    from ...report import study_sentences
    from ...report.make_study import ranked_study
    from ...report.study_files import aggregate_folder
    from ...report.text import visible
    from ..text import columns, wrapped

    require_out(out)
    study = ranked_study(runs, metric, out, **values)
    ranks = study.rank()
    ranks["condition"] = ranks["condition"].map(visible)
    table = columns(ranks, dict.fromkeys(("value", "ci_low", "ci_high"), "{:.4f}".format))
    sentences = [wrapped(sentence) for sentence in study_sentences.ranking(study)]
    path = aggregate_folder(out, study.baseline) / "ranks.csv"
    for line in (*sentences, "", table, "", path):
        echo(line)
