"""The files of results/<run>/: what stands in metrics.json and units.parquet, and whether a result is as it was made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Literal

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from .. import BUILT_IN
from .check import Check
from .errors import Problems, UsageError
from .estimates import from_public, plain_rows
from .files import Fields, bytes_hash, content_hash, dumps, write_json
from .manifest import NAME, SCHEMA_VERSION, Manifest, changed_files, read_manifest
from .metric import Better, as_ratios, columns_of, make_metric
from .plugins import get_suite
from .suite import Source, Suite

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
    return "" if manifest is None else bytes_hash(dumps(manifest.files).encode())


def run_folders(folder: Path) -> list[Path]:
    """The folders of the runs whose results a folder stands for: itself, or those of a study's condition; else none.

    InputError where one that the manifest names holds no result, and for units without a manifest that can be read.
    """
    manifest = read_manifest(folder)
    if manifest is None:
        if (folder / UNITS).is_file():
            raise Problems().fatal("no-manifest", NO_MANIFEST, file=folder / NAME)
        return []
    folders = [folder / place for place in manifest.folders]
    for run in folders:
        if read_manifest(run) is None:
            raise Problems().fatal(
                "missing-run",
                f"names {run.resolve()}, which holds no result any more",
                file=folder / NAME,
            )
    return folders or [folder]


def suite_of_manifest(manifest: Manifest, suite: str | Suite | None = None) -> Suite:
    """The suite of a result, with the further metrics that it was scored by.

    UsageError for one not known here, where it is not `suite`, and for a further metric that is none.
    """
    suite = get_suite(suite or manifest.suite)
    if suite.name != manifest.suite:
        raise UsageError(f"{manifest.run} is a result of {manifest.suite}, not of {suite.name}")
    try:
        return replace(suite, further=tuple(map(make_metric, manifest.metrics)))
    except TypeError as e:
        raise UsageError(f"{manifest.run} names a metric that is none: {e}") from e


def spoilt_files(folder: Path, manifest: Manifest) -> list[str]:
    """The files of a result that are gone, not as its manifest says they were written, or not vouched for by it.

    A manifest vouches by naming metrics.json and, of a run, units.parquet, each with its hash, and no file elsewhere.
    """
    needed = [METRICS, UNITS] if manifest.kind == "run" else [METRICS]
    return changed_files(folder, dict.fromkeys(needed, "") | manifest.files)


def read_result(folder: Path, suite: str | Suite | None) -> Fields:
    """The fields of the `report.run.Run` whose result stands in a folder.

    UsageError where none does, or its numbers are those of other code or rules; InputError where it is not as it was
    written.
    """
    manifest = read_manifest(folder)
    if manifest is None or manifest.kind != "run":
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
        frame = pd.DataFrame([row.model_dump() for row in content.metrics])
        units = pd.read_parquet(folder / UNITS)
        needed = columns_of(chain(*as_ratios(suite.table(options))))
        units[[suite.unit, *needed]]  # KeyError where some are lacking
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
        "checks": tuple(content.checks or ()),
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
    is_known = suite.name in BUILT_IN or suite.file is not None
    if stored is None or not is_known:
        return False
    contents = {role: content_hash(path) for role, path in source.files.items()}
    return (
        stored.model_dump(include=CURRENT) == planned.model_dump(include=CURRENT)
        and {entry.role: entry.sha256 for entry in stored.inputs} == contents
        and not spoilt_files(folder, stored)
    )


class StoredMetric(BaseModel):
    """A row of `metrics` in metrics.json, as far as readers of it need; a row may lack its title."""

    model_config = ConfigDict(frozen=True, strict=True, allow_inf_nan=False)

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
    title: str
    verdict: str
    said: str = ""


class MetricsFile(BaseModel):
    """metrics.json, as far as its readers need it; `checks` is null where none were looked for."""

    schema_version: Literal[1] = SCHEMA_VERSION
    run: str = ""
    metrics: list[StoredMetric] = Field(min_length=1)
    verdicts: list[StoredVerdict] = []
    checks: list[Check] | None = None


def write_result(
    folder: Path,
    manifest: Manifest,
    signature: str,
    rows: pd.DataFrame,
    checks: Iterable[Check],
    verdicts: pd.DataFrame | None = None,
) -> Manifest:
    """Write metrics.json, of a run or of a study's condition, and last the manifest, which it returns with all hashes.

    `rows`: `metrics` of it; null is "not measured" or "no interval". `verdicts`: those of `Suite.verdicts`, if any.
    """
    judged = {} if verdicts is None else {"verdicts": plain_rows(verdicts)}
    content = {
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
        **judged,
        "metrics": plain_rows(rows),
    }
    write_json(folder / METRICS, content)
    return manifest.write(folder)
