"""Results of runs: how an input is scored, what stands in results/<run>/, and whether a result is as it was made.

files --locate--> source --score--> units --estimate--> metrics.json, units.parquet, manifest.json
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from pandas import DataFrame
from pydantic import BaseModel, Field

from .. import BUILT_IN, __version__
from .estimates import Check, Resampling, from_public, plain_rows
from .files import (
    Fields,
    Names,
    bytes_hash,
    code_hash,
    content_hash,
    dumps,
    nearest,
    resolve,
    safe_name,
    state,
    write_json,
)
from .manifest import (
    NAME,
    SCHEMA_VERSION,
    Found,
    Input,
    Manifest,
    changed_files,
    policy_hash,
    read_manifest,
    require_replaceable,
    versions,
)
from .messages import Problems, UsageError, echo, language, shown_path
from .metric import Better, as_ratios, columns_of, make_metric
from .records import settings_of
from .suite import Scored, Source, Suite, decoded, get_suite, load_file, named_suite, own_code
from .workers import Workers

METRICS = "metrics.json"
UNITS = "units.parquet"

NO_MANIFEST = (
    "is gone or cannot be read, and nothing vouches for the result beside it: make the result again"
)

SPOILT = "is not as it was written, or not vouched for: make the result again"

# the fields of a manifest in which a result must equal the one that would be made now, to be read instead
CURRENT: Fields = {
    **dict.fromkeys(("suite", "kind", "policy", "lang", "versions", "resampling"), True),
    "options": {"on_error", "query"},
}


def result_hash(folder: Path) -> str:
    """A hash of all files of a result, as its manifest has them; "" where there is none."""
    manifest = read_manifest(folder)
    return bytes_hash(dumps(manifest.files).encode()) if manifest else ""


def run_folders(folder: Path, note: bool = True) -> list[Path]:
    """The folders of the runs whose results a folder stands for: itself, or those of a study's condition; else none.

    `note`: say which runs were scored again since. InputError where one that the manifest names holds no result, and for
    units without a manifest that can be read.
    """
    manifest = read_manifest(folder)
    if not manifest:
        if (folder / UNITS).is_file():
            raise Problems().fatal("no-manifest", NO_MANIFEST, file=folder / NAME)
        return []
    folders = [folder / place for place in manifest.folders]
    for path in folders:
        run = read_manifest(path)
        if not run:
            raise Problems().fatal(
                "missing-run",
                f"names {path.resolve()}, which holds no result any more",
                file=folder / NAME,
            )
        if note and run.started > manifest.started:
            again = f"note: {run.run} was scored again after {folder} was made: report it anew"
            echo(again, err=True)
    return folders or [folder]


def suite_of_manifest(manifest: Manifest, suite: str | Suite | None = None) -> Suite:
    """The suite of a result, with the further metrics that it was scored by.

    UsageError for one not known here, where it is not `suite`, and for a further metric that is none.
    """
    # no path of a file, which would be run
    suite = get_suite(suite) if suite else named_suite(manifest.suite)
    if suite.name != manifest.suite:
        raise UsageError(f"{manifest.run} is a result of {manifest.suite}, not of {suite.name}")
    try:
        return replace(suite, further=tuple(map(make_metric, manifest.metrics)))
    except TypeError as e:
        raise UsageError(f"{manifest.run} names a metric that is none: {e}") from e


def spoilt_files(folder: Path, manifest: Manifest) -> list[str]:
    """The files of a result that are gone, not as its manifest says they were written, or not vouched for by it.

    A manifest vouches by naming metrics.json and, of a run, units.parquet, each with its hash, and no file elsewhere.
    People write into a workbook: one that is there is as it should be.
    """
    needed = [METRICS, UNITS] if manifest.kind == "run" else [METRICS]
    changed = changed_files(folder, dict.fromkeys(needed, "") | manifest.files)
    return [
        name for name in changed if Path(name).suffix != ".xlsx" or not (folder / name).is_file()
    ]


def read_result(folder: Path, suite: str | Suite | None) -> Fields:
    """The fields of the `report.run.Run` whose result stands in a folder.

    UsageError where none does, or its numbers are those of other code or rules; InputError where it is not as it was
    written.
    """
    manifest = read_manifest(folder)
    if not manifest or manifest.kind != "run":
        why = "an aggregate: see et.study and et.compare" if manifest else f"no readable {NAME}"
        raise UsageError(f"{folder.absolute()} holds no complete result of a run: {why}")
    for name in spoilt_files(folder, manifest):
        if name in (METRICS, UNITS):
            raise Problems().fatal("spoilt-result", SPOILT, file=folder / name)
    try:
        suite = suite_of_manifest(manifest, suite)
        stored = manifest.options
        known = {name: stored[name] for name in suite.options.model_fields if name in stored}
        options = suite.options(**known)
        content = MetricsFile.model_validate_json((folder / METRICS).read_bytes())
        frame = DataFrame([row.model_dump() for row in content.metrics])
        frame["blocked"] = pd.Series([row.blocked for row in content.metrics], dtype=object)
        units = pd.read_parquet(folder / UNITS)
        units[[suite.unit, *columns_of(chain(*as_ratios(suite.table(options))))]]  # or KeyError
        estimates = from_public(frame)
    except (OSError, ValueError, KeyError, TypeError) as e:
        again = ["evaltools score", manifest.suite, *(i.path for i in manifest.inputs[:1])]
        raise UsageError(
            f"{manifest.run} was made by another version of evaltools, or with other rules; score its input again: "
            f"{' '.join(again)}"
        ) from e
    return {
        "suite": suite,
        "options": options,
        "data": units,
        "estimates": estimates,
        "manifest": manifest,
        "checks": tuple(content.checks),
        "query": stored.get("query") or "",
    }


def is_current(
    folder: Path,
    suite: Suite,
    source: Source,
    planned: Manifest,
) -> bool:
    """Whether the result in a folder is whole, as it was written, and made as `planned` says.

    Of a suite that came from no file nobody knows all code, so that none of its results is.
    """
    stored = read_manifest(folder)
    if not stored or not (suite.name in BUILT_IN or suite.file):
        return False
    contents = {role: content_hash(path) for role, path in source.files.items()}
    return (
        stored.model_dump(include=CURRENT) == planned.model_dump(include=CURRENT)
        and {entry.role: entry.sha256 for entry in stored.inputs} == contents
        and not spoilt_files(folder, stored)
    )


class StoredMetric(BaseModel, strict=True, allow_inf_nan=False):
    """A row of `metrics` in metrics.json, as far as readers of it need; a row may lack its title."""

    name: str
    title: str = ""
    better: Better = "none"
    value: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    ci_method: str | None = ""
    numerator: float | None = None
    denominator: float | None = None
    n_units: int | float | None = Field(None, ge=0)
    group: str = ""
    blocked: str | None = None


class StoredVerdict(BaseModel):
    """A verdict on a single metric in metrics.json (`Suite.verdicts`)."""

    metric: str
    title: str = ""
    verdict: str
    said: str = ""


class MetricsFile(BaseModel):
    """metrics.json, as far as its readers need it."""

    schema_version: Literal[1] = SCHEMA_VERSION
    run: str = ""
    metrics: list[StoredMetric] = Field(min_length=1)
    verdicts: list[StoredVerdict] = []
    checks: list[Check] = []


def write_result(
    folder: Path,
    manifest: Manifest,
    signature: str,
    rows: DataFrame,
    checks: Iterable[Check],
    verdicts: DataFrame | None = None,
) -> Manifest:
    """Write metrics.json, of a run or of a study's condition, and last the manifest, which it returns with all hashes.

    `rows`: `metrics` of it; null is "not measured" or "no interval". `verdicts`: those of `Suite.verdicts`, if any.
    """
    write_json(
        folder / METRICS,
        {
            "schema_version": SCHEMA_VERSION,
            "suite": manifest.suite,
            "run": manifest.run,
            "signature": signature,
            "policy": manifest.policy,
            "bootstrap": {
                **manifest.resampling.model_dump(),
                "unit": manifest.unit,
                "n_units": manifest.n_units,
            },
            "checks": [asdict(check) for check in checks],
            **({} if verdicts is None else {"verdicts": plain_rows(verdicts)}),
            "metrics": plain_rows(rows),
        },
    )
    return manifest.write(folder)


# --- from an input to its units


def run_names(
    suite: Suite,
    run: str | Path,
    problems: Problems,
) -> Sequence[str | None]:
    """The names of the runs in an input; [None] for an input that is one run and names itself."""
    return suite.runs(resolve(run), problems) if suite.runs else [None]


def locate(
    suite: Suite,
    run: str | Path,
    name: str | None,
    values: Fields,
    problems: Problems,
) -> Source:
    """The files of a run, with the options that it is scored by; `values`: those that are set, None is the default.

    UsageError for a name that no run can have, and an option, or a value of it, that the suite does not take.
    """
    for option in values.keys() - suite.options.model_fields:
        known = nearest(option, suite.options.settable())
        raise UsageError(f"{suite.name} has no option {option!r}; {known}")
    options = settings_of(suite.options, f"options of {suite.name}", values)
    with own_code(suite.file, f"locate of the suite {suite.name}: "):
        source = suite.locate(resolve(run), name, options, problems)
    safe_name(source.name)
    return source if source.options else replace(source, options=options)


def planned_manifest(
    suite: Suite,
    source: Source,
    resampling: Resampling,
    recorded: Fields,
) -> Manifest:
    """The manifest of a run before it is scored: without its inputs and problems.

    Its policy: all that decides the numbers, with the version of the package and a hash of it all. `recorded`: settings
    of the call that stand among the options.
    """
    opts: Any = source.options
    options = opts.model_dump(mode="json") | recorded
    policy = dict(opts.policy())
    if suite.metrics_file:
        options["metrics"] = str(suite.metrics_file)
        policy["metrics"] = code_hash(suite.metrics_file)[:12]
    if suite.name not in BUILT_IN:
        policy["code"] = bytes_hash(f"{suite.code} {suite.table(opts)}".encode())[:12]
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

    They have the columns that a file of metrics makes of them. InputError where records cannot be used, or none is left,
    UsageError where that file makes none.
    """
    with own_code(suite.file, f"score of the suite {suite.name}: "):
        found = suite.score(
            source,
            source.options,
            problems,
            workers,
            aside,
        )
    scored = found if isinstance(found, Scored) else Scored(found)
    scored = scored._replace(units=scored.units.reset_index(drop=True))
    problems.raise_if_failed()
    if scored.units.empty:
        raise problems.fatal("no-rows", f"no {suite.unit} of it can be used", file=source.main)
    path = suite.metrics_file
    make_columns = load_file(path).get("columns") if path else None
    if not make_columns:
        return scored
    with own_code(path, "columns(units): "):
        columns = make_columns(decoded(scored.units, suite))
        if not columns.index.equals(scored.units.index):
            raise ValueError("expected a DataFrame with the index of the units")
        return scored._replace(units=scored.units.join(columns))


