"""Every value of the reference runs, to 1e-9.

Their `spec` values are older than ruling D26, which changes none of them: no sample of theirs has two predicted tuples
without a term that share a polarity, and the gold of every sample has a pair under every key.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from evaltools import evaluate
from evaltools.core.errors import Problems
from evaltools.suites.cr.score import write_scorecards
from tests.conftest import reference_folder
from tests.files import read_lines, write_lines

RUNS = sorted(p.name for p in (reference_folder() / "cr").glob("*")) or ["(absent)"]

pytestmark = pytest.mark.reference


def assert_equal(got: dict[str, float], expected: dict[str, float | None]) -> None:
    wrong = {
        name: (got.get(name), value)
        for name, value in expected.items()
        if name not in got
        or (math.isnan(got[name]) if value is None else abs(got[name] - value) <= 1e-9) is False
    }
    assert not wrong


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(("block", "match"), [("spec", "spec"), ("reference_policy", "reference")])
def test_expected_metrics(reference: Path, run: str, block: str, match: str) -> None:
    expected = json.loads((reference / "cr" / run / "expected_metrics.json").read_text())[block]
    assert len(expected) > 50
    estimates = evaluate("cr", reference / "cr" / run, match=match).frame
    assert_equal(dict(zip(estimates["name"], estimates["value"])), expected)


@pytest.mark.parametrize("run", [r for r in RUNS if r.startswith("cr_n50")])
def test_scorecards_made_here_give_the_metrics_of_the_runs_own(
    reference: Path, run: str, tmp_path: Path
) -> None:
    folder = reference / "cr" / run
    cards = read_lines(folder / "scorecards.jsonl")
    golds = [
        {"uid": c["meta"]["text_id"], "gold_tuples": c["inputs"]["gold_tuples"]} for c in cards
    ]
    gold = write_lines(tmp_path / "gold.jsonl", golds)
    made = tmp_path / "made" / "scorecards.jsonl"
    n = write_scorecards(folder / "outputs.jsonl", gold, made, Problems())
    own = evaluate("cr", folder).frame
    again = evaluate("cr", made).frame
    assert n == int(own.loc[own["name"] == "n", "value"].iloc[0])
    stored = {"latency_ms_mean"}
    assert_equal(
        dict(zip(again["name"], again["value"])),
        {
            k: None if math.isnan(v) else v
            for k, v in zip(own["name"], own["value"])
            if k not in stored
        },
    )
