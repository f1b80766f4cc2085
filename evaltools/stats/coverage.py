"""What the nominal 95% intervals covered in simulation, for reports to say where that is not 95%.

The numbers are in coverage.json, measured by benchmarks/coverage.py; the full tables are in docs/statistics.md.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

BAND = (0.935, 0.965)
RARE = 0.1
"""A rate this close to 0 or 1 counts as rare."""

_SIMULATED = json.loads(Path(__file__).with_name("coverage.json").read_text(encoding="utf-8"))

MEASURED: Mapping[str, Mapping[int, tuple[float, float]]] = {
    name: {int(n): (low, high) for n, (low, high) in entry["coverage"].items()} for name, entry in _SIMULATED.items()
}
"""Kind of interval -> number of resampling units -> lowest and highest coverage over the settings simulated."""

TITLES: Mapping[str, str] = {name: entry["title"] for name, entry in _SIMULATED.items()}


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
