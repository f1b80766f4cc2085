"""The ranks of the conditions of a study, which its verdicts cannot contradict."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..core.metric import AnyMetric
from ..stats.ranks import CONTRACT, ranks
from . import study_tables

if TYPE_CHECKING:
    from .study import Study


def ranks_of(study: Study, metric: AnyMetric) -> pd.DataFrame:
    """The conditions of a study from the best on, on one metric (`stats.ranks`)."""
    rows = []
    for condition, estimates in study.aggregates.items():
        row = estimates.set_index("metric").loc[metric.name]
        rows.append((condition, row["value"], row["ci_low"], row["ci_high"]))
    values = pd.DataFrame(rows, columns=list(CONTRACT[:4]))
    level = 1 - study.resampling.confidence
    return ranks(values, _tested_pairs(study, metric), metric, level)


def _tested_pairs(study: Study, metric: AnyMetric) -> pd.DataFrame:
    """Every pair of conditions with its test on one metric; on the primary one as the verdicts say."""
    if metric.name != study.primary:
        return study.all_pairs(metric.name).pairs
    tests = study.joint
    if tests is None:
        tests = study.all_pairs(metric.name)
    return _as_compared(study, tests.pairs)


def _as_compared(study: Study, pairs: pd.DataFrame) -> pd.DataFrame:
    """The pairs, those with the baseline as their verdicts say: no p where no difference was shown."""
    table = study_tables.comparison(study, headline=False)
    of_primary = table[table["metric"] == study.primary]
    by_candidate = of_primary.set_index("candidate")
    rows = []
    for pair in pairs.to_dict("records"):
        names = [pair["baseline"], pair["candidate"]]
        if study.baseline in names:
            names.remove(study.baseline)
            (candidate,) = names
            compared = by_candidate.loc[candidate]
            pair["baseline"] = study.baseline
            pair["candidate"] = candidate
            pair["delta"] = compared["delta"]
            pair["p_adjusted"] = np.nan
            if compared["verdict"] in ("better", "worse"):
                pair["p_adjusted"] = compared["p_adjusted"]
        rows.append(pair)
    return pd.DataFrame(rows, columns=pairs.columns)
