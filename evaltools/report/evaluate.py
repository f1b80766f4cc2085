"""From an input to its numbers: the public `evaluate`, and `load` of a result that was written before."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyarrow import ArrowException

from ..core.errors import OnError, Problems, UsageError
from ..core.estimates import Method, Resampling
from ..core.files import resolve
from ..core.manifest import require_replaceable, whole_folder
from ..core.memory import as_files
from ..core.plugins import get_suite, with_metrics
from ..core.records import settings_of
from ..core.results import (
    UNITS,
    is_current,
    read_result,
    write_result,
)
from ..core.scoring import (
    locate,
    planned_manifest,
    require_target,
    score_source,
)
from ..core.suite import Suite
from ..core.workers import Workers
from .run import Run, make_run


def evaluate(
    suite: str | Suite,
    run: Any,
    *,
    name: str | None = None,
    out: str | Path | None = None,
    resampling: Resampling | None = None,
    n_resamples: int | None = None,
    confidence: float | None = None,
    ci: Method | None = None,
    seed: int | None = None,
    on_error: OnError = "fail",
    workers: Workers | None = None,
    fresh: bool = False,
    metrics: str | Path | None = None,
    query: str | None = None,
    **options: Any,
) -> Run:
    """Score one run and estimate every metric of its suite.

    suite: "cr", "memfin", "summary", "table", an installed one, or a suite itself (`et.jsonl_suite`).
    run: a run folder, a file, "example:NAME" for a bundled one, or data in memory: a DataFrame (or a
        table with `to_pandas`, of polars or Arrow) or a list of dicts, records as in the suite's file.
    name: instead of the folder's or file's; data in memory are called "data".
    out: the folder under which results/<run>/ is written. None writes nothing. What is complete and
        current there (same inputs by hash, policy, resampling, versions) is read, unless `fresh`;
        what a suite made in Python gave is made anew each time.
    n_resamples: bootstrap resamples, 100 or more (default 10,000). confidence: level of the intervals,
        between 0 and 1 (0.95). ci: "auto", "bca" or "percentile". seed: of the resampling (0).
        `resampling` sets all four at once.
    on_error: "fail" on records that cannot be used, or "skip" (left out, counted, reported).
    workers: `et.Workers(2)` uses two processes.
    metrics: a Python file with METRICS of your own (docs/extending.md).
    query: only the units that it finds (`Run.where`); the files hold these alone.
    options: those of the suite; `help(et.get_suite("cr").options)` lists them. In the place of an input file, such
        as `gold`, they take records in memory too.

    A value that is not measured is null. Raises InputError for input that cannot be used, with file, line
    and field, and UsageError for options that make no sense.

    >>> import evaltools as et
    >>> run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed", protocol="cr_v1")
    >>> round(float(run["fix_rate"]["value"]), 3)
    0.579
    """
    suite = get_suite(suite)
    if metrics is not None:
        suite = with_metrics(suite, Path(str(metrics)))
    settings = {
        "n_resamples": n_resamples,
        "confidence": confidence,
        "method": ci,
        "seed": seed,
    }
    defaults = dict(resampling or {})
    resampling = settings_of(Resampling, "settings of the intervals", defaults, settings)
    recorded = {"on_error": on_error, "name": name, "query": query}
    with as_files(run, options) as (path, values):
        problems = Problems(on_error)
        source = locate(suite, path, name, values, problems)
        manifest = planned_manifest(suite, source, resampling, recorded)
        folder: Path | None = None
        writing: AbstractContextManager[Path | None] = nullcontext()
        if out is not None:
            out = resolve(out)
            folder = out / "results" / source.name
            carried = require_target(folder, suite, source, fresh)
            if not fresh and is_current(folder, suite, source, manifest):
                return load(folder, suite=suite)
            writing = whole_folder(folder, carried)
        with writing as aside:
            units, manifest = score_source(
                suite, source, manifest, problems, workers or Workers(), aside
            )
            run = make_run(suite, source.options, units, manifest)
            run = run.where(query) if query else run
            if aside is not None:
                run = _write(run, aside)
        return replace(run, folder=folder)


def _write(run: Run, folder: Path) -> Run:
    """Write the files of a run; returns it with the manifest that holds their hashes."""
    try:
        run.data.to_parquet(folder / UNITS, index=False)
    except (ArrowException, OverflowError, UnicodeError) as e:
        whose = run.suite.metrics_file or f"the suite {run.suite.name!r}"
        raise UsageError(f"{whose}: a column of the units cannot be stored: {e}") from e
    if run.suite.artifacts is not None:
        run.suite.artifacts(run, folder)
    leads = {"headline": list(run.headline), "n_units": run.n_units}
    manifest = run.manifest.model_copy(update=leads)
    manifest = write_result(folder, manifest, run.signature, run.frame, run.checks, run.verdicts)
    return replace(run, manifest=manifest)


def save(run: Run, folder: Path) -> Run:
    """Write the results folder of a run that was scored without one, of all its units.

    UsageError where the result of another input is in its place.
    """
    stored = require_replaceable(folder)
    if stored and [i.sha256 for i in stored.inputs] != [i.sha256 for i in run.manifest.inputs]:
        raise UsageError(f"{folder} holds the result of something else")
    with whole_folder(folder) as aside:
        return replace(_write(run, aside), folder=folder)


def load(
    folder: str | Path,
    query: str | None = None,
    suite: str | Suite | None = None,
) -> Run:
    """The result that stands in a results folder, over the units that `query` finds. UsageError where it is not complete.

    A suite of your own must be given, or known by then: no result makes its file be run. Its further metrics, of
    `metrics=`, are read from the manifest.

    >>> import evaltools as et
    >>> run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed", out="outputs")
    >>> et.load("outputs/results/with_memory__seed1_proposed").name
    'with_memory__seed1_proposed'
    """
    folder = resolve(folder)
    run = Run(**read_result(folder, suite), folder=folder)
    return run.where(query) if query else run
