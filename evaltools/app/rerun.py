"""Making results again from their manifest alone, and saying what differs where they do not come out the same."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..core.errors import InputError, Problems, UsageError
from ..core.files import sha256
from ..core.folders import require_out
from ..core.json_files import read_model
from ..core.language import say, speaking
from ..core.manifest import Input, Manifest, Member, versions
from ..core.plugins import get_suite
from ..core.suite import Suite
from ..report.evaluate import evaluate
from ..report.make_study import study
from ..report.run import Run
from .compare_numbers import change, compare_numbers, result_numbers
from .text import padded
from .workers import Workers

SHOWN = 20
"""Differing numbers that are listed; the rest are counted."""

InputFiles = Mapping[str, Path]
"""Role of an input -> where its file is now."""


@dataclass(frozen=True)
class Rerun:
    """What a rerun showed.

    `inputs`, `policy`, `versions` and `numbers`: what differs, a line each. `compared`: how many numbers were
    compared. `largest`: the largest relative difference among those that count as the same.
    """

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
        """A line for each difference, then how many numbers were compared and whether they are the same."""
        lines = []
        for kind, differences in (
            ("input", self.inputs),
            ("policy", self.policy),
            ("version", self.versions),
            ("number", self.numbers[:SHOWN]),
        ):
            lines += [f"{padded(say(kind), -7)} {line}" for line in differences]
        n_differ = len(self.numbers)
        if n_differ > SHOWN:
            lines.append("        " + say("and {n} more", n=n_differ - SHOWN))
        if n_differ:
            verdict = say("{n} differ", n=n_differ)
        elif self.largest == 0:
            verdict = say("the same to the last digit")
        else:
            verdict = say("the same within rounding ({distance})", distance=f"{self.largest:.1e}")
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
    path = manifest / "manifest.json" if manifest.is_dir() else manifest
    recorded = read_model(path, Manifest)
    members = recorded.members if recorded.kind == "aggregate" else [recorded]
    if not members or not all(member.inputs for member in members):
        raise _bad(path, "names no runs, or no inputs of them: there is nothing to make again")
    files = _input_files(path, members)
    with _target(out) as target:
        result = target / "results" / recorded.run
        _refuse_same(result, path.parent, target)
        with speaking(recorded.lang):
            runs = []
            for member, of_run in zip(members, files):
                where = {"out": target, "workers": workers}
                runs.append(_make_again(recorded, member, of_run, metrics, costly, **where))
            if recorded.kind == "aggregate":
                _study_again(recorded, runs, target)
        then = result_numbers(path.parent)
        differences, largest = compare_numbers(then, result_numbers(result))
    if not then:
        raise _bad(path, "no numbers beside it to compare with")
    inputs: list[str] = []
    for member, run in zip(members, runs):
        inputs += _changed_inputs(member, run)
    return Rerun(
        run=recorded.run,
        inputs=tuple(inputs),
        policy=tuple(_changes(recorded.policy, runs[0].policy)),
        versions=tuple(_changes(recorded.versions, versions())),
        numbers=tuple(differences),
        compared=len(then),
        largest=largest,
    )


@contextmanager
def _target(out: Path | None) -> Iterator[Path]:
    """Where the new results are written: into `out`, or a folder that is gone after the block."""
    if out is not None:
        require_out(out)
        yield out
    else:
        with TemporaryDirectory(prefix="evaltools-rerun-") as folder:
            yield Path(folder)


def _study_again(
    recorded: Manifest,
    runs: Sequence[Run],
    out: Path,
) -> None:
    """The study that an aggregate is of, made again."""
    study(
        runs,
        name=recorded.report,
        baseline=recorded.baseline,
        primary=recorded.primary or None,
        margin=recorded.margin,
        out=out,
    )


def _refuse_same(
    result: Path,
    compared_with: Path,
    out: Path,
) -> None:
    """UsageError where the new result would replace the old."""
    if result.resolve() == compared_with.resolve():
        raise UsageError(
            "{out} holds the results that are to be compared; give another folder", out=out
        )


def _bad(path: Path, text: str) -> InputError:
    return Problems().fatal("bad-manifest", text, file=path)


def _input_files(manifest: Path, members: Sequence[Member]) -> list[InputFiles]:
    """Where the inputs of each run are now; InputError that names those that are nowhere."""
    files: list[InputFiles] = []
    missing = Problems()
    for member in members:
        of_run = {}
        for entry in member.inputs:
            path = _find(manifest, entry)
            if path is not None:
                of_run[entry.role] = path
                continue
            text = "{role} of {run} (sha256 {sha256}) is not there"
            values = {"role": entry.role, "run": member.run, "sha256": entry.sha256}
            missing.error("missing-input", text, **values, file=entry.path)
        files.append(of_run)
    missing.raise_if_failed()
    return files


def _find(manifest: Path, entry: Input) -> Path | None:
    """Where an input is now, best with the recorded content; None where nowhere."""
    folders = [Path.cwd(), *manifest.resolve().parents]
    paths = [folder / entry.path for folder in folders]
    paths = [path for path in paths if _readable(path)]
    for path in paths:
        if sha256(path) == entry.sha256:
            return path
    return paths[0] if paths else None


def _readable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.R_OK)


def _make_again(
    recorded: Manifest,
    member: Member,
    files: InputFiles,
    metrics: Path | None,
    costly: Mapping[str, Any],
    **where: Any,
) -> Run:
    """One run of a manifest made again from its main input, which is the first; `where`: out and workers."""
    suite = get_suite(member.suite)
    _refuse_untrusted(suite, member, recorded.policy, costly)
    own_metrics = member.options.get("metrics")
    if metrics is None and own_metrics:
        raise UsageError(
            "{run} was made with metrics of your own ({metrics}): give their file with --metrics",
            run=member.run,
            metrics=own_metrics,
        )
    return evaluate(
        suite,
        str(files[member.inputs[0].role]),
        name=member.run,
        resampling=recorded.bootstrap.resampling,
        on_error=member.options.get("on_error", "fail"),
        fresh=True,
        metrics=metrics,
        **where,
        **_trusted_options(suite, member, files),
        **costly,
    )


def _refuse_untrusted(
    suite: Suite,
    member: Member,
    policy: Mapping[str, Any],
    costly: Mapping[str, Any],
) -> None:
    """UsageError where a run had an option by which something may be spent, which is not given now.

    Options that change no number, and so do not stand in the policy, need not be given.
    """
    untrusted = []
    for name in suite.options.costly:
        if name in costly or name not in policy:
            continue
        default = suite.options.model_fields[name].default
        if member.options.get(name, default) != default:
            untrusted.append(f"--{name.replace('_', '-')}")
    if untrusted:
        raise UsageError(
            "{run} was made with options that a manifest is not trusted with: give {options} as it was made "
            "with, or as you want it now",
            run=member.run,
            options=tuple(untrusted),
        )


def _trusted_options(
    suite: Suite,
    member: Member,
    files: InputFiles,
) -> dict[str, Any]:
    """The options of a manifest that spend nothing; one that names an input names it where that is now."""
    moved = {entry.path: str(files[entry.role]) for entry in member.inputs}
    options = {}
    for name in suite.options.free():
        if name in member.options:
            value = member.options[name]
            is_path = isinstance(value, str)
            options[name] = moved.get(str(Path(value)), value) if is_path else value
    return options


def _changed_inputs(member: Member, run: Run) -> Iterator[str]:
    then = {entry.role: entry for entry in member.inputs}
    now = {entry.role: entry for entry in run.manifest.inputs}
    for role, entry in {**now, **then}.items():
        file = f"{member.run}: {role} {entry.path}"
        if role not in now:
            yield say("{file}: used only then", file=file)
        elif role not in then:
            yield say("{file}: used only now", file=file)
        elif now[role].sha256 != entry.sha256:
            file = f"{member.run}: {role} {now[role].path}"
            yield change(file, _content(entry), f"sha256 {_content(now[role])}")


def _content(entry: Input) -> str:
    return f"{entry.sha256} ({say('{n} bytes', n=entry.bytes)})"


def _changes(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for key in {**then, **now}:
        if then.get(key) != now.get(key):
            yield change(key, then.get(key), now.get(key))
