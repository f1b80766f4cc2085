"""The units frame: one row a sample, with the columns that metrics sum and people filter by.

What a metric sums, and the section that defines it, stand in metrics.toml and metrics_by_key.toml.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from msgspec import json

from .sources import FINAL_SOURCES
from .tuples import KEYS, EvalTuple, Key, MatchPolicy

OVERRIDE_COUNTS = ("override_candidate_n", "override_applied_n")
"""The numbers of the override gate that make metrics."""


class Action(NamedTuple):
    """Who did what to which tuples, and why."""

    actor: str | None
    action_type: str | None
    target_tuple_ids: tuple[str, ...]
    reason_code: str | None


def units_frame(
    rows: pd.DataFrame,
    policy: MatchPolicy,
    override: Mapping[str, float],
) -> pd.DataFrame:
    """The units of a frame of rows of `sample.unit_row`, with the columns that follow from those.

    `override`: the numbers of the override gate. They are of the run, and stand in its first row.
    """
    # a column of texts of which some or all are null
    texts = rows.select_dtypes(exclude=["number", "bool"]).columns
    rows = rows.astype(dict.fromkeys(texts, "str"))
    counts = rows.filter(regex="^(tp|fp|fn)_").columns
    units = rows.drop(columns=[*counts, "source", "unsupported"])
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
    units = pd.concat([units, *corrections], axis=1)
    gate_counts = [override.get(name) for name in OVERRIDE_COUNTS]
    is_first = np.arange(len(units)) == 0
    units["has_override"] = is_first & (None not in gate_counts)
    for name, count in zip(OVERRIDE_COUNTS, gate_counts):
        units[name] = np.where(units["has_override"], count or 0.0, 0.0)
    return units


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
    tp, fp, fn = (rows[f"{count}_after_{key}"] for count in ("tp", "fp", "fn"))
    takes_part = units["has_gold"]
    if policy.pairless == "out":
        takes_part = tp + fn > 0  # the gold has a pair
    reviewable = units["reviewable"]
    right_before = rows[f"fp_before_{key}"] + rows[f"fn_before_{key}"] == 0
    right_after = fp + fn == 0
    outcomes = {
        "fix": reviewable & ~right_before & right_after,
        "break": reviewable & right_before & ~right_after,
        "keep": reviewable & right_before & right_after,
        "still": reviewable & ~right_before & ~right_after,
    }
    outcome = pd.Series(np.nan, units.index, dtype="str")
    for name, happened in outcomes.items():
        outcome[happened] = name
    f1_before = _f1_scores(rows, "before", key).where(takes_part & reviewable)
    f1_after = _f1_scores(rows, "after", key).where(takes_part)
    columns = {
        f"has_gold_{key}": takes_part,
        f"reviewable_{key}": takes_part & reviewable,
        f"f1_s1_{key}": f1_before,
        f"f1_s2_{key}": f1_after,
        f"tp_{key}": tp.where(takes_part, 0),
        f"fp_{key}": fp.where(takes_part, 0),
        f"fn_{key}": fn.where(takes_part, 0),
        f"outcome_{key}": outcome,
        **{f"{name}_{key}": happened for name, happened in outcomes.items()},
        f"improved_{key}": units["changed"] & (f1_after > f1_before),
        f"degraded_{key}": units["changed"] & (f1_after < f1_before),
    }
    return pd.DataFrame(columns)


def _f1_scores(
    rows: pd.DataFrame,
    stage: str,
    key: Key,
) -> pd.Series:
    """`matching.f1_score` of many samples."""
    tp, fp, fn = (rows[f"{count}_{stage}_{key}"] for count in ("tp", "fp", "fn"))
    return (2 * tp / (2 * tp + fp + fn)).fillna(0.0)


_TUPLES = json.Decoder(list[EvalTuple])

_ACTIONS = json.Decoder(list[Action])


def read_tuples(text: str) -> list[EvalTuple]:
    """The tuples of a `gold`, `stage1` or `final` cell of the units as stored."""
    return _TUPLES.decode(text)


def read_actions(text: str) -> list[Action]:
    """The actions of a `reviews` or `arbiter` cell of the units as stored."""
    return _ACTIONS.decode(text)
