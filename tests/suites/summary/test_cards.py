"""The cards of summaries: scores in words, and a figure beside the passage that it comes from."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import evaltools as et
from evaltools.core.language import say, speaking
from evaltools.report.samples import SIGNS
from evaltools.suites.summary.artifacts import cases_frame
from evaltools.suites.summary.cards import cards as cards_of
from evaltools.suites.summary.judge import to_ask
from evaltools.suites.summary.passages import around
from evaltools.suites.summary.reasons import why

CONTEXT = (
    "골절 진단비는 30만 원입니다. 가입 후 90일은 면책기간이고, 자기부담금은 2만 원이에요. "
    "음주 사고는 보상하지 않습니다."
)
CASES: list[dict[str, Any]] = [
    {"id": "full", "answer": "면책기간 90일, 자기부담금 2만원, 음주는 보상하지 않음"},
    {"id": "no deductible", "answer": "대기기간 90일이며 음주는 보상하지 않음"},
    {"id": "neither", "answer": "골절 진단비 30만원"},
]


def run(tmp_path: Path, cases: list[dict[str, Any]], tags: list[str], **metadata: Any) -> Any:
    rows = [
        {
            "contexts": [CONTEXT],
            **case,
            "metadata": {"summary_tags": tags, **metadata, **case.get("metadata", {})},
        }
        for case in cases
    ]
    path = tmp_path / "cases.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return et.evaluate("summary", path)


def test_a_figure_stands_beside_the_passage_that_it_comes_from(tmp_path: Path) -> None:
    found = run(tmp_path, [{"id": "a", "answer": "골절 30만원. 한도 500만원. 2월 30일 접수."}], [])
    words = why(found.units.iloc[0], "summary_accuracy")
    assert "“500만원” in “한도 500만원”" in words and "500만원”, from" not in words
    assert "“30만원” in “골절 30만원”, from “골절 진단비는 30만 원입니다”" in words
    assert "not read, compared with nothing: “2월”, “30일”" in words
    evidence = found.units.loc[0, "summary_accuracy_evidence"]
    assert evidence["read"] == "partly read"
    whole = run(tmp_path, CASES, []).units
    assert {e["read"] for e in whole["summary_accuracy_evidence"]} == {"read"}
    for case in whole.to_dict("records"):
        assert "not read" not in why(case, "summary_accuracy")


def finding(card: Any, metric: int) -> str:
    """Sign, score and reason of a metric on a card."""
    (line,) = card["rows"][metric].cells["found"]
    return " ".join(filter(None, [SIGNS.get(line.mark), line.text, line.note]))


@pytest.mark.parametrize(
    ("lang", "said"),
    [
        ("en", "not measured (counts as 1.00): no tags"),
        ("ko", "측정 안 됨 (1.00으로 계산): 태그 없음"),
        ("zh", "未测（按 1.00 计）：没有标签"),
    ],
)
def test_a_number_that_stands_for_none_never_leads(tmp_path: Path, lang: str, said: str) -> None:
    untagged = {"id": "untagged", "metadata": {"summary_tags": []}, "answer": "자기부담금 2만원"}
    result = run(tmp_path, [CASES[0], untagged, {"id": "blank", "answer": " "}], ["deductible"])
    with speaking(lang):
        cards = cards_of(result, result.units).set_index("case_id")
        sheet = cases_frame(result).set_index(say("case"))
        texts = {case_id: finding(cards.loc[case_id], 1) for case_id in cards.index}
        title, why = say("Risk coverage"), say("{metric}: why", metric=say("Risk coverage"))
        accuracy = finding(cards.loc["blank"], 0)
    assert texts["untagged"] == said == sheet.loc["untagged", why]
    assert math.isnan(sheet.loc["untagged", title]) and sheet.loc["full", title] == 1.0
    assert texts["full"].startswith("✓ 1.00 ") and texts["blank"].startswith("✗ 0.00 ")
    # a blank summary is measured: nothing of it stands for anything
    assert (
        accuracy.startswith("✗ 0.00 ") and "(" not in accuracy and sheet.loc["blank", title] == 0.0
    )
    assert not any(
        said.split(":")[0].split("：")[0] in texts[case_id] for case_id in ("full", "blank")
    )


def test_unread_figures_go_to_the_judge(tmp_path: Path) -> None:
    cases = [
        {"id": "read", "answer": "골절 30만원, 자기부담금 2만원"},
        {"id": "unread", "answer": "골절 30만원, 자기부담금 2만원, 2월 30일 접수"},
    ]
    asked = [
        i
        for i in to_ask(run(tmp_path, cases, ["deductible"]).data)
        if i.metric == "summary_accuracy"
    ]
    assert [(i.case_id, i.trigger) for i in asked] == [("unread", "a figure was not read")]


@pytest.mark.parametrize(
    ("text", "at", "said"),
    [
        ("가. 나 30일 다. 라", (5, 8), "나 30일 다"),
        ("1.5배 지급", (0, 4), "1.5배 지급"),
        ("가" * 50 + "나" + "다" * 50, (50, 51), "…" + "가" * 40 + "나" + "다" * 40 + "…"),
        ("나", (0, 1), "나"),
    ],
)
def test_the_sentence_around_a_place(text: str, at: tuple[int, int], said: str) -> None:
    assert around(text, at) == said


def test_a_card_holds_the_places_of_figures_and_of_what_is_missing(tmp_path: Path) -> None:
    answer = "골절 진단비 30만원은 무조건 지급, 수술비 50만원"
    result = run(
        tmp_path, [{"id": "a", "answer": answer, "contexts": ["인사말", CONTEXT]}], ["deductible"]
    )
    card = cards_of(result, result.units).iloc[0]
    found = [(card[c][s:e], kind, n, told) for c, s, e, kind, n, told in card["places"]]
    stated = "“30만원” in “골절 진단비 30만원은 무조건 지급, 수술비 50만원”, from “골절 진단비는 30만 원입니다”"
    assert found == [
        ("30만원", "good", 1, stated),
        ("30만 원", "good", 1, stated),
        ("무조건", "bad", 2, "Definitive phrases"),
        ("50만원", "bad", 3, "“50만원” in “골절 진단비 30만원은 무조건 지급, 수술비 50만원”"),
        ("자기부담", "missing", 4, "missing: deductible"),
    ]
