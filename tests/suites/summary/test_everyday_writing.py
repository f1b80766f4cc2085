"""What letters, notes and calls write in a short way, against a summary that writes it in full, or the reverse."""

from __future__ import annotations

import pytest

from evaltools.suites.summary.entities import extractor
from evaltools.suites.summary.rules import load_rules
from evaltools.suites.summary.scoring import score
from evaltools.suites.summary.states import metric_state

EXTRACTOR = extractor(load_rules("ko-insurance").compiled)


def dates(text: str) -> list[str]:
    entities = EXTRACTOR.entities(text)
    return [e.value for e in entities if e.kind == "date" and not e.support_only]


def accuracy(summary: str, source: str) -> str:
    told = score(summary, [source])["summary_accuracy"]
    passed = told.score >= 0.9
    return metric_state("summary_accuracy", told.evidence, measured=told.measured, passed=passed)


def covers(summary: str, source: str, tag: str) -> bool:
    return score(summary, [source], [tag])["summary_risk_coverage"].score == 1.0


def names_followup(summary: str) -> bool:
    scores = score(summary, ["3만원"], ["needs_followup"])
    return scores["summary_needs_followup"].score == 1.0


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("환급금은 9.30. 지급되었습니다", ["--09-30"]),
        ("민원 취하(10.29.)", ["--10-29"]),
        ("입원 6.1.~6.20.(20일)", ["--06-01", "--06-20"]),
        ("6.1.~6.20.(20일)", ["--06-01", "--06-20"]),
        ("금리 3.3~5.5%", []),
        ("버전 3.3. 설치", []),
        ("v1.2. 배포", []),
        ("1.2.3. 용어", []),
        ("비율 13.3. 이하", []),
        ("3.3. 보상하는 손해\n3.4. 보상하지 않는 손해", []),
        ("’15년 가입, ’16년 해지", ["2015", "2016"]),
        ("’14.11.11 가입", ["2014-11-11"]),
        ("'15년 갱신형' 특약", []),
        ("15년 유지", []),
        ("’15년간 납입", []),
        ("68년생", ["1968"]),
        ("12년생", ["2012"]),
        ("21.6월 가입", ["2021-06"]),
    ],
)
def test_dates_with_dots_and_with_apostrophes(text: str, values: list[str]) -> None:
    assert dates(text) == values


@pytest.mark.parametrize(
    ("summary", "source", "wrong"),
    [
        ("집기 4천만, 재고 1천만", "집기 4천 / 재고 1천, 월 37,400원", "집기 5천만, 재고 1천만"),
        (
            "가입금액을 5천만원에서 1,900만원으로",
            "가입금액을 5천에서 1,900만 원으로",
            "가입금액을 6천만원에서 1,900만원으로",
        ),
        ("5천원에서 1만원 사이", "5천~1만원", "5천만원에서 1만원 사이"),
        ("500만원 송금", "한도 1,288만 원 중 오백만 할게요", "600만원 송금"),
        ("편측 450만 원", "다초점 25만원, 한쪽에 사백오십 들었어요", "편측 460만 원"),
        ("피해 550만 원", "가입금액 500만원, 피해가 오백오십이었고", "피해 650만 원"),
        ("대물 500만, 대인 3,000만", "대인은 3천만원까지시고 대물이 500이세요", "대물 600만"),
        ("암 3,000만 원, 뇌졸중 1,000만 원", "암 3천, 뇌졸중 1천, 통원 5천원", "암 4,000만 원"),
        ("보험료 58,800원", "사만 이천원에서 오만 팔천 팔백원으로", "보험료 58,900원"),
        ("68년생 고객 3만원", "1968년생 고객 3만원", "69년생 고객 3만원"),
        ("1년 내 50% 감액, 3만원", "1년 안에는 반이지만 3만원", "1년 내 30% 감액, 3만원"),
        ("출생체중 2.5kg 이하 5만원", "2.5킬로 이하 5만원", "출생체중 3.5kg 이하 5만원"),
        ("연 6회까지", "연 6회신데 두 번 쓰셨어요", "연 7회까지"),
        ("1사고당 3억 원", "1인당 일억, 1사고당 삼억이 한도세요", "1사고당 4억 원"),
        ("재고 3억에서 5억으로", "재고 삼억 이렇게요. 한 오억 되거든요", "재고 2억에서 5억으로"),
        ("사고당 10억 원", "사고당 십억이고요, 인원 제한이 없어요", "사고당 20억 원"),
        ("수리비 80만 원이면 5만원", "수리비가 팔십 나온다는데 5만원", "수리비 70만 원이면 5만원"),
        ("피해율 50%면 1,200만 원", "피해율 50%면 천이백이고요", "피해율 50%면 1,300만 원"),
        ("자기부담 20%", "자기부담이 이십 퍼센트예요", "자기부담 30%"),
        ("30%와 3만 원 중 큰 금액", "삼십 퍼센트하고 삼만 원 중에", "40%와 3만 원 중 큰 금액"),
        ("8주면 1천만 원", "지금 팔 주 나왔대요. 천만 원이고요", "9주면 1천만 원"),
        ("1인당 1억 5천만 원", "한 분당 일억 오천까지세요", "1인당 1억 6천만 원"),
        ("재산 10억 원까지", "재산은 한 사고에 십억까지 되세요", "재산 20억 원까지"),
        (
            "5만원을 끝자리 4417로 입금",
            "5만원, 끝자리 4417 맞으시죠?",
            "5만원을 끝자리 4418로 입금",
        ),
    ],
)
def test_sums_and_counts_of_speech(summary: str, source: str, wrong: str) -> None:
    assert accuracy(summary, source) == "ok"
    assert accuracy(wrong, source) != "ok"


