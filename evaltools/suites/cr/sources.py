"""Which fields of a scorecard the tuples and labels of a sample come from; the first that is not empty wins.

Source: seed cr_metrics_spec section 2.
"""

from __future__ import annotations

from typing import NamedTuple

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

_EMPTY, _NO_RESULT = ParsedOutput(), FinalResult()


def output_of(card: Scorecard) -> ParsedOutput:
    """The runner output that a scorecard wraps (empty where it has none)."""
    return (card.runtime.parsed_output if card.runtime else None) or _EMPTY


def result_of(card: Scorecard) -> FinalResult:
    return output_of(card).final_result or _NO_RESULT


def text_id(row: Scorecard | Output) -> str:
    """The sample's id; "" where the record has none."""
    return first_id(row.meta.text_id, row.meta.uid)


def gold_rows(row: Scorecard | ParsedOutput | Gold) -> list[TupleRow]:
    """gold_tuples, else gold_triplets, at top level or under inputs; empty where there are none."""
    runtime = getattr(row, "runtime", None)
    output = runtime.parsed_output if runtime else None
    for holder in (row, getattr(row, "inputs", None), output, getattr(output, "inputs", None)):
        if holder is not None and (found := holder.gold_tuples or holder.gold_triplets):
            return found
    return []


def process_trace(card: Scorecard) -> list[TraceEntry]:
    """What the agents did, in order; as the output has it, else the scorecard."""
    return (
        output_of(card).process_trace
        or (card.runtime.process_trace if card.runtime else None)
        or []
    )


class Final(NamedTuple):
    rows: list[TupleRow]
    source: str


def final_rows(card: Scorecard) -> Final:
    """final_tuples; else final_aspects; else inputs.aspect_sentiments with a term that is not empty."""
    result = result_of(card)
    if result.final_tuples:
        return Final(result.final_tuples, "final_tuples")
    if result.final_aspects:
        return Final(result.final_aspects, "final_aspects")
    for holder in (card.inputs, output_of(card).inputs):
        if rows := [r for r in (holder.aspect_sentiments if holder else None) or [] if term_of(r)]:
            return Final(rows, "inputs_aspect_sentiments")
    return Final([], "inputs_aspect_sentiments")


def stage1_rows(card: Scorecard, final: Final) -> list[TupleRow]:
    """final_result.stage1_tuples; else the stage1/ATSA entry of the process trace; else the final tuples."""
    if given := result_of(card).stage1_tuples:
        return given
    for entry in process_trace(card):
        of_atsa = (entry.stage or "").lower() == "stage1" and (entry.agent or "").upper() == "ATSA"
        if of_atsa and (rows := getattr(entry.output, "aspect_sentiments", None)):
            return list(rows)
    return final.rows


def labels(card: Scorecard) -> dict[str, str | None]:
    """Sentence labels of stage 1 and of the final result; None where a stage gave none."""
    output = output_of(card)
    stage1 = output.stage1_ate or card.stage1_ate
    stage2 = output.stage2_ate or card.stage2_ate
    final = result_of(card).label or (stage2.label if stage2 else None)
    return {
        "label_stage1": (stage1.label if stage1 else None) or None,
        "label_final": final or None,
    }
