"""`evaltools plan`: what a larger study would show."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ..core.errors import UsageError
from ..core.files import refuse_input, write_text
from ..core.names import find_runs
from ..core.progress import bar
from ..report import plan_sentences
from ..report.decision import decision_of, write_decision
from ..report.make_study import study
from ..report.study_files import csv
from ..stats.within_units import SIZES
from .text import columns, wrapped


def plan_command(
    runs: Sequence[str],
    *,
    metric: str,
    difference: float,
    power: float,
    seeds: Sequence[int],
    trials: Sequence[int] | None,
    cluster_size: Sequence[int] | None,
    csv_file: Path | None,
    register: Path | None,
    margin: float,
    looks: int,
    quiet: bool,
    **settings: Any,
) -> str:
    """The text that `evaltools plan` prints; `settings` are those of `study`.

    With a margin the difference that the test must find is that much larger. `register`: the file of the decision.
    """
    _require_decision(register, margin, looks)
    paths = [path for run in runs for path in find_runs(run)]
    if csv_file is not None:
        refuse_input(csv_file, paths)
    pilot = study(paths, **settings)
    n_rows = len(set(seeds)) * len(set(trials or cluster_size or [1]))
    with bar(n_rows, "planning", quiet, "seeds") as step:
        plan = pilot.plan(
            metric,
            difference + margin,
            power=power,
            seeds=seeds,
            trials=trials,
            cluster_size=cluster_size,
            done=step,
        )
    registered = []
    if register is not None:
        row = plan_sentences.cheapest_row(plan)
        decision = decision_of(
            pilot,
            row,
            metric=metric,
            difference=difference,
            power=power,
            margin=margin,
            looks=looks,
        )
        write_decision(register, decision)
        registered = ["", str(register)]
    if csv_file is not None:
        write_text(csv_file, csv(plan))
    head = plan_sentences.plan_title(pilot, metric, difference, power)
    notes = plan_sentences.plan_notes(pilot, plan)
    lines = [wrapped(head), "", _table(plan), "", *map(wrapped, notes), *registered]
    return "\n".join(lines)


def _table(plan: pd.DataFrame) -> str:
    """The plan as columns, without those of sizes that were not asked for."""
    not_asked = [kind for kind in SIZES if plan[kind].isna().all()]
    return columns(plan.drop(columns=["rows_per_sample", *not_asked]), {"power": "{:.0%}".format})


def _require_decision(
    register: Path | None,
    margin: float,
    looks: int,
) -> None:
    """UsageError where what a decision says makes no sense, or its file is there already."""
    if register is None and (margin or looks != 1):
        raise UsageError("--margin and --looks belong to a decision: give --register FILE")
    if register is not None and register.exists():
        raise UsageError("{file} is there already; a decision is not replaced", file=register)
