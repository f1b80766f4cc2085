"""Where the numbers of a run come from, and what was wrong with its input."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from markupsafe import Markup

from ..core.check import Check
from ..core.check_kinds import BUNDLED_EXAMPLE
from ..core.files import EXAMPLES, dumps
from ..core.language import say
from .tables import HtmlTable, problems_text, table
from .templates import macros

if TYPE_CHECKING:
    from .run import Run


def provenance(run: Run) -> HtmlTable:
    """Inputs with their hashes, policy, intervals, signature; times stand in the manifest only."""
    rows = []
    for entry in run.manifest.inputs:
        file = entry.path.rsplit("/", 1)[-1]
        size = say("{n:,} bytes", n=entry.bytes)
        text = f"{file} · {size} · sha256 {entry.sha256}"
        rows.append((say("input: {what}", what=entry.role), text))
    for key, value in run.policy.items():
        text = value
        if not isinstance(value, str):
            text = dumps(value)
        rows.append((say("policy: {what}", what=key), text))
    intervals = say(
        "{method}, {n:,} resamples, {level}, seed {seed}",
        method=run.resampling.method,
        n=run.resampling.n_resamples,
        level=run.resampling.percent,
        seed=run.resampling.seed,
    )
    rows.append((say("intervals"), intervals))
    rows.append((say("signature"), run.signature))
    frame = pd.DataFrame(rows, columns=["what", "value"])
    shown = table(frame)
    name = say(
        "{what} ({n:,} rows)",
        what=say("Provenance"),
        n=len(rows),
    )
    html = macros().fold(name, Markup(shown.html), False)
    return HtmlTable(str(html), shown.text)


def bundled(runs: Sequence[Run]) -> list[Check]:
    """That numbers are of the bundled example, which nobody may take for their own."""
    is_of_example = []
    for run in runs:
        for entry in run.manifest.inputs:
            path = Path(entry.path)
            is_of_example.append(path.is_relative_to(EXAMPLES))
    if not is_of_example or not all(is_of_example):
        return []
    return [BUNDLED_EXAMPLE.failed("info", "these are the numbers of a bundled example")]


def problems_of(run: Run) -> str:
    """What was wrong with the input of a run, in a line; "" where nothing was.

    What a check of the run says in words, under the same code, is left to it.
    """
    told = {check.code for check in run.checks}
    problems = []
    for problem in run.manifest.problems:
        if problem.code not in told:
            problems.append(problem.model_dump())
    text = problems_text(problems)
    if run.manifest.incomplete:
        return say("this run is not complete: {problems}", problems=text)
    return text
