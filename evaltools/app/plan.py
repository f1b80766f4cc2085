"""`evaltools plan`: what a larger study would show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ..core.files import refuse_input, write_text
from ..core.names import find_runs
from ..core.progress import bar
from ..report import plan_sentences
from ..report.make_study import study
from ..report.study import Study
from ..report.study_files import csv
from .compare import wrapped


def plan_command(
    runs: Sequence[str],
    *,
    metric: str,
    difference: float,
    power: float,
    seeds: Sequence[int],
    csv_file: Path | None,
    quiet: bool,
    **how: Any,
) -> str:
    """The text that `evaltools plan` prints."""
    if csv_file is not None:
        refuse_input(csv_file, [path for run in runs for path in find_runs(run)])
    made = pilot_study(runs, **how)
    with bar(len(set(seeds)), "planning", quiet, "seeds") as done:
        found = made.plan(metric, difference, power=power, seeds=seeds, done=done)
    if csv_file is not None:
        write_text(csv_file, csv(found))
    head = wrapped(plan_sentences.plan_title(made, metric, difference, power))
    notes = map(wrapped, plan_sentences.plan_notes(made, found))
    return "\n".join([head, "", columns(found, power="{:.0%}".format), "", *notes])


def columns(frame: pd.DataFrame, **formats: Callable[[Any], str]) -> str:
    """A frame as columns of text; nulls are empty."""
    shown = {c: [formats.get(c, str)(x) if pd.notna(x) else "" for x in frame[c]] for c in frame}
    return pd.DataFrame(shown).to_string(index=False)


def pilot_study(runs: Sequence[str], **how: Any) -> Study:
    return study([path for run in runs for path in find_runs(run)], **how)
