"""Case files: four formats, the same cases and scores; every record is used or reported with its place."""

import csv
import json
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest
import xlsxwriter

from evaltools import evaluate
from evaltools.core.files import example
from evaltools.core.messages import InputError, Problems
from evaltools.core.records import File
from evaltools.suites.summary.read import Case, read_cases, split_tags
from tests.files import read_lines

CASES: list[dict[str, Any]] = read_lines(example("summary/cases.jsonl"))


def flat(record: dict[str, Any], tags: str) -> dict[str, str | None]:
    """A record as a row of a table, its tags as a JSON array, a comma list or a pipe list."""
    given = record["metadata"].get("summary_tags")
    names = split_tags(given) or []
    join = {"json": json.dumps(names), "comma": ", ".join(names), "pipe": "|".join(names)}
    if not names:  # an empty cell gives no tags, an empty list says that there are none
        join[tags] = "" if given is None else "[]"
    contexts = record["contexts"]
    return {
        "id": record["id"],
        "question": record["question"],
        "answer": record["answer"],
        "contexts": contexts
        if isinstance(contexts, str)
        else json.dumps(contexts, ensure_ascii=False),
        "summary_tags": join[tags],
        "summary_intent": record["metadata"]["summary_intent"],
    }


def write(path: Path, tags: str = "json") -> Path:
    frame = pd.DataFrame([flat(r, tags) for r in CASES])
    if path.suffix == ".csv":
        frame.to_csv(path, index=False, encoding="utf-8-sig")
    elif path.suffix == ".xlsx":
        texts = {"options": {"strings_to_formulas": False}}
        frame.to_excel(path, index=False, engine="xlsxwriter", engine_kwargs=texts)
    else:
        path.write_text(
            json.dumps({"test_cases": CASES} if tags == "json" else CASES), encoding="utf-8"
        )
    return path


@pytest.mark.parametrize(
    ("name", "tags"), [("cases.json", "json"), ("cases.csv", "comma"), ("cases.xlsx", "pipe")]
)
def test_every_format_gives_the_same_scores(tmp_path: Path, name: str, tags: str) -> None:
    expected = evaluate("summary", example("summary/cases.jsonl")).units.drop(columns=["cases"])
    units = evaluate("summary", write(tmp_path / name, tags)).units.drop(columns=["cases"])
    pd.testing.assert_frame_equal(units, expected, check_dtype=False)


@pytest.mark.parametrize(
    ("given", "tags"),
    [
        (None, None),
        ("", []),
        (" Exclusion , LIMIT|waiting-period", ["exclusion", "limit", "waiting_period"]),
        ('["exclusion", "limit", null, " "]', ["exclusion", "limit"]),
        ("[]", []),
        (["Needs Followup", None, "needs-followup"], ["needs_followup"]),
        ([7, "limit"], ["7", "limit"]),
    ],
)
def test_tags(given: Any, tags: list[str] | None) -> None:
    assert split_tags(given) == tags


def read(path: Path, problems: Problems) -> list[tuple[int, Case]]:
    return list(read_cases(File(path, problems)))


@pytest.mark.parametrize(
    ("line", "code", "field"),
    [
        ('{"answer": "x"}', "bad-field", "id"),
        ('{"id": " ", "answer": "x"}', "bad-field", "id"),
        ('{"id": "a", "answer": 5}', "bad-field", "answer"),
        ('{"id": "a", "contexts": [1]}', "bad-field", "contexts.0"),
        (
            '{"id": "a", "metadata": {"summary_tags": {"x": 1}}}',
            "bad-field",
            "metadata.summary_tags",
        ),
        ('{"id": "first", "answer": "x"}', "duplicate-id", ""),
        ("[1]", "not-an-object", ""),
        ('{"id": ', "bad-json", ""),
    ],
)
def test_a_wrong_line_is_named_and_the_others_are_read(
    tmp_path: Path, line: str, code: str, field: str
) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(
        f'{{"id": "first"}}\n{line}\n{{"id": 3, "contexts": null, "extra": []}}\n', encoding="utf-8"
    )
    problems = Problems("skip")
    assert [(place, c.id) for place, c in read(path, problems)] == [(1, "first"), (3, "3")]
    found = problems.shown(quiet=True)[0]
    assert (found.code, found.line, found.file) == (code, 2, str(path))
    assert found.field.startswith(field)
    with pytest.raises(InputError, match=r"cases\.jsonl:2"):
        evaluate("summary", path)


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("a.xls", b"\xd0\xcf\x11\xe0", "wrong-encoding"),
        ("a.json", b'{"cases": []}', "bad-structure"),
        ("a.json", b"[", "bad-json"),
        ("a.csv", b"name,answer\n1,2\n", "wrong-columns"),
        ("a.csv", b"id,answer,answer\n1,2,3\n", "wrong-columns"),
        ("a.csv", b'id,answer\n1,"x\n', "bad-csv"),
        ("a.csv", b"id,answer\n1,2,3\n", "bad-row"),
        ("a.xlsx", b"PK nothing", "bad-xlsx"),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path: Path, name: str, content: bytes, code: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as e:
        evaluate("summary", path)
    assert [p.code for p in e.value.problems] == [code]


