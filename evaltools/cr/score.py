"""Scorecards -> the units frame: one row a sample, with the columns that metrics sum and people filter by.

Source: spec and seeds as named at each column in `metrics.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..errors import Problems
from ..jsonl import dumps, shards
from ..suite import Source
from ..workers import Workers
from .options import CrOptions
from .read import check_tuples, duplicate_id, read_gold, read_rows, unknown_gold
from .schema import Aspect, Output, Scorecard, TupleRow
from .scorecard import DROP_REASONS, drop_reason, stage_delta, wrap
from .sources import FINAL_SOURCES, final_rows, gold_rows, labels, output_of, stage1_rows, text_id
from .tuples import (
    KEYS,
    POLARITIES,
    EvalTuple,
    Match,
    MatchPolicy,
    collapse,
    eval_tuple,
    eval_tuples,
    given_polarity,
    match,
    match_otepol,
    polarity_of,
    term_key,
)

PARALLEL_BYTES = 32 << 20
"""Files smaller than this are read in one process: starting others would take longer."""

OUTCOMES = {(False, True): "fix", (True, False): "break", (True, True): "keep", (False, False): "still"}


def set_f1(gold: set[str], pred: set[str]) -> float:
    tp = len(gold & pred)
    return Match(tp, len(pred) - tp, len(gold) - tp).f1


def rank(row: TupleRow, term: str) -> tuple[bool, float, bool]:
    """How well a tuple represents its aspect: grounded explicitly, confident, not dropped.

    Grounding is explicit where the tuple says so, or says nothing and has a term.
    """
    explicit = row.grounding.strip().lower() == "explicit" if row.grounding else bool(term)
    confidence = row.confidence if row.confidence is not None else -1.0
    return explicit, confidence, not row.drop_reason


def representatives(rows: Sequence[TupleRow], by: Callable[[EvalTuple], str]) -> list[EvalTuple]:
    """The highest-ranking tuple of each aspect, the first of equals. Seed cr_metrics_spec section 3.4."""
    best: dict[str, tuple[tuple[bool, float, bool], EvalTuple]] = {}
    for row in rows:
        t = eval_tuple(row)
        r = rank(row, t.term)
        if by(t) not in best or r > best[by(t)][0]:
            best[by(t)] = (r, t)
    return [t for _, t in best.values()]


def conflicts(
    rows: Sequence[TupleRow], tuples: Sequence[EvalTuple], by: Callable[[EvalTuple], str]
) -> tuple[bool, bool]:
    """(some aspect carries two polarities, it still does among its top-ranking tuples). D7.

    `tuples` are the normal forms without duplicates; tuples without an aspect under `by` are left out.
    """
    polarities: dict[str, set[str]] = {}
    for t in tuples:
        if by(t):
            polarities.setdefault(by(t), set()).add(t.polarity)
    torn = {a for a, p in polarities.items() if len(p) > 1}
    if not torn:
        return False, False
    top: dict[str, tuple[tuple[bool, float, bool], set[str]]] = {}
    for row in rows:
        t = eval_tuple(row)
        aspect = by(t)
        if aspect in torn:
            r = rank(row, t.term)
            if aspect not in top or r > top[aspect][0]:
                top[aspect] = (r, {t.polarity})
            elif r == top[aspect][0]:
                top[aspect][1].add(t.polarity)
    return True, any(len(p) > 1 for _, p in top.values())


def parse_failed(card: Scorecard) -> bool:
    """The runner could not read the model's reply, by any of the signs that it leaves."""
    output = output_of(card)
    for flags in (card.flags, output.flags):
        if flags is not None and (flags.parse_failed or flags.generate_failed):
            return True
    if (card.runtime is not None and card.runtime.error) or output.error:
        return True
    for entry in output.process_trace or (card.runtime.process_trace if card.runtime else None) or []:
        notes = entry.notes
        if notes:
            text = notes if isinstance(notes, str) else str(notes)
            if "atsa_parse" in text or "json_parse" in text:
                return True
    return False


