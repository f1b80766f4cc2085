"""`evaltools rerun MANIFEST`: results made again from their manifest alone, and the numbers that differ."""

import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from click.exceptions import Exit

from ...core.commands import PATH, suite_file_option
from ...core.errors import FAILED, Problems, UsageError, echo
from ...core.files import Fields, sha256
from ...core.language import speaking
from ...core.manifest import NAME, Manifest, Member
from ...core.records import read_model
from ...core.results import METRICS, MetricsFile, spoilt_files
from ...core.suite import get_suite
from ...report.evaluate import evaluate, study
from ...report.run import Run
from ..options import metrics_option, workers_option

# relative difference up to which two numbers are the same; other processors sum in another order
ROUNDING = 1e-9

# what is compared of each metric of a metrics.json
NUMBERS = ("value", "ci_low", "ci_high", "ci_method", "numerator", "denominator", "n_units")


@click.command()
@click.argument("manifest", type=PATH)
@click.option(
    "-o",
    "--out",
    type=PATH,
    help="Keep the new results there (default: nowhere).",
)
@workers_option
@metrics_option
@suite_file_option
def rerun(
    manifest: Path,
    out: Path | None,
    **settings: Any,
) -> None:
    """Make the results of a manifest.json again and compare.

    Status 4 where an input or a number is not the same, each of which is named. Inputs are looked for from the working
    folder and from every folder above the manifest. Nothing is sent or spent because a manifest says so: what a judge
    scored is scored again by `evaltools score`.
    """
    file = manifest / NAME if manifest.is_dir() else manifest
    recorded = read_model(file, Manifest)
    members = recorded.members if recorded.kind == "aggregate" else [recorded]
    if not members or not all(member.inputs for member in members):
        raise Problems().fatal(
            "bad-manifest",
            "names no runs, or no inputs of them: there is nothing to make again",
            file=file,
        )
    then = _numbers(file.parent)
    with TemporaryDirectory(prefix="evaltools-rerun-") as folder, speaking(recorded.lang):
        target = out or Path(folder)
        result = target / "results" / recorded.run
        if result.resolve() == file.parent.resolve():
            raise UsageError(f"{target} holds the results to compare with; give another folder")
        settings["out"] = target
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
    differences = [
        f"{name} is not as it was written" for name in spoilt_files(file.parent, recorded)
    ]
    for member, run in zip(members, runs):
        differences += [
            f"input {before.path} of {member.run} has another content"
            for before, after in zip(member.inputs, run.manifest.inputs)
            if before.sha256 != after.sha256
        ]
    for name in {**then, **now}:
        was, found = then.get(name), now.get(name)
        if isinstance(was, float) and isinstance(found, float):
            is_same = math.isclose(was, found, rel_tol=ROUNDING)
        else:
            is_same = was == found
        if not is_same:
            differences.append(f"{name}: {found}, was {was}")
    for line in differences:
        echo(line)
    echo(f"{len(then)} numbers compared, {len(differences) or 'none'} differ")
    raise Exit(FAILED if differences else 0)


def _make_again(
    file: Path,
    recorded: Manifest,
    member: Member,
    settings: Fields,
) -> Run:
    """One run of a manifest made again from its main input, which is the first.

    UsageError for what a manifest, which may be another's, is not trusted with: a file of metrics, unless it is given
    now, and options that decide a number by what is sent or spent. InputError for an input that is not there.
    """
    suite = get_suite(member.suite)
    options = member.options
    if options.get("metrics") and not settings["metrics"]:
        raise UsageError(
            f"{member.run} has metrics of a file, which is code that a manifest is not trusted with: give --metrics"
        )
    usual = suite.options().model_dump(mode="json")
    for name in suite.options.costly:
        if name in recorded.policy and options.get(name, usual[name]) != usual[name]:
            raise UsageError(
                f"{member.run} was scored with {name}, which may send or spend: score its input again"
            )
    files: dict[str, str] = {}
    for entry in member.inputs:
        places = [folder / entry.path for folder in (Path.cwd(), *file.resolve().parents)]
        found = [path for path in places if path.is_file()]
        if not found:
            raise Problems().fatal(
                "missing-input",
                f"{entry.role} of {member.run} (sha256 {entry.sha256}) is not there",
                file=entry.path,
            )
        found.sort(key=lambda path: sha256(path) != entry.sha256)
        files[entry.path] = str(found[0])
    known = [name for name in suite.options.free() if name in options]
    # one that names an input names it where that is now
    free: Fields = {name: files.get(str(Path(str(options[name]))), options[name]) for name in known}
    return evaluate(
        suite,
        files[member.inputs[0].path],
        name=member.run,
        resampling=recorded.resampling,
        on_error=options.get("on_error", "fail"),
        query=options.get("query"),
        fresh=True,
        **free,
        **settings,
    )


def _numbers(folder: Path) -> Fields:
    """Every number of a metrics.json by its name. InputError where they cannot be read."""
    rows = read_model(folder / METRICS, MetricsFile).metrics
    return {f"{row.name} {field}": getattr(row, field) for row in rows for field in NUMBERS}
