"""The frames of a study: its estimates, differences, agreement of seeds, and ranks. Each function takes a Study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..core.metric import AnyMetric
from ..stats.agreement import COLUMNS as AGREEMENT
from ..stats.ranks import CONTRACT, ranks

if TYPE_CHECKING:
    from .study import Study


def estimates(study: Study, names: Sequence[str] | None = None) -> pd.DataFrame:
    """The conditions' estimates of these metrics (default: the headline), in the form of `core.estimates`.

    A value is the mean over seeds; of systems without seeds it is that of their one run.
    """
    if names is None:
        names = study.headline
    parts = []
    for condition, of_seed in study.conditions.items():
        frame = study.aggregates[condition]
        if not study.seeded:
            (run,) = of_seed.values()
            frame = run.estimates
        by_name = frame.set_index("metric", drop=False)
        rows = by_name.loc[list(names)]
        parts.append(rows.assign(condition=condition))
    return pd.concat(parts, ignore_index=True)


SCORES = ("condition", "name", "title", "value", "std", "ci_low", "ci_high", "n_units", "n_seeds")
"""The columns of `scores`."""


def scores(study: Study) -> pd.DataFrame:
    """The headline of every condition: SCORES."""
    rows = estimates(study).rename(columns={"metric": "name"})
    return rows[list(SCORES)]


def comparison(study: Study, *, headline: bool = True) -> pd.DataFrame:
    """Every candidate against the baseline; `headline` keeps the headline metrics only."""
    tables = []
    for compared in study.comparisons.values():
        rows = compared.table
        if headline:
            by_name = rows.set_index("metric", drop=False)
            names = [name for name in study.headline if name in by_name.index]
            rows = by_name.loc[names]
        tables.append(rows)
    if not tables:
        return pd.DataFrame()
    return pd.concat(tables, ignore_index=True)


def deltas(study: Study) -> pd.DataFrame:
    """Headline differences as estimates for a forest plot: metric, title, condition, value, ci, n_units."""
    rows = comparison(study)
    return rows.rename(columns={"delta": "value", "candidate": "condition"})


def agreement(study: Study) -> pd.DataFrame:
    """How far the seeds of each condition agree: condition, then the columns of `stats.agreement`."""
    frames = []
    agreement_of = study.suite.agreement
    for condition, of_seed in study.conditions.items():
        if agreement_of is None or len(of_seed) < 2:
            continue
        units = {}
        for seed, run in of_seed.items():
            units[seed] = run.units
        frame = agreement_of(units, study.resampling)
        frame.insert(
            0,
            "condition",
            condition,
        )
        frames.append(frame)
    if not frames:
        return pd.DataFrame(columns=["condition", *AGREEMENT])
    return pd.concat(frames, ignore_index=True)


def ranks_of(study: Study, metric: AnyMetric) -> pd.DataFrame:
    """The conditions of a study from the best on, on one metric (`stats.ranks`); on the primary one as verdicts say."""
    values = estimates(study, [metric.name])[list(CONTRACT[:4])]
    is_primary = metric.name == study.primary
    tests = study.joint if is_primary else None
    if tests is None:
        tests = study.all_pairs(metric.name)
    pairs = _as_compared(study, tests.pairs) if is_primary else tests.pairs
    return ranks(
        values,
        pairs,
        metric,
        study.resampling.level,
    )


def _as_compared(study: Study, pairs: pd.DataFrame) -> pd.DataFrame:
    """The pairs, those with the baseline as their verdicts say: no p where no difference was shown."""
    table = comparison(study, headline=False)
    is_primary = table["metric"] == study.primary
    by_candidate = table[is_primary].set_index("candidate", drop=False)
    rows = []
    for pair in pairs.to_dict("records"):
        names = {pair["baseline"], pair["candidate"]}
        if study.baseline in names:
            (candidate,) = names - {study.baseline}
            compared = by_candidate.loc[candidate]
            for column in ("baseline", "candidate", "delta", "p_adjusted"):
                pair[column] = compared[column]
            if compared["verdict"] not in ("better", "worse"):
                pair["p_adjusted"] = np.nan
        rows.append(pair)
    return pd.DataFrame(rows, columns=pairs.columns)
