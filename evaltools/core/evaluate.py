"""The one path from input files to results.

files --locate--> source --score--> units --estimate--> Result --save--> files under --out
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import ValidationError

from .. import __version__
from ..app.workers import Workers, beside
from ..stats.intervals import Resampling, estimate
from .errors import OnError, Problems, UsageError
from .jsonl import describe
from .manifest import describe_inputs, git_commit, policy_hash, versions
from .names import safe_name
from .results import load_if_current, save
from .suite import SCHEMA_VERSION, Result, Suite, get_suite

BESIDE_BYTES = 64 << 20
"""Input files of fewer bytes than these together are hashed at once."""


def make_options(suite: Suite, given: Mapping[str, Any]) -> Any:
    """The suite's options by name. UsageError for a name that it has not, or a value that it does not take."""
    try:
        return suite.options(**given)
    except ValidationError as e:
        wrong = "; ".join(f"{name}: {message}" for _, name, message in describe(e))
        raise UsageError(f"options of {suite.name}: {wrong}") from e


def make_policy(suite: Suite, options: Any) -> dict[str, Any]:
    policy = options.policy()
    return {
        "eval_semver": __version__,
        "eval_policy_hash": policy_hash({"suite": suite.name, **policy}),
        **policy,
    }


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
    workers = workers or Workers()
    inputs = _describing(source.files, workers)
    folder = Path(out) / "results" / source.name if out is not None else None
    if folder is not None and not fresh:
        found = load_if_current(folder, suite, opts, policy, inputs, resampling, on_error)
        if found is not None:
            return found
    units = suite.score(source, opts, problems, workers)
    problems.raise_if_failed()
    estimates = estimate(units, suite.metrics(opts), suite.unit, resampling)
    manifest = {
        "schema_version": SCHEMA_VERSION,
        "suite": suite.name,
        "run": source.name,
        "inputs": [{**i, "rows": units.attrs.get("rows", {}).get(i["role"])} for i in inputs()],
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


def _describing(files: Mapping[str, Path], workers: Workers) -> Callable[[], list[dict[str, Any]]]:
    """`describe_inputs`, beside other work where the files are large and there may be several processes."""
    if workers.jobs > 1 and sum(path.stat().st_size for path in files.values()) >= BESIDE_BYTES:
        return beside(describe_inputs, files)
    found = describe_inputs(files)
    return lambda: found


def resolve(run: str | Path) -> Path:
    """A path, with "example:NAME" standing for a bundled example."""
    if isinstance(run, str) and run.startswith("example:"):
        from ..app.examples import example

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