def risks(card: Scorecard) -> tuple[bool, bool, bool]:
    """(a stage-1 risk, a stage-2 risk, a NEGATION or CONTRAST risk of either) by the validator."""
    stage1 = stage2 = negation = False
    for verdict in card.validator or []:
        found = verdict.structural_risks or []
        if not found:
            continue
        if "2" in (verdict.stage or ""):
            stage2 = True
        else:
            stage1 = True
        ids = " ".join((r.risk_id or "").upper() for r in found)
        negation |= "NEGATION" in ids or "CONTRAST" in ids
    return stage1, stage2, negation


def dropped(card: Scorecard, options: CrOptions) -> tuple[bool, set[str]]:
    """(the sample counts as hallucinated, the reasons of its dropped aspects). Seed cr_hallucination_rate."""
    flagged = any(a is not None and a.hallucination_flag for a in (card.ate, card.ate_score))
    debug = card.inputs.ate_debug if card.inputs else None
    drops = [a for a in (debug.filtered if debug else None) or [] if a.action == "drop"]
    text = card.meta.input_text or ""
    return flagged or bool(drops), {_reason(text, a, options) for a in drops}


def _reason(text: str, aspect: Aspect, options: CrOptions) -> str:
    """The stored reason where it is a fine one, else the one that the term and its span give."""
    if aspect.drop_reason in DROP_REASONS:
        return aspect.drop_reason
    return drop_reason(text, aspect, options.stop_terms, options.allowlist) or "invalid_target"


