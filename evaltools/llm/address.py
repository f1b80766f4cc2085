"""The address of a server: what a base URL may look like, and which one is in force."""

from __future__ import annotations

import os

from pydantic import HttpUrl, TypeAdapter, ValidationError

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
