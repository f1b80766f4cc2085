"""Summary cases and their files: JSON, JSON Lines, CSV and XLSX, the same fields in each.

Source: seed insurance_summary_prd section 4; specification section 3 (tags).
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import from_json

from ...core.errors import Problems
from ...core.records import (
    BOM,
    csv_rows,
    first_line,
    fitted,
    read_json,
    read_jsonl,
    read_utf8,
    require_file,
)
from .rules import normal_tag

CELL_LIMIT = 32_767
"""Characters that an Excel cell can hold: a text of just this length may have been cut off."""


def _identifier(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _texts(value: Any) -> Any:
    if value is None:
        return []
    return [value] if isinstance(value, str) else value


Tags = list[str | int | float | None] | str | None
Rows = list[tuple[int, list[str | None]]]
"""Of a table, its header first: where each row begins, and its cells."""


def _name(value: Any) -> str | None:
    return str(value) if isinstance(value, str | int) and str(value).strip() else None


Name = Annotated[str | None, BeforeValidator(_name)]


class Metadata(BaseModel):
    """`summary_tags` as given: a list, or one string holding one tag, a comma or pipe list, or a JSON array.

    product, channel: what the metrics are broken down by; anything but a text or a whole number is none.
    """

    model_config = ConfigDict(extra="ignore", strict=True)

    summary_tags: Tags = None
    summary_intent: str | None = None
    product: Name = None
    channel: Name = None


class Case(BaseModel):
    """One summary with the texts that it summarises. Unknown fields are ignored.

    answer: the summary; null or blank is an empty summary. contexts: its sources; one text may stand for a
    list of one, null for none. `summary_tags` and `summary_intent` may stand at the top, as in a table.
    """

    model_config = ConfigDict(extra="ignore", strict=True)

    id: Annotated[str, BeforeValidator(_identifier), Field(pattern=r"\S")]
    question: str | None = None
    answer: str | None = None
    contexts: Annotated[list[str | None], BeforeValidator(_texts)] = []
    ground_truth: str | None = None
    metadata: Annotated[Metadata, BeforeValidator(lambda value: {} if value is None else value)] = (
        Metadata()
    )
    summary_tags: Tags = None
    summary_intent: str | None = None

    @model_validator(mode="after")
    def _one_place_for_tags(self) -> Case:
        both = (self.summary_tags, self.metadata.summary_tags)
        if None not in both and split_tags(both[0]) != split_tags(both[1]):
            raise ValueError("summary_tags and metadata.summary_tags differ; give one of them")
        return self

    @property
    def tags(self) -> list[str]:
        """Normal form, blank ones dropped, each once, in order."""
        given = self.metadata.summary_tags
        return split_tags(self.summary_tags if given is None else given)

    @property
    def intent(self) -> str | None:
        return self.metadata.summary_intent or self.summary_intent

    @property
    def texts(self) -> list[str]:
        return [c for c in self.contexts if c is not None]


def split_tags(given: Tags) -> list[str]:
    """Tags in normal form; a number among them is kept as its text, and so is reported as unknown.

    >>> split_tags(" Waiting-Period | limit,limit, "), split_tags('["exclusion", null]')
    (['waiting_period', 'limit'], ['exclusion'])
    """
    if isinstance(given, str):
        array = _json_list(given)
        given = [*given.replace("|", ",").split(",")] if array is None else [*array]
    tags = [normal_tag(str(t)) for t in given or [] if t is not None]
    return list(dict.fromkeys(t for t in tags if t))


def _json_list(text: str) -> list[str | None] | None:
    """The list of texts that a cell holds as JSON, or None for a cell that holds plain text."""
    if not text.lstrip().startswith("["):
        return None
    try:
        value = from_json(text)
    except ValueError:
        return None
    return value if all(v is None or isinstance(v, str) for v in value) else None


def read_cases(path: Path, problems: Problems) -> Iterator[tuple[int, Case]]:
    """Yield (place, case) for each usable case; the others are reported with their place and left out.

    The place is the line of a JSONL or CSV file (where the record begins), the row of a sheet, and the
    number of the case in a JSON list. A doubled id is an error of the later case.
    Raises InputError for a file that cannot be read as what its name says.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        names = ", ".join(f"*{s}" for s in READERS)
        raise problems.fatal("unknown-format", f"expected a file named {names}", file=str(path))
    require_file(path, problems)
    first: dict[str, int] = {}
    for place, case in reader(path, problems):
        if case.id in first:
            message = f"id already used on line {first[case.id]}"
            problems.error(
                "duplicate-id", message, file=str(path), line=place, field="id", id=case.id
            )
            continue
        first[case.id] = place
        yield place, case


SNIFFED = 1 << 16
"""Bytes of a JSON file in which its first case begins."""


