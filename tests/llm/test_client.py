"""The client of language models against a real server on this machine that is slow, refuses, cuts and lies."""

from __future__ import annotations

import asyncio
import base64
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from evaltools.core.errors import Problems, UsageError
from evaltools.llm import client as llm
from evaltools.llm.client import (
    Answer,
    Client,
    Limits,
    Server,
    chat,
    in_background,
    parse,
    strict_schema,
)
from tests.model_server import Answer as Sent
from tests.model_server import ModelServer, Seen, refuses, says

pytest.importorskip("openai")
KEY = "sk-planted-0123456789"


class Reply(BaseModel):
    label: str


def body(text: str = "a", **more: Any) -> dict[str, Any]:
    return chat(
        "m",
        "system",
        text,
        "label",
        strict_schema(Reply),
        **{"temperature": 0.5, "max_tokens": 9, **more},
    )


def label(text: str = "x", **fields: Any) -> Sent:
    """A completion with usage; `fields` are those of its choice or of the completion."""
    choice = {"message": {"content": json.dumps({"label": text})}, "finish_reason": "stop"}
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 4},
    }
    whole = {"model": "m-1", "usage": usage, "choices": [{**choice, **fields}]}
    return Sent(body=json.dumps(whole).encode())


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(llm, "FIRST_WAIT", 0.01)


def ask(
    script: Callable[[Seen], Sent], *bodies: dict[str, Any], **settings: Any
) -> tuple[list[Answer], list[Seen]]:
    """The answers to these requests, sent at once, and what the server saw."""
    with ModelServer(script) as server:
        return asked(server.url, *bodies, **settings), server.seen


def asked(url: str, *bodies: dict[str, Any], concurrency: int = 8, **settings: Any) -> list[Answer]:
    async def work() -> list[Answer]:
        async with Client(Server(url, concurrency=concurrency), **settings) as client:
            return list(await asyncio.gather(*(client.ask(b, Reply) for b in bodies)))

    return in_background(work())


def test_what_a_call_took_is_added_up_and_priced() -> None:
    (answer,), _ = ask(lambda s: label(), body(), limits=Limits(price=(2.0, 10.0)))
    assert answer.reply == Reply(label="x")
    call = answer.call
    assert (call.model, call.finish_reason, call.attempts) == ("m-1", "stop", 1)
    assert (call.tokens_in, call.tokens_out, call.tokens_cached) == (10, 5, 4)
    assert call.cost == pytest.approx((10 * 2 + 5 * 10) / 1e6)


def test_equal_requests_are_sent_once_and_a_second_run_sends_none(tmp_path: Path) -> None:
    with ModelServer(lambda s: label()) as server:
        first = asked(server.url, *[body()] * 5, body("b"), cache=tmp_path)
        assert len(server.seen) == 2
        assert [a.cached for a in first] == [False, True, True, True, True, False]
        again = asked(server.url, body(), body("b"), cache=tmp_path)
        assert len(server.seen) == 2
    assert all(a.cached for a in again)
    assert again[0].call == first[0].call  # what it took when it was sent
    with ModelServer(lambda s: label("other")) as other:
        assert asked(other.url, body(), cache=tmp_path)[0].reply == Reply(
            label="other"
        )  # another address


def test_a_storm_of_429_and_500_ends_in_answers() -> None:
    def storm(seen: Seen) -> Sent:
        if seen.nth <= 8:
            return refuses(429 if seen.nth % 2 else 503)
        return label()

    answers, seen = ask(storm, *(body(str(i)) for i in range(6)))
    assert all(a.reply for a in answers)
    assert {a.call.attempts for a in answers} == {9}
    assert len(seen) == 54


