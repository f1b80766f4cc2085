"""Which fields of a scorecard the tuples and labels of a sample come from; the first that is not empty wins.

Source: seed cr_metrics_spec section 2.
"""

from __future__ import annotations

from typing import Any

from .schema import (
    FinalResult,
    Gold,
    Output,
    ParsedOutput,
    Scorecard,
    TraceEntry,
    TupleRow,
    first_id,
)
from .tuples import term_of

FINAL_SOURCES = ("final_tuples", "final_aspects", "inputs_aspect_sentiments")

_NO_OUTPUT = ParsedOutput()
_NO_RESULT = FinalResult()


def output_of(card: Scorecard) -> ParsedOutput:
    """The runner output that a scorecard wraps; an empty one where it has none."""
    return (card.runtime and card.runtime.parsed_output) or _NO_OUTPUT


def result_of(card: Scorecard) -> FinalResult:
    """The final result of the runner output; an empty one where it has none."""
    return output_of(card).final_result or _NO_RESULT


def profile_of(row: Any) -> str:
    """The profile of an output or scorecard: of its `meta`, else its own; "" where it names none."""
    return row.meta.profile or getattr(row, "profile", None) or ""


def text_id(row: Scorecard | Output) -> str:
    """The sample's id; "" where the record has none."""
    return first_id(row.meta.text_id, row.meta.uid)


def gold_rows(row: Scorecard | ParsedOutput | Gold) -> list[TupleRow]:
    """gold_tuples, else gold_triplets, at top level or under inputs; empty where there are none."""
    for holder in (row, getattr(row, "inputs", None)):
        rows = holder and (holder.gold_tuples or holder.gold_triplets)
        if rows:
            return rows
    return []


def process_trace(card: Scorecard) -> list[TraceEntry]:
    """What the agents did, in order: as the output has it, else as the scorecard has it."""
    return output_of(card).process_trace or (card.runtime and card.runtime.process_trace) or []


def final_rows(card: Scorecard) -> tuple[str, list[TupleRow]]:
    """The tuples of the final result, after the one of FINAL_SOURCES that they come from.

    final_tuples; else final_aspects; else inputs.aspect_sentiments with a term that is not empty.
    """
    result = result_of(card)
    if result.final_tuples:
        return "final_tuples", result.final_tuples
    if result.final_aspects:
        return "final_aspects", result.final_aspects
    for inputs in (card.inputs, output_of(card).inputs):
        sentiments = (inputs and inputs.aspect_sentiments) or ()
        rows = [row for row in sentiments if term_of(row)]
        if rows:
            return "inputs_aspect_sentiments", rows
    return "inputs_aspect_sentiments", []


def stage1_rows(card: Scorecard) -> list[TupleRow]:
    """final_result.stage1_tuples; else those of the stage1/ATSA entry of the process trace; else empty."""
    rows = result_of(card).stage1_tuples
    if rows:
        return rows
    for entry in process_trace(card):
        if (entry.stage or "").lower() == "stage1" and (entry.agent or "").upper() == "ATSA":
            rows = getattr(entry.output, "aspect_sentiments", None)
            if rows:
                return rows
    return []


def labels(output: ParsedOutput) -> tuple[str | None, str | None]:
    """Sentence labels of stage 1 and of the final result; None where a stage gave none.

    stage1_ate.label against final_result.label, else stage2_ate.label.
    """
    stage1, stage2, result = output.stage1_ate, output.stage2_ate, output.final_result
    final_label = (result and result.label) or (stage2 and stage2.label)
    return (stage1 and stage1.label) or None, final_label or None
