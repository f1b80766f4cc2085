"""Files of scores and of labels that people gave: CSV, JSON Lines, or the workbook that people wrote labels into."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import pandas as pd
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from ..core.errors import Problems
from ..core.json_files import read_jsonl
from ..core.records import FirstLines, fitted, read_csv, require_file

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
    measured: Annotated[bool, BeforeValidator(lambda value: value is None or value)] = True


class Label(_Row):
    """A row of a file of labels; without a label it counts as not labelled yet."""

    label: Share | None
    rater: Annotated[str, BeforeValidator(lambda name: name or "")] = ""


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
    """case_id, metric, score (0..1), threshold, measured of the rows of a file of scores that have one.

    Not `measured` is a number that only stands for a score; without that column all are. `score`
    names the column of the score. summary_scores.csv is such a file, summary_scores.xlsx too. Reports what is wrong
    by line, also a case that has two scores of a metric.
    """
    field: Any = (Share | None, Field(validation_alias=score))
    rows = _read(path, create_model("Scored", __base__=Scored, score=field), problems, "score")
    frame = pd.DataFrame(rows, columns=["case_id", "metric", "score", "threshold", "measured"])
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
    field: Any = (Annotated[Share | None, BeforeValidator(partial(label_value, scale=scale))], ...)
    rows = _read(path, create_model("Label", __base__=Label, label=field), problems, "label")
    known = set(zip(scores["case_id"], scores["metric"]))
    for row in rows:
        if path.suffix.lower() != ".xlsx" and (row["case_id"], row["metric"]) not in known:
            message = f"the scores have no {row['metric']} of this case"
            place = {
                "file": path,
                "line": row["line"],
                "id": row["case_id"],
                "field": "case_id",
            }
            problems.error("unknown-case", message, **place)
    return pd.DataFrame(rows, columns=["case_id", "metric", "label", "rater"]).astype(
        {"label": float}
    )


def _read(
    path: Path,
    model: type[Scored | Label],
    problems: Problems,
    value: str,
) -> list[dict[str, Any]]:
    """The rows of a file of any kind that have a `value`, a score or a label: each case's once a metric and rater."""
    if path.suffix.lower() == ".xlsx":
        records = _workbook_rows(path, model, problems)
    else:
        require_file(path, problems)
        read = read_csv if path.suffix.lower() == ".csv" else read_jsonl
        records = read(path, model, problems)
    first_lines = FirstLines(path, problems)
    rows = []
    for line, record in records:
        row = record.model_dump() | {"line": line}
        by = f" by {row['rater']}" if row.get("rater") else ""
        key, what = (row["case_id"], row["metric"], by), f"{value} of {row['metric']}{by}"
        if row[value] is None:
            continue
        if first_lines.is_first(
            key,
            line,
            id=row["case_id"],
            what=what,
            field="case_id",
        ):
            rows.append(row)
    return rows


def _workbook_rows(
    path: Path,
    model: type[Model],
    problems: Problems,
) -> Iterator[tuple[int, Model]]:
    """Yield (row, record) of the sheet that has the columns case, metric, score and label."""
    require_file(path, problems)
    try:
        sheets = pd.read_excel(
            path,
            sheet_name=None,
            header=None,
            dtype=object,
            engine="openpyxl",
        )
    except Exception as e:  # openpyxl raises many kinds, by the place of the damage
        raise problems.fatal(
            "bad-xlsx", f"no Excel workbook that can be read: {e}", file=path
        ) from e
    for sheet in sheets.values():
        for header in range(min(20, len(sheet))):
            names = [COLUMNS.get(str(cell), str(cell)) for cell in sheet.iloc[header]]
            if {"case_id", "metric", "score", "label"} <= set(names):
                body = sheet[header + 1 :].set_axis(names, axis=1).dropna(how="all").astype(object)
                cells = body.where(body.notna(), None).to_dict("records")
                for line, row in zip(body.index + 1, cells):
                    place: dict[str, Any] = {
                        "file": path,
                        "line": int(line),
                        "id": str(row["case_id"]),
                    }
                    record = fitted(model, row, problems, **place)
                    if record is not None:
                        yield int(line), record
                return
    message = "expected a sheet with the columns case, metric, score and label (사례, metric, 점수, 사람 판정)"
    raise problems.fatal("wrong-columns", message, file=path)