def looks_like_cases(path: Path) -> bool:
    """Whether a path looks like a file of cases, by its name and the keys of its first record; never raises."""
    suffix = path.suffix.lower()
    try:
        if suffix not in READERS or not path.is_file():
            return False
        if suffix == ".jsonl":
            first = from_json(first_line(path))
        elif suffix == ".json":
            with path.open("rb") as f:
                start = f.read(SNIFFED).removeprefix(BOM).decode("utf-8", "ignore")
            content = from_json(start, allow_partial=True)
            first = (content["test_cases"] if isinstance(content, dict) else content)[0]
        elif suffix == ".csv":
            header = next(csv.reader([first_line(path).decode("utf-8")]))
            first = {name.strip().lower(): "" for name in header}
        else:
            return True
    except (OSError, ValueError, TypeError, LookupError, StopIteration, csv.Error):
        return False
    return isinstance(first, dict) and "id" in first and not first.keys().isdisjoint(_TEXT[2:])


def _read_json(path: Path, problems: Problems) -> Iterator[tuple[int, Case]]:
    content = read_json(path, problems)
    cases = content.get("test_cases") if isinstance(content, dict) else content
    if not isinstance(cases, list):
        message = 'expected a list of cases or {"test_cases": [...]}'
        raise problems.fatal("bad-structure", message, field="test_cases", file=str(path))
    return _validate(enumerate(cases, 1), path, problems)


def _read_csv(path: Path, problems: Problems) -> Iterator[tuple[int, Case]]:
    read_utf8(path, problems)  # a file in another encoding is refused whole
    ends = csv_rows(path, problems, ragged=True)
    return _read_table(
        [(end - sum(c.count("\n") for c in cells), [*cells]) for end, cells in ends], path, problems
    )


def _read_xlsx(path: Path, problems: Problems) -> Iterator[tuple[int, Case]]:
    try:
        rows = _sheet_rows(path, problems)
    except Exception as e:  # openpyxl raises many kinds, by the place of the damage
        raise problems.fatal(
            "bad-xlsx", f"no Excel workbook that can be read: {e}", file=str(path)
        ) from e
    if not rows:
        raise problems.fatal("empty-file", "the first sheet is empty", file=str(path))
    return _read_table(rows, path, problems)


def _sheet_rows(path: Path, problems: Problems) -> Rows:
    """(row number, texts of the cells) of the first sheet; rows without any text are left out but for the first."""
    from openpyxl import load_workbook

    book = load_workbook(path, read_only=True, data_only=False)
    sheet = book.worksheets[0]
    sheet.reset_dimensions()  # what a file says of its size may be a million empty columns
    rows: Rows = []
    for number, row in enumerate(sheet.iter_rows(), 1):
        cells = [_cell(c.value) for c in row]
        for c, text in zip(row, cells):
            where = {
                "file": str(path),
                "line": number,
                "field": str(getattr(c, "column_letter", "")),
            }
            if getattr(c, "data_type", "") == "f":
                problems.warn(
                    "formula", "a formula is read as its text, not as its result", **where
                )
            if text is not None and len(text) >= CELL_LIMIT:
                problems.warn(
                    "full-cell",
                    f"{CELL_LIMIT} characters: Excel may have cut the text off",
                    **where,
                )
        if number == 1 or any(c is not None for c in cells):
            rows.append((number, cells))
    book.close()
    return rows


def _cell(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


_TEXT = (
    "id",
    "question",
    "answer",
    "contexts",
    "ground_truth",
    "summary_tags",
    "summary_intent",
    "metadata",
)


def _read_table(rows: Rows, path: Path, problems: Problems) -> Iterator[tuple[int, Case]]:
    """Cases of a table. An empty cell is null; contexts are a JSON array or one text; metadata is a JSON object."""
    names = [(h or "").strip().lower() for h in rows[0][1]]
    doubled = sorted({n for n in names if n in _TEXT and names.count(n) > 1})
    if doubled or "id" not in names:
        message = (
            f"doubled columns {', '.join(doubled)}"
            if doubled
            else f"no column id among {', '.join(names)}"
        )
        raise problems.fatal("bad-header", message, file=str(path), line=1)

    def records() -> Iterator[tuple[int, Any]]:
        for line, cells in rows[1:]:
            if any(cells[len(names) :]):
                message = f"{len(cells)} cells, the header has {len(names)}"
                problems.error(
                    "too-many-cells", message, file=str(path), line=line, id=cells[0] or ""
                )
                continue
            record: dict[str, Any] = {
                n: c for n, c in zip(names, cells) if n in _TEXT and c not in (None, "")
            }
            if "contexts" in record:
                texts = _json_list(record["contexts"])
                record["contexts"] = [record["contexts"]] if texts is None else texts
            if "metadata" in record:
                with suppress(ValueError):  # what is no JSON stays a text, which the model reports
                    record["metadata"] = from_json(record["metadata"])
            yield line, record

    return _validate(records(), path, problems)


def _validate(
    records: Iterable[tuple[int, Any]], path: Path, problems: Problems
) -> Iterator[tuple[int, Case]]:
    for place, record in records:
        name = record.get("id", "") if isinstance(record, dict) else ""
        case = fitted(Case, record, problems, file=str(path), line=place, id=str(name or ""))
        if case is not None:
            yield place, case


READERS: dict[str, Callable[[Path, Problems], Iterator[tuple[int, Case]]]] = {
    ".jsonl": lambda path, problems: read_jsonl(path, Case, problems),
    ".json": _read_json,
    ".csv": _read_csv,
    ".xlsx": _read_xlsx,
}