def test_retry_after_takes_decimals_and_a_429_makes_the_others_wait() -> None:
    def script(seen: Seen) -> Sent:
        if seen.body["messages"][1]["content"] == "b" and seen.nth == 1:
            return Sent(429, b"{}", {"retry-after": "0.4"})
        return label()

    with ModelServer(script) as server:

        async def work() -> None:
            async with Client(Server(server.url, concurrency=1)) as client:
                await client.ask(body("a"), Reply)
                refused = asyncio.ensure_future(client.ask(body("b"), Reply))
                await asyncio.sleep(0.2)
                client._slots.release()  # room for another beside the one that waits
                await asyncio.gather(refused, client.ask(body("c"), Reply))

        in_background(work())
    at = {(s.body["messages"][1]["content"], s.nth): s.at for s in server.seen}
    assert at["b", 2] - at["b", 1] >= 0.4
    assert at["c", 1] - at["b", 1] >= 0.4


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "20"}, 0.02),
        ({"retry-after": "no"}, None),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_retry_after(header: dict[str, str], seconds: float | None) -> None:
    assert llm._seconds(header) == seconds


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (Sent(401, b"{}"), "the key is refused"),
        (Sent(404, b"{}"), "no such model"),
        (
            Sent(429, b'{"error": {"code": "insufficient_quota", "message": "no"}}'),
            "the quota is used up",
        ),
        (Sent(429, b"{}", {"retry-after": "7200"}), "it asks to wait for 7200 s"),
        (Sent(307, b"", {"location": "http://127.0.0.1:9/v1"}), "redirects are not followed"),
    ],
)
def test_what_every_request_would_get_ends_all_of_them_at_the_first(sent: Sent, why: str) -> None:
    answers, seen = ask(lambda s: sent, *(body(str(i)) for i in range(4)))
    assert len(seen) == 1
    assert all(why in a.error and a.lasting and a.reply is None for a in answers)


def test_a_server_that_is_not_there() -> None:
    with ModelServer(lambda s: label()) as server:
        url = server.url
    answers = asked(url, body("a"), body("b"))
    assert all(a.lasting and "cannot be reached" in a.error for a in answers)
    assert [a.call.attempts for a in answers] == [llm.FIRST_ATTEMPTS, 0]


def test_a_reply_is_bounded_in_size_and_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llm, "MAX_REPLY", 1 << 20)
    (answer,), seen = ask(lambda s: label("x" * (2 << 20)), body())
    assert "larger than 1 MB" in answer.error
    assert len(seen) == 1
    monkeypatch.setattr(llm, "TIMEOUT", 0.2)
    monkeypatch.setattr(llm, "ATTEMPTS", 2)
    began = time.monotonic()
    (answer,), seen = ask(lambda s: Sent(body=label().body, delay=1.0), body())
    assert "in time" in answer.error
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_a_reply_that_is_not_whole_is_none(reason: str, tmp_path: Path) -> None:
    (answer,), seen = ask(lambda s: label(finish_reason=reason), body(), cache=tmp_path, repairs=1)
    assert answer.error == f"the reply is not whole (finish_reason {reason})"
    assert len(seen) == 1
    assert not list(tmp_path.rglob("*.json"))


def test_one_repair_shows_the_error_and_what_it_took_is_counted() -> None:
    (answer,), seen = ask(
        lambda s: says("no JSON") if len(s.body["messages"]) == 2 else label(), body(), repairs=1
    )
    assert answer.reply == Reply(label="x")
    assert answer.call.attempts == 2
    said, asked_again = seen[1].body["messages"][2:]
    assert said == {"role": "assistant", "content": "no JSON"}
    assert "not valid JSON" in asked_again["content"]
    (answer,), seen = ask(lambda s: says('{"label": 1}'), body(), repairs=1)
    assert answer.reply is None
    assert "label" in answer.error
    assert len(seen) == 2


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"<html>",
        b"null",
        b"{}",
        b'{"choices": []}',
        b'{"choices": null}',
        b"\xff",
        b"[" * 100_000,
    ],
)
def test_a_body_that_is_no_completion(raw: bytes) -> None:
    (answer,), _ = ask(lambda s: Sent(body=raw), body())
    assert answer.error == "the answer is not a chat completion with a text"


