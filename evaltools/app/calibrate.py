"""`evaltools calibrate`: a judge, rules or any scores against labels that people gave."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ..core.errors import Problems, UsageError
from ..core.files import refuse_input, write_text
from ..core.language import say
from ..report.markdown import number
from ..report.sentences import label_message
from ..report.study_files import csv
from ..report.text import visible
from ..stats.calibration import Calibration, calibrate
from ..stats.labels import read_labels, read_scores
from .text import columns, wrapped


def calibrate_command(
    scores: Path, labels: Path, *, out: Path, score: str, next_file: Path | None, confidence: float
) -> str:
    """The text that `evaltools calibrate` prints; the files are written."""
    targets = [out] if next_file is None else [out, next_file]
    for path in targets:
        refuse_input(path, [scores, labels])
    if next_file is not None and next_file.resolve() == out.resolve():
        raise UsageError(f"{out} is named twice; give --next another file")
    problems = Problems()
    scored = read_scores(scores, problems, score)
    problems.raise_if_failed()
    labelled = read_labels(labels, scored, problems)
    problems.raise_if_failed()
    calibration = calibrate(scored, labelled, confidence, str(labels))
    write_text(out, csv(calibration.frame))
    if next_file is not None:
        write_text(next_file, csv(calibration.next))
    lines = calibration_lines(calibration, confidence)
    return "\n".join([*lines, *map(str, targets)])


def calibration_lines(calibration: Calibration, confidence: float) -> list[str]:
    """The means of each metric, its agreement, what to know of it, and what to label next."""
    rows = [_row(row) for row in calibration.frame.to_dict("records")]
    lead = say("Intervals of {level:.0%}, for new cases of the same kind.", level=confidence)
    lines = [wrapped(lead), "", columns(pd.DataFrame(rows)), ""]
    for metric, note in calibration.notes.items():
        text = say(label_message(visible(metric), note))
        lines.append(wrapped(f"{say('warning')}: {text}"))
    for metric, cases in calibration.next.groupby("metric", sort=False):
        lines += [wrapped(visible(_to_label_next(str(metric), cases))), ""]
    return lines


def _row(row: Mapping[Any, Any]) -> dict[str, str]:
    """The texts of a metric's row, by the header of their column."""
    texts = {
        "metric": visible(row["metric"]),
        "labelled": f"{row['n_labelled']} of {row['n']}",
    }
    for mean in ("judge", "labels", "corrected"):
        bounds = (row.get(f"{mean}_low"), row.get(f"{mean}_high"))
        texts[mean] = _shown(row.get(f"{mean}_mean"), bounds)
    for rate in ("tpr", "tnr"):
        texts[rate] = _shown(row.get(rate), (row.get(f"{rate}_low"), row.get(f"{rate}_high")))
    texts["judge kappa"] = _shown(row.get("judge_kappa"))
    texts["rater kappa"] = _shown(row.get("rater_kappa"))
    return texts


def _shown(value: Any, bounds: tuple[Any, Any] = (None, None)) -> str:
    """A number with its interval, where there is one; "" for null."""
    if pd.isna(value):
        return ""
    text = number(float(value))
    known = [number(float(bound)) for bound in bounds if bound is not None]
    return f"{text} [{', '.join(known)}]" if known else text


def _to_label_next(metric: str, cases: pd.DataFrame) -> str:
    strata = []
    for stratum, n in cases["stratum"].value_counts(sort=False).items():
        strata.append(say("{n} of {stratum}", n=n, stratum=stratum))
    return say(
        "to label next, {metric} ({listed}): {ids}",
        metric=metric,
        listed=", ".join(strata),
        ids=", ".join(cases["case_id"]),
    )
