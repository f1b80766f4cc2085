"""`evaltools calibrate SCORES LABELS`: a judge, rules or any scores against labels that people gave."""

from __future__ import annotations

from pathlib import Path

import click
import pandas as pd

from ...core.commands import PATH, lang_option
from ...core.errors import Problems
from ...core.files import refuse_input, write_text
from ...core.language import say
from ...core.terminal import echo
from ...report.numbers import number
from ...report.sentences import label_message
from ...report.study_files import csv
from ...report.text import visible
from ...stats.calibration import LEAST, TOO_FEW, require_labels
from ...stats.calibration import calibrate as calibration_of
from ...stats.labels import only_measured, read_labels, read_scores
from ..options import confidence_option
from ..text import columns, wrapped

COUNTS = ("n", "n_labelled")

NUMBERS = (
    "judge_mean",
    "labels_mean",
    "corrected_mean",
    "corrected_low",
    "corrected_high",
    "tpr",
    "tpr_low",
    "tpr_high",
    "tnr",
    "tnr_low",
    "tnr_high",
    "judge_kappa",
    "rater_kappa",
)
"""The columns of calibration.csv that the terminal shows, too."""


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
    out: Path,
    score: str,
    confidence: float,
) -> None:
    """Compare SCORES of a judge or of rules with LABELS of people.

    SCORES have the columns case_id, metric, score (summary_scores.csv is such a file), LABELS case_id, metric, label,
    and maybe rater. Both are CSV or JSONL, with numbers from 0 to 1. The corrected mean is what people
    would give all cases. Fewer than 30 labels of a metric: status 3, nothing is written. A metric whose labels are of
    cases that were not measured is left out.
    """
    refuse_input(out, [scores, labels])
    problems = Problems()
    scored = read_scores(scores, problems, score)
    problems.raise_if_failed()
    labelled = read_labels(labels, scored, problems)
    problems.raise_if_failed()
    require_labels(labelled, str(labels))
    for text in _unmeasured(scored, labelled):
        echo(wrapped(f"{say('note')}: {text}"))
    calibration = calibration_of(
        only_measured(scored, scored),
        only_measured(scored, labelled),
        confidence,
        str(labels),
    )
    write_text(out, csv(calibration.frame))
    shown = calibration.frame[["metric", *COUNTS, *NUMBERS]]
    shown = shown.assign(metric=shown["metric"].map(visible))
    echo(
        wrapped(say("Intervals of {level:.0%}, for new cases of the same kind.", level=confidence))
    )
    table = columns(shown, dict.fromkeys(NUMBERS, number))
    echo(f"\n{table}\n")
    for metric, note in calibration.notes.items():
        text = say(label_message(visible(metric), note))
        echo(wrapped(f"{say('warning')}: {text}"))
    for metric, n in calibration.left_out.items():
        text = say(TOO_FEW, n=n, least=LEAST)
        left_out = say("{metric} is left out: {reason}", metric=visible(metric), reason=text)
        echo(wrapped(f"{say('warning')}: {left_out}"))
    echo(out)


def _unmeasured(
    scored: pd.DataFrame,
    labelled: pd.DataFrame,
) -> list[str]:
    """How many scores of each metric were not measured."""
    texts = []
    for metric, of_metric in labelled.groupby("metric", sort=False):
        scores = scored[scored["metric"] == metric]
        unmeasured = scores.loc[~scores["measured"], "case_id"]
        if len(unmeasured):
            template = (
                "{n} of {of} cases of {metric} were not measured: they take no part, and neither do "
                "{labels} labels of them"
            )
            n_labels = int(of_metric["case_id"].isin(unmeasured).sum())
            values = {"n": len(unmeasured), "of": len(scores), "labels": n_labels}
            texts.append(say(template, metric=visible(str(metric)), **values))
    return texts
