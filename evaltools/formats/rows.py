"""What readers of other tools' files give, and how they read lines, lists and fields."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict

from ..core.errors import Problems
from ..core.records import BOM, fitted, read_json, require_file

LITERAL_BYTES = 1 << 20
"""A longer line of text is no sample of a data set."""

Place = int | str
"""Of a record in its file: its line, or its path in the file."""

T = TypeVar("T")
R = TypeVar("R")
M = TypeVar("M", bound="Row")


class Row(BaseModel):
    """A record of another tool's file: only the fields that are used; others are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore", protected_namespaces=())


class Opinion(NamedTuple):
    """A tuple of aspect-based sentiment: `term` is "" where it is implicit, `span` (start, end) in characters."""

    ref: str
    term: str
    polarity: str
    span: tuple[int, int] | None = None


@dataclass(frozen=True)
class Sample:
    """A text and its tuples; `id` is the format's own, else the 1-based number of the sample in its file."""

    id: str
    text: str
    opinions: tuple[Opinion, ...]


@dataclass(frozen=True, kw_only=True)
class Score:
    """One metric on one sample: a value (None: not measured), or numerator and denominator of the metric's ratio."""

    id: str
    metric: str
    value: float | None = None
    num: float | None = None
    den: float | None = None
    condition: str | None = None
    seed: str | None = None
    text: str | None = None
    higher_is_better: bool | None = None


class Unfit(ValueError):
    """A field of a record that is not what was expected."""

    def __init__(self, field: str, message: str):
        self.field, self.message = field, message
        super().__init__(f"{field}: {message}")


def made(
    records: Iterable[tuple[Place, T]],
    make: Callable[[int, T], Iterable[R]],
    path: Path,
    problems: Problems,
) -> Iterator[tuple[Place, R]]:
    """(place, row) of every row that `make(number of the record, record)` gives; what is unfit is reported."""
    for count, (place, record) in enumerate(records, 1):
        try:
            rows = list(make(count, record))
        except Unfit as e:
            problems.error("bad-field", e.message, file=str(path), **at(place, e.field))
        else:
            yield from ((place, row) for row in rows)


def at(place: Place, field: str = "") -> dict[str, Any]:
    """A place, and a field there, as a problem names them."""
    if isinstance(place, int):
        return {"line": place, "field": field}
    return {"field": ".".join(filter(None, (place, field)))}


def read_lines(path: Path, problems: Problems) -> Iterator[tuple[int, str]]:
    """(line number, text) of the lines of a UTF-8 file that are not blank."""
    require_file(path, problems)
    with path.open("rb") as f:
        for number, raw in enumerate(iter(partial(f.readline, LITERAL_BYTES + 1), b""), 1):
            where = {"file": str(path), "line": number}
            if len(raw) > LITERAL_BYTES:
                raise problems.fatal(
                    "line-too-long", "a line of more than 1 MB; expected a sentence", **where
                )
            try:
                text = raw.removeprefix(BOM).decode("utf-8").strip("\r\n")
            except UnicodeDecodeError as e:
                problems.error(
                    "not-utf8",
                    f"byte {e.start} of the line is not UTF-8 (0x{raw[e.start]:02x})",
                    **where,
                )
                text = "\0"  # a sample all the same: those after it keep their numbers
            if text.strip():
                yield number, text


def read_records(
    path: Path, problems: Problems, model: type[M], key: str = ""
) -> Iterator[tuple[Place, M]]:
    """(place, record) of the list under a key of a JSON file, or of the file that is a list itself."""
    require_file(path, problems)
    yield from fitting(
        listed(read_json(path, problems), key, path, problems), model, path, problems, key
    )


def under(content: Any, key: str) -> Any:
    """What stands under a dotted key of nested objects; None where nothing does."""
    for part in key.split(".") if key else ():
        content = content.get(part) if isinstance(content, dict) else None
    return content


def listed(content: Any, key: str, path: Path, problems: Problems) -> list[Any]:
    """The list that stands under a dotted key. InputError where there is none."""
    found = under(content, key)
    if not isinstance(found, list):
        raise problems.fatal(
            "wrong-format", f"expected a list{f' {key}' if key else ''}", file=str(path), field=key
        )
    return found


def fitting(
    items: Iterable[Any], model: type[M], path: Path, problems: Problems, key: str = ""
) -> Iterator[tuple[Place, M]]:
    """(place, record) of the items that fit a model; what does not fit is reported."""
    for count, item in enumerate(items):
        place = f"{key}.{count}" if key else str(count)
        record = fitted(model, item, problems, under=place, file=str(path))
        if record is not None:
            yield place, record


def literals(line: str, field: str) -> tuple[str, list[Any]]:
    """(sentence, list) of a line sentence####[...]; the list is read as a Python literal, nothing is run."""
    text, mark, found = line.partition("####")
    if not mark:
        raise Unfit("", f"expected sentence####[...], got {line[:80]!r}")
    try:
        value = ast.literal_eval(found.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        value = None
    if not isinstance(value, list):
        raise Unfit(field, f"expected a Python list, got {found[:80]!r}")
    return text, value


def chosen(value: Any, names: Mapping[Any, str], field: str) -> str:
    """What a name of a format is called here; Unfit lists the names that there are."""
    if not isinstance(value, str | int) or value not in names:
        raise Unfit(field, f"expected one of {', '.join(map(str, names))}, got {str(value)[:80]!r}")
    return names[value]


POLARITIES = {p: p for p in ("positive", "negative", "neutral")}


def tokens(sentence: str, at: Sequence[int], field: str) -> tuple[str, tuple[int, int] | None]:
    """(the text of whitespace tokens, by their 0-based numbers; its span where they stand side by side)."""
    words = [m.span() for m in re.finditer(r"\S+", sentence)]
    if not all(isinstance(i, int) and 0 <= i < len(words) for i in at):
        raise Unfit(field, f"expected numbers of the {len(words)} tokens, got {list(at)[:20]}")
    if not at:
        return "", None
    if list(at) != list(range(at[0], at[-1] + 1)):
        return " ".join(sentence[slice(*words[i])] for i in at), None
    span = words[at[0]][0], words[at[-1]][1]
    return sentence[slice(*span)], span


def number(value: Any, field: str) -> float | None:
    """A number (a truth value is 0 or 1) as a float; None where it is not measured: null or NaN."""
    if value is None:
        return None
    try:
        found = float(value) if isinstance(value, int | float) else math.inf
    except OverflowError:
        found = math.inf
    if math.isinf(found):
        raise Unfit(field, f"expected a finite number, got {str(value)[:80]!r}")
    return None if math.isnan(found) else found
