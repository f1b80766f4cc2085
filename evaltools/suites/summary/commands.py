"""What the summary suite adds to the command line: `evaltools check rules FILE...` and `evaltools label CASES`."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...core.commands import PATH, options
from ...core.errors import InputError, Problem, Problems, UsageError
from ...core.files import dumps, refuse_input, resolve, write_text
from ...core.language import say, speak
from ...core.names import nearest
from ...core.terminal import echo

if TYPE_CHECKING:
    pass

OPTIONS = Path(__file__).with_suffix(".toml")

QUESTIONS = {
    "summary_accuracy": "Do the contexts support every figure and condition of the summary?",
    "summary_risk_coverage": "Does the summary name every expected risk item?",
    "summary_non_definitive": "Does the summary hold back from promises that nothing takes back?",
    "summary_needs_followup": "Does the summary name an open follow-up exactly if one is due?",
}
"""What a person is asked of each metric: 1 is yes, and good. The first two are shares, for which 0.5 is partly."""

PARTLY = ("summary_accuracy", "summary_risk_coverage")


def check_rules(path: Path, problems: Problems) -> None:
    """Validate rule files: list every problem, write nothing."""
    from .rules import read_rules

    read_rules(path, problems)


@click.command(
    params=options("labels_page", "labelled", "n", "draw", "wanted", "lang", file=OPTIONS)
)
@click.argument("cases", type=PATH)
def label(
    cases: Path,
    out: Path,
    metrics: tuple[str, ...],
    n: int,
    seed: int,
    wanted: Path | None,
    lang: str,
) -> None:
    """Write a page on which people label CASES of summaries, offline and by keyboard, blind to judge and rules.

    It downloads the labels as CSV for `evaltools calibrate` and `report summary --labels`.
    """
    refuse_input(out, [cases, *([wanted] if wanted else [])])
    if unknown := [m for m in metrics if m not in QUESTIONS]:
        raise UsageError(f"--metric {unknown[0]}: {nearest(unknown[0], list(QUESTIONS))}")
    speak(lang)
    items = to_label(cases, metrics or tuple(QUESTIONS), n, seed, wanted)
    write_text(out, label_page(items))
    echo(f"{len(items)} labels to give -> {out}")


def to_label(
    path: Path, metrics: tuple[str, ...], n: int, seed: int, wanted: Path | None = None
) -> list[dict[str, Any]]:
    """What is shown of each case and metric, metric by metric; `evidence` is what the rules saw.

    A random draw of n cases, or those of a file. InputError for a case or metric of it that there is not.
    """
    from ...core.records import read_rows
    from ...report.evaluate import evaluate
    from .people import Wanted
    from .views import whys

    result = evaluate("summary", resolve(path))
    units = result.units.set_index("case_id", drop=False)
    drawn = sorted(units.index, key=lambda c: sha256(f"{seed}\0{c}".encode()).hexdigest())[:n]
    rows = [(0, Wanted(case_id=c, metric=m)) for m in metrics for c in drawn]
    if wanted is not None:
        problems = Problems()
        rows = list(read_rows(wanted, Wanted, problems, "case_id"))
        for line, r in rows:
            if r.metric not in QUESTIONS or r.case_id not in units.index:
                problems.error(
                    "unknown-case",
                    f"no {r.metric} of this case",
                    file=str(wanted),
                    line=line,
                    id=r.case_id,
                )
        problems.raise_if_failed()
        if not rows:
            raise InputError([Problem("error", "no-rows", "no case to label", file=str(wanted))])
    seen = {m: dict(zip(units.index, whys(units, m))) for m in QUESTIONS}
    return [
        {
            "case_id": r.case_id,
            "metric": r.metric,
            "stratum": r.stratum or "",
            "question": say(QUESTIONS[r.metric]),
        }
        | {"partly": r.metric in PARTLY, "evidence": seen[r.metric][r.case_id]}
        | {"summary": units["answer"][r.case_id] or "", "contexts": units["contexts"][r.case_id]}
        | {"tags": units["tags"][r.case_id]}
        for _, r in rows
    ]


def label_page(items: list[dict[str, Any]]) -> str:
    """The page as HTML; what it keeps in the browser belongs to these items."""
    from ...report.page import page

    key = sha256(
        dumps([(i["case_id"], i["metric"], i["summary"]) for i in items]).encode()
    ).hexdigest()[:16]
    styles, scripts = ("report/fragments.css", "report/page.css"), ("summary/label.js",)
    return page("summary/label.html.j2", styles, scripts, glyphs=dumps(items), items=items, key=key)


CHECKS = {"rules": check_rules}
COMMANDS = {"label": label}
