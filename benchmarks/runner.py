"""Requests in flight and throughput of `evaltools run cr`, beside a plain loop of the SDK that sends the same requests.

    python benchmarks/runner.py                     at 1, 8 and 32 requests at once, three rounds
    python benchmarks/runner.py --texts 100 --seconds 0.2 --rounds 5

A server in a process of its own answers every request after --seconds, with tuples that make reviews necessary. In
each round the loop runs before and after the command. In flight is the mean over the time from the second request
(the first one of the runner goes alone) to the last reply. Prints a Markdown table of medians.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import urlopen

CONFIG = """
run_id = "speed"
[data]
file = "data.jsonl"
[model]
name = "m"
base_url = "http://127.0.0.1:{port}/v1"
concurrency = {concurrency}
"""

REF = "본품#품질"
POLARITY = {"p_neg": "negative", "p_imp": "negative", "p_lit": "positive"}


# --- the server


@dataclass
class Log:
    """What the server has seen since it was asked last."""

    bodies: list[Any] = field(default_factory=list)
    changes: list[tuple[float, int]] = field(default_factory=list)

    def in_flight(self) -> float:
        """The mean number of requests that are being answered, from the second one on."""
        begins = [moment for moment, change in self.changes if change == 1]
        start = begins[1]
        area = 0.0
        n_open = 0
        previous = start
        for moment, change in self.changes:
            if moment > start:
                area += n_open * (moment - previous)
                previous = moment
            n_open += change
        return area / (previous - start)


def reply(body: dict[str, Any]) -> bytes:
    stage = body["response_format"]["json_schema"]["name"]
    content: dict[str, Any] = {"review_actions": []}
    if stage in POLARITY:
        opinion = {
            "aspect_ref": REF,
            "aspect_term": "",
            "polarity": POLARITY[stage],
            "opinion_term": None,
            "evidence": None,
            "span": None,
            "confidence": 0.9,
        }
        content = {"triplets": [opinion]}
    choice = {"message": {"content": json.dumps(content)}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 900, "completion_tokens": 20}
    return json.dumps({"model": "m", "choices": [choice], "usage": usage}).encode()


async def serve(seconds: float) -> None:
    """Answer until killed; GET gives the log and begins a new one."""
    log = Log()

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal log
        while head := await reader.readuntil(b"\r\n\r\n"):
            if head.startswith(b"GET"):
                answer = json.dumps({"in_flight": log.in_flight(), "bodies": log.bodies}).encode()
                log = Log()
            else:
                length = int(head.lower().partition(b"content-length:")[2].split()[0])
                log.changes.append((time.monotonic(), 1))
                body = json.loads(await reader.readexactly(length))
                log.bodies.append(body)
                await asyncio.sleep(seconds)
                answer = reply(body)
                log.changes.append((time.monotonic(), -1))
            header = f"HTTP/1.1 200 OK\r\ncontent-length: {len(answer)}\r\n"
            writer.write(f"{header}content-type: application/json\r\n\r\n".encode() + answer)
            await writer.drain()

    async def until_it_ends(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await connection(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(until_it_ends, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


# --- the contenders


async def plain_loop(bodies: list[dict[str, Any]], port: int, concurrency: int) -> None:
    """The SDK as its documentation shows it, with so many requests at once; replies are read."""
    import openai

    slots = asyncio.Semaphore(concurrency)
    async with openai.AsyncOpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="x") as client:

        async def one(body: dict[str, Any]) -> None:
            async with slots:
                completion = await client.chat.completions.create(**body)
            json.loads(completion.choices[0].message.content or "")

        await asyncio.gather(*(one(body) for body in bodies))


@dataclass
class Pass:
    """One pass of a contender: seconds of the clock and of the processor, and what the server saw."""

    seconds: float
    processor: float
    in_flight: float
    bodies: list[Any]


def measured(command: list[str], port: int) -> Pass:
    began, before = time.perf_counter(), os.times()
    subprocess.run(command, check=True, capture_output=True)
    seconds, after = time.perf_counter() - began, os.times()
    user = after.children_user - before.children_user
    system = after.children_system - before.children_system
    with urlopen(f"http://127.0.0.1:{port}/log") as answer:
        log = json.load(answer)
    return Pass(seconds, user + system, log["in_flight"], log["bodies"])


def columns(loops: list[Pass], runs: list[Pass], name: str) -> tuple[float, float]:
    """The medians of a measure: of the loop, of the runner."""
    of_loop = statistics.median(getattr(each, name) for each in loops)
    of_run = statistics.median(getattr(each, name) for each in runs)
    return of_loop, of_run


def one_round(concurrency: int, n_texts: int, port: int) -> tuple[Pass, list[Pass]]:
    """A pass of the command, and one of the loop before and after it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "run.toml").write_text(CONFIG.format(port=port, concurrency=concurrency))
        rows = []
        for i in range(n_texts):
            gold = [{"aspect_ref": REF, "aspect_term": "", "polarity": "positive"}]
            rows.append({"id": str(i), "text": f"{i}번째로 산 향수예요.", "gold_tuples": gold})
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
        (folder / "data.jsonl").write_text("".join(lines))
        evaltools = Path(sys.executable).with_name("evaltools")
        command = [str(evaltools), "run", "cr", f"{folder}/run.toml", "-o"]
        loop = [sys.executable, __file__, "--loop", f"{folder}/bodies.json"]
        loop += ["--port", str(port), "--at-once", str(concurrency)]
        warm_up = measured([*command, f"{folder}/warm"], port)
        (folder / "bodies.json").write_text(json.dumps(warm_up.bodies))
        before = measured(loop, port)
        run = measured([*command, f"{folder}/out"], port)
        after = measured(loop, port)
    return run, [before, after]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--concurrency", type=int, nargs="*", default=[1, 8, 32])
    for name in ("--serve", "--loop", "--port", "--at-once"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve(float(options.serve)))
        return
    if options.loop:
        bodies = json.loads(Path(options.loop).read_text())
        asyncio.run(plain_loop(bodies, options.port, int(options.at_once)))
        return
    command = [sys.executable, __file__, "--serve", str(options.seconds)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    port = int(server.stdout.readline())
    try:
        print_table(options, port)
    finally:
        server.kill()


def print_table(options: argparse.Namespace, port: int) -> None:
    print(
        "| at once | requests | loop, s | run, s | run / loop | loop, CPU s | run, CPU s "
        "| loop in flight | run in flight |"
    )
    print("| ---: " * 9 + "|")
    for concurrency in options.concurrency:
        n_texts = min(options.texts, 10 * concurrency)
        runs, loops = [], []
        for _ in range(options.rounds):
            run, beside = one_round(concurrency, n_texts, port)
            runs.append(run)
            loops += beside
        loop, run_seconds = columns(loops, runs, "seconds")
        loop_cpu, run_cpu = columns(loops, runs, "processor")
        loop_flight, run_flight = columns(loops, runs, "in_flight")
        print(
            f"| {concurrency} | {len(runs[0].bodies)} | {loop:.2f} | {run_seconds:.2f} "
            f"| {run_seconds / loop:.2f} | {loop_cpu:.2f} | {run_cpu:.2f} "
            f"| {loop_flight:.1f} | {run_flight:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
