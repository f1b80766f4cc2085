"""`evaltools compare A B`: the comparison as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from ..core.errors import OnError
from ..core.files import write_text
from ..core.resampling import Resampling
from ..core.suite import Suite
from ..report.study import StudyView
from ..report.study import compare as compare_runs
from ..stats.compare import power_statement
from ..studies.files import comparison_csv
from .workers import Workers


def compare_command(
    baseline: str,
    candidate: str,
    *,
    suite: Suite | None,
    everything: bool,
    csv_file: Path | None,
    jobs: int,
    on_error: OnError,
    n_resamples: int,
    confidence: float,
    ci: Any,
    seed: int,
    **options: Any,
) -> str:
    """The text that `evaltools compare A B` prints."""
    study = compare_runs(
        baseline,
        candidate,
        suite=suite,
        resampling=Resampling(ci, n_resamples, confidence, seed),
        workers=Workers(jobs),
        on_error=on_error,
        **options,
    )
    if csv_file is not None:
        write_text(csv_file, comparison_csv(study))
    return comparison_text(study, everything=everything)


def comparison_text(study: StudyView, *, everything: bool) -> str:
    """The comparison of a study with one candidate, a line a metric."""

    def number(x: float, digits: int = 4) -> str:
        return "N/A" if pd.isna(x) else f"{x:.{digits}f}"

    (b, found) = next(iter(study.comparisons.items()))
    rows = found.table if everything else found.table[found.table["headline"]]
    lines = [f"A (baseline)  {study.baseline}", f"B (candidate) {b}", ""]
    lines.append(f"{'metric':<32} {'A':>8} {'B':>8} {'B - A':>9} {'interval':>20} {'p':>7} {'p adj.':>7}  verdict")
    for r in rows.to_dict("records"):
        interval = "" if pd.isna(r["ci_low"]) else f"[{r['ci_low']:+.3f}, {r['ci_high']:+.3f}]"
        delta = "N/A" if pd.isna(r["delta"]) else f"{r['delta']:+.4f}"
        lines.append(
            f"{r['metric']:<32} {number(r['value_baseline']):>8} {number(r['value_candidate']):>8} {delta:>9} "
            f"{interval:>20} {number(r['p_value']):>7} {number(r['p_adjusted']):>7}  {r['verdict']}"
        )
    claims = sorted({c for c in rows["claim"] if c})
    lines += ["", *(f"intervals: {c}" for c in claims)]
    lines += [f"tied: {power_statement(r)}" for _, r in rows[rows["verdict"] == "tied"].iterrows()]
    lines += [f"note: {n}" for n in study.notes]
    return "\n".join([*lines, study.signature])
