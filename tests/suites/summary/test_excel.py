"""The files for people and programs: summary_scores.xlsx read back with openpyxl, summary_scores.csv."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pytest

from evaltools import evaluate
from evaltools.core.errors import UsageError
from evaltools.core.language import LANGUAGES, speaking, translations
from evaltools.core.results import read_manifest
from evaltools.report import excel
from evaltools.report.excel import CELL_LIMIT, Sheet, write_workbook
from evaltools.suites.summary.artifacts import SCORES, cases_frame
from evaltools.suites.summary.rules import METRICS


def cells(path: Path, sheet: str) -> list[list[object]]:
    return [[c.value for c in row] for row in openpyxl.load_workbook(path)[sheet].iter_rows()]


def test_the_files_of_the_example(tmp_path: Path) -> None:
    r = evaluate("summary", "example:summary/cases.jsonl", out=tmp_path)
    folder = tmp_path / "results" / "cases"
    scores = pd.read_csv(folder / "summary_scores.csv")
    assert tuple(scores.columns) == SCORES
    assert len(scores) == 24 * len(METRICS)
    assert scores["metric"].tolist()[:5] == list(METRICS)
    recall = scores[scores["metric"] == "entity_recall"]
    assert recall["threshold"].isna().all() and recall["passed"].isna().all()
    for row in scores[scores["metric"] != "entity_recall"].itertuples():
        assert str(row.passed) == str(row.score >= row.threshold)
        json.loads(row.evidence), json.loads(row.tags)

    book = openpyxl.load_workbook(folder / "summary_scores.xlsx")
    assert book.sheetnames == ["Overview", "Cases", "Rules in force"]
    for sheet in book.worksheets:
        assert sheet.freeze_panes is not None and sheet.auto_filter.ref is not None
        assert not [
            c for row in sheet.iter_rows() for c in row if c.data_type == "f" or c.hyperlink
        ]
    table = cells(folder / "summary_scores.xlsx", "Cases")
    assert len(table) == 25 and table[1][1]  # the first case fails something
    assert any(str(v).startswith("=HYPERLINK") for row in table for v in row)
    assert any("<script>" in str(v) for row in table for v in row)
    rules = {row[0] for row in cells(folder / "summary_scores.xlsx", "Rules in force")}
    assert {"threshold", "risk item", "definitive phrases", "unit"} <= rules
    contents = [str(row[2]) for row in cells(folder / "summary_scores.xlsx", "Rules in force")]
    assert "면책" in contents and max(map(len, contents)) < 700  # a phrase a row: none is cut
    overview = cells(folder / "summary_scores.xlsx", "Overview")
    assert [r.signature] == [row[1] for row in overview if row[0] == "Signature"]
    assert {"What", "metric"} <= {row[0] for row in overview}


def test_the_cases_that_fail_most_metrics_come_first() -> None:
    table = cases_frame(evaluate("summary", "example:summary/cases.jsonl"))
    n_failed = table["fails"].str.split(", ").map(lambda names: len([n for n in names if n]))
    assert n_failed.is_monotonic_decreasing and len(table) == 24
    assert table.loc[0, "Summary accuracy (entity precision): why"] == (
        "unsupported: “100%” in “이 담보는 무조건 보장되며 치료비를 100% 지급합니다”"
        ", the source says “치료비의 80%를 보장합니다”"
    )


def test_the_workbook_speaks_the_language_and_programs_read_the_same(tmp_path: Path) -> None:
    english = {key for key in translations("ko") if key.count(" ") > 1}
    for lang in LANGUAGES:
        with speaking(lang):
            evaluate("summary", "example:summary/cases.jsonl", out=tmp_path / lang)
        folder = tmp_path / lang / "results" / "cases"
        book = openpyxl.load_workbook(folder / "summary_scores.xlsx")
        texts = {
            str(c.value)
            for sheet in book
            for row in sheet.iter_rows()
            for c in row
            if c.value is not None
        }
        assert bool(texts & english) == (lang == "en")
        assert not [
            c
            for sheet in book
            for row in sheet.iter_rows()
            for c in row
            if c.data_type == "f" or c.hyperlink
        ]
        for file in ("metrics.json", "summary_scores.csv"):
            assert (folder / file).read_bytes() == (
                tmp_path / "en" / "results" / "cases" / file
            ).read_bytes()
        assert read_manifest(folder).lang == lang
    assert {
        "근거 없음: “이 담보는 무조건 보장되며 치료비를 100% 지급합니다”의 “100%”, 원문에는 “치료비의 80%를 보장합니다”",
        "불합격",
    } <= {
        str(c.value)
        for sheet in openpyxl.load_workbook(
            tmp_path / "ko" / "results" / "cases" / "summary_scores.xlsx"
        )
        for row in sheet.iter_rows()
        for c in row
    }


def test_the_same_result_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in "ab":
        evaluate("summary", "example:summary/cases.jsonl", out=tmp_path / name)
    for file in ("summary_scores.xlsx", "summary_scores.csv"):
        one, two = ((tmp_path / name / "results" / "cases" / file).read_bytes() for name in "ab")
        assert one == two


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
    fits, long, wide = (
        "가" * CELL_LIMIT,
        "가" * (CELL_LIMIT + 1),
        "😀" * 20_000,
    )  # an emoji counts twice
    texts = ["a\x00b\x1fc\ud800", fits, long, wide, "line\nbreak\ttab"]
    frame = pd.DataFrame({"text": pd.Series(texts, dtype=object)})
    write_workbook(path, [Sheet("S", frame)])
    got = [row[0] for row in cells(path, "S")]
    assert got[1] == "a\ufffdb\ufffdc\ufffd"
    assert got[2] == fits and got[5] == "line\nbreak\ttab"
    assert str(got[3]).endswith("[cut: 32768 characters]") and len(str(got[3])) == CELL_LIMIT
    assert str(got[4]).endswith("[cut: 20000 characters]")


def test_values_keep_their_type(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    frame = pd.DataFrame({"a": [1, 2], "b": [0.25, np.nan], "c": [True, False], "d": ["x", None]})
    write_workbook(path, [Sheet("S", frame, head=[("name", "=1")])])
    rows = cells(path, "S")
    assert rows[0][:2] == ["name", "=1"]
    assert rows[3][:4] == [1, 0.25, True, "x"] and rows[4][:4] == [2, None, False, None]


def test_whole_numbers_with_gaps_are_numbers_that_can_be_added_up(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    frame = pd.DataFrame({"name": ["x", "y"], "n": pd.array([7, None], dtype="Int64")})
    write_workbook(path, [Sheet("S", frame)])
    assert [row[1] for row in cells(path, "S")[1:3]] == [7, None]


def test_a_wide_sheet_is_printed_on_several_pages_across(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    narrow = pd.DataFrame({"case": ["a"], "n": [1]})
    wide = pd.DataFrame({f"column {i}": ["word " * 20] for i in range(9)})
    write_workbook(path, [Sheet("N", narrow), Sheet("W", wide)])
    book = openpyxl.load_workbook(path)
    across = [book[name].page_setup.fitToWidth or 1 for name in ("N", "W")]
    assert across == [1, 3]
    assert book["W"].print_title_cols == "$A:$A"


def test_scores_and_verdicts_have_colours_and_an_empty_score_has_none(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    frame = pd.DataFrame({"a": [0.5, 0.9, np.nan], "verdict": ["fail", "ok", "odd"]})
    write_workbook(path, [Sheet("S", frame, scores={"a": 0.9}, verdicts="verdict")])
    rows = openpyxl.load_workbook(path)["S"].iter_rows(min_row=2)
    colours = [[str(cell.fill.fgColor.rgb)[2:] for cell in row] for row in rows]
    none, bad, good, grey = "000000", "F8CECC", "D5E8D4", "E8E8E8"
    assert colours == [[bad, bad], [good, good], [none, grey]]


def test_an_empty_frame_and_one_that_is_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_workbook(tmp_path / "a.xlsx", [Sheet("S", pd.DataFrame({"a": []}))])
    assert cells(tmp_path / "a.xlsx", "S")[0] == ["a"]
    monkeypatch.setattr(excel, "ROW_LIMIT", 5)
    with pytest.raises(UsageError, match="too many"):
        write_workbook(tmp_path / "b.xlsx", [Sheet("S", pd.DataFrame({"a": range(9)}))])
    assert not (tmp_path / "b.xlsx").exists()


def test_a_row_is_as_high_as_its_wrapped_text(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": ["short", "보험금 " * 40, "one\ntwo", "x" * 30_000]})
    write_workbook(tmp_path / "a.xlsx", [Sheet("s", frame)])
    rows = openpyxl.load_workbook(tmp_path / "a.xlsx")["s"].row_dimensions
    heights = [rows[number].height for number in (2, 3, 4, 5)]
    assert heights[0] is None
    assert heights[1] >= 60 and heights[2] == 30
    assert heights[3] <= 409  # the most that a row can be
