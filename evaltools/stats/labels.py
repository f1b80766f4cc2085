"""Files of scores and of labels that people gave: CSV, JSON Lines, or the workbook that people wrote labels into."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import pandas as pd
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from ..core.csv_files import read_rows
from ..core.errors import Problems
from ..core.records import FirstLines, fitted
from ..core.text_files import require_file

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Model = TypeVar("Model", bound=BaseModel)

YES = ("1", "yes", "y", "pass", "true", "ok", "합격", "예", "네", "적합", "o")
NO = ("0", "no", "n", "fail", "false", "불합격", "아니요", "아니오", "부적합", "x")

# heads of the workbook of summaries in its languages -> columns
COLUMNS = {
    "case": "case_id",
    "사례": "case_id",
    "점수": "score",
    "사람 판정": "label",
    "평가자": "rater",
}


class _Row(BaseModel):
    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True, frozen=True)
    case_id: str = Field(min_length=1)
    metric: str = Field(min_length=1)


class Scored(_Row):
    """A row of a file of scores; without a score, or not `measured`, the case takes no part."""

    score: Share | None
    threshold: Share | None = None
    measured: bool | None = None


class Label(_Row):
    """A row of a file of labels; without a label it counts as not labelled yet."""

    label: Share | None
    rater: str | None = None


def label_value(value: Any, scale: tuple[float, float] = (0, 1)) -> Any:
    """A label from 0 to 1, as people write them: a number of the scale, yes or no, pass or fail, 합격 or 불합격.

    None for an empty one. ValueError, which says what was expected, for any other.

    >>> label_value("합격"), label_value(" No "), label_value("4", scale=(1, 5)), label_value("")
    (1.0, 0.0, 0.75, None)
    """
    text = "" if value is None else str(value).strip().casefold()
    if not text:
        return None
    low, high = scale
    if scale == (0, 1) or not text.replace(".", "", 1).isdigit():
        if text in YES:
            return 1.0
        if text in NO:
            return 0.0
    try:
        share = (float(text) - low) / (high - low)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ValueError(
            f"expected {low:g} to {high:g} (another scale is given as --scale LOW-HIGH), yes/no, pass/fail, "
            "합격/불합격 or 예/아니요"
        )
    return share


def read_scores(
    path: Path,
    problems: Problems,
    score: str = "score",
) -> pd.DataFrame:
    """case_id, metric, score (0..1), threshold, measured of a file of scores.

    Not `measured` is a number that only stands for a score; without that column all are. `score`
    names the column of the score. summary_scores.csv is such a file, summary_scores.xlsx too. Reports what is wrong
    by line, also a case that has two scores of a metric.
    """
    field: Any = (Share | None, Field(validation_alias=score))
    row: Any = create_model("Scored", __base__=Scored, score=field)
    kept = []
    first_lines = FirstLines(path, problems)
    for line, r in _rows(path, row, problems):
        key, what = (r.case_id, r.metric), f"score of {r.metric}"
        is_first = first_lines.is_first(key, line, id=r.case_id, what=what, field="case_id")
        if is_first and r.score is not None:
            kept.append(r.model_dump() | {"measured": r.measured is not False})
    columns = ["case_id", "metric", "score", "threshold", "measured"]
    frame = pd.DataFrame(kept, columns=columns)
    return frame.astype({"score": float, "threshold": float, "measured": bool})


def read_labels(
    path: Path,
    scores: pd.DataFrame,
    problems: Problems,
    scale: tuple[float, float] = (0, 1),
) -> pd.DataFrame:
    """case_id, metric, label (0..1), rater ("" where none is named) of a file of labels.

    A row without a label counts as not labelled yet. scale: what 0 and 1 are written as. Reports by line what is
    wrong: a label of another scale, a case that is not in the `scores`, a second label of one rater.
    """
    label: Any = (Annotated[Share | None, BeforeValidator(partial(label_value, scale=scale))], ...)
    row: Any = create_model("LabelOfScale", __base__=Label, label=label)
    known = set(zip(scores["case_id"], scores["metric"]))
    kept = []
    first_lines = FirstLines(path, problems)
    for line, r in _rows(path, row, problems):
        if r.label is None:
            continue
        if path.suffix.lower() != ".xlsx" and (r.case_id, r.metric) not in known:
            message = f"the scores have no {r.metric} of this case"
            place: dict[str, Any] = {"file": path, "line": line, "id": r.case_id}
            problems.error("unknown-case", message, field="case_id", **place)
            continue
        rater = r.rater or ""
        key, what = (
            (r.case_id, r.metric, rater),
            f"label of {r.metric}" + (f" by {rater}" if rater else ""),
        )
        if first_lines.is_first(key, line, id=r.case_id, what=what, field="case_id"):
            kept.append(r.model_dump() | {"rater": rater})
    frame = pd.DataFrame(kept, columns=["case_id", "metric", "label", "rater"])
    return frame.astype({"label": float})


def _rows(
    path: Path,
    model: type[Model],
    problems: Problems,
) -> Iterator[tuple[int, Model]]:
    """Yield (line, record) of a file of any kind."""
    if path.suffix.lower() != ".xlsx":
        yield from read_rows(path, model, problems, "case_id")
        return
    for line, record in _workbook_rows(path, problems):
        place: dict[str, Any] = {"file": path, "line": line, "id": str(record["case_id"])}
        row = fitted(model, record, problems, **place)
        if row is not None:
            yield line, row


def _workbook_rows(path: Path, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (row, cells by column) of the sheet that has the columns case, metric, score and label."""
    require_file(path, problems)
    try:
        sheets = pd.read_excel(path, sheet_name=None, header=None, dtype=object, engine="openpyxl")
    except Exception as e:  # openpyxl raises many kinds, by the place of the damage
        raise problems.fatal(
            "bad-xlsx", f"no Excel workbook that can be read: {e}", file=path
        ) from e
    for sheet in sheets.values():
        rows = sheet.astype(object).where(sheet.notna(), None).to_numpy().tolist()
        for header, cells in enumerate(rows[:20]):
            names = [COLUMNS.get(str(cell), str(cell)) for cell in cells]
            if {"case_id", "metric", "score", "label"} <= set(names):
                for line, row in enumerate(rows[header + 1 :], header + 2):
                    if any(cell is not None for cell in row):
                        yield line, dict(zip(names, row))
                return
    message = "expected a sheet with the columns case, metric, score and label (사례, metric, 점수, 사람 판정)"
    raise problems.fatal("wrong-columns", message, file=path)


def only_measured(scores: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of scores or labels of which the score was measured."""
    keys = ["case_id", "metric"]
    of_measured = pd.MultiIndex.from_frame(scores.loc[scores["measured"], keys])
    return frame[pd.MultiIndex.from_frame(frame[keys]).isin(of_measured)]
