"""Questions to an OpenAI-compatible server, and replies that have been checked: for every use of a model.

    body --cache--> --slots, pauses, retries--> completion --validate, repair once--> Answer --> cache

Identical requests are sent once. Waits and repeats are this module's (the SDK's are off), so that they are
counted, a Retry-After is honoured, and a 429 slows all calls. Failures become short sentences of this module's
own: a server's text may repeat a key or an address. Redirects are refused and replies bounded in size.
"""

from __future__ import annotations

import asyncio
import base64
import math
import os
import re
import time
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import unquote

from anyio.from_thread import start_blocking_portal
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_before_delay
from tenacity.wait import wait_exponential_jitter

from ..core.errors import Problems, UsageError
from .cache import load_reply, request_hash, store_reply

TIMEOUT = 120.0
"""Seconds for one attempt, from sending to the last byte of the reply."""

ATTEMPTS, PATIENCE = 10, 600.0
"""Attempts at one request, and seconds after which none begins."""

FIRST_ATTEMPTS = 3
"""Attempts to reach a server that has never answered."""

FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0
"""Seconds between attempts where the server does not say: exponential with jitter, and at most."""

MAX_REPLY = 4 << 20
"""Bytes of one reply."""

SECRET_LENGTH = 16
"""A shorter key is a placeholder for a local server ("x", "EMPTY"), and may well be a word of a reply."""

LASTING = {
    401: "the key is refused",
    403: "the key may not do this",
    404: "there is no such model or address",
}
"""Statuses that every other request would get too."""

BARE = ("model", "messages")
OPTIONAL = {"temperature": None, "seed": None, "max_tokens": "max_completion_tokens"}
"""Parameters that a server may refuse by name -> what takes their place."""

NOT_SENT = "call budget used up"

REPAIR = "The reply cannot be used: {why}. Answer again, with one JSON object of the required form and nothing else."

R = TypeVar("R", bound=BaseModel)
T = TypeVar("T")


@dataclass(frozen=True)
class Server:
    """Whom to ask: `base_url` None is the SDK's default. `keys`: the environment variables that may hold the key.

    The key is read when the first request is sent, and kept nowhere else. `concurrency`: requests in flight at once.
    """

    base_url: str | None
    keys: tuple[str, ...] = ("OPENAI_API_KEY",)
    concurrency: int = 4


@dataclass(frozen=True)
class Limits:
    """What may be spent; None is no limit. `cost` in the unit of `price`: (input, output) per million tokens."""

    requests: int | None = None
    cost: float | None = None
    price: tuple[float, float] | None = None


@dataclass
class Call:
    """What one request took. Times in milliseconds: at the server, and waiting for a turn or a repeat.

    `cost` is None without a price; `attempts` counts what was sent, repeats and repairs included.
    """

    request: str
    model: str = ""
    finish_reason: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    cost: float | None = None
    api_ms: int = 0
    wait_ms: int = 0
    attempts: int = 0


@dataclass(frozen=True)
class Answer(Generic[R]):
    """A checked reply, or `error`: why there is none, a sentence. `cached`: it cost nothing this time.

    `lasting`: every other request would fail in the same way, and none is sent any more.
    """

    reply: R | None
    call: Call
    error: str = ""
    lasting: bool = False
    cached: bool = False


@dataclass
class Spent:
    """What a client has used so far, for progress and limits."""

    requests: int = 0
    cached: int = 0
    retries: int = 0
    tokens: int = 0
    cost: float = 0.0


class _Failed(Exception):
    """Why an attempt failed, in a sentence.

    `status` of the reply, 0 without one. `kind`: "passing" is worth a repeat, "refused" another form of the request,
    "lasting" ends all. `after`: seconds that the server asks to wait. `param`: the parameter that it does not take.
    """

    def __init__(
        self, why: str, kind: str = "", status: int = 0, after: float | None = None, param: str = ""
    ):
        super().__init__(why)
        self.why, self.kind, self.status, self.after, self.param = why, kind, status, after, param


def read_key(names: Sequence[str], base_url: str | None) -> str:
    """The key in the first of these environment variables that is set, else "".

    UsageError where none is set and the server is the SDK's default one, or where no header could carry it.
    """
    key = next((os.environ[v].strip() for v in names if os.environ.get(v, "").strip()), "")
    if not key and base_url is None:
        raise UsageError(f"an API key is needed: set {' or '.join(names)}, or give a base URL")
    if not (key.isascii() and key.isprintable()):
        raise UsageError("the API key holds characters that no HTTP header can carry")
    return key


