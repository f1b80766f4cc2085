"""What readers of other tools' files give, and how they read the fields of a record."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from ..core.score_rows import COLUMNS

POLARITIES = {name: name for name in ("positive", "negative", "neutral")}

TOKEN = re.compile(r"\S+")

TAKEN = {*COLUMNS, "item", "line"}
"""Columns of a long table or of its units that have a meaning: no further column has such a name."""

MOST_FURTHER = 40
"""Further columns of a sample at the most."""


class Row(BaseModel):
    """A record of another tool's file: only the fields that are used; others are ignored."""

    model_config = ConfigDict(
        strict=True,
        extra="ignore",
        protected_namespaces=(),
    )


class Opinion(NamedTuple):
    """A tuple of aspect-based sentiment.

    `term` is "" where it is implicit, `span` is (start, end) in characters.
    """

    ref: str
    term: str
    polarity: str
    span: tuple[int, int] | None = None


@dataclass(frozen=True)
class Sample:
    """A text and its tuples.

    `id` is the format's own, else the 1-based number of the sample in its file.
    """

    id: str
    text: str
    opinions: tuple[Opinion, ...]


@dataclass(frozen=True, kw_only=True)
class Score:
    """One metric on one sample.

    A value (None: not measured), or numerator and denominator of the metric's ratio. `trial` is the
    number of a repeated draw of the sample. `higher_is_better` None: the file does not say it.
    `further` are columns that describe the sample: `further_columns` makes them.
    """

    id: str
    metric: str
    value: float | None = None
    num: float | None = None
    den: float | None = None
    condition: str | None = None
    seed: str | None = None
    trial: str | None = None
    text: str | None = None
    higher_is_better: bool | None = None
    further: Mapping[str, Any] = field(default_factory=dict)


class Unfit(ValueError):
    """A field of a record that is not what was expected."""

    def __init__(self, field: str, message: str):
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


def literals(line: str, field: str) -> tuple[str, list[Any]]:
    """(sentence, list) of a line sentence####[...]; the list is read as a Python literal, nothing
    is run.

    >>> literals("It works.####[['it', 'positive']]", "tuples")
    ('It works.', [['it', 'positive']])
    """
    text, mark, literal = line.partition("####")
    if not mark:
        raise Unfit("", f"expected sentence####[...], got {line[:80]!r}")
    try:
        value = ast.literal_eval(literal.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        value = None
    if not isinstance(value, list):
        raise Unfit(field, f"expected a Python list, got {literal[:80]!r}")
    return text, value


def chosen(value: Any, names: Mapping[Any, str], field: str) -> str:
    """What a name of a format is called here; Unfit lists the names that there are.

    >>> chosen("POS", {"POS": "positive"}, "polarity")
    'positive'
    """
    if isinstance(value, str | int) and value in names:
        return names[value]
    known = ", ".join(str(name) for name in names)
    raise Unfit(field, f"expected one of {known}, got {str(value)[:80]!r}")


def tokens(sentence: str, numbers: Sequence[int], field: str) -> tuple[str, tuple[int, int] | None]:
    """The text of whitespace tokens, by their 0-based numbers, and its span (start, end).

    The span is None where the tokens do not stand side by side, and for no token.

    >>> tokens("The battery life is long", [1, 2], "aspect")
    ('battery life', (4, 16))
    """
    spans = [match.span() for match in TOKEN.finditer(sentence)]
    for number in numbers:
        if not isinstance(number, int) or not 0 <= number < len(spans):
            message = f"expected numbers of the {len(spans)} tokens, got {list(numbers)[:20]}"
            raise Unfit(field, message)
    if not numbers:
        return "", None
    first, last = numbers[0], numbers[-1]
    if list(numbers) == list(range(first, last + 1)):
        start, end = spans[first][0], spans[last][1]
        return sentence[start:end], (start, end)
    words = []
    for number in numbers:
        start, end = spans[number]
        words.append(sentence[start:end])
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
        if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
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


def number(value: Any, field: str) -> float | None:
    """A number (a truth value is 0 or 1) as a float; None where it is not measured: null or NaN.

    >>> number(True, "passed")
    1.0
    """
    if value is None:
        return None
    measured = math.inf
    if isinstance(value, int | float):
        with suppress(OverflowError):
            measured = float(value)
    if math.isinf(measured):
        raise Unfit(field, f"expected a finite number, got {str(value)[:80]!r}")
    if math.isnan(measured):
        return None
    return measured
