"""What the summary suite adds to the command line.

`evaltools check rules FILE...` and `evaltools label CASES`.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import click

from ...core.commands import PATH, lang_option
from ...core.errors import Problems
from ...core.files import dumps, refuse_input, resolve, write_text
from ...core.language import say
from ...core.terminal import echo


class Question(NamedTuple):
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
    type=click.Choice(list(QUESTIONS)),
    multiple=True,
    default=list(QUESTIONS),
    help="Metric to label (default: all four).",
)
@click.option(
    "-n",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Cases, drawn at random.",
)
@lang_option
def label(
    cases: Path,
    out: Path,
    metrics: tuple[str, ...],
    n: int,
) -> None:
    """Make a page on which people label summaries, offline.

    It works by keyboard and on a phone and shows no score of judge or rules. It downloads the labels as CSV for
    `evaltools calibrate` and `report summary --labels`.
    """
    refuse_input(out, [cases])
    items = to_label(cases, metrics, n)
    write_text(out, label_page(items))
    echo(say("{n} labels to give -> {out}", n=len(items), out=str(out)))


def to_label(
    path: Path,
    metrics: Sequence[str],
    n: int,
) -> list[dict[str, Any]]:
    """What is shown of each case and metric, metric by metric; `evidence` is what the rules saw.

    The cases are a random draw of n; one of more cases begins with the same.
    """
    from ...report.evaluate import evaluate
    from .reasons import why

    units = evaluate("summary", resolve(path)).units
    drawn = units.sample(min(n, len(units)), random_state=0)
    items = []
    for metric in metrics:
        question = QUESTIONS[metric]
        for case in drawn.to_dict("records"):
            item = {
                "case_id": case["case_id"],
                "metric": metric,
                "question": say(question.text),
                "yes": say(question.yes),
                "no": say(question.no),
                "partly": question.partly,
                "evidence": why(case, metric),
                "summary": case["answer"] or "",
                "contexts": case["contexts"],
                "tags": [say(tag) for tag in case["tags"]],
            }
            items.append(item)
    return items


def label_page(items: list[dict[str, Any]]) -> str:
    """The page as HTML; what it keeps in the browser belongs to these items."""
    from ...report.page import page

    content = dumps(items)
    key = sha256(content.encode()).hexdigest()[:16]
    styles = ("report/fragments.css", "report/page.css")
    scripts = ("summary/label.js",)
    return page("summary/label.html.j2", styles, scripts, glyphs=content, items=items, key=key)


CHECKS = {"rules": check_rules}
COMMANDS = {"label": label}
