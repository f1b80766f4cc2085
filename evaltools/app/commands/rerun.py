"""`evaltools rerun MANIFEST`: results made again from their manifest alone, and the numbers that differ."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from ...core.commands import PATH
from ...core.errors import FAILED, Problems, UsageError
from ...core.files import sha256
from ...core.folders import require_out
from ...core.json_files import read_model
from ...core.language import speaking
from ...core.manifest import NAME, Input, Manifest, Member
from ...core.plugins import get_suite
from ...core.results import METRICS, MetricsFile
from ...core.terminal import echo
from ...core.workers import Workers
from ...report.evaluate import evaluate
from ...report.make_study import study
from ...report.run import Run
from ..options import metrics_option, suite_file_option, workers_option

# relative difference up to which two numbers are the same; other processors sum in another order
ROUNDING = 1e-9

# what is compared of each metric of a metrics.json
NUMBERS = ("value", "ci_low", "ci_high", "ci_method", "numerator", "denominator", "n_units")


@click.command()
@click.argument("manifest", type=PATH)
@click.option("-o", "--out", type=PATH, help="Keep the new results there (default: nowhere).")
@workers_option
@metrics_option
@suite_file_option
def rerun(
    manifest: Path,
    out: Path | None,
    workers: Workers,
    metrics: Path | None,
) -> None:
    """Make the results of a manifest.json again and compare.

    Status 4 where an input or a number is not the same, each of which is named. Nothing is sent or spent because a
    manifest says so: what a judge scored is scored again by `evaltools score`.
    """
    settings = {"workers": workers, "metrics": metrics}
    file = manifest / NAME if manifest.is_dir() else manifest
    differences, n_compared = rerun_manifest(file, out, settings)
    for line in differences:
        echo(line)
    echo(f"{n_compared} numbers compared, {len(differences) or 'none'} differ")
    sys.exit(FAILED if differences else 0)


def rerun_manifest(
    file: Path,
    out: Path | None = None,
    settings: Mapping[str, Any] = {},
) -> tuple[list[str], int]:
    """(a line for each input and number that differs, how many numbers were compared) of the results made again.

    Relative paths of inputs are looked for from the working folder and from every folder above the manifest; a file
    with the recorded content wins. With `out` the new results are kept there, never in the place of the old.
    `settings`: workers, and the file of the user's own metrics, which is not taken from a manifest, as it is code.

    Raises InputError for a manifest, a results file or an input that is not there or cannot be read, and where the
    changed inputs cannot be scored; UsageError where `out` would overwrite what is compared.
    """
    recorded = read_model(file, Manifest)
    members = recorded.members if recorded.kind == "aggregate" else [recorded]
    if not members or not all(member.inputs for member in members):
        text = "names no runs, or no inputs of them: there is nothing to make again"
        raise Problems().fatal("bad-manifest", text, file=file)
    then = _numbers(file.parent)
    with TemporaryDirectory(prefix="evaltools-rerun-") as folder, speaking(recorded.lang):
        target = out or Path(folder)
        require_out(target)
        result = target / "results" / recorded.run
        if result.resolve() == file.parent.resolve():
            raise UsageError(
                f"{target} holds the results that are to be compared; give another folder"
            )
        settings = {**settings, "out": target}
        runs = [_make_again(file, recorded, member, settings) for member in members]
        if recorded.kind == "aggregate":
            study(
                runs,
                name=recorded.report,
                baseline=recorded.baseline,
                primary=recorded.primary or None,
                margin=recorded.margin,
                out=target,
            )
        now = _numbers(result)
    differences = []
    for member, run in zip(members, runs):
        for before, after in zip(member.inputs, run.manifest.inputs):
            if before.sha256 != after.sha256:
                differences.append(f"input {before.path} of {member.run} has another content")
    for name in {**then, **now}:
        if not _is_same(then.get(name), now.get(name)):
            differences.append(f"{name}: {now.get(name)}, was {then.get(name)}")
    return differences, len(then)


def _make_again(
    file: Path,
    recorded: Manifest,
    member: Member,
    settings: Mapping[str, Any],
) -> Run:
    """One run of a manifest made again from its main input, which is the first."""
    suite = get_suite(member.suite)
    _refuse_untrusted(suite, member, recorded.policy, settings)
    files = {entry.path: str(_find(file, member, entry)) for entry in member.inputs}
    options: dict[str, Any] = {}
    for name in suite.options.free():
        if name in member.options:
            value = member.options[name]
            # one that names an input names it where that is now
            options[name] = files.get(str(Path(value)), value) if isinstance(value, str) else value
    return evaluate(
        suite,
        files[member.inputs[0].path],
        name=member.run,
        resampling=recorded.resampling,
        on_error=member.options.get("on_error", "fail"),
        query=member.options.get("query"),
        fresh=True,
        **options,
        **settings,
    )


def _find(
    manifest: Path,
    member: Member,
    entry: Input,
) -> Path:
    """Where an input is now, best with the recorded content; InputError where nowhere."""
    folders = (Path.cwd(), *manifest.resolve().parents)
    found = [folder / entry.path for folder in folders if (folder / entry.path).is_file()]
    same = [path for path in found if sha256(path) == entry.sha256]
    if not found:
        text = f"{entry.role} of {member.run} (sha256 {entry.sha256}) is not there"
        raise Problems().fatal("missing-input", text, file=entry.path)
    return (same or found)[0]


def _refuse_untrusted(
    suite: Any,
    member: Member,
    policy: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> None:
    """UsageError where a run had what a manifest, which may be another's, is not trusted with.

    That is a file of metrics, unless it is given now, and options that decide a number by what is sent or spent.
    """
    if member.options.get("metrics") and not settings.get("metrics"):
        raise UsageError(
            f"{member.run} has metrics of a file, which is code that a manifest is not trusted with: give --metrics"
        )
    usual = suite.options().model_dump(mode="json")
    for name in suite.options.costly:
        if name in policy and member.options.get(name, usual[name]) != usual[name]:
            raise UsageError(
                f"{member.run} was scored with {name}, which may send or spend: score its input again"
            )


def _numbers(folder: Path) -> dict[str, Any]:
    """Every number of a metrics.json by its name. InputError where they cannot be read."""
    rows = read_model(folder / METRICS, MetricsFile).metrics
    return {f"{row.name} {field}": getattr(row, field) for row in rows for field in NUMBERS}


def _is_same(before: Any, after: Any) -> bool:
    """Whether two values are the same; null is a value like any other."""
    if isinstance(before, int | float) and isinstance(after, int | float):
        return math.isclose(before, after, rel_tol=ROUNDING)
    return bool(before == after)
