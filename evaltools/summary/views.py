"""Tables of a summary result for its report and workbook. Each function takes a Result and returns a frame."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pandas as pd

from ..core.suite import Result
from .options import rules_in_force
from .rules import METRICS


def overview(result: Result) -> pd.DataFrame:
    """One row a metric: the two means, how many cases stand behind them, and the verdict.

    verdict: "fail" where a measured case lies below the threshold, "pass" where none does, "not measured"
    where no case was measured, "no threshold" where the metric has none.
    """
    thresholds, units = rules_in_force(result.options).thresholds, result.units
    rows = []
    for m in METRICS:
        measured = units[f"{m}_measured"]
        threshold = thresholds.get(m)
        failing = int((units[f"{m}_measured"] & ~units[f"{m}_passed"]).sum()) if threshold is not None else None
        if not measured.any():
            verdict = "not measured"
        elif failing is None:
            verdict = "no threshold"
        else:
            verdict = "fail" if failing else "pass"
        rows.append(
            {
                "metric": m,
                "mean": result.value(m),
                "mean_measured": result.value(f"{m}_measured"),
                "cases": len(units),
                "measured": int(measured.sum()),
                "not_measured": int((~measured).sum()),
                "threshold": threshold,
                "failing": failing,
                "verdict": verdict,
            }
        )
    return pd.DataFrame(rows)


def failing(result: Result, metric: str) -> pd.Series:
    """Whether each case was measured and lies below the metric's threshold; False for a metric without one."""
    if f"{metric}_passed" not in result.units:
        return pd.Series(False, index=result.units.index)
    return result.units[f"{metric}_measured"] & ~result.units[f"{metric}_passed"]


def cases_table(result: Result) -> pd.DataFrame:
    """All cases, those that fail most metrics first, then in the file's order.

    case_id, failed (names of the metrics), not_measured, answer, contexts, tags, the five scores, and the
    evidence of each.
    """
    units = result.units
    fails = pd.DataFrame({m: failing(result, m) for m in METRICS})
    unmeasured = pd.DataFrame({m: ~units[f"{m}_measured"] for m in METRICS})
    out = pd.DataFrame(
        {
            "case_id": units["case_id"],
            "failed": _names(fails),
            "not_measured": _names(unmeasured),
            "answer": units["answer"],
            "contexts": ["\n".join(json.loads(c)) for c in units["contexts"]],
            "tags": [", ".join(json.loads(t)) for t in units["tags"]],
            **{m: units[m] for m in METRICS},
            **{f"{m} evidence": units[f"{m}_evidence"] for m in METRICS},
        }
    )
    order = fails.sum(axis=1).sort_values(ascending=False, kind="stable").index
    return out.loc[order].reset_index(drop=True)


def _names(flags: pd.DataFrame) -> list[str]:
    return [", ".join(c for c, f in zip(flags.columns, row) if f) for row in flags.itertuples(index=False)]


def failing_cases(result: Result) -> pd.DataFrame:
    """The cases that fail any metric, worst first: the columns of `cases_table`."""
    table = cases_table(result)
    return table[table["failed"] != ""].reset_index(drop=True)


def not_measured(result: Result) -> pd.DataFrame:
    """Why cases were not measured: metric, reason, score (the source document's number), cases."""
    rows = [
        (m, json.loads(e)["reason"], s)
        for m in METRICS
        for e, s in result.units.loc[~result.units[f"{m}_measured"], [f"{m}_evidence", m]].itertuples(index=False)
    ]
    frame = pd.DataFrame(rows, columns=["metric", "reason", "score"])
    return frame.groupby(["metric", "reason", "score"], sort=False).size().rename("cases").reset_index()


def unsupported_entities(result: Result) -> pd.DataFrame:
    """Entities of summaries that no context supports: case_id, kind, text, value, start, end, answer."""
    return _from_evidence(
        result,
        "summary_accuracy",
        lambda e: [(u["kind"], u["text"], u["value"], *u["at"]) for u in e.get("unsupported", [])],
        ["kind", "text", "value", "start", "end"],
    )


def missing_tags(result: Result) -> pd.DataFrame:
    """Expected tags that no phrase covers: case_id, tag, let_off (wording that was found but taken back), answer."""
    return _from_evidence(
        result,
        "summary_risk_coverage",
        lambda e: [(tag, "; ".join(m["text"] for m in found)) for tag, found in e.get("missing", {}).items()],
        ["tag", "let_off"],
    )


def tag_coverage(result: Result) -> pd.DataFrame:
    """By tag: cases that expect it, cases that cover it, share covered."""
    rows = []
    for e in map(json.loads, result.units["summary_risk_coverage_evidence"]):
        rows += [(t, 1) for t in e.get("covered", {})] + [(t, 0) for t in e.get("missing", {})]
    frame = pd.DataFrame(rows, columns=["tag", "covered"]).groupby("tag")["covered"].agg(["size", "sum"])
    frame = frame.rename(columns={"size": "expected", "sum": "covered"}).reset_index()
    return frame.assign(share=frame["covered"] / frame["expected"])


def definitive_phrases(result: Result, let_off: bool = False) -> pd.DataFrame:
    """Definitive phrases found: case_id, text, start, end, reason, by, answer. With `let_off`, those taken back."""
    key = "let_off" if let_off else "definitive"
    return _from_evidence(
        result,
        "summary_non_definitive",
        lambda e: [(m["text"], *m["at"], m.get("let_off"), m.get("by")) for m in e.get(key, [])],
        ["text", "start", "end", "reason", "by"],
    )


def _from_evidence(
    result: Result, metric: str, rows: Callable[[dict[str, Any]], list[tuple[Any, ...]]], columns: list[str]
) -> pd.DataFrame:
    out = [
        (case_id, *row, answer)
        for case_id, evidence, answer in result.units[["case_id", f"{metric}_evidence", "answer"]].itertuples(
            index=False
        )
        for row in rows(json.loads(evidence))
    ]
    return pd.DataFrame(out, columns=["case_id", *columns, "answer"])
