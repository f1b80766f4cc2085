"""Files of cases: JSON, JSON Lines, CSV and XLSX, the same fields in each.

Source: seed insurance_summary_prd section 4; specification D46.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from ...core.errors import Problems
from ...core.json_files import read_json, read_jsonl
from ...core.records import FirstLines, csv_rows, fitted, read_utf8, require_file
from .schema import Case

# field of a case -> what a column of a table may be called besides
HEADS = {
    "id": ("사례번호", "사례 id", "사례", "번호", "상담번호", "case_id"),
    "question": ("질문", "문의"),
    "answer": ("요약", "요약문", "요약본", "summary"),
    "contexts": ("원문", "대화 원문", "상담 원문", "컨텍스트", "context"),
    "ground_truth": ("정답", "정답 요약", "참고 요약"),
    "summary_tags": ("태그", "리스크 항목", "리스크 태그", "tags"),
    "summary_intent": ("의도", "용도"),
    "metadata": ("메타데이터",),
    "product": ("상품", "상품명"),
    "channel": ("채널",),
}
FIELD_OF = {head.replace(" ", ""): field for field, heads in HEADS.items() for head in heads}

INTENT = "agent_notes"
"""The only summary_intent that the source knows."""

WORKBOOK_BYTES = 256 << 20
"""A workbook may take so many bytes once it is unpacked; a hundred thousand cases take half of it."""

SUFFIXES = (".json", ".jsonl", ".csv", ".xlsx")


def read_cases(path: Path, problems: Problems) -> Iterator[tuple[int, Case]]:
    """Yield (line, case) for each usable case; the others are reported and left out.

    The line is that of a JSONL file, that of a CSV file on which the record ends, the row of a
    sheet, or the number of the case in a JSON list. A doubled id is an error of the later case; a
    summary_intent that is not known is a warning. InputError for a file that cannot be read as what
    its name says.
    """
    suffix = path.suffix.lower()
    require_file(path, problems)
    if suffix == ".jsonl":
        cases = read_jsonl(path, Case, problems)
    elif suffix == ".json":
        cases = _fitted(enumerate(_json_list(path, problems), 1), path, problems)
    elif suffix == ".csv":
        read_utf8(path, problems)  # a file in another encoding is refused whole
        cases = _fitted(_records(csv_rows(path, problems), path, problems), path, problems)
    elif suffix == ".xlsx":
        cases = _fitted(_records(_sheet_rows(path, problems), path, problems), path, problems)
    else:
        message = f"expected a file named *{', *'.join(SUFFIXES)}"
        raise problems.fatal("unknown-format", message, file=path)
    first_lines = FirstLines(path, problems)
    for line, case in cases:
        intent = case.metadata.summary_intent
        if intent not in (None, INTENT):
            message = f"{intent!r} is not {INTENT}; the case is scored the same way"
            place: dict[str, Any] = {"file": path, "line": line, "id": case.id}
            problems.warn("unknown-intent", message, field="summary_intent", **place)
        if first_lines.is_first(
            case.id,
            line,
            id=case.id,
            what="case of this id",
            field="id",
        ):
            yield line, case


def _json_list(path: Path, problems: Problems) -> list[Any]:
    content = read_json(path, problems)
    cases = content.get("test_cases") if isinstance(content, dict) else content
    if not isinstance(cases, list):
        message = 'expected a list of cases or {"test_cases": [...]}'
        raise problems.fatal("bad-structure", message, field="test_cases", file=path)
    return cases


def _sheet_rows(path: Path, problems: Problems) -> list[tuple[int, list[str]]]:
    """(row, texts) of the first sheet; hidden rows are read, with a warning."""
    from openpyxl import load_workbook

    try:
        with ZipFile(path) as book:
            n_bytes = sum(member.file_size for member in book.infolist())
        if n_bytes <= WORKBOOK_BYTES:
            sheets = load_workbook(path).worksheets
    except Exception as e:  # openpyxl raises many kinds, by the place of the damage
        message = f"no Excel workbook that can be read: {e}"
        raise problems.fatal("bad-xlsx", message, file=path) from e
    if n_bytes > WORKBOOK_BYTES:
        message = f"{n_bytes >> 20:,} MB once it is unpacked, more than {WORKBOOK_BYTES >> 20:,} MB"
        raise problems.fatal("file-too-large", f"{message}; give JSONL or CSV", file=path)
    first, *others = sheets
    names = [sheet.title for sheet in others if sheet.max_row > 1]
    if names:
        message = f"only the first sheet is read, not {', '.join(names)}"
        problems.warn("other-sheets", message, file=path)
    rows = []
    hidden = []
    for number, cells in enumerate(first.iter_rows(values_only=True), 1):
        texts = ["" if cell is None else str(cell) for cell in cells]
        rows.append((number, texts))
        if first.row_dimensions[number].hidden and any(texts):
            hidden.append(number)
    if hidden:
        message = f"{len(hidden)} rows are hidden in the sheet, and read all the same"
        problems.warn("hidden-rows", message, file=path, line=hidden[0])
    return rows


def _records(
    rows: Iterable[tuple[int, list[str]]],
    path: Path,
    problems: Problems,
) -> list[tuple[int, dict[str, str]]]:
    """(row, texts by field) of a table, its header first; an empty cell is no value, other columns are ignored."""
    rows = iter(rows)
    _, header = next(rows, (1, []))
    names = [field_of(head) for head in header]
    fields = [name for name in names if name in HEADS]
    if "id" not in fields or len(set(fields)) < len(fields):
        found = ", ".join(header) or "no header"
        message = f"expected one column id (or 사례번호) and no column twice, got {found}"
        raise problems.fatal("bad-header", message[:300], file=path, line=1)
    records = []
    for line, cells in rows:
        record = {name: text for name, text in zip(names, cells) if text and name in HEADS}
        if record:
            records.append((line, record))
    return records


def _fitted(
    records: Iterable[tuple[int, Any]],
    path: Path,
    problems: Problems,
) -> Iterator[tuple[int, Case]]:
    """The records that fit a case; the others are reported."""
    for line, record in records:
        name = record.get("id") if isinstance(record, dict) else None
        place: dict[str, Any] = {"file": path, "line": line, "id": str(name or "")}
        case = fitted(Case, record, problems, **place)
        if case is not None:
            yield line, case


def field_of(head: str) -> str:
    """The field that a column holds; the head itself, in lower case, where it is none.

    >>> field_of(" 사례 번호 "), field_of("Answer"), field_of("메모")
    ('id', 'answer', '메모')
    """
    name = head.strip().lower()
    return FIELD_OF.get(name.replace(" ", ""), name)
