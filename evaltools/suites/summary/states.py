"""What is to become of a summary: fail, look or ok, and whether a file passes. One definition for every page and gate.

A metric's state follows from its score and its evidence, a case's is the worst of its metrics:

    fail   a measured metric is below its threshold, or a source says the opposite
    look   a person must settle something: nothing is shown to be wrong, and not all could be compared
    ok     all else

Source: specification D22, D24, D35, D36.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import pandas as pd

from ...core.language import say
from ...report.run import Run
from .options import rules_in_force
from .rules import JUDGED, METRICS

State = Literal["fail", "look", "ok"]

WORD_OF: dict[State, str] = {"fail": "Do not ship", "look": "Check", "ok": "OK"}
"""What readers see of a state, on pages and in the workbook."""

STATES = tuple(WORD_OF)
"""The worst first."""

TERMS = {
    "summary_accuracy": "Summary accuracy",
    "summary_risk_coverage": "Risk coverage",
    "summary_non_definitive": "Non-definitive",
    "summary_needs_followup": "Follow-up",
    "entity_recall": "Entity recall",
}
"""What they see of a score."""


FIGURES = frozenset({"amount", "percent", "duration", "date"})
"""Kinds of entities of which a single one without support makes a summary wrong (D23)."""


WORDS = ("condition", "document")
"""Kinds of entities that are no figures: a person looks at any other that no source states, whatever the score."""


def worst(states: Iterable[State]) -> State:
    """The worst of some states; "ok" of none.

    >>> worst(["ok", "look"])
    'look'
    """
    return min(states, key=STATES.index, default="ok")


def metric_state(
    metric: str,
    evidence: Mapping[str, Any],
    *,
    measured: bool,
    passed: bool,
    decided_by: str = "rule",
) -> State:
    """The state of one metric of one case.

    evidence: as the scores have it. `contradicted`: values of the summary of which a source says
    the opposite. `look`: what only a person can settle, each with `why` in words, and with `text`,
    `at`, `context` and `context_at` where it has a place. passed: the score reaches the threshold,
    or there is none. decided_by: a confident judge ("llm") read both texts, and settles both.

    >>> metric_state("summary_accuracy", {}, measured=True, passed=False)
    'fail'
    >>> metric_state("summary_accuracy", {"unread": ["2월 30일"]}, measured=True, passed=True)
    'look'
    """
    if metric not in JUDGED:
        return "ok"
    if measured and not passed:
        return "fail"
    if decided_by == "llm":
        return "ok"
    if evidence.get("contradicted"):
        return "fail"
    if metric == "summary_accuracy" and not measured:
        return "look"
    if any(entity["kind"] not in WORDS for entity in evidence.get("unsupported", [])):
        return "look"
    is_open = any(evidence.get(name) for name in ("look", "unread", "unknown_tags"))
    return "look" if is_open else "ok"


def with_states(units: pd.DataFrame) -> pd.DataFrame:
    """The units with `METRIC_state` of each metric, and `state` of the case.

    units: as they stand in a result's file, with evidence as JSON text.
    """
    columns: dict[str, list[State]] = {}
    for metric in METRICS:
        measured, decided_by = units[f"{metric}_measured"], units[f"{metric}_decided_by"]
        passed = units.get(f"{metric}_passed", [True] * len(units))
        columns[f"{metric}_state"] = [
            metric_state(
                metric,
                json.loads(evidence),
                measured=m,
                passed=p,
                decided_by=by,
            )
            for evidence, m, p, by in zip(units[f"{metric}_evidence"], measured, passed, decided_by)
        ]
    cases = [worst(states) for states in zip(*columns.values())]
    return units.assign(**columns, state=cases)


VERDICT: dict[State, str] = {"fail": "fail", "look": "look", "ok": "pass"}
"""What the worst state of its cases makes of a metric."""


def state_counts(states: pd.Series) -> dict[str, int]:
    """How many cases are in each state, the worst first."""
    return {state: int((states == state).sum()) for state in STATES}


def verdicts(run: Run) -> pd.DataFrame:
    """The verdict on the cases (`metric` is "state"), then those of the metrics."""
    states = run.data["state"]
    template = "{fail} of {n} must not ship, {look} to look at"
    of_cases = {
        "metric": "state",
        "title": "Summaries",
        "verdict": VERDICT[worst(states)],
        "said": say(template, **state_counts(states), n=len(states)),
    }
    return pd.concat([pd.DataFrame([of_cases]), metric_verdicts(run)], ignore_index=True)


def metric_verdicts(run: Run) -> pd.DataFrame:
    """One row a judged metric: its verdict, and how many cases fail, are to be looked at, or could not be measured."""
    thresholds = rules_in_force(run.options).thresholds
    titles = run.frame.set_index("name")["title"]
    units = run.data
    template = "{fail} of {n} fail, {look} to look at, {unmeasured} not measured (≥ {threshold})"
    rows = []
    for metric in JUDGED:
        states = units[f"{metric}_state"]
        counts = state_counts(states)
        n_measured = int(units[f"{metric}_measured"].sum())
        numbers = {**counts, "n": len(units), "unmeasured": len(units) - n_measured}
        row = {
            "metric": metric,
            "title": titles[metric],
            "verdict": VERDICT[worst(states)] if n_measured else "not measured",
            "said": say(template, **numbers, threshold=f"{thresholds[metric]:g}"),
            "failing": counts["fail"],
            "look": counts["look"],
            "not_measured": len(units) - n_measured,
        }
        rows.append(row)
    return pd.DataFrame(rows)


def finding(run: Run) -> tuple[str, str]:
    """What a page says first: how many summaries must not ship, and how the others stand."""
    counts = state_counts(run.data["state"])
    first = say("{k} of {n} summaries must not ship", k=counts["fail"], n=len(run.data))
    return first, say("{look} more to look at, {ok} ok", look=counts["look"], ok=counts["ok"])
