"""The summary suite; its metrics stand in metrics.toml.

Source: seed insurance_summary_prd 5 and 6; specification section 3.
"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from ...core.errors import Problems
from ...core.files import toml_beside
from ...core.metric import MetricTable, make_metric
from ...core.records import File
from ...core.suite import Scored, Source, Suite
from ...core.workers import Workers
from .artifacts import write_artifacts
from .cards import sample_view
from .options import SummaryOptions, rules_in_force
from .read import read_cases
from .rules import JUDGED, METRICS
from .states import checks, finding, verdicts
from .units import finish, score_cases

JSON_COLUMNS = [
    "contexts",
    "tags",
    "unknown_tags",
    "unread_figures",
    *[f"{metric}_evidence" for metric in METRICS],
]
"""Columns of the units that hold JSON text in files."""


def metrics(options: SummaryOptions) -> MetricTable:
    """The metrics under the rules in force, as metrics.toml has them in the order of reports."""
    thresholds = rules_in_force(options).thresholds
    table = []
    for row in toml_beside(__file__, "metrics.toml")["metric"]:
        if options.judge != "off" and "bounds" in row:
            row["proportion"] = False
        threshold = thresholds.get(row["name"].removesuffix("_pass_rate"), 0)
        table.append(make_metric(row, threshold=f"{threshold:g}"))
    return tuple(table)


def headline(
    options: SummaryOptions,
    blocked: frozenset[str],
) -> tuple[str, ...]:
    """What leads a report, over the measured cases (D23, D24).

    The recall is described, and stands outside (D36).
    """
    first, *others = (f"{metric}_measured" for metric in JUDGED)
    return (first, "any_unsupported", *others)


def locate(
    path: Path,
    name: str | None,
    options: SummaryOptions,
    problems: Problems,
) -> Source:
    """A file of cases; the run is named after it.

    A rule file of the user's is an input too.
    """
    File(path, problems)
    files = {"cases": path}
    rules = Path(options.rules)
    if rules.is_file():
        files["rules"] = rules
    return Source(name or path.stem, files, options)


def score(
    source: Source,
    options: SummaryOptions,
    problems: Problems,
    workers: Workers,
    aside: Path | None,
) -> Scored:
    """The units frame of a file of cases: a row a case, in their order, for any `workers`.

    InputError for a file that cannot be used, or rules that changed since the options were made.
    """
    file = File(source.files["cases"], problems)
    cases = list(read_cases(file))
    if not cases:
        return Scored(pd.DataFrame())
    units = score_cases(cases, options, file.warn, workers)
    answered_by: dict[str, int] = {}
    if options.judge == "hybrid":
        from .judge import judge_units

        problems.raise_if_failed()  # no call is paid for input that fails
        if options.judge_cache is None and aside is not None:
            cache = aside.parents[1] / "judge-cache"  # beside the results, which they outlive
            options = options.model_copy(update={"judge_cache": str(cache)})
        units, answered_by = judge_units(units, options, problems, not workers.label)
    return Scored(finish(units, rules_in_force(options)), {"answered_by": answered_by})


SUITE = Suite(
    name="summary",
    title="Insurance summaries",
    unit="case_id",
    options=SummaryOptions,
    locate=locate,
    score=score,
    metrics=metrics,
    headline=headline,
    checks=checks,
    verdicts=verdicts,
    artifacts=write_artifacts,
    notebook="summary.ipynb",
    sample_view=sample_view,
    finding=finding,
    decode=dict.fromkeys(JSON_COLUMNS, json.loads),
)
