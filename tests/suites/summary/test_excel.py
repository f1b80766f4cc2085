"""The files for people and programs: summary_scores.xlsx read back with openpyxl, summary_scores.csv."""

import json
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from evaltools import evaluate
from evaltools.core.messages import UsageError, speaking
from evaltools.suites.summary import artifacts
from evaltools.suites.summary.artifacts import CELL_LIMIT, Sheet, write_workbook
from evaltools.suites.summary.rules import METRICS


def cells(path: Path, sheet: str) -> list[list[object]]:
    return [[c.value for c in row] for row in openpyxl.load_workbook(path)[sheet].iter_rows()]


def test_the_scores_of_the_example_for_programs(tmp_path: Path) -> None:
    evaluate("summary", "example:summary/cases.jsonl", out=tmp_path)
    path = tmp_path / "results" / "cases" / "summary_scores.csv"
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")  # or Excel in Korean takes it for CP949
    scores = pd.read_csv(path)
    assert list(scores.columns) == [
        "case_id", "metric", "score", "measured", "rule_score", "llm_score", "decided_by", "threshold", "passed",
        "evidence", "tags", "state",
    ]  # fmt: skip
    assert scores["metric"].tolist() == [*METRICS] * 24
    recall = scores[scores["metric"] == "entity_recall"]
    assert recall["threshold"].isna().all() and recall["passed"].isna().all()
    for row in scores[scores["metric"] != "entity_recall"].itertuples():
        assert str(row.passed) == str(row.score >= row.threshold)
        json.loads(row.evidence), json.loads(row.tags)


def test_the_workbook_of_the_example_in_korean(tmp_path: Path) -> None:
    with speaking("ko"):
        evaluate("summary", "example:summary/cases.jsonl", out=tmp_path)
    path = tmp_path / "results" / "cases" / "summary_scores.xlsx"
    book = openpyxl.load_workbook(path)
    assert book.sheetnames == ["사용 불가", "사례", "점수와 사람 판정"]
    rows = cells(path, "사용 불가")
    head = next(number for number, row in enumerate(rows) if row[0] == "사례")
    assert rows[head][:4] == ["사례", "판정", "이유", "다음 조치"]
    assert (
        rows[0][0]
        == "cases: 요약 24건 중 11건은 사용할 수 없습니다 · 3건 추가 확인 필요, 10건 이상 없음"
    )
    assert head == 1 and {row[1] for row in rows[head + 1 : 13]} == {"사용 불가"}
    reasons = {row[0]: row[2] for row in rows[head + 1 : 13]}
    assert reasons["promise"] == (
        "100% → 원문 80% (치료비의 80%를 보장합니다)\n단정 표현 사용: “무조건”, “100%”"
    )
    assert any(str(row[0]).startswith("규칙: ko-insurance") for row in rows[13:])
    labels = cells(path, "점수와 사람 판정")
    assert labels[1][2:4] == ["사람 판정", "평가자"] and len(labels) == 2 + 24 * 4
    assert {row[2] for row in labels[2:]} == {None}
    for sheet in book:
        assert sheet.freeze_panes[0] in "DE" and sheet.auto_filter.ref
        assert max(row.height or 15 for row in sheet.row_dimensions.values()) <= 90
        for cell in (c for row in sheet.iter_rows() for c in row):
            assert cell.data_type != "f"


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@x", '=HYPERLINK("http://a")', "http://a.invalid", "{=1}", "mailto:a"],
)
def test_a_text_is_never_a_formula_or_a_link(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.xlsx"
    write_workbook(path, [Sheet("S", pd.DataFrame({text: [text]}))])
    for cell in (
        c for row in openpyxl.load_workbook(path)["S"].iter_rows(max_row=2, max_col=1) for c in row
    ):
        assert (cell.value, cell.data_type, cell.hyperlink) == (text, "s", None)


def test_what_a_cell_cannot_hold_is_changed_with_a_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    fits, long = "가" * CELL_LIMIT, "가" * (CELL_LIMIT + 1)
    texts = ["a\x00b\x1fc\ud800", fits, long, "line\r\nbreak\ttab"]
    frame = pd.DataFrame({"text": pd.Series(texts, dtype=object)})
    write_workbook(path, [Sheet("S", frame)])
    got = [row[0] for row in cells(path, "S")]
    assert got[1] == "a[U+0000]b[U+001F]c[U+D800]"
    assert got[2] == fits and got[4] == "line\nbreak\ttab"
    assert str(got[3]).endswith("[cut: 32768 characters]") and len(str(got[3])) == CELL_LIMIT


def test_an_empty_frame_and_one_that_is_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_workbook(tmp_path / "a.xlsx", [Sheet("S", pd.DataFrame({"a": []}))])
    assert cells(tmp_path / "a.xlsx", "S")[0] == ["a"]
    monkeypatch.setattr(artifacts, "ROW_LIMIT", 5)
    with pytest.raises(UsageError, match="too many"):
        write_workbook(tmp_path / "b.xlsx", [Sheet("S", pd.DataFrame({"a": range(9)}))])
    assert not (tmp_path / "b.xlsx").exists()
