"""The result of one run, and the files of results/<run>/: writing them, and reading them back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict

from .. import __version__
from .check import Check, Level
from .errors import UsageError
from .files import atomic, file_hashes, sha256, write_json
from .manifest import NAME, SCHEMA_VERSION, Input, Manifest
from .metric import MetricTable
from .resampling import Resampling
from .suite import BUILT_IN, Suite, decoded, get_suite, stored_suite

CLAIM_ONE = "new samples, this system"
"""What the intervals of one run speak for."""

_NUMBERS = ("value", "ci_low", "ci_high", "numerator", "denominator")


@dataclass(frozen=True)
class Result:
    """The numbers of one run.

    `data`: the units as stored, one row a unit, lists as text; `units` the same with lists as lists.
    `frame`: the estimates, one row a metric (name, title, value, ci_low, ci_high, ci_method, numerator, denominator,
    n_units, group, better; null is not measured, or no interval). `manifest`: where they came from. `checks`: what a
    reader must know before believing a number.
    """

    suite: Suite
    name: str
    options: Any
    resampling: Resampling
    data: pd.DataFrame = field(repr=False)
    frame: pd.DataFrame = field(repr=False)
    manifest: Manifest = field(repr=False)
    checks: tuple[Check, ...] = field(default=(), repr=False)

    @cached_property
    def units(self) -> pd.DataFrame:
        """One row a unit: what the metrics sum, and what people filter by; lists hold named tuples."""
        return decoded(self.data, self.suite)

    @cached_property
    def metrics(self) -> MetricTable:
        """The metric table."""
        return self.suite.metrics(self.options)

    @property
    def headline(self) -> tuple[str, ...]:
        """The names of the metrics that lead the page: those that can be measured, where a check blocks some."""
        return self.suite.leading(self.options, self.blocked)

    @property
    def primary(self) -> str:
        """The metric of the headline that leads it."""
        return self.suite.primary(self.options, self.headline)

    @property
    def blocked(self) -> frozenset[str]:
        """The metrics that mean nothing here, as a check says."""
        return frozenset(name for check in self.checks for name in check.blocks)

    @property
    def verdicts(self) -> pd.DataFrame | None:
        """What the suite judges of single metrics (`Suite.verdicts`); None where it judges none."""
        return None if self.suite.verdicts is None else self.suite.verdicts(self)

    @property
    def policy(self) -> dict[str, Any]:
        return self.manifest.policy

    @property
    def n_units(self) -> int:
        """Number of resampling units."""
        return self.manifest.bootstrap.n_units

    @property
    def signature(self) -> str:
        """One line that says how a number was made, to be pasted into a paper (after sacreBLEU)."""
        parts = {
            "suite": self.suite.name,
            **self.options.signature(),
            **({"metrics": self.policy["metrics"]} if "metrics" in self.policy else {}),
            "policy": self.policy["eval_policy_hash"],
            "n": str(self.n_units),
            "unit": self.suite.unit,
            "ci": f"{self.resampling.method}{100 * self.resampling.confidence:g}",
            "resamples": str(self.resampling.n_resamples),
            "seed": str(self.resampling.seed),
            "version": __version__,
        }
        return "|".join(f"{k}:{v}" for k, v in parts.items())

    def __getitem__(self, metric: str) -> pd.Series:
        """The estimate of one metric, with its claim; KeyError that names the nearest for an unknown name."""
        found = self.frame[self.frame["name"] == metric]
        if found.empty:
            try:
                self.suite.metric(metric, self.options)
            except UsageError as e:
                raise KeyError(str(e)) from None
        return pd.concat([found.iloc[0], pd.Series({"claim": CLAIM_ONE})]).rename(metric)

    def value(self, metric: str) -> float:
        """The value of one metric; nan is not measured."""
        return float(self[metric]["value"])


def verdict_line(row: Mapping[Any, Any]) -> str:
    """A row of `Suite.verdicts` as terminal and gate say it."""
    return f"{row['verdict']}: {row['title']}" + (f", {row['said']}" if row.get("said") else "")


R = TypeVar("R", bound=Result)


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a results folder, or None where there is none or it cannot be read."""
    path = folder / NAME
    try:
        return Manifest.model_validate_json(path.read_bytes()) if path.is_file() else None
    except (OSError, ValueError):
        return None


def result_at(path: Path) -> Manifest | None:
    """The manifest of the run whose result stands in a folder; None where there is none."""
    manifest = read_manifest(path)
    return (
        manifest
        if manifest is not None and manifest.kind == "run" and (path / "metrics.json").is_file()
        else None
    )


