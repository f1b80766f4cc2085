"""`evaltools compare A B`: the comparison as text."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ..core.check import LEVEL_WORDS
from ..core.files import refuse_input, write_text
from ..core.language import say
from ..core.names import find_runs
from ..report import study_sentences
from ..report.make_study import compare as compare_runs
from ..report.sentences import mde_text, p_text, verdict_text
from ..report.study import Study
from ..report.study_files import comparison_csv
from ..stats.detectable import POWER


def compare_command(
    baseline: str,
    candidate: str,
    *,
    everything: bool,
    csv_file: Path | None,
    margin: Mapping[str, float],
    **how: Any,
) -> str:
    """The text that `evaltools compare A B` prints."""
    if csv_file is not None:
        refuse_input(csv_file, [*find_runs(baseline), *find_runs(candidate)])
    study = compare_runs(baseline, candidate, margin=margin, **how)
    if csv_file is not None:
        write_text(csv_file, comparison_csv(study))
    return comparison_text(study, everything=everything)


WIDTH = 160
"""Columns of the terminal that no line of a comparison exceeds."""

TITLE = 36

LINE = "{title:<36} {a:>7} {b:>7} {delta:>8} {interval:>16} {p:>7} {adjusted:>7} {mde:>6}  {verdict:<22}"

HEAD = {"title": "metric", "a": "A", "b": "B", "delta": "B - A", "interval": "interval", "p": "p"} | {
    "adjusted": "p adj.", "mde": "mde", "verdict": "verdict", "name": "id",
}  # fmt: skip

MDE = f"mde: the smallest true difference that data like these show with {POWER:.0%} power; smaller ones may go unseen."


def comparison_text(study: Study, *, everything: bool) -> str:
    """The comparison of a study with one candidate: the verdict, a line a metric, what a reader must know."""
    (b, found) = next(iter(study.comparisons.items()))
    rows = found.table if everything else found.table[found.table["headline"]]
    sides = [f"A (baseline)  {study.baseline}", f"B (candidate) {b}", ""]
    about = ["", study_sentences.how(study), *[say(MDE)] * int(rows["mde"].notna().any())]
    lines = (_cells(row, row["metric"] in study.blocked) for row in rows.to_dict("records"))
    table = [_line(cells) for cells in (HEAD, *lines)]
    about += [say("note: {note}", note=note) for note in study.notes]
    lead = [*study_sentences.verdicts(study), *study_sentences.settling(study), *sides]
    before, after = ([wrapped(text) for text in part] for part in (lead, about))
    return "\n".join([*before, *table, *after, *textwrap.wrap(study.signature, WIDTH)])


def wrapped(text: str, indent: str = "") -> str:
    """The text in lines of at most WIDTH columns."""
    return textwrap.fill(
        text, WIDTH, initial_indent=indent, subsequent_indent="  ", break_on_hyphens=False
    )


def _line(cells: Mapping[str, str]) -> str:
    """A metric's line, its id at the end, or below where that would be too wide."""
    line, name = LINE.format_map(cells), cells["name"]
    fits = len(line) + len(name) + 2 <= WIDTH
    return f"{line}  {name}" if fits else f"{line.rstrip()}\n{wrapped(name, '    ')}"


def _cells(row: Mapping[Any, Any], blocked: bool) -> dict[str, str]:
    """The texts of a metric's line; "" for a number that there is none of. What a check blocks has no number."""
    title = f"= {row['alias_of']}" if row["alias_of"] else row["title"]
    title = title if len(title) <= TITLE else f"{title[: TITLE - 2]} …"
    differ = row["n_differ"] > 0
    interval = ", ".join(
        filter(None, (_number(row[bound], "+.3f") for bound in ("ci_low", "ci_high")))
    )
    if blocked:
        return dict.fromkeys(HEAD, "") | {
            "title": title,
            "verdict": LEVEL_WORDS["blocking"].lower(),
            "name": row["metric"],
        }
    return {
        "title": title,
        "a": _number(row["value_baseline"], ".3f") or "N/A",
        "b": _number(row["value_candidate"], ".3f") or "N/A",
        "delta": _number(row["delta"], "+.3f") or "N/A",
        "interval": interval and f"[{interval}]",
        "p": p_text(row["p_value"]) if differ else "",
        "adjusted": p_text(row["p_adjusted"]) if differ else "",
        "mde": mde_text(row),
        "verdict": verdict_text(row),
        "name": row["metric"],
    }


def _number(x: float, spec: str) -> str:
    """The number as `spec` says, with one decimal from 100 on; "" for null."""
    return (
        ""
        if pd.isna(x)
        else format(x, spec if abs(x) < 100 else "+.1f" if spec[0] == "+" else ".1f")
    )
