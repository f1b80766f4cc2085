"""Agreement of seeds on the final tuples of a sample, samples that depend on the seed, and votes of reviewers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import pytest

from evaltools.core.resampling import Resampling
from evaltools.suites.cr.agreement import (
    sample_agreement,
    seed_agreement,
)

R = Resampling(n_resamples=200)
A, B, C = (
    ["배터리", "battery", "positive"],
    ["화면", "screen", "negative"],
    ["화면", "panel", "negative"],
)


def run(
    rows: Sequence[tuple[str, list[list[str]] | None, str | None]], outcome: Sequence[Any] = ()
) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "text_id": [r[0] for r in rows],
            "text": [f"text of {r[0]}" for r in rows],
            "final": [None if r[1] is None else [tuple(t) for t in r[1]] for r in rows],
            "label_final": [r[2] for r in rows],
            "outcome": list(outcome) or [None] * len(rows),
        }
    )


RUNS = {
    1: run([("x", [A, B], "pos"), ("y", [], "neg"), ("z", [A], None)], ["fix", "keep", None]),
    2: run(
        [("x", [B, A, A], "pos"), ("y", [], "pos"), ("z", [C], "pos")], ["still", "keep", "fix"]
    ),
    3: run([("x", [A, C], "pos"), ("y", [], "neg"), ("w", [A], "pos")], ["fix", "keep", "fix"]),
}


def test_agreement_by_hand() -> None:
    """x: {A,B}, {A,B}, {A,C}: F1 of the pairs 1, 1/2, 1/2 (mean 2/3); by (ref, polarity) B = C, so 1.
    y: all empty. z: {A}, {C} in two of three seeds: 0. w: one seed only, out."""
    got = sample_agreement(RUNS).set_index("text_id")
    assert got["n_seeds"].to_dict() == {"w": 1, "x": 3, "y": 3, "z": 2}
    assert got["tuples_agree"].dropna().to_dict() == {"x": 0.0, "y": 1.0, "z": 0.0}
    assert got["labels_agree"].dropna().to_dict() == {
        "x": 1.0,
        "y": 0.0,
    }  # z has one label, the other is null
    assert got["pairwise_f1"].dropna().to_dict() == pytest.approx({"x": 2 / 3, "y": 1.0, "z": 0.0})
    assert got["pairwise_f1_refpol"].dropna().to_dict() == {"x": 1.0, "y": 1.0, "z": 0.0}
    summary = seed_agreement(RUNS, R).set_index("metric")
    assert summary["value"].to_dict() == pytest.approx(
        {
            "tuple_agreement_rate": 1 / 3,
            "self_consistency_exact": 1 / 2,
            "pairwise_f1": (2 / 3 + 1 + 0) / 3,
            "pairwise_f1_refpol": 2 / 3,
            "pairwise_f1_otepol": (2 / 3 + 1 + 0) / 3,
        }
    )
    assert summary["n_samples"].tolist() == [3, 2, 3, 3, 3]
    assert summary["n_incomplete"].tolist() == [1, 0, 1, 1, 1]
    assert summary.loc["tuple_agreement_rate", "ci_method"] == "mid-p"
    assert summary.loc["pairwise_f1", "ci_method"] == "none"
