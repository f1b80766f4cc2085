"""Every value of the reference runs, to 1e-9.

Their `spec` values are older than ruling D26, which changes none of them: no sample of theirs has two predicted tuples
without a term that share a polarity, and the gold of every sample has a pair under every key.
"""

import math
from pathlib import Path

import pytest

from evaltools import evaluate
from tests.conftest import reference_folder
from tests.files import read_json

RUNS = sorted(p.name for p in (reference_folder() / "cr").glob("*")) or ["(absent)"]

pytestmark = pytest.mark.reference


def assert_equal(got: dict[str, float], expected: dict[str, float | None]) -> None:
    assert not {
        name: (got.get(name), value)
        for name, value in expected.items()
        if name not in got
        or (math.isnan(got[name]) if value is None else abs(got[name] - value) <= 1e-9) is False
    }


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(("block", "match"), [("spec", "spec"), ("reference_policy", "reference")])
def test_expected_metrics(reference: Path, run: str, block: str, match: str) -> None:
    expected = read_json(reference / "cr" / run / "expected_metrics.json")[block]
    assert len(expected) > 50
    estimates = evaluate("cr", reference / "cr" / run, match=match).frame
    assert_equal(dict(zip(estimates["name"], estimates["value"])), expected)
