"""The call of the judge: only cases in the uncertain zones, and its decisions back in the frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from evaltools import evaluate
from evaltools.core.errors import Problems, UsageError
from evaltools.summary import judge
from evaltools.summary.judge import Decision, JudgeInput
from evaltools.summary.options import SummaryOptions


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[JudgeInput]:
    """A judge that calls everything good with confidence 0.9, but has no answer for the case promise-en."""
    seen: list[JudgeInput] = []

    def judge_cases(
        inputs: Sequence[JudgeInput], options: SummaryOptions, progress: Any = None, problems: Problems | None = None
    ) -> list[Decision]:
        seen.extend(inputs)
        out = []
        for i in inputs:
            lost = i.case_id == "promise-en"
            llm = None if lost else 1.0
            out.append(
                Decision(
                    case_id=i.case_id, metric=i.metric, rule_score=i.rule_score, llm_score=llm,
                    confidence=None if lost else 0.9, final_score=i.rule_score if lost else 1.0, trigger=i.trigger,
                    decided_by="rule" if lost else "llm", error="no reply" if lost else None, reason="because",
                )
            )  # fmt: skip
        return out

    monkeypatch.setattr(judge, "judge_cases", judge_cases)
    return seen


def test_decisions_replace_scores_only_where_the_judge_was_asked(asked: list[JudgeInput]) -> None:
    path = "example:summary/cases.jsonl"
    rule = evaluate("summary", path).units.set_index("case_id")
    units = evaluate("summary", path, judge="hybrid", judge_model="m").units.set_index("case_id")
    zones = {(i.case_id, i.metric) for i in asked}
    assert ("promise", "summary_non_definitive") in zones
    assert not any(case == "empty-summary" for case, _ in zones)
    assert not any(metric == "entity_recall" for _, metric in zones)
    for case_id, metric in [(c, m) for c in units.index for m in ("summary_accuracy", "summary_non_definitive")]:
        assert units.loc[case_id, f"{metric}_rule"] == rule.loc[case_id, metric]
        if (case_id, metric) not in zones or case_id == "promise-en":
            assert units.loc[case_id, metric] == rule.loc[case_id, metric]
            assert units.loc[case_id, f"{metric}_decided_by"] == "rule"
        else:
            assert units.loc[case_id, metric] == 1.0
            assert units.loc[case_id, f"{metric}_decided_by"] == "llm"
            assert units.loc[case_id, f"{metric}_measured"] and units.loc[case_id, f"{metric}_passed"]
    evidence = units.loc["promise-en", "summary_non_definitive_evidence"]
    assert evidence["judge"] == {"reason": "because", "error": "no reply", "virtual_tags": []}


def test_the_policy_holds_the_judge_only_where_one_is_asked(asked: list[JudgeInput]) -> None:
    path = "example:summary/cases.jsonl"
    r = evaluate("summary", path, judge="hybrid", judge_model="m", judge_cache="/somewhere")
    assert r.policy["judge_model"] == "m" and "judge_cache" not in r.policy
    assert "judge:m/override0.8" in r.signature
    off = evaluate("summary", path, judge_model="m")
    assert off.policy == evaluate("summary", path).policy


def test_a_judge_without_a_model_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="judge_model"):
        evaluate("summary", "example:summary/cases.jsonl", judge="hybrid")
