"""`evaltools calibrate SCORES LABELS`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ...core.commands import PATH, lang_option
from ...core.terminal import echo
from ..options import confidence_option


@click.command()
@click.argument("scores", type=PATH)
@click.argument("labels", type=PATH)
@click.option(
    "-o",
    "--out",
    type=PATH,
    default=Path("calibration.csv"),
    show_default=True,
    help="The file to write.",
)
@click.option(
    "--score",
    default="score",
    show_default=True,
    metavar="NAME",
    help="Column of SCORES: rule_score for the rules.",
)
@confidence_option
@lang_option
def calibrate(
    scores: Path,
    labels: Path,
    **options: Any,
) -> None:
    """Compare SCORES of a judge or of rules with LABELS of people.

    SCORES have the columns case_id, metric, score (summary_scores.csv is such a file), LABELS case_id, metric, label,
    and maybe rater. Both are CSV or JSONL, with numbers from 0 to 1. The corrected mean is what people
    would give all cases. Fewer than 30 labels of a metric: status 3, nothing is written.
    """
    from ..calibrate import calibrate_command

    echo(calibrate_command(scores, labels, **options))
