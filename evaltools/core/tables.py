"""Tables: rows of CSV, of workbooks and of JSON Lines, each held against a pydantic model."""

import csv
import json
import math
import re
from ast import literal_eval
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from io import BytesIO
from itertools import dropwhile, groupby, islice
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Self
from zipfile import ZipFile

import numpy as np
from pandas import DataFrame
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from .estimates import is_null
from .files import CONTROL, Fields, ending, first_names
from .messages import IN_MEMORY, UsageError
from .metric import LARGEST
from .records import BOM, File, T, not_utf8, read_jsonl, require_unique

TEXTS = TypeAdapter(list[str | None])

TRUTH = {"true": 1, "false": 0, "nan": None}


def _as_text(cell: Any) -> Any:
    """A number as text, a whole one without a point; None for NaN."""
    if not isinstance(cell, int | float):
        return cell
    if cell != cell:
        return None
    return str(int(cell) if isinstance(cell, float) and cell.is_integer() else cell)


def _as_number(cell: Any) -> Any:
    """What a number is made of: true and false are 1 and 0, NaN is None."""
    if isinstance(cell, str):
        if "_" in cell:  # Python reads 1_000 as a number
            raise ValueError("expected a number in plain digits")
        return TRUTH.get(cell.lower(), cell)
    return cell if cell == cell else None


def _within_limits(number: float | None) -> float | None:
    if number and abs(number) >= LARGEST:
        raise ValueError(f"expected a number below {LARGEST:g} in size")
    return number


Text = Annotated[str, BeforeValidator(_as_text)]
Name = Annotated[str | None, BeforeValidator(_as_text)]
Number = Annotated[float | None, BeforeValidator(_as_number), AfterValidator(_within_limits)]


class Line(BaseModel, extra="allow"):
    """A row of a table of scores: one metric on one sample. Other keys are further columns."""

    id: Text
    metric: Text
    value: Number = None
    num: Number = None
    den: Number = None
    condition: Name = None
    seed: Name = None
    trial: Name = None
    cluster: Name = None
    text: Name = None
    low: Number = None
    high: Number = None
    higher_is_better: Annotated[bool | None, BeforeValidator(_as_number)] = None

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        num, den, low, high = self.num, self.den, self.low, self.high
        if not (self.id.strip() and self.metric.strip()):
            raise ValueError("id and metric: expected texts, got a blank one")
        if CONTROL.search(self.metric + (self.condition or "")):
            raise ValueError("metric and condition: expected names without control characters")
        if num is not None and (den or 0) <= 0 and not num == den == 0:
            raise ValueError(f"den: expected a denominator above 0 beside num, got {den}")
        has_limits = low is not None or high is not None
        if has_limits and (low is None or high is None or low >= high):
            raise ValueError(f"low: expected low below high, both or neither, got {low} and {high}")
        return self


# The columns of a table of scores that have a meaning. Any others are further columns of the units.
COLUMNS = tuple(Line.model_fields)

TABLES = (".csv", ".tsv", ".xlsx", ".xlsm")

# A workbook may take so many bytes once it is unpacked; a hundred thousand cases take half of it
WORKBOOK_BYTES = 256 << 20

# the header of a sheet is one of so many rows: above it may stand a title
HEADER_ROWS = 20


def read_table(
    file: File,
    model: type[T],
    column_of: Callable[[str], str] = str,
    sep: str = ",",
) -> Iterator[tuple[int, T]]:
    """Yield (line, record) of a table (`_table_rows`), or else of JSON Lines; what does not fit is reported."""
    if ending(file.path) not in TABLES:
        yield from read_jsonl(file, model)
        return
    required = {
        name: info.description for name, info in model.model_fields.items() if info.is_required()
    }
    key = next(iter(required), "")
    for line, values in _table_rows(file, required, column_of, sep):
        record = file.fitted(
            model,
            values,
            line=line,
            id=values.get(key) or "",
        )
        if record is not None:
            yield line, record


