"""What is read of one record, before anything is counted.

Sources: seed cr_metrics_spec sections 1-4, seed cr_hallucination_rate; decisions D1, D7, D10.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .matching import Rank
from .options import CrOptions
from .schema import Aspect, ParsedOutput, Scorecard, TupleRow
from .scorecard import DROP_REASONS, drop_reason
from .sources import Final, output_of, process_trace, result_of, stage1_rows
from .tuples import (
    POLARITIES,
    EvalTuple,
    collapse,
    eval_tuple,
    given_polarity,
    polarity_of,
    term_key,
)

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
    line: int, text_id: str, card: Scorecard, gold_rows: Sequence[TupleRow], final: Final
) -> Sample:
    """The Sample of a scorecard with these gold tuples and the final tuples that count."""
    output = output_of(card)
    modes = {card.meta.protocol_mode, output.meta.protocol_mode if output.meta else None}
    gold = [eval_tuple(row, gold=True) for row in gold_rows]
    stage1 = [eval_tuple(row) for row in stage1_rows(card, final)]
    final_read = [eval_tuple(row) for row in final.rows]
    return Sample(
        line=line,
        text_id=text_id,
        card=card,
        output=output,
        protocol=PREDICTIONS not in modes,
        text=card.meta.input_text or (output.meta.input_text if output.meta else None) or "",
        gold_rows=gold_rows,
        final_rows=final,
        gold=_distinct(gold),
        stage1=_distinct(stage1),
        final=_distinct(final_read),
        final_read=final_read,
        ranks=[rank(row, t.term) for row, t in zip(final.rows, final_read)],
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


def parse_failed(card: Scorecard) -> bool:
    """Whether the runner could not read the model's reply, by any of the signs that it leaves. Section 3.5."""
    output = output_of(card)
    for flags in (card.flags, output.flags):
        if flags is not None and (flags.parse_failed or flags.generate_failed):
            return True
    if output.error or (card.runtime is not None and card.runtime.error):
        return True
    for entry in process_trace(card):
        notes = bytes(entry.notes) if entry.notes is not None else b""
        if b"atsa_parse" in notes or b"json_parse" in notes:
            return True
    return False


class Implicit(NamedTuple):
    """The predicted polarities against those of implicit gold, and whether the prediction is invalid."""

    tp: int = 0
    fp: int = 0
    fn: int = 0
    invalid: bool = False


def implicit_polarities(sample: Sample, failed: bool) -> Implicit:
    """How the sample fares on its implicit gold; zeros where it has none. Sections 3.2, 3.5.

    Counts are of the valid polarities (positive, negative, neutral) of implicit gold and of all final tuples. Invalid
    means: no valid polarity is predicted, the reply could not be read (`failed`), or some final tuple lacks its
    polarity.
    """
    if all(t.term for t in sample.gold):
        return Implicit()
    wanted = set()
    for row in sample.gold_rows:
        if not eval_tuple(row, gold=True).term:
            wanted.add(given_polarity(polarity_of(row)))
    wanted &= set(POLARITIES)
    predicted = {given_polarity(polarity_of(row)) for row in sample.final_rows.rows}
    predicted &= set(POLARITIES)
    invalid = not predicted or failed or _lacks_polarity(sample)
    if not wanted:
        return Implicit(invalid=invalid)
    return Implicit(
        tp=len(wanted & predicted),
        fp=len(predicted - wanted),
        fn=len(wanted - predicted),
        invalid=invalid,
    )


def _lacks_polarity(sample: Sample) -> bool:
    """Whether some tuple of the final result carries no polarity (forbidden neutral fallback)."""
    rows = [*sample.final_rows.rows, *(result_of(sample.card).final_aspects or ())]
    return any(not given_polarity(polarity_of(row)) for row in rows)


class Risks(NamedTuple):
    """Whether the validator found a stage-1 risk, a stage-2 risk, a NEGATION or CONTRAST risk of either."""

    stage1: bool = False
    stage2: bool = False
    negation_contrast: bool = False


def risks(card: Scorecard) -> Risks:
    """The risks that the validator found. Section 4.3, D9."""
    stage1 = stage2 = negation_contrast = False
    for verdict in card.validator or ():
        if not verdict.structural_risks:
            continue
        if "2" in (verdict.stage or ""):
            stage2 = True
        else:
            stage1 = True
        for risk in verdict.structural_risks:
            risk_id = (risk.risk_id or "").upper()
            if "NEGATION" in risk_id or "CONTRAST" in risk_id:
                negation_contrast = True
    return Risks(stage1, stage2, negation_contrast)


def unsupported(card: Scorecard) -> bool:
    """Whether some sentiment judgement says that nothing supports a final polarity. D9."""
    judgements = card.atsa.sentiment_judgements if card.atsa is not None else None
    return any(judgement.opinion_grounded is False for judgement in judgements or ())


class Dropped(NamedTuple):
    """Whether a sample counts as hallucinated, and why its aspects were dropped."""

    hallucinated: bool
    reasons: frozenset[str]


def dropped(card: Scorecard, options: CrOptions) -> Dropped:
    """What aspect filtering dropped. Seed cr_hallucination_rate 2."""
    flagged = any(ate is not None and ate.hallucination_flag for ate in (card.ate, card.ate_score))
    debug = card.inputs.ate_debug if card.inputs is not None else None
    filtered = debug.filtered if debug is not None else None
    text = card.meta.input_text or ""
    reasons = [_reason(text, a, options) for a in filtered or () if a.action == "drop"]
    return Dropped(flagged or bool(reasons), frozenset(reasons))


def _reason(text: str, aspect: Aspect, options: CrOptions) -> str:
    """The stored reason where it is one of DROP_REASONS, else the one that the term and its span give."""
    if aspect.drop_reason in DROP_REASONS:
        return aspect.drop_reason
    return drop_reason(text, aspect, options) or "invalid_target"


def out_of_text(text: str, predicted: Iterable[EvalTuple], options: CrOptions) -> bool:
    """Whether some predicted term is nowhere in the text. D10."""
    policy = options.match_policy
    text = term_key(collapse(text), policy)
    return any(t.term and term_key(t.term, policy) not in text for t in predicted)
