"""Whether a file of summaries passes: the same verdicts wherever they are shown.

Source: specification D22, D24, D35.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ...core.language import say
from .options import rules_in_force
from .states import JUDGED, STATES, State, worst

if TYPE_CHECKING:
    from ...report.run import Run

WORDS: dict[State, str] = {"fail": "fail", "look": "look", "ok": "pass"}
"""What the worst state of its cases makes of a metric."""


def state_counts(states: pd.Series) -> dict[str, int]:
    """How many cases are in each state, the worst first."""
    return {state: int((states == state).sum()) for state in STATES}


def fails(units: pd.DataFrame) -> pd.DataFrame:
    """Whether each case fails, by metric that is judged."""
    return pd.DataFrame({metric: units[f"{metric}_state"] == "fail" for metric in JUDGED})


def verdicts(run: Run) -> pd.DataFrame:
    """The verdict on the cases (`metric` is "state"), then those of the metrics."""
    states = run.data["state"]
    template = "{fail} of {n} must not ship, {look} to look at"
    of_cases = {
        "metric": "state",
        "title": "Summaries",
        "verdict": WORDS[worst(states)],
        "said": say(template, **state_counts(states), n=len(states)),
    }
    return pd.concat([pd.DataFrame([of_cases]), metric_verdicts(run)], ignore_index=True)


def metric_verdicts(run: Run) -> pd.DataFrame:
    """One row a judged metric: verdict, mean and number of the measured cases, how many fail.

    `mean` is over all cases, with the source document's number for each that could not be measured.
    """
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
            "verdict": WORDS[worst(states)] if n_measured else "not measured",
            "said": say(template, **numbers, threshold=f"{thresholds[metric]:g}"),
            "measured": n_measured,
            "failing": counts["fail"],
            "look": counts["look"],
            "not_measured": len(units) - n_measured,
            "threshold": thresholds[metric],
            "mean_measured": run.value(f"{metric}_measured"),
            "mean": run.value(metric),
        }
        rows.append(row)
    return pd.DataFrame(rows)


def finding(run: Run) -> tuple[str, str]:
    """What a page says first: how many summaries must not ship, and how the others stand."""
    counts = state_counts(run.data["state"])
    first = say("{k} of {n} summaries must not ship", k=counts["fail"], n=len(run.data))
    return first, say("{look} more to look at, {ok} ok", look=counts["look"], ok=counts["ok"])
