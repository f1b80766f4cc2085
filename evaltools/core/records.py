"""Records held against a pydantic model: what does not fit, and what comes twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticKnownError

from .errors import Problems
from .language import Message

T = TypeVar("T", bound=BaseModel)

CODES = {"json_invalid": "bad-json", "model_type": "not-an-object"}
"""Type of an error of pydantic's -> code of the problem; all others are "bad-field"."""


PLAIN = {
    "too_short": "should have at least {min_length} items, not {actual_length}",
    "string_pattern_mismatch": "should match pattern {pattern}",
    "string_too_long": "should have at most {max_length} characters",
}
"""Type of an error of pydantic's -> what is said of it, where its own sentence is made of more than a template."""


JSON_REASONS = {
    "EOF while parsing": "it ends too early",
    "expected": "a sign is missing or in the wrong place",
    "trailing comma": "a comma before a closing bracket",
    "trailing characters": "more text behind its end",
    "key must be": "a key without double quotes",
}
"""How a parser's reason begins -> what is said instead."""


def json_reason(text: str) -> Message:
    """Why a text is no JSON, in plain words, of what a parser says; the column where it names one.

    >>> str(json_reason("trailing comma at line 1 column 8"))
    'a comma before a closing bracket (character 8)'
    """
    reason, _, place = text.partition(" at line ")
    plain = next((JSON_REASONS[key] for key in JSON_REASONS if reason.startswith(key)), reason)
    column = place.rpartition(" ")[2]
    if not column or plain == JSON_REASONS["EOF while parsing"]:
        return Message(plain)
    return Message("{reason} (character {column})", {"reason": Message(plain), "column": column})


def describe(error: ValidationError) -> list[tuple[str, str, Message]]:
    """(code, field, message) for each thing that a pydantic model did not accept in one line."""
    problems = []
    for e in error.errors(include_url=False):
        code = CODES.get(e["type"], "bad-field")
        message = _as_message(e)
        of_a_whole = e["type"] == "value_error" and isinstance(e["input"], dict)
        if code == "bad-field" and e["type"] != "missing" and not of_a_whole:
            values = {"what": message, "value": short(e["input"])}
            message = Message("{what}, got {value}", values)
        field = ".".join(str(part) or '""' for part in e["loc"])
        problems.append((code, field, message))
    return problems


def all_wrong(error: ValidationError) -> Message:
    """All that a pydantic model of settings did not accept, as one message."""
    parts = []
    for _, name, message in describe(error):
        parts.append(Message("{name}: {message}", {"name": name, "message": message}))
    joined = parts[0]
    for part in parts[1:]:
        joined = Message("{before}; {part}", {"before": joined, "part": part})
    return joined


def _as_message(error: Any) -> Message:
    """What pydantic says of an error, as a template and its values, so that it can be told in another language."""
    text = error["msg"]
    context = error.get("ctx", {})
    if error["type"] == "value_error":  # of a validator of ours
        told = _told(context["error"])
        return told if isinstance(told, Message) else Message(told)
    values = {name: _told(value) for name, value in context.items()}
    if error["type"] == "json_invalid":
        return Message("Invalid JSON: {error}", {"error": json_reason(str(context["error"]))})
    if error["type"] in PLAIN:
        return Message(PLAIN[error["type"]], values)
    try:
        template = PydanticKnownError(error["type"], context).message_template
    except (KeyError, TypeError, ValueError):
        return Message(text)
    message = Message(template, values)
    return message if str(message) == text else Message(text)


def _told(value: Any) -> str | Message:
    """A value of an error; of an exception that carries a message the message."""
    if isinstance(value, float):
        return f"{value:g}"
    arguments = value.args if isinstance(value, Exception) else ()
    return arguments[0] if arguments and isinstance(arguments[0], Message) else str(value)


def fitted(
    model: type[T],
    value: Any,
    problems: Problems,
    *,
    under: str = "",
    context: Any = None,
    **where: Any,
) -> T | None:
    """A value as a record of a model; None where it does not fit, which is reported. `under`: its own field."""
    try:
        return model.model_validate(value, context=context)
    except ValidationError as e:
        for code, field, message in describe(e):
            path = ".".join(part for part in (under, field) if part)
            problems.error(code, message, field=path, **where)
    return None


def short(value: Any) -> str:
    """A value as an error shows it: 80 characters of its repr at most."""
    is_hidden = isinstance(value, str) and not value.isprintable()
    text = ascii(value) if is_hidden else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


class FirstLines:
    """The lines on which keys were first seen in a file. A later record of the same key is reported as an error.

    >>> lines = FirstLines("cases.csv", Problems("skip"))
    >>> lines.is_first("c1", 2, id="c1", what="record of this case_id")
    True
    >>> lines.is_first("c1", 5, id="c1", what="record of this case_id")
    False
    """

    def __init__(
        self,
        path: Path | str,
        problems: Problems,
        code: str = "duplicate-id",
    ):
        self.path = path
        self.problems = problems
        self.code = code
        self.line_of: dict[Any, int] = {}

    def is_first(
        self,
        key: Any,
        line: int,
        *,
        what: str | Message,
        **where: str,
    ) -> bool:
        """Whether no earlier line had this key; `what` names such a record in the message, `where` its id and field."""
        first = self.line_of.setdefault(key, line)
        if first != line:
            self.problems.error(
                self.code,
                "a second {what}; the first is on line {first}",
                what=Message(what) if isinstance(what, str) else what,
                first=first,
                file=self.path,
                line=line,
                **where,
            )
        return first == line


def unique_records(
    records: Iterable[tuple[int, Any]],
    field: str,
    problems: Problems,
    path: Path,
) -> Iterator[tuple[int, str, Any]]:
    """Yield (line, id, record) of the records whose `field`, the id, comes for the first time; report the others."""
    first_lines = FirstLines(path, problems)
    what = Message("record of this {field}", {"field": field})
    for line, record in records:
        uid = str(getattr(record, field))
        if first_lines.is_first(uid, line, id=uid, what=what):
            yield line, uid, record
