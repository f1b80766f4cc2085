"""summary_scores.csv and summary_scores.xlsx, as the files' contract has them.

The CSV is for programs and keeps every value as it is, so that a text that begins with = is one in it too;
the workbook is the file for a spreadsheet program, and holds no formula.
"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from ..core.jsonl import atomic
from ..core.suite import Result
from ..report.excel import Sheet, write_workbook
from . import views
from .options import rules_in_force
from .rules import METRICS, rules_snapshot

COLUMNS = (
    "case_id", "metric", "score", "measured", "rule_score", "llm_score", "decided_by", "threshold", "passed",
    "evidence", "tags",
)  # fmt: skip


def scores_frame(units: pd.DataFrame, thresholds: dict[str, float]) -> pd.DataFrame:
    """One row a case and metric. `passed` is empty without a threshold; `tags` and `evidence` are JSON."""
    parts = []
    for metric in METRICS:
        part = pd.DataFrame(
            {
                "case_id": units["case_id"],
                "metric": metric,
                "score": units[metric],
                "measured": units[f"{metric}_measured"],
                "rule_score": units[f"{metric}_rule"],
                "llm_score": units[f"{metric}_llm"],
                "decided_by": units[f"{metric}_decided_by"],
                "threshold": thresholds.get(metric),
                "passed": units[f"{metric}_passed"].astype(object) if metric in thresholds else None,
                "evidence": units[f"{metric}_evidence"],
                "tags": units["tags"],
            }
        )
        parts.append(part.astype({"threshold": float, "passed": object}))
    out = pd.concat(parts, keys=range(len(parts)), names=["order", "row"])
    return out.sort_index(level=["row", "order"], kind="stable")[list(COLUMNS)].reset_index(drop=True)


def write_artifacts(result: Result, folder: Path) -> None:
    rules = rules_in_force(result.options)
    with atomic(folder / "summary_scores.csv") as f:
        scores_frame(result.units, rules.thresholds).to_csv(f, index=False, lineterminator="\n")
    shown = [*METRICS]
    cases = views.cases_table(result)
    in_force = pd.DataFrame(
        [
            (key, name, json.dumps(value, ensure_ascii=False))
            for key, section in rules_snapshot(rules).items()
            for name, value in (section.items() if isinstance(section, dict) else [("", section)])
        ],
        columns=["section", "name", "content"],
    )
    sheets = [
        Sheet(
            "Overview",
            views.overview(result),
            head=[("Run", result.name), ("Signature", result.signature), ("Rules", rules.identity)],
            verdicts="verdict",
        ),
        Sheet("Cases", cases, scores={m: rules.thresholds[m] for m in shown if m in rules.thresholds}, freeze=(1, 1)),
        Sheet("Rules in force", in_force),
    ]
    write_workbook(folder / "summary_scores.xlsx", sheets, notes_on="Overview")
