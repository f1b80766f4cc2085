"""The client of language models against a real server on this machine that is slow, refuses, cuts and lies."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from evaltools.core.errors import Problems, UsageError, WorkFailed
from evaltools.llm import client as llm
from evaltools.llm import transport
from evaltools.llm.accounting import Limits
from evaltools.llm.address import is_plain_url
from evaltools.llm.client import Answer, Client, in_background
from evaltools.llm.failures import retry_after
from evaltools.llm.replies import parse
from evaltools.llm.requests import chat, strict_schema
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
    of_completion = {name: fields.pop(name) for name in ("model", "usage") if name in fields}
    whole = {"model": "m-1", "usage": usage, "choices": [{**choice, **fields}], **of_completion}
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
        async with Client(url, concurrency=concurrency, **settings) as client:
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


@pytest.mark.parametrize("status", [408, 429, 503])
def test_what_may_pass_is_asked_again(status: int) -> None:
    (answer,), seen = ask(lambda s: refuses(status) if s.nth == 1 else label(), body())
    assert answer.reply == Reply(label="x")
    assert (answer.call.attempts, len(seen)) == (2, 2)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "20"}, 0.02),
        ({"retry-after": "no"}, None),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1e99"}, None),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, None),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 -0000"}, None),
        ({"retry-after": "Fri, 31 Dec 999999 23:59:59 GMT"}, None),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0),
        ({}, None),
    ],
)
def test_retry_after(header: dict[str, str], seconds: float | None) -> None:
    assert retry_after(header) == seconds


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
        b"<html>",
        b'{"choices": []}',
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
    assert (
        str(warning.message)
        == "the server is asked in the form json_schema, with these parameters left out: max_tokens, temperature"
    )


@pytest.mark.parametrize(
    "sent",
    [
        label(f"here: {KEY}."),
        label(model=KEY),
        label(finish_reason=f"stopped by {KEY}"),
        says(json.dumps({"label": "x"}).replace("x", KEY.replace("s", "\\u0073"))),
        says(f'{{"{KEY}": 1}}'),
    ],
)
def test_nothing_of_a_reply_that_repeats_the_key_is_kept(sent: Sent, tmp_path: Path) -> None:
    (answer,), _ = ask(lambda s: sent, body(), cache=tmp_path)
    assert answer.reply is None and answer.error in (
        llm.KEY_REPEATED,
        "the reply does not fit: label: Field required",
    )
    assert KEY not in repr(answer)
    assert not list(tmp_path.rglob("*.json"))


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
        assert arrived.wait(120)
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
    assert parse(around.format('{"label": "x\ny"}'), Reply) == Reply(
        label="x\ny"
    )  # line breaks as they are


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "the reply is not valid JSON"),
        ('{"label": "\\ud800"}', "the reply is not valid JSON"),
        ("[" * 100_000, "the reply is not valid JSON"),
        ('{"label": ' + "9" * 5000 + "}", "the reply is not valid JSON"),
        ("```json", "the reply is not valid JSON"),
        ('```{"label": "x"}', "the reply is not valid JSON"),
        ('{"label": 1}', "the reply does not fit: label: Input should be a valid string"),
        ("[]", "the reply does not fit: reply: Input should be an object"),
    ],
)
def test_what_is_wrong_with_a_reply_is_a_sentence(content: str, said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}$"):
        parse(content, Reply)


# ---- what real servers did


def kind_of(seen: Seen) -> str:
    return seen.body.get("response_format", {}).get("type", "text")


def test_a_500_to_json_schema_leads_to_a_plainer_form_that_is_remembered() -> None:
    def script(seen: Seen) -> Sent:
        return refuses(500) if kind_of(seen) == "json_schema" else label()

    problems = Problems()
    bodies = [body(str(i)) for i in range(12)]
    answers, seen = ask(script, *bodies, problems=problems)
    assert all(a.reply for a in answers)
    kinds = [kind_of(s) for s in seen]
    assert kinds == ["json_schema"] * 3 + ["json_object"] * 12
    assert answers[0].call.attempts == 4
    (warning,) = problems.warnings
    assert "in the form json_object" in str(warning.message)


def test_a_context_that_is_too_short_is_said_and_not_tried_in_other_forms() -> None:
    error = b'{"error": {"code": "context_length_exceeded", "param": "messages", "message": "no"}}'
    answers, seen = ask(lambda s: Sent(400, error), body("a"), body("b"))
    assert len(seen) == 2
    for answer in answers:
        assert "the model's context is too short" in answer.error and not answer.lasting


def test_an_outage_does_not_change_the_form_that_has_worked() -> None:
    def script(seen: Seen) -> Sent:
        if seen.body["messages"][1]["content"] == "b" and seen.nth <= 4:
            return refuses(503)
        return label()

    answers, seen = ask(script, body("a"), body("b"), body("c"), concurrency=1)
    assert all(a.reply for a in answers)
    kinds = [(s.body["messages"][1]["content"], kind_of(s)) for s in seen]
    b = [("b", "json_schema")] * 3 + [("b", "json_object")] * 2
    assert kinds == [("a", "json_schema"), *b, ("c", "json_schema")]


def test_a_request_waits_for_no_more_than_one_other() -> None:
    """The first one fails for good; the others go side by side all the same."""
    all_others_arrived = threading.Barrier(7)

    def script(seen: Seen) -> Sent:
        if seen.body["messages"][1]["content"] == "0":
            return refuses(500)
        all_others_arrived.wait(timeout=60)
        return label()

    answers, _ = ask(script, *(body(str(i)) for i in range(8)))
    assert [bool(a.reply) for a in answers] == [False] + [True] * 7
    assert not answers[0].lasting


@pytest.mark.parametrize(
    "damaged",
    [
        Sent(body=label().body[:40], headers={"content-length": "4000", "connection": "close"}),
        Sent(reset=True),
        Sent(body=b"no gzip", headers={"content-encoding": "gzip"}),
    ],
)
def test_a_connection_that_breaks_is_tried_again_and_then_a_failed_answer(
    damaged: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, seen = ask(lambda s: damaged if s.nth <= 2 else label(), body("a"), body("b"))
    assert all(a.reply for a in answers)
    assert len(seen) == 6
    monkeypatch.setattr(llm, "ATTEMPTS", 3)
    answers, seen = ask(
        lambda s: damaged if s.body["messages"][1]["content"] == "b" else label(),
        body("a"),
        body("b"),
        body("c"),
    )
    assert [a.error for a in answers] == ["", "the connection broke off", ""]
    assert not answers[1].lasting


def test_the_address_of_the_environment_is_part_of_what_a_reply_belongs_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer(lambda s: label("one")) as one, ModelServer(lambda s: label("two")) as two:
        for server, text in ((one, "one"), (two, "two"), (one, "one")):
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            (answer,) = asked(None, body(), cache=tmp_path)  # type: ignore[arg-type]
            assert answer.reply == Reply(label=text)
        assert (len(one.seen), len(two.seen)) == (1, 1)
        assert asked(one.url, body(), cache=tmp_path)[0].cached
    monkeypatch.setenv("OPENAI_BASE_URL", "http://user:hunter2@host/v1")
    with pytest.raises(UsageError, match="OPENAI_BASE_URL") as error:
        asked(None, body())  # type: ignore[arg-type]
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize(
    "entry",
    [
        '{"key": "KEY", "reply": {"label": "x"}, "call": []}',
        '{"key": "KEY", "reply": {"label": "x"}, "call": {"of_another_version": 1}}',
        '{"key": "KEY", "reply": {"label": 1}, "call": {}}',
    ],
)
def test_a_cache_entry_of_another_shape_is_asked_anew(entry: str, tmp_path: Path) -> None:
    with ModelServer(lambda s: label()) as server:
        asked(server.url, body(), cache=tmp_path)
        (file,) = tmp_path.rglob("*.json")
        whole = file.read_bytes()
        file.write_text(entry.replace("KEY", file.stem))
        problems = Problems()
        (answer,) = asked(server.url, body(), cache=tmp_path, problems=problems)
        assert answer.reply == Reply(label="x")
        assert len(server.seen) == 2
    assert [p.code for p in problems.warnings] == ["reply-cache"]
    assert json.loads(file.read_bytes()).keys() == json.loads(whole).keys()


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("http://localhost:8000/v1", True),
        ("https://host", True),
        ("http://[::1]:8000/v1", True),
        ("ftp://host/v1", False),
        ("localhost:8000", False),
        ("http://", False),
        ("http://host:0/v1", False),
        ("http://host:99999/v1", False),
        ("http://user:pw@host/v1", False),
        ("http://user@host/v1", False),
        ("http://host/v1?key=x", False),
        ("http://host/v1#x", False),
        ("http://host/v1\n", False),
        (" http://host/v1", False),
        ("http://[bad/v1", False),
    ],
)
def test_a_base_url_is_plain(url: str, plain: bool) -> None:
    assert is_plain_url(url) is plain


def test_a_429_makes_the_others_wait_as_long_as_it_says() -> None:
    def script(seen: Seen) -> Sent:
        if seen.body["messages"][1]["content"] == "b" and seen.nth == 1:
            return Sent(429, b"{}", {"retry-after": "0.4"})
        return label()

    with ModelServer(script) as server:

        async def work() -> None:
            async with Client(server.url, concurrency=2) as client:
                await client.ask(body("a"), Reply)
                refused = asyncio.ensure_future(client.ask(body("b"), Reply))
                while not client._pause_until:
                    await asyncio.sleep(0)
                await asyncio.gather(refused, client.ask(body("c"), Reply))

        in_background(work())
    at = {(s.body["messages"][1]["content"], s.nth): s.at for s in server.seen}
    assert at["b", 2] - at["b", 1] >= 0.4
    assert at["c", 1] - at["b", 1] >= 0.4


def test_a_reply_is_stored_before_its_slot_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a disk that hangs no more is sent than what is in flight: that is all that a kill can lose."""
    at_disk = threading.Semaphore(0)
    fourth_sent, disk_works = threading.Event(), threading.Event()
    fsync = os.fsync

    def hangs(file: int) -> None:
        at_disk.release()
        assert disk_works.wait(60)
        fsync(file)

    def script(seen: Seen) -> Sent:
        if len(server.seen) > 3:
            fourth_sent.set()
        return label()

    monkeypatch.setattr(os, "fsync", hangs)
    with ModelServer(script) as server:
        bodies = [body(str(i)) for i in range(8)]
        worker = threading.Thread(
            target=asked, args=(server.url, *bodies), kwargs={"concurrency": 3, "cache": tmp_path}
        )
        worker.start()
        for _ in range(3):
            assert at_disk.acquire(timeout=60)
        assert not fourth_sent.wait(0.2)
        disk_works.set()
        worker.join(60)
        assert len(server.seen) == 8
    assert len(list(tmp_path.rglob("*.json"))) == 8


