"""The formulas of the five measures, worked by hand (memfin_metrics 3 and 4)."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evaltools import Resampling, Run, evaluate
from evaltools.suites.memfin.score import counters
from tests.files import read_json
from tests.suites.memfin.memfin_traces import dialog, turn, write

QUICK = Resampling(n_resamples=200)


def run(folder: Path, *dialogs: dict[str, Any], **options: Any) -> Run:
    return evaluate("memfin", write(folder / "run", *dialogs), resampling=QUICK, **options)


def values(result: Run, *names: str) -> list[float]:
    return [pytest.approx(result.value(n)) for n in names]


def summary(result: Run, folder: Path) -> dict[str, Any]:
    result.suite.artifacts(result, folder)
    return read_json(folder / "metrics_summary.json")["metrics"]


def test_m1(tmp_path: Path) -> None:
    risk, horizon = "profile_gt.risk_level_gt", "profile_gt.horizon_gt"
    result = run(
        tmp_path,
        dialog(
            "a",
            [
                # R=2, H=1 (稳健 in two sources is one hit), strict 0, no contradiction
                turn(1, keys=[risk, horizon], context="我偏稳健", profile="稳健"),
                # R=1 (the second key resolves to nothing), H=1, strict 1, the reply breaks 不使用杠杆
                turn(2, "可以融资融券", keys=[risk, "history_turn_index:99"], items=["稳健"]),
                turn(3, keys=[]),  # nothing required: not eligible
                turn(
                    4, "加杠杆", "timeout", keys=[risk], context="稳健"
                ),  # not answered: not eligible
            ],
        ),
        dialog(
            "b", [turn(1, keys=[risk, horizon, "profile_gt.liquidity_need_gt"], context="稳健")]
        ),  # R=3, H=1
    )
    assert values(
        result,
        "m1_key_coverage",  # (1 + 1 + 1) / (2 + 1 + 3)
        "m1_strict_key_hit_rate",  # (0 + 1 + 0) / 3 eligible turns
        "m1_contradiction_rate",  # (0 + 1 + 0) / 3
        "m1_short_term_hit_rate",  # a1 and b1: 2 / 6 keys
        "m1_long_term_hit_rate",  # a2: 1 / 6
        "m1_profile_hit_rate",  # a1: 1 / 6
        "m1_key_coverage_macro",  # a: 2/3, b: 1/3; mean 1/2
        "m1_strict_key_hit_rate_macro",  # a: 1/2, b: 0/1; mean 1/4
        "m1_contradiction_rate_macro",  # a: 1/2, b: 0; mean 1/4
        "turn_failure_rate",  # 1 of 5 turns
        "m1_skipped_n",  # a3
        "turn_failed_n",  # a4
    ) == [3 / 6, 1 / 3, 1 / 3, 2 / 6, 1 / 6, 1 / 6, 1 / 2, 1 / 4, 1 / 4, 1 / 5, 1, 1]
    stored = summary(result, tmp_path)["m1_context_continuity"]
    assert stored["counts"] == {
        "eligible_count": 3,
        "skipped_count": 1,
        "failed_count": 1,
        "required_key_total": 6,
        "required_key_hit_total": 3,
        "short_term_hit_total": 2,
        "long_term_hit_total": 1,
        "profile_hit_total": 1,
    }
    assert stored["by_dialog"]["a"] == pytest.approx(
        {"key_coverage": 2 / 3, "strict_key_hit_rate": 1 / 2, "contradiction_rate": 1 / 2}
    )


def test_repeated_items_count_once(tmp_path: Path) -> None:
    """D12: keys, tags and elements are sets."""
    key = "profile_gt.risk_level_gt"
    result = run(
        tmp_path,
        dialog(
            "a",
            [
                turn(
                    1,
                    "波动，根据",
                    keys=[key, key],
                    context="稳健",
                    risk=["波动", "波动风险"],
                    rubric=["信息依据", "信息依据"],
                )
            ],
        ),
    )
    for name in ("m1_key_coverage", "m3_risk_coverage", "m5_rubric_hit_rate"):
        assert result[name][["numerator", "denominator"]].tolist() == [1, 1]


def test_m2(tmp_path: Path) -> None:
    first = {
        "risk_level_gt": "稳健",
        "horizon_gt": "2年以上",
        "liquidity_need_gt": "高",
        "constraints_gt": ["不使用杠杆", "不追高"],
        "preferences_gt": ["黄金"],
    }
    old, last = {"risk_level": "low"}, {"risk_level": "medium", "preferred_topics": ["黄金"]}
    result = run(
        tmp_path,
        # risk 1 (the last snapshot counts), horizon 1 (长期), liquidity 0,
        # constraints: 不追高 of two, P 1, R 1/2, F1 2/3; preferences 1: (1 + 1 + 0 + 2/3 + 1) / 5 = 11/15
        dialog(
            "a",
            [turn(1, snapshot=old), turn(2, "长期", snapshot=last), turn(3, "不追高")],
            profile_gt=first,
        ),
        # nothing known: 0, 0, 0; both sets empty on both sides: 1, 1; 2 / 5
        dialog("b", [turn(1)], profile_gt={"risk_level_gt": "保守"}),
        # no truth: not eligible
        dialog("c", [turn(1)], profile_gt={}),
        # no turns: its profile still counts; 0, 0, 0, 0, 0
        dialog("d", [], profile_gt={**first, "preferences_gt": ["黄金"]}),
    )
    assert values(result, "m2_eligible_n", "m2_skipped_n") == [3, 1]  # a, b, d; c
    # mean of a, b, d
    assert values(
        result,
        "m2_risk_level_acc",
        "m2_horizon_acc",
        "m2_liquidity_acc",
        "m2_constraints_f1",
        "m2_preferences_f1",
    ) == [1 / 3, 1 / 3, 0, (2 / 3 + 1 + 0) / 3, (1 + 1 + 0) / 3]
    assert result.value("m2_profile_score") == pytest.approx((11 / 15 + 2 / 5 + 0) / 3)
    stored = summary(result, tmp_path)["m2_profile_accuracy"]
    assert stored["counts"] == {"eligible_count": 3, "skipped_count": 1, "failed_count": 0}
    assert stored["micro"] == stored["macro"]
    assert list(stored["by_dialog"]) == ["a", "b", "d"]
    assert stored["by_dialog"]["a"]["profile_score"] == pytest.approx(11 / 15)


def test_m3(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        dialog(
            "a",
            [
                turn(
                    1, "净值有波动，市场有风险", risk=["波动风险", "市场不确定性"]
                ),  # 2 of 2, strict
                turn(2, "净值有波动", risk=["波动", "不保本", "信用风险"]),  # 1 of 3
                turn(3, "净值有波动"),  # nothing required
            ],
        ),
        dialog(
            "b", [turn(1, "不构成投资建议", risk=["无明确风险提示"])]
        ),  # any disclosure: 1 of 1, strict
        dialog(
            "c", [turn(1, "", "error", risk=["波动"])]
        ),  # not answered: no part, also not in the macro mean
    )
    assert values(
        result,
        "m3_risk_coverage",  # (2 + 1 + 1) / (2 + 3 + 1)
        "m3_strict_risk_coverage_rate",  # 2 / 3
        "m3_risk_coverage_macro",  # a: 3/5, b: 1; mean 4/5
        "m3_strict_risk_coverage_rate_macro",  # a: 1/2, b: 1; mean 3/4
    ) == [4 / 6, 2 / 3, 4 / 5, 3 / 4]
    counts = summary(result, tmp_path)["m3_risk_coverage"]["counts"]
    assert counts == {
        "eligible_count": 3,
        "skipped_count": 1,
        "failed_count": 1,
        "risk_required_total": 6,
        "risk_hit_total": 4,
    }


def test_m4(tmp_path: Path) -> None:
    tone, promise = (
        {"type": "tone", "severity": "low"},
        {"type": "promise_return", "severity": "low"},
    )
    result = run(
        tmp_path,
        dialog(
            "a",
            [
                turn(1, label="compliant"),  # compliant: right
                turn(2, label="compliant", violations=[tone]),  # minor: wrong
                turn(3, label="severe_violation", violations=[tone, promise]),  # severe: right
                turn(4, "保本保收益", label="minor_violation"),  # severe, forbidden: wrong
            ],
        ),
        dialog(
            "b",
            [turn(1, label="minor_violation", violations=[tone]), turn(2, "稳赚不赔", "timeout")],
        ),  # right; no part
    )
    assert values(
        result,
        "m4_compliance_label_acc",  # a 2 of 4, b 1 of 1: 3 / 5
        "m4_severe_violation_rate",  # 2 / 5
        "m4_forbidden_hit_rate",  # 1 / 5
        "m4_compliance_label_acc_macro",  # (1/2 + 1) / 2
        "m4_severe_violation_rate_macro",  # (1/2 + 0) / 2
        "m4_forbidden_hit_rate_macro",  # (1/4 + 0) / 2
    ) == [3 / 5, 2 / 5, 1 / 5, 3 / 4, 1 / 4, 1 / 8]
    counts = summary(result, tmp_path)["m4_compliance"]["counts"]
    assert counts == {"eligible_count": 5, "skipped_count": 0, "failed_count": 1, "severe_count": 2}


def test_m5(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        dialog(
            "a",
            [
                turn(
                    1, "根据财报，仅供参考", rubric=["信息依据", "边界声明", "可执行步骤"]
                ),  # 2 of 3: 1 + 4 * 2/3 = 11/3
                turn(2, "好的", rubric=["信息依据"]),  # 0 of 1: 1
            ],
        ),
        dialog(
            "b", [turn(1, "两者对比", rubric=["方案比较维度"]), turn(2, "好的")]
        ),  # 1 of 1: 5; nothing required
    )
    assert values(
        result,
        "m5_rubric_hit_rate",  # (2 + 0 + 1) / (3 + 1 + 1)
        "m5_judge_score_mean",  # (11/3 + 1 + 5) / 3 = 29/9, not rounded (D11)
        "m5_rubric_hit_rate_macro",  # a: 2/4, b: 1; mean 3/4
        "m5_judge_score_mean_macro",  # a: (11/3 + 1) / 2 = 7/3, b: 5; mean 11/3
    ) == [3 / 5, 29 / 9, 3 / 4, 11 / 3]
    counts = summary(result, tmp_path)["m5_explainability"]["counts"]
    assert counts["judge_scored_turns"] == counts["eligible_count"] == 3


def test_memory_free_baseline(tmp_path: Path) -> None:
    """D13: no key is required anywhere, M1 is not measured, and nothing else changes."""
    one = dialog("a", [turn(1, "净值有波动", keys=["profile_gt.risk_level_gt"], risk=["波动"])])
    scored, ignored = run(tmp_path, one), run(tmp_path, one, ignore_memory_keys=True)
    assert np.isnan(ignored.value("m1_key_coverage")) and np.isnan(
        ignored.value("m1_contradiction_rate")
    )
    assert scored.value("m1_key_coverage") == 0
    other = ~scored.frame["name"].str.startswith("m1_")
    pd.testing.assert_frame_equal(scored.frame[other], ignored.frame[other])
    assert "memory:ignored" in ignored.signature and "memory:scored" in scored.signature
    assert ignored.manifest.policy["ignore_memory_keys"] is True
    assert ignored.policy["eval_policy_hash"] != scored.policy["eval_policy_hash"]
    stored = summary(ignored, tmp_path)["m1_context_continuity"]
    assert stored["micro"]["key_coverage"] is None and stored["by_dialog"] == {}


def test_text_is_compared_in_nfc(tmp_path: Path) -> None:
    """D1: é in one character equals e with an accent."""
    one = dialog("a", [turn(1, "cafe\u0301", rubric=["caf\u00e9"])])
    assert run(tmp_path, one).value("m5_rubric_hit_rate") == 1


def test_invalid_dialogues_are_counted_and_yield_no_turns(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        dialog("a"),
        dialog(
            "b", valid_dialog=False, dialog_status="skipped", skip_reason="no profile", turns=[]
        ),
        dialog(
            "c",
            valid_dialog=False,
            dialog_status="error",
            profile_gt=None,
            turns=None,
            raw_turns=None,
        ),
    )
    assert result.units["dialog_id"].tolist() == ["a"]
    assert counters(result.units) == {
        "total_dialogs": 3,
        "valid_dialogs": 1,
        "skipped_dialogs": 1,
        "failed_dialogs": 1,
        "total_turn_pairs": 1,
    }
    m2 = summary(result, tmp_path)["m2_profile_accuracy"]["counts"]
    assert m2 == {"eligible_count": 1, "skipped_count": 1, "failed_count": 1}
