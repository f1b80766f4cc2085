"""Rows of ragas: JSONL or CSV, a column a metric."""

from typing import Any

from pydantic import AliasChoices, Field

from ..core.files import Fields, dumps, ending
from ..core.tables import TABLES, read_table, written_list
from .source import Records, Row, Score, Source, score_rows

# columns of ragas before 0.2 -> their names since
OLD_NAMES = {
    "question": "user_input",
    "answer": "response",
    "contexts": "retrieved_contexts",
    "ground_truth": "reference",
    "ground_truths": "reference",
}

# whether higher is better, by its documentation
DIRECTIONS = {"noise_sensitivity": False} | dict.fromkeys(
    [
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
    ],
    True,
)

HINT = "--sep and --decimal name other separators and decimal commas"


class Line(Row, extra="allow"):
    """What describes a sample; every other column is a metric, or a text."""

    id: Any = None
    user_input: Any = Field(
        validation_alias=AliasChoices("user_input", "question"),
        description=f"question, before ragas 0.2; {HINT}",
    )
    response: Any = Field(None, validation_alias=AliasChoices("response", "answer"))
    reference: Any = Field(
        None, validation_alias=AliasChoices("reference", "ground_truth", "ground_truths")
    )

    @property
    def columns(self) -> Fields:
        """The other columns."""
        return self.model_extra or {}


def read(
    source: Source,
    *,
    sep: str = ",",
    decimal: str = ".",
) -> Records:
    """The other columns are metrics where any of their values is a number; empty is not measured.

    `sep` and `decimal`: the separator ("tab" for that) and the decimal mark of a CSV file.
    """
    records = read_table(
        source,
        Line,
        lambda name: OLD_NAMES.get(name, name),
        sep.replace("tab", "\t"),
    )
    # what cannot be read takes its number all the same
    lines = [
        (number + source.problems.count("error"), place, line)
        for number, (place, line) in enumerate(records, 1 - source.problems.count("error"))
    ]
    metrics = {}
    for *_, line in lines:
        for name, value in line.columns.items():
            if ending(source.path) in TABLES:
                value = line.columns[name] = _value(value, decimal)
            if isinstance(value, int | float):
                # factual_correctness(mode=f1)
                metrics[name] = DIRECTIONS.get(name.partition("(")[0])
    if not metrics:
        raise source.fatal("no-metric", f"no column holds a number; {HINT}")
    for number, place, line in lines:
        texts = {name: value for name, value in line.columns.items() if name not in metrics}
        values = {name: line.columns.get(name) for name in metrics}
        text = line.user_input
        rows = score_rows(
            str(number),
            [
                Score(
                    name,
                    None if value == "" else value,
                    metrics[name],
                )
                for name, value in values.items()
            ],
            {"output": line.response, "target": line.reference, **texts},
            text=text if isinstance(text, str | None) else dumps(text),
        )
        yield place, rows


def _value(
    cell: str | None,
    decimal: str,
) -> Any:
    """What a cell holds: a number, a list of texts or a text; null of an empty one."""
    if not cell:
        return None
    try:
        # Python takes a code such as 20_1 for a number
        return float(cell.translate({ord("_"): " ", ord("."): " ", ord(decimal): "."}))
    except ValueError:
        texts = written_list(cell)
        return cell if texts is None else texts
