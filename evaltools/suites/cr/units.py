"""The units frame: one row a sample, with the columns that metrics sum and people filter by.

What a metric sums, and the section that defines it, stand in metrics.toml and metrics_by_key.toml.
"""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd
from msgspec import json

from .sample import OUTCOMES
from .tuples import KEYS, EvalTuple


class Action(NamedTuple):
    """Who did what to which tuples, and why."""

    actor: str | None
    action_type: str | None
    target_tuple_ids: tuple[str, ...]
    reason_code: str | None


def units_frame(rows: pd.DataFrame) -> pd.DataFrame:
    """The units of a frame of rows of `sample.unit_row`, with the columns that follow from those."""
    # a column of texts of which some or all are null
    texts = rows.select_dtypes(exclude=["number", "bool"]).columns
    units = rows.astype(dict.fromkeys(texts, "str"))
    columns = {}
    for key in KEYS:
        before, after, outcome = (units[f"{name}_{key}"] for name in ("f1_s1", "f1_s2", "outcome"))
        columns[f"reviewable_{key}"] = before.notna()
        columns[f"has_gold_{key}"] = after.notna()
        for name in OUTCOMES.values():
            columns[f"{name}_{key}"] = outcome == name
        columns[f"improved_{key}"] = units["changed"] & (after > before)
        columns[f"degraded_{key}"] = units["changed"] & (after < before)
    return units.assign(**columns)


_TUPLES = json.Decoder(list[EvalTuple])

_ACTIONS = json.Decoder(list[Action])


def read_tuples(text: str) -> list[EvalTuple]:
    """The tuples of a `gold`, `stage1` or `final` cell of the units as stored."""
    return _TUPLES.decode(text)


def read_actions(text: str) -> list[Action]:
    """The actions of a `reviews` or `arbiter` cell of the units as stored."""
    return _ACTIONS.decode(text)
