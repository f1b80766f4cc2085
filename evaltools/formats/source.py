"""A file of another tool: its records one by one, what is wrong with them, and the rows that they become."""

import math
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from ..core.files import Fields
from ..core.records import File, T, misfit, read_json, short
from ..core.tables import COLUMNS

# columns of a long table or of its units that have a meaning: no further column has such a name
TAKEN = {*COLUMNS, "item", "line", "error"}

# of a record in its file: its line, or its path in the file
Place = int | str

# what a record becomes: rows of a long table (`score_rows`), or the id, text and tuples of a sample
Rows = Iterable[Fields]

# (place, rows) of the records of a file; what is Unfit in one is raised while its rows are made, in `Source.rows`
Records = Iterator[tuple[Place, Rows]]

# takes a `Source` and the options of the format by name
Reader = Callable[..., Records]


class Row(BaseModel, strict=True):
    """A record of another tool's file: only the fields that are used; others are ignored."""


class Score(NamedTuple):
    """One metric on one sample.

    `value`: a number, a pair of the numerator and the denominator of a ratio, None for not measured;
    a list or an object is no number. `higher_is_better` None: the file does not say it. `error`: why
    there is no value, where the call failed.
    """

    metric: str
    value: Any
    higher_is_better: bool | None = None
    error: str | None = None


class Unfit(ValueError):
    """A record is not what was expected; its `args`: the field, and a sentence that says so."""


def score_rows(
    id_: str,
    scores: Iterable[Score],
    further: Fields,
    **sample: str | None,
) -> Rows:
    """The rows of a long table of a sample, one a metric; a value that is a list or an object stays one.

    `sample`: its condition, trial (the number of a repeated draw) and text. `further` describes it: what can be a
    column is one (`further_columns`), in one row. Unfit for a value that should be a number and is none.
    """
    columns = further_columns(further)
    of_sample = {name: value for name, value in sample.items() if value}
    for metric, value, is_higher, error in scores:
        row: Fields = {"id": id_, "metric": metric}
        if isinstance(value, tuple):
            row["num"], row["den"] = (number(part, metric) for part in value)
        elif isinstance(value, list | dict):
            row["value"] = value
        else:
            row["value"] = None if error else number(value, metric)
        row |= {**of_sample, "higher_is_better": is_higher}
        if error:
            row["error"] = error
        if not isinstance(value, list | dict):
            row |= columns
            columns = {}
        yield row


def opinion(
    ref: str,
    polarity: str,
    term: str = "",
    span: tuple[int, int] | None = None,
) -> Fields:
    """A tuple of Conflict Review. `term` is "" where it is implicit, `span` is (start, end) in characters.

    >>> opinion("FOOD#QUALITY", "negative")
    {'aspect_ref': 'FOOD#QUALITY', 'aspect_term': '', 'polarity': 'negative'}
    """
    row: Fields = {"aspect_ref": ref, "aspect_term": term, "polarity": polarity}
    if span:
        row["span"] = {"start": span[0], "end": span[1]}
    return row


def further_columns(fields: Fields) -> Fields:
    """The fields that can be columns of the units: texts, numbers, truth values, and lists of these.

    A list becomes one text. What is empty or nested is left out. A name that is taken begins with
    "its_" here.

    >>> further_columns({"topic": "law", "id": 7, "tags": ["a", "b"], "nested": {"x": 1}})
    {'topic': 'law', 'its_id': 7, 'tags': 'a; b'}
    """
    columns: Fields = {}
    for name, value in fields.items():
        if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
            value = "; ".join(map(str, value))
        is_number = isinstance(value, int | float) and abs(value) < math.inf
        if is_number or (value and isinstance(value, str)):
            is_taken = name.strip().casefold() in TAKEN or name.startswith(("num_", "den_"))
            columns.setdefault(f"its_{name}" if is_taken else name, value)
    return columns


def at(
    value: Any,
    *path: str,
    kind: Any = object,
) -> Any:
    """What stands under the keys of a path in a JSON value; None where nothing of this type does.

    >>> at({"eval": {"model": "m"}}, "eval", "model", kind=str)
    'm'
    """
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, kind) else None


def number(
    value: Any,
    field: str,
) -> float | None:
    """A number (a truth value is 0 or 1) as a float; None where it is not measured: null or NaN.

    >>> number(True, "passed")
    1.0
    """
    if value is None or value != value:
        return None
    if not isinstance(value, int | float) or abs(value) > sys.float_info.max:
        raise Unfit(field, f"expected a finite number, got {short(str(value))}")
    return float(value)


def where(
    place: Place,
    field: str = "",
) -> Fields:
    """A place, and a field there, as a problem names them."""
    if isinstance(place, int):
        return {"line": place, "field": field}
    return {"field": ".".join(filter(None, (place, field)))}


class Source(File):
    """A file to convert. `task`: the benchmark whose samples it holds, which the reader sets where the format says it."""

    task = ""

    def rows(self, records: Records) -> Iterator[tuple[Place, Fields]]:
        """(place, row) of all rows. A record that is Unfit, or fits no model, is reported and gives none."""
        for place, rows in records:
            try:
                yield from [(place, row) for row in rows]
            except Unfit as unfit:
                field, message = unfit.args
                self.error(
                    "bad-field",
                    message,
                    **where(place, field),
                )
            except ValidationError as error:
                misfit(error, self.error, **where(place))

    @cached_property
    def document(self) -> Any:
        """The JSON value of the whole file."""
        return read_json(self)

    def records(
        self,
        model: type[T],
        key: str,
    ) -> Iterator[tuple[str, T]]:
        """(place, record) of the list under a dotted key of the document. InputError where there is none."""
        items = at(self.document, *key.split("."), kind=list)
        if items is None:
            got = self.document
            keys = short(list(got)[:8] if isinstance(got, dict) else got)
            raise self.fatal(
                "wrong-format", f"expected a list under {key}, got a file with {keys}", field=key
            )
        return self.fitting(items, model, key)

    def fitting(
        self,
        items: Iterable[Any],
        model: type[T],
        key: str,
    ) -> Iterator[tuple[str, T]]:
        """(place, record) of the items that fit a model; what does not fit is reported."""
        for index, item in enumerate(items):
            place = f"{key}.{index}"
            if record := self.fitted(model, item, field=place):
                yield place, record
