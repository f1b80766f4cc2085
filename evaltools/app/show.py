"""What the terminal says of a run or a study: its finding, its headline in a table, and cautions."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from ..core.check import LEVEL_WORDS, Check
from ..core.estimates import Row
from ..core.terminal import echo, paragraph, table
from ..report import study_sentences
from ..report.run import Run
from ..report.study import Study
from ..report.tables import estimate_texts, shown_difference
from ..report.text import number, visible

# lines of a table, and checks, that are shown without --verbose
MOST_LINES = 12
MOST_CHECKS = 3


def show_run(run: Run, verbose: bool) -> None:
    """Print the finding of a run, its headline, and what a reader must know before believing it."""
    paragraph(study_sentences.whole_sentence(*study_sentences.run_finding(run)))
    verdicts = {}
    if run.verdicts is not None:
        verdicts = dict(zip(run.verdicts["metric"], run.verdicts["verdict"]))
    _show_estimates(run, verdicts, verbose)
    show_checks(run.checks, verbose)
    for problem in run.manifest.problems:
        example = problem.examples[0] if problem.examples else problem.code
        paragraph(f"{example} ({problem.count} in all)")
    if verbose:
        echo(run.signature)


def show_study(
    study: Study,
    verbose: bool,
    everything: bool = False,
) -> None:
    """Print a study: the verdicts, a line a metric, what a reader must know.

    `everything`: all metrics, not only the headline.
    """
    for sentence in [*study_sentences.outcomes(study), *study_sentences.settling(study)]:
        paragraph(sentence)
    echo()
    if study.candidates:
        echo(f"A {study.baseline}")
        if len(study.candidates) == 1:
            echo(f"B {study.candidate()}")
        rows = study.frame if everything else study.differences_of(*study.headline)
        level = f"{study.resampling.percent} interval"
        heads = ["metric", "A", "B", "B − A", level, "p adj.", "verdict", "id"]
        lines = [_difference(study, row) for row in rows.to_dict("records")]
        show_frame(pd.DataFrame(lines, columns=heads), verbose or everything)
    else:
        _show_estimates(study, {}, verbose)
    echo()
    show_checks(study.doubts, verbose)
    if verbose:
        paragraph(study_sentences.how(study))
        echo(study.signature)


def _difference(study: Study, row: Row) -> list[str]:
    """The cells of a metric's line; no numbers of a metric that a check blocks."""
    texts = shown_difference(row, " raw")
    title = texts.pop("title")
    if len(study.candidates) > 1:
        title = f"{row['candidate']}: {title}"
    if row["metric"] in study.blocked:
        return [title, *("" for _ in texts), "blocked", row["metric"]]
    return [title, *texts.values(), row["verdict"], row["metric"]]


def _show_estimates(
    shown: Run | Study,
    verdicts: dict[str, str],
    verbose: bool,
) -> None:
    """Print the headline of a run, or of the conditions of a study, in a table."""
    level = f"{shown.resampling.percent} interval"
    columns = {"title": "metric", "value": "value", "interval": level, "n": "n", "metric": "id"}
    texts = estimate_texts(shown.estimates_of(*shown.headline), columns)
    texts.insert(4, "verdict", [verdicts.get(name, "") for name in texts["id"]])
    show_frame(texts, verbose)


def show_frame(frame: pd.DataFrame, verbose: bool = True) -> None:
    """Print a frame, its numbers rounded, without empty columns: all of it, with metrics by `id`, or its first rows."""
    if "id" in frame:
        ids = frame.pop("id")
        frame = frame.assign(metric=ids) if verbose else frame
    cells = frame.convert_dtypes().astype(object).map(_text)
    cells = cells.loc[:, (cells != "").any()]
    n_shown = table(list(cells), cells.to_numpy().tolist(), 10**9 if verbose else MOST_LINES)
    if n_shown < len(cells):
        echo(f"and {len(cells) - n_shown} more (-v)")


def _text(cell: object) -> str:
    return visible(cell if isinstance(cell, str) else number(cell))


def show_checks(checks: Iterable[Check], verbose: bool) -> None:
    """Print the checks, the worst first; of many only the first."""
    checks = list(checks)
    shown = checks if verbose else checks[:MOST_CHECKS]
    for check in shown:
        paragraph(f"{LEVEL_WORDS[check.level].lower()}: {check.message}")
    if len(shown) < len(checks):
        echo(f"and {len(checks) - len(shown)} more (-v)")