def score_source(
    suite: Suite,
    source: Source,
    manifest: Manifest,
    problems: Problems,
    workers: Workers,
    aside: Path | None,
) -> tuple[DataFrame, Manifest]:
    """The units of a run, and its manifest with what scoring found: inputs and problems.

    Files that belong to the result are written into `aside`. InputError where records cannot be used, or an input
    changed meanwhile.
    """
    states = {path: state(path) for path in source.files.values()}
    with ThreadPoolExecutor(1) as beside:
        beside.map(content_hash, states)  # while they are scored; kept for the manifest
        units, recorded = score_units(suite, source, problems, workers, aside)
    inputs = [
        Input(
            role=role, path=shown_path(path), sha256=content_hash(path), bytes=path.stat().st_size
        )
        for role, path in source.files.items()
    ]
    for path, before in states.items():
        if state(path) != before:
            raise problems.fatal(
                "changed-file", "changed while it was read: is it still being written?", file=path
            )
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
) -> Names:
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
    if not stored or fresh:
        return carried
    earlier = stored.inputs[:1]
    is_same = (stored.kind, stored.suite) == ("run", suite.name) and all(
        Path(entry.path).resolve() == Path(shown_path(source.main)).resolve()
        or entry.sha256 == content_hash(source.main)
        for entry in earlier
    )
    if not is_same:
        paths = ", ".join(entry.path for entry in earlier)
        raise UsageError(
            f"{folder} holds another {stored.kind} of {stored.suite} ({paths}); --fresh replaces it, --name or --out "
            "put the new one elsewhere"
        )
    return carried
