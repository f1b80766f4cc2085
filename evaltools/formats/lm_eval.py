"""Samples of lm-evaluation-harness: samples_TASK_DATE.jsonl, beside it results_DATE.json."""

import re
from collections import Counter
from typing import Any

from pydantic import Field

from ..core.records import read_jsonl, read_model
from .source import Records, Row, Score, Source, at, score_rows

NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT.+)\.jsonl")

# fields of a document that hold what is asked, the likeliest first
QUESTIONS = ("question", "query", "text", "input", "prompt", "problem", "sentence", "goal", "ctx")

# metrics of which a sample holds the log-likelihood, or a pair of it and of a number of tokens
LOG_LIKELIHOODS = ("perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte")

# whether higher is better in its registry, for samples without their results
REGISTERED = dict.fromkeys(["acc", "acc_norm", "exact_match", "f1"], True)


class Results(Row):
    """What stands beside the samples: of each task and metric whether higher is better."""

    model_name: str | None = None
    higher_is_better: dict[str, dict[str, bool | None]] = Field({})


class Line(Row, extra="allow"):
    """A sample under a filter; each of `metrics` stands in a field of its own.

    Logs of 2024 have neither `metrics` nor `filter`: there every other number is a metric.
    """

    doc_id: int
    doc_hash: str | None = None
    filter: str = "none"
    metrics: list[str] | None = None
    doc: dict[str, Any] = Field({})
    target: Any = None
    arguments: Any = None
    filtered_resps: list[Any] | None = None

    @property
    def values(self) -> dict[str, Any]:
        """Metric -> its value on the sample, a pair where it is a log-likelihood and its number of tokens."""
        fields = self.model_extra or {}
        names = self.metrics
        if names is None:
            names = [name for name, value in fields.items() if isinstance(value, int | float)]
        values = {name: fields.get(name) for name in names}
        for name, value in values.items():
            if isinstance(value, list) and name in LOG_LIKELIHOODS and len(value) == 2:
                values[name] = tuple(value)
            elif isinstance(value, str):
                values[name] = [value]  # no number, as a list is none
        return values


def read(source: Source) -> Records:
    """A metric is `NAME,FILTER`; its value is a number at the top of the line.

    The id is doc_hash, or doc_id where that is absent or several samples share it. From the results
    beside the file, where they are there: the direction of each metric and the model's name as the
    condition.
    """
    lines = list(read_jsonl(source, Line))
    results = Results()
    if name := NAME.fullmatch(source.path.name):
        source.task = name["task"]
        file = source.path.with_name(f"results_{name['date']}.json")
        if file.is_file():
            results = read_model(file, Results)
    # of a perplexity, exp(-mean), the samples hold log-likelihoods, of which more is better
    directions = (
        REGISTERED
        | results.higher_is_better.get(source.task, {})
        | dict.fromkeys(LOG_LIKELIHOODS, True)
    )
    times = Counter((line.filter, line.doc_hash) for _, line in lines)
    shared = {doc_hash for (_, doc_hash), n in times.items() if n > 1}
    for place, line in lines:
        question = _question(line)
        # else the likelihoods of the choices
        answers = [answer for answer in line.filtered_resps or () if isinstance(answer, str)]
        texts = {key: text for key, text in line.doc.items() if text != question}
        is_own = line.doc_hash and line.doc_hash not in shared
        rows = score_rows(
            str(line.doc_hash if is_own else line.doc_id),
            [
                Score(
                    f"{name},{line.filter}",
                    value,
                    directions.get(name),
                )
                for name, value in line.values.items()
            ],
            {"output": answers, "target": line.target, **texts},
            condition=results.model_name,
            text=question,
        )
        yield place, rows


def _question(line: Line) -> str | None:
    """What was asked: a field of the document, else the whole prompt."""
    for name in QUESTIONS:
        if text := at(line.doc, name, kind=str):
            return text
    prompt = line.arguments
    while isinstance(prompt, dict | list) and prompt:
        prompt = list(prompt.values()) if isinstance(prompt, dict) else prompt[0]
    return prompt if isinstance(prompt, str) else None
