"""Which fields of a scorecard the tuples and labels of a sample come from; the first that is not empty wins.

Source: seed cr_metrics_spec section 2.
"""

from __future__ import annotations

from typing import NamedTuple

from .schema import Gold, Output, ParsedOutput, Scorecard, TupleRow, first_id
from .tuples import term_of

FINAL_SOURCES = ("final_tuples", "final_aspects", "inputs_aspect_sentiments")

_EMPTY = ParsedOutput()


def output_of(card: Scorecard) -> ParsedOutput:
    """The runner output that a scorecard wraps (empty where it has none)."""
    return (card.runtime.parsed_output if card.runtime else None) or _EMPTY


def text_id(row: Scorecard | Output) -> str:
    """The sample's id; "" where the record has none."""
    return first_id(row.meta.text_id, row.meta.uid)


def gold_rows(row: Scorecard | ParsedOutput | Gold) -> list[TupleRow]:
    """gold_tuples, else gold_triplets, at top level or under inputs; empty where there are none."""
    for holder in (row, getattr(row, "inputs", None)):
        if holder is not None:
            found = holder.gold_tuples or holder.gold_triplets
            if found:
                return found
    runtime = getattr(row, "runtime", None)
    if runtime is not None and runtime.parsed_output:
        return gold_rows(runtime.parsed_output)
    return []


class Final(NamedTuple):
    rows: list[TupleRow]
    source: str


def final_rows(card: Scorecard) -> Final:
    """final_tuples; else final_aspects; else inputs.aspect_sentiments with a term that is not empty."""
    result = output_of(card).final_result
    if result is not None and result.final_tuples:
        return Final(result.final_tuples, "final_tuples")
    if result is not None and result.final_aspects:
        return Final(result.final_aspects, "final_aspects")
    for holder in (card.inputs, output_of(card).inputs):
        rows = [r for r in (holder.aspect_sentiments if holder else None) or [] if term_of(r)]
        if rows:
            return Final(rows, "inputs_aspect_sentiments")
    return Final([], "inputs_aspect_sentiments")


def stage1_rows(card: Scorecard, final: Final) -> list[TupleRow]:
    """final_result.stage1_tuples; else the stage1/ATSA entry of the process trace; else the final tuples."""
    output = output_of(card)
    if output.final_result is not None and output.final_result.stage1_tuples:
        return output.final_result.stage1_tuples
    for entry in output.process_trace or (card.runtime.process_trace if card.runtime else None) or []:
        if (entry.stage or "").lower() == "stage1" and (entry.agent or "").upper() == "ATSA":
            rows = getattr(entry.output, "aspect_sentiments", None)
            if rows:
                return list(rows)
    return final.rows


def labels(card: Scorecard) -> tuple[str | None, str | None]:
    """Sentence labels of stage 1 and of the final result; None where a stage gave none."""
    output = output_of(card)
    stage1 = output.stage1_ate or card.stage1_ate
    stage2 = output.stage2_ate or card.stage2_ate
    final = output.final_result.label if output.final_result else None
    return (stage1.label if stage1 else None) or None, final or (stage2.label if stage2 else None) or None
