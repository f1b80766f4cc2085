"""From inputs to numbers: the public `evaluate`, `study` and `compare`, and `load` of a result that was written before."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from numbers import Number
from pathlib import Path
from typing import Any

import numpy as np
from pandas import Series
from pyarrow import ArrowException

from .. import BUILT_IN
from ..core.estimates import Method, Resampling
from ..core.files import (
    LONGEST_NAME,
    RUN_NAME,
    Fields,
    bytes_hash,
    condition_of,
    find_runs,
    first_names,
    natural,
    resolve,
    safe_name,
)
from ..core.manifest import require_replaceable, whole_folder
from ..core.messages import OnError, Problems, UsageError
from ..core.records import settings_of
from ..core.results import (
    UNITS,
    is_current,
    locate,
    planned_manifest,
    read_manifest,
    read_result,
    require_target,
    run_folders,
    run_names,
    score_source,
    suite_of_manifest,
    write_result,
)
from ..core.suite import Suite, get_suite, with_metrics
from ..core.tables import as_files, is_data
from ..core.workers import Workers
from .result import Result, require_comparable
from .run import Run, make_run
from .study import Conditions, Study

# what `Suite.verdicts` may say of a metric
VERDICTS = ("pass", "look", "fail", "not measured", "no threshold")


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
    query: only the units that it finds (`Run.where`); the files hold these alone, and no scorecards are written.
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
    resampling = settings_of(
        Resampling,
        "settings of the intervals",
        dict(resampling or {}),
        {"n_resamples": n_resamples, "confidence": confidence, "method": ci, "seed": seed},
    )
    with as_files(run, options) as (path, values):
        problems = Problems(on_error)
        out = None if out is None else resolve(out)
        source = replace(locate(suite, path, name, values, problems), out=out)
        manifest = planned_manifest(
            suite, source, resampling, {"on_error": on_error, "name": name, "query": query}
        )
        folder = out and out / "results" / source.name
        if folder:
            carried = require_target(folder, suite, source, fresh)
            if not fresh and is_current(folder, suite, source, manifest):
                return load(folder, suite=suite)
        with whole_folder(folder, carried) if folder else nullcontext() as aside:
            units, manifest = score_source(
                suite, source, manifest, problems, workers or Workers(), None if query else aside
            )
            run = make_run(suite, source.options, units, manifest)
            run = run.where(query) if query else run
            if aside:
                run = _write(run, aside)
        return replace(run, folder=folder)


def _write(
    run: Run,
    folder: Path,
) -> Run:
    """Write the files of a run; returns it with the manifest that holds their hashes."""
    try:
        run.data.to_parquet(folder / UNITS, index=False)
    except (ArrowException, OverflowError, UnicodeError) as e:
        whose = run.suite.metrics_file or f"the suite {run.suite.name!r}"
        raise UsageError(f"{whose}: a column of the units cannot be stored: {e}") from e
    if run.suite.artifacts:
        run.suite.artifacts(run, folder)
    manifest = run.manifest.model_copy(
        update={"headline": list(run.headline), "n_units": run.n_units}
    )
    verdicts = run.suite.verdicts(run) if run.suite.verdicts else None
    if verdicts is not None:
        for word in {*verdicts["verdict"]} - {*VERDICTS}:
            raise UsageError(
                f"the suite {run.suite.name!r}: verdicts: expected {', '.join(VERDICTS)}, got {word!r}"
            )
        is_judged = verdicts["verdict"] != "no threshold"
        verdicts.loc[is_judged & verdicts["metric"].isin(run.blocked), "verdict"] = "not measured"
    manifest = write_result(folder, manifest, run.signature, run.frame, run.checks, verdicts)
    return replace(run, manifest=manifest)


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


# --- several runs together


def study(
    runs: Any,
    *,
    suite: str | Suite | None = None,
    baseline: str | None = None,
    name: str | None = None,
    out: str | Path | None = None,
    primary: str | None = None,
    margin: Mapping[str, float] | None = None,
    **settings: Any,
) -> Study:
    """Several runs together: means over seeds, and every condition compared with the baseline.

    runs: a list of results, results folders or what `evaluate` takes, or the common prefix <run_id> of
        folders named <run_id>__seed<N>_<mode>, which are the seeds of the condition run_id. A file or
        data that hold several runs stand for all of them. Other runs are conditions of one run each.
    baseline: the condition that the others are compared with. Default: the first by name, or without
        seeds the first given, of those under which checks block least of the headline.
    primary: the metric that is tested alone (default: the suite's).
    margin: metric -> the largest difference that does not matter, in the metric's own unit; equivalence
        within it is tested.
    name: of the study; without one it is called by its conditions. suite: default is what the inputs look like.
    out: the folder under which results/<condition>_aggregated/ are written, and results/<run>/ of runs without a folder.
    settings: query, n_resamples, confidence, ci, seed, resampling, metrics, on_error, workers, fresh and
        the options of the suite, as in `evaluate`.

    Raises InputError and UsageError as `evaluate` does, and UsageError for a baseline that is none of the conditions,
    for runs scored under different policies, and for a primary metric or margin that cannot be tested.

    >>> import evaltools as et
    >>> study = et.study(["example:memfin/memory_agent", "example:memfin/plain_llm"])
    >>> study.baseline, study.candidates
    ('memory_agent', ['plain_llm'])
    """
    out = None if out is None else resolve(out)
    conditions = group(read_runs(runs, suite, out=out, **settings))
    result = _study(conditions, baseline, name, primary, margin)
    if out and (result.seeds or len(result.results) > 1):
        result.save(out, conditions)
    return result


def _study(
    conditions: Conditions,
    baseline: str | None,
    name: str | None,
    primary: str | None,
    margin: Mapping[str, float] | None,
) -> Study:
    """The study of these conditions."""
    if not isinstance(margin, Mapping | None):
        raise UsageError(f"margin: expected {{metric: largest difference}}, got {margin!r}")
    # conditions of a long table are named <condition>_<file>
    named = [c for c in conditions if baseline in (None, c)] or [
        c for c in conditions if c.startswith(f"{baseline}_")
    ]
    if baseline is not None and len(named) != 1:
        raise UsageError(f"no condition {baseline!r} among {first_names(conditions)}")
    possible = [Study("", conditions, condition, margin or {}, primary) for condition in named]
    require_comparable(possible[0].results)
    result = max(possible, key=lambda study: len({*study.headline} - study.blocked))
    first, *more = result.candidates or [""]
    if name is None:
        # seeds of one condition, or a system of one run
        name = result.baseline + "_aggregated" * bool(result.seeds)
        if first:
            name = f"{result.baseline}_vs_{first}" + (f"_and_{len(more)}_more" if more else "")
        if len(name.encode()) > LONGEST_NAME:
            name = f"{name[:40]}_{bytes_hash(name.encode())[:8]}"
    result = replace(result, name=safe_name(name))
    if primary is not None:
        result = replace(result, declared=result.directed(primary).name)
    _ = result.frame  # what cannot be compared is said here
    return result


def compare(
    baseline: Any,
    candidate: Any,
    *,
    suite: str | Suite | None = None,
    primary: str | None = None,
    margin: Mapping[str, float] | None = None,
    bounds: Any = None,
    better: str = "higher",
    **settings: Any,
) -> Study:
    """Paired comparison of two runs, of two sets of seeds, or of two lists of numbers.

    baseline, candidate: a result, a list of results (seeds of one condition), or a text as on the command
        line: a run, a results folder, a run_id (the common prefix of folders <run_id>__seed<N>_<mode>), or
        several joined by commas. Or two Series, paired by their index, or two lists of numbers, paired by
        position; their metric is called "value".
    bounds, better: of two lists: the least and the greatest value, and "higher" or "lower". Of runs of the
        suite `table`, `bounds` is its option, {metric: (low, high)}.
    margin, suite, primary, settings: as in `study`.

    The result is a `Study` of two conditions: its differences are candidate less baseline, null where a
    side was not measured. UsageError where a side holds several conditions or nothing is found.

    >>> import evaltools as et
    >>> cmp = et.compare("example:cr/no_memory", "example:cr/with_memory")
    >>> int(cmp["tuple_f1_s2_refpol"]["n_seeds"])
    3
    >>> cmp = et.compare([0.1, 0.4, 0.35, 0.8] * 5, [0.2, 0.5, 0.3, 0.9] * 5)
    >>> round(float(cmp["value"]["delta"]), 4), cmp["value"]["verdict"]
    (0.0625, 'better')
    """
    if _is_values(baseline) != _is_values(candidate):
        raise UsageError("a list of numbers compares with a list of numbers only")
    if _is_values(baseline):
        if better not in ("higher", "lower"):
            raise UsageError(f"better: expected 'higher' or 'lower', got {better!r}")
        settings |= {better: ["value"]} | ({"bounds": {"value": bounds}} if bounds else {})
        baseline, candidate = (
            evaluate("table", table, name=name, **settings)
            for name, table in zip(("baseline", "candidate"), _as_tables(baseline, candidate))
        )
    elif better != "higher":
        raise UsageError("better: of two lists; of runs of the suite table lower=[NAME]")
    elif bounds is not None:
        settings["bounds"] = bounds
    sides = [group(read_runs(side, suite, **settings)) for side in (baseline, candidate)]
    for conditions in sides:
        if len(conditions) > 1:
            raise UsageError(f"one side holds several conditions: {first_names(conditions)}")
    [(name_a, runs_a)], [(name_b, runs_b)] = (conditions.items() for conditions in sides)
    if name_a == name_b:
        name_a, name_b = f"{name_a} (A)", f"{name_b} (B)"
    if len(runs_a) == len(runs_b) == 1:
        # one run each: they pair by sample, whatever their seeds are called
        runs_a, runs_b = ({"": run} for runs in (runs_a, runs_b) for run in runs.values())
    conditions = {name_a: runs_a, name_b: runs_b}
    return _study(conditions, name_a, "comparison", primary, margin)


# --- the runs that an input stands for


def as_inputs(runs: Any) -> list[Any]:
    """What was given, one entry an input: a run, a path, a text as on the command line or data in memory is one.

    A study stands for its runs. UsageError for what is none of these, and no list of them.
    """
    if isinstance(runs, Result):
        return runs.results
    if isinstance(runs, str | Path):
        return find_runs(runs)
    if is_data(runs):
        return [runs]
    if not isinstance(runs, Iterable) or isinstance(runs, Mapping):
        raise UsageError(
            f"expected runs: paths, results or data in memory, got {type(runs).__name__}"
        )
    return [entry for run in runs for entry in as_inputs(run)]


def read_runs(
    runs: Any,
    suite: str | Suite | None,
    query: str | None = None,
    out: Path | None = None,
    **settings: Any,
) -> Iterator[Run]:
    """The runs of all inputs: a run as it is, a results folder read, all else scored by `evaluate`.

    An input may hold several runs. Without `suite` it is the one that an input looks like; UsageError where that is none
    or several. A run of all its units that was scored without a folder gets one under `out`; UsageError where the result
    of another input is in its place.
    """
    for entry in as_inputs(runs):
        if isinstance(entry, Run):
            run = entry.where(query) if query else entry
            if out and run.folder is None and not run.query:
                folder, inputs = out / "results" / run.name, run.manifest.inputs
                stored = require_replaceable(folder)
                if stored and [i.sha256 for i in stored.inputs] != [i.sha256 for i in inputs]:
                    raise UsageError(f"{folder} holds the result of something else")
                with whole_folder(folder) as aside:
                    run = replace(_write(run, aside), folder=folder)
            yield run
        elif isinstance(entry, str | Path) and (folders := run_folders(resolve(entry))):
            yield from (load(folder, query, suite) for folder in folders)
        elif suite is None and not isinstance(entry, str | Path):
            raise UsageError("data in memory: name its suite")
        else:
            of = get_suite(suite or suite_of_run(entry))
            # data in memory are written once for all their runs
            with as_files(entry, {}) as (file, _):
                for name in run_names(of, file, Problems()):
                    yield evaluate(of, file, name=name, query=query, out=out, **settings)


def suite_of_run(path: str | Path) -> Suite:
    """The suite of a results folder, or of a run to score, by the names of its files. UsageError where that is none."""
    path = resolve(path)
    if manifest := read_manifest(path):
        return suite_of_manifest(manifest)
    for suite in map(get_suite, BUILT_IN):
        for pattern in suite.recognised:
            if path.match(pattern) or any(path.glob(pattern)):
                return suite
    raise UsageError(f"{path} does not say by its name which suite it is of: name it with --suite")


def group(runs: Iterable[Run]) -> Conditions:
    """Condition -> seed -> run.

    A condition is a run_id whose names tell a seed, runs of one run_id in several modes make a condition a mode, and a
    run whose name tells no seed is a condition of its own. In natural order where all names tell a seed, else as given.
    UsageError for two runs of one condition and seed.
    """
    named = [
        (*(condition_of(run.name) if RUN_NAME.match(run.name) else (run.name, "", "")), run)
        for run in runs
    ]
    if not named:
        raise UsageError("no runs given")
    if all(seed for _, seed, *_ in named):
        named.sort(key=lambda entry: [natural(part) for part in entry[:3]])
    modes = defaultdict(set)
    for run_id, _, mode, _ in named:
        modes[run_id].add(mode)
    conditions: Conditions = {}
    for run_id, seed, mode, run in named:
        condition = run_id if len(modes[run_id]) == 1 else f"{run_id}_{mode}"
        of_seed = conditions.setdefault(condition, {})
        if seed in of_seed:
            raise UsageError(
                f"{of_seed[seed].name!r} and {run.name!r} are runs of one condition "
                "and seed; give them names of their own"
            )
        of_seed[seed] = run
    return conditions


# --- two lists of numbers


def _is_values(side: Any) -> bool:
    """Whether a side of a comparison is a Series, an array or a list of numbers."""
    if isinstance(side, list | tuple | range):
        return all(value is None or isinstance(value, Number | np.bool_) for value in side)
    return hasattr(side, "dtype")


def _as_tables(
    baseline: Any,
    candidate: Any,
) -> Iterator[list[Fields]]:
    """The two sides as rows of a long table of the metric "value". Series pair by their index, all else by position.

    UsageError for lists of different lengths.
    """
    by_index = isinstance(baseline, Series) and isinstance(candidate, Series)
    if not by_index and len(baseline) != len(candidate):
        raise UsageError(
            f"lists of different lengths pair by no position: {len(baseline)} and "
            f"{len(candidate)} numbers"
        )
    for side in (baseline, candidate):
        pairs = side.items() if by_index else enumerate(side)
        yield [{"id": str(key), "metric": "value", "value": value} for key, value in pairs]
