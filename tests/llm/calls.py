"""Requests to a server on this machine, and its answers."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from evaltools.llm.client import Answer, Client, in_background
from evaltools.llm.messages import chat, strict_schema
from tests.model_server import Answer as Sent
from tests.model_server import ModelServer, Seen, says

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


def bodies(n: int) -> list[dict[str, Any]]:
    """Requests that differ."""
    return [body(str(i)) for i in range(n)]


def label(text: str = "x", **fields: Any) -> Sent:
    """A completion with usage."""
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 4},
    }
    return says(json.dumps({"label": text}), **{"usage": usage, **fields})


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
