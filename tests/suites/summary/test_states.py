"""What is to become of a summary: fail, look or ok, from its scores and their evidence (D35)."""

from typing import Any

import pytest

import evaltools as et
from evaltools.suites.summary.states import metric_state

SOURCE = "암 진단비는 3,000만원입니다. 면책기간은 90일입니다."


def run(cases: list[dict[str, Any]]) -> Any:
    rows = [{"contexts": [SOURCE], "summary_tags": [], **case} for case in cases]
    return et.evaluate("summary", rows, n_resamples=100)


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        ("암 진단비 3천만원, 면책기간 90일", "ok"),
        ("암 진단비 5천만원, 면책기간 90일", "fail"),  # 1 of 2 supported: 0.5 < 0.9
        ("암 진단비 3천만원은 무조건 지급", "fail"),
        ("암 진단비를 안내함", "look"),  # accuracy has nothing to measure
        ("암 진단비 3천만원, 2월 30일 접수", "look"),  # a date that there is not is unread
        ("", "fail"),
    ],
)
def test_the_state_of_a_case(answer: str, state: str) -> None:
    assert run([{"id": "a", "answer": answer}]).units["state"].tolist() == [state]


def test_a_tag_that_nothing_checks_is_looked_at() -> None:
    case = {"id": "a", "answer": "암 진단비 3천만원", "summary_tags": ["no such tag"]}
    units = run([case]).units
    assert units.loc[0, "summary_risk_coverage_state"] == "look" == units.loc[0, "state"]


def test_what_a_source_contradicts_fails_and_what_a_person_must_settle_is_looked_at() -> None:
    accuracy = "summary_accuracy"
    measured = {"measured": True, "passed": True}
    opposite = {"contradicted": [{"text": "90일 이내"}]}
    misplaced = {"look": [{"why": "it stands at another item", "text": "90일"}]}
    assert metric_state(accuracy, opposite, **measured) == "fail"
    assert metric_state(accuracy, misplaced, **measured) == "look"
    assert metric_state(accuracy, opposite | misplaced, **measured) == "fail"
    assert metric_state(accuracy, misplaced, measured=True, passed=False) == "fail"


def test_one_invented_figure_among_ten_is_looked_at() -> None:
    invented = {"unsupported": [{"kind": "amount", "text": "5천만원", "at": [0, 5]}]}
    age = {"unsupported": [{"kind": "age", "text": "23세", "at": [0, 3]}]}
    word = {"unsupported": [{"kind": "condition", "text": "면책", "at": [0, 2]}]}
    passed = {"measured": True, "passed": True}
    assert metric_state("summary_accuracy", invented, **passed) == "look"
    assert metric_state("summary_accuracy", age, **passed) == "look"
    assert metric_state("summary_accuracy", word, **passed) == "ok"
