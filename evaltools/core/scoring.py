"""From an input to the units of a run: which files it has, by which options and policy they are scored, and where to.

files --locate--> source --score--> units
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from .. import BUILT_IN, __version__
from .errors import Problems, UsageError, shown_path
from .estimates import Resampling
from .files import bytes_hash, content_hash, nearest, resolve, safe_name, sha256, state
from .language import language
from .manifest import (
    SCHEMA_VERSION,
    Found,
    Input,
    Manifest,
    policy_hash,
    require_replaceable,
    versions,
)
from .plugins import with_columns
from .records import settings_of
from .suite import Scored, Source, Suite
from .workers import Workers


def run_names(
    suite: Suite,
    run: str | Path,
    problems: Problems,
) -> Sequence[str | None]:
    """The names of the runs in an input; [None] for an input that is one run and names itself."""
    return [None] if suite.runs is None else suite.runs(resolve(run), problems)


def locate(
    suite: Suite,
    run: str | Path,
    name: str | None,
    values: Mapping[str, Any],
    problems: Problems,
) -> Source:
    """The files of a run, with the options that it is scored by; `values`: those that are set, None is the default.

    UsageError for a name that no run can have, and for an option that the suite has not, or a value that it does not
    take.
    """
    for option in values.keys() - suite.options.model_fields:
        known = nearest(option, suite.options.settable())
        raise UsageError(f"{suite.name} has no option {option!r}; {known}")
    options = settings_of(suite.options, f"options of {suite.name}", values)
    source = suite.locate(resolve(run), name, options, problems)
    safe_name(source.name)
    return source if source.options else replace(source, options=options)


def planned_manifest(
    suite: Suite,
    source: Source,
    resampling: Resampling,
    recorded: Mapping[str, Any],
) -> Manifest:
    """The manifest of a run before it is scored: without its inputs and problems.

    Its policy: all that decides the numbers, with the version of the package and a hash of it all. `recorded`: settings
    of the call that stand among the options.
    """
    opts: Any = source.options
    options = {**opts.model_dump(mode="json"), **recorded}
    policy = dict(opts.policy())
    if suite.metrics_file:
        options["metrics"] = str(suite.metrics_file)
        policy["metrics"] = sha256(suite.metrics_file)[:12]
    if suite.name not in BUILT_IN:
        code = sha256(suite.file) if suite.file else ""
        policy["code"] = bytes_hash(f"{code} {suite.table(opts)}".encode())[:12]
    identity = policy_hash({"suite": suite.name, **policy})
    return Manifest(
        schema_version=SCHEMA_VERSION,
        suite=suite.name,
        suite_title=suite.title,
        run=source.name,
        inputs=[],
        policy={"eval_semver": __version__, "eval_policy_hash": identity, **policy},
        options=options,
        resampling=resampling,
        unit=suite.unit,
        versions=versions(),
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        metrics=[asdict(metric) for metric in suite.further],
        lang=language(),
    )


def score_units(
    suite: Suite,
    source: Source,
    problems: Problems,
    workers: Workers,
    aside: Path | None = None,
) -> Scored:
    """The units of a source as its suite scores it, and what the manifest records of that.

    InputError where records cannot be used, or none is left.
    """
    found = suite.score(
        source,
        source.options,
        problems,
        workers,
        aside,
    )
    scored = found if isinstance(found, Scored) else Scored(found)
    problems.raise_if_failed()
    if scored.units.empty:
        path = next(iter(source.files.values()))
        raise problems.fatal("no-rows", f"no {suite.unit} of it can be used", file=path)
    return scored._replace(units=with_columns(scored.units, suite))


def score_source(
    suite: Suite,
    source: Source,
    manifest: Manifest,
    problems: Problems,
    workers: Workers,
    aside: Path | None,
) -> tuple[pd.DataFrame, Manifest]:
    """The units of a run, and its manifest with what scoring found: inputs and problems.

    Files that belong to the result are written into `aside`. InputError where records cannot be used, or an input
    changed meanwhile.
    """
    states = {path: state(path) for path in source.files.values()}
    with ThreadPoolExecutor(1) as beside:
        for path in states:  # hashed while they are scored; the hash is kept for the manifest
            beside.submit(content_hash, path)
        units, recorded = score_units(
            suite,
            source,
            problems,
            workers,
            aside,
        )
    for path, before in states.items():
        if state(path) != before:
            raise problems.fatal(
                "changed-file", "changed while it was read: is it still being written?", file=path
            )
    inputs = [
        Input(
            role=role,
            path=shown_path(path),
            sha256=content_hash(path),
            bytes=path.stat().st_size,
        )
        for role, path in source.files.items()
    ]
    found = [
        Found(
            severity=level,
            code=code,
            count=count,
            examples=[str(p) for p in problems.kept if (p.severity, p.code) == (level, code)][:5],
        )
        for (level, code), count in sorted(problems.counts.items())
    ]
    return units, manifest.model_copy(update={"inputs": inputs, "problems": found, **recorded})


def require_target(
    folder: Path,
    suite: Suite,
    source: Source,
    fresh: bool,
) -> tuple[str, ...]:
    """The names of the files that stay in a folder that a result replaces: those of the suite's own runner.

    UsageError where a result may not be written there: where the folder holds one of the inputs or what this package
    did not write, or (unless `fresh`) the result of another suite or of another input. The same path with new contents
    is simply made again, and so is another policy.
    """
    carried = tuple(name for name in suite.runner if (folder / name).is_file())
    if carried[:1] != suite.runner[:1]:  # the first file marks a folder of the runner
        carried = ()
    inside = {path.resolve() for path in source.files.values()} & {*folder.resolve().rglob("*")}
    if inside - {(folder / name).resolve() for name in carried}:
        raise UsageError(f"{folder} holds an input, and would be replaced; give another --out")
    stored = require_replaceable(folder, carried)
    if stored is None or fresh:
        return carried
    main = next(iter(source.files.values()))
    shown = Path(shown_path(main)).resolve()
    earlier = stored.inputs[:1]
    is_same = (stored.kind, stored.suite) == ("run", suite.name) and all(
        Path(entry.path).resolve() == shown or entry.sha256 == content_hash(main)
        for entry in earlier
    )
    if not is_same:
        paths = ", ".join(entry.path for entry in earlier)
        raise UsageError(
            f"{folder} holds another {stored.kind} of {stored.suite} ({paths}); --fresh replaces it, --name or --out "
            "put the new one elsewhere"
        )
    return carried
