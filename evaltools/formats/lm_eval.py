"""Samples of lm-eval (lm-evaluation-harness): samples_TASK_DATE.jsonl, with results_DATE.json beside it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pydantic import ConfigDict, Field

from ..core.errors import Problems
from ..core.records import fitted, read_json, read_jsonl, require_file
from .rows import Place, Row, Score, made, number

NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT.+)\.jsonl")


class Ids(Row):
    doc_id: int
    doc_hash: str | None = None
    filter: str = "none"


class Line(Ids):
    model_config = ConfigDict(extra="allow")
    metrics: list[str]


class Results(Row):
    model_name: str | None = None
    higher_is_better: dict[str, dict[str, bool | None]] = Field(default_factory=dict)


def read(path: Path, problems: Problems) -> Iterator[tuple[Place, Score]]:
    """A metric is `NAME,FILTER` as in lm-eval's own results; its value is a number at the top of the line.

    The id is doc_hash, or doc_id where that is absent or several samples share it. Metrics whose value is no number
    (those of perplexity are pairs) are left out with a warning. From the results beside the file, where they are
    there: the direction of each metric and the model's name as the condition.
    """
    require_file(path, problems)
    times = Counter(
        (ids.filter, ids.doc_hash) for _, ids in read_jsonl(path, Ids, Problems("skip"))
    )
    shared = {doc_hash for (_, doc_hash), n in times.items() if n > 1}
    name = NAME.fullmatch(path.name)
    beside = path.with_name(f"results_{name['date']}.json") if name else path
    results = Results()
    if name and beside.is_file():
        results = (
            fitted(Results, read_json(beside, problems), problems, file=str(beside)) or results
        )
    model = results.model_name or None
    higher = results.higher_is_better.get(name["task"], {}) if name else {}

    def rows(_: int, line: Line) -> Iterator[Score]:
        own = line.doc_hash if line.doc_hash and line.doc_hash not in shared else str(line.doc_id)
        for metric in line.metrics:
            full, value = f"{metric},{line.filter}", (line.model_extra or {}).get(metric)
            if isinstance(value, int | float | None):
                found = number(value, metric)
                yield Score(
                    id=own,
                    metric=full,
                    value=found,
                    condition=model,
                    higher_is_better=higher.get(metric),
                )
            else:
                problems.warn(
                    "no-number",
                    f"{full} is no number and left out",
                    file=str(path),
                    field=metric,
                    id=own,
                )

    return made(read_jsonl(path, Line, problems), rows, path, problems)
