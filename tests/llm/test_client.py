"""The client of language models against a real server on this machine that is slow, refuses, cuts and lies."""

import asyncio
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaltools.core.files import dumps
from evaltools.core.messages import Problems, UsageError, WorkFailed
from evaltools.llm import client as llm
from evaltools.llm.client import Client, in_background
from evaltools.llm.messages import Limits, Prices
from tests.files import read_json
from tests.model_server import Answer as Sent
from tests.model_server import ModelServer, Seen, refuses, says

from .calls import Reply, ask, asked, bodies, body, label

pytest.importorskip("openai")


def test_equal_requests_are_sent_once_and_a_second_run_sends_none(tmp_path: Path) -> None:
    with ModelServer(lambda s: label()) as server:
        first = asked(server.url, *[body()] * 5, body("b"), cache=tmp_path)
        assert len(server.seen) == 2
        again = asked(server.url, body(), body("b"), cache=tmp_path)
        assert len(server.seen) == 2
    assert again[0].call == first[0].call  # what it took when it was sent


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (Sent(401, b"{}"), "the key is refused"),
        (Sent(401, b'{"error": {"code": {}, "param": []}}'), "the key is refused"),
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
    answers, seen = ask(lambda s: sent, *bodies(4))
    assert len(seen) == 1
    assert all(why in a.error and a.reply is None for a in answers)


def test_a_server_that_is_not_there() -> None:
    with ModelServer(lambda s: label()) as server:
        url = server.url
    answers = asked(url, *bodies(2))
    assert all("cannot be reached" in a.error for a in answers)
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


def test_parameters_that_the_server_refuses_by_name_are_left_out_once() -> None:
    def reasoning(seen: Seen) -> Sent:
        for name in ("temperature", "max_tokens"):
            if name in seen.body:
                error = {"message": "unsupported", "code": "unsupported_parameter", "param": name}
                return Sent(400, json.dumps({"error": error}).encode())
        return label()

    problems = Problems()
    answers, seen = ask(reasoning, *bodies(2), problems=problems)
    assert all(a.reply for a in answers)
    assert len(seen) == 4  # two refusals, then one request each
    assert seen[-1].body["max_completion_tokens"] == 9
    assert seen[-1].body["response_format"]["type"] == "json_schema"
    (warning,) = problems.kept
    assert str(warning.message) == "the server refuses max_tokens, temperature: it is asked without"


def test_the_key_is_asked_for_only_where_something_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        asked(None, body())  # type: ignore[arg-type]
    (answer,), seen = ask(lambda s: label(), body())  # a local server needs none
    assert answer.reply is not None
    assert seen[0].headers["authorization"] == "Bearer none"


# ---- what real servers did


def text_of(seen: Seen) -> str:
    return seen.body["messages"][1]["content"]


def kind_of(seen: Seen) -> str:
    return seen.body.get("response_format", {}).get("type", "text")


def test_a_500_to_json_schema_leads_to_a_plainer_form_that_is_remembered() -> None:
    def script(seen: Seen) -> Sent:
        return refuses(500) if kind_of(seen) == "json_schema" else label()

    problems = Problems()
    answers, seen = ask(script, *bodies(12), problems=problems)
    assert all(a.reply for a in answers)
    assert [kind_of(s) for s in seen] == ["json_schema"] * 3 + ["json_object"] * 12
    assert answers[0].call.attempts == 4
    (warning,) = problems.kept
    assert "refuses json_schema" in str(warning.message)


def test_a_context_that_is_too_short_is_said_and_not_tried_in_other_forms() -> None:
    error = b'{"error": {"code": "context_length_exceeded", "param": "messages", "message": "no"}}'
    answers, seen = ask(lambda s: Sent(400, error), *bodies(2))
    assert len(seen) == 2
    for answer in answers:
        assert "the model's context is too short" in answer.error


def test_an_outage_is_said_once_and_does_not_change_the_form_that_has_worked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def script(seen: Seen) -> Sent:
        if text_of(seen) == "b" and seen.nth <= 4:
            return refuses(503)
        return label()

    answers, seen = ask(script, body("a"), body("b"), body("c"), concurrency=1)
    assert all(a.reply for a in answers)
    kinds = [(text_of(s), kind_of(s)) for s in seen]
    b = [("b", "json_schema")] * 3 + [("b", "json_object")] * 2
    assert kinds == [("a", "json_schema"), *b, ("c", "json_schema")]
    assert capsys.readouterr().err.count("HTTP status 503; it is asked again") == 1


