"""Questions to an OpenAI-compatible server, with checked replies: for every use of a model.

    request -> cache -> a free slot -> attempts -> completion -> check, repair -> Answer -> cache

Equal requests are sent once. Attempts are repeated by tenacity around the SDK, whose own repeats
are off, so that they are counted, a Retry-After is honoured, and a 429 slows all requests.
"""

import asyncio
import os
import time
from collections.abc import Coroutine
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Self, TypeVar

from anyio import CapacityLimiter
from anyio.from_thread import start_blocking_portal
from pydantic import BaseModel, ValidationError
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    stop_before_delay,
    wait_exponential,
    wait_random,
)

from ..core.files import Fields, Names, bytes_hash, dumps
from ..core.messages import Problems, UsageError, echo
from .messages import (
    JSON_OBJECT,
    JSON_SCHEMA,
    PATIENCE,
    Call,
    CallFailed,
    Completion,
    Limits,
    ReplyCache,
    address_in_force,
    body_without,
    failure_of_status,
    parse,
)

# seconds for one attempt, from sending to the last byte of the reply
TIMEOUT = 120.0

# most attempts at one request, those included that find out which form the server takes
ATTEMPTS = 15

# attempts to reach a server that has never answered
FIRST_ATTEMPTS = 3

# seconds between attempts where the server does not say: from the first they double
FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0

# replies of status 5xx to one structured request, after which a plainer form is tried
SERVER_ERRORS = 3

# a shorter key is a placeholder ("x", "EMPTY"), and may well be a word of a reply
SECRET_LENGTH = 16

NOT_SENT = "call budget used up"

KEY_REPEATED = "the reply repeats the API key"

Result = TypeVar("Result")


@dataclass(frozen=True)
class Answer:
    """A checked reply, or None and `error`: why there is none, a sentence."""

    reply: Any
    call: Call
    error: str = ""


def read_key(
    names: Names,
    base_url: str | None,
) -> str:
    """The key in the first of these environment variables that is set, else "".

    UsageError where none is set and the server is the SDK's default one, or where no header could
    carry it.
    """
    key = next(filter(None, [os.environ.get(name, "").strip() for name in names]), "")
    if not key and not base_url:
        raise UsageError(f"an API key is needed: set one of {', '.join(names)}, or give a base URL")
    if not (key.isascii() and key.isprintable()):
        raise UsageError("the API key holds characters that no HTTP header can carry")
    return key


def in_background(work: Coroutine[Any, Any, Result]) -> Result:
    """The result of a coroutine, from an event loop of its own.

    A notebook has a loop that is running already.
    """
    with start_blocking_portal() as portal:
        return portal.call(lambda: work)


