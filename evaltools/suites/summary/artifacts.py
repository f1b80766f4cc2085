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
from ...report.excel import Sheet, write_workbook
from ...report.tables import plain_estimates
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
    limits = {say(TITLES[metric]): least for metric, least in rules.thresholds.items()}
    cases = cases_frame(run)
    cases_sheet = Sheet(say("Cases"), cases, scores=limits, verdicts=say("verdict"))
    rules_sheet = Sheet(say("Rules in force"), rules_frame(rules))
    sheets = [overview(run), cases_sheet, rules_sheet]
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
    columns = in_order_of_cases[list(SCORES)]
    return columns.reset_index(drop=True)


def cases_frame(run: Run) -> pd.DataFrame:
    """All cases, the worst first, in words: for each metric the score, and what it rests on."""
    rows = []
    cases = in_order(run.units)
    for case in cases.to_dict("records"):
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
            name = say(title)
            row[name] = case[f"{metric}_if_measured"]
            row[say("{metric}: why", metric=name)] = why(case, metric)
        rows.append(row)
    return pd.DataFrame(rows)


def overview(run: Run) -> Sheet:
    """What the workbook is, and the verdicts."""
    what = ": ".join(finding(run))
    lines = [(say("What"), what), (say("Run"), run.name)]
    for check in run.checks:
        level = LEVEL_WORDS[check.level]
        lines.append((say(level), check.text()))
    corrected = run.estimates[run.estimates["group"] == "corrected"]
    shown = plain_estimates(corrected, resampling=run.resampling)
    for title, row in zip(corrected["title"], shown.to_dict("records")):
        estimate = f"{row['value']} {row['interval']}, n = {row['n']}"
        lines.append((say(title), estimate))
    rules = rules_in_force(run.options)
    lines.append((say("Rules"), rules.identity))
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
        of_tag = {
            "risk item": named.phrases,
            "needed beside it": named.needs,
            "sign, where a source says it too": named.signs,
        }
        sections += [(section, say(tag), phrases) for section, phrases in of_tag.items()]
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
    rows = []
    for section, name, texts in sections:
        rows += [(say(section), name, text) for text in texts]
    columns = [say(head) for head in ("section", "name", "content")]
    return pd.DataFrame(rows, columns=columns)
