"""summary_scores.csv and summary_scores.xlsx, as the files' contract has them.

The CSV is for programs and keeps every value as it is, so that a text that begins with = is one in it too;
the workbook is the file for a spreadsheet program, and holds no formula.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from ...core.check import LEVEL_WORDS as LEVELS
from ...core.files import atomic, dumps
from ...core.language import say
from ...report.excel import Sheet, write_workbook
from ...report.tables import plain_estimates
from . import views
from .options import rules_in_force
from .rules import METRICS, rules_snapshot
from .units import by_metric
from .verdicts import COLUMNS, WORDS, verdicts

if TYPE_CHECKING:
    from ...report.run import Run

SCORES = (
    "case_id", "metric", "score", "measured", "rule_score", "llm_score", "decided_by", "threshold", "passed",
    "evidence", "tags",
)  # fmt: skip


COPIED = {
    "score": "", "measured": "_measured", "rule_score": "_rule", "llm_score": "_llm", "decided_by": "_decided_by",
    "passed": "_passed", "evidence": "_evidence",
}  # fmt: skip
"""Columns of summary_scores.csv -> what follows the metric's name in the units."""


def scores_frame(units: pd.DataFrame, thresholds: dict[str, float]) -> pd.DataFrame:
    """One row a case and metric. `passed` is empty without a threshold; `tags` and `evidence` are JSON."""
    found = by_metric(units, METRICS, ("case_id", "tags"), **COPIED)
    found["threshold"] = found["metric"].map(thresholds)
    return found.sort_index(kind="stable")[list(SCORES)].reset_index(drop=True)


def titles(result: Run) -> dict[str, str]:
    """The metrics as readers call them."""
    found = result.frame.set_index("name")["title"]
    return {m: say(found[m]) for m in METRICS}


def cases_frame(result: Run) -> pd.DataFrame:
    """All cases as `views.worst_first` has them, in words: for each metric the score, and what it rests on."""
    called, columns = titles(result), {}
    for m, title in called.items():
        columns[title] = result.units[f"{m}_if_measured"]
        columns[say("{metric}: why", metric=title)] = views.whys(result.units, m)
    found = views.worst_first(result.units, called, **columns).reset_index(drop=True)
    return found.rename(columns={c: say(head) for c, head in WORDS["workbook"]["cases"].items()})


def overview(result: Run) -> Sheet:
    """What the workbook is, the verdicts, and what the columns mean."""
    rules = rules_in_force(result.options)
    people = result.estimates[result.estimates["group"] == "corrected"]
    shown = plain_estimates(people, resampling=result.resampling).to_dict("records")
    led = [
        (say(t), f"{r['value']} {r['interval']}, n = {r['n']}")
        for t, r in zip(people["title"], shown)
    ]
    found = verdicts(result)[list(COLUMNS)]
    found = found.assign(title=found["title"].map(say), verdict=found["verdict"].map(say))
    what = say(
        "{n} summaries scored by rules; the next sheet has every case, those that fail most first",
        n=result.n_units,
    )
    return Sheet(
        say("Overview"),
        found.rename(columns={c: say(head) for c, head in COLUMNS.items()}),
        head=[
            (say("What"), what),
            (say("Run"), result.name),
            *((say(LEVELS[c.level]), say(c.message)) for c in result.checks),
            *led,
            (say("Rules"), rules.identity),
            (say("Signature"), result.signature),
        ],
        verdicts=say("verdict"),
        below=[(say(head), say(meaning)) for head, meaning in WORDS["workbook"]["means"].items()],
    )


def write_artifacts(result: Run, folder: Path) -> None:
    rules = rules_in_force(result.options)
    with atomic(folder / "summary_scores.csv") as f:
        scores_frame(result.data, rules.thresholds).to_csv(f, index=False, lineterminator="\n")
    in_force = [
        (key, name, value if isinstance(value, str) else dumps(value))
        for key, section in rules_snapshot(rules).items()
        for name, value in (section.items() if isinstance(section, dict) else [("", section)])
    ]
    called, first = titles(result), overview(result)
    limits = {called[m]: threshold for m, threshold in rules.thresholds.items()}
    columns = [say(head) for head in ("section", "name", "content")]
    sheets = [
        first,
        Sheet(say("Cases"), cases_frame(result), scores=limits),
        Sheet(say("Rules in force"), pd.DataFrame(in_force, columns=columns)),
    ]
    write_workbook(folder / "summary_scores.xlsx", sheets, notes_on=first.name)
