"""Chat requests and their replies: bodies and their forms, failures, tokens, costs and limits."""

from __future__ import annotations

import asyncio
import json
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar
from uuid import uuid4

from pydantic import (
    AfterValidator,
    AliasPath,
    BaseModel,
    BeforeValidator,
    Field,
    ValidationError,
)
from pydantic_core import PydanticCustomError

from ..core.files import Fields
from ..core.messages import UsageError, WorkFailed

# environment variable with the base URL where a config names none; the SDK reads it, too
BASE_URL_VARIABLE = "OPENAI_BASE_URL"


def plain_url(text: str | None) -> str | None:
    """A text that can be a base URL: http or https, without a user, a query or a fragment; None stays None.

    The error of any other text does not show it: it may hold a password.

    >>> plain_url("http://localhost:8000/v1")
    'http://localhost:8000/v1'
    >>> plain_url("https://host/v1?key=x")
    Traceback (most recent call last):
        ...
    pydantic_core...PydanticCustomError: expected http(s)://host[:port]/path, without a user, a query or a fragment
    """
    if text is None:
        return None
    match = re.fullmatch(
        r"https?://([\w.-]+|\[[\da-fA-F:.]+\])(:(\d{1,5}))?(/[^?#\s\x00-\x1f\x7f]*)?", text
    )
    if match and int(match[3] or 0) <= 65_535:
        return text
    raise PydanticCustomError(
        "hidden", "expected http(s)://host[:port]/path, without a user, a query or a fragment"
    )


BaseUrl = Annotated[str | None, AfterValidator(plain_url)]


def address_in_force(base_url: str | None) -> str | None:
    """The base URL that requests go to: the given one, else that of OPENAI_BASE_URL.

    None stands for the SDK's default server. UsageError for a variable that holds no plain URL.
    """
    if base_url:
        return base_url
    try:
        return plain_url(os.environ.get(BASE_URL_VARIABLE, "").strip() or None)
    except ValueError as error:
        raise UsageError(f"{BASE_URL_VARIABLE}: {error}") from None


# how a reply is asked for, the second being plainer; plain text where a server refuses both
JSON_SCHEMA, JSON_OBJECT = "json_schema", "json_object"

# keywords of a JSON schema that strict servers do not take
ANNOTATIONS = {"title", "default", "minimum", "maximum", "description"}


def chat(
    model: str,
    system: str,
    user: str,
    name: str,
    schema: Fields,
    **sampling: Any,
) -> Fields:
    """The body of a request for a reply of this JSON schema; `name` names the schema.

    >>> list(chat("m", "You are ...", "Text: ...", "reply", {}, temperature=0))
    ['model', 'messages', 'temperature', 'response_format']
    """
    return {
        "model": model,
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
        **sampling,
        "response_format": {
            "type": "json_schema",
            "json_schema": {
                "name": name,
                "strict": True,
                "schema": schema,
            },
        },
    }


@cache
def strict_schema(model: type[BaseModel]) -> Fields:
    """The JSON schema of a model as strict servers want it: closed objects, all fields required.

    The value is shared: do not change it.
    """
    return json.loads(json.dumps(model.model_json_schema()), object_hook=_strict)


def _strict(node: Fields) -> Fields:
    # a field may be called "title", too: then the value is a schema
    strict = {
        name: value
        for name, value in node.items()
        if name not in ANNOTATIONS or isinstance(value, dict)
    }
    if "properties" in strict:
        strict["required"] = list(strict["properties"])
        strict["additionalProperties"] = False
    return strict


def body_without(refused: frozenset[str], request: Fields) -> Fields:
    """The body of a request of `chat` without what a server refused: parameters, and forms of the reply.

    max_completion_tokens takes the place of max_tokens.

    >>> request = chat("m", "system", "user", "reply", {}, temperature=0, max_tokens=9)
    >>> body = body_without(frozenset({JSON_SCHEMA, "max_tokens"}), request)
    >>> list(body), body["response_format"]
    (['model', 'messages', 'temperature', 'response_format', 'max_completion_tokens'], {'type': 'json_object'})
    """
    body = {name: value for name, value in request.items() if name not in refused}
    if "max_tokens" in refused & request.keys():
        body["max_completion_tokens"] = request["max_tokens"]
    if JSON_OBJECT in refused:
        del body["response_format"]
    elif JSON_SCHEMA in refused:
        body["response_format"] = {"type": JSON_OBJECT}
    return body


