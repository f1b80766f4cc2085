"""When the checks of summaries must appear and when not; the verdict, and what leads beside it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evaltools as et
from tests.app.calling import call
from tests.files import read_json, write_lines
from tests.suites.checks import found

CONTEXT = "보험금은 500만원이며 면책 기간은 90일입니다."
GOOD = {
    "answer": "보험금 500만원, 면책 기간 90일로 확인됨.",
    "contexts": [CONTEXT],
    "summary_tags": ["exclusion"],
}


def scored(*cases: dict[str, Any]) -> et.Run:
    """A run of cases, each GOOD but for what is given, with texts of their own."""
    rows = [
        {
            "id": str(i),
            **GOOD,
            "contexts": [f"상담 {'가' * i}. {CONTEXT}"],
            "answer": f"{GOOD['answer']} {'나' * i}",
            **c,
        }
        for i, c in enumerate(cases)
    ]
    return et.evaluate("summary", rows)


CODES = (
    "duplicate-texts",
    "unmeasured-share",
    "imputed-share",
    "unread-figures",
    "duplicate-answers",
)


def test_good_cases_have_no_check() -> None:
    run = scored(*[{}] * 20)
    assert not [c.message for c in run.checks if c.code in CODES]


def test_the_share_that_was_not_measured() -> None:
    no_tags = {"summary_tags": []}
    run = scored(*[{}] * 15, *[no_tags] * 5)
    check = found(run, "unmeasured-share")
    assert check.level == "warning" and (check.n, check.of) == (5, 20)
    assert "“Risk coverage” 5 (25%)" in check.message and "Summary accuracy" not in check.message
    assert found(scored(*[{}] * 16, *[no_tags] * 4), "unmeasured-share") is None
    # a refusal told wrongly, without a figure, is none of the summaries with a figure
    wrong = {
        "id": "a",
        "answer": "음주 사고도 보상함.",
        "contexts": ["음주 사고는 보상하지 않습니다."],
    }
    assert np.isnan(et.evaluate("summary", [wrong]).value("any_unsupported"))


def test_a_mean_that_rests_on_imputed_numbers_stands_beside_the_measured_one() -> None:
    bare = {"contexts": ["인사만 나누었습니다."], "answer": "보험금 500만원으로 안내함."}
    run = scored(*[{}] * 18, bare, {**bare, "answer": "보험금 700만원으로 안내함."})
    check = found(run, "imputed-share")
    assert check.level == "info" and (check.n, check.of) == (2, 20)
    assert "“Summary accuracy (entity precision)” 2 (10%)" in check.message
    assert run.value("summary_accuracy") == 0.9 and run.value("summary_accuracy_measured") == 1.0
    assert found(scored(*[{}] * 19, bare), "imputed-share") is None


@pytest.mark.parametrize(
    ("answer", "unread"),
    [
        ("보험금 500만원, 면책 90일, 2026-01-05 접수", []),
        ("접수번호 2026-0301-58812, 과실 7:4", ["2026-0301-58812", "7:4"]),
        ("1. 보험금 500만원\n2) 면책 90일\n(3) 접수", []),  # numbers of a list
        ("보험금 412,3OO원", ["412,3OO원"]),
        (None, []),
    ],
)
def test_figures_that_no_rule_reads(answer: str | None, unread: list[str]) -> None:
    run = scored({"answer": answer})
    assert run.units.loc[0, "unread_figures"] == unread
    check = found(run, "unread-figures")
    assert (check is None) == (not unread)
    if check is not None:
        assert check.level == "warning" and check.message.startswith(
            f"{len(unread)} figures in 1 of 1 summaries"
        )
        assert all(f"“{u}”" in check.message for u in unread)


def test_duplicate_answers_and_contexts() -> None:
    same, blank = {"answer": "요약 없음."}, {"answer": " "}
    check = found(
        scored(*[{}] * 18, same, {"answer": "요약  없음. "}),
        "duplicate-answers",
    )
    assert (check.n, check.of, check.level) == (2, 20, "warning")
    assert found(scored(*[{}] * 39, same, same), "duplicate-answers") is None
    assert found(scored(*[{}] * 5, blank, blank), "duplicate-answers") is None
    of_one = {"contexts": [CONTEXT]}
    assert found(scored({}, of_one, of_one), "duplicate-texts") is not None
    assert found(scored({}, {"contexts": []}, {"contexts": []}), "duplicate-texts") is None


def test_the_verdicts_stand_in_metrics_json_and_the_terminal_with_what_they_rest_on(
    tmp_path: Path,
) -> None:
    scores = {"a": "수술비 30만원", "b": "수술비 30만원, 입원비 9만원"}
    lines = [
        {"id": k, "answer": v, "contexts": ["수술비 30만원"], "summary_tags": []}
        for k, v in scores.items()
    ]
    path = write_lines(tmp_path / "two.jsonl", lines)
    said = call("score", "summary", path, "-o", tmp_path, "--n-resamples=100", "--lang=ko").stdout
    stored = read_json(tmp_path / "results/two/metrics.json")
    cases, first, *rest = stored["verdicts"]
    assert (cases["metric"], cases["verdict"]) == ("state", "fail")
    assert cases["said"] == "1 of 2 must not ship, 0 to look at"
    assert "1 of 2 summaries must not ship: 0 more to look at, 1 ok" in said
    # one of two: 1/1 and 1/2 of the figures are supported, and the threshold is 0.9
    assert (first["metric"], first["verdict"], first["failing"]) == ("summary_accuracy", "fail", 1)
    assert [v["verdict"] for v in rest] == ["not measured", "pass", "pass"]


@pytest.mark.parametrize(
    ("answer", "context", "expected"),
    [
        ("30만원", "30만원", 0.0),
        ("30만원, 9만원", "30만원", 1.0),
        ("80%", "30만원", 1.0),
        ("진단서", "30만원", 0.0),  # a document is no figure
        ("30만원 접수번호 4711", "30만원", 0.0),  # a figure that is not read takes no part
        ("", "30만원", np.nan),  # states nothing
        ("9만원", "문의", np.nan),  # nothing to compare with
    ],
)
def test_any_unsupported_is_the_share_of_summaries_with_a_wrong_figure(
    answer: str, context: str, expected: float
) -> None:
    case = {"id": "a", "answer": answer, "contexts": [context]}
    run = et.evaluate("summary", [case])
    # what is not measured is missing, in a comparison too
    values = [run.value("any_unsupported"), *run.units["any_unsupported"]]
    assert values == pytest.approx([expected] * 2, nan_ok=True)
    other = et.evaluate("summary", [case | {"contexts": "다른 상담"}])
    with pytest.raises(et.UsageError, match="other questions"):
        et.compare(run, other)