def test_a_table_keeps_long_and_many_line_texts_whole(tmp_path: Path) -> None:
    long = "보험금 90일\n" * 60_000
    path = tmp_path / "cases.csv"
    with path.open("w", encoding="utf-8", newline="") as f:
        csv.writer(f).writerows(
            [["id", "answer", "contexts"], ["1", long, "[면책] 90일"], ["2", "90일", "x"]]
        )
    problems = Problems()
    cases = read(path, problems)
    assert cases[0][1].answer == long
    assert cases[0][1].contexts == ["[면책] 90일"]  # a bracket alone makes no JSON array
    assert [line for line, _ in cases] == [60_002, 60_003]  # on which they end


def test_hidden_rows_and_further_sheets_of_a_workbook_are_said(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    for row in (["사례 번호", "요약"], ["a", "90일"], ["b", "=1+1"]):
        sheet.append(row)
    sheet.row_dimensions[3].hidden = True  # as a filter does
    book.create_sheet("둘째").append(["id", "answer"])
    book["둘째"].append(["c", "x"])
    book.create_sheet("empty")
    book.save(tmp_path / "cases.xlsx")
    problems = Problems()
    cases = read(tmp_path / "cases.xlsx", problems)
    assert [(line, case.id, case.answer) for line, case in cases] == [
        (2, "a", "90일"),
        (3, "b", "=1+1"),
    ]
    sheets, hidden = problems.kept
    assert sheets.code == "other-sheets" and str(sheets).endswith("not 둘째 [other-sheets]")
    assert (hidden.code, hidden.line) == ("hidden-rows", 3)


def test_formulas_are_read_as_they_were_saved_and_hidden_sheets_last(tmp_path: Path) -> None:
    """A formula without a saved value is its text; so is a text that begins as one."""
    book = xlsxwriter.Workbook(tmp_path / "cases.xlsx.yours")
    old, new = book.add_worksheet("old"), book.add_worksheet("new")
    for sheet in (old, new):
        sheet.write_row(0, 0, ["id", "answer"])
    old.write_row(1, 0, ["z", "old"])
    new.write_formula(1, 0, '"q"&2', value="q2")
    new.write_formula(2, 0, '"q"&3', value="")
    for row in (1, 2):
        new.write_string(row, 1, "=90일")
    new.activate()
    old.hide()
    book.close()
    cases = [(case.id, case.answer) for _, case in read(tmp_path / "cases.xlsx.yours", Problems())]
    assert cases[0] == ("q2", "=90일") and [answer for _, answer in cases] == ["=90일"] * len(cases)


def test_lists_are_read_as_pandas_writes_them(tmp_path: Path) -> None:
    rows = {
        "id": ["a", "b", "c"],
        "answer": "요약",
        "contexts": [["원문 하나", "둘"], [], ["x"]],
        "summary_tags": [["exclusion"], [], None],
    }
    pd.DataFrame(rows).to_csv(tmp_path / "a.csv", index=False)
    pd.DataFrame(rows).to_excel(tmp_path / "a.xlsx", index=False)
    for name in ("a.csv", "a.xlsx"):
        cases = [case for _, case in read(tmp_path / name, Problems())]
        assert [case.contexts for case in cases] == [["원문 하나", "둘"], [], ["x"]]
        assert [case.tags for case in cases] == [["exclusion"], [], None]


def test_a_workbook_that_swells_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "cases.xlsx"
    book = openpyxl.Workbook()
    book.active.append(["id", "answer"])
    book.active.append(["a", "x" * 30_000])
    book.save(path)
    assert path.stat().st_size < 20_000
    monkeypatch.setattr("evaltools.core.tables.WORKBOOK_BYTES", 20_000)
    with pytest.raises(InputError, match="once it is unpacked"):
        list(read_cases(File(path, Problems())))
