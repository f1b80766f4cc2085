"""Which runs belong together: the runs that a text stands for, the seeds of a condition, the sides of a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..core.errors import Problems, UsageError
from ..core.evaluate import run_names
from ..core.files import resolve
from ..core.manifest import NAME
from ..core.memory import as_files, is_data, is_path
from ..core.names import RUN_NAME, condition_of, find_runs, natural
from ..core.plugins import get_suite, suite_of_path
from ..core.results import manifest_of_run, read_manifest, suite_of_manifest
from ..core.suite import Suite
from .evaluate import evaluate, load
from .run import Run

Conditions = dict[str, dict[str, Run]]
"""Condition -> seed -> run."""


def read_runs(
    run: Any,
    suite: str | Suite | None = None,
    only: str | None = None,
    **settings: Any,
) -> list[Run]:
    """The runs that an input stands for: a run as it is, a results folder read, all else scored by `evaluate`.

    Several, where it is an input that holds several runs and `name` picks none of them. Without `suite` it is the one
    that the input looks like; UsageError where that is none or several. `only`: the one metric that is wanted of them.
    """
    if isinstance(run, Run):
        return [run]
    manifest = None
    if is_path(run):
        path = resolve(run)
        if manifest_of_run(path) is not None:
            stored = load(path)
            return [stored if only is None else stored.only(only)]
        manifest = read_manifest(path)
        if manifest is not None and manifest.kind == "aggregate":
            raise UsageError(
                "{path} is an aggregate over seeds; name its runs: {names}",
                path=path,
                names=tuple(manifest.runs),
            )
        suite = suite or suite_of_path(path)
    if suite is None:
        raise UsageError("data in memory: name its suite")
    suite = get_suite(suite) if isinstance(suite, str) else suite
    suite = suite if only is None else suite.only(only)
    names: Sequence[str | None] = [settings.pop("name", None)]
    if names == [None] and manifest is None:
        with as_files(run, {}) as (file, _):
            in_input = run_names(suite, file, Problems())
        if len(in_input) > 1:
            names = in_input
    return [evaluate(suite, run, name=name, **settings) for name in names]


def suite_of_run(path: Path) -> Suite:
    """The suite of a results folder, or of a run to score. UsageError where that is none or several."""
    path = resolve(path)
    manifest = read_manifest(path.parent if path.name == NAME else path)
    if manifest is not None:
        return suite_of_manifest(manifest)
    return get_suite(suite_of_path(path))


def result_folder(run: Any, default: Path) -> Path:
    """Where the result of a run stands: the results folder that was given as the run, or else the default."""
    if not is_path(run):
        return default
    path = resolve(run)
    return path if manifest_of_run(path) is not None else default


def read_inputs(
    inputs: Iterable[Any],
    suite: str | Suite | None,
    top: str | Path | None,
    **settings: Any,
) -> tuple[list[Run], dict[str, Path]]:
    """(the runs of all inputs, as `read_runs` reads them, run -> folder of its result: under `top`, if it had none)."""
    entries: list[Any] = []
    for entry in inputs:
        entries += find_runs(entry) if is_path(entry) else [entry]
    runs: list[Run] = []
    folders: dict[str, Path] = {}
    for entry in entries:
        for run in read_runs(entry, suite, **settings):
            runs.append(run)
            if top is not None:
                default = Path(top) / "results" / run.name
                folders[run.name] = result_folder(entry, default)
    return runs, folders


def group(runs: Sequence[Run]) -> tuple[Conditions, bool]:
    """(condition -> seed -> run, whether all names tell a seed)."""
    seeded = bool(runs) and all(RUN_NAME.match(run.name) for run in runs)
    return group_by_seed(runs) if seeded else group_by_name(runs), seeded


def group_by_seed(runs: Iterable[Run]) -> Conditions:
    """Condition -> seed -> run, in natural order whatever the order given.

    A condition is a run_id; runs of one run_id in several modes make a condition a mode. UsageError for two runs of
    one condition and seed, and for a name that is not <run_id>__seed<N>_<mode>.
    """
    named = [(condition_of(run.name), run) for run in runs]
    modes: dict[str, set[str]] = {}
    for (run_id, _, mode), _ in named:
        modes.setdefault(run_id, set()).add(mode)
    named.sort(key=lambda entry: [natural(part) for part in entry[0]])
    conditions: Conditions = {}
    for (run_id, seed, mode), run in named:
        condition = run_id if len(modes[run_id]) == 1 else f"{run_id}_{mode}"
        of_seed = conditions.setdefault(condition, {})
        if seed in of_seed:
            raise UsageError(
                "two runs of {condition} under seed {seed}: {first} and {second}",
                condition=condition,
                seed=seed,
                first=of_seed[seed].name,
                second=run.name,
            )
        of_seed[seed] = run
    return conditions


def group_by_name(runs: Iterable[Run]) -> Conditions:
    """System -> {"": run}: systems that have one run each. UsageError for two runs of one name."""
    conditions: Conditions = {}
    for run in runs:
        if run.name in conditions:
            raise UsageError(
                "two runs are named {name}; give them names of their own", name=repr(run.name)
            )
        conditions[run.name] = {"": run}
    return conditions


def as_inputs(runs: Any) -> list[Any]:
    """What was given, one entry an input: a run, a path, a text as on the command line or data in memory is one.

    UsageError for what is none of these, and no list of them.
    """
    if is_path(runs) or isinstance(runs, Run) or is_data(runs):
        return [runs]
    if not isinstance(runs, Iterable):
        raise UsageError(
            "expected runs: paths, results or data in memory, got {kind}",
            kind=type(runs).__name__,
        )
    return list(runs)
