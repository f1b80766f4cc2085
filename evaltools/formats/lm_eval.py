"""Samples of lm-evaluation-harness: samples_TASK_DATE.jsonl, beside it results_DATE.json."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pydantic import ConfigDict, Field

from .directions import higher_is_better
from .rows import Row, Score, Scored, Unfit, further_columns, mapping, number
from .source import Records, Source

NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT.+)\.jsonl")

QUESTIONS = ("question", "query", "text", "input", "prompt", "problem", "sentence", "goal", "ctx")
"""Fields of a document that hold what is asked, the likeliest first."""

LOG_LIKELIHOODS = ("perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte")
"""Metrics of which a sample holds the log-likelihood, or a pair of it and of a number of tokens."""


class Line(Row):
    """A sample under a filter; each of `metrics` stands in a field of its own.

    Logs of 2024 have neither `metrics` nor `filter`: there every other number is a metric.
    """

    model_config = ConfigDict(extra="allow")
    doc_id: int
    doc_hash: str | None = None
    filter: str = "none"
    metrics: list[str] | None = None
    doc: Any = None
    target: Any = None
    arguments: Any = None
    resps: Any = None
    filtered_resps: Any = None
    prompt_hash: Any = None
    target_hash: Any = None

    @property
    def values(self) -> dict[str, Any]:
        """Metric -> its value on the sample."""
        fields = self.model_extra or {}
        if self.metrics is not None:
            return {metric: fields.get(metric) for metric in self.metrics}
        return {name: value for name, value in fields.items() if isinstance(value, int | float)}

    @property
    def question(self) -> str | None:
        """What was asked: a field of the document, else the whole prompt."""
        document = mapping(self.doc)
        for name in QUESTIONS:
            text = document.get(name)
            if text and isinstance(text, str):
                return text
        prompt: Any = self.arguments
        while isinstance(prompt, dict | list) and prompt:
            parts = list(prompt.values()) if isinstance(prompt, dict) else prompt
            prompt = parts[0]
        return prompt if isinstance(prompt, str) else None

    @property
    def further(self) -> dict[str, Any]:
        """Output, target and the fields of the document."""
        question = self.question
        fields = {}
        for name, value in mapping(self.doc).items():
            if value != question:
                fields[name] = value
        output = self.filtered_resps
        if isinstance(output, list) and len(output) == 1:
            output = output[0]
        if not isinstance(output, str):
            output = None  # likelihoods of the choices
        return further_columns({"output": output, "target": self.target, **fields})


class Results(Row):
    """The file of results: the numbers of each task, and the direction of its metrics."""

    model_name: str | None = None
    results: dict[str, dict[str, Any]] = Field(default_factory=dict)
    higher_is_better: dict[str, dict[str, bool | None]] = Field(default_factory=dict)


@dataclass
class Overview:
    """What must be known of a file before its first row.

    `shared`: hashes that several samples of one filter have. `sums`: of each `NAME,FILTER` the sum
    of the values and that of their weights.
    """

    shared: set[str | None] = field(default_factory=set)
    sums: dict[str, tuple[float, float]] = field(default_factory=dict)


def read(source: Source) -> Records:
    """A metric is `NAME,FILTER`; its value is a number at the top of the line.

    The id is doc_hash, or doc_id where that is absent or several samples share it. A pair of
    numbers is numerator and denominator; other values are left out with a warning. From the results
    beside the file, where they are there: the direction of each metric and the model's name as the
    condition.
    """
    overview = _overview(source.first_look(_lines))
    results = Results()
    task = ""
    name = NAME.fullmatch(source.path.name)
    if name:
        results = source.beside(f"results_{name['date']}.json", Results) or Results()
        task = name["task"]
    directions = {}
    for metric in overview.sums:
        directions[metric] = _direction(metric, overview, results, task, source)

    def scored(_: int, line: Line) -> Scored:
        id_ = line.doc_hash
        if not id_ or id_ in overview.shared:
            id_ = str(line.doc_id)
        scores = []
        for metric, value in line.values.items():
            name = f"{metric},{line.filter}"
            measured = _measured(value, metric)
            if measured is None:
                text = "{metric} is no number and left out"
                source.warn_once("no-number", text, metric=name, field=metric, id=id_)
                continue
            total, weight = measured
            scores.append(Score(name, total, directions.get(name), weight))
        return Scored(
            id=id_,
            scores=scores,
            condition=results.model_name or None,
            text=line.question,
            further=line.further,
        )

    return source.rows(_lines(source), scored)


def _lines(source: Source) -> Records:
    return source.json_lines(Line)


def _measured(value: Any, field: str) -> tuple[float | None, float | None] | None:
    """A value without a denominator, or a pair of both; None for what is neither."""
    if isinstance(value, int | float | None):
        return number(value, field), None
    if isinstance(value, list) and all(isinstance(part, int | float) for part in value):
        parts = [number(part, field) for part in value]
        if len(parts) == 2 and parts[1] is not None and parts[1] > 0:
            return parts[0], parts[1]
    return None


def _overview(lines: Iterable[Line]) -> Overview:
    times: Counter[tuple[str, str | None]] = Counter()
    overview = Overview()
    for line in lines:
        times[line.filter, line.doc_hash] += 1
        for metric, value in line.values.items():
            name = f"{metric},{line.filter}"
            total, total_weight = overview.sums.get(name, (0.0, 0.0))
            with suppress(Unfit):  # reported when it is read as a score
                part, weight = _measured(value, metric) or (None, None)
                if part is not None:
                    overview.sums[name] = (total + part, total_weight + (weight or 1.0))
    for (_, doc_hash), n in times.items():
        if n > 1:
            overview.shared.add(doc_hash)
    return overview


def _direction(
    name: str,
    overview: Overview,
    results: Results,
    task: str,
    source: Source,
) -> bool | None:
    """Whether higher is better of the values of the samples; None where that is not known.

    lm-eval declares it of its own number, which may be another thing than the mean of the samples:
    the perplexity is exp(-mean) of log-likelihoods, of which more is better.
    """
    metric = name.partition(",")[0]
    declared = results.higher_is_better.get(task, {}).get(metric)
    if declared is None:
        declared = higher_is_better("lm-eval", metric)
    reported = results.results.get(task, {}).get(name)
    total, weight = overview.sums[name]
    mean = total / weight if weight else math.nan
    if isinstance(reported, int | float) and math.isfinite(reported) and math.isfinite(mean):
        if _is_equal(reported, mean):
            return declared
        perplexity = math.exp(min(-mean, 700))
        bits = -mean / math.log(2)
        if not (_is_equal(reported, perplexity) or _is_equal(reported, bits)):
            text = "lm-eval's {metric} is {reported:g}, not the mean of its samples ({mean:g})"
            values = {"metric": name, "reported": reported, "mean": mean}
            source.warn("not-the-mean", text, **values, field=metric)
            return None
    elif metric not in LOG_LIKELIHOODS:
        return declared
    text = (
        "{metric}: its samples hold log-likelihoods, of which more is better; "
        "lm-eval's own number grows as their mean falls"
    )
    source.warn("log-likelihood", text, metric=name, field=metric)
    return True


def _is_equal(reported: float, value: float) -> bool:
    return math.isclose(reported, value, rel_tol=1e-6, abs_tol=1e-9)
