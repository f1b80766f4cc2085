"""Rows of ragas: JSONL or CSV, a column a metric."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import ConfigDict, model_validator

from ..core.tables import csv_rows, written_list
from .source import Records, Row, Score, Source, score_rows

# columns of ragas before 0.2 -> their names since
OLD_NAMES = {
    "question": "user_input",
    "answer": "response",
    "contexts": "retrieved_contexts",
    "ground_truth": "reference",
    "ground_truths": "reference",
}

# as --sep names them -> the character
SEPARATORS = {",": ",", ";": ";", "|": "|", "tab": "\t"}

# metrics that are better the higher, and the one that is better the lower, by its documentation
HIGHER = [
    "answer_correctness",
    "answer_relevancy",
    "answer_similarity",
    "bleu_score",
    "context_entity_recall",
    "context_precision",
    "context_recall",
    "exact_match",
    "factual_correctness",
    "faithfulness",
    "non_llm_string_similarity",
    "rouge_score",
    "semantic_similarity",
    "string_present",
    "topic_adherence",
]
LOWER = "noise_sensitivity"


class Line(Row):
    """What describes a sample; every other column is a metric, or a text."""

    model_config = ConfigDict(extra="allow")
    id: Any = None
    user_input: Any
    response: Any = None
    reference: Any = None

    @model_validator(mode="before")
    @classmethod
    def _names_of_today(
        cls,
        fields: Any,
    ) -> Any:
        if not isinstance(fields, dict) or "user_input" in fields:
            return fields
        return {OLD_NAMES.get(name, name): value for name, value in fields.items()}

    @property
    def columns(self) -> dict[str, Any]:
        """The other columns that have a name."""
        return {name: value for name, value in (self.model_extra or {}).items() if name}


def read(
    source: Source,
    *,
    sep: str = ",",
    decimal: str = ".",
) -> Records:
    """The other columns are metrics where any of their values is a number; empty is not measured.

    `sep` and `decimal`: the separator (a key of SEPARATORS) and the decimal mark of a CSV file.
    """
    is_csv = source.path.suffix.lower() == ".csv"
    lines = list(_csv_lines(source, sep, decimal) if is_csv else source.json_lines(Line))
    metrics: dict[str, bool | None] = {}
    for _, line in lines:
        for name, value in line.columns.items():
            if isinstance(value, int | float):
                kind = name.partition("(")[0]  # factual_correctness(mode=f1)
                metrics[name] = True if kind in HIGHER else False if kind == LOWER else None

    def scored(
        count: int,
        line: Line,
    ) -> Iterator[dict[str, Any]]:
        texts = {name: value for name, value in line.columns.items() if name not in metrics}
        scores = []
        for name, is_higher in metrics.items():
            value = line.columns.get(name)
            scores.append(Score(name, None if value == "" else value, is_higher))
        text = line.user_input if isinstance(line.user_input, str) else None
        further = {"output": line.response, "target": line.reference, **texts}
        return score_rows(
            str(count),
            scores,
            further,
            text=text,
        )

    return source.rows(lines, scored)


def _csv_lines(
    source: Source,
    sep: str,
    decimal: str,
) -> Records:
    rows = csv_rows(source, SEPARATORS[sep])
    _, header = next(rows)
    if not {"user_input", "question"} & set(header):
        names = ", ".join(header)[:200]
        message = f"expected a column user_input (question, before ragas 0.2), got {names}"
        for name, mark in SEPARATORS.items():
            if len(header) == 1 and mark in header[0]:
                message = f"the cells are separated by {mark!r}: give --sep '{name}'"
                message += " and, where numbers have decimal commas, --decimal ,"
        raise source.fatal("wrong-format", message, line=1)
    for line, cells in rows:
        values: dict[str, Any] = {}
        for name, cell in zip(header, cells):
            # an answer of "007" is no number
            is_text = OLD_NAMES.get(name, name) in Line.model_fields
            values[name] = cell if is_text else _value(cell, decimal)
        yield line, Line(**values)


def _value(
    cell: str,
    decimal: str,
) -> Any:
    try:
        return float(cell.replace(decimal, "."))
    except ValueError:
        texts = written_list(cell)
        return cell if texts is None else texts
