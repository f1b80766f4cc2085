"""`evaltools compare A B`: the comparison as text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import pandas as pd

from ...core.check import LEVEL_WORDS, check_lines
from ...core.commands import PATH
from ...core.files import refuse_input, write_text
from ...core.language import say
from ...core.metric import metric_title
from ...core.names import find_runs
from ...core.terminal import echo
from ...report import study_sentences
from ...report.make_study import compare as compare_runs
from ...report.markdown import number
from ...report.sentences import mde_text, p_text, verdict_text
from ...report.study import Study
from ...report.study_files import comparison_csv
from ...report.tables import interval
from ...stats.detectable import POWER
from ..groups import RunsCommand
from ..options import (
    margin_option,
    primary_option,
    study_options,
    suite_file_option,
    suite_option,
)
from ..text import columns, wrapped

MDE = (
    "mde: the smallest true difference that data like these show with {power:.0%} power; "
    "smaller ones may go unseen."
)


@click.command(cls=RunsCommand)
@click.argument("baseline", metavar="A")
@click.argument("candidate", metavar="B")
@suite_option
@suite_file_option
@click.option("--all", "everything", is_flag=True, help="Every metric, not only the headline.")
@click.option("--csv", "csv_file", type=PATH, help="Write the whole comparison there as well.")
@primary_option
@margin_option
@study_options
def compare(
    baseline: str,
    candidate: str,
    everything: bool,
    csv_file: Path | None,
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
    echo(comparison_text(study, everything=everything))


def comparison_text(study: Study, *, everything: bool) -> str:
    """The comparison of a study with one candidate: the verdict, a line a metric, what a reader must know."""
    candidate = study.candidate()
    rows = study.comparisons[candidate].table
    if not everything:
        rows = rows[rows["headline"]]
    above = [
        *study_sentences.outcomes(study),
        *study_sentences.settling(study),
        *(check_lines(study.doubts) if study.doubts else []),
        say("A (baseline)  {name}", name=study.baseline),
        say("B (candidate) {name}", name=candidate),
    ]
    below = [study_sentences.how(study)]
    if rows["mde"].notna().any():
        below.append(say(MDE, power=POWER))
    lines = [_line(row, row["metric"] in study.blocked) for row in rows.to_dict("records")]
    parts = [
        *map(wrapped, above),
        "",
        columns(pd.DataFrame(lines).rename(columns=say)),
        "",
        *map(wrapped, below),
        study.signature,
    ]
    return "\n".join(parts)


def _line(row: Mapping[Any, Any], is_blocked: bool) -> dict[str, str]:
    """The texts of a metric's line by the header of their column; no numbers of a metric that a check blocks."""
    name = row["metric"]
    title = say(metric_title(name, row["title"]))
    if row["alias_of"]:
        title = f"= {row['alias_of']}"
    numbers = {
        "A": number(row["value_baseline"]),
        "B": number(row["value_candidate"]),
        "B - A": number(row["delta"], signed=True),
        "interval": interval(row, signed=True),
        "p": "",
        "p adj.": "",
        "mde": mde_text(row),
    }
    if row["n_differ"] > 0:
        numbers["p"] = p_text(row["p_value"])
        numbers["p adj."] = p_text(row["p_adjusted"])
    verdict = verdict_text(row)
    if is_blocked:
        numbers = dict.fromkeys(numbers, "")
        verdict = say(LEVEL_WORDS["blocking"]).lower()
    return {
        "metric": title,
        **numbers,
        "verdict": verdict,
        "id": name,
    }
