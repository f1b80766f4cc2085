"""What is read of a reply, and what is wrong with it."""

import gzip
import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from evaltools.llm import client as llm
from evaltools.llm import transport
from evaltools.llm.messages import Limits, Prices, parse, plain_url, strict_schema
from tests.model_server import Answer as Sent
from tests.model_server import says

from .calls import KEY, Reply, ask, body, label


@pytest.mark.parametrize("raw", [b"<html>", b'{"choices": []}', b"[" * 100_000])
def test_a_body_that_is_no_completion(raw: bytes) -> None:
    (answer,), _ = ask(lambda s: Sent(body=raw), body())
    assert answer.error == "the answer is not a chat completion with a text"


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
        ('```{"label": "x"}', "the reply is not valid JSON"),
        ('{"label": 1}', "the reply does not fit: label: Input should be a valid string"),
        ("[]", "the reply does not fit: reply: Input should be an object"),
    ],
)
def test_what_is_wrong_with_a_reply_is_a_sentence(content: str, said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}$"):
        parse(content, Reply)


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("http://localhost:8000/v1", True),
        ("https://host", True),
        ("http://[::1]:8000/v1", True),
        ("localhost:8000", False),
        ("http://user:pw@host/v1", False),
        ("http://host/v1?key=x", False),
        ("http://host:65536/v1", False),
        (" http://host/v1", False),
    ],
)
def test_a_base_url_is_plain(url: str, plain: bool) -> None:
    with nullcontext() if plain else pytest.raises(ValueError, match=r"^expected http"):
        assert plain_url(url) == url


@pytest.mark.parametrize(
    ("tokens", "known"),
    [("7", 7), ("0", 0), ("NaN", None), ("1e400", None), ('"7"', None), ("true", None)],
)
def test_what_a_call_took_is_priced_and_usage_that_is_no_sensible_number_is_null(
    tokens: str, known: int | None, tmp_path: Path
) -> None:
    raw = label().body.replace(b'"prompt_tokens": 10', f'"prompt_tokens": {tokens}'.encode())
    limits = Limits(price=Prices(input=2, output=10))
    (answer,), _ = ask(lambda s: Sent(body=raw), body(), cache=tmp_path, limits=limits)
    assert answer.reply == Reply(label="x")
    call = answer.call
    assert (call.model, call.finish_reason, call.attempts) == ("m-1", "stop", 1)
    assert (call.tokens_in, call.tokens_out, call.tokens_cached) == (known, 5, 4)
    assert call.cost == (None if not known else pytest.approx((2 * known + 10 * 5) / 1e6))


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
        headers = {"content-encoding": "gzip", "retry-after": "0.001"}
        sent = Sent(status, gzip.compress(bytes(64 << 20)), headers)
    (answer,), _ = ask(lambda s: sent, body())
    assert answer.reply is None
    if status == 200:
        assert answer.error == "the reply is larger than 4 MB"
        assert not read
    else:
        assert f"HTTP status {status}" in answer.error
        assert max(read) <= transport.MAX_REPLY
