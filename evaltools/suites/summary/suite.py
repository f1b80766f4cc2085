"""The summary suite; its metrics stand in metric_table.py.

Source: seed insurance_summary_prd 5 and 6; specification section 3.
"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from ...core.errors import Problems
from ...core.metric import MetricTable
from ...core.records import require_file
from ...core.suite import Breakdown, Source, Suite, Workers
from . import people
from .artifacts import write_artifacts
from .checks import checks
from .metric_table import ZERO_ONE, metric_table
from .options import SummaryOptions, rules_in_force
from .read import looks_like_cases, read_cases
from .rules import METRICS
from .units import finish, score_cases
from .verdicts import verdicts


def metrics(options: SummaryOptions) -> MetricTable:
    thresholds = tuple(rules_in_force(options).thresholds.items())
    return metric_table(thresholds, options.judge != "off", options.labelled)


def headline(options: SummaryOptions, blocked: frozenset[str]) -> tuple[str, ...]:
    """Over the measured cases (D23, D24): means of shares, the share that passes for 0/1 scores, then the recall.

    Means that are corrected by labels of people stand before them all.
    """
    led = (f"{name}_corrected" for name in options.labelled)
    means = ("summary_accuracy_measured", "any_unsupported", "summary_risk_coverage_measured")
    return (
        *led,
        *means,
        *(f"{name}_pass_rate_measured" for name in ZERO_ONE),
        "entity_recall_measured",
    )


def locate(path: Path, name: str | None, options: SummaryOptions, problems: Problems) -> Source:
    """A file of cases; the run is named after it. A rule file of the user's and labels are inputs too."""
    files, rules = {"cases": path}, Path(options.rules)
    files |= {"rules": rules} if rules.is_file() else {}
    files |= {"labels": Path(options.labels)} if options.labels else {}
    for role in files.keys() - {"rules"}:
        require_file(files[role], problems)
    labelled = people.labelled(files["labels"]) if options.labels else ()
    return Source(name or path.stem, files, options.model_copy(update={"labelled": labelled}))


def score(
    source: Source,
    options: SummaryOptions,
    problems: Problems,
    workers: Workers,
    aside: Path | None,
) -> pd.DataFrame:
    """The units frame of a file of cases: a row a case, in the file's order; the same for any `workers`.

    Raises InputError for a file that cannot be used or rules that changed since the options were made.
    """
    rules, path = rules_in_force(options), source.files["cases"]
    cases = list(read_cases(path, problems))
    units = score_cases(cases, rules, problems, workers, str(path))
    if options.judge == "hybrid":
        from .judge import judge_units

        problems.raise_if_failed()  # no call is paid for input that fails
        if options.judge_cache is None and aside is not None:
            cache = aside.parents[1] / "judge-cache"  # beside the results, which they outlive
            options = options.model_copy(update={"judge_cache": str(cache)})
        units = judge_units(units, options, problems, quiet=not workers.label)
    units = finish(units, rules)
    if "labels" in source.files:
        units = people.with_labels(units, source.files["labels"], options, problems)
    units.attrs["rows"] = {"cases": len(cases)}
    return units


SUITE = Suite(
    name="summary",
    title="Insurance summaries",
    unit="case_id",
    input="CASES",
    options=SummaryOptions,
    locate=locate,
    sniff=looks_like_cases,
    score=score,
    metrics=metrics,
    headline=headline,
    intervals=people.intervals,
    checks=checks,
    verdicts=verdicts,
    artifacts=write_artifacts,
    notebook="summary.ipynb",
    views="evaltools.suites.summary.views",
    given=("contexts",),
    wrote=("answer",),
    decode=dict.fromkeys(
        ("contexts", "tags", "unknown_tags", "unread_figures", *(f"{m}_evidence" for m in METRICS)),
        json.loads,
    ),
    breakdowns=tuple(
        Breakdown(title, title.lower(), tuple(f"{m}_measured" for m in METRICS))
        for title in ("Product", "Channel", "Intent")
    ),
    commands="evaltools.suites.summary.commands",
)