def unit_row(card: Scorecard, gold_in: Sequence[TupleRow], options: CrOptions) -> dict[str, Any]:
    """The row of one sample with these gold tuples. A null score: no gold of that kind, the sample takes no part."""
    policy = options.match_policy
    output = output_of(card)
    final_source = final_rows(card)
    final_in = final_source.rows
    stage1_in = stage1_rows(card, final_source)
    gold = eval_tuples(gold_in, gold=True)
    stage1 = eval_tuples(stage1_in)
    final = eval_tuples(final_in)
    label1, label2 = labels(card)
    flags = output.analysis_flags
    reviews = (flags.review_actions if flags else None) or []
    arbiter = (flags.arb_actions if flags else None) or []
    delta = stage_delta(stage1, final, label1, label2, bool(reviews or arbiter), policy)
    stored = card.stage_delta.changed if card.stage_delta else None
    has_gold = bool(gold)
    text = card.meta.input_text or (output.meta.input_text if output.meta else None) or ""

    row: dict[str, Any] = {
        "text_id": text_id(card),
        "run_id": card.run_id or card.meta.run_id,
        "split": card.meta.split,
        "text": text,
        "label_stage1": label1,
        "label_final": label2,
        "gold": dumps(gold),
        "stage1": dumps(stage1),
        "final": dumps(final),
        "reviews": dumps([[a.actor, a.action_type, a.target_tuple_ids or [], a.reason_code] for a in reviews]),
        "arbiter": dumps([[a.actor, a.action_type, a.target_tuple_ids or [], a.reason_code] for a in arbiter]),
        "n": True,
        "has_gold": has_gold,
        "n_gold_tuples": len(gold),
        "n_pred_used": len(final),
    }
    for source in FINAL_SOURCES:
        row[f"from_{source}"] = final_source.source == source

    for key in KEYS:
        s1 = match(key, gold, stage1, policy) if has_gold else None
        s2 = (s1 if final is stage1 or final == stage1 else match(key, gold, final, policy)) if has_gold else None
        row[f"f1_s1_{key}"] = s1.f1 if s1 else np.nan
        row[f"f1_s2_{key}"] = s2.f1 if s2 else np.nan
        row[f"tp_{key}"], row[f"fp_{key}"], row[f"fn_{key}"] = s2 or (0, 0, 0)
        outcome = OUTCOMES[s1.exact, s2.exact] if s1 and s2 else None
        row[f"outcome_{key}"] = outcome
        for name in OUTCOMES.values():
            row[f"{name}_{key}"] = outcome == name
        gain = s2.f1 - s1.f1 if s1 and s2 else 0.0
        row[f"improved_{key}"] = delta.changed and gain > 0
        row[f"degraded_{key}"] = delta.changed and gain < 0

    explicit = [t for t in gold if t.term]
    row["has_explicit_gold"] = bool(explicit)
    for key in KEYS[:2]:
        row[f"f1_explicit_gold_{key}"] = match(key, explicit, final, policy).f1 if explicit else np.nan
    both = match_otepol(explicit, [t for t in final if t.term], policy).f1 if explicit else np.nan
    row["f1_explicit_both_otepol"] = both

    implicit_polarities = {t.polarity for t, r in zip(map(_gold_tuple, gold_in), gold_in) if _implicit_valid(t, r)}
    final_polarities = {given_polarity(polarity_of(r)) for r in final_in} & set(POLARITIES)
    row["has_implicit_gold"] = any(not t.term for t in gold)
    row["has_valid_implicit_gold"] = bool(implicit_polarities)
    row["f1_implicit"] = set_f1(implicit_polarities, final_polarities) if implicit_polarities else np.nan
    row["parse_failed"] = parse_failed(card)
    missing_polarity = any(not given_polarity(polarity_of(r)) for r in _all_final(card, final_in))
    row["implicit_invalid"] = row["has_implicit_gold"] and (
        not final_polarities or row["parse_failed"] or missing_polarity
    )

    by_term = _by_term(policy)
    represented = representatives(final_in, _by_ref if options.key == "refpol" else by_term)
    row["f1_after_rep"] = match(options.key, gold, represented, policy).f1 if has_gold else np.nan
    row["conflict_raw"], row["conflict"] = conflicts(final_in, final, lambda t: term_key(t.term, policy))
    row["conflict_raw_refpol"], row["conflict_refpol"] = conflicts(final_in, final, lambda t: t.ref)

    row["changed"] = delta.changed
    row["change_type"] = delta.change_type
    row["guided"] = delta.change_type == "guided_by_review"
    row["stage_delta_mismatch"] = stored is not None and stored != delta.changed
    row["reviewed"] = bool(reviews)
    row["arbitrated"] = bool(arbiter)

    row["risk_s1"], row["risk_s2"], row["negation_contrast"] = risks(card)
    row["risk_cleared"] = row["risk_s1"] and not row["risk_s2"]
    judgements = (card.atsa.sentiment_judgements if card.atsa else None) or []
    unsupported = any(j.opinion_grounded is False for j in judgements)
    row["residual_risk"] = row["risk_s2"] or row["negation_contrast"] or row["conflict"] or unsupported

    row["hallucinated"], reasons = dropped(card, options)
    for reason in DROP_REASONS:
        row[f"drop_{reason}"] = reason in reasons
    place = term_key(collapse(text), policy)
    row["final_out_of_text"] = any(term_key(t.term, policy) not in place for t in final if t.term)
    latency = card.meta.latency_ms if card.meta.latency_ms is not None else (output.meta or card.meta).latency_ms
    row["latency_ms"] = np.nan if latency is None else latency
    row["has_latency"] = latency is not None
    return row


def _gold_tuple(row: TupleRow) -> EvalTuple:
    return eval_tuple(row, gold=True)


def _implicit_valid(t: EvalTuple, row: TupleRow) -> bool:
    return not t.term and given_polarity(polarity_of(row)) in POLARITIES


def _all_final(card: Scorecard, used: list[TupleRow]) -> list[TupleRow]:
    result = output_of(card).final_result
    return [*used, *((result.final_aspects if result else None) or [])]


def _by_ref(t: EvalTuple) -> str:
    return t.ref or t.term


def _by_term(policy: MatchPolicy) -> Callable[[EvalTuple], str]:
    return lambda t: term_key(t.term, policy) or t.ref


