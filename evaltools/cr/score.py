"""Scorecards -> the units frame: one row a sample, with the columns that metrics sum and people filter by.

Source: spec and seeds as named at each column in `metrics.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..errors import InputError, Problems
from ..jsonl import Progress, dumps, shards
from ..suite import Source
from ..workers import Workers
from .options import CrOptions
from .read import check_tuples, duplicate_id, read_gold, read_override, read_rows, unknown_gold
from .schema import Aspect, Output, ReviewAction, Scorecard, TupleRow
from .scorecard import DROP_REASONS, drop_reason, stage_delta, wrap
from .sources import FINAL_SOURCES, Final, final_rows, gold_rows, labels, output_of, stage1_rows, text_id
from .tuples import (
    KEYS,
    POLARITIES,
    EvalTuple,
    Key,
    Match,
    MatchPolicy,
    collapse,
    eval_tuple,
    given_polarity,
    match,
    polarity_of,
    term_key,
)

SHARD_BYTES = 32 << 20
"""A file is read in byte ranges of about this size, whatever the workers: memory does not grow with the file."""

OUTCOMES = {(False, True): "fix", (True, False): "break", (True, True): "keep", (False, False): "still"}

Read = tuple[TupleRow, EvalTuple]
"""A tuple as it stands in the file, and its normal form."""


def read_tuples(rows: Iterable[TupleRow], *, gold: bool = False) -> list[Read]:
    return [(row, eval_tuple(row, gold=gold)) for row in rows]


def distinct(tuples: Iterable[Read]) -> tuple[EvalTuple, ...]:
    """Normal forms in order of appearance, duplicates removed."""
    return tuple(dict.fromkeys([t for _, t in tuples]))


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


def representatives(tuples: Iterable[Read], by: Callable[[EvalTuple], str]) -> tuple[EvalTuple, ...]:
    """The highest-ranking tuple of each aspect, the first of equals. Seed cr_metrics_spec section 3.4."""
    best: dict[str, Read] = {}
    for row, t in tuples:
        other = best.setdefault(by(t), (row, t))
        if other[0] is not row and rank(row, t.term) > rank(other[0], other[1].term):
            best[by(t)] = (row, t)
    return tuple([t for _, t in best.values()])


def conflicts(read: Iterable[Read], tuples: Iterable[EvalTuple], by: Callable[[EvalTuple], str]) -> tuple[bool, bool]:
    """(some aspect carries two polarities, it still does among its top-ranking tuples). D7.

    `tuples` are the normal forms without duplicates; tuples without an aspect under `by` are left out.
    """
    polarity: dict[str, str] = {}
    torn = {a for t in tuples if (a := by(t)) and polarity.setdefault(a, t.polarity) != t.polarity}
    if not torn:
        return False, False
    top: dict[str, tuple[tuple[bool, float, bool], set[str]]] = {}
    for row, t in read:
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
            if "_parse" in text and ("atsa_parse" in text or "json_parse" in text):
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


def unit_row(card: Scorecard, gold_in: Sequence[TupleRow], used: Final, options: CrOptions) -> dict[str, Any]:
    """What `units_frame` needs of one sample with these gold tuples and the predicted ones `used`.

    A null score: no gold of that kind, the sample takes no part.
    """
    policy = options.match_policy
    output = output_of(card)
    gold_read = read_tuples(gold_in, gold=True)
    final_read = read_tuples(used.rows)
    stage1_in = stage1_rows(card, used)
    gold, final = distinct(gold_read), distinct(final_read)
    stage1 = final if stage1_in is used.rows else distinct(read_tuples(stage1_in))
    label1, label2 = labels(card)
    flags = output.analysis_flags
    reviews = (flags.review_actions if flags else None) or []
    arbiter = (flags.arb_actions if flags else None) or []
    delta = stage_delta(stage1, final, label1, label2, bool(reviews or arbiter), policy)
    stored = card.stage_delta.changed if card.stage_delta else None
    text = card.meta.input_text or (output.meta.input_text if output.meta else None) or ""

    before = [match(key, gold, stage1, policy) for key in KEYS]
    after = before if stage1 == final else [match(key, gold, final, policy) for key in KEYS]
    explicit, predicted_explicit = (tuple([t for t in tuples if t.term]) for tuples in (gold, final))
    # most samples have explicit gold only, and one tuple an aspect: the counts are those of all tuples
    of_explicit = after[:2] if explicit == gold else [match(key, explicit, final, policy) for key in KEYS[:2]]
    both = of_explicit[1] if predicted_explicit == final else match("otepol", explicit, predicted_explicit, policy)
    represented = representatives(final_read, _by_ref if options.key == "refpol" else _by_term(policy))
    of_represented = (
        after[KEYS.index(options.key)] if represented == final else match(options.key, gold, represented, policy)
    )
    torn = conflicts(final_read, final, lambda t: term_key(t.term, policy))
    torn_ref = conflicts(final_read, final, lambda t: t.ref)

    implicit_polarities = {
        t.polarity for r, t in gold_read if not t.term and given_polarity(polarity_of(r)) in POLARITIES
    }
    final_polarities = {given_polarity(polarity_of(r)) for r in used.rows} & set(POLARITIES)
    has_implicit = any(not t.term for t in gold)
    failed = parse_failed(card)

    risk1, risk2, negation = risks(card)
    judgements = (card.atsa.sentiment_judgements if card.atsa else None) or []
    unsupported = any(j.opinion_grounded is False for j in judgements)
    hallucinated, reasons = dropped(card, options)
    place = term_key(collapse(text), policy)
    latency = card.meta.latency_ms if card.meta.latency_ms is not None else (output.meta or card.meta).latency_ms
    final_cell = _cell(final)
    return {
        "text_id": text_id(card),
        "run_id": card.run_id or card.meta.run_id,
        "split": card.meta.split,
        "text": text,
        "label_stage1": label1,
        "label_final": label2,
        "gold": _cell(gold),
        "stage1": final_cell if stage1 == final else _cell(stage1),
        "final": final_cell,
        "reviews": _actions(reviews),
        "arbiter": _actions(arbiter),
        "has_gold": bool(gold),
        "n_gold_tuples": len(gold),
        "n_pred_used": len(final),
        "source": used.source,
        "counts": [n for m in (*before, *after) for n in m],
        "has_explicit_gold": bool(explicit),
        "f1_explicit_gold_refpol": of_explicit[0].f1 if explicit else np.nan,
        "f1_explicit_gold_otepol": of_explicit[1].f1 if explicit else np.nan,
        "f1_explicit_both_otepol": both.f1 if explicit else np.nan,
        "has_implicit_gold": has_implicit,
        "has_valid_implicit_gold": bool(implicit_polarities),
        "f1_implicit": set_f1(implicit_polarities, final_polarities) if implicit_polarities else np.nan,
        "parse_failed": failed,
        "implicit_invalid": has_implicit and (not final_polarities or failed or _lacks_polarity(card, used.rows)),
        "f1_after_rep": of_represented.f1 if gold else np.nan,
        "conflict_raw": torn[0],
        "conflict": torn[1],
        "conflict_raw_refpol": torn_ref[0],
        "conflict_refpol": torn_ref[1],
        "changed": delta.changed,
        "change_type": delta.change_type,
        "stage_delta_mismatch": stored is not None and stored != delta.changed,
        "reviewed": bool(reviews),
        "arbitrated": bool(arbiter),
        "risk_s1": risk1,
        "risk_s2": risk2,
        "negation_contrast": negation,
        "residual_risk": risk2 or negation or torn[1] or unsupported,
        "hallucinated": hallucinated,
        **{f"drop_{reason}": reason in reasons for reason in DROP_REASONS},
        "final_out_of_text": any(term_key(t.term, policy) not in place for t in predicted_explicit),
        "latency_ms": np.nan if latency is None else latency,
    }


def _actions(actions: Sequence[ReviewAction]) -> str:
    return _cell([(a.actor, a.action_type, tuple(a.target_tuple_ids or ()), a.reason_code) for a in actions])


def _cell(items: Iterable[tuple[Any, ...]]) -> str:
    """A JSON list, put together from its items: most of them occur again, in the sample or in others."""
    return f"[{', '.join(map(_item, items))}]"


_item = lru_cache(maxsize=1 << 14)(dumps)


def _lacks_polarity(card: Scorecard, used: Iterable[TupleRow]) -> bool:
    """Some tuple of the final result carries no polarity."""
    result = output_of(card).final_result
    rows = [*used, *((result.final_aspects if result else None) or [])]
    return any(not given_polarity(polarity_of(r)) for r in rows)


TEXT_COLUMNS = (
    "text_id",
    "run_id",
    "split",
    "text",
    "label_stage1",
    "label_final",
    "gold",
    "stage1",
    "final",
    "reviews",
    "arbiter",
)


def units_frame(given: dict[str, list[Any]]) -> pd.DataFrame:
    """The units of these values of `unit_row`, and the line of each; what follows from other columns is derived."""
    columns: dict[str, Any] = {"line": np.array(given.pop("line"))}
    columns |= {name: _texts(given.pop(name)) for name in TEXT_COLUMNS}
    columns["n"] = np.ones(len(columns["line"]), dtype=bool)
    columns |= {name: np.array(given.pop(name)) for name in ("has_gold", "n_gold_tuples", "n_pred_used")}
    sources = np.array(given.pop("source"))
    columns |= {f"from_{source}": sources == source for source in FINAL_SOURCES}
    counts = np.array(given.pop("counts")).reshape(-1, 2, len(KEYS), 3)
    for i, key in enumerate(KEYS):
        columns |= _correction(key, counts[:, :, i], columns["has_gold"], np.array(given["changed"]))
    change_type = np.array(given.pop("change_type"))
    for name, values in given.items():
        columns[name] = np.array(values)
        if name == "changed":
            columns["change_type"] = _texts(change_type)
            columns["guided"] = change_type == "guided_by_review"
        elif name == "negation_contrast":
            columns["risk_cleared"] = columns["risk_s1"] & ~columns["risk_s2"]
    columns["latency_ms"] = columns["latency_ms"].astype(float)
    columns["has_latency"] = ~np.isnan(columns["latency_ms"])
    return pd.DataFrame(columns)


def _texts(values: Any) -> Any:
    # the same type whether or not a shard holds a null, or nothing else
    return pd.array(values, dtype="str")


def _correction(key: Key, counts: np.ndarray, has_gold: np.ndarray, changed: np.ndarray) -> dict[str, Any]:
    """Scores before and after review under a key, and what review did; `counts` is (samples, stages, tp fp fn)."""
    tp, fp, fn = np.moveaxis(counts, -1, 0)
    with np.errstate(invalid="ignore"):
        f1 = np.where(tp > 0, 2 * tp / (2 * tp + fp + fn), 0.0)
    f1[~has_gold] = np.nan
    exact = (fp == 0) & (fn == 0)
    happened = {
        name: has_gold & (exact[:, 0] == before) & (exact[:, 1] == after)
        for (before, after), name in OUTCOMES.items()
    }
    gain = f1[:, 1] - f1[:, 0]
    return {
        f"f1_s1_{key}": f1[:, 0],
        f"f1_s2_{key}": f1[:, 1],
        **{f"{name}_{key}": np.where(has_gold, c[:, 1], 0) for name, c in (("tp", tp), ("fp", fp), ("fn", fn))},
        f"outcome_{key}": _texts(np.select(list(happened.values()), list(map(np.str_, happened)), np.array(None))),
        **{f"{name}_{key}": there for name, there in happened.items()},
        f"improved_{key}": changed & (gain > 0),
        f"degraded_{key}": changed & (gain < 0),
    }


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


@lru_cache(maxsize=1)
def _gold_of(path: Path, _changed_ns: int) -> dict[str, list[TupleRow]]:
    """The gold file, read once by each process for all its shards; its problems were found before."""
    return read_gold(path, Problems("skip"))


def _score_shard(shard: _Shard) -> tuple[pd.DataFrame | None, Problems, int]:
    """(units, problems, lines read) of one byte range.

    The gold file's tuples stand in for a row's own where it names the sample.
    """
    problems, progress = Problems("skip"), Progress()
    by_id = _gold_of(shard.gold, shard.gold.stat().st_mtime_ns) if shard.gold is not None else {}
    options = shard.options
    model: type[Output] | type[Scorecard] = Output if shard.role == "outputs" else Scorecard
    columns: dict[str, list[Any]] = defaultdict(list)
    row: Any
    for line, row in read_rows(shard.path, model, problems, start=shard.start, stop=shard.stop, progress=progress):
        gold = by_id.get(text_id(row))
        if gold is None:
            gold = gold_rows(row)
        card: Scorecard = row if model is Scorecard else wrap(row, gold, options.stop_terms, options.allowlist)
        used = final_rows(card)
        where = {"file": str(shard.path), "line": line, "id": text_id(card)}
        check_tuples(gold, card.meta.input_text, problems, field="gold_tuples", **where)
        check_tuples(used.rows, None, problems, field="final_tuples", **where)
        columns["line"].append(line)
        for name, value in unit_row(card, gold, used, options).items():
            columns[name].append(value)
    return units_frame(columns) if columns else None, problems, progress.lines


def score(source: Source, options: CrOptions, problems: Problems, workers: Workers) -> pd.DataFrame:
    """The units frame of a run, in file order; the same for any workers.

    Reports broken lines, doubled ids (the first counts) and gold for unknown samples to `problems`.
    Raises InputError where no row can be used.
    """
    role = "scorecards" if "scorecards" in source.files else "outputs"
    path, gold = source.files[role], source.files.get("gold")
    known_gold = read_gold(gold, problems) if gold is not None else {}
    if "override_gate" in source.files:
        with suppress(InputError):  # the scores do not need it: under on_error="skip" it is left out
            read_override(source.files["override_gate"], problems)
    cuts = shards(path, -(-path.stat().st_size // SHARD_BYTES))
    done = workers.map(_score_shard, [_Shard(role, path, start, stop, gold, options) for start, stop in cuts])
    frames, offset = [], 0
    for frame, found, lines in done:
        problems.merge(found, offset)
        if frame is not None:
            frame["line"] += offset
            frames.append(frame)
        offset += lines
    problems.raise_if_failed()
    if not frames:
        raise problems.fatal("no-rows", "no line of the file can be used", file=str(path))
    units = _without_doubled(pd.concat(frames, ignore_index=True), path, problems)
    unknown_gold(problems, gold, known_gold, set(units["text_id"]) if known_gold else ())
    if not units["has_gold"].any():
        problems.warn("no-gold", "no sample has gold: every metric that needs it is not measured", file=str(path))
    units.attrs["rows"] = {role: offset, **({"gold": len(known_gold)} if gold is not None else {})}
    return units


def _without_doubled(units: pd.DataFrame, path: Path, problems: Problems) -> pd.DataFrame:
    """The first row of each text_id; the others are errors."""
    doubled = units["text_id"].duplicated()
    if not doubled.any():
        return units
    first = units[~doubled].set_index("text_id")["line"]
    for uid, line in zip(units.loc[doubled, "text_id"], units.loc[doubled, "line"]):
        duplicate_id(problems, first=int(first[uid]), file=str(path), line=int(line), id=uid)
    problems.raise_if_failed()
    return units[~doubled].reset_index(drop=True)
