"""What would settle a difference that is not shown: what a larger study could show of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from .detectable import smallest_difference, units_needed
from .variance import Components


def larger_studies(
    row: Mapping[Any, Any],
    confidence: float = 0.95,
) -> dict[str, float]:
    """What larger studies could show of a "tied" row of `Comparison.table`, the best first.

    "more-seeds" (two more) and "more-samples" (twice as many) -> the mde to expect then, as a part
    of today's, by the variance components. Empty for every other verdict; of a study of one seed,
    more seeds cannot be spoken of.
    """
    if row["verdict"] != "tied" or pd.isna(row["mde"]):
        return {}
    n, seeds = int(row["n_units"]), int(row["n_seeds"])
    components = Components(
        seed=row["var_seed"] * seeds,
        sample=row["var_sample"] * n,
        residual=row["var_residual"] * n * seeds,
        sides=1 + row["pooled"],
    )
    level = np.array(row["level"])
    units = units_needed(level, np.array(False))

    def expected(times: int, more_seeds: int) -> float:
        spread = components.spread(times * n, seeds + more_seeds)
        error, _, df = spread.widest(confidence)
        each = row["each"] / times
        return float(
            smallest_difference(
                error,
                df,
                level,
                each,
                units,
                np.array(np.nan),
            )
        )

    now = expected(1, 0)
    shares = {"more-samples": expected(2, 0) / now}
    if seeds > 1:
        shares["more-seeds"] = expected(1, 2) / now
    return dict(sorted(shares.items(), key=lambda study: study[1]))
