"""One run of a batch: scored, perhaps in another process, and what the terminal says of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..core.check import check_lines
from ..core.language import language, say, speak
from ..core.metric import metric_title
from ..core.plugins import load_suite_file
from ..core.results import result_hash
from ..core.workers import Workers
from ..report.evaluate import evaluate, load
from ..report.markdown import titled
from ..report.run import Run
from ..report.tables import plain_estimates, verdict_line
from .text import columns


@dataclass(frozen=True)
class BatchRun:
    """One run of a batch.

    `name`: of its result. `path`: as it was typed; `inputs`: its files. `folder`: where its result is to stand, or
    stands where it `is_scored`. `located_as`: the name that `Suite.locate` gets: one that was given, or that of a run
    within an input of several; None where the path names it. Once it is scored, `lines` are what the terminal says of
    it, and `result` is a hash of its files, by which a report of it is current.
    """

    name: str
    path: str
    folder: Path
    inputs: tuple[Path, ...] = ()
    is_scored: bool = False
    located_as: str | None = None
    lines: tuple[str, ...] = ()
    result: str = ""


def score_run(
    run: BatchRun,
    suite: str,
    suite_file: Path | None,
    lang: str,
    workers: Workers,
    settings: Mapping[str, Any],
) -> BatchRun:
    """Score one run, perhaps in another process: the suite goes there by its name and file."""
    speak(lang)
    if suite_file is not None:
        load_suite_file(suite_file)
    if run.is_scored:
        result = load(run.folder)
    else:
        result = evaluate(suite, run.path, name=run.located_as, workers=workers, **settings)
    lines = tuple(headline_lines(result))
    return replace(run, lines=lines, result=result_hash(run.folder))


def headline_lines(result: Run) -> Iterator[str]:
    """The headline numbers of one run, and whether they can be believed."""
    yield result.name
    for line in check_lines(result.checks):
        yield f"  {line}"
    yield from _number_lines(result)
    verdicts = result.verdicts
    if verdicts is not None:
        for row in verdicts.to_dict("records"):
            title = metric_title(row["metric"], row["title"])
            yield "  " + verdict_line(row["verdict"], title, row.get("said") or "")
    for problem in result.manifest.problems:
        line = f"  {say(problem.severity)}: {problem.count} x {problem.code}"
        if problem.examples and language() == "en":  # an example is stored in English
            line += f", first {problem.examples[0]}"
        yield line
    yield f"  {result.signature}"


def _number_lines(result: Run) -> list[str]:
    """A line a metric of the headline: title, value, interval, n, name."""
    rows = result.estimates_of(*result.headline)
    table = plain_estimates(rows, resampling=result.resampling)
    titles = []
    for row in rows.to_dict("records"):
        title = titled(metric_title(row["metric"], row["title"]), row["better"])
        titles.append(f"  {title}".replace("\u00a0", " "))
    table["title"] = titles
    table["n"] = "n=" + table["n"].astype(str)
    shown = table[["title", "value", "interval", "n", "metric"]]
    return columns(shown, header=False).splitlines()
