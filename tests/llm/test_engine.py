"""A real engine, llama.cpp with its own server, and a model that has learnt nothing (`scripts/make_tiny_model.py`).

pip install -e '.[engine]' (llama.cpp is compiled: some ten minutes)
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from socket import socket
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest

import evaltools as et
from tests.app.calling import call

pytest.importorskip("llama_cpp", reason="needs llama-cpp-python and gguf")
pytest.importorskip("gguf", reason="needs llama-cpp-python and gguf")

TEXTS = ["보습은 좋은데 향이 별로예요.", "가격이 저렴해요.", "그냥 샀어요.", "향이 좋지 않아요."]

CONFIG = """
run_id = "tiny"
conditions = ["s0", "m0"]
seeds = [1]
[data]
file = "data.jsonl"
[model]
name = "tiny"
base_url = "{url}"
concurrency = {concurrency}
max_tokens = 1000
"""

TAKES_NO_SCHEMA = "does not answer requests of the form json_schema"
"""It answers them with 500."""


def free_port() -> int:
    with socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that runs while these tests do."""
    folder = tmp_path_factory.mktemp("engine")
    script = Path(__file__).parents[2] / "scripts" / "make_tiny_model.py"
    subprocess.run([sys.executable, script, folder / "tiny.gguf"], check=True)
    url = f"http://127.0.0.1:{(port := free_port())}/v1"
    command = [sys.executable, "-m", "llama_cpp.server", "--model", str(folder / "tiny.gguf")]
    command += ["--host", "127.0.0.1", "--port", str(port), "--n_ctx", "16384"]
    with (folder / "log.txt").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            wait_for(url, server)
            yield url
        finally:
            server.terminate()
            server.wait()


def wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        assert server.poll() is None, "the server ended"
        try:
            urlopen(f"{url}/models", timeout=5).close()
            return
        except URLError:
            time.sleep(0.1)
    raise AssertionError("the server does not answer")


def run(folder: Path, url: str, concurrency: int) -> str:
    """`evaltools run cr` in a folder; returns what it says."""
    rows = []
    for number, text in enumerate(TEXTS):
        gold = [{"aspect_ref": "본품#품질", "aspect_term": "", "polarity": "positive"}]
        rows.append({"id": str(number), "text": text, "gold_tuples": gold})
    folder.mkdir(exist_ok=True)
    data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / "data.jsonl").write_text(data, encoding="utf-8")
    (folder / "run.toml").write_text(CONFIG.format(url=url, concurrency=concurrency))
    return call("run", "cr", folder / "run.toml", "-o", folder / "out").output


def outputs(folder: Path) -> list[dict[str, Any]]:
    rows = []
    for file in sorted(folder.glob("out/results/*/outputs.jsonl")):
        rows += [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return rows


def test_a_run_and_its_report(engine: str, tmp_path: Path) -> None:
    said = run(tmp_path, engine, concurrency=8)
    assert "8 rows in 2 runs, 0 failed" in said and TAKES_NO_SCHEMA in said
    rows = outputs(tmp_path)
    stages = {entry["stage"] for row in rows for entry in row["process_trace"]}
    assert len(stages) > 1
    for row in rows:
        assert row["error"] in (None, "") and row["meta"]["input_text"] in TEXTS
        for entry in row["process_trace"]:
            assert entry["call"]["model"] == "tiny" and entry["call"]["tokens_in"] > 100
    folders = sorted((tmp_path / "out" / "results").glob("tiny_*"))
    study = et.study(folders)
    assert {result.n_units for result in study.results} == {len(TEXTS)}


def test_concurrency_changes_no_row(engine: str, tmp_path: Path) -> None:
    run(tmp_path / "many", engine, concurrency=8)
    run(tmp_path / "one", engine, concurrency=1)
    for many, one in zip(outputs(tmp_path / "many"), outputs(tmp_path / "one"), strict=True):
        assert many["final_result"] == one["final_result"]


def test_a_judge(engine: str, tmp_path: Path) -> None:
    options = ["--judge", "hybrid", "--judge-model", "tiny", "--judge-base-url", engine]
    done = call("score", "summary", "example:summary/cases.jsonl", "-o", tmp_path, *options)
    assert TAKES_NO_SCHEMA in done.output
    path = next(tmp_path.rglob("summary_scores.csv"))
    with path.open(encoding="utf-8", newline="") as file:
        decisions = {row["decided_by"] for row in csv.DictReader(file)}
    assert decisions == {"rule", "blend"}  # the model's confidence is about 0
