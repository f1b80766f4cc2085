"""The frames of a study: its units, estimates, differences, agreement of seeds, and ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from ..core.errors import UsageError
from ..stats.agreement import COLUMNS as AGREEMENT
from ..stats.influence import Seed
from ..stats.ranks import ranks

if TYPE_CHECKING:
    from .run import Run
    from .run_groups import Conditions
    from .study import Study

# columns that tell of which run a unit is
# columns of ranks.csv, in order
RANKS = ("condition", "value", "ci_low", "ci_high", "rank_low", "rank_high")
OF_RUN = ["condition", "seed", "run"]


def units_of(study: Study) -> pd.DataFrame:
    """The units of all runs, one below the other, with the columns OF_RUN."""
    frames = []
    for condition, of_seed in study.conditions.items():
        for seed, run in of_seed.items():
            frames.append(run.units.assign(condition=condition, seed=seed, run=run.name))
    return pd.concat(frames, ignore_index=True)


def conditions_over(
    study: Study,
    part: str | pd.DataFrame,
) -> Conditions:
    """The conditions of a study, each run over some of its units: those of a query, or rows of `units_of`."""
    over: Conditions = {}
    of_runs = rows_of_runs(study, study.units if isinstance(part, str) else part)
    for condition, of_seed in study.conditions.items():
        over[condition] = {}
        for seed, run in of_seed.items():
            rows = of_runs[condition][seed]
            if isinstance(part, str):
                over[condition][seed] = with_columns(run, rows).where(part)
            else:
                over[condition][seed] = run.where(rows)
    return over


def with_columns(run: Run, units: pd.DataFrame) -> Run:
    """The run with the columns of `units`, all of its units, that it has not."""
    added = units.columns.difference(run.units.columns, sort=False)
    if added.empty:
        return run
    return replace(run, data=run.stored(run.units.join(units[added])))


def rows_of_runs(
    study: Study,
    units: pd.DataFrame,
) -> dict[str, dict[Seed, pd.DataFrame]]:
    """Condition -> seed -> the rows of its run among `units`, those of `units_of` or some of them."""
    rows: dict[str, dict[Seed, pd.DataFrame]] = {}
    first = 0
    for condition, of_seed in study.conditions.items():
        rows[condition] = {}
        for seed, run in of_seed.items():
            rows[condition][seed] = _rows_of_run(units, run, first)
            first += len(run.units)
    return rows


def _rows_of_run(
    units: pd.DataFrame,
    run: Run,
    first: int,
) -> pd.DataFrame:
    """The rows of one run among the units of a study, where its own begin at `first`; UsageError for rows of another."""
    end = first + len(run.units)
    is_here = (units.index >= first) & (units.index < end)
    rows = units[is_here]
    if "run" not in rows or not rows["run"].eq(run.name).all():
        raise UsageError(f"expected rows of the units of {run.name}, with their index")
    rows = rows.drop(columns=OF_RUN)
    is_of_others = rows.isna().all() & ~rows.columns.isin(run.units.columns)
    rows = rows.loc[:, ~is_of_others]
    return rows.set_axis(run.units.index[rows.index - first])


def estimates(
    study: Study,
    names: Sequence[str] | None = None,
) -> pd.DataFrame:
    """The conditions' estimates of these metrics (default: the headline), in the form of `core.estimates`.

    A value is the mean over seeds; of systems without seeds it is that of their one run.
    """
    wanted = list(study.headline if names is None else names)
    parts = []
    for condition, of_seed in study.conditions.items():
        frame = study.aggregates[condition]
        if not study.seeded:
            frame = of_seed[""].estimates
        rows = frame.set_index("metric", drop=False).loc[wanted]
        parts.append(rows.assign(condition=condition))
    return pd.concat(parts, ignore_index=True)


def comparison(
    study: Study,
    names: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Every candidate against the baseline on these metrics (default: the headline), without those of no direction."""
    if names is None:
        names = study.headline
    tables = []
    for compared in study.comparisons.values():
        by_name = compared.table.set_index("metric", drop=False)
        directed = [name for name in names if name in by_name.index]
        tables.append(by_name.loc[directed])
    if not tables:
        return pd.DataFrame()
    return pd.concat(tables, ignore_index=True)


def agreement(study: Study) -> pd.DataFrame:
    """How far the seeds of each condition agree: condition, then the columns of `stats.agreement`."""
    columns = ["condition", *AGREEMENT]
    frames = []
    for condition, of_seed in study.conditions.items():
        if study.suite.agreement is not None and len(of_seed) > 1:
            units = {seed: run.units for seed, run in of_seed.items()}
            frame = study.suite.agreement(units, study.resampling)
            frames.append(frame.assign(condition=condition))
    if not frames:
        return pd.DataFrame(columns=columns)
    return pd.concat(frames, ignore_index=True)[columns]


def rank(
    study: Study,
    metric: str | None = None,
) -> pd.DataFrame:
    """The conditions from the best on, with rank intervals that hold together (`stats.ranks`).

    `metric`: by default the primary one. Columns: condition, value, ci_low, ci_high, rank_low, rank_high.
    UsageError for one condition, an unknown metric, and one that has no direction or that a check blocks.

    >>> import evaltools as et
    >>> cmp = et.compare("example:cr/no_memory", "example:cr/with_memory")
    >>> list(cmp.rank("fix_rate_refpol")["condition"])
    ['with_memory', 'no_memory']
    """
    if len(study.conditions) == 1:
        raise UsageError(f"one condition only ({study.baseline}): nothing to rank")
    ranked = study.directed(study.primary if metric is None else metric)
    frames = {name: study.frames(name) for name in study.conditions}
    found = ranks(frames, study.metrics, study.suite.unit, ranked.name, study.resampling)
    of_conditions = estimates(study, [ranked.name]).merge(found, on="condition")
    return of_conditions.sort_values(
        "value", ascending=ranked.better == "lower", kind="stable", ignore_index=True
    )[list(RANKS)]
