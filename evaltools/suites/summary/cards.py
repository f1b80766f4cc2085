"""The browser of cases: which there are to choose from, and what a card says and marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import pandas as pd
from markupsafe import Markup

from ...core.language import say
from ...report.samples import Layout, Line, Place, Row, SampleView, Tag
from ...report.tables import HtmlTable, stack, table, words
from ...report.text import anchor, marked
from .options import rules_in_force
from .passages import item
from .reasons import Evidence, in_short, whys
from .states import JUDGED, STATES
from .verdicts import fails, finding

if TYPE_CHECKING:
    from ...report.run import Run

__all__ = ["cards", "finding", "first_screen", "groups", "sample_view"]

NAMED: Mapping[str, str] = {
    "summary_accuracy": "accuracy",
    "summary_risk_coverage": "risk coverage",
    "summary_non_definitive": "non-definitive",
    "summary_needs_followup": "follow-up",
    "entity_recall": "entity recall",
}
"""The metrics, as chips and groups name them."""

WORST = 10
"""Cases that the first screen shows."""

LEGEND = (
    "A value that the source says of another item is to be looked at where the words around it tell, "
    "which they do not always. Compare the two passages of a figure; with --judge hybrid a language "
    "model reads both texts of the uncertain cases."
)
"""What comparing values cannot see."""

LAYOUT = Layout(
    id="case_id",
    texts={"answer": "summary", "contexts": "context"},
    head="Rule",
    columns={"threshold": "threshold", "found": "score and finding"},
)
"""How a card is laid out."""

MARKS = {"fail": "bad", "look": "look", "ok": "good"}
"""The state of a case or of a metric in it -> its mark."""


def groups(run: Run) -> dict[str, tuple[str, str]]:
    """The cases in each state, and those that fail each metric: name -> (query on the units, caption)."""
    failing = fails(run.units)
    found = {
        "failing": ("state == 'fail'", "Must not ship: cases that fail"),
        "look": ("state == 'look'", "To look at: cases of which a person must settle something"),
        "passing": ("state == 'ok'", "OK: all other cases"),
    }
    for metric in JUDGED:
        if failing[metric].any():
            query = f"{metric}_state == 'fail'"
            found[metric] = (query, f"Cases that fail {NAMED[metric]}")
    return found


def in_order(units: pd.DataFrame) -> pd.DataFrame:
    """The cases, the worst state first, in it those that fail most metrics, then in the file's order."""
    worst = units["state"].map(STATES.index)
    n_failing = fails(units).sum(axis=1)
    order = pd.DataFrame({"worst": worst, "n": -n_failing}, index=units.index)
    return units.loc[order.sort_values(["worst", "n"], kind="stable").index]


def names_of_true(flags: pd.DataFrame) -> list[str]:
    """For each row, the names of the columns that are true."""
    return [", ".join(flags.columns[row]) for row in flags.to_numpy(dtype=bool)]


def card_ids(run: Run, units: pd.DataFrame) -> pd.Series:
    """The ids of cases, the worst first."""
    return in_order(units)["case_id"]


def cards(run: Run, units: pd.DataFrame) -> pd.DataFrame:
    """Cases as cards: case_id, answer, contexts, tags, rows (one a metric), places (what is marked)."""
    thresholds = rules_in_force(run.options).thresholds
    whys_by_metric = {metric: whys(units, metric) for metric in JUDGED}
    rows = []
    places = []
    for index, case in enumerate(units.to_dict("records")):
        case_rows = []
        for metric in JUDGED:
            threshold = thresholds.get(metric)
            cells = {
                "threshold": [] if threshold is None else [Line(f"≥ {threshold:g}")],
                "found": _finding(case, metric, whys_by_metric[metric][index]),
            }
            case_rows.append(Row(say(NAMED[metric]), cells))
        rows.append(case_rows)
        places.append(_places(case))
    return pd.DataFrame(
        {
            "case_id": units["case_id"],
            "answer": units["answer"],
            "contexts": units["contexts"].map("\n".join),
            "tags": _tags(units),
            "rows": pd.Series(rows, index=units.index, dtype=object),
            "places": pd.Series(places, index=units.index, dtype=object),
        }
    )


def _finding(
    case: Mapping[Any, Any],
    metric: str,
    why: str,
) -> list[Line]:
    """The score of a case and what it rests on; what was not measured says so, without a score."""
    mark = MARKS[case[f"{metric}_state"]]
    if not case[f"{metric}_measured"]:
        return [Line("", mark if mark != "good" else "", why)]
    return [Line(f"{case[metric]:.2f}", mark, why)]