@dataclass(frozen=True)
class _Shard:
    """A byte range of the main file, and all that a worker needs to score it."""

    role: str
    path: Path
    start: int
    stop: int
    gold: Path | None
    options: CrOptions


def _cards(shard: _Shard, problems: Problems) -> Iterator[tuple[int, Scorecard, list[TupleRow]]]:
    """(line, scorecard, gold tuples) of the rows of a shard.

    The gold file's tuples stand in for a row's own where it names the sample.
    """
    by_id = read_gold(shard.gold, Problems("skip")) if shard.gold is not None else {}
    options = shard.options
    model: type[Output] | type[Scorecard] = Output if shard.role == "outputs" else Scorecard
    for line, row in read_rows(shard.path, model, problems, start=shard.start, stop=shard.stop):
        gold = by_id.get(text_id(row))
        if gold is None:
            gold = gold_rows(row)
        card = row if isinstance(row, Scorecard) else wrap(row, gold, options.stop_terms, options.allowlist)
        yield line, card, gold


def _score_shard(shard: _Shard) -> tuple[dict[str, list[Any]], Problems, int]:
    """(columns, problems, lines read) of one byte range."""
    problems = Problems("skip")
    columns: dict[str, list[Any]] = {}
    for line, card, gold in _cards(shard, problems):
        where = {"file": str(shard.path), "line": line, "id": text_id(card)}
        text = card.meta.input_text
        check_tuples(gold, text, problems, field="gold_tuples", **where)
        check_tuples(final_rows(card).rows, None, problems, field="final_tuples", **where)
        row = unit_row(card, gold, shard.options)
        if not columns:
            columns = {name: [] for name in ("line", *row)}
        columns["line"].append(line)
        for name, value in row.items():
            columns[name].append(value)
    with shard.path.open("rb") as f:
        f.seek(shard.start)
        lines = sum(block.count(b"\n") for block in _blocks(f, shard.stop - shard.start))
    return columns, problems, lines


def _blocks(f: Any, size: int) -> Iterator[bytes]:
    while size > 0 and (block := f.read(min(size, 1 << 20))):
        size -= len(block)
        yield block


def score(source: Source, options: CrOptions, problems: Problems, workers: Workers) -> pd.DataFrame:
    """The units frame of a run, in file order; the same for any workers.

    Reports broken lines, doubled ids (the first counts) and gold for unknown samples to `problems`.
    Raises InputError where no row can be used.
    """
    role = "scorecards" if "scorecards" in source.files else "outputs"
    path, gold = source.files[role], source.files.get("gold")
    known_gold = read_gold(gold, problems) if gold is not None else {}
    cuts = shards(path, workers.jobs if path.stat().st_size >= PARALLEL_BYTES else 1)
    parts = [_Shard(role, path, start, stop, gold, options) for start, stop in cuts]
    done = workers.map(_score_shard, parts)
    frames, offset = [], 0
    for columns, found, lines in done:
        problems.merge(found, offset)
        if columns:
            frame = pd.DataFrame(columns)
            frame["line"] += offset
            frames.append(frame)
        offset += lines
    problems.raise_if_failed()
    if not frames:
        raise problems.fatal("no-rows", "no line of the file can be used", file=str(path))
    units = pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]
    first = dict(zip(reversed(units["text_id"].tolist()), reversed(units["line"].tolist())))
    doubled = units["text_id"].duplicated()
    for row in units[doubled].itertuples():
        duplicate_id(problems, first=first[row.text_id], file=str(path), line=row.line, id=row.text_id)
    problems.raise_if_failed()
    units = units[~doubled].reset_index(drop=True)
    unknown_gold(problems, gold, known_gold, set(units["text_id"]))
    if not units["has_gold"].any():
        problems.warn("no-gold", "no sample has gold: every metric that needs it is not measured", file=str(path))
    units.attrs["rows"] = {role: offset, **({"gold": len(known_gold)} if gold is not None else {})}
    return units
