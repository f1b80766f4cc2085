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
from ..stats.labels import only_measured, read_labels, read_scores
from .text import columns, wrapped


def calibrate_command(
    scores: Path,
    labels: Path,
    *,
    out: Path,
    score: str,
    next_file: Path | None,
    confidence: float,
) -> str:
    """The text that `evaltools calibrate` prints; the files are written."""
    targets = [out] if next_file is None else [out, next_file]
    if next_file is not None and next_file.resolve() == out.resolve():
        raise UsageError("{file} is named twice; give --next another file", file=out)
    for path in targets:
        refuse_input(path, [scores, labels])
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
    if next_file is not None:
        write_text(next_file, csv(calibration.next))
    lines = [
        *calibration_lines(calibration, confidence),
        *(wrapped(f"{say('note')}: {text}") for text in _left_out(scored, labelled)),
    ]
    for path in targets:
        lines.append(str(path))
    return "\n".join(lines)


def _left_out(scored: pd.DataFrame, labelled: pd.DataFrame) -> list[str]:
    """What takes no part, or not in everything: scores that were not measured, labels between 0 and 1."""
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
        is_partly = of_metric["label"].between(0, 1, inclusive="neither")
        n_partly = int(is_partly.sum())
        if n_partly:
            template = (
                "{n} labels of {metric} lie between 0 and 1 (partly): tpr, tnr and kappa, which ask "
                "for yes or no, are not given"
            )
            texts.append(say(template, metric=visible(str(metric)), n=n_partly))
    return texts


def calibration_lines(
    calibration: Calibration,
    confidence: float,
) -> list[str]:
    """The means of each metric, its agreement, what to know of it, and what to label next."""
    rows = [_row(row) for row in calibration.frame.to_dict("records")]
    table = columns(pd.DataFrame(rows))
    lead = say("Intervals of {level:.0%}, for new cases of the same kind.", level=confidence)
    lines = [wrapped(lead), "", table, ""]
    for metric, note in calibration.notes.items():
        text = say(label_message(visible(metric), note))
        lines.append(wrapped(f"{say('warning')}: {text}"))
    for metric, cases in calibration.next.groupby("metric", sort=False):
        text = visible(_to_label_next(str(metric), cases))
        lines += [wrapped(text), ""]
    return lines


def _row(row: Mapping[Any, Any]) -> dict[str, str]:
    """The texts of a metric's row, by the header of their column."""
    texts = {
        "metric": visible(row["metric"]),
        "labelled": say("{n} of {total}", n=row["n_labelled"], total=row["n"]),
    }
    for mean in ("judge", "labels", "corrected"):
        texts[mean] = _with_interval(row, f"{mean}_mean", mean)
    for rate in ("tpr", "tnr"):
        texts[rate] = _with_interval(row, rate, rate)
    texts["judge kappa"] = _number_text(row.get("judge_kappa"))
    texts["rater kappa"] = _number_text(row.get("rater_kappa"))
    return {say(head): text for head, text in texts.items()}


def _number_text(value: Any) -> str:
    """A number; "" for null."""
    return "" if pd.isna(value) else number(float(value))


def _with_interval(
    row: Mapping[Any, Any],
    field: str,
    interval: str,
) -> str:
    """A number with its interval, which stands in `<interval>_low` and `<interval>_high`."""
    text = _number_text(row.get(field))
    low = _number_text(row.get(f"{interval}_low"))
    high = _number_text(row.get(f"{interval}_high"))
    return f"{text} [{low}, {high}]" if text and low and high else text


def _to_label_next(
    metric: str,
    cases: pd.DataFrame,
) -> str:
    """The cases that are worth a label most, by stratum."""
    strata = []
    sizes = cases["stratum"].value_counts(sort=False)
    for stratum, n in sizes.items():
        strata.append(say("{n} of {stratum}", n=n, stratum=stratum))
    return say(
        "to label next, {metric} ({listed}): {ids}",
        metric=metric,
        listed=", ".join(strata),
        ids=", ".join(cases["case_id"]),
    )
