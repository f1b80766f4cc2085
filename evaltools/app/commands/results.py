"""Commands on results: `gate` holds one against bounds, its suite's verdicts and a baseline; `rerun` makes it again.

`rerun` needs its manifest alone, and names the numbers that differ.
"""

import math
import operator
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import click
from click.exceptions import Exit

from ...core.commands import PATH, suite_file_option
from ...core.estimates import NUMBERS, Row
from ...core.files import Fields, first_names, nearest, refuse_input, sha256, write_text
from ...core.manifest import NAME, OF_DESKTOPS, Manifest, Member
from ...core.messages import FAILED, GATE_NOT_MET, InputError, Problems, UsageError, echo, speaking
from ...core.metric import metric_title
from ...core.records import read_model
from ...core.results import METRICS, NO_MANIFEST, SPOILT, MetricsFile, run_folders, spoilt_files
from ...core.suite import named_suite
from ...report.evaluate import compare, evaluate, load, study
from ...report.page import environment
from ...report.run import Run
from ...report.study_sentences import verdict_text
from ...report.text import number
from ...stats.effects import MIN_UNITS
from ..options import margin_option, metrics_option, named_numbers, workers_option

BLOCKED = "cannot be measured"
SIGNS = {">=": operator.ge, "<=": operator.le}
WORST = {">=": "ci_low", "<=": "ci_high"}


class Requirement(NamedTuple):
    """One thing that a result must meet: whether it does (None: there is nothing to judge it by), and why."""

    name: str
    met: bool | None
    reason: str


@click.command()
@click.argument("result", type=PATH)
@named_numbers("--min", "The metric must be at least X.", "minima")
@named_numbers("--max", "The metric must be at most X.", "maxima")
@click.option(
    "--use",
    type=click.Choice(["ci_low", "value", "ci_high", "worst"]),
    default="value",
    help="What of the metric must keep the bounds; worst: ci_low for --min, ci_high for --max.",
)
@click.option(
    "--baseline",
    type=PATH,
    metavar="RESULT",
    help="No metric of the headline may be worse than there.",
)
@suite_file_option
@margin_option(
    "With --baseline: how much worse the metric may be, in its own unit, at the bound of its interval."
)
@click.option(
    "--strict",
    is_flag=True,
    help="The suite's verdicts too, and what a person must look at does not pass.",
)
@click.option(
    "--junit",
    type=PATH,
    metavar="FILE",
    help="Write what was found as JUnit XML, also where it fails.",
)
def gate(
    result: Path,
    minima: Sequence[tuple[str, float]],
    maxima: Sequence[tuple[str, float]],
    use: str,
    baseline: Path | None,
    margin: Mapping[str, float],
    strict: bool,
    junit: Path | None,
) -> None:
    """Status 1 unless RESULT holds what is asked, for CI.

    RESULT is a metrics.json, or the results folder of a run or an aggregate. Without any bound or baseline the
    verdicts of its suite must be passes. What is not measured does not pass.
    """
    if margin and not baseline:
        raise UsageError("--margin is how much worse than a baseline: give --baseline RESULT")
    if junit:
        refuse_input(junit, filter(None, (result, baseline)))
    content = read_metrics(result)
    for check in content.checks:
        if check.level == "warning":
            echo(f"note: {check.message}", err=True)
    rows = [
        _bound(result, content, use, sign, *bound)
        for sign, bounds in zip(SIGNS, (minima, maxima))
        for bound in bounds
    ]
    if baseline:
        read_metrics(baseline)  # says what is wrong with it
        rows += _against_baseline(result, baseline, margin)
    if strict or not rows:
        rows += _verdicts(result, content, strict)
    if junit:
        template = environment().get_template("report/junit.xml.j2")
        write_text(junit, template.render(rows=rows, result=content.run or str(result)) + "\n")
    for row in rows:
        word = {None: "SKIP", True: "PASS", False: "FAIL"}[row.met]
        echo(f"{word} {row.name} {row.reason}")
    raise Exit(GATE_NOT_MET if False in [row.met for row in rows] else 0)


