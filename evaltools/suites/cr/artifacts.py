"""The files of Conflict Review under results/<run>/derived/."""

from __future__ import annotations

import csv
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...core.errors import InputError, Problems
from ...core.files import atomic, write_text
from ...core.metric import Metric
from .read import read_override

if TYPE_CHECKING:
    from ...report.run import Run

OVERRIDE = ("override_candidate_n", "override_applied_n", "override_applied_rate")


def override_metrics(run: Run) -> dict[str, float | None]:
    """The figures of override_gate_debug_summary.json under override_* names; None where there is none to be read.

    The debate override is switched off in Conflict Review (seed cr_metrics_spec 6).
    """
    numbers: dict[str, float | None] = dict.fromkeys(OVERRIDE)
    path = run.manifest.path_of("override_gate")
    if path is not None:
        with suppress(InputError):  # reported when the run was scored
            numbers |= read_override(path, Problems("skip"))
    return numbers


def structural_metrics(run: Run) -> dict[str, Any]:
    """One row: the run, every metric by name, override_*, eval_semver and eval_policy_hash; None is not measured.

    Counts are whole numbers.
    """
    counts = set()
    for metric in run.metrics:
        if isinstance(metric, Metric) and not metric.denominator:
            counts.add(metric.name)
    row: dict[str, Any] = {"run": run.name, "protocol": run.options.protocol}
    for name, value in zip(run.frame["name"], run.frame["value"]):
        if pd.isna(value):
            row[name] = None
        else:
            row[name] = int(value) if name in counts else value
    row |= override_metrics(run)
    row["eval_semver"] = run.policy["eval_semver"]
    row["eval_policy_hash"] = run.policy["eval_policy_hash"]
    return row


def artifacts(run: Run, folder: Path) -> None:
    """structural_metrics.csv (a row) and structural_metrics_table.md (every metric with its interval)."""
    from ...report.estimate_tables import plain_estimates
    from ...report.markdown import markdown_table

    metrics_folder = folder / "derived" / "metrics"
    row = structural_metrics(run)
    with atomic(metrics_folder / "structural_metrics.csv") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(row.keys())
        writer.writerow(row.values())
    shown = plain_estimates(run.estimates, resampling=run.resampling, blocked=run.blocked)
    table = markdown_table(shown)
    page = f"# Structural metrics of {run.name}\n\n{table}\n`{run.signature}`\n"
    write_text(metrics_folder / "structural_metrics_table.md", page)
