"""What comes back from a server: chat completions, and the replies that their texts hold."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

# seconds after which no attempt at a request begins
PATIENCE = 600.0

# a Retry-After of more seconds is taken for a mistake and ignored
LONGEST_RETRY_AFTER = 24 * 3600.0

# statuses that every other request would get, too
LASTING = {
    401: "the key is refused",
    402: "the quota is used up",
    403: "the key may not do this",
    404: "there is no such model or address",
}

# statuses with which a server refuses the form of a request
REFUSED = (400, 422)

# code of the error where prompt and max_tokens together are more than the model can hold
TOO_LONG = "context_length_exceeded"

# statuses below 500 that a later attempt may not get
PASSING = (408, 409, 425, 429)


@dataclass(eq=False)
class CallFailed(Exception):
    """Why an attempt gave no reply, in a sentence.

    `retry`: another attempt may succeed, after `wait` seconds (None: as usual). `lasting`: every
    other request would fail in the same way. `status` is that of the HTTP reply, 0 without one.
    `refused`: a plainer form of the request may succeed. `param` is the parameter that the server
    does not take.
    """

    sentence: str
    status: int = 0
    retry: bool = False
    wait: float | None = None
    lasting: bool = False
    refused: bool = False
    param: str = ""


def failure_of_status(
    status: int,
    code: str | None,
    param: str | None,
    headers: Mapping[str, str],
) -> CallFailed:
    """What an HTTP status that is no success means; `code` and `param` are those of the error.

    >>> failure_of_status(401, None, None, {}).sentence
    'the server answered with HTTP status 401: the key is refused'
    """
    sentence = f"the server answered with HTTP status {status}"
    wait = retry_after(headers)
    reason = LASTING.get(status, "")
    if 300 <= status < 400:
        reason = "redirects are not followed"
    elif code == "insufficient_quota":
        reason = "the quota is used up"
    elif wait is not None and wait > PATIENCE:
        reason = f"it asks to wait for {wait:.0f} s"
    elif code == TOO_LONG:
        reason = "the model's context is too short for the request"
    if reason:
        return CallFailed(f"{sentence}: {reason}", status, lasting=code != TOO_LONG)
    retry = status in PASSING or status >= 500
    refused = status in REFUSED
    return CallFailed(sentence, status, retry, wait, refused=refused, param=param or "")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that a server asks to wait, 0 or more; None where it says nothing sensible.

    Retry-After holds seconds (decimals are accepted) or a date; retry-after-ms milliseconds. More
    than LONGEST_RETRY_AFTER is not sensible.

    >>> retry_after({"retry-after": "1.5"})
    1.5
    >>> retry_after({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}) is None
    True
    """
    text = headers.get("retry-after", "")
    milliseconds = headers.get("retry-after-ms")
    try:
        seconds = float(text) if milliseconds is None else float(milliseconds) / 1000
    except ValueError:
        seconds = _seconds_until(text)
    if not math.isfinite(seconds) or seconds > LONGEST_RETRY_AFTER:
        return None
    return max(seconds, 0.0)


def _seconds_until(date: str) -> float:
    try:
        return parsedate_to_datetime(date).timestamp() - time.time()
    except (ValueError, TypeError, OverflowError):
        return math.nan


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
