"""`evaltools compare A B`: finding the runs that A and B stand for, and the comparison as text."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from glob import escape
from pathlib import Path
from typing import Any

import pandas as pd

from ..core.errors import OnError, UsageError
from ..core.evaluate import evaluate, resolve
from ..core.jsonl import write_text
from ..core.names import RUN_NAME, natural
from ..core.results import load, read_manifest
from ..core.suite import Result, get_suite
from ..stats.compare import power_statement
from ..stats.intervals import Resampling
from ..studies.study import Study, comparison_csv, group_by_seed, make_study
from .workers import Workers


def suite_of(path: Path) -> str:
    """The suite that a run, trace or case file belongs to, by its files' names."""
    if path.is_dir():
        if any(path.glob("dialog_trace*.jsonl")):
            return "memfin"
        return "cr"
    name = path.name.lower()
    if name.startswith("dialog_trace"):
        return "memfin"
    return "cr" if "output" in name or "scorecard" in name else "summary"


def find_runs(text: str) -> list[Path]:
    """The runs that A or B of `compare` stands for, in natural order.

    Runs joined by commas; a run folder or file; a results folder; or the common prefix of folders named
    <run_id>__seed<N>_<mode>. UsageError where nothing is found.
    """
    found = [run for part in filter(None, (p.strip() for p in text.split(","))) for run in _runs_at(part)]
    if not found:
        raise UsageError("no run given")
    return sorted(found, key=lambda p: natural(str(p)))


def _runs_at(part: str) -> list[Path]:
    prefix, example = Path(part), part.startswith("example:")
    if example and not part.endswith("_proposed"):
        from .examples import ROOT

        prefix = ROOT / part.removeprefix("example:")
    if prefix.exists():
        return [prefix]
    if seeds := [p for p in prefix.parent.glob(f"{escape(prefix.name)}__seed*") if p.is_dir()]:
        return seeds
    if example:
        with suppress(UsageError):
            return [resolve(part)]
    raise UsageError(f"{part}: no such run, and no folders {prefix.name}__seed<N>_<mode> beside it")


def read_condition(
    text: str, suite: str | None, options: Mapping[str, Any], **how: Any
) -> tuple[str, dict[str, Result]]:
    """(name, seed -> result) of A or B of `compare`; runs are scored, results folders are read."""
    paths = find_runs(text)
    results = []
    for path in paths:
        if path.is_dir() and read_manifest(path) is not None and (path / "metrics.json").is_file():
            results.append(load(path))
            continue
        name = suite or suite_of(path)
        fields = get_suite(name).options.model_fields
        results.append(evaluate(name, path, **how, **{k: v for k, v in options.items() if k in fields}))
    if len(results) == 1 and not RUN_NAME.match(results[0].name):
        return results[0].name, {"": results[0]}
    grouped = group_by_seed(results)
    if len(grouped) > 1:
        raise UsageError(f"{text} holds several conditions: {', '.join(grouped)}")
    return next(iter(grouped.items()))


def compare_command(
    baseline: str,
    candidate: str,
    *,
    suite: str | None,
    everything: bool,
    csv_file: Path | None,
    jobs: int,
    on_error: OnError,
    n_resamples: int,
    confidence: float,
    ci: Any,
    seed: int,
    **options: Any,
) -> str:
    """The text that `evaltools compare A B` prints."""
    how = {
        "resampling": Resampling(ci, n_resamples, confidence, seed),
        "workers": Workers(jobs),
        "on_error": on_error,
    }
    (a, runs_a), (b, runs_b) = (read_condition(x, suite, options, **how) for x in (baseline, candidate))
    if a == b:
        a, b = f"{a} (A)", f"{b} (B)"
    if set(map(len, (runs_a, runs_b))) == {1}:
        # one run each: they pair by sample, whatever their seeds are called
        runs_a, runs_b = {"": next(iter(runs_a.values()))}, {"": next(iter(runs_b.values()))}
    study = make_study({a: runs_a, b: runs_b}, baseline=a, name="comparison")
    found = study.comparisons[b]
    if csv_file is not None:
        write_text(csv_file, comparison_csv(study))
    rows = found.table if everything else found.table[found.table["headline"]]
    return comparison_text(rows, a, b, study)


def comparison_text(rows: pd.DataFrame, a: str, b: str, study: Study) -> str:
    def number(x: float, digits: int = 4) -> str:
        return "N/A" if pd.isna(x) else f"{x:.{digits}f}"

    lines = [f"A (baseline)  {a}", f"B (candidate) {b}", ""]
    lines.append(f"{'metric':<32} {'A':>8} {'B':>8} {'B - A':>9} {'interval':>20} {'p':>7} {'p adj.':>7}  verdict")
    for r in rows.to_dict("records"):
        interval = "" if pd.isna(r["ci_low"]) else f"[{r['ci_low']:+.3f}, {r['ci_high']:+.3f}]"
        delta = "N/A" if pd.isna(r["delta"]) else f"{r['delta']:+.4f}"
        lines.append(
            f"{r['metric']:<32} {number(r['value_baseline']):>8} {number(r['value_candidate']):>8} {delta:>9} "
            f"{interval:>20} {number(r['p_value']):>7} {number(r['p_adjusted']):>7}  {r['verdict']}"
        )
    claims = sorted({c for c in rows["claim"] if c})
    lines += ["", *(f"intervals: {c}" for c in claims)]
    lines += [f"tied: {power_statement(r)}" for _, r in rows[rows["verdict"] == "tied"].iterrows()]
    lines += [f"note: {n}" for n in study.notes]
    return "\n".join([*lines, study.signature])
