"""What an interval speaks for, as phrases that pages and files show."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

NEW_DRAWS = "new samples, new draws"
"""Of one run of each system whose samples were drawn several times (the column `trial`)."""

THIS_SYSTEM = "new samples, this system"
"""Of one run: what to expect of the same system on other samples."""

NEW_SEEDS = "new seeds and new samples"
"""Over seeds: what to expect of another seed on other samples."""

THESE_SYSTEMS = "new samples, these systems"
"""Of a difference of one run each."""

THESE_SEEDS = "new samples, these seeds"
"""Of a difference where one side has one seed only."""


def with_trials(
    rows: pd.DataFrame,
    frames: Iterable[pd.DataFrame],
    unit: str,
) -> pd.DataFrame:
    """The estimates or differences of some frames, whose intervals speak for new draws where the frames hold trials."""
    if not has_trials(frames, unit):
        return rows
    claims = rows["claim"].replace([THIS_SYSTEM, THESE_SYSTEMS], NEW_DRAWS)
    return rows.assign(claim=claims)


def has_trials(
    frames: Iterable[pd.DataFrame],
    unit: str,
) -> bool:
    """Whether every frame holds several trials of some sample."""
    for frame in frames:
        if "trial" not in frame.columns:
            return False
        sample = "item" if "item" in frame.columns else unit
        if not frame[sample].duplicated().any():
            return False
    return True