def chat(
    model: str, system: str, user: str, name: str, schema: Mapping[str, Any], **sampling: Any
) -> dict[str, Any]:
    """The body of a request for a reply of this JSON schema; `name` names the schema."""
    wanted = {"name": name, "strict": True, "schema": schema}
    return {
        "model": model,
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
        **sampling,
        "response_format": {"type": "json_schema", "json_schema": wanted},
    }


def strict_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of a model as strict servers want it: every object closed, all of its fields required."""
    left_out = {"title", "default", "minimum", "maximum", "description"}

    def strict(node: Any) -> Any:
        if isinstance(node, list):
            return [strict(n) for n in node]
        if not isinstance(node, dict):
            return node
        kept = {
            k: strict(v)
            for k, v in node.items()
            if k not in left_out or not isinstance(v, str | int | float)
        }
        if "properties" in kept:
            kept |= {"required": list(kept["properties"]), "additionalProperties": False}
        return kept

    return strict(model.model_json_schema())


def parse(content: str, model: type[R]) -> R:
    """A reply in the text of a completion; code fences are taken off. ValueError says in a sentence what is wrong."""
    text = content.strip()
    if text.startswith("```") and text.endswith("```"):
        text = text[3:-3].removeprefix("json")
    try:
        return model.model_validate_json(text)
    except ValidationError as e:
        first = e.errors(include_url=False, include_context=False, include_input=False)[0]
        if first["type"] == "json_invalid":
            raise ValueError("the reply is not valid JSON") from None
        place = ".".join(map(str, first["loc"][:3])) or "reply"
        raise ValueError(f"the reply does not fit: {place}: {first['msg']}") from None


def in_background(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine, from a loop of its own: callers such as notebooks have one running already."""
    with start_blocking_portal() as portal:
        return portal.call(lambda: work)


