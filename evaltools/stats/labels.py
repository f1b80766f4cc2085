"""Files of scores and of labels that people gave: CSV, JSON Lines, or the workbook that people wrote labels into."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import pandas as pd
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from ..core.files import ending
from ..core.records import File, unique_records
from ..core.tables import read_table

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]

YES = ("1", "yes", "y", "pass", "true", "ok", "합격", "예", "네", "적합", "o")
NO = ("0", "no", "n", "fail", "false", "불합격", "아니요", "아니오", "부적합", "x")

# heads of the workbook of summaries in its languages -> columns
COLUMNS = {
    "case": "case_id",
    "사례": "case_id",
    "점수": "score",
    "기준값": "threshold",
    "사람 판정": "label",
    "평가자": "rater",
}


class _Row(BaseModel):
    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True, frozen=True)
    case_id: str = Field(min_length=1, description="case, 사례")
    metric: str = Field(min_length=1)


class Scored(_Row):
    """A row of a file of scores; without a score, or not `measured`, the case takes no part."""

    score: Share | None = Field(description="점수")
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


def read_scores(file: File) -> pd.DataFrame:
    """case_id, metric, score (0..1), threshold, measured of the rows of a file of scores that have one.

    Not `measured` is a number that only stands for a score; without that column all are. summary_scores.csv is
    such a file, summary_scores.xlsx too. Reports what is wrong by line, also a case that has two scores of a metric.
    """
    rows = _read(file, Scored, "score")
    frame = pd.DataFrame(rows, columns=["case_id", "metric", "score", "threshold", "measured"])
    return frame.astype({"score": float, "threshold": float, "measured": bool})


def read_labels(
    file: File,
    scores: pd.DataFrame,
    scale: tuple[float, float] = (0, 1),
) -> pd.DataFrame:
    """case_id, metric, label (0..1), rater ("" where none is named) of a file of labels.

    A row without a label counts as not labelled yet. scale: what 0 and 1 are written as. Reports by line what is
    wrong: a label of another scale, a case that is not in the `scores`, a second label of one rater.
    """
    in_scale = BeforeValidator(partial(label_value, scale=scale))
    field: Any = (Annotated[Share | None, in_scale], Field(description="사람 판정"))
    rows = _read(file, create_model("Label", __base__=Label, label=field), "label")
    known = set(zip(scores["case_id"], scores["metric"]))
    for row in rows:
        if (
            ending(file.path) not in (".xlsx", ".xlsm")
            and (row["case_id"], row["metric"]) not in known
        ):
            message = f"the scores have no {row['metric']} of this case"
            file.error(
                "unknown-case",
                message,
                line=row["line"],
                id=row["case_id"],
                field="case_id",
            )
    return pd.DataFrame(rows, columns=["case_id", "metric", "label", "rater"]).astype(
        {"label": float}
    )


def _read(
    file: File,
    model: type[Scored | Label],
    value: str,
) -> list[dict[str, Any]]:
    """The rows of a file of any kind that have a `value`, a score or a label: each case's once a metric and rater."""
    table = read_table(file, model, lambda head: COLUMNS.get(head, head))
    rows = ((line, record.model_dump() | {"line": line}) for line, record in table)
    with_value = ((line, row) for line, row in rows if row[value] is not None)

    def key_of(row: dict[str, Any]) -> tuple[str, ...]:
        return row["case_id"], row["metric"], row.get("rater", "")

    return [row for _, row in unique_records(with_value, key_of, file, value)]
