"""Samples in the schema of Every Eval Ever (0.3): UUID_samples.jsonl, beside it UUID.json."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pydantic import Field

from .rows import Row, Score, Scored, number
from .source import Records, Source

SAMPLES = "_samples.jsonl"
"""How the name of a file of samples ends; that of its evaluation ends with .json instead."""


class Input(Row):
    """What was asked, and the right answers."""

    raw: str
    reference: list[str] = Field(default_factory=list)


class Output(Row):
    """What the model answered."""

    raw: list[str] = Field(default_factory=list)


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
    output: Output | None = None
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
    results = _results(source)
    times = Counter(result.evaluation_name for result in results)

    def scored(_: int, line: Line) -> Scored:
        result = _result_of(line, results)
        metric = line.evaluation_name
        if result is not None and times[metric] > 1 and result.metric_config.metric_name:
            metric = f"{metric} {result.metric_config.metric_name}"
        score, is_correct = None, None
        if not line.error:
            score = number(line.evaluation.score, "evaluation.score")
            is_correct = float(line.evaluation.is_correct)
        is_higher = None if result is None else not result.metric_config.lower_is_better
        metadata = dict(line.metadata or {})
        epoch = metadata.pop("epoch", None)  # samples that came from Inspect
        further = {
            "output": line.output.raw if line.output else None,
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


def _result_of(line: Line, results: list[Result]) -> Result | None:
    """The result that a sample belongs to: by its id, else the only one of its name."""
    same_name = []
    for result in results:
        if line.evaluation_result_id and result.evaluation_result_id == line.evaluation_result_id:
            return result
        if result.evaluation_name == line.evaluation_name:
            same_name.append(result)
    return same_name[0] if len(same_name) == 1 else None


def _results(source: Source) -> list[Result]:
    """The results in the file beside the samples; none where there is no such file."""
    name = source.path.name
    if not name.endswith(SAMPLES):
        return []
    document = source.beside(name.removesuffix(SAMPLES) + ".json", Document)
    return document.evaluation_results if document else []
