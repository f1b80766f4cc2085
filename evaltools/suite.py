"""What a suite is, the registry of the three, and the one path from input files to results.

    files --locate--> source --score--> units --estimate--> Result --save--> files under --out

A suite brings a record model, a `score` function, a metric table and a notebook; nothing else in the
package knows which suites there are.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, ValidationError

from . import __version__
from .bootstrap import Resampling, estimate
from .errors import OnError, Problems, UsageError
from .jsonl import atomic, describe, write_json
from .manifest import describe_inputs, git_commit, policy_hash, versions
from .metric import MetricTable
from .workers import Workers

SCHEMA_VERSION = 1

REGISTRY = {
    "cr": "evaltools.cr.metrics:SUITE",
    "memfin": "evaltools.memfin.metrics:SUITE",
    "summary": "evaltools.summary.metrics:SUITE",
}


class SuiteOptions(BaseModel):
    """Options of a suite that change its numbers. Every field goes into the policy and its hash."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def policy(self) -> dict[str, Any]:
        """All that decides the numbers, as JSON; a suite adds the hashes of its rule files."""
        return self.model_dump(mode="json")

    def signature(self) -> dict[str, str]:
        """The suite's own parts of the signature line, in order."""
        return {}


@dataclass(frozen=True)
class Source:
    """One run to score: its name and its input files by role (all hashed into the manifest)."""

    name: str
    files: Mapping[str, Path]


@dataclass(frozen=True)
class Breakdown:
    """Units split by `column`; the named metrics are estimated in each part."""

    title: str
    column: str
    metrics: tuple[str, ...]


@dataclass(frozen=True)
class Suite:
    """What the package needs to know of a suite.

    `unit`: the column that names the resampling unit; `row`: the columns that identify a row of the
    units frame. `locate(path, name, options, problems)` finds the files of a run.
    `score(source, options, problems, workers)` makes the units frame. `metrics(options)` and
    `headline(options)` are the metric table and the names that lead every page. `artifacts(result, folder)`
    writes the suite's own files under results/<run>/. `agreement` names the columns of predicted tuples
    and label in which seeds can agree, where the suite has such.
    """

    name: str
    title: str
    unit: str
    row: tuple[str, ...]
    options: type[SuiteOptions]
    locate: Callable[[Path, str | None, Any, Problems], Source]
    score: Callable[[Source, Any, Problems, Workers], pd.DataFrame]
    metrics: Callable[[Any], MetricTable]
    headline: Callable[[Any], tuple[str, ...]]
    artifacts: Callable[[Result, Path], None]
    notebook: str
    breakdowns: tuple[Breakdown, ...] = ()
    agreement: tuple[str, str] | None = None


@cache
def get_suite(name: str) -> Suite:
    """The suite of that name; UsageError for another."""
    if name not in REGISTRY:
        raise UsageError(f"no suite {name!r}; there are {', '.join(REGISTRY)}")
    module, attribute = REGISTRY[name].split(":")
    return getattr(import_module(module), attribute)


def make_options(suite: Suite, given: Mapping[str, Any]) -> Any:
    """The suite's options by name. UsageError for a name that it has not, or a value that it does not take."""
    try:
        return suite.options(**given)
    except ValidationError as e:
        wrong = "; ".join(f"{name}: {message}" for _, name, message in describe(e))
        raise UsageError(f"options of {suite.name}: {wrong}") from e


@dataclass(frozen=True)
class Result:
    """The numbers of one run: `units` (a row a unit), `estimates` (a row a metric), and where they came from."""

    suite: Suite
    name: str
    options: Any
    resampling: Resampling
    units: pd.DataFrame = field(repr=False)
    estimates: pd.DataFrame = field(repr=False)
    manifest: dict[str, Any] = field(repr=False)

    @property
    def policy(self) -> dict[str, Any]:
        return self.manifest["policy"]

    @property
    def n_units(self) -> int:
        """Number of resampling units."""
        return int(self.units[self.suite.unit].nunique(dropna=False))

    @property
    def signature(self) -> str:
        return signature(self.suite, self.options, self.policy, self.n_units, self.resampling)

    def __getitem__(self, metric: str) -> pd.Series:
        """The estimate of one metric; KeyError for an unknown name."""
        found = self.estimates[self.estimates["name"] == metric]
        if found.empty:
            raise KeyError(f"{metric!r} is no metric of {self.suite.name}")
        return found.iloc[0]

    def value(self, metric: str) -> float:
        """The value of one metric; nan is not measured."""
        return float(self[metric]["value"])

    @property
    def headline(self) -> pd.DataFrame:
        names = self.suite.headline(self.options)
        return self.estimates.set_index("name").loc[list(names)].reset_index()

    def _repr_html_(self) -> str:
        from .report.tables import result_html

        return result_html(self)


