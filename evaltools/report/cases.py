"""The case browser of the gallery: scores, texts and evidence of summary cases, failing first, in a fixed size."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BeforeValidator

from ..core.jsonl import dumps
from .cards import Estimate, Metrics, Number, Part, number, read_csv, read_json, shown
from .text import anchor

SCORES = "summary_scores.csv"

RUNS = 20
"""The newest summary runs whose cases stand on the page."""

SIZE = 300_000
"""Bytes of JSON for all cases together, shared evenly among their runs."""

TEXT, EVIDENCE = 600, 240
"""Characters shown of a text and of the evidence of one score."""

Flag = Annotated[bool | None, BeforeValidator(lambda v: None if v == "" else v)]


class Score(Part):
    """A row of summary_scores.csv: one metric of one case."""

    case_id: str
    metric: str
    score: Number
    measured: bool
    llm_score: Number
    decided_by: str
    threshold: Number
    passed: Flag
    evidence: str
    tags: str

    @property
    def failed(self) -> bool:
        """Below its threshold; a score that was not measured neither passes nor fails."""
        return self.measured and self.passed is False


class Tally(Part):
    """What of a row of summary_scores.csv the verdicts of a run need."""

    metric: str
    measured: bool
    threshold: Number
    passed: Flag


def read_verdicts(folder: Path) -> list[list[Any]]:
    """One row a metric, in the file's order, of what the thresholds say.

    (metric, threshold, value, low, high, verdict, cases passed, failed, not measured, all cases): the value and
    its interval are those of the run, over all cases; the verdict says on which side of the threshold the value
    lies: met, missed, or "" for a metric that has none. A case that is not measured counts as that and nothing
    else. Raises NotComplete for files that are not whole.
    """
    estimates = {e.name: e for e in read_json(folder / "metrics.json", Metrics).metrics}
    by_metric: dict[str, list[Tally]] = {}
    for row in read_csv(folder / SCORES, Tally):
        by_metric.setdefault(row.metric, []).append(row)
    return [[shown(metric), *_verdict(rows, estimates.get(metric))] for metric, rows in by_metric.items()]


def _verdict(rows: Sequence[Tally], estimate: Estimate | None) -> list[Any]:
    value, low, high = (estimate.value, estimate.ci_low, estimate.ci_high) if estimate else (None, None, None)
    threshold = next((r.threshold for r in rows if r.threshold is not None), None)
    verdict = "" if value is None or threshold is None else "met" if value >= threshold - 1e-12 else "missed"
    measured = [r for r in rows if r.measured]
    passed, failed = (sum(r.passed is wanted for r in measured) for wanted in (True, False))
    bounds = map(number, (threshold, value, low, high))
    return [*bounds, verdict, passed, failed, len(rows) - len(measured), len(rows)]


def read_cases(folder: Path, size: int) -> dict[str, Any]:
    """The cases of a run as JSON, failing first, as many as fit into `size` bytes (one at least).

    `rows`: id, case id, tags, texts, and a score a metric: (score, measured, passed, judge's score, decided by,
    evidence). `total` and `failing` count all cases of the run. Raises NotComplete for a file that is not whole.
    """
    by_case: dict[str, list[Score]] = {}
    for score in read_csv(folder / SCORES, Score):
        by_case.setdefault(score.case_id, []).append(score)
    metrics = list(dict.fromkeys(r.metric for scores in by_case.values() for r in scores))
    order = sorted(by_case, key=lambda c: -_failures(by_case[c]))
    most = order[: max(1, size // 200)]
    texts = read_texts(folder / "units.parquet", most)
    rows: list[dict[str, Any]] = []
    used = 0
    for case in most:
        row = _case(folder.name, case, by_case[case], metrics, texts.get(case, {}))
        used += len(dumps(row).encode())
        if rows and used > size:
            break
        rows.append(row)
    return {
        "metrics": [shown(m) for m in metrics],
        "total": len(by_case),
        "failing": sum(_failures(scores) > 0 for scores in by_case.values()),
        "rows": rows,
    }


def _failures(scores: Iterable[Score]) -> int:
    return sum(s.failed for s in scores)


def _case(
    run: str, case: str, scores: Sequence[Score], metrics: Sequence[str], texts: dict[str, str]
) -> dict[str, Any]:
    by_metric = {s.metric: s for s in scores}
    return {
        "id": anchor("case", f"{run}-{case}"),
        "case": shown(case),
        "tags": [shown(t, 60) for t in _tags(scores[0].tags)][:20],
        "scores": [_score(by_metric[m]) if m in by_metric else None for m in metrics],
        **texts,
    }


def _score(s: Score) -> list[Any]:
    evidence = [[shown(k, 40), shown(v, EVIDENCE)] for k, v in evidence_lines(s.evidence)][:8]
    return [number(s.score), s.measured, s.passed, number(s.llm_score), shown(s.decided_by, 20), evidence]


def _tags(cell: str) -> list[str]:
    value = _json(cell)
    return [str(t) for t in value] if isinstance(value, list) else [t.strip() for t in cell.split(",") if t.strip()]


def evidence_lines(cell: str) -> list[tuple[str, str]]:
    """The evidence of a score as (what, text) lines; places in the texts and empty lists are left out.

    >>> evidence_lines('{"unsupported": [{"text": "150만원", "at": [0, 5]}], "supported": []}')
    [('unsupported', '150만원')]
    """
    value = _json(cell)
    if not isinstance(value, dict):
        return [("", cell)] if cell else []
    return [(str(k).replace("_", " "), text) for k, v in value.items() if (text := _flat(v))]


def _flat(value: Any) -> str:
    if isinstance(value, dict):
        if "text" in value:
            reason = value.get("let_off") or value.get("reason")
            return f"{value['text']} ({reason})" if isinstance(reason, str) else str(value["text"])
        return ", ".join(f"{k} ({text})" if (text := _flat(v)) else str(k) for k, v in value.items())
    if isinstance(value, list):
        return ", ".join(filter(None, map(_flat, value)))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def _json(cell: str) -> Any:
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return None


def read_texts(path: Path, cases: Sequence[str]) -> dict[str, dict[str, str]]:
    """case id -> its answer and contexts, clipped; no entry for what cannot be found in the units frame."""
    try:
        frame = pq.read_table(
            path, columns=["case_id", "answer", "contexts"], filters=[("case_id", "in", list(cases))]
        ).to_pandas()
    except (OSError, pa.ArrowException):
        return {}
    out = {}
    for row in frame.to_dict("records"):
        contexts = _json(str(row["contexts"]))
        contexts = "\n\n".join(map(str, contexts)) if isinstance(contexts, list) else str(row["contexts"] or "")
        answer = "" if pd.isna(row["answer"]) else str(row["answer"])
        out[str(row["case_id"])] = {"answer": shown(answer, TEXT), "contexts": shown(contexts, TEXT)}
    return out
