"""The settings of all intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Method = Literal["auto", "bca", "percentile"]

CONSTANT = "t-wilson, no variation"
"""What `ci_method` says where no unit differs from another and only their number makes the interval."""


@dataclass(frozen=True)
class Resampling:
    """How intervals are made: `method`, number of resamples, confidence level, and the generator's seed.

    `method`: "bca" or "percentile" is that bootstrap wherever there are enough units; "auto" is BCa where the data
    carry it, and score intervals for bounded metrics where they do not (docs/statistics.md, "One run").

    ValueError for a level outside 0..1 and for fewer than 100 resamples.

    >>> Resampling(n_resamples=2_000).confidence
    0.95
    """

    method: Method = "auto"
    n_resamples: int = 10_000
    confidence: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise ValueError(f"confidence must lie between 0 and 1, got {self.confidence}")
        if self.n_resamples < 100:
            raise ValueError(f"n_resamples must be at least 100, got {self.n_resamples}")
