"""Files of cases: JSON, JSON Lines, CSV and XLSX, the same fields in each.

Source: seed insurance_summary_prd section 4; specification D46.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...core.json_files import read_json
from ...core.records import File, fitted, unique_records
from ...core.tables import read_table
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
FIELD_OF = {
    head.replace(" ", ""): field for field, heads in HEADS.items() for head in (field, *heads)
}

INTENT = "agent_notes"
"""The only summary_intent that the source knows."""


def read_cases(file: File) -> Iterator[tuple[int, Case]]:
    """Yield (line, case) for each usable case; the others are reported and left out.

    The line is that of a JSONL file, that of a CSV file on which the record ends, the row of a
    sheet, or the number of the case in a JSON list. A doubled id is an error of the later case; a
    summary_intent that is not known is a warning. InputError for a file that cannot be read as what
    its name says.
    """
    if file.path.suffix.lower() == ".json":
        cases = _json_cases(file)
    else:
        cases = read_table(file, Case, field_of)
    for line, case in unique_records(cases, lambda case: case.id, file, "case of this id"):
        intent = case.metadata.summary_intent
        if intent not in (None, INTENT):
            message = f"{intent!r} is not {INTENT}; the case is scored the same way"
            file.warn(
                "unknown-intent",
                message,
                field="summary_intent",
                line=line,
                id=case.id,
            )
        yield line, case


def _json_cases(file: File) -> Iterator[tuple[int, Case]]:
    """(number, case) of a JSON list."""
    content = read_json(file)
    cases = content.get("test_cases") if isinstance(content, dict) else content
    if not isinstance(cases, list):
        message = 'expected a list of cases or {"test_cases": [...]}'
        raise file.fatal("bad-structure", message, field="test_cases")
    for number, record in enumerate(cases, 1):
        name = record.get("id") if isinstance(record, dict) else None
        case = fitted(
            Case,
            record,
            file.error,
            line=number,
            id=str(name or ""),
        )
        if case is not None:
            yield number, case


def field_of(head: str) -> str:
    """The field that a column holds; "" for none.

    >>> field_of(" 사례 번호 "), field_of("Answer"), field_of("메모")
    ('id', 'answer', '')
    """
    return FIELD_OF.get(head.lower().replace(" ", "").strip(), "")
