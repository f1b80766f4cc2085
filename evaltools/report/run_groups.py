"""From inputs to runs to conditions: the runs that a text stands for, and which of them are seeds of one condition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..core.errors import Problems, UsageError
from ..core.files import resolve
from ..core.manifest import NAME
from ..core.memory import as_files, is_data, is_path
from ..core.names import RUN_NAME, condition_of, find_runs, natural
from ..core.plugins import get_suite, suite_of_path
from ..core.results import manifest_of_run, read_manifest, suite_of_manifest
from ..core.scoring import run_names
from ..core.suite import Suite
from .evaluate import evaluate, load, save
from .result import Result
from .run import Run
from .run_set import Conditions


def as_inputs(runs: Any) -> list[Any]:
    """What was given, one entry an input: a run, a path, a text as on the command line or data in memory is one.

    A study stands for its runs. UsageError for what is none of these, and no list of them.
    """
    if isinstance(runs, Result) or is_path(runs) or is_data(runs):
        runs = [runs]
    if not isinstance(runs, Iterable):
        raise UsageError(
            f"expected runs: paths, results or data in memory, got {type(runs).__name__}"
        )
    inputs: list[Any] = []
    for run in runs:
        if isinstance(run, Result):
            inputs += run.results
        else:
            inputs += find_runs(run) if is_path(run) else [run]
    return inputs


def read_inputs(
    inputs: Iterable[Any],
    suite: str | Suite | None,
    top: str | Path | None = None,
    **settings: Any,
) -> tuple[list[Run], dict[str, Path]]:
    """(the runs of all inputs, run -> folder of its result: the one that was given, else below `top`).

    A run is taken as it is, a results folder read, all else scored by `evaluate`: several runs, where it is an input
    that holds several and `name` picks none of them. Without `suite` it is the one that an input looks like; UsageError
    where that is none or several.
    """
    runs: list[Run] = []
    folders: dict[str, Path] = {}
    for entry in inputs:
        for run, folder in _read(entry, suite, **settings):
            runs.append(run)
            folders[run.name] = folder or Path(top or "") / "results" / run.name
    return runs, folders


def _read(
    entry: Any,
    suite: str | Suite | None,
    **settings: Any,
) -> Iterator[tuple[Run, Path | None]]:
    """The runs of one input, each with the folder of its result where that was given."""
    if isinstance(entry, Run):
        out = settings.get("out")
        query = settings.get("query")
        run = entry.where(query) if query else entry
        yield run if out is None else save(run, Path(out)), None
        return
    manifest = None
    if is_path(entry):
        path = resolve(entry)
        if manifest_of_run(path) is not None:
            yield load(path, settings.get("query")), path
            return
        manifest = read_manifest(path)
        if manifest is not None and manifest.kind == "aggregate":
            raise UsageError(
                f"{path} is an aggregate over seeds; name its runs: {', '.join(manifest.runs)}"
            )
        suite = suite or suite_of_path(path)
    if suite is None:
        raise UsageError("data in memory: name its suite")
    suite = get_suite(suite) if isinstance(suite, str) else suite
    name = settings.pop("name", None)
    with as_files(entry, {}) as (file, _):  # data in memory are written once for all their runs
        names: Sequence[str | None] = [name]
        if name is None and manifest is None:
            in_input = run_names(suite, file, Problems())
            names = in_input if len(in_input) > 1 else names
        for name in names:
            yield evaluate(suite, file, name=name, **settings), None


def suite_of_run(path: Path) -> Suite:
    """The suite of a results folder, or of a run to score. UsageError where that is none or several."""
    path = resolve(path)
    manifest = read_manifest(path.parent if path.name == NAME else path)
    if manifest is not None:
        return suite_of_manifest(manifest)
    return get_suite(suite_of_path(path))


def group(runs: Sequence[Run]) -> tuple[Conditions, bool]:
    """(condition -> seed -> run, whether all names tell a seed).

    With seeds a condition is a run_id, in natural order; runs of one run_id in several modes make a condition a mode.
    Without, every run is a condition, in the order given. UsageError for two runs of one condition and seed.
    """
    seeded = bool(runs) and all(RUN_NAME.match(run.name) for run in runs)
    named = [(condition_of(run.name) if seeded else (run.name, "", ""), run) for run in runs]
    if seeded:
        named.sort(key=lambda entry: [natural(part) for part in entry[0]])
    modes = defaultdict(set)
    for (run_id, _, mode), _ in named:
        modes[run_id].add(mode)
    conditions: Conditions = {}
    for (run_id, seed, mode), run in named:
        condition = run_id if len(modes[run_id]) == 1 else f"{run_id}_{mode}"
        of_seed = conditions.setdefault(condition, {})
        if seed in of_seed:
            raise UsageError(
                f"{of_seed[seed].name!r} and {run.name!r} are runs of one condition "
                "and seed; give them names of their own"
            )
        of_seed[seed] = run
    return conditions, seeded
