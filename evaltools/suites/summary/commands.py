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
from ...core.errors import Problems, UsageError
from ...core.files import dumps, refuse_input, resolve, write_text
from ...core.language import LANGUAGES, say, speak
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
    lang: str,
) -> None:
    """Make a page on which people label summaries, offline.

    It works by keyboard and on a phone and shows no score of judge or rules. It downloads the labels as CSV for
    `evaltools calibrate` and `report summary --labels`.
    """
    speak(lang)
    refuse_input(out, [cases])
    for metric in metrics:
        if metric not in QUESTIONS:
            near = nearest(metric, list(QUESTIONS))
            raise UsageError("--metric {metric}: {nearest}", metric=metric, nearest=near)
    items = to_label(cases, metrics or tuple(QUESTIONS), n, seed)
    write_text(out, label_page(items))
    echo(say("{n} labels to give -> {out}", n=len(items), out=str(out)))


def to_label(
    path: Path,
    metrics: tuple[str, ...],
    n: int,
    seed: int,
) -> list[dict[str, Any]]:
    """What is shown of each case and metric, metric by metric; `evidence` is what the rules saw.

    The cases are a random draw of n.
    """
    from ...report.evaluate import evaluate
    from .reasons import whys

    run = evaluate("summary", resolve(path))
    units = run.units.set_index("case_id", drop=False)
    drawn = _draw(list(units.index), n, seed)
    rows = [(case_id, metric) for metric in metrics for case_id in drawn]
    evidence = {}
    for metric in QUESTIONS:
        evidence[metric] = dict(zip(units.index, whys(units, metric)))
    cases = units.to_dict("index")
    items = []
    for case_id, metric in rows:
        case = cases[case_id]
        question = QUESTIONS[metric]
        item = {
            "case_id": case_id,
            "metric": metric,
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