def signature(suite: Suite, options: Any, policy: Mapping[str, Any], n: int, resampling: Resampling) -> str:
    """One line that says how a number was made, to be pasted into a paper (after sacreBLEU)."""
    parts = {
        "suite": suite.name,
        **options.signature(),
        "policy": policy["eval_policy_hash"],
        "n": str(n),
        "unit": suite.unit,
        "ci": f"{resampling.method}{100 * resampling.confidence:g}",
        "resamples": str(resampling.n_resamples),
        "seed": str(resampling.seed),
        "version": __version__,
    }
    return "|".join(f"{k}:{v}" for k, v in parts.items())


def make_policy(suite: Suite, options: Any) -> dict[str, Any]:
    policy = options.policy()
    return {
        "eval_semver": __version__,
        "eval_policy_hash": policy_hash({"suite": suite.name, **policy}),
        **policy,
    }


def safe_name(name: str, problems: Problems | None = None) -> str:
    """A run's name as a folder name: it cannot leave the folder it is put in. UsageError where it would."""
    bad = re.search(r'[/\\:*?"<>|\x00-\x1f\ud800-\udfff]', name)
    if not name or name in {".", ".."} or bad or len(name.encode()) > 200:
        raise UsageError(f"{name!r} cannot be the name of a run: it must be usable as a folder name")
    return name


def evaluate(
    suite: str | Suite,
    run: str | Path,
    *,
    name: str | None = None,
    out: str | Path | None = None,
    resampling: Resampling | None = None,
    on_error: OnError = "fail",
    workers: Workers | None = None,
    fresh: bool = False,
    **options: Any,
) -> Result:
    """Score one run and estimate every metric of its suite.

    `run` is a run folder, a file, or "example:NAME" for a bundled one. With `out`, the files of
    `results/<run>/` are written there, and read instead of made again when they are complete and
    current (same inputs by hash, same policy, same resampling, same version) unless `fresh`.

    Raises InputError for input that cannot be used, UsageError for options that make no sense.
    """
    suite = get_suite(suite) if isinstance(suite, str) else suite
    opts = make_options(suite, options)
    resampling = resampling or Resampling()
    problems = Problems(on_error)
    started, clock = datetime.now(UTC), time.perf_counter()
    source = suite.locate(resolve(run), name, opts, problems)
    safe_name(source.name)
    policy = make_policy(suite, opts)
    inputs = describe_inputs(source.files)
    folder = Path(out) / "results" / source.name if out is not None else None
    if folder is not None and not fresh:
        from .results import load_if_current

        found = load_if_current(folder, suite, opts, policy, inputs, resampling, on_error)
        if found is not None:
            return found
    units = suite.score(source, opts, problems, workers or Workers())
    problems.raise_if_failed()
    estimates = estimate(units, suite.metrics(opts), suite.unit, resampling)
    manifest = {
        "schema_version": SCHEMA_VERSION,
        "suite": suite.name,
        "run": source.name,
        "inputs": [{**i, "rows": units.attrs.get("rows", {}).get(i["role"])} for i in inputs],
        "policy": policy,
        "options": {**opts.model_dump(mode="json"), "on_error": on_error, "name": name},
        "bootstrap": bootstrap_block(resampling, suite, units),
        "problems": problems.summary(),
        "versions": versions(),
        "git_commit": git_commit(),
        "started": started.isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - clock, 3),
    }
    result = Result(suite, source.name, opts, resampling, units, estimates, manifest)
    if folder is not None:
        save(result, folder)
    return result


def resolve(run: str | Path) -> Path:
    """A path, with "example:NAME" standing for a bundled example."""
    if isinstance(run, str) and run.startswith("example:"):
        from .examples import example

        return example(run.removeprefix("example:"))
    return Path(run)


def bootstrap_block(resampling: Resampling, suite: Suite, units: pd.DataFrame) -> dict[str, Any]:
    return {
        "method": resampling.method,
        "n_resamples": resampling.n_resamples,
        "confidence": resampling.confidence,
        "seed": resampling.seed,
        "unit": suite.unit,
        "n_units": int(units[suite.unit].nunique(dropna=False)),
    }


def metrics_json(result: Result) -> dict[str, Any]:
    """The content of metrics.json (schema_version 1): null is "not measured" or "no interval"."""
    return {
        "schema_version": SCHEMA_VERSION,
        "suite": result.suite.name,
        "run": result.name,
        "signature": result.signature,
        "policy": result.policy,
        "bootstrap": result.manifest["bootstrap"],
        "metrics": [{k: _plain(v) for k, v in row.items()} for row in result.estimates.to_dict("records")],
    }


def _plain(value: Any) -> Any:
    if isinstance(value, float) and np.isnan(value):
        return None
    return value.item() if isinstance(value, np.generic) else value


def save(result: Result, folder: Path) -> None:
    """Write results/<run>/. The manifest comes last and names the files: a folder without them is not complete."""
    (folder / "manifest.json").unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    with atomic(folder / "units.parquet", "wb") as f:
        result.units.to_parquet(f, index=False)
    write_json(folder / "metrics.json", metrics_json(result))
    result.suite.artifacts(result, folder)
    files = [p.relative_to(folder).as_posix() for p in folder.rglob("[!.]*") if p.is_file()]
    write_json(folder / "manifest.json", {**result.manifest, "files": sorted(files)})
