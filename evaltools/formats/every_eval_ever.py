"""Samples in the schema of Every Eval Ever (0.3): UUID_samples.jsonl, beside it UUID.json."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pydantic import Field

from .rows import Row, Score, Scored, mapping, number
from .source import Records, Source

SAMPLES = "_samples.jsonl"
"""How the name of a file of samples ends; that of its evaluation ends with .json instead."""


class Input(Row):
    """What was asked, and the right answers."""

    raw: str
    reference: list[str] = Field(default_factory=list)


class Evaluation(Row):
    """The score of a sample."""

    score: float
    is_correct: bool


class Line(Row):
    """A sample under one of the results of an evaluation."""

    model_id: str
    evaluation_name: str
    evaluation_result_id: str | None = None
    sample_id: str
    input: Input
    output: dict[str, Any] | None = None
    evaluation: Evaluation
    error: str | None = None
    metadata: dict[str, Any] | None = None


class MetricConfig(Row):
    """What a result measures."""

    metric_name: str | None = None
    lower_is_better: bool


class Result(Row):
    """A result of the evaluation over all samples."""

    evaluation_name: str
    evaluation_result_id: str | None = None
    metric_config: MetricConfig


class Document(Row):
    """The evaluation that the samples belong to."""

    evaluation_results: list[Result] = Field(default_factory=list)


def read(source: Source) -> Records:
    """The score of an evaluation, and `NAME correct`; the model is the condition, an epoch the trial.

    The name of a metric is added where an evaluation has several results. Directions come from the
    evaluation's own file beside the samples; without it they are not known. A sample with an error
    is not measured.
    """
    results: list[Result] = []
    name = source.path.name
    if name.endswith(SAMPLES):
        document = source.beside(name.removesuffix(SAMPLES) + ".json", Document) or Document()
        results = document.evaluation_results
    times = Counter(result.evaluation_name for result in results)
    result_of: dict[str | None, Result] = {}
    for result in results:
        if times[result.evaluation_name] == 1:
            result_of.setdefault(result.evaluation_name, result)
        if result.evaluation_result_id:
            result_of[result.evaluation_result_id] = result

    def scored(_: int, line: Line) -> Scored:
        metric = line.evaluation_name
        result = result_of.get(line.evaluation_result_id) or result_of.get(metric)
        if result is not None and times[metric] > 1 and result.metric_config.metric_name:
            metric = f"{metric} {result.metric_config.metric_name}"
        score, is_correct = None, None
        if not line.error:
            score = number(line.evaluation.score, "evaluation.score")
            is_correct = float(line.evaluation.is_correct)
        is_higher = not result.metric_config.lower_is_better if result else None
        metadata = dict(line.metadata or {})
        epoch = metadata.pop("epoch", None)  # samples that came from Inspect
        further = {
            "output": mapping(line.output).get("raw"),
            "target": line.input.reference,
            "error": line.error,
            **metadata,
        }
        return Scored(
            id=line.sample_id,
            scores=[
                Score(metric, score, is_higher),
                Score(f"{metric} correct", is_correct, True),
            ],
            condition=line.model_id,
            trial=None if epoch is None else str(epoch),
            text=line.input.raw,
            further=further,
        )

    return source.rows(source.json_lines(Line, id_field="sample_id"), scored)
