"""Files of cases: JSON, JSON Lines, CSV and XLSX, the same fields in each.

Source: seed insurance_summary_prd section 4; specification D46.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    model_validator,
)
from pydantic_core import from_json

from ...core.records import File, read_json
from ...core.tables import read_table, written_list
from .rules import normal_tag
from .text import NOTATION, composed

# what a column of a table may be called, blanks aside -> the field of a case
FIELD_OF = {
    head.replace(" ", ""): field
    for field, heads in NOTATION["heads"].items()
    for head in (field, *heads.split(", "))
}


def read_cases(file: File) -> Iterator[tuple[int, Case]]:
    """Yield (line, case) for each usable case; the others are reported and left out.

    The line is that of a JSONL file, that of a CSV file on which the record ends, the row of a
    sheet, or the number of the case in a JSON list. A doubled id is an error of the later case.
    InputError for a file that cannot be read as what its name says.
    """
    if file.path.suffix.lower() == ".json":
        cases = _json_cases(file)
    else:
        cases = read_table(file, Case, field_of)
    yield from file.unique(cases, lambda case: case.id, "case of this id")


def _json_cases(file: File) -> Iterator[tuple[int, Case]]:
    """(number, case) of a JSON list."""
    content = read_json(file)
    cases = content.get("test_cases") if isinstance(content, dict) else content
    if not isinstance(cases, list):
        raise file.fatal(
            "bad-structure",
            'expected a list of cases or {"test_cases": [...]}',
            field="test_cases",
        )
    for number, record in enumerate(cases, 1):
        name = record.get("id") if isinstance(record, dict) else None
        case = file.fitted(
            Case,
            record,
            line=number,
            id=str(name or ""),
        )
        if case:
            yield number, case


def field_of(head: str) -> str:
    """The field that a column holds; "" for none.

    >>> field_of(" 사례 번호 "), field_of("Answer"), field_of("메모")
    ('id', 'answer', '')
    """
    return FIELD_OF.get(head.lower().replace(" ", "").strip(), "")


def _name(value: Any) -> str | None:
    """A text, or a whole number as one; anything else is none."""
    return str(value) if isinstance(value, str | int) else None


def _texts(value: Any) -> Any:
    """A list of texts; one text, or a JSON array of texts as one, may stand for it."""
    if isinstance(value, str):
        texts = written_list(value)
        value = [value] if texts is None else texts
    if isinstance(value, list):
        return [text for text in value if text is not None]
    return [] if value is None else value


Text = Annotated[str, AfterValidator(composed)]
Tags = list[str | int | float | None] | str | None


class Metadata(BaseModel, strict=True):
    """What a case says of its summary; other keys are ignored.

    summary_tags: a list, or one text with a tag, a comma or pipe list, or a JSON array. product,
    channel: what the metrics are broken down by; anything but a text or a whole number is none.
    """

    summary_tags: Tags = None
    summary_intent: str | None = None
    product: Annotated[str | None, BeforeValidator(_name)] = None
    channel: Annotated[str | None, BeforeValidator(_name)] = None


class Case(BaseModel, strict=True):
    """One summary with the texts that it summarises. Unknown fields are ignored.

    answer: the summary; null or blank is an empty summary. contexts: its sources; one text may
    stand for a list of one, null for none. Both are composed as they are read. The fields of the
    metadata may stand at the top, as in a table.
    """

    id: Annotated[str, BeforeValidator(_name), Field(pattern=r"\S", description="사례번호")]
    question: str | None = None
    answer: Text | None = None
    contexts: Annotated[list[Text], BeforeValidator(_texts)] = []
    ground_truth: str | None = None
    metadata: Metadata = Metadata()

    @model_validator(mode="before")
    @classmethod
    def _gather_metadata(cls, case: Any) -> Any:
        if not isinstance(case, dict):
            return case
        metadata = case.get("metadata") or {}
        if isinstance(metadata, str):
            with suppress(ValueError):  # what is no JSON stays a text, which does not fit
                metadata = from_json(metadata)
        if isinstance(metadata, dict):
            at_top = {
                name: case[name] for name in Metadata.model_fields if case.get(name) is not None
            }
            metadata = metadata | at_top
        return {**case, "metadata": metadata}

    @property
    def tags(self) -> list[str] | None:
        """Normal form, blank ones dropped, each once, in order; None where the case gives no tags."""
        return split_tags(self.metadata.summary_tags)


def split_tags(tags: Sequence[str | int | float | None] | str | None) -> list[str] | None:
    """Tags in normal form; a number among them is kept as its text, and so is reported as unknown. None stays None.

    >>> split_tags(" Waiting-Period | limit,limit, "), split_tags('["exclusion", null]')
    (['waiting_period', 'limit'], ['exclusion'])
    """
    if tags is None:
        return None
    if isinstance(tags, str):
        array = written_list(tags)
        tags = tags.replace("|", ",").split(",") if array is None else array
    normal = [normal_tag(str(tag)) for tag in tags if tag is not None]
    return [tag for tag in dict.fromkeys(normal) if tag]