def read_metrics(path: Path) -> MetricsFile:
    """The content of a metrics.json, or of that in a folder.

    InputError where it is no such thing, its manifest does not vouch for it, or other files stand beside it without a
    manifest. Alone, or beside what a gate wrote (*.xml), it is taken at its word, with a note.
    """
    file = path / METRICS if path.is_dir() else path
    content = read_model(file, MetricsFile)
    problems = Problems()
    manifest = file.parent / NAME
    if manifest.exists():
        with suppress(InputError):  # bounds need no run of an aggregate
            run_folders(file.parent)
        spoilt = spoilt_files(file.parent, read_model(manifest, Manifest))
        for name in spoilt if file.name == METRICS else [file.name]:
            problems.error("spoilt-result", f"{name!r} {SPOILT}", file=manifest)
    elif beside := sorted(
        {path.name for path in file.parent.glob("[!.]*") if path.suffix != ".xml"}
        - {file.name, *OF_DESKTOPS}
    ):
        problems.error(
            "no-manifest",
            f"{NO_MANIFEST}, or move {file.name} away from {first_names(beside)}",
            file=manifest,
        )
    else:
        echo(f"note: {file} stands alone and is taken at its word", err=True)
    problems.raise_if_failed()
    return content


def _folders(path: Path) -> list[Path]:
    """The results folders of a result's runs; the result itself where it has neither a manifest nor units."""
    folder = path.parent if path.is_file() else path
    return run_folders(folder.resolve(), note=False) or [path]


def _bound(
    path: Path,
    content: MetricsFile,
    use: str,
    sign: str,
    name: str,
    limit: float,
) -> Requirement:
    """Whether a metric keeps a bound. `use`: its value or an end of its interval.

    A metric that a check blocks does not pass. UsageError for a metric that the file does not have.
    """
    metrics = {row.name: row for row in content.metrics}
    if name not in metrics:
        raise UsageError(f"{path} has no metric {name!r}; {nearest(name, sorted(metrics))}")
    row = metrics[name]
    if row.blocked:
        why = [check.message for check in content.checks if check.code == row.blocked]
        return Requirement(name, False, ": ".join([BLOCKED, *why[:1]]))
    end = WORST[sign] if use == "worst" else use
    value = getattr(row, end)
    if value is None:
        return Requirement(name, False, f"{end} not measured {sign} {limit:g}")
    return Requirement(name, SIGNS[sign](value, limit), f"{end} {value:.6g} {sign} {limit:g}")


def _verdicts(
    path: Path,
    content: MetricsFile,
    strict: bool,
) -> list[Requirement]:
    """The verdicts that a result's suite gave (`Suite.verdicts`), of an aggregate those of all its runs.

    A metric without a threshold is not judged. UsageError where there are no verdicts.
    """
    rows = []
    for of_run in [content] if content.verdicts else map(read_metrics, _folders(path)):
        for row in of_run.verdicts:
            if row.verdict != "no threshold":
                title = ", ".join(filter(None, [metric_title(row.metric, row.title), row.said]))
                rows.append(
                    Requirement(
                        row.metric,
                        row.verdict == "pass" or (row.verdict == "look" and not strict),
                        f"{row.verdict}: {title} ({of_run.run})",
                    )
                )
    if not rows:
        raise UsageError(
            f"{path} holds no verdicts: give --min NAME=X, --max NAME=X or --baseline RESULT, and no --strict"
        )
    return rows


def _against_baseline(
    path: Path, baseline: Path, margins: Mapping[str, float]
) -> list[Requirement]:
    """Whether a result is no worse than a baseline, paired: what its headline and the metrics with a margin say.

    A metric that the result cannot measure and the baseline can does not pass; one that the baseline cannot is not
    judged. UsageError for a result beside itself, what cannot be compared, and where nothing can be judged at all.
    """
    sides = [_folders(result) for result in (baseline, path)]
    if sides[0] == sides[1]:
        raise UsageError(f"{path} would be compared with itself; --baseline names another result")
    study = compare(*(list(map(load, side)) for side in sides))
    # of two margins that name one metric the stricter one comes last, and counts
    margins = {
        study.metric(name).alias_of or name: size
        for name, size in sorted(margins.items(), key=lambda margin: -margin[1])
    }
    blocked_before, blocked_now = study.codes.values()
    names = list(dict.fromkeys([*study.usual, *margins]))
    lost = blocked_now.keys() - blocked_before
    for name in margins.keys() - lost:
        study.directed(name)  # says so where no difference is harm
    rows = []
    for name in names:
        if name in study.blocked:
            rows.append(Requirement(name, False if name in lost else None, BLOCKED))
            continue
        # one with a margin is a test of its own, as a primary metric is
        own = replace(study, declared=name) if name in margins else study
        # none where it has no direction
        for row in own.rows_of(name).to_dict("records"):
            rows.append(_difference(row, margins.get(name)))
    if all(row.met is None for row in rows):
        raise UsageError(
            f"{study.candidate()} and {study.baseline} have no metric of the headline with {MIN_UNITS} paired units: "
            "nothing can be judged"
        )
    return rows


