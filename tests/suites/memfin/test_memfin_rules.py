"""What a reply says by its words: contradictions, risk tags, compliance labels, rubric elements."""

from typing import Any

import pytest

from evaltools.suites.memfin.rules import compliance, contradictions, disclosure, explainability
from evaltools.suites.memfin.schema import Compliance, Dialog, Turn, TurnTags


def reply_to(text: str, **tags: list[str]) -> Turn:
    return Turn(
        turn_pair_id=1, turn_status="ok", pred_assistant_text=text, gt_turn_tags=TurnTags(**tags)
    )


def disclosed(text: str, *tags: str) -> dict[str, Any]:
    return disclosure(reply_to(text, risk_disclosure_required_gt=[*tags]))[0]


@pytest.mark.parametrize(
    ("constraint", "reply", "contradicts"),
    [
        ("最大回撤<10%", "历史最大回撤约为15%", True),
        ("最大回撤<10%", "回撤可能到 12 %", True),
        ("最大回撤<10%", "回撤可能到12％", True),
        ("最大回撤<10%", "回撤控制在10%以内", False),  # not above 10
        ("最大回撤<10%", "收益可达15%", False),  # no word of drawdown
        ("最大回撤<10%", "回撤约3.15%", False),  # 3.15 is no whole percentage
        ("最大回撤<10%", "回撤控制在8%，现金占20%", True),  # any whole percentage counts
        ("最大回撤<10%", "回撤可能到15%，请谨慎", True),  # a warning does not help here
        ("不使用杠杆", "可以考虑融资融券", True),
        ("不使用杠杆", "不建议使用杠杆", False),
        ("不使用杠杆", "适当加杠杆。市场多变，请谨慎。", False),  # a warning anywhere in the reply
        ("不做短线交易", "可以做日内交易", True),
        ("不投分级基金", "分级基金收益较高", True),
        ("不投海外市场", "配置一些港股", True),
        ("不参与题材炒作", "追热点也是办法", True),
        ("保留20%现金应急", "把现金都投进去", False),  # no rule for this constraint
    ],
)
def test_contradiction(constraint: str, reply: str, contradicts: bool) -> None:
    assert contradictions(reply, [constraint]) == ([constraint] if contradicts else [])


def test_required_tags() -> None:
    """Canonical, in their order, each once; 波动 and 波动风险 are one tag (D12); an unknown tag is lower-cased."""
    tags = ("波动风险", "不保本", "波动", "政策风险", "ESG Risk", " ", "过往业绩不代表未来")
    assert disclosed("", *tags)["risk_required_tags"] == [
        "volatility_risk",
        "no_guaranteed_return",
        "政策风险",
        "esg risk",
        "过往业绩不代表未来",  # only the spelling with 表现 stands in the list
    ]


def test_predicted_and_covered_tags() -> None:
    reply = "回撤较大，市场有风险，提前变现有成本，利率上升时更甚"
    columns = disclosed(reply, "volatility_risk", "credit_risk", "risk_disclosure_present")
    assert columns["risk_pred_tags"] == [
        "interest_rate_risk",
        "liquidity_risk",
        "market_uncertainty",
        "volatility_risk",
    ]
    assert columns["missed_tags"] == ["credit_risk"]
    assert disclosed("", "risk_disclosure_present")["missed_tags"] == ["risk_disclosure_present"]


@pytest.mark.parametrize(
    ("hits", "violations", "label"),
    [
        ([], [], "compliant"),
        ([], [("tone", "low")], "minor_violation"),
        ([], [("tone", ""), ("", "medium")], "minor_violation"),
        ([], [("tone", "high")], "severe_violation"),
        ([], [("promise_return", "low")], "severe_violation"),
        ([], [("trading_advice", "")], "severe_violation"),
        ([], [("guarantee", "medium")], "severe_violation"),
        ([], [("insider", "medium")], "severe_violation"),
        (["保本保收益"], [], "severe_violation"),
    ],
)
def test_compliance_label(hits: list[str], violations: list[tuple[str, str]], label: str) -> None:
    dialog = Dialog(dialog_id="d", valid_dialog=True, blueprint={"forbidden_list": hits})
    found = [{"type": t, "severity": s} for t, s in violations]
    turn = reply_to("".join(hits)).model_copy(update={"compliance": Compliance(violations=found)})
    assert compliance(dialog, turn)[0]["pred_compliance_label"] == label


@pytest.mark.parametrize(
    ("element", "reply", "hit"),
    [
        ("信息依据", "根据公开信息", True),
        ("风险收益平衡", "收益", True),
        ("与画像匹配", "符合您的情况", True),
        ("与画像匹配", "与画像匹配", False),  # its own name is not among its words
        ("方案比较维度", "两者优劣", True),
        ("可执行步骤", "1. 开户", True),
        ("可执行步骤", "开户", False),
        ("边界声明", "投资有风险", True),
        ("税务影响", "税务影响不大", True),  # an unknown element is its own word
        ("税务影响", "税务", False),
    ],
)
def test_rubric(element: str, reply: str, hit: bool) -> None:
    columns, _ = explainability(reply_to(reply, explainability_rubric_gt=[element]))
    assert columns["rubric_hit_items"] == ([element] if hit else [])
