"""The one path from input files to results.

files --locate--> source --score--> units --estimate--> Result --save--> files under --out
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
from pydantic import ValidationError

from .. import __version__
from .check import LEVELS, constant_metrics, duplicate_texts, few_units
from .errors import OnError, Problems, UsageError
from .files import content_hash, resolve, state, whole_folder
from .language import language
from .manifest import (
    SCHEMA_VERSION,
    Bootstrap,
    Found,
    Manifest,
    describe_inputs,
    git_commit,
    policy_hash,
    versions,
)
from .metric import MetricTable
from .names import safe_name
from .records import describe
from .resampling import Resampling
from .results import Result, load_if_current, read_manifest, save, save_units, stored_metrics
from .suite import BUILT_IN, Source, Suite, Workers, get_suite, require_input, with_metrics

R = TypeVar("R", bound=Result)
Estimate = Callable[[pd.DataFrame, MetricTable, str, Resampling], pd.DataFrame]


def make_options(suite: Suite, given: Mapping[str, Any]) -> Any:
    """The suite's options by name; None stands for the default.

    UsageError for a name that it has not, or a value that it does not take.
    """
    fields = suite.options.model_fields
    try:
        return suite.options(**{k: v for k, v in given.items() if v is not None or k not in fields})
    except ValidationError as e:
        wrong = "; ".join(f"{name}: {message}" for _, name, message in describe(e))
        raise UsageError(f"options of {suite.name}: {wrong}") from e


def make_policy(suite: Suite, options: Any) -> dict[str, Any]:
    policy = {**options.policy(), **({"metrics": suite.metrics_hash} if suite.metrics_file else {})}
    return {
        "eval_semver": __version__,
        "eval_policy_hash": policy_hash({"suite": suite.name, **policy}),
        **policy,
    }


def evaluate(
    suite: str | Suite,
    run: str | Path,
    *,
    estimate: Estimate,
    kind: type[R],
    name: str | None = None,
    out: str | Path | None = None,
    resampling: Resampling | None = None,
    on_error: OnError = "fail",
    workers: Workers | None = None,
    fresh: bool = False,
    metrics: str | Path | None = None,
    **options: Any,
) -> R:
    """Score one run and estimate every metric of its suite (`report.run.evaluate` says more)."""
    suite = get_suite(suite) if isinstance(suite, str) else suite
    suite = with_metrics(suite, Path(metrics)) if metrics is not None else suite
    opts = make_options(suite, options)
    resampling = resampling or Resampling()
    problems = Problems(on_error)
    started, clock = datetime.now(UTC), time.perf_counter()
    path = resolve(run)
    require_input(suite, path)
    source = suite.locate(path, name, opts, problems)
    safe_name(source.name)
    opts = suite.fit(source, opts, problems)
    own = {"metrics": str(metrics)} if metrics is not None else {}
    planned = Manifest(
        schema_version=SCHEMA_VERSION,
        suite=suite.name,
        suite_title=suite.title,
        run=source.name,
        inputs=[],
        policy=make_policy(suite, opts),
        options={**opts.model_dump(mode="json"), **own, "on_error": on_error, "name": name},
        given=list(suite.given),
        wrote=list(suite.wrote),
        metrics=stored_metrics(suite, opts)
        if suite.metrics_file or suite.name not in BUILT_IN
        else [],
        **({"lang": language()} if language() != "en" else {}),
        bootstrap=Bootstrap(**vars(resampling), unit=suite.unit),
        versions=versions(),
        git_commit=git_commit(),
        started=started.isoformat(timespec="seconds"),
    )
    before = {path: state(path) for path in source.files.values()}
    inputs = cache(partial(describe_inputs, source.files))
    folder = Path(out) / "results" / source.name if out is not None else None
    kept: list[Path] = []
    if folder is not None:
        kept = _of_runner(folder, suite)
        require_target(folder, suite, source, fresh)
        found = None if fresh else load_if_current(folder, suite, opts, planned, inputs, kind)
        if found is not None:
            return found
    with (
        whole_folder(folder) if folder else nullcontext(None) as aside,
        ThreadPoolExecutor(1) as beside,
    ):
        described = beside.submit(inputs)
        for made in kept:
            shutil.copy2(made, aside / made.name)  # type: ignore[operator]
        units = suite.score(source, opts, problems, workers or Workers(), aside)
        rows = units.attrs.get("rows", {})
        hashed = [i.model_copy(update={"rows": rows.get(i.role)}) for i in described.result()]
        for path, was in before.items():
            if state(path) != was:
                message = "changed while it was read: is it still being written?"
                raise problems.fatal("changed-file", message, file=str(path))
        problems.raise_if_failed()
        if units.empty:
            main = next(iter(source.files.values()))
            raise problems.fatal("no-rows", f"no {suite.unit} of it can be used", file=str(main))
        stored = beside.submit(save_units, units, aside) if aside is not None else None
        frame = _estimated(units, suite, opts, resampling, estimate)
        n_units = int(units[suite.unit].nunique(dropna=False))
        what = {
            "inputs": hashed,
            "bootstrap": planned.bootstrap.model_copy(update={"n_units": n_units}),
            "problems": [Found.model_validate(p) for p in problems.summary()],
            "seconds": round(time.perf_counter() - clock, 3),
        }
        manifest = planned.model_copy(update=what)
        result = checked(kind(suite, source.name, opts, resampling, units, frame, manifest))
        if aside is None or stored is None:
            return result
        stored.result()
        return save(result, aside)


def checked(result: R) -> R:
    """The result with its checks: those of every suite, then its suite's own."""
    suite = result.suite
    found = [
        *few_units(result.n_units, suite.unit),
        *duplicate_texts(result.data, suite.text, suite.unit),
        *suite.checks(result),
    ]
    result = replace(result, checks=tuple(found))
    found += constant_metrics(result.frame, result.headline)
    result = replace(result, checks=tuple(sorted(found, key=lambda c: LEVELS.index(c.level))))
    return replace(
        result, manifest=result.manifest.model_copy(update={"headline": list(result.headline)})
    )


