"""Tables of a Conflict Review result for its report. Each function takes a Result and returns a frame."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import pandas as pd

from ..core.metric import Metric
from ..core.suite import Result
from ..stats.breakdown import breakdown
from .matching import match, tabulate
from .metrics import UNIT_OF_KEY
from .tuples import KEYS, POLARITIES, EvalTuple, term_key

OUTCOMES = ("fix", "break", "keep", "still")


def tuples(cell: str) -> list[EvalTuple]:
    """The tuples of a `gold`, `stage1` or `final` cell of the units frame."""
    return [EvalTuple(*t) for t in json.loads(cell)]


def completeness(result: Result) -> pd.DataFrame:
    """One row a thing that a reader must know before the numbers: what, count, detail."""
    units, rows = result.units, result.manifest["inputs"]
    out: list[tuple[str, int, str]] = [("samples", len(units), "rows scored")]
    gold = next((i["rows"] for i in rows if i["role"] == "gold"), None)
    missing = next((p["count"] for p in result.manifest["problems"] if p["code"] == "unknown-gold"), 0)
    if gold is not None and missing:
        out.append(("missing samples", missing, f"the gold file names {gold} samples: the run is incomplete"))
    without = int((~units["has_gold"]).sum())
    if without:
        out.append(("samples without gold", without, "left out of every metric that needs gold"))
    failed = int(units["parse_failed"].sum())
    if failed:
        out.append(("replies that could not be read", failed, "scored with what the runner kept"))
    fallback = int((~units["from_final_tuples"]).sum())
    if fallback:
        out.append(
            ("samples without final_tuples", fallback, "read from final_aspects or aspect_sentiments, or empty")
        )
    stale = int(units["stage_delta_mismatch"].sum())
    if stale:
        out.append(("stored stage_delta that disagrees", stale, "the recomputed value counts"))
    for p in result.manifest["problems"]:
        if p["code"] != "unknown-gold":
            out.append((f"{p['severity']}: {p['code']}", p["count"], p["examples"][0] if p["examples"] else ""))
    return pd.DataFrame(out, columns=["what", "count", "detail"])


def is_incomplete(result: Result) -> bool:
    """The gold names samples that the run does not hold, or rows were skipped."""
    return any(p["code"] == "unknown-gold" or p["severity"] == "error" for p in result.manifest["problems"])


def transitions(result: Result) -> pd.DataFrame:
    """Samples by what review did to them, for each key: key, fix, break, keep, still."""
    rows = [{"key": key, **{o: int((result.units[f"outcome_{key}"] == o).sum()) for o in OUTCOMES}} for key in KEYS]
    return pd.DataFrame(rows)


def _micro(name: str, key: str) -> list[Metric]:
    def metric(m: str, den: str, title: str) -> Metric:
        return Metric(
            f"{name}_{m}", "2*tp" if m == "f1" else "tp", den, "", "higher", f"{title}, {UNIT_OF_KEY[key]}", ""
        )

    return [
        metric("f1", "2*tp + fp + fn", "Micro F1"),
        metric("precision", "tp + fp", "Precision"),
        metric("recall", "tp + fn", "Recall"),
    ]


def _split(
    result: Result, key: Any, value_of: Callable[[EvalTuple], str], values: Iterable[str] | None
) -> pd.DataFrame:
    """Counts a sample and value: text_id, part, tp, fp, fn; matching is within the value."""
    parts: list[tuple[str, str]] = []
    gold_parts, final_parts = [], []
    units = result.units[result.units["has_gold"]]
    for text_id, gold_cell, final_cell in zip(units["text_id"], units["gold"], units["final"]):
        gold, final = tuples(gold_cell), tuples(final_cell)
        there = {value_of(t) for t in (*gold, *final)} - {""}
        for value in sorted(there if values is None else there & set(values)):
            parts.append((text_id, value))
            gold_parts.append([t for t in gold if value_of(t) == value])
            final_parts.append([t for t in final if value_of(t) == value])
    policy = result.options.match_policy
    of_gold, of_final = tabulate(policy, gold_parts, final_parts)
    counts = match(key, of_gold, of_final, policy)
    return pd.DataFrame(parts, columns=["text_id", "part"]).assign(**counts._asdict(), gold=counts.tp + counts.fn)


def by_polarity(result: Result, key: str) -> pd.DataFrame:
    """Micro F1, precision and recall after review within each polarity, with intervals."""
    parts = _split(result, key, lambda t: t.polarity, (*POLARITIES, "mixed"))
    table = _micro("polarity", key)
    return breakdown(parts, table, "text_id", "part", [m.name for m in table], result.resampling)


def by_aspect(result: Result, most: int = 15) -> pd.DataFrame:
    """Micro F1 after review within each aspect_ref, most frequent first, with intervals."""
    parts = _split(result, "refpol", lambda t: t.ref, None)
    parts = parts[parts["part"].isin(set(parts.loc[parts["gold"] > 0, "part"]))]
    table = _micro("aspect", "refpol")
    return breakdown(parts, table, "text_id", "part", ["aspect_f1"], result.resampling, most)


def confusion(result: Result) -> pd.DataFrame:
    """Counts of gold terms: polarity in gold (rows) by polarity given to the same term after review (columns)."""
    policy = result.options.match_policy
    counts: dict[tuple[str, str], int] = {}
    for gold_cell, final_cell in zip(result.units["gold"], result.units["final"]):
        predicted: dict[str, set[str]] = {}
        for t in tuples(final_cell):
            predicted.setdefault(term_key(t.term, policy), set()).add(t.polarity)
        for t in tuples(gold_cell):
            if t.term:
                for p in sorted(predicted.get(term_key(t.term, policy), {"(not found)"})):
                    counts[t.polarity, p] = counts.get((t.polarity, p), 0) + 1
    columns = [p for p in (*POLARITIES, "mixed", "(not found)") if any(c == p for _, c in counts)]
    index = [p for p in (*POLARITIES, "mixed") if any(g == p for g, _ in counts)]
    return pd.DataFrame([[counts.get((g, c), 0) for c in columns] for g in index], index=index, columns=columns)


def sample_groups(result: Result) -> dict[str, str]:
    """Group -> the query on the units frame that makes it."""
    key = result.options.key
    return {
        "broken": f"outcome_{key} == 'break'",
        "fixed": f"outcome_{key} == 'fix'",
        "degraded": f"degraded_{key}",
        "conflict": "conflict_raw | conflict_raw_refpol",
        "implicit-invalid": "implicit_invalid",
        "out-of-text": "final_out_of_text | drop_out_of_text",
    }


BROWSER: dict[str, Any] = {
    "gold": "gold",
    "sides": {"stage1": "before review", "final": "after review"},
    "chips": ("change",),
    "fields": {"reviewers": "reviewers", "arbiter": "arbiter"},
}
"""How the sample browser shows the frames of `samples`."""


def _actions(cell: str) -> str:
    """Review actions in words: "A: FLIP t0 (POLARITY_MISMATCH)"."""
    return "; ".join(
        f"{actor or '?'}: {' '.join([kind or '?', *targets])}" + (f" ({reason})" if reason else "")
        for actor, kind, targets, reason in json.loads(cell)
    )


def samples(result: Result, group: str) -> pd.DataFrame:
    """The samples of one group, worst change first: id, text, gold, stage1, final, change, reviewers, arbiter."""
    key = result.options.key
    units = result.units.query(sample_groups(result)[group])
    before, after = units[f"f1_s1_{key}"], units[f"f1_s2_{key}"]
    out = units[["text_id", "text", "gold", "stage1", "final"]].assign(
        change=[f"F1 {b:.2f} → {a:.2f}" if b == b else "no gold" for b, a in zip(before, after)],
        reviewers=units["reviews"].map(_actions),
        arbiter=units["arbiter"].map(_actions),
        gain=after - before,
    )
    return out.sort_values(["gain", "text_id"], kind="stable", na_position="last").drop(columns="gain")


def paired(result: Result, key: str) -> pd.DataFrame:
    """F1 of each sample with gold before and after review: text_id, before, after."""
    units = result.units[result.units["has_gold"]]
    return pd.DataFrame(
        {"text_id": units["text_id"], "before": units[f"f1_s1_{key}"], "after": units[f"f1_s2_{key}"]}
    )


def by_split(result: Result) -> pd.DataFrame:
    """The first breakdown of the suite (split of the data set), with intervals."""
    b = result.suite.breakdowns[0]
    table = result.suite.metrics(result.options)
    return breakdown(result.units, table, result.suite.unit, b.column, b.metrics, result.resampling)
