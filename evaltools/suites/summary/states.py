"""What is to become of a summary: fail, look or ok. One definition for every page, file and gate.

A metric's state follows from its score and its evidence, a case's is the worst of its metrics:

    fail   a measured metric is below its threshold, or a source says the opposite
    look   a person must settle something: nothing is shown to be wrong, and not all could be compared
    ok     all else

Source: specification D35, D36.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import pandas as pd

from .rules import JUDGED, METRICS

State = Literal["fail", "look", "ok"]

STATES: tuple[State, ...] = ("fail", "look", "ok")
"""The worst first."""

WORD_OF: dict[State, str] = {"fail": "Do not ship", "look": "Check", "ok": "OK"}
"""What readers see of a state, on pages and in the workbook."""


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
    or there is none. decided_by: a confident judge ("llm") read both texts, and settles both; a
    clause of which it says that it does not hold fails.

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
        points = evidence.get("judge", {}).get("points", [])
        return "ok" if all(point["holds"] for point in points) else "fail"
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
        columns[f"{metric}_state"] = _states_of(units, metric)
    cases = [worst(states) for states in zip(*columns.values())]
    return units.assign(**columns, state=cases)


def _states_of(units: pd.DataFrame, metric: str) -> list[State]:
    columns = pd.DataFrame(
        {
            "evidence": units[f"{metric}_evidence"].map(json.loads),
            "measured": units[f"{metric}_measured"],
            "passed": units.get(f"{metric}_passed", True),
            "decided_by": units[f"{metric}_decided_by"],
        }
    )
    return [metric_state(metric, **row) for row in columns.to_dict("records")]