def _table_rows(
    file: File,
    required: Mapping[str, str | None],
    column_of: Callable[[str], str],
    sep: str,
) -> Iterator[tuple[int, dict[str, str | None]]]:
    """Yield (line, cells by column) of a file named *.csv, *.tsv or *.xlsx.

    The line is that on which a row of CSV ends, or the row of a sheet. An empty cell is null; a row without any is
    passed over. `column_of(head)`: the name of a column, "" for one that is not read. `sep`: of *.csv. InputError for a
    header without the `required` columns (-> what else they may be called), or with one twice.
    """

    def is_header(cells: Sequence[str]) -> bool:
        return required.keys() <= {*map(column_of, cells)}

    sep = {".csv": sep, ".tsv": "\t"}.get(ending(file.path), "")
    rows = csv_rows(file, sep) if sep else _sheet_rows(file, is_header)
    start, header = next(rows, (1, []))
    names = [column_of(head) for head in header]
    doubled = [name for name in names if name and names.count(name) > 1]
    if doubled or not is_header(header):
        expected = [f"{name} ({text})" if text else name for name, text in required.items()]
        got = ", ".join(header)[:200] or "none"
        message = f"expected the columns {', '.join(expected)}, got {got}"
        if len(header) == 1 and (mark := re.search("[,;|\t]", got)):
            message += f"; the cells are separated by {mark[0]!r}"
        if is_header(header):
            message = f"two columns are named {doubled[0]}"
        raise file.fatal("wrong-columns", message, line=start)
    if unread := [head for head, name in zip(header, names) if head.strip() and not name]:
        file.warn("unread-columns", f"columns that are not read: {first_names(unread)}", line=start)
    for line, cells in rows:
        values = {name: cell or None for name, cell in zip(names, cells) if name}
        if any(values.values()):
            yield line, values


# number and cells of each row
Rows = Iterator[tuple[int, list[str]]]


def _sheet_rows(
    file: File,
    is_header: Callable[[Sequence[str]], bool],
) -> Rows:
    """(row, texts) from the header on of the first sheet that has one, else of the first; hidden rows with a warning."""
    from openpyxl import load_workbook

    try:
        content = BytesIO(file.path.read_bytes())  # by a name openpyxl would ask for its ending
        n_bytes = sum(member.file_size for member in ZipFile(content).infolist())
        if n_bytes > WORKBOOK_BYTES:
            raise ValueError(
                f"{n_bytes >> 20:,} MB once it is unpacked, more than {WORKBOOK_BYTES >> 20:,} MB; give JSONL or CSV"
            )
        sheets = load_workbook(content).worksheets
        cells = (cell for sheet in sheets for cell in sheet._cells.values())
        if formulas := [cell for cell in cells if cell.data_type == "f"]:
            saved = load_workbook(content, data_only=True)
            for cell in formulas:
                value = saved[cell.parent.title][cell.coordinate].value
                cell.value = cell.value if value is None else value
    except Exception as e:  # openpyxl raises many kinds, by the place of the damage
        raise file.fatal("bad-xlsx", f"no Excel workbook that can be read: {e}") from e
    sheets.sort(key=lambda sheet: sheet.sheet_state != "visible")
    headers = [
        (sheet, number)
        for sheet in sheets
        for number, texts in islice(_rows(sheet), HEADER_ROWS)
        if is_header(texts)
    ]
    sheet, start = headers[0] if headers else (sheets[0], 1)
    if names := [other.title for other in sheets if other is not sheet and other.max_row > 1]:
        file.warn("other-sheets", f"only the sheet {sheet.title} is read, not {first_names(names)}")
    hidden = []
    for number, texts in dropwhile(lambda row: row[0] < start, _rows(sheet)):
        if any(texts) and sheet.row_dimensions[number].hidden:
            hidden.append(number)
        yield number, texts
    if hidden:
        file.warn(
            "hidden-rows",
            f"{len(hidden)} rows are hidden in the sheet, and read all the same",
            line=hidden[0],
        )


def _rows(sheet: Any) -> Rows:
    """(number, texts) of the rows of a sheet that have a cell. openpyxl's own loop would make all cells between."""
    for number, keys in groupby(sorted(sheet._cells), itemgetter(0)):
        texts: list[str] = []
        for key in keys:
            value = sheet._cells[key].value
            texts += [""] * (key[1] - len(texts) - 1)
            texts.append("" if value is None else str(value))
        yield number, texts