def _difference(row: Row, margin: float | None) -> Requirement:
    """Whether one metric is no worse than in the baseline, from its row of the comparison.

    With a margin X the interval's bound on the side of harm must stay within X of no difference (non-inferiority).
    So it must with missing values at their worst, where they are too few to test whether they are missing at random.
    Without a margin the metric must not be `worse`. A metric without a verdict is not judged, which with a margin does
    not pass; what one side lacks for a reason does not either.
    """
    name, title = row["metric"], f"({metric_title(row['metric'], row['title'])})"
    n_missing, verdict = row["missing_candidate"], verdict_text(row)
    if n_missing or row["missing_baseline"]:
        title += (
            f"; {n_missing:g} values are missing here, {row['missing_baseline']:g} in the baseline"
        )
    if row["n_other_texts"]:
        title += f"; {row['n_other_texts']:g} places have another text or gold, and are left out"
    is_lost = row["verdict"] == "not measured"
    if is_lost or row["n_units"] < MIN_UNITS:
        fails = margin is not None or (is_lost and (n_missing or row["blocked"]))
        return Requirement(name, False if fails else None, f"{verdict} {title}")
    change = (
        f"{number(row['value_candidate'])} against {number(row['value_baseline'])}, difference "
        f"{number(row['delta'], signed=True)}"
    ).replace("−", "-")
    if margin is None:
        return Requirement(name, row["verdict"] != "worse", f"{change}: {verdict} {title}")
    # 0 - margin, as -margin of 0 would be printed as -0
    sign, limit = ("<=", margin) if row["better"] == "lower" else (">=", 0 - margin)
    end = WORST[sign]
    bound, moved = row[end], row["moved_worst"]
    if not SIGNS[sign](moved, 0):  # towards harm
        bound += moved
        end += " with the missing that are too few to test at their worst"
    shown = number(bound, 4, signed=True).replace("−", "-")
    # not met where there is no interval: nan
    return Requirement(
        name,
        bool(SIGNS[sign](bound, limit)),
        f"{change}: {end} {shown} {sign} {limit:+g} {title}",
    )


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
    n_files = len(differences)
    for name in then | now:
        was, found = then.get(name), now.get(name)
        is_same = was == found
        if isinstance(was, float) and isinstance(found, float):
            is_same = math.isclose(was, found)  # to 1e-9: other processors sum in another order
        if not is_same:
            differences.append(f"{name}: {found}, was {was}")
    for line in differences:
        echo(line)
    echo(f"{len(then)} numbers compared, {len(differences) - n_files or 'none'} differ")
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
    suite = named_suite(member.suite)
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
    files = {}
    for entry in member.inputs:
        folders = Path.cwd(), *file.resolve().parents
        found = [path for folder in folders if (path := folder / entry.path).is_file()]
        if not found:
            raise Problems().fatal(
                "missing-input",
                f"{entry.role} of {member.run} (sha256 {entry.sha256}) is not there",
                file=entry.path,
            )
        files[entry.path] = str(min(found, key=lambda path: sha256(path) != entry.sha256))
    # one that names an input names it where that is now
    free: Fields = {
        name: files.get(str(Path(str(options[name]))), options[name])
        for name in suite.options.free()
        if name in options
    }
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
    """What is compared of each metric of a metrics.json, by its name. InputError where they cannot be read."""
    return {
        f"{row.name} {field}": getattr(row, field)
        for row in read_model(folder / METRICS, MetricsFile).metrics
        for field in (*NUMBERS, "ci_method", "n_units")
    }
