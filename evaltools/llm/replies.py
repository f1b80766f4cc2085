"""What comes back from a server: chat completions, and the replies that their texts hold."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

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

# characters that are kept of the name of a model and of the reason why a reply ended
LONGEST_NAME = 200

# a server that counts more tokens has miscounted
MOST_TOKENS = 10**9

Reply = TypeVar("Reply", bound=BaseModel)


@dataclass(eq=False)
class CallFailed(Exception):
    """Why an attempt gave no reply, in a sentence.

    `retry`: another attempt may succeed, after `wait` seconds (None: as usual). `lasting`: every
    other request would fail in the same way. `status` is that of the HTTP reply, 0 without one;
    `param` the parameter that the server does not take.
    """

    sentence: str
    status: int = 0
    retry: bool = False
    wait: float | None = None
    lasting: bool = False
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
    if code == TOO_LONG:
        return CallFailed(f"{sentence}: the model's context is too short for the request")
    if 300 <= status < 400:
        reason = "redirects are not followed"
    elif code == "insufficient_quota":
        reason = "the quota is used up"
    elif wait is not None and wait > PATIENCE:
        reason = f"it asks to wait for {wait:.0f} s"
    if reason:
        return CallFailed(f"{sentence}: {reason}", status, lasting=True)
    retry = status in PASSING or status >= 500
    return CallFailed(sentence, status, retry, wait, param=param or "")


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
        try:
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    if not math.isfinite(seconds) or seconds > LONGEST_RETRY_AFTER:
        return None
    return max(seconds, 0.0)


def _name(value: Any) -> str:
    return value[:LONGEST_NAME] if isinstance(value, str) else ""


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None


def _object(value: Any) -> Any:
    return value if isinstance(value, dict) else {}


# what a server says beside the text is never a reason to lose it: what is no sensible value is none
Name = Annotated[str, BeforeValidator(_name)]
Count = Annotated[int | None, BeforeValidator(_count)]


class Details(BaseModel):
    cached_tokens: Count = 0


class Usage(BaseModel):
    """Numbers of tokens; None where the server does not say one."""

    prompt_tokens: Count = None
    completion_tokens: Count = None
    prompt_tokens_details: Annotated[Details, BeforeValidator(_object)] = Details()


class Message(BaseModel):
    content: str


class Choice(BaseModel):
    message: Message
    finish_reason: Name = ""


class Completion(BaseModel):
    """The body of a reply to a chat request."""

    model: Name = ""
    choices: Annotated[list[Choice], Field(min_length=1)]
    usage: Annotated[Usage, BeforeValidator(_object)] = Usage()


def read_completion(raw: bytes) -> Completion:
    """The completion in the body of an HTTP reply. CallFailed where there is none with a text."""
    try:
        return Completion.model_validate_json(raw)
    except ValidationError:
        raise CallFailed("the answer is not a chat completion with a text") from None


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
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"][:3])) or "reply"
        reason = f"does not fit: {field}: {first['msg']}"
        if first["type"] == "json_invalid":
            reason = "is not valid JSON"
    except (ValueError, RecursionError):
        reason = "is not valid JSON"
    raise ValueError(f"the reply {reason}")