class Client:
    """A connection to one server; an async context manager.

    `cache`: folder of replies, None for none; `fresh`: it is written only. `repairs`: how often a reply that does not
    fit is asked for again. `spent` is kept up to date; `calls` are those that were sent. Raises UsageError where the
    openai package is missing.
    """

    def __init__(
        self,
        server: Server,
        cache: Path | None = None,
        problems: Problems | None = None,
        limits: Limits = Limits(),
        repairs: int = 0,
        fresh: bool = False,
    ) -> None:
        self.server, self.cache, self.limits, self.repairs, self.fresh = (
            server,
            cache,
            limits,
            repairs,
            fresh,
        )
        self.problems = problems or Problems()
        self.spent, self.calls = Spent(), list[Call]()
        self._stopped = ""
        self._asked: dict[str, asyncio.Task[Answer[Any]]] = {}
        self._form, self._unfit = 0, set[str]()
        self._pause = 0.0
        self._reached = False
        self._first, self._slots = asyncio.Lock(), asyncio.Semaphore(server.concurrency)
        self._openai: Any = None
        self._key = ""

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._openai is not None:
            await self._openai.close()

    async def ask(self, body: Mapping[str, Any], model: type[R], send: bool = True) -> Answer[R]:
        """The answer to one request; a request that was asked before shares its answer, marked as cached.

        Without `send` the answer is the cache's, or none.
        """
        key = request_hash(self.server.base_url, body)
        if key in self._asked:
            return replace(await self._asked[key], cached=True)
        self._asked[key] = asyncio.ensure_future(self._answer(key, body, model, send))
        return await self._asked[key]

    async def _answer(
        self, key: str, body: Mapping[str, Any], model: type[R], send: bool
    ) -> Answer[R]:
        found = (
            load_reply(self.cache, key, model, self.problems)
            if self.cache and not self.fresh
            else None
        )
        if found:
            self.spent.cached += 1
            call = Call(key, **found[1])
            return Answer(found[0], replace(call, cost=self._cost(call)), cached=True)
        if not send:
            return Answer(None, Call(key), NOT_SENT)
        began = time.monotonic()
        async with self._slots:
            if not self._reached:
                async with (
                    self._first
                ):  # alone until the server has shown that it answers, and in which form
                    if not self._reached:
                        return await self._settle(key, body, model, began)
            return await self._settle(key, body, model, began)

    async def _settle(
        self, key: str, body: Mapping[str, Any], model: type[R], began: float
    ) -> Answer[R]:
        call, messages = Call(key), list(body["messages"])
        reply, why, lasting = None, self._stopped or self._spent_up(), False
        for _ in range(0 if why else 1 + self.repairs):
            try:
                text = await self._completed({**body, "messages": messages}, call)
            except _Failed as e:
                why, lasting = e.why, e.kind == "lasting"
                break
            try:
                reply, why = parse(text, model), ""
                break
            except ValueError as e:
                why = str(e)
                turns = ("assistant", text), ("user", REPAIR.format(why=why))
                messages += [{"role": role, "content": said} for role, said in turns]
        if reply is not None and self._leaks(reply.model_dump_json()):
            reply, why = None, "the reply repeats the API key"
        self.calls.append(call)
        call.wait_ms = max(int(1000 * (time.monotonic() - began)) - call.api_ms, 0)
        if reply is not None and self.cache:
            store_reply(
                self.cache,
                key,
                reply,
                {k: v for k, v in asdict(call).items() if k not in ("request", "cost")},
            )
        if lasting:
            self._stopped = why
        return Answer(reply, call, why, lasting=bool(self._stopped and reply is None))

    def _spent_up(self) -> str:
        """Why no further request may be sent; from then on none is."""
        limits = self.limits
        if limits.requests is not None and self.spent.requests >= limits.requests:
            self._stopped = f"the limit of {limits.requests} requests is reached"
        if limits.cost is not None and self.spent.cost >= limits.cost:
            self._stopped = f"the limit of {limits.cost:g} in cost is reached"
        self.spent.requests += not self._stopped
        return self._stopped

    async def _completed(self, body: Mapping[str, Any], call: Call) -> str:
        """The text of a completion, from the plainest form of the request that the server asks for."""
        number, unfit = self._form, set(self._unfit)
        while True:
            try:
                text = await self._repeated(_forms(body, unfit)[number], call)
            except _Failed as e:
                if e.kind != "refused":
                    raise
                if e.param in OPTIONAL and e.param not in unfit:
                    unfit.add(e.param)
                elif number + 1 < len(_forms(body, unfit)):
                    number += 1
                else:
                    raise
                continue
            # learnt from success only: a request refused in every form says nothing about the next
            self._form, self._reached = max(self._form, number), True
            if unfit - self._unfit:
                listed = ", ".join(sorted(unfit))
                self.problems.warn(
                    "model-options", f"the server does not take {listed}, which was left out"
                )
            self._unfit |= unfit
            return text

    async def _repeated(self, form: Mapping[str, Any], call: Call) -> str:
        """The text of the completion, after as many attempts as it takes; a 429 makes all requests wait."""
        backoff = wait_exponential_jitter(
            multiplier=FIRST_WAIT, max=LONGEST_WAIT, jitter=FIRST_WAIT
        )

        def wait(state: RetryCallState) -> float:
            failed = _failure(state)
            pause = backoff(state) if failed.after is None else failed.after
            if failed.status == 429:
                self._pause = max(self._pause, time.monotonic() + pause)
            return pause

        def enough(state: RetryCallState) -> bool:
            answers = self._reached or _failure(state).status
            return state.attempt_number >= (ATTEMPTS if answers else FIRST_ATTEMPTS)

        def again(_: RetryCallState) -> None:
            self.spent.retries += 1

        send = AsyncRetrying(
            retry=retry_if_exception(lambda e: isinstance(e, _Failed) and e.kind == "passing"),
            wait=wait,
            stop=lambda state: enough(state) or stop_before_delay(PATIENCE)(state),
            before_sleep=again,
            reraise=True,
        )
        try:
            return await send(self._sent, form, call)
        except _Failed as e:
            if not (self._reached or e.status):
                e.kind = "lasting"
            raise

    async def _sent(self, form: Mapping[str, Any], call: Call) -> str:
        """One attempt: the text of the completion; _Failed says why there is none."""
        import httpx

        api, raw = self._api(), b""
        await asyncio.sleep(max(0.0, self._pause - time.monotonic()))
        call.attempts, began = call.attempts + 1, time.monotonic()
        try:
            async with asyncio.timeout(TIMEOUT):
                create = self._openai.chat.completions.with_streaming_response.create
                async with create(**form) as response:
                    async for piece in response.iter_bytes():
                        raw += piece
                        if len(raw) > MAX_REPLY:
                            raise _Failed(f"the reply is larger than {MAX_REPLY >> 20} MB")
        except (TimeoutError, api.APITimeoutError):
            raise _Failed("the model did not answer in time", "passing") from None
        except api.APIStatusError as e:
            raise _refusal(e) from None
        except (api.APIConnectionError, httpx.HTTPError):
            raise _Failed("the server cannot be reached", "passing") from None
        finally:
            call.api_ms += int(1000 * (time.monotonic() - began))
        self._reached = True
        return self._content(raw, call)

    def _content(self, raw: bytes, call: Call) -> str:
        """The text in the body of a chat completion; what it took is added to `call`."""
        try:
            completion = from_json(raw)
            choice = completion["choices"][0]
            content = choice["message"]["content"].strip()
            usage = completion.get("usage") or {}
            used = [int(usage.get(k) or 0) for k in ("prompt_tokens", "completion_tokens")]
            cached = int((usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0)
        except (ValueError, LookupError, TypeError, AttributeError):
            raise _Failed("the answer is not a chat completion with a text") from None
        call.model, call.finish_reason = (
            _short(v) for v in (completion.get("model"), choice.get("finish_reason"))
        )
        call.tokens_in, call.tokens_out = call.tokens_in + used[0], call.tokens_out + used[1]
        call.tokens_cached += cached
        self.spent.tokens += sum(used)
        before, call.cost = call.cost or 0.0, self._cost(call)
        self.spent.cost += (call.cost or 0.0) - before
        if call.finish_reason not in ("", "stop"):
            raise _Failed(f"the reply is not whole (finish_reason {call.finish_reason})")
        return content

    def _cost(self, call: Call) -> float | None:
        price = self.limits.price
        return (
            None
            if price is None
            else (call.tokens_in * price[0] + call.tokens_out * price[1]) / 1e6
        )

    def _leaks(self, text: str) -> bool:
        """Whether a text holds the key, plain or in an ordinary encoding, whatever stands between its characters."""
        key = self._key
        if len(key) < SECRET_LENGTH:
            return False
        forms = key, key[::-1], key.encode().hex(), base64.b64encode(key.encode()).decode()
        plain = _letters(text) + " " + _letters(unquote(text))
        return any(_letters(form) in plain for form in forms)

    def _api(self) -> Any:
        """The SDK; its client is made when the first request is sent."""
        try:
            import openai
        except ImportError as e:
            raise UsageError(
                "asking a model needs the openai package: pip install 'evaltools[llm]'"
            ) from e
        if self._openai is None:
            self._key = read_key(self.server.keys, self.server.base_url)
            self._openai = openai.AsyncOpenAI(
                api_key=self._key or "none",
                base_url=self.server.base_url,
                timeout=TIMEOUT,
                max_retries=0,
                http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False),
            )
        return openai


