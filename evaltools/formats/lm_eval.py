"""Samples of lm-evaluation-harness: samples_TASK_DATE.jsonl, beside it results_DATE.json."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from pydantic import ConfigDict, Field

from ..core.errors import Problems
from ..core.records import fitted, read_json, read_jsonl
from .rows import Row, Score, number
from .source import Records, Source

NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT.+)\.jsonl")


class Ids(Row):
    """What tells a sample from others."""

    doc_id: int
    doc_hash: str | None = None
    filter: str = "none"


class Line(Ids):
    """A sample under a filter; each of `metrics` stands in a field of its own."""

    model_config = ConfigDict(extra="allow")
    metrics: list[str]


class Results(Row):
    """The file of results: of each task the direction of its metrics."""

    model_name: str | None = None
    higher_is_better: dict[str, dict[str, bool | None]] = Field(default_factory=dict)


def read(source: Source) -> Records:
    """A metric is `NAME,FILTER`; its value is a number at the top of the line.

    The id is doc_hash, or doc_id where that is absent or several samples share it. Metrics whose
    value is no number (those of perplexity are pairs) are left out with a warning. From the results
    beside the file, where they are there: the direction of each metric and the model's name as the
    condition.
    """
    shared = _shared_hashes(source)
    results = Results()
    higher_is_better = {}
    name = NAME.fullmatch(source.path.name)
    if name:
        results = _read_results(source, f"results_{name['date']}.json")
        higher_is_better = results.higher_is_better.get(name["task"], {})

    def scores(_: int, line: Line) -> Iterator[Score]:
        id_ = line.doc_hash
        if not id_ or id_ in shared:
            id_ = str(line.doc_id)
        fields = line.model_extra or {}
        for metric in line.metrics:
            full_name = f"{metric},{line.filter}"
            value = fields.get(metric)
            if not isinstance(value, int | float | None):
                message = f"{full_name} is no number and left out"
                source.warn("no-number", message, field=metric, id=id_)
                continue
            yield Score(
                id=id_,
                metric=full_name,
                value=number(value, metric),
                condition=results.model_name or None,
                higher_is_better=higher_is_better.get(metric),
            )

    return source.rows(source.json_lines(Line), scores)


def _shared_hashes(source: Source) -> set[str | None]:
    """The hashes that several samples of one filter have."""
    times: Counter[tuple[str, str | None]] = Counter()
    # lines that do not fit are reported when they are read as samples
    for _, ids in read_jsonl(source.path, Ids, Problems("skip")):
        times[ids.filter, ids.doc_hash] += 1
    shared = set()
    for (_, doc_hash), n in times.items():
        if n > 1:
            shared.add(doc_hash)
    return shared


def _read_results(source: Source, name: str) -> Results:
    """The results beside the file; empty ones where there are none."""
    file = source.path.with_name(name)
    if not file.is_file():
        return Results()
    problems = source.problems
    content = read_json(file, problems)
    results = fitted(Results, content, problems, file=str(file))
    return results or Results()