def test_parameters_that_the_server_refuses_by_name_are_left_out_once() -> None:
    def reasoning(seen: Seen) -> Sent:
        for name in ("temperature", "max_tokens"):
            if name in seen.body:
                error = {"message": "unsupported", "code": "unsupported_parameter", "param": name}
                return Sent(400, json.dumps({"error": error}).encode())
        return label()

    problems = Problems()
    answers, seen = ask(reasoning, body("a"), body("b"), problems=problems)
    assert all(a.reply for a in answers)
    assert len(seen) == 4  # two refusals, then one request each
    assert seen[-1].body["max_completion_tokens"] == 9
    assert seen[-1].body["response_format"]["type"] == "json_schema"
    (warning,) = problems.warnings
    assert warning.message == "the server does not take max_tokens, temperature, which was left out"


def test_limits_end_the_run() -> None:
    answers, seen = ask(
        lambda s: label(),
        *(body(str(i)) for i in range(9)),
        limits=Limits(requests=3),
        concurrency=1,
    )
    assert len(seen) == 3
    assert sum(a.reply is not None for a in answers) == 3
    assert {a.error for a in answers if a.error} == {"the limit of 3 requests is reached"}
    limits = Limits(cost=15e-6, price=(1.0, 1.0))  # a request costs 15 millionths
    answers, seen = ask(
        lambda s: label(), *(body(str(i)) for i in range(5)), limits=limits, concurrency=1
    )
    assert len(seen) == 1
    assert "cost" in answers[-1].error


@pytest.mark.parametrize(
    "spelt",
    [
        KEY,
        KEY[::-1],
        KEY.encode().hex(),
        base64.b64encode(KEY.encode()).decode(),
        " ".join(KEY),
        KEY.replace("-", "%2D"),
    ],
)
def test_a_reply_that_holds_the_key_in_any_ordinary_spelling_is_refused(
    spelt: str, tmp_path: Path
) -> None:
    (answer,), _ = ask(lambda s: label(f"here: {spelt}."), body(), cache=tmp_path)
    assert answer.reply is None
    assert answer.error == "the reply repeats the API key"
    assert not list(tmp_path.rglob("*.json"))
    (answer,), _ = ask(lambda s: label("a label"), body(), cache=tmp_path)
    assert answer.reply is not None


def test_the_key_is_asked_for_only_where_something_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        asked(None, body())  # type: ignore[arg-type]
    (answer,), seen = ask(lambda s: label(), body())  # a local server needs none
    assert answer.reply is not None
    assert seen[0].headers["authorization"] == "Bearer none"


CHILD = """
import sys
from tests.llm.test_client import asked, body
asked(sys.argv[1], body("a"), body("b"))
"""


def test_an_interrupt_ends_what_is_under_way() -> None:
    arrived = threading.Event()

    def slowly(seen: Seen) -> Sent:
        arrived.set()
        return Sent(body=label().body, delay=30.0)

    with ModelServer(slowly) as server:
        child = subprocess.Popen([sys.executable, "-c", CHILD, server.url], stderr=subprocess.PIPE)
        assert arrived.wait(30)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=25)
    assert err.decode().strip().endswith("KeyboardInterrupt")


def test_a_strict_schema_closes_every_object_and_requires_every_field() -> None:
    class Outer(BaseModel):
        inner: list[Reply]
        note: str | None = None

    schema = strict_schema(Outer)
    assert schema["required"] == ["inner", "note"]
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["Reply"] == {
        "type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"],
        "additionalProperties": False,
    }  # fmt: skip


@pytest.mark.parametrize("around", ["{}", "  {}\n", "```json\n{}\n```", "```\n{}\n```", "```{}```"])
def test_a_reply_is_read_without_its_fences(around: str) -> None:
    assert parse(around.format('{"label": "x"}'), Reply) == Reply(label="x")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "the reply is not valid JSON"),
        ("```json", "the reply is not valid JSON"),
        ('```{"label": "x"}', "the reply is not valid JSON"),
        ('{"label": 1}', "the reply does not fit: label: Input should be a valid string"),
        ("[]", "the reply does not fit: reply: Input should be an object"),
    ],
)
def test_what_is_wrong_with_a_reply_is_a_sentence(content: str, said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}$"):
        parse(content, Reply)
