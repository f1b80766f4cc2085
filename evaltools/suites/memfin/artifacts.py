"""The files of a MemFin run: turn_eval.jsonl, metrics_summary.json, report.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...core.files import write_json, write_jsonl, write_text
from ...core.manifest import SCHEMA_VERSION
from ...report.markdown import is_null, markdown_table
from ...report.tables import plain_estimates
from .columns import TURN_EVAL
from .eligibility import STATES, eligibility, turns_of
from .measures import MEASURES, Measure

if TYPE_CHECKING:
    from ...report.run import Run


def write_artifacts(result: Run, folder: Path) -> None:
    write_jsonl(folder / "turn_eval.jsonl", turn_eval(result))
    write_json(folder / "metrics_summary.json", metrics_summary(result))
    write_text(folder / "report.md", report_md(result))


def turn_eval(result: Run) -> Iterator[dict[str, Any]]:
    """The turn_eval rows: one a turn of a valid dialogue, in the order of the trace."""
    for row in turns_of(result)[list(TURN_EVAL)].to_dict("records"):
        yield {str(name): None if is_null(value) else value for name, value in row.items()}


def metrics_summary(result: Run) -> dict[str, Any]:
    """micro, macro, counts and by_dialog of the five measures; null is "not measured".

    `by_dialog` holds the dialogues with an eligible turn. `counts`: every turn of a valid dialogue is
    eligible, failed (turn_status timeout or error) or skipped (nothing to measure it against); for M2
    every dialogue is eligible, failed (not valid, with a failed dialog_status) or skipped.
    """
    first = result.data[~result.data["dialog_id"].duplicated()]
    funnel = eligibility(result).set_index("measure")
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": ", ".join(first["run_id"].dropna().unique()) or None,
        "trace_version": ", ".join(first["trace_version"].dropna().unique()) or None,
        "eval_policy_hash": result.policy["eval_policy_hash"],
        "metrics": {m.stored: _measure(m, result, first, funnel.loc[m.key]) for m in MEASURES},
        "counters": result.data.attrs["counters"],
    }


def _measure(
    measure: Measure, result: Run, first: pd.DataFrame, states: pd.Series
) -> dict[str, Any]:
    values = _nullable(result.frame.set_index("name")[["value"]])["value"]
    columns = {m.numerator: name for name, m in measure.macro.items()}
    dialogs = next(m.denominator for m in measure.macro.values())
    rows = first[first[dialogs] > 0].set_index("dialog_id")[list(columns)].rename(columns=columns)
    return {
        "metric_name": measure.stored,
        "micro": {name: values[m.name] for name, m in measure.micro.items()},
        "macro": {name: values[m.name] for name, m in measure.macro.items()},
        "counts": {
            **{f"{state}_count": int(states[state]) for state in STATES},
            **{name: int(result.data[column].sum()) for name, column in measure.totals.items()},
        },
        "by_dialog": _nullable(rows).to_dict("index"),
    }


def _nullable(numbers: pd.DataFrame) -> pd.DataFrame:
    return numbers.astype(object).where(numbers.notna(), None)


def report_md(result: Run) -> str:
    """The numbers of a run as one Markdown page: metrics with intervals, eligibility, problems, signature."""
    n = result.data.attrs["counters"]
    level = f"{100 * result.resampling.confidence:g}%"
    name = re.sub(r"([\\`*\[\]<>|$])", r"\\\1", result.name)
    parts = [
        f"# MemFin: {name}\n",
        f"{n['total_dialogs']} dialogues: {n['valid_dialogs']} valid, {n['skipped_dialogs']} skipped, "
        f"{n['failed_dialogs']} failed; {n['total_turn_pairs']} turns.\n",
    ]
    if result.options.ignore_memory_keys:
        parts.append("Memory keys were ignored (memory-free baseline): M1 is not measured.\n")
    parts.append(
        f"Intervals ({level}) resample dialogues. N/A: not measured. Micro: over turns; macro: mean of dialogues.\n"
    )
    for group, rows in result.estimates.groupby("group", sort=False):
        shown = plain_estimates(rows, resampling=result.resampling, blocked=result.blocked)
        sums = {
            part: rows[part].map("{:.6g}".format).to_numpy()
            for part in ("numerator", "denominator")
        }
        parts.append(markdown_table(shown.assign(**sums), caption=f"## {group}"))
    parts.append(markdown_table(eligibility(result), caption="## Eligibility"))
    if result.manifest.problems:
        found = pd.DataFrame(
            [{**p.model_dump(), "first": p.examples[0]} for p in result.manifest.problems]
        )
        parts.append(
            markdown_table(found.drop(columns="examples"), caption="## Problems in the input")
        )
    return "\n".join([*parts, f"`{result.signature}`\n"])
