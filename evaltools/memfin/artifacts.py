"""The files of a MemFin run: turn_eval.jsonl, metrics_summary.json, report.md."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ..core.jsonl import write_json, write_jsonl, write_text
from ..core.suite import SCHEMA_VERSION, Result
from .ratios import MEASURES, Measure, dialog_column, dialogs_column, macro_name, micro_name
from .turns import COLUMNS, TURN_EVAL
from .views import eligibility


def write_artifacts(result: Result, folder: Path) -> None:
    write_jsonl(folder / "turn_eval.jsonl", turn_eval(result.units))
    write_json(folder / "metrics_summary.json", metrics_summary(result))
    write_text(folder / "report.md", report_md(result))


def turn_eval(units: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """The turn_eval rows: one a turn of a valid dialogue, in the order of the trace."""
    turns = units[units["turn_pair_id"].notna()]
    columns = [_values(turns[c], COLUMNS[c]) for c in TURN_EVAL]
    for values in zip(*columns):
        yield dict(zip(TURN_EVAL, values))


def _values(column: pd.Series, kind: str) -> Iterable[Any]:
    if kind == "json":
        return map(json.loads, column)
    if kind in ("id", "count"):
        return map(int, column)
    if kind == "flag":
        return map(bool, column)
    return (None if pd.isna(v) else v for v in column.tolist())


def metrics_summary(result: Result) -> dict[str, Any]:
    """micro, macro, counts and by_dialog of the five measures; null is "not measured".

    `by_dialog` holds the dialogues with an eligible turn. `counts`: every turn of a valid dialogue is
    eligible, failed (turn_status timeout or error) or skipped (nothing to measure it against); for M2
    every dialogue is eligible, failed (not valid, with a failed dialog_status) or skipped.
    """
    units = result.units
    first = units[~units["dialog_id"].duplicated()]
    run_ids = first["run_id"].dropna().unique()
    versions = first["trace_version"].dropna().unique()
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": ", ".join(run_ids) or None,
        "trace_version": ", ".join(versions) or None,
        "eval_policy_hash": result.policy["eval_policy_hash"],
        "metrics": {m.stored: _measure(m, result, first) for m in MEASURES},
        "counters": units.attrs["counters"],
    }


def _measure(measure: Measure, result: Result, first: pd.DataFrame) -> dict[str, Any]:
    values = result.estimates.set_index("name")["value"]
    columns = {r.name: dialog_column(measure, r) for r in measure.ratios if r.macro}
    rows = first.loc[first[dialogs_column(measure)] > 0, ["dialog_id", *columns.values()]]
    counts = next(r for r in eligibility(result).to_dict("records") if r["measure"] == measure.key.upper())
    return {
        "metric_name": measure.stored,
        "micro": {r.name: _number(values[micro_name(measure, r)]) for r in measure.ratios},
        "macro": {r.name: _number(values[macro_name(measure, r)]) for r in measure.ratios if r.macro},
        "counts": {
            **{f"{state}_count": int(counts[state]) for state in ("eligible", "skipped", "failed")},
            **{name: int(result.units[column].sum()) for name, column in measure.totals.items()},
        },
        "by_dialog": {row[0]: dict(zip(columns, map(_number, row[1:]))) for row in rows.itertuples(index=False)},
    }


def _number(value: Any) -> float | None:
    return None if pd.isna(value) else float(value)


def report_md(result: Result) -> str:
    """The numbers of a run as one Markdown page: metrics with intervals, eligibility, problems, signature."""
    n = result.units.attrs["counters"]
    lines = [
        f"# MemFin: {_cell(result.name)}",
        "",
        f"{n['total_dialogs']} dialogues: {n['valid_dialogs']} valid, {n['skipped_dialogs']} skipped, "
        f"{n['failed_dialogs']} failed; {n['total_turn_pairs']} turns.",
        "",
    ]
    if result.options.ignore_memory_keys:
        lines += ["Memory keys were ignored (memory-free baseline): M1 is not measured.", ""]
    level = f"{100 * result.resampling.confidence:g}%"
    lines += [
        f"Intervals ({level}) resample dialogues. N/A: not measured. Micro: over turns; macro: mean of dialogues.",
        "",
    ]
    for group, frame in result.estimates.groupby("group", sort=False):
        lines += [f"## {group}", ""]
        lines += _table(
            ("metric", "value", f"{level} interval", "method", "numerator", "denominator", "dialogues"),
            (
                (
                    r["name"],
                    _text(r["value"]),
                    _interval(r),
                    r["ci_method"],
                    _text(r["numerator"]),
                    _text(r["denominator"]),
                    r["n_units"],
                )
                for r in frame.to_dict("records")
            ),
        )
    lines += ["## Eligibility", ""]
    funnel = eligibility(result)
    lines += _table(tuple(funnel.columns), funnel.itertuples(index=False))
    if result.manifest["problems"]:
        lines += ["## Problems in the input", ""]
        lines += _table(
            ("severity", "code", "count", "first"),
            ((p["severity"], p["code"], p["count"], p["examples"][0]) for p in result.manifest["problems"]),
        )
    return "\n".join([*lines, f"`{result.signature}`", ""])


def _interval(row: Mapping[Any, Any]) -> str:
    return "none" if pd.isna(row["ci_low"]) else f"{row['ci_low']:.4f} to {row['ci_high']:.4f}"


def _text(value: float) -> str:
    if pd.isna(value):
        return "N/A"
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.4f}"


def _table(header: Sequence[str], rows: Iterable[Iterable[Any]]) -> list[str]:
    cells = [[_cell(v) for v in row] for row in rows]
    return [_row(header), _row(["---"] * len(header)), *map(_row, cells), ""]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(value: Any) -> str:
    """A text that neither ends a table cell nor is read as HTML or Markdown."""
    text = " ".join(str(value).split())
    return re.sub(r"([\\`*\[\]<>|$])", r"\\\1", text)
