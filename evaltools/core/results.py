"""The files of results/<run>/: writing them, and reading them back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..stats.intervals import Resampling
from .errors import UsageError
from .jsonl import atomic, write_json
from .manifest import versions
from .suite import SCHEMA_VERSION, Result, Suite, get_suite

_NUMBERS = ("value", "ci_low", "ci_high", "numerator", "denominator")


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest of a results folder, or None where there is none or it cannot be read."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return manifest if isinstance(manifest, dict) else None


def load(folder: str | Path) -> Result:
    """The result that stands in a results folder. UsageError where it is not complete."""
    folder = Path(folder)
    manifest = read_manifest(folder)
    if manifest is None:
        raise UsageError(f"{folder} holds no complete result (no readable manifest.json)")
    suite = get_suite(manifest["suite"])
    fields = suite.options.model_fields
    options = suite.options(**{k: v for k, v in manifest["options"].items() if k in fields})
    return _read(folder, suite, options, manifest)


def _read(folder: Path, suite: Suite, options: Any, manifest: dict[str, Any]) -> Result:
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    estimates = pd.DataFrame(metrics["metrics"])
    for column in _NUMBERS:
        estimates[column] = estimates[column].astype(float).fillna(np.nan)
    b = metrics["bootstrap"]
    resampling = Resampling(b["method"], b["n_resamples"], b["confidence"], b["seed"])
    units = pd.read_parquet(folder / "units.parquet")
    return Result(suite, metrics["run"], options, resampling, units, estimates, manifest)


def load_if_current(
    folder: Path,
    suite: Suite,
    options: Any,
    policy: Mapping[str, Any],
    inputs: Callable[[], Sequence[Mapping[str, Any]]],
    resampling: Resampling,
    on_error: str,
) -> Result | None:
    """The result in `folder` if it is complete and would come out the same again; otherwise None."""
    manifest = read_manifest(folder)
    if manifest is None:
        return None
    try:
        same = _is_current(folder, manifest, suite, policy, inputs, resampling, on_error)
        return _read(folder, suite, options, manifest) if same else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # a file that was spoilt is a file that is not there


def _is_current(
    folder: Path,
    manifest: dict[str, Any],
    suite: Suite,
    policy: Mapping[str, Any],
    inputs: Callable[[], Sequence[Mapping[str, Any]]],
    resampling: Resampling,
    on_error: str,
) -> bool:
    b = manifest.get("bootstrap", {})
    return bool(
        manifest.get("suite") == suite.name
        and manifest.get("policy") == dict(policy)
        and manifest.get("options", {}).get("on_error") == on_error
        and (b.get("method"), b.get("n_resamples"), b.get("confidence"), b.get("seed"))
        == (resampling.method, resampling.n_resamples, resampling.confidence, resampling.seed)
        and manifest.get("versions") == versions()
        and [(i["role"], i["sha256"]) for i in manifest.get("inputs", [])]
        == [(i["role"], i["sha256"]) for i in inputs()]
        and all((folder / name).is_file() for name in manifest.get("files", []))
    )


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
