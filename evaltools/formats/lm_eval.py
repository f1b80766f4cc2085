"""Samples of lm-evaluation-harness: samples_TASK_DATE.jsonl, beside it results_DATE.json."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from contextlib import suppress
from statistics import fmean
from typing import Any

from pydantic import ConfigDict, Field

from ..core.json_files import read_json
from ..core.records import fitted
from .source import Records, Row, Score, Scored, Source, Unfit, higher_is_better, mapping, number

NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT.+)\.jsonl")

# fields of a document that hold what is asked, the likeliest first
QUESTIONS = ("question", "query", "text", "input", "prompt", "problem", "sentence", "goal", "ctx")

# metrics of which a sample holds the log-likelihood, or a pair of it and of a number of tokens
LOG_LIKELIHOODS = ("perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte")


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
    filtered_resps: list[Any] | None = None
    prompt_hash: Any = None
    target_hash: Any = None

    @property
    def values(self) -> dict[str, Any]:
        """Metric -> its value on the sample."""
        fields = self.model_extra or {}
        if self.metrics is not None:
            return {metric: fields.get(metric) for metric in self.metrics}
        return {name: value for name, value in fields.items() if isinstance(value, int | float)}


class Results(Row):
    """The file of results: the model, and of each task its numbers and the directions of its metrics."""

    model_name: str | None = None
    results: dict[str, dict[str, Any]] = Field(default_factory=dict)
    higher_is_better: dict[str, dict[str, bool | None]] = Field(default_factory=dict)


def read(source: Source) -> Records:
    """A metric is `NAME,FILTER`; its value is a number at the top of the line.

    The id is doc_hash, or doc_id where that is absent or several samples share it. What is no
    number is not measured; a metric without any number is left out. Both are counted and said.
    From the results beside the file, where they are there: the direction of each metric and the
    model's name as the condition.
    """
    lines = list(source.json_lines(Line))
    times = Counter((line.filter, line.doc_hash) for _, line in lines)
    shared = {doc_hash for (_, doc_hash), n in times.items() if n > 1}
    values: defaultdict[str, list[float]] = defaultdict(list)
    no_numbers: Counter[str] = Counter()
    for _, line in lines:
        for metric, value in line.values.items():
            name = f"{metric},{line.filter}"
            if not _is_score(metric, value):
                no_numbers[name] += 1
                continue
            of_metric = values[name]
            with suppress(Unfit):  # reported when it is read as a score
                measured = number(value, metric)
                if measured is not None:
                    of_metric.append(measured)
    results = _results(source)
    source.warn_of_no_numbers(no_numbers, values)
    directions = {name: _direction(name, found, results, source) for name, found in values.items()}

    def scored(_: int, line: Line) -> Scored:
        scores = []
        for metric, value in line.values.items():
            name = f"{metric},{line.filter}"
            if isinstance(value, list) and _is_score(metric, value):
                if len(value) != 2:
                    message = "expected a log-likelihood and a number of tokens"
                    raise Unfit(metric, message, got=value)
                total, n_tokens = [number(part, metric) for part in value]
                scores.append(Score(name, total, True, n_tokens))
            elif name in directions:
                measured = value if _is_score(metric, value) else None
                scores.append(Score(name, number(measured, metric), directions[name]))
        question = _question(line)
        document = {key: text for key, text in mapping(line.doc).items() if text != question}
        # else the likelihoods of the choices
        answers = [answer for answer in line.filtered_resps or () if isinstance(answer, str)]
        is_own = line.doc_hash and line.doc_hash not in shared
        return Scored(
            id=str(line.doc_hash if is_own else line.doc_id),
            scores=scores,
            condition=results.model_name or None,
            text=question,
            further={"output": answers, "target": line.target, **document},
        )

    return source.rows(lines, scored)


def _results(source: Source) -> Results:
    """The results beside the samples, where they are there; the task becomes that of the source."""
    name = NAME.fullmatch(source.path.name)
    if name is None:
        return Results()
    source.task = name["task"]
    file = source.path.with_name(f"results_{name['date']}.json")
    if not file.is_file():
        return Results()
    content = read_json(file, source.problems)
    return fitted(Results, content, source.problems, file=file) or Results()


def _question(line: Line) -> str | None:
    """What was asked: a field of the document, else the whole prompt."""
    document = mapping(line.doc)
    for name in QUESTIONS:
        text = document.get(name)
        if text and isinstance(text, str):
            return text
    prompt: Any = line.arguments
    while isinstance(prompt, dict | list) and prompt:
        prompt = next(iter(prompt.values())) if isinstance(prompt, dict) else prompt[0]
    return prompt if isinstance(prompt, str) else None


def _is_score(metric: str, value: Any) -> bool:
    """Whether a value is a number, not measured, or a log-likelihood with its number of tokens."""
    if isinstance(value, list):
        return metric in LOG_LIKELIHOODS
    return isinstance(value, int | float | None)


def _direction(
    name: str,
    values: list[float],
    results: Results,
    source: Source,
) -> bool | None:
    """Whether more is better of the values of the samples; None where that is not known.

    lm-eval declares the direction of its own number. Where that is not the mean of the samples the
    direction of theirs is not known, but for the perplexity: it is exp(-mean) of log-likelihoods, of
    which more is better.
    """
    metric = name.partition(",")[0]
    if metric in LOG_LIKELIHOODS:
        message = (
            f"{name}: its samples hold log-likelihoods, of which more is better; "
            "lm-eval's own number grows as their mean falls"
        )
        source.warn("log-likelihood", message, field=metric)
        return True
    reported = None
    with suppress(Unfit):
        reported = number(results.results.get(source.task, {}).get(name), name)
    if reported is not None and values:
        mean = fmean(values)
        if not math.isclose(reported, mean, rel_tol=1e-6, abs_tol=1e-9):
            message = f"lm-eval's {name} is {reported:g}, not the mean of its samples ({mean:g})"
            source.warn("not-the-mean", message, field=metric)
            return None
    declared = results.higher_is_better.get(source.task, {}).get(metric)
    return higher_is_better("lm-eval", metric) if declared is None else declared
