"""The files of Conflict Review under results/<run>/derived/."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...core.files import write_csv, write_text
from ...core.metric import Metric

if TYPE_CHECKING:
    from ...report.run import Run


def structural_metrics(run: Run) -> dict[str, Any]:
    """One row: the run, every metric by name, blocked, eval_semver, eval_policy_hash; None is not measured.

    `blocked` lists the metrics that mean nothing here, divided by semicolons (D47). Counts are whole numbers.
    """
    values: dict[str, Any] = run.to_dict()
    for metric in run.metrics:
        is_count = isinstance(metric, Metric) and not metric.denominator
        if is_count and values[metric.name] is not None:
            values[metric.name] = int(values[metric.name])
    return {
        "run": run.name,
        "protocol": run.options.protocol,
        **values,
        "blocked": ";".join(name for name in values if name in run.blocked) or None,
        "eval_semver": run.policy["eval_semver"],
        "eval_policy_hash": run.policy["eval_policy_hash"],
    }


def artifacts(run: Run, folder: Path) -> None:
    """structural_metrics.csv (a row) and structural_metrics_table.md (every metric with its interval)."""
    from ...report.tables import text_table
    from ...report.text import markdown, markdown_table

    metrics_folder = folder / "derived" / "metrics"
    write_csv(metrics_folder / "structural_metrics.csv", pd.DataFrame([structural_metrics(run)]))
    head = f"# Structural metrics of {markdown(run.name)}"
    page = f"{head}\n\n{markdown_table(text_table(run.estimates))}\n`{run.signature}`\n"
    write_text(metrics_folder / "structural_metrics_table.md", page)
