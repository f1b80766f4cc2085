"""Making results again from their manifest alone, and saying what differs where they do not come out the same."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import BaseModel

from ..core.errors import InputError, Problem, UsageError
from ..core.files import require_writable, sha256
from ..core.language import speaking
from ..core.manifest import Input, Manifest, Member, versions
from ..core.plugins import get_suite
from ..core.records import read_model
from ..core.resampling import Resampling
from ..report.evaluate import evaluate
from ..report.make_study import study
from ..report.run import Run
from .workers import Workers

ROUNDING = 1e-9
"""Relative difference up to which two numbers are the same; other processors sum in another order."""

SHOWN = 20
"""Differing numbers that are listed; the rest are counted."""

NUMBERS = ("value", "ci_low", "ci_high", "ci_method", "numerator", "denominator", "n_units")
KEYS = ("condition", "baseline", "candidate", "metric")
TABLES = ("aggregated_mean_std.csv", "comparison.csv", "agreement.csv")


@dataclass(frozen=True)
class Rerun:
    """What a rerun showed. `inputs`, `policy`, `versions` and `numbers` say what differs, a line each; `largest` is
    the largest relative difference among the `compared` numbers that count as the same."""

    run: str
    inputs: tuple[str, ...]
    policy: tuple[str, ...]
    versions: tuple[str, ...]
    numbers: tuple[str, ...]
    compared: int
    largest: float

    @property
    def same(self) -> bool:
        """Inputs, policy and numbers are the same. Other versions that give the same numbers do not count."""
        return not (self.inputs or self.policy or self.numbers)

    def __str__(self) -> str:
        shown = {"input": self.inputs, "policy": self.policy, "version": self.versions}
        shown["number"] = self.numbers[:SHOWN]
        lines = [f"{kind:<7} {x}" for kind, found in shown.items() for x in found]
        if len(self.numbers) > SHOWN:
            lines.append(f"        and {len(self.numbers) - SHOWN} more")
        exact = (
            "to the last digit" if self.largest == 0 else f"within rounding ({self.largest:.1e})"
        )
        verdict = f"the same {exact}" if not self.numbers else f"{len(self.numbers)} differ"
        return "\n".join([*lines, f"{self.run}: {self.compared} numbers compared, {verdict}"])


def rerun_manifest(
    manifest: Path,
    out: Path | None = None,
    workers: Workers | None = None,
    metrics: Path | None = None,
    **costly: Any,
) -> Rerun:
    """Make the results that `manifest` (a manifest.json, or its folder) describes again, and compare.

    Relative paths of inputs are looked for from the working folder and from every folder above the manifest; a
    file with the recorded content wins. With `out` the new results are kept there, never in the place of the old.
    `metrics`: the file of the user's own metrics, where the results have such: no code is run because a manifest
    names it. `costly`: the options by which something may be spent, or sent to somebody (a judge's): none of them is
    taken from a manifest, which may be another's.

    Raises InputError for a manifest, a results file or an input that is not there or cannot be read, and where the
    changed inputs cannot be scored; UsageError where `out` would overwrite what is compared.
    """
    path = manifest / "manifest.json" if manifest.is_dir() else manifest
    recorded = read_model(path, Manifest)
    members = recorded.members if recorded.kind == "aggregate" else [recorded]
    if not members or not all(m.inputs for m in members):
        raise _bad(path, "names no runs, or no inputs of them: there is nothing to make again")
    found = [{i.role: _find(path, i) for i in m.inputs} for m in members]
    _require(members, found)
    resampling = recorded.bootstrap.resampling
    if out is not None:
        require_writable(out)
    aside = (
        tempfile.TemporaryDirectory(prefix="evaltools-rerun-") if out is None else nullcontext(out)
    )
    with aside as folder, speaking(recorded.lang):
        target = Path(folder)
        if (target / "results" / recorded.run).resolve() == path.parent.resolve():
            raise UsageError(
                f"{target} holds the results that are to be compared; give another folder"
            )
        results = [
            _make(m, files, resampling, target, workers, metrics, costly)
            for m, files in zip(members, found)
        ]
        if recorded.kind == "aggregate":
            declared: dict[str, Any] = {
                "primary": recorded.primary or None,
                "margin": recorded.margin,
            }
            study(results, name=recorded.report, baseline=recorded.baseline, out=target, **declared)
        compared = _compare(_numbers(path.parent), _numbers(target / "results" / recorded.run))
    if compared[1] == 0:
        raise _bad(path, "no numbers beside it to compare with")
    return Rerun(
        recorded.run,
        tuple(line for m, r in zip(members, results) for line in _inputs(m, r)),
        tuple(_mappings(recorded.policy, results[0].policy)),
        tuple(_mappings(recorded.versions, versions())),
        *compared,
    )


def _bad(path: Path, message: str) -> InputError:
    return InputError([Problem("error", "bad-manifest", message, file=str(path))])


def _find(manifest: Path, entry: Input) -> Path | None:
    """Where an input is now; None where nowhere."""
    places = dict.fromkeys(
        folder / entry.path for folder in (Path.cwd(), *manifest.resolve().parents)
    )
    there = [p for p in places if p.is_file() and os.access(p, os.R_OK)]
    return next((p for p in there if sha256(p) == entry.sha256), there[0] if there else None)


def _require(runs: Sequence[Member], found: Sequence[Mapping[str, Path | None]]) -> None:
    gone = [
        Problem(
            "error",
            "missing-input",
            f"{i.role} of {m.run} (sha256 {i.sha256}) is not there",
            file=i.path,
        )
        for m, files in zip(runs, found)
        for i in m.inputs
        if files[i.role] is None
    ]
    if gone:
        raise InputError(dict.fromkeys(gone))


def _make(
    run: Member,
    files: Mapping[str, Path | None],
    resampling: Resampling,
    out: Path,
    workers: Workers | None,
    metrics: Path | None,
    costly: Mapping[str, Any],
) -> Run:
    """One run made again from its main input, which is the first of the manifest."""
    suite = get_suite(run.suite)
    free = suite.options.settable(costly=False)
    spent = {n: suite.options.model_fields[n] for n in suite.options.settable() if n not in free}
    asked = [n for n, f in spent.items() if run.options.get(n, f.default) != f.default]
    if wanted := [n for n in asked if n not in costly]:
        flags = ", ".join(f"--{n.replace('_', '-')}" for n in wanted)
        raise UsageError(
            f"{run.run} was made with options that a manifest is not trusted with: give {flags} as it was made with, "
            "or as you want it now"
        )
    if metrics is None and (file := run.options.get("metrics")):
        raise UsageError(
            f"{run.run} was made with metrics of your own ({file}): give their file with --metrics"
        )
    # an option that names an input names it where that is now
    moved = {i.path: str(files[i.role]) for i in run.inputs}
    options: dict[str, Any] = {}
    for name, value in run.options.items():
        if name in free:
            is_moved = isinstance(value, str) and str(Path(value)) in moved
            options[name] = moved[str(Path(value))] if is_moved else value
    return evaluate(
        suite,
        str(files[run.inputs[0].role]),
        name=run.run,
        out=out,
        resampling=resampling,
        on_error=run.options.get("on_error", "fail"),
        workers=workers,
        fresh=True,
        metrics=metrics,
        **options,
        **costly,
    )


def _inputs(run: Member, result: Run) -> Iterator[str]:
    then = {i.role: i for i in run.inputs}
    now = {i.role: i for i in result.manifest.inputs}
    for role in dict.fromkeys([*then, *now]):
        was, is_ = then.get(role), now.get(role)
        if is_ is None or was is None:
            one = was or is_
            yield f"{run.run}: {role} {one and one.path}: {'used only then' if was else 'used only now'}"
        elif was.sha256 != is_.sha256:
            yield (
                f"{run.run}: {role} {is_.path}: sha256 {is_.sha256} ({is_.bytes} bytes), "
                f"was {was.sha256} ({was.bytes} bytes)"
            )


def _mappings(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for key in dict.fromkeys([*then, *now]):
        if then.get(key) != now.get(key):
            yield f"{key}: {now.get(key)}, was {then.get(key)}"


Compared = tuple[tuple[str, ...], int, float]
"""A line for each number that differs, how many were compared, the largest relative difference of the others."""


class _Metrics(BaseModel):
    metrics: list[dict[str, Any]]


def _numbers(folder: Path) -> dict[tuple[str, ...], Any]:
    """Every number of a result: those of metrics.json, or every cell of an aggregate's tables."""
    found: dict[tuple[str, ...], Any] = {}
    for path in (folder / table for table in TABLES if (folder / table).is_file()):
        try:
            rows = pd.read_csv(path).to_dict("records")
        except ValueError as e:
            raise _bad(path, f"cannot be read: {e}") from e
        for row in rows:
            place = (path.name, *(str(row[k]) for k in KEYS if k in row))
            found |= {(*place, str(column)): value for column, value in row.items()}
    if found:
        return found
    rows = read_model(folder / "metrics.json", _Metrics).metrics
    return {(str(row.get("name")), field): row.get(field) for row in rows for field in NUMBERS}


def _compare(then: Mapping[Any, Any], now: Mapping[Any, Any]) -> Compared:
    differ: list[str] = []
    largest = 0.0
    for key in dict.fromkeys([*then, *now]):
        a, b = _plain(then.get(key)), _plain(now.get(key))
        if isinstance(a, float) and isinstance(b, float) and a != b:
            relative = abs(a - b) / max(abs(a), abs(b))
            if relative <= ROUNDING:
                largest = max(largest, relative)
                continue
        if a != b:
            differ.append(f"{' '.join(key)}: {b}, was {a}")
    return tuple(differ), len(then), largest


def _plain(value: Any) -> Any:
    """A number as a float and anything else as it is; None for what is not measured."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return value if isinstance(value, str | bool) else float(value)
