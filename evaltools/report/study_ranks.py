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
    is_primary = metric.name == study.primary
    tests = study.joint if is_primary else None
    tests = tests or study.all_pairs(metric.name)
    pairs = _as_compared(study, tests.pairs) if is_primary else tests.pairs
    return ranks(values, pairs, metric, 1 - study.resampling.confidence)


def _as_compared(study: Study, pairs: pd.DataFrame) -> pd.DataFrame:
    """The pairs, those with the baseline as their verdicts say: no p where no difference was shown."""
    rows = []
    table = study_tables.comparison(study, headline=False)
    of_primary = table[table["metric"] == study.primary].set_index("candidate")
    for pair in pairs.to_dict("records"):
        names = [pair["baseline"], pair["candidate"]]
        if study.baseline in names:
            names.remove(study.baseline)
            compared = of_primary.loc[names[0]]
            is_shown = compared["verdict"] in ("better", "worse")
            pair["baseline"], pair["candidate"] = study.baseline, names[0]
            pair["delta"] = compared["delta"]
            pair["p_adjusted"] = compared["p_adjusted"] if is_shown else np.nan
        rows.append(pair)
    return pd.DataFrame(rows, columns=pairs.columns)
