"""summary_scores.csv and summary_scores.xlsx, as the files' contract has them.

The CSV is for programs and keeps every value as it is, so that a text that begins with = is one in
it too; the workbook is the file for a spreadsheet program, and holds no formula.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from ...core.files import write_csv
from ...core.language import listed, say
from ...report.excel import BAD, GOOD, LOOK, Sheet, write_workbook
from ...report.run import Run
from ...report.trust import spoken_checks
from .cards import in_order, in_short, why
from .options import rules_in_force
from .rules import METRICS
from .states import JUDGED, TERMS, WORD_OF, finding, metric_verdicts

# column of summary_scores.csv -> what follows the metric's name in the units
OF_METRIC = {
    "score": "",
    "measured": "_measured",
    "rule_score": "_rule",
    "llm_score": "_llm",
    "decided_by": "_decided_by",
    "passed": "_passed",
    "evidence": "_evidence",
    "state": "_state",
}
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
CASE_HEADS = ("case", "verdict", "reason", "next step", "summary", "contexts", "expected tags")
LABEL_HEADS = (
    "case",
    "measure",
    "label",
    "rater",
    "score",
    "verdict",
    "reason",
    "summary",
    "metric",
    "threshold",
)


def write_artifacts(
    run: Run,
    folder: Path,
) -> None:
    """Write both files into a folder."""
    scores = scores_frame(run.data, rules_in_force(run.options).thresholds)
    # without its mark a Korean Excel reads another encoding
    write_csv(folder / "summary_scores.csv", scores, "\ufeff")
    write_workbook(folder / "summary_scores.xlsx", sheets(run))


def scores_frame(
    units: pd.DataFrame,
    thresholds: Mapping[str, float],
) -> pd.DataFrame:
    """One row a case and metric.

    `passed` is empty without a threshold; `tags` and `evidence` are JSON.
    """
    parts = []
    for metric in METRICS:
        columns = {metric + ending: name for name, ending in OF_METRIC.items()}
        part = units.drop(columns="state").rename(columns=columns)
        part = part.assign(metric=metric, threshold=thresholds.get(metric))
        parts.append(part.reindex(columns=SCORES))
    return pd.concat(parts).sort_index(kind="stable").reset_index(drop=True)


def sheets(run: Run) -> list[Sheet]:
    """What must not ship with the counts around it, all cases, and a row a case and metric for people to label."""
    colours = {say(WORD_OF["fail"]): BAD, say(WORD_OF["look"]): LOOK, say(WORD_OF["ok"]): GOOD}
    cases = in_order(run, run.units)
    label_help = f"{say(LABEL_HELP)} summary_scores.xlsx"
    labels = labels_frame(cases, rules_in_force(run.options).thresholds)
    first, *rest = head_lines(run)
    return [
        Sheet(
            say("Do not ship"),
            cases_frame(cases[cases["state"] == "fail"]),
            [first],
            rest,
            colours,
            3,
        ),
        Sheet(
            say("Cases"),
            cases_frame(cases),
            colours=colours,
            frozen=3,
        ),
        Sheet(
            say("Scores and labels"),
            labels,
            [label_help],
            colours=colours,
            frozen=4,
        ),
    ]


def head_lines(run: Run) -> list[str]:
    """The counts of all cases, those of each metric, and the rules, a line each."""
    lines = [f"{run.name}: {' · '.join(finding(run))}"]
    template = "{metric}: {fail} do not ship · {look} to check · {unmeasured} not measured"
    for row in metric_verdicts(run).to_dict("records"):
        counts = {"fail": row["failing"], "look": row["look"], "unmeasured": row["not_measured"]}
        lines.append(say(template, metric=say(TERMS[row["metric"]]), **counts))
    lines += [check.message for check in spoken_checks(run) if check.level != "info"]
    rules = rules_in_force(run.options)
    digest = rules.identity.rpartition("@")[2]
    return [*lines, f"{say('Rules')}: {rules.name} {rules.version} ({digest})"]


def cases_frame(cases: pd.DataFrame) -> pd.DataFrame:
    """Cases in words: verdict and reasons, an empty column for the next step, both texts, the scores."""
    rows = []
    for case in cases.to_dict("records"):
        texts = (case["answer"], "\n".join(case["contexts"]), listed(map(say, case["tags"])))
        first = (case["case_id"], say(WORD_OF[case["state"]]), "\n".join(in_short(case)), None)
        scores = (case[f"{metric}_if_measured"] for metric in JUDGED)
        rows.append((*first, *texts, *scores))
    heads = [*CASE_HEADS, *(TERMS[metric] for metric in JUDGED)]
    return pd.DataFrame(rows, columns=[say(head) for head in heads])


def labels_frame(
    cases: pd.DataFrame,
    thresholds: Mapping[str, float],
) -> pd.DataFrame:
    """A row a case and metric with empty columns for a person's label and name; calibrate reads it."""
    rows = []
    for case in cases.to_dict("records"):
        for metric in JUDGED:
            reasons = "\n".join(why(case, metric))
            verdict = say(WORD_OF[case[f"{metric}_state"]])
            scored = (case[f"{metric}_if_measured"], verdict, reasons, case["answer"])
            labelled = (case["case_id"], say(TERMS[metric]), None, None)
            rows.append((*labelled, *scored, metric, thresholds.get(metric)))
    heads = [say(head) if head != "metric" else head for head in LABEL_HEADS]
    return pd.DataFrame(rows, columns=heads)