def test_a_disk_that_is_full_ends_the_run_with_what_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync, stored = os.fsync, []

    def full(file: int) -> None:
        if len(stored) == 2:
            raise OSError(28, "No space left on device")
        stored.append(fsync(file))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WorkFailed, match=r"cannot write the reply cache .*No space left"):
        ask(lambda s: label(), *(body(str(i)) for i in range(5)), concurrency=1, cache=tmp_path)
    assert (
        len([path for path in tmp_path.rglob("*.json") if path.stem[:2] == path.parent.name]) == 2
    )


def test_limits_end_the_run_and_count_what_is_in_flight() -> None:
    def sent(limits: Limits, script: Callable[[Seen], Sent] = lambda s: label(), **how: Any) -> int:
        bodies = [body(str(i)) for i in range(how.pop("n", 40))]
        answers, seen = ask(script, *bodies, limits=limits, concurrency=32, **how)
        assert "the limit of" in answers[-1].error and answers[-1].lasting
        return len(seen)

    assert sent(Limits(requests=3)) == 3
    assert sent(Limits(cost=75, price=(1e6, 1e6))) == 5  # of 15 each
    # repeats and repairs count
    assert sent(Limits(requests=3), lambda s: refuses(500), n=1) == 3
    assert sent(Limits(requests=1), lambda s: says("no JSON"), n=1, repairs=1) == 1


