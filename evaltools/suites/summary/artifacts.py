"""summary_scores.csv and summary_scores.xlsx, as the files' contract has them.

The CSV is for programs and keeps every value as it is, so that a text that begins with = is one in
it too; the workbook is the file for a spreadsheet program. A text from data is never a formula or a link in it. Control
characters, which a workbook cannot hold, are spelled out, and texts longer than a cell are cut with a mark. The same
frames give the same bytes.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from pandas import DataFrame

from ...core.estimates import is_null
from ...core.files import atomic, write_csv
from ...core.messages import UsageError, listed, say, visible
from ...report.first_screen import spoken_checks
from ...report.run import Run
from ...report.text import width_of
from .cards import in_order, in_short, why
from .rules import JUDGED, METRICS, TERMS
from .states import WORD_OF, finding, metric_verdicts, rules_in_force

# column of summary_scores.csv -> that of the units
SCORES = {
    "case_id": "case_id",
    "metric": "metric",
    "score": "{metric}",
    "measured": "{metric}_measured",
    "rule_score": "{metric}_rule",
    "llm_score": "{metric}_llm",
    "decided_by": "{metric}_decided_by",
    "threshold": "threshold",
    "passed": "{metric}_passed",
    "evidence": "{metric}_evidence",
    "tags": "tags",
    "state": "{metric}_state",
}

# what a sheet can hold
CELL_LIMIT = 32_767
ROW_LIMIT = 1_048_576

# colours of cells that say how a case fares
COLOURS = {"fail": "#F8CECC", "look": "#FFF2CC", "ok": "#D5E8D4"}

# points of a line, and the lines that a row shows at most: 90 points, so that a screen holds ten rows
LINE_HEIGHT, MOST_LINES = 15, 6

# characters across a column
NARROWEST, WIDEST = 10, 30


class Sheet(NamedTuple):
    """A frame on a sheet of its own, with a filter, and the lines above the table and below it."""

    name: str
    frame: DataFrame
    head: Sequence[str] = ()
    foot: Sequence[str] = ()


def write_artifacts(
    run: Run,
    folder: Path,
) -> None:
    """Write both files into a folder."""
    # without its mark a Korean Excel reads another encoding
    write_csv(folder / "summary_scores.csv", scores_frame(run), "\ufeff")
    write_workbook(folder / "summary_scores.xlsx", sheets(run))


def scores_frame(run: Run) -> DataFrame:
    """One row a case and metric.

    `passed` is empty without a threshold; `tags` and `evidence` are JSON.
    """
    thresholds = rules_in_force(run.options).thresholds
    parts = []
    for metric in METRICS:
        part = run.data.assign(metric=metric, threshold=thresholds.get(metric))
        columns = [column.format(metric=metric) for column in SCORES.values()]
        parts.append(part.reindex(columns=columns).set_axis([*SCORES], axis=1))
    return pd.concat(parts).sort_index(kind="stable", ignore_index=True)


def sheets(run: Run) -> list[Sheet]:
    """What must not ship with the counts around it, all cases, and a row a case and metric for people to label."""
    cases = in_order(run, run.units)
    first, *rest = head_lines(run)
    return [
        Sheet(say("Do not ship"), cases_frame(cases[cases["state"] == "fail"]), [first], rest),
        Sheet(say("Cases"), cases_frame(cases)),
        Sheet(
            say("Scores and labels"),
            labels_frame(cases, rules_in_force(run.options).thresholds),
            [
                say(
                    "Write pass or fail, yes or no, or 0 to 1 in the column label, then: evaltools calibrate"
                )
                + " summary_scores.xlsx"
            ],
        ),
    ]


def head_lines(run: Run) -> Iterator[str]:
    """The counts of all cases, those of each metric, and the rules, a line each."""
    yield f"{run.name}: {' · '.join(finding(run))}"
    for row in metric_verdicts(run).to_dict("records"):
        yield say(
            "{metric}: {failing} do not ship · {look} to check · {not_measured} not measured",
            **{**row, "metric": say(TERMS[row["metric"]])},
        )
    for check in spoken_checks(run):
        if check.level != "info":
            yield check.message
    rules = rules_in_force(run.options)
    yield f"{say('Rules')}: {rules.name} {rules.version} ({rules.identity.rpartition('@')[2]})"


def cases_frame(cases: DataFrame) -> DataFrame:
    """Cases in words: verdict and reasons, an empty column for the next step, both texts, the scores."""
    columns = {
        "case": cases["case_id"],
        "verdict": cases["state"].map(WORD_OF).map(say),
        "reason": ["\n".join(in_short(case)) for case in cases.to_dict("records")],
        "next step": None,
        "summary": cases["answer"],
        "contexts": cases["contexts"].map("\n".join),
        "expected tags": [listed(map(say, tags)) for tags in cases["tags"]],
    }
    scores = {TERMS[metric]: cases[f"{metric}_if_measured"] for metric in JUDGED}
    return DataFrame(columns | scores).rename(columns=say)


def labels_frame(
    cases: DataFrame,
    thresholds: Mapping[str, float],
) -> DataFrame:
    """A row a case and metric with empty columns for a person's label and name; calibrate reads it."""
    cases = cases.reset_index(drop=True)
    rows = cases.to_dict("records")
    parts = []
    for metric in JUDGED:
        columns = {
            "case": cases["case_id"],
            "measure": say(TERMS[metric]),
            "label": None,
            "rater": None,
            "score": cases[f"{metric}_if_measured"],
            "verdict": cases[f"{metric}_state"].map(WORD_OF).map(say),
            "reason": ["\n".join(why(case, metric)) for case in rows],
            "answer": cases["answer"],
            "metric": metric,
            "threshold": thresholds.get(metric),
        }
        spoken = {head: say(head) for head in columns if head != "metric"}
        parts.append(DataFrame(columns).rename(columns=spoken))
    return pd.concat(parts).sort_index(kind="stable")


