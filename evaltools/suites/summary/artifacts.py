"""summary_scores.csv and summary_scores.xlsx, as the files' contract has them.

The CSV is for programs and keeps every value as it is, so that a text that begins with = is one in
it too; the workbook is the file for a spreadsheet program, and holds no formula.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...core.check import LEVEL_WORDS
from ...core.files import atomic
from ...core.language import say
from ...report.estimate_tables import plain_estimates
from ...report.excel import Sheet, write_workbook
from .cards import in_order, names_of_true
from .metric_table import TITLES
from .options import rules_in_force
from .reasons import in_short, whys
from .rules import METRICS, Rules
from .units import by_metric
from .verdicts import fails, finding, metric_verdicts

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

MEANINGS = {
    "mean of measured": "mean score of the cases that could be measured",
    "measured": "number of cases that could be measured",
    "failing": "number of cases that fail; the metric fails where there is any",
    "to look at": "number of cases of which a person must settle something",
    "threshold": "the least score that passes",
    "not measured": "number of cases that give nothing to measure",
    "with imputed": "mean over all cases, with a fixed number for each that could not be measured",
}
"""What the columns of the first sheet mean."""

CASES = {
    "case_id": "case",
    "state": "verdict",
    "failed": "fails",
    "reason": "reason",
    "not_measured": "not measured",
    "answer": "summary",
    "contexts": "contexts",
    "tags": "expected tags",
}
"""The columns of the sheet of cases, and what they are called."""


def write_artifacts(run: Run, folder: Path) -> None:
    """Write both files into a folder."""
    rules = rules_in_force(run.options)
    scores = scores_frame(run.data, rules.thresholds)
    with atomic(folder / "summary_scores.csv") as file:
        scores.to_csv(file, index=False, lineterminator="\n")
    titles = metric_titles(run)
    limits = {titles[metric]: threshold for metric, threshold in rules.thresholds.items()}
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


def metric_titles(run: Run) -> dict[str, str]:
    """The metrics as readers call them."""
    titles = run.frame.set_index("name")["title"]
    return {metric: say(titles[metric]) for metric in METRICS}


def cases_frame(run: Run) -> pd.DataFrame:
    """All cases, the worst first, in words: for each metric the score, and what it rests on."""
    titles = metric_titles(run)
    units = run.units
    unmeasured = pd.DataFrame({metric: ~units[f"{metric}_measured"] for metric in METRICS})
    columns: dict[str, Any] = {
        "case_id": units["case_id"],
        "state": units["state"].map(say),
        "failed": names_of_true(fails(units).rename(columns=titles)),
        "reason": in_short(units),
        "not_measured": names_of_true(unmeasured.rename(columns=titles)),
        "answer": units["answer"],
        "contexts": units["contexts"].map("\n".join),
        "tags": [", ".join(map(say, tags)) for tags in units["tags"]],
    }
    for metric, title in titles.items():
        columns[title] = units[f"{metric}_if_measured"]
        columns[say("{metric}: why", metric=title)] = whys(units, metric)
    cases = pd.DataFrame(columns).loc[in_order(units).index].reset_index(drop=True)
    heads = {column: say(head) for column, head in CASES.items()}
    return cases.rename(columns=heads)


def overview(run: Run) -> Sheet:
    """What the workbook is, the verdicts, and what the columns mean."""
    lines = [(say("What"), ": ".join(filter(None, finding(run)))), (say("Run"), run.name)]
    for check in run.checks:
        lines.append((say(LEVEL_WORDS[check.level]), check.text()))
    lines += _corrected_means(run)
    lines.append((say("Rules"), rules_in_force(run.options).identity))
    lines.append((say("Signature"), run.signature))
    rows = metric_verdicts(run)[list(VERDICTS)]
    rows = rows.assign(
        title=rows["title"].map(say),
        verdict=rows["verdict"].map(say),
    )
    heads = {column: say(head) for column, head in VERDICTS.items()}
    return Sheet(
        say("Overview"),
        rows.rename(columns=heads),
        head=lines,
        verdicts=say("verdict"),
        below=[(say(head), say(meaning)) for head, meaning in MEANINGS.items()],
    )


def _corrected_means(run: Run) -> list[tuple[str, str]]:
    """The means corrected by labels of people, as lines."""
    corrected = run.estimates[run.estimates["group"] == "corrected"]
    shown = plain_estimates(corrected, resampling=run.resampling)
    lines = []
    for title, row in zip(corrected["title"], shown.to_dict("records")):
        lines.append((say(title), f"{row['value']} {row['interval']}, n = {row['n']}"))
    return lines


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
    rows = []
    for section, name, contents in sections:
        rows += [(say(section), name, content) for content in contents]
    return pd.DataFrame(rows, columns=[say(head) for head in ("section", "name", "content")])