def test_a_sum_with_its_unit_supports_no_other() -> None:
    assert accuracy("2,000원", "이천 원에서 오만 팔천 팔백원") == "ok"
    assert accuracy("2,000만 원", "이천 원에서 오만 팔천 팔백원") != "ok"
    assert accuracy("8,000만 원", "이천 원에서 오만 팔천 팔백원") != "ok"


@pytest.mark.parametrize(
    ("summary", "source", "wrong"),
    [
        # the day stands without its month: in that of the day on which it was said
        ("6/27까지 회신", "[통화 2025-06-24] 27일까지 알려주세요", "6/28까지 회신"),
        (
            "2월 20일까지 메일",
            "[상담 2025-02-18] 이십 일까지 이메일로 드릴게요",
            "2월 21일까지 메일",
        ),
        ("7/3까지 회신", "6월 24일 접수. 3일까지 연락드릴게요", "7/4까지 회신"),
        ("3/13 중 연락", "[녹취 2025-03-12] 내일 중으로 연락드리겠습니다", "3/14 중 연락"),
        ("2026년 1월 1일 방문", "2025년 12월 31일: 내일 방문합니다", "2026년 1월 2일 방문"),
        ("1/10~3/9 요양분", "1월 10일~3월 9일 요양분", "1/11~3/9 요양분"),
    ],
)
def test_days_are_counted_from_the_date_of_the_text(summary: str, source: str, wrong: str) -> None:
    assert accuracy(summary, source) == "ok"
    assert accuracy(wrong, source) != "ok"


def test_a_day_of_a_text_without_a_date_is_no_date() -> None:
    assert not dates("27일까지 알려주세요, 내일도 됩니다")


def test_a_reply_is_no_counter() -> None:
    assert not EXTRACTOR.entities("내일 3회신 예정")


@pytest.mark.parametrize(
    "summary",
    [
        "고객님께서 보상 여부를 문의하셨고 답변드렸습니다.",
        "직업이 바뀌면 바로 회사에 통지해야 하고, 위반 시 삭감됩니다.",
        "재심사를 청구할 수 있고 재심사 신청서를 제출해야 함.",
        "180일 이내 확정되지 않을 때는 의사 진단에 따릅니다.",
    ],
)
def test_a_question_a_duty_and_a_condition_are_no_followup(summary: str) -> None:
    assert not names_followup(summary)


@pytest.mark.parametrize(
    "summary",
    [
        "전손 여부는 손해사정사가 모레 현장조사 후 고객에게 설명할 예정.",
        "보상 여부를 본사에 문의하기로 함.",
        "심사 결과를 고객에게 통지해야 함.",
        "금액이 아직 확정되지 않았습니다.",
    ],
)
def test_an_act_that_is_still_due_is_a_followup(summary: str) -> None:
    assert names_followup(summary)


