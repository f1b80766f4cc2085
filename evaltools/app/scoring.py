"""One run of a batch: scored, perhaps in another process, and what the terminal says of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ..core.check import check_lines
from ..core.language import language, say, speak
from ..core.metric import metric_title
from ..core.plugins import load_suite_file
from ..core.results import result_hash
from ..core.workers import Workers
from ..report.estimate_tables import plain_estimates
from ..report.evaluate import evaluate, load
from ..report.markdown import titled
from ..report.run import Run
from ..report.tables import verdict_line
from .inputs import RunInput
from .settings import Settings
from .text import columns


@dataclass(frozen=True)
class Scored:
    """What a worker sends back of one run.

    `name`, `path`: of its input. `folder`: where its result stands. `lines`: what the terminal says of it.
    `result`: a hash of its files, by which a report of it is current.
    """

    name: str
    path: str
    folder: Path
    lines: list[str]
    result: str


def score_run(
    suite_name: str,
    suite_file: Path | None,
    run: RunInput,
    settings: Settings,
    options: Mapping[str, Any],
    workers: Workers,
) -> Scored:
    """Score one run, perhaps in another process: the suite goes there by its name and file."""
    speak(settings.lang)
    if suite_file is not None:
        load_suite_file(suite_file)
    if run.is_scored:
        result = load(run.folder)
    else:
        result = evaluate(
            suite_name,
            run.path,
            name=run.located_as,
            out=settings.out,
            resampling=settings.resampling,
            on_error=settings.on_error,
            workers=workers,
            fresh=not settings.resume,
            metrics=settings.metrics,
            **options,
        )
    lines = list(headline_lines(result))
    return Scored(result.name, run.path, run.folder, lines, result_hash(run.folder))


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
    texts = plain_estimates(rows, resampling=result.resampling)
    titles = []
    for name, title, better in zip(rows["metric"], rows["title"], rows["better"]):
        text = titled(metric_title(name, title), better)
        titles.append(f"  {text}".replace("\u00a0", " "))
    table = pd.DataFrame(
        {
            "title": titles,
            "value": texts["value"],
            "interval": texts["interval"],
            "n": "n=" + texts["n"].astype(str),
            "metric": texts["metric"],
        }
    )
    return columns(table, header=False).splitlines()
