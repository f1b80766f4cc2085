"""A company's own terms: rule files that extend, aliases, required tags, and heads in Korean."""

import re
from pathlib import Path

import pandas as pd
import pytest
from openpyxl import Workbook

import evaltools as et
from evaltools.core.messages import Problems
from evaltools.core.records import File
from evaltools.suites.summary.read import read_cases
from tests.app.calling import call
from tests.files import write_lines

PAGE = Path(__file__).parents[3] / "docs/summaries.md"


@pytest.fixture
def acme(tmp_path: Path) -> Path:
    """The example of docs/summaries.md."""
    example = re.search(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert example
    path = tmp_path / "acme.json"
    path.write_text(example[1], encoding="utf-8")
    return path


def test_the_example_of_the_page_does_what_the_page_says(acme: Path, tmp_path: Path) -> None:
    assert "errors: 0," in call("check", "rules", acme).output
    cases = tmp_path / "cases.csv"
    cases.write_text(
        "사례번호,요약,원문,태그,상품\n"
        "a,면책기간 90일. 감액 없음. 청약 철회 가능,면책기간은 90일입니다.,,암보험\n"
        "b,음주 사고는 보상에서 빠지며 청약을 철회할 수 있음,음주 사고는 면책입니다.,면책조항,실손\n"
        "c,안내함,안내,,실손\n",
        encoding="utf-8",
    )
    units = et.evaluate("summary", cases, rules=str(acme), n_resamples=100).units
    assert units["tags"].tolist() == [
        ["청약철회", "waiting_period", "reduction"],
        ["exclusion", "청약철회"],
        ["청약철회"],
    ]
    assert units["summary_risk_coverage"].tolist() == [1.0, 1.0, 0.0]
    assert units["summary_risk_coverage_state"].tolist() == ["ok", "ok", "fail"]


def test_korean_tags_are_read_in_every_file_and_from_python() -> None:
    scores = et.summary.score("한도 5천만원", ["한도 5천만원"], "한도 | 면책 기간, 자기부담금")
    coverage = scores["summary_risk_coverage"].evidence
    assert list(coverage["covered"]) == ["limit"]
    assert list(coverage["missing"]) == ["waiting_period", "deductible"]


def test_heads_of_a_workbook_may_be_korean(tmp_path: Path) -> None:
    book = Workbook()
    book.active.append(["사례 번호", "요약문", "대화 원문", "리스크 항목", "채널", "메모"])
    book.active.append(["1", "한도 5천만원", "한도 5천만원", "한도", "콜센터", "없음"])
    book.save(tmp_path / "a.xlsx")
    problems = Problems()
    ((line, case),) = read_cases(File(tmp_path / "a.xlsx", problems))
    assert (line, case.id, case.answer, case.contexts) == (2, "1", "한도 5천만원", ["한도 5천만원"])
    assert (case.tags, case.metadata.channel) == (["한도"], "콜센터")
    assert [p.message for p in problems.kept] == ["columns that are not read: 메모"]


def test_a_product_is_known_whatever_its_blanks(tmp_path: Path) -> None:
    content = {"schema_version": 1, "name": "own", "version": "1", "extends": "ko-insurance"}
    rules = write_lines(tmp_path / "own.json", [{**content, "required": {"암보험": ["면책기간"]}}])
    cases = [
        {"id": "1", "answer": "안내", "contexts": ["안내"], "metadata": {"product": "암 보험"}},
        {"id": "2", "answer": "안내", "contexts": ["안내"], "metadata": {"product": "자동차보험"}},
    ]
    path = write_lines(tmp_path / "cases.json", [cases])
    call("score", "summary", path, "--rules", rules, "--out", tmp_path)
    scores = pd.read_csv(tmp_path / "results" / "cases" / "summary_scores.csv", dtype=str)
    coverage = scores[scores["metric"] == "summary_risk_coverage"]
    assert coverage["tags"].tolist() == ['["waiting_period"]', "[]"]
