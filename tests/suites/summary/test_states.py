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


OPPOSITE = {"contradicted": [{"text": "90일 이내"}]}
MISPLACED = {"look": [{"why": "it stands at another item", "text": "90일"}]}


def test_the_state_of_a_metric() -> None:
    for evidence, passed, state in (
        # what a source contradicts fails, what a person must settle is looked at
        (OPPOSITE, True, "fail"),
        (MISPLACED, True, "look"),
        (OPPOSITE | MISPLACED, True, "fail"),
        (MISPLACED, False, "fail"),
        # one invented figure among ten too
        ({"unsupported": [{"kind": "amount", "text": "5천만원"}]}, True, "look"),
        ({"unsupported": [{"kind": "age", "text": "23세"}]}, True, "look"),
        ({"unsupported": [{"kind": "condition", "text": "면책"}]}, True, "ok"),
    ):
        found = metric_state("summary_accuracy", evidence, measured=True, passed=passed)
        assert found == state, evidence
