"""`evaltools calibrate SCORES [LABELS]`: a judge, rules or any scores against labels that people gave."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
import pandas as pd

from ...core.commands import PATH
from ...core.errors import InputError, Problem, Problems
from ...core.files import refuse_input, write_text
from ...core.terminal import echo, paragraph, table
from ...report.markdown import number
from ...report.study_files import csv
from ...report.text import visible
from ..options import confidence_option

# how the terminal names a column of calibration.csv; those with an interval have it behind them
SHOWN = {
    "mean score": "judge_mean",
    "mean label": "labels_mean",
    "corrected mean": "corrected_mean",
    "TPR": "tpr",
    "TNR": "tnr",
    "kappa": "judge_kappa",
    "kappa of raters": "rater_kappa",
}


def _scale(
    ctx: click.Context,
    param: click.Parameter,
    text: str,
) -> tuple[float, float]:
    """(low, high) of "1-5"."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)", text)
    if match is None or float(match[1]) >= float(match[2]):
        raise click.BadParameter(f"expected LOW-HIGH, such as 1-5, got {text!r}")
    return float(match[1]), float(match[2])


@click.command()
@click.argument("scores", type=PATH)
@click.argument("labels", type=PATH, required=False)
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
@click.option(
    "--scale",
    default="0-1",
    show_default=True,
    metavar="LOW-HIGH",
    callback=_scale,
    help="The worst and the best label, such as 1-5.",
)
@confidence_option
def calibrate(
    scores: Path,
    labels: Path | None,
    out: Path,
    score: str,
    scale: tuple[float, float],
    confidence: float,
) -> None:
    """Compare SCORES of a judge or of rules with LABELS of people.

    SCORES have the columns case_id, metric, score (summary_scores.csv is such a file), LABELS case_id, metric, label,
    and maybe rater; both are CSV or JSONL. A workbook summary_scores.xlsx with labels written into it is both at once.
    A label is a number from 0 to 1, yes or no, pass or fail, 합격 or 불합격, 예 or 아니요. The corrected mean is what
    people would give all cases; below 30 labels of a metric there is none.
    """
    from ...stats.calibration import calibrate as calibration_of
    from ...stats.labels import only_measured, read_labels, read_scores

    refuse_input(out, [path for path in (scores, labels) if path])
    problems = Problems()
    scored = read_scores(scores, problems, score)
    problems.raise_if_failed()
    labelled = read_labels(labels or scores, scored, problems, scale)
    problems.raise_if_failed()
    if labelled.empty:
        file = str(labels or scores)
        raise InputError([Problem("error", "no-labels", "no label in this file", file=file)])
    result = calibration_of(
        only_measured(scored, scored), only_measured(scored, labelled), confidence
    )
    write_text(out, csv(result.frame))
    for row in result.frame.to_dict("records"):
        name = visible(str(row["metric"]))
        table([name, f"{row['n_labelled']} labels of {row['n']} cases"], _lines(row))
    paragraph(f"\nIntervals of {confidence:.0%}, for new cases of the same kind.")
    for note in (*_unmeasured(scored, labelled), *result.notes):
        paragraph(f"note: {visible(note)}")
    echo(out)


def _lines(row: dict[Any, Any]) -> list[list[str]]:
    """A row of calibration.csv as the terminal shows it: (name, value with its interval); nulls left out."""
    lines = []
    for name, column in SHOWN.items():
        if pd.isna(row[column]):
            continue
        text = number(row[column])
        low, high = (row.get(f"{column.removesuffix('_mean')}_{end}") for end in ("low", "high"))
        if pd.notna(low):
            text += f" [{number(low)}, {number(high)}]"
        lines.append([f"  {name}", text])
    return lines


def _unmeasured(scored: pd.DataFrame, labelled: pd.DataFrame) -> list[str]:
    """How many labels of each metric are of cases that were not measured."""
    notes = []
    for metric, of_metric in labelled.groupby("metric", sort=False):
        measured = scored[(scored["metric"] == metric) & scored["measured"]]
        n_left = int((~of_metric["case_id"].isin(measured["case_id"])).sum())
        if n_left:
            notes.append(
                f"{metric}: {n_left} of {len(of_metric)} labels are of cases that were not measured, and take no part"
            )
    return notes