@pytest.mark.parametrize(
    ("tokens", "known"),
    [("0", 0), ("NaN", None), ("-1", None), ("1e400", None), ('"7"', None), ("true", None)],
)
def test_usage_that_is_no_sensible_number_is_null(
    tokens: str, known: int | None, tmp_path: Path
) -> None:
    raw = label().body.replace(b'"prompt_tokens": 10', f'"prompt_tokens": {tokens}'.encode())
    limits = Limits(price=(1.0, 1.0))
    (answer,), _ = ask(lambda s: Sent(body=raw), body(), cache=tmp_path, limits=limits)
    assert answer.reply == Reply(label="x")
    assert (answer.call.tokens_in, answer.call.tokens_out) == (known, 5)
    assert answer.call.cost == (None if known is None else pytest.approx(5 / 1e6))


def test_a_reply_is_waited_for_no_longer_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llm, "TIMEOUT", 0.2)
    monkeypatch.setattr(llm, "ATTEMPTS", 2)
    never = threading.Event()

    def script(seen: Seen) -> Sent:
        never.wait(60)
        return label()

    (answer,), _ = ask(script, body())
    never.set()
    assert "in time" in answer.error


@pytest.mark.parametrize("status", [200, 302, 500])
@pytest.mark.parametrize("is_packed", [False, True])
def test_every_body_is_bounded(
    status: int, is_packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llm, "ATTEMPTS", 2)
    read = []

    class Watched(transport.BoundedClient):
        async def send(self, request: Any, **options: Any) -> Any:
            response = await super().send(request, **options)
            read.append(len(response.content))
            return response

    monkeypatch.setattr(transport, "BoundedClient", Watched)
    sent = Sent(status, bytes(1 << 16), endless=True)
    if is_packed:
        headers = {"content-encoding": "gzip", "retry-after-ms": "1"}
        sent = Sent(status, gzip.compress(bytes(64 << 20)), headers)
    (answer,), _ = ask(lambda s: sent, body())
    assert answer.reply is None
    if status == 200:
        assert answer.error == "the reply is larger than 4 MB"
        assert not read
    else:
        assert f"HTTP status {status}" in answer.error
        assert max(read) <= transport.MAX_ERROR
