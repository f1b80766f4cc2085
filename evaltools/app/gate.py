"""Release gates: bounds that the numbers of a result must keep, its suite's verdicts, a baseline to hold against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd

from ..core.errors import Problems, UsageError
from ..core.files import refuse_input, write_text
from ..core.names import nearest
from ..core.plugins import refuse_parent
from ..core.records import read_model
from ..core.results import StoredMetrics as Stored
from ..core.results import read_manifest
from ..report.evaluate import load
from ..report.make_study import compare
from ..report.markdown import markdown, markdown_table
from ..report.sentences import verdict_text
from ..report.study import Study
from ..report.study_files import result_folders
from ..report.tables import verdict_line
from ..report.text import visible
from ..stats.intervals import MIN_UNITS
from .options import Bound, parse_bound, parse_margins

SIGNS = {"min": ">=", "max": "<="}


@dataclass(frozen=True)
class Checked:
    """One thing that was asked of a result: whether it holds (None: there is nothing to judge it by), and why."""

    name: str
    met: bool | None
    said: str

    @property
    def word(self) -> str:
        return {True: "PASS", False: "FAIL", None: "SKIP"}[self.met]

    def __str__(self) -> str:
        return visible(f"{self.word} {self.name} {self.said}")


def gate(
    result: Path,
    minima: Sequence[str],
    maxima: Sequence[str],
    use: str,
    baseline: Path | None = None,
    margins: Sequence[str] = (),
    junit_file: Path | None = None,
    summary_file: Path | None = None,
) -> list[Checked]:
    """What a result says to all that is asked of it, bounds and margins given as NAME=X; the files are written.

    UsageError and InputError before anything is written.
    """
    bounds = [
        parse_bound(text, kind)
        for kind, texts in (("min", minima), ("max", maxima))
        for text in texts
    ]
    allowed = parse_margins(margins)
    if allowed and baseline is None:
        raise UsageError(
            "--margin says how much worse than a baseline a metric may be: give --baseline RESULT"
        )
    if bad := next((name for name, margin in allowed.items() if margin < 0), None):
        raise UsageError(f"--margin {bad}: expected a number of 0 or more")
    written = [
        (file, made)
        for file, made in ((junit_file, as_junit), (summary_file, as_markdown))
        if file is not None
    ]
    for file, _ in written:
        _refuse_results(file, [side for side in (result, baseline) if side is not None])
    content = read(result)
    rows = check_bounds(result, content, bounds, use)
    rows += check_baseline(result, baseline, allowed) if baseline is not None else []
    rows = rows or check_verdicts(result, content)
    for file, made in written:
        write_text(file, made(rows, content.run or str(result)))
    return rows


def _refuse_results(file: Path, inputs: Sequence[Path]) -> None:
    """UsageError where a file cannot be written, or would change what it speaks of."""
    if (
        file.resolve() in [path.resolve() for path in inputs]
        or read_manifest(file.parent) is not None
    ):
        raise UsageError(f"{file} would change a result; write it to another place")
    refuse_input(file)


def read(path: Path) -> Stored:
    """The content of a metrics.json, or of that in a folder.

    InputError where it is no such thing. UsageError that names the results where a folder holds several and is none.
    """
    file = path / "metrics.json" if path.is_dir() else path
    if path.is_dir() and not file.is_file():
        refuse_parent(path, lambda inside: (inside / "metrics.json").is_file())
    content = read_model(file, Stored)
    if len({row.name for row in content.metrics}) < len(content.metrics):
        raise Problems().fatal(
            "bad-metrics", "two metrics have one name", file=str(file), field="metrics"
        )
    return content


def check_bounds(path: Path, content: Stored, bounds: Sequence[Bound], use: str) -> list[Checked]:
    """What each bound on `use` (value, ci_low, ci_high) says. UsageError for a metric that the file does not have."""
    numbers = {row.name: getattr(row, use) for row in content.metrics}
    if unknown := [name for name, *_ in bounds if name not in numbers]:
        raise UsageError(
            f"{path} has no metric {unknown[0]!r}; {nearest(unknown[0], sorted(numbers))}"
        )
    found = []
    for name, kind, limit in bounds:
        number = numbers[name]
        shown = "not measured" if number is None else f"{number:.6g}"
        said = f"{use} {shown} {SIGNS[kind]} {limit:g}"
        found.append(Checked(name, number is not None and _keeps(number, kind, limit), said))
    return found


def _keeps(number: float, kind: str, limit: float) -> bool:
    return number >= limit if kind == "min" else number <= limit


def check_verdicts(path: Path, content: Stored) -> list[Checked]:
    """The verdicts that a result's suite gave (`Suite.verdicts`), of an aggregate those of all its runs.

    A metric without a threshold is not judged, and one that is not measured does not pass. UsageError where there
    are no verdicts, InputError for another file.
    """
    runs = result_folders(path)
    found = [
        Checked(
            row.metric,
            row.verdict == "pass",
            f"{verdict_line(row.verdict, row.title, row.said)} ({one.run})",
        )
        for one in (map(read, runs) if len(runs) > 1 else [content])
        for row in one.verdicts
        if row.verdict != "no threshold"
    ]
    if not found:
        raise UsageError(
            f"{path} holds no verdicts: give --min NAME=X, --max NAME=X or --baseline RESULT"
        )
    return found


def check_baseline(path: Path, baseline: Path, margins: Mapping[str, float]) -> list[Checked]:
    """Whether a result is no worse than a baseline, paired: what its headline and the metrics with a margin say.

    With a margin X the interval's bound on the side of harm must stay within X of no difference (non-inferiority);
    without one the metric must not be `worse`. A metric with fewer than MIN_UNITS paired units is not judged, which
    with a margin does not pass, and neither does one that only the baseline has measured. UsageError where nothing
    can be judged at all: samples that are not shared, other policies, a result compared with itself.
    """
    if result_folders(path)[0].resolve() == result_folders(baseline)[0].resolve():
        raise UsageError(f"{path} would be compared with itself; --baseline names another result")
    study = compare(
        *([load(folder) for folder in result_folders(side)] for side in (baseline, path))
    )
    table = next(iter(study.comparisons.values())).table.set_index("metric", drop=False)
    for name in margins:
        if study.suite.metric(name, study.options).name not in table.index:
            raise UsageError(
                f"--margin {name}: the metric has no better direction, so that no difference is harm"
            )
    wanted = [name for name in dict.fromkeys([*study.headline, *margins]) if name in table.index]
    if not any(_comparable(table.loc[name]) for name in wanted):
        raise UsageError(
            f"{path} and {baseline} have no metric with {MIN_UNITS} paired units among {', '.join(wanted)}: nothing "
            "can be judged"
        )
    return [_against(study, table.loc[name].to_dict(), margins.get(name)) for name in wanted]


def _comparable(row: Any) -> bool:
    return not pd.isna(row["delta"]) and row["n_units"] >= MIN_UNITS


def _against(study: Study, row: Mapping[str, Any], margin: float | None) -> Checked:
    name = row["metric"]
    if not _comparable(row):
        own = [
            any(not pd.isna(r.value(name)) for r in study.conditions[row[side]].values())
            for side in SIDES
        ]
        lost = own == [True, False]
        said = "not measured, but it is in the baseline" if lost else verdict_text(row)
        return Checked(
            name, False if lost or margin is not None else None, f"{said} ({row['title']})"
        )
    change = f"{row['value_candidate']:.3f} against {row['value_baseline']:.3f}, difference {row['delta']:+.3f}"
    if margin is None:
        return Checked(
            name, row["verdict"] != "worse", f"{change}: {verdict_text(row)} ({row['title']})"
        )
    harm, kind, limit = (
        ("ci_low", "min", 0 - margin) if row["better"] == "higher" else ("ci_high", "max", margin)
    )
    if pd.isna(row[harm]):
        # without spread there is no interval: what stands is whether the units differ at all, and to which side
        met = not row["n_differ"] or row["verdict"] == "better"
        return Checked(name, met, f"{change}, no interval: {verdict_text(row)} ({row['title']})")
    said = f"{change}: {harm} {row[harm]:+.4f} {SIGNS[kind]} {limit:+g} ({row['title']})"
    return Checked(name, _keeps(row[harm], kind, limit), said)


SIDES = ("baseline", "candidate")


def as_junit(rows: Sequence[Checked], result: str) -> str:
    """The rows as JUnit XML: a testsuite with a testcase each, `failure` where it does not hold."""
    failed = sum(row.met is False for row in rows)
    counts = {
        "tests": len(rows),
        "failures": failed,
        "skipped": sum(row.met is None for row in rows),
    }
    suite = ElementTree.Element(
        "testsuite", {"name": "evaltools gate", **{k: str(n) for k, n in counts.items()}}
    )
    for row in rows:
        case = ElementTree.SubElement(
            suite, "testcase", classname=visible(result), name=visible(row.name)
        )
        if not row.met:
            ElementTree.SubElement(
                case, "skipped" if row.met is None else "failure", message=visible(row.said)
            )
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, "utf-8", xml_declaration=True).decode() + "\n"


def as_markdown(rows: Sequence[Checked], result: str) -> str:
    """The rows as Markdown, for the summary of a job: how it ended, and a table."""
    failed = sum(row.met is False for row in rows)
    ended = f"{failed} of {len(rows)} not met" if failed else "met"
    frame = pd.DataFrame(
        [(row.word, row.name, row.said) for row in rows], columns=["", "metric", "why"]
    )
    return f"### Gate {ended}: {markdown(result)}\n\n{markdown_table(frame)}"
