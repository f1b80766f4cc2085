"""`evaltools gate RESULT`: bounds that a result must keep, its suite's verdicts, a baseline to hold it against."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

import click
import pandas as pd

from ...core.check import LEVEL_WORDS
from ...core.commands import PATH, lang_option
from ...core.errors import GATE_NOT_MET, Problems, UsageError
from ...core.files import refuse_input, write_text
from ...core.folders import put_back
from ...core.json_files import read_model
from ...core.language import say
from ...core.manifest import NAME, Manifest
from ...core.metric import metric_title
from ...core.names import nearest
from ...core.plugins import refuse_parent
from ...core.results import METRICS, StoredMetrics, read_manifest, spoilt_files
from ...core.terminal import echo
from ...report.evaluate import load
from ...report.make_study import compare
from ...report.markdown import markdown, markdown_table
from ...report.sentences import verdict_text
from ...report.study import Study
from ...report.study_files import result_folders
from ...report.tables import verdict_line
from ...report.text import visible
from ...stats.differences import least_gain
from ...stats.intervals import MIN_UNITS
from ..options import NAMED_NUMBER, as_margins


@dataclass(frozen=True)
class Side:
    """On which side of a bound a number must be, and the end of an interval on the side of harm (--use worst)."""

    sign: str
    worst: str
    keeps: Callable[[float, float], bool]


AT_LEAST = Side(">=", "ci_low", operator.ge)
AT_MOST = Side("<=", "ci_high", operator.le)


@dataclass(frozen=True)
class Checked:
    """One thing that was asked of a result: whether it holds (None: there is nothing to judge it by), and why."""

    name: str
    met: bool | None
    reason: str

    @property
    def word(self) -> Literal["PASS", "FAIL", "SKIP"]:
        if self.met is None:
            return "SKIP"
        return "PASS" if self.met else "FAIL"

    def __str__(self) -> str:
        return visible(f"{self.word} {self.name} {self.reason}")


@click.command()
@click.argument("result", type=PATH)
@click.option(
    "--min",
    "minima",
    multiple=True,
    type=NAMED_NUMBER,
    help="The metric must be at least X.",
)
@click.option(
    "--max",
    "maxima",
    multiple=True,
    type=NAMED_NUMBER,
    help="The metric must be at most X.",
)
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
@click.option(
    "--margin",
    "margins",
    multiple=True,
    type=NAMED_NUMBER,
    callback=as_margins,
    help="With --baseline: how much worse the metric may be, in its own unit, at the bound of its interval.",
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
@click.option(
    "--summary",
    "summary_file",
    type=PATH,
    metavar="FILE",
    help="Write it as Markdown, for the summary of a CI job.",
)
@lang_option
def gate(
    result: Path,
    minima: Sequence[tuple[str, float]],
    maxima: Sequence[tuple[str, float]],
    use: str,
    baseline: Path | None,
    margins: Mapping[str, float],
    strict: bool,
    junit_file: Path | None,
    summary_file: Path | None,
) -> None:
    """Status 1 unless RESULT holds what is asked, for CI.

    RESULT is a metrics.json, or the results folder of a run or an aggregate. Without any bound or baseline the
    verdicts of its suite must be passes. What is not measured does not pass.
    """
    if margins and baseline is None:
        raise UsageError(
            "--margin says how much worse than a baseline a metric may be: give --baseline RESULT"
        )
    targets = [file for file in (junit_file, summary_file) if file is not None]
    read_files = [path for path in (result, baseline) if path is not None]
    for file in targets:
        _refuse_result(file, read_files)
    if len({file.resolve() for file in targets}) < len(targets):
        raise UsageError("--junit and --summary: {file} can hold one of the two", file=summary_file)
    content = read(result)
    rows = [
        *check_bounds(result, content, AT_LEAST, minima, use),
        *check_bounds(result, content, AT_MOST, maxima, use),
    ]
    if baseline is not None:
        study = _compared(result, baseline)
        rows += check_baseline(study, margins)
    if strict or not rows:
        rows += check_verdicts(result, content, strict)
    name = content.run or str(result)
    if junit_file is not None:
        write_text(junit_file, as_junit(rows, name))
    if summary_file is not None:
        write_text(summary_file, as_markdown(rows, name))
    for row in rows:
        echo(row)
    sys.exit(GATE_NOT_MET if any(row.met is False for row in rows) else 0)


def _refuse_result(
    file: Path,
    results: Sequence[Path],
) -> None:
    """UsageError where a file cannot be written, or would change what it speaks of, or the input of that."""
    is_result = file.resolve() in [path.resolve() for path in results]
    if is_result or read_manifest(file.parent) is not None:
        raise UsageError("{file} would change a result; write it to another place", file=file)
    inputs = []
    for path in results:
        manifest = read_manifest(path.parent if path.is_file() else path)
        if manifest is not None:
            inputs += [entry.path for entry in manifest.inputs]
    refuse_input(file, inputs)


def read(path: Path) -> StoredMetrics:
    """The content of a metrics.json, or of that in a folder.

    InputError where it is no such thing, or not as it was written. UsageError that names the results where a folder
    holds several and is none.
    """
    put_back(path.parent if path.name == METRICS else path)
    file = path / METRICS if path.is_dir() else path
    if path.is_dir() and not file.is_file():
        for folder in (path, path / "results"):
            refuse_parent(folder, lambda inside: (inside / METRICS).is_file())
    content = read_model(file, StoredMetrics)
    names = [row.name for row in content.metrics]
    if len(set(names)) < len(names):
        text = "two metrics have one name"
        raise Problems().fatal("bad-metrics", text, file=file, field="metrics")
    _require_unspoilt(file)
    return content


def _require_unspoilt(file: Path) -> None:
    """InputError where a result is not as its manifest says; a metrics.json alone has none to be held against."""
    manifest_file = file.with_name(NAME)
    if not manifest_file.exists():
        return
    problems = Problems()
    for name in spoilt_files(file.parent, read_model(manifest_file, Manifest)):
        text = "is not as it was written: make the result again"
        problems.error("spoilt-result", text, file=file.with_name(name))
    problems.raise_if_failed()


# --- bounds and verdicts


def check_bounds(
    path: Path,
    content: StoredMetrics,
    side: Side,
    bounds: Iterable[tuple[str, float]],
    use: str,
) -> list[Checked]:
    """What each bound of a side on `use` (value, ci_low, ci_high, worst) says.

    What a check says cannot be measured does not pass. UsageError for a metric that the file does not have.
    """
    metrics = {row.name: row for row in content.metrics}
    blocked = {name: check for check in content.checks or () for name in check.blocks}
    field = side.worst if use == "worst" else use
    rows = []
    for name, limit in bounds:
        if name not in metrics:
            raise UsageError(
                "{path} has no metric {name}; {nearest}",
                path=path,
                name=repr(name),
                nearest=nearest(name, sorted(metrics)),
            )
        if name in blocked:
            why = f"{say(LEVEL_WORDS['blocking'])}: {blocked[name].text()}"
            rows.append(Checked(name, False, why))
            continue
        number = getattr(metrics[name], field)
        text = f"{number:.6g}" if number is not None else say("no interval")
        if metrics[name].value is None:
            text = say("not measured")
        met = number is not None and side.keeps(number, limit)
        rows.append(Checked(name, met, f"{field} {text} {side.sign} {limit:g}"))
    return rows


def check_verdicts(
    path: Path,
    content: StoredMetrics,
    strict: bool = False,
) -> list[Checked]:
    """The verdicts that a result's suite gave (`Suite.verdicts`), of an aggregate those of all its runs.

    A metric without a threshold is not judged, and one that is not measured does not pass; `strict`: neither does
    one that a person must look at. UsageError where there are no verdicts, InputError for another file.
    """
    passing = ("pass",) if strict else ("pass", "look")
    folders = result_folders(path)
    contents = [read(folder) for folder in folders] if len(folders) > 1 else [content]
    rows = []
    for one in contents:
        for row in one.verdicts:
            if row.verdict != "no threshold":
                line = verdict_line(row.verdict, metric_title(row.metric, row.title), row.said)
                rows.append(Checked(row.metric, row.verdict in passing, f"{line} ({one.run})"))
    if not rows:
        raise UsageError(
            "{path} holds no verdicts: give --min NAME=X, --max NAME=X or --baseline RESULT, and no --strict",
            path=path,
        )
    return rows


# --- a baseline


def check_baseline(
    study: Study,
    margins: Mapping[str, float],
) -> list[Checked]:
    """Whether a result is no worse than a baseline, paired: what its headline and the metrics with a margin say.

    With a margin X the interval's bound on the side of harm must stay within X of no difference (non-inferiority);
    without one the metric must not be `worse`. What only one side has measured counts as the worst that it could be. A
    metric with fewer than MIN_UNITS paired units is not judged, which with a margin does not pass, and neither does one
    that only the baseline has measured. UsageError where nothing can be judged at all.
    """
    candidate = study.candidate()
    table = study.comparisons[candidate].table.set_index("metric", drop=False)
    for name in margins:
        study.directed(name)  # says so where no difference is harm
    asked = dict.fromkeys([*study.headline, *margins])
    names = [name for name in asked if name in table.index]
    if not any(_is_comparable(table.loc[name]) for name in names):
        raise UsageError(
            "{candidate} and {baseline} have no metric with {n} paired units among {names}: nothing can be judged",
            candidate=candidate,
            baseline=study.baseline,
            n=MIN_UNITS,
            names=tuple(names),
        )
    rows = table.loc[names].to_dict("records")
    return [_against(row, margins.get(row["metric"])) for row in rows]


def _compared(path: Path, baseline: Path) -> Study:
    """Two results as a study. UsageError for a result beside itself, and for what cannot be compared."""
    candidate_folders, baseline_folders = result_folders(path), result_folders(baseline)
    if candidate_folders[0].resolve() == baseline_folders[0].resolve():
        raise UsageError(
            "{path} would be compared with itself; --baseline names another result", path=path
        )
    return compare(
        [load(folder) for folder in baseline_folders],
        [load(folder) for folder in candidate_folders],
    )


def _is_comparable(row: Any) -> bool:
    return not pd.isna(row["delta"]) and row["n_units"] >= MIN_UNITS


def _against(
    row: Mapping[Any, Any],
    margin: float | None,
) -> Checked:
    """What a comparison says of one metric.

    What a side lacks that the other has counts as the worst for the candidate: the interval is moved there.
    """
    name = row["metric"]
    title = say(metric_title(name, row["title"]))
    verdict = f"{verdict_text(row)} ({title})"
    if not _is_comparable(row):
        if row["missing_candidate"] and not row["n_units"]:
            lost = say("not measured, but it is in the baseline")
            return Checked(name, False, f"{lost} ({title})")
        return Checked(name, None if margin is None else False, verdict)
    change = say(
        "{candidate} against {baseline}, difference {delta}",
        candidate=f"{row['value_candidate']:.3f}",
        baseline=f"{row['value_baseline']:.3f}",
        delta=f"{row['delta']:+.3f}",
    )
    is_lacking = row["missing_baseline"] or row["missing_candidate"]
    if margin is None and not is_lacking:
        return Checked(name, row["verdict"] != "worse", f"{change}: {verdict}")
    if is_lacking:
        text = (
            "{change}; the baseline lacks {baseline} values and the result {candidate} that the "
            "other has; if all were the worst"
        )
        missing = {side: row[f"missing_{side}"] for side in ("baseline", "candidate")}
        change = say(text, change=change, **missing)
    higher = row["better"] == "higher"
    # the end of the interval on the side of harm; without a margin the other one must reach no difference
    end = "ci_low" if higher == (margin is not None) else "ci_high"
    side, limit = (AT_LEAST, 0 - (margin or 0)) if higher else (AT_MOST, margin or 0)
    gain = least_gain(row, row[end], row["better"])
    bound = gain if higher else -gain
    is_shown = pd.notna(row[end]) or not row["n_differ"] or row["verdict"] == "better"
    number = say("no interval") if pd.isna(bound) else f"{bound:+.4f}"
    reason = f"{change}: {end} {number} {side.sign} {limit:+g} ({title})"
    return Checked(name, bool(is_shown and side.keeps(bound, limit)), reason)


# --- files for a CI job


def as_junit(
    rows: Sequence[Checked],
    result: str,
) -> str:
    """The rows as JUnit XML: a testsuite with a testcase each, `failure` where it does not hold."""
    words = [row.word for row in rows]
    tags = {"SKIP": "skipped", "FAIL": "failure"}
    suite = ElementTree.Element(
        "testsuite",
        name="evaltools gate",
        tests=str(len(rows)),
        failures=str(words.count("FAIL")),
        skipped=str(words.count("SKIP")),
    )
    for row in rows:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=visible(result),
            name=visible(row.name),
        )
        if row.word in tags:
            reason = visible(row.reason)
            ElementTree.SubElement(case, tags[row.word], message=reason)
    ElementTree.indent(suite)
    content = ElementTree.tostring(suite, "utf-8", xml_declaration=True)
    return content.decode() + "\n"


def as_markdown(
    rows: Sequence[Checked],
    result: str,
) -> str:
    """The rows as Markdown, for the summary of a job: how it ended, and a table."""
    failed = [row for row in rows if row.word == "FAIL"]
    name = markdown(result)
    head = say("Gate met: {result}", result=name)
    if failed:
        head = say(
            "Gate {n} of {total} not met: {result}",
            n=len(failed),
            total=len(rows),
            result=name,
        )
    cells = [(row.word, row.name, row.reason) for row in rows]
    heads = ["", say("metric"), say("why")]
    table = markdown_table(pd.DataFrame(cells, columns=heads))
    return f"### {head}\n\n{table}"
