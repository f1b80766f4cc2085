"""`evaltools rerun MANIFEST`: results made again from their manifest alone, and what differs."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import pandas as pd
from click.core import ParameterSource

from ...core.commands import PATH, lang_option
from ...core.errors import FAILED, InputError, Problems, UsageError
from ...core.estimates import plain_rows
from ...core.files import sha256
from ...core.folders import require_out
from ...core.json_files import read_model
from ...core.language import say, speaking
from ...core.manifest import NAME, Input, Manifest, Member, versions
from ...core.plugins import get_suite
from ...core.results import METRICS, StoredMetrics
from ...core.suite import Suite
from ...core.terminal import echo
from ...core.workers import Workers
from ...report.evaluate import evaluate
from ...report.make_study import study
from ...report.run import Run
from ..groups import RunsCommand
from ..options import metrics_option, suite_file_option, workers_option

ROUNDING = 1e-9
"""Relative difference up to which two numbers are the same; other processors sum in another order."""

NUMBERS = ("value", "ci_low", "ci_high", "ci_method", "numerator", "denominator", "n_units")
"""What is compared of each metric of a metrics.json."""

COMPARISON = "comparison.csv"
"""The file of an aggregate whose cells are compared, too."""


@click.command(cls=RunsCommand, costly=True)
@click.argument("manifest", type=PATH)
@click.option("-o", "--out", type=PATH, help="Keep the new results there (default: nowhere).")
@workers_option
@metrics_option
@suite_file_option
@lang_option
@click.pass_context
def rerun(
    ctx: click.Context,
    manifest: Path,
    out: Path | None,
    workers: Workers,
    metrics: Path | None,
    **costly: Any,
) -> None:
    """Make the results of a manifest.json again and compare.

    Status 4 where an input, the policy or a number is not the same, each of which is named. What would be sent or
    spent (a judge) is not taken from the manifest, but from options of the suite given here.
    """
    typed = {}
    for name, value in costly.items():
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            typed[name] = value
    outcome = rerun_manifest(manifest, out, workers, metrics, **typed)
    echo(outcome)
    sys.exit(0 if outcome.same else FAILED)


@dataclass(frozen=True)
class Rerun:
    """What a rerun showed.

    `differences`: a line for each input, policy, version and number that differs, by these words. `compared`: how
    many numbers were compared.
    """

    run: str
    differences: dict[str, list[str]]
    compared: int

    @property
    def same(self) -> bool:
        """Inputs, policy and numbers are the same. Other versions that give the same numbers do not count."""
        return not any(lines for kind, lines in self.differences.items() if kind != "version")

    def __str__(self) -> str:
        """A line for each difference, then how many numbers were compared and whether they are the same."""
        lines = []
        for kind, differences in self.differences.items():
            lines += [f"{say(kind)} {line}" for line in differences]
        n_differ = len(self.differences["number"])
        verdict = say("{n} differ", n=n_differ) if n_differ else say("the same")
        text = "{run}: {n} numbers compared, {verdict}"
        lines.append(say(text, run=self.run, n=self.compared, verdict=verdict))
        return "\n".join(lines)


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
    path = manifest / NAME if manifest.is_dir() else manifest
    recorded = read_model(path, Manifest)
    members = recorded.members if recorded.kind == "aggregate" else [recorded]
    if not members or not all(member.inputs for member in members):
        raise _bad(path, "names no runs, or no inputs of them: there is nothing to make again")
    with TemporaryDirectory(prefix="evaltools-rerun-") as folder, speaking(recorded.lang):
        target = out or Path(folder)
        require_out(target)
        result = target / "results" / recorded.run
        if result.resolve() == path.parent.resolve():
            text = "{out} holds the results that are to be compared; give another folder"
            raise UsageError(text, out=target)
        settings = {"out": target, "workers": workers, "metrics": metrics, **costly}
        runs = [_make_again(path, recorded, member, settings) for member in members]
        if recorded.kind == "aggregate":
            study(
                runs,
                name=recorded.report,
                baseline=recorded.baseline,
                primary=recorded.primary or None,
                margin=recorded.margin,
                out=target,
            )
        then, now = _numbers(path.parent), _numbers(result)
    if not then:
        raise _bad(path, "no numbers beside it to compare with")
    contents = _contents([run.manifest for run in runs])
    differences = {
        "input": _differences(_contents(members), contents),
        "policy": _differences(recorded.policy, runs[0].policy),
        "version": _differences(recorded.versions, versions()),
        "number": _differences(then, now),
    }
    return Rerun(recorded.run, differences, compared=len(then))


def _bad(path: Path, text: str, **values: Any) -> InputError:
    return Problems().fatal("bad-manifest", text, **values, file=path)


def _make_again(
    path: Path,
    recorded: Manifest,
    member: Member,
    settings: Mapping[str, Any],
) -> Run:
    """One run of a manifest made again from its main input, which is the first."""
    suite = get_suite(member.suite)
    files = {entry.path: str(_find(path, member, entry)) for entry in member.inputs}
    _refuse_untrusted(suite, member, recorded.policy, settings)
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
        resampling=recorded.bootstrap.resampling,
        on_error=member.options.get("on_error", "fail"),
        fresh=True,
        **options,
        **settings,
    )


def _find(manifest: Path, member: Member, entry: Input) -> Path:
    """Where an input is now, best with the recorded content; InputError where nowhere."""
    others = []
    for folder in (Path.cwd(), *manifest.resolve().parents):
        path = folder / entry.path
        if path.is_file() and os.access(path, os.R_OK):
            if sha256(path) == entry.sha256:
                return path
            others.append(path)
    if others:
        return others[0]
    raise Problems().fatal(
        "missing-input",
        "{role} of {run} (sha256 {sha256}) is not there",
        role=entry.role,
        run=member.run,
        sha256=entry.sha256,
        file=entry.path,
    )


def _refuse_untrusted(
    suite: Suite,
    member: Member,
    policy: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> None:
    """UsageError where a run had what a manifest is not trusted with, and it is not given now.

    That is a file of metrics, and options by which something may be spent. Those that change no number, and so do not
    stand in the policy, need not be given.
    """
    defaults = {"metrics": None}
    for name in suite.options.costly:
        if name in policy:
            defaults[name] = suite.options.model_fields[name].default
    untrusted = []
    for name, default in defaults.items():
        is_given = settings.get(name) is not None
        if not is_given and member.options.get(name, default) != default:
            untrusted.append(f"--{name.replace('_', '-')}")
    if untrusted:
        raise UsageError(
            "{run} was made with options that a manifest is not trusted with: give {options} as it was made "
            "with, or as you want it now",
            run=member.run,
            options=tuple(untrusted),
        )


def _contents(members: Sequence[Member]) -> dict[str, str]:
    """Run and role of every input -> the sha256 of its content."""
    contents = {}
    for member in members:
        for entry in member.inputs:
            contents[f"{member.run}: {entry.role}"] = f"sha256 {entry.sha256}"
    return contents


def _numbers(folder: Path) -> dict[str, Any]:
    """Every number of a result by its name: of metrics.json and, where it is an aggregate, of its comparison.

    InputError where they cannot be read.
    """
    numbers: dict[str, Any] = {}
    for metric in read_model(folder / METRICS, StoredMetrics).metrics:
        for field in NUMBERS:
            numbers[f"{metric.name} {field}"] = getattr(metric, field)
    file = folder / COMPARISON
    if file.is_file():
        try:
            rows = plain_rows(pd.read_csv(file))
        except ValueError as error:
            raise _bad(file, "cannot be read: {reason}", reason=str(error)) from error
        for row in rows:
            for column, value in row.items():
                numbers[f"{COMPARISON} {row['candidate']} {row['metric']} {column}"] = value
    return numbers


def _differences(
    then: Mapping[str, Any],
    now: Mapping[str, Any],
) -> list[str]:
    """A line for each value that differs; null is a value like any other."""
    lines = []
    for name in {**then, **now}:
        before, after = then.get(name), now.get(name)
        if not _is_same(before, after):
            text = "{name}: {now}, was {then}"
            lines.append(say(text, name=name, now=str(after), then=str(before)))
    return lines


def _is_same(before: Any, after: Any) -> bool:
    if isinstance(before, int | float) and isinstance(after, int | float):
        return math.isclose(before, after, rel_tol=ROUNDING)
    return bool(before == after)
