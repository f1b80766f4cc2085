"""`evaltools plan`: what a larger study would show."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..core.files import refuse_input, write_text
from ..core.names import find_runs
from ..core.progress import bar
from ..report import plan_sentences
from ..report.make_study import study
from ..report.study import Study
from ..report.study_files import csv
from .text import columns, wrapped


def plan_command(
    runs: Sequence[str],
    *,
    metric: str,
    difference: float,
    power: float,
    seeds: Sequence[int],
    csv_file: Path | None,
    quiet: bool,
    **settings: Any,
) -> str:
    """The text that `evaltools plan` prints; `settings` are those of `study`."""
    if csv_file is not None:
        refuse_input(csv_file, [path for run in runs for path in find_runs(run)])
    pilot = study_of(runs, **settings)
    with bar(len(set(seeds)), "planning", quiet, "seeds") as step:
        plan = pilot.plan(metric, difference, power=power, seeds=seeds, done=step)
    if csv_file is not None:
        write_text(csv_file, csv(plan))
    head = wrapped(plan_sentences.plan_title(pilot, metric, difference, power))
    notes = [wrapped(note) for note in plan_sentences.plan_notes(pilot, plan)]
    return "\n".join([head, "", columns(plan, power="{:.0%}".format), "", *notes])


def study_of(runs: Sequence[str], **settings: Any) -> Study:
    """The study of the runs that texts stand for."""
    paths = [path for run in runs for path in find_runs(run)]
    return study(paths, **settings)