# seconds after which no attempt at a request begins
PATIENCE = 600.0

# statuses and codes that every other request would get, too, and why
LASTING = {
    401: "the key is refused",
    402: "the quota is used up",
    403: "the key may not do this",
    404: "there is no such model or address",
    "insufficient_quota": "the quota is used up",
}

# statuses below 500 that a later attempt may not get
TRANSIENT = (408, 409, 425, 429)

# characters that are kept of the name of a model and of the reason why a reply ended
LONGEST_NAME = 200

# a server that counts more tokens has miscounted
MOST_TOKENS = 10**9

Reply = TypeVar("Reply", bound=BaseModel)


class Call(BaseModel, extra="forbid"):
    """What one request took, repeats and repairs included.

    `request` is the hash of the request. Times are in milliseconds: `api_ms` at the server,
    `wait_ms` waiting for a turn or for a repeat. `attempts` counts what was sent. A number of
    tokens is None where the server did not say it, `cost` is None without a price or without the
    tokens.
    """

    request: str
    model: str = ""
    finish_reason: str = ""
    tokens_in: int | None = 0
    tokens_out: int | None = 0
    tokens_cached: int | None = 0
    cost: float | None = None
    api_ms: int = 0
    wait_ms: int = 0
    attempts: int = 0


Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Prices(BaseModel, frozen=True, extra="forbid"):
    """Prices of a million tokens, in any currency."""

    input: Price = 0.0
    output: Price = 0.0


@dataclass(frozen=True)
class Limits:
    """What may be spent; None is no limit.

    `requests` counts what is sent, repeats and repairs included. `cost` is in the currency of `price`.
    """

    requests: int | None = None
    cost: float | None = None
    price: Prices | None = None

    def cost_of(self, taken: Call | Completion) -> float | None:
        """The cost of a call or completion; None without a price or where a number of tokens is unknown,
        as it is of a request of none.

        >>> Limits(price=Prices(input=2, output=10)).cost_of(
        ...     Call(request="", tokens_in=1_000_000, tokens_out=100_000)
        ... )
        3.0
        """
        if not self.price or not taken.tokens_in or taken.tokens_out is None:
            return None
        return (taken.tokens_in * self.price.input + taken.tokens_out * self.price.output) / 1e6


@dataclass(eq=False)
class CallFailed(Exception):
    """An attempt gave no reply; `sentence` says why.

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


def failure_of_status(error: Any) -> CallFailed:
    """The failure that an HTTP status other than success means; `error`: the SDK's APIStatusError."""
    status, code = error.status_code, str(error.code)
    sentence = f"the server answered with HTTP status {status}"
    seconds = re.fullmatch(r"\d{1,9}(\.\d+)?", error.response.headers.get("retry-after", ""))
    wait = float(seconds[0]) if seconds else None
    reason = LASTING.get(code) or LASTING.get(status)
    if code == "context_length_exceeded":
        return CallFailed(f"{sentence}: the model's context is too short for the request")
    if 300 <= status < 400:
        reason = "redirects are not followed"
    elif (wait or 0) > PATIENCE:
        reason = f"it asks to wait for {wait:.0f} s"
    if reason:
        return CallFailed(f"{sentence}: {reason}", status, lasting=True)
    return CallFailed(
        sentence,
        status,
        status in TRANSIENT or status >= 500,
        wait,
        param=str(error.param),
    )


# what a server says beside the text is never a reason to lose it: what is no sensible value is none
Name = Annotated[
    str,
    BeforeValidator(lambda value: value[:LONGEST_NAME] if isinstance(value, str) else ""),
]
Count = Annotated[
    int | None,
    BeforeValidator(lambda n: n if type(n) is int and 0 <= n <= MOST_TOKENS else None),
]


