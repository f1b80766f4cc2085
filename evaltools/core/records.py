"""Records held against a pydantic model: what does not fit, and what comes twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from .errors import Problems

T = TypeVar("T", bound=BaseModel)

CODES = {"json_invalid": "bad-json", "model_type": "not-an-object"}
"""Type of an error of pydantic's -> code of the problem; all others are "bad-field"."""


PLAIN = {
    "model_type": "expected a JSON object",
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


def json_reason(text: str) -> str:
    """Why a text is no JSON, in plain words, of what a parser says; the column where it names one.

    >>> json_reason("trailing comma at line 1 column 8")
    'a comma before a closing bracket (character 8)'
    """
    reason, _, place = text.partition(" at line ")
    plain = next((JSON_REASONS[key] for key in JSON_REASONS if reason.startswith(key)), reason)
    column = place.rpartition(" ")[2]
    if not column or plain == JSON_REASONS["EOF while parsing"]:
        return plain
    return f"{plain} (character {column})"


def describe(error: ValidationError) -> list[tuple[str, str, str]]:
    """(code, field, message) for each thing that a pydantic model did not accept in one line."""
    problems = []
    for e in error.errors(include_url=False):
        code = CODES.get(e["type"], "bad-field")
        message = _sentence_of(e)
        of_a_whole = e["type"] == "value_error" and isinstance(e["input"], dict)
        # what stands under an unknown key may be a secret
        is_shown = e["type"] not in ("missing", "extra_forbidden") and not of_a_whole
        if code == "bad-field" and is_shown:
            message = f"{message}, got {short(e['input'])}"
        field = ".".join(str(part) or '""' for part in e["loc"])
        problems.append((code, field, message))
    return problems


def all_wrong(error: ValidationError) -> str:
    """All that a pydantic model of settings did not accept, as one sentence."""
    return "; ".join(f"{name}: {message}" for _, name, message in describe(error))


def _sentence_of(error: Any) -> str:
    """What pydantic says of an error, without its own prefixes."""
    context = error.get("ctx", {})
    if error["type"] == "value_error":  # of a validator of ours
        return str(context["error"])
    if error["type"] == "json_invalid":
        return f"Invalid JSON: {json_reason(str(context['error']))}"
    if error["type"] in PLAIN:
        return PLAIN[error["type"]].format(**context)
    return error["msg"]


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
        what: str,
        **where: str,
    ) -> bool:
        """Whether no earlier line had this key; `what` names such a record in the message, `where` its id and field."""
        first = self.line_of.setdefault(key, line)
        if first != line:
            self.problems.error(
                self.code,
                f"a second {what}; the first is on line {first}",
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
    what = f"record of this {field}"
    for line, record in records:
        uid = str(getattr(record, field))
        if first_lines.is_first(uid, line, id=uid, what=what):
            yield line, uid, record