# --- the workbook


def write_workbook(
    path: Path,
    sheets: Sequence[Sheet],
) -> None:
    """Write the sheets. UsageError for a frame with more rows than a sheet can hold."""
    import xlsxwriter

    with atomic(path) as f:
        # no text is taken for a formula or a link
        book = xlsxwriter.Workbook(
            f, {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
        )
        book.set_properties({"created": datetime(2000, 1, 1, tzinfo=UTC)})
        for sheet in sheets:
            _write_sheet(book, sheet)
        book.close()


def _write_sheet(
    book: Any,
    sheet: Sheet,
) -> None:
    """Write a table, and the lines above and below it."""
    header = len(sheet.head)
    last_row = header + max(len(sheet.frame), 1)
    if last_row + len(sheet.foot) + 2 > ROW_LIMIT:
        raise UsageError(
            f"{len(sheet.frame)} rows are too many for a sheet of a workbook ({ROW_LIMIT}); score fewer cases at a time"
        )
    page = book.add_worksheet(sheet.name)
    look = {"valign": "top", "text_wrap": True}
    plain = book.add_format({**look, "num_format": "0.000"})
    coloured = {
        say(word): book.add_format({**look, "bg_color": COLOURS[state]})
        for state, word in WORD_OF.items()
    }
    page.write_column(0, 0, map(cell, sheet.head))
    page.write_column(last_row + 2, 0, map(cell, sheet.foot))
    heads = list(map(cell, sheet.frame))
    rows = [list(map(cell, row)) for row in sheet.frame.itertuples(index=False)]
    page.write_row(header, 0, heads, book.add_format({**look, "bold": True, "bottom": 1}))
    widths = []
    for index, column in enumerate(zip(heads, *rows[:200])):
        widest = max(map(width_of, "\n".join(map(str, column)).split("\n")))
        widths.append(min(max(NARROWEST, 2 + widest), WIDEST))
        page.set_column(index, index, widths[-1])
    for number, row in enumerate(rows, header + 1):
        page.set_row(number, LINE_HEIGHT * max(map(_height, row, widths)))
        for index, value in enumerate(row):
            page.write(number, index, value, coloured.get(value, plain))
    page.freeze_panes(header + 1, 3)  # columns that stay in place when the sheet is moved
    page.autofilter(header, 0, last_row, len(heads) - 1)


def _height(
    value: Any,
    width: int,
) -> int:
    """The lines that a value takes in a column of a width, as many as a row can show at the most."""
    lines = str(value)[: MOST_LINES * width].split("\n")
    return min(sum(max(1, ceil(width_of(line) / width)) for line in lines), MOST_LINES)


def cell(value: Any) -> Any:
    """A value as a cell can hold it; None, for an empty cell, of a null. Lines of Windows end as all others do.

    >>> cell("a\\r\\nb\\x07")
    'a\\nb[U+0007]'
    """
    if is_null(value):
        return None
    if not isinstance(value, str):
        return value
    text = visible(value)
    if len(text) <= CELL_LIMIT:
        return text
    mark = say(" … [cut: {n} characters]", n=len(text))
    return text[: CELL_LIMIT - len(mark)] + mark
