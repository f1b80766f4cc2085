"""What comes back from a server: chat completions, and the replies that their texts hold."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from .failures import CallFailed

LONGEST_NAME = 200
"""Characters that are kept of the name of a model and of the reason why a reply ended."""

MOST_TOKENS = 10**9
"""A server that counts more tokens has miscounted."""

Reply = TypeVar("Reply", bound=BaseModel)


@dataclass(frozen=True)
class Completion:
    """The text of a chat completion and what it took.

    A number of tokens is None where it is unknown.
    """

    text: str
    model: str
    finish_reason: str
    tokens_in: int | None
    tokens_out: int | None
    tokens_cached: int | None


def read_completion(raw: bytes) -> Completion:
    """The completion in the body of an HTTP reply. CallFailed where there is none with a text."""
    try:
        body = from_json(raw)
        choice = body["choices"][0]
        text = choice["message"]["content"].strip()
    except (ValueError, LookupError, TypeError, AttributeError):
        raise CallFailed("the answer is not a chat completion with a text") from None
    usage = _mapping(body.get("usage"))
    details = _mapping(usage.get("prompt_tokens_details"))
    return Completion(
        text=text,
        model=_name(body.get("model")),
        finish_reason=_name(choice.get("finish_reason")),
        tokens_in=_count(usage.get("prompt_tokens")),
        tokens_out=_count(usage.get("completion_tokens")),
        tokens_cached=_count(details.get("cached_tokens", 0)),
    )


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _name(value: Any) -> str:
    return value[:LONGEST_NAME] if isinstance(value, str) else ""


def _count(value: Any) -> int | None:
    """A number of tokens; None for anything else."""
    if type(value) is int and 0 <= value <= MOST_TOKENS:
        return value
    return None


def parse(text: str, model: type[Reply]) -> Reply:
    """The reply in the text of a completion; a code fence around it is taken off.

    ValueError says in a sentence what is wrong.

    >>> class Label(BaseModel):
    ...     label: str
    >>> parse('```json\\n{"label": "x"}\\n```', Label)
    Label(label='x')
    """
    text = text.strip()
    if text.startswith("```") and text.endswith("```"):
        text = text[3:-3].removeprefix("json")
    try:
        # engines that hold a reply to a schema let line breaks stand in its strings as they are
        value = json.loads(text, strict=False)
        return model.model_validate_json(json.dumps(value))
    except ValidationError as error:
        raise ValueError(_what_is_wrong(error)) from None
    except (ValueError, RecursionError):
        raise ValueError("the reply is not valid JSON") from None


def _what_is_wrong(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    if first["type"] == "json_invalid":
        return "the reply is not valid JSON"
    field = ".".join(str(part) for part in first["loc"][:3]) or "reply"
    return f"the reply does not fit: {field}: {first['msg']}"