def _failure(state: RetryCallState) -> _Failed:
    error = state.outcome.exception() if state.outcome else None
    return error if isinstance(error, _Failed) else _Failed("")


def _forms(body: Mapping[str, Any], unfit: set[str]) -> tuple[dict[str, Any], ...]:
    """A request as it is, then in plainer forms, for servers without JSON schema, JSON mode or sampling options."""
    kept = {k: v for k, v in body.items() if k not in unfit}
    kept |= {
        new: body[old] for old, new in OPTIONAL.items() if new and old in unfit and old in body
    }
    plain = {k: v for k, v in kept.items() if k != "response_format"}
    return (
        kept,
        {**kept, "response_format": {"type": "json_object"}},
        plain,
        {k: kept[k] for k in BARE},
    )


def _refusal(error: Any) -> _Failed:
    """What an HTTP status that is no success means for this request and the others (`error`: an APIStatusError)."""
    status = error.status_code
    why = f"the server answered with HTTP status {status}"
    if status == 402 or (status == 429 and error.code == "insufficient_quota"):
        return _Failed(f"{why}: the quota is used up", "lasting", status)
    if 300 <= status < 400:
        return _Failed(f"{why}: redirects are not followed", "lasting", status)
    if status in LASTING:
        return _Failed(f"{why}: {LASTING[status]}", "lasting", status)
    if status in (400, 422):
        return _Failed(why, "refused", status, param=str(error.param or ""))
    after = _seconds(error.response.headers)
    if after is not None and after > PATIENCE:
        return _Failed(f"{why}: it asks to wait for {after:.0f} s", "lasting", status)
    passing = status in (408, 409, 425, 429) or status >= 500
    return _Failed(why, "passing" if passing else "", status, after=after)


def _seconds(headers: Mapping[str, str]) -> float | None:
    """Retry-After as seconds, from seconds (with decimals), milliseconds or a date; None where it says nothing."""
    header = headers.get("retry-after", "")
    try:
        found = (
            float(headers["retry-after-ms"]) / 1000
            if "retry-after-ms" in headers
            else float(header)
        )
    except ValueError:
        try:
            found = parsedate_to_datetime(header).timestamp() - time.time()
        except (ValueError, TypeError):
            return None
    return max(found, 0.0) if math.isfinite(found) else None


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text).casefold()


def _short(value: Any) -> str:
    return value[:200] if isinstance(value, str) else ""
