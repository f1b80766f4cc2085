"""Settings of the intervals, the one form of an estimate, and the frames that are made from it for users and files.

A run, a condition over its seeds and a part of a run all hold rows of COLUMNS. Every public frame, metrics.json and
every CSV of estimates is made here, so that their column names are decided in one place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from .check import Check

# A row of estimates, or of a comparison
Row = Mapping[Any, Any]

# A row a metric: its name and title; the condition ("" for a single run); the value (over several seeds their mean)
# and the standard deviation between seeds; its interval and how that was made; the sums that it is a ratio of; how many
# units and seeds it rests on; its group, the direction in which it improves, and the code of the check that says that it
# means nothing here. Null: not measured, no interval, or not blocked.
COLUMNS = (
    "metric",
    "title",
    "condition",
    "value",
    "std",
    "ci_low",
    "ci_high",
    "ci_method",
    "numerator",
    "denominator",
    "n_units",
    "n_seeds",
    "group",
    "better",
    "blocked",
)

# the columns of `run.frame`, of `et.estimate` and of metrics.json
PUBLIC = (
    "name",
    "title",
    "value",
    "ci_low",
    "ci_high",
    "ci_method",
    "numerator",
    "denominator",
    "n_units",
    "group",
    "better",
    "blocked",
)

NUMBERS = ("value", "ci_low", "ci_high", "numerator", "denominator")


def complete(
    estimates: pd.DataFrame,
    condition: str = "",
) -> pd.DataFrame:
    """The estimates with all of COLUMNS first; what they lack is null, or that of one run of this condition."""
    of_one_run = {**dict.fromkeys(COLUMNS), "condition": condition, "n_seeds": 1}
    return pd.DataFrame({**of_one_run, **estimates}, estimates.index)


def marked_blocked(
    rows: pd.DataFrame,
    checks: Iterable[Check],
) -> pd.DataFrame:
    """Estimates, or a comparison, with the column `blocked`: the code of the check that blocks a metric, else null.

    What is blocked has no interval.
    """
    codes = {name: check.code for check in reversed([*checks]) for name in check.blocks}
    rows = rows.assign(blocked=pd.Series(map(codes.get, rows["metric"]), rows.index, object))
    rows.loc[rows["blocked"].notna(), ["ci_low", "ci_high", "ci_method"]] = np.nan, np.nan, "none"
    return rows


def public_frame(estimates: pd.DataFrame) -> pd.DataFrame:
    """The estimates as users see them: PUBLIC, the column `metric` being called `name`."""
    return estimates.rename(columns={"metric": "name"})[list(PUBLIC)]


def from_public(frame: pd.DataFrame) -> pd.DataFrame:
    """The estimates of a public frame, as read back from metrics.json."""
    return complete(frame.rename(columns={"name": "metric"}).astype(dict.fromkeys(NUMBERS, float)))


def plain_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame as JSON can hold them: a null is None, numbers are Python's own."""
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


def is_null(value: Any) -> bool:
    """Whether a cell of a frame holds nothing: None, NaN, NA or NaT. A list is something, also where it is empty."""
    return bool(pd.api.types.is_scalar(value) and pd.isna(value))


Method = Literal["auto", "bca", "percentile"]


class Resampling(BaseModel):
    """How intervals are made.

    `method`: "bca" or "percentile" is that bootstrap wherever there are enough units; "auto" is BCa where the data
    carry it, and a score interval for bounded metrics where they do not (docs/statistics.md).
    `n_resamples`: number of bootstrap resamples, 100 to 10 million. `confidence`: level of the intervals, between 0 and 1.
    `seed`: seed of the generator of random numbers.

    Raises ValueError for a setting out of its range.

    >>> Resampling(n_resamples=2_000).confidence
    0.95
    """

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    method: Method = "auto"
    n_resamples: int = Field(10_000, ge=100, le=10_000_000)
    confidence: float = Field(0.95, gt=0, lt=1)
    seed: int = Field(0, ge=0)

    @property
    def level(self) -> float:
        """The level of the tests: 0.05 for intervals of 95%."""
        return round(1 - self.confidence, 12)

    @property
    def percent(self) -> str:
        """The confidence as it is shown: "95%"."""
        return f"{100 * self.confidence:.4g}%"
