"""The units frame: one row a sample, with the columns that metrics sum and people filter by.

What a metric sums, and the section that defines it, stand in metrics.toml and metrics_by_key.toml.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from msgspec import json

from .sources import FINAL_SOURCES
from .tuples import KEYS, EvalTuple, Key, MatchPolicy

Ints = np.ndarray[Any, np.dtype[np.int64]]
Floats = np.ndarray[Any, np.dtype[np.float64]]

COUNTS = ("tp", "fp", "fn")

TEXTS = {
    "text_id",
    "run_id",
    "split",
    "profile",
    "text",
    "label_stage1",
    "label_final",
    "gold",
    "stage1",
    "final",
    "model",
    "reviews",
    "arbiter",
    "change_type",
}
"""The columns of texts; those of several values as JSON."""

OVERRIDE_COUNTS = ("override_candidate_n", "override_applied_n")
"""The numbers of the override gate that make metrics."""


class Action(NamedTuple):
    """Who did what to which tuples, and why."""

    actor: str | None
    action_type: str | None
    target_tuple_ids: tuple[str, ...]
    reason_code: str | None


STAGES = ("before", "after")

COUNT_COLUMNS = [f"{count}_{stage}_{key}" for key, stage, count in product(KEYS, STAGES, COUNTS)]
"""What the `counts` of a row are, in their order."""


def counted(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """The frame of these rows of `unit_row`, with the same types of columns whatever values are null."""
    if not rows:
        return pd.DataFrame()
    columns: dict[str, Any] = {}
    for name, values in zip(rows[0], zip(*[row.values() for row in rows])):
        columns[name] = _texts(values) if name in TEXTS else np.array(values)
    columns["latency_ms"] = columns["latency_ms"].astype(float)  # None becomes NaN
    columns.update(zip(COUNT_COLUMNS, columns.pop("counts").T))
    return pd.DataFrame(columns)


def units_frame(rows: pd.DataFrame, policy: MatchPolicy) -> pd.DataFrame:
    """The units of a frame of `counted`, with the columns that follow from those, F1 and outcomes among them."""
    units = rows.drop(columns=[*COUNT_COLUMNS, "source", "unsupported"])
    units["n"] = True
    units["has_gold"] = units["n_gold_tuples"] > 0
    units["reviewable"] = units["has_gold"] & units["protocol"]
    for name in FINAL_SOURCES:
        units[f"from_{name}"] = rows["source"] == name
    units["has_explicit_gold"] = units["f1_explicit_gold_otepol"].notna()
    units["has_explicit_gold_refpol"] = units["f1_explicit_gold_refpol"].notna()
    units["has_valid_implicit_gold"] = units["f1_implicit"].notna()
    units["has_latency"] = units["latency_ms"].notna()
    units["guided"] = units["change_type"] == "guided_by_review"
    units["change_type"] = units["change_type"].where(units["protocol"])
    units["risk_cleared"] = units["risk_s1"] & ~units["risk_s2"]
    risks = ["risk_s2", "negation_contrast", "conflict"]
    units["residual_risk"] = units[risks].any(axis=1) | rows["unsupported"]
    corrections = [_correction(key, rows, units, policy) for key in KEYS]
    return pd.concat([units, *corrections], axis=1)


def _texts(values: Sequence[str | bytes | None]) -> Any:
    # one type, whether or not a shard holds a null, or nothing else
    return pd.array(pa.array(values, pa.large_string()), dtype="str")


def _correction(
    key: Key,
    rows: pd.DataFrame,
    units: pd.DataFrame,
    policy: MatchPolicy,
) -> pd.DataFrame:
    """F1 before and after review under a key, and what review did to the samples that it has seen.

    A sample without gold has no F1 and counts nothing; neither does, by the policy, one whose gold has no pair under
    the key (D26). Seed cr_metrics_spec 3.1, 3.3, 4.1.
    """
    before, after = (
        [rows[f"{count}_{stage}_{key}"].to_numpy() for count in COUNTS] for stage in STAGES
    )
    reviewable = units["reviewable"].to_numpy()
    changed = units["changed"].to_numpy()
    takes_part = units["has_gold"].to_numpy()
    if policy.pairless == "out":
        takes_part = after[0] + after[2] > 0  # the gold has a pair
    right_before = (before[1] == 0) & (before[2] == 0)
    right_after = (after[1] == 0) & (after[2] == 0)
    outcomes = {
        "fix": reviewable & ~right_before & right_after,
        "break": reviewable & right_before & ~right_after,
        "keep": reviewable & right_before & right_after,
        "still": reviewable & ~right_before & ~right_after,
    }
    outcome = np.full(len(changed), None, dtype=object)
    for name, happened in outcomes.items():
        outcome[happened] = name
    f1_before = np.where(takes_part & reviewable, f1_scores(*before), np.nan)
    f1_after = np.where(takes_part, f1_scores(*after), np.nan)
    columns = {
        f"has_gold_{key}": takes_part,
        f"reviewable_{key}": takes_part & reviewable,
        f"f1_s1_{key}": f1_before,
        f"f1_s2_{key}": f1_after,
        **{f"{count}_{key}": np.where(takes_part, n, 0) for count, n in zip(COUNTS, after)},
        f"outcome_{key}": _texts(outcome.tolist()),
        **{f"{name}_{key}": happened for name, happened in outcomes.items()},
        f"improved_{key}": changed & (f1_after > f1_before),
        f"degraded_{key}": changed & (f1_after < f1_before),
    }
    return pd.DataFrame(columns, index=units.index)


def f1_scores(
    tp: Ints,
    fp: Ints,
    fn: Ints,
) -> Floats:
    """`matching.f1_score` of many samples."""
    scores = np.zeros(len(tp))
    np.divide(2 * tp, 2 * tp + fp + fn, out=scores, where=tp > 0)
    return scores


def with_override(units: pd.DataFrame, numbers: Mapping[str, float]) -> pd.DataFrame:
    """The units with the counts of the override gate in their first row; these are of the run, not of a sample."""
    counts = [numbers.get(name) for name in OVERRIDE_COUNTS]
    is_measured = None not in counts
    is_first = np.arange(len(units)) == 0
    columns = {"has_override": is_first & is_measured}
    for name, count in zip(OVERRIDE_COUNTS, counts):
        columns[name] = np.where(is_first & is_measured, count or 0.0, 0.0)
    return units.assign(**columns)


_TUPLES = json.Decoder(list[EvalTuple])

_ACTIONS = json.Decoder(list[Action])


def read_tuples(text: str) -> list[EvalTuple]:
    """The tuples of a `gold`, `stage1` or `final` cell of the units as stored."""
    return _TUPLES.decode(text)


def read_actions(text: str) -> list[Action]:
    """The actions of a `reviews` or `arbiter` cell of the units as stored."""
    return _ACTIONS.decode(text)