@dataclass(repr=False, eq=False)
class Client:
    """A connection to one server; an async context manager.

    `base_url` None is that of OPENAI_BASE_URL, else the SDK's default server. `keys` are the
    environment variables that may hold the key; it is read when the first request is sent, and kept
    nowhere else. `concurrency` is the number of requests in flight at once. `cache`: the folder of
    replies, None for none; with `fresh` it is written only. `repairs`: how often a reply that does
    not fit is asked for again. Asking raises UsageError where the SDK is missing.

    Kept up to date are `sent` (repeats and repairs included), `retries` (these two alone), `cost`, the `calls` that were
    worked on, without those from the cache, and `stopped`: why nothing is sent any more, as every other request would
    fail in the same way.
    """

    base_url: str | None
    cache: Path | None = None
    problems: Problems = field(default_factory=Problems)
    limits: Limits = field(default_factory=Limits)
    keys: Names = ("OPENAI_API_KEY",)
    concurrency: int = 4
    repairs: int = 0
    fresh: bool = False

    def __post_init__(self) -> None:
        self.sent = self.retries = 0
        self.cost = 0.0
        self.calls: list[Call] = []
        self._replies = self.cache and ReplyCache(self.cache)
        self._asked: dict[str, asyncio.Task[Answer]] = {}
        # the first request goes alone: what it finds out about the server serves the others
        self._slots = CapacityLimiter(1)
        self._returned = asyncio.Condition()
        self._in_flight = 0
        self._largest_cost = 0.0
        self._refused: frozenset[str] = frozenset()
        self._form_works = False
        self.stopped = ""
        self._pause_until = 0.0
        self._say_once = cache(echo)
        self._key = ""
        self._http: Any = None
        self._sdk: Any = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        if self._replies:
            self._replies.close()
        if self._sdk:
            await self._sdk.close()

    async def ask(
        self,
        request: Fields,
        model: type[BaseModel],
        send: bool = True,
    ) -> Answer:
        """The answer to a request, with a reply of the model.

        A request that was asked before shares its answer. Without `send` the answer is the cache's, or none.
        """
        # of what is asked, the whole body, and of whom, the address in force
        key = bytes_hash(dumps([address_in_force(self.base_url), request]).encode())
        if key not in self._asked:
            self._asked[key] = asyncio.ensure_future(
                self._answer(request, model, Call(request=key), send)
            )
        return await self._asked[key]

    async def _answer(
        self,
        request: Fields,
        model: type[BaseModel],
        call: Call,
        send: bool,
    ) -> Answer:
        if self._replies and not self.fresh:
            stored = self._replies.load(call.request, model)
            if stored:
                reply, call = stored
                call.cost = self.limits.cost_of(call)
                return Answer(reply, call)
        if not send:
            return Answer(None, call, NOT_SENT)
        began = time.monotonic()
        async with self._slots:
            try:
                answer = await self._converse(request, model, call)
            finally:
                self._slots.total_tokens = self.concurrency
            if len(self._key) >= SECRET_LENGTH and repr(self._key)[1:-1] in repr(answer):
                call.model = call.finish_reason = ""
                answer = Answer(None, call, KEY_REPEATED)
            call.wait_ms = max(int(1000 * (time.monotonic() - began)) - call.api_ms, 0)
            self.calls.append(call)
            if answer.reply and self._replies:
                # on disk before the slot is free: a kill loses at most what is in flight
                await self._replies.store(answer.reply, call)
        return answer

    async def _converse(
        self,
        request: Fields,
        model: type[BaseModel],
        call: Call,
    ) -> Answer:
        """Ask, and ask again for a reply that fits."""
        error = ""
        for _ in range(1 + self.repairs):
            try:
                text = await self._complete(request, call)
                return Answer(parse(text, model), call)
            except CallFailed as failure:
                if failure.lasting:
                    self.stopped = failure.sentence
                return Answer(None, call, failure.sentence)
            except ValueError as problem:
                error = str(problem)
            repair = (
                f"The reply cannot be used: {error}. "
                "Answer again, with one JSON object of the required form and nothing else."
            )
            messages = [
                *request["messages"],
                {"role": "assistant", "content": text},
                {"role": "user", "content": repair},
            ]
            request = {**request, "messages": messages}
        return Answer(None, call, error)

    async def _complete(
        self,
        request: Fields,
        call: Call,
    ) -> str:
        """The text of a completion, after as many attempts as it takes."""
        refused = self._refused
        server_errors = 0
        async for attempt in AsyncRetrying(
            retry=retry_if_exception(lambda error: getattr(error, "retry", False)),
            wait=self._seconds_to_wait,
            stop=stop_after_attempt(ATTEMPTS) | stop_before_delay(PATIENCE),
            reraise=True,
        ):
            with attempt:
                try:
                    completion = await self._attempt(body_without(refused, request), call)
                except CallFailed as failure:
                    is_server_error = failure.status >= 500
                    server_errors += is_server_error
                    several = is_server_error and server_errors % SERVER_ERRORS == 0
                    if several or failure.status in (400, 422):  # a form is refused
                        more = JSON_OBJECT if JSON_SCHEMA in refused else JSON_SCHEMA
                        if failure.param in {"temperature", "seed", "max_tokens"} - refused:
                            more = failure.param
                        if more not in refused:
                            failure.retry, failure.wait = True, 0.0
                            refused |= {more}
                    raise
        # where the usual form has worked, errors 5xx say nothing of it: the server was down for a while
        if refused == self._refused:
            self._form_works = True
        elif not (self._form_works and server_errors):
            self._refused, self._form_works = refused, True
            message = f"the server refuses {', '.join(sorted(refused))}: it is asked without"
            self.problems.warn("model-options", message)
        if call.finish_reason not in ("", "stop"):
            raise CallFailed(f"the reply is not whole (finish_reason {call.finish_reason})")
        return completion.text

    def _seconds_to_wait(self, state: RetryCallState) -> float:
        """Before the next attempt, by the failure of the last one."""
        failure: Any = state.outcome and state.outcome.exception()
        seconds = failure.wait
        if seconds is None:
            usual = wait_exponential(FIRST_WAIT, LONGEST_WAIT) + wait_random(0, FIRST_WAIT)
            seconds = usual(state)
        if failure.status == 429:
            self._pause_until = max(self._pause_until, time.monotonic() + seconds)
        if seconds:
            self._say_once(f"{failure.sentence}; it is asked again", err=True)
        return seconds

    async def _attempt(
        self,
        body: Fields,
        call: Call,
    ) -> Completion:
        """Send a request once, when what is in flight leaves room for it; what it took is added to its call.

        CallFailed says why there is no completion.
        Each call in flight is taken to cost as much as the largest so far, else the most that it can: a token for each
        byte of the request, and its token limit. So much counts of a reply that does not say its tokens.
        """
        await asyncio.sleep(max(0.0, self._pause_until - time.monotonic()))
        tokens_out = body.get("max_tokens", body.get("max_completion_tokens"))
        most = Call(request="", tokens_in=len(dumps(body).encode()), tokens_out=tokens_out)
        most_cost = self.limits.cost_of(most) or 0.0
        each = self._largest_cost or most_cost
        async with self._returned:
            await self._returned.wait_for(
                lambda: not (self._in_flight and self._limit(each * (self._in_flight + 1)))
            )
            if reason := self.stopped or self._limit(each):
                raise CallFailed(reason, lasting=True)
            self._in_flight += 1
            self.sent += 1
        self.retries += call.attempts > 0
        call.attempts += 1
        began = time.monotonic()
        try:
            completion = Completion.model_validate_json(await self._post(body))
            call.model, call.finish_reason = completion.model, completion.finish_reason
            for name in ("tokens_in", "tokens_out", "tokens_cached"):
                so_far, more = getattr(call, name), getattr(completion, name)
                setattr(call, name, None if None in (so_far, more) else so_far + more)
            call.cost = self.limits.cost_of(call)
            cost = self.limits.cost_of(completion)
            cost = most_cost if cost is None else cost
            self.cost += cost
            self._largest_cost = max(self._largest_cost, cost)
            return completion
        except ValidationError:
            self.cost += most_cost
            raise CallFailed("the answer is not a chat completion with a text") from None
        finally:
            call.api_ms += int(1000 * (time.monotonic() - began))
            async with self._returned:
                self._in_flight -= 1
                self._returned.notify_all()

    def _limit(self, more: float) -> str:
        """The limit that is reached, or that `more` cost would pass; "" while there is none."""
        requests, cost = self.limits.requests, self.limits.cost
        if requests is not None and self.sent >= requests:
            return f"the limit of {requests} requests is reached"
        if cost is not None and (self.cost >= cost or self.cost + more > cost):
            return f"the limit of {cost:g} in cost is reached, as a request may cost {more:.2g}"
        return ""

    async def _post(self, body: Fields) -> bytes:
        """The body of the server's reply; the connection is made for the first request."""
        try:
            import openai

            from .transport import BoundedClient, ReplyTooLarge
        except ImportError as error:
            raise UsageError(
                "asking a model needs more packages: pip install openai anyio tenacity"
            ) from error
        if not self._sdk:
            base_url = address_in_force(self.base_url)
            self._key = read_key(self.keys, base_url)
            self._http = BoundedClient(follow_redirects=False)
            self._sdk = openai.AsyncOpenAI(
                api_key=self._key or "none",
                base_url=base_url,
                max_retries=0,
                http_client=self._http,
            )
        try:
            async with asyncio.timeout(TIMEOUT):
                # `chat.completions.create` would walk through the whole body: half of the processor's time
                return await self._sdk.post("/chat/completions", cast_to=bytes, body=body)
        except (openai.APIConnectionError, TimeoutError) as error:
            reached = self._http.reached
            sentence = "the connection broke off" if reached else "the server cannot be reached"
            if isinstance(error, TimeoutError):
                sentence = "the model did not answer in time"
            # a server that has never answered ends the run: all that was sent are of the first request
            retry = reached or self.sent < FIRST_ATTEMPTS
            raise CallFailed(sentence, retry=retry, lasting=not reached) from None
        except openai.APIStatusError as error:
            raise failure_of_status(error) from None
        except ReplyTooLarge as error:
            raise CallFailed(str(error)) from None
