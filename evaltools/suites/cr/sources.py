"""Which fields of a scorecard the tuples and labels of a sample come from; the first that is not empty wins.

Source: seed cr_metrics_spec section 2.
"""

from __future__ import annotations

from typing import Any

from .schema import Output, Scorecard, TraceEntry, TupleRow, first_id
from .tuples import term_of

FINAL_SOURCES = ("final_tuples", "final_aspects", "inputs_aspect_sentiments")


def at(record: Any, *names: str) -> Any:
    """What stands in a record under these names, one within the other; None where one of them is absent.

    >>> at(TupleRow(aspect_term="a"), "span", "start") is None
    True
    """
    for name in names:
        if record is None:
            return None
        record = getattr(record, name)
    return record


def output_of(card: Scorecard) -> Any:
    """The runner output that a scorecard wraps; None where it has none."""
    return at(card, "runtime", "parsed_output")


def profile_of(row: Any) -> str:
    """The profile of an output or scorecard: of its `meta`, else its own; "" where it names none."""
    return row.meta.profile or getattr(row, "profile", None) or ""


def text_id(row: Scorecard | Output) -> str:
    """The sample's id; "" where the record has none."""
    return first_id(row.meta.text_id, row.meta.uid)


def gold_rows(row: Any) -> list[TupleRow]:
    """gold_tuples, else gold_triplets, at top level or under inputs; empty where there are none."""
    for holder in (row, getattr(row, "inputs", None)):
        rows = at(holder, "gold_tuples") or at(holder, "gold_triplets")
        if rows:
            return rows
    return []


def process_trace(card: Scorecard) -> list[TraceEntry]:
    """What the agents did, in order: as the output has it, else as the scorecard has it."""
    return at(output_of(card), "process_trace") or at(card, "runtime", "process_trace") or []


def final_rows(card: Scorecard) -> tuple[str, list[TupleRow]]:
    """The tuples of the final result, after the one of FINAL_SOURCES that they come from.

    final_tuples; else final_aspects; else inputs.aspect_sentiments with a term that is not empty.
    """
    output = output_of(card)
    for source in ("final_tuples", "final_aspects"):
        rows = at(output, "final_result", source)
        if rows:
            return source, rows
    for holder in (card, output):
        rows = [row for row in at(holder, "inputs", "aspect_sentiments") or () if term_of(row)]
        if rows:
            break
    return "inputs_aspect_sentiments", rows


def stage1_rows(card: Scorecard) -> list[TupleRow]:
    """final_result.stage1_tuples; else those of the stage1/ATSA entry of the process trace; else empty."""
    rows = at(output_of(card), "final_result", "stage1_tuples")
    if rows:
        return rows
    for entry in process_trace(card):
        if (entry.stage or "").lower() == "stage1" and (entry.agent or "").upper() == "ATSA":
            rows = getattr(entry.output, "aspect_sentiments", None)
            if rows:
                return rows
    return []


def labels(output: Any) -> tuple[str | None, str | None]:
    """Sentence labels of stage 1 and of the final result; None where a stage gave none.

    stage1_ate.label against final_result.label, else stage2_ate.label.
    """
    final = at(output, "final_result", "label") or at(output, "stage2_ate", "label")
    return at(output, "stage1_ate", "label") or None, final or None