def csv_rows(file: File, sep: str = ",") -> Rows:
    """(line on which it ends, cells) of the header of a CSV file, and of every row that is not blank.

    A row that is damaged, or has more or fewer cells than the header, is reported and left out. InputError for a
    damaged header.
    """
    csv.field_size_limit(1 << 30)  # a long text is no error
    line = n_cells = 0
    row = []  # the lines of the row that is being read
    with file.path.open("rb") as lines:
        again = [lines.readline().removeprefix(BOM)]  # lines to be read next, the last first

        def texts() -> Iterator[str]:
            while raw := again.pop() if again else lines.readline():
                row.append(raw)
                yield raw.decode()

        while again:
            first = line
            reader = csv.reader(texts(), strict=True, delimiter=sep)
            try:
                for cells in reader:
                    row.clear()
                    line = first + reader.line_num
                    n_cells = n_cells or len(cells)
                    if cells and len(cells) != n_cells:
                        file.error(
                            "bad-row",
                            f"expected {n_cells} cells, as the header has, got {len(cells)}",
                            line=line,
                        )
                    elif cells:
                        yield line, cells
            except (csv.Error, UnicodeDecodeError) as e:
                # an open quote takes in all that follows: given up is the line on which its row begins
                line += 1
                what = not_utf8(e, "line") if isinstance(e, UnicodeDecodeError) else e
                message = f"not CSV: {what}"
                if not n_cells:
                    raise file.fatal("bad-csv", message, line=line) from None
                file.error("bad-csv", message, line=line)
                again += row[:0:-1]
                row.clear()
                if not again:
                    again.append(lines.readline())


def written_list(text: str) -> list[str | None] | None:
    """The list of texts that a cell holds, as JSON or Python write one; None for a cell that holds plain text.

    >>> written_list('["a", null]'), written_list("['a', 'b']"), written_list("[면책] 90일")
    (['a', None], ['a', 'b'], None)
    """
    if text.lstrip().startswith("["):
        with suppress(ValidationError):
            return TEXTS.validate_json(text)
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            return TEXTS.validate_python(literal_eval(text.strip()))
    return None


def is_data(value: Any) -> bool:
    """Whether a value is a table of pandas, or one that can become it (polars, Arrow), or a list of records."""
    if isinstance(value, list):
        return bool(value) and isinstance(value[0], Mapping)
    return isinstance(value, DataFrame) or hasattr(value, "to_pandas")


# the name of data in memory: of their file, and of its folder, so that every suite calls a run of them so
DATA = "data"


@contextmanager
def as_files(
    run: Any,
    options: Fields,
) -> Iterator[tuple[Any, Fields]]:
    """(run, options), data in memory among them being files while the block runs.

    What is wrong with them is told by their names (`messages.shown_path`).
    """
    data = {key: value for key, value in options.items() if is_data(value)}
    if not isinstance(run, str | Path):
        data[DATA] = run
    with TemporaryDirectory(prefix=IN_MEMORY) as place:
        folder = Path(place) / DATA
        folder.mkdir()
        files = {key: write_records(value, folder, key) for key, value in data.items()}
        run = files.pop(DATA, run)
        yield run, options | files


def write_records(
    data: Any,
    folder: Path,
    name: str,
) -> Path:
    """Write records as JSON Lines into a folder; returns the file.

    `data`: a table (`is_data`) or a list of dicts. A null cell of a table is left out of its record, but in a column
    without any value. NaN in a dict is null; dates and what else JSON has not are texts.
    UsageError for anything else, for two columns of one name, and for a list with an entry that is no dict.
    """
    if hasattr(data, "to_pandas"):
        data = data.to_pandas()
    if isinstance(data, DataFrame):
        require_unique(data.columns)
        empty = {*data.columns[data.isna().all()]}
        data = [
            {k: v for k, v in row.items() if k in empty or not is_null(v)}
            for row in data.to_dict("records")
        ]
    if not isinstance(data, list):
        raise UsageError(
            f"expected a path, a DataFrame or a list of dicts, got {type(data).__name__}"
        )
    for index, record in enumerate(data):
        if not isinstance(record, Mapping):
            raise UsageError(
                f"record {index} of the list is {type(record).__name__}; expected a dict"
            )
    path = folder / f"{name}.jsonl"
    try:
        lines = [
            json.dumps(
                {str(key): _cell(value) for key, value in record.items()},
                allow_nan=False,
                default=_as_json,
            )
            for record in data
        ]
    except Exception as e:  # a class of the user's may raise anything
        raise UsageError(f"the data cannot be written as JSON: {e}") from e
    path.write_text("\n".join(lines))
    return path


def _cell(value: Any) -> Any:
    """A cell as JSON can hold it; an infinite number as text."""
    if isinstance(value, float | np.floating) and math.isinf(value):
        return str(value)
    return None if is_null(value) else value


def _as_json(value: Any) -> Any:
    """What JSON has no form for: arrays as lists, decimals as numbers, all else as text."""
    if isinstance(value, Decimal | np.floating):  # that of numpy: no longdouble is a list
        return float(value)
    return value.tolist() if hasattr(value, "tolist") else str(value)
