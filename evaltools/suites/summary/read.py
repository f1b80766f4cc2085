"""Files of cases: JSON, JSON Lines, CSV and XLSX, the same fields in each.

Source: seed insurance_summary_prd section 4.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from unicodedata import normalize
from zipfile import BadZipFile, ZipFile

import numpy as np
import pandas as pd
from pydantic_core import from_json

from ...core.csv_files import csv_rows
from ...core.errors import Problems
from ...core.json_files import read_json, read_jsonl
from ...core.language import Message
from ...core.records import FirstLines, fitted
from ...core.text_files import BOM, read_utf8, require_file
from .schema import Case

HEADERS = {
    "id": ("사례번호", "사례 id", "사례", "번호", "상담번호", "case_id", "案例编号", "编号"),
    "question": ("질문", "문의", "问题"),
    "answer": ("요약", "요약문", "요약본", "summary", "摘要"),
    "contexts": ("원문", "대화 원문", "상담 원문", "컨텍스트", "context", "原文", "对话原文"),
    "ground_truth": ("정답", "정답 요약", "참고 요약", "标准答案"),
    "summary_tags": ("태그", "리스크 항목", "리스크 태그", "tags", "标签", "风险事项"),
    "summary_intent": ("의도", "용도", "意图"),
    "metadata": ("메타데이터", "元数据"),
    "product": ("상품", "상품명", "产品"),
    "channel": ("채널", "渠道"),
}
"""Field of a case -> what a column of a table may be called besides."""

FIELDS = tuple(HEADERS)

NAMES = {field: (field, *names) for field, names in HEADERS.items()}

FIELD_OF = {"".join(name.split()): field for field in FIELDS for name in NAMES[field]}
"""Name of a column without blanks -> its field."""

CELL_LIMIT = 32_767
"""Characters that an Excel cell can hold: a text of just this length may have been cut off."""

INTENT = "agent_notes"
"""The only summary_intent that the source knows."""

WORKBOOK_BYTES = 256 << 20
"""A workbook may take so many bytes once it is unpacked; a hundred thousand cases take half of it."""

SNIFFED = 1 << 16
"""Bytes of a file in which its first case begins."""

Cases = Iterator[tuple[int, Case]]
"""Each with the line, row or number in its file."""


def read_cases(path: Path, problems: Problems) -> Cases:
    """Yield (line, case) for each usable case; the others are reported and left out.

    The line is that of a JSONL file, that of a CSV file on which the record ends, the row of a
    sheet, or the number of the case in a JSON list. A doubled id is an error of the later case; a
    summary_intent that is not known is a warning. InputError for a file that cannot be read as what
    its name says.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        names = tuple(f"*{suffix}" for suffix in READERS)
        template = "expected a file named {names}"
        raise problems.fatal("unknown-format", template, names=names, file=path)
    require_file(path, problems)
    first_lines = FirstLines(path, problems)
    for line, case in reader(path, problems):
        intent = case.metadata.summary_intent
        if intent not in (None, INTENT):
            problems.warn(
                "unknown-intent",
                "summary_intent {intent} is not {known}; the case is scored the same way",
                file=path,
                line=line,
                id=case.id,
                field="summary_intent",
                intent=repr(intent),
                known=INTENT,
            )
        if first_lines.is_first(case.id, line, id=case.id, what="case of this id", field="id"):
            yield line, case


def looks_like_cases(path: Path) -> bool:
    """Whether a path looks like a file of cases, by its name and its first record; never raises."""
    suffix = path.suffix.lower()
    try:
        if suffix not in READERS or not path.is_file():
            return False
        if suffix == ".xlsx":
            return True
        with path.open("rb") as file:
            beginning = file.read(SNIFFED).removeprefix(BOM).decode("utf-8", "ignore").lstrip()
        first_line = beginning.partition("\n")[0]
        if suffix == ".csv":
            keys = {field_of(name) for name in next(csv.reader([first_line]))}
        elif suffix == ".jsonl":
            keys = set(from_json(first_line, allow_partial=True))
        else:
            content = from_json(beginning, allow_partial=True)
            cases = content["test_cases"] if isinstance(content, dict) else content
            keys = set(cases[0])
    except (OSError, ValueError, TypeError, LookupError, StopIteration, csv.Error):
        return False
    return "id" in keys and not keys.isdisjoint(("answer", "contexts"))


def _read_jsonl(path: Path, problems: Problems) -> Cases:
    return read_jsonl(path, Case, problems, id_field="id")


def _read_json(path: Path, problems: Problems) -> Cases:
    content = read_json(path, problems)
    cases = content.get("test_cases") if isinstance(content, dict) else content
    if not isinstance(cases, list):
        template = 'expected a list of cases or {"test_cases": [...]}'
        raise problems.fatal("bad-structure", template, field="test_cases", file=path)
    return _fitted_cases(enumerate(cases, 1), path, problems)


def _read_csv(path: Path, problems: Problems) -> Cases:
    read_utf8(path, problems)  # a file in another encoding is refused whole
    return _read_table(csv_rows(path, problems), path, problems)


