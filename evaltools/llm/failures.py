"""Why a call gave no reply, and what that means for a repeat and for all other calls.

The sentences are this package's own: the text of a server may repeat a key or an address.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

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
