"""Requests for a reply of a JSON schema, the plainer forms in which some servers want them, and their address."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import BaseModel, HttpUrl, TypeAdapter, ValidationError

from ..core.errors import UsageError

BASE_URL_VARIABLE = "OPENAI_BASE_URL"
"""Environment variable with the base URL where a config names none; the SDK reads it, too."""

EXPECTED = "expected http(s)://host[:port]/path, without a user, a query or a fragment"

_HTTP_URL = TypeAdapter(HttpUrl)


def is_plain_url(text: str) -> bool:
    """Whether a text can be a base URL: http or https, without a user, a query or a fragment.

    >>> is_plain_url("http://localhost:8000/v1")
    True
    >>> is_plain_url("https://host/v1?key=x")
    False
    """
    if not text.isprintable() or " " in text:
        return False
    try:
        url = _HTTP_URL.validate_python(text)
    except ValidationError:
        return False
    if url.port == 0:
        return False
    return not (url.username or url.password or url.query or url.fragment)


def address_in_force(base_url: str | None) -> str | None:
    """The base URL that requests go to: the given one, else that of OPENAI_BASE_URL.

    None stands for the SDK's default server. UsageError for a variable that holds no plain URL.
    """
    if base_url is not None:
        return base_url
    from_environment = os.environ.get(BASE_URL_VARIABLE, "").strip()
    if not from_environment:
        return None
    if not is_plain_url(from_environment):
        raise UsageError(f"{BASE_URL_VARIABLE}: {EXPECTED}")
    return from_environment


# forms of a request, each plainer than the one before
FORMS = ("json_schema", "json_object", "text")
JSON_SCHEMA, JSON_OBJECT, TEXT = range(len(FORMS))

OPTIONAL = {
    "temperature": "",
    "seed": "",
    "max_tokens": "max_completion_tokens",
}
"""Parameters that a server may refuse by name -> the parameter that takes their place."""

ANNOTATIONS = {"title", "default", "minimum", "maximum", "description"}
"""Keywords of a JSON schema that strict servers do not take."""


def chat(
    model: str,
    system: str,
    user: str,
    name: str,
    schema: Mapping[str, Any],
    **sampling: Any,
) -> dict[str, Any]:
    """The body of a request for a reply of this JSON schema; `name` names the schema.

    >>> list(chat("m", "You are ...", "Text: ...", "reply", {}, temperature=0))
    ['model', 'messages', 'temperature', 'response_format']
    """
    messages = [
        {"role": "system", "content": system},
        {"role": "user", "content": user},
    ]
    json_schema = {
        "name": name,
        "strict": True,
        "schema": schema,
    }
    return {
        "model": model,
        "messages": messages,
        **sampling,
        "response_format": {"type": "json_schema", "json_schema": json_schema},
    }


@cache
def strict_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of a model as strict servers want it: closed objects, all fields required.

    The value is shared: do not change it.
    """
    return _strict(model.model_json_schema())


def _strict(node: Any) -> Any:
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    strict: dict[str, Any] = {}
    for keyword, value in node.items():
        # a field may be called "title", too: then the value is a schema
        if keyword in ANNOTATIONS and isinstance(value, str | int | float):
            continue
        strict[keyword] = _strict(value)
    if "properties" in strict:
        strict["required"] = list(strict["properties"])
        strict["additionalProperties"] = False
    return strict


@dataclass(frozen=True)
class Form:
    """How a server is asked: `level` is a number of FORMS, `left_out` are parameters it refuses."""

    level: int = JSON_SCHEMA
    left_out: frozenset[str] = frozenset()

    def next(self, refused: str = "") -> Form:
        """The form without a parameter that was refused, else the next plainer one; the last has none after it."""
        if refused in OPTIONAL and refused not in self.left_out:
            return Form(self.level, self.left_out | {refused})
        return Form(min(self.level + 1, TEXT), self.left_out)

    def body(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """A request of `chat` in this form.

        >>> request = chat("m", "system", "user", "reply", {}, temperature=0, max_tokens=9)
        >>> form = Form(JSON_OBJECT, frozenset({"max_tokens"}))
        >>> list(form.body(request))
        ['model', 'messages', 'temperature', 'response_format', 'max_completion_tokens']
        """
        body = {name: value for name, value in request.items() if name not in self.left_out}
        for name in self.left_out & request.keys():
            if OPTIONAL[name]:
                body[OPTIONAL[name]] = request[name]
        if self.level == JSON_OBJECT:
            body["response_format"] = {"type": "json_object"}
        elif self.level == TEXT:
            body.pop("response_format", None)
        return body
