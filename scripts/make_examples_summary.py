"""Writes the bundled example of insurance summaries: evaltools/app/examples/summary/cases.jsonl.

24 invented cases in Korean and English: good ones, every way to fail, cases in which nothing can be measured,
and texts that would do harm if a report or a workbook trusted them. Run it again after a change; the file
is the same for the same script.
"""

from __future__ import annotations

from typing import Any

from evaltools.core.files import EXAMPLES, write_jsonl

TARGET = EXAMPLES / "summary" / "cases.jsonl"


def case(
    name: str, answer: str | None, contexts: list[str] | str | None, tags: Any = None, **more: Any
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"summary_intent": "agent_notes"}
    if tags is not None:
        metadata["summary_tags"] = tags
    return {
        "id": name,
        "question": "상담 내용을 요약해 주세요.",
        "answer": answer,
        "contexts": contexts,
        **more,
        "metadata": metadata,
    }


CASES = [
    # good summaries
    case(
        "cancer-benefit",
        "암 진단 시 3천만원을 지급합니다. 단, 가입 후 90일 이내 진단은 면책입니다.",
        [
            "암 진단이 확정되면 진단비 3,000만 원을 지급합니다.",
            "다만 계약일부터 90일까지는 면책기간으로 보장하지 않습니다.",
        ],
        ["exclusion", "condition"],
    ),
    case(
        "hospital-daily",
        "입원 1일당 5만원, 연간 180일 한도입니다. 본인부담금은 20%입니다.",
        [
            "질병 입원 시 하루 50,000원을 지급하며 1년에 180일을 한도로 합니다.",
            "급여 항목의 자기부담은 20퍼센트입니다.",
        ],
        "limit, deductible",
    ),
    case(
        "period",
        "보험기간은 2026년 3월 1일부터 2046-02-28까지이며 20년납입니다.",
        ["보험기간: 2026.3.1 ~ 2046.2.28", "납입기간은 20년입니다."],
        [],
    ),
    case(
        "documents",
        "청구하려면 진단서와 영수증을 제출해야 합니다. 지급 여부는 담당자에게 확인이 필요합니다.",
        ["청구 서류는 진단서, 영수증입니다.", "지급 여부는 심사 후 결정됩니다."],
        ["documents_required", "needs-followup"],
    ),
    case(
        "no-promise",
        "사고 유형에 따라 달라 무조건 지급되는 것은 아닙니다. 수술비 한도는 200만원입니다.",
        ["수술비는 2백만원을 한도로 지급하며 약관상 면책 사유가 있습니다."],
        "limit",
    ),
    case(
        "reduction",
        "가입 1년 이내에는 보험금이 50% 감액됩니다.",
        ["계약일부터 12개월 이내 진단 시 보험금을 50% 감액하여 지급합니다."],
        ["reduction"],
    ),
    case(
        "death-benefit-en",
        "The death benefit is $100,000. A 90-day waiting period applies and suicide is excluded for 2 years.",
        [
            "Upon death the policy pays USD 100,000.",
            "There is a waiting period of ninety days; suicide within 24 months is excluded.",
        ],
        ["waiting_period", "exclusion"],
        question="Summarise the policy.",
    ),
    case(
        "copay-en",
        "A 20% co-pay applies up to $2,000 per year. Follow-up with the branch is required.",
        ["The insured pays 20 percent, at most 2,000 dollars a year."],
        ["deductible", "limit", "needs_followup"],
        question="Summarise the policy.",
    ),
    # figures that the contexts do not support
    case(
        "wrong-amount",
        "뇌출혈 진단 시 2,500만원을 지급합니다.",
        ["뇌출혈 진단비는 2천만 원입니다."],
        [],
    ),
    case(
        "wrong-date",
        "보장 개시일은 2026년 4월 1일이고 보험료는 월 12만원입니다.",
        ["보장은 2026년 1월 1일에 시작합니다.", "보험료는 매월 120,000원입니다."],
        [],
    ),
    case(
        "month-is-not-january",
        "대기기간은 1개월입니다.",
        ["이 특약의 시행일은 1월입니다."],
        ["waiting_period"],
    ),
    case(
        "half-supported",
        "골절 진단비 30만원, 화상 진단비 100만원을 지급합니다.",
        ["골절 진단비 30만원, 화상 진단비 10만원"],
        [],
    ),
    # risks left out, promises, follow-ups
    case(
        "missing-risks",
        "입원비는 1일 3만원입니다.",
        ["입원비는 1일 3만원이며 자기부담 10%, 연 60일 한도, 음주 사고는 면책입니다."],
        "exclusion|deductible|limit",
    ),
    case(
        "promise",
        "이 담보는 무조건 보장되며 치료비를 100% 지급합니다.",
        ["치료비의 80%를 보장합니다."],
        [],
    ),
    case(
        "promise-en",
        "Your claim will definitely be paid in full.",
        ["Claims are paid at 80%."],
        [],
        question="Summarise.",
    ),
    case(
        "followup-left-out",
        "실손 통원비 25만원 지급 예정",
        ["통원비 25만원은 추가 심사 후 결정"],
        ["needs_followup"],
    ),
    case(
        "followup-not-needed",
        "통원비 25만원 지급. 추가 확인 필요",
        ["통원비 25만원 지급 완료"],
        ["limit"],
    ),
    case(
        "followup-denied",
        "통원비 25만원 지급. 추가 확인은 불필요합니다.",
        ["통원비 25만원, 진단코드 확인 중"],
        ["needs_followup"],
    ),
    # nothing to measure
    case(
        "no-figures",
        "상담원이 갱신형 상품의 특징을 안내했습니다.",
        ["고객이 갱신형 상품의 장점을 문의했습니다."],
    ),
    case("summary-without-figures", "암 진단비를 안내했습니다.", "암 진단비는 3,000만원입니다."),
    case("empty-summary", "  ", ["암 진단비는 3,000만원입니다."], ["limit"]),
    # what a report must survive
    case(
        "formula",
        '=HYPERLINK("http://example.invalid","보험금 50만원 확인")',
        ["보험금은 50만원입니다."],
        [],
    ),
    case(
        "markup",
        "<script>alert('요약')</script> 보험금은 ５０만원, 자기부담은 ２０％입니다.",
        ["보험금 500,000원, 자기부담 20%"],
        ["deductible"],
    ),
    case(
        "unknown-tag",
        "해지환급금은 납입 3년 후 발생합니다.",
        ["해지환급금은 36개월 이후 발생"],
        ["surrender_value", "exclusoin"],
    ),
]


if __name__ == "__main__":
    print(f"{write_jsonl(TARGET, CASES)} cases -> {TARGET}")
