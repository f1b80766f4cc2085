"""Whether a file of summaries passes: the same verdicts wherever they are shown.

Source: specification D22, D24, D35.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...core.language import say, stored_text
from .options import rules_in_force
from .rules import METRICS
from .states import JUDGED, STATES, State

if TYPE_CHECKING:
    from ...report.run import Run

WORDS: dict[State, str] = {"fail": "fail", "look": "look", "ok": "pass"}
"""What the worst state of its cases makes of a metric."""


def state_counts(states: pd.Series) -> dict[State, int]:
    """How many cases are in each state, the worst first."""
    counts = states.value_counts()
    return {state: int(counts.get(state, 0)) for state in STATES}


def verdict(units: pd.DataFrame, metric: str) -> str:
    """The verdict of a metric: "fail" where any case fails, else "look" where any needs a look.

    Else "pass". "no threshold" where the metric is not judged, and "not measured" where it is and
    no case was measured.
    """
    if metric not in JUDGED:
        return "no threshold"
    if not units[f"{metric}_measured"].any():
        return "not measured"
    return _word(state_counts(units[f"{metric}_state"]))


def _word(counts: dict[State, int]) -> str:
    for state, count in counts.items():
        if count:
            return WORDS[state]
    return WORDS["ok"]


def fails(units: pd.DataFrame) -> pd.DataFrame:
    """Whether each case fails, by metric that is judged."""
    return pd.DataFrame({metric: units[f"{metric}_state"] == "fail" for metric in JUDGED})


def verdicts(run: Run) -> pd.DataFrame:
    """The verdict on the cases (`metric` is "state"), then those of the metrics."""
    counts = state_counts(run.data["state"])
    of_cases = {
        "metric": "state",
        "title": "Summaries",
        "verdict": _word(counts),
        "said": stored_text(
            "{fail} of {n} must not ship, {look} to look at", **counts, n=len(run.data)
        ),
    }
    return pd.concat([pd.DataFrame([of_cases]), metric_verdicts(run)], ignore_index=True)


def metric_verdicts(run: Run) -> pd.DataFrame:
    """One row a metric: verdict, mean and number of the measured cases, how many fail.

    `mean` is over all cases, with the source document's number for each that could not be measured.
    """
    thresholds = rules_in_force(run.options).thresholds
    titles = run.frame.set_index("name")["title"]
    units = run.data
    rows = []
    for metric in METRICS:
        n_measured = int(units[f"{metric}_measured"].sum())
        row: dict[str, Any] = {
            "metric": metric,
            "title": titles[metric],
            "verdict": verdict(units, metric),
            "said": "",
            "measured": n_measured,
            "failing": None,
            "look": None,
            "not_measured": len(units) - n_measured,
            "threshold": thresholds.get(metric),
            "mean_measured": run.value(f"{metric}_measured"),
            "mean": run.value(metric),
        }
        if metric in JUDGED:
            counts = state_counts(units[f"{metric}_state"])
            row["failing"] = counts["fail"]
            row["look"] = counts["look"]
            row["said"] = _said(row, len(units))
        rows.append(row)
    frame = pd.DataFrame(rows)
    whole_numbers = ["measured", "failing", "look", "not_measured"]
    return frame.astype(dict.fromkeys(whole_numbers, "Int64"))


def _said(row: dict[str, Any], n_cases: int) -> str:
    """What the verdict of a metric with a threshold rests on, half a sentence."""
    return stored_text(
        "{fail} of {n} fail, {look} to look at, {unmeasured} not measured (≥ {threshold})",
        fail=row["failing"],
        n=n_cases,
        look=row["look"],
        unmeasured=row["not_measured"],
        threshold=f"{row['threshold']:g}",
    )


def finding(run: Run) -> tuple[str, str]:
    """What a page says first: how many summaries must not ship, and how the others stand."""
    counts = state_counts(run.data["state"])
    n = len(run.data)
    if counts["fail"]:
        first = say("{k} of {n} summaries must not ship", k=counts["fail"], n=n)
        if not counts["look"]:
            return first, say("{ok} ok", ok=counts["ok"])
        return first, say("{look} more to look at, {ok} ok", look=counts["look"], ok=counts["ok"])
    if counts["look"]:
        first = say("{k} of {n} summaries to look at", k=counts["look"], n=n)
        return first, say("none fails, {ok} ok", ok=counts["ok"])
    return say("No rule is broken in {n} summaries", n=n), ""
