"""The files of results/<condition>_aggregated/: a study as CSV and JSON."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from ..core.errors import UsageError
from ..core.estimates import public_frame
from ..core.files import write_text
from ..core.folders import require_replaceable, whole_folder
from ..core.language import language
from ..core.manifest import Manifest, Member
from ..core.names import safe_name
from ..core.results import write_result
from ..stats.compare import CONTRACT
from .study import Study

AGGREGATED = ["metric", "mean", "std", "n_seeds", "ci_low", "ci_high", "min", "max", "blocked"]
"""The columns of aggregated_mean_std.csv."""


def write_csv(path: Path, table: pd.DataFrame) -> None:
    """Write a table as a CSV file."""
    write_text(path, table.to_csv(index=False, lineterminator="\n"))


def comparison_table(study: Study) -> pd.DataFrame:
    """The rows of comparison.csv: every candidate against the baseline."""
    return study.frame[[*CONTRACT, "blocked"]]


def save_study(
    study: Study,
    out: Path,
    conditions: Iterable[str],
) -> list[Path]:
    """Write results/<condition>_aggregated/ for these conditions, each whole; returns them.

    UsageError, and nothing is written, where the result of a run or of another suite stands in the
    place of one.
    """
    targets = {name: out / "results" / f"{safe_name(name)}_aggregated" for name in conditions}
    for target in targets.values():
        stored = require_replaceable(target)
        if stored and (stored.kind, stored.suite) != ("aggregate", study.suite.name):
            raise UsageError(
                f"{target} holds {stored.run}, a {stored.kind} of {stored.suite}; give another --out"
            )
    for condition, target in targets.items():
        estimates = study.estimates[study.estimates["condition"] == condition]
        columns = ["condition", *AGGREGATED] if study.candidates else AGGREGATED
        tables = {"aggregated_mean_std": estimates.rename(columns={"value": "mean"})[columns]}
        if study.candidates:
            tables["comparison"] = comparison_table(study)
        # two conditions are ranked where a primary metric was declared
        is_ranked = study.tested and len(study.conditions) >= (2 if study.declared else 3)
        if condition == study.baseline and is_ranked:
            tables["ranks"] = study.rank()
        rows = public_frame(estimates).join(estimates["n_seeds"])
        with whole_folder(target) as folder:
            for name, table in tables.items():
                write_csv(folder / f"{name}.csv", table)
            write_result(
                folder, _manifest(study, condition, target), study.signature, rows, study.checks
            )
    return list(targets.values())


def _manifest(
    study: Study,
    condition: str,
    target: Path,
) -> Manifest:
    """The manifest of one condition of a study."""
    runs = list(study.conditions[condition].values())
    units = pd.concat(run.data[study.suite.unit] for run in runs)
    changed = {
        "kind": "aggregate",
        "headline": list(study.headline),
        "leading": study.primary,
        "n_units": int(units.nunique()),
        "run": f"{condition}_aggregated",
        "report": study.name,
        "condition": condition,
        "baseline": study.baseline,
        "primary": study.declared or "",
        "margin": dict(study.margin),
        "runs": [run.name for run in runs],
        "folders": [
            os.path.relpath(run.folder or target.parent / run.name, target) for run in runs
        ],
        "inputs": [entry for run in runs for entry in run.manifest.inputs],
        "members": [Member(**run.manifest.model_dump()) for run in study.results],
        "problems": [problem for run in runs for problem in run.manifest.problems],
        "answered_by": {},
        "lang": language(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    return study.results[0].manifest.model_copy(update=changed)
