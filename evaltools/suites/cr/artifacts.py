"""The files of Conflict Review under results/<run>/derived/."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...core.files import atomic, write_text
from ...core.metric import Metric

if TYPE_CHECKING:
    from ...report.run import Run


def structural_metrics(run: Run) -> dict[str, Any]:
    """One row: the run, every metric by name, blocked, eval_semver, eval_policy_hash; None is not measured.

    `blocked` lists the metrics that mean nothing here, divided by semicolons (D47).
    Counts are whole numbers.
    """
    counts = set()
    for metric in run.metrics:
        if isinstance(metric, Metric) and not metric.denominator:
            counts.add(metric.name)
    row: dict[str, Any] = {
        "run": run.name,
        "protocol": run.options.protocol,
    }
    for name, value in run.to_dict().items():
        row[name] = value
        if name in counts and value is not None:
            row[name] = int(value)
    row["blocked"] = ";".join(name for name in row if name in run.blocked) or None
    row["eval_semver"] = run.policy["eval_semver"]
    row["eval_policy_hash"] = run.policy["eval_policy_hash"]
    return row


def structural_table(run: Run, row: dict[str, Any]) -> pd.DataFrame:
    """All of structural_metrics.csv, a row each: id, then as people read it: metric, value, interval, n, method."""
    from ...report.tables import plain_estimates

    shown = plain_estimates(run.estimates, run.blocked)
    metrics = run.estimates["metric"].tolist()
    shown.insert(0, "id", metrics)
    others = []
    for name, value in row.items():
        if name in metrics:
            continue
        text = "N/A" if value is None else str(value)
        others.append({"id": name, "value": text})
    table = pd.concat([shown, pd.DataFrame(others)], ignore_index=True)
    return table.fillna("")


def artifacts(run: Run, folder: Path) -> None:
    """structural_metrics.csv (a row) and structural_metrics_table.md (every metric with its interval)."""
    from ...report.text import markdown, markdown_table

    metrics_folder = folder / "derived" / "metrics"
    row = structural_metrics(run)
    with atomic(metrics_folder / "structural_metrics.csv") as file:
        frame = pd.DataFrame([row])
        frame.to_csv(file, index=False, lineterminator="\n")
    head = f"# Structural metrics of {markdown(run.name)}"
    table = markdown_table(structural_table(run, row))
    page = f"{head}\n\n{table}\n`{run.signature}`\n"
    write_text(metrics_folder / "structural_metrics_table.md", page)
