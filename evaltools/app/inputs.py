"""The runs that a command names: which results they make, and whether these may be written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core.errors import InputError, Problems, UsageError
from ..core.evaluate import make_options, require_target
from ..core.files import refuse_input, resolve
from ..core.names import condition_of, safe_name
from ..core.plugins import require_input
from ..core.results import manifest_of_run
from ..core.suite import Suite
from ..core.workers import Workers
from .settings import Settings

CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
"""What no path of an input may hold: it is printed, and stands in files that are UTF-8."""


@dataclass(frozen=True)
class RunInput:
    """One run to score.

    `name`: of its result. `path`: as it was typed. `folder`: where its result is to stand, or `is_scored` stands.
    `located_as`: the name that `Suite.locate` gets: one that was given, or that of a run within an input of several;
    None where the path names it.
    """

    name: str
    path: str
    folder: Path
    is_scored: bool = False
    located_as: str | None = None


def find_inputs(
    suite: Suite,
    paths: Sequence[str],
    settings: Settings,
    options: Mapping[str, Any],
    *,
    name: str | None = None,
    seeds: bool = False,
    stored: bool = False,
    files: Sequence[Path] = (),
) -> tuple[list[RunInput], list[InputError]]:
    """The runs at these paths, and the errors of those that cannot be read.

    `name`: of a single run, instead of its folder's or file's. With `stored` a results folder is a run too; with
    `seeds`, for a study over seeds, names tell condition and seed. `files` are written besides, of a single run.

    Raises UsageError where two runs would write to the same place or one to a folder or file that it may not
    replace, where a name tells no seed, or an option makes no sense.
    """
    if name is not None and len(paths) > 1:
        raise UsageError("--{name} goes with one run only", name="name")
    suite_options = make_options(suite, options)
    by_name: dict[str, RunInput] = {}
    errors: list[InputError] = []
    for path in paths:
        if CONTROL.search(path):
            raise UsageError(
                "{path}: the path of an input must be text without control characters",
                path=ascii(path),
            )
        try:
            for run in _runs_at(
                suite,
                path,
                settings,
                suite_options,
                name=name,
                stored=stored,
                files=files,
            ):
                if seeds:
                    condition_of(run.name)
                # on some file systems capitals are not told from small letters
                other = by_name.setdefault(run.name.casefold(), run)
                if other is not run:
                    raise UsageError(
                        "{first} and {second} would both be named {name}; give them names with --name",
                        first=other.path,
                        second=run.path,
                        name=repr(run.name),
                    )
        except InputError as e:
            errors.append(e)
    inputs = list(by_name.values())
    if len(inputs) > 1:
        _refuse_what_is_of_one_run(suite, inputs, options, files)
    return inputs, errors


def _refuse_what_is_of_one_run(
    suite: Suite,
    inputs: Sequence[RunInput],
    options: Mapping[str, Any],
    files: Sequence[Path],
) -> None:
    """UsageError where several runs are given with an option or a file that is of one."""
    if files:
        raise UsageError(
            "numbers of one run go into a file, here are {n}: {names}",
            n=len(inputs),
            names=tuple(run.name for run in inputs[:10]),
        )
    for option in suite.options.single_run:
        if options.get(option) is not None:
            raise UsageError("--{name} goes with one run only", name=option)


def _runs_at(
    suite: Suite,
    path: str,
    settings: Settings,
    suite_options: Any,
    *,
    name: str | None,
    stored: bool,
    files: Sequence[Path],
) -> list[RunInput]:
    place = resolve(path)
    result = manifest_of_run(place) if stored else None
    if result is not None:
        if result.suite != suite.name:
            raise UsageError(
                "{path} holds a result of {other}, not of {suite}",
                path=path,
                other=result.suite,
                suite=suite.name,
            )
        return [RunInput(safe_name(result.run), path, place, is_scored=True)]
    require_input(suite, place)
    runs = []
    for located_as in [name] if name else suite.run_names(place, Problems()):
        source = suite.locate(place, located_as, suite_options, Problems())
        folder_name = safe_name(source.name)
        for file in files:
            refuse_input(file, source.files.values())
        target = settings.out / "results" / folder_name
        require_target(target, suite, source, not settings.resume)
        runs.append(RunInput(folder_name, path, target, located_as=located_as))
    return runs


def check_input(
    suite: Suite,
    path: Path,
    options: Mapping[str, Any],
    problems: Problems,
) -> None:
    """Every problem of an input, found by the same readers that score it; nothing is written."""
    suite_options = make_options(suite, options)
    place = resolve(str(path))
    require_input(suite, place)
    for name in suite.run_names(place, problems):
        source = suite.locate(place, name, suite_options, problems)
        suite.score(source, source.options or suite_options, problems, Workers(), None)
