"""Runner outputs and gold -> scorecards: aspect filtering, stage delta, provenance.

Sources: seed cr_hallucination_rate sections 2-3, seed cr_metrics_spec sections 4.1-4.3; decision D10.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import __version__
from ..core.errors import Problems
from ..core.jsonl import BOM, dumps, require_file, sha256, write_jsonl
from .matching import Bools, Ints, Tuples, match_terms, tabulate
from .read import duplicate_id, read_gold, read_rows, unknown_gold
from .schema import Aspect, Ate, AteDebug, Inputs, Output, Runtime, Scorecard, TupleRow, ValidatorStage
from .sources import final_rows, gold_rows, labels, stage1_rows
from .tuples import MatchPolicy, eval_tuples

STOP_TERMS = ("ㅋㅋ", "ㅎㅎ", "ㅠㅠ", "아", "야", "언제", "하지만", "그러나")
ALLOWLIST = ("뷰", "AS", "as", "ui", "UI", "앱", "app")

LATENCY_GATE_MS = 15_000

DROP_REASONS = ("out_of_text", "span_mismatch", "invalid_target")


def drop_reason(
    text: str,
    aspect: Aspect,
    stop_terms: Sequence[str] = STOP_TERMS,
    allowlist: Sequence[str] = ALLOWLIST,
) -> str | None:
    """Why an aspect is dropped, or None where it is kept.

    Kept iff the text under its span is the term and the term is on the allowlist, or is at least two
    characters long and no stop term. out_of_text: the term is nowhere in the text; span_mismatch: it
    is, but not under its span; invalid_target: the span is right and the term is no target (D10).
    """
    text, term = (unicodedata.normalize("NFC", t) for t in (text, aspect.term or ""))
    span = aspect.span
    if span is None or not 0 <= span.start <= span.end or text[span.start : span.end] != term:
        return "span_mismatch" if term and term in text else "out_of_text"
    if term in allowlist or (len(term) >= 2 and term not in stop_terms):
        return None
    return "invalid_target"


def build_filtered_aspects(
    text: str,
    aspects: Iterable[Aspect],
    stop_terms: Sequence[str] = STOP_TERMS,
    allowlist: Sequence[str] = ALLOWLIST,
) -> dict[str, list[Any]]:
    """`raw`, `filtered` (term, span, action keep|drop, drop_reason), `kept_terms`, `dropped_terms`.

    Source: seed cr_hallucination_rate section 3.
    """
    aspects = list(aspects)
    raw = [a.model_dump(include={"term", "span"}) for a in aspects]
    reasons = [drop_reason(text, a, stop_terms, allowlist) for a in aspects]
    filtered = [{**r, "action": "drop" if why else "keep", "drop_reason": why} for r, why in zip(raw, reasons)]
    return {
        "raw": raw,
        "filtered": filtered,
        "kept_terms": [a.term for a, why in zip(aspects, reasons) if not why],
        "dropped_terms": [a.term for a, why in zip(aspects, reasons) if why],
    }


def ate_score(filtered: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """`hallucination_flag` (some item was dropped) and `valid_aspect_rate` (kept / all, null for none)."""
    drops = sum(f["action"] == "drop" for f in filtered)
    return {
        "hallucination_flag": drops > 0,
        "valid_aspect_rate": (len(filtered) - drops) / len(filtered) if filtered else None,
    }


class StageDelta(NamedTuple):
    """What changed between the stages, one value of each a sample."""

    changed: Bools
    pairs_changed: Bools
    label_changed: Bools
    n_s1_pairs: Ints
    n_final_pairs: Ints
    change_type: np.ndarray


def stage_delta(
    stage1: Tuples,
    final: Tuples,
    labels1: Sequence[str | None],
    labels2: Sequence[str | None],
    reviewed: Bools,
) -> StageDelta:
    """Whether review changed each sample: its (term, polarity) pairs differ, or both labels exist and differ.

    change_type is guided_by_review (changed, and a reviewer or the arbiter acted), unguided (changed
    without) or none. The scorecard builder and the aggregator share this function (seed
    cr_metrics_spec section 4.1).
    """
    pairs = match_terms(stage1, final)
    pairs_changed = ~pairs.exact
    label_changed = np.array([a is not None and b is not None and a != b for a, b in zip(labels1, labels2)])
    changed = pairs_changed | label_changed
    kind = np.where(changed, np.where(reviewed, "guided_by_review", "unguided"), "none")
    return StageDelta(changed, pairs_changed, label_changed, pairs.tp + pairs.fn, pairs.tp + pairs.fp, kind)


def validator_stages(output: Output) -> list[ValidatorStage]:
    """The validator verdicts of both stages, named by stage; empty where no validator ran."""
    found = (("stage1", output.stage1_validator), ("stage2", output.stage2_validator))
    return [v.model_copy(update={"stage": stage}) for stage, v in found if v is not None]


def raw_aspects(output: Output) -> list[Aspect]:
    """What the extraction stage gave before filtering; empty where no such stage ran."""
    return (output.stage1_ate.aspects if output.stage1_ate else None) or []


def wrap(
    output: Output,
    gold: Sequence[TupleRow] | None,
    stop_terms: Sequence[str] = STOP_TERMS,
    allowlist: Sequence[str] = ALLOWLIST,
) -> Scorecard:
    """The typed scorecard of an output, with `gold` in place of the output's own where it is given."""
    aspects = build_filtered_aspects(output.meta.input_text or "", raw_aspects(output), stop_terms, allowlist)
    return Scorecard(
        run_id=output.meta.run_id,
        profile=output.meta.profile,
        meta=output.meta,
        inputs=Inputs(
            gold_tuples=list(gold if gold is not None else gold_rows(output)),
            ate_debug=AteDebug.model_validate({"filtered": aspects["filtered"]}),
            aspect_sentiments=output.inputs.aspect_sentiments if output.inputs else None,
        ),
        ate=Ate(hallucination_flag=ate_score(aspects["filtered"])["hallucination_flag"]),
        validator=validator_stages(output),
        flags=output.flags,
        runtime=Runtime(parsed_output=output, error=output.error),
    )


