"""Tables and words of a study for its report. Each function takes a Study and returns a frame or text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from ..stats.agreement import COLUMNS as AGREEMENT
from ..stats.design import Runs
from ..stats.seeds import seed_values

if TYPE_CHECKING:
    from .study import Study


def _by_condition(frames: Mapping[str, pd.DataFrame], names: Sequence[str]) -> pd.DataFrame:
    """The rows of these metrics, in this order, under each condition, which stands in a column of its own."""
    parts = []
    for condition, frame in frames.items():
        rows = frame.set_index("metric", drop=False).loc[list(names)]
        parts.append(rows.assign(condition=condition))
    return pd.concat(parts, ignore_index=True)


def estimates(study: Study, names: Sequence[str] | None = None) -> pd.DataFrame:
    """The conditions' estimates of these metrics (default: the headline), in the form of `core.estimates`.

    A value is the mean over seeds; of systems without seeds it is that of their one run.
    """
    names = study.headline if names is None else names
    if study.seeded:
        return _by_condition(study.aggregates, names)
    alone = {}
    for condition, of_seed in study.conditions.items():
        run = next(iter(of_seed.values()))
        alone[condition] = run.estimates
    return _by_condition(alone, names)


SCORES = ("condition", "name", "title", "value", "std", "ci_low", "ci_high", "n_units", "n_seeds")
"""The columns of `scores`."""


def scores(study: Study) -> pd.DataFrame:
    """The headline of every condition: SCORES."""
    rows = estimates(study).rename(columns={"metric": "name"})
    return rows[list(SCORES)].reset_index(drop=True)


def per_seed(study: Study) -> pd.DataFrame:
    """The headline of every run: metric, seed, value, n_units, condition, title."""
    titles = {m.name: m.title for m in study.metrics if m.name in study.headline}
    frames = []
    for condition in study.conditions:
        values = seed_values(study.frames(condition), study.metrics, study.suite.unit)
        frames.append(values.assign(condition=condition))
    values = pd.concat(frames, ignore_index=True)
    values = values[values["metric"].isin(list(titles))].reset_index(drop=True)
    return values.assign(title=values["metric"].map(titles))


def comparison(study: Study, *, headline: bool = True) -> pd.DataFrame:
    """Every candidate against the baseline; `headline` keeps the headline metrics only."""
    tables = []
    for compared in study.comparisons.values():
        rows = compared.table.set_index("metric", drop=False)
        if headline:
            rows = rows.loc[[name for name in study.headline if name in rows.index]]
        tables.append(rows)
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def deltas(study: Study) -> pd.DataFrame:
    """Headline differences as estimates for a forest plot: metric, title, condition, value, ci, n_units."""
    rows = comparison(study)
    return rows.rename(columns={"delta": "value", "candidate": "condition"})


def agreement(study: Study) -> pd.DataFrame:
    """How far the seeds of each condition agree: condition, then the columns of `stats.agreement`."""
    frames = []
    for condition, of_seed in study.conditions.items():
        if study.suite.agreement is not None and len(of_seed) > 1:
            units: Runs = {seed: run.units for seed, run in of_seed.items()}
            frame = study.suite.agreement(units, study.resampling)
            frame.insert(0, "condition", condition)
            frames.append(frame)
    if not frames:
        return pd.DataFrame(columns=["condition", *AGREEMENT])
    return pd.concat(frames, ignore_index=True)
