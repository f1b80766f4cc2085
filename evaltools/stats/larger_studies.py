"""What would settle a difference that is not shown: what a larger study could show of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .detectable import smallest_difference, units_needed
from .variance import Components


@dataclass(frozen=True)
class LargerStudy:
    """A study that is larger than one that was made, and the `mde` to expect of it.

    `code`: "more-seeds" (two more) or "more-samples" (twice as many). `share`: the mde as a part of
    today's.
    """

    code: str
    mde: float
    share: float


def larger_studies(
    row: Mapping[Any, Any],
    confidence: float = 0.95,
) -> list[LargerStudy]:
    """What larger studies could show of a "tied" row of `Comparison.table`, the best first.

    [] for every other verdict. Each mde is today's times the ratio of what the variance components
    let expect then and now. Of a study of one seed, more seeds cannot be spoken of.
    """
    if row["verdict"] != "tied" or pd.isna(row["mde"]):
        return []
    n, seeds = int(row["n_units"]), int(row["n_seeds"])
    components = _components_of(row, confidence)
    level = np.array(row["level"])
    units = units_needed(level, np.array(False))

    def expected(times: int, more_seeds: int) -> float:
        spread = components.spread(times * n, seeds + more_seeds)
        error, _, df = spread.widest(confidence)
        each = row["each"] / times
        return float(smallest_difference(error, df, level, each, units, np.array(np.nan)))

    now = expected(1, 0)
    shares = {"more-samples": expected(2, 0) / now}
    if seeds > 1:
        shares["more-seeds"] = expected(1, 2) / now
    studies = []
    for code, share in shares.items():
        studies.append(LargerStudy(code, row["mde"] * share, share))
    return sorted(studies, key=lambda study: study.share)


def _components_of(
    row: Mapping[Any, Any],
    confidence: float,
) -> Components:
    """The variance components of the difference in a row.

    Whether the seeds of both sides were pooled shows in the degrees of freedom.
    """
    n, seeds = int(row["n_units"]), int(row["n_seeds"])
    parts = row["var_seed"] * seeds, row["var_sample"] * n, row["var_residual"] * n * seeds

    def distance(components: Components) -> float:
        df = components.spread(n, seeds).widest(confidence)[2]
        return abs(float(df) - row["df"])

    return min(Components(*parts), Components(*parts, sides=2), key=distance)
