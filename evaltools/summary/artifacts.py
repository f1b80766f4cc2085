"""summary_scores.csv and summary_scores.xlsx, as the files' contract has them.

The CSV is for programs and keeps every value as it is, so that a text that begins with = is one in it too;
the workbook is the file for a spreadsheet program, and holds no formula.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ..core.files import atomic, dumps
from ..core.results import Result
from ..report.excel import Sheet, write_workbook
from . import views
from .options import rules_in_force
from .rules import METRICS, rules_snapshot
from .verdicts import COLUMNS, verdicts

SCORES = (
    "case_id", "metric", "score", "measured", "rule_score", "llm_score", "decided_by", "threshold", "passed",
    "evidence", "tags",
)  # fmt: skip


COPIED = {
    "score": "", "measured": "_measured", "rule_score": "_rule", "llm_score": "_llm", "decided_by": "_decided_by",
    "passed": "_passed", "evidence": "_evidence",
}  # fmt: skip
"""Columns of summary_scores.csv -> what follows the metric's name in the units."""


def scores_frame(units: pd.DataFrame, thresholds: dict[str, float]) -> pd.DataFrame:
    """One row a case and metric. `passed` is empty without a threshold; `tags` and `evidence` are JSON."""
    parts = []
    for metric in METRICS:
        copied = {c: units.get(metric + suffix) for c, suffix in COPIED.items()}
        part = units[["case_id", "tags"]].assign(metric=metric, threshold=thresholds.get(metric), **copied)
        parts.append(part.astype({"threshold": float, "passed": object}))
    return pd.concat(parts).sort_index(kind="stable")[list(SCORES)].reset_index(drop=True)


def cases_frame(result: Result) -> pd.DataFrame:
    """All cases as `views.worst_first` has them, with the five scores, and the evidence of each as JSON."""
    scores = {m: result.units[m] for m in METRICS}
    evidence = {f"{m} evidence": result.data[f"{m}_evidence"] for m in METRICS}
    return views.worst_first(result.units, **scores, **evidence)


def write_artifacts(result: Result, folder: Path) -> None:
    rules = rules_in_force(result.options)
    with atomic(folder / "summary_scores.csv") as f:
        scores_frame(result.data, rules.thresholds).to_csv(f, index=False, lineterminator="\n")
    in_force = [
        (key, name, dumps(value))
        for key, section in rules_snapshot(rules).items()
        for name, value in (section.items() if isinstance(section, dict) else [("", section)])
    ]
    sheets = [
        Sheet(
            "Overview",
            verdicts(result)[list(COLUMNS)].rename(columns=COLUMNS),
            head=[("Run", result.name), ("Signature", result.signature), ("Rules", rules.identity)],
            verdicts="verdict",
        ),
        Sheet("Cases", cases_frame(result), scores=rules.thresholds),
        Sheet("Rules in force", pd.DataFrame(in_force, columns=["section", "name", "content"])),
    ]
    write_workbook(folder / "summary_scores.xlsx", sheets, notes_on="Overview")
