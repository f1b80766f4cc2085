"""Reading back what `evaluate` wrote under results/<run>/."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .bootstrap import Resampling
from .errors import UsageError
from .manifest import versions
from .suite import Result, Suite, get_suite

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
    inputs: Sequence[Mapping[str, Any]],
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
    inputs: Sequence[Mapping[str, Any]],
    resampling: Resampling,
    on_error: str,
) -> bool:
    b = manifest.get("bootstrap", {})
    return bool(
        manifest.get("suite") == suite.name
        and manifest.get("policy") == dict(policy)
        and manifest.get("options", {}).get("on_error") == on_error
        and [(i["role"], i["sha256"]) for i in manifest.get("inputs", [])]
        == [(i["role"], i["sha256"]) for i in inputs]
        and (b.get("method"), b.get("n_resamples"), b.get("confidence"), b.get("seed"))
        == (resampling.method, resampling.n_resamples, resampling.confidence, resampling.seed)
        and manifest.get("versions") == versions()
        and all((folder / name).is_file() for name in manifest.get("files", []))
    )
