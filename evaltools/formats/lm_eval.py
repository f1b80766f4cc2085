"""Samples of lm-evaluation-harness: samples_TASK_DATE.jsonl, beside it results_DATE.json."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from statistics import fmean
from typing import Any

from pydantic import ConfigDict

from ..core.json_files import read_json
from ..core.records import File
from .source import Records, Row, Score, Source, Unfit, at, number, score_rows

NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT.+)\.jsonl")

# fields of a document that hold what is asked, the likeliest first
QUESTIONS = ("question", "query", "text", "input", "prompt", "problem", "sentence", "goal", "ctx")

# metrics of which a sample holds the log-likelihood, or a pair of it and of a number of tokens
LOG_LIKELIHOODS = ("perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte")

# directions in its registry, for samples without their results
HIGHER = ["acc", "acc_norm", "bleu", "chrf", "exact_match", "f1", "likelihood", "mcc"]
LOWER = ["brier_score", "ter"]


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
    filtered_resps: list[Any] | None = None

    @property
    def scores(self) -> list[Score]:
        """Metric -> its value on the sample, a pair where it is a log-likelihood and its number of tokens."""
        fields = self.model_extra or {}
        names = self.metrics
        if names is None:
            names = [name for name, value in fields.items() if isinstance(value, int | float)]
        scores = []
        for name in names:
            value = fields.get(name)
            if isinstance(value, list) and name in LOG_LIKELIHOODS and len(value) == 2:
                value = tuple(value)
            elif isinstance(value, str):
                value = [value]  # no number, as a list is none
            scores.append(Score(f"{name},{self.filter}", value))
        return scores


def read(source: Source) -> Records:
    """A metric is `NAME,FILTER`; its value is a number at the top of the line.

    The id is doc_hash, or doc_id where that is absent or several samples share it. From the results
    beside the file, where they are there: the direction of each metric and the model's name as the
    condition.
    """
    lines = list(source.json_lines(Line))
    results = _results(source)
    times = Counter((line.filter, line.doc_hash) for _, line in lines)
    shared = {doc_hash for (_, doc_hash), n in times.items() if n > 1}

    def scored(
        _: int,
        line: Line,
    ) -> Iterator[dict[str, Any]]:
        question = _question(line)
        document = line.doc if isinstance(line.doc, dict) else {}
        # else the likelihoods of the choices
        answers = [answer for answer in line.filtered_resps or () if isinstance(answer, str)]
        texts = {key: text for key, text in document.items() if text != question}
        is_own = line.doc_hash and line.doc_hash not in shared
        return score_rows(
            str(line.doc_hash if is_own else line.doc_id),
            line.scores,
            {"output": answers, "target": line.target, **texts},
            condition=at(results, "model_name", kind=str) or None,
            text=question,
        )

    rows = list(source.rows(lines, scored))
    values: defaultdict[str, list[float]] = defaultdict(list)
    for _, row in rows:
        value = row.get("value")
        if not isinstance(value, list | dict):
            values[row["metric"]] += [] if value is None else [value]
    directions = {
        name: _direction(
            name,
            found,
            results,
            source,
        )
        for name, found in values.items()
    }
    for place, row in rows:
        yield place, {**row, "higher_is_better": directions.get(row["metric"])}


def _results(source: Source) -> Any:
    """The JSON of the results beside the samples, where they are there; the task becomes that of the source."""
    name = NAME.fullmatch(source.path.name)
    if name is None:
        return None
    source.task = name["task"]
    file = source.path.with_name(f"results_{name['date']}.json")
    return read_json(File(file, source.problems)) if file.is_file() else None


def _question(line: Line) -> str | None:
    """What was asked: a field of the document, else the whole prompt."""
    for name in QUESTIONS:
        text = at(line.doc, name, kind=str)
        if text:
            return text
    prompt: Any = line.arguments
    while isinstance(prompt, dict | list) and prompt:
        prompt = next(iter(prompt.values())) if isinstance(prompt, dict) else prompt[0]
    return prompt if isinstance(prompt, str) else None


def _direction(
    name: str,
    values: list[Any],
    results: Any,
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
    with suppress(Unfit):
        reported = number(
            at(
                results,
                "results",
                source.task,
                name,
            ),
            name,
        )
        mean = fmean(values) if values else math.nan
        is_mean = math.isnan(mean) or math.isclose(
            reported or 0,
            mean,
            rel_tol=1e-6,
            abs_tol=1e-9,
        )
        if reported is not None and not is_mean:
            message = f"lm-eval's {name} is {reported:g}, not the mean of its samples ({mean:g})"
            source.warn("not-the-mean", message, field=metric)
            return None
    declared = at(
        results,
        "higher_is_better",
        source.task,
        metric,
        kind=bool,
    )
    if declared is None and metric in HIGHER + LOWER:
        return metric in HIGHER
    return declared
