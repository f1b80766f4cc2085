"""What the nominal 95% intervals covered in simulation, for reports to say where that is not 95%.

Measured by benchmarks/coverage.py; the full tables are in docs/statistics.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import pandas as pd

BAND = (0.935, 0.965)
RARE = 0.1
"""A rate this close to 0 or 1 counts as rare."""

MEASURED: Mapping[str, Mapping[int, tuple[float, float]]] = {
    "mean": {20: (0.9423, 0.9423), 50: (0.9463, 0.9463), 200: (0.951, 0.951), 600: (0.9525, 0.9525)},
    "rate, rare": {20: (0.9972, 0.9972), 50: (0.9808, 0.9822), 200: (0.967, 0.972), 600: (0.9565, 0.9655)},
    "rate": {20: (0.977, 0.977), 50: (0.9673, 0.9673), 200: (0.9507, 0.9507), 600: (0.956, 0.956)},
    "micro": {20: (0.9357, 0.9357), 50: (0.9465, 0.9465), 200: (0.9483, 0.9483), 600: (0.9527, 0.9527)},
    "clusters": {20: (0.9307, 0.9307), 50: (0.9435, 0.9435), 200: (0.9467, 0.9467), 600: (0.944, 0.944)},
    "2 seeds": {20: (0.975, 0.9882), 50: (0.967, 0.9902), 200: (0.9523, 0.9908), 600: (0.946, 0.9932)},
    "3 seeds": {20: (0.9515, 0.9683), 50: (0.9503, 0.9692), 200: (0.9437, 0.9705), 600: (0.9465, 0.9685)},
    "5 seeds": {20: (0.9477, 0.9583), 50: (0.9387, 0.963), 200: (0.9365, 0.9587), 600: (0.945, 0.9557)},
    "10 seeds": {20: (0.9465, 0.9525), 50: (0.9377, 0.9525), 200: (0.943, 0.9535), 600: (0.9423, 0.9603)},
    "2 seeds rate, rare": {20: (0.9902, 0.9938), 50: (0.995, 0.998), 200: (0.9775, 0.9948), 600: (0.9785, 0.9892)},
    "3 seeds rate, rare": {20: (0.9815, 0.9852), 50: (0.9473, 0.9708), 200: (0.9355, 0.9667), 600: (0.9353, 0.9692)},
    "5 seeds rate, rare": {20: (0.974, 0.9808), 50: (0.9403, 0.958), 200: (0.9375, 0.9615), 600: (0.9317, 0.9617)},
    "10 seeds rate, rare": {20: (0.9305, 0.9367), 50: (0.938, 0.9483), 200: (0.9397, 0.9525), 600: (0.9407, 0.9557)},
}
"""Kind of interval -> number of resampling units -> lowest and highest coverage over the settings simulated."""

TITLES: Mapping[str, str] = {
    "mean": "means",
    "micro": "micro F1",
    "rate": "rates",
    "rate, rare": "rates near 0 or 1",
    "clusters": "clustered units",
    **{f"{k} seeds": f"means over {k} seeds" for k in (2, 3, 5, 10)},
    **{f"{k} seeds rate, rare": f"rates near 0 or 1 over {k} seeds" for k in (2, 3, 5, 10)},
}


def kind(proportion: bool, value: float, n_seeds: int = 1, clustered: bool = False) -> str:
    """The row of MEASURED that comes closest to a metric; seeds count as the nearest lower number simulated."""
    rare = ", rare" if proportion and (value < RARE or value > 1 - RARE) else ""
    if n_seeds > 1:
        simulated = max(k for k in (2, 3, 5, 10) if k <= n_seeds)
        return f"{simulated} seeds rate, rare" if rare else f"{simulated} seeds"
    if clustered:
        return "clusters"
    return f"rate{rare}" if proportion else "mean"


def coverage_note(kind: str, n: int) -> str | None:
    """A sentence for intervals of this kind and about this many units where coverage left BAND; else None.

    `kind` is a key of MEASURED (KeyError for another). The number simulated that is nearest by ratio stands for n.
    """
    measured = MEASURED[kind]
    at = min(measured, key=lambda size: abs(math.log(size / max(n, 1))))
    low, high = measured[at]
    if BAND[0] <= low and high <= BAND[1]:
        return None
    shown = f"{100 * low:.1f}%" if low == high else f"{100 * low:.1f} to {100 * high:.1f}%"
    sides = ["narrower than they claim"] * (low < BAND[0]) + ["wider than they need be"] * (high > BAND[1])
    return (
        f"95% intervals of {TITLES[kind]} at about {at} units covered the truth in {shown} of simulated data sets "
        f"({' in some settings, '.join(sides)}{' in others' if len(sides) > 1 else ''})."
    )


def grouped_notes(notes: Iterable[tuple[str | None, str]]) -> pd.DataFrame:
    """(note, title of a metric), None for no note -> note, metrics (titles, joined); each pair counts once."""
    found = pd.DataFrame([n for n in notes if n[0]], columns=["note", "title"]).drop_duplicates()
    return found.groupby("note", sort=False)["title"].agg("; ".join).rename("metrics").reset_index()
