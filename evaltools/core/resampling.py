"""The settings of all intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .errors import UsageError
from .records import all_wrong

Method = Literal["auto", "bca", "percentile"]


class Resampling(BaseModel):
    """How intervals are made.

    `method`: "bca" or "percentile" is that bootstrap wherever there are enough units; "auto" is BCa where the data
    carry it, and a score interval for bounded metrics where they do not (docs/statistics.md, "One run").
    `n_resamples`: number of bootstrap resamples, 100 to 10 million. `confidence`: level of the intervals, between 0 and 1.
    `seed`: seed of the generator of random numbers.

    Raises ValueError for a setting out of its range.

    >>> Resampling(n_resamples=2_000).confidence
    0.95
    """

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    method: Method = "auto"
    n_resamples: int = Field(10_000, ge=100, le=10_000_000)
    confidence: float = Field(0.95, gt=0, lt=1)
    seed: int = 0

    @property
    def level(self) -> float:
        """The level of the tests: 0.05 for intervals of 95%."""
        return round(1 - self.confidence, 12)

    @property
    def percent(self) -> str:
        """The confidence as it is shown: "95%"."""
        return f"{100 * self.confidence:.4g}%"


def make_resampling(
    defaults: Resampling,
    settings: Mapping[str, Any],
) -> Resampling:
    """The defaults with those settings changed that are not None. UsageError for a setting out of its range.

    >>> make_resampling(Resampling(), {"n_resamples": 500}).n_resamples
    500
    """
    changed = {name: value for name, value in settings.items() if value is not None}
    try:
        return Resampling(**{**defaults.model_dump(), **changed})
    except ValidationError as e:
        raise UsageError(f"settings of the intervals: {all_wrong(e)}") from e
