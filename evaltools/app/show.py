"""What the terminal says of a run: its finding, its headline in a table, and cautions."""

from __future__ import annotations

from collections.abc import Iterable

from ..core.check import Check
from ..core.terminal import echo, paragraph, table
from ..report.run import Run
from ..report.study_sentences import run_finding, whole_sentence
from ..report.tables import shown_estimate

# lines of a table, and checks, that are shown without --verbose
MOST_LINES = 12
MOST_CHECKS = 3

LEVELS = {"blocking": "cannot be measured", "warning": "caution", "info": "note"}


def show_run(run: Run, verbose: bool) -> None:
    """Print the finding of a run, its headline, and what a reader must know before believing it."""
    echo(f"\n{run.name}")
    paragraph(whole_sentence(*run_finding(run)))
    verdicts = {}
    if run.verdicts is not None:
        verdicts = dict(zip(run.verdicts["metric"], run.verdicts["verdict"]))
    rows = []
    for estimate in run.estimates_of(*run.headline).to_dict("records"):
        row = shown_estimate(estimate, run.resampling)
        cells = [
            row["title"],
            row["value"],
            row["interval"],
            row["n"],
            verdicts.get(row["metric"], ""),
            row["metric"],
        ]
        rows.append(cells)
    level = f"{run.resampling.percent} interval"
    show_rows(["metric", "value", level, "n", "verdict", "id"], rows, verbose)
    show_checks(run.checks, verbose)
    for problem in run.manifest.problems:
        example = problem.examples[0] if problem.examples else problem.code
        paragraph(f"{example} ({problem.count} in all)")
    if verbose:
        echo(run.signature)


def show_rows(
    heads: list[str],
    rows: list[list[str]],
    verbose: bool,
) -> None:
    """Print a table without its empty columns: all of it, or its first rows without the last column."""
    columns = range(len(heads) if verbose else len(heads) - 1)
    filled = [i for i in columns if any(row[i] for row in rows)]
    cells = [[row[i] for i in filled] for row in rows]
    shown_heads = [heads[i] for i in filled]
    n_shown = table(shown_heads, cells) if verbose else table(shown_heads, cells, MOST_LINES)
    if n_shown < len(rows):
        echo(f"and {len(rows) - n_shown} more (-v)")


def show_checks(checks: Iterable[Check], verbose: bool) -> None:
    """Print the checks, the worst first; of many only the first."""
    checks = list(checks)
    shown = checks if verbose else checks[:MOST_CHECKS]
    for check in shown:
        paragraph(f"{LEVELS[check.level]}: {check.message}")
    if len(shown) < len(checks):
        echo(f"and {len(checks) - len(shown)} more checks (-v)")
