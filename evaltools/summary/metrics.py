"""The metric table of the summary suite, and the suite.

Every score is given twice: as a mean over all cases, with the source document's numbers where nothing could
be measured, and as a mean over the cases in which it was (specification D14).
Source: seed insurance_summary_prd 5 and 6; specification section 3.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ..app.workers import Workers
from ..core.errors import Problems
from ..core.jsonl import require_file
from ..core.metric import Metric, MetricTable
from ..core.suite import Breakdown, Source, Suite
from .artifacts import write_artifacts
from .hybrid import judge_units
from .options import SummaryOptions, rules_in_force
from .rules import METRICS
from .schema import read_cases
from .score import finish, score_cases

TITLES = {
    "summary_accuracy": ("Figures and conditions supported by the contexts", "seed 5.1, D14, D16"),
    "summary_risk_coverage": ("Expected risk items that the summary names", "seed 5.2, D14"),
    "summary_non_definitive": ("No definitive promise", "seed 5.3"),
    "summary_needs_followup": ("Follow-up named where it is due, and only there", "seed 5.4"),
    "entity_recall": ("Figures and conditions of the contexts that the summary keeps", "D16"),
}
ZERO_ONE = ("summary_non_definitive", "summary_needs_followup")
"""Metrics whose rule score is 0 or 1: what matters of them is the failing cases, not the mean."""


def metric_table(thresholds: dict[str, float], judged: bool) -> MetricTable:
    """Per metric: mean over all cases and over measured ones, share of cases that pass, cases not measured.

    A metric without a threshold has no pass rate. `judged`: a judge's score may lie between 0 and 1, so that a
    mean of 0/1 scores is no proportion any more.
    """
    table: list[Metric] = []
    for name in METRICS:
        title, source = TITLES[name]
        zero_one = name in ZERO_ONE and not judged
        table += [
            Metric(name, name, "cases", "score", "higher", title, source, proportion=zero_one),
            Metric(
                f"{name}_measured",
                f"{name}_if_measured",
                f"{name}_measured",
                "measured",
                "higher",
                f"{title}: measured cases",
                source,
                proportion=zero_one,
            ),
        ]
        if name in thresholds:
            passed = f"cases at or above {thresholds[name]:g}"
            table += [
                Metric(
                    f"{name}_pass_rate",
                    f"{name}_passed",
                    "cases",
                    "pass",
                    "higher",
                    f"{title}: {passed}",
                    "seed 6",
                    True,
                ),
                Metric(
                    f"{name}_pass_rate_measured",
                    f"{name}_measured_passed",
                    f"{name}_measured",
                    "pass",
                    "higher",
                    f"{title}: measured {passed}",
                    "seed 6, D14",
                    True,
                ),
            ]
        table.append(
            Metric(
                f"{name}_not_measured_n", f"{name}_not_measured", "", "count", "none", f"{title}: not measured", "D14"
            )
        )
    for name, title in (
        ("summary_accuracy", "Entities supported, of all entities of all summaries"),
        ("summary_risk_coverage", "Expected tags covered, of all expected tags"),
        ("entity_recall", "Context entities kept, of all context entities"),
    ):
        table.append(Metric(f"{name}_micro", f"{name}_num", f"{name}_den", "micro", "higher", title, TITLES[name][1]))
    return tuple(table)


def metrics(options: SummaryOptions) -> MetricTable:
    return metric_table(rules_in_force(options).thresholds, options.judge != "off")


def headline(options: SummaryOptions) -> tuple[str, ...]:
    """For scores that are shares, the means; for 0/1 scores the share of cases that pass; then the recall."""
    return (
        "summary_accuracy",
        "summary_risk_coverage",
        "summary_non_definitive_pass_rate",
        "summary_needs_followup_pass_rate",
        "entity_recall",
    )


def locate(path: Path, name: str | None, options: SummaryOptions, problems: Problems) -> Source:
    """A file of cases; the run is named after it. A rule file of the user's is an input too."""
    require_file(path, problems)
    files = {"cases": path}
    if Path(options.rules).is_file():
        files["rules"] = Path(options.rules)
    return Source(name or path.stem, files)


def score(source: Source, options: SummaryOptions, problems: Problems, workers: Workers) -> pd.DataFrame:
    """The units frame of a file of cases: a row a case, in the file's order; the same for any `workers`.

    Raises InputError for a file that cannot be used or rules that changed since the options were made.
    """
    rules = rules_in_force(options)
    cases = list(read_cases(source.files["cases"], problems))
    if not cases and not problems.count("error"):
        raise problems.fatal("no-cases", "the file holds no case", file=str(source.files["cases"]))
    units, scored = score_cases(cases, rules, problems, workers, str(source.files["cases"]))
    if options.judge == "hybrid":
        problems.raise_if_failed()  # no call is paid for input that fails
        units = judge_units(units, cases, scored, options, problems, quiet=not workers.label)
    units = finish(units, rules)
    units.attrs["rows"] = {"cases": len(cases)}
    return units


SUITE = Suite(
    name="summary",
    title="Insurance summaries",
    unit="case_id",
    row=("case_id",),
    options=SummaryOptions,
    locate=locate,
    score=score,
    metrics=metrics,
    headline=headline,
    artifacts=write_artifacts,
    notebook="summary.ipynb",
    breakdowns=(Breakdown("Intent", "intent", METRICS),),
)