def _read_xlsx(path: Path, problems: Problems) -> Cases:
    place = {"file": path}
    with suppress(BadZipFile), ZipFile(path) as book:
        n_bytes = sum(member.file_size for member in book.infolist())
        if n_bytes > WORKBOOK_BYTES:
            template = "{n:,} MB once it is unpacked, more than {most:,} MB; give the cases as JSONL or CSV"
            sizes = {"n": n_bytes >> 20, "most": WORKBOOK_BYTES >> 20}
            raise problems.fatal("file-too-large", template, **sizes, **place)
    try:
        sheets = pd.read_excel(
            path,
            sheet_name=None,
            header=None,
            dtype=str,
            keep_default_na=False,
            engine="openpyxl",
            engine_kwargs={"data_only": False},
        )
    except Exception as e:  # openpyxl raises many kinds, by the place of the damage
        template = "no Excel workbook that can be read: {reason}"
        reason = Message(
            "it is damaged, or of another kind" if isinstance(e, BadZipFile) else str(e)
        )
        raise problems.fatal("bad-xlsx", template, reason=reason, **place) from e
    first, *others = sheets
    sheet = sheets[first].fillna("")  # errors of formulas
    names = [name for name in others if not sheets[name].empty]
    if names:
        template = "only the first sheet is read, and not {names}"
        problems.warn("other-sheets", template, names=tuple(names), **place)
    doubtful = (
        ("full-cell", _fills_cell, "{n} characters: Excel may have cut the text off"),
        ("formula", _is_formula, "a formula is read as its text, not as its result"),
    )
    for code, is_doubtful, template in doubtful:
        for row, column in np.argwhere(sheet.map(is_doubtful)):
            cell = {"line": int(row) + 1, "field": sheet.iloc[0, column]}
            problems.warn(code, template, n=CELL_LIMIT, **cell, **place)
    return _read_table(zip(sheet.index + 1, sheet.to_numpy().tolist()), path, problems)


def _fills_cell(text: str) -> bool:
    return len(text) >= CELL_LIMIT


def _is_formula(text: str) -> bool:
    return text.startswith("=")


def _read_table(
    rows: Iterable[tuple[int, list[str]]],
    path: Path,
    problems: Problems,
) -> Cases:
    """Cases of a table, its header first.

    Columns may have the names of HEADERS; others are ignored, with a warning where one comes close to
    a field that is not there.
    """
    rows = iter(rows)
    _, header = next(rows, (1, []))
    place: dict[str, Any] = {"file": path, "line": 1}
    names = [field_of(name) for name in header]
    missing = [field for field in FIELDS if field not in names]
    for name in names:
        near = nearest_header(name, missing)
        if name not in FIELDS and near:
            template = "the column {name} is not known and left out; did you mean {near}?"
            values = {"name": repr(name), "near": near}
            problems.warn("unknown-column", template, **values, field=name, **place)
    if "id" in missing:
        template = "no column id (or 사례번호, 案例编号) among {names}"
        raise problems.fatal("bad-header", template, names=tuple(names), **place)
    doubled = tuple(field for field in FIELDS if names.count(field) > 1)
    if doubled:
        raise problems.fatal("bad-header", "doubled columns {names}", names=doubled, **place)
    records = []
    for line, cells in rows:
        record = {name: text for name, text in zip(names, cells) if text and name in FIELDS}
        if record:
            records.append((line, record))
    return _fitted_cases(records, path, problems)


def _fitted_cases(
    records: Iterable[tuple[int, Any]],
    path: Path,
    problems: Problems,
) -> Cases:
    """The records that fit a case; the others are reported."""
    for line, record in records:
        name = record.get("id") if isinstance(record, dict) else None
        place: dict[str, Any] = {"file": path, "line": line, "id": str(name or "")}
        case = fitted(Case, record, problems, **place)
        if case is not None:
            yield line, case


READERS: dict[str, Callable[[Path, Problems], Cases]] = {
    ".jsonl": _read_jsonl,
    ".json": _read_json,
    ".csv": _read_csv,
    ".xlsx": _read_xlsx,
}
"""By the suffix of a file's name."""


def field_of(header: str) -> str:
    """The field that a column holds; the header itself, in lower case, where it is none.

    >>> field_of(" 사례 번호 "), field_of("Answer"), field_of("메모")
    ('id', 'answer', '메모')
    """
    name = header.strip().lower()
    return FIELD_OF.get("".join(name.split()), name)


def nearest_header(header: str, wanted: Sequence[str]) -> str | None:
    """The name of a wanted field that a header comes close to, in the header's script; None where none is.

    Hangul is compared by letters, not by syllables.

    >>> nearest_header("요약믄", ["answer"]), nearest_header("memo", ["answer"])
    ('요약문', None)
    """
    by_letters = {normalize("NFD", name): name for field in wanted for name in NAMES[field]}
    near = get_close_matches(normalize("NFD", header), by_letters, 1, 0.7)
    return by_letters[near[0]] if near else None
