"""Files of scores and of labels that people gave: what a row is, and what is wrong with one."""

from __future__ import annotations

from pathlib import Path
from typing import (
    Annotated,
    Any,
)

import pandas as pd
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    create_model,
)

from ..core.errors import Problems
from ..core.records import read_rows

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
    stratum: str | None = None


class Scored(_Row):
    """A row of a file of scores; without a score the case takes no part."""

    score: Share | None
    threshold: Share | None = None


class Label(_Row):
    """A row of a file of labels; without a label it counts as not labelled yet."""

    label: Share | None
    rater: str | None = None


def read_scores(
    path: Path,
    problems: Problems,
    score: str = "score",
) -> pd.DataFrame:
    """case_id, metric, stratum (null: none), score (0..1), threshold of a file of scores.

    `score` names the column of the score. summary_scores.csv is such a file. Reports what is wrong
    by line, also a case that has two scores of a metric.
    """
    field: Any = (Share | None, Field(validation_alias=score))
    row: Any = create_model(
        "Scored",
        __base__=Scored,
        score=field,
    )
    kept = []
    first_lines: dict[tuple[str, str], int] = {}
    for line, r in read_rows(path, row, problems, "case_id"):
        first = first_lines.setdefault((r.case_id, r.metric), line)
        if first != line:
            problems.error(
                "duplicate-id",
                f"a second score of {r.metric}; the first is on line {first}",
                file=str(path),
                line=line,
                field="case_id",
                id=r.case_id,
            )
        elif r.score is not None:
            kept.append((r.case_id, r.metric, r.stratum, r.score, r.threshold))
    frame = pd.DataFrame(kept, columns=["case_id", "metric", "stratum", "score", "threshold"])
    return frame.astype({"score": float, "threshold": float})


def read_labels(
    path: Path,
    scores: pd.DataFrame | None,
    problems: Problems,
) -> pd.DataFrame:
    """case_id, metric, stratum, label (0..1), rater ("" where none is named) of a file of labels.

    Reports by line what is wrong: a case that has no score (where `scores` are given), a second
    label of one rater.
    """
    known = None if scores is None else set(zip(scores["case_id"], scores["metric"]))
    kept = []
    first_lines: dict[tuple[str, str, str], int] = {}
    for line, r in read_rows(path, Label, problems, "case_id"):
        if r.label is None:
            continue
        rater = r.rater or ""
        where = {
            "file": str(path),
            "line": line,
            "field": "case_id",
            "id": r.case_id,
        }
        if known is not None and (r.case_id, r.metric) not in known:
            problems.error("unknown-case", f"the scores have no {r.metric} of this case", **where)
            continue
        first = first_lines.setdefault((r.case_id, r.metric, rater), line)
        if first != line:
            by = f" by {rater}" if rater else ""
            message = f"a second label of {r.metric}{by}; the first is on line {first}"
            problems.error("duplicate-id", message, **where)
            continue
        kept.append((r.case_id, r.metric, r.stratum, r.label, rater))
    frame = pd.DataFrame(kept, columns=["case_id", "metric", "stratum", "label", "rater"])
    return frame.astype({"label": float})
