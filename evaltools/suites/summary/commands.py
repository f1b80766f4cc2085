"""What the summary suite adds to the command line.

`evaltools check rules FILE...` and `evaltools label CASES`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import click

from ...core.commands import PATH
from ...core.errors import InputError, Problem, Problems, UsageError
from ...core.files import dumps, refuse_input, resolve, write_text
from ...core.language import LANGUAGES, Message, say, speak
from ...core.names import nearest
from ...core.terminal import echo


@dataclass(frozen=True)
class Question:
    """What a person is asked of a metric, and what the answers mean: 1 is yes, and good; 0 is no.

    partly: the metric is a share, for which 0.5 is an answer too.
    """

    text: str
    yes: str
    no: str
    partly: bool = False


QUESTIONS = {
    "summary_accuracy": Question(
        "Do the contexts support every figure and condition of the summary?",
        "all supported",
        "wrong or without support",
        partly=True,
    ),
    "summary_risk_coverage": Question(
        "Does the summary name every expected risk item?",
        "all named",
        "left out",
        partly=True,
    ),
    "summary_non_definitive": Question(
        "Does the summary keep from saying for certain that something is paid or covered?",
        "no definitive wording",
        "definitive wording",
    ),
    "summary_needs_followup": Question(
        "Does the summary name a follow-up if one is due, and none if none is due?",
        "named as it should be",
        "missing, or named where none is due",
    ),
}


def check_rules(path: Path, problems: Problems) -> None:
    """Rule files of summaries: list every problem."""
    from .rules import read_rules

    read_rules(path, problems)


@click.command()
@click.argument("cases", type=PATH)
@click.option(
    "-o",
    "--out",
    type=PATH,
    default="labels.html",
    show_default=True,
    help="The page to write.",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    help="Metric to label (default: the four with a judge).",
)
@click.option(
    "-n",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Cases, drawn at random.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Seed of the draw.",
)
@click.option(
    "--cases",
    "wanted",
    type=PATH,
    help="Label these (calibrate --next FILE) instead of a random draw.",
)
@click.option(
    "--lang",
    type=click.Choice(LANGUAGES),
    default="en",
    show_default=True,
    help="Language of the page.",
)
def label(
    cases: Path,
    out: Path,
    metrics: tuple[str, ...],
    n: int,
    seed: int,
    wanted: Path | None,
    lang: str,
) -> None:
    """Make a page on which people label summaries, offline.

    It works by keyboard and on a phone and shows no score of judge or rules. It downloads the labels as CSV for
    `evaltools calibrate` and `report summary --labels`.
    """
    speak(lang)
    inputs = [cases, wanted] if wanted else [cases]
    refuse_input(out, inputs)
    for metric in metrics:
        if metric not in QUESTIONS:
            near = nearest(metric, list(QUESTIONS))
            raise UsageError("--metric {metric}: {nearest}", metric=metric, nearest=near)
    items = to_label(cases, metrics or tuple(QUESTIONS), n, seed, wanted)
    write_text(out, label_page(items))
    echo(say("{n} labels to give -> {out}", n=len(items), out=str(out)))


def to_label(
    path: Path,
    metrics: tuple[str, ...],
    n: int,
    seed: int,
    wanted: Path | None = None,
) -> list[dict[str, Any]]:
    """What is shown of each case and metric, metric by metric; `evidence` is what the rules saw.

    A random draw of n cases, or those of a file. InputError for a case or metric of it that there
    is not.
    """
    from ...report.evaluate import evaluate
    from .reasons import whys

    run = evaluate("summary", resolve(path))
    units = run.units.set_index("case_id", drop=False)
    if wanted is None:
        drawn = _draw(list(units.index), n, seed)
        rows = [(case_id, metric, "") for metric in metrics for case_id in drawn]
    else:
        rows = _rows_of(wanted, set(units.index))
    evidence = {}
    for metric in QUESTIONS:
        evidence[metric] = dict(zip(units.index, whys(units, metric)))
    cases = units.to_dict("index")
    items = []
    for case_id, metric, stratum in rows:
        case = cases[case_id]
        question = QUESTIONS[metric]
        item = {
            "case_id": case_id,
            "metric": metric,
            "stratum": stratum,
            "question": say(question.text),
            "yes": say(question.yes),
            "no": say(question.no),
            "partly": question.partly,
            "evidence": evidence[metric][case_id],
            "summary": case["answer"] or "",
            "contexts": case["contexts"],
            "tags": [say(tag) for tag in case["tags"]],
        }
        items.append(item)
    return items


def _draw(
    case_ids: Sequence[str],
    n: int,
    seed: int,
) -> list[str]:
    """n cases in an order that follows from the seed alone."""

    def drawn_at(case_id: str) -> str:
        return sha256(f"{seed}\0{case_id}".encode()).hexdigest()

    return sorted(case_ids, key=drawn_at)[:n]


def _rows_of(path: Path, case_ids: set[str]) -> list[tuple[str, str, str]]:
    """(case, metric, stratum) of each row of a file of cases to label."""
    from ...core.csv_files import read_rows
    from .people import Wanted

    problems = Problems()
    rows = []
    for line, row in read_rows(path, Wanted, problems, "case_id"):
        if row.metric not in QUESTIONS or row.case_id not in case_ids:
            message = Message("no {metric} of this case", {"metric": row.metric})
            problems.error("unknown-case", message, file=str(path), line=line, id=row.case_id)
        rows.append((row.case_id, row.metric, row.stratum or ""))
    problems.raise_if_failed()
    if not rows:
        raise InputError([Problem("error", "no-rows", "no case to label", file=str(path))])
    return rows


def label_page(items: list[dict[str, Any]]) -> str:
    """The page as HTML; what it keeps in the browser belongs to these items."""
    from ...report.page import page

    identity = [(item["case_id"], item["metric"], item["summary"]) for item in items]
    key = sha256(dumps(identity).encode()).hexdigest()[:16]
    styles = ("report/fragments.css", "report/page.css")
    scripts = ("summary/label.js",)
    return page("summary/label.html.j2", styles, scripts, glyphs=dumps(items), items=items, key=key)


CHECKS = {"rules": check_rules}
COMMANDS = {"label": label}
