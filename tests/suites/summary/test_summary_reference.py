"""The visible reference cases: every right one kept, at least 85% of the wrong ones mended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evaltools import evaluate

pytestmark = pytest.mark.reference

NAMES = {"entity_preservation": "entity_recall"}


def within(score: float, expected: Any) -> bool:
    low, high = expected if isinstance(expected, list) else (expected, expected)
    return bool(low - 1e-9 <= score <= high + 1e-9)


@pytest.fixture(scope="module")
def scored(reference: Path, tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    path = reference / "summary" / "cases.jsonl"
    out = tmp_path_factory.mktemp("out")
    evaluate("summary", path, out=out)
    scores = pd.read_csv(out / "results" / "cases" / "summary_scores.csv").set_index(
        ["case_id", "metric"]
    )["score"]
    lines = pd.DataFrame(map(json.loads, path.read_text(encoding="utf-8").splitlines()))
    lines = lines[[e is not None for e in lines["expected"]]]
    lines["ok"] = [
        within(scores[row.id, NAMES.get(row.metric, row.metric)], row.expected)
        for row in lines.itertuples()
    ]
    return lines


def test_every_right_case_is_kept(scored: pd.DataFrame) -> None:
    right = scored[scored["judgement"] == "right"]
    assert len(right) == 62
    assert right.loc[~right["ok"], "id"].tolist() == []


def test_wrong_cases_are_mended(scored: pd.DataFrame) -> None:
    wrong = scored[scored["judgement"] == "wrong"]
    assert len(wrong) == 57
    # beyond rules: a claim without a figure (twice), swapped roles, and a paraphrase without any figure
    assert set(wrong.loc[~wrong["ok"], "id"]) <= {
        "acc-claim-without-number",
        "fixture-sum-008@accuracy",
        "acc-role-swap",
        "data-faith-011@accuracy",
    }
    assert wrong["ok"].mean() >= 0.85
