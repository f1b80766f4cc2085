"""A record with its tuples in normal form, before anything is counted; and what is doubtful about it.

Sources: seed cr_metrics_spec sections 1-4; decisions D1, D7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple
from unicodedata import is_normalized

from .matching import Rank
from .schema import ParsedOutput, Scorecard, TupleRow
from .sources import final_rows, output_of, stage1_rows
from .tuples import KNOWN, MatchPolicy, ReadTuple, read_tuple

PREDICTIONS = "predictions"
"""The `protocol_mode` of tuples that no review has seen: of any system, not of a run of the protocol (D25)."""

UNKNOWN_POLARITY = "polarity {polarity} of tuple {i} counts as neutral; expected one of {known}"
SPAN_OUTSIDE_TEXT = "span [{start}, {end}] of tuple {i} is not within the text's {n} characters"
NO_REF = "tuple {i} has no aspect_ref; it takes no part in the metrics by ref"
DECOMPOSED = "the text is in decomposed Unicode; spans are taken in it as it came, and texts are compared composed (NFC)"
DECOMPOSED_TERM = "the term of tuple {i} is in decomposed Unicode; it is compared composed (NFC)"


class Sample(NamedTuple):
    """A record with its tuples.

    `gold`, `stage1` and `final` are in order of appearance, each normal form once. `gold_read` and `final_read` are
    the tuples one by one, as `gold_rows` and `final_rows` have them; `source` is that of the final ones. `protocol`
    is False for predictions that no review has seen.
    """

    card: Scorecard
    output: ParsedOutput
    protocol: bool
    text: str
    gold_rows: Sequence[TupleRow]
    gold_read: list[ReadTuple]
    gold: list[ReadTuple]
    stage1: list[ReadTuple]
    source: str
    final_rows: Sequence[TupleRow]
    final_read: list[ReadTuple]
    final: list[ReadTuple]


def make_sample(
    card: Scorecard,
    gold_rows: Sequence[TupleRow],
    policy: MatchPolicy,
) -> Sample:
    """The Sample of a scorecard with these gold tuples."""
    source, rows = final_rows(card)
    gold_read = [read_tuple(row, policy, gold=True) for row in gold_rows]
    stage1_read = [read_tuple(row, policy) for row in stage1_rows(card) or rows]
    final_read = [read_tuple(row, policy) for row in rows]
    return Sample(
        card=card,
        output=output_of(card),
        protocol=card.meta.protocol_mode != PREDICTIONS,
        text=card.meta.input_text or "",
        gold_rows=gold_rows,
        gold_read=gold_read,
        gold=_distinct(gold_read),
        stage1=_distinct(stage1_read),
        source=source,
        final_rows=rows,
        final_read=final_read,
        final=_distinct(final_read),
    )


def _distinct(tuples: Iterable[ReadTuple]) -> list[ReadTuple]:
    by_normal_form = {read.normal: read for read in tuples}
    return list(by_normal_form.values())


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


def warn_of_doubts(sample: Sample, warn: Callable[..., None]) -> None:
    """Warn of decomposed text, unknown polarities, tuples without ref, and spans outside the text.

    A tuple without ref is one where the gold of the sample has refs, so that it is left out by ref-pol. `warn` is
    `Problems.warn` with the place of the sample.
    """
    text = sample.text
    if not is_normalized("NFC", text):
        warn("decomposed-text", DECOMPOSED, field="meta.input_text")
    has_refs = any(gold.normal.ref for gold in sample.gold)
    for field, tuples in (("gold_tuples", sample.gold_read), ("final_tuples", sample.final_read)):
        for i, read in enumerate(tuples):
            if read.polarity and read.polarity not in KNOWN:
                known, polarity = tuple(sorted(KNOWN)), repr(read.polarity)
                warn(
                    "unknown-polarity",
                    UNKNOWN_POLARITY,
                    polarity=polarity,
                    i=i,
                    known=known,
                    field=field,
                )
            if has_refs and not read.normal.ref:
                warn("invalid-refs", NO_REF, i=i, field=field)
            if not read.is_composed:
                warn("decomposed-text", DECOMPOSED_TERM, i=i, field=field)
    for i, row in enumerate(sample.gold_rows):
        span = row.span
        if span is not None and not 0 <= span.start <= span.end <= len(text):
            place = {"start": span.start, "end": span.end, "i": i, "n": len(text)}
            warn("span-outside-text", SPAN_OUTSIDE_TEXT, **place, field="gold_tuples")
