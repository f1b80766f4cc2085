"""`evaltools compare A B`: the comparison as text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from ...core.commands import PATH, RUN, verbose_option
from ...core.files import refuse_input, write_text
from ...core.metric import metric_title
from ...core.names import find_runs
from ...core.terminal import echo, paragraph
from ...report import study_sentences
from ...report.make_study import compare as compare_runs
from ...report.numbers import interval, number, p_text
from ...report.study import Study
from ...report.study_files import comparison_csv
from ..groups import RunsCommand
from ..options import margin_option, primary_option, study_options, suite_file_option, suite_option
from ..show import show_checks, show_rows


@click.command(cls=RunsCommand)
@click.argument("baseline", metavar="A", type=RUN)
@click.argument("candidate", metavar="B", type=RUN)
@suite_option
@suite_file_option
@click.option("--all", "everything", is_flag=True, help="Every metric, not only the headline.")
@click.option("--csv", "csv_file", type=PATH, help="Write the whole comparison there as well.")
@primary_option
@margin_option
@verbose_option
@study_options
def compare(
    baseline: str,
    candidate: str,
    everything: bool,
    csv_file: Path | None,
    verbose: bool,
    **settings: Any,
) -> None:
    """Is B better than A? Two runs, or two sets of seeds, in pairs.

    A and B are a run, a results folder, a run_id (the common prefix of the folders <run_id>__seed<N>_<mode>),
    or several runs joined by commas. The options of the suite are taken too (evaltools score SUITE --help).
    """
    if csv_file is not None:
        refuse_input(csv_file, [*find_runs(baseline), *find_runs(candidate)])
    study = compare_runs(baseline, candidate, **settings)
    if csv_file is not None:
        write_text(csv_file, comparison_csv(study))
    show(study, everything=everything, verbose=verbose)
    if csv_file is not None:
        echo(csv_file)


def show(
    study: Study,
    *,
    everything: bool,
    verbose: bool,
) -> None:
    """Print a study with one candidate: the verdict, a line a metric, what a reader must know."""
    for sentence in [*study_sentences.outcomes(study), *study_sentences.settling(study)]:
        paragraph(sentence)
    rows = study.comparisons[study.candidate()].table
    if not everything:
        rows = rows[rows["headline"]]
    lines = [_line(row, row["metric"] in study.blocked) for row in rows.to_dict("records")]
    is_adjusted = (rows["p_adjusted"] != rows["p_value"])[rows["p_adjusted"].notna()].any()
    p = "p adj." if is_adjusted else "p"
    level = f"{study.resampling.percent} interval"
    heads = ["metric", "A", "B", "B − A", level, p, "verdict", "id"]
    echo(f"\nA {study.baseline}\nB {study.candidate()}")
    show_rows(heads, lines, verbose or everything)
    echo()
    show_checks(study.doubts, verbose)
    if verbose:
        paragraph(study_sentences.how(study))
        echo(study.signature)


def _line(row: Mapping[Any, Any], is_blocked: bool) -> list[str]:
    """The cells of a metric's line; no numbers of a metric that a check blocks."""
    title = metric_title(row["metric"], row["title"])
    if is_blocked:
        return [title, "", "", "", "", "", "blocked", row["metric"]]
    is_adjusted = row["p_adjusted"] == row["p_adjusted"]
    p = row["p_adjusted"] if is_adjusted else row["p_value"]
    return [
        title,
        number(row["value_baseline"]),
        number(row["value_candidate"]),
        number(row["delta"], signed=True),
        interval(row, signed=True),
        p_text(p) if row["n_differ"] > 0 else "",
        "not shown" if row["verdict"] == "tied" else row["verdict"],
        row["metric"],
    ]
