"""What the nominal 95% intervals covered in simulation, for reports to say where that is not 95%.

The numbers are in coverage.json, of the method "auto", measured by benchmarks/coverage.py; the full tables are in
docs/statistics.md.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from ..core.language import say
from ..core.metric import AnyMetric, Metric, MetricTable

BAND = (0.935, 0.965)
RARE = 0.1
"""A rate this close to 0 or 1 counts as rare."""

REACH = 2
"""What was simulated speaks for numbers within this factor of it."""

_SIMULATED = json.loads(Path(__file__).with_name("coverage.json").read_text(encoding="utf-8"))

MEASURED: Mapping[str, Mapping[int, tuple[float, float]]] = {
    name: {int(n): (low, high) for n, (low, high) in entry["coverage"].items()}
    for name, entry in _SIMULATED.items()
}
"""Kind of interval -> number of resampling units -> lowest and highest coverage over the settings simulated."""

TITLES: Mapping[str, str] = {name: entry["title"] for name, entry in _SIMULATED.items()}


CELLS = 7
"""Rows of a clustered unit in the simulation, on average."""


def kind(metric: AnyMetric, value: float, n_seeds: int = 1, rows: float = 1.0) -> str | None:
    """The row of MEASURED that a metric of this value belongs to; None where nothing like it was simulated.

    Seeds count as the nearest lower number simulated. `rows` is how many rows a unit has on average. Differences
    and means of other metrics were not simulated, nor rare rates in clusters, clusters of other sizes, micro F1 near
    its limits, and metrics without limits or with others than 0 and 1 (but a net gain near 0, from -1 to 1).
    """
    if not isinstance(metric, Metric) or not metric.denominator or n_seeds > REACH * 10:
        return None
    least, most = metric.limits
    if math.isinf(most - least):
        return None
    near = min(value - least, most - value) < RARE * (most - least)
    if rows > 1:
        alike = CELLS / REACH <= rows <= CELLS * REACH
        return "clusters" if n_seeds == 1 and metric.proportion and not near and alike else None
    if least < 0:
        found = "net gain" if (least, most) == (-1.0, 1.0) and abs(value) < RARE else None
    elif metric.proportion:
        found = "rate, rare" if near else "rate"
    elif "+" in metric.denominator:
        found = None if near else "micro"
    else:
        found = "near 1" if near else "mean"
    if n_seeds == 1 or found is None:
        return found
    over = f"{max(k for k in (2, 3, 5, 10) if k <= n_seeds)} seeds"
    return f"{over} {found}" if f"{over} {found}" in MEASURED else over


def coverage_note(kind: str | None, n: int) -> str | None:
    """What intervals of this kind and about this many units covered in simulation, a sentence.

    None where no kind is given, or n is not within a factor of REACH of a number simulated. KeyError for a kind that
    MEASURED lacks.
    """
    if kind is None or not min(MEASURED[kind]) / REACH <= n <= max(MEASURED[kind]) * REACH:
        return None
    at = min(MEASURED[kind], key=lambda size: abs(math.log(size / n)))
    low, high = MEASURED[kind][at]
    ends = {"low": 100 * low, "high": 100 * high}
    share = f"{100 * low:.1f}%" if low == high else say("{low:.1f} to {high:.1f}%", **ends)
    narrow, wide = low < BAND[0], high > BAND[1]
    judged = (
        say(" (narrower than they claim in some settings, wider than they need be in others)")
        if narrow and wide
        else say(" (narrower than they claim)")
        if narrow
        else say(" (wider than they need be)")
        if wide
        else ""
    )
    return say(
        "95% intervals of {what} at about {n} units covered the truth in {share} of simulated data sets{judged}.",
        what=say(TITLES[kind]),
        n=at,
        share=share,
        judged=judged,
    )


def coverage_notes(estimates: pd.DataFrame, table: MetricTable, rows: float = 1.0) -> pd.DataFrame:
    """What simulation says of the intervals of estimates (name, title, value, ci_low, n_units, maybe n_seeds).

    note, metrics (titles, joined); no row where nothing of that kind and size was
    simulated. `rows` is how many rows a unit has on average.
    """
    metrics = {m.name: m for m in table}
    found = [
        (
            coverage_note(
                kind(metrics[e["name"]], e["value"], int(e.get("n_seeds", 1)), rows), e["n_units"]
            ),
            e["title"],
        )
        for e in estimates[estimates["ci_low"].notna()].to_dict("records")
    ]
    said = pd.DataFrame([n for n in found if n[0]], columns=["note", "title"]).drop_duplicates()
    return said.groupby("note", sort=False)["title"].agg("; ".join).rename("metrics").reset_index()