def make_scorecard(
    raw: dict[str, Any],
    gold: Sequence[dict[str, Any]] | None = None,
    *,
    policy: MatchPolicy | None = None,
    provenance: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """One scorecard, as JSON, of one runner output (a parsed line of outputs.jsonl).

    `gold` (gold tuples as JSON) replaces the output's own. `provenance` is added to `meta`.
    `runtime.parsed_output` holds the output whole. Raises pydantic.ValidationError where a field that
    is used does not fit.
    """
    output = Output.model_validate(raw)
    gold_in = gold if gold is not None else _raw_gold(raw)
    card = wrap(output, [TupleRow.model_validate(g) for g in gold_in])
    final = final_rows(card)
    stage1 = stage1_rows(card, final)
    actions = output.analysis_flags
    reviewed = bool(actions and (actions.review_actions or actions.arb_actions))
    stages = ([eval_tuples(rows)] for rows in (stage1, final.rows))
    before, after = tabulate(policy or MatchPolicy(), *stages)
    label1, label2 = labels(card)
    delta = stage_delta(before, after, [label1], [label2], np.array([reviewed]))
    aspects = build_filtered_aspects(output.meta.input_text or "", raw_aspects(output))
    latency = output.meta.latency_ms
    flags = raw.get("flags") or {}
    return {
        "run_id": output.meta.run_id,
        "profile": output.meta.profile,
        "meta": {
            **raw["meta"],
            "scorecard_source": f"evaltools {__version__}",
            "gold_injected": gold is not None,
            **(provenance or {}),
        },
        "inputs": {
            **(raw.get("inputs") or {}),
            "gold_tuples": list(gold_in),
            "ate_debug": {"raw": aspects["raw"], "filtered": aspects["filtered"]},
            "aspect_sentiments": (raw.get("inputs") or {}).get("aspect_sentiments") or [],
        },
        "ate": ate_score(aspects["filtered"]),
        "atsa": {"sentiment_judgements": []},
        "validator": [
            {**(raw.get(f"{v.stage}_validator") or {}), "stage": v.stage} for v in validator_stages(output)
        ],
        "moderator": raw.get("moderator") or {},
        "stage_delta": {name: values[0].item() for name, values in delta._asdict().items()},
        "flags": {
            "parse_failed": bool(flags.get("parse_failed")),
            "generate_failed": bool(flags.get("generate_failed")),
            "fallback_used": bool(flags.get("fallback_used")),
        },
        "latency": {
            "total_ms": latency,
            "gate_threshold_ms": LATENCY_GATE_MS,
            "gate_status": None if latency is None else ("WARN" if latency > LATENCY_GATE_MS else "PASS"),
        },
        "runtime": {
            "parsed_output": raw,
            "process_trace": raw.get("process_trace") or [],
            "error": raw.get("error"),
        },
    }


def _raw_gold(raw: dict[str, Any]) -> list[dict[str, Any]]:
    for holder in (raw, raw.get("inputs") or {}):
        found = holder.get("gold_tuples") or holder.get("gold_triplets")
        if found:
            return list(found)
    return []


def scorecards(outputs: Path, gold: Path | None, problems: Problems) -> Iterator[dict[str, Any]]:
    """The scorecards of a file of outputs, in its order; lines that do not fit are reported and left out."""
    by_id = read_gold(gold, problems) if gold is not None else {}
    provenance = {
        "outputs_sha256": sha256(outputs),
        "gold_sha256": sha256(gold) if gold is not None else None,
    }
    seen: dict[str, int] = {}
    with outputs.open("rb") as f:
        lines = enumerate(f, 1)
        for number, uid, _ in read_rows(outputs, Output, problems):
            line = next(text for n, text in lines if n == number)
            where = {"file": str(outputs), "line": number, "id": uid}
            if uid in seen:
                duplicate_id(problems, first=seen[uid], **where)
                continue
            seen[uid] = number
            found = by_id.get(uid)
            own = None if found is None else [t.model_dump(exclude_unset=True) for t in found]
            try:
                card = make_scorecard(json.loads(line.removeprefix(BOM)), own, provenance=provenance)
                dumps(card).encode()
            except ValueError as e:
                problems.error("not-writable", f"the line cannot be written as JSON again: {e}", **where)
                continue
            yield card
    if by_id:
        unknown_gold(problems, gold, by_id, seen)


def write_scorecards(outputs: Path, gold: Path, target: Path, problems: Problems) -> int:
    """Write the scorecards of a file of outputs, or of a run folder's outputs.jsonl; returns how many.

    Raises InputError, with nothing written, for input that cannot be used.
    """
    path = outputs / "outputs.jsonl" if outputs.is_dir() else outputs
    require_file(path, problems)
    require_file(gold, problems)

    def cards() -> Iterator[dict[str, Any]]:
        yield from scorecards(path, gold, problems)
        problems.raise_if_failed()

    return write_jsonl(target, cards())
