"""The files of a MemFin run: turn_eval.jsonl, metrics_summary.json, report.md."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...core.files import write_json, write_jsonl, write_text
from ...core.manifest import SCHEMA_VERSION
from ...report.tables import text_table
from ...report.text import markdown, markdown_table
from ...report.trust import problems_of
from .measures import MEASURES, counters, eligibility, micro_and_macro
from .turns import TURN_EVAL

if TYPE_CHECKING:
    from ...report.run import Run


def write_artifacts(
    result: Run,
    folder: Path,
) -> None:
    """Write the files of a run into its results folder."""
    write_jsonl(folder / "turn_eval.jsonl", turn_eval(result))
    write_json(folder / "metrics_summary.json", metrics_summary(result))
    write_text(folder / "report.md", report_md(result))


def turn_eval(result: Run) -> list[dict[Any, Any]]:
    """The rows of turn_eval.jsonl: one a turn of a valid dialogue, in the order of the trace."""
    turns = result.units[result.units["turn_pair_id"].notna()]
    return _with_none(turns[list(TURN_EVAL)]).to_dict("records")


def _with_none(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame with None where it is null."""
    return frame.astype(object).where(frame.notna(), None)


def metrics_summary(result: Run) -> dict[str, Any]:
    """micro, macro, counts and by_dialog of the five measures; null is "not measured".

    `by_dialog` holds the dialogues with an eligible turn. `counts`: every turn of a valid dialogue
    is eligible, failed (turn_status timeout or error) or skipped (nothing to measure it against);
    for M2 every dialogue is eligible, failed (not valid, with a failed dialog_status) or skipped.
    """
    values = result.to_dict()
    first_rows = result.data[~result.data["dialog_id"].duplicated()]
    states = eligibility(result).set_index("measure")
    texts = {}
    for name in ("run_id", "trace_version"):
        texts[name] = ", ".join(first_rows[name].dropna().unique()) or None
    measures = {}
    for measure in MEASURES:
        counts = states.loc[measure.key, ["eligible", "skipped", "failed"]].add_suffix("_count")
        totals = {name: int(result.data[column].sum()) for name, column in measure.totals.items()}
        micro, macro = micro_and_macro(measure)
        names = {metric.numerator: name for name, metric in macro.items()}
        has_value = first_rows[next(iter(macro.values())).denominator] > 0
        by_dialog = first_rows[has_value].set_index("dialog_id")[list(names)].rename(columns=names)
        measures[measure.stored] = {
            "metric_name": measure.stored,
            "micro": {name: values[metric.name] for name, metric in micro.items()},
            "macro": {name: values[metric.name] for name, metric in macro.items()},
            "counts": {**counts.to_dict(), **totals},
            "by_dialog": _with_none(by_dialog).to_dict("index"),
        }
    return {
        "schema_version": SCHEMA_VERSION,
        **texts,
        "eval_policy_hash": result.policy["eval_policy_hash"],
        "metrics": measures,
        "counters": counters(result.data),
    }


def report_md(result: Run) -> str:
    """The numbers of a run as one Markdown page.

    Metrics with intervals, eligibility, problems in the input, signature.
    """
    n = counters(result.data)
    parts = [
        f"# MemFin: {markdown(result.name)}\n",
        f"{n['total_dialogs']} dialogues: {n['valid_dialogs']} valid, "
        f"{n['skipped_dialogs']} skipped, {n['failed_dialogs']} failed; "
        f"{n['total_turn_pairs']} turns.\n",
        f"Intervals ({result.resampling.percent}) resample dialogues. N/A: not measured. "
        "Micro: over turns; macro: mean of dialogues.\n",
    ]
    if result.options.ignore_memory_keys:
        parts.append("Memory keys were ignored (memory-free baseline): M1 is not measured.\n")
    parts.append(markdown_table(text_table(result.estimates), caption="## Metrics"))
    parts.append(markdown_table(eligibility(result), caption="## Eligibility"))
    parts.append(f"Problems in the input: {problems_of(result) or 'none'}.\n")
    parts.append(f"`{result.signature}`\n")
    return "\n".join(parts)