@pytest.mark.parametrize(
    ("summary", "source"),
    [
        ("한 달 안에 쓴 것만 인정.", "홀인원 하신 날부터 한 달 안에 쓰신 것만 인정됩니다."),
        ("계약 후 1년 이내 수술은 반액", "다만 1년 이내에 수술을 받은 경우 50%로 합니다."),
        ("예외로 허가사항대로 투여한 경우", "다만 허가사항대로 투여된 경우는 보상합니다."),
        ("가액 80%에 미달해 비례보상", "가액의 80% 미만인 때 비례보상"),
        ("중증치매(CDR 3점 이상) 2,500만원", "중증치매: CDR 3점 이상 지속 시 2,500만원"),
    ],
)
def test_a_condition_told_by_its_bound(summary: str, source: str) -> None:
    assert covers(summary, source, "condition")
    assert not covers("주차는 3만원 이상", source, "condition")


def test_what_is_outside_the_cover_is_excluded() -> None:
    source = "결로로 생긴 손해는 보상하지 않습니다."
    assert covers("결로 손해는 보상 밖이다.", source, "exclusion")


def test_a_share_of_fault_is_no_promise() -> None:
    source = ["저희 가입자 과실 100%로 정리됐어요."]
    fault = score("우리 가입자 과실 100%.", source)["summary_non_definitive"]
    promise = score("100% 지급됩니다.", source)["summary_non_definitive"]
    assert (fault.score, promise.score) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("summary", "source", "score_of_it"),
    [
        ("입원 의료비 100% 보상", "의료비를 100% 보상하고 3천만원까지예요.", 1.0),
        ("입원 의료비 100% 보상", "고객: 의료비 100% 보상되나요? 상담사: 80% 보상됩니다.", 0.0),
        ("입원 의료비 100% 보상", "대물은 100% 할증됩니다.", 0.0),
        ("무조건 보상", "무조건 보상됩니다.", 0.0),
    ],
)
def test_only_a_rate_that_the_source_states_word_for_word_is_no_promise(
    summary: str, source: str, score_of_it: float
) -> None:
    assert score(summary, [source])["summary_non_definitive"].score == score_of_it


def test_the_literal_rules_let_no_rate_off() -> None:
    literal = score("100% 보상", ["의료비를 100% 보상합니다."], rules="seed")
    assert literal["summary_non_definitive"].score == 0.0


def test_an_amount_that_never_changes_is_a_promise() -> None:
    told = score("이 금액은 평생 변동 없이 보장됩니다.", ["이율에 따라 변합니다."])
    assert told["summary_non_definitive"].score == 0.0


@pytest.mark.parametrize(
    ("summary", "source", "expected"),
    [
        (
            "진단비 2,000만원은 부지급 처리됨.",
            "청구: 진단비 2,000만원\n계약을 해지하고 진단비를 지급하지 않습니다.",
            "ok",
        ),
        (
            "가입금액이 2만달러여서 초과분은 보상 불가.",
            "가입금액이 2만 달러로, 이를 넘는 부분은 보상할 수 없음.",
            "ok",
        ),
        ("작업이 160시간에 못 미치는 경우 30일", "작업이 160시간을 초과하는 경우 30일", "fail"),
        ("작업이 160시간에 미달하면 30일", "작업이 160시간 미만이면 30일", "ok"),
    ],
)
def test_denials_and_bounds_in_other_words(summary: str, source: str, expected: str) -> None:
    assert accuracy(summary, source) == expected


@pytest.mark.parametrize(
    ("right", "wrong", "source"),
    [
        (
            "예방 목적 치석제거는 보상되지 않음. 3만원 공제",
            "예방 목적 치석제거는 보상됨. 3만원 공제",
            "치석제거 같은 예방 목적 처치는 보상에서 빠집니다. 3만 원 공제합니다.",
        ),
        (
            "갱신형 특약 보험료는 면제되지 않음. 180일째 진단",
            "갱신형 특약 보험료도 면제됨. 180일째 진단",
            "갱신형 특약의 보험료는 면제 대상에서 제외합니다. 180일째 진단",
        ),
    ],
)
def test_the_opposite_of_what_a_source_says_without_a_sum(
    right: str, wrong: str, source: str
) -> None:
    assert accuracy(right, source) == "ok"
    assert accuracy(wrong, source) != "ok"
