"""The columns of a table of scores: a row for each sample and metric."""

from __future__ import annotations

COLUMNS = (
    "id",
    "metric",
    "condition",
    "seed",
    "trial",
    "cluster",
    "text",
    "value",
    "num",
    "den",
    "low",
    "high",
    "higher_is_better",
)
"""The columns that have a meaning. Any others are further columns of the units."""
