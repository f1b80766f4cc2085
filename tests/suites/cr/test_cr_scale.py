"""Large and odd files: shards, jobs, long lines, many tuples, and values that are no numbers."""

import json
import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evaltools import evaluate
from evaltools.core.estimates import Resampling
from evaltools.core.records import shards
from evaltools.core.workers import Workers
from evaltools.suites.cr import suite as scoring
from tests.files import read_lines, write_lines
from tests.suites.cr.cards import gold, output, run, tup

QUICK = Resampling(n_resamples=100)


def card(uid: str) -> dict[str, Any]:
    final = tup("본품#품질", "향", random.Random(uid).choice(["positive", "negative"]))
    return {
        "meta": {"text_id": uid, "input_text": "향이 좋고 색이 예쁘다"},
        "gold_tuples": [tup("본품#품질", "향"), tup("본품#일반", "색")],
        "runtime": {"parsed_output": {"final_result": {"final_tuples": [final]}}},
    }


def test_jobs_and_the_size_of_shards_do_not_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cards = [card(f"s{i}") for i in range(60)]
    cards[7]["meta"]["split"] = "train"  # a column that is null in all other shards
    path = write_lines(tmp_path / "r" / "scorecards.jsonl", cards)
    path.write_bytes(path.read_bytes() + b"[]\n\n" + json.dumps(card("s3")).encode() + b"\n")
    monkeypatch.setattr(scoring, "SHARD_BYTES", 5_000)
    assert len(shards(path, -(-path.stat().st_size // scoring.SHARD_BYTES))) > 2
    found = []
    for jobs in (1, 2):
        out = tmp_path / str(jobs)
        result = evaluate(
            "cr", path, out=out, resampling=QUICK, on_error="skip", workers=Workers(jobs)
        )
        found.append((result, (out / "results" / "r" / "units.parquet").read_bytes()))
    (one, one_file), (two, two_file) = found
    assert one_file == two_file
    assert one.manifest.problems == two.manifest.problems
    assert {p.code: p.count for p in one.manifest.problems} == {
        "duplicate-id": 1,
        "not-an-object": 1,
    }
    assert f"{path}:61" in one.manifest.problems[1].examples[0]
    monkeypatch.undo()
    whole = evaluate("cr", path, resampling=QUICK, on_error="skip")
    pd.testing.assert_frame_equal(one.data, whole.data)
    pd.testing.assert_frame_equal(one.frame, whole.frame)


@pytest.mark.parametrize("jobs", [1, 2])
def test_scorecards_of_outputs_are_the_same_whatever_the_shards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    ids = [f"s{i}" for i in range(20)]
    rows = [output(i, final=[tup("a#b", "향")], gold_tuples=[tup("a#b", "색")]) for i in ids]
    folder = run(tmp_path / "r", [*rows, output("s3"), {**output("odd"), "unused": float("nan")}])
    write_lines(folder / "gold.jsonl", [gold(i, tup("a#b", "향", label=None)) for i in ids[::2]])
    monkeypatch.setattr(scoring, "SHARD_BYTES", 1500)
    result = evaluate(
        "cr", folder, out=tmp_path / "o", resampling=QUICK, on_error="skip", workers=Workers(jobs)
    )
    written = tmp_path / "o" / "results" / "r"
    cards = read_lines(written / "scorecards.jsonl")
    assert [c["meta"]["text_id"] for c in cards] == [*ids, "odd"]  # not the second s3
    assert cards[20]["runtime"]["parsed_output"]["unused"] is None
    assert cards[0]["inputs"]["gold_tuples"] == [tup("a#b", "향", label=None)]
    assert cards[1]["inputs"]["gold_tuples"] == [tup("a#b", "색")]
    assert cards[0]["runtime"]["parsed_output"] == rows[0]
    assert not [p for p in written.iterdir() if p.suffix == ".part"]
    assert result.data["text_id"].tolist() == [*ids, "odd"]
