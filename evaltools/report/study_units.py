"""The units of a study in one frame, the runs over some of these units, and units by their parts."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from ..core.errors import UsageError
from ..stats.breakdown import PART, by_parts
from ..stats.design import Runs, Seed
from .run import Run
from .run_groups import Conditions

OF_RUN = ("condition", "seed", "run")
"""Columns that tell of which run a unit is."""


def units_of_conditions(conditions: Conditions) -> pd.DataFrame:
    """The units of all runs, one below the other, with the columns OF_RUN."""
    frames = []
    for condition, of_seed in conditions.items():
        for seed, run in of_seed.items():
            frames.append(run.units.assign(condition=condition, seed=seed, run=run.name))
    return pd.concat(frames, ignore_index=True)


def conditions_over(conditions: Conditions, part: str | pd.DataFrame) -> Conditions:
    """The same conditions, each run over some of its units.

    `part`: a query on the units, or rows of `units_of_conditions`. UsageError where a run has none of them.
    """
    over: Conditions = {}
    first = 0
    for condition, of_seed in conditions.items():
        over[condition] = {}
        for seed, run in of_seed.items():
            of_run: str | pd.DataFrame = part
            if isinstance(part, pd.DataFrame):
                of_run = _rows_of_run(part, run, first)
                first += len(run.units)
            over[condition][seed] = run.where(of_run)
    return over


def frames_in_parts(of_seed: Mapping[str, Run], column: str) -> Runs:
    """Seed -> units as stored of the runs of a condition, with the part of each row."""
    frames: dict[Seed, pd.DataFrame] = {}
    for seed, run in of_seed.items():
        frames[seed] = run.data.assign(**{PART: by_parts(run.units, column)})
    return frames


def _rows_of_run(units: pd.DataFrame, run: Run, first: int) -> pd.DataFrame:
    """The rows of one run among the units of a study, where its own begin at `first`.

    UsageError where rows at these places are of another run, as behind a new index.
    """
    rows = units[(units.index >= first) & (units.index < first + len(run.units))]
    if "run" not in rows or not rows["run"].eq(run.name).all():
        raise UsageError("expected rows of the units of {run}, with their index", run=run.name)
    rows = rows.set_axis(run.units.index[rows.index - first])
    foreign = list(OF_RUN)
    for column in rows.columns.difference(run.units.columns):
        if rows[column].isna().all():  # only other runs have it
            foreign.append(column)
    return rows.drop(columns=foreign)