def _estimated(
    units: pd.DataFrame, suite: Suite, options: Any, resampling: Resampling, estimate: Estimate
) -> pd.DataFrame:
    try:
        found = estimate(units, suite.metrics(options), suite.unit, resampling)
    except (KeyError, ValueError) as e:
        if suite.name in BUILT_IN and suite.metrics_file is None:
            raise
        where = suite.metrics_file or f"the suite {suite.name!r}"
        there = ", ".join(map(str, units.columns))
        raise UsageError(
            f"{where}: the metrics do not fit the units: {e.args[0]}; their columns are {there}"
        ) from e
    return found if suite.intervals is None else suite.intervals(found, units, options, resampling)


def _of_runner(folder: Path, suite: Suite) -> list[Path]:
    """The files of a folder that the suite's own runner made, which stay when the folder is scored into itself."""
    marked = bool(suite.runner) and (folder / suite.runner[0]).is_file()
    return [path.resolve() for name in suite.runner if marked and (path := folder / name).is_file()]


def require_target(folder: Path, suite: Suite, source: Source, fresh: bool = False) -> None:
    """UsageError where a result may not be written to a folder.

    That is where it holds one of the inputs, or (unless `fresh`) the result of another suite or of another input. The
    same path with new contents is simply made again, and so is another policy.
    """
    target, kept = folder.resolve(), _of_runner(folder, suite)
    for path in source.files.values():
        if path.resolve().is_relative_to(target) and path.resolve() not in kept:
            raise UsageError(
                f"{path} is an input and lies in {folder}, which would be replaced; give another --out"
            )
    there = None if fresh else read_manifest(folder)
    if there is None:
        return
    if there.suite != suite.name or there.kind != "run":
        what = f"a result of {there.suite}" if there.kind == "run" else "an aggregate over seeds"
        raise UsageError(
            f"{folder} holds {what}; --fresh replaces it, --name or --out put the new one elsewhere"
        )
    role, main = next(iter(source.files.items()))
    was = next((i for i in there.inputs if i.role == role), None)
    if was and Path(was.path).resolve() != main.resolve() and was.sha256 != content_hash(main):
        raise UsageError(
            f"{folder} holds the result of another input, {was.path}; --fresh replaces it, --name or --out put the "
            f"new one elsewhere"
        )
