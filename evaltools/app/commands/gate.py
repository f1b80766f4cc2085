"""`evaltools gate RESULT`: bounds that a result must keep, its suite's verdicts, a baseline to hold it against."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import click
import pandas as pd

from ...core.commands import PATH, Decorator
from ...core.errors import GATE_NOT_MET, Problems, UsageError
from ...core.files import refuse_input, write_text
from ...core.json_files import read_model
from ...core.manifest import NAME, Manifest
from ...core.metric import metric_title
from ...core.names import nearest
from ...core.plugins import refuse_parent
from ...core.results import METRICS, UNITS, MetricsFile, read_manifest, spoilt_files
from ...core.terminal import echo
from ...report.evaluate import load
from ...report.make_study import compare
from ...report.sentences import verdict_text
from ...report.study_files import result_folders
from ...report.text import visible
from ...stats.intervals import MIN_UNITS
from ..options import NAMED_NUMBER, as_margins

BLOCKED = "cannot be measured"


class Checked(NamedTuple):
    """One thing that was asked of a result: whether it holds (None: there is nothing to judge it by), and why."""

    name: str
    met: bool | None
    reason: str

    def __str__(self) -> str:
        word = {None: "SKIP", True: "PASS", False: "FAIL"}[self.met]
        return visible(f"{word} {self.name} {self.reason}")


def _bounds_option(
    flag: str,
    name: str,
    text: str,
    **attributes: Any,
) -> Decorator:
    return click.option(flag, name, multiple=True, type=NAMED_NUMBER, help=text, **attributes)


@click.command()
@click.argument("result", type=PATH)
@_bounds_option("--min", "minima", "The metric must be at least X.")
@_bounds_option("--max", "maxima", "The metric must be at most X.")
@click.option(
    "--use",
    type=click.Choice(["ci_low", "value", "ci_high", "worst"]),
    default="value",
    show_default=True,
    help="What of the metric must keep the bounds; worst: ci_low for --min, ci_high for --max.",
)
@click.option(
    "--baseline",
    type=PATH,
    metavar="RESULT",
    help="No metric of the headline may be worse than there.",
)
@_bounds_option(
    "--margin",
    "margins",
    "With --baseline: how much worse the metric may be, in its own unit, at the bound of its interval.",
    callback=as_margins,
)
@click.option(
    "--strict",
    is_flag=True,
    help="The suite's verdicts too, and what a person must look at does not pass.",
)
@click.option(
    "--junit",
    "junit_file",
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
    margins: Mapping[str, float],
    strict: bool,
    junit_file: Path | None,
) -> None:
    """Status 1 unless RESULT holds what is asked, for CI.

    RESULT is a metrics.json, or the results folder of a run or an aggregate. Without any bound or baseline the
    verdicts of its suite must be passes. What is not measured does not pass.
    """
    if margins and baseline is None:
        raise UsageError(
            "--margin says how much worse than a baseline a metric may be: give --baseline RESULT"
        )
    if junit_file is not None:
        refuse_input(junit_file, [path for path in (result, baseline) if path is not None])
        if read_manifest(junit_file.parent) is not None:
            raise UsageError(f"{junit_file} would change a result; write it to another place")
    content = read(result)
    rows = [check_bound(result, content, *bound, use, ">=") for bound in minima]
    rows += [check_bound(result, content, *bound, use, "<=") for bound in maxima]
    if baseline is not None:
        rows += check_baseline(result, baseline, margins)
    if strict or not rows:
        rows += check_verdicts(result, content, strict)
    if junit_file is not None:
        write_text(junit_file, as_junit(rows, content.run or str(result)))
    for row in rows:
        echo(row)
    sys.exit(GATE_NOT_MET if any(row.met is False for row in rows) else 0)


# --- a result, and what vouches for it


def read(path: Path) -> MetricsFile:
    """The content of a metrics.json, or of that in a folder.

    InputError where it is no such thing, or its manifest does not vouch for it. UsageError that names the results
    where a folder holds several and is none.
    """
    file = path / METRICS if path.is_dir() else path
    if path.is_dir() and not file.is_file():
        for folder in (path, path / "results"):
            refuse_parent(folder, lambda inside: (inside / METRICS).is_file())
    content = read_model(file, MetricsFile)
    names = [row.name for row in content.metrics]
    if len(set(names)) < len(names):
        text = "two metrics have one name"
        raise Problems().fatal("bad-metrics", text, file=file, field="metrics")
    _require_vouched(file)
    return content


def _require_vouched(file: Path) -> None:
    """InputError where the manifest beside a metrics.json does not say that its result is as it was written.

    Of a metrics.json with nothing beside it, it is said that nothing vouches for it.
    """
    folder, problems = file.parent, Problems()
    manifest_file = folder / NAME
    again = "make the result again"
    if not manifest_file.exists():
        if (folder / UNITS).exists():
            text = f"is gone, and nothing vouches for the result beside it: {again}"
            problems.error("no-manifest", text, file=manifest_file)
            problems.raise_if_failed()
        echo(f"note: {file} stands alone and is taken at its word", err=True)
        return
    for name in spoilt_files(folder, read_model(manifest_file, Manifest)):
        text = f"{name!r} is not as it was written, or not vouched for: {again}"
        problems.error("spoilt-result", text, file=manifest_file)
    problems.raise_if_failed()


# --- bounds and verdicts


def check_bound(
    path: Path,
    content: MetricsFile,
    name: str,
    limit: float,
    use: str,
    sign: str,
) -> Checked:
    """What a bound (`sign` ">=" or "<=") on `use` (value, ci_low, ci_high, worst) of a metric says.

    What a check says cannot be measured does not pass. UsageError for a metric that the file does not have.
    """
    metrics = {row.name: row for row in content.metrics}
    if name not in metrics:
        raise UsageError(f"{path} has no metric {name!r}; {nearest(name, sorted(metrics))}")
    row = metrics[name]
    if name in content.blocked:
        checks = content.checks or ()
        why = [c.message for c in checks if name in c.blocks or c.code == row.blocked]
        return Checked(name, False, ": ".join([BLOCKED, *why[:1]]))
    field = {">=": "ci_low", "<=": "ci_high"}[sign] if use == "worst" else use
    number = getattr(row, field)
    text = "no interval" if number is None else f"{number:.6g}"
    if row.value is None:
        text = "not measured"
    return Checked(name, _keeps(number, sign, limit), f"{field} {text} {sign} {limit:g}")


def _keeps(
    number: float | None,
    sign: str,
    limit: float,
) -> bool:
    if number is None:
        return False
    return number >= limit if sign == ">=" else number <= limit


def check_verdicts(
    path: Path,
    content: MetricsFile,
    strict: bool,
) -> list[Checked]:
    """The verdicts that a result's suite gave (`Suite.verdicts`), of an aggregate those of all its runs.

    A metric without a threshold is not judged, and one that is not measured does not pass; `strict`: neither does
    one that a person must look at. UsageError where there are no verdicts, InputError for another file.
    """
    passing = ("pass",) if strict else ("pass", "look")
    folders = result_folders(path)
    rows = []
    for one in map(read, folders) if len(folders) > 1 else [content]:
        for row in one.verdicts:
            if row.verdict != "no threshold":
                title = ", ".join(filter(None, [metric_title(row.metric, row.title), row.said]))
                line = f"{row.verdict}: {title} ({one.run})"
                rows.append(Checked(row.metric, row.verdict in passing, line))
    if not rows:
        raise UsageError(
            f"{path} holds no verdicts: give --min NAME=X, --max NAME=X or --baseline RESULT, and no --strict"
        )
    return rows


# --- a baseline


def check_baseline(
    path: Path,
    baseline: Path,
    margins: Mapping[str, float],
) -> list[Checked]:
    """Whether a result is no worse than a baseline, paired: what its headline and the metrics with a margin say.

    With a margin X the interval's bound on the side of harm must stay within X of no difference (non-inferiority);
    without one the metric must not be `worse`. A metric without a verdict is not judged, which with a margin does not
    pass; neither does one that the result cannot measure and the baseline can, nor one whose missing values have no
    verdict. UsageError for a result beside itself, what cannot be compared, and where nothing can be judged at all.
    """
    sides = [result_folders(baseline), result_folders(path)]
    if sides[0][0].resolve() == sides[1][0].resolve():
        raise UsageError(f"{path} would be compared with itself; --baseline names another result")
    study = compare(*([load(folder) for folder in folders] for folders in sides))
    candidate = study.candidate()
    table = study.comparisons[candidate].table.set_index("metric", drop=False)
    runs = [study.conditions[name].values() for name in (study.baseline, candidate)]
    before, now = ({name for run in side for name in run.blocked} for side in runs)
    rows = []
    usual = study.suite.headline(study.results[0].options, frozenset())
    for name in dict.fromkeys([*usual, *margins]):
        margin = margins.get(name)
        if name in now and (margin is not None or name not in before):
            rows.append(Checked(name, False, BLOCKED))
        elif name not in study.blocked:
            if margin is not None:
                study.directed(name)  # says so where no difference is harm
            if name in table.index:
                rows.append(_against(table.loc[name], margin))
    if all(row.met is None for row in rows):
        raise UsageError(
            f"{candidate} and {study.baseline} have no metric of the headline with {MIN_UNITS} paired units: "
            "nothing can be judged"
        )
    return rows


def _against(row: Any, margin: float | None) -> Checked:
    """What a comparison says of one metric."""
    name, title = row["metric"], metric_title(row["metric"], row["title"])
    text = f"{verdict_text(row)} ({title})"
    n_missing = row["missing_candidate"]
    if row["verdict"] == "not measured" and (n_missing or row["not_random"]):
        reason = "what the baseline lacks is not like the rest"
        if n_missing:
            reason = f"{n_missing:g} values of the baseline are missing"
        return Checked(name, False, f"not measured: {reason} ({title})")
    if row["verdict"] == "not measured" or row["n_units"] < MIN_UNITS:
        return Checked(name, None if margin is None else False, text)
    change = f"{row['value_candidate']:.3f} against {row['value_baseline']:.3f}, difference {row['delta']:+.3f}"
    if margin is None:
        return Checked(name, row["verdict"] != "worse", f"{change}: {text}")
    end, sign, limit = "ci_low", ">=", 0 - margin
    if row["better"] == "lower":
        end, sign, limit = "ci_high", "<=", margin
    number = None if pd.isna(row[end]) else row[end]
    shown = "no interval" if number is None else f"{number:+.4f}"
    reason = f"{change}: {end} {shown} {sign} {limit:+g} ({title})"
    return Checked(name, bool(_keeps(number, sign, limit)), reason)


# --- a file for a CI job


def as_junit(rows: Sequence[Checked], result: str) -> str:
    """The rows as JUnit XML: a testsuite with a testcase each, `failure` where it does not hold."""
    suite = ElementTree.Element(
        "testsuite",
        name="evaltools gate",
        tests=str(len(rows)),
        failures=str(sum(row.met is False for row in rows)),
        skipped=str(sum(row.met is None for row in rows)),
    )
    for row in rows:
        named = {"classname": visible(result), "name": visible(row.name)}
        case = ElementTree.SubElement(suite, "testcase", named)
        if not row.met:
            tag = "skipped" if row.met is None else "failure"
            ElementTree.SubElement(case, tag, message=visible(row.reason))
    ElementTree.indent(suite)
    content = ElementTree.tostring(suite, "utf-8", xml_declaration=True)
    return content.decode() + "\n"