def test_a_request_waits_for_no_more_than_one_other() -> None:
    """The first one fails for good; the others go side by side all the same."""
    all_others_arrived = threading.Barrier(7)

    def script(seen: Seen) -> Sent:
        if text_of(seen) == "0":
            return refuses(500)
        all_others_arrived.wait(timeout=60)
        return label()

    answers, _ = ask(script, *bodies(8))
    assert [bool(a.reply) for a in answers] == [False] + [True] * 7


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
    answers, seen = ask(lambda s: damaged if s.nth <= 2 else label(), *bodies(2))
    assert all(a.reply for a in answers)
    assert len(seen) == 6
    # of a server that has answered no number of attempts ends the run
    waits = [Sent(503, b"{}", {"retry-after": "0"}), *[damaged] * llm.FIRST_ATTEMPTS]
    answers, seen = ask(lambda s: ([*waits, label()])[min(s.nth - 1, len(waits))], body("a"))
    assert [a.reply for a in answers] == [Reply(label="x")]
    monkeypatch.setattr(llm, "ATTEMPTS", 3)
    answers, seen = ask(lambda s: damaged if text_of(s) == "1" else label(), *bodies(3))
    assert [a.error for a in answers] == ["", "the connection broke off", ""]


def test_the_address_of_the_environment_is_part_of_what_a_reply_belongs_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer(lambda s: label("one")) as one, ModelServer(lambda s: label("two")) as two:
        for server, text in ((one, "one"), (two, "two"), (one, "one")):
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            (answer,) = asked(None, body(), cache=tmp_path)  # type: ignore[arg-type]
            assert answer.reply == Reply(label=text)
        assert (len(one.seen), len(two.seen)) == (1, 1)
        # the one of the environment is that of the first now
        assert asked(two.url, body(), cache=tmp_path)[0].reply == Reply(label="two")
        assert len(two.seen) == 1
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
        (answer,) = asked(server.url, body(), cache=tmp_path)
        assert answer.reply == Reply(label="x")
        assert len(server.seen) == 2
    assert read_json(file).keys() == json.loads(whole).keys()


def test_a_429_makes_the_others_wait_as_long_as_it_says() -> None:
    def script(seen: Seen) -> Sent:
        if text_of(seen) == "b" and seen.nth == 1:
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
    at = {(text_of(s), s.nth): s.at for s in server.seen}
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
        worker = threading.Thread(
            target=asked,
            args=(server.url, *bodies(8)),
            kwargs={"concurrency": 3, "cache": tmp_path},
        )
        worker.start()
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
        ask(lambda s: label(), *bodies(5), concurrency=1, cache=tmp_path)
    assert (
        len([path for path in tmp_path.rglob("*.json") if path.stem[:2] == path.parent.name]) == 2
    )


def test_limits_end_the_run_and_count_what_is_in_flight() -> None:
    def sent(limits: Limits, script: Callable[[Seen], Sent] = lambda s: label(), **how: Any) -> int:
        answers, seen = ask(script, *bodies(how.pop("n", 40)), limits=limits, concurrency=32, **how)
        assert any("the limit of" in answer.error for answer in answers)
        return len(seen)

    assert sent(Limits(requests=3)) == 3
    price = Prices(input=1e6, output=1e6)
    most = len(dumps(body("0"))) + 9
    assert sent(Limits(cost=most, price=price)) == most // 15  # of 15 each
    # the first is not sent where it may cost more; what is not said counts as the most that it can be
    assert sent(Limits(cost=most - 1, price=price)) == 0
    assert sent(Limits(cost=3 * most, price=price), lambda s: label(usage=None)) == 3
    # repeats and repairs count
    assert sent(Limits(requests=3), lambda s: refuses(500), n=1) == 3
    assert sent(Limits(requests=1), lambda s: says("no JSON"), n=1, repairs=1) == 1


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


def test_the_journal_of_a_run_that_was_killed_is_taken_in(tmp_path: Path) -> None:
    """A power cut may take the files of entries, never the synced lines; the last line may be half."""
    with ModelServer(lambda s: label()) as server:
        asked(server.url, body(), cache=tmp_path)
        (file,) = tmp_path.rglob("*.json")
        (tmp_path / "journal-1.jsonl").write_text(file.read_text() + '{"key": "half')
        # of another run, which ends while this one begins
        (tmp_path / "journal-2.jsonl").symlink_to("gone")
        file.write_bytes(b"")
        assert asked(server.url, body(), cache=tmp_path)[0].reply == Reply(label="x")
        assert len(server.seen) == 1
    assert not (tmp_path / "journal-1.jsonl").exists()


def test_what_comes_while_the_disk_is_busy_is_stored_with_one_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync, syncs, at_once = os.fsync, [], 8
    all_arrived = threading.Barrier(at_once)

    def script(seen: Seen) -> Sent:
        if len(server.seen) > 1:
            all_arrived.wait(timeout=60)
        return label()

    def slow(file: int) -> None:
        syncs.append(file)
        time.sleep(0.2)
        fsync(file)

    monkeypatch.setattr(os, "fsync", slow)
    with ModelServer(script) as server:
        asked(server.url, *bodies(at_once + 1), cache=tmp_path)
    assert len(syncs) < at_once
    assert len(list(tmp_path.rglob("*.json"))) == at_once + 1