def _tags(units: pd.DataFrame) -> pd.Series:
    """The state of each case with what it fails, and the tags that it was given."""
    called = {metric: say(name) for metric, name in NAMED.items()}
    failed = names_of_true(fails(units).rename(columns=called))
    tags = []
    for state, names, given in zip(units["state"], failed, units["tags"]):
        word = f"{say(state)}: {names}" if names else say(state)
        tags.append([Tag(word, MARKS[state]), *(Tag(say(tag)) for tag in given)])
    return pd.Series(tags, index=units.index, dtype=object)


def _places(case: Mapping[Any, Any]) -> list[Place]:
    """Where the two texts of a card say what the scores rest on.

    Figures with their passage under one number, then definitive phrases and what is missing.
    """
    contexts = case["contexts"]
    starts = [0, *accumulate(len(context) + 1 for context in contexts)]
    accuracy = case["summary_accuracy_evidence"]
    stated = [("good", entity) for entity in accuracy.get("supported", [])]
    stated += [("bad", entity) for entity in accuracy.get("unsupported", [])]
    stated.sort(key=lambda kind_and_entity: kind_and_entity[1]["at"])
    places: list[Place] = []
    for number, (kind, entity) in enumerate(stated, 1):
        places += _of_entity(kind, entity, number, case["answer"] or "", contexts, starts)
    number = len(stated)
    promises = case["summary_non_definitive_evidence"].get("definitive", [])
    if case["summary_non_definitive_state"] == "ok":
        promises = []
    for phrase in promises:
        number += 1
        start, end = phrase["at"]
        places.append(("answer", start, end, "bad", number, say("Definitive phrases")))
    for tag, due in case["summary_risk_coverage_evidence"].get("due", {}).items():
        number += 1
        offset = starts[due["context"]]
        start, end = due["context_at"]
        tip = f"{say('missing')}: {say(tag)}"
        places.append(("contexts", offset + start, offset + end, "missing", number, tip))
    return places


def _of_entity(
    kind: str,
    entity: Evidence,
    number: int,
    answer: str,
    contexts: Sequence[str],
    starts: Sequence[int],
) -> list[Place]:
    """The place of an entity in the summary, and that of the same value in the contexts."""
    start, end = entity["at"]
    tip = _tip(answer, entity["at"])
    if "context" not in entity:
        return [("answer", start, end, kind, number, tip)]
    context = contexts[entity["context"]]
    offset = starts[entity["context"]]
    source_start, source_end = entity["context_at"]
    tip = f"{tip} ⇄ {_tip(context, entity['context_at'])}"
    return [
        ("answer", start, end, kind, number, tip),
        ("contexts", offset + source_start, offset + source_end, kind, number, tip),
    ]


def _tip(text: str, place: Sequence[int]) -> str:
    """A figure and what it is said of."""
    start, end = place
    return f"{text[start:end]} · {item(text, place)}"


VIEW = SampleView(
    groups,
    card_ids,
    cards,
    LAYOUT,
    cell="found",
    given=("threshold",),
    compared=("answer",),
)


def sample_view(run: Run) -> SampleView:
    """How cases are browsed.

    The legend says what comparing values cannot see, where any was found to be supported.
    """
    for evidence in run.units["summary_accuracy_evidence"]:
        if evidence.get("supported"):
            return replace(VIEW, layout=replace(LAYOUT, legend=LEGEND))
    return VIEW


def first_screen(run: Run) -> HtmlTable:
    """The cases that must not ship, or that need a look, the worst first, with the reason in a line."""
    cases = in_order(run.units[run.units["state"] != "ok"])
    if cases.empty:
        return stack([])
    shown = cases.head(WORST)
    frame = pd.DataFrame(
        {
            "case": [_link(case_id) for case_id in shown["case_id"]],
            "state": shown["state"].map(say).tolist(),
            "reason": in_short(shown),
            "summary": shown["answer"].fillna("").tolist(),
        },
        dtype=object,
    )
    pieces = [table(frame)]
    if len(cases) > WORST:
        pieces.append(words(say("and {n} more below", n=len(cases) - WORST)))
    return stack(pieces)


def _link(case_id: str) -> Markup:
    """A link to the card of a case."""
    return Markup('<a href="#{}">{}</a>').format(anchor("sample", case_id), marked(case_id))
