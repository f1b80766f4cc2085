"""Several runs seen together: conditions by seeds, their aggregates and their comparison with a baseline."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from ..app.workers import Workers
from ..core.errors import OnError, UsageError
from ..core.evaluate import evaluate
from ..core.jsonl import write_json, write_text
from ..core.metric import MetricTable
from ..core.names import condition_of, natural, safe_name
from ..core.results import load
from ..core.suite import SCHEMA_VERSION, Result, Suite
from ..stats.agreement import seed_agreement
from ..stats.compare import CONTRACT as COMPARISON_COLUMNS
from ..stats.compare import Comparison, compare
from ..stats.crossed import Runs
from ..stats.intervals import Resampling
from ..stats.seeds import CONTRACT as AGGREGATE_COLUMNS
from ..stats.seeds import aggregate, completeness, seed_values


@dataclass(frozen=True)
class Study:
    """Runs by condition and seed, with what follows from them.

    `conditions`: name -> seed -> Result, in natural order. `aggregates`: name -> frame of
    `seeds.aggregate`. `comparisons`: candidate -> its comparison with `baseline`. `seeded`: whether the runs
    are told apart by seeds (False: systems of one run each). `notes`: what a reader must know (incomplete
    seeds, differing samples), by condition or candidate.
    """

    name: str
    suite: Suite
    options: Any
    resampling: Resampling
    baseline: str
    conditions: dict[str, dict[str, Result]] = field(repr=False)
    aggregates: dict[str, pd.DataFrame] = field(repr=False)
    comparisons: dict[str, Comparison] = field(repr=False)
    seeded: bool
    notes: list[str] = field(repr=False)

    @cached_property
    def table(self) -> MetricTable:
        return self.suite.metrics(self.options)

    @property
    def results(self) -> list[Result]:
        return [r for runs in self.conditions.values() for r in runs.values()]

    @property
    def candidates(self) -> list[str]:
        return list(self.comparisons)

    def frames(self, condition: str) -> Runs:
        """Seed -> units frame of one condition."""
        return {seed: r.units for seed, r in self.conditions[condition].items()}

    @cached_property
    def signature(self) -> str:
        """The signature of the first run, with the samples and seeds of all of them."""
        first = self.results[0]
        seeds = sorted({s for runs in self.conditions.values() for s in runs}, key=natural)
        samples = {u for r in self.results for u in r.units[self.suite.unit]}
        parts = [p for p in first.signature.split("|") if not p.startswith(("n:", "ci:"))]
        return "|".join(
            [*parts, f"n:{len(samples)}", f"seeds:{','.join(seeds)}", f"ci:{self.resampling.confidence:.0%}"]
        )

    @cached_property
    def agreement(self) -> pd.DataFrame:
        """How far the seeds of each condition agree on the same samples: condition, then `seed_agreement`'s columns.

        Empty for suites without tuples and labels, and for conditions of one seed.
        """
        columns = self.suite.agreement
        frames = [
            seed_agreement(self.frames(c), self.suite.unit, self.resampling, *columns).assign(condition=c)
            for c, runs in self.conditions.items()
            if columns is not None and len(runs) > 1
        ]
        if not frames:
            return pd.DataFrame(
                columns=["condition", "metric", "value", "ci_low", "ci_high", "n_samples", "n_incomplete"]
            )
        found = pd.concat(frames, ignore_index=True)
        return found[["condition", *(c for c in found.columns if c != "condition")]]


def group_by_seed(results: Iterable[Result]) -> dict[str, dict[str, Result]]:
    """condition -> seed -> result, in natural order whatever the order given.

    A condition is a run_id; runs of one run_id in several modes make a condition a mode. UsageError for
    two runs of one condition and seed.
    """
    named = [(condition_of(r.name), r) for r in results]
    modes: dict[str, set[str]] = {}
    for (run_id, _, mode), _ in named:
        modes.setdefault(run_id, set()).add(mode)
    out: dict[str, dict[str, Result]] = {}
    for (run_id, seed, mode), r in sorted(named, key=lambda x: [natural(p) for p in x[0]]):
        condition = run_id if len(modes[run_id]) == 1 else f"{run_id}_{mode}"
        runs = out.setdefault(condition, {})
        if seed in runs:
            raise UsageError(f"two runs of {condition} under seed {seed}: {runs[seed].name} and {r.name}")
        runs[seed] = r
    return out


def make_study(
    conditions: Mapping[str, dict[str, Result]],
    *,
    name: str | None = None,
    baseline: str | None = None,
    headline: Sequence[str] | None = None,
) -> Study:
    """Aggregate every condition and compare the others with `baseline` (default: the first by name).

    UsageError for a baseline that is none of the conditions, or runs scored under different policies.
    """
    results = [r for runs in conditions.values() for r in runs.values()]
    if not results:
        raise UsageError("no runs given")
    first = results[0]
    for r in results:
        if r.policy != first.policy or r.suite is not first.suite:
            raise UsageError(f"{r.name} and {first.name} were scored under different policies and cannot be compared")
    baseline = baseline or next(iter(conditions))
    if baseline not in conditions:
        raise UsageError(f"no condition {baseline!r} among {', '.join(conditions)}")
    suite, resampling = first.suite, first.resampling
    table = suite.metrics(first.options)
    frames: dict[str, Runs] = {c: {s: r.units for s, r in runs.items()} for c, runs in conditions.items()}
    aggregates = {c: aggregate(runs, table, suite.unit, resampling) for c, runs in frames.items()}
    comparisons = {
        c: compare(
            frames[baseline],
            frames[c],
            table,
            suite.unit,
            resampling,
            headline if headline is not None else suite.headline(first.options),
            names=(baseline, c),
        )
        for c in conditions
        if c != baseline
    }
    seeded = any(seed for runs in conditions.values() for seed in runs)
    notes = [f"{c}: {note}" for c, runs in frames.items() if seeded for note in completeness(runs, table, suite.unit)]
    notes += [f"{baseline} and {c}: {note}" for c, found in comparisons.items() for note in found.notes]
    return Study(
        safe_name(name or default_name(baseline, list(comparisons))),
        suite,
        first.options,
        resampling,
        baseline,
        dict(conditions),
        aggregates,
        comparisons,
        seeded,
        notes,
    )


def default_name(baseline: str, candidates: Sequence[str]) -> str:
    if not candidates:
        return f"{baseline}_aggregated"
    return f"{baseline}_vs_{candidates[0]}" + (f"_and_{len(candidates) - 1}_more" if len(candidates) > 1 else "")


def study_seeds(
    runs: Sequence[str | Path],
    *,
    baseline: str | None = None,
    name: str | None = None,
    out: str | Path | None = None,
    resampling: Resampling | None = None,
    on_error: OnError = "fail",
    workers: Workers | None = None,
    fresh: bool = False,
    suite: str = "cr",
    **options: Any,
) -> Study:
    """Score the runs, group them by <run_id>__seed<N>_<mode>, aggregate and compare.

    With `out`, writes results/<run>/ for every run and results/<run_id>_aggregated/ for every condition.
    Raises InputError and UsageError as `evaluate` and `make_study` do.
    """
    started, clock = datetime.now(UTC), time.perf_counter()
    results = [
        evaluate(
            suite, run, out=out, resampling=resampling, on_error=on_error, workers=workers, fresh=fresh, **options
        )
        for run in runs
    ]
    study = make_study(group_by_seed(results), name=name, baseline=baseline)
    if out is not None:
        save_study(study, Path(out), started.isoformat(timespec="seconds"), round(time.perf_counter() - clock, 3))
    return study


def study_systems(results: Mapping[str, Result], *, name: str | None = None, baseline: str | None = None) -> Study:
    """Compare systems that have one run each, paired by resampling unit."""
    return make_study({system: {"": r} for system, r in results.items()}, name=name, baseline=baseline)


def save_systems(names: Sequence[str], out: Path, name: str | None = None) -> Study:
    """Compare systems whose results stand under `out`, the first as baseline, and save what comes of it."""
    started, clock = datetime.now(UTC), time.perf_counter()
    study = study_systems({n: load(out / "results" / n) for n in names}, name=name, baseline=names[0])
    save_study(study, out, started.isoformat(timespec="seconds"), round(time.perf_counter() - clock, 3))
    return study


def aggregated_csv(study: Study, condition: str) -> str:
    """The content of aggregated_mean_std.csv; with several conditions the column `condition` comes first."""
    frame = study.aggregates[condition][list(AGGREGATE_COLUMNS)]
    if study.comparisons:
        frame = frame.assign(condition=condition)[["condition", *AGGREGATE_COLUMNS]]
    return frame.to_csv(index=False, lineterminator="\n")


def comparison_csv(study: Study) -> str:
    """The content of comparison.csv: every candidate against the baseline."""
    frames = [c.table[list(COMPARISON_COLUMNS)] for c in study.comparisons.values()]
    return pd.concat(frames, ignore_index=True).to_csv(index=False, lineterminator="\n")


def save_study(study: Study, out: Path, started: str, seconds: float) -> None:
    """Write results/<run_id>_aggregated/ for every condition; the manifest comes last."""
    from ..report.plain import markdown_table

    compared = comparison_csv(study) if study.comparisons else None
    for condition, runs in study.conditions.items():
        folder = out / "results" / f"{safe_name(condition)}_aggregated"
        (folder / "manifest.json").unlink(missing_ok=True)
        write_text(folder / "aggregated_mean_std.csv", aggregated_csv(study, condition))
        table = study.aggregates[condition][list(AGGREGATE_COLUMNS)]
        text = f"# {condition} over {len(runs)} seed(s)\n\n{markdown_table(table)}\n`{study.signature}`\n"
        write_text(folder / "aggregated_mean_std.md", text)
        agreed = study.agreement[study.agreement["condition"] == condition]
        write_text(folder / "agreement.csv", agreed.to_csv(index=False, lineterminator="\n"))
        if compared is not None:
            write_text(folder / "comparison.csv", compared)
        else:
            (folder / "comparison.csv").unlink(missing_ok=True)
        write_json(folder / "manifest.json", study_manifest(study, condition, started, seconds))


def study_manifest(study: Study, condition: str, started: str, seconds: float) -> dict[str, Any]:
    first = study.results[0].manifest
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "aggregate",
        "suite": study.suite.name,
        "run": f"{condition}_aggregated",
        "report": study.name,
        "condition": condition,
        "conditions": list(study.conditions),
        "baseline": study.baseline,
        "runs": [r.name for r in study.conditions[condition].values()],
        "inputs": [i for r in study.conditions[condition].values() for i in r.manifest["inputs"]],
        "members": [
            {
                "suite": study.suite.name,
                "condition": c,
                "seed": seed,
                **{k: r.manifest[k] for k in ("run", "inputs", "options")},
            }
            for c, runs in study.conditions.items()
            for seed, r in runs.items()
        ],
        "policy": first["policy"],
        "options": first["options"],
        "bootstrap": first["bootstrap"],
        "signature": study.signature,
        "notes": study.notes,
        "problems": [p for r in study.conditions[condition].values() for p in r.manifest["problems"]],
        "versions": first["versions"],
        "git_commit": first["git_commit"],
        "started": started,
        "seconds": seconds,
    }


def seed_table(study: Study) -> pd.DataFrame:
    """Every metric of every run: condition, metric, seed, value, n_units."""
    frames = [
        seed_values(study.frames(c), study.table, study.suite.unit).assign(condition=c) for c in study.conditions
    ]
    return pd.concat(frames, ignore_index=True)[["condition", "metric", "seed", "value", "n_units"]]
