"""What readers of other tools' files give, and how they read the fields of a record."""

from __future__ import annotations

import ast
import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from ..core.files import dumps
from ..core.records import short
from ..core.score_rows import COLUMNS

POLARITIES = {name: name for name in ("positive", "negative", "neutral")}

# columns of a long table or of its units that have a meaning: no further column has such a name
TAKEN = {*COLUMNS, "item", "line", "error"}

# further columns of a sample at the most
MOST_FURTHER = 40


class Row(BaseModel):
    """A record of another tool's file: only the fields that are used; others are ignored."""

    model_config = ConfigDict(
        strict=True,
        extra="ignore",
        protected_namespaces=(),
    )


def opinion(
    ref: str,
    term: str,
    polarity: str,
    span: tuple[int, int] | None = None,
) -> dict[str, Any]:
    """A tuple of Conflict Review. `term` is "" where it is implicit, `span` is (start, end) in characters.

    >>> opinion("FOOD#QUALITY", "", "negative")
    {'aspect_ref': 'FOOD#QUALITY', 'aspect_term': '', 'polarity': 'negative'}
    """
    row: dict[str, Any] = {
        "aspect_ref": ref,
        "aspect_term": term,
        "polarity": polarity,
    }
    if span is not None:
        row["span"] = {"start": span[0], "end": span[1]}
    return row


@dataclass(frozen=True)
class Sample:
    """A text and its tuples (`opinion`).

    `id` is the format's own, else the 1-based number of the sample in its file.
    """

    id: str
    text: str
    tuples: list[dict[str, Any]]


class Score(NamedTuple):
    """One metric on one sample.

    `value` None is not measured; with `den` it is the numerator of the metric's ratio.
    `higher_is_better` None: the file does not say it. `error`: why there is no value, where the
    call failed.
    """

    metric: str
    value: float | None
    higher_is_better: bool | None = None
    den: float | None = None
    error: str | None = None


@dataclass(frozen=True, kw_only=True)
class Scored:
    """A sample of a benchmark, and its scores.

    `trial` is the number of a repeated draw of the sample. `further` describes it: what
    can be a column becomes one (`further_columns`).
    """

    id: str
    scores: Sequence[Score]
    condition: str | None = None
    seed: str | None = None
    trial: str | None = None
    text: str | None = None
    further: Mapping[str, Any] = field(default_factory=dict)


class Unfit(ValueError):
    """A field of a record that is not what was expected: what was, and what was got instead.

    >>> print(Unfit("tuples.0", "expected a pair", got=[1]))
    tuples.0: expected a pair, got [1]
    """

    def __init__(self, field: str, message: str, got: Any = None):
        self.field = field
        self.message = message if got is None else f"{message}, got {short(got)}"
        super().__init__(f"{field}: {self.message}")


def literals(
    line: str,
    field: str,
) -> tuple[str, list[Any]]:
    """(sentence, list) of a line sentence####[...]; the list is read as a Python literal, nothing
    is run.

    >>> literals("It works.####[['it', 'positive']]", "tuples")
    ('It works.', [['it', 'positive']])
    """
    text, mark, literal = line.partition("####")
    if not mark:
        raise Unfit("", "expected sentence####[...]", got=line)
    try:
        value = ast.literal_eval(literal.strip())
        dumps(value).encode()  # no half of a character, and nothing that JSON lacks
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        value = None
    if not isinstance(value, list):
        raise Unfit(field, "expected a Python list", got=literal)
    return text, value


def chosen(
    value: Any,
    names: Mapping[Any, str],
    field: str,
) -> str:
    """What a name of a format is called here; Unfit lists the names that there are.

    >>> chosen("POS", {"POS": "positive"}, "polarity")
    'positive'
    """
    if isinstance(value, str | int) and value in names:
        return names[value]
    raise Unfit(field, f"expected one of {', '.join(map(str, names))}", got=str(value))


def tokens(
    sentence: str,
    numbers: Sequence[int],
    field: str,
) -> tuple[str, tuple[int, int] | None]:
    """The text of whitespace tokens, by their 0-based numbers, and its span (start, end).

    The span is None where the tokens do not stand side by side.

    >>> tokens("The battery life is long", [1, 2], "aspect")
    ('battery life', (4, 16))
    """
    spans = [match.span() for match in re.finditer(r"\S+", sentence)]
    if not all(isinstance(number, int) and 0 <= number < len(spans) for number in numbers):
        message = f"expected numbers of the {len(spans)} tokens"
        raise Unfit(field, message, got=list(numbers[:20]))
    first, last = numbers[0], numbers[-1]
    if list(numbers) == list(range(first, last + 1)):
        start, end = spans[first][0], spans[last][1]
        return sentence[start:end], (start, end)
    words = [sentence[slice(*spans[number])] for number in numbers]
    return " ".join(words), None


def further_columns(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that can be columns of the units: texts, numbers, truth values, and lists of these.

    A list becomes one text. What is empty or nested is left out. A name that is taken begins with
    "its_" here.

    >>> further_columns({"topic": "law", "id": 7, "tags": ["a", "b"], "nested": {"x": 1}})
    {'topic': 'law', 'its_id': 7, 'tags': 'a; b'}
    """
    columns: dict[str, Any] = {}
    for name, value in fields.items():
        is_list = isinstance(value, list)
        if is_list and all(isinstance(item, str | int | float) for item in value):
            value = "; ".join(str(item) for item in value)
        if value == "" or not isinstance(value, str | int | float):
            continue
        if isinstance(value, float) and not math.isfinite(value):
            continue
        if name in TAKEN or name.startswith(("num_", "den_")):
            name = f"its_{name}"
        columns.setdefault(name, value)
        if len(columns) == MOST_FURTHER:
            break
    return columns


def mapping(value: Any) -> dict[str, Any]:
    """The value where it is an object of JSON, else an empty one."""
    return value if isinstance(value, dict) else {}


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
        raise Unfit(field, "expected a finite number", got=str(value))
    return float(value)
