"""Files of scores and of labels that people gave: what a row is, and what is wrong with one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, create_model

from ..core.csv_files import read_rows
from ..core.errors import Problems
from ..core.records import FirstLines

Share = Annotated[
    float,
    Field(
        ge=0,
        le=1,
        allow_inf_nan=False,
    ),
]


class _Row(BaseModel):
    model_config = ConfigDict(
        extra="ignore",
        coerce_numbers_to_str=True,
        frozen=True,
    )
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


def read_scores(
    path: Path,
    problems: Problems,
    score: str = "score",
) -> pd.DataFrame:
    """case_id, metric, score (0..1), threshold, measured of a file of scores.

    Not `measured` is a number that only stands for a score; without that column all are. `score`
    names the column of the score. summary_scores.csv is such a file. Reports what is wrong by
    line, also a case that has two scores of a metric.
    """
    field: Any = (Share | None, Field(validation_alias=score))
    row: Any = create_model(
        "Scored",
        __base__=Scored,
        score=field,
    )
    kept = []
    first_lines = FirstLines(path, problems)
    for line, r in read_rows(path, row, problems, "case_id"):
        is_first = first_lines.is_first(
            (r.case_id, r.metric),
            line,
            id=r.case_id,
            what=f"score of {r.metric}",
            field="case_id",
        )
        if is_first and r.score is not None:
            kept.append(r.model_dump() | {"measured": r.measured is not False})
    columns = ["case_id", "metric", "score", "threshold", "measured"]
    frame = pd.DataFrame(kept, columns=columns)
    return frame.astype({"score": float, "threshold": float, "measured": bool})


def read_labels(
    path: Path,
    scores: pd.DataFrame | None,
    problems: Problems,
) -> pd.DataFrame:
    """case_id, metric, label (0..1), rater ("" where none is named) of a file of labels.

    Reports by line what is wrong: a case that has no score (where `scores` are given), a second
    label of one rater.
    """
    known = None
    if scores is not None:
        known = set(zip(scores["case_id"], scores["metric"]))
    kept = []
    first_lines = FirstLines(path, problems)
    for line, r in read_rows(path, Label, problems, "case_id"):
        if r.label is None:
            continue
        if known is not None and (r.case_id, r.metric) not in known:
            problems.error(
                "unknown-case",
                f"the scores have no {r.metric} of this case",
                file=path,
                line=line,
                field="case_id",
                id=r.case_id,
            )
            continue
        rater = r.rater or ""
        by = f" by {rater}" if rater else ""
        is_first = first_lines.is_first(
            (r.case_id, r.metric, rater),
            line,
            id=r.case_id,
            what=f"label of {r.metric}{by}",
            field="case_id",
        )
        if is_first:
            kept.append(r.model_dump() | {"rater": rater})
    frame = pd.DataFrame(kept, columns=["case_id", "metric", "label", "rater"])
    return frame.astype({"label": float})


def only_measured(scores: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of scores or labels of which the score was measured."""
    measured = scores[scores["measured"]]
    keys = ["case_id", "metric"]
    of_measured = pd.MultiIndex.from_frame(measured[keys])
    is_measured = pd.MultiIndex.from_frame(frame[keys]).isin(of_measured)
    return frame[is_measured]
