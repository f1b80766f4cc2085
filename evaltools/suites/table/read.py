"""A long file (CSV, TSV, XLSX, JSON Lines): a row is one metric on one sample."""

from __future__ import annotations

from itertools import islice

import pandas as pd

from ...core.names import first_names
from ...core.records import File
from ...core.tables import COLUMNS, Line, read_table

# rows that are records at a time: a record takes ten times the memory of a row of a frame
AT_A_TIME = 10_000

NUMBERS = ("value", "num", "den", "low", "high", "higher_is_better")
KINDS = dict.fromkeys(COLUMNS, "str") | dict.fromkeys(NUMBERS, "float")


def read(file: File) -> tuple[pd.DataFrame, bool]:
    """(the rows of a file that can be used, whether it says directions); what is wrong with others is reported.

    The index is the line. Columns: those of `Line`, but a value, which counts before num and den, is num with the
    denominator 1 (null: not measured), and the further columns of the file. InputError where the file is damaged, not
    in the long form, or has no row that can be used.
    """
    parts = []
    named: set[str] = set()
    records = read_table(file, Line)
    while part := dict(islice(records, AT_A_TIME)):
        rows = [row.__dict__ | (row.model_extra or {}) for row in part.values()]
        parts.append(pd.DataFrame(rows, list(part), dtype=object).astype(KINDS))
        named.update(*(row.model_fields_set for row in part.values()))
    if not parts:
        raise file.fatal("no-rows", "no row of the file can be used")
    if "value" not in named and not {"num", "den"} <= named:
        message = f"expected the columns id, metric and value (or num and den), got {first_names(sorted(named))}"
        raise file.fatal("wrong-columns", message)
    frame = pd.concat(parts)
    value = frame.pop("value")
    frame["den"] = frame["den"].where(frame["num"].notna()).mask(value.notna(), 1.0)
    frame["num"] = value.fillna(frame["num"])
    return frame, "higher_is_better" in named
