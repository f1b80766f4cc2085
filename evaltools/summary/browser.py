"""The cases of a summary result as cards for the sample browser, with the evidence in words."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from ..core.jsonl import dumps
from ..core.suite import Result
from .options import rules_in_force
from .rules import METRICS, rules_snapshot
from .views import cases_table

Evidence = Mapping[str, Any]

BROWSER: dict[str, Any] = {
    "id": "case_id",
    "text": {"answer": "summary", "contexts": "context"},
    "gold": None,
    "chips": ("failing", "tags"),
    "fields": {m: m.removeprefix("summary_").replace("_", " ") for m in METRICS},
}
"""How the sample browser shows the frame of `cards`."""


def _texts(items: list[dict[str, Any]]) -> str:
    return ", ".join(f"“{i['text']}” at {(i['at'] or i['context_at'])[0]}" for i in items)


def _entities(good: str, bad: str) -> Callable[[Evidence], list[str]]:
    return lambda e: [f"{word}: {_texts(e[word])}" for word in (bad, good) if e.get(word)]


def _tags(e: Evidence) -> list[str]:
    missing = [f"{tag}" + (f" (taken back: {_texts(found)})" if found else "") for tag, found in e["missing"].items()]
    covered = [f"{tag} by {_texts(found)}" for tag, found in e["covered"].items()]
    return [f"{word}: {'; '.join(found)}" for word, found in (("missing", missing), ("covered", covered)) if found]


def _phrases(e: Evidence) -> list[str]:
    let_off = [f"“{m['text']}” let off: {m.get('let_off')} (“{m.get('by')}”)" for m in e.get("let_off", [])]
    found = e.get("definitive") or e.get("phrases") or []
    return [*([f"found: {_texts(found)}"] if found else []), *let_off]


_IN_WORDS: dict[str, Callable[[Evidence], list[str]]] = {
    "summary_accuracy": _entities("supported", "unsupported"),
    "summary_risk_coverage": _tags,
    "summary_non_definitive": _phrases,
    "summary_needs_followup": _phrases,
    "entity_recall": _entities("kept", "lost"),
}


def in_words(metric: str, score: float, evidence: str) -> str:
    """The score of one case and what it rests on."""
    e = json.loads(evidence)
    why = [f"not measured: {e['reason']}"] if "reason" in e else _IN_WORDS[metric](e)
    return "; ".join([f"{score:.2f}", *why])


def cards(result: Result) -> pd.DataFrame:
    """All cases, those that fail most metrics first: case_id, answer, contexts, failing, tags, a column a metric."""
    table = cases_table(result)
    words = {m: [in_words(m, s, e) for s, e in zip(table[m], table[f"{m} evidence"])] for m in METRICS}
    failing = ["fails " + f.replace("summary_", "") if f else "" for f in table["failed"]]
    return table[["case_id", "answer", "contexts"]].assign(failing=failing, tags=table["tags"], **words)


def judged(result: Result) -> pd.DataFrame:
    """What the judge was asked: case_id, metric, trigger, rule, llm, confidence, score, decided_by, said, error."""
    rows = []
    for m in METRICS:
        asked = result.units[result.units[f"{m}_trigger"].notna()]
        for r in asked.to_dict("records"):
            said = json.loads(r[f"{m}_evidence"]).get("judge", {})
            rows.append(
                {
                    "case_id": r["case_id"],
                    "metric": m,
                    "trigger": r[f"{m}_trigger"],
                    "rule": r[f"{m}_rule"],
                    "llm": r[f"{m}_llm"],
                    "confidence": r[f"{m}_confidence"],
                    "score": r[m],
                    "decided_by": r[f"{m}_decided_by"],
                    "virtual_tags": ", ".join(said.get("virtual_tags") or []),
                    "said": said.get("reason"),
                    "error": said.get("error"),
                }
            )
    columns = ["case_id", "metric", "trigger", "rule", "llm", "confidence", "score", "decided_by", "virtual_tags"]
    return pd.DataFrame(rows, columns=[*columns, "said", "error"])


def rules_table(result: Result) -> pd.DataFrame:
    """The rules in force, a row a setting: setting, value."""
    snapshot = rules_snapshot(rules_in_force(result.options))
    return pd.DataFrame([(k, dumps(v)) for k, v in snapshot.items()], columns=["setting", "value"])
