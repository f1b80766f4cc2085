"""summary_scores.csv and summary_scores.xlsx, as the files' contract has them.

The CSV is for programs and keeps every value as it is, so that a text that begins with = is one in
it too; the workbook is the file for a spreadsheet program, and holds no formula.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from ...core.check import LEVEL_WORDS
from ...core.files import atomic
from ...core.language import listed, say
from ...report.estimate_tables import plain_estimates
from ...report.excel import Sheet, write_workbook
from .cards import failed, in_order
from .metric_table import TITLES
from .options import rules_in_force
from .reasons import in_short, why
from .rules import METRICS, Rules
from .units import by_metric
from .verdicts import finding, metric_verdicts

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

VERDICTS = {
    "title": "metric",
    "verdict": "verdict",
    "measured": "measured",
    "failing": "failing",
    "look": "to look at",
    "not_measured": "not measured",
    "threshold": "threshold",
    "mean_measured": "mean of measured",
    "mean": "with imputed",
}
"""The columns of the first sheet, and what they are called: what was measured leads."""


def write_artifacts(run: Run, folder: Path) -> None:
    """Write both files into a folder."""
    rules = rules_in_force(run.options)
    scores = scores_frame(run.data, rules.thresholds)
    with atomic(folder / "summary_scores.csv") as file:
        scores.to_csv(file, index=False, lineterminator="\n")
    limits = {say(TITLES[metric]): threshold for metric, threshold in rules.thresholds.items()}
    sheets = [
        overview(run),
        Sheet(say("Cases"), cases_frame(run), scores=limits, verdicts=say("verdict")),
        Sheet(say("Rules in force"), rules_frame(rules)),
    ]
    write_workbook(folder / "summary_scores.xlsx", sheets)


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
    return in_order_of_cases[list(SCORES)].reset_index(drop=True)


def cases_frame(run: Run) -> pd.DataFrame:
    """All cases, the worst first, in words: for each metric the score, and what it rests on."""
    rows = []
    for case in in_order(run.units).to_dict("records"):
        row = {
            say("case"): case["case_id"],
            say("verdict"): say(case["state"]),
            say("fails"): failed(case),
            say("reason"): in_short(case),
            say("summary"): case["answer"],
            say("contexts"): "\n".join(case["contexts"]),
            say("expected tags"): listed(map(say, case["tags"])),
        }
        for metric, title in TITLES.items():
            row[say(title)] = case[f"{metric}_if_measured"]
            row[say("{metric}: why", metric=say(title))] = why(case, metric)
        rows.append(row)
    return pd.DataFrame(rows)


def overview(run: Run) -> Sheet:
    """What the workbook is, and the verdicts."""
    lines = [(say("What"), ": ".join(finding(run))), (say("Run"), run.name)]
    for check in run.checks:
        lines.append((say(LEVEL_WORDS[check.level]), check.text()))
    corrected = run.estimates[run.estimates["group"] == "corrected"]
    shown = plain_estimates(corrected, resampling=run.resampling)
    for title, row in zip(corrected["title"], shown.to_dict("records")):
        lines.append((say(title), f"{row['value']} {row['interval']}, n = {row['n']}"))
    lines.append((say("Rules"), rules_in_force(run.options).identity))
    lines.append((say("Signature"), run.signature))
    rows = metric_verdicts(run)[list(VERDICTS)]
    rows["title"] = rows["title"].map(say)
    rows["verdict"] = rows["verdict"].map(say)
    rows.columns = [say(head) for head in VERDICTS.values()]
    return Sheet(say("Overview"), rows, head=lines, verdicts=say("verdict"))


def rules_frame(rules: Rules) -> pd.DataFrame:
    """The rules in force, a row a phrase, or all words of a unit or concept: section, name, content."""
    sections: list[tuple[str, str, Sequence[str]]] = [("rules", "", [rules.identity])]
    for metric, least in rules.thresholds.items():
        sections.append(("threshold", say(TITLES[metric]), [f"{least:g}"]))
    for tag, named in rules.tags.items():
        sections.append(("risk item", say(tag), named.phrases))
        sections.append(("needed beside it", say(tag), named.needs))
        sections.append(("sign, where a source says it too", say(tag), named.signs))
    sections.append(("follow-up", "", rules.followup.phrases))
    for named in rules.definitive:
        sections.append(("definitive phrases", "", named.phrases))
    for let_off in rules.let_offs.values():
        sections.append(("let off", say(let_off.reason), [*let_off.before, *let_off.after]))
    for name, words in rules.words.items():
        sections.append(("words of a name", f"{{{name}}}", words))
    for unit in rules.units:
        sections.append(("unit", say(unit.kind), [" · ".join(unit.words)]))
    for concept in rules.concepts:
        sections.append((concept.kind, concept.name, [" · ".join(concept.words)]))
    rows = [(say(section), name, text) for section, name, texts in sections for text in texts]
    return pd.DataFrame(rows, columns=[say(head) for head in ("section", "name", "content")])
