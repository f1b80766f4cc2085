"""A record with its tuples in normal form, before anything is counted.

Sources: seed cr_metrics_spec sections 1-4; decisions D1, D7.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .matching import Rank
from .schema import Meta, ParsedOutput, Scorecard, TupleRow
from .sources import Final, output_of, stage1_rows
from .tuples import EvalTuple, eval_tuple

PREDICTIONS = "predictions"
"""The `protocol_mode` of tuples that no review has seen: of any system, not of a run of the protocol (D25)."""


class Sample(NamedTuple):
    """A record with its tuples in normal form.

    `gold`, `stage1` and `final` are without duplicates, in order of appearance. `final_read` are the tuples of the
    final result one by one, as `final_rows.rows` has them, and `ranks` says how well each represents its aspect.
    `protocol` is False for predictions that no review has seen.
    """

    line: int
    text_id: str
    card: Scorecard
    output: ParsedOutput
    protocol: bool
    text: str
    gold_rows: Sequence[TupleRow]
    final_rows: Final
    gold: tuple[EvalTuple, ...]
    stage1: tuple[EvalTuple, ...]
    final: tuple[EvalTuple, ...]
    final_read: list[EvalTuple]
    ranks: list[Rank]


def make_sample(
    line: int,
    text_id: str,
    card: Scorecard,
    gold_rows: Sequence[TupleRow],
    final: Final,
) -> Sample:
    """The Sample of a scorecard with these gold tuples and the final tuples that count."""
    output = output_of(card)
    metas = [card.meta, output.meta or Meta()]
    modes = {meta.protocol_mode for meta in metas}
    texts = [meta.input_text for meta in metas if meta.input_text]
    gold = [eval_tuple(row, gold=True) for row in gold_rows]
    stage1 = [eval_tuple(row) for row in stage1_rows(card, final)]
    final_read = [eval_tuple(row) for row in final.rows]
    ranks = [rank(row, read.term) for row, read in zip(final.rows, final_read)]
    return Sample(
        line=line,
        text_id=text_id,
        card=card,
        output=output,
        protocol=PREDICTIONS not in modes,
        text=texts[0] if texts else "",
        gold_rows=gold_rows,
        final_rows=final,
        gold=_distinct(gold),
        stage1=_distinct(stage1),
        final=_distinct(final_read),
        final_read=final_read,
        ranks=ranks,
    )


def _distinct(tuples: Iterable[EvalTuple]) -> tuple[EvalTuple, ...]:
    return tuple(dict.fromkeys(tuples))


def rank(row: TupleRow, term: str) -> Rank:
    """How well a tuple represents its aspect: grounded explicitly, confident, not dropped. Section 3.4.

    Grounding is explicit where the tuple says so, or says nothing and has a term. A missing confidence ranks lowest.
    """
    if row.grounding:
        explicit = row.grounding.strip().lower() == "explicit"
    else:
        explicit = term != ""
    confidence = -1.0 if row.confidence is None else row.confidence
    return explicit, confidence, not row.drop_reason