class Completion(BaseModel):
    """What is used of the body of a reply to a chat request; a number of tokens is None where it is not said."""

    text: str = Field(validation_alias=AliasPath("choices", 0, "message", "content"))
    model: Name = ""
    finish_reason: Name = Field("", validation_alias=AliasPath("choices", 0, "finish_reason"))
    tokens_in: Count = Field(None, validation_alias=AliasPath("usage", "prompt_tokens"))
    tokens_out: Count = Field(None, validation_alias=AliasPath("usage", "completion_tokens"))
    tokens_cached: Count = Field(
        0, validation_alias=AliasPath("usage", "prompt_tokens_details", "cached_tokens")
    )


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
        return model.model_validate_json(json.dumps(json.loads(text, strict=False)))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"][:3])) or "reply"
        reason = f"does not fit: {field}: {first['msg']}"
        if first["type"] == "json_invalid":  # nested too deep, or half a character
            reason = "is not valid JSON"
    except (ValueError, RecursionError):
        reason = "is not valid JSON"
    raise ValueError(f"the reply {reason}")


class Entry(BaseModel):
    """What is stored of a request: its reply, and what its call took."""

    reply: Any
    call: Call

    def line(self) -> str:
        """The entry as a line of JSON, without its cost, as prices change."""
        return self.model_dump_json(exclude={"call": {"cost"}}) + "\n"


@dataclass
class ReplyCache:
    """The stored replies of a folder, with those in journals that killed runs left."""

    folder: Path

    def __post_init__(self) -> None:
        self.journal = self.folder / f"journal-{uuid4()}.jsonl"
        self._waiting: list[Entry] = []
        self._disk = asyncio.Lock()
        for journal in self.folder.glob("journal-*.jsonl"):  # of runs that were killed
            with suppress(FileNotFoundError):  # of a run that has ended just now
                for line in journal.read_bytes().splitlines():
                    with suppress(ValueError):  # a line that a power cut ended
                        self._write_entry(Entry.model_validate_json(line))
                self._remove(journal)

    def file(self, key: str) -> Path:
        """The path of a reply's file; `key` is the hash of the request."""
        return self.folder / key[:2] / f"{key}.json"

    def load(
        self,
        key: str,
        model: type[Reply],
    ) -> tuple[Reply, Call] | None:
        """The stored reply and what its call took; None where there is none, or none that can be used."""
        with suppress(OSError, ValueError):
            entry = Entry.model_validate_json(self.file(key).read_bytes())
            return model.model_validate(entry.reply), entry.call
        return None

    async def store(
        self,
        reply: BaseModel,
        call: Call,
    ) -> None:
        """Put a reply on disk, with all that came while the disk was busy.

        WorkFailed where the folder cannot be written: paying twice is worse than stopping.
        """
        entry = Entry(reply=reply, call=call)
        self._waiting.append(entry)
        async with self._disk:
            if entry in self._waiting:  # else it was stored together with an earlier one
                batch = list(self._waiting)
                await asyncio.to_thread(self._write, batch)
                del self._waiting[: len(batch)]

    def _write(self, batch: list[Entry]) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self.journal.open("a", encoding="utf-8") as file:
                file.writelines(map(Entry.line, batch))
                file.flush()
                os.fsync(file.fileno())
            for entry in batch:
                self._write_entry(entry)
        except OSError as error:
            raise WorkFailed(
                f"cannot write the reply cache {self.folder}: {error.strerror}"
            ) from error

    def _write_entry(self, entry: Entry) -> None:
        file = self.file(entry.call.request)
        file.parent.mkdir(exist_ok=True)
        part = file.with_suffix(f".{os.getpid()}.part")
        part.write_text(entry.line(), encoding="utf-8")
        part.replace(file)

    def _remove(self, journal: Path) -> None:
        os.sync()  # the files of its entries are safe before it goes
        journal.unlink(missing_ok=True)

    def close(self) -> None:
        """End the use of the folder by this run; what could not be written stays in the journal."""
        if self.journal.exists() and not self._waiting:
            self._remove(self.journal)
