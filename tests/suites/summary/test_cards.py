"""The cards of summaries: scores in words, and a figure beside the passage that it comes from."""

import math
from typing import Any

import evaltools as et
from evaltools.core.messages import say, speaking
from evaltools.suites.summary.artifacts import cases_frame
from evaltools.suites.summary.cards import in_short, sample_view
from evaltools.suites.summary.judge import questions

CONTEXT = (
    "골절 진단비는 30만 원입니다. 가입 후 90일은 면책기간이고, 자기부담금은 2만 원이에요. "
    "음주 사고는 보상하지 않습니다."
)
CASES: list[dict[str, Any]] = [
    {"id": "full", "answer": "면책기간 90일, 자기부담금 2만원, 음주는 보상하지 않음"},
    {"id": "no deductible", "answer": "대기기간 90일이며 음주는 보상하지 않음"},
    {"id": "neither", "answer": "골절 진단비 30만원"},
]


def run(cases: list[dict[str, Any]]) -> Any:
    rows = [
        {
            "contexts": [CONTEXT],
            **case,
            "metadata": {"summary_tags": ["deductible"], **case.get("metadata", {})},
        }
        for case in cases
    ]
    return et.evaluate("summary", rows)


def test_a_reason_says_what_the_summary_says_and_what_the_source_does() -> None:
    answer = "골절 30만원 초과 지급. 한도 500만원, 면책기간 30일. 2월 30일 접수."
    source = f"{CONTEXT} 골절은 30만원 이하 지급."
    found = run([{"id": "a", "answer": answer, "contexts": [source]}])
    case = found.units.iloc[0].to_dict()
    assert case["state"] == "fail"
    assert in_short(case) == [
        "the source puts the opposite bound on it: 골절 30만원 초과 지급 → source 골절은 30만원 이하 지급",
        "500만원 → not in the source",
        "30일 → source 90일 (가입 후 90일은 면책기간이고, 자기부담금은 2만 원이에요)",
        "not read, compared with nothing: “2월”, “30일”",
        "Risk left out: deductible",
    ]


def test_a_number_that_stands_for_none_never_leads() -> None:
    untagged = {"id": "untagged", "metadata": {"summary_tags": []}, "answer": "자기부담금 2만원"}
    result = run([CASES[0], untagged])
    with speaking("ko"):
        full, untagged = map(sample_view(result).card, result.units.to_dict("records"))
        lines = [card["rows"][1].cells["found"][0] for card in (full, untagged)]
        sheet = cases_frame(result.units).set_index(say("case"))["리스크 안내"]
    assert [line.text for line in lines] == ["1.00", ""]
    assert lines[1].note == "측정 안 됨 (1.00으로 계산): 태그 없음"
    assert sheet["full"] == 1.0 and math.isnan(sheet["untagged"])


def test_unread_figures_go_to_the_judge() -> None:
    cases = [
        {"id": "read", "answer": "골절 30만원, 자기부담금 2만원"},
        {"id": "unread", "answer": "골절 30만원, 자기부담금 2만원, 2월 30일 접수"},
    ]
    asked = [
        (case["case_id"], why)
        for case, metric, why in questions(run(cases).data)
        if metric == "summary_accuracy"
    ]
    assert asked == [("unread", "a figure was not read")]


def test_a_card_holds_the_places_of_figures_and_of_what_is_missing() -> None:
    answer = "골절 진단비 30만원은 무조건 지급, 수술비 50만원"
    result = run([{"id": "a", "answer": answer, "contexts": ["인사말", CONTEXT]}])
    case = result.units.iloc[0].to_dict()
    card = case | sample_view(result).card(case)
    found = [(card[c][s:e], kind, n, told) for c, s, e, kind, n, told in card["places"]]
    source = "골절 진단비는 30만 원입니다"
    assert found == [
        ("30만원", "good", 1, source),
        ("30만 원", "good", 1, source),
        ("무조건", "bad", 2, "Definitive phrases"),
        ("50만원", "bad", 3, "50만원 → not in the source"),
        ("자기부담", "missing", 4, "missing: deductible"),
    ]
