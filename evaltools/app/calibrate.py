"""`evaltools calibrate`: a judge, rules or any scores against labels that people gave."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ..core.errors import Problems
from ..core.files import refuse_input, write_text
from ..core.language import say
from ..report.markdown import number
from ..report.sentences import label_message
from ..report.study_files import csv
from ..report.text import visible
from ..stats.calibration import Calibration, calibrate
from ..stats.labels import only_measured, read_labels, read_scores
from .text import columns, wrapped

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


def calibrate_command(
    scores: Path,
    labels: Path,
    *,
    out: Path,
    score: str,
    confidence: float,
) -> str:
    """The text that `evaltools calibrate` prints; the files are written."""
    refuse_input(out, [scores, labels])
    problems = Problems()
    scored = read_scores(scores, problems, score)
    problems.raise_if_failed()
    labelled = read_labels(labels, scored, problems)
    problems.raise_if_failed()
    calibration = calibrate(
        only_measured(scored, scored),
        only_measured(scored, labelled),
        confidence,
        str(labels),
    )
    write_text(out, csv(calibration.frame))
    lines = [
        *calibration_lines(calibration, confidence),
        *(wrapped(f"{say('note')}: {text}") for text in _unmeasured(scored, labelled)),
        str(out),
    ]
    return "\n".join(lines)


def _unmeasured(scored: pd.DataFrame, labelled: pd.DataFrame) -> list[str]:
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


def calibration_lines(
    calibration: Calibration,
    confidence: float,
) -> list[str]:
    """The means of each metric, its agreement, and what to know of it."""
    shown = calibration.frame[["metric", *COUNTS, *NUMBERS]]
    shown = shown.assign(metric=shown["metric"].map(visible))
    table = columns(shown, dict.fromkeys(NUMBERS, number))
    lead = say("Intervals of {level:.0%}, for new cases of the same kind.", level=confidence)
    lines = [wrapped(lead), "", table, ""]
    for metric, note in calibration.notes.items():
        text = say(label_message(visible(metric), note))
        lines.append(wrapped(f"{say('warning')}: {text}"))
    return lines
