"""The five scores: worked examples, what is not measured, evidence with places, and what must not matter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaltools import evaluate
from evaltools.app.workers import Workers
from evaltools.core.errors import InputError, Problems
from evaltools.summary import score as scoring
from evaltools.summary import views
from evaltools.summary.rules import METRICS, load_rules
from evaltools.summary.schema import Case
from evaltools.summary.score import Verdict, score_case, score_cases

RULES = load_rules("ko-insurance")


def verdicts(answer: str | None, contexts: list[str], tags: list[str] | None = None) -> dict[str, Verdict]:
    return dict(score_case(answer, contexts, tags or [], RULES).verdicts)


def test_a_case_by_hand() -> None:
    answer = "암 진단비 3천만원, 수술비 100만원. 90일 면책."
    v = verdicts(answer, ["암 진단 시 3,000만원", "면책기간 90일, 자기부담 20%"], ["exclusion", "deductible"])
    # 30,000,000원, 90 days and the exclusion are supported, 1,000,000원 is not: 3 of 4
    assert (v["summary_accuracy"].numerator, v["summary_accuracy"].denominator) == (3, 4)
    # of 30,000,000원, 90 days, exclusion, deductible and 20%, the summary keeps the first three
    assert v["entity_recall"].score == pytest.approx(3 / 5)
    assert v["summary_risk_coverage"].score == pytest.approx(1 / 2)
    unsupported = v["summary_accuracy"].evidence["unsupported"]
    assert unsupported == [{"kind": "amount", "text": "100만원", "value": "1000000 KRW", "at": [16, 21]}]
    assert answer[16:21] == "100만원"
    supported = v["summary_accuracy"].evidence["supported"][0]
    assert (supported["text"], supported["context"], supported["context_at"]) == ("3천만원", 0, [7, 14])
    assert v["summary_risk_coverage"].evidence["covered"] == {"exclusion": [{"text": "면책", "at": [27, 29]}]}
    assert v["summary_risk_coverage"].evidence["missing"] == {"deductible": []}


@pytest.mark.parametrize(
    ("answer", "contexts", "tags", "metric", "score", "measured", "reason"),
    [
        ("안내", ["90일"], [], "summary_accuracy", 0.5, False, "no summary entities"),
        ("90일", ["안내"], [], "summary_accuracy", 0.0, False, "no context entities"),
        ("안내", [], [], "summary_accuracy", 0.0, False, "no context entities"),
        (" \n", ["90일"], [], "summary_accuracy", 0.0, True, "empty summary"),
        (None, ["90일"], [], "summary_accuracy", 0.0, True, "empty summary"),
        ("안내", [], [], "summary_risk_coverage", 1.0, False, "no tags"),
        ("안내", [], ["surrender_value"], "summary_risk_coverage", 1.0, False, "no known tags"),
        ("", [], [], "summary_non_definitive", 1.0, False, "empty summary"),
        ("안내", [], [], "summary_needs_followup", 1.0, False, "no tags"),
        ("추가 확인 필요", [], [], "summary_needs_followup", 0.0, False, "no tags"),
        ("", [], ["limit"], "summary_needs_followup", 1.0, False, "empty summary"),
        ("90일", ["안내"], [], "entity_recall", 0.0, False, "no context entities"),
    ],
)  # fmt: skip
def test_not_measured_keeps_the_number_of_the_source_document(
    answer: str | None, contexts: list[str], tags: list[str], metric: str, score: float, measured: bool, reason: str
) -> None:
    v = verdicts(answer, contexts, tags)[metric]
    assert (v.score, v.measured, v.evidence["reason"]) == (score, measured, reason)


def test_why_a_phrase_was_let_off_stands_in_the_evidence() -> None:
    e = verdicts("무조건 지급되는 것은 아닙니다.", [])["summary_non_definitive"].evidence
    assert e["definitive"] == []
    assert e["let_off"] == [{"text": "무조건", "at": [0, 3], "let_off": "denies that it is so", "by": "것은 아닙"}]


def test_an_unknown_tag_is_reported_and_expected_of_nobody() -> None:
    problems = Problems()
    case = Case(id="a", answer="면책", metadata={"summary_tags": ["exclusion", "exclusoin"]})  # type: ignore[arg-type]
    units, scored = score_cases([(7, case)], RULES, problems, Workers(), "f.jsonl")
    assert scored[0].verdicts["summary_risk_coverage"].score == 1.0
    assert json.loads(units.loc[0, "summary_risk_coverage_evidence"])["unknown_tags"] == ["exclusoin"]
    assert json.loads(units.loc[0, "unknown_tags"]) == ["exclusoin"]
    assert [(p.code, p.line, p.id) for p in problems.warnings] == [("unknown-tag", 7, "a")]
    assert "did you mean exclusion?" in problems.warnings[0].message


texts = st.lists(
    st.sampled_from(
        ["90일", "3천만원", "면책", "무조건 지급", "확인 필요", "20%", "한도", "안내", "2026.1.1", "하루", " "]
    ),
    max_size=5,
).map(" ".join)


@given(
    texts,
    st.lists(texts, max_size=3),
    st.lists(st.sampled_from(["limit", "exclusion", "needs_followup", "x"]), max_size=3),
)
def test_scores_are_shares_and_ignore_the_order_of_the_contexts(
    answer: str, contexts: list[str], tags: list[str]
) -> None:
    tags = list(dict.fromkeys(tags))
    forward, backward = verdicts(answer, contexts, tags), verdicts(answer, contexts[::-1], tags[::-1])
    for metric in METRICS:
        v, w = forward[metric], backward[metric]
        assert 0 <= v.score <= 1
        assert (v.score, v.measured, v.numerator, v.denominator) == (w.score, w.measured, w.numerator, w.denominator)
        if v.measured and v.denominator:
            assert v.score == v.numerator / v.denominator


@given(texts, texts)
def test_a_summary_that_repeats_its_context_is_supported(answer: str, more: str) -> None:
    v = verdicts(answer, [f"{more} {answer}"])["summary_accuracy"]
    assert v.score == 1.0 or not v.numerator


def test_the_number_of_processes_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "CHUNK", 7)
    path = "example:summary/cases.jsonl"
    one, two = evaluate("summary", path), evaluate("summary", path, workers=Workers(2))
    pd.testing.assert_frame_equal(one.units, two.units)


def test_averages_over_all_and_over_measured_cases(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [
        {"id": "a", "answer": "90일", "contexts": ["90일"]},  # 1
        {"id": "b", "answer": "60일", "contexts": ["90일"]},  # 0
        {"id": "c", "answer": "안내", "contexts": ["90일"]},  # 0.5, not measured
        {"id": "d", "answer": "안내", "contexts": []},  # 0.0, not measured
    ]
    path = tmp_path / "four.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    r = evaluate("summary", path)
    assert r.value("summary_accuracy") == pytest.approx((1 + 0 + 0.5 + 0) / 4)
    assert r.value("summary_accuracy_measured") == pytest.approx(1 / 2)
    assert r.value("summary_accuracy_pass_rate") == pytest.approx(1 / 4)  # only `a` reaches 0.9
    assert r.value("summary_accuracy_pass_rate_measured") == pytest.approx(1 / 2)
    assert r.value("summary_accuracy_not_measured_n") == 2
    assert r.value("summary_accuracy_micro") == pytest.approx(1 / 2)
    assert r.name == "four"


def test_rules_stand_in_policy_and_signature(tmp_path: Path) -> None:
    r = evaluate("summary", "example:summary/cases.jsonl")
    assert r.policy["rules"] == RULES.identity
    assert not any(k.startswith("judge_") for k in r.policy)
    assert f"rules:{RULES.identity}" in r.signature
    own = tmp_path / "own.json"
    own.write_text('{"schema_version": 1, "name": "own", "version": "2", "base": "seed"}', encoding="utf-8")
    other = evaluate("summary", "example:summary/cases.jsonl", rules=str(own))
    assert other.policy["rules"].startswith("own@") and other.policy["rules_version"] == "2"
    assert [i["role"] for i in other.manifest["inputs"]] == ["cases", "rules"]


def test_rules_that_changed_since_are_not_used_silently(tmp_path: Path) -> None:
    own = tmp_path / "own.json"
    text = '{"schema_version": 1, "name": "own", "version": "1", "base": "seed"}'
    own.write_text(text, encoding="utf-8")
    r = evaluate("summary", "example:summary/cases.jsonl", rules=str(own))
    own.write_text(text.replace('"seed"', '"ko-insurance"'), encoding="utf-8")
    with pytest.raises(InputError, match="rules-changed"):
        views.overview(r)


def test_the_example_shows_every_situation() -> None:
    r = evaluate("summary", "example:summary/cases.jsonl")
    assert len(r.units) == 24
    overview = views.overview(r).set_index("metric")
    assert (overview.loc[list(METRICS[:4]), "failing"] > 0).all()
    assert (overview["not_measured"] > 0).all()
    assert overview.loc["entity_recall", "verdict"] == "no threshold"
    assert set(views.not_measured(r)["reason"]) == {
        "no tags", "no known tags", "no context entities", "no summary entities", "empty summary",
    }  # fmt: skip
    assert [p["code"] for p in r.manifest["problems"]] == ["unknown-tag"]


def test_views_of_the_example() -> None:
    r = evaluate("summary", "example:summary/cases.jsonl")
    table = views.cases_table(r)
    n_failed = table["failed"].str.split(", ").map(lambda names: len([n for n in names if n]))
    assert n_failed.is_monotonic_decreasing and len(table) == 24
    assert (views.failing_cases(r)["failed"] != "").all()
    wrong = views.unsupported_entities(r).set_index("case_id")
    assert wrong.loc["wrong-amount", "value"] == "25000000 KRW"
    answer = wrong.loc["wrong-amount", "answer"]
    assert answer[wrong.loc["wrong-amount", "start"] : wrong.loc["wrong-amount", "end"]] == "2,500만원"
    assert set(views.missing_tags(r).query("case_id == 'missing-risks'")["tag"]) == {
        "exclusion",
        "deductible",
        "limit",
    }
    assert set(views.definitive_phrases(r)["case_id"]) == {"promise", "promise-en"}
    assert "no-promise" in set(views.definitive_phrases(r, let_off=True)["case_id"])
    coverage = views.tag_coverage(r)
    assert (coverage["covered"] <= coverage["expected"]).all()
