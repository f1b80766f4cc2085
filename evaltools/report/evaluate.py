"""From an input to its numbers: the public `evaluate`, and `load` of a result that was written before."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from ..core.errors import InputError, OnError
from ..core.estimates import metrics_rows
from ..core.evaluate import (
    copy_runner_files,
    counted_inputs,
    finished_manifest,
    inputs_unchanged,
    make_task,
    require_target,
    runner_files,
    score_task,
)
from ..core.files import file_hashes, write_json
from ..core.folders import whole_folder
from ..core.memory import is_path, of_memory, write_records
from ..core.plugins import get_suite, with_metrics
from ..core.resampling import Method, Resampling, make_resampling
from ..core.results import (
    METRICS,
    StoredResult,
    metrics_json,
    read_current,
    read_result,
    write_units,
)
from ..core.suite import Suite, Workers
from .run import Run
from .scored_run import with_estimates


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
    **options: Any,
) -> Run:
    """Score one run and estimate every metric of its suite.

    `suite`: the name of a suite, or one (`et.jsonl_suite`). `run`: a run folder, a file, "example:NAME" for a bundled
    one, or data in memory: a DataFrame (or anything with `__arrow_c_stream__`) or a list of dicts, records as in the
    suite's file. `name`: instead of the folder's or file's; "data" for data in memory. `n_resamples`, `confidence`,
    `ci` and `seed` set the intervals, as does `resampling`. `on_error`: "fail" on records that cannot be used, or
    "skip" (left out, counted, reported). `metrics`: a Python file with METRICS of one's own. `options`: those of the
    suite, `help(et.options("cr"))` lists them; of a file that is an option, its records in memory do as well.

    With `out`, the files of `results/<run>/` are written there, and read instead of made again when they are complete
    and current (same inputs by hash, same policy, same resampling, same versions) unless `fresh`.

    Raises InputError for input that cannot be used, UsageError for options that make no sense.

    >>> import evaltools as et
    >>> run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed", protocol="cr_v1")
    >>> run["fix_rate"]["claim"]
    'new samples, this system'
    """
    suite = get_suite(suite) if isinstance(suite, str) else suite
    if metrics is not None:
        suite = with_metrics(suite, Path(metrics))
    settings = {"n_resamples": n_resamples, "confidence": confidence, "method": ci, "seed": seed}
    settings = {key: value for key, value in settings.items() if value is not None}
    resampling = make_resampling(resampling or Resampling(), settings)
    in_memory = not is_path(run)
    records_as_options = any(isinstance(value, list) for value in options.values())
    folder = TemporaryDirectory() if in_memory or records_as_options else nullcontext("")
    with folder as place:
        memory = Path(place) if place else None
        if in_memory:
            name = name or "data"
            run = write_records(run, Path(place), name)
        for key, value in options.items():
            if isinstance(value, list) and value and isinstance(value[0], Mapping):
                options[key] = write_records(value, Path(place), key)
        try:
            return _evaluate(
                suite,
                run,
                name,
                out,
                resampling,
                on_error,
                workers or Workers(),
                fresh,
                options,
                memory,
            )
        except InputError as error:
            if memory is None:
                raise
            raise of_memory(error, memory) from None


def _evaluate(
    suite: Suite,
    path: str | Path,
    name: str | None,
    out: str | Path | None,
    resampling: Resampling,
    on_error: OnError,
    workers: Workers,
    fresh: bool,
    options: Mapping[str, Any],
    memory: Path | None,
) -> Run:
    clock = time.perf_counter()
    task = make_task(
        suite, path, name=name, out=out, resampling=resampling, on_error=on_error, options=options
    )
    task = replace(task, memory=memory)
    carried: list[Path] = []
    if task.folder is not None:
        carried = runner_files(task.folder, suite)
        require_target(task.folder, suite, task.source, fresh)
        if not fresh:
            stored = read_current(
                task.folder, suite, task.options, task.manifest, lambda: task.inputs
            )
            if stored is not None:
                return _of_stored(stored)
    runner_names = [path.name for path in carried]
    with whole_folder(task.folder, runner_names) if task.folder else nullcontext(None) as aside:
        if aside is not None:
            copy_runner_files(carried, aside)
        with inputs_unchanged(task), ThreadPoolExecutor(1) as beside:
            units = score_task(task, workers, aside)
            # large files take long to hash, and estimating leaves a core free
            inputs = beside.submit(counted_inputs, task, units)
            manifest = finished_manifest(task, units, time.perf_counter() - clock)
            run = with_estimates(
                Run(
                    suite,
                    task.source.name,
                    task.options,
                    resampling,
                    units,
                    pd.DataFrame(),
                    manifest,
                )
            )
            hashed = run.manifest.model_copy(update={"inputs": inputs.result()})
        run = replace(run, manifest=hashed)
        return run if aside is None else _saved(run, aside)


def _saved(run: Run, folder: Path) -> Run:
    """Write the files of a run; returns it with the manifest that holds their hashes."""
    write_units(run.data, folder)
    rows = metrics_rows(run.estimates)
    content = metrics_json(run.manifest, run.signature, rows, run.checks, run.verdicts)
    write_json(folder / METRICS, content)
    if run.suite.artifacts is not None:
        run.suite.artifacts(run, folder)
    manifest = run.manifest.model_copy(update={"files": file_hashes(folder)})
    manifest.write(folder)
    return replace(run, manifest=manifest)


def _of_stored(stored: StoredResult) -> Run:
    manifest = stored.manifest
    return Run(
        stored.suite,
        manifest.run,
        stored.options,
        manifest.bootstrap.resampling,
        stored.units,
        stored.estimates,
        manifest,
        stored.checks,
    )


def load(folder: str | Path) -> Run:
    """The result that stands in a results folder. UsageError where it is not complete.

    No code is run: the metrics of a suite that is not known here are read from the manifest.
    """
    return _of_stored(read_result(Path(folder)))
