"""Figures and dates: every way to write a value reads back to it, in time linear in the text."""

import datetime
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaltools.suites.summary.entities import Entity, read_text
from evaltools.suites.summary.read import Case
from evaltools.suites.summary.rules import load_rules
from evaltools.suites.summary.scoring import score

RULES = load_rules("ko-insurance")


def stated(text: str) -> list[Entity]:
    return [e for e in read_text(RULES, text).entities if not e.support_only]


def keys(text: str) -> set[str]:
    return {e.key for e in stated(text)}


def hangul(n: int) -> str:
    """n below 10^16 in Hangul, as it is spoken: 12,340,000 is 천이백삼십사만."""
    out = ""
    for scale, name in ((10**12, "조"), (10**8, "억"), (10**4, "만"), (1, "")):
        section = n // scale % 10**4
        if not section:
            continue
        part = ""
        for small, sign in ((1000, "천"), (100, "백"), (10, "십"), (1, "")):
            digit = section // small % 10
            if digit:
                part += ("" if digit == 1 and small > 1 else "일이삼사오육칠팔구"[digit - 1]) + sign
        out += ("" if part == "일" and name == "만" else part) + name
    return out


def mixed(n: int, blank: str = "") -> str:
    """n with figures in sections: 1억 2345만 6789."""
    parts = [
        f"{n // s % 10**4}{name}"
        for s, name in ((10**8, "억"), (10**4, "만"), (1, ""))
        if n // s % 10**4
    ]
    return blank.join(parts)


amounts = st.integers(1, 10**12 - 1)


@given(amounts)
def test_every_form_of_an_amount_has_its_value(n: int) -> None:
    forms = [
        f"{n}원",
        f"{n:,}원",
        f"{n:,} 원",
        f"₩{n:,}",
        f"￦{n:,}",
        f"KRW {n:,}",
        f"{n:,} won",
        f"{n:,}원입니다",
    ]
    forms.append(f"보험금 {mixed(n)}원을")
    for form in forms:
        assert keys(form) == {f"amount:KRW:{n}"}, form


@given(st.integers(1, 10**8 - 1).map(lambda n: n * 10**4))
def test_amounts_in_ten_thousands(n: int) -> None:
    man = n // 10**4
    forms = [
        f"{man}만원",
        f"{man:,}만 원",
        f"{mixed(n)}원",
        f"{mixed(n, ' ')} 원",
        f"{hangul(n)}원",
        f"금 {hangul(n)} 원",
    ]
    forms += [f"{man / 10**4:.4f}억원"]
    for form in forms:
        assert keys(form) == {f"amount:KRW:{n}"}, form


@given(
    st.dates(datetime.date(1900, 1, 1), datetime.date(2099, 12, 31)),
    st.sampled_from(["", "부터", "까지", " 입니다", "."]),
)
def test_every_form_of_a_date_has_its_value(day: datetime.date, after: str) -> None:
    y, m, d = day.year, day.month, day.day
    forms = [
        f"{y}-{m:02d}-{d:02d}", f"{y}-{m}-{d}", f"{y}.{m}.{d}", f"{y}. {m}. {d}", f"{y}/{m:02d}/{d:02d}",
        f"{y}년 {m}월 {d}일", f"{y}년{m:02d}월{d:02d}일",
    ]  # fmt: skip
    for form in forms:
        assert keys(form + after) == {f"date::{day.isoformat()}"}, form + after
    last = f"date::--{m:02d}-{d:02d}"
    assert keys(f"{y}.{m}.{d}~{m}.{d}{after}") == {f"date::{day.isoformat()}", last}


PARTICLES = [
    "",
    "입니다",
    "이며",
    "이고",
    "부터",
    "까지",
    "은",
    "가",
    "을",
    "의 ",
    "으로",
    "에",
    "만",
    "마다",
    "당",
    " 이내",
]


def test_a_unit_is_read_before_any_particle() -> None:
    wrong = []
    for unit in RULES.units:
        if unit.kind == "clause":
            continue
        for word in unit.words:
            for after in PARTICLES:
                if any(after.startswith(tail) for tail in unit.not_before.get(word, ())):
                    continue  # another word: 배당
                kinds = {(e.kind, e.base) for e in stated(f"한도 37{word}{after}")}
                if (unit.kind, unit.base) not in kinds:
                    wrong.append((unit.kind, unit.base, word + after))
    assert wrong == []
    spoken = "삼프로, 칠 프로입니다; 이 프로그램, 이점오 프로, 이 점 오 프로"
    assert keys(spoken) == {"percent:%:3", "percent:%:7"}


def test_positions_point_into_the_composed_text_that_is_shown() -> None:
    plain = "면책 ９０일, 자기부담 ２０％ 3,000만원"
    raw = unicodedata.normalize("NFD", plain).replace("3,0", "\u200b3,\u20600")
    case = Case.model_validate({"id": "a", "answer": raw, "contexts": [raw]})
    assert (case.answer, case.contexts) == (plain, [plain])
    supported = score(raw, raw)["summary_accuracy"].evidence["supported"]
    assert {"９０일", "２０％", "3,000만원"} <= {entity["text"] for entity in supported}
    for entity in supported:
        assert plain[slice(*entity["at"])] == plain[slice(*entity["context_at"])] == entity["text"]


@pytest.mark.parametrize(
    "part",
    [
        "1",
        "1,",
        "억",
        "1억 ",
        "이 ",
        "2026-",
        "1~",
        "20,",
        "무조건 지급되는 ",
        "단서진단서",
        "지급되지 않",
        "(",
        "\u1100\u1161",
        "\u0301\u0323",
    ],
)
def test_a_very_long_text_is_read_to_its_end(part: str) -> None:
    text = part * (1_500 // len(part)) + " 끝 90일"
    assert "duration:day:90" in keys(text)
    score(text, [text], ["limit", "needs_followup"])
