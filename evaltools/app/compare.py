"""`evaltools compare A B`: the comparison as text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ..core.check import LEVEL_WORDS, check_lines
from ..core.errors import UsageError
from ..core.files import refuse_input, write_text
from ..core.language import say
from ..core.metric import metric_title
from ..core.names import find_runs
from ..report import study_sentences
from ..report.decision import judge, read_decision
from ..report.estimate_tables import interval
from ..report.make_study import compare as compare_runs
from ..report.markdown import number
from ..report.sentences import mde_text, p_text, verdict_text
from ..report.study import Study
from ..report.study_files import comparison_csv
from ..stats.detectable import POWER
from .text import columns, wrapped

MDE = (
    "mde: the smallest true difference that data like these show with {power:.0%} power; "
    "smaller ones may go unseen."
)


def compare_command(
    baseline: str,
    candidate: str,
    *,
    everything: bool,
    csv_file: Path | None,
    margin: Mapping[str, float],
    decision: Path | None = None,
    **settings: Any,
) -> str:
    """The text that `evaltools compare A B` prints; `settings` are those of `compare`."""
    declared = None
    if decision is not None:
        if margin or settings.get("primary"):
            raise UsageError("--decision says what is tested: leave out --primary and --margin")
        declared = read_decision(decision)
        settings["primary"] = declared.metric
    if csv_file is not None:
        refuse_input(csv_file, [*find_runs(baseline), *find_runs(candidate)])
    study = compare_runs(baseline, candidate, margin=margin, **settings)
    if csv_file is not None:
        write_text(csv_file, comparison_csv(study))
    text = comparison_text(study, everything=everything)
    if declared is None:
        return text
    judgement = judge(declared, study)
    sentences = map(wrapped, judgement.sentences)
    return "\n".join([*sentences, "", text])


def comparison_text(study: Study, *, everything: bool) -> str:
    """The comparison of a study with one candidate: the verdict, a line a metric, what a reader must know."""
    candidate = study.candidate()
    rows = study.comparisons[candidate].table
    if not everything:
        rows = rows[rows["headline"]]
    above = [
        *study_sentences.verdicts(study),
        *study_sentences.settling(study),
        *(check_lines(study.doubts) if study.doubts else []),
        say("A (baseline)  {name}", name=study.baseline),
        say("B (candidate) {name}", name=candidate),
    ]
    below = [study_sentences.how(study)]
    if rows["mde"].notna().any():
        below.append(say(MDE, power=POWER))
    for note in study.notes:
        below.append(say("note: {note}", note=note))
    parts = [
        *map(wrapped, above),
        "",
        _table(study, rows),
        "",
        *map(wrapped, below),
        study.signature,
    ]
    return "\n".join(parts)


def _table(study: Study, rows: pd.DataFrame) -> str:
    """A line a metric, below the heads of the columns."""
    lines = []
    for row in rows.to_dict("records"):
        is_blocked = row["metric"] in study.blocked
        lines.append(_cells(row, is_blocked))
    table = pd.DataFrame(lines).rename(columns=say)
    return columns(table)


def _cells(row: Mapping[Any, Any], is_blocked: bool) -> dict[str, str]:
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