def load(folder: str | Path, kind: type[R]) -> R:
    """The result that stands in a results folder. UsageError where it is not complete, or not as it was written.

    A suite that is not known here, and metrics of the user's own, are read from the manifest: no code is run.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    if manifest is None or manifest.kind != "run":
        raise UsageError(f"{folder} holds no complete result of a run (no readable {NAME})")
    suite = suite_of(manifest)
    try:
        for file in ("metrics.json", "units.parquet"):
            if file in manifest.files and manifest.files[file] != sha256(folder / file):
                raise ValueError(
                    f"{file} is not as it was written: its sha256 is another than in {NAME}"
                )
        return _read(folder, suite, suite.options(**_given(suite, manifest)), manifest, kind)
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise UsageError(f"{folder} holds no complete result of a run: {e}") from e


def _given(suite: Suite, manifest: Manifest) -> dict[str, Any]:
    return {k: v for k, v in manifest.options.items() if k in suite.options.model_fields}


def suite_of(manifest: Manifest) -> Suite:
    """The suite of a result; what only the manifest knows of its metrics is read from there."""
    own = manifest.metrics
    if manifest.suite in BUILT_IN:
        suite = get_suite(manifest.suite)
        return suite if not own else suite.plus(own)
    return stored_suite(
        manifest.suite, manifest.suite_title, manifest.bootstrap.unit, manifest.headline, own
    )


def _read(folder: Path, suite: Suite, options: Any, manifest: Manifest, kind: type[R]) -> R:
    content = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    frame = pd.DataFrame(content["metrics"])
    for column in _NUMBERS:
        frame[column] = frame[column].astype(float).fillna(np.nan)
    if "title" not in frame:  # written by the first edition
        titles = {m.name: m.title for m in suite.metrics(options)}
        frame.insert(1, "title", frame["name"].map(titles))
    data = pd.read_parquet(folder / "units.parquet")
    if suite.unit not in data:
        raise ValueError(f"units.parquet has no column {suite.unit!r}")
    checks = tuple(map(Check.from_json, content.get("checks", ())))
    return kind(
        suite, manifest.run, options, manifest.bootstrap.resampling, data, frame, manifest, checks
    )


SAME = ("suite", "kind", "policy", "lang", "versions")


def load_if_current(
    folder: Path,
    suite: Suite,
    options: Any,
    planned: Manifest,
    inputs: Callable[[], Sequence[Input]],
    kind: type[R],
) -> R | None:
    """The result in a folder if it is whole, as it was written, and made as `planned` of the same; None otherwise."""
    there = read_manifest(folder)
    same = (
        there is not None
        and all(getattr(there, name) == getattr(planned, name) for name in SAME)
        and there.options.get("on_error") == planned.options["on_error"]
        and there.bootstrap.resampling == planned.bootstrap.resampling
        and [(i.role, i.sha256) for i in there.inputs] == [(i.role, i.sha256) for i in inputs()]
        and bool(there.files)
        and there.files == file_hashes(folder)
    )
    return _read(folder, suite, options, there, kind) if there is not None and same else None


class _Typed(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, allow_inf_nan=False)


class StoredMetric(_Typed):
    """A row of metrics.json; the first edition has no titles in it."""

    name: str
    title: str = ""
    better: Literal["higher", "lower", "none"] = "none"
    value: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    n_units: float | None = None


class StoredVerdict(_Typed):
    """A verdict on a single metric in metrics.json (`Suite.verdicts`)."""

    metric: str
    title: str
    verdict: str
    said: str = ""


class StoredCheck(_Typed):
    """A check in metrics.json."""

    code: str
    level: Level
    message: str
    blocks: list[str] = []
    help: str = ""


class Stored(_Typed):
    """metrics.json, as far as what only reads it needs; `checks` is null where none were looked for."""

    run: str = ""
    metrics: list[StoredMetric]
    verdicts: list[StoredVerdict] = []
    checks: list[StoredCheck] | None = None

    @property
    def blocked(self) -> set[str]:
        return {name for check in self.checks or () for name in check.blocks}


def metrics_json(
    manifest: Manifest,
    signature: str,
    frame: pd.DataFrame,
    checks: Iterable[Check],
    verdicts: pd.DataFrame | None = None,
) -> dict[str, Any]:
    """The content of metrics.json, of a run or of a study's condition: null is "not measured" or "no interval".

    `verdicts` stands in it where there are any (`Suite.verdicts`).
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "suite": manifest.suite,
        "run": manifest.run,
        "signature": signature,
        "policy": manifest.policy,
        "bootstrap": manifest.bootstrap.model_dump(),
        "checks": [c.as_json() for c in checks],
        **({} if verdicts is None else {"verdicts": _rows(verdicts)}),
        "metrics": _rows(frame),
    }


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(k): _plain(v) for k, v in row.items()} for row in frame.to_dict("records")]


def _plain(value: Any) -> Any:
    if isinstance(value, float) and np.isnan(value):
        return None
    return value.item() if isinstance(value, np.generic) else value


def save_units(units: pd.DataFrame, folder: Path) -> None:
    """Write the units of a result into a folder; `save` writes what else belongs to it."""
    with atomic(folder / "units.parquet", "wb") as f:
        units.to_parquet(f, index=False)


def save(result: R, folder: Path) -> R:
    """Write the other files of a result beside its units; returns it with the manifest that holds their hashes."""
    content = metrics_json(
        result.manifest, result.signature, result.frame, result.checks, result.verdicts
    )
    write_json(folder / "metrics.json", content)
    if result.suite.artifacts is not None:
        result.suite.artifacts(result, folder)
    manifest = result.manifest.model_copy(update={"files": file_hashes(folder)})
    manifest.write(folder)
    return replace(result, manifest=manifest)


def stored_metrics(suite: Suite, options: Any) -> list[dict[str, Any]]:
    """The metrics that only this result's manifest can know of later, as data."""
    known = (
        {m.name for m in get_suite(suite.name).metrics(options)}
        if suite.name in BUILT_IN
        else set()
    )
    return [
        {k: v for k, v in asdict(m).items() if v is not None}
        for m in suite.metrics(options)
        if m.name not in known
    ]
