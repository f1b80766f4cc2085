"""summary_scores.csv and summary_scores.xlsx, as the files' contract has them.

The CSV is for programs and keeps every value as it is, so that a text that begins with = is one in
it too; the workbook is the file for a spreadsheet program, and holds no formula.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pandas as pd

from ...core.files import atomic
from ...core.language import listed, say
from ...report.excel import BAD, GOOD, LOOK, Sheet, write_workbook
from ...report.text import anchor
from ...report.trust import spoken_checks
from .cards import in_order
from .metric_table import TERMS
from .options import rules_in_force
from .reasons import against, in_short, judged
from .rules import METRICS
from .states import JUDGED, WORD_OF, finding, metric_verdicts
from .units import by_metric

if TYPE_CHECKING:
    from ...report.run import Run

SCORES = (
    "case_id",
    "metric",
    "score",
    "measured",
    "rule_score",
    "llm_score",
    "decided_by",
    "threshold",
    "passed",
    "evidence",
    "tags",
    "state",
)

LABEL_HELP = (
    "Write pass or fail, yes or no, or 0 to 1 in the column label, then: evaltools calibrate"
)


def write_artifacts(run: Run, folder: Path) -> None:
    """Write both files into a folder."""
    scores = scores_frame(run.data, rules_in_force(run.options).thresholds)
    with atomic(folder / "summary_scores.csv") as file:
        file.write("\ufeff")  # without it a Korean Excel reads another encoding
        scores.to_csv(file, index=False, lineterminator="\n")
    write_workbook(folder / "summary_scores.xlsx", sheets(run))


def scores_frame(units: pd.DataFrame, thresholds: Mapping[str, float]) -> pd.DataFrame:
    """One row a case and metric.

    `passed` is empty without a threshold; `tags` and `evidence` are JSON.
    """
    scores = by_metric(
        units,
        METRICS,
        ("case_id", "tags"),
        score="",
        measured="_measured",
        rule_score="_rule",
        llm_score="_llm",
        decided_by="_decided_by",
        passed="_passed",
        evidence="_evidence",
        state="_state",
    )
    scores["threshold"] = scores["metric"].map(thresholds)
    in_order_of_cases = scores.sort_index(kind="stable")
    columns = in_order_of_cases[list(SCORES)]
    return columns.reset_index(drop=True)


def sheets(run: Run) -> list[Sheet]:
    """What must not ship with the counts above it, all cases, and a row a case and metric for people to label."""
    colours = {say(WORD_OF["fail"]): BAD, say(WORD_OF["look"]): LOOK, say(WORD_OF["ok"]): GOOD}
    thresholds = rules_in_force(run.options).thresholds
    limits = {say(TERMS[metric]): thresholds[metric] for metric in JUDGED}
    cases = in_order(run.units)
    failing = cases[cases["state"] == "fail"]
    label_help = f"{say(LABEL_HELP)} summary_scores.xlsx"
    return [
        Sheet(
            say("Do not ship"),
            cases_frame(failing),
            head_lines(run),
            limits,
            colours,
            frozen=3,
            links=links(run, failing),
        ),
        Sheet(
            say("Cases"),
            cases_frame(cases),
            scores=limits,
            colours=colours,
            frozen=3,
            links=links(run, cases),
        ),
        Sheet(
            say("Scores and labels"),
            labels_frame(cases),
            [(label_help,)],
            colours=colours,
            frozen=4,
        ),
    ]


def head_lines(run: Run) -> list[tuple[str, ...]]:
    """The counts of all cases, those of each metric, and the rules, a line each."""
    lines: list[tuple[str, ...]] = [(f"{run.name}: {' · '.join(finding(run))}",)]
    verdicts = metric_verdicts(run).set_index("metric")
    for metric in JUDGED:
        row = verdicts.loc[metric]
        template = "{metric}: {fail} do not ship · {look} to check · {unmeasured} not measured"
        counts = {"fail": row["failing"], "look": row["look"], "unmeasured": row["not_measured"]}
        lines.append((say(template, metric=say(TERMS[metric]), **counts),))
    lines += [(check.message,) for check in spoken_checks(run) if check.level != "info"]
    rules = rules_in_force(run.options)
    digest = rules.identity.rpartition("@")[2]
    lines.append((f"{say('Rules')}: {rules.name} {rules.version} ({digest})",))
    return lines


def cases_frame(cases: pd.DataFrame) -> pd.DataFrame:
    """Cases in words: verdict and reasons, an empty column for the next step, both texts, the scores."""
    rows = []
    for case in cases.to_dict("records"):
        row = {
            say("case"): case["case_id"],
            say("verdict"): say(WORD_OF[case["state"]]),
            say("reason"): "\n".join(in_short(case)),
            say("next step"): None,
            say("summary"): case["answer"],
            say("contexts"): "\n".join(case["contexts"]),
            say("expected tags"): listed(map(say, case["tags"])),
        }
        row |= {say(TERMS[metric]): case[f"{metric}_if_measured"] for metric in JUDGED}
        rows.append(row)
    heads = ("case", "verdict", "reason", "next step", "summary", "contexts", "expected tags")
    columns = [say(head) for head in (*heads, *(TERMS[metric] for metric in JUDGED))]
    return pd.DataFrame(rows, columns=columns)


def labels_frame(cases: pd.DataFrame) -> pd.DataFrame:
    """A row a case and metric with empty columns for a person's label and name; calibrate reads it."""
    rows = []
    for case in cases.to_dict("records"):
        for metric in JUDGED:
            reasons = [*judged(case, metric), *against(case, metric)]
            row = {
                "case": case["case_id"],
                "measure": say(TERMS[metric]),
                "label": None,
                "rater": None,
                "score": case[f"{metric}_if_measured"],
                "verdict": say(WORD_OF[case[f"{metric}_state"]]),
                "reason": "\n".join(reasons),
                "summary": case["answer"],
                "metric": metric,
            }
            rows.append(row)
    heads = ["case", "measure", "label", "rater", "score", "verdict", "reason", "summary", "metric"]
    frame = pd.DataFrame(rows, columns=heads)
    return frame.rename(columns={head: say(head) for head in heads if head != "metric"})


def links(run: Run, cases: pd.DataFrame) -> list[str]:
    """Where the page of the run shows each case, from the folder of the workbook."""
    page = f"../../reports/{quote(run.name)}/metric_report.html"
    return [f"{page}#{anchor('sample', case_id)}" for case_id in cases["case_id"]]
