"""M2: profile accuracy of a dialogue (memfin_metrics 3.2)."""

from typing import Any

import pytest

from evaltools.suites.memfin.rules import score_profile
from evaltools.suites.memfin.schema import ProfileSnapshot, ProfileTruth


def scores(
    truth: dict[str, Any], snapshot: dict[str, Any] | None, replies: str = ""
) -> dict[str, float]:
    picture = ProfileSnapshot.model_validate(snapshot or {})
    fields = score_profile(ProfileTruth.model_validate(truth), picture, replies)
    return {field["metric"]: field["score"] for field in fields}


def test_snapshot() -> None:
    truth = {
        "risk_level_gt": "稳健",
        "horizon_gt": "2年以上",
        "liquidity_need_gt": "高",
        "constraints_gt": ["不使用杠杆", "不投分级基金"],
        "preferences_gt": ["宽基指数基金"],
    }
    snapshot = {
        "risk_level": "medium",
        "investment_horizon": "short",
        "liquidity_need": "high",
        "forbidden_assets": ["不使用杠杆"],
        "preferred_topics": ["宽基指数基金", "黄金"],
    }
    assert scores(truth, snapshot) == {
        "risk_level_acc": 1,  # 稳健 = medium
        "horizon_acc": 0,  # 2年以上 = long, not short
        "liquidity_acc": 1,  # 高 = high
        "constraints_f1": pytest.approx(2 / 3),  # P 1/1, R 1/2: 2 * 0.5 / 1.5
        "preferences_f1": pytest.approx(2 / 3),  # P 1/2, R 1/1
    }
    # a constraint that a reply repeats word for word joins the predicted set: P 2/2, R 2/2
    assert scores(truth, snapshot, "您说过不投分级基金")["constraints_f1"] == 1


@pytest.mark.parametrize(
    ("field", "value", "replies", "score"),
    [
        ("risk_level_gt", "保守", "低风险产品", 1),
        ("risk_level_gt", "稳健", "稳健，不追求高风险", 1),
        ("risk_level_gt", "进取", "激进一些", 1),
        ("risk_level_gt", "进取", "稳健还是高风险", 0),  # the first list that matches wins: medium
        ("horizon_gt", "<=6月", "短期理财", 1),
        ("horizon_gt", "6-24月", "期限1年", 1),
        ("horizon_gt", "6-24月", "期限6-24月", 1),  # 24月 is not 6月, and 6-24月 does not hold 6月
        ("horizon_gt", "2年以上", "长期持有", 1),
        ("horizon_gt", "2年以上", "短期波动，长期持有", 0),  # short comes first
        ("liquidity_need_gt", "高", "保留现金", 1),
        ("liquidity_need_gt", "中", "流动性中等", 1),
        ("liquidity_need_gt", "低", "低流动性", 1),
        ("liquidity_need_gt", "低", "没有说明", 0),  # nothing inferred
        (
            "risk_level_gt",
            "极端",
            "",
            0,
        ),  # an unknown truth scores 0, also against an unknown prediction
    ],
)
def test_inferred_from_replies(field: str, value: str, replies: str, score: float) -> None:
    metric = {
        "risk_level_gt": "risk_level_acc",
        "horizon_gt": "horizon_acc",
        "liquidity_need_gt": "liquidity_acc",
    }
    assert scores({field: value}, None, replies)[metric[field]] == score


def test_a_snapshot_comes_before_the_replies_and_unknown_is_no_snapshot() -> None:
    truth = {"risk_level_gt": "保守"}
    assert scores(truth, {"risk_level": "unknown"}, "低风险")["risk_level_acc"] == 1
    assert scores(truth, {"risk_level": "high"}, "低风险")["risk_level_acc"] == 0


def test_empty_sets() -> None:
    """Truth empty and something predicted 0; both empty 1 is seen in test_memfin_metrics.py."""
    assert scores({"constraints_gt": []}, {"forbidden_assets": ["期货"]})["constraints_f1"] == 0
