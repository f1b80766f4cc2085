"""A real HTTP server that speaks as much of the chat-completions protocol as the package needs."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Seen:
    """One request as it arrived: `nth` counts the requests with the same summary, from 1."""

    body: dict[str, Any]
    headers: dict[str, str]
    at: float
    nth: int

    @property
    def data(self) -> dict[str, Any]:
        """The JSON object in the second line of the user message."""
        return json.loads(self.body["messages"][1]["content"].split("\n")[1])

    @property
    def summary(self) -> str:
        return self.data["summary"]


@dataclass(frozen=True)
class Answer:
    """`endless`: the body is sent again and again.

    `reset`: the connection ends without an answer.
    """

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    endless: bool = False
    reset: bool = False


def says(content: str, *, finish_reason: str = "stop", **fields: Any) -> Answer:
    """A chat completion whose message is `content`."""
    choice = {"message": {"role": "assistant", "content": content}, "finish_reason": finish_reason}
    return Answer(body=json.dumps({"model": "m-1", "choices": [choice], **fields}).encode())


def judges(score: Any = 1.0, confidence: Any = 0.9, reason: str = "근거", **fields: Any) -> Answer:
    return says(json.dumps({"reason": reason, "score": score, "confidence": confidence, **fields}))


def refuses(status: int, **headers: str) -> Answer:
    """An error; without other orders the client repeats at once rather than after half a second."""
    return Answer(status, b'{"error": {"message": "no"}}', {"retry-after": "0.001", **headers})


class ModelServer:
    """`with ModelServer(script) as server:` answers each request with `script(seen)`.

    `seen` keeps all requests.
    """

    def __init__(self, script: Callable[[Seen], Answer]) -> None:
        self.seen: list[Seen] = []
        self._lock = threading.Lock()
        self._nth: Counter[str] = Counter()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                answer = script(
                    outer._record(body, {k.lower(): v for k, v in self.headers.items()})
                )
                time.sleep(answer.delay)
                try:
                    self.write(answer)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def write(self, answer: Answer) -> None:
                headers = {"content-type": "application/json", **answer.headers}
                if answer.reset:
                    self.close_connection = True
                    return
                if answer.endless:
                    headers["connection"] = "close"
                else:
                    headers.setdefault("content-length", str(len(answer.body)))
                self.send_response(answer.status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer.body)
                while answer.endless:
                    self.wfile.write(answer.body)

            def log_message(self, *args: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                pass  # clients that are killed break their connections: that is what is tested

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )

    def _record(self, body: dict[str, Any], headers: dict[str, str]) -> Seen:
        with self._lock:
            user = body["messages"][1]["content"]
            self._nth[user] += 1
            seen = Seen(body, headers, time.monotonic(), self._nth[user])
            self.seen.append(seen)
            return seen

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
