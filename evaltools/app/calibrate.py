"""`evaltools calibrate`: a judge, rules or any scores against labels that people gave."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ..core.errors import Problems, UsageError
from ..core.files import refuse_input, write_text
from ..core.language import say
from ..report.sentences import label_message
from ..report.study_files import csv
from ..report.text import visible
from ..stats.calibration import Calibration, calibrate
from ..stats.labels import read_labels, read_scores
from .compare import wrapped
from .plan import columns

MEANS = ("judge", "labels", "corrected")


def calibrate_command(
    scores: Path, labels: Path, *, out: Path, score: str, next_file: Path | None, confidence: float
) -> str:
    """The text that `evaltools calibrate` prints; the files are written."""
    targets = [path for path in (out, next_file) if path is not None]
    for path in targets:
        refuse_input(path, [scores, labels])
    if len({path.resolve() for path in targets}) < len(targets):
        raise UsageError(f"{out} is named twice; give --next another file")
    problems = Problems()
    scored = read_scores(scores, problems, score)
    problems.raise_if_failed()
    given = read_labels(labels, scored, problems)
    problems.raise_if_failed()
    found = calibrate(scored, given, confidence, str(labels))
    write_text(out, csv(found.frame))
    if next_file is not None:
        write_text(next_file, csv(found.next))
    return "\n".join([*said(found, confidence), *map(str, targets)])


def said(found: Calibration, confidence: float) -> list[str]:
    """The means of each metric, its agreement, what to know of it, and what to label next."""
    rows = []
    for r in found.frame.to_dict("records"):
        means = {m: _shown(r, f"{m}_mean", f"{m}_low", f"{m}_high") for m in MEANS}
        rates = {rate: _shown(r, rate, f"{rate}_low", f"{rate}_high") for rate in ("tpr", "tnr")}
        kappas = {k.replace("_", " "): _shown(r, k) for k in ("judge_kappa", "rater_kappa")}
        rows.append(
            {"metric": visible(r["metric"]), "labelled": f"{r['n_labelled']} of {r['n']}"}
            | means
            | rates
        )
        rows[-1] |= kappas
    lead = say("Intervals of {level:.0%}, for new cases of the same kind.", level=confidence)
    lines = [wrapped(lead), "", columns(pd.DataFrame(rows)), ""]
    lines += [
        wrapped(f"{say('warning')}: {say(label_message(visible(m), note))}")
        for m, note in found.notes.items()
    ]
    for m, cases in found.next.groupby("metric", sort=False):
        by = cases["stratum"].value_counts(sort=False)
        listed = ", ".join(say("{n} of {stratum}", n=n, stratum=s) for s, n in by.items())
        ids = ", ".join(cases["case_id"])
        proposed = say(
            "to label next, {metric} ({listed}): {ids}", metric=m, listed=listed, ids=ids
        )
        lines += [wrapped(visible(proposed)), ""]
    return lines


def _shown(row: dict[str, float], value: str, *bounds: str) -> str:
    if pd.isna(row.get(value)):
        return ""
    low_high = [f"{row[b]:.3f}" for b in bounds if b in row]
    return f"{row[value]:.3f}" + (f" [{', '.join(low_high)}]" if low_high else "")
