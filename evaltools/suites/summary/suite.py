"""The summary suite: its metrics, which stand in metrics.toml, and the units of a file of cases, a row a case.

cases --rules--> scores --columns--> frame --judge, where asked--> final scores --finish--> frame

Source: seed insurance_summary_prd 5 and 6; specification section 3.
"""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pandas as pd
from pandas import DataFrame

from ...core.files import Fields, Names, bytes_hash, dumps, toml_of_package
from ...core.messages import Problems
from ...core.metric import MetricTable, make_metric
from ...core.records import File
from ...core.suite import Scored, Source, Suite
from ...core.workers import Workers
from .artifacts import write_artifacts
from .cards import sample_view
from .entities import read_text
from .facts import CLAIM
from .read import Case, read_cases
from .rules import JUDGED, METRICS, Rules
from .scoring import score_case, stated
from .states import (
    FIGURES,
    SummaryOptions,
    checks,
    finding,
    metric_state,
    rules_in_force,
    verdicts,
    worst,
)

# columns of the units that hold JSON text in files
JSON_COLUMNS = [
    "contexts",
    "tags",
    "unknown_tags",
    "unread_figures",
    *[f"{metric}_evidence" for metric in METRICS],
]


def metrics(options: SummaryOptions) -> MetricTable:
    """The metrics under the rules in force, as metrics.toml has them in the order of reports."""
    thresholds = rules_in_force(options).thresholds
    table = []
    for row in toml_of_package("suites/summary/metrics.toml")["metric"]:
        if options.judge != "off" and "bounds" in row:
            row["proportion"] = False
        threshold = thresholds.get(row["name"].removesuffix("_pass_rate"), 0)
        table.append(make_metric(row, threshold=f"{threshold:g}"))
    return tuple(table)


def headline(
    options: SummaryOptions,
    blocked: frozenset[str],
) -> Names:
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
        return Scored(DataFrame())
    rules = rules_in_force(options)
    alone = [case for _, case in cases]
    chunks = [alone[start : start + CHUNK] for start in range(0, len(alone), CHUNK)]
    parts = workers.map(partial(score_chunk, options=options), chunks)
    units = pd.concat(parts, ignore_index=True)
    for (line, case), unknown in zip(cases, units["unknown_tags"]):
        for tag in json.loads(unknown):
            file.warn(
                "unknown-tag",
                f"unknown tag {tag!r}, left out of what is expected; {rules.nearest_tag(tag)}",
                line=line,
                id=case.id,
                field="summary_tags",
            )
    answered_by: dict[str, int] = {}
    if options.judge == "hybrid":
        from .judge import judge_units

        problems.raise_if_failed()  # no call is paid for input that fails
        if options.judge_cache is None and source.out is not None:
            cache = source.out / "judge-cache"  # beside the results, which they outlive
            options = options.model_copy(update={"judge_cache": str(cache)})
        units, answered_by = judge_units(units, options, rules, problems, workers.label and "judge")
    return Scored(finish(units, rules), {"answered_by": answered_by})


# cases that one process scores at a time
CHUNK = 500


def score_chunk(
    chunk: Sequence[Case],
    options: SummaryOptions,
) -> DataFrame:
    """The units of some cases by rule alone, with evidence and lists as JSON text.

    Not of all at once: a hundred thousand rows as dictionaries would take a gigabyte.
    """
    rules = rules_in_force(options)
    return DataFrame([_row(case, rules) for case in chunk])


def _row(case: Case, rules: Rules) -> Fields:
    tags = rules.expected_tags(case.tags, case.metadata.product)
    scores = score_case(
        case.answer,
        case.contexts,
        case.tags,
        rules,
        case.metadata.product,
    )
    accuracy, coverage, _, followup, _ = scores.values()
    unsupported = accuracy.evidence.get("unsupported", []) if accuracy.denominator else []
    sources = " ".join(case.contexts).split()
    row: Fields = {
        "case_id": case.id,
        "question": case.question,
        "answer": case.answer,
        "contexts": dumps(case.contexts),
        # of other sources or tags it is another case, also of none: other metrics are measured then
        "contexts_hash": bytes_hash("".join(sources).encode()),
        "compared_gold": dumps(case.tags and sorted(tags)),
        "ground_truth": case.ground_truth,
        "tags": dumps(tags),
        "unknown_tags": dumps(coverage.evidence.get("unknown_tags", [])),
        "intent": case.metadata.summary_intent,
        "product": case.metadata.product,
        "channel": case.metadata.channel,
        "cases": 1,
        "any_unsupported": any(entity["kind"] in FIGURES for entity in unsupported),
        # a right refusal without a figure is none of them, and so a wrong one is not
        "any_unsupported_measured": any(
            entity["kind"] != CLAIM
            for entity in accuracy.evidence.get("supported", []) + unsupported
        ),
        "n_entities": len(stated([read_text(rules, case.answer or "")])),
        "ambiguous_followup": bool(followup.evidence["let_off"])
        and not followup.evidence["phrases"],
        "unread_figures": dumps(accuracy.evidence.get("unread", [])),
    }
    for metric, score in scores.items():  # a judge may change them
        row |= {
            metric: score.score,
            f"{metric}_measured": score.measured,
            f"{metric}_rule": score.score,
            f"{metric}_llm": float("nan"),
            f"{metric}_confidence": float("nan"),
            f"{metric}_decided_by": "rule",
            f"{metric}_trigger": None,
            f"{metric}_num": score.numerator,
            f"{metric}_den": score.denominator,
            f"{metric}_evidence": dumps(score.evidence),
        }
    return row


def finish(units: DataFrame, rules: Rules) -> DataFrame:
    """Add the columns that follow from the final scores: passed, the score where measured, states of metrics and case."""
    added, states = {}, {}
    # null where it was not measured, which is no part of a whole but missing
    added["any_unsupported"] = units["any_unsupported"].where(units["any_unsupported_measured"])
    for metric in METRICS:
        passed = rules.passed(metric, units[metric])
        measured = units[f"{metric}_measured"]
        if metric in rules.thresholds:
            added[f"{metric}_passed"] = passed
        added[f"{metric}_if_measured"] = units[metric].where(measured)
        evidence = units[f"{metric}_evidence"].map(json.loads)
        states[f"{metric}_state"] = [
            metric_state(metric, *row) for row in zip(evidence, measured, passed)
        ]
    states["state"] = [worst(of_case) for of_case in zip(*states.values())]
    return units.assign(**added, **states)


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
