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


def override_metrics(result: Run) -> dict[str, float | None]:
    """The figures of override_gate_debug_summary.json under override_* names; None where there is none to be read.

    The debate override is switched off in Conflict Review (seed cr_metrics_spec section 6).
    """
    found: dict[str, float | None] = dict.fromkeys(OVERRIDE)
    path = result.manifest.path_of("override_gate")
    if path is not None:
        with suppress(InputError):  # said when the run was scored
            found |= read_override(path, Problems("skip"))
    return found


def structural_metrics(result: Run) -> dict[str, Any]:
    """One row: the run, every metric by name, override_*, eval_semver and eval_policy_hash; None is not measured."""
    whole = {m.name for m in result.metrics if isinstance(m, Metric) and not m.denominator}
    values = {
        n: None if pd.isna(v) else v for n, v in zip(result.frame["name"], result.frame["value"])
    }
    return {
        "run": result.name,
        "protocol": result.options.protocol,
        **{n: int(v) if v is not None and n in whole else v for n, v in values.items()},
        **override_metrics(result),
        "eval_semver": result.policy["eval_semver"],
        "eval_policy_hash": result.policy["eval_policy_hash"],
    }


def artifacts(result: Run, folder: Path) -> None:
    """structural_metrics.csv (a row) and structural_metrics_table.md (every metric with its interval)."""
    from ...report.markdown import markdown_table
    from ...report.tables import plain_estimates

    row = structural_metrics(result)
    with atomic(folder / "derived" / "metrics" / "structural_metrics.csv") as f:
        csv.writer(f, lineterminator="\n").writerows([row.keys(), row.values()])
    shown = plain_estimates(result.estimates, resampling=result.resampling, blocked=result.blocked)
    table = markdown_table(shown)
    page = f"# Structural metrics of {result.name}\n\n{table}\n`{result.signature}`\n"
    write_text(folder / "derived" / "metrics" / "structural_metrics_table.md", page)
