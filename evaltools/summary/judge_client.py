"""One question to an OpenAI-compatible server, and a reply that has been checked.

The openai client does the waiting: it retries 408, 409, 429, 5xx, time-outs and broken connections with
exponential back-off and waits as long as a Retry-After header says. Nothing here retries on top of that.
Failures become a short sentence of this module's own: a server's text may repeat a key or an address.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import from_json

from ..core.errors import UsageError

KEY_VARIABLES = ("EVALTOOLS_JUDGE_API_KEY", "OPENAI_API_KEY")
"""Environment variables that may hold the key; the first one set wins. The key is never kept elsewhere."""

TIMEOUT, RETRIES = 30.0, 4
"""Seconds that the server may stay silent; repeats of one request, with back-off."""

SECRET_LENGTH = 16
"""A shorter key is a placeholder for a local server ("x", "EMPTY"), and may well be a word of a reply."""

RiskTag = Literal[
    "exclusion", "reduction", "deductible", "limit", "waiting_period", "condition", "documents_required"
]
Unit = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, strict=True)]


class Reply(BaseModel):
    """The judge's answer to one question: `score` and `confidence` in 0..1, `reason` one sentence."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    score: Unit
    confidence: Unit
    reason: str = ""


class RiskReply(Reply):
    """A reply that also lists the risk items in question; `score` is the share of them in the summary."""

    tags: tuple[RiskTag, ...]

    @model_validator(mode="after")
    def _nothing_to_cover(self) -> RiskReply:
        if not self.tags and self.score != 1:
            raise ValueError("no risk items, so there is nothing that could be missing, yet the score is below 1")
        return self


@dataclass(frozen=True)
class Failure:
    """Why there is no reply. `lasting`: every other request would fail in the same way."""

    reason: str
    lasting: bool = False


_SCHEMA: dict[str, Any] = {
    "reason": {"type": "string"},
    "tags": {"type": "array", "items": {"type": "string", "enum": list(get_args(RiskTag))}},
    "score": {"type": "number"},
    "confidence": {"type": "number"},
}


def request_body(model: str, system: str, user: str, reply: type[Reply]) -> dict[str, Any]:
    """The request for one question, in the form that is tried first."""
    properties = {k: v for k, v in _SCHEMA.items() if k in reply.model_fields}
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {
        "model": model,
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
        "temperature": 0,
        "seed": 0,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "judgement", "strict": True, "schema": schema},
        },
    }


def _forms(body: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """A request as it is, then in the plainer forms that servers without JSON schema or sampling options take."""
    return (
        dict(body),
        {**body, "response_format": {"type": "json_object"}},
        {k: body[k] for k in ("model", "messages")},
    )


def parse_completion(raw: bytes, model: type[Reply]) -> Reply | Failure:
    """The checked reply in the body of a chat completion. Code fences are taken off; nothing else is mended."""
    try:
        content = from_json(raw)["choices"][0]["message"]["content"].strip()
    except (ValueError, LookupError, TypeError, AttributeError):
        return Failure("the judge's answer is not a chat completion with a text")
    if content.startswith("```") and content.endswith("```"):
        content = content[3:-3].removeprefix("json")
    try:
        return model.model_validate_json(content)
    except ValidationError as e:
        first = e.errors(include_url=False, include_context=False, include_input=False)[0]
        if first["type"] == "json_invalid":
            return Failure("the judge's reply is not valid JSON")
        place = ".".join(map(str, first["loc"][:2])) or "reply"
        return Failure(f"the judge's reply does not fit: {place}: {first['msg']}")


def read_key(base_url: str | None) -> str | None:
    """The key from the environment. UsageError where none is set and the server is the client's default one."""
    key = next((os.environ[v].strip() for v in KEY_VARIABLES if os.environ.get(v, "").strip()), None)
    if key is None and base_url is None:
        raise UsageError(f"the judge needs an API key: set {' or '.join(KEY_VARIABLES)}, or give a base URL")
    if key is not None and not (key.isascii() and key.isprintable()):
        raise UsageError("the judge's API key holds characters that no HTTP header can carry")
    return key


class Client:
    """A connection to one judge. `ask` may be called from several threads."""

    def __init__(self, base_url: str | None) -> None:
        try:
            import openai
        except ImportError as e:
            raise UsageError("the judge needs the openai package: pip install 'evaltools[judge]'") from e
        self._api = openai
        self._key = read_key(base_url) or ""
        self._openai = openai.OpenAI(
            api_key=self._key or "none", base_url=base_url, timeout=TIMEOUT, max_retries=RETRIES
        )
        self._form = 0

    def close(self) -> None:
        self._openai.close()

    def ask(self, body: Mapping[str, Any], model: type[Reply]) -> Reply | Failure:
        """Send one request, in a plainer form where the server refuses (400, 422) the one before."""
        refused = (self._api.BadRequestError, self._api.UnprocessableEntityError)
        failure = Failure("")
        for number, form in list(enumerate(_forms(body)))[self._form :]:
            try:
                response = self._openai.chat.completions.with_raw_response.create(**form)
            except refused as e:
                failure = self._failure(e)
                continue
            except self._api.OpenAIError as e:
                return self._failure(e)
            # The form is learnt from success only: a request refused in every form says nothing about the next.
            self._form = max(self._form, number)
            reply = parse_completion(response.content, model)
            if isinstance(reply, Reply) and len(self._key) >= SECRET_LENGTH and self._key in reply.reason:
                return Failure("the judge's reply repeats the API key")
            return reply
        return failure

    def _failure(self, error: Exception) -> Failure:
        if isinstance(error, self._api.APITimeoutError):
            return Failure("the judge did not answer in time")
        if isinstance(error, self._api.APIConnectionError):
            return Failure("the judge cannot be reached", lasting=True)
        if isinstance(error, self._api.APIStatusError):
            status = error.status_code
            return Failure(f"the judge answered with HTTP status {status}", lasting=status in {401, 404})
        return Failure(f"the judge's client failed ({type(error).__name__})")
